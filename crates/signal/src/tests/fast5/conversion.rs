//! Reads and headers against the files that slow5tools expects of its own conversion.

use std::path::Path;

use seqloom_format::signal::{AuxiliaryType, SignalRead};
use seqloom_format::slow5::{header, text};
use seqloom_testkit::skip;

use super::support::{files, load, open, referee};
use crate::store::fast5::{Fast5Options, Fast5Scratch};

const OPTIONS: Fast5Options = Fast5Options {
    allow_run_id_mismatch: false,
    keep_unknown: false,
    complete_header: false,
    leave_out_auxiliary: false,
    mend_names: false,
};

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
        let requested = data.join("exp/f2s").join(format!("{expected}.slow5"));
        let requested = std::fs::read_to_string(requested).unwrap();
        assert_same(&as_slow5(&paths, options), &requested, expected);
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
    let requested = std::fs::read_to_string(data.join(format!("exp/f2s/{name}.slow5"))).unwrap();
    let requested = requested.replace("\t4\t281\n", "\t5\t281\n");
    assert_same(&as_slow5(&[&raw.join(format!("{name}.fast5"))], OPTIONS), &requested, name);
    // The first read lacks the field that the second has.
    let complete = Fast5Options { complete_header: true, ..OPTIONS };
    let name = "end_reason_fast5/end_reason1";
    t_with(complete, &[name], name);
}

/// What is wrong with a file, or else with its reads.
fn problems(path: &Path, options: Fast5Options) -> Vec<String> {
    let file = match open(path, options) {
        Ok(file) => file,
        Err(error) => return vec![format!("file: {}", error.problem)],
    };
    let (mut scratch, mut read) = (Fast5Scratch::default(), SignalRead::default());
    let problem = |index| {
        let error = file.read(index, &mut scratch, &mut read).err()?;
        assert!(read.read_id.is_empty() && error.path == path);
        Some(format!("read {index}: {}", error.problem))
    };
    (0..file.reads()).filter_map(problem).collect()
}

#[test]
fn bad_files_are_refused_by_name_and_their_other_reads_are_kept() {
    let Some(data) = skip::data("nanopore/slow5tools_test/raw/f2s") else { return };
    let expected = [
        ("end_reason_fast5/end_reason_int32", "read 1: attribute \"end_reason\" cannot be"),
        ("end_reason_fast5/end_reason_string", "file: attribute \"end_reason\" cannot be made an"),
        ("err_fast5/R7_1", "file: there is no raw signal in it"),
        (
            "err_fast5/aux_field_wrong_type",
            "file: attribute \"channel_number\" cannot be made char*",
        ),
        ("err_fast5/dupli_attrib", "file: attribute \"version\" is in two places"),
        ("err_fast5/empty_fast5", "file: there is no raw signal in it"),
        ("err_fast5/malformed_readid1", "read 0: the read id \"#0035aaf9"),
        ("err_fast5/malformed_readid2", "file: the read id \"@2c469631"),
        ("err_fast5/missing_primary_field", "file: range is missing"),
        ("err_fast5/newline_in_attrib", "file: attribute \"exp_script_name\": a text may not"),
        ("err_fast5/newline_in_field", "file: attribute \"channel\\nnumber\": a name may not"),
        ("err_fast5/no_fast5_dir/text_file", "file: not an HDF5 file"),
        ("err_fast5/not_a_fast5", "file: not an HDF5 file"),
        ("err_fast5/primary_field_wrong_type", "file: attribute \"range\" cannot be made double"),
        ("err_fast5/single_fast5_no_raw_grp", "file: there is no raw signal in it"),
        ("err_fast5/tab_in_attrib", "file: attribute \"operating\\tsystem\": a name may not"),
        ("err_fast5/tab_in_field", "file: attribute \"channel_number\": a text may not"),
        (
            "unusual_fast5/new_attrib_in_channel",
            "file: attribute \"newcrap\" of group \"channel_id\"",
        ),
        ("unusual_fast5/new_attrib_in_raw", "file: attribute \"newstuff\" of group \"Raw\""),
        ("unusual_fast5/new_attrib_in_read", "file: attribute \"bloodyhell\" of group"),
        ("unusual_fast5/new_group", "file: attribute \"newshit\" of group \"newgroup\""),
        ("unusual_fast5/offset_missing", "file: offset is missing"),
        ("various_versions/single_v0.6_to_multi_v2.0_fast5_diff_run_id", "read 1: run_id \"5c9bd8"),
        ("various_versions/single_v1.0_to_multi_v2.0_fast5_diff_run_id", "read 1: run_id \"3af99b"),
    ];
    let mut refused = 0;
    for path in files(&data, ".fast5") {
        let name = path.strip_prefix(&data).unwrap().with_extension("");
        let known = expected.iter().find(|(bad, _)| Path::new(bad) == name);
        match (known, problems(&path, OPTIONS).as_slice()) {
            (None, []) => {}
            (Some((_, start)), [problem]) => {
                assert!(problem.starts_with(start), "{}: {problem}", name.display());
                refused += 1;
            }
            (_, found) => panic!("{}: {found:?}", name.display()),
        }
    }
    assert_eq!(refused, expected.len());
}

#[test]
fn options_let_in_what_is_refused_without_them() {
    let Some(data) = skip::data("nanopore/slow5tools_test/raw/f2s") else { return };
    let allow = Fast5Options { allow_run_id_mismatch: true, ..OPTIONS };
    let path = data.join("various_versions/single_v0.6_to_multi_v2.0_fast5_diff_run_id.fast5");
    assert_eq!(problems(&path, allow), [""; 0]);
    let keep = Fast5Options { keep_unknown: true, ..OPTIONS };
    let path = data.join("unusual_fast5/new_attrib_in_raw.fast5");
    let (header, reads) = load(&path, keep).unwrap();
    let place = header.auxiliary.iter().position(|field| field.name == b"newstuff").unwrap();
    assert_eq!(header.auxiliary[place].kind, AuxiliaryType::I32);
    assert_eq!(reads[0].auxiliary.get(place).len(), 4);
}

#[test]
fn lists_cost_nothing_as_in_ont_fast5_api() {
    let name = "nanopore/slow5tools_test/raw/f2s/various_versions/single_fast5_v0.6.fast5";
    let Some(source) = skip::data(name) else { return };
    let Some(python) = seqloom_testkit::python::with("h5py, ont_fast5_api") else { return };
    let folder = tempfile::tempdir().unwrap();
    let found = referee(&python, "lists.py", &[source.clone(), folder.path().to_owned()]);
    assert_eq!(found.lines().count(), 5);
    let (header, expected) = load(&source, OPTIONS).unwrap();
    for line in found.lines() {
        let (path, theirs) = line.split_once('\t').unwrap();
        let (own, reads) = load(Path::new(path), OPTIONS).unwrap_or_else(|error| panic!("{error}"));
        assert!(reads == expected, "{path}");
        let [read] = reads.as_slice() else { panic!("{path}: {} reads", reads.len()) };
        let id = std::str::from_utf8(&read.read_id).unwrap();
        let bytes: Vec<u8> = read.samples.iter().flat_map(|it| it.to_le_bytes()).collect();
        let ours = format!("{id}\t{}\t{}", read.samples.len(), crc32fast::hash(&bytes));
        assert_eq!(ours, theirs, "{path}");
        let mut header = header.clone();
        if path.ends_with("tracking.fast5") {
            // Here it is instead of the header's own.
            header.attributes.remove(&b"version"[..]).unwrap();
        }
        assert!(own == header, "{path}");
    }
    // What a read has may not be one, and where all is to be kept a list cannot be.
    let keep = Fast5Options { keep_unknown: true, ..OPTIONS };
    let raw = folder.path().join("raw.fast5");
    assert_eq!(
        problems(&raw, keep),
        ["file: attribute \"version\" is a list or of an unexpected type, which `seqloom signal \
          convert --dump-all` cannot keep; without --dump-all it is left out"]
    );
    assert_eq!(problems(&folder.path().join("meta.fast5"), keep), [""; 0]);
}

#[test]
fn a_read_is_found_by_its_id() {
    let Some(data) = skip::data("nanopore/slow5tools_test/raw/f2s") else { return };
    for name in ["multi-fast5/ssm1", "single-fast5/sss1", "various_versions/multi_fast5_v2.3"] {
        let file = open(&data.join(format!("{name}.fast5")), OPTIONS).unwrap();
        let (mut scratch, mut read) = (Fast5Scratch::default(), SignalRead::default());
        for index in 0..file.reads() {
            assert_eq!(file.find(file.read_id(index)), Some(index));
            file.read(index, &mut scratch, &mut read).unwrap();
            assert_eq!(read.read_id, file.read_id(index));
        }
        for id in [&b""[..], b"0", b"read_", b"zzz"] {
            assert_eq!(file.find(id), None);
        }
        assert!(file.read(file.reads(), &mut scratch, &mut read).is_err());
    }
}

#[test]
fn threads_that_share_a_file_read_what_one_thread_reads() {
    let Some(data) = skip::data("nanopore/pod5-file-format/test_data") else { return };
    let path = data.join("multi_fast5_zip.fast5");
    let (_, expected) = load(&path, OPTIONS).unwrap();
    let file = open(&path, OPTIONS).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (file, expected) = (&file, &expected);
            scope.spawn(move || {
                let (mut scratch, mut read) = (Fast5Scratch::default(), SignalRead::default());
                for index in (0..200).map(|step| (step * 7 + thread) % expected.len()) {
                    file.read(index, &mut scratch, &mut read).unwrap();
                    assert_eq!(read, expected[index]);
                }
            });
        }
    });
}
