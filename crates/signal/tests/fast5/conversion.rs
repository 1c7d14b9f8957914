//! Reads and headers beside the files that slow5tools expects of its own conversion.

use std::path::Path;

use seqloom_format::slow5::{header, text};
use seqloom_signal::fast5::Fast5Options;
use seqloom_testkit::skip;

use crate::support::load;

const OPTIONS: Fast5Options =
    Fast5Options { allow_run_id_mismatch: false, keep_unknown: false, complete_header: false };

/// SLOW5 text of some FAST5 files, under the header of the first.
fn as_slow5(paths: &[&Path], options: Fast5Options) -> String {
    let mut out = Vec::new();
    let mut first = None;
    for path in paths {
        let (own, reads) = load(path, options).unwrap_or_else(|error| panic!("{error}"));
        let header = first.get_or_insert_with(|| {
            header::append_text(&own, &mut out);
            own.clone()
        });
        assert_eq!(header.auxiliary, own.auxiliary);
        for read in &reads {
            text::append_record(read, &own, &mut out).unwrap();
        }
    }
    String::from_utf8(out).unwrap()
}

fn assert_same(ours: &str, expected: &str, name: &str) {
    for (number, (ours, expected)) in ours.lines().zip(expected.lines()).enumerate() {
        let cut = |line: &str| line.chars().take(300).collect::<String>();
        assert_eq!(cut(ours), cut(expected), "{name} line {number}");
    }
    assert!(ours == expected, "{name}");
}

#[test]
fn files_become_what_slow5tools_makes_of_them() {
    let Some(data) = skip::data("nanopore/slow5tools_test") else { return };
    let raw = data.join("raw/f2s");
    let t_with = |options: Fast5Options, from: &[&str], expected: &str| {
        let paths: Vec<_> = from.iter().map(|name| raw.join(format!("{name}.fast5"))).collect();
        let paths: Vec<&Path> = paths.iter().map(|path| path.as_path()).collect();
        let wanted = data.join("exp/f2s").join(format!("{expected}.slow5"));
        let wanted = std::fs::read_to_string(wanted).unwrap();
        assert_same(&as_slow5(&paths, options), &wanted, expected);
    };
    let t = |from: &[&str], expected: &str| t_with(OPTIONS, from, expected);
    t(&["single-fast5/sss1"], "single-fast5-output/a_single-fast5");
    let single = ["single-fast5/sss1", "single-fast5/sss2", "single-fast5/sss3"];
    t(&single, "single-fast5-output/directory_single-fast5");
    for name in ["ssm1", "ssm2", "ssm3"] {
        t(&[&format!("multi-fast5/{name}")], &format!("multi-fast5-output/{name}"));
    }
    t(&["multi-fast5/ssm1"], "multi-fast5-output/file_multi-fast5");
    for name in [
        "compress_fast5",
        "multi_fast5_v1.0",
        "multi_fast5_v2.2_basecalled",
        "multi_fast5_v2.3",
        "multi_fast5_v2.3_barcoded",
        "single_fast5_v0.6",
        "single_fast5_v1.0",
        "single_fast5_v1.0_starttime0",
        "single_fast5_v2.0",
        "single_v0.6_to_multi_v2.0_fast5_same_run_id",
        "single_v1.0_to_multi_v2.0_fast5_same_run_id",
        "single_vnull_to_multi_2.0",
    ] {
        let name = format!("various_versions/{name}");
        t(&[&name], &name);
    }
    for name in [
        "median_before_missing",
        "new_attrib_in_context",
        "new_attrib_in_tracking",
        "new_str_attrib_in_context",
        "new_str_attrib_in_tracking",
    ] {
        let name = format!("unusual_fast5/{name}");
        t(&[&name], &name);
    }
    for name in [
        "end_reason0",
        "end_reason2",
        "end_reason_datatype_uint8_t",
        "end_reason_differnt_key",
        "end_reason_new_key",
    ] {
        let name = format!("end_reason_fast5/{name}");
        t(&[&name], &name);
    }
    // Its second read counts the labels in another order: 4 is signal_positive there, and 5 in the
    // first read. slow5tools keeps the 4, which then means signal_negative.
    let name = "end_reason_fast5/end_reason_differnt_key_order";
    let wanted = std::fs::read_to_string(data.join(format!("exp/f2s/{name}.slow5"))).unwrap();
    let wanted = wanted.replace("\t4\t281\n", "\t5\t281\n");
    assert_same(&as_slow5(&[&raw.join(format!("{name}.fast5"))], OPTIONS), &wanted, name);
    // The first read lacks the field that the second has.
    let complete = Fast5Options { complete_header: true, ..OPTIONS };
    let name = "end_reason_fast5/end_reason1";
    t_with(complete, &[name], name);
}
