//! slow5tools' own test data: every file is written again byte for byte, and files that hold the
//! same reads in another form are made from each other.

use std::fs;
use std::path::{Path, PathBuf};

use seqloom_testkit::skip;

use super::file::File;

const DATA: &str = "nanopore/slow5tools_test";

/// Files that slow5tools itself would write in another way, and why.
const DIFFERING: [(&str, &str); 11] = [
    ("exp/index/example_multi_rg_v0.1.0.blow5", EMPTY),
    ("exp/index/example_multi_rg_v0.2.0_zstd_svb-zd.blow5", ZSTD),
    ("exp/one_fast5/exp_1_lossless_zstd_svb_v0.2.0.blow5", ZSTD),
    ("exp/one_fast5/exp_1_lossy_zstd_svb_v0.2.0.blow5", ZSTD),
    ("exp/two_rg/exp_lossless.slow5", EMPTY),
    ("raw/degrade/promr10dna_badhdr_sample_rate.slow5", ORDER),
    ("raw/degrade/promr10dna_badhdr_sample_rate2.slow5", ORDER),
    ("raw/merge/rg0_2_aux_order.slow5", ORDER),
    ("raw/split/multi_group_blow5s/example_multi_rg_v0.1.0.blow5", EMPTY),
    ("raw/split/single_group_slow5s/11reads.slow5", EMPTY),
    ("raw/split/single_group_slow5s/11reads_2.slow5", EMPTY),
];
const EMPTY: &str = "missing attributes are empty instead of `.`";
const ORDER: &str = "attributes are not in byte order";
const ZSTD: &str = "made by another release of zstd";

/// Files that are bad, and what is said of them.
const BAD: [(&str, &str); 5] = [
    ("raw/quickcheck/exp_1_lossless_bad_rg_missing.slow5", "line 2 of the header: expected #num"),
    ("raw/quickcheck/exp_1_lossy_bad_eof.blow5", "120726: file is truncated"),
    (
        "raw/quickcheck/zlib_svb-zd_multi_rg_v0.2.0_bad_hdr_len.blow5",
        "the text of the header has 1504 bytes, 1542 are stated",
    ),
    (
        "raw/quickcheck/zlib_svb-zd_multi_rg_v0.2.0_trunc.blow5",
        "77703: file is truncated: it ends without the end marker",
    ),
    ("raw/stats/zlib_svb-zd_multi_rg_v1.1.0.blow5", "version 1.1.0 is not known"),
];

/// All files of both formats below a folder.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    for path in entries {
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|end| end == "slow5" || end == "blow5") {
            found.push(path);
        }
    }
}

#[test]
fn every_file_is_written_again_byte_for_byte() {
    let Some(folder) = skip::data(DATA) else { return };
    let mut paths = Vec::new();
    files(&folder, &mut paths);
    let mut same = 0;
    for path in &paths {
        let name = path.strip_prefix(&folder).unwrap().to_str().unwrap();
        let bytes = fs::read(path).unwrap();
        let file = match (File::read(&bytes), BAD.iter().find(|(bad, _)| *bad == name)) {
            (Ok(file), None) => file,
            (Err(error), Some((_, expected))) if error.starts_with(expected) => continue,
            (outcome, _) => panic!("{name}: {:?}", outcome.err()),
        };
        let written = file.write(file.compression);
        if let Some((_, reason)) = DIFFERING.iter().find(|(differing, _)| *differing == name) {
            assert_ne!(written, bytes, "{name} is expected to differ: {reason}");
            let again = File::read(&written).unwrap();
            assert_eq!((&again.header, &again.reads), (&file.header, &file.reads), "{name}");
        } else {
            assert!(written == bytes, "{name} is written otherwise");
            same += 1;
        }
    }
    assert_eq!(same + DIFFERING.len() + BAD.len(), paths.len());
    assert!(same > 200, "{same} files");
}

/// Makes `to` of `from`, with its compression and version: byte for byte where the bytes do not
/// depend on the release of zstd, else read by read.
fn remade(folder: &Path, from: &str, to: &str) {
    let expected_bytes = fs::read(folder.join(to)).unwrap();
    let expected = File::read(&expected_bytes).unwrap();
    let mut file = File::read(&fs::read(folder.join(from)).unwrap()).unwrap();
    file.header.version = expected.header.version;
    let written = file.write(expected.compression);
    if written != expected_bytes {
        assert!(to.contains("zstd"), "{from} to {to}");
        let again = File::read(&written).unwrap();
        assert_eq!((again.header, again.reads), (expected.header, expected.reads));
    }
}

#[test]
fn forms_of_one_file_are_made_from_each_other() {
    let Some(folder) = skip::data(DATA) else { return };
    let forms = |stem: &str, ends: &[&str]| {
        ends.iter().map(|end| format!("exp/{stem}{end}")).collect::<Vec<_>>()
    };
    let of_one_read = [
        ".slow5",
        ".blow5",
        "_v0.2.0.slow5",
        "_v0.2.0.blow5",
        "_zlib.blow5",
        "_zlib_v0.2.0.blow5",
        "_zlib_ex_zd.blow5",
        "_zlib_svb_v0.2.0.blow5",
        "_zstd_v0.2.0.blow5",
        "_zstd_svb_v0.2.0.blow5",
    ];
    let mut pairs = 0;
    for forms in [
        forms("one_fast5/exp_1_lossless", &of_one_read),
        forms("one_fast5/exp_1_lossy", &of_one_read),
        forms("aux_array/exp_lossless", &[".slow5", ".blow5", "_gzip.blow5"]),
        forms("two_rg/exp_default", &[".slow5", ".blow5", "_gzip.blow5"]),
        forms("f2s/multi-fast5-output/ssm1", &[".slow5", "_zlib.blow5", "_zlib_svb.blow5"]),
    ] {
        for from in &forms {
            for to in &forms {
                remade(&folder, from, to);
                pairs += 1;
            }
        }
    }
    assert_eq!(pairs, 2 * 100 + 3 * 9);
}

#[test]
fn an_index_of_slow5tools_is_made_again() {
    let Some(folder) = skip::data(DATA) else { return };
    let file = File::read(&fs::read(folder.join("raw/get/example2.slow5")).unwrap()).unwrap();
    let expected = fs::read(folder.join("raw/get/example2.slow5.idx")).unwrap();
    assert!(file.index() == expected);
}
