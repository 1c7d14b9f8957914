//! The same records as bwa's at scale: every two options that bwa has too, in covering arrays, and
//! pairs whose number in the input is past 2^23. `make test` runs a small part, `make test-slow
//! PART=identity` 30 million records, or as many as `SEQLOOM_IDENTITY_RECORDS` says.

use crate::common::{cache, folder, has, words};
use crate::data::{Reference, chr20, ecoli, simulate, small, yeast};
use crate::identity::{against, align_ours, compared, pairs};
use seqloom_testkit::compare::{Comparison, compare};
use seqloom_testkit::random::Random;
use seqloom_testkit::reads::ReadOptions;
use seqloom_testkit::referees::{self, BWA_MEM2};
use seqloom_testkit::sam::open_text;
use seqloom_testkit::skip::slow_tests;
use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// Environment variable: records to compare in the long run.
const RECORDS: &str = "SEQLOOM_IDENTITY_RECORDS";

/// Options that bwa has too and the values that are tried; nothing is the default.
const OPTIONS: [(&str, &[&str]); 17] = [
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

/// Reads of several kinds, one for each row in turn.
fn reads_of(number: usize, templates: u64) -> ReadOptions {
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

/// SAM text with one record changed: the first mapped one from record `at` on.
struct Planted {
    from: Box<dyn BufRead>,
    /// Records to go.
    at: u64,
    change: usize,
    is_done: bool,
    line: Vec<u8>,
    read: usize,
}

/// Columns and tags that are changed in turn.
const CHANGES: [&str; 8] = ["FLAG", "POS", "MAPQ", "CIGAR", "TLEN", "SEQ", "QUAL", "NM"];

impl Planted {
    fn change(&mut self) {
        if self.is_done || self.line.starts_with(b"@") {
            return;
        }
        self.at = self.at.saturating_sub(1);
        let text = String::from_utf8_lossy(&self.line).into_owned();
        let mut columns: Vec<String> = text.trim_end().split('\t').map(str::to_owned).collect();
        if self.at > 0 || columns.len() < 12 || columns[5] == "*" || columns[9] == "*" {
            return;
        }
        let plus_one = |text: &str| (text.parse::<i64>().unwrap() + 1).to_string();
        match CHANGES[self.change % CHANGES.len()] {
            "FLAG" => columns[1] = (columns[1].parse::<u16>().unwrap() ^ 0x200).to_string(),
            "POS" => columns[3] = plus_one(&columns[3]),
            "MAPQ" => columns[4] = plus_one(&columns[4]),
            "CIGAR" => columns[5].insert_str(0, "1I"),
            "TLEN" => columns[8] = plus_one(&columns[8]),
            "SEQ" => columns[9].push('A'),
            "QUAL" => columns[10].push('#'),
            _ => columns.retain(|column| !column.starts_with("NM:")),
        }
        self.line = (columns.join("\t") + "\n").into_bytes();
        self.is_done = true;
    }
}

impl Read for Planted {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        if self.read == self.line.len() {
            self.line.clear();
            self.read = 0;
            self.from.read_until(b'\n', &mut self.line)?;
            self.change();
        }
        let count = out.len().min(self.line.len() - self.read);
        out[..count].copy_from_slice(&self.line[self.read..self.read + count]);
        self.read += count;
        Ok(count)
    }
}

/// Requires that the comparison finds one change, in the middle of the other side.
#[track_caller]
fn finds_a_planted_change(
    bwa: &Command,
    (ours, theirs): (&Path, &Path),
    records: u64,
    change: usize,
) {
    let from: Box<dyn BufRead> = open_text(theirs).unwrap();
    let at = records / 2;
    let planted = Planted { from, at, change, is_done: false, line: Vec::new(), read: 0 };
    let planted = BufReader::new(planted);
    let found = compare(open_text(ours).unwrap(), planted, &compared(bwa)).unwrap();
    let what = CHANGES[change % CHANGES.len()];
    assert_eq!(found.primary.differing + found.other.differing, 1, "{what}: {found}");
}

fn records(result: &Comparison) -> u64 {
    result.primary.compared + result.other.compared
}

/// Compares a row of options with bwa, and with bwa-mem2 where that is wanted and installed; how
/// many records of both.
#[track_caller]
fn row_equals(reference: &Reference, number: usize, row: &Row, templates: u64, mem2: bool) -> u64 {
    let here = folder();
    let options = reads_of(number, templates);
    let reads = simulate(reference, &options, here.path());
    let arguments = arguments(row, options.paired);
    let is_interleaved = arguments.split_whitespace().any(|word| word == "-p");
    let files: &[&Path] = match (options.paired, is_interleaved) {
        (false, _) => &[&reads.first],
        (true, true) => &[&reads.interleaved],
        (true, false) => &[&reads.first, &reads.second],
    };
    let ours = align_ours(reference, here.path(), files, &arguments);
    let mut compared = 0;
    let mut programs = vec![("bwa", words("bwa"), reference.bwa().to_owned())];
    if let Some(program) = mem2.then(|| referees::find("bwa-mem2", BWA_MEM2)).flatten() {
        let index = cache().join(format!("mem2-{}", reference.name()));
        let index = reference.indexed(&index, Command::new(&program).arg("index"));
        programs.push(("bwa-mem2", Command::new(program), index));
    }
    for (name, program, index) in programs {
        let result = against(&program, &index, here.path(), (&ours, files), &arguments);
        assert!(result.is_equal(), "{name} {arguments}: {result}");
        compared += records(&result);
        let theirs = here.path().join("bwa.sam");
        finds_a_planted_change(&program, (&ours, &theirs), records(&result), number);
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
        .map(|(number, row)| row_equals(small(), number, row, 200, number % 6 == 0))
        .sum();
    assert!(compared > 5000, "{compared}");
}

/// Records for the long run.
fn wanted() -> u64 {
    let set = std::env::var(RECORDS).ok().filter(|it| !it.is_empty());
    set.map_or(30_000_000, |it| it.parse().expect("SEQLOOM_IDENTITY_RECORDS is a number"))
}

#[test]
fn slow_options_in_covering_arrays_equal_bwa() {
    if !slow_tests() || !has("bwa") {
        return;
    }
    let (Some(ecoli), Some(yeast), Some(chr20)) = (ecoli(), yeast(), chr20()) else { return };
    let arrays: Vec<Row> = [1, 2].into_iter().flat_map(covering_array).collect();
    // A third of the rows is compared with bwa-mem2, too.
    let templates = (wanted() * 3 / 4 / 2 / arrays.len() as u64).max(100);
    let started = Instant::now();
    let mut compared = 0;
    for (number, row) in arrays.iter().enumerate() {
        let reference = [small(), ecoli, yeast, chr20][number % 4];
        compared += row_equals(reference, number, row, templates, number % 3 == 0);
        let rate = compared as f64 / started.elapsed().as_secs_f64();
        eprintln!(
            "{number}: {compared} records equal, {rate:.0} a second: {}",
            arguments(row, true)
        );
    }
    assert!(compared >= wanted(), "{compared} records");
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
    finds_a_planted_change(&bwa, (&ours, &path("bwa.sam")), 2 * cheap + templates, 1);
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
