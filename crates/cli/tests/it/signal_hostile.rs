//! `seqloom signal` on what people's files had: FAST5 with attributes that no table knows, reads
//! that are there twice, ids that no read may have, and what a killed run has left.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use seqloom_format::hdf5::{
    Hdf5Writer, Messages, NumberType, SUPERBLOCK_BYTES, SignalCompressor, superblock,
};

use crate::common::{Run, SOON, finish, folder, names_in, run, run_for, seqloom, signal};

#[path = "../../../format/tests/hostile/pod5_file.rs"]
mod pod5_file;

/// `seqloom signal` with a line of arguments, in a folder.
fn line(here: &Path, line: &str) -> Run {
    run(seqloom(["signal"]).args(line.split_whitespace()).current_dir(here))
}

/// What a run says in its log.
pub(crate) trait Logs {
    /// Requires words in all that went to standard error, log lines among it.
    fn logs(self, words: &[&str]);
}

impl Logs for Run {
    #[track_caller]
    fn logs(self, words: &[&str]) {
        for word in words {
            assert!(self.stderr.contains(word), "no {word:?} in: {}", self.stderr);
        }
    }
}

/// A read of a multi-read FAST5.
struct Read<'a> {
    id: &'a str,
    run: &'a str,
    pore_type: &'a str,
    /// Attributes of `Raw` besides those that all have.
    raw: &'a [(&'a str, NumberType, [u8; 8])],
}

const PLAIN: Read<'static> = Read { id: "r1", run: "run", pore_type: "not_set", raw: &[] };

/// A multi-read FAST5, as MinKNOW and `pod5 convert to_fast5` lay it out.
fn fast5(reads: &[Read<'_>]) -> Vec<u8> {
    let mut out = vec![0; SUPERBLOCK_BYTES];
    let mut writer = Hdf5Writer::at(SUPERBLOCK_BYTES as u64);
    let (mut messages, mut chunk) = (Messages::default(), Vec::new());
    SignalCompressor::default().compress(&[500, 501, 502], &mut chunk);
    let f64_of = |number: f64| number.to_le_bytes();
    let mut groups = Vec::new();
    for Read { id, run, pore_type, raw } in reads {
        let signal = writer.samples(3, &chunk, &mut messages, &mut out).unwrap();
        messages.clear();
        messages.text(b"read_id", id.as_bytes()).unwrap();
        let duration = NumberType::Integer(4, false);
        messages.number(b"duration", duration, &3_u32.to_le_bytes()).unwrap();
        let start = NumberType::Integer(8, false);
        messages.number(b"start_time", start, &7_u64.to_le_bytes()).unwrap();
        for (name, kind, value) in *raw {
            let size = match kind {
                NumberType::Integer(size, _) => usize::from(*size),
                NumberType::F32 => 4,
                NumberType::F64 => 8,
            };
            messages.number(name.as_bytes(), *kind, &value[..size]).unwrap();
        }
        let members = [(&b"Signal"[..], signal)].into_iter();
        let raw = writer.group(members, &mut messages, 1, &mut out).unwrap().header;
        let none = std::iter::empty;
        messages.clear();
        for name in ["digitisation", "offset", "range", "sampling_rate"] {
            messages.number(name.as_bytes(), NumberType::F64, &f64_of(4000.0)).unwrap();
        }
        let channel = writer.group(none(), &mut messages, 1, &mut out).unwrap().header;
        messages.clear();
        let context = writer.group(none(), &mut messages, 1, &mut out).unwrap().header;
        messages.clear();
        messages.text(b"run_id", run.as_bytes()).unwrap();
        let tracking = writer.group(none(), &mut messages, 1, &mut out).unwrap().header;
        messages.clear();
        messages.text(b"run_id", run.as_bytes()).unwrap();
        messages.text(b"pore_type", pore_type.as_bytes()).unwrap();
        let members = [
            (&b"Raw"[..], raw),
            (b"channel_id", channel),
            (b"context_tags", context),
            (b"tracking_id", tracking),
        ];
        let group = writer.group(members.into_iter(), &mut messages, 1, &mut out).unwrap();
        groups.push((format!("read_{id}").into_bytes(), group.header));
    }
    messages.clear();
    messages.text(b"file_type", b"multi-read").unwrap();
    messages.text(b"file_version", b"2.2").unwrap();
    let members = groups.iter().map(|(name, group)| (&name[..], *group));
    let root = writer.group(members, &mut messages, 1, &mut out).unwrap();
    let start = superblock(root, writer.position());
    out[..SUPERBLOCK_BYTES].copy_from_slice(&start);
    out
}

/// The seven attributes of `Raw` that MinKNOW writes of its own scaling.
const SCALING: [(&str, NumberType, [u8; 8]); 7] = [
    ("num_minknow_events", NumberType::Integer(8, false), [5, 0, 0, 0, 0, 0, 0, 0]),
    ("num_reads_since_mux_change", NumberType::Integer(4, false), [1, 0, 0, 0, 0, 0, 0, 0]),
    ("predicted_scaling_scale", NumberType::F32, [0, 0, 128, 63, 0, 0, 0, 0]),
    ("predicted_scaling_shift", NumberType::F32, [0, 0, 128, 63, 0, 0, 0, 0]),
    ("time_since_mux_change", NumberType::F32, [0, 0, 64, 64, 0, 0, 0, 0]),
    ("tracked_scaling_scale", NumberType::F32, [0, 0, 192, 127, 0, 0, 0, 0]),
    ("tracked_scaling_shift", NumberType::F32, [0, 0, 128, 63, 0, 0, 0, 0]),
];

#[test]
fn fast5_with_the_scaling_of_minknow_and_a_pore_type_is_taken() {
    let here = folder();
    let at = |name: &str| here.path().join(name);
    let read = |id| Read { id, pore_type: "R10.4.1", raw: &SCALING, ..PLAIN };
    fs::write(at("x.fast5"), fast5(&[read("r1"), read("r2")])).unwrap();
    let one = Read { raw: &SCALING[..1], ..PLAIN };
    fs::write(at("one.fast5"), fast5(&[one])).unwrap();
    for command in ["convert", "convert -l no", "convert --dump-all", "convert --dump-all -l no"] {
        for file in ["x.fast5", "one.fast5"] {
            line(here.path(), &format!("{command} {file} -o x.blow5")).ok();
        }
    }
    for command in ["stats", "check --full", "view", "skim", "view --fast5-engine pool"] {
        line(here.path(), &format!("{command} x.fast5")).ok();
    }
    let text = |options: &str| {
        line(here.path(), &format!("convert {options} x.fast5 --to slow5")).ok().text()
    };
    let t = |options: &str, fields: &[&str]| {
        let text = text(options);
        assert!(text.contains("@pore_type\tR10.4.1\n"), "{text}");
        let names = text.lines().find(|line| line.starts_with("#read_id")).unwrap();
        assert_eq!(names.split('\t').skip(8).collect::<Vec<_>>(), fields, "{options}");
        text
    };
    // As slow5tools f2s: they are stored only where all is.
    t("", &["start_time"]);
    t("-l no", &[]);
    let names: Vec<&str> =
        std::iter::once("start_time").chain(SCALING.iter().map(|it| it.0)).collect();
    let dumped = t("--dump-all", &names);
    assert!(dumped.ends_with("\t7\t5\t1\t1\t1\t3\t.\t1\n"), "{dumped}");
    // A pore type goes to FAST5 and back.
    line(here.path(), "convert x.fast5 -o y.fast5").ok();
    line(here.path(), "check --full y.fast5").ok().logs(&["2 reads decoded"]);
    let back = line(here.path(), "view y.fast5").ok().text();
    assert!(back.contains("@pore_type\tR10.4.1\n"), "{back}");
}

#[test]
fn what_a_fast5_has_no_place_for_names_the_option_that_helps() {
    let here = folder();
    let at = |name: &str| here.path().join(name);
    let new = [("newstuff", NumberType::Integer(4, true), [1, 0, 0, 0, 0, 0, 0, 0])];
    fs::write(at("new.fast5"), fast5(&[Read { raw: &new, ..PLAIN }])).unwrap();
    let other = Read { id: "r2", run: "other", ..PLAIN };
    fs::write(at("runs.fast5"), fast5(&[PLAIN, other])).unwrap();
    let wrong = [("start_mux", NumberType::F64, [0; 8])];
    fs::write(at("wrong.fast5"), fast5(&[Read { raw: &wrong, ..PLAIN }])).unwrap();
    for (command, words, way_out) in [
        ("new.fast5", &["\"newstuff\" of group \"Raw\"", "--dump-all"][..], "--dump-all"),
        ("new.fast5", &["\"newstuff\"", "-l no"], "-l no"),
        ("runs.fast5", &["read r2", "run_id \"other\"", "\"run\"", "convert --allow"], "--allow"),
        ("wrong.fast5", &["\"start_mux\" cannot be made uint8_t", "-l no"], "-l no"),
    ] {
        for refused in ["convert -o x.blow5", "check --full", "view"] {
            line(here.path(), &format!("{refused} {command}")).fails_with(3).says(words);
        }
        line(here.path(), &format!("convert {way_out} {command} -o x.blow5")).ok();
        line(here.path(), "check --full x.blow5").ok();
    }
}

/// SLOW5 of these reads: id, and samples.
fn slow5(reads: &[(&str, &str)]) -> String {
    let mut text = "#slow5_version\t0.2.0\n#num_read_groups\t1\n@run_id\trun\n\
        #char*\tuint32_t\tdouble\tdouble\tdouble\tdouble\tuint64_t\tint16_t*\tuint8_t\n\
        #read_id\tread_group\tdigitisation\toffset\trange\tsampling_rate\tlen_raw_signal\t\
        raw_signal\tstart_mux\n"
        .to_owned();
    for (id, samples) in reads {
        let count = samples.split(',').count();
        text.push_str(&format!("{id}\t0\t8192\t1\t2\t4000\t{count}\t{samples}\t1\n"));
    }
    text
}

#[test]
fn reads_that_are_there_twice_are_found_and_taken_out() {
    let here = folder();
    let at = |name: &str| here.path().join(name);
    let uuid = "02bd55e2-a942-52a2-a64b-3dbb68aa8f39";
    fs::write(at("a.slow5"), slow5(&[(uuid, "1,2"), ("r2", "3"), ("r3", "4")])).unwrap();
    fs::write(at("b.slow5"), slow5(&[("r4", "5"), (uuid, "1,2"), ("r2", "3")])).unwrap();
    for (command, output) in [
        ("convert a.slow5 b.slow5", "x.blow5"),
        ("convert a.slow5 b.slow5 --quiet -t 3", "x.slow5"),
        ("merge a.slow5 b.slow5", "x.blow5"),
        ("view x.blow5", "x.slow5"),
    ] {
        line(here.path(), &format!("{command} -o {output}")).ok().logs(&[
            &format!("warning: {output}: 2 reads have an id that was there before, the first"),
            &format!("of them {uuid}"),
            "convert --deduplicate",
        ]);
    }
    let one = line(here.path(), "convert a.slow5 -o one.blow5").ok().stderr;
    assert!(!one.contains("warning"), "{one}");
    let said = line(here.path(), "check --full x.blow5 --lost lost.tsv").fails_with(3);
    said.says(&[
        &format!("x.blow5: read {uuid}: byte "),
        "x.blow5: read r2: byte ",
        "there before, at byte ",
        "convert --deduplicate",
    ]);
    assert_eq!(fs::read_to_string(at("lost.tsv")).unwrap().lines().count(), 3);
    line(here.path(), "index x.blow5").fails_with(3).says(&["is there twice", "--deduplicate"]);
    line(here.path(), "get x.blow5 r2 -o y.blow5").fails_with(3).says(&["--deduplicate"]);
    // The FAST5 of two has room for one.
    line(here.path(), "convert x.blow5 -o x.fast5").fails_with(3).says(&["r2", "--deduplicate"]);
    for command in [
        "convert --deduplicate x.blow5 -o y.blow5",
        "convert --deduplicate a.slow5 b.slow5 -t 4 -o y.blow5",
        "merge --deduplicate a.slow5 b.slow5 -o y.blow5",
        "convert --deduplicate a.slow5 b.slow5 -o y.fast5",
    ] {
        line(here.path(), command)
            .ok()
            .logs(&["2 reads were there before and are left out", ": 4 reads"]);
        let output = if command.ends_with("fast5") { "y.fast5" } else { "y.blow5" };
        line(here.path(), &format!("check --full {output}")).ok().logs(&["4 reads decoded"]);
        line(here.path(), &format!("get {output} r2 {uuid} r4 r3 -o z.blow5")).ok();
        fs::remove_file(at(&format!("{output}.idx"))).ok();
    }
    // The same id with another signal is no copy; the same signal with another field is one.
    fs::write(at("c.slow5"), slow5(&[("r2", "9"), ("r5", "1")])).unwrap();
    for output in ["y.blow5", "y.fast5"] {
        let command = format!("convert --deduplicate a.slow5 c.slow5 -o {output}");
        line(here.path(), &command).fails_with(3).says(&[
            "c.slow5: read r2: a read of this id with another signal was there before",
            "4 reads read; lost: 1 reads",
        ]);
        line(here.path(), &format!("check --full {output}")).ok().logs(&["4 reads decoded"]);
    }
    let strict = "convert --deduplicate --strict a.slow5 c.slow5 -o strict.blow5";
    line(here.path(), strict).fails_with(3).says(&["c.slow5: read r2"]);
    assert!(!at("strict.blow5").exists());
    fs::write(at("d.slow5"), slow5(&[("r3", "4")]).replace("\t4\t1\n", "\t4\t2\n")).unwrap();
    let ran = line(here.path(), "convert --deduplicate a.slow5 d.slow5 -o y.blow5").ok();
    ran.logs(&["1 reads were there before", "1 of these differ from the first in a field"]);
}

#[test]
fn a_tag_of_a_pod5_with_a_tab_ends_no_conversion() {
    let here = folder();
    let mut bytes = pod5_file::newest(false);
    // The tags of two runs: `tag` is x, and `run_id` other.
    let tags = bytes.windows(12).position(|it| it == b"xotherxother").unwrap();
    bytes[tags] = b'\t';
    fs::write(here.path().join("x.pod5"), &bytes).unwrap();
    for command in ["convert x.pod5 -o x.blow5", "view x.pod5 -o x.slow5", "stats x.pod5"] {
        line(here.path(), command).ok().logs(&[
            "warning: x.pod5: header attribute \"tag\" has a tab or a line break",
            "it is read with blanks there",
        ]);
    }
    for output in ["x.blow5", "x.slow5"] {
        line(here.path(), &format!("check --full {output}")).ok().logs(&["3 reads decoded"]);
        let text = line(here.path(), &format!("view {output}")).ok().text();
        assert!(text.contains("@tag\t \tx\n"), "{text}");
    }
}

#[test]
fn ids_that_no_read_may_have_are_refused_by_every_reader_and_renamed_where_requested() {
    let here = folder();
    let at = |name: &str| here.path().join(name);
    let bad = ["@x", "#x", "*", "..", "a/b", "c d", "\u{3bc}", &"y".repeat(255)];
    let good = "S1_1!chr22!1!2!+";
    let mut reads: Vec<_> = bad.iter().map(|id| (*id, "1,2")).collect();
    reads.push((good, "3"));
    fs::write(at("a.slow5"), slow5(&reads)).unwrap();
    // BLOW5 that another program wrote: the id is patched, since we do not write such.
    fs::write(at("b.slow5"), slow5(&[("Ax", "1,2"), ("r2", "3")])).unwrap();
    line(here.path(), "view b.slow5 --to blow5 -c none -s none -o b.blow5").ok();
    let mut bytes = fs::read(at("b.blow5")).unwrap();
    let place = bytes.windows(4).position(|it| it == b"\x02\0Ax").unwrap();
    bytes[place + 2] = b'@';
    fs::write(at("b.blow5"), bytes).unwrap();
    let made = [Read { id: "@x", ..PLAIN }, Read { id: "r2", ..PLAIN }];
    fs::write(at("c.fast5"), fast5(&made)).unwrap();
    for (file, lost) in [("a.slow5", bad.len()), ("b.blow5", 1), ("c.fast5", 1)] {
        for command in ["convert -o x.fast5", "convert -o x.blow5", "check --full", "skim --rid"] {
            let ran = line(here.path(), &format!("{command} {file}")).fails_with(3);
            ran.says(&["@x", "--mend-names", &format!("lost: {lost} reads")]);
        }
        line(here.path(), "check --full x.fast5 x.blow5").ok().logs(&["2 of 2 files whole"]);
        for output in ["y.fast5", "y.blow5", "y.slow5"] {
            let mended = format!("convert --mend-names {file} -o {output}");
            line(here.path(), &mended).ok().logs(&[&format!(": {} reads", lost + 1)]);
            let whole = format!("{} reads decoded", lost + 1);
            line(here.path(), &format!("check --full {output}")).ok().logs(&[&whole]);
        }
    }
    // As it is stored in the same compression, too.
    line(here.path(), "convert --mend-names b.blow5 -c none -s none -o y.blow5").ok();
    assert_eq!(line(here.path(), "skim --rid y.blow5").ok().text(), "r_x\nr2\n");
    line(here.path(), "convert --mend-names a.slow5 -o y.slow5").ok();
    let ids = line(here.path(), "skim --rid y.slow5").ok().text();
    let expected =
        ["r_x", "r#x", "r*", "r..", "a_b", "c_d", "r__", &"y".repeat(254), good].join("\n") + "\n";
    assert_eq!(ids, expected);
}

#[test]
fn texts_that_are_not_utf8_are_no_end_of_columns() {
    let here = folder();
    let text = slow5(&[("r1", "1"), ("r2", "2")])
        .replace("\tuint8_t\n", "\tchar*\n")
        .replace("\t1\t1\n", "\t1\t25 uA\n");
    // A micro sign of Latin-1.
    let place = text.find("uA").unwrap();
    let mut bytes = text.into_bytes();
    bytes[place] = 0xb5;
    fs::write(here.path().join("a.slow5"), bytes).unwrap();
    line(here.path(), "convert a.slow5 -o a.blow5").ok();
    for file in ["a.slow5", "a.blow5"] {
        let ran = run(seqloom(["columns", "--kind", "signal", file]).current_dir(here.path())).ok();
        let shown = "25 \u{fffd}A".as_bytes();
        assert!(ran.stdout.windows(shown.len()).any(|it| it == shown));
    }
}

#[test]
fn fast5_is_written_only_as_it_is_read() {
    let here = folder();
    let at = |name: &str| here.path().join(name);
    // Attributes of the header that a reader of FAST5 takes for those of a read, or refuses.
    let text = slow5(&[("r1", "1"), ("r2", "2")]).replace(
        "@run_id\trun\n",
        "@range\t7\n@read_id\tr9\n@note\ta\rb\n@.\tx\n@run_id\trun\n@sample_id\ts\n",
    );
    fs::write(at("a.slow5"), &text).unwrap();
    let ran = line(here.path(), "convert a.slow5 -o a.fast5").ok();
    ran.says(&["header attribute \"range\"", "\"read_id\"", "\"note\"", "\".\"", "is left out"]);
    line(here.path(), "check --full a.fast5").ok().logs(&["2 reads decoded"]);
    let back = line(here.path(), "view a.fast5").ok().text();
    assert!(back.contains("@sample_id\ts\n") && !back.contains("@range"), "{back}");
    // An end reason without a label, and a channel that no text of FAST5 may be.
    let fields = slow5(&[("r1", "1"), ("r2", "2"), ("r3", "3")])
        .replace("\tuint8_t\n", "\tenum{a,b}\tchar*\n")
        .replace("\tstart_mux\n", "\tend_reason\tchannel_number\n")
        .replace("\t1\t1\t1\n", "\t1\t1\t2\t5\n")
        .replace("\t1\t2\t1\n", "\t1\t2\t1\ta\rb\n")
        .replace("\t1\t3\t1\n", "\t1\t3\t255\t5\n");
    fs::write(at("b.slow5"), fields).unwrap();
    let ran = line(here.path(), "convert b.slow5 -o b.fast5").fails_with(3);
    ran.says(&["r1", "end_reason has a value", "r2", "channel_number has a value", "-l no"]);
    line(here.path(), "check --full b.fast5").ok().logs(&["1 reads decoded"]);
    line(here.path(), "convert -l no b.slow5 -o b.fast5").ok().logs(&[": 3 reads"]);
    // Neither without a run nor without a read.
    fs::write(at("c.slow5"), text.replace("@run_id\trun\n", "")).unwrap();
    fs::write(at("d.slow5"), slow5(&[])).unwrap();
    for (file, word) in [("c.slow5", "needs the attribute run_id"), ("d.slow5", "no reads")] {
        line(here.path(), &format!("convert {file} -o no.fast5")).fails_with(3).says(&[word]);
        assert!(!at("no.fast5").exists());
    }
    fs::write(at("e.slow5"), slow5(&[("@x", "1")])).unwrap();
    line(here.path(), "convert e.slow5 -o no.fast5").fails_with(3).says(&["lost: 1 reads"]);
    assert!(!at("no.fast5").exists());
}

#[test]
fn a_split_removes_what_killed_runs_have_left() {
    let here = folder();
    let at = |name: &str| here.path().join(name);
    let reads: Vec<String> = (0..20_000).map(|number| format!("r{number}")).collect();
    let reads: Vec<(&str, &str)> = reads.iter().map(|id| (&id[..], "1,2,3")).collect();
    fs::write(at("a.slow5"), slow5(&reads)).unwrap();
    let arguments = ["signal", "split", "-r", "1", "-t", "1", "a.slow5", "-d", "out"];
    let mut command = seqloom(arguments);
    command.current_dir(here.path()).stderr(Stdio::piped()).stdout(Stdio::piped());
    let child = command.spawn().unwrap();
    let hidden = || at("out").exists() && !names_in(&at("out")).is_empty();
    let begun = std::time::Instant::now();
    while !hidden() && begun.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let other = seqloom(["signal", "split", "-r", "9", "a.slow5", "-d", "out"])
        .current_dir(here.path())
        .output();
    signal(&child, "KILL");
    finish(child, SOON).fails_with(137);
    let other = String::from_utf8_lossy(&other.unwrap().stderr).into_owned();
    assert!(other.contains("out is in use: another split writes to out/.seqloom.tmp-"), "{other}");
    let left = names_in(&at("out"));
    assert!(matches!(&left[..], [name] if name.starts_with(".seqloom.tmp-")), "{left:?}");
    let again = "split -r 10000 a.slow5 -d out";
    run_for(seqloom(["signal"]).args(again.split(' ')).current_dir(here.path()), SOON).ok();
    assert_eq!(names_in(&at("out")), ["a_0.blow5", "a_1.blow5"]);
    // What is there is named.
    line(here.path(), again).fails_with(2).says(&["out is not empty: a_"]);
}
