//! Units over several outputs that are written side by side. Each output, a stripe, holds a run of
//! units that follow each other; the stripes one after the other are what one output would be.
//!
//! Units are begun in turn over the stripes, so that all of them grow at a time. Within a stripe
//! they are begun in their order, so whoever waits for an earlier unit waits for one that is in
//! work.

use std::sync::Mutex;

use seqloom_cram::{Container, Numbering};
use seqloom_format::index::{IndexBuilder, IndexError, IndexFragment};
use seqloom_io::Output;
use seqloom_runtime::admission::Admission;
use seqloom_runtime::memory::{Charge, Ledger};
use seqloom_runtime::order::Ordered;

use super::error::FinishError;
use super::units::{Unit, share_of_each};
use crate::finish::encode::EncodedUnit;

/// What is done next, and where it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) unit: usize,
    pub(super) stripe: usize,
    /// Among the units of the stripe.
    pub(super) sequence: u64,
}

/// The units in the order in which they are begun. A unit belongs to the stripe in whose share of
/// all bytes its first byte is: a function of the records, like the units.
pub(super) fn schedule(units: &[Unit], stripes: usize) -> Vec<Slot> {
    let mut counts = vec![0; stripes];
    let mut places: Vec<Slot> = Vec::with_capacity(units.len());
    for (unit, stripe) in share_of_each(units, stripes).into_iter().enumerate() {
        places.push(Slot { unit, stripe, sequence: counts[stripe] });
        counts[stripe] += 1;
    }
    places.sort_by_key(|place| (place.sequence, place.stripe));
    places
}

/// Index entries of what is committed.
#[derive(Debug)]
pub(super) enum IndexEntries<'o> {
    /// There will be no index.
    Unwanted,
    /// All that precedes is known: they go where they belong at once.
    Now(&'o mut IndexBuilder),
    /// How long the stripes before become is not known yet: fragments, each with where it starts
    /// in its stripe. Containers are written as parts, and numbered by whoever puts them together.
    Later(Fragments, Charge),
    /// Containers are numbered, and have lines in its index.
    Numbered(&'o mut Numbering),
}

/// One output in order: where committed units go.
pub(super) struct Committer<'o> {
    output: &'o mut Output,
    entries: IndexEntries<'o>,
    /// Offset of the unit that is being written in pieces.
    unit_start: Option<u64>,
    /// A container with its headers.
    container: Vec<u8>,
}

impl IndexEntries<'_> {
    /// None yet, of a stripe after others; what they take is charged.
    pub(super) fn later(ledger: &Ledger) -> Self {
        Self::Later(Vec::new(), ledger.charge(0))
    }
}

impl<'o> Committer<'o> {
    pub(super) fn new(output: &'o mut Output, entries: IndexEntries<'o>) -> Self {
        Self { output, entries, unit_start: None, container: Vec::new() }
    }

    /// Writes bytes, or containers, of the unit whose turn it is.
    fn write(&mut self, bytes: &[u8], containers: &[Container]) -> Result<(), FinishError> {
        self.unit_start.get_or_insert(self.output.written_bytes());
        for container in containers {
            self.container.clear();
            match &mut self.entries {
                IndexEntries::Numbered(numbering) => {
                    numbering.push(container, self.output.written_bytes(), &mut self.container);
                }
                IndexEntries::Later(..) => container.push_part(&mut self.container),
                IndexEntries::Unwanted | IndexEntries::Now(_) => {
                    return Err(FinishError::Unnumbered);
                }
            }
            self.output.write(&self.container)?;
        }
        Ok(self.output.write(bytes)?)
    }

    fn commit(&mut self, unit: EncodedUnit) -> Result<(), FinishError> {
        self.write(&unit.bytes, &unit.containers)?;
        let start = self.unit_start.take().unwrap_or_default();
        let Some(fragment) = unit.index else { return Ok(()) };
        match &mut self.entries {
            IndexEntries::Unwanted | IndexEntries::Numbered(_) => {}
            IndexEntries::Now(builder) => builder.append(&fragment, start)?,
            IndexEntries::Later(kept, charge) => {
                charge.resize(charge.bytes() + fragment.heap_bytes() as u64);
                kept.push((fragment, start));
            }
        }
        Ok(())
    }
}

/// An output, and the units that wait for their turn in it.
pub(super) struct Stripe<'a, 'o> {
    pub(super) ordered: Ordered<(EncodedUnit, Admission<'a>)>,
    committer: Mutex<Committer<'o>>,
}

impl<'a, 'o> Stripe<'a, 'o> {
    pub(super) fn new(committer: Committer<'o>) -> Self {
        Self { ordered: Ordered::default(), committer: Mutex::new(committer) }
    }

    /// What was committed, and where it went.
    pub(super) fn into_committer(self) -> Committer<'o> {
        self.committer.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Writes bytes, or containers, of the unit whose turn it is.
    pub(super) fn write(&self, bytes: &[u8], containers: &[Container]) -> Result<(), FinishError> {
        seqloom_runtime::failure::lock(&self.committer).write(bytes, containers)
    }

    pub(super) fn commit(&self, unit: EncodedUnit) -> Result<(), FinishError> {
        seqloom_runtime::failure::lock(&self.committer).commit(unit)
    }
}

/// Fragments of a piece of the output, each with where it starts in it.
pub type Fragments = Vec<(IndexFragment, u64)>;

/// The entries of a single stripe, of which it is not known where it will be.
pub(super) fn take_entries(committers: Vec<Committer<'_>>) -> Fragments {
    let kept = committers.into_iter().filter_map(|committer| match committer.entries {
        IndexEntries::Later(kept, _) => Some(kept),
        _ => None,
    });
    kept.flatten().collect()
}

/// Puts the entries of all stripes together, now that it is known how long each has become.
pub(super) fn gather_entries(
    committers: Vec<Committer<'_>>,
    index: &mut IndexBuilder,
) -> Result<(), IndexError> {
    let mut bytes_before = 0;
    for committer in committers {
        if let IndexEntries::Later(kept, _charge) = committer.entries {
            for (fragment, start) in kept {
                index.append(&fragment, bytes_before + start)?;
            }
        }
        bytes_before += committer.output.written_bytes();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(sizes: &[u64]) -> Vec<Unit> {
        sizes.iter().map(|&bytes| Unit { store: 0, partitions: 0..1, bytes }).collect()
    }

    #[test]
    fn stripes_are_runs_of_units_of_like_size_begun_in_turn() {
        fn t(sizes: &[u64], stripes: usize, expected: &[(usize, usize, u64)]) {
            let places = schedule(&units(sizes), stripes);
            let found: Vec<_> = places.iter().map(|p| (p.unit, p.stripe, p.sequence)).collect();
            assert_eq!(found, expected, "{sizes:?} over {stripes}");
        }
        t(&[], 3, &[]);
        t(&[5, 5, 5], 1, &[(0, 0, 0), (1, 0, 1), (2, 0, 2)]);
        t(&[5, 5, 5, 5], 2, &[(0, 0, 0), (2, 1, 0), (1, 0, 1), (3, 1, 1)]);
        // A large unit takes the share of the stripes that it reaches into: they stay empty.
        t(&[90, 5, 5], 3, &[(0, 0, 0), (1, 2, 0), (2, 2, 1)]);
        t(&[7], 4, &[(0, 0, 0)]);
        t(&[0, 0], 2, &[(0, 0, 0), (1, 0, 1)]);
        t(&[u64::MAX / 2, u64::MAX / 2], 2, &[(0, 0, 0), (1, 1, 0)]);
    }

    #[test]
    fn stripes_follow_each_other_in_the_order_of_the_units() {
        for stripes in 1..20 {
            let sizes: Vec<u64> = (0..50).map(|i| i * i % 17 + 1).collect();
            let mut places = schedule(&units(&sizes), stripes);
            places.sort_by_key(|place| (place.stripe, place.sequence));
            assert!(places.iter().map(|place| place.unit).eq(0..50), "{stripes}");
        }
    }
}
