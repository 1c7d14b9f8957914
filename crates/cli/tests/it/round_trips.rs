//! What one command writes, every other reads, and samtools too: files of many hostile reads and
//! records, made from a seed. A command refuses a file with exit code 2 or 3 and names the record,
//! or all that it writes is read. A further kind of file is a further row of [`KINDS`].

use crate::common::{Run, folder, has, run, seqloom, words};
use crate::data::Reference;
use crate::shard;
use seqloom_testkit::genome::{Genome, GenomeOptions};
use seqloom_testkit::hostile::{self, HostileOptions, ODD_SEQUENCES};
use seqloom_testkit::random::Random;
use seqloom_testkit::skip::slow_tests;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

/// Makes a file from a seed and takes it through commands.
type Kind = fn(&Bench, &Case);

/// Kinds of files, each as often as it is here.
const KINDS: [Kind; 5] = [reads, reads, alignments, unaligned_bam, alignments];

const MODES: [&str; 5] = ["bwa", "ungapped", "end-to-end", "local", "spliced"];

/// Steps and orders of `prep`.
const PREP: [&str; 8] = [
    "--sort keep",
    "--sort coordinate",
    "--sort queryname",
    "--sort coordinate-picard",
    "--sort queryname-picard",
    "--sort coordinate --mark-duplicates --duplicate-mode query",
    "--fix-mates --clean-sam --sort coordinate",
    "--sort keep --remove-tags XA,YA --read-group @RG\\tID:new\\tSM:s --filter-unmapped",
];

/// `-K`: the default would need more memory than such files are worth.
const COHORT_BASES: &str = "100000";

/// A reference with an index, some of whose names are odd.
struct Bench {
    reference: Reference,
    sequences: Vec<(String, usize)>,
    bases: Vec<u8>,
    refused: AtomicU64,
    written: AtomicU64,
}

/// A file of the test.
struct Case {
    seed: u64,
    /// Percent of bad names, of bad tags.
    bad: [u64; 2],
    mends_names: bool,
    folder: tempfile::TempDir,
}

impl Case {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let bad = random.pick(&[[0, 0], [0, 0], [4, 0], [0, 4], [2, 2]]);
        Self { seed, bad, mends_names: random.percent(60), folder: folder() }
    }

    fn random(&self) -> Random {
        Random::new(self.seed ^ 0x5eed)
    }

    fn options(&self, records: usize) -> HostileOptions {
        let [bad_names_percent, bad_tags_percent] = self.bad;
        HostileOptions { records, bad_names_percent, bad_tags_percent }
    }

    /// All names and tags are allowed, or are made so.
    fn is_good(&self, has_tags: bool) -> bool {
        (self.bad[0] == 0 || self.mends_names) && (self.bad[1] == 0 || !has_tags)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    /// The seed picks one.
    fn pick<T: Copy>(&self, from: &[T]) -> T {
        from[(self.seed / KINDS.len() as u64) as usize % from.len()]
    }

    /// `--mend-names`, or nothing.
    fn names(&self) -> &'static [&'static str] {
        if self.mends_names { &["--mend-names"] } else { &[] }
    }
}

impl Bench {
    fn new(here: &Path) -> Self {
        let lengths = GenomeOptions { seed: 5, length_bp: 60_000, contigs: 2 };
        let fasta = here.join("plain.fa");
        Genome::simulate(&lengths).unwrap().write_fasta(&fasta).unwrap();
        let text = fs::read_to_string(&fasta).unwrap();
        let mut sequences = Vec::new();
        let (mut renamed, mut bases) = (String::new(), Vec::new());
        for line in text.lines() {
            if line.starts_with('>') {
                let name = ODD_SEQUENCES[sequences.len()];
                sequences.push((name.to_owned(), 0));
                renamed += &format!(">{name}\n");
            } else {
                sequences.last_mut().unwrap().1 += line.len();
                bases.extend_from_slice(line.as_bytes());
                renamed += &format!("{line}\n");
            }
        }
        fs::write(&fasta, renamed).unwrap();
        Self {
            reference: Reference::new("round-trips", &fasta),
            sequences,
            bases,
            refused: AtomicU64::new(0),
            written: AtomicU64::new(0),
        }
    }

    /// The sequences, as generators take them.
    fn sequences(&self) -> Vec<(&str, usize)> {
        self.sequences.iter().map(|(name, length)| (name.as_str(), *length)).collect()
    }

    fn align(&self, files: &[&Path]) -> Command {
        let mut command = seqloom(["align", "--quiet", "--no-pg", "-t", "1", "-m", "2G"]);
        command.args(["-K", COHORT_BASES]);
        command.arg(&self.reference.ours).args(files);
        command
    }

    /// Has `align` read files of reads that a command has written.
    #[track_caller]
    fn must_be_aligned(&self, files: &[PathBuf], case: &Case) {
        if fs::metadata(&files[0]).unwrap().len() == 0 {
            return;
        }
        let paths: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
        let run = run(self.align(&paths).arg("-o").arg(case.path("of_files.bam")));
        assert_eq!(run.code(), 0, "seed {}: {files:?}: {}", case.seed, run.stderr);
    }

    /// Whether the run wrote its output; one that did not refuses the file as it should.
    #[track_caller]
    fn has_written(&self, run: Run, case: &Case, is_good: bool) -> bool {
        let (seed, text) = (case.seed, &run.stderr);
        assert!(!text.contains("panicked at"), "seed {seed}: {text}");
        if run.code() == 0 {
            self.written.fetch_add(1, Ordering::Relaxed);
            return true;
        }
        assert!(!is_good, "seed {seed}: {text}");
        assert!([2, 3].contains(&run.code()), "seed {seed}: {}: {text}", run.code());
        assert!(text.contains("record "), "seed {seed}: {text}");
        self.refused.fetch_add(1, Ordering::Relaxed);
        false
    }

    /// Has all that reads alignments read `file`, which a command has written. Of the orders and
    /// steps of `prep`, those whose turn it is.
    #[track_caller]
    fn must_be_read(&self, file: &Path, case: &Case) {
        let what = format!("seed {}: {}", case.seed, file.display());
        let must = |command: &mut Command| {
            let run = run(command);
            assert_eq!(run.code(), 0, "{what}: {command:?}: {}", run.stderr);
            run
        };
        if file.extension().is_some_and(|it| it == "bam") {
            must(words("samtools quickcheck").arg(file));
        }
        let lines = must(words("samtools view").arg(file)).stdout;
        let count = lines.iter().filter(|&&byte| byte == b'\n').count();
        let columns = case.path("columns.arrows");
        let mut command = seqloom(["columns", "-t", "1", "--binary", "-o"]);
        command.arg(&columns).args(["--columns", "name,cigar,tags"]).arg(file);
        assert!(must(&mut command).stderr.contains(&format!("{count} rows")), "{what}");
        // Grouped by name, as steps want it, and what aligns reads of BAM.
        let grouped = case.path("grouped.bam");
        let mut command = seqloom(["prep", "--quiet", "-t", "1", "-m", "500M", "-o"]);
        must(command.arg(&grouped).args(["--sort", "queryname"]).arg(file));
        let prepared = case.path(case.pick(&["prepared.bam", "prepared.sam"]));
        let mut command = seqloom(["prep", "--quiet", "--no-pg", "-t", "1", "-m", "500M"]);
        let options = case.pick(&PREP).split(' ');
        must(command.arg(&grouped).args(options).arg("-o").arg(&prepared));
        must(words("samtools view -c").arg(&prepared));
        let realigned = case.path("realigned.sam");
        let mut command = self.align(&[&grouped]);
        must(command.args(["--no-sort", "--no-mark-duplicates", "-o"]).arg(&realigned));
        must(words("samtools view -c").arg(&realigned));
    }
}

/// FASTQ of single reads, of pairs, or interleaved, through every mode of `align`, and a shard.
fn reads(bench: &Bench, case: &Case) {
    let mut random = case.random();
    let [first, second] = hostile::fastq(&mut random, &bench.bases, &case.options(60));
    let first = case.write("1.fq", &first);
    let second = case.write("2.fq", &second);
    let is_paired = random.percent(60);
    let files: &[&Path] = if is_paired { &[&first, &second] } else { &[&first] };
    let has_tags = random.percent(60);
    let mut options = vec!["--mode", case.pick(&MODES)];
    options.extend(case.names());
    options.extend(has_tags.then_some("-C"));
    let unaligned = case.path("unaligned.fq");
    let has_files = options[1] == "ungapped";
    if has_files {
        options.extend(["--unaligned-reads", unaligned.to_str().unwrap()]);
    }
    let out = case.path(random.pick(&["out.bam", "out.sam"]));
    if out.ends_with("out.sam") || random.percent(30) {
        options.extend(["--no-sort", "--no-mark-duplicates"]);
    }
    let aligned = run(bench.align(files).args(&options).arg("-o").arg(&out));
    if !bench.has_written(aligned, case, case.is_good(has_tags)) {
        return;
    }
    bench.must_be_read(&out, case);
    if has_files {
        let mates = ["unaligned_1.fq", "unaligned_2.fq"].map(|name| case.path(name));
        let files: &[PathBuf] = if is_paired { &mates } else { &[unaligned] };
        bench.must_be_aligned(files, case);
    }
    if is_paired && case.seed.is_multiple_of(10) {
        let mut words = vec!["align".to_owned(), bench.reference.ours.display().to_string()];
        words.extend(files.iter().map(|file| file.display().to_string()));
        words.extend(["-K", COHORT_BASES].map(str::to_owned));
        words.extend(case.names().iter().map(|&name| name.to_owned()));
        words.extend(has_tags.then(|| "-C".to_owned()));
        let tasks = case.path("tasks");
        shard::plan(&tasks, (1, 1), &words);
        shard::do_all(&tasks, "1", case.seed);
        bench.must_be_read(&shard::gather(&tasks, case.folder.path(), "sharded"), case);
    }
}

/// SAM and BAM through `prep` and what follows it.
fn alignments(bench: &Bench, case: &Case) {
    let mut random = case.random();
    let (sequences, options) = (bench.sequences(), case.options(80));
    let file = if random.percent(50) {
        case.write("in.sam", &hostile::sam(&mut random, &sequences, &options))
    } else {
        case.write("in.bam", &hostile::bam(&mut random, &sequences, &options))
    };
    let out = case.path(random.pick(&["out.bam", "out.sam"]));
    let mut command = seqloom(["prep", "--quiet", "--no-pg", "-t", "2", "-m", "500M"]);
    command.arg(&file).args(case.names()).args(["--sort", random.pick(&["keep", "queryname"])]);
    if bench.has_written(run(command.arg("-o").arg(&out)), case, case.is_good(true)) {
        bench.must_be_read(&out, case);
    }
}

/// BAM through every mode of `align`.
fn unaligned_bam(bench: &Bench, case: &Case) {
    let mut random = case.random();
    let bytes = hostile::bam(&mut random, &bench.sequences(), &case.options(60));
    let file = case.write("in.bam", &bytes);
    let out = case.path("out.bam");
    let mut command = bench.align(&[&file]);
    let mode = case.pick(&MODES);
    let unaligned = case.path("unaligned.fq");
    command.args(["--mode", mode]).args(case.names()).arg("-o").arg(&out);
    if mode == "ungapped" {
        command.arg("--unaligned-reads").arg(&unaligned);
    }
    if bench.has_written(run(&mut command), case, case.is_good(true)) {
        bench.must_be_read(&out, case);
        if mode == "ungapped" {
            bench.must_be_aligned(&[unaligned], case);
        }
    }
}

#[test]
fn what_any_command_writes_every_command_reads() {
    if !has("samtools") {
        return;
    }
    let files = if slow_tests() { 20_000 } else { 200 };
    let here = folder();
    let bench = Bench::new(here.path());
    let next = AtomicU64::new(0);
    let threads = std::thread::available_parallelism().map_or(1, |it| it.get());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= files {
                        return;
                    }
                    KINDS[(seed % KINDS.len() as u64) as usize](&bench, &Case::new(seed));
                }
            });
        }
    });
    let (written, refused) = (bench.written.into_inner(), bench.refused.into_inner());
    eprintln!("{written} files written and read, {refused} refused");
    assert!(written > files / 2 && refused > files / 10, "{written} and {refused} of {files}");
}
