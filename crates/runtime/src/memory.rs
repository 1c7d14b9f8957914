//! The memory ledger: a counter against one total.
//!
//! A run has one, over the share of `-m` that its memory plan leaves for stored records, read ends
//! and the work of resolve and finish (`store_bytes`). Not on it are what the plan subtracts
//! before: the index, scratch of workers, cohorts in work, which `align::ingest` bounds by
//! `HeldLimits`.
//!
//! A charge that does not fit is refused at once ([`Ledger::try_charge`]); the caller's answer is
//! to spill, or to wait for one to be dropped that it knows must come. Whoever holds memory holds
//! its [`Charge`]. Nothing here allocates: the ledger counts.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
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

/// Counts what is charged against one total. A copy is the same ledger.
#[derive(Debug, Clone)]
pub struct Ledger(Arc<Counters>);

#[derive(Debug)]
struct Counters {
    total_bytes: AtomicU64,
    charged_bytes: AtomicU64,
    /// Relaxed: a number to be reported.
    peak_bytes: AtomicU64,
}

impl Ledger {
    /// A ledger over `total_bytes`.
    #[must_use]
    pub fn new(total_bytes: u64) -> Self {
        Self(Arc::new(Counters {
            total_bytes: AtomicU64::new(total_bytes),
            charged_bytes: AtomicU64::new(0),
            peak_bytes: AtomicU64::new(0),
        }))
    }

    /// Charges `bytes` if they fit.
    pub fn try_charge(&self, bytes: u64) -> Option<Charge> {
        let fits = |charged: u64| {
            let sum = charged.checked_add(bytes)?;
            (sum <= self.total_bytes()).then_some(sum)
        };
        let counters = &self.0;
        let outcome =
            counters.charged_bytes.fetch_update(Ordering::AcqRel, Ordering::Acquire, fits);
        let before = outcome.ok()?;
        counters.peak_bytes.fetch_max(before + bytes, Ordering::Relaxed);
        Some(Charge { ledger: self.clone(), bytes })
    }

    /// Charges `bytes`, or as many of them as are free.
    pub fn charge_at_most(&self, bytes: u64) -> Charge {
        let free_bytes = self.total_bytes().saturating_sub(self.charged_bytes());
        self.try_charge(bytes.min(free_bytes)).unwrap_or_else(|| self.charge(0))
    }

    /// Charges `bytes` whether or not they fit: for memory that is held already.
    pub fn charge(&self, bytes: u64) -> Charge {
        self.add(bytes);
        Charge { ledger: self.clone(), bytes }
    }

    fn add(&self, bytes: u64) {
        let before = self.0.charged_bytes.fetch_add(bytes, Ordering::AcqRel);
        self.0.peak_bytes.fetch_max(before + bytes, Ordering::Relaxed);
    }

    fn release(&self, bytes: u64) {
        let before = self.0.charged_bytes.fetch_sub(bytes, Ordering::AcqRel);
        debug_assert!(before >= bytes, "released more than was charged");
    }

    /// Charged bytes.
    pub fn charged_bytes(&self) -> u64 {
        self.0.charged_bytes.load(Ordering::Acquire)
    }

    /// The most that was charged at any time.
    pub fn peak_bytes(&self) -> u64 {
        self.0.peak_bytes.load(Ordering::Relaxed)
    }

    /// The total.
    pub fn total_bytes(&self) -> u64 {
        self.0.total_bytes.load(Ordering::Acquire)
    }

    /// Adds memory that something outside the ledger has given back to the process.
    pub fn grow(&self, bytes: u64) {
        self.0.total_bytes.fetch_add(bytes, Ordering::AcqRel);
    }
}

/// A charge for memory, for as long as that is held: dropping it gives it back.
#[derive(Debug)]
#[must_use = "it is given back when it is dropped"]
pub struct Charge {
    ledger: Ledger,
    bytes: u64,
}

impl Charge {
    /// Charged bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Charges `bytes` instead, whether or not they fit: the memory is another now.
    pub fn resize(&mut self, bytes: u64) {
        match bytes.checked_sub(self.bytes) {
            Some(more) => self.ledger.add(more),
            None => self.ledger.release(self.bytes - bytes),
        }
        self.bytes = bytes;
    }

    /// Gives back what is more than `bytes`.
    pub fn shrink_to(&mut self, bytes: u64) {
        self.resize(self.bytes.min(bytes));
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.ledger.release(self.bytes);
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
        let some = ledger.try_charge(60);
        assert!(some.is_some());
        assert!(ledger.try_charge(41).is_none());
        let rest = ledger.try_charge(40);
        drop(some);
        assert_eq!((ledger.charged_bytes(), ledger.peak_bytes()), (40, 100));
        assert!(ledger.try_charge(u64::MAX).is_none());
        drop(rest);
        assert_eq!(ledger.charged_bytes(), 0);
    }

    #[test]
    fn a_charge_follows_the_size_of_its_memory() {
        let ledger = Ledger::new(100);
        let mut charge = ledger.charge(70);
        charge.shrink_to(80);
        assert_eq!((charge.bytes(), ledger.charged_bytes()), (70, 70));
        charge.shrink_to(30);
        assert_eq!((charge.bytes(), ledger.charged_bytes()), (30, 30));
        charge.resize(130);
        assert_eq!((ledger.charged_bytes(), ledger.peak_bytes()), (130, 130));
        drop(charge);
        assert_eq!(ledger.charged_bytes(), 0);
    }

    #[test]
    fn no_more_than_is_free_is_charged() {
        let ledger = Ledger::new(100);
        let _others = ledger.charge(70);
        let charge = ledger.charge_at_most(50);
        assert_eq!(charge.bytes(), 30);
        drop(charge);
        let _over = ledger.charge(50);
        assert_eq!(ledger.charge_at_most(50).bytes(), 0);
        assert_eq!(ledger.charged_bytes(), 120);
    }
}
