//! POD5: sound files of odd kinds, then noise and damage through its parsers.

use proptest::prelude::*;
use seqloom_format::pod5::{
    Batch, Container, Pod5FormatError, ReadTable, RunValue, SignalTable, read_runs,
};
use seqloom_testkit::damage::{Change, damaged};

use crate::pod5_exercise as exercise;
use crate::pod5_file::{Column, Message, container, newest, oldest, signal_table, table};

fn changes() -> impl Strategy<Value = Vec<Change>> {
    prop::collection::vec(any::<Change>(), 1..5)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    #[test]
    fn damaged_files(changes in changes(), which in 0..3) {
        let good = match which {
            0 => newest(true),
            1 => newest(false),
            _ => oldest(),
        };
        exercise::file(&damaged(&good, &changes));
    }

    #[test]
    fn noise(
        head in prop::collection::vec(any::<u8>(), 0..100),
        count in 0_u16..200,
    ) {
        exercise::flatbuffer(&head);
        exercise::svb16(&[&count.to_le_bytes()[..], &head].concat());
        exercise::file(&[b"\x8BPOD\r\n\x1A\n", head.as_slice(), b"\x8BPOD\r\n\x1A\n"].concat());
    }
}

#[test]
fn files_cut_at_every_byte_and_with_every_byte_wrong() {
    for good in [newest(true), oldest()] {
        for size in 0..good.len() {
            assert!(Container::read(&&good[..size]).is_err(), "{size}");
        }
        for at in 0..good.len() {
            for value in [0, 1, 0x7F, 0x80, 0xFF] {
                let mut bytes = good.clone();
                bytes[at] = value;
                exercise::file(&bytes);
            }
        }
    }
}

#[test]
fn dictionaries_in_parts_replaced_ones_and_missing_values() {
    let bytes = newest(true);
    let bytes = bytes.as_slice();
    let found = Container::read(&bytes).unwrap();
    assert_eq!(found.software, b"test");
    let reads = ReadTable::open(&bytes, found.reads).unwrap();
    let mut batch = Batch::default();
    reads.load(&bytes, 0, &mut batch).unwrap();
    let (first, second) = (reads.row(&batch, 0).unwrap(), reads.row(&batch, 1).unwrap());
    assert_eq!((first.channel, first.well), (Some(70_000), Some(2)));
    assert_eq!((first.end_reason, first.pore_type), (Some(&b"paused"[..]), Some(&b"p"[..])));
    assert_eq!((first.median_before, second.median_before), (Some(201.5), None));
    assert_eq!(first.acquisition_id, Some(b"run a".as_slice()));
    assert_eq!(second.acquisition_id, Some(b"run b".as_slice()));
    assert_eq!((first.num_minknow_events, first.open_pore_level), (None, None));
    let mut replaced = Batch::default();
    reads.load(&bytes, 1, &mut replaced).unwrap();
    let third = reads.row(&replaced, 0).unwrap();
    assert_eq!(third.end_reason, Some(b"no known reason".as_slice()));
    let reasons: Vec<&[u8]> = reads.end_reasons().collect();
    assert_eq!(reasons, [b"paused".as_slice(), b"no known reason", b"signal_positive"]);
    let runs = read_runs(&bytes, found.run_info, &reads).unwrap();
    assert_eq!(runs.len(), 2);
    assert_eq!(runs[1].integer("adc_min"), Some(-2048));
    let tags = vec![(b"tag".to_vec(), b"x".to_vec()), (b"run_id".to_vec(), b"other".to_vec())];
    assert_eq!(runs[1].values.last(), Some(&("tracking_id", RunValue::Tags(tags))));
}

#[test]
fn structures_in_dictionaries_of_the_oldest_version() {
    let bytes = oldest();
    let bytes = bytes.as_slice();
    let found = Container::read(&bytes).unwrap();
    assert_eq!(found.run_info, None);
    let reads = ReadTable::open(&bytes, found.reads).unwrap();
    let mut batch = Batch::default();
    reads.load(&bytes, 0, &mut batch).unwrap();
    let row = reads.row(&batch, 1).unwrap();
    assert_eq!((row.channel, row.well, row.pore_type), (Some(3), Some(2), Some(&b"p"[..])));
    assert_eq!((row.calibration_offset, row.calibration_scale), (Some(-3.0), Some(0.5)));
    assert_eq!((row.end_reason, row.median_before), (Some(&b"paused"[..]), None));
    assert_eq!((row.acquisition_id, row.num_samples), (Some(&b"run b"[..]), None));
    let runs = read_runs(&bytes, None, &reads).unwrap();
    assert_eq!(runs.len(), 2);
    assert_eq!(runs[0].values.len(), 6);
}

#[test]
fn what_is_not_supported_is_said() {
    let signal = |column: Column| {
        let columns = vec![
            Column::uuids("read_id", &[0]),
            column,
            Column::integers("samples", 32, false, &[1]),
        ];
        table(&columns.clone(), &[Message::Records(columns)])
    };
    fn t(signal: Vec<u8>, expected: &str) {
        let bytes = container(&[(0, signal_table(true)), (1, signal)]);
        let bytes = bytes.as_slice();
        let found = Container::read(&bytes).unwrap();
        let error = SignalTable::open(&bytes, found.signal).and_then(|t| t.row(&bytes, 0));
        let error = error.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let coded = || Column::coded("signal", &[vec![1]]);
    t(signal(coded().without_extension()), "neither VBZ nor 16-bit samples");
    t(signal(coded().without(&[0])), "a row without signal");
    t(signal(Column::texts("other", &["x"])), "no column signal");
    let wide = Column::integers("item", 32, true, &[1]);
    t(signal(Column::lists("signal", true, &[1], wide)), "neither VBZ nor 16-bit samples");
    let short = Column::integers("item", 16, true, &[1]);
    t(signal(Column::lists("signal", true, &[2], short)), "outside their batch");
    let no_reads = container(&[(1, signal_table(true))]);
    let error = Container::read(&no_reads.as_slice()).unwrap_err();
    assert!(matches!(error, Pod5FormatError::NoTable { table: "reads" }), "{error}");
}
