//! Files written by hand, whole and damaged: what cannot be had is said, what can is right.

use std::sync::Arc;

use proptest::prelude::*;
use seqloom_format::signal::SignalRead;
use seqloom_testkit::damage::{Change, damaged};

use super::pod5_file::{SAMPLES, newest, oldest};
use crate::store::pod5::{Pod5Error, Pod5File, Pod5Scratch};

/// Opens, finds and reads whatever can be read: an error names file and read.
fn exercise(bytes: Vec<u8>) {
    let size = bytes.len();
    let file = match Pod5File::open(Arc::new(bytes), "x.pod5") {
        Ok(file) => file,
        Err(error) => {
            assert!(error.to_string().starts_with("x.pod5: "), "{error}");
            return;
        }
    };
    assert!(16 * file.reads() <= size);
    let groups = file.header().read_groups as usize;
    assert!(file.header().attributes.values().all(|values| values.len() == groups));
    let (mut scratch, mut read) = (Pod5Scratch::default(), SignalRead::default());
    for index in 0..file.reads().min(64) {
        let id = file.read_id(index).unwrap();
        match file.read(index, &mut scratch, &mut read) {
            Ok(()) => {
                assert_eq!(read.read_id, id);
                assert!((read.read_group as usize) < groups);
                assert_eq!(read.auxiliary.len(), file.header().auxiliary.len());
            }
            Err(Pod5Error::Read { index: which, .. }) => assert_eq!(which, index),
            Err(error) => panic!("{error}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn damaged_files(changes in prop::collection::vec(any::<Change>(), 1..4), which in 0..3) {
        let good = match which {
            0 => newest(true),
            1 => newest(false),
            _ => oldest(),
        };
        exercise(damaged(&good, &changes));
    }
}

#[test]
fn every_byte_wrong() {
    for good in [newest(true), newest(false), oldest()] {
        for at in 0..good.len() {
            for bit in [0, 3, 7] {
                let mut bytes = good.clone();
                bytes[at] ^= 1 << bit;
                exercise(bytes);
            }
        }
    }
}

#[test]
fn files_written_by_hand_give_their_reads() {
    for (bytes, groups) in
        [(newest(true), [0, 1, 0]), (newest(false), [0, 1, 0]), (oldest(), [0, 1, 0])]
    {
        let file = Pod5File::open(Arc::new(bytes), "x.pod5").unwrap();
        assert_eq!((file.reads(), file.header().read_groups), (3, 2));
        let (mut scratch, mut read) = (Pod5Scratch::default(), SignalRead::default());
        for (index, samples) in SAMPLES.iter().enumerate() {
            file.read(index, &mut scratch, &mut read).unwrap();
            assert_eq!(read.samples, *samples);
            assert_eq!(read.read_group, groups[index]);
            let expected = (4096.0, -3.0, 2048.0, 4000.0);
            let values = (read.digitisation, read.offset, read.range, read.sampling_rate);
            assert_eq!(values, expected);
        }
        let attributes = &file.header().attributes;
        let of = |name: &str| attributes[name.as_bytes()][1].as_slice();
        assert_eq!(
            (of("acquisition_id"), of("run_id"), of("tag")),
            (&b"run b"[..], &b"other"[..], &b"x"[..])
        );
        assert_eq!(of("acquisition_start_time"), b"2019-05-13 11:11:43+00:00");
    }
}

/// The second read's row of signal is damaged: only that read is lost, and its number and id are
/// said.
#[test]
fn one_bad_row_costs_one_read() {
    let mut bytes = newest(true);
    let frame = zstd_frame_of_last_row(&bytes);
    bytes[frame] ^= 0xFF;
    let file = Pod5File::open(Arc::new(bytes), "x.pod5").unwrap();
    let (mut scratch, mut read) = (Pod5Scratch::default(), SignalRead::default());
    file.read(0, &mut scratch, &mut read).unwrap();
    assert_eq!(read.samples, SAMPLES[0]);
    let error = file.read(1, &mut scratch, &mut read).unwrap_err().to_string();
    let expected = "x.pod5: read 00000000-0000-0000-0000-000000000001 (number 1 in the file): \
                    signal row 2: ";
    assert!(error.starts_with(expected), "{error}");
    file.read(2, &mut scratch, &mut read).unwrap();
    assert_eq!(read.samples, SAMPLES[2]);
}

/// Where the third zstd frame of a file starts.
fn zstd_frame_of_last_row(bytes: &[u8]) -> usize {
    let magic = [0x28, 0xB5, 0x2F, 0xFD];
    let mut frames = bytes.windows(4).enumerate().filter(|(_, four)| *four == magic);
    frames.nth(2).unwrap().0
}
