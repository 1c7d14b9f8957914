//! The same result for any number of workers, sequentially and by requests.

use proptest::prelude::*;
use seqloom_format::signal::SignalRead;

use super::made::{ENCODINGS, Passed, file, lines, open, pass, read};
use crate::flow::sources::Sequential;
use crate::operations::transcode::Encoding;
use crate::store::Frame;
use crate::store::requests::{Location, Requests};

fn locations(starts: &[usize]) -> Vec<Location> {
    let of = |pair: &[usize]| Location {
        offset: pair[0] as u64,
        size_bytes: (pair[1] - pair[0]) as u64,
    };
    starts.windows(2).map(of).collect()
}

/// Reads of very different lengths, several batches of them, one larger than a batch.
fn many() -> Vec<SignalRead> {
    let samples = |number: u64| match number {
        700 => 900_000,
        number => (number * 7919) % 3000,
    };
    (0..1500).map(|number| read(number, samples(number))).collect()
}

#[test]
fn any_number_of_workers_gives_the_same_bytes() {
    let reads = many();
    for encoding in [ENCODINGS[0], ENCODINGS[2]] {
        let (mut bytes, starts) = file(encoding, &reads);
        // Some reads are bad: the account is in order too.
        for bad in [3, 600, 1499] {
            bytes[starts[bad] + 36] = 0xFF;
        }
        let store = open(bytes).unwrap();
        let header = store.header().clone();
        let run =
            |threads| -> Passed { pass(Sequential::of(store.clone()), &header, threads).unwrap() };
        let expected = run(1);
        assert_eq!(expected.account.reads + expected.account.lost_reads, 1500);
        assert!(expected.account.lost_reads > 0);
        for threads in [2, 7, 64] {
            assert_eq!(run(threads), expected, "{encoding:?} {threads}");
        }
    }
}

#[test]
fn every_read_is_had_by_request_in_any_order() {
    let reads = many();
    for encoding in ENCODINGS {
        let (bytes, starts) = file(encoding, &reads);
        let store = open(bytes).unwrap();
        let header = store.header().clone();
        let all = locations(&starts);
        let order: Vec<usize> = (0..reads.len()).map(|at| at * 7919 % reads.len()).collect();
        let requested: Vec<Location> = order.iter().map(|&at| all[at]).collect();
        let expected: Vec<SignalRead> = order.iter().map(|&at| reads[at].clone()).collect();
        for threads in [1, 5] {
            let requests = Requests::new(store.clone(), requested.clone(), threads);
            let passed = pass(requests, &header, threads).unwrap();
            assert_eq!(passed.text, lines(&expected));
            assert!(!passed.account.is_lossy());
        }
    }
}

#[test]
fn an_index_of_another_file_gives_faults_and_no_reads() {
    let reads: Vec<SignalRead> = (0..5).map(|number| read(number, 30)).collect();
    for encoding in &ENCODINGS[1..] {
        let (bytes, starts) = file(*encoding, &reads);
        let store = open(bytes).unwrap();
        let mut requested = locations(&starts);
        requested[1].offset += 1;
        requested[2].size_bytes -= 1;
        requested[3].size_bytes = 3;
        let header = store.header().clone();
        let passed = pass(Requests::new(store, requested, 1), &header, 1).unwrap();
        assert_eq!(passed.text, lines(&[reads[0].clone(), reads[4].clone()]));
        assert_eq!(passed.account.lost_reads, 3);
        assert!(passed.faults.iter().all(|fault| fault.reason.contains("another file's")));
    }
}

#[test]
fn an_empty_file_is_whole() {
    for encoding in ENCODINGS {
        let (bytes, _) = file(encoding, &[]);
        let store = open(bytes).unwrap();
        let header = store.header().clone();
        assert_eq!(pass(Sequential::of(store.clone()), &header, 3).unwrap(), Passed::default());
        let none = Requests::new(store, Vec::new(), 3);
        assert_eq!(pass(none, &header, 3).unwrap(), Passed::default());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Neighbours are read at once; whichever are requested, each gets its own bytes.
    #[test]
    fn fetched_bytes_are_those_of_the_frames(
        picks in prop::collection::vec(0_usize..60, 0..80),
        samples in prop::collection::vec(0_u64..40_000, 60),
    ) {
        let reads: Vec<SignalRead> =
            (0..).zip(samples).map(|(number, samples)| read(number, samples)).collect();
        let (bytes, starts) = file(Encoding::Slow5, &reads);
        let all = locations(&starts);
        let store = open(bytes.clone()).unwrap();
        let mut batch = crate::store::FrameBatch::default();
        batch.frames.extend(picks.iter().map(|&pick| Frame {
            offset: all[pick].offset,
            size_bytes: all[pick].size_bytes,
            ..Frame::default()
        }));
        store.fetch(&mut batch).unwrap();
        for (frame, &pick) in batch.frames.iter().zip(&picks) {
            prop_assert_eq!(batch.stored(frame), &bytes[starts[pick]..starts[pick + 1]]);
        }
    }
}
