//! Introns from known ones and from reads: the first pass over the input counts what it meets, and
//! what is met is a table for the second. Counts are sums, and the table is in order: neither
//! depends on how reads were shared out.

use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use super::sites::{Intron, Sites};

/// What reads say of an intron.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Evidence {
    /// Reads that go over it.
    pub reads: u64,
    /// Of all reads, the most bases on its shorter side.
    pub anchor: u32,
    /// It was known before.
    pub is_known: bool,
    /// It begins with GT and ends with AG, or is one of the rare ones.
    pub has_motif: bool,
}

/// An intron as a read has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Met {
    pub(super) intron: Intron,
    pub(super) has_motif: bool,
    pub(super) anchor: u32,
}

/// Bases on the shorter side of an intron that it takes to be one; of one that two reads go over
/// there may be fewer.
const LEAST_ANCHOR: u32 = 10;
/// Reads that an intron without GT-AG, GC-AG or AT-AC at its ends takes to be one.
const LEAST_WITHOUT_MOTIF: u64 = 2;

/// The introns of a run.
#[derive(Debug, Default)]
pub struct IntronTable {
    known: Vec<Intron>,
    /// What the second pass, or the only one, goes by.
    sites: OnceLock<Sites>,
    /// What the first pass goes by.
    first: OnceLock<Sites>,
    met: Mutex<BTreeMap<Intron, Evidence>>,
    none: Sites,
}

impl IntronTable {
    /// A table with these introns.
    #[must_use]
    pub fn new(mut known: Vec<Intron>) -> Self {
        known.sort_unstable();
        known.dedup();
        Self { known, ..Self::default() }
    }

    /// Known ones.
    pub(super) fn begin(&self, bases: u64) {
        self.first.get_or_init(|| Sites::new(&self.known, bases));
    }

    /// What reads are to be placed by.
    pub(super) fn sites(&self) -> &Sites {
        self.sites.get().or_else(|| self.first.get()).unwrap_or(&self.none)
    }

    /// Whether reads are placed in order to find introns.
    pub(super) fn is_first_pass(&self) -> bool {
        self.sites.get().is_none()
    }

    /// Ends the first pass, if there was one: what it has met is added to what is known, for a
    /// genome of so many bases. The number of introns that are new.
    pub fn settle(&self, bases: u64) -> usize {
        let met = std::mem::take(&mut *self.met.lock().unwrap_or_else(PoisonError::into_inner));
        let is_enough = |it: &Evidence| {
            let is_long = it.anchor >= LEAST_ANCHOR;
            if it.has_motif { is_long || it.reads > 1 } else { it.reads >= LEAST_WITHOUT_MOTIF }
        };
        let found = met.iter().filter(|it| !it.1.is_known && is_enough(it.1));
        let found: Vec<Intron> = found.map(|it| *it.0).collect();
        let count = found.len();
        let all = [&self.known[..], &found].concat();
        self.sites.get_or_init(|| Sites::new(&all, bases));
        count
    }

    /// Adds what reads of a batch have met.
    pub(super) fn add(&self, met: &mut Vec<Met>) {
        if met.is_empty() {
            return;
        }
        let mut all = self.met.lock().unwrap_or_else(PoisonError::into_inner);
        for Met { intron, has_motif, anchor } in met.drain(..) {
            let evidence = all.entry(intron).or_insert_with(|| Evidence {
                reads: 0,
                anchor: 0,
                is_known: self.is_known(&intron),
                has_motif,
            });
            evidence.reads += 1;
            evidence.anchor = evidence.anchor.max(anchor);
        }
    }

    fn is_known(&self, intron: &Intron) -> bool {
        let key = |it: &Intron| (it.start, it.end);
        self.known.binary_search_by_key(&key(intron), key).is_ok()
    }

    /// What the last pass has met, in order.
    #[must_use]
    pub fn met(&self) -> Vec<(Intron, Evidence)> {
        let met = self.met.lock().unwrap_or_else(PoisonError::into_inner);
        met.iter().map(|(intron, evidence)| (*intron, *evidence)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_first_pass_meets_is_in_the_second_s_table() {
        let intron = |start| Intron { start, end: start + 50, is_reverse: Some(false) };
        let met = |start, has_motif| Met { intron: intron(start), has_motif, anchor: 20 };
        let table = IntronTable::new(vec![intron(10)]);
        table.begin(1000);
        assert!(table.is_first_pass());
        assert!(table.sites().get(10, 60).is_some() && table.sites().get(100, 150).is_none());
        table.add(&mut vec![met(100, true), met(200, false), met(10, true), met(300, false)]);
        table.add(&mut vec![met(300, false)]);
        assert_eq!(table.met().len(), 4);
        assert_eq!(table.settle(1000), 2);
        assert!(!table.is_first_pass() && table.met().is_empty());
        let is_there = |left| table.sites().get(left, left + 50).is_some();
        assert_eq!([10, 100, 200, 300].map(is_there), [true, true, false, true]);
    }
}
