//! Families of UMIs within a distance: those that fgumi finds by fgbio's rule, and no read lost.

use crate::common::words;
use crate::common::{SOON, assert_same_bytes, folder, has, memory_floor, run, run_for, seqloom};
use crate::data::{align, pairs_with_duplicates, simulate, small};
use crate::prep::{
    assert_same_lines, assert_same_records, lines, prep, prep_into, samtools_sort, write_both,
};
use crate::shard::{assert_same_run, do_all, gather, one_process, plan};
use seqloom_testkit::skip::slow_tests;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const FAMILIES: &str = "--mark-duplicates --barcode-tag RX --umi-distance 1";

/// Copies of molecules with known UMIs.
struct Molecules {
    seed: u64,
    places: u64,
    /// Letters of a UMI; those after `dash` are after a dash.
    letters: usize,
    dash: Option<usize>,
    /// Letters are wrong with odds of one to this.
    one_error_in: u64,
    letters_of_errors: &'static [u8],
}

impl Molecules {
    /// Pairs as SAM grouped by name, in the order of their names' numbers.
    fn sam(&self) -> String {
        let mut state = self.seed;
        // Knuth's MMIX generator.
        let mut below = |limit: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % limit
        };
        let mut pairs = Vec::new();
        for place in 0..self.places {
            for molecule in 0..1 + below(6) {
                let letters = (0..self.letters).map(|_| b"ACGT"[below(4) as usize]);
                let molecular: Vec<u8> = letters.collect();
                for copy in 0..1 + below(14) {
                    let letter = |&letter: &u8| match below(self.one_error_in) {
                        0 => {
                            self.letters_of_errors
                                [below(self.letters_of_errors.len() as u64) as usize]
                        }
                        _ => letter,
                    };
                    let mut umi: Vec<u8> = molecular.iter().map(letter).collect();
                    if let Some(dash) = self.dash {
                        umi.insert(dash, b'-');
                    }
                    let umi = String::from_utf8(umi).unwrap();
                    let quality = ['F', 'G', 'H'][below(3) as usize];
                    let order = below(1 << 30);
                    pairs.push((order, place, format!("p{place}.{molecule}.{copy}"), umi, quality));
                }
            }
        }
        pairs.sort_unstable();
        let mut sam =
            "@HD\tVN:1.6\tSO:unsorted\tGO:query\n@SQ\tSN:c\tLN:10000000\n@RG\tID:a\tSM:s\tLB:l\n"
                .to_owned();
        for (_, place, name, umi, quality) in pairs {
            let (start, end) = (1000 + place * 500, 1150 + place * 500);
            let (bases, qualities) = ("A".repeat(50), quality.to_string().repeat(50));
            let tags = format!("MC:Z:50M\tMQ:i:60\tRX:Z:{umi}\tMI:Z:old\tRG:Z:a");
            sam += &format!(
                "{name}\t99\tc\t{start}\t60\t50M\t=\t{end}\t200\t{bases}\t{qualities}\t{tags}\n\
                 {name}\t147\tc\t{end}\t60\t50M\t=\t{start}\t-200\t{bases}\t{qualities}\t{tags}\n"
            );
        }
        sam
    }
}

/// Names of templates, by the value of MI; both mates must have the same.
fn families(bam: &Path) -> BTreeSet<BTreeSet<String>> {
    let mut found: BTreeMap<String, BTreeMap<String, usize>> = BTreeMap::new();
    for line in lines(bam) {
        let name = line.split('\t').next().unwrap().to_owned();
        let mi: Vec<&str> = line.split('\t').filter(|field| field.starts_with("MI:Z:")).collect();
        assert_eq!(mi.len(), 1, "{line}");
        *found.entry(mi[0].to_owned()).or_default().entry(name).or_default() += 1;
    }
    let names = |family: BTreeMap<String, usize>| {
        assert!(family.values().all(|&records| records == 2), "{family:?}");
        family.into_keys().collect()
    };
    found.into_values().map(names).collect()
}

/// Names of templates that are no duplicates.
fn kept(bam: &Path) -> BTreeSet<String> {
    let is_kept =
        |line: &String| line.split('\t').nth(1).unwrap().parse::<u16>().unwrap() & 0x400 == 0;
    let name = |line: String| line.split('\t').next().unwrap().to_owned();
    lines(bam).into_iter().filter(is_kept).map(name).collect()
}

#[test]
fn slow_families_are_those_of_fgumi() {
    if !slow_tests() {
        return;
    }
    let (true, true) = (has("fgumi"), has("samtools")) else { return };
    // Where two equally frequent UMIs are near to a third, either may have it: we say that the one
    // of the earlier template does, and the rule does not. So UMIs are long in the first case, and
    // in the second families are counted.
    for (seed, letters, dash) in [(1, 12, Some(6)), (2, 16, None), (3, 6, None)] {
        let here = folder();
        let molecules = Molecules {
            seed,
            places: 600,
            letters,
            dash,
            one_error_in: 40,
            letters_of_errors: b"ACGT",
        };
        let (_, input) = write_both(here.path(), "in", &molecules.sam());
        let path = |name: &str| here.path().join(name);
        prep_into(&path("ours.bam"), &[&input], FAMILIES);
        let mut sort = words("fgumi sort --order template-coordinate -i");
        run(sort.arg(&input).arg("-o").arg(path("sorted.bam"))).ok();
        let mut group = words("fgumi group --strategy adjacency --edits 1 -i");
        run(group.arg(path("sorted.bam")).arg("-o").arg(path("theirs.bam"))).ok();
        let (ours, theirs) = (families(&path("ours.bam")), families(&path("theirs.bam")));
        assert_eq!(ours.len(), theirs.len(), "{letters} letters: families");
        assert!(ours.len() > 1500 && ours.iter().any(|family| family.len() > 9));
        let equal = ours.intersection(&theirs).count();
        let least = if letters > 6 { ours.len() } else { ours.len() * 99 / 100 };
        assert!(equal >= least, "{letters} letters: {equal} of {} families", ours.len());
    }
}

#[test]
fn every_family_keeps_one_and_no_read_is_lost() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    let molecules = Molecules {
        seed: 4,
        places: 300,
        letters: 8,
        dash: None,
        one_error_in: 30,
        letters_of_errors: b"NNacgtACGT",
    };
    let (_, input) = write_both(here.path(), "in", &molecules.sam());
    let sorted = samtools_sort(&input, "sorted.bam", "");
    let templates = lines(&input).len() / 2;
    let path = |name: &str| here.path().join(name);
    let mut all = Vec::new();
    for (name, input) in [("grouped.bam", &input), ("sorted.bam", &sorted)] {
        prep_into(&path(name), &[input], FAMILIES);
        let families = families(&path(name));
        assert_eq!(families.iter().map(BTreeSet::len).sum::<usize>(), templates, "{name}");
        let kept = kept(&path(name));
        assert_eq!(kept.len(), families.len(), "{name}");
        let has_one = |family: &BTreeSet<String>| family.intersection(&kept).count() == 1;
        assert!(families.iter().all(has_one), "{name}");
        all.push(families);
    }
    assert_eq!(all[0], all[1], "families of grouped and of sorted input");
    let equality = FAMILIES.replace("--umi-distance 1", "--umi-distance 0");
    prep_into(&path("zero.bam"), &[&input], &equality);
    assert!(families(&path("zero.bam")).len() > all[0].len() + 300);
}

/// The tags of records but for MI.
fn without_families(bam: &Path) -> Vec<String> {
    let without = |line: &String| {
        line.split('\t').filter(|field| !field.starts_with("MI:")).collect::<Vec<_>>().join("\t")
    };
    lines(bam).iter().map(without).collect()
}

#[test]
fn distance_0_marks_as_equality_does() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    let path = |name: &str| here.path().join(name);
    let data = crate::prep::hard(here.path(), 701, 6000, 4);
    for input in [&data.grouped, &data.sorted] {
        let text = run(words("samtools view --no-PG -h").arg(input)).ok().text();
        let (_, input) = write_both(here.path(), "letters", &with_letters(&text));
        let options = "--mark-duplicates --barcode-tag RX --tag-duplicates all";
        prep_into(&path("equal.bam"), &[&input], options);
        prep_into(&path("zero.bam"), &[&input], &format!("{options} --umi-distance 0"));
        let (equal, zero) = (path("equal.bam"), path("zero.bam"));
        assert_same_lines(without_families(&equal), without_families(&zero), "distance 0");
        assert!(lines(&zero).iter().any(|line| line.contains("\tMI:Z:")));
        prep_into(&path("one.bam"), &[&input], &format!("{options} --umi-distance 1"));
        let (zero, one) = (kept(&zero).len(), kept(&path("one.bam")).len());
        assert!(one < zero, "{one} {zero}");
    }
}

/// Hard data with RX of letters that are UMIs, whatever they were.
fn with_letters(sam: &str) -> String {
    let of = |field: &str| match field.strip_prefix("RX:Z:") {
        None => field.to_owned(),
        Some(value) => {
            let sum: usize = value.bytes().map(usize::from).sum();
            format!("RX:Z:{}", ["ACG", "ACT", "CCT", "TGA"][sum % 4])
        }
    };
    let line = |line: &str| line.split('\t').map(of).collect::<Vec<_>>().join("\t") + "\n";
    sam.lines().map(line).collect()
}

/// FASTQ of pairs with UMIs in their names.
fn named_pairs(folder: &Path, templates: u64) -> [PathBuf; 2] {
    let reads = simulate(small(), &pairs_with_duplicates(templates), folder);
    [reads.first, reads.second].map(|file| {
        let text = fs::read_to_string(&file).unwrap();
        let line = |(n, line): (usize, &str)| match (n % 4, line.split(' ').next()) {
            (0, Some(name)) => {
                let name = name.trim_end_matches("/1").trim_end_matches("/2");
                let umi = ["ACGT", "ACGT", "ACGA", "TTTT", "NCGT"][n / 4 * 11 / 3 % 5];
                format!("{name}:{umi}\n")
            }
            _ => format!("{line}\n"),
        };
        let named = file.with_extension("umi.fq");
        fs::write(&named, text.lines().enumerate().map(line).collect::<String>()).unwrap();
        named
    })
}

#[test]
fn align_finds_what_prep_does() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    let path = |name: &str| here.path().join(name);
    let [first, second] = named_pairs(here.path(), 8000);
    let base = align(small(), &[&first, &second]);
    let fused = "--umi name --barcode-tag RX --umi-distance 1";
    run(seqloom(&base).args(fused.split(' ')).arg("-o").arg(path("fused.bam"))).ok();
    let unsorted = "--umi name --no-sort --no-mark-duplicates";
    run(seqloom(&base).args(unsorted.split(' ')).arg("-o").arg(path("unsorted.bam"))).ok();
    let options = format!("{FAMILIES} --duplicate-mode query --sort coordinate");
    prep_into(&path("prep.bam"), &[&path("unsorted.bam")], &options);
    assert_same_records(&path("fused.bam"), &path("prep.bam"), "align and prep");
    let all = lines(&path("fused.bam"));
    let reported = all.iter().filter(|line| line.contains("\tMI:Z:")).count();
    assert!(reported > all.len() * 9 / 10, "{reported} of {}", all.len());
}

#[test]
fn threads_and_memory_do_not_show_in_families() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    let path = |name: &str| here.path().join(name);
    let [first, second] = named_pairs(here.path(), 30_000);
    let mut aligning = align(small(), &[&first, &second]);
    let options = "--umi name --barcode-tag RX --umi-distance 1 -K 500000 --no-pg";
    aligning.extend(options.split(' ').map(str::to_owned));
    run(seqloom(&aligning).arg("-o").arg(path("in.bam"))).ok();
    let mut preparing = vec!["prep".to_owned(), path("in.bam").display().to_string()];
    preparing.extend(format!("{FAMILIES} --no-pg").split(' ').map(str::to_owned));
    for base in [aligning, preparing] {
        let floor = memory_floor(&[base.clone(), vec!["-t".into(), "2".into()]].concat());
        let make = |name: &str, more: &[&str]| {
            run(seqloom(&base).args(more).arg("-o").arg(path(name))).ok();
            path(name)
        };
        let one = make("one.bam", &["-t", "1", "-m", "8G"]);
        for (t, m) in [("2", floor.as_str()), ("7", "8G")] {
            let what = format!("{} -t {t} -m {m}", base[0]);
            assert_same_bytes(&one, &make("other.bam", &["-t", t, "-m", m]), &what);
        }
        if base[0] == "align" {
            for (t, m) in [("1", "8G"), ("7", "1G")] {
                let options = ["-t", t, "-m", m, "--resume", "--resume-bases", "1M"];
                let resumed = make("resumed.bam", &options);
                assert_same_bytes(&one, &resumed, &format!("--resume -t {t} -m {m}"));
            }
        }
    }
}

#[test]
fn shards_find_the_families_of_one_run() {
    let here = folder();
    let [first, second] = named_pairs(here.path(), 20_000);
    for distance in ["0", "1"] {
        let mut aligning = align(small(), &[&first, &second]);
        let options = format!("--umi name --barcode-tag RX --umi-distance {distance} -K 200000");
        aligning.extend(options.split(' ').map(str::to_owned));
        let one = one_process(&aligning, here.path(), &format!("one{distance}"));
        for (t, parts) in [("1", (3, 2)), ("2", (7, 5)), ("7", (1, 1))] {
            let name = format!("shards{distance}.{t}");
            let run = here.path().join(&name);
            plan(&run, parts, &aligning);
            do_all(&run, t, 11);
            assert_same_run(&one, &gather(&run, here.path(), &name), &name);
        }
    }
}

/// Families as sets of records, which their tag XI names, of records with a family.
fn families_of_records(bam: &Path) -> BTreeSet<BTreeSet<String>> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in lines(bam) {
        let tag =
            |name: &str| line.split('\t').find_map(|it| it.strip_prefix(name)).map(str::to_owned);
        if let Some(family) = tag("MI:Z:") {
            assert!(found.entry(family).or_default().insert(tag("XI:Z:").unwrap()), "{line}");
        }
    }
    found.into_values().collect()
}

/// Hard data whose templates have an RX, the same on all of their records.
fn with_umis_of_templates(sam: &str) -> String {
    let line = |line: &str| {
        let template = line.split("\tXI:Z:").nth(1).and_then(|it| it.split('/').next());
        let Some(template) = template.and_then(|it| it.parse::<usize>().ok()) else {
            return format!("{line}\n");
        };
        let fields = line.split('\t').filter(|field| !field.starts_with("RX:"));
        let umi = ["ACG", "ACT", "CCT", "TGA"][template * 7 / 3 % 4];
        format!("{}\tRX:Z:{umi}\n", fields.collect::<Vec<_>>().join("\t"))
    };
    sam.lines().map(line).collect()
}

/// Records that have no ends: secondary and supplementary ones, and unmapped mates.
#[test]
fn all_records_of_a_template_have_its_family_in_sorted_input_too() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    let path = |name: &str| here.path().join(name);
    let data = crate::prep::hard(here.path(), 702, 6000, 4);
    let text = run(words("samtools view --no-PG -h").arg(&data.grouped)).ok().text();
    let (_, grouped) = write_both(here.path(), "letters", &with_umis_of_templates(&text));
    let sorted = samtools_sort(&grouped, "sorted.bam", "");
    for distance in ["0", "1"] {
        let options = format!("--mark-duplicates --barcode-tag RX --umi-distance {distance}");
        // Of equal ends the modes take different ones for the first.
        let as_sorted = format!("{options} --duplicate-mode coordinate");
        prep_into(&path("grouped.bam"), &[&grouped], &as_sorted);
        prep_into(&path("by_place.bam"), &[&sorted], &options);
        let [theirs, ours] =
            ["grouped.bam", "by_place.bam"].map(|it| families_of_records(&path(it)));
        // With errors, of equally frequent UMIs that of the earlier template goes first, and the
        // order of templates is another: what must be the same is which records have a family.
        let differ = ours.symmetric_difference(&theirs).count();
        assert!(differ <= [0, 20][usize::from(distance == "1")], "distance {distance}: {differ}");
        let templates = |families: &BTreeSet<BTreeSet<String>>| -> Vec<BTreeSet<String>> {
            let of = |it: &BTreeSet<String>| {
                it.iter().map(|it| it.split('/').next().unwrap().to_owned()).collect()
            };
            families.iter().map(of).collect()
        };
        let in_families: Vec<String> = templates(&ours).into_iter().flatten().collect();
        let distinct: BTreeSet<&String> = in_families.iter().collect();
        assert_eq!(distinct.len(), in_families.len(), "templates of two families");
        let records = |it: &BTreeSet<BTreeSet<String>>| it.iter().flatten().cloned().collect();
        let [reported, expected]: [BTreeSet<String>; 2] = [records(&ours), records(&theirs)];
        assert_eq!(reported, expected, "distance {distance}: records with a family");
    }
    let reported = lines(&path("by_place.bam"));
    let reported = reported.iter().filter(|line| line.contains("\tMI:Z:"));
    let flags = reported.map(|line| line.split('\t').nth(1).unwrap().parse::<u16>().unwrap());
    let without_ends = flags.filter(|flags| flags & 0x904 != 0).count();
    assert!(without_ends > 500, "{without_ends}");
    // Whatever the threads and the memory.
    let mut base = vec!["prep".to_owned(), sorted.display().to_string()];
    base.extend(format!("{FAMILIES} --no-pg").split(' ').map(str::to_owned));
    let floor = memory_floor(&[base.clone(), vec!["-t".into(), "2".into()]].concat());
    for (t, m) in [("1", "8G"), ("2", floor.as_str()), ("7", "8G")] {
        run(seqloom(&base).args(["-t", t, "-m", m, "-o"]).arg(path("other.bam"))).ok();
        assert_same_bytes(&path("by_place.bam"), &path("other.bam"), &format!("-t {t} -m {m}"));
    }
}

#[test]
fn what_is_no_umi_is_named() {
    let here = folder();
    let sam = |umi: &str| {
        let molecules = Molecules {
            seed: 5,
            places: 1,
            letters: 4,
            dash: None,
            one_error_in: 1000,
            letters_of_errors: b"ACGT",
        };
        let text = molecules.sam();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let last = lines.last_mut().unwrap();
        let old = last.split('\t').find(|field| field.starts_with("RX")).unwrap().to_owned();
        *last = last.replace(&old, &format!("RX:Z:{umi}"));
        lines.join("\n") + "\n"
    };
    let out = here.path().join("never.bam");
    for (umi, reported) in [
        ("ACXT", "'ACXT' is not a UMI"),
        ("A-C-G", "'A-C-G' is not a UMI"),
        ("ACGTACGTACGTACGTACGTACGTAC", "more than 25 letters"),
    ] {
        let input = here.path().join("in.sam");
        fs::write(&input, sam(umi)).unwrap();
        let mut command = prep(&[&input]);
        command.args(FAMILIES.split(' ')).arg("-o").arg(&out);
        run_for(&mut command, SOON).fails_with(3).says(&["in.sam: record ", reported]);
        assert!(!out.exists());
    }
}

#[test]
fn options_that_do_not_go_with_a_distance() {
    let here = folder();
    let input = here.path().join("in.sam");
    fs::write(&input, "@HD\tVN:1.6\tGO:query\n@SQ\tSN:c\tLN:900\n").unwrap();
    let out = here.path().join("never.bam");
    let fails = |arguments: &[String], options: &str, reported: &[&str]| {
        let mut command = seqloom(arguments);
        command.args(options.split(' ')).arg("-o").arg(&out);
        run_for(&mut command, SOON).fails_with(2).says(reported);
        assert!(!out.exists());
    };
    let preparing = ["prep".to_owned(), input.display().to_string()];
    let fails_prep = |options: &str, reported: &[&str]| fails(&preparing, options, reported);
    fails_prep("--mark-duplicates --umi-distance 1", &["--barcode-tag"]);
    fails_prep("--mark-duplicates --barcode-tag RX --umi-distance 2", &["--umi-distance", "0..=1"]);
    fails_prep(&format!("{FAMILIES} --read-one-barcode-tag BX"), &["--read-one-barcode-tag"]);
    fails_prep("--barcode-tag RX --umi-distance 1", &["--mark-duplicates"]);
    let aligning = align(small(), &[&input]);
    fails(
        &aligning,
        "--barcode-tag RX --umi-distance 1 --no-mark-duplicates",
        &["--no-mark-duplicates"],
    );
}
