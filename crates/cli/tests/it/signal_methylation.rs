//! `seqloom signal methylation` and `eventalign` as users run them: against nanopolish's calls, on
//! any number of threads, with signal in any format, and with inputs that do not go together.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{Run, folder, has, json_number, run, seqloom, words};
use seqloom_testkit::skip::{data, skip};

/// 112 reads of E. coli, R9.4, with the calls that nanopolish 0.14 makes of them.
pub(crate) struct Ecoli {
    here: tempfile::TempDir,
    set: PathBuf,
    expected: PathBuf,
}

/// Where the reference is known.
const REGION: &str = "tig00000001:191107-209252";

pub(crate) fn ecoli() -> Option<Ecoli> {
    let set = data("nanopore/f5c_ecoli_2kb/ecoli_2kb_region")?;
    let expected =
        data("nanopore/nanopolish_expected_ecoli/draft_reconstructed.call-methylation.tsv")?;
    if !has("samtools") || !has("gzip") {
        return None;
    }
    let here = folder();
    let draft = set.join("draft.reconstructed.fa.gz");
    let text = run(&mut words(&format!("gzip -dc {}", draft.display()))).ok().stdout;
    fs::write(here.path().join("draft.fa"), text).unwrap();
    Some(Ecoli { here, set, expected })
}

impl Ecoli {
    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.here.path().join(name)
    }

    pub(crate) fn fast5(&self) -> PathBuf {
        self.set.join("fast5_files")
    }

    pub(crate) fn reads(&self) -> PathBuf {
        self.set.join("reads.fasta")
    }

    fn bam(&self) -> PathBuf {
        self.set.join("reads.sorted.bam")
    }

    /// The command on the data set, but for what `rest` says otherwise.
    pub(crate) fn line(&self, command: &str, bam: &Path, signal: &Path, rest: &str) -> Run {
        let (bam, signal) = (bam.display(), signal.display());
        let draft = self.at("draft.fa");
        let line = format!(
            "signal {command} --bam {bam} --reference {} --signal {signal} {rest}",
            draft.display()
        );
        run(&mut seqloom(line.split_whitespace()))
    }

    /// Calls with reads from the file.
    pub(crate) fn methylation(&self, bam: &Path, signal: &Path, rest: &str) -> Run {
        let reads = self.reads();
        self.line("methylation", bam, signal, &format!("--reads {} {rest}", reads.display()))
    }

    /// Names of reads of which a supplementary record lacks bases.
    fn hard_clipped(&self) -> Vec<String> {
        let bam = self.bam();
        let text = run(&mut words(&format!("samtools view -f 2048 {}", bam.display()))).ok().text();
        let fields = text.lines().map(|line| line.split('\t').collect::<Vec<_>>());
        fields.filter(|it| it[5].contains('H')).map(|it| it[0].to_owned()).collect()
    }

    /// Supplementary records with the bases that were clipped off.
    fn soft_clipped(&self) -> PathBuf {
        let reads = fs::read_to_string(self.reads()).unwrap();
        let lines: Vec<&str> = reads.lines().collect();
        let bases: BTreeMap<&str, &str> =
            lines.chunks(2).map(|it| (it[0][1..].split(' ').next().unwrap(), it[1])).collect();
        let bam = self.bam();
        let text =
            run(&mut words(&format!("samtools view -h -f 2048 {}", bam.display()))).ok().text();
        let mut out = String::new();
        for line in text.lines() {
            let mut fields: Vec<String> = line.split('\t').map(str::to_owned).collect();
            if !line.starts_with('@') {
                let read = bases[fields[0].as_str()];
                let is_reverse = fields[1].parse::<u16>().unwrap() & 16 != 0;
                fields[5] = fields[5].replace('H', "S");
                fields[9] = if is_reverse { complement(read) } else { read.to_owned() };
                fields[10] = "*".to_owned();
            }
            out += &(fields.join("\t") + "\n");
        }
        let path = self.at("soft.sam");
        fs::write(&path, out).unwrap();
        path
    }

    /// What nanopolish makes of these records.
    pub(crate) fn nanopolish(&self, command: &str, sam: &Path) -> String {
        let (reads, draft) = (self.at("reads.fasta"), self.at("draft.fa"));
        let bam = sam.with_extension("sorted.bam");
        fs::copy(self.reads(), &reads).unwrap();
        let run = |line: String| run(&mut words(&line)).ok();
        let (bam, reads, draft) = (bam.display(), reads.display(), draft.display());
        run(format!("samtools sort -o {bam} {}", sam.display()));
        run(format!("samtools index {bam}"));
        run(format!("nanopolish index -d {} {reads}", self.fast5().display()));
        run(format!("nanopolish {command} -r {reads} -b {bam} -g {draft}")).text()
    }

    /// The first reads, so that a run takes no time: a BAM of records of these, sorted.
    pub(crate) fn few(&self, edit: impl Fn(usize, &mut Vec<String>)) -> PathBuf {
        let path = self.at("few.sam");
        let bam = self.bam();
        let text = run(&mut words(&format!("samtools view -h {}", bam.display()))).ok().text();
        let (mut out, mut taken) = (String::new(), 0);
        for line in text.lines() {
            let mut fields: Vec<String> = line.split('\t').map(str::to_owned).collect();
            let is_header = line.starts_with('@');
            let is_short = fields.get(9).is_some_and(|bases| (300..3000).contains(&bases.len()));
            if !is_header && (!is_short || taken == 9) {
                continue;
            }
            if !is_header {
                edit(taken, &mut fields);
                taken += 1;
            }
            out += &(fields.join("\t") + "\n");
        }
        assert_eq!(taken, 9, "the data set has changed");
        fs::write(&path, out).unwrap();
        path
    }
}

fn complement(bases: &str) -> String {
    let letter = |base: char| match base {
        'A' => 'T',
        'C' => 'G',
        'G' => 'C',
        _ => 'A',
    };
    bases.chars().rev().map(letter).collect()
}

/// Ratio, and what it rests on: strands, sites, text.
type Call = (f64, String);

/// Calls by place and read.
pub(crate) type Calls = BTreeMap<String, Call>;

/// Rows whose first columns, as many as `named`, say place and read.
fn rows<'a>(lines: impl Iterator<Item = &'a str>, named: usize) -> Calls {
    let call = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        assert_eq!(fields.len(), named + 6, "{line}");
        let call = (fields[named].parse().unwrap(), fields[named + 3..].join(" "));
        (fields[..named].join(" "), call)
    };
    lines.map(call).collect()
}

/// A table with nanopolish's columns.
pub(crate) fn calls(text: &str) -> Calls {
    let mut lines = text.lines();
    assert!(
        lines.next().unwrap().starts_with("chromosome\tstrand\tstart\tend\tread_name\tlog_lik")
    );
    rows(lines, 5)
}

/// There are the same calls, with the same ratios, and none on which anybody would flip.
#[track_caller]
pub(crate) fn assert_same(found: &Calls, expected: &Calls) {
    let missing: Vec<_> = expected.keys().filter(|key| !found.contains_key(*key)).collect();
    let more: Vec<_> = found.keys().filter(|key| !expected.contains_key(*key)).collect();
    assert!(missing.is_empty() && more.is_empty(), "missing {missing:?}, more {more:?}");
    let mut differences = 0.0;
    for (key, (ratio, text)) in expected {
        let (found, found_text) = &found[key];
        assert_eq!(found_text, text, "{key}");
        // f5c's own measure of agreement (its test.awk).
        assert!((found - ratio).abs() <= 0.1 * ratio.abs() + 0.02, "{key}: {found}, not {ratio}");
        assert!(ratio.abs() <= 2.0 || ratio * found > 0.0, "{key}: {found}, not {ratio}");
        differences += (found - ratio).abs();
    }
    let mean = differences / expected.len() as f64;
    assert!(mean <= 0.001, "ratios are {mean} apart in the mean");
}

#[test]
fn calls_are_those_of_nanopolish() {
    let Some(set) = ecoli() else { return };
    let (json, out) = (set.at("run.json"), set.at("calls.tsv"));
    let rest = format!("-w {REGION} -o {} --json {}", out.display(), json.display());
    set.methylation(&set.bam(), &set.fast5(), &format!("{rest} --report")).ok().says(&[
        "report\tabea_s",
        "report\tcore_hours",
        "report\thmm_s",
    ]);
    let mut found = calls(&fs::read_to_string(&out).unwrap());
    let mut expected = calls(&fs::read_to_string(&set.expected).unwrap());
    assert_eq!((found.len(), expected.len()), (16_930, 16_930));
    // nanopolish takes hard-clipped bases for aligned ones; see the tests below.
    let clipped = set.hard_clipped();
    let is_whole = |key: &str| !clipped.iter().any(|name| key.ends_with(name.as_str()));
    found.retain(|key, _| is_whole(key));
    expected.retain(|key, _| is_whole(key));
    assert!(expected.len() > 15_500, "{} are compared", expected.len());
    assert_same(&found, &expected);
    let report = fs::read_to_string(json).unwrap();
    for word in ["\"abea_s\"", "\"called\"", "\"core_hours\"", "\"secondary\""] {
        assert!(report.contains(word), "no {word} in {report}");
    }
}

#[test]
fn with_their_hard_clips_all_calls_are_those_of_nanopolish_and_f5c() {
    let Some(set) = ecoli() else { return };
    let rest = format!("-w {REGION} --forget-hard-clips");
    let with = |rest: &str| set.methylation(&set.bam(), &set.fast5(), rest).ok().text();
    let expected = calls(&fs::read_to_string(&set.expected).unwrap());
    assert_same(&calls(&with(&rest)), &expected);
    // f5c ran for all alignments, and its reference is known in the region only.
    let found = with(&format!("{rest} --secondary --min-mapq 0 --format f5c"));
    let expected = fs::read_to_string(set.set.join("meth.exp")).unwrap();
    let is_known = |line: &&str| {
        let fields: Vec<&str> = line.split('\t').collect();
        let is_inside = |at: usize| (191_106..209_252).contains(&fields[at].parse().unwrap());
        fields[0] == "tig00000001" && is_inside(1) && is_inside(2)
    };
    let expected = rows(expected.lines().filter(is_known), 4);
    assert_eq!(expected.len(), 16_998);
    assert_same(&rows(found.lines().skip(1), 4), &expected);
}

/// nanopolish and f5c count positions of a hard-clipped record from its first base that is left,
/// and look its signal up elsewhere in the read. With the bases put back they agree with us.
#[test]
fn hard_clipped_records_are_called_as_if_they_had_all_bases() {
    let Some(set) = ecoli() else { return };
    let soft = set.soft_clipped();
    let hard = set.at("hard.bam");
    let (from, to) = (set.bam(), hard.display().to_string());
    run(&mut words(&format!("samtools view -b -f 2048 -o {to} {}", from.display()))).ok();
    let with = |bam: &Path| set.methylation(bam, &set.fast5(), &format!("-w {REGION}")).ok().text();
    let found = with(&hard);
    assert!(found == with(&soft), "hard and soft clips differ");
    if !has("nanopolish") {
        return;
    }
    let expected = calls(&set.nanopolish(&format!("call-methylation -w {REGION}"), &soft));
    let found = calls(&found);
    assert!(expected.len() > 300, "{}", expected.len());
    for (key, (ratio, _)) in &expected {
        assert!((found[key].0 - ratio).abs() < 0.1 * ratio.abs() + 0.02, "{key}");
    }
}

#[test]
fn neither_threads_nor_memory_show_in_calls() {
    let Some(set) = ecoli() else { return };
    let few = set.few(|_, _| ());
    for command in ["methylation", "eventalign"] {
        let with = |rest: &str| {
            let rest = format!("--reads {} {rest}", set.reads().display());
            set.line(command, &few, &set.fast5(), &rest).ok().stdout
        };
        let expected = with("-t 1");
        assert!(expected.len() > 3000, "{} bytes", expected.len());
        for rest in ["-t 2", "-t 7", "-t 64", "-t 2 -m 150M", "-t 7 --fast5-engine pool"] {
            assert!(with(rest) == expected, "{command} {rest}");
        }
    }
    let bam = |threads| {
        let (bam, bed) = (set.at("mod.bam"), set.at("mod.bed"));
        let rest = format!("-t {threads} --modbam {} --bedmethyl {}", bam.display(), bed.display());
        set.methylation(&few, &set.fast5(), &rest).ok();
        let view = run(&mut words(&format!("samtools view {}", bam.display()))).ok().text();
        (view, fs::read_to_string(bed).unwrap())
    };
    let expected = bam(1);
    assert_eq!(expected.0.lines().count(), 9);
    assert!(expected.0.contains("MM:Z:C+m?") && expected.1.lines().count() > 10);
    assert_eq!(bam(7), expected);
}

#[test]
fn tagged_records_are_found_as_by_the_index_of_samtools() {
    let Some(set) = ecoli() else { return };
    let bam = set.at("mod.bam");
    fs::write(set.at("mod.bai"), "of another file").unwrap();
    let rest = format!("-o {} --modbam {}", set.at("calls.tsv").display(), bam.display());
    set.methylation(&set.bam(), &set.fast5(), &rest).ok();
    assert!(!set.at("mod.bai").exists());
    let say = |line: String| run(&mut words(&line)).ok().stdout;
    let answers = || {
        let regions = (190..211).map(|at| format!("tig00000001:{at}500-{at}900"));
        let found = regions.map(|region| say(format!("samtools view {} {region}", bam.display())));
        (found.collect::<Vec<_>>(), say(format!("samtools idxstats {}", bam.display())))
    };
    let ours = answers();
    assert!(ours.0.iter().any(|records| records.len() > 100_000), "nothing is there");
    fs::remove_file(set.at("mod.bam.bai")).unwrap();
    say(format!("samtools index {}", bam.display()));
    assert!(answers() == ours, "the index of samtools finds other records");
}

/// Part of what the reads cover.
const PART: &str = "tig00000001:200000-202000";

#[test]
fn a_region_is_called_as_by_nanopolish() {
    let Some(set) = ecoli() else { return };
    if !has("nanopolish") {
        return;
    }
    let some = set.at("some.bam");
    fs::copy(set.bam(), &some).unwrap();
    let theirs = |region: &str| set.nanopolish(&format!("call-methylation -w {region}"), &some);
    let (bam, reads) = (set.at("some.sorted.bam"), set.reads());
    let ours = |command: &str, region: &str, min_mapq: u8| {
        let rest = format!(
            "-w {region} --forget-hard-clips --min-mapq {min_mapq} --reads {}",
            reads.display()
        );
        set.line(command, &bam, &set.fast5(), &rest).ok().text()
    };
    // A group of sites begins and ends at the bases that only the first one has.
    for region in ["tig00000001:200010-200269", "tig00000001:200011-200268"] {
        let expected = calls(&theirs(region));
        assert_same(&calls(&ours("methylation", region, 20)), &expected);
    }
    // The eventalign of nanopolish 0.14 takes no notice of -w.
    let table = ours("eventalign", PART, 0);
    let fields = |line: &str, at: usize| line.split('\t').nth(at).unwrap().parse::<u64>().unwrap();
    let column = |at| -> BTreeSet<u64> { table.lines().skip(1).map(|it| fields(it, at)).collect() };
    let count = run(&mut words(&format!("samtools view -c {} {PART}", bam.display()))).ok();
    let count: u64 = count.text().trim().parse().unwrap();
    // Reads are numbered as they are in the region. Those that hardly reach in have no rows.
    let numbers = column(3);
    assert!(numbers.len() as u64 + 2 >= count && numbers.first() == Some(&0));
    assert!(numbers.iter().all(|&number| number < count), "{numbers:?} of {count}");
    let positions = column(1);
    assert!(positions.len() > 1_900 && positions.iter().all(|it| (199_999..202_000).contains(it)));
}

#[test]
fn the_index_of_the_bam_does_not_show() {
    let Some(set) = ecoli() else { return };
    let (bam, json) = (set.at("some.bam"), set.at("run.json"));
    fs::copy(set.bam(), &bam).unwrap();
    let call = |region: &str| {
        let rest = format!("-w {region} --json {}", json.display());
        set.methylation(&bam, &set.fast5(), &rest)
    };
    let number = |words: &[&str]| json_number(&json, words).unwrap();
    let without = call(PART).ok();
    assert!(without.stderr.contains("has no index"), "{}", without.stderr);
    let (bytes, records) = (number(&["bytes", "read"]), number(&["counts", "records"]));
    for (kind, name) in [("-b", "some.bam.bai"), ("-c", "some.bam.csi"), ("-b", "some.bai")] {
        let index = set.at(name);
        let line = format!("samtools index {kind} {} {}", bam.display(), index.display());
        run(&mut words(&line)).ok();
        let with = call(PART).ok();
        assert!(with.stdout == without.stdout, "{name}");
        assert!(!with.stderr.contains("has no index"), "{name}");
        assert_eq!(number(&["counts", "records"]), records, "{name}");
        assert!(number(&["bytes", "read"]) < bytes, "{name} saves nothing of {bytes} bytes");
        let nothing = call("tig00000001:1-1000").ok();
        assert_eq!(nothing.text().lines().count(), 1, "{name}");
        fs::remove_file(index).unwrap();
    }
    // An index of another file; one that is cut short; and one that is too old.
    let bai = set.at("some.bam.bai");
    fs::write(&bai, b"BAI\x01\x09\0\0\0").unwrap();
    call(PART).fails_with(3).says(&["some.bam.bai", "9 reference sequences"]);
    fs::write(&bai, b"BAI\x01\x01").unwrap();
    call(PART).fails_with(3).says(&["some.bam.bai", "byte 4", "cut short"]);
    let file = fs::File::options().append(true).open(&bai).unwrap();
    file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    let warned = call(PART).ok().says(&["is older than"]);
    assert!(warned.stdout == without.stdout);
}

#[test]
fn calls_of_a_cram_are_those_of_its_bam() {
    let Some(set) = ecoli() else { return };
    let cram = set.at("reads.cram");
    let mut write = words("samtools view -C -T");
    run(write.arg(set.at("draft.fa")).arg("-o").arg(&cram).arg(set.bam())).ok();
    run(words("samtools index").arg(&cram)).ok();
    for options in ["-t 1", "-t 3", "-t 2 --region tig00000001:200,000-203,000"] {
        let expected = set.methylation(&set.bam(), &set.fast5(), options).ok();
        let found = set.methylation(&cram, &set.fast5(), options).ok();
        assert!(found.stdout == expected.stdout, "{options}");
        assert!(found.stdout.len() > 1000 && !found.stderr.contains("has no index"));
    }
}

#[test]
fn the_format_of_the_signal_does_not_show() {
    let Some(set) = ecoli() else { return };
    let few = set.few(|_, _| ());
    let expected = set.methylation(&few, &set.fast5(), "").ok().stdout;
    let forms = |name: &str| set.at(name);
    let convert = |line: String| run(&mut seqloom(line.split_whitespace())).ok();
    let fast5 = set.fast5();
    for (name, more) in
        [("r.slow5", ""), ("r.blow5", ""), ("z.blow5", "-c zstd -s ex-zd"), ("multi.fast5", "")]
    {
        let (from, to) = (fast5.display(), forms(name));
        convert(format!("signal convert --quiet {from} -o {} {more}", to.display()));
        let found = set.methylation(&few, &to, "").ok();
        assert!(found.stdout == expected, "{name}");
    }
    // The same with an index, and with one that is older than its file.
    let blow5 = forms("r.blow5");
    convert(format!("signal index --quiet {}", blow5.display()));
    assert!(set.methylation(&few, &blow5, "").ok().stdout == expected);
    let Some(blue_crab) = blue_crab() else { return };
    let pod5 = forms("r.pod5");
    let line = format!("{} s2p {} -o {}", blue_crab.display(), blow5.display(), pod5.display());
    run(&mut words(&line)).ok();
    assert!(set.methylation(&few, &pod5, "").ok().stdout == expected, "POD5");
}

fn blue_crab() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = root.join(".venv/bin/blue-crab");
    if !path.exists() {
        skip("blue-crab is not installed");
        return None;
    }
    Some(path)
}

#[test]
fn bases_come_from_the_bam_where_it_has_all_of_them() {
    let Some(set) = ecoli() else { return };
    let few = set.few(|_, _| ());
    let expected = set.methylation(&few, &set.fast5(), "").ok();
    let found = set.line("methylation", &few, &set.fast5(), "").ok();
    assert!(found.stderr.contains("those of the BAM"), "{}", found.stderr);
    assert!(found.stdout == expected.stdout);
}

/// Words of the account: reason and number of records.
fn skipped(run: &Run) -> BTreeMap<String, u64> {
    let lines = run.stderr.lines().filter_map(|line| {
        let (count, reason) = line.split_once("x] ")?.1.split_once(" records skipped, ")?;
        Some((reason.split(':').next()?.to_owned(), count.parse().ok()?))
    });
    lines.collect()
}

/// Number of reads in a table of calls.
fn called(run: &Run) -> usize {
    let names = run.text();
    let names = names.lines().skip(1).filter_map(|line| line.split('\t').nth(4));
    names.collect::<BTreeSet<&str>>().len()
}

#[test]
fn a_record_that_cannot_be_called_costs_that_record() {
    let Some(set) = ecoli() else { return };
    let all = set.few(|_, _| ());
    let whole = set.methylation(&all, &set.fast5(), "").ok();
    let callable = called(&whole);
    assert!(callable >= 8, "{callable}: {}", whole.stderr);
    let t = |edit: &dyn Fn(usize, &mut Vec<String>), expected: &[(&str, u64)]| {
        let found = set.methylation(&set.few(edit), &set.fast5(), "").ok();
        let skipped = skipped(&found);
        for (key, records) in expected {
            assert_eq!(skipped.get(*key), Some(records), "{key} in {skipped:?}");
        }
        called(&found)
    };
    let set_field = |which: usize, field: usize, value: &'static str| {
        move |at: usize, fields: &mut Vec<String>| {
            if at == which {
                fields[field] = value.to_owned();
            }
        }
    };
    t(&set_field(2, 0, "nobody"), &[("no_sequence", 1)]);
    t(&set_field(2, 4, "19"), &[("low_mapq", 1)]);
    t(&set_field(2, 1, "256"), &[("secondary", 1)]);
    // What has no CIGAR is not aligned.
    t(&set_field(2, 5, "*"), &[("unmapped", 1)]);
    t(
        &|at, fields: &mut Vec<String>| {
            if at == 2 {
                fields[5] = "300M5N10M".to_owned();
                (fields[9], fields[10]) = ("*".to_owned(), "*".to_owned());
            }
        },
        &[("spliced", 1)],
    );
    t(
        &|at, fields: &mut Vec<String>| {
            if at == 2 {
                fields[5] = "9M".to_owned();
                (fields[9], fields[10]) = ("*".to_owned(), "*".to_owned());
            }
        },
        &[("sequence_length", 1)],
    );
    // Fewer bases than a k-mer has.
    let short = set.few(|at, fields| {
        if at == 2 {
            (fields[5], fields[9], fields[10]) = ("3M".into(), "ACG".into(), "*".into());
        }
    });
    let found = set.line("methylation", &short, &set.fast5(), "").ok();
    assert_eq!(skipped(&found).get("too_short"), Some(&1), "{}", found.stderr);
}

#[test]
fn a_read_without_signal_costs_that_read() {
    let Some(set) = ecoli() else { return };
    // Signal without a record is nothing to speak of; a read without signal is.
    let all = set.few(|_, _| ());
    let callable = called(&set.methylation(&all, &set.fast5(), "").ok());
    let names = set.at("names");
    let text = fs::read_to_string(&all).unwrap();
    let mut ids: Vec<&str> = text
        .lines()
        .filter(|line| !line.starts_with('@'))
        .filter_map(|line| line.split('\t').next())
        .collect();
    ids.sort_unstable();
    ids.dedup();
    fs::write(&names, ids[1..].join("\n")).unwrap();
    let (blow5, some) = (set.at("all.blow5"), set.at("some.blow5"));
    let line = format!("signal convert --quiet {} -o {}", set.fast5().display(), blow5.display());
    run(&mut seqloom(line.split_whitespace())).ok();
    let (from, to) = (blow5.display(), some.display());
    let line = format!("signal get --quiet {from} --list {} -o {to}", names.display());
    run(&mut seqloom(line.split_whitespace())).ok();
    let found = set.methylation(&all, &some, "").ok();
    assert!(skipped(&found)["no_signal"] >= 1, "{}", found.stderr);
    assert_eq!(called(&found), callable - 1);
}

#[test]
fn inputs_that_do_not_go_together_are_refused() {
    let Some(set) = ecoli() else { return };
    let few = set.few(|_, _| ());
    let out = set.at("out.tsv");
    let refuse = |bam: &Path, signal: &Path, rest: &str, code: i32, said: &[&str]| {
        let rest = format!("{rest} -o {}", out.display());
        set.methylation(bam, signal, &rest).fails_with(code).says(said);
        assert!(!out.exists(), "there is a table after {said:?}");
    };
    // None of the reads has signal: no success with an empty table.
    let other = data("nanopore/derived_official_tools/multi_fast5_zip.blow5");
    if let Some(other) = other {
        refuse(&few, &other, "", 3, &["none of 9 records", "no signal of this name"]);
    }
    let fast5 = set.fast5();
    // Models.
    let models = data("nanopore/f5c_ecoli_2kb/r9-models").unwrap();
    let model = |name: &str| models.join(name).display().to_string();
    let five = model("r9.4_450bps.nucleotide.5mer.template.model");
    refuse(&few, &fast5, &format!("--kmer-model {five}"), 2, &["5-mers", "--methylation-model"]);
    let cpg = model("r9.4_450bps.cpg.6mer.template.model");
    refuse(&few, &fast5, &format!("--kmer-model {cpg}"), 3, &["alphabet"]);
    let rest = format!("--kmer-model {five} --methylation-model {cpg}");
    refuse(&few, &fast5, &rest, 3, &["6-mers", "5-mers"]);
    if let Some(models) = data("nanopore/models/uncalled4") {
        let nine = format!("--kmer-model {}", models.join("dna_r10.4.1_400bps_9mer.npz").display());
        refuse(&few, &fast5, &nine, 2, &["9-mers", "--methylation-model"]);
        let six = format!("--kmer-model {}", models.join("dna_r9.4.1_400bps_6mer.npz").display());
        assert!(called(&set.methylation(&few, &fast5, &six).ok()) > 0);
    }
    refuse(&few, &fast5, "-w nowhere:1-2", 2, &["no such sequence"]);
    refuse(&few, &fast5, "-m 1M", 2, &["too little"]);
    // A reference that is another one, lacks a sequence, or has an old index.
    let draft = fs::read_to_string(set.at("draft.fa")).unwrap();
    let index = set.at("draft.fa.fai");
    fs::write(&index, "tig00000001\t4376233\t14\t100\t101\n").unwrap();
    refuse(&few, &fast5, "", 3, &["draft.fa.fai", "make it again"]);
    fs::remove_file(&index).unwrap();
    let cut = draft.lines().take(40_000).collect::<Vec<_>>().join("\n");
    fs::write(set.at("draft.fa"), &cut).unwrap();
    refuse(&few, &fast5, "", 3, &["is it another reference?"]);
    fs::write(set.at("draft.fa"), ">other\nACGT\n").unwrap();
    refuse(&few, &fast5, "", 3, &["are missing", "tig00000001"]);
    let first = &draft[..draft.find(">tig00000005").unwrap()];
    fs::write(set.at("draft.fa"), first).unwrap();
    set.methylation(&few, &fast5, "-t 2").ok().says(&["lacks 2 sequences"]);
}

/// One of several outputs has no room in the end: none of them has its name.
#[test]
fn several_outputs_appear_together_or_not_at_all() {
    let Some(set) = ecoli() else { return };
    let few = set.few(|_, _| {});
    let names = ["calls.tsv", "run.json", "new.bam", "new.bam.bai", "sites.bed", "lost"];
    for name in names {
        fs::write(set.at(name), "as it was").unwrap();
    }
    std::os::unix::fs::symlink("/dev/full", set.at("full")).unwrap();
    let at = |name: &str| set.at(name).display().to_string();
    let outputs = |json: &str, bed: &str| {
        format!(
            "-o {} --json {} --modbam {} --bedmethyl {} --lost {}",
            at("calls.tsv"),
            at(json),
            at("new.bam"),
            at(bed),
            at("lost")
        )
    };
    for (json, bed) in [("full", "sites.bed"), ("run.json", "full")] {
        let refused = set.methylation(&few, &set.fast5(), &outputs(json, bed)).fails_with(4);
        refused.says(&["full"]);
        for name in names {
            assert_eq!(fs::read(set.at(name)).unwrap(), b"as it was", "{name}");
        }
    }
    let (bam, full) = (few.display(), at("full"));
    let line = format!("-o {} --json {full} --reads {}", at("calls.tsv"), set.reads().display());
    set.line("eventalign", &few, &set.fast5(), &line).fails_with(4);
    assert_eq!(fs::read(set.at("calls.tsv")).unwrap(), b"as it was", "{bam}");
    set.methylation(&few, &set.fast5(), &outputs("run.json", "sites.bed")).ok();
    for name in names {
        assert_ne!(fs::read(set.at(name)).unwrap(), b"as it was", "{name}");
    }
}

#[test]
fn records_must_be_sorted_and_reads_well_formed() {
    let Some(set) = ecoli() else { return };
    let text = fs::read_to_string(set.few(|_, _| ())).unwrap();
    let (header, records): (Vec<&str>, Vec<&str>) =
        text.lines().partition(|line| line.starts_with('@'));
    let reversed: Vec<&str> = header.into_iter().chain(records.into_iter().rev()).collect();
    let unsorted = set.at("unsorted.sam");
    fs::write(&unsorted, reversed.join("\n") + "\n").unwrap();
    set.methylation(&unsorted, &set.fast5(), "")
        .fails_with(3)
        .says(&["unsorted.sam: record 458e15d1", "samtools sort"]);
    let bad = set.at("bad.fastq");
    fs::write(&bad, "@r\nACGT\n+\nIIIII\n").unwrap();
    let few = set.few(|_, _| ());
    let rest = format!("--reads {}", bad.display());
    set.line("methylation", &few, &set.fast5(), &rest)
        .fails_with(3)
        .says(&["bad.fastq: line 4", "more qualities"]);
}

/// A SLOW5 whose header says this of the kit.
fn with_kit(set: &Ecoli, kind: &str, kit: &str) -> PathBuf {
    let path = set.at("kit.slow5");
    let text = format!(
        "#slow5_version\t0.2.0\n#num_read_groups\t1\n@experiment_type\t{kind}\n\
         @sequencing_kit\t{kit}\n#char*\tuint32_t\tdouble\tdouble\tdouble\tdouble\tuint64_t\t\
         int16_t*\n#read_id\tread_group\tdigitisation\toffset\trange\tsampling_rate\t\
         len_raw_signal\traw_signal\nr1\t0\t8192\t4\t1400\t4000\t3\t1,2,3\n"
    );
    fs::write(&path, text).unwrap();
    path
}

#[test]
fn chemistries_that_the_model_is_not_for_are_refused() {
    let Some(set) = ecoli() else { return };
    let few = set.few(|_, _| ());
    let t = |kind: &str, kit: &str, words: &[&str]| {
        let signal = with_kit(&set, kind, kit);
        set.methylation(&few, &signal, "").fails_with(3).says(words);
    };
    t("genomic_dna", "sqk-lsk114", &["R10 DNA", "--kmer-model"]);
    t("rna", "sqk-rna002", &["R9 RNA", "methylation is called of DNA only"]);
    t("rna", "sqk-rna004", &["RNA004", "methylation is called of DNA only"]);
}

#[test]
fn damaged_signal_costs_its_reads_and_is_reported() {
    let Some(set) = ecoli() else { return };
    let few = set.few(|_, _| ());
    let blow5 = set.at("r.blow5");
    let line = format!("signal convert --quiet {} -o {}", set.fast5().display(), blow5.display());
    run(&mut seqloom(line.split_whitespace())).ok();
    let line = format!("signal index --quiet {}", blow5.display());
    run(&mut seqloom(line.split_whitespace())).ok();
    let expected = set.methylation(&few, &blow5, "").ok().text();
    // Reads whose bytes are changed are lost, and named.
    let good = fs::read(&blow5).unwrap();
    let mut bytes = good.clone();
    let third = bytes.len() / 3;
    bytes[third..2 * third].iter_mut().step_by(1000).for_each(|byte| *byte ^= 0x55);
    fs::write(&blow5, &bytes).unwrap();
    let lossy = set.methylation(&few, &blow5, "").fails_with(3);
    let lost = skipped(&lossy)["signal_unreadable"];
    assert!(lost > 0 && lossy.stderr.contains("r.blow5: read "), "{}", lossy.stderr);
    let kept: Vec<String> = lossy.text().lines().map(str::to_owned).collect();
    assert!(kept.len() > 1 && kept.iter().all(|line| expected.contains(line.as_str())));
    set.methylation(&few, &blow5, "--strict").fails_with(3).says(&["--strict"]);
    // An index of another file.
    let other = data("nanopore/derived_official_tools/multi_fast5_zip.blow5").unwrap();
    let copy = set.at("other.blow5");
    fs::copy(other, &copy).unwrap();
    let line = format!("signal index --quiet {}", copy.display());
    run(&mut seqloom(line.split_whitespace())).ok();
    fs::write(&blow5, &good).unwrap();
    fs::copy(set.at("r.blow5.idx"), set.at("other.blow5.idx")).unwrap();
    let run = set.methylation(&few, &copy, "").fails_with(3);
    assert!(run.stderr.contains("index"), "{}", run.stderr);
}

#[test]
fn event_tables_have_what_is_requested() {
    let Some(set) = ecoli() else { return };
    let few = set.few(|_, _| ());
    let summary = set.at("summary.tsv");
    let reads = set.reads();
    let table = |rest: &str| {
        let rest = format!("--reads {} {rest}", reads.display());
        set.line("eventalign", &few, &set.fast5(), &rest).ok().text()
    };
    let plain = table(&format!("--summary {}", summary.display()));
    let all = table("--print-read-names --scale-events --signal-index --samples");
    let columns = |text: &str| text.lines().next().unwrap().split('\t').count();
    assert_eq!((columns(&plain), columns(&all)), (13, 16));
    assert_eq!(plain.lines().count(), all.lines().count());
    assert!(plain.lines().all(|line| line.split('\t').count() == 13));
    assert!(all.lines().all(|line| line.split('\t').count() == 16));
    assert!(all.starts_with("contig\tposition\treference_kmer\tread_name\t"));
    let summary = fs::read_to_string(summary).unwrap();
    assert!(summary.lines().count() >= 9 && summary.contains(".fast5\t"), "{summary}");
    if !has("nanopolish") {
        return;
    }
    let expected = set.nanopolish("eventalign", &few);
    let (found, expected): (Vec<&str>, Vec<&str>) =
        (plain.lines().collect(), expected.lines().collect());
    assert_eq!(found.len(), expected.len());
    let equal = found.iter().zip(&expected).filter(|(found, expected)| found == expected).count();
    assert!(equal * 100 >= expected.len() * 99, "{equal} of {} are equal", expected.len());
}
