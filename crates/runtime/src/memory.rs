//! The memory ledger: a counter against one total.
//!
//! A run has one, over the share of `-m` that its memory plan leaves for stored records, read ends
//! and the work of resolve and finish (`store_bytes`). Not on it are what the plan subtracts
//! before: the index, scratch of workers, cohorts in work, which `align::ingest` bounds by
//! `HeldLimits`.
//!
//! A charge that does not fit is refused at once ([`Ledger::try_charge`]); the caller's answer is
//! to spill, or to wait for a release it knows must come. Nothing here allocates: the ledger
//! counts.

use std::fmt;
use std::str::FromStr;
#[cfg(not(loom))]
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

use crate::error::{Class, RunError};

#[cfg(loom)]
use loom::sync::atomic::AtomicU64;

/// A number of bytes as users write it: `1500M`, `8G`, `4096`; suffixes are binary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteSize(pub u64);

/// Why a text is no [`ByteSize`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a size; write bytes or a number with k, M, G or T, such as 8G")]
pub struct ParseSizeError(String);

impl RunError for ParseSizeError {
    fn class(&self) -> Class {
        Class::Usage
    }
}

impl FromStr for ByteSize {
    type Err = ParseSizeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refuse = || ParseSizeError(text.to_owned());
        let body = text.trim().trim_end_matches(['b', 'B']).trim_end_matches('i');
        let (digits, shift) = match body.chars().last().ok_or_else(refuse)?.to_ascii_lowercase() {
            'k' => (&body[..body.len() - 1], 10),
            'm' => (&body[..body.len() - 1], 20),
            'g' => (&body[..body.len() - 1], 30),
            't' => (&body[..body.len() - 1], 40),
            _ => (body, 0),
        };
        let value: f64 = digits.trim().parse().map_err(|_| refuse())?;
        let bytes = value * (1u64 << shift) as f64;
        let in_range = bytes.is_finite() && (0.0..=1e18).contains(&bytes);
        in_range.then_some(Self(bytes as u64)).ok_or_else(refuse)
    }
}

impl fmt::Display for ByteSize {
    /// Whole MiB, rounded up: the form that `-m` takes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}M", self.0.div_ceil(1 << 20))
    }
}

/// Counts what is charged against one total.
#[derive(Debug)]
pub struct Ledger {
    total_bytes: AtomicU64,
    charged_bytes: AtomicU64,
    /// Relaxed: a number to be reported.
    peak_bytes: AtomicU64,
}

impl Ledger {
    /// A ledger over `total_bytes`.
    #[must_use]
    pub fn new(total_bytes: u64) -> Self {
        Self {
            total_bytes: AtomicU64::new(total_bytes),
            charged_bytes: AtomicU64::new(0),
            peak_bytes: AtomicU64::new(0),
        }
    }

    /// Charges `bytes` if they fit.
    pub fn try_charge(&self, bytes: u64) -> bool {
        let fits = |charged: u64| {
            let sum = charged.checked_add(bytes)?;
            (sum <= self.total_bytes()).then_some(sum)
        };
        let outcome = self.charged_bytes.fetch_update(Ordering::AcqRel, Ordering::Acquire, fits);
        if let Ok(before) = outcome {
            self.peak_bytes.fetch_max(before + bytes, Ordering::Relaxed);
        }
        outcome.is_ok()
    }

    /// Charges `bytes` whether or not they fit: for memory that is held already.
    pub fn charge(&self, bytes: u64) {
        let before = self.charged_bytes.fetch_add(bytes, Ordering::AcqRel);
        self.peak_bytes.fetch_max(before + bytes, Ordering::Relaxed);
    }

    /// Gives back `bytes` charged before.
    pub fn release(&self, bytes: u64) {
        let before = self.charged_bytes.fetch_sub(bytes, Ordering::AcqRel);
        debug_assert!(before >= bytes, "released more than was charged");
    }

    /// What is charged now.
    pub fn charged_bytes(&self) -> u64 {
        self.charged_bytes.load(Ordering::Acquire)
    }

    /// The most that was charged at any time.
    pub fn peak_bytes(&self) -> u64 {
        self.peak_bytes.load(Ordering::Relaxed)
    }

    /// The total.
    pub fn total_bytes(&self) -> u64 {
        self.total_bytes.load(Ordering::Acquire)
    }

    /// Adds memory that something outside the ledger has given back to the process.
    pub fn grow(&self, bytes: u64) {
        self.total_bytes.fetch_add(bytes, Ordering::AcqRel);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_binary_and_total() {
        fn t(text: &str, bytes: Option<u64>) {
            assert_eq!(text.parse::<ByteSize>().ok().map(|s| s.0), bytes, "{text}");
        }
        t("4096", Some(4096));
        t("1k", Some(1 << 10));
        t("1500M", Some(1500 << 20));
        t("8G", Some(8 << 30));
        t("8GiB", Some(8 << 30));
        t("1.5g", Some(3 << 29));
        t("", None);
        t("G", None);
        t("-1G", None);
        t("8X", None);
        t("nan", None);
    }

    #[test]
    fn a_charge_that_does_not_fit_is_refused() {
        let ledger = Ledger::new(100);
        assert!(ledger.try_charge(60));
        assert!(!ledger.try_charge(41));
        assert!(ledger.try_charge(40));
        ledger.release(60);
        assert_eq!((ledger.charged_bytes(), ledger.peak_bytes()), (40, 100));
        assert!(!ledger.try_charge(u64::MAX));
    }
}
