//! `seqloom signal`: what is refused, with which exit code, and what a check says of what it did.

use std::fs;
use std::path::Path;

use crate::common::{Run, folder, names_in, run, seqloom};
use seqloom_testkit::skip::data;

/// Two reads of one run.
const READS: &str = "#slow5_version\t0.2.0\n#num_read_groups\t1\n@run_id\ta\n\
    #char*\tuint32_t\tdouble\tdouble\tdouble\tdouble\tuint64_t\tint16_t*\n\
    #read_id\tread_group\tdigitisation\toffset\trange\tsampling_rate\tlen_raw_signal\traw_signal\n\
    r1\t0\t8192\t1\t2\t4000\t2\t3,4\nr2\t0\t8192\t1\t2\t4000\t2\t5,6\n";

/// `seqloom signal` with a line of arguments, in a folder.
fn line(here: &Path, line: &str) -> Run {
    run(seqloom(["signal"]).args(line.split_whitespace()).current_dir(here))
}

#[test]
fn a_folder_without_signal_is_no_success() {
    let here = folder();
    let at = |name: &str| here.path().join(name);
    fs::write(at("a.slow5"), READS).unwrap();
    fs::create_dir_all(at("empty")).unwrap();
    fs::create_dir_all(at("notes/deep")).unwrap();
    fs::write(at("notes/notes.txt"), "nothing").unwrap();
    for (command, suffixes) in [
        ("check", ".slow5, .blow5, .fast5 or .pod5"),
        ("check --full", ".slow5, .blow5, .fast5 or .pod5"),
        ("convert -o x.blow5", ".slow5, .blow5, .fast5 or .pod5"),
        ("split -r 1 -d x", ".slow5, .blow5, .fast5 or .pod5"),
        ("merge -o x.blow5", ".slow5 or .blow5"),
        ("cat -o x.slow5", ".slow5 or .blow5"),
        ("methylation -b a -g a -o x -s", ".slow5, .blow5, .fast5 or .pod5"),
        ("eventalign -b a -g a -o x -s", ".slow5, .blow5, .fast5 or .pod5"),
    ] {
        for folder in ["empty", "notes"] {
            let expected = format!("seqloom: {folder}: no {suffixes} file in this folder");
            line(here.path(), &format!("{command} {folder}")).fails_with(3).says(&[&expected]);
            line(here.path(), &format!("{command} a.slow5 {folder}")).fails_with(3);
        }
    }
    assert_eq!(names_in(here.path()), ["a.slow5", "empty", "notes"]);
}

#[test]
fn a_check_says_how_many_files_are_whole_and_what_was_looked_at() {
    let here = folder();
    let at = |name: &str| here.path().join(name);
    fs::write(at("a.slow5"), READS).unwrap();
    // Its second read is bad, which only a look at all reads finds.
    fs::write(at("b.slow5"), READS.replace("5,6", "5,x")).unwrap();
    fs::write(at("c.slow5"), &READS[..READS.len() - 1]).unwrap();
    let t = |arguments: &str, code: i32, expected: &str| {
        let said = line(here.path(), &format!("check {arguments}")).fails_with(code).stderr;
        assert!(said.contains(expected), "{arguments}: {said}");
    };
    let quick = "files whole, by header, first read and end (--full decodes every read)";
    t("a.slow5 b.slow5", 0, &format!("check: 2 of 2 {quick}"));
    t("a.slow5 c.slow5 b.slow5", 3, &format!("check: 2 of 3 {quick}"));
    t("--full a.slow5", 0, "check: 1 of 1 files whole, 2 reads decoded");
    t("--full a.slow5 b.slow5", 3, "check: 1 of 2 files whole, 3 reads decoded");
}

#[test]
fn stats_of_a_file_of_which_no_read_parses_are_no_success() {
    let here = folder();
    let none = READS.replace("\t4000\t2\t", "\tx\t2\t");
    fs::write(here.path().join("none.slow5"), &none).unwrap();
    for command in ["stats", "check", "view", "stats -t 4"] {
        let ran = line(here.path(), &format!("{command} none.slow5")).fails_with(3);
        ran.says(&["none.slow5: read r1: byte "]);
    }
    let ran = line(here.path(), "stats none.slow5 --lost lost.tsv").fails_with(3);
    let said = ran.says(&["0 reads read; lost: 2 reads"]).text();
    assert!(said.ends_with("number of records\t0\n"), "{said}");
    assert_eq!(fs::read_to_string(here.path().join("lost.tsv")).unwrap().lines().count(), 3);
    // A file of which one does, and one without reads, are counted as ever.
    fs::write(here.path().join("one.slow5"), READS.replace("3,4", "x,4")).unwrap();
    let head = READS.split_inclusive('\n').filter(|line| !line.starts_with('r'));
    fs::write(here.path().join("head.slow5"), head.collect::<String>()).unwrap();
    for (file, records) in [("one.slow5", 2), ("head.slow5", 0)] {
        let said = line(here.path(), &format!("stats {file}")).ok().text();
        assert!(said.ends_with(&format!("number of records\t{records}\n")), "{said}");
    }
}

#[test]
fn fast5_without_raw_signal_is_reported_as_such() {
    let Some(folder_of) = data("nanopore/slow5tools_test/raw/f2s/err_fast5") else { return };
    let here = folder();
    for name in ["R7_1", "single_fast5_no_raw_grp", "empty_fast5"] {
        let path = folder_of.join(format!("{name}.fast5")).display().to_string();
        for command in ["check", "view", "stats", "stats --fast5-engine pool"] {
            let ran = line(here.path(), &format!("{command} {path}")).fails_with(3);
            ran.says(&[&format!("{name}.fast5: there is no raw signal in it")]);
        }
    }
    assert_eq!(names_in(here.path()), [""; 0]);
}

#[test]
fn formats_that_are_not_written_are_refused() {
    let here = folder();
    fs::write(here.path().join("a.slow5"), READS).unwrap();
    for (arguments, word) in [
        ("convert a.slow5 -o x.pod5", "POD5 is not written"),
        ("convert a.slow5 --to blow5 -o x.POD5", "POD5 is not written"),
        ("view a.slow5 -o x.pod5", "POD5 is not written"),
        ("cat a.slow5 -o x.pod5", "POD5 is not written"),
        ("convert a.slow5 --to fast5 -o -", "front to back"),
        ("convert a.slow5 --to fast5", "front to back"),
        ("convert a.slow5 --to fast5 -o /dev/stdout", "front to back"),
        ("convert a.slow5 --to fast5 -o /dev/null", "front to back"),
    ] {
        line(here.path(), arguments).fails_with(2).says(&[word]);
    }
    assert_eq!(names_in(here.path()), ["a.slow5"]);
}

#[test]
fn a_suffix_that_says_nothing_gets_what_the_help_says() {
    let here = folder();
    fs::write(here.path().join("a.slow5"), READS).unwrap();
    for (command, is_text) in [
        ("view", true),
        ("degrade -b 1", true),
        ("convert", false),
        ("merge -l no", false),
        ("get --list ids", false),
    ] {
        fs::write(here.path().join("ids"), "r1\n").unwrap();
        line(here.path(), &format!("{command} a.slow5 -o x.xyz")).ok();
        let bytes = fs::read(here.path().join("x.xyz")).unwrap();
        let start: &[u8] = if is_text { b"#slow5" } else { b"BLOW5\x01" };
        assert!(bytes.starts_with(start), "{command}");
        let help = line(here.path(), &format!("{} --help", command.split(' ').next().unwrap()));
        let words: Vec<_> = help.stdout.split(|byte| byte.is_ascii_whitespace()).collect();
        let words: Vec<_> = words.into_iter().filter(|word| !word.is_empty()).collect();
        let help = String::from_utf8(words.join(&b' ')).unwrap();
        let said = "SLOW5 text from view and degrade, BLOW5 from the others";
        assert!(help.contains(said), "{help}");
    }
}

#[test]
fn files_that_cat_cannot_join_are_wrong_usage() {
    let here = folder();
    fs::write(here.path().join("a.slow5"), READS).unwrap();
    fs::write(here.path().join("b.slow5"), READS.replace("@run_id\ta", "@run_id\tb")).unwrap();
    line(here.path(), "convert a.slow5 -o a.blow5").ok();
    line(here.path(), "convert a.slow5 -o a.fast5").ok();
    for (arguments, word) in [
        ("a.slow5 a.blow5 -o x.slow5", "format or compression differ from a.slow5; use merge"),
        ("a.slow5 b.slow5 -o x.slow5", "attributes differ from a.slow5; use merge"),
        ("a.slow5 -o x.blow5", "cat does not convert"),
        ("a.fast5 -o x.slow5", "use convert"),
    ] {
        line(here.path(), &format!("cat {arguments}")).fails_with(2).says(&[word]);
    }
    assert!(!here.path().join("x.slow5").exists() && !here.path().join("x.blow5").exists());
}

#[test]
fn a_bad_table_of_categories_is_malformed_input() {
    let here = folder();
    fs::write(here.path().join("a.slow5"), READS).unwrap();
    let t = |table: &str, options: &str, code: i32, word: &str| {
        fs::write(here.path().join("table.tsv"), table).unwrap();
        let arguments = format!("split -x table.tsv a.slow5 -d out {options}");
        line(here.path(), &arguments).fails_with(code).says(&[word]);
        assert!(!here.path().join("out").exists());
    };
    t("a\tb\n", "", 3, "table.tsv: line 1: there is no column parent_read_id");
    let header = "parent_read_id\tbarcode_arrangement\n";
    t(&format!("{header}r1\n"), "", 3, "table.tsv: line 2: there are 1 columns");
    t(&format!("{header}r1\ta/b\n"), "", 3, "table.tsv: line 2: category \"a/b\"");
    // Not the table's, but the command line's.
    t(&format!("{header}r1\tb1\n"), "-m a/b", 2, "category \"a/b\" cannot be part of a file name");
}
