//! `seqloom signal` against the test data of slow5tools: every case with an expected file, byte for
//! byte, run as a user would.
//!
//! The cases are those that the names of the data show: an expected file is called after what was
//! done. Not run, because the data set lacks a file of theirs (its `_MISSING.txt`): `cat` of single
//! read groups and of mixed formats and compressions, `f2s --retain`, and five FAST5 files without
//! run_id. Nobody knows of what `exp/merge/a.slow5` was made, and `two_rg/exp_lossless.slow5` is
//! older than the rule that an empty attribute is a dot. Another release of zstd made
//! `*_zstd_svb_v0.2.0.blow5`: these are read, and copied as they are stored.

use crate::common::{folder, names_in, run, seqloom};
use seqloom_testkit::skip::data;
use std::fs;
use std::path::Path;

/// A command line without `seqloom signal`, and what must come out: pairs of an output (`-` for
/// standard output, a name in the folder `out`, a whole folder of it with `/` at the end) and the
/// expected file or folder. `RAW` and `EXP` are the folders of the data.
struct Case {
    line: String,
    expected: Vec<(String, String)>,
}

fn case(line: &str, expected: &[(&str, &str)]) -> Case {
    let pair = |&(a, b): &(&str, &str)| (a.to_owned(), b.to_owned());
    Case { line: line.to_owned(), expected: expected.iter().map(pair).collect() }
}

/// Runs all cases in a folder in which `test/data` is the data set, as in slow5tools' own tests.
fn check(cases: &[Case]) {
    let Some(root) = data("nanopore/slow5tools_test") else { return };
    let mut failures = Vec::new();
    for case in cases {
        let here = folder();
        fs::create_dir(here.path().join("test")).unwrap();
        fs::create_dir(here.path().join("out")).unwrap();
        std::os::unix::fs::symlink(&root, here.path().join("test/data")).unwrap();
        let line = case.line.replace("RAW", "test/data/raw").replace("EXP", "test/data/exp");
        for threads in ["1", "3"] {
            let words = line.split_whitespace().chain(["-t", threads]);
            let ran = run(seqloom(["signal"]).args(words).current_dir(here.path()));
            if ran.code() != 0 {
                failures.push(format!("{line}: exit {}: {}", ran.code(), ran.stderr));
                break;
            }
            for (output, expected) in &case.expected {
                let differs = compare(here.path(), output, &ran.stdout, &root.join(expected));
                failures.extend(differs.map(|what| format!("{line}: {expected}: {what}")));
            }
            fs::remove_dir_all(here.path().join("out")).unwrap();
            fs::create_dir(here.path().join("out")).unwrap();
        }
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

/// What differs between an output and what is expected.
fn compare(here: &Path, output: &str, stdout: &[u8], expected: &Path) -> Option<String> {
    if output.ends_with('/') {
        let made = here.join("out").join(output);
        let (a, b) = (names_in(&made), names_in(expected));
        if a != b {
            return Some(format!("files {a:?}, not {b:?}"));
        }
        return a.iter().find_map(|name| {
            let bytes = fs::read(made.join(name)).unwrap();
            compare_bytes(&bytes, &expected.join(name)).map(|what| format!("{name}: {what}"))
        });
    }
    let file = (output != "-").then(|| fs::read(here.join("out").join(output)).unwrap());
    compare_bytes(file.as_deref().unwrap_or(stdout), expected)
}

fn compare_bytes(found: &[u8], expected: &Path) -> Option<String> {
    let requested = fs::read(expected).unwrap();
    let at = found.iter().zip(&requested).position(|(a, b)| a != b);
    match at {
        None if found.len() == requested.len() => None,
        _ => {
            let at = at.unwrap_or(found.len().min(requested.len()));
            let show = |bytes: &[u8]| {
                let end = bytes.len().min(at + 60);
                String::from_utf8_lossy(&bytes[at.saturating_sub(60).min(end)..end]).into_owned()
            };
            let (a, b) = (found.len(), requested.len());
            let (x, y) = (show(found), show(&requested));
            Some(format!("{a} bytes, not {b}, differ from {at} on: {x:?} not {y:?}"))
        }
    }
}

/// Every form of the same reads to every form of its version.
fn conversions(stem: &str, forms: &[(&str, &str)], sources: &[&str]) -> Vec<Case> {
    let mut cases = Vec::new();
    for source in sources {
        for (name, options) in forms {
            let suffix = if options.is_empty() { "slow5" } else { "blow5" };
            let expected = format!("exp/{stem}{name}.{suffix}");
            let file = format!("x.{suffix}");
            cases.push(case(
                &format!("view EXP/{stem}{source} {options} -o out/{file}"),
                &[(&file, &expected)],
            ));
            cases.push(case(
                &format!("view EXP/{stem}{source} {options} --to {suffix}"),
                &[("-", &expected)],
            ));
            cases.push(case(
                &format!("convert EXP/{stem}{source} {options} -o out/{file}"),
                &[(&file, &expected)],
            ));
        }
    }
    cases
}

#[test]
fn view_converts_every_form_to_every_other() {
    let plain = "-c none -s none";
    let old = [("", ""), ("", plain), ("_zlib", "-c zlib -s none")];
    let new = [
        ("_v0.2.0", ""),
        ("_v0.2.0", plain),
        ("_zlib_v0.2.0", "-c zlib -s none"),
        ("_zlib_svb_v0.2.0", "-c zlib -s svb-zd"),
        ("_zlib_svb_v0.2.0", "-c zlib"),
        ("_zstd_v0.2.0", "-c zstd -s none"),
    ];
    let ex_zd = [("_zlib_ex_zd", "-c zlib -s ex-zd")];
    let old_sources = [".slow5", ".blow5", "_zlib.blow5"];
    let new_sources = [
        "_v0.2.0.slow5",
        "_v0.2.0.blow5",
        "_zlib_v0.2.0.blow5",
        "_zlib_svb_v0.2.0.blow5",
        "_zlib_ex_zd.blow5",
        "_zstd_v0.2.0.blow5",
        "_zstd_svb_v0.2.0.blow5",
    ];
    let mut cases = Vec::new();
    for stem in ["one_fast5/exp_1_lossless", "one_fast5/exp_1_lossy"] {
        cases.extend(conversions(stem, &old, &old_sources));
        cases.extend(conversions(stem, &new, &new_sources));
        cases.extend(conversions(stem, &ex_zd, &old_sources));
        cases.extend(conversions(stem, &ex_zd, &new_sources));
        // Copied as it is stored: what another release of zstd wrote stays what it is.
        let copied = [("_zstd_svb_v0.2.0", "-c zstd -s svb-zd")];
        cases.extend(conversions(stem, &copied, &["_zstd_svb_v0.2.0.blow5"]));
    }
    let gzip = [("", ""), ("", plain), ("_gzip", "-c zlib -s none")];
    let sources = [".slow5", ".blow5", "_gzip.blow5"];
    cases.extend(conversions("aux_array/exp_lossless", &gzip, &sources));
    cases.extend(conversions("two_rg/exp_default", &gzip, &sources));
    // two_rg/exp_lossless.slow5 has empty attributes where slow5lib writes dots.
    check(&cases);
}

#[test]
fn merge_joins_runs_and_fields() {
    let t = |inputs: &str, expected: &str| {
        let inputs: Vec<String> =
            inputs.split(' ').map(|name| format!("RAW/merge/{name}")).collect();
        let output = if expected.ends_with(".blow5") { "x.blow5" } else { "x.slow5" };
        let line = format!("merge {} -o out/{output}", inputs.join(" "));
        case(&line, &[(output, &format!("exp/merge/{expected}"))])
    };
    let with = |options: &str, mut case: Case| {
        case.line = format!("{} {options}", case.line);
        case
    };
    let four = "rg0.slow5 rg1.slow5 rg2.slow5 rg3.slow5";
    let formats = "aux_no_enum.slow5 none_v0.1.0.blow5 zlib_svb-zd_v0.2.0.blow5 zlib_v0.2.0.blow5";
    check(&[
        t(four, "merged_different_rg.slow5"),
        t(four, "merged_expected_zlib_svb.blow5"),
        with("--lossless false", t(four, "lossy_merged_different_rg.slow5")),
        with("--lossless no", t(four, "lossy_merged_different_rg.slow5")),
        t(formats, "merged_output_formats.slow5"),
        t("rg0_asic_id_missing.slow5 rg1.slow5", "rg0_asic_id_missing_with_rg1.slow5"),
        t("rg1.slow5 rg0_asic_id_missing.slow5", "rg1_with_rg0_asic_id_missing.slow5"),
        t("rg0.slow5 rg0_1.slow5", "same_rg.slow5"),
        t("rg0.slow5 rg1.slow5 rg0_1.slow5", "same_rg_and_diff_rg.slow5"),
        t("rg0.slow5 rg0_2_aux_order.slow5", "same_rg_aux_order.slow5"),
        t("rg0_2_aux_order.slow5 rg1.slow5", "diff_rg_aux_order.slow5"),
        t("rg0.slow5 rg1_1_new_aux_field.slow5", "diff_rg_diff_aux_field.slow5"),
        t("rg0.slow5 rg0_1_diff_aux_field.slow5", "same_rg_diff_aux_field.slow5"),
        t("aux_no_enum.slow5 aux_enum.slow5", "merged_output_enum.slow5"),
        t("aux_enum.slow5 aux_no_enum.slow5", "merged_output_enum2.slow5"),
        with("-a", t("rg0_asic_id_missing.slow5 rg0.slow5", "asic_id_missing_expected.slow5")),
        with("-a", t("rg0.slow5 rg0_asic_id_missing.slow5", "asic_id_missing_expected.slow5")),
        with(
            "--allow",
            t("rg0.slow5 rg0_diff_attr.slow5", "same_run_id_different_attribute_values.slow5"),
        ),
        case(
            "merge RAW/merge/rg0.slow5 RAW/merge/rg1.slow5 RAW/merge/rg2.slow5 \
             RAW/merge/rg3.slow5 --to slow5",
            &[("-", "exp/merge/merged_different_rg.slow5")],
        ),
    ]);
}

#[test]
fn split_by_groups_reads_and_files() {
    let t = |line: &str, expected: &str| {
        case(&format!("split {line} -d out/parts"), &[("parts/", &format!("exp/split/{expected}"))])
    };
    let raw = "RAW/split";
    check(&[
        t(
            &format!("-g {raw}/multi_group_slow5s/rg.slow5 --to slow5"),
            "expected_group_split_slow5s",
        ),
        t(
            &format!("-g -l false {raw}/multi_group_slow5s/lossy_rg.slow5 --to slow5"),
            "lossy_expected_slow5s",
        ),
        t(
            &format!("-g {raw}/multi_group_slow5s/rg.slow5 -c zlib -s svb-zd"),
            "expected_group_split_blow5_output",
        ),
        t(
            &format!("-g {raw}/multi_group_blow5s/example_multi_rg_v0.1.0.blow5 --to slow5"),
            "expected_group_split_blow5_input",
        ),
        t(
            &format!("-g {raw}/multi_group_enum/with_and_without_enum.slow5 --to slow5"),
            "expected_group_split_enum",
        ),
        t(
            &format!("-r 2 -l false {raw}/single_group_slow5s/11reads.slow5 --to slow5"),
            "expected_split_reads_slow5s",
        ),
        t(
            &format!("-f 3 -l false {raw}/single_group_slow5s/11reads.slow5 --to slow5"),
            "expected_split_files_slow5s",
        ),
        t(
            &format!("-g -l false {raw}/multi_group_slow5s --to slow5"),
            "expected_split_groups_slow5s",
        ),
    ]);
}

#[test]
fn split_by_categories() {
    let t = |line: &str, expected: &str| {
        case(&format!("split {line} -d out/parts"), &[("parts/", &format!("exp/split/{expected}"))])
    };
    let d = "RAW/split/demux";
    let code = "--demux-rid rid --demux-code code";
    let custom = "--demux-rid MyCustomId --demux-code BC0D35!";
    let multi = format!("{d}10/example2_0_multi.slow5");
    let summary = "barcode_summary.txt";
    check(&[
        t(&format!("-x {d}1/{summary} {d}1/example2_0.slow5 --to slow5"), "demux1"),
        t(&format!("-x {d}2/{summary} {d}2/example2_0.slow5 --to blow5"), "demux2"),
        t(&format!("-x {d}3/bs.txt {d}3/example2_0.slow5 --to blow5"), "demux3"),
        t(&format!("-x {d}3/bs.txt -u mixed {d}3/example2_0.slow5 --to blow5"), "demux3-uniq"),
        t(&format!("-x {d}4/summary {d}4/example2_0.blow5 --to slow5"), "demux4"),
        t(&format!("-x {d}4/summary -u mixed {d}4/example2_0.blow5 --to slow5"), "demux4-uniq"),
        t(&format!("-x {d}5/custom {custom} {d}5/example2_0.blow5 --to slow5"), "demux5"),
        t(&format!("-x {d}5/custom_rev {custom} {d}5/example2_0.blow5 --to slow5"), "demux5"),
        t(
            &format!("-x {d}5/custom {custom} -u abc {d}5/example2_0.blow5 --to slow5"),
            "demux5-uniq",
        ),
        t(&format!("-x {d}7/{summary} {d}7/example2_0.blow5 --to slow5"), "demux7"),
        t(
            &format!("-x {d}7/{summary} -u hodjbodj {d}7/example2_0.blow5 --to slow5"),
            "demux7-uniq",
        ),
        t(
            &format!("-x {d}9/{summary} {code} -u vmixed {d}2/example2_0.slow5 --to slow5"),
            "demux9",
        ),
        t(&format!("-x {d}9/{summary} {code} {multi} --to slow5"), "demux10"),
        t(&format!("-x {d}9/{summary} {code} -u vmixed {multi} --to slow5"), "demux10-uniq"),
        t(
            &format!("-x {d}9/{summary} {code} -u vmixed -l false {multi} --to slow5"),
            "demux10-uniq-lossy",
        ),
        t(&format!("-x {d}11/onemissing.txt {code} -m missing {multi} --to slow5"), "demux11"),
    ]);
}

#[test]
fn get_gives_reads_in_the_order_requested() {
    let file = "RAW/get/example2.slow5";
    let three = "exp/get/expected_extracted_reads3.slow5";
    check(&[
        case(
            &format!("get {file} r1 --to slow5"),
            &[("-", "exp/get/expected_extracted_reads.slow5")],
        ),
        case(
            &format!("get {file} r1 r5 r3 --to slow5"),
            &[("-", "exp/get/expected_extracted_reads2.slow5")],
        ),
        case(&format!("get {file} --list RAW/get/list.txt --to slow5"), &[("-", three)]),
        case(&format!("get {file} --list RAW/get/list_windows.txt --to slow5"), &[("-", three)]),
        case(
            &format!("get {file} --list RAW/get/list_weird_newline.txt --to slow5"),
            &[("-", three)],
        ),
        case(
            &format!("get {file} --index RAW/get/example2.slow5.idx r1 --to slow5"),
            &[("-", "exp/get/expected_extracted_reads.slow5")],
        ),
        case(
            &format!("get {file} r1 r5 r3 --to blow5 -c zlib -s none"),
            &[("-", "exp/get/expected_extracted_reads.blow5")],
        ),
        case(
            &format!("get {file} r1 r5 r3 -o out/x.blow5 -c zlib -s none"),
            &[("x.blow5", "exp/get/expected_extracted_reads.blow5")],
        ),
    ]);
}

#[test]
fn index_files_are_those_of_slow5lib() {
    let Some(root) = data("nanopore/slow5tools_test/exp/index") else { return };
    let here = folder();
    let idx = |path: &Path| {
        run(seqloom(["signal", "index"]).arg(path)).ok();
        fs::read(format!("{}.idx", path.display())).unwrap()
    };
    for name in [
        "example_multi_rg_v0.1.0.blow5",
        "example_multi_rg_v0.1.0.slow5",
        "example_multi_rg_v0.2.0.blow5",
        "example_multi_rg_v0.2.0_zstd_svb-zd.blow5",
    ] {
        let path = here.path().join(name);
        fs::copy(root.join(name), &path).unwrap();
        assert_eq!(idx(&path), fs::read(root.join(format!("{name}.idx.exp"))).unwrap(), "{name}");
    }
    // The file of this one is not in the data set, but it is one of the others uncompressed.
    let path = here.path().join("none.blow5");
    let source = root.join("example_multi_rg_v0.2.0.blow5");
    let view = ["signal", "view", "-c", "none", "-s", "none", "-o"];
    run(seqloom(view).arg(&path).arg(source)).ok();
    let expected = root.join("example_multi_rg_v0.2.0_none_none.blow5.idx.exp");
    assert_eq!(idx(&path), fs::read(expected).unwrap());
    let twice = here.path().join("duplicate_read.blow5");
    fs::copy(root.join("duplicate_read.blow5"), &twice).unwrap();
    run(seqloom(["signal", "index"]).arg(&twice)).fails_with(3).says(&["twice"]);
    assert!(!names_in(here.path()).contains(&"duplicate_read.blow5.idx".to_owned()));
}

#[test]
fn cat_stats_and_skim() {
    check(&[
        case(
            "cat RAW/cat/multi_read_group/cat_test_0.slow5 \
             RAW/cat/multi_read_group/cat_test_1.slow5",
            &[("-", "exp/cat/expected_multi_group.slow5")],
        ),
        case(
            "cat RAW/cat/multi_read_group -o out/x.slow5",
            &[("x.slow5", "exp/cat/expected_multi_group.slow5")],
        ),
        case("stats RAW/stats/exp_1_lossless.slow5", &[("-", "exp/stats/exp_1_lossless.stdout")]),
        case("stats RAW/stats/exp_1_lossy.blow5", &[("-", "exp/stats/exp_1_lossy.stdout")]),
        case(
            "stats RAW/stats/zlib_svb-zd_multi_rg_v0.2.0.blow5",
            &[("-", "exp/stats/zlib_svb-zd_multi_rg_v0.2.0.stdout")],
        ),
        case(
            "stats RAW/stats/zlib_svb-zd_multi_rg_v1.0.0.blow5",
            &[("-", "exp/stats/zlib_svb-zd_multi_rg_v1.0.0.stdout")],
        ),
        case("skim RAW/skim/sp1_dna.blow5", &[("-", "exp/skim/sp1_dna.exp")]),
        case("skim RAW/skim/sequin_rna.blow5", &[("-", "exp/skim/sequin_rna.exp")]),
    ]);
}

#[test]
fn degrade_rounds_as_slow5tools_does() {
    let t = |line: &str, expected: &str| {
        let (_, suffix) = expected.rsplit_once('.').unwrap();
        let file = format!("x.{suffix}");
        let line = format!("degrade RAW/degrade/{line} -o out/{file}");
        case(&line, &[(&file, &format!("exp/degrade/{expected}"))])
    };
    check(&[
        t("example2.slow5 --bits 1", "example2_b1.slow5"),
        t("example2.slow5 -b 4", "example2_b4.blow5"),
        t("minir10dna.blow5", "minir10dna_b3.blow5"),
        t("gridr10dna.blow5", "gridr10dna_b3.blow5"),
        t("promr10dna4khz.blow5 -s svb-zd", "promr10dna4khz_b3.blow5"),
        t("promr10dna5khz.blow5", "promr10dna5khz_b3.blow5"),
        t("promr10rna.blow5", "promr10rna_b3.blow5"),
        t("p2solo_ulk114_dna.blow5", "p2solo_ulk114_dna_b3.blow5"),
        t("PRPN119035_read1.blow5", "PRPN119035_read1_b2.blow5"),
        t(
            "na12878_prom_merged_r9.4.1_chr22_read1.blow5",
            "na12878_prom_merged_r9.4.1_chr22_read1_b2.blow5",
        ),
    ]);
}

/// Lines that must end with an exit code other than 0, and a word of their message.
#[test]
fn what_slow5tools_refuses_is_refused() {
    let Some(root) = data("nanopore/slow5tools_test") else { return };
    let merge = "same run_id";
    let kind = "not of the type";
    for (line, code, word) in [
        ("merge RAW/merge/rg0_asic_id_missing.slow5 RAW/merge/rg0.slow5", 3, merge),
        ("merge RAW/merge/rg0.slow5 RAW/merge/rg0_asic_id_missing.slow5", 3, merge),
        ("merge RAW/merge/rg0.slow5 RAW/merge/rg0_diff_attr.slow5", 3, merge),
        // slow5tools forgets the difference when the next file agrees.
        ("merge RAW/merge/rg0.slow5 RAW/merge/rg0_diff_attr.slow5 RAW/merge/rg0_1.slow5", 3, merge),
        ("merge RAW/merge/rg0.slow5 RAW/merge/rg1_1_diff_aux_type.slow5", 3, kind),
        ("merge RAW/merge/rg0_enum.slow5 RAW/merge/aux_enum_diff_label.slow5", 3, kind),
        ("merge RAW/merge/rg0_enum.slow5 RAW/merge/aux_enum_new_label.slow5", 3, kind),
        ("merge RAW/merge/rg0_enum.slow5 RAW/merge/aux_enum_order_label.slow5", 3, kind),
        ("merge RAW/merge/rg0_enum.slow5 RAW/merge/aux_enum_uint8_t.slow5", 3, kind),
        ("merge RAW/stats/exp_1_lossy.blow5", 3, "no auxiliary fields"),
        ("cat RAW/cat/different_aux_order", 2, "auxiliary fields differ"),
        ("cat RAW/cat/multi_read_group -o out/x.blow5", 2, "does not convert"),
        ("stats RAW/stats/zlib_svb-zd_multi_rg_v1.1.0.blow5", 3, "version 1.1.0"),
        ("get RAW/get/example2.slow5 --list RAW/get/list_with_invalid_reads.txt", 3, "r100 r500"),
        ("degrade RAW/degrade/promr10dna_badhdr.slow5", 2, "no number of bits"),
        ("degrade RAW/degrade/promr10dna_badhdr_sample_freq.slow5", 2, "no number of bits"),
        ("degrade RAW/degrade/promr10dna_badhdr_sample_rate.slow5", 2, "no number of bits"),
        ("degrade RAW/degrade/promr10dna_badhdr_sample_rate2.slow5", 2, "no number of bits"),
        ("degrade RAW/degrade/promr10dna_badrec.slow5 --strict", 3, "as for DNA"),
        ("split -g RAW/split/single_group_slow5s/11reads.slow5 -d out/x", 2, "single read group"),
        ("split -r 2 RAW/split/multi_group_slow5s/rg.slow5 -d out/x", 2, "split these first"),
        ("split -r 2 RAW/split/single_group_slow5s/11reads.slow5 -d .", 2, "not empty"),
    ] {
        let here = folder();
        fs::create_dir(here.path().join("test")).unwrap();
        fs::create_dir(here.path().join("out")).unwrap();
        std::os::unix::fs::symlink(&root, here.path().join("test/data")).unwrap();
        let words = line.replace("RAW", "test/data/raw");
        let words = words.split_whitespace();
        let ran = run(seqloom(["signal"]).args(words).current_dir(here.path()));
        assert_eq!(ran.code(), code, "{line}: {}", ran.stderr);
        ran.says(&[word]);
        assert!(!here.path().join("out/x.blow5").exists(), "{line}");
    }
}

#[test]
fn whole_and_damaged_files_are_distinguished() {
    let Some(root) = data("nanopore/slow5tools_test/raw/quickcheck") else { return };
    for name in names_in(&root) {
        let expected = if name.contains("good") { 0 } else { 3 };
        for option in [&[][..], &["--full"]] {
            let ran = run(seqloom(["signal", "check"]).args(option).arg(root.join(&name)));
            assert_eq!(ran.code(), expected, "{name} {option:?}: {}", ran.stderr);
            if expected != 0 {
                ran.says(&[&name]);
            }
        }
    }
}

#[test]
fn fast5_files_become_what_f2s_makes_of_them() {
    let t = |inputs: &str, options: &str, expected: &str| {
        let suffix = expected.rsplit_once('.').unwrap().1;
        let inputs: Vec<String> = inputs.split(' ').map(|name| format!("RAW/f2s/{name}")).collect();
        let line = format!("convert {} {options} -o out/x.{suffix}", inputs.join(" "));
        case(&line, &[(&format!("x.{suffix}"), &format!("exp/f2s/{expected}"))])
    };
    let mixed = "single-and-multi-fast5";
    let (one, two, three, four) = ("1ssm1.fast5", "2sss1.fast5", "3ssm2.fast5", "4sss2.fast5");
    let mut cases = vec![
        t("single-fast5/sss1.fast5", "", "single-fast5-output/a_single-fast5.slow5"),
        t("single-fast5", "", "single-fast5-output/directory_single-fast5.slow5"),
        t("multi-fast5/ssm1.fast5", "", "multi-fast5-output/file_multi-fast5.slow5"),
        t("multi-fast5", "", "multi-fast5-output/directory_multi-fast5.slow5"),
        t("multi-fast5/ssm1.fast5", "-c zlib -s none", "multi-fast5-output/ssm1_zlib.blow5"),
        t("multi-fast5/ssm1.fast5", "", "multi-fast5-output/ssm1_zlib_svb.blow5"),
        t(
            &format!("{mixed}/{one} {mixed}/{two} {mixed}/{three} {mixed}/{four}"),
            "",
            &format!("{mixed}-output/file_{mixed}.slow5"),
        ),
        t(&format!("{mixed}/{two} {mixed}/{four}"), "", &format!("{mixed}-output/0.slow5")),
        t(&format!("{mixed}/{one}"), "", &format!("{mixed}-output/1ssm1.slow5")),
        t(&format!("{mixed}/{three}"), "", &format!("{mixed}-output/3ssm2.slow5")),
    ];
    for name in ["ssm1", "ssm2", "ssm3"] {
        let input = format!("multi-fast5/{name}.fast5");
        cases.push(t(&input, "", &format!("multi-fast5-output/{name}.slow5")));
    }
    for folder in ["end_reason_fast5", "unusual_fast5", "various_versions"] {
        let Some(root) = data(&format!("nanopore/slow5tools_test/exp/f2s/{folder}")) else {
            return;
        };
        for name in names_in(&root) {
            // Its second read counts the labels in another order. slow5tools copies the number,
            // which then stands for another label; we write the number of the label.
            if name == "end_reason_differnt_key_order.slow5" {
                continue;
            }
            let input = format!("{folder}/{}.fast5", name.strip_suffix(".slow5").unwrap());
            cases.push(t(&input, "", &format!("{folder}/{name}")));
        }
    }
    check(&cases);
}
