//! Real FAST5 files cut short or with bits turned over: an error or other values, never a panic,
//! and within seconds.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use seqloom_format::signal::SignalRead;
use seqloom_testkit::skip;

use crate::store::fast5::{Fast5File, Fast5Options, Fast5Scratch};

/// Most samples of a read of these files, with those that a damaged size may ask for: what was
/// never written counts up to 2^24.
const MAX_SAMPLES: usize = 1 << 25;

/// Opens and reads everything; returns whether all of it was in order.
fn exercise(bytes: &[u8], scratch: &mut Fast5Scratch, read: &mut SignalRead) -> bool {
    let path = Path::new("damaged.fast5");
    let options = Fast5Options { complete_header: true, ..Fast5Options::default() };
    let Ok(file) = Fast5File::open(Arc::new(bytes.to_vec()), path, options, scratch) else {
        return false;
    };
    let mut is_good = true;
    for index in 0..file.reads().min(50) {
        match file.read(index, scratch, read) {
            Ok(()) => {
                assert!(read.samples.len() <= MAX_SAMPLES);
                assert_eq!(read.auxiliary.len(), file.header().auxiliary.len());
            }
            Err(error) => {
                assert!(read.samples.is_empty() && !error.to_string().is_empty());
                is_good = false;
            }
        }
    }
    is_good
}

#[test]
fn damaged_files_are_errors_or_other_values() {
    let Some(data) = skip::data("nanopore") else { return };
    let names = [
        "slow5tools_test/raw/f2s/single-fast5/sss1.fast5",
        "slow5tools_test/raw/f2s/various_versions/single_fast5_v0.6.fast5",
        "slow5tools_test/raw/f2s/end_reason_fast5/end_reason_new_key.fast5",
        "ont_fast5_api_test/vbz_reads/vbz_reads.fast5",
    ];
    let (mut scratch, mut read) = (Fast5Scratch::default(), SignalRead::default());
    let rounds = if skip::slow_tests() { 20_000 } else { 500 };
    for name in names {
        let good = std::fs::read(data.join(name)).unwrap();
        assert!(exercise(&good, &mut scratch, &mut read), "{name}");
        for cut in (0..good.len()).step_by(good.len() / 150) {
            exercise(&good[..cut], &mut scratch, &mut read);
        }
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize
        };
        for _ in 0..rounds {
            let mut bytes = good.clone();
            for _ in 0..1 + next() % 3 {
                // Metadata is at either end as a rule, and a small part of the file.
                let at = match next() % 3 {
                    0 => next() % bytes.len(),
                    1 => next() % bytes.len().min(8000),
                    _ => bytes.len() - 1 - next() % bytes.len().min(30_000),
                };
                match next() % 3 {
                    0 => bytes[at] ^= 1 << (next() % 8),
                    1 => bytes[at] = 0xff,
                    _ => bytes[at] = next() as u8,
                }
            }
            let start = Instant::now();
            exercise(&bytes, &mut scratch, &mut read);
            assert!(start.elapsed() < Duration::from_secs(20), "{name}");
        }
    }
}
