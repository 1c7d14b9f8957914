//! How coverage depends on GC content (Picard 2.27.5 CollectGcBiasMetrics, all reads): windows of
//! 100 bases by GC content, and the reads that start at them.
//!
//! As Picard takes them: every mapped record that has bases counts; a window is where the
//! alignment starts, one base on, or 100 bases before its end on the reverse strand; windows
//! with more than four N are none; what is after the last window of a sequence has GC 0.

use std::num::NonZeroUsize;

use seqloom_format::bam::Flags;
use seqloom_format::persist_fields;
use seqloom_runtime::pool::{self, Stopped, Watch};

use super::observed::Observed;
use crate::input::reference::ReferenceSequences;

/// Bases of a window.
const WINDOW: usize = 100;
/// A window with more N has no GC content.
const MOST_UNKNOWN: usize = 4;
/// GC contents, in percent.
const BINS: usize = 101;
/// Windows that a worker counts at a time.
const PIECE: usize = 4 << 20;

/// Reads by GC content of the window where they start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GcBiasCounts {
    read_starts: [u64; BINS],
}

impl Default for GcBiasCounts {
    fn default() -> Self {
        Self { read_starts: [0; BINS] }
    }
}

persist_fields!(GcBiasCounts { read_starts });

fn is_gc(base: u8) -> bool {
    matches!(base | 0x20, b'g' | b'c')
}

fn is_unknown(base: u8) -> bool {
    base | 0x20 == b'n'
}

/// GC content of a window in percent.
fn content(window: &[u8]) -> Option<usize> {
    // Counts of 100 fit a byte, and bytes are counted many at a time.
    let count =
        |is: fn(u8) -> bool| window.iter().fold(0_u8, |sum, &base| sum + u8::from(is(base)));
    let (unknown, gc) = (usize::from(count(is_unknown)), usize::from(count(is_gc)));
    (unknown <= MOST_UNKNOWN).then_some(gc * 100 / WINDOW)
}

/// One past the last window of a sequence.
fn windows_end(bases: &[u8]) -> usize {
    bases.len().saturating_sub(WINDOW)
}

impl GcBiasCounts {
    pub(super) fn add(&mut self, observed: &Observed<'_>, reference: &ReferenceSequences) {
        let record = observed.record;
        if observed.has_flags(Flags::UNMAPPED) || record.base_count() == 0 {
            return;
        }
        let place = if observed.has_flags(Flags::REVERSE) {
            i64::from(record.position()) + observed.cigar_sums.span - WINDOW as i64
        } else {
            i64::from(record.position()) + 1
        };
        let bases = reference.bases(record.reference_id());
        let Some(place) = usize::try_from(place).ok().filter(|it| *it > 0 && *it <= bases.len())
        else {
            return;
        };
        let bin = if place < windows_end(bases) {
            content(&bases[place..place + WINDOW])
        } else {
            Some(0)
        };
        if let Some(bin) = bin {
            self.read_starts[bin] += 1;
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.read_starts.iter_mut().zip(other.read_starts).for_each(|(sum, more)| *sum += more);
    }

    /// One row for each GC content, from 0 to 100 percent; none without reads.
    #[must_use]
    pub fn rows(&self, windows: &GcWindows) -> Vec<GcBiasRow> {
        let reads: u64 = self.read_starts.iter().sum();
        let mean = reads as f64 / windows.0.iter().sum::<u64>() as f64;
        if reads == 0 || !mean.is_finite() {
            return Vec::new();
        }
        let row = |(gc, (&windows, &read_starts)): (usize, (&u64, &u64))| {
            let coverage = read_starts as f64 / windows as f64 / mean;
            let normalized_coverage = if windows == 0 { 0.0 } else { coverage };
            GcBiasRow { gc_percent: gc, windows, read_starts, normalized_coverage }
        };
        windows.0.iter().zip(&self.read_starts).enumerate().map(row).collect()
    }
}

/// One GC content; fields are Picard's columns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GcBiasRow {
    /// GC.
    pub gc_percent: usize,
    /// WINDOWS.
    pub windows: u64,
    /// READ_STARTS.
    pub read_starts: u64,
    /// NORMALIZED_COVERAGE.
    pub normalized_coverage: f64,
}

/// Windows of a reference by GC content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GcWindows([u64; BINS]);

impl GcWindows {
    /// Counts the windows of all sequences.
    ///
    /// # Errors
    /// A worker panics or cannot be started; an interrupt.
    pub fn count(
        reference: &ReferenceSequences,
        threads: NonZeroUsize,
        watch: Watch<'_>,
    ) -> Result<Self, Stopped> {
        let pieces = reference.all().flat_map(|bases| {
            let end = windows_end(bases);
            (1..end).step_by(PIECE).map(move |from| (bases, from, (from + PIECE).min(end)))
        });
        let work = |counts: &mut [u64; BINS], (bases, from, end)| {
            count_windows(bases, from, end, counts);
            Ok::<(), Stopped>(())
        };
        let workers = pool::for_each(threads, pieces, watch, |_| Ok([0; BINS]), work)?;
        let mut total = [0; BINS];
        for counts in workers {
            total.iter_mut().zip(counts).for_each(|(sum, more)| *sum += more);
        }
        Ok(Self(total))
    }
}

/// Windows that are looked at together.
const BLOCK: usize = 4096;

/// Counts the windows that start in `from..end`.
fn count_windows(bases: &[u8], from: usize, end: usize, counts: &mut [u64; BINS]) {
    let mut block_counts = BlockCounts::default();
    for start in (from..end).step_by(BLOCK) {
        let windows = BLOCK.min(end - start);
        block_counts.add(&bases[start..start + windows + WINDOW], windows, counts);
    }
    for table in &block_counts.tables {
        counts.iter_mut().zip(table).for_each(|(sum, more)| *sum += more);
    }
}

/// Windows in turn are often alike, and a processor waits for a counter that it has just written:
/// each of two in turn is counted for itself.
struct BlockCounts {
    tables: [[u64; 1 << 7]; 2],
    /// 1 for each G or C.
    gc: [u8; BLOCK + WINDOW],
}

impl Default for BlockCounts {
    fn default() -> Self {
        Self { tables: [[0; 1 << 7]; 2], gc: [0; BLOCK + WINDOW] }
    }
}

impl BlockCounts {
    /// Counts the windows that start at the first bases of a text.
    fn add(&mut self, text: &[u8], windows: usize, counts: &mut [u64; BINS]) {
        let has_unknown = text.iter().fold(false, |has, &base| has | is_unknown(base));
        if has_unknown {
            return count_with_unknown(text, windows, counts);
        }
        for (kind, &base) in self.gc.iter_mut().zip(text) {
            *kind = u8::from(is_gc(base));
        }
        let mut gc: u8 = self.gc[..WINDOW].iter().sum();
        let coming = &self.gc[WINDOW..WINDOW + windows];
        for (turn, (&old, &new)) in self.gc[..windows].iter().zip(coming).enumerate() {
            self.tables[turn % 2][usize::from(gc & 0x7f)] += 1;
            gc = gc + new - old;
        }
    }
}

/// As [`BlockCounts::add`], of a text that may have N.
fn count_with_unknown(text: &[u8], windows: usize, counts: &mut [u64; BINS]) {
    let mut gc = text[..WINDOW].iter().filter(|&&base| is_gc(base)).count();
    let mut unknown = text[..WINDOW].iter().filter(|&&base| is_unknown(base)).count();
    for (&old, &new) in text[..windows].iter().zip(&text[WINDOW..]) {
        if unknown <= MOST_UNKNOWN {
            counts[gc * 100 / WINDOW] += 1;
        }
        gc = gc + usize::from(is_gc(new)) - usize::from(is_gc(old));
        unknown = unknown + usize::from(is_unknown(new)) - usize::from(is_unknown(old));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seqloom_runtime::pool::Interrupted;

    #[test]
    fn rolling_windows_are_those_looked_at_one_by_one() {
        let bases: Vec<u8> = (0..3000_u32)
            .map(|i| b"ACGTNgcat"[(i.wrapping_mul(2_654_435_761) >> 22) as usize % 9])
            .map(|base| if base == b'N' { b'A' } else { base })
            .chain([b'N'; 50])
            .chain([b'G'; 250])
            .collect();
        let mut expected = [0; BINS];
        for start in 1..bases.len() - WINDOW {
            if let Some(bin) = content(&bases[start..start + WINDOW]) {
                expected[bin] += 1;
            }
        }
        let sequences = vec![bases.clone(), b"ACGT".to_vec(), Vec::new()];
        let reference = ReferenceSequences::new(sequences);
        for threads in [1, 3] {
            let threads = NonZeroUsize::new(threads).unwrap();
            let windows = GcWindows::count(&reference, threads, &|| Ok(())).unwrap();
            assert_eq!(windows, GcWindows(expected));
            let interrupted = GcWindows::count(&reference, threads, &|| Err(Interrupted));
            assert!(matches!(interrupted, Err(Stopped::Interrupted(_))));
        }
        let mut pieces = [0; BINS];
        count_windows(&bases, 1, 700, &mut pieces);
        count_windows(&bases, 700, bases.len() - WINDOW, &mut pieces);
        assert_eq!(pieces, expected);
        assert!(expected[100] > 100);
    }

    #[test]
    fn rows_are_picards() {
        let mut counts = GcBiasCounts::default();
        let mut windows = GcWindows([0; BINS]);
        assert!(counts.rows(&windows).is_empty());
        (counts.read_starts[40], counts.read_starts[50]) = (48, 16);
        (windows.0[40], windows.0[50], windows.0[60]) = (64, 64, 128);
        let rows = counts.rows(&windows);
        let coverage = |gc: usize| rows[gc].normalized_coverage;
        assert_eq!([coverage(0), coverage(40), coverage(50), coverage(60)], [0.0, 3.0, 1.0, 0.0]);
    }
}
