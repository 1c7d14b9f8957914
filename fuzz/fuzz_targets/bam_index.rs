//! The index of a BAM file, queried for a region.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seqloom_format::index::{IndexedRegion, first_offset};

fuzz_target!(|data: &[u8]| {
    let Some((&[reference, shift, ..], index)) = data.split_first_chunk::<4>() else { return };
    let start = 1_u64 << (shift % 40);
    for end in [start + 1, start * 2] {
        let region = IndexedRegion {
            reference_count: 3,
            reference: usize::from(reference % 4),
            bases: start..end,
        };
        if let Ok(Some(offset)) = first_offset(index, &region) {
            assert!(reference % 4 < 3, "{offset:?}");
        }
    }
});
