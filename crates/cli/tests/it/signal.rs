//! `seqloom signal` as users run it: threads, bad luck, bad files, and other programs' readers.

use crate::common::{Run, SOON, folder, names_in, run, run_for, seqloom, signal};
use seqloom_testkit::skip::data;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Ten reads that the official tools made of a FAST5 file.
fn ten_reads() -> Option<PathBuf> {
    data("nanopore/derived_official_tools/multi_fast5_zip.blow5")
}

/// `seqloom signal` with a line of arguments; paths must hold no blanks.
fn command(line: &str) -> Command {
    let mut command = seqloom(["signal"]);
    command.args(line.split_whitespace());
    command
}

fn signal_line(line: &str) -> Run {
    run(&mut command(line))
}

/// The same read over and over under new ids: a file of any size.
fn many_reads(folder: &Path, copies: u32) -> Option<PathBuf> {
    let source = ten_reads()?;
    let text = signal_line(&format!("view --quiet {}", source.display())).ok().text();
    let (header, records): (Vec<&str>, Vec<&str>) =
        text.lines().partition(|line| line.starts_with(['#', '@']));
    let mut out = header.join("\n") + "\n";
    for copy in 0..copies {
        for record in &records {
            // Ids stay UUIDs, and stay distinct.
            out.push_str(&format!("{copy:08x}{}\n", &record[8..]));
        }
    }
    let path = folder.join("many.slow5");
    fs::write(&path, out).unwrap();
    Some(path)
}

#[test]
fn the_number_of_threads_does_not_show() {
    let here = folder();
    let Some(source) = many_reads(here.path(), 5) else { return };
    let source = source.display();
    let at = |name: &str| here.path().join(name);
    let blow5 = at("many.blow5").display().to_string();
    signal_line(&format!("convert --quiet {source} -o {blow5}")).ok();
    let ids: Vec<String> = signal_line(&format!("skim --quiet --rid {blow5}"))
        .ok()
        .text()
        .lines()
        .map(str::to_owned)
        .collect();
    assert_eq!(ids.len(), 50);
    let list: Vec<&str> = (0..ids.len()).map(|at| ids[at * 27 % 50].as_str()).collect();
    fs::write(at("list"), list.join("\n")).unwrap();
    let list = at("list").display().to_string();
    for line in [
        format!("convert {source} -c zstd --to blow5"),
        format!("view {blow5}"),
        format!("view {blow5} --to blow5 -s ex-zd"),
        format!("get {blow5} --list {list}"),
        format!("merge {blow5} {blow5} --to blow5"),
        format!("cat {blow5} {blow5}"),
        format!("skim {blow5}"),
        format!("stats {blow5}"),
        format!("degrade {blow5} -b 3 --to blow5"),
    ] {
        let one = signal_line(&format!("{line} -t 1")).ok().stdout;
        assert!(!one.is_empty());
        for threads in [2, 7, 64] {
            let other = signal_line(&format!("{line} -t {threads}")).ok().stdout;
            assert!(one == other, "{line} -t {threads}");
        }
    }
    let index = |threads| {
        signal_line(&format!("index {blow5} -t {threads}")).ok();
        fs::read(at("many.blow5.idx")).unwrap()
    };
    let one = index(1);
    assert!([2, 7, 64].into_iter().all(|threads| index(threads) == one));
    let split = |threads| -> Vec<Vec<u8>> {
        let parts = at(&format!("parts{threads}"));
        let line = format!("split {blow5} -r 20 -d {} -t {threads}", parts.display());
        signal_line(&line).ok();
        names_in(&parts).iter().map(|name| fs::read(parts.join(name)).unwrap()).collect()
    };
    let one = split(1);
    assert_eq!(one.len(), 3);
    assert!([2, 7, 64].into_iter().all(|threads| split(threads) == one));
}

#[test]
fn a_full_disk_ends_with_no_file() {
    let here = folder();
    let Some(source) = many_reads(here.path(), 3) else { return };
    let out = here.path().join("out");
    fs::create_dir(&out).unwrap();
    let (seqloom, source) = (env!("CARGO_BIN_EXE_seqloom"), source.display());
    let small = |line: &str| {
        let line = format!("trap '' XFSZ; ulimit -f 500; exec {seqloom} signal {line}");
        run_for(Command::new("bash").args(["-c", &line]), SOON)
    };
    for line in [
        format!("convert {source} -o {}/x.blow5", out.display()),
        format!("view {source} -o {}/x.slow5", out.display()),
        format!("merge {source} -o {}/x.blow5 -t 4", out.display()),
        format!("convert {source} -o {}/x.fast5 -t 2", out.display()),
        format!("split {source} -r 1000 -d {}", out.display()),
    ] {
        small(&line).fails_with(4).says(&["cannot write"]);
        assert_eq!(names_in(&out), [""; 0], "{line}");
    }
}

#[test]
fn whoever_stops_reading_our_output_is_no_failure() {
    let here = folder();
    let Some(source) = many_reads(here.path(), 3) else { return };
    let (seqloom, source) = (env!("CARGO_BIN_EXE_seqloom"), source.display());
    let line = format!("set -o pipefail; {seqloom} signal view --quiet {source} | head -c 1000");
    let ran = run_for(Command::new("bash").args(["-c", &line]), SOON).ok();
    assert_eq!(ran.stdout.len(), 1000);
}

#[test]
fn a_signal_leaves_nothing_behind() {
    let here = folder();
    let Some(source) = many_reads(here.path(), 40) else { return };
    for (name, code) in [("TERM", 143), ("INT", 130), ("KILL", 137)] {
        let out = here.path().join(name);
        fs::create_dir(&out).unwrap();
        let line = format!(
            "convert -t 1 {} -c zlib -s none -o {}/x.blow5",
            source.display(),
            out.display()
        );
        let child = command(&line).stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(300));
        signal(&child, name);
        crate::common::finish(child, SOON).fails_with(code);
        assert_eq!(names_in(&out), [""; 0], "{name}");
    }
}

#[test]
fn bad_reads_are_counted_and_the_others_saved() {
    let here = folder();
    let Some(source) = ten_reads() else { return };
    let at = |name: &str| here.path().join(name).display().to_string();
    let mut bytes = fs::read(&source).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 50].fill(0x55);
    fs::write(at("bad.blow5"), &bytes).unwrap();
    let line = format!("convert {} -o {} --lost {}", at("bad.blow5"), at("x.slow5"), at("lost"));
    let ran = signal_line(&line);
    ran.fails_with(3).says(&["bad.blow5: read ", "byte ", "9 reads read; lost: 1 reads"]);
    let reads = signal_line(&format!("skim --rid {}", at("x.slow5"))).ok().text();
    assert_eq!(reads.lines().count(), 9);
    let lost = fs::read_to_string(at("lost")).unwrap();
    assert_eq!(lost.lines().count(), 2, "{lost}");
    let strict = format!("convert --strict {} -o {}", at("bad.blow5"), at("strict.slow5"));
    signal_line(&strict).fails_with(3).says(&["--strict"]);
    assert!(!Path::new(&at("strict.slow5")).exists());
    // Cut off: what is there is saved, and the end is missed.
    fs::write(at("cut.blow5"), &fs::read(&source).unwrap()[..middle]).unwrap();
    let cut = signal_line(&format!("view {}", at("cut.blow5")));
    cut.fails_with(3).says(&["the rest of 1 files"]);
    signal_line(&format!("check {}", at("cut.blow5"))).fails_with(3);
    // Joined by cat.
    let joined = [fs::read(&source).unwrap(), fs::read(&source).unwrap()].concat();
    fs::write(at("joined.blow5"), joined).unwrap();
    signal_line(&format!("stats {}", at("joined.blow5")))
        .fails_with(3)
        .says(&["joined byte by byte"]);
    // An index of a damaged file would hide the damage.
    signal_line(&format!("index {}", at("cut.blow5"))).fails_with(3);
    assert!(!Path::new(&at("cut.blow5.idx")).exists());
}

#[test]
fn folders_are_walked_and_leftovers_of_macos_passed_over() {
    let here = folder();
    let Some(source) = ten_reads() else { return };
    let at = |name: &str| here.path().join(name);
    fs::create_dir_all(at("in/deep")).unwrap();
    fs::copy(&source, at("in/deep/a.blow5")).unwrap();
    fs::write(at("in/deep/._a.blow5"), b"\0\x05\x16\x07").unwrap();
    fs::write(at("in/empty.fast5"), b"").unwrap();
    let line = format!("convert {} -o {}", at("in").display(), at("x.blow5").display());
    let ran = signal_line(&line).fails_with(3);
    ran.says(&["1 files named ._*", "empty.fast5", "not a file of raw signal", "1 whole files"]);
    let stats = signal_line(&format!("stats {}", at("x.blow5").display())).ok().text();
    assert!(stats.contains("number of records\t10\n"), "{stats}");
}

/// A SLOW5 file of one read: its run, its auxiliary field as name, type and value.
fn one_read(path: &Path, read: &str, run: &str, field: (&str, &str, &str)) {
    let (name, kind, value) = field;
    let run = if run.is_empty() { String::new() } else { format!("@run_id\t{run}\n") };
    let text = format!(
        "#slow5_version\t0.2.0\n#num_read_groups\t1\n{run}\
         #char*\tuint32_t\tdouble\tdouble\tdouble\tdouble\tuint64_t\tint16_t*\t{kind}\n\
         #read_id\tread_group\tdigitisation\toffset\trange\tsampling_rate\t\
         len_raw_signal\traw_signal\t{name}\n\
         {read}\t0\t8192\t1\t2\t4000\t2\t3,4\t{value}\n"
    );
    fs::write(path, text).unwrap();
}

#[test]
fn a_file_that_does_not_fit_the_others_is_lost_alone() {
    let here = folder();
    let at = |name: &str| here.path().join(name);
    let ends = |labels: &str| format!("enum{{{labels}}}");
    one_read(&at("a.slow5"), "r1", "run1", ("end_reason", &ends("x,y"), "1"));
    one_read(&at("b.slow5"), "r2", "", ("end_reason", &ends("x,y"), "1"));
    one_read(&at("c.slow5"), "r3", "run1", ("end_reason", "uint8_t", "1"));
    one_read(&at("d.slow5"), "r4", "run2", ("end_reason", &ends("z,x"), "0"));
    one_read(&at("e.slow5"), "r5", "run2", ("end_reason", &ends("z,x"), "."));
    let (from, out) = (here.path().display().to_string(), at("x/out.slow5"));
    fs::create_dir(at("x")).unwrap();
    let line = format!("convert {from} -o {}", out.display());
    let ran = signal_line(&line).fails_with(3);
    ran.says(&[
        "b.slow5: read group 0 has no run_id",
        "c.slow5: auxiliary field end_reason is not",
        "3 reads read; lost: 0 reads",
        "2 whole files",
    ]);
    let text = fs::read_to_string(&out).unwrap();
    assert!(text.contains("\tenum{x,y,z}\n"), "{text}");
    for line in ["r1\t0\t", "r4\t1\t", "r5\t1\t"] {
        assert!(text.contains(&format!("\n{line}")), "{text}");
    }
    let values: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with('r'))
        .map(|line| line.rsplit('\t').next().unwrap())
        .collect();
    assert_eq!(values, ["1", "2", "."]);
    fs::remove_file(&out).unwrap();
    signal_line(&format!("{line} --strict")).fails_with(3).says(&["b.slow5", "--strict"]);
    assert!(!out.exists());
}

#[test]
fn options_that_would_be_ignored_are_refused() {
    let here = folder();
    let path = here.path().join("a.slow5");
    one_read(&path, "r1", "run1", ("mux", "uint8_t", "1"));
    let path = path.display();
    for line in [
        format!("view {path} -c zstd"),
        format!("view {path} --to slow5 -s ex-zd"),
        format!("convert {path} -c zstd -o {path}.fast5"),
        format!("view {path} -K 10"),
        format!("split -r 1 {path} -d {path}.d -m none"),
        format!("split -r 1 {path} -d {path}.d --demux-rid id"),
    ] {
        signal_line(&line).fails_with(2);
    }
}

#[test]
fn a_split_that_fails_late_leaves_nothing() {
    let here = folder();
    let at = |name: &str| here.path().join(name);
    let out = at("out");
    fs::create_dir_all(at("other")).unwrap();
    one_read(&at("a.slow5"), "r1", "run1", ("mux", "uint8_t", "1"));
    fs::copy(at("a.slow5"), at("other/a.slow5")).unwrap();
    let text = fs::read_to_string(at("a.slow5")).unwrap();
    fs::write(at("b.slow5"), format!("{text}r2\t0\tbad\n")).unwrap();
    let [a, b, other] =
        ["a.slow5", "b.slow5", "other/a.slow5"].map(|it| at(it).display().to_string());
    let split = |line: &str| signal_line(&format!("split -r 1 {line} -d {}", out.display()));
    split(&format!("{a} {b} --strict")).fails_with(3);
    assert_eq!(names_in(&out), [""; 0]);
    split(&format!("{a} {other}")).fails_with(2).says(&["a_0.blow5"]);
    assert_eq!(names_in(&out), [""; 0]);
    split(&format!("{a} {b}")).fails_with(3);
    assert_eq!(names_in(&out), ["a_0.blow5", "b_0.blow5"]);
}

#[test]
fn an_index_is_made_when_it_is_missing_and_never_left_next_to_another_file() {
    let here = folder();
    let Some(source) = ten_reads() else { return };
    let at = |name: &str| here.path().join(name);
    fs::copy(&source, at("a.blow5")).unwrap();
    let file = at("a.blow5").display().to_string();
    let ids = signal_line(&format!("skim --rid {file}")).ok().text();
    let last = ids.lines().last().unwrap();
    let first = signal_line(&format!("get {file} {last} --to slow5")).ok().stdout;
    assert_eq!(names_in(here.path()), ["a.blow5", "a.blow5.idx"]);
    assert_eq!(signal_line(&format!("get {file} {last} --to slow5")).ok().stdout, first);
    signal_line(&format!("get {file} nobody")).fails_with(3).says(&["nobody"]);
    let skipped = signal_line(&format!("get {file} nobody {last} --skip --to slow5")).ok();
    assert_eq!(skipped.stdout, first);
    // A new file under the old name: the old index goes.
    signal_line(&format!("view {} -o {file}", source.display())).ok();
    signal_line(&format!("view {} -c zstd -o {file}", source.display())).ok();
    assert_eq!(names_in(here.path()), ["a.blow5"]);
    // An index of something else is refused, or its reads are.
    fs::write(at("a.blow5.idx"), b"rubbish").unwrap();
    signal_line(&format!("get {file} {last}")).fails_with(3).says(&["a.blow5.idx"]);
}

#[test]
fn pyslow5_reads_what_we_write() {
    let here = folder();
    let (Some(source), Some(python)) = (ten_reads(), seqloom_testkit::python::with("pyslow5"))
    else {
        return;
    };
    let at = |name: &str| here.path().join(name).display().to_string();
    let script = "\
import sys, pyslow5
a, b = (pyslow5.Open(path, 'r') for path in sys.argv[1:])
reads = lambda f: {r['read_id']: r for r in f.seq_reads(aux='all')}
x, y = reads(a), reads(b)
assert list(x) == list(y), 'ids'
for i in x:
    for k in x[i]:
        p, q = x[i][k], y[i][k]
        same = (p == q).all() if k == 'signal' else p == q or p != p and q != q
        assert same, (i, k)
assert a.get_all_headers() == b.get_all_headers()
print(len(x))
";
    for (record, samples) in
        [("none", "svb-zd"), ("zlib", "none"), ("zlib-fast", "svb-zd"), ("zstd", "ex-zd")]
    {
        let file = at(&format!("{record}.{samples}.blow5"));
        signal_line(&format!("convert {} -c {record} -s {samples} -o {file}", source.display()))
            .ok();
        let mut referee = Command::new(&python);
        let ran = run(referee.args(["-c", script]).arg(&source).arg(&file)).ok();
        assert_eq!(ran.text().trim(), "10");
    }
    // Other bytes than slow5tools', of the same reads.
    let [fast, plain] = ["zlib-fast", "none"].map(|record| at(&format!("{record}.svb-zd.blow5")));
    let (back, direct) = (at("back.blow5"), at("direct.blow5"));
    signal_line(&format!("convert {fast} -c none -o {back}")).ok();
    signal_line(&format!("convert {plain} -c zlib -o {direct}")).ok();
    let [fast, plain, back, direct] =
        [fast, plain, back, direct].map(|path| fs::read(path).unwrap());
    assert!(back == plain && fast != direct);
    assert!(fast.len().abs_diff(direct.len()) < direct.len() / 50);
}

#[test]
fn pod5_and_fast5_give_the_same_reads() {
    let here = folder();
    let Some(pod5) = data("nanopore/derived_official_tools/multi_fast5_zip.pod5") else { return };
    let Some(blow5) = ten_reads() else { return };
    let fast5 = data("nanopore/pod5-file-format/test_data/multi_fast5_zip.fast5");
    let columns = |path: &Path| -> Vec<String> {
        let text = signal_line(&format!("view --quiet {}", path.display())).ok().text();
        let reads = text.lines().filter(|line| !line.starts_with(['#', '@']));
        let mut lines: Vec<String> = reads
            .map(|line| {
                let fields: Vec<&str> = line.split('\t').collect();
                // Range and offset go through other types in POD5.
                [fields[0], fields[2], fields[5], fields[6], fields[7]].join("\t")
            })
            .collect();
        lines.sort();
        lines
    };
    let expected = columns(&blow5);
    assert_eq!(expected.len(), 10);
    assert!(columns(&pod5) == expected);
    if let Some(fast5) = fast5 {
        assert!(columns(&fast5) == expected);
    }
    // By id too, from files that have a table of their reads.
    let id = expected[3].split('\t').next().unwrap().to_owned();
    let got = here.path().join("one.slow5");
    signal_line(&format!("get {} {id} -o {}", pod5.display(), got.display())).ok();
    assert!(columns(&got) == expected[3..4]);
}

#[test]
fn fast5_comes_back_from_blow5() {
    let here = folder();
    let Some(root) = data("nanopore/slow5tools_test/raw/f2s/multi-fast5/ssm1.fast5") else {
        return;
    };
    let at = |name: &str| here.path().join(name).display().to_string();
    for threads in [1, 4] {
        let options = format!("--quiet -t {threads}");
        let blow5 = at(&format!("{threads}.blow5"));
        let fast5 = at(&format!("{threads}.fast5"));
        signal_line(&format!("convert {options} {} -o {blow5}", root.display())).ok();
        signal_line(&format!("convert {options} {blow5} -o {fast5}")).ok();
        // Reads of a FAST5 file come in the order of their names.
        let records = |file: &str| -> Vec<String> {
            let text = signal_line(&format!("view {options} {file}")).ok().text();
            let mut records: Vec<String> = text
                .lines()
                .filter(|line| !line.starts_with(['#', '@']))
                .map(str::to_owned)
                .collect();
            records.sort();
            records
        };
        let names = |file: &str| signal_line(&format!("stats {options} {file}")).ok().text();
        let field_names = |file: &str| {
            names(file).lines().find(|line| line.starts_with("auxiliary fields")).map(str::to_owned)
        };
        assert_eq!(records(&fast5).len(), 3);
        assert_eq!(field_names(&fast5), field_names(&blow5));
        assert!(records(&fast5) == records(&blow5));
    }
    assert!(fs::read(at("1.fast5")).unwrap() == fs::read(at("4.fast5")).unwrap());
    // One run in a file.
    let Some(two) = data("nanopore/slow5tools_test/exp/two_rg/exp_default.slow5") else { return };
    let out = at("two.fast5");
    signal_line(&format!("convert {} -o {out}", two.display()))
        .fails_with(3)
        .says(&["one read group"]);
    assert!(!Path::new(&out).exists());
}

#[test]
fn a_report_has_the_components() {
    let Some(source) = ten_reads() else { return };
    let line =
        format!("convert --quiet --report {} -o /dev/null --to blow5 -t 2", source.display());
    let ran = signal_line(&line).ok();
    let number = |name: &str| -> Option<f64> {
        let row = format!("report\t{name}\t");
        ran.stderr.lines().find_map(|line| line.strip_prefix(&row))?.parse().ok()
    };
    for name in [
        "wall_s",
        "cpu_s",
        "cpu_utilisation_percent",
        "cpu_hours",
        "core_hours",
        "open_s",
        "read_s",
        "inflate_s",
        "decode_s",
        "encode_s",
        "write_s",
    ] {
        assert!(number(name).is_some(), "{name}: {}", ran.stderr);
    }
    // Threads by wall time (Gamaarachchi 2020), of numbers with three and with six digits.
    let hours = |seconds: f64, name: &str| (number(name).unwrap() - seconds / 3600.0).abs() < 1e-6;
    assert!(hours(2.0 * number("wall_s").unwrap(), "core_hours"), "{}", ran.stderr);
    assert!(hours(number("cpu_s").unwrap(), "cpu_hours"), "{}", ran.stderr);
}
