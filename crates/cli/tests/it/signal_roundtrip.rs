//! What one signal command writes, every signal command reads: files of many hostile records,
//! through convert, merge, split, get, view, index, check, stats, skim and columns.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use seqloom_testkit::skip;

use crate::common::{Run, folder, names_in, run, seqloom};
use crate::signal_hostile::Logs;

/// Numbers that look like chance, of a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

/// Ids that no read may have.
const BAD_IDS: [&str; 8] = ["@x", "#x", "*", "..", "a/b", "a b", "\u{3bc}", ".a"];
/// How good ids end: what is odd in an id, and allowed.
const ODD_ENDS: [&str; 8] = ["", "!chr1!2!+", ".", "..", "*", "#", "~", "=\\\"'`$&|;<>"];
const TEXTS: [&str; 8] = ["5", ".", "a b", "\u{3bc}", "@x", "#read_id", "x,y", "\"'\\"];
/// Fields of the reads: name, type, and values.
const FIELDS: [(&str, &str, &[&str]); 8] = [
    ("end_reason", "enum{unknown,signal_positive}", &["0", "1", "."]),
    ("channel_number", "char*", &TEXTS),
    ("start_time", "uint64_t", &["0", "18446744073709551614", "."]),
    ("read_number", "int32_t", &["-2147483648", "7", "."]),
    ("median_before", "double", &["200.5", "-0.000001", "."]),
    ("note of mine", "char*", &TEXTS),
    ("levels", "float*", &["1,2.5,.", ".", "340282346638528859811704183484516925440"]),
    ("start_mux", "uint8_t", &["1", "."]),
];

/// A hostile SLOW5 of one run. Gives its text, the ids that may be, and how many may not.
struct Hostile {
    text: String,
    ids: Vec<String>,
    bad: usize,
}

fn hostile(seed: u64, reads: usize) -> Hostile {
    let mut random = Random(seed);
    let fields: Vec<_> = FIELDS.iter().filter(|_| random.below(4) > 0).collect();
    let mut text = format!("#slow5_version\t0.2.0\n#num_read_groups\t1\n@a b\t{seed}\n");
    for name in ["note", "run_id", "sample_id"] {
        let value = if name == "run_id" { "run" } else { random.pick(&TEXTS) };
        writeln!(text, "@{name}\t{value}").unwrap();
    }
    text.push_str("#char*\tuint32_t\tdouble\tdouble\tdouble\tdouble\tuint64_t\tint16_t*");
    fields.iter().for_each(|(_, kind, _)| write!(text, "\t{kind}").unwrap());
    text.push_str(
        "\n#read_id\tread_group\tdigitisation\toffset\trange\tsampling_rate\tlen_raw_signal\t\
         raw_signal",
    );
    fields.iter().for_each(|(name, ..)| write!(text, "\t{name}").unwrap());
    text.push('\n');
    let (mut ids, mut bad) = (Vec::new(), 0);
    for number in 0..reads {
        let id = match random.below(10) {
            0 => random.pick(&BAD_IDS).to_owned(),
            1 => format!("{}{number}", "y".repeat(249)),
            2..4 => format!("{number:08x}-c43d-492a-b6a1-a5b8b8076be4"),
            _ => format!("{number}{}", random.pick(&ODD_ENDS)),
        };
        let count = [0, 1, 2, 50, 5000][random.below(5)];
        let samples: Vec<String> =
            (0..count).map(|_| (random.below(65_536) as i32 - 32_768).to_string()).collect();
        write!(text, "{id}\t0\t8192\t-1.5\t1467.61\t4000\t{count}\t{}", samples.join(",")).unwrap();
        for (_, _, values) in &fields {
            write!(text, "\t{}", random.pick(values)).unwrap();
        }
        text.push('\n');
        if BAD_IDS.contains(&&id[..]) {
            bad += 1;
        } else {
            ids.push(id);
        }
    }
    Hostile { text, ids, bad }
}

fn line(here: &Path, line: &str) -> Run {
    run(seqloom(line.split(' ')).current_dir(here).env("RUST_BACKTRACE", "1"))
}

/// Every command that reads takes the file, whole.
fn read_by_all(here: &Path, file: &str, reads: usize) {
    let decoded = format!("{reads} reads decoded");
    line(here, &format!("signal check --full {file}")).ok().logs(&[&decoded]);
    line(here, &format!("signal check {file}")).ok();
    let stats = line(here, &format!("signal stats {file}")).ok().text();
    assert!(stats.ends_with(&format!("number of records\t{reads}\n")), "{file}: {stats}");
    let ids = line(here, &format!("signal skim --rid {file}")).ok().text();
    assert_eq!(ids.lines().count(), reads, "{file}");
    fs::write(here.join("ids.txt"), ids).unwrap();
    line(here, &format!("signal get {file} --list ids.txt -o got.blow5")).ok();
    line(here, &format!("signal view {file} -o view.slow5")).ok();
    line(here, &format!("signal skim {file}")).ok();
    line(here, &format!("columns --kind signal {file} -o columns.arrow")).ok();
    line(here, &format!("signal convert {file} -o again.blow5")).ok();
    line(here, "signal check --full again.blow5 got.blow5 view.slow5").ok().logs(&["3 of 3"]);
    let _ = fs::remove_file(here.join(format!("{file}.idx")));
}

fn one_file(seed: u64, reads: usize) {
    let here = folder();
    let here = here.path();
    let Hostile { text, ids, bad } = hostile(seed, reads);
    fs::write(here.join("in.slow5"), text).unwrap();
    let code = if bad > 0 { 3 } else { 0 };
    let outputs = [
        "a.slow5",
        "a.blow5 -c none -s none",
        "b.blow5 -c zlib -s svb-zd",
        "c.blow5 -c zlib-fast -s ex-zd",
        "d.blow5 -c zstd -s svb-zd",
        "a.fast5",
    ];
    for output in outputs {
        let ran = line(here, &format!("signal convert in.slow5 -o {output}")).fails_with(code);
        if bad > 0 {
            ran.says(&[&format!("lost: {bad} reads"), "--mend-names"]);
        }
        let file = output.split(' ').next().unwrap();
        read_by_all(here, file, ids.len());
    }
    // The same reads, whatever they went through.
    let text = |file: &str| line(here, &format!("signal view {file}")).ok().text();
    assert_eq!(text("b.blow5"), text("a.slow5"));
    assert_eq!(text("d.blow5"), text("a.slow5"));
    line(here, "signal merge a.slow5 -o merged.blow5").ok();
    read_by_all(here, "merged.blow5", ids.len());
    line(here, "signal cat b.blow5 -o cat.blow5").ok();
    read_by_all(here, "cat.blow5", ids.len());
    line(here, "signal index a.blow5").ok();
    line(here, "signal degrade -b 3 a.blow5 -o degraded.blow5").ok();
    read_by_all(here, "degraded.blow5", ids.len());
    line(here, "signal split -r 40 a.blow5 -d pieces").ok();
    let pieces = names_in(&here.join("pieces"));
    assert_eq!(pieces.len(), ids.len().div_ceil(40));
    line(here, "signal merge pieces -o merged.blow5").ok();
    read_by_all(here, "merged.blow5", ids.len());
}

#[test]
fn what_one_signal_command_writes_every_signal_command_reads() {
    let (files, reads) = if skip::slow_tests() { (200, 400) } else { (3, 120) };
    for seed in 0..files {
        one_file(seed, reads);
    }
}
