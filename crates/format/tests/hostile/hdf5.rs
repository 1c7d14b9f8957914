//! Noise and damage through the HDF5 reader and the VBZ decoder; see `hdf5_exercise.rs`.

use proptest::prelude::*;
use seqloom_testkit::damage::{Change, damaged};

#[path = "hdf5_exercise.rs"]
mod exercise;

fn changes() -> impl Strategy<Value = Vec<Change>> {
    prop::collection::vec(any::<Change>(), 0..6)
}

#[test]
fn cut_anywhere() {
    let good = exercise::good();
    exercise::file(&good);
    for end in (0..good.len()).step_by(if good.len() > 20_000 { 7 } else { 3 }) {
        exercise::file(&good[..end]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    #[test]
    fn damaged_files(changes in changes(), noise in prop::collection::vec(any::<u8>(), 0..300)) {
        exercise::file(&damaged(&exercise::good(), &changes));
        exercise::file(&[b"\x89HDF\r\n\x1a\n", &noise[..]].concat());
    }

    #[test]
    fn chunks(
        version in 0..2_u8,
        size in prop::sample::select(vec![0_u8, 1, 2, 4]),
        zigzag in 0..2_u8,
        is_zstd in any::<bool>(),
        count in 0..40_u8,
        payload in prop::collection::vec(any::<u8>(), 0..80),
        changes in changes(),
    ) {
        exercise::vbz(&payload);
        let packed = zstd::bulk::compress(&payload, 1).unwrap();
        let payload = if is_zstd { packed } else { payload };
        let head = [version, size, zigzag, u8::from(is_zstd), count, 0, 0, 0];
        let chunk = [&head[..], &payload].concat();
        exercise::vbz(&chunk);
        exercise::vbz(&damaged(&chunk, &changes));
    }
}
