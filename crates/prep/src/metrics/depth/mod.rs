//! How often each position of the reference is covered, as `samtools depth -a -s` (1.16.1) counts
//! it: without unmapped, secondary, duplicate and QC-failed records, deletions and skips; where two
//! records of a template overlap, the second one counts from the end of the first.
//!
//! Records come sorted, unit by unit, and each unit is counted by one worker ([`unit`]) as if it
//! were alone. Units are put together in their order ([`Depth::commit`]): what hangs over the end
//! of one is added to the next, and records whose mate was in an earlier unit are clipped anew.
//!
//! samtools remembers a template by its name, from a record whose mate starts before its end
//! until the next record of that name. So does this: names are hashed to 64 bits.

mod unit;

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};

use seqloom_format::{MalformedState, Persist, persist_fields};

pub(super) use unit::{DepthWorker, UnitDepth};

/// Positions deeper than this one are counted together: a MiB for each worker.
const DEEPEST: usize = 1 << 17;

/// A map by names that are hashes already.
type ByName<V> = HashMap<u64, V, BuildHasherDefault<AsItIs>>;

/// Gives a number back as its hash.
#[derive(Debug, Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.0 = (self.0 << 8) ^ u64::from(byte));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}

/// A base of the reference; in order of the file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Position {
    reference: i32,
    /// 0-based.
    position: i32,
}

/// From `at` on, the depth differs by this much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Change {
    at: Position,
    by: i32,
}

/// Covered positions of one sequence.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReferenceDepth {
    /// Sum of the depth of all positions.
    pub sum: u64,
    /// Positions covered at least once.
    pub covered: u64,
}

/// Positions by depth; sums over parts that were counted apart may pass below 0 on their way.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Counts {
    /// By depth; that of depth 0 stays 0.
    positions: Vec<u64>,
    /// Of the sequences that have any: a record may name a number that no sequence has.
    references: BTreeMap<i32, ReferenceDepth>,
}

persist_fields!(ReferenceDepth { sum, covered });
persist_fields!(Counts { positions, references });

impl Counts {
    /// `length` positions of a sequence get another depth.
    fn shift(&mut self, reference: i32, old: u32, new: u32, length: u64) {
        let counts = self.references.entry(reference).or_default();
        let sum = |depth: u32| u64::from(depth).wrapping_mul(length);
        counts.sum = counts.sum.wrapping_add(sum(new)).wrapping_sub(sum(old));
        let covered = |depth: u32| if depth > 0 { length } else { 0 };
        counts.covered = counts.covered.wrapping_add(covered(new)).wrapping_sub(covered(old));
        if old > 0 {
            let positions = self.bin(old);
            *positions = positions.wrapping_sub(length);
        }
        if new > 0 {
            let positions = self.bin(new);
            *positions = positions.wrapping_add(length);
        }
    }

    fn bin(&mut self, depth: u32) -> &mut u64 {
        let index = (depth as usize).min(DEEPEST);
        if self.positions.len() <= index {
            self.positions.resize(index + 1, 0);
        }
        &mut self.positions[index]
    }

    fn merge(&mut self, other: &Self) {
        if self.positions.len() < other.positions.len() {
            self.positions.resize(other.positions.len(), 0);
        }
        for (sum, more) in self.positions.iter_mut().zip(&other.positions) {
            *sum = sum.wrapping_add(*more);
        }
        for (&reference, more) in &other.references {
            let sum = self.references.entry(reference).or_default();
            sum.sum = sum.sum.wrapping_add(more.sum);
            sum.covered = sum.covered.wrapping_add(more.covered);
        }
    }
}

/// Depth of the reference as far as units are committed.
#[derive(Debug, Clone, Default)]
pub struct Depth {
    counts: Counts,
    /// Of units that are committed: templates whose next record is clipped at this position.
    open: ByName<i32>,
    /// Of units that are committed: depth from where the next unit may start, in no order.
    tail: Vec<Change>,
}

impl Persist for Depth {
    fn save(&self, out: &mut Vec<u8>) {
        self.counts.save(out);
        let mut open: Vec<_> = self.open.iter().map(|(&name, &end)| (name, end)).collect();
        open.sort_unstable();
        open.len().save(out);
        for (name, end) in open {
            name.save(out);
            end.save(out);
        }
        self.tail.len().save(out);
        for Change { at: Position { reference, position }, by } in &self.tail {
            [*reference, *position, *by].iter().for_each(|number| number.save(out));
        }
    }

    fn load(bytes: &mut &[u8]) -> Result<Self, MalformedState> {
        let mut depth = Self { counts: Counts::load(bytes)?, ..Self::default() };
        for _ in 0..usize::load(bytes)? {
            depth.open.insert(u64::load(bytes)?, i32::load(bytes)?);
        }
        for _ in 0..usize::load(bytes)? {
            let at = Position { reference: i32::load(bytes)?, position: i32::load(bytes)? };
            depth.tail.push(Change { at, by: i32::load(bytes)? });
        }
        Ok(depth)
    }
}

impl Depth {
    /// Memory of the counts of a sequence, in a map whose nodes are half full at least.
    pub(super) const SEQUENCE_BYTES: usize =
        2 * (size_of::<i32>() + size_of::<ReferenceDepth>() + size_of::<usize>());

    /// Adds what another worker has counted, or what is committed of units that come first.
    pub(super) fn merge(&mut self, other: &Self) {
        self.counts.merge(&other.counts);
        self.open.extend(&other.open);
        self.tail.extend(&other.tail);
    }

    /// Adds the unit that follows those committed.
    pub(super) fn commit(&mut self, unit: &UnitDepth) {
        let Some(limit) = unit.limit() else { return };
        let mut changes = std::mem::take(&mut self.tail);
        self.clip_anew(unit, &mut changes);
        self.tail = unit.changes_from(limit);
        self.add(&mut changes, unit, limit);
    }

    /// Counts `changes` in addition to a unit; those from `limit` on are kept for the next one.
    fn add(&mut self, changes: &mut [Change], unit: &UnitDepth, limit: Position) {
        changes.sort_unstable_by_key(|change| change.at);
        let mut level = 0;
        for (index, change) in changes.iter().enumerate() {
            level += change.by;
            let Some(next) = changes.get(index + 1) else { break };
            // Changes of sorted records end within their sequence.
            let reference = change.at.reference;
            if level == 0 || next.at == change.at || next.at.reference != reference {
                continue;
            }
            let (from, to) = (change.at.position, next.at.position);
            let own_end = match reference.cmp(&limit.reference) {
                std::cmp::Ordering::Less => to,
                std::cmp::Ordering::Equal => limit.position.clamp(from, to),
                std::cmp::Ordering::Greater => from,
            };
            for (segment, own) in unit.levels_within(reference, from..own_end) {
                let new = own.saturating_add_signed(level);
                self.counts.shift(reference, own, new, (segment.end - segment.start) as u64);
            }
            if own_end < to {
                self.tail.push(Change { at: Position { reference, position: own_end }, by: level });
                self.tail.push(Change { at: next.at, by: -level });
            }
        }
    }

    /// Clips records of templates that are open; adds what that changes.
    fn clip_anew(&mut self, unit: &UnitDepth, changes: &mut Vec<Change>) {
        let mut anew: ByName<Option<i32>> = ByName::default();
        for record in unit.doubtful() {
            let state = match anew.entry(record.name) {
                std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
                std::collections::hash_map::Entry::Vacant(entry) => {
                    let Some(end) = self.open.remove(&record.name) else { continue };
                    entry.insert(Some(end))
                }
            };
            let clip = state.take();
            if clip.is_none() && record.opens {
                *state = Some(record.end);
            }
            let clip = clip.unwrap_or(i32::MIN);
            let at = |position| Position { reference: record.reference, position };
            for block in unit.blocks(record) {
                let mut change = |start: i32, by: i32| {
                    if start < block.end {
                        changes.push(Change { at: at(start), by });
                        changes.push(Change { at: at(block.end), by: -by });
                    }
                };
                change(block.start.max(record.clip), -1);
                change(block.start.max(clip), 1);
            }
        }
        let untouched = unit.open().filter(|(name, _)| !anew.contains_key(name));
        self.open.extend(untouched);
        self.open.extend(anew.into_iter().filter_map(|(name, end)| Some((name, end?))));
    }

    /// Ends the last unit; `lengths` are those of the sequences.
    #[must_use]
    pub fn finish(mut self, lengths: &[u32]) -> DepthSummary {
        let mut changes = std::mem::take(&mut self.tail);
        let end = Position { reference: i32::MAX, position: i32::MAX };
        self.add(&mut changes, &UnitDepth::default(), end);
        let Counts { mut positions, references: found } = self.counts;
        let found = |reference| found.get(&reference).copied().unwrap_or_default();
        let references: Vec<_> = (0..lengths.len() as i32).map(found).collect();
        while positions.len() > 1 && positions.last() == Some(&0) {
            positions.pop();
        }
        positions.resize(positions.len().max(1), 0);
        let covered: u64 = references.iter().map(|it| it.covered).sum();
        let length: u64 = lengths.iter().copied().map(u64::from).sum();
        // Records may hang over the end of a sequence.
        positions[0] = length.saturating_sub(covered);
        DepthSummary { positions, references, lengths: lengths.to_vec() }
    }
}

/// The depth of all positions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DepthSummary {
    /// Positions by depth, from 0; those deeper than 131,072 are in the last bin.
    pub positions: Vec<u64>,
    /// By reference index.
    pub references: Vec<ReferenceDepth>,
    /// Lengths of the sequences, in bases.
    pub lengths: Vec<u32>,
}

impl DepthSummary {
    /// Bases of all sequences.
    #[must_use]
    pub fn length_bp(&self) -> u64 {
        self.lengths.iter().copied().map(u64::from).sum()
    }

    /// Mean depth of all positions; 0 without any.
    #[must_use]
    pub fn mean(&self) -> f64 {
        let sum: u64 = self.references.iter().map(|it| it.sum).sum();
        share(sum, self.length_bp())
    }

    /// Share of positions with at least this depth.
    #[must_use]
    pub fn share_at_least(&self, depth: usize) -> f64 {
        let deep: u64 = self.positions.iter().skip(depth).sum();
        share(deep, self.length_bp())
    }

    /// By how much more must be sequenced until four fifths of the covered positions have the mean
    /// of those (Picard's FOLD_80_BASE_PENALTY, with the whole genome as target); `None` where
    /// nothing is covered.
    #[must_use]
    pub fn fold_80(&self) -> Option<f64> {
        let covered: u64 = self.positions.iter().skip(1).sum();
        let sum: u64 = self.references.iter().map(|it| it.sum).sum();
        let mut shallower = 0;
        for (depth, count) in self.positions.iter().enumerate().skip(1) {
            shallower += count;
            if shallower as f64 >= 0.2 * covered as f64 && covered > 0 {
                return Some(share(sum, covered) / depth as f64);
            }
        }
        None
    }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
#[path = "depth_tests.rs"]
mod tests;
