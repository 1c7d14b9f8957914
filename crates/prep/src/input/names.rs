//! Proof that the records of each template are together: no name comes again after another one.
//!
//! Every run of records of one name leaves a hash of the name and the number of its first record,
//! in partitions by the hash that count and are spilled like all others. After the last record
//! each partition is sorted: a hash that is there twice is a name that is in two places.
//! How names are ordered does not matter, so that whatever a header means by "queryname" passes.

use std::hash::{DefaultHasher, Hasher};
use std::num::NonZeroUsize;

use seqloom_io::spill::SpillError;
use seqloom_runtime::pool::Watch;

use super::error::IngestError;
use crate::duplicates::for_each_chunk;
use crate::hash::spread;
use crate::partition::collect::END_PARTITIONS;
use crate::partition::store::{Backing, ChunkStore, PhaseResources, StoreScratch};

/// Bytes of a name's hash that are kept: among 10^10 names the odds that any two share theirs are
/// below 10^-8.
const HASH_BYTES: usize = 12;
/// Bytes of a record's number.
const RECORD_BYTES: usize = 6;
/// Size of what a run leaves.
const ENTRY_BYTES: usize = HASH_BYTES + RECORD_BYTES;

/// Two runs of records of one name with others between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct NotGrouped {
    /// First record of the later run, counted over all inputs from 0.
    pub(super) again: u64,
    /// First record of the run before it.
    pub(super) first: u64,
}

/// Hashes of template names, which show whether a name comes twice.
#[derive(Debug)]
pub struct TemplateNames<'a> {
    backing: &'a Backing,
    runs: ChunkStore<'a>,
}

impl<'a> TemplateNames<'a> {
    /// Number of partitions, each with an open chunk.
    pub const PARTITIONS: usize = END_PARTITIONS;

    /// No names yet; chunks of about `chunk_bytes`.
    #[must_use]
    pub fn new(backing: &'a Backing, chunk_bytes: usize) -> Self {
        Self { backing, runs: ChunkStore::new(backing, chunk_bytes) }
    }

    /// Takes a run: the input that it is of, its name, and the number of its first record.
    pub(super) fn add(
        &self,
        input: usize,
        name: &[u8],
        record: u64,
        scratch: &mut StoreScratch,
    ) -> Result<(), SpillError> {
        // SipHash; the second half hashes what the first one came to as well.
        let mut hasher = DefaultHasher::new();
        hasher.write_usize(input);
        hasher.write(name);
        let first = hasher.finish();
        hasher.write_u64(first);
        let entry = entry(u128::from(first) << 64 | u128::from(hasher.finish()), record);
        self.runs.append(spread(first, Self::PARTITIONS), &[&entry], scratch)
    }

    /// The earliest run whose name has come before, if there is one. Takes all names out.
    pub(super) fn first_not_grouped(
        &self,
        threads: NonZeroUsize,
        watch: Watch<'_>,
    ) -> Result<Option<NotGrouped>, IngestError> {
        let resources = PhaseResources { backing: self.backing, threads, watch };
        let found: Vec<Option<NotGrouped>> = resources.for_each_partition(
            // As spilled, and as numbers.
            |partition| self.runs.bytes(partition) * 5 / 2,
            |partition, scratch, found: &mut Option<NotGrouped>| {
                let runs = self.runs_of(partition, scratch)?;
                *found = found.iter().copied().chain(earliest_not_grouped(runs)).min();
                Ok::<(), IngestError>(())
            },
        )?;
        Ok(found.into_iter().flatten().min())
    }

    fn runs_of(
        &self,
        partition: usize,
        scratch: &mut StoreScratch,
    ) -> Result<Vec<Run>, SpillError> {
        let mut runs = Vec::with_capacity(self.runs.bytes(partition) as usize / ENTRY_BYTES);
        for_each_chunk(&self.runs, partition, self.backing, scratch, |bytes| {
            runs.extend(bytes.as_chunks().0.iter().map(run_of));
        })?;
        Ok(runs)
    }
}

/// A run of records of one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Run {
    name: NameHash,
    /// Number of its first record.
    record: u64,
}

/// Hash of a name, in two parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct NameHash {
    first: u64,
    rest: u32,
}

fn entry(hash: u128, record: u64) -> [u8; ENTRY_BYTES] {
    let mut entry = [0; ENTRY_BYTES];
    entry[..HASH_BYTES].copy_from_slice(&hash.to_be_bytes()[..HASH_BYTES]);
    entry[HASH_BYTES..].copy_from_slice(&record.to_le_bytes()[..RECORD_BYTES]);
    entry
}

fn run_of(entry: &[u8; ENTRY_BYTES]) -> Run {
    let [hash @ .., a, b, c, d, e, f] = entry;
    let [h0, h1, h2, h3, h4, h5, h6, h7, rest @ ..] = *hash;
    let first = u64::from_be_bytes([h0, h1, h2, h3, h4, h5, h6, h7]);
    let record = u64::from_le_bytes([*a, *b, *c, *d, *e, *f, 0, 0]);
    Run { name: NameHash { first, rest: u32::from_be_bytes(rest) }, record }
}

fn earliest_not_grouped(mut runs: Vec<Run>) -> Option<NotGrouped> {
    runs.sort_unstable();
    let twice = runs.windows(2).filter(|two| two[0].name == two[1].name);
    twice.map(|two| NotGrouped { again: two[1].record, first: two[0].record }).min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_records::backing;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// The earliest run whose name has come before.
    fn expected(names: &[(usize, u8)]) -> Option<NotGrouped> {
        let mut last = BTreeMap::new();
        let mut runs = (0_u64..).zip(names);
        runs.find_map(|(record, name)| {
            last.insert(name, record).map(|first| NotGrouped { again: record, first })
        })
    }

    proptest! {
        #[test]
        fn a_name_in_two_places_is_found_wherever_it_is_kept(
            names in prop::collection::vec((0..2_usize, any::<u8>()), 0..40),
            chunk_bytes in 1..100_usize,
            limit_bytes in 0..2000_u64,
        ) {
            let backing = backing(limit_bytes);
            let runs = TemplateNames::new(&backing, chunk_bytes);
            let mut scratch = StoreScratch::new().unwrap();
            for (record, (input, name)) in (0..).zip(&names) {
                runs.add(*input, &[*name, 0], record, &mut scratch).unwrap();
            }
            let threads = NonZeroUsize::new(2).unwrap();
            let found = runs.first_not_grouped(threads, &|| Ok(())).unwrap();
            prop_assert_eq!(found, expected(&names));
            prop_assert_eq!(backing.ledger.charged_bytes(), 0);
        }

        #[test]
        fn entries_survive(hash: u128, record in 0..1_u64 << 48) {
            let name = NameHash { first: (hash >> 64) as u64, rest: (hash >> 32) as u32 };
            prop_assert_eq!(run_of(&entry(hash, record)), Run { name, record });
        }
    }
}
