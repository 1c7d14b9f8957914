//! UMIs of reads: the tags that `align --umi` puts on records, and the duplicates that they imply
//! apart, as bwa mem and Picard MarkDuplicates have them.

use crate::common::{Run, SOON, run_for, words};
use crate::common::{assert_same_bytes, folder, has, memory_floor, picard, run, run_into, seqloom};
use crate::data::{align, pairs_with_duplicates, simulate, small};
use crate::prep::{assert_same_lines, lines};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Reads with UMIs, as one of the ways has them.
struct Input {
    /// For us.
    ours: [PathBuf; 2],
    /// For bwa: names are the same, UMIs are not among the bases.
    theirs: [PathBuf; 2],
    /// Of each name.
    umis: HashMap<String, String>,
}

/// One of a few UMIs, so that some duplicates share theirs; of two parts of 3 and 2 bases.
fn umi(template: usize) -> [&'static str; 2] {
    [["ACG", "TT"], ["ACG", "TA"], ["NCG", "TT"], ["GGT", "CA"]][template * 7 / 3 % 4]
}

/// Pairs of the small genome, a quarter of them duplicates.
fn input(folder: &Path, way: &str, templates: u64) -> Input {
    let reads = simulate(small(), &pairs_with_duplicates(templates), folder);
    let mut umis = HashMap::new();
    let mut write = |read: usize, from: &Path| {
        let text = fs::read_to_string(from).unwrap();
        let (mut ours, mut theirs) = (String::new(), String::new());
        let all: Vec<&str> = text.lines().collect();
        for (n, record) in all.chunks(4).enumerate() {
            let name = record[0][1..].split([' ', '/']).next().unwrap();
            let parts = umi(n);
            let dual = parts.join("-");
            let (name, comment, umi) = match way {
                "name" => (format!("{name}:{}", parts.join("+")), String::new(), dual),
                "umi-tools" => {
                    (format!("{name}_{}", parts.concat()), String::new(), parts.concat())
                }
                "comment" => {
                    let lower = parts.concat().to_lowercase();
                    (name.to_owned(), format!(" {}:N:0:{lower}", read + 1), parts.concat())
                }
                _ => (name.to_owned(), String::new(), dual),
            };
            let (bases, qualities) = (record[1], record[3]);
            let record = |bases: &str, qualities: &str| {
                format!("@{name}{comment}\n{bases}\n+\n{qualities}\n")
            };
            theirs += &record(bases, qualities);
            ours += &match way {
                "reads" => {
                    let skipped = ["GA", ""][read];
                    let marks = ["!#5", ":I"][read].to_owned() + &"F".repeat(skipped.len());
                    record(
                        &format!("{}{skipped}{bases}", parts[read]),
                        &format!("{marks}{qualities}"),
                    )
                }
                _ => record(bases, qualities),
            };
            umis.insert(name, umi);
        }
        let paths = ["ours", "theirs"].map(|who| folder.join(format!("{who}.{read}.fq")));
        fs::write(&paths[0], ours).unwrap();
        fs::write(&paths[1], theirs).unwrap();
        paths
    };
    let [first, second] = [write(0, &reads.first), write(1, &reads.second)];
    let ([a, c], [b, d]) = (first, second);
    Input { ours: [a, b], theirs: [c, d], umis }
}

/// The columns of each record, and its tag RX, sorted.
fn columns(bam: &Path) -> Vec<String> {
    let of = |line: &String| {
        let umi = line.split('\t').find(|field| field.starts_with("RX:Z:")).unwrap_or("none");
        let columns: Vec<&str> = line.split('\t').take(11).collect();
        format!("{}\t{umi}", columns.join("\t"))
    };
    let mut all: Vec<String> = lines(bam).iter().map(of).collect();
    all.sort_unstable();
    all
}

fn duplicates(columns: &[String]) -> usize {
    let flag = |line: &String| line.split('\t').nth(1).unwrap().parse::<u16>().unwrap();
    columns.iter().filter(|line| flag(line) & 0x400 != 0).count()
}

#[test]
fn umis_equal_bwa_and_picard() {
    let (true, true, true) = (has("bwa"), has("picard"), has("samtools")) else { return };
    let none = {
        let here = folder();
        let input = input(here.path(), "name", 8000);
        equals_picard(&input, here.path(), "", "")
    };
    for (way, source) in [
        ("name", "name"),
        ("umi-tools", "name"),
        ("comment", "comment"),
        ("comment", "comment:4"),
        ("reads", "read1:3M2S+T,read2:2M+T"),
    ] {
        let here = folder();
        let input = input(here.path(), way, 8000);
        let umis = format!("--umi {source} -K 300000 --barcode-tag RX");
        let found = equals_picard(&input, here.path(), &umis, "BARCODE_TAG=RX");
        assert!(found > 300 && found < none, "{way}: {found} of {none} duplicates are left");
        if way == "reads" {
            let ours = lines(&here.path().join("ours.bam"));
            let has = |field: &str| ours.iter().all(|line| line.contains(field));
            assert!(has("\tQX:Z:!#5 :I"), "{}", ours[0]);
        }
    }
}

/// Aligns and marks in one go, and by bwa and Picard; returns how many records are duplicates.
#[track_caller]
fn equals_picard(input: &Input, folder: &Path, options: &str, picards: &str) -> usize {
    let path = |name: &str| folder.join(name);
    let mut ours = seqloom(align(small(), &[&input.ours[0], &input.ours[1]]));
    // Picard 3.5.0 ends with a null pointer where a paired record has no read group.
    let read_group = ["-R", "@RG\\tID:g\\tSM:s\\tLB:l"];
    ours.args(read_group).args(options.split_whitespace()).arg("-o").arg(path("ours.bam"));
    run(&mut ours).ok();
    let cohort = if options.contains("-K") { "300000" } else { "100000000" };
    let mut bwa = words(&format!("bwa mem -t 2 -K {cohort}"));
    bwa.args(read_group).arg(small().bwa()).args(&input.theirs);
    run_into(&mut bwa, &path("bwa.sam")).ok();
    let text = fs::read_to_string(path("bwa.sam")).unwrap();
    let tagged = text.lines().map(|line| match line.split('\t').next() {
        Some(name) if !line.starts_with('@') && !picards.is_empty() => {
            format!("{line}\tRX:Z:{}\n", input.umis[name])
        }
        _ => format!("{line}\n"),
    });
    fs::write(path("tagged.sam"), tagged.collect::<String>()).unwrap();
    let line = format!(
        "MarkDuplicates I={} O={} M={} ASSUME_SORT_ORDER=queryname {picards} \
         ADD_PG_TAG_TO_READS=false VALIDATION_STRINGENCY=LENIENT",
        path("tagged.sam").display(),
        path("picard.bam").display(),
        path("picard.txt").display()
    );
    run(&mut picard(&line)).ok();
    let (ours, theirs) = (columns(&path("ours.bam")), columns(&path("picard.bam")));
    let found = duplicates(&ours);
    assert_same_lines(ours, theirs, options);
    found
}

/// Pairs with dual UMIs in their names, every other one from the bottom strand of its molecule: the
/// reads and the parts of the UMI have changed places.
fn duplexes(folder: &Path, templates: u64) -> Input {
    let Input { ours, .. } = input(folder, "name", templates);
    let texts = ours.map(|file| fs::read_to_string(file).unwrap());
    let [first, second] = texts.each_ref().map(|text| text.lines().collect::<Vec<_>>());
    let (mut written, mut umis) = ([String::new(), String::new()], HashMap::new());
    for (n, pair) in first.chunks(4).zip(second.chunks(4)).enumerate() {
        let (mut reads, mut parts) = ([pair.0, pair.1], umi(n));
        if n % 2 == 1 {
            reads.reverse();
            parts.reverse();
        }
        let own = pair.0[0][1..].rsplit_once(':').unwrap().0;
        let name = format!("{own}:{}", parts.join("+"));
        for (out, read) in written.iter_mut().zip(reads) {
            *out += &format!("@{name}\n{}\n+\n{}\n", read[1], read[3]);
        }
        umis.insert(name, parts.join("-"));
    }
    let paths = ["1", "2"].map(|read| folder.join(format!("duplex.{read}.fq")));
    paths.iter().zip(written).for_each(|(path, text)| fs::write(path, text).unwrap());
    Input { ours: paths.clone(), theirs: paths, umis }
}

#[test]
fn umis_of_duplexes_equal_bwa_and_picard() {
    let (true, true, true) = (has("bwa"), has("picard"), has("samtools")) else { return };
    let here = folder();
    let input = duplexes(here.path(), 8000);
    let umis = "--umi name -K 300000 --barcode-tag RX";
    let single = equals_picard(&input, here.path(), umis, "BARCODE_TAG=RX");
    let duplex = format!("{umis} --duplex-umi");
    let found = equals_picard(&input, here.path(), &duplex, "BARCODE_TAG=RX DUPLEX_UMI=true");
    assert!(found > single + 150, "{found} duplicates of duplexes, {single} of single strands");
}

#[test]
fn umis_are_the_same_bytes_for_any_threads_and_memory() {
    let here = folder();
    let reads = input(here.path(), "reads", 20_000);
    same_bytes(&reads, here.path(), "--umi read1:3M2S+T,read2:2M+T --barcode-tag RX");
    let pairs = duplexes(here.path(), 20_000);
    same_bytes(&pairs, here.path(), "--umi name --barcode-tag RX --duplex-umi");
}

/// Requires the same bytes whatever the threads and memory, and of a run with `--resume`.
#[track_caller]
fn same_bytes(input: &Input, folder: &Path, umis: &str) {
    let mut base = align(small(), &[&input.ours[0], &input.ours[1]]);
    let options = format!("{umis} -K 500000 --no-pg");
    base.extend(options.split_whitespace().map(str::to_owned));
    let floor = memory_floor(&[base.clone(), vec!["-t".into(), "2".into()]].concat());
    let make = |name: &str, more: &[&str]| {
        let out = folder.join(format!("{name}.bam"));
        run(seqloom(&base).args(more).arg("-o").arg(&out)).ok();
        out
    };
    let one = make("one", &["-t", "1", "-m", "8G"]);
    for (name, more) in [("floor", ["-t", "2", "-m", &floor]), ("seven", ["-t", "7", "-m", "8G"])] {
        assert_same_bytes(&one, &make(name, &more), &format!("{umis} {name}"));
    }
    let resumed = make("resumed", &["-t", "2", "--resume", "--resume-bases", "1M"]);
    assert_same_bytes(&one, &resumed, &format!("{umis} --resume"));
}

/// The text of a FASTQ with these headers.
fn fastq(headers: &[&str]) -> String {
    headers.iter().map(|header| format!("@{header}\nACGTACGTAC\n+\nIIIIIIIIII\n")).collect()
}

/// Mates with the same headers.
fn alike<'a>(headers: &'a [&'a str]) -> [&'a [&'a str]; 2] {
    [headers, headers]
}

#[test]
fn malformed_umis_are_named_and_refused() {
    let here = folder();
    let (first, second) = (here.path().join("1.fq"), here.path().join("2.fq"));
    let t = |options: &str, texts: [&[&str]; 2], reported: &[&str]| {
        fs::write(&first, fastq(texts[0])).unwrap();
        fs::write(&second, fastq(texts[1])).unwrap();
        let out = here.path().join("never.bam");
        let files: &[&Path] = if texts[1].is_empty() { &[&first] } else { &[&first, &second] };
        let mut command = seqloom(align(small(), files));
        command.args(options.split_whitespace()).arg("-o").arg(&out);
        run_for(&mut command, SOON).fails_with(3).says(reported);
        assert!(!out.exists());
    };
    let name = "--umi name";
    t(name, alike(&["a:AC", "b:AC", "c:AR"]), &["1.fq", "record 3", "'c:AR'", "'AR' is not a UMI"]);
    let prefix = "'UMI_AC' is not a UMI";
    let illumina = ["I:1:F:1:1101:5:6:UMI_AC"];
    t(name, alike(&illumina), &["1.fq", "record 1", prefix, "--umi-prefix TEXT removes"]);
    let absent = ["a:UMI_AC", "b:AC"];
    let with_prefix = "--umi name --umi-prefix UMI_";
    t(with_prefix, alike(&absent), &["1.fq", "record 2", "'UMI_' of --umi-prefix", "'b:AC'"]);
    t(name, alike(&["a:AC", "b"]), &["1.fq", "record 2", "'b'", "no UMI in its name"]);
    t(name, alike(&["a", "b:AC"]), &["1.fq", "record 1", "'a'", "no UMI in its name"]);
    t(name, alike(&["a:AC", "b:AX"]), &["record 2", "'AX' is not a UMI"]);
    t(name, [&["a:AC", "b:AC"], &["a:AC", "b:AG"]], &["record 2", "different names"]);
    t(name, [&["a:AC", "b:AC", "c:"], &[]], &["1.fq: record 3", "'c:'"]);
    let comment = "--umi comment";
    t(comment, [&["a AC", "b AC"], &["a AC", "b AG"]], &["record 2", "'AC' and 'AG'"]);
    t(comment, [&["a AC", "b AC"], &["a AC", "b"]], &["record 2", "no UMI in its comment"]);
    t("--umi comment:2", alike(&["a 1:AC", "b 1"]), &["record 2", "no UMI in its comment"]);
    t("--umi read2:11M+T", alike(&["a"]), &["record 1", "read 2 has 10 bases", "11 at least"]);
    t("--umi read1:4M5T", alike(&["a"]), &["record 1", "read 1 has 10 bases", "structure has 9"]);
}

#[test]
fn umis_with_n_and_in_lower_case_are_taken() {
    let here = folder();
    let (file, out) = (here.path().join("1.fq"), here.path().join("out.sam"));
    fs::write(&file, fastq(&["a:ACN", "b:acg"])).unwrap();
    run(seqloom(align(small(), &[&file])).args(["--umi", "name", "-o"]).arg(&out)).ok();
    let text = fs::read_to_string(&out).unwrap();
    let has = |name: &str, umi: &str| {
        let is_one = |line: &str| line.starts_with(name) && line.contains(&format!("RX:Z:{umi}"));
        assert!(text.lines().any(is_one), "{name} {umi}: {text}");
    };
    has("a:ACN", "ACN");
    has("b:acg", "ACG");
}

#[test]
fn options_of_umis_that_cannot_be_meant() {
    let here = folder();
    let file = here.path().join("1.fq");
    fs::write(&file, fastq(&["a:AC"])).unwrap();
    let t = |options: &str, reported: &[&str]| {
        let mut command = seqloom(align(small(), &[&file]));
        command.args(options.split_whitespace()).arg("-o").arg(here.path().join("never"));
        run_for(&mut command, SOON).fails_with(2).says(reported);
    };
    t("--umi names", &["name, comment"]);
    t("--umi comment:0", &["comment:N"]);
    t("--umi read1:8M+S", &["8M+S", "one T"]);
    t("--umi read1:+M", &["the length of a UMI"]);
    t("--umi read1:8X+T", &["not a read structure"]);
    t("--umi read1:+T", &["no structure has an M"]);
    t("--umi read1:2M+T,read2:2M+T", &["two files"]);
    t("--umi read1:2M+T -p", &["--umi", "-p"]);
    t("--umi read1:2M+T --mode ungapped", &["--umi", "--mode"]);
    t("--umi-prefix UMI_", &["--umi-prefix needs --umi"]);
    t("--umi read1:2M+T --umi-prefix UMI_", &["--umi-prefix is for names"]);
    t("--umi name --umi-prefix=", &["--umi-prefix"]);
    t("--barcode-tag RX --no-mark-duplicates", &["barcodes", "--no-mark-duplicates"]);
    t("--duplex-umi", &["--barcode-tag"]);
    t("--barcode-tag RX --umi-distance 1 --duplex-umi", &["--duplex-umi", "--umi-distance"]);
    t("--barcode-tag RXY", &["not the name of a tag"]);
}

/// What `align` makes of pairs whose reads have these headers, all of one place: the program's
/// words, and of each record in turn its name, its RX and whether it is a duplicate.
fn of_one_place(headers: &[&str], options: &str) -> (Run, Vec<(String, String, bool)>) {
    let here = folder();
    let reads = simulate(small(), &pairs_with_duplicates(8), here.path());
    let one = |read: usize, file: &Path| {
        let text = fs::read_to_string(file).unwrap();
        let record: Vec<&str> = text.lines().take(4).collect();
        let copy = |header: &&str| {
            let header = header.replace(" 1:N:", &format!(" {read}:N:"));
            format!("@{header}\n{}\n+\n{}\n", record[1], record[3])
        };
        let path = here.path().join(file.file_name().unwrap()).with_extension("one.fq");
        fs::write(&path, headers.iter().map(copy).collect::<String>()).unwrap();
        path
    };
    let (first, second) = (one(1, &reads.first), one(2, &reads.second));
    let out = here.path().join("out.sam");
    let mut command = seqloom(align(small(), &[&first, &second]));
    let ran = run(command.args(options.split_whitespace()).arg("-o").arg(&out)).ok();
    let text = fs::read_to_string(&out).unwrap();
    let record = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        let umi = fields.iter().find_map(|field| field.strip_prefix("RX:Z:")).unwrap_or_default();
        let flag: u16 = fields[1].parse().unwrap();
        (fields[0].to_owned(), umi.to_owned(), flag & 0x400 != 0)
    };
    let records = text.lines().filter(|line| !line.starts_with('@')).map(record).collect();
    (ran, records)
}

fn names_of_duplicates(records: &[(String, String, bool)]) -> Vec<&str> {
    let mut names: Vec<&str> =
        records.iter().filter(|it| it.2).map(|(name, ..)| name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

#[test]
fn parts_that_bcl_convert_has_reversed_are_as_fgbio_has_them() {
    let umis = |headers: &[&str]| {
        let (_, records) = of_one_place(headers, "--umi name --barcode-tag RX");
        assert_eq!(records.len(), 2 * headers.len());
        let mut umis: Vec<String> =
            records.into_iter().map(|(name, umi, _)| name + " " + &umi).collect();
        umis.sort_unstable();
        umis.dedup();
        umis
    };
    // As fgbio's CopyUmiFromReadName has them.
    let name = |umi: &str| format!("I:1:F:1:1101:0:20:{umi}");
    let names = ["ACGTAC+rGGTCAC", "rACGTAC+GGTCAC", "rACGTAC+rGGTCAC"].map(name);
    let found = umis(&names.each_ref().map(String::as_str));
    let expected = ["ACGTAC-GTGACC", "GTACGT-GGTCAC", "GTACGT-GTGACC"];
    let expected: Vec<String> =
        names.iter().zip(expected).map(|(name, umi)| format!("{name} {umi}")).collect();
    assert_eq!(found, expected);
}

#[test]
fn umis_of_different_lengths_are_different() {
    let headers = ["a:ACGTAC", "b:ACGTACG", "c:ACGTAC", "d:ACGTA-CG", "e:ACGTACT", "f:ACGTACT"];
    let (_, records) = of_one_place(&headers, "--umi name --barcode-tag RX");
    assert_eq!(names_of_duplicates(&records), ["c:ACGTAC", "f:ACGTACT"]);
    // ACGTACG is one letter from ACGTACT, and of another length than ACGTAC.
    let (_, records) = of_one_place(&headers, "--umi name --barcode-tag RX --umi-distance 1");
    let duplicates = names_of_duplicates(&records);
    let of_seven = duplicates.iter().filter(|name| !name.starts_with('c'));
    assert_eq!(of_seven.count(), 2, "{duplicates:?}");
    assert!(duplicates.contains(&"c:ACGTAC") && !duplicates.contains(&"d:ACGTA-CG"));
}

#[test]
fn a_prefix_of_umis_is_removed() {
    let headers = ["I:1:F:1:1101:5:6:UMI_ACGT_CCA", "I:1:F:1:1101:5:7:UMI_ACGT_CCA"];
    let options = "--umi name --umi-prefix UMI_ --barcode-tag RX";
    let (_, records) = of_one_place(&headers, options);
    assert!(records.iter().all(|(_, umi, _)| umi == "ACGT-CCA"), "{records:?}");
    assert_eq!(names_of_duplicates(&records).len(), 1);
}

#[test]
fn an_index_that_is_taken_for_a_umi_is_a_warning() {
    let t = |umi: &str, headers: &[&str], reported: Option<&str>| {
        let (ran, _) = of_one_place(headers, &format!("--umi {umi} --barcode-tag RX --quiet"));
        match reported {
            Some(reported) => {
                ran.says(&["warning", ".fq: ", reported, "--umi says where UMIs are"]);
            }
            None => assert!(!ran.text().contains("warning"), "{}", ran.text()),
        }
    };
    let index = "1:N:0:ACGTACGT+TTTTGGGG";
    let comments = ["a", "b", "c"].map(|name| format!("{name} {index}"));
    let same = "3 of the first 3 templates have the same UMI (ACGTACGT-TTTTGGGG)";
    t("comment", &comments.each_ref().map(String::as_str), Some(same));
    // As Bismark joins name and comment.
    let joined = ["AAAACCCC", "GGGGTTTT"].map(|umi| format!("I:1:F:1:1101:0:2_{umi}_{index}"));
    let same = "2 of the first 2 templates have the same UMI";
    t("name", &joined.each_ref().map(String::as_str), Some(same));
    let index = "1 of the first 1 templates have the index in their comment";
    t("name", &["a:ACGTACGT 1:N:0:ACGTACGT"], Some(index));
    t("name", &["a:ACGTACGT 1:N:0:AAAA", "b:ACGTACGA 1:N:0:AAAA"], None);
    t("comment", &["a 1:N:0:ACGT", "b 1:N:0:ACGA"], None);
}
