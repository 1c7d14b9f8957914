//! Sums by cycle over many reads: in small numbers first, many of which are added at a time.

use std::ops::AddAssign;

use seqloom_format::{MalformedState, Persist};

use super::padded::{LANES, Padded};

/// Reads whose values, at most 255 each, fit 16 bits together; their flags fit 8.
const READS_AT_A_TIME: u8 = 255;

/// Sums by cycle, from 0. Reads on the reverse strand are added from their end on.
#[derive(Debug, Clone, Default)]
pub(super) struct CycleSums<T> {
    sums: Vec<u64>,
    /// Of the last reads: by cycle, and by cycle from the last one on; after these there is room
    /// for zeros after a read.
    forward: Vec<T>,
    reverse: Vec<T>,
    /// Cycles of these.
    cycles: usize,
    reads: u8,
}

impl<T: Copy + Default + AddAssign + Into<u64>> CycleSums<T> {
    /// Adds the values of a read's bytes; a value is at most 255, and 1 where `T` has 8 bits. That
    /// of 0 is 0.
    #[inline]
    pub(super) fn add(&mut self, read: Padded<'_>, is_reverse: bool, value: impl Fn(u8) -> T) {
        if self.reads == READS_AT_A_TIME || self.cycles < read.len() {
            self.settle(read.len());
        }
        self.reads += 1;
        let start = if is_reverse { self.cycles - read.len() } else { 0 };
        let sums = if is_reverse { &mut self.reverse[start..] } else { &mut self.forward[..] };
        for (sums, bytes) in sums.as_chunks_mut::<LANES>().0.iter_mut().zip(read.lanes()) {
            // Apart from memory, so that these are added many at a time.
            let mut lanes = *sums;
            lanes.iter_mut().zip(bytes).for_each(|(sum, &byte)| *sum += value(byte));
            *sums = lanes;
        }
    }

    /// Moves small sums to large ones; makes room for reads of this length.
    fn settle(&mut self, length: usize) {
        self.sums = self.by_cycle();
        self.cycles = length.max(self.cycles);
        for small in [&mut self.forward, &mut self.reverse] {
            small.clear();
            small.resize(self.cycles + LANES, T::default());
        }
        self.reads = 0;
    }

    /// The sums of all reads, by cycle.
    pub(super) fn by_cycle(&self) -> Vec<u64> {
        let mut sums = self.sums.clone();
        sums.resize(sums.len().max(self.cycles), 0);
        let reverse = self.reverse.iter().take(self.cycles).rev();
        let both = self.forward.iter().zip(reverse);
        for (sum, (&forward, &reverse)) in sums.iter_mut().zip(both) {
            *sum += forward.into() + reverse.into();
        }
        sums
    }

    pub(super) fn merge(&mut self, other: &Self) {
        let more = other.by_cycle();
        if self.sums.len() < more.len() {
            self.sums.resize(more.len(), 0);
        }
        self.sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
    }
}

impl<T: Copy + Default + AddAssign + Into<u64>> Persist for CycleSums<T> {
    fn save(&self, out: &mut Vec<u8>) {
        self.by_cycle().save(out);
    }

    fn load(bytes: &mut &[u8]) -> Result<Self, MalformedState> {
        Ok(Self { sums: Vec::load(bytes)?, ..Self::default() })
    }
}

/// Reads by length, from which the reads of each cycle follow.
#[derive(Debug, Clone, Default)]
pub(super) struct Lengths {
    /// By length; none is empty.
    reads: Vec<u64>,
}

seqloom_format::persist_fields!(Lengths { reads });

impl Lengths {
    #[inline]
    pub(super) fn add(&mut self, length: usize) {
        match self.reads.get_mut(length) {
            Some(reads) => *reads += 1,
            None => {
                self.reads.resize(length + 1, 0);
                self.reads[length] = 1;
            }
        }
    }

    /// Reads that reach each cycle, from 0, up to the longest.
    pub(super) fn by_cycle(&self) -> Vec<u64> {
        let mut sums: Vec<u64> = self.reads.iter().skip(1).copied().collect();
        let mut longer = 0;
        for sum in sums.iter_mut().rev() {
            longer += *sum;
            *sum = longer;
        }
        sums
    }

    pub(super) fn merge(&mut self, other: &Self) {
        if self.reads.len() < other.reads.len() {
            self.reads.resize(other.reads.len(), 0);
        }
        self.reads.iter_mut().zip(&other.reads).for_each(|(sum, more)| *sum += more);
    }
}

/// How many bytes are at least this.
pub(super) fn count_at_least(bytes: &[u8], least: u8) -> u64 {
    // A chunk's count fits a byte, and bytes are counted many at a time.
    let count = |chunk: &[u8]| chunk.iter().fold(0_u8, |sum, &it| sum + u8::from(it >= least));
    bytes.chunks(255).map(|chunk| u64::from(count(chunk))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sums_are_those_of_one_read_after_the_other(
            reads in prop::collection::vec(
                (prop::collection::vec(any::<u8>(), 0..70), any::<bool>()), 0..700),
        ) {
            let mut expected = vec![0; reads.iter().map(|it| it.0.len()).max().unwrap_or(0)];
            let mut parts = [CycleSums::<u16>::default(), CycleSums::default()];
            let mut memory = Vec::new();
            for (number, (bytes, is_reverse)) in reads.iter().enumerate() {
                let read = Padded::of(bytes, &mut memory);
                parts[usize::from(number % 3 == 0)].add(read, *is_reverse, u16::from);
                for (index, &byte) in bytes.iter().enumerate() {
                    let cycle = if *is_reverse { bytes.len() - 1 - index } else { index };
                    expected[cycle] += u64::from(byte);
                }
            }
            let [mut sum, more] = parts;
            sum.merge(&CycleSums::from_state(&more.to_state()).unwrap());
            prop_assert_eq!(sum.by_cycle(), expected);
        }

        #[test]
        fn reads_by_length_are_reads_by_cycle(
            lengths in prop::collection::vec(0..20_usize, 0..50),
            cut in 0..50_usize,
        ) {
            let longest = lengths.iter().copied().max().unwrap_or(0);
            let reach = |cycle| lengths.iter().filter(|length| **length > cycle).count() as u64;
            let expected: Vec<u64> = (0..longest).map(reach).collect();
            let mut parts = [Lengths::default(), Lengths::default()];
            for (number, length) in lengths.iter().enumerate() {
                parts[usize::from(number < cut)].add(*length);
            }
            let [mut sum, more] = parts;
            sum.merge(&Lengths::from_state(&more.to_state()).unwrap());
            prop_assert_eq!(sum.by_cycle(), expected);
        }

        #[test]
        fn counts_of_bytes(bytes in prop::collection::vec(any::<u8>(), 0..900)) {
            let count = bytes.iter().filter(|it| **it >= 30).count() as u64;
            prop_assert_eq!(count_at_least(&bytes, 30), count);
        }
    }
}
