//! `prep --mark-duplicates`: flags, DT tags and metrics of Picard MarkDuplicates, run live.

use crate::common::{SOON, folder, has, run_for, words};
use crate::prep::{
    Hard, all_of_picard, assert_same_records, hard, has_referees, lines, metrics_body,
    metrics_file, prep, prep_into, samtools_sort, sees_changed_records, write_both,
};
use seqloom_testkit::planted::{changed_number, is_seen};
use seqloom_testkit::referees::{self, PICARD, Picard};
use seqloom_testkit::skip;
use std::collections::HashMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// One run of both programs.
pub(crate) struct Case {
    pub(crate) input: PathBuf,
    /// Whether the input is grouped by name, not sorted by coordinate.
    query: bool,
    ours: &'static str,
    picard: &'static str,
}

pub(crate) const TAGS: (&str, &str) = ("--tag-duplicates all", "TAGGING_POLICY=All");

pub(crate) fn case(
    input: &Path,
    query: bool,
    (ours, picard): (&'static str, &'static str),
) -> Case {
    Case { input: input.to_owned(), query, ours, picard }
}

impl Case {
    pub(crate) fn picard_line(&self, folder: &Path, number: usize) -> String {
        let order = if self.query { "queryname" } else { "coordinate" };
        let path = |name: &str| folder.join(format!("{number}.{name}")).display().to_string();
        format!(
            "MarkDuplicates I={} O={} M={} ASSUME_SORT_ORDER={order} TMP_DIR={} \
             VALIDATION_STRINGENCY=SILENT {}",
            self.input.display(),
            path("picard.bam"),
            path("picard.txt"),
            folder.display(),
            self.picard
        )
    }

    pub(crate) fn command(&self, folder: &Path, number: usize) -> std::process::Command {
        let mode = if self.query { "query" } else { "coordinate" };
        let mut command = prep(&[&self.input]);
        command.args(["--mark-duplicates", "--duplicate-mode", mode]);
        command.args(self.ours.split_whitespace());
        command.arg("--metrics-dir").arg(folder.join(format!("{number}.metrics")));
        command.arg("-o").arg(folder.join(format!("{number}.ours.bam")));
        command
    }

    #[track_caller]
    pub(crate) fn compare(&self, folder: &Path, number: usize, picard: &Picard) {
        let path = |name: &str| folder.join(format!("{number}.{name}"));
        let ours = metrics_body(&metrics_file(&path("metrics")));
        assert_eq!(ours, metrics_body(&path("picard.txt")), "{}", self.what());
        let records = assert_same_records(&path("ours.bam"), &path("picard.bam"), &self.what());
        referees::compared(&picard.name(), records);
    }

    fn what(&self) -> String {
        format!("{} {} {}", self.input.display(), self.query, self.ours)
    }
}

/// Runs us and the current Picard on all cases and compares records and metrics.
#[track_caller]
fn equal_picard(folder: &Path, cases: &[Case]) {
    equal_picard_of(PICARD[0], folder, cases);
}

/// Runs us and this version of Picard on all cases and compares; whether it is installed.
#[track_caller]
pub(crate) fn equal_picard_of(version: &str, folder: &Path, cases: &[Case]) -> bool {
    let Some(picard) = Picard::find(version) else { return false };
    let commands: Vec<String> =
        cases.iter().enumerate().map(|(i, case)| case.picard_line(folder, i)).collect();
    all_of_picard(&picard, &commands);
    for (i, case) in cases.iter().enumerate() {
        crate::common::run(case.command(folder, i).args(as_picard(version))).ok();
        case.compare(folder, i, &picard);
    }
    true
}

/// The option for this Picard's duplicates; none for the current one's.
pub(crate) fn as_picard(version: &str) -> Vec<&str> {
    if version == PICARD[0] { Vec::new() } else { vec!["--picard-version", version] }
}

/// Records of a BAM file that are duplicates.
fn duplicates(bam: &Path) -> usize {
    let text = crate::common::run(words("samtools view -c -f 0x400").arg(bam)).ok().text();
    text.trim().parse().unwrap()
}

#[test]
fn a_hundred_thousand_hard_records() {
    if !has_referees() {
        return;
    }
    let here = folder();
    let one = hard(here.path(), 101, 55_000, 1);
    let three = hard(here.path(), 102, 55_000, 4);
    let mut cases = Vec::new();
    for Hard { grouped, sorted, records } in [&one, &three] {
        assert!(*records >= 100_000, "{records}");
        cases.extend([case(grouped, true, TAGS), case(sorted, false, TAGS)]);
    }
    equal_picard(here.path(), &cases);
    for number in 0..cases.len() {
        let found = duplicates(&here.path().join(format!("{number}.ours.bam")));
        assert!(found > 20_000, "{found} duplicates prove too little");
    }
}

/// What is marked is what Picard marks of the file that `samtools sort` makes of it.
/// A comparison that never fails may be blind.
#[test]
fn a_changed_record_or_number_is_seen_next_to_each_picard() {
    if !has_referees() {
        return;
    }
    for version in PICARD {
        let here = folder();
        let data = hard(here.path(), 103, 300, 4);
        let cases = [case(&data.grouped, true, TAGS), case(&data.sorted, false, TAGS)];
        if !equal_picard_of(version, here.path(), &cases) {
            continue;
        }
        let picard = Picard::find(version).unwrap();
        for (number, case) in cases.iter().enumerate() {
            let compare = || case.compare(here.path(), number, &picard);
            sees_changed_records(&here.path().join(format!("{number}.ours.bam")), compare);
            let metrics = metrics_file(&here.path().join(format!("{number}.metrics")));
            let text = std::fs::read_to_string(&metrics).unwrap();
            std::fs::write(&metrics, changed_number(&text).unwrap()).unwrap();
            is_seen("metrics", compare);
        }
    }
}

#[test]
fn files_that_only_claim_to_be_sorted_by_coordinate() {
    if !has_referees() {
        return;
    }
    let here = folder();
    let path = |name: &str| here.path().join(name);
    let data = hard(here.path(), 105, 12_000, 4);
    let text = std::fs::read_to_string(path("hard105.sam")).unwrap();
    let text = text.replacen("SO:unsorted\tGO:query", "SO:coordinate", 1);
    let (header, records): (Vec<&str>, Vec<&str>) =
        text.lines().partition(|line| line.starts_with('@'));
    // Grouped by name; backwards; and sorted but for its second half, which comes first.
    let sorted = lines(&data.sorted);
    let halves = sorted[sorted.len() / 2..].iter().chain(&sorted[..sorted.len() / 2]);
    let forms: [Vec<&str>; 3] = [
        records.clone(),
        records.iter().rev().copied().collect(),
        halves.map(String::as_str).collect(),
    ];
    let mut claiming = Vec::new();
    let mut commands = Vec::new();
    let both = [TAGS, ("--optical-distance off", "READ_NAME_REGEX=null")];
    for (number, records) in forms.iter().enumerate() {
        let sam = [&header[..], records].concat().join("\n") + "\n";
        let (_, input) = write_both(here.path(), &format!("claims{number}"), &sam);
        let sorted = samtools_sort(&input, "sorted.bam", "");
        for (ours, picard) in both {
            let sorted = case(&sorted, false, (ours, picard));
            commands.push(sorted.picard_line(here.path(), commands.len()));
            claiming.push((input.clone(), sorted));
        }
    }
    let Some(picard) = Picard::find(PICARD[0]) else { return };
    all_of_picard(&picard, &commands);
    for (number, (input, sorted)) in claiming.iter().enumerate() {
        let case = Case { input: input.clone(), ..*sorted };
        for t in ["1", "3"] {
            let mut command = case.command(here.path(), number);
            let done = run_for(command.args(["--sort", "coordinate", "-t", t]), SOON).ok();
            assert!(done.stderr.contains("sorts before"), "{}", done.stderr);
            case.compare(here.path(), number, &picard);
        }
        assert!(duplicates(&path(&format!("{number}.ours.bam"))) > 3000);
        let mut command = case.command(here.path(), number);
        run_for(&mut command, SOON).fails_with(3).says(&["--sort coordinate"]);
    }
}

/// Sorted by coordinate, and said to be grouped by name: Picard believes it, and marks a part.
#[test]
fn files_that_only_claim_to_be_grouped_by_name() {
    if !has_referees() {
        return;
    }
    let here = folder();
    let data = hard(here.path(), 106, 12_000, 4);
    let text = crate::common::run(words("samtools view --no-PG -h").arg(&data.sorted)).ok().text();
    for (name, claim) in [("sorted", "SO:queryname"), ("grouped", "SO:unsorted\tGO:query")] {
        let text = text.replacen("SO:coordinate", claim, 1);
        let (sam, input) = write_both(here.path(), name, &text);
        for (input, options) in [(&sam, ""), (&input, "-t 1"), (&input, "--sort coordinate -t 4")] {
            let out = here.path().join("never.bam");
            let mut command = prep(&[input]);
            command.arg("--mark-duplicates").args(options.split_whitespace()).arg("-o").arg(&out);
            let refused = run_for(&mut command, SOON).fails_with(3);
            refused.says(&["has the name of record", "--sort queryname"]);
            assert!(!out.exists());
        }
        // Sorted by name, as the advice says, it is what Picard marks of such a file.
        let by_name = here.path().join(format!("{name}.byname.bam"));
        prep_into(&by_name, &[&input], "--sort queryname");
        equal_picard(here.path(), &[case(&by_name, true, TAGS)]);
        assert!(duplicates(&here.path().join("0.ours.bam")) > 3000);
    }
}

#[test]
fn options_mean_what_they_mean_in_picard() {
    if !has_referees() {
        return;
    }
    let here = folder();
    let data = hard(here.path(), 103, 6000, 4);
    let options = [
        ("--tag-duplicates optical", "TAGGING_POLICY=OpticalOnly"),
        ("--remove-duplicates", "REMOVE_DUPLICATES=true"),
        ("--optical-distance off", "READ_NAME_REGEX=null"),
        (
            "--optical-distance 2500 --tag-duplicates all",
            "OPTICAL_DUPLICATE_PIXEL_DISTANCE=2500 TAGGING_POLICY=All",
        ),
        ("--barcode-tag RX", "BARCODE_TAG=RX"),
        (
            "--read-one-barcode-tag B1 --read-two-barcode-tag B2",
            "READ_ONE_BARCODE_TAG=B1 READ_TWO_BARCODE_TAG=B2",
        ),
        (
            "--barcode-tag RX --read-one-barcode-tag B1 --read-two-barcode-tag B2 \
             --tag-duplicates all",
            "BARCODE_TAG=RX READ_ONE_BARCODE_TAG=B1 READ_TWO_BARCODE_TAG=B2 TAGGING_POLICY=All",
        ),
        (
            "--barcode-tag RX --molecular-identifier-tag RX",
            "BARCODE_TAG=RX MOLECULAR_IDENTIFIER_TAG=RX",
        ),
        // Names of other fields; x and y change places, and most have no tile.
        (
            "--read-name-regex .*:([0-9]+):(-?[0-9]+):([0-9]+) --tag-duplicates all",
            "READ_NAME_REGEX=.*:([0-9]+):(-?[0-9]+):([0-9]+) TAGGING_POLICY=All",
        ),
        (
            "--read-name-regex [^:]*:([0-9]+):[^:]*:([0-9]+):([0-9]+).* --tag-duplicates all",
            "READ_NAME_REGEX=[^:]*:([0-9]+):[^:]*:([0-9]+):([0-9]+).* TAGGING_POLICY=All",
        ),
    ];
    let cases: Vec<Case> = options
        .iter()
        .flat_map(|&pair| [case(&data.grouped, true, pair), case(&data.sorted, false, pair)])
        .collect();
    equal_picard(here.path(), &cases);
}

/// Hard pairs with UMIs of duplexes and the mates' CIGARs, grouped by name and sorted.
fn duplexes(folder: &Path) -> [PathBuf; 2] {
    let hard = hard(folder, 107, 8000, 4);
    let text = crate::common::run(words("samtools view --no-PG -h -F 0x900").arg(&hard.grouped));
    let text = text.ok().text();
    let name = |line: &str| line.split('\t').next().unwrap().to_owned();
    let mut records: HashMap<String, usize> = HashMap::new();
    for line in text.lines().filter(|line| !line.starts_with('@')) {
        *records.entry(name(line)).or_default() += 1;
    }
    let parts = ["AC", "GT", "NNA", "c"];
    let mut sam = String::new();
    for line in text.lines() {
        let fields = line.split('\t').filter(|field| !field.starts_with("RX:"));
        let record = fields.collect::<Vec<_>>().join("\t");
        if line.starts_with('@') {
            writeln!(sam, "{line}").unwrap();
        } else if records[&name(line)] == 2 {
            let sum = name(line).bytes().map(usize::from).sum::<usize>();
            let (first, second) = (parts[sum / 4 % 4], parts[sum % 4]);
            match sum % 7 {
                0 => writeln!(sam, "{record}").unwrap(),
                1 => writeln!(sam, "{record}\tRX:Z:{first}-{second}-").unwrap(),
                _ => writeln!(sam, "{record}\tRX:Z:{first}-{second}").unwrap(),
            }
        }
    }
    let (_, plain) = write_both(folder, "duplexes", &sam);
    let grouped = plain.with_extension("mates.bam");
    crate::common::run(words("samtools fixmate --no-PG").arg(&plain).arg(&grouped)).ok();
    let sorted = samtools_sort(&grouped, "sorted.bam", "");
    [grouped, sorted]
}

#[test]
fn umis_of_duplexes_mean_what_they_mean_in_picard() {
    if !has_referees() {
        return;
    }
    let here = folder();
    let [grouped, sorted] = duplexes(here.path());
    let options = [
        ("--barcode-tag RX", "BARCODE_TAG=RX"),
        ("--barcode-tag RX --duplex-umi", "BARCODE_TAG=RX DUPLEX_UMI=true"),
        (
            "--barcode-tag RX --duplex-umi --molecular-identifier-tag MI --tag-duplicates all",
            "BARCODE_TAG=RX DUPLEX_UMI=true MOLECULAR_IDENTIFIER_TAG=MI TAGGING_POLICY=All",
        ),
    ];
    let cases: Vec<Case> = options
        .iter()
        .flat_map(|&pair| [case(&grouped, true, pair), case(&sorted, false, pair)])
        .collect();
    equal_picard(here.path(), &cases);
    let found = |number| duplicates(&here.path().join(format!("{number}.ours.bam")));
    assert!(found(0) > 500 && found(2) > found(0) + 50, "{} {}", found(0), found(2));

    // Without the mate's CIGAR; and with a UMI of one part.
    let mut command = case(&here.path().join("duplexes.bam"), true, options[1]);
    let refused = run_for(&mut command.command(here.path(), 9), SOON).fails_with(3);
    refused.says(&["duplexes.bam: record ", "no MC", "--fix-mates"]);
    command.ours = "--barcode-tag RX --duplex-umi --fix-mates";
    run_for(&mut command.command(here.path(), 9), SOON).ok();
    let text = crate::common::run(words("samtools view -h").arg(&grouped)).ok().text();
    let (_, one) = write_both(here.path(), "one", &text.replace("RX:Z:AC-", "RX:Z:AC"));
    let one = case(&one, true, options[1]);
    let refused = run_for(&mut one.command(here.path(), 9), SOON).fails_with(3);
    refused.says(&["two parts with a dash between them", "\"AC"]);
}

/// The records of a BAM file, each a template of its own.
fn with_names_of_their_own(bam: &Path) -> PathBuf {
    let text = crate::common::run(words("samtools view --no-PG -h").arg(bam)).ok().text();
    let sam: String = text
        .lines()
        .enumerate()
        .map(|(n, line)| match line.strip_prefix("@HD") {
            Some(_) => "@HD\tVN:1.6\tGO:query\n".to_owned(),
            None if line.starts_with('@') => format!("{line}\n"),
            None => format!("n{n}_{line}\n"),
        })
        .collect();
    let folder = bam.parent().unwrap();
    let name = format!("{}.own", bam.file_stem().unwrap().to_str().unwrap());
    write_both(folder, &name, &sam).1
}

#[test]
fn real_data_equals_picard() {
    if !has_referees() {
        return;
    }
    let files = [1, 2, 3, 4, 5].map(|n| format!("bam/nf-cmgg/Sample{n}.bam"));
    let na12878 = "bam/htsjdk_testdata/samtools/cram/NA12878.20.21.unmapped.orig.bam".to_owned();
    let here = folder();
    let mut cases = Vec::new();
    for (number, file) in [na12878].iter().chain(&files).enumerate() {
        let Some(sorted) = skip::data(file) else { return };
        let copy = here.path().join(format!("{number}.bam"));
        std::fs::copy(&sorted, &copy).unwrap();
        let grouped = match number {
            0 => samtools_sort(&copy, "byname.bam", "-n"),
            // These have lost the flags of pairs but not the names, see `is_regular`.
            _ => with_names_of_their_own(&copy),
        };
        cases.extend([case(&sorted, false, TAGS), case(&grouped, true, TAGS)]);
    }
    for version in PICARD {
        if !equal_picard_of(version, here.path(), &cases) {
            continue;
        }
        for (number, case) in cases.iter().enumerate() {
            let found = duplicates(&here.path().join(format!("{number}.ours.bam")));
            assert!(found > 0, "no duplicates in {}", case.input.display());
        }
    }
}

/// The file with each x and y twice as large: NovaSeq has x above 2^15, and these all the more.
fn with_doubled_places(bam: &Path) -> PathBuf {
    let text = crate::common::run(words("samtools view --no-PG -h").arg(bam)).ok().text();
    let mut sam = String::new();
    for line in text.lines() {
        let Some((name, rest)) = line.split_once('\t').filter(|_| !line.starts_with('@')) else {
            writeln!(sam, "{line}").unwrap();
            continue;
        };
        let fields: Vec<&str> = name.split(':').collect();
        let (tile, place) = fields.split_at(fields.len() - 2);
        let doubled = place.iter().map(|it| (2 * it.parse::<i64>().unwrap()).to_string());
        let name = tile.iter().map(|it| (*it).to_owned()).chain(doubled).collect::<Vec<_>>();
        writeln!(sam, "{}\t{rest}", name.join(":")).unwrap();
    }
    let name = format!("{}.doubled", bam.file_stem().unwrap().to_str().unwrap());
    write_both(bam.parent().unwrap(), &name, &sam).1
}

/// FLAG and DT of the records that we have marked as each Picard would; how many differ.
#[track_caller]
fn compared_with_each_picard(folder: &Path, case: &Case) -> usize {
    let mut marks = Vec::new();
    for version in PICARD {
        if equal_picard_of(version, folder, std::slice::from_ref(case)) {
            let of = |line: &String| {
                let columns: Vec<&str> = line.split('\t').collect();
                (columns[1].to_owned(), columns.iter().any(|it| it.starts_with("DT:Z:SQ")))
            };
            marks.push(lines(&folder.join("0.ours.bam")).iter().map(of).collect::<Vec<_>>());
        }
    }
    let [now, before] = marks.as_slice() else { return usize::MAX };
    now.iter().zip(before).filter(|(now, before)| now != before).count()
}

#[test]
fn novaseq_places_are_those_of_each_picard() {
    let Some(sample) = skip::data("bam/nf-cmgg/Sample1.bam").filter(|_| has_referees()) else {
        return;
    };
    let here = folder();
    let copy = here.path().join("copy.bam");
    std::fs::copy(&sample, &copy).unwrap();
    let doubled = with_doubled_places(&copy);
    for (input, least) in [(&copy, 0), (&doubled, 1)] {
        let differ = compared_with_each_picard(here.path(), &case(input, false, TAGS));
        eprintln!("{}: {differ} records differ", input.display());
        assert!(differ >= least, "{}", input.display());
    }
}

/// Clusters in twos, near each other across an x of 2^15, with y far above 2^16; and on tiles that
/// are the same one in 16 bits, or none.
#[test]
fn places_past_sixteen_bits_are_those_of_each_picard() {
    if !has_referees() {
        return;
    }
    let here = folder();
    let text = pile(3000, |n| (32_748 + n % 2 * 40, n / 2 * 300));
    let on_its_tile = |line: &str| match line.split_once(":1:f:1:1101:") {
        Some(("p6" | "p7", _)) => format!("{line}\n").replace(":1101:", ":65535:"),
        Some((name, _)) if name.ends_with(['1', '5', '9']) => {
            format!("{line}\n").replace(":1101:", ":66637:")
        }
        _ => format!("{line}\n"),
    };
    let tiles: String = text.lines().map(on_its_tile).collect();
    let regex = (
        "--tag-duplicates all --read-name-regex p[^:]*:1:f:1:([0-9]+):([0-9]+):([0-9]+)",
        "TAGGING_POLICY=All READ_NAME_REGEX=p[^:]*:1:f:1:([0-9]+):([0-9]+):([0-9]+)",
    );
    for (name, text) in [("wide", &text), ("tiles", &tiles)] {
        let (_, grouped) = write_both(here.path(), name, text);
        let sorted = samtools_sort(&grouped, "sorted.bam", "");
        for case in
            [case(&grouped, true, TAGS), case(&sorted, false, TAGS), case(&grouped, true, regex)]
        {
            let differ = compared_with_each_picard(here.path(), &case);
            assert!(differ > 1000, "{name}: {differ} records differ");
        }
    }
}

/// Pairs of one place in two read groups: of one name each; mates of different groups.
#[test]
fn mates_and_read_groups_are_those_of_each_picard() {
    if !has_referees() {
        return;
    }
    let here = folder();
    let mut sam = String::from("@HD\tVN:1.6\tSO:unsorted\tGO:query\n@SQ\tSN:c\tLN:100000\n");
    sam.push_str("@RG\tID:a\tSM:s\tLB:l\n@RG\tID:b\tSM:s\tLB:l\n@RG\tID:c\tSM:s\tLB:m\n");
    let groups = ["a", "b", "c"];
    for n in 0..300_usize {
        let mate = if n % 6 == 0 { n + 1 } else { n };
        for (flag, pos, mate_pos, group) in [(99, 1000, 1200, n), (147, 1200, 1000, mate)] {
            let score = char::from(b'5' + (n % 20) as u8);
            let group = groups[group % 3];
            writeln!(
                sam,
                "p{n}\t{flag}\tc\t{pos}\t60\t10M\t=\t{mate_pos}\t0\t\
                 ACGTACGTAC\t{score}FFFFFFFFF\tRG:Z:{group}"
            )
            .unwrap();
        }
    }
    let (_, grouped) = write_both(here.path(), "groups", &sam);
    let sorted = samtools_sort(&grouped, "sorted.bam", "");
    for case in [case(&grouped, true, TAGS), case(&sorted, false, TAGS)] {
        let differ = compared_with_each_picard(here.path(), &case);
        assert!(differ > 10, "{differ} records differ");
    }
    // A name in two read groups: two templates now, and twice the same one before.
    let twice: String = sam
        .lines()
        .filter(|line| line.starts_with('@') || line.contains("RG:Z:a"))
        .flat_map(|line| match line.strip_prefix('@') {
            Some(_) => vec![format!("{line}\n")],
            None => vec![format!("{line}\n"), format!("{line}\n").replace("RG:Z:a", "RG:Z:b")],
        })
        .collect();
    let (_, grouped) = write_both(here.path(), "twice", &twice);
    let sorted = samtools_sort(&grouped, "sorted.bam", "");
    let in_both = case(&sorted, false, TAGS);
    equal_picard(here.path(), std::slice::from_ref(&in_both));
    assert!(duplicates(&here.path().join("0.ours.bam")) > 100);
    let mut command = in_both.command(here.path(), 1);
    let refused = run_for(command.args(as_picard(PICARD[1])), SOON).fails_with(3);
    refused.says(&["same name", "not mates of each other"]);
}

/// A region of a file has reads whose mates are elsewhere. Picard counts a duplicate as one of a
/// pair where its flags say so.
#[test]
fn duplicates_whose_mates_are_not_there_equal_each_picard() {
    let file = "bam/gatk_testdata/org/broadinstitute/hellbender/tools/BQSR/\
                NA12878.chr17_69k_70k.dictFix.bam";
    let (true, Some(file)) = (has_referees(), skip::data(file)) else { return };
    for version in PICARD {
        assert!(equal_picard_of(version, folder().path(), &[case(&file, false, TAGS)]));
    }
}

#[test]
fn files_without_records_have_the_metrics_of_each_picard() {
    if !has_referees() {
        return;
    }
    let here = folder();
    let header = "@HD\tVN:1.6\tSO:unsorted\tGO:query\n@SQ\tSN:c\tLN:1000\n";
    let (_, unknown) = write_both(here.path(), "unknown", header);
    let (_, known) = write_both(here.path(), "known", &format!("{header}@RG\tID:g\tSM:s\tLB:l\n"));
    for version in PICARD {
        let cases = [&unknown, &known].map(|file| case(file, true, TAGS));
        assert!(equal_picard_of(version, here.path(), &cases));
    }
}

/// Pairs of one place whose names say where their clusters were, grouped by name.
fn pile(pairs: u32, place: impl Fn(u32) -> (u32, u32)) -> String {
    let mut sam = String::from(
        "@HD\tVN:1.6\tSO:unsorted\tGO:query\n@SQ\tSN:c\tLN:100000\n@RG\tID:g\tSM:s\tLB:l\n",
    );
    for n in 0..pairs {
        let (x, y) = place(n);
        let score = char::from(b'5' + (n % 20) as u8);
        for (flag, pos, mate, tlen) in [(99, 1000, 1200, 210), (147, 1200, 1000, -210)] {
            writeln!(
                sam,
                "p{n}:1:f:1:1101:{x}:{y}\t{flag}\tc\t{pos}\t60\t10M\t=\t{mate}\t{tlen}\t\
                 ACGTACGTAC\t{score}FFFFFFFFF\tRG:Z:g"
            )
            .unwrap();
        }
    }
    sam
}

/// Scattered such that some are near others and some alone.
fn scattered(n: u32) -> (u32, u32) {
    let hash = n.wrapping_mul(0x9e37_79b1);
    (hash >> 16 & 0x3fff, hash & 0x3fff)
}

#[test]
fn a_pile_of_five_thousand_equals_picard() {
    if !has_referees() {
        return;
    }
    let here = folder();
    let (_, grouped) = write_both(here.path(), "pile", &pile(5000, scattered));
    let sorted = samtools_sort(&grouped, "sorted.bam", "");
    let (_, chain) = write_both(here.path(), "chain", &pile(3000, |n| (n * 37 % 9000, 50)));
    equal_picard(
        here.path(),
        &[case(&grouped, true, TAGS), case(&sorted, false, TAGS), case(&chain, true, TAGS)],
    );
}

#[test]
fn an_optical_pile_of_two_hundred_thousand_takes_seconds() {
    let here = folder();
    let sam = here.path().join("pile.sam");
    std::fs::write(&sam, pile(200_000, scattered)).unwrap();
    let out = here.path().join("x.sam");
    let started = Instant::now();
    prep_into(&out, &[&sam], "--mark-duplicates --tag-duplicates all");
    let taken = started.elapsed();
    eprintln!("{taken:?}");
    assert!(taken < Duration::from_secs(20), "{taken:?}");
    let text = std::fs::read_to_string(&out).unwrap();
    assert!(text.matches("DT:Z:SQ").count() > 300_000);
}

#[test]
fn slow_a_set_of_more_than_three_hundred_thousand_reads() {
    if !skip::slow_tests() || !has_referees() {
        return;
    }
    let here = folder();
    // Above Picard's largest set: no optical duplicates are looked for. Below: they are.
    let (_, above) = write_both(here.path(), "above", &pile(310_000, scattered));
    let sorted = samtools_sort(&above, "sorted.bam", "");
    equal_picard(here.path(), &[case(&above, true, TAGS), case(&sorted, false, TAGS)]);
    assert!(!lines(&here.path().join("0.ours.bam")).iter().any(|l| l.contains("DT:Z:SQ")));
}

#[test]
fn modes_follow_the_header() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    let data = hard(here.path(), 104, 500, 2);
    let out = |name: &str| here.path().join(name);
    for (input, mode) in [(&data.grouped, "query"), (&data.sorted, "coordinate")] {
        prep_into(&out("a.bam"), &[input], "--mark-duplicates");
        let reported = format!("--mark-duplicates --duplicate-mode {mode}");
        prep_into(&out("b.bam"), &[input], &reported);
        crate::common::assert_same_bytes(&out("a.bam"), &out("b.bam"), mode);
    }
    // No order in the header: it must be said.
    let (_, silent) = write_both(here.path(), "silent", "@SQ\tSN:c\tLN:9\n");
    let mut command = prep(&[&silent]);
    let refused = run_for(command.arg("--mark-duplicates").arg("-o").arg(out("c.bam")), SOON);
    refused.fails_with(2).says(&["--duplicate-mode"]);
    let mut command = prep(&[&data.sorted]);
    command.args(["--mark-duplicates", "--duplicate-mode", "query", "-o"]).arg(out("c.bam"));
    run_for(&mut command, SOON).fails_with(2).says(&["sorted by coordinate"]);
    assert!(!out("c.bam").exists());
}
