//! Where each part of `.bwt.2bit.64` is: one formula for the writer and the checker.

/// Rows per checkpoint block.
pub(crate) const BLOCK_ROWS: u64 = 64;

/// Bytes of a checkpoint block: four i64 counts and four u64 masks.
pub(crate) const BLOCK_BYTES: u64 = 64;

/// Offset of the checkpoints: the number of rows and five counts come first.
pub(crate) const CHECKPOINTS_AT: u64 = 48;

/// Largest log2 of the suffix-array stride: one sample per block.
pub(crate) const MAX_STRIDE_LOG2: u8 = 6;

/// The stride of a file without a tag, as bwa-mem2 writes it: every 8th row.
pub(crate) const UNTAGGED_STRIDE_LOG2: u8 = 3;

/// Longest reference of which every 8th row is sampled unless requested otherwise. Above, every
/// 16th is: 3.2 Gbp then take 9.3 GB instead of 11.3, so that `align` has room in 12 GiB, what it
/// takes of a machine of 16.
const DENSE_BASES: u64 = 1 << 30;

/// log2 of the stride where none is requested: by the length alone, so that no machine's memory
/// shows in an index.
pub(crate) fn default_stride_log2(bases: u64) -> u8 {
    if bases <= DENSE_BASES { UNTAGGED_STRIDE_LOG2 } else { UNTAGGED_STRIDE_LOG2 + 1 }
}

/// Most bases of a reference: positions in `T` have 39 bits (a signed byte and a u32).
pub(crate) const MAX_BASES: u64 = (1 << 38) - 1;

/// The parts of a `.bwt.2bit.64` of `bases` bases and stride `2^stride_log2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    /// `L`, at most [`MAX_BASES`]: so that nothing below can overflow.
    pub(crate) bases: u64,
    /// `s`, at most [`MAX_STRIDE_LOG2`].
    pub(crate) stride_log2: u8,
}

impl Layout {
    /// The layout, or `None` when a number is out of its range.
    pub(crate) fn new(bases: u64, stride_log2: u8) -> Option<Self> {
        let valid = (1..=MAX_BASES).contains(&bases) && stride_log2 <= MAX_STRIDE_LOG2;
        valid.then_some(Self { bases, stride_log2 })
    }

    /// Symbols of `T`: `2L`.
    pub(crate) fn symbols(self) -> u64 {
        2 * self.bases
    }

    /// `R = 2L + 1`.
    pub(crate) fn rows(self) -> u64 {
        self.symbols() + 1
    }

    /// Checkpoint blocks. The last is always partly filled, because `R` is odd.
    pub(crate) fn blocks(self) -> u64 {
        self.rows() / BLOCK_ROWS + 1
    }

    /// Suffix-array samples. With `s = 0` the last one belongs to no row and is zero.
    pub(crate) fn samples(self) -> u64 {
        (self.rows() >> self.stride_log2) + 1
    }

    /// Bytes that the samples take once they are loaded.
    pub(crate) fn samples_bytes(self) -> u64 {
        self.samples() * if self.has_long_places() { 5 } else { 4 }
    }

    /// Offset of checkpoint block `block`.
    pub(crate) fn checkpoint_at(self, block: u64) -> u64 {
        CHECKPOINTS_AT + BLOCK_BYTES * block
    }

    /// Offset of the high byte of sample `sample`.
    pub(crate) fn high_at(self, sample: u64) -> u64 {
        self.checkpoint_at(self.blocks()) + sample
    }

    /// Offset of the low four bytes of sample `sample`.
    pub(crate) fn low_at(self, sample: u64) -> u64 {
        self.high_at(self.samples()) + 4 * sample
    }

    /// Offset of the sentinel row.
    pub(crate) fn sentinel_at(self) -> u64 {
        self.low_at(self.samples())
    }

    /// Bytes of the file without a tag.
    pub(crate) fn untagged_bytes(self) -> u64 {
        self.sentinel_at() + 8
    }

    /// Whether a place may have more than 32 bits; where none has, the high bytes of samples are
    /// all zero, and are not loaded.
    pub(crate) fn has_long_places(self) -> bool {
        self.rows() > 1 << 32
    }

    /// Bytes that the file takes once it is loaded.
    pub(crate) fn loaded_bytes(self) -> u64 {
        self.tagged_bytes() - if self.has_long_places() { 0 } else { self.samples() }
    }

    /// Bytes of the file with its tag.
    pub(crate) fn tagged_bytes(self) -> u64 {
        self.untagged_bytes() + 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chr20_has_the_published_size() {
        // Human b37 chromosome 20: bwa-mem2 2.2.1 writes 204,833,033 bytes.
        let layout = Layout::new(63_025_520, 3).unwrap();
        assert_eq!(layout.untagged_bytes(), 204_833_033);
        assert_eq!(layout.loaded_bytes(), 204_833_041 - layout.samples());
    }

    #[test]
    fn high_bytes_are_loaded_where_places_need_them() {
        let [short, long] = [(1 << 31) - 1, 1 << 31].map(|bases| Layout::new(bases, 4).unwrap());
        assert_eq!([short, long].map(Layout::has_long_places), [false, true]);
        assert_eq!(long.loaded_bytes(), long.tagged_bytes());
        assert_eq!(short.loaded_bytes(), short.tagged_bytes() - (1 << 28));
    }

    #[test]
    fn no_two_layouts_of_one_reference_have_the_same_size() {
        for bases in (1..200).chain([63_025_520, MAX_BASES]) {
            let mut sizes: Vec<u64> = (0..=MAX_STRIDE_LOG2)
                .flat_map(|s| {
                    let layout = Layout::new(bases, s).unwrap();
                    if s == UNTAGGED_STRIDE_LOG2 {
                        vec![layout.tagged_bytes(), layout.untagged_bytes()]
                    } else {
                        vec![layout.tagged_bytes()]
                    }
                })
                .collect();
            let all = sizes.len();
            sizes.sort_unstable();
            sizes.dedup();
            // Tiny references have the same number of samples at several strides.
            assert!(sizes.len() == all || bases < 64, "{bases}");
        }
    }

    #[test]
    fn long_references_have_fewer_samples() {
        let strides = [1, 63_025_520, 1 << 30, (1 << 30) + 1, 3_100_000_000];
        assert_eq!(strides.map(default_stride_log2), [3, 3, 3, 4, 4]);
    }

    #[test]
    fn limits() {
        assert_eq!(Layout::new(0, 3), None);
        assert_eq!(Layout::new(MAX_BASES + 1, 3), None);
        assert_eq!(Layout::new(1, 7), None);
    }
}
