//! `-m` holds where tables and headers grow with the input: many read groups, long reads and
//! millions of sequences.

use crate::common::{assert_same_bytes, folder, limit, memory_floor, run, run_for, seqloom};
use crate::data::{Reference, align, small};
use crate::memory::{peak_bytes, size_bytes};
use crate::shard::{OPTIONS, plan, tasks};
use seqloom_testkit::skip::slow_tests;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// A generator of numbers below a bound.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
        ((self.0 >> 33) as usize) % bound
    }
}

/// A reference of 60 kb with a site that varies, and reads of it with any qualities.
struct Case {
    folder: tempfile::TempDir,
    bases: String,
    dice: Dice,
}

impl Case {
    fn new(seed: u64) -> Self {
        let (folder, mut dice) = (folder(), Dice(seed));
        let bases: String = (0..60_000).map(|_| ['A', 'C', 'G', 'T'][dice.below(4)]).collect();
        fs::write(folder.path().join("ref.fa"), format!(">c\n{bases}\n")).unwrap();
        let sites = "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n";
        let sites = format!("{sites}c\t500\t.\tA\tC\t.\t.\t.\n");
        fs::write(folder.path().join("sites.vcf"), sites).unwrap();
        Self { folder, bases, dice }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Reads in turn of `groups` read groups, of one of `lengths`, with the qualities of `letters`.
    fn write_reads(&mut self, groups: usize, reads: usize, lengths: &[usize], letters: &str) {
        let mut sam = "@HD\tVN:1.6\tSO:unsorted\n@SQ\tSN:c\tLN:60000\n".to_owned();
        for group in 0..groups {
            writeln!(sam, "@RG\tID:g{group}\tSM:s\tPL:ILLUMINA").unwrap();
        }
        let letters: Vec<char> = letters.chars().collect();
        for read in 0..reads {
            let length = lengths[read % lengths.len()];
            let start = self.dice.below(60_000 - length);
            let (bases, flag) = (&self.bases[start..start + length], [0, 16][self.dice.below(2)]);
            let qualities = (0..length).map(|_| letters[self.dice.below(letters.len())]);
            let qualities: String = qualities.collect();
            let (place, group) = (start + 1, read % groups);
            let record =
                format!("{flag}\tc\t{place}\t60\t{length}M\t*\t0\t0\t{bases}\t{qualities}");
            writeln!(sam, "r{read}\t{record}\tRG:Z:g{group}").unwrap();
        }
        fs::write(self.at("in.sam"), sam).unwrap();
    }

    fn command(&self, out: &str, threads: &str, more: &str) -> Vec<String> {
        let text = |name: &str| self.at(name).display().to_string();
        let mut command = vec!["prep".to_owned(), text("in.sam"), "--no-pg".into(), "-l1".into()];
        for (option, value) in [
            ("--sort", "coordinate".to_owned()),
            ("--reference", text("ref.fa")),
            ("--known-sites", text("sites.vcf")),
            ("--bqsr-report", text(&format!("{out}.txt"))),
            ("-o", text(&format!("{out}.bam"))),
            ("-t", threads.to_owned()),
            ("--tmp-dir", self.folder.path().display().to_string()),
        ] {
            command.extend([option.to_owned(), value]);
        }
        command.extend(more.split_whitespace().map(str::to_owned));
        command
    }

    /// Runs at the floor, and at `cap` if that is more; gives the floor.
    #[track_caller]
    fn stays_below(&self, threads: &str, cap: u64, more: &str) -> u64 {
        let command = self.command("capped", threads, more);
        let floor = size_bytes(&memory_floor(&command));
        let mut caps = vec![floor, cap.max(floor)];
        caps.dedup();
        for cap in caps {
            let mut capped = command.clone();
            capped.extend(["-m".to_owned(), cap.to_string()]);
            let peak = peak_bytes(&capped, 8 * limit());
            eprintln!("-t {threads} -m {cap}: floor {floor}, peak {peak}");
            assert!(peak <= cap, "-t {threads} -m {cap}: the peak was {peak}");
            assert_same_bytes(&self.at("plenty.bam"), &self.at("capped.bam"), threads);
            for name in ["txt", "bam.bai"] {
                let [plenty, capped] =
                    ["plenty", "capped"].map(|it| fs::read(self.at(&format!("{it}.{name}"))));
                assert!(plenty.unwrap() == capped.unwrap(), "-t {threads} -m {cap}: {name}");
            }
        }
        floor
    }

    #[track_caller]
    fn with_plenty(&self, more: &str) {
        run(seqloom(self.command("plenty", "2", more)).args(["-m", "16G"])).ok();
    }
}

/// Forty qualities.
const MANY: &str = "!#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHI";

#[test]
fn a_plate_of_read_groups_is_recalibrated_below_the_cap() {
    let mut case = Case::new(81);
    case.write_reads(384, 2304, &[150], MANY);
    case.with_plenty("");
    for threads in ["1", "2", "16"] {
        let floor = case.stays_below(threads, 250 << 20, "");
        assert!(threads == "16" || floor <= 250 << 20, "-t {threads}: the floor is {floor}");
    }
}

#[test]
fn two_thousand_read_groups_are_recalibrated_below_the_cap() {
    let mut case = Case::new(82);
    case.write_reads(2000, 2000, &[100], MANY);
    case.with_plenty("");
    for threads in ["1", "2", "16"] {
        case.stays_below(threads, 0, "");
    }
}

#[test]
fn long_reads_are_recalibrated_below_the_cap() {
    let mut case = Case::new(83);
    case.write_reads(1, 60, &[5000, 12_000, 24_999], "~I5#@K");
    let more = "--maximum-cycle-value 30000";
    case.with_plenty(more);
    for threads in ["1", "2", "16"] {
        case.stays_below(threads, 600 << 20, more);
    }
}

/// A BAM file with so many sequences in its header, and records on them.
fn write_contigs(folder: &Path, sequences: usize) -> PathBuf {
    let mut sam = "@HD\tVN:1.6\tSO:unsorted\n".to_owned();
    for sequence in 0..sequences {
        writeln!(sam, "@SQ\tSN:k141_{sequence}\tLN:300").unwrap();
    }
    let (mut dice, bases, qualities) = (Dice(1), "A".repeat(50), "F".repeat(50));
    for read in 0..2000 {
        let (sequence, place) = (dice.below(sequences), 1 + dice.below(200));
        let record = format!("k141_{sequence}\t{place}\t60\t50M\t*\t0\t0\t{bases}\t{qualities}");
        writeln!(sam, "r{read}\t0\t{record}").unwrap();
    }
    let (text, bam) = (folder.join("in.sam"), folder.join("in.bam"));
    fs::write(&text, sam).unwrap();
    run_for(seqloom(["prep", "--no-pg", "-l1", "-o"]).arg(&bam).arg(&text), 8 * limit()).ok();
    bam
}

#[test]
fn headers_of_a_million_sequences_are_in_the_plan() {
    let here = folder();
    let bam = write_contigs(here.path(), 1_500_000);
    for (threads, input) in [("1", &bam), ("2", &here.path().join("in.sam")), ("16", &bam)] {
        let mut command = vec!["prep".to_owned(), input.display().to_string(), "-l1".to_owned()];
        command.extend(["--sort", "coordinate", "-t", threads, "-o"].map(str::to_owned));
        command.push(here.path().join("out.bam").display().to_string());
        for small in ["150M", "160M"] {
            let refused = run_for(seqloom(&command).args(["-m", small]), 8 * limit());
            refused.fails_with(2).says(&["at least", "header"]);
        }
        let floor = size_bytes(&memory_floor(&command));
        command.extend(["-m".to_owned(), floor.to_string()]);
        let peak = peak_bytes(&command, 8 * limit());
        eprintln!("-t {threads}: floor {floor}, peak {peak}");
        assert!(peak <= floor, "-t {threads}: the floor is {floor}, the peak was {peak}");
        assert!(floor < 2 << 30, "-t {threads}: {floor}");
    }
}

/// Records of reads of the first contig, as lines of FASTQ or, with read groups, of SAM.
fn reads(count: usize, groups: Option<usize>) -> String {
    let contig = &small().genome().contigs[0];
    let (mut dice, letters, mut text) = (Dice(5), MANY.as_bytes(), String::new());
    for read in 0..count {
        let start = dice.below(contig.bases.len() - 150);
        let bases = String::from_utf8_lossy(&contig.bases[start..start + 150]).into_owned();
        let qualities = (0..150).map(|_| char::from(letters[dice.below(letters.len())]));
        let qualities = qualities.collect::<String>();
        match groups {
            None => writeln!(text, "@r{read}\n{bases}\n+\n{qualities}"),
            Some(groups) => {
                let group = read % groups;
                let record = format!("r{read}\t4\t*\t0\t0\t*\t*\t0\t0\t{bases}\t{qualities}");
                writeln!(text, "{record}\tRG:Z:g{group}")
            }
        }
        .unwrap();
    }
    text
}

/// `align` of these reads to the small reference, with known sites there.
fn align_with_sites(here: &Path, reads: &Path) -> Vec<String> {
    let (sites, name) = (here.join("sites.vcf"), &small().genome().contigs[0].name);
    let head = "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO";
    fs::write(&sites, format!("{head}\n{name}\t500\t.\tA\tC\t.\t.\t.\n")).unwrap();
    let mut words = align(small(), &[reads]);
    words.extend(["--known-sites".to_owned(), sites.display().to_string()]);
    words
}

/// Runs at the floor.
#[track_caller]
fn holds_its_floor(words: &[String], what: &str) {
    let floor = size_bytes(&memory_floor(words));
    let mut capped = words.to_vec();
    capped.extend(["-m".to_owned(), floor.to_string()]);
    let peak = peak_bytes(&capped, 8 * limit());
    eprintln!("{what}: floor {floor}, peak {peak}");
    assert!(peak <= floor, "{what}: the floor is {floor}, the peak was {peak}");
}

#[test]
fn read_groups_of_unaligned_bam_are_recalibrated_below_the_cap() {
    let (here, groups) = (folder(), 384);
    let mut sam = "@HD\tVN:1.6\tSO:unsorted\n".to_owned();
    for group in 0..groups {
        writeln!(sam, "@RG\tID:g{group}\tSM:s\tPL:ILLUMINA").unwrap();
    }
    let at = |name: &str| here.path().join(name);
    fs::write(at("u.sam"), sam + &reads(4 * groups, Some(groups))).unwrap();
    run(seqloom(["prep", "--no-pg", "-o"]).arg(at("u.bam")).arg(at("u.sam"))).ok();
    let words = align_with_sites(here.path(), &at("u.bam"));
    for threads in ["1", "2", "16"] {
        let mut words = words.clone();
        let out = at("x.bam").display().to_string();
        words.extend(["-l1", "-t", threads, "-o", &out].map(str::to_owned));
        holds_its_floor(&words, &format!("align -t {threads}"));
    }
}

#[test]
fn tables_of_shards_are_in_the_plan_and_make_the_same_report() {
    let here = folder();
    let at = |name: &str| here.path().join(name);
    fs::write(at("r.fq"), reads(1500, None)).unwrap();
    let mut words = align_with_sites(here.path(), &at("r.fq"));
    let more = "--maximum-cycle-value 60000 -K 50000";
    words.extend(more.split_whitespace().map(str::to_owned));
    let run_folder = at("run");
    plan(&run_folder, (2, 3), &words);
    for task in tasks(&run_folder) {
        let mut words = task.words();
        words.extend(["-t", "2"].map(str::to_owned));
        match task.verb.as_str() {
            "count" | "finish" | "table" => holds_its_floor(&words, &task.id),
            _ => drop(run_for(&mut seqloom(words), 8 * limit()).ok()),
        }
    }
    let mut gather: Vec<String> = ["shard", "gather"].map(str::to_owned).into();
    let [folder, out] = [&run_folder, &at("gathered.bam")].map(|it| it.display().to_string());
    gather.extend(["--run".to_owned(), folder, "-o".to_owned(), out]);
    holds_its_floor(&gather, "gather");
    let report = at("alone.txt");
    let mut alone = seqloom(&words);
    alone.args(OPTIONS).args(["-t", "2", "-o"]).arg(at("x.bam"));
    alone.arg("--bqsr-report").arg(&report);
    run(&mut alone).ok();
    let [alone, table] = [report, run_folder.join("table")].map(|path| fs::read(path).unwrap());
    assert!(alone.len() > 10_000 && alone == table, "the report of shards is another one");
}

/// A reference of so many sequences of 40 bases, with its index, and a file of reads of them.
fn many_sequences(here: &Path, sequences: usize) -> (Reference, PathBuf) {
    let (mut dice, mut fasta, mut reads) = (Dice(7), String::new(), String::new());
    for sequence in 0..sequences {
        let bases: String = (0..40).map(|_| ['A', 'C', 'G', 'T'][dice.below(4)]).collect();
        writeln!(fasta, ">k141_{sequence}\n{bases}").unwrap();
        if sequence % (sequences / 1000) == 0 {
            writeln!(reads, "@r{sequence}\n{bases}\n+\n{}", "F".repeat(40)).unwrap();
        }
    }
    let [fasta_path, reads_path] = ["ref.fa", "r.fq"].map(|name| here.join(name));
    fs::write(&fasta_path, fasta).unwrap();
    fs::write(&reads_path, reads).unwrap();
    (Reference::new("many-sequences", &fasta_path), reads_path)
}

#[test]
fn sequences_of_the_reference_are_in_the_plan_of_align_and_of_shards() {
    let here = folder();
    let at = |name: &str| here.path().join(name);
    let (reference, reads) =
        many_sequences(here.path(), if slow_tests() { 1_500_000 } else { 100_000 });
    let mut words = align(&reference, &[&reads]);
    words.extend(["-K", "100000"].map(str::to_owned));
    for threads in ["1", "2", "16"] {
        let (mut words, out) = (words.clone(), at("x.bam").display().to_string());
        words.extend(["-l1", "-t", threads, "-o", &out].map(str::to_owned));
        holds_its_floor(&words, &format!("align -t {threads}"));
    }
    let run_folder = at("run");
    plan(&run_folder, (1, 1), &words);
    for task in tasks(&run_folder) {
        let mut words = task.words();
        words.extend(["-t", "2"].map(str::to_owned));
        match task.verb.as_str() {
            // What is copied goes through a buffer.
            "place" => drop(run(&mut seqloom(words)).ok()),
            _ => holds_its_floor(&words, &task.id),
        }
    }
    let mut gather: Vec<String> = ["shard", "gather", "--run"].map(str::to_owned).into();
    gather.extend([&run_folder, &at("gathered.bam")].map(|it| it.display().to_string()));
    gather.insert(4, "-o".to_owned());
    holds_its_floor(&gather, "gather");
}
