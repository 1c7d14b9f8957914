//! What sorting in blocks takes, and how it is cut to the memory there is.
//!
//! With `n` symbols, a sample of `s` suffixes and `t` workers, besides what the program and the
//! names of the sequences take:
//!
//! ```text
//! n / 4 + 4 s + max(16 sample_cap + t worker, 8 s, 16 cap + t worker + waves)
//! ```
//!
//! the text; ranks of the sample; then, one after the other: the sample's entries; its suffixes
//! that are tied, all of them at most; the entries of a pass, and the stripes of rows that are
//! written at a time.

use std::num::NonZeroUsize;

use super::super::bwt;
use super::super::layout::Layout;
use super::cover::Cover;
use super::passes::WORKER_BYTES;
use super::text::text_bytes;

/// log2 of `v`. With 1024 the ranks take 0.16 bytes a symbol, and long repeats few rounds.
const MODULUS_LOG2: u32 = 10;

/// Ranks are 32-bit numbers with a sign.
const MAX_SAMPLE: u64 = 1 << 31;

/// More passes than this are refused: each takes a scan of the text, and would be most of the time.
const MAX_PASSES: u64 = 64;

/// No pass is smaller: its scan costs more than the memory is worth.
const MIN_CAP: u64 = 1 << 16;

/// Bytes of an entry.
const ENTRY_BYTES: u64 = 16;

/// How sorting in blocks is cut to the memory there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sizes {
    /// log2 of `v`.
    pub(crate) modulus_log2: u32,
    /// Most entries of a pass over the sample.
    pub(crate) sample_cap: u64,
    /// Most entries of a pass.
    pub(crate) cap: u64,
}

/// What is known of a text before it is sorted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Needs {
    symbols: u64,
    modulus_log2: u32,
    /// Suffixes in the sample.
    sample: u64,
    workers_bytes: u64,
    wave_bytes: u64,
}

impl Needs {
    /// What a text of this layout needs; `None` if no cover is large enough, which cannot be.
    pub(crate) fn new(layout: Layout, threads: NonZeroUsize) -> Option<Self> {
        let symbols = layout.symbols();
        let (modulus_log2, sample) = (MODULUS_LOG2..=20)
            .filter_map(|log2| Some((log2, Cover::new(log2)?.positions(symbols))))
            .find(|&(_, sample)| sample < MAX_SAMPLE)?;
        Some(Self {
            symbols,
            modulus_log2,
            sample,
            workers_bytes: threads.get() as u64 * WORKER_BYTES,
            wave_bytes: bwt::wave_bytes(layout, threads),
        })
    }

    /// The formula of the module's documentation.
    pub(crate) fn memory_bytes(&self, sizes: Sizes) -> u64 {
        let sample = ENTRY_BYTES * sizes.sample_cap + self.workers_bytes;
        let pass = ENTRY_BYTES * sizes.cap + self.workers_bytes + self.wave_bytes;
        self.held_bytes() + sample.max(8 * self.sample).max(pass)
    }

    /// What is held from ranking the sample on.
    fn held_bytes(&self) -> u64 {
        text_bytes(self.symbols) + 4 * self.sample
    }

    /// The least memory that sorting is done in.
    pub(crate) fn least_bytes(&self) -> u64 {
        self.memory_bytes(self.least())
    }

    fn least(&self) -> Sizes {
        let least = |entries: u64| entries.div_ceil(MAX_PASSES).max(MIN_CAP).min(entries);
        let (sample_cap, cap) = (least(self.sample), least(self.symbols));
        Sizes { modulus_log2: self.modulus_log2, sample_cap, cap }
    }

    /// The sizes for so much memory: as few passes as fit, and no more room than those need.
    pub(crate) fn sizes(&self, limit_bytes: u64) -> Option<Sizes> {
        if limit_bytes < self.least_bytes() {
            return None;
        }
        let least = self.least();
        let rest = limit_bytes - self.held_bytes() - self.workers_bytes;
        let room = |bytes: u64, entries: u64, least: u64| {
            let most = (bytes / ENTRY_BYTES).clamp(least, entries);
            // Passes end between bins, so they are not equal.
            let equal = entries.div_ceil(entries.div_ceil(most));
            most.min(equal + equal / 16)
        };
        let sample_cap = room(rest, self.sample, least.sample_cap);
        let cap = room(rest.saturating_sub(self.wave_bytes), self.symbols, least.cap);
        Some(Sizes { sample_cap, cap, ..least })
    }

    /// Passes over the text, about.
    pub(crate) fn passes(&self, sizes: Sizes) -> u64 {
        self.symbols.div_ceil(sizes.cap.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needs(bases: u64, threads: usize) -> Needs {
        Needs::new(Layout::new(bases, 3).unwrap(), NonZeroUsize::new(threads).unwrap()).unwrap()
    }

    #[test]
    fn what_is_planned_fits_what_is_allowed() {
        for bases in [1, 100, 1_000_000, 63_025_520, 3_100_000_000, (1 << 38) - 1] {
            for threads in [1, 2, 16] {
                let needs = needs(bases, threads);
                let least = needs.least_bytes();
                assert_eq!(needs.sizes(least - 1), None);
                let mut passes = u64::MAX;
                for limit in [least, least + 1, least + least / 10, 2 * least, 100 * least] {
                    let sizes = needs.sizes(limit).unwrap();
                    assert!(needs.memory_bytes(sizes) <= limit, "{bases} {threads} {limit}");
                    assert!(needs.passes(sizes) <= passes.min(MAX_PASSES));
                    passes = needs.passes(sizes);
                }
                assert_eq!(passes, 1);
            }
        }
    }

    #[test]
    fn a_human_genome_fits_a_laptop() {
        let needs = needs(3_100_000_000, 2);
        assert!(needs.least_bytes() < 5 << 30, "{}", needs.least_bytes());
        let sizes = needs.sizes(16 << 30).unwrap();
        assert!((7..=10).contains(&needs.passes(sizes)), "{sizes:?}");
    }
}
