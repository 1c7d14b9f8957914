//! Hashes that are the same everywhere: what is in which partition follows from them.

/// The finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), offset so that 0 is not fixed.
pub(crate) fn mix(value: u64) -> u64 {
    let z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Maps a hash evenly to `0..partitions` (0 where there are none), by the high half of a product.
pub(crate) fn spread(hash: u64, partitions: usize) -> usize {
    ((u128::from(hash) * partitions as u128) >> 64) as usize
}
