//! The verdicts on reads, counted.

use std::sync::atomic::{AtomicU64, Ordering};

/// The certified path's verdict on a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CertifiedOutcome {
    /// Its region is known.
    Certified,
    /// Its worker did not try, for want of gain.
    Untried,
    /// Too short, too long, or with a letter other than A, C, G and T.
    Unfit,
    /// No position with few mismatches was found.
    Unplaced,
    /// It is in an ALT sequence.
    Alternate,
    /// Its chains are known.
    Chained,
    /// Its seeds occur too often to be looked up with those of its batch.
    Seeds,
}

impl CertifiedOutcome {
    /// All, in the order of their numbers.
    pub const ALL: [Self; 7] = [
        Self::Certified,
        Self::Untried,
        Self::Unfit,
        Self::Unplaced,
        Self::Alternate,
        Self::Chained,
        Self::Seeds,
    ];

    /// Its name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Certified => "certified",
            Self::Untried => "untried",
            Self::Unfit => "unfit",
            Self::Unplaced => "unplaced",
            Self::Alternate => "alternate",
            Self::Chained => "chained",
            Self::Seeds => "seeds",
        }
    }
}

/// How many reads had which verdict. Relaxed: counts, whose totals are read when the workers have
/// ended.
#[derive(Debug, Default)]
pub struct CertifiedReads([AtomicU64; CertifiedOutcome::ALL.len()]);

impl CertifiedReads {
    pub(super) fn add(&self, verdicts: &[CertifiedOutcome]) {
        let mut counts = [0; CertifiedOutcome::ALL.len()];
        verdicts.iter().for_each(|&verdict| counts[verdict as usize] += 1);
        for (total, count) in self.0.iter().zip(counts) {
            total.fetch_add(count, Ordering::Relaxed);
        }
    }

    pub(super) fn add_untried(&self, reads: usize) {
        self.0[CertifiedOutcome::Untried as usize].fetch_add(reads as u64, Ordering::Relaxed);
    }

    /// The reads with a verdict.
    #[must_use]
    pub fn get(&self, verdict: CertifiedOutcome) -> u64 {
        self.0[verdict as usize].load(Ordering::Relaxed)
    }
}
