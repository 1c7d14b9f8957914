//! Damaged files: what can be read is read, what cannot is named, and nothing panics.

use seqloom_format::signal::SignalRead;

use super::made::{ENCODINGS, file, header, lines, pass_file, read};
use crate::flow::account::Loss;
use crate::operations::transcode::Encoding;

fn three() -> Vec<SignalRead> {
    (0..3).map(|number| read(number, 20)).collect()
}

#[test]
fn a_file_cut_at_any_byte_gives_all_whole_reads() {
    let reads = three();
    for encoding in ENCODINGS {
        let (bytes, starts) = file(encoding, &reads);
        for cut in 0..bytes.len() {
            let passed = pass_file(bytes[..cut].to_vec());
            if cut < starts[0] {
                assert!(passed.is_err(), "{encoding:?} cut at {cut}");
                continue;
            }
            let passed = passed.unwrap();
            let whole = starts.iter().skip(1).filter(|&&end| end <= cut).count();
            assert_eq!(passed.text, lines(&reads[..whole]), "{encoding:?} cut at {cut}");
            assert_eq!(passed.account.reads, whole as u64);
            // Text that ends after a line looks whole: only BLOW5 has an end marker.
            let is_whole = encoding == Encoding::Slow5 && starts.contains(&cut);
            assert_eq!(passed.account.cut_files, u64::from(!is_whole), "{encoding:?} at {cut}");
            for fault in &passed.faults {
                assert_eq!(fault.loss, Loss::RestOfFile);
                assert_eq!(fault.offset, Some(starts[whole] as u64));
            }
        }
        let passed = pass_file(bytes).unwrap();
        assert!(!passed.account.is_lossy());
        assert_eq!(passed.text, lines(&reads));
    }
}

#[test]
fn a_record_that_claims_more_than_the_file_has_ends_it() {
    let reads = three();
    for encoding in &ENCODINGS[1..] {
        for claim in [u64::MAX, u64::MAX - 7, 1 << 63, 1 << 40, 10_000] {
            let (mut bytes, starts) = file(*encoding, &reads);
            bytes[starts[1]..starts[1] + 8].copy_from_slice(&claim.to_le_bytes());
            let passed = pass_file(bytes).unwrap();
            assert_eq!(passed.text, lines(&reads[..1]));
            assert_eq!((passed.account.cut_files, passed.faults.len()), (1, 1));
            assert!(passed.faults[0].reason.contains("claims"), "{}", passed.faults[0]);
        }
    }
}

#[test]
fn files_joined_byte_by_byte_are_reported() {
    let reads = three();
    for encoding in &ENCODINGS[1..] {
        let (bytes, starts) = file(*encoding, &reads);
        for first in [bytes.as_slice(), &bytes[..starts[3]]] {
            let passed = pass_file([first, &bytes].concat()).unwrap();
            assert_eq!(passed.text, lines(&reads));
            assert_eq!(passed.faults.len(), 1);
            assert!(passed.faults[0].reason.contains("joined"), "{}", passed.faults[0]);
        }
    }
}

#[test]
fn a_read_whose_bytes_are_changed_is_lost_alone() {
    let reads = three();
    for encoding in ENCODINGS {
        let (bytes, starts) = file(encoding, &reads);
        let prefix = if encoding == Encoding::Slow5 { 0 } else { 8 };
        for at in starts[1] + prefix..starts[2] - 1 {
            for flip in [1, 0x80, 0xFF] {
                let mut damaged = bytes.clone();
                damaged[at] ^= flip;
                let passed = pass_file(damaged).unwrap();
                // A change may give another read; it may not touch the others, nor go unnoticed
                // where a read is gone.
                assert!(passed.text.starts_with(&lines(&reads[..1])));
                assert!(passed.text.ends_with(&lines(&reads[2..])), "{encoding:?} at {at}");
                let seen = passed.account.reads + passed.account.lost_reads;
                let is_cut = encoding == Encoding::Slow5 && bytes[at] ^ flip == b'\n';
                assert!(seen == 3 || is_cut, "{encoding:?} at {at}: {:?}", passed.account);
            }
        }
    }
}

/// What slow5lib's own tests of malformed records have, and more: one bad line between two good
/// ones.
#[test]
fn a_bad_line_is_lost_alone_and_named() {
    fn t(line: &str) {
        let reads = three();
        let (bytes, starts) = file(Encoding::Slow5, &reads);
        let (before, after) = bytes.split_at(starts[1]);
        let passed = pass_file([before, line.as_bytes(), b"\n", after].concat()).unwrap();
        assert_eq!(passed.text, lines(&reads), "{line:?}");
        assert_eq!((passed.account.lost_reads, passed.faults.len()), (1, 1), "{line:?}");
        assert_eq!(passed.faults[0].offset, Some(starts[1] as u64));
    }
    t("");
    t("r");
    t("\t0\t1\t2\t3\t4\t1\t5\t7\t8");
    t("r\t0\t1\t2\t3\t4\t1\t5\t7");
    t("r\t0\t1\t2\t3\t4\t1\t5\t7\t8\t9");
    t("r\t\t1\t2\t3\t4\t1\t5\t7\t8");
    t("r\t2\t1\t2\t3\t4\t1\t5\t7\t8");
    t("r\t-1\t1\t2\t3\t4\t1\t5\t7\t8");
    t("r\t4294967296\t1\t2\t3\t4\t1\t5\t7\t8");
    t("r\t0\tx\t2\t3\t4\t1\t5\t7\t8");
    t("r\t0\t1\t1e5x\t3\t4\t1\t5\t7\t8");
    t("r\t0\t1\t2\t\t4\t1\t5\t7\t8");
    t("r\t0\t1\t2\t3\t4\t2\t5\t7\t8");
    t("r\t0\t1\t2\t3\t4\t1\t5,6\t7\t8");
    t("r\t0\t1\t2\t3\t4\t1\t32768\t7\t8");
    t("r\t0\t1\t2\t3\t4\t2\t5,,6\t7\t8");
    t("r\t0\t1\t2\t3\t4\t18446744073709551615\t5\t7\t8");
    t("r\t0\t1\t2\t3\t4\t1\t5\t7\t-8");
    t("r\t0\t1\t2\t3\t4\t1\t5\t7\tx");
}

#[test]
fn headers_that_are_wrong_are_refused() {
    let (text, _) = file(Encoding::Slow5, &three());
    let text = String::from_utf8(text).unwrap();
    for (from, to) in [
        ("#num_read_groups\t2", "#num_read_groups\t3574887596"),
        ("#num_read_groups\t2", "#num_read_groups\t0"),
        ("#num_read_groups\t2", "#num_read_groups\t3"),
        ("0.2.0", "1.1.0"),
        ("0.2.0", "0.2"),
        ("#char*", "#char"),
        ("uint64_t\n", "uint65_t\n"),
        ("@run_id", "@run_id\tx"),
        ("start_time\n", "start_time\tmore\n"),
    ] {
        assert!(text.contains(from), "{from}");
        let error = pass_file(text.replacen(from, to, 1).into_bytes()).unwrap_err();
        assert!(error.0.starts_with("made: "), "{from} {to}: {}", error.0);
    }
    let (blow5, _) = file(ENCODINGS[1], &three());
    for (at, value) in [(6, 9), (9, 7), (10, 0), (10, 200), (14, 9), (64, 255), (67, 255)] {
        let mut bytes = blow5.clone();
        bytes[at] = value;
        assert!(pass_file(bytes).is_err(), "byte {at}");
    }
    assert_eq!(header().read_groups, 2);
}
