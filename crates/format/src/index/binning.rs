//! The hierarchy of bins that BAI and CSI share (SAM specification 5.1.1, CSI specification).

/// Deepest hierarchy whose bins have 32-bit numbers.
const MAX_DEPTH: u32 = 9;

/// Sizes of the bins: the smallest has 2^`min_shift` bp, and each of `depth` levels above it has
/// bins 8 times as large.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BinningScheme {
    min_shift: u32,
    depth: u32,
}

crate::persist_fields!(BinningScheme { min_shift, depth });

impl BinningScheme {
    /// The scheme of BAI: 16 kbp bins, 6 levels, references up to 2^29 bp.
    pub const BAI: Self = Self { min_shift: 14, depth: 5 };

    /// Smallest bins of 2^`min_shift` bp and `depth` levels above; `None` where numbers of bins or
    /// positions would not fit.
    #[must_use]
    pub(super) const fn new(min_shift: u32, depth: u32) -> Option<Self> {
        let fits = depth <= MAX_DEPTH && min_shift <= 62 - 3 * MAX_DEPTH;
        if fits { Some(Self { min_shift, depth }) } else { None }
    }

    /// The scheme that `samtools index -c` uses for references of at most `longest_bp`:
    /// 16 kbp bins and the fewest levels that hold the longest reference and 256 bp more.
    #[must_use]
    pub const fn csi(longest_bp: u32) -> Self {
        let min_shift = 14;
        let mut depth = 0;
        while longest_bp as u64 + 256 > 1 << (min_shift + 3 * depth) {
            depth += 1;
        }
        Self { min_shift, depth }
    }

    /// log2 of the smallest bin's size in bp, which is also the linear index's window.
    #[must_use]
    pub(crate) const fn min_shift(self) -> u32 {
        self.min_shift
    }

    /// Number of levels above the smallest bins.
    #[must_use]
    pub(crate) const fn depth(self) -> u32 {
        self.depth
    }

    /// Largest position the bins cover, in bp.
    #[must_use]
    pub(crate) const fn limit_bp(self) -> i64 {
        1 << (self.min_shift + 3 * self.depth)
    }

    /// Number of bins: one above the largest bin number.
    #[must_use]
    pub(crate) const fn bin_count(self) -> u32 {
        first_of_level(self.depth + 1)
    }

    /// Number of the pseudo-bin that holds a reference's metadata.
    #[must_use]
    pub(crate) const fn metadata_bin(self) -> u32 {
        self.bin_count() + 1
    }

    /// The smallest bin that holds `[start, end)`. A record without a position, `[-1, 0)`, falls
    /// into the bin before the smallest level's first, as htslib has it.
    #[must_use]
    pub(crate) const fn bin(self, start: i64, end: i64) -> u32 {
        let last = end - 1;
        let mut level = self.depth;
        let mut shift = self.min_shift;
        while level > 0 {
            if start >> shift == last >> shift {
                return (first_of_level(level) as i64 + (start >> shift)) as u32;
            }
            level -= 1;
            shift += 3;
        }
        0
    }

    /// Level of `bin`: 0 is the one bin that holds everything.
    pub(super) const fn level(self, bin: u32) -> u32 {
        let mut level = 0;
        while bin >= first_of_level(level + 1) {
            level += 1;
        }
        level
    }

    /// Whether `bin` is one of the hierarchy and has some of the positions `first..=last`.
    pub(super) const fn overlaps(self, bin: u32, first: u64, last: u64) -> bool {
        if bin >= self.bin_count() {
            return false;
        }
        let level = self.level(bin);
        let shift = self.min_shift + 3 * (self.depth - level);
        let at = (bin - first_of_level(level)) as u64;
        first >> shift <= at && at <= last >> shift
    }

    /// First window of the linear index that `bin` covers.
    pub(super) const fn first_window(self, bin: u32) -> usize {
        let level = self.level(bin);
        ((bin - first_of_level(level)) as usize) << (3 * (self.depth - level))
    }
}

/// The bin one level above that holds `bin` (which is not 0).
pub(super) const fn parent(bin: u32) -> u32 {
    (bin - 1) >> 3
}

/// Number of the first bin of a level (at most level 10).
pub(super) const fn first_of_level(level: u32) -> u32 {
    ((1_u64 << (3 * level)) / 7) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bai_numbers_of_the_specification() {
        let bai = BinningScheme::BAI;
        assert_eq!((bai.bin_count(), bai.metadata_bin()), (37449, 37450));
        assert_eq!((0..6).map(first_of_level).collect::<Vec<_>>(), [0, 1, 9, 73, 585, 4681]);
        for (start, end, bin) in [
            (0, 1, 4681),
            (16383, 16384, 4681),
            (16383, 16385, 585),
            (16384, 16385, 4682),
            ((1 << 26) - 1, (1 << 26) + 1, 0),
            (0, 1 << 29, 0),
            ((1 << 29) - 1, 1 << 29, 37448),
            (-1, 0, 4680),
        ] {
            assert_eq!(bai.bin(start, end), bin, "{start}-{end}");
        }
    }

    #[test]
    fn levels_parents_and_windows() {
        let bai = BinningScheme::BAI;
        for (bin, level, window) in
            [(0, 0, 0), (1, 1, 0), (2, 1, 4096), (8, 1, 28672), (585, 4, 0), (4682, 5, 1)]
        {
            assert_eq!((bai.level(bin), bai.first_window(bin)), (level, window), "bin {bin}");
        }
        assert_eq!((parent(4681), parent(4689), parent(8), parent(9)), (585, 586, 0, 1));
    }

    #[test]
    fn csi_depth_follows_the_longest_reference() {
        for (longest_bp, depth) in
            [(1, 0), (16128, 0), (16129, 1), (248_956_422, 5), ((1 << 29) - 255, 6), (u32::MAX, 7)]
        {
            assert_eq!(BinningScheme::csi(longest_bp).depth(), depth, "{longest_bp}");
        }
        assert_eq!(BinningScheme::csi((1 << 29) + 1).depth(), 6);
    }
}
