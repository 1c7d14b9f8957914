//! The same records as bwa's at scale: every two options that bwa has too, in covering arrays, and
//! pairs whose number in the input is past 2^23. `make test` runs a small part, `make test-slow
//! PART=identity` 30 million records, or as many as `SEQLOOM_IDENTITY_RECORDS` says.

use crate::common::{cache, finish, folder, has, limit, words};
use crate::data::{Reference, chr20, ecoli, simulate, small, yeast};
use crate::identity::{
    SAMPLE_BYTES, SAMPLE_TEMPLATES, against, align_ours, compared, finds_planted_changes,
    first_bytes, pairs, whole_templates,
};
use seqloom_testkit::compare::{CompareOptions, Comparison, compare};
use seqloom_testkit::random::Random;
use seqloom_testkit::reads::{ReadOptions, Simulator};
use seqloom_testkit::referees::{self, BWA, BWA_MEM2};
use seqloom_testkit::sam::open_text;
use seqloom_testkit::skip::slow_tests;
use std::collections::HashSet;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// Environment variable: records to compare in the long run.
const RECORDS: &str = "SEQLOOM_IDENTITY_RECORDS";

/// Options that bwa has too and the values that are tried; nothing is the default.
const OPTIONS: [(&str, &[&str]); 19] = [
    ("-k", &["", "15", "25"]),
    ("-w", &["", "20"]),
    ("-c", &["", "5"]),
    ("-B", &["", "6", "2"]),
    ("-O", &["", "5,7", "8"]),
    ("-E", &["", "2,1"]),
    ("-L", &["", "3", "0,9"]),
    ("-U", &["", "9"]),
    ("-T", &["", "20", "50"]),
    ("-h", &["", "2,3"]),
    ("-I", &["", "400,60", "300,50,600,100"]),
    ("-K", &["", "1000000"]),
    ("-x", &["", "intractg"]),
    ("-Y", &["", " "]),
    ("-M", &["", " "]),
    ("-j", &["", " "]),
    ("-p", &["", " "]),
    ("-C", &["", " "]),
    ("-R", &["", r"@RG\tID:a\tSM:s"]),
];

/// A value of each option, by index.
type Row = [usize; OPTIONS.len()];

/// Pairs of values of two options, as (option, value, option, value).
fn pairs_of(row: &Row) -> impl Iterator<Item = [usize; 4]> {
    (0..row.len()).flat_map(move |a| (a + 1..row.len()).map(move |b| [a, row[a], b, row[b]]))
}

/// Every two values of every two options.
fn all_pairs() -> Vec<[usize; 4]> {
    let values = |option: usize| 0..OPTIONS[option].1.len();
    let both = move |a, b| values(a).flat_map(move |x| values(b).map(move |y| [a, x, b, y]));
    let options = 0..OPTIONS.len();
    options.flat_map(|a| (a + 1..OPTIONS.len()).flat_map(move |b| both(a, b))).collect()
}

/// Rows that hold every two values of every two options: of some random rows with a pair that is
/// missing the one that holds the most of them, until none is.
fn covering_array(seed: u64) -> Vec<Row> {
    let mut random = Random::new(seed);
    let sizes = OPTIONS.map(|(_, values)| values.len());
    let mut missing: HashSet<[usize; 4]> = all_pairs().into_iter().collect();
    let mut rows = Vec::new();
    while let Some(&[a, x, b, y]) = missing.iter().min() {
        let candidates = (0..60).map(|_| {
            let mut row = sizes.map(|size| random.index(size));
            (row[a], row[b]) = (x, y);
            row
        });
        let found = |row: &Row| pairs_of(row).filter(|pair| missing.contains(pair)).count();
        let row = candidates.max_by_key(found).unwrap();
        pairs_of(&row).for_each(|pair| {
            missing.remove(&pair);
        });
        rows.push(row);
    }
    rows
}

/// The options of a row; of single reads without those that are of pairs.
fn arguments(row: &Row, paired: bool) -> String {
    let given = OPTIONS.iter().zip(row).map(|(&(name, values), &value)| (name, values[value]));
    let given =
        given.filter(|(name, value)| !value.is_empty() && (paired || !["-p", "-I"].contains(name)));
    given.map(|(name, value)| format!("{name} {}", value.trim())).collect::<Vec<_>>().join(" ")
}

/// Hard reads of several kinds, one for each row in turn.
fn hard_reads(number: usize, templates: u64) -> ReadOptions {
    let seed = 500 + number as u64;
    let plain = pairs(seed, templates, 150);
    match number % 5 {
        0 => plain,
        1 => ReadOptions { length_min_bp: 30, length_max_bp: 250, ..plain },
        2 => ReadOptions { chimera_share: 0.4, ..pairs(seed, templates, 100) },
        3 => ReadOptions { error_first: 0.05, error_last: 0.05, indel_rate: 0.02, ..plain },
        _ => ReadOptions { paired: false, templates: 2 * templates, ..pairs(seed, templates, 75) },
    }
}

/// Short pairs, which bwa aligns in a fraction of the time.
fn short_pairs(number: usize, templates: u64) -> ReadOptions {
    let seed = 900 + number as u64;
    match number % 3 {
        0 => pairs(seed, templates, 50),
        1 => pairs(seed, templates, 75),
        _ => ReadOptions { length_min_bp: 36, ..pairs(seed, templates, 90) },
    }
}

/// What is read, and its first bytes retained.
struct Sampled<R> {
    from: R,
    first: Vec<u8>,
}

impl<R: Read> Read for Sampled<R> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let count = self.from.read(out)?;
        let room = SAMPLE_BYTES.saturating_sub(self.first.len());
        self.first.extend_from_slice(&out[..count.min(room)]);
        Ok(count)
    }
}

/// Compares what `bwa` writes, while it does, with a SAM file of ours; then plants changes in the
/// first templates.
#[track_caller]
fn streamed(bwa: &mut Command, ours: &Path) -> Comparison {
    let options = CompareOptions { tags: compared_tags(bwa), ..CompareOptions::default() };
    bwa.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = bwa.spawn().unwrap_or_else(|e| panic!("{bwa:?}: {e}"));
    let stdout = child.stdout.take().unwrap();
    let ended = std::thread::spawn(move || finish(child, limit()));
    let mut theirs = Sampled { from: stdout, first: Vec::new() };
    let result =
        compare(open_text(ours).unwrap(), BufReader::with_capacity(1 << 20, &mut theirs), &options);
    // bwa first: what it says of its end is why there is no comparison.
    ended.join().unwrap().ok();
    let result = result.unwrap();
    let samples = [&first_bytes(ours), &theirs.first].map(|text| whole_templates(text));
    finds_planted_changes(samples, &options);
    referees::compared(
        &referees::name_of(bwa.get_program().as_ref()),
        usize::try_from(records(&result)).unwrap(),
    );
    result
}

/// The tags of bwa's, and those that options of ours and its add.
fn compared_tags(bwa: &Command) -> Vec<[u8; 2]> {
    let mut tags = compared(bwa).tags;
    tags.extend([*b"RG", *b"BC"]);
    tags
}

fn records(result: &Comparison) -> u64 {
    result.primary.compared + result.other.compared
}

/// Writes simulated reads with a comment each, which `-C` makes a tag of, for the options of a row;
/// the files that are to be aligned.
fn write_reads(
    reference: &Reference,
    options: &ReadOptions,
    is_interleaved: bool,
    folder: &Path,
) -> Vec<PathBuf> {
    let own_file = options.paired && !is_interleaved;
    let files = if own_file {
        vec![folder.join("1.fq"), folder.join("2.fq")]
    } else {
        vec![folder.join("1.fq")]
    };
    let create = |path: &PathBuf| BufWriter::with_capacity(1 << 18, File::create(path).unwrap());
    let mut outs: Vec<_> = files.iter().map(create).collect();
    let mut simulator = Simulator::new(reference.genome(), options).unwrap();
    let mut number = 0_u64;
    while let Some(template) = simulator.next_template() {
        number += 1;
        let reads = if options.paired { &template.reads[..] } else { &template.reads[..1] };
        for (end, read) in reads.iter().enumerate() {
            let out = &mut outs[if own_file { end } else { 0 }];
            for part in [b"@", &template.name[..], b" BC:Z:", format!("{number:x}").as_bytes()] {
                out.write_all(part).unwrap();
            }
            for part in [b"\n", &read.bases[..], b"\n+\n", &read.qualities, b"\n"] {
                out.write_all(part).unwrap();
            }
        }
    }
    outs.iter_mut().for_each(|out| out.flush().unwrap());
    files
}

/// The other programs that a row is compared with besides the current bwa: bwa-mem2, the bwa of the
/// stable suite, or none.
fn others(number: usize, reference: &Reference) -> Option<(PathBuf, PathBuf)> {
    match number % 3 {
        0 => {
            let program = referees::find("bwa-mem2", BWA_MEM2)?;
            let index = cache().join(format!("mem2-{}", reference.name()));
            let index = reference.indexed(&index, Command::new(&program).arg("index"));
            Some((program, index))
        }
        1 => Some((referees::find("bwa", BWA[1])?, reference.bwa().to_owned())),
        _ => None,
    }
}

/// Compares reads, aligned by a row of options, with bwa and with another; how many records of
/// both.
#[track_caller]
fn row_equals(reference: &Reference, number: usize, row: &Row, reads: &ReadOptions) -> u64 {
    let here = folder();
    let arguments = arguments(row, reads.paired);
    let is_interleaved = arguments.split_whitespace().any(|word| word == "-p");
    let files = write_reads(reference, reads, is_interleaved, here.path());
    let files: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
    let ours = align_ours(reference, here.path(), &files, &arguments);
    let current = (referees::path_of("bwa"), reference.bwa().to_owned());
    let mut compared = 0;
    for (program, index) in [Some(current), others(number, reference)].into_iter().flatten() {
        let mut bwa = Command::new(&program);
        bwa.args(["mem", "-t", "2"]).args(arguments.split_whitespace());
        if !arguments.contains("-K") {
            bwa.args(["-K", "100000000"]);
        }
        let result = streamed(bwa.arg(index).args(&files), &ours);
        let name = referees::name_of(&program);
        assert!(result.is_equal(), "{name} {arguments}: {result}");
        compared += records(&result);
    }
    compared
}

#[test]
fn every_two_options_are_in_a_row() {
    let rows = covering_array(1);
    for [a, x, b, y] in all_pairs() {
        assert!(rows.iter().any(|row| row[a] == x && row[b] == y), "{a} {x} {b} {y}");
    }
    assert!(rows.len() < 30, "{} rows", rows.len());
}

#[test]
fn every_two_options_mean_what_they_mean_in_bwa() {
    if !has("bwa") {
        return;
    }
    let compared: u64 = (covering_array(1).iter().enumerate())
        .flat_map(|(number, row)| {
            let reads = [hard_reads(number, 100), short_pairs(number, 100)];
            reads.map(|reads| row_equals(small(), number, row, &reads))
        })
        .sum();
    assert!(compared > 5000, "{compared}");
}

/// Records for the long run.
fn requested() -> u64 {
    let set = std::env::var(RECORDS).ok().filter(|it| !it.is_empty());
    set.map_or(30_000_000, |it| it.parse().expect("SEQLOOM_IDENTITY_RECORDS is a number"))
}

/// The number in the middle.
fn middle(numbers: &[f64]) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

#[test]
fn slow_options_in_covering_arrays_equal_bwa() {
    if !slow_tests() || !has("bwa") {
        return;
    }
    let (Some(ecoli), Some(yeast), Some(chr20)) = (ecoli(), yeast(), chr20()) else { return };
    let arrays: Vec<Row> = [1, 2].into_iter().flat_map(covering_array).collect();
    let rows = arrays.len();
    // A third of the records in the first round, in which each row has its share.
    let templates = (requested() / 10 / rows as u64).max(50);
    let started = Instant::now();
    let (mut compared, mut costs) = (0, vec![0.0; rows]);
    for round in 0.. {
        // Most records are of rows that cost no more than the one in the middle: some options make
        // bwa ten times slower.
        let limit = middle(&costs);
        for (number, row) in arrays.iter().enumerate() {
            if compared >= requested() && round > 0 || costs[number] > limit {
                continue;
            }
            if round == 0 {
                let reference = [small(), ecoli, yeast, chr20][number % 4];
                let hard = hard_reads(number, (templates / 20).max(50));
                compared += row_equals(reference, number, row, &hard);
            }
            let reference =
                [small(), small(), ecoli, yeast][number / 4 * usize::from(round == 0) % 4];
            let (before, since) = (compared, started.elapsed());
            let reads = short_pairs(number + round * rows, templates);
            compared += row_equals(reference, number, row, &reads);
            if round == 0 {
                let seconds = (started.elapsed() - since).as_secs_f64();
                costs[number] = seconds / (compared - before) as f64;
            }
            let rate = compared as f64 / started.elapsed().as_secs_f64();
            let options = arguments(row, true);
            eprintln!(
                "round {round}, row {number} of {rows}: {compared} records equal, {rate:.0} a \
                 second: {options}"
            );
        }
        if compared >= requested() {
            break;
        }
    }
    assert!(compared >= requested(), "{compared} records");
}

/// Pairs that cannot align, and cost next to nothing: reads shorter than a seed.
fn write_cheap_pairs(count: u64, files: [&Path; 2]) {
    for file in files {
        let mut out = BufWriter::new(File::create(file).unwrap());
        for number in 0..count {
            write!(out, "@{number:x}\nACGTACGTACGT\n+\nIIIIIIIIIIII\n").unwrap();
        }
        out.flush().unwrap();
    }
}

/// bwa breaks ties by a hash of a read's number, which it shifts by 8 bits in 32: what is past 2^23
/// pairs must be what it is there. In the short run, past no such number.
#[track_caller]
fn pairs_after(cheap: u64, templates: u64) {
    if !has("bwa") {
        return;
    }
    let here = folder();
    let path = |name: &str| here.path().join(name);
    let (first, second) = (path("1.fq"), path("2.fq"));
    write_cheap_pairs(cheap, [&first, &second]);
    let reads = simulate(small(), &pairs(600, templates, 100), &path("reads"));
    for (file, tail) in [(&first, &reads.first), (&second, &reads.second)] {
        let mut out = File::options().append(true).open(file).unwrap();
        std::io::copy(&mut File::open(tail).unwrap(), &mut out).unwrap();
    }
    let files: &[&Path] = &[&first, &second];
    let ours = align_ours(small(), here.path(), files, "");
    let bwa = words("bwa");
    let result = against(&bwa, small().bwa(), here.path(), (&ours, files), "");
    assert!(result.is_equal(), "{result}");
    assert!(result.templates == cheap + templates, "{result}");
    eprintln!("{} records, {cheap} pairs before repeats: equal", records(&result));
    let samples = [&ours, &path("bwa.sam")].map(|sam| whole_templates(&last_bytes(sam)));
    let last = samples.map(|it| it[it.len() - SAMPLE_TEMPLATES..].to_vec());
    finds_planted_changes(last, &compared(&bwa));
}

/// The last bytes of a file.
fn last_bytes(path: &Path) -> Vec<u8> {
    let mut file = File::open(path).unwrap();
    let length = file.metadata().unwrap().len();
    file.seek(SeekFrom::Start(length.saturating_sub(SAMPLE_BYTES as u64))).unwrap();
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).unwrap();
    bytes
}

#[test]
fn pairs_after_pairs_that_do_not_align() {
    pairs_after(3000, 2000);
}

#[test]
fn slow_pairs_past_two_to_the_twenty_third() {
    if slow_tests() {
        pairs_after((1 << 23) + 20_000, 200_000);
    }
}
