//! The resolve phase: all partitions of read ends, in parallel, to one bitmap.

use seqloom_io::spill::SpillError;
use seqloom_runtime::admission::AdmissionControl;
use seqloom_runtime::error::{Class, Place, RunError};
use seqloom_runtime::pool::Stopped;

use super::{
    DuplicateMarks, DuplicateMode, DuplicateOptions, FragmentEnd, FragmentResolver, MateEnd,
    NameUsedTwice, PairEnds, Relative, pair_mates, resolve_pairs, share_families,
};
use crate::duplicates::metrics::DuplicationCounters;
use crate::partition::collect::{END_PARTITIONS, EndCollector};
use crate::partition::numbers::TemplateNumbers;
use crate::partition::store::{Backing, Chunk, ChunkStore, PhaseResources, StoreScratch};

/// Partitions being resolved at a time, per worker.
const IN_FLIGHT_PER_WORKER: usize = 1;

/// Why duplicates could not be resolved.
#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    /// A spilled chunk could not be read back.
    #[error(transparent)]
    Spill(#[from] SpillError),
    /// Two templates have the same name.
    #[error(transparent)]
    Name(#[from] NameUsedTwice),
    /// Families are numbered by templates, of which there are too many.
    #[error("families of UMIs are distinguished among at most {} templates", u32::MAX)]
    TooManyTemplates,
    /// The workers were stopped.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

impl RunError for ResolveError {
    fn class(&self) -> Class {
        match self {
            Self::Spill(spill) => spill.class(),
            Self::Name(name) => name.class(),
            Self::TooManyTemplates => Class::Input,
            Self::Stopped(stop) => stop.class(),
        }
    }

    fn place(&self) -> Place {
        match self {
            Self::Spill(spill) => spill.place(),
            Self::Name(name) => name.place(),
            Self::TooManyTemplates | Self::Stopped(_) => Place::default(),
        }
    }
}

/// Resolves every partition of `ends`, which are of the templates that `numbers` counts. Where
/// mates were met apart they are brought together first, and other records of families last.
///
/// # Errors
/// When a spilled chunk cannot be read back, or two templates have the same name.
pub fn resolve_all(
    ends: EndCollector<'_>,
    numbers: impl Into<TemplateNumbers>,
    mode: DuplicateMode,
    options: &DuplicateOptions,
    resources: &PhaseResources<'_, '_>,
) -> Result<(DuplicateMarks, DuplicationCounters), ResolveError> {
    let backing = resources.backing;
    if let Some(mates) = &ends.mates {
        let twice: Vec<Option<NameUsedTwice>> = resources.for_each_partition(
            |partition| decoded_bytes(mates.bytes(partition)),
            |partition, scratch, first: &mut Option<NameUsedTwice>| {
                let found = pair_partition(&ends, mates, partition, backing, scratch)?;
                *first = first.iter().copied().chain(found).min();
                Ok::<(), ResolveError>(())
            },
        )?;
        // The first in the input, whichever partition a worker was at.
        if let Some(first) = twice.into_iter().flatten().min() {
            return Err(first.into());
        }
    }
    let numbers = numbers.into();
    let marks = DuplicateMarks::new(numbers, mode);
    let marks = if options.writes_optical { marks.telling_optical() } else { marks };
    let marks = match options.umi_distance {
        None => marks,
        Some(_) => marks.telling_families().ok_or(ResolveError::TooManyTemplates)?,
    };
    let marks = marks.charged_to(&backing.ledger);
    let resolving = Resolving { ends: &ends, options, marks: &marks, backing };
    let resolved: Vec<DuplicationCounters> = resources.for_each_partition(
        |partition| {
            let bytes = ends.pairs.bytes(partition) + ends.fragments.bytes(partition);
            let families = if options.umi_distance.is_some() { bytes } else { 0 };
            decoded_bytes(bytes) + families
        },
        |partition, scratch, counters| resolving.resolve(partition, counters, scratch),
    )?;
    if let Some(relatives) = &ends.relatives {
        resources.for_each_partition(
            |partition| decoded_bytes(relatives.bytes(partition)),
            |partition, scratch, ()| relate(relatives, partition, (&marks, backing), scratch),
        )?;
    }
    let mut counters = ends.into_counters();
    resolved.iter().for_each(|some| counters.merge(some));
    Ok((marks, counters))
}

/// Entries encoded and decoded side by side, the decoded ones padded. Markers stream by. A set's
/// families take no more than its entries.
fn decoded_bytes(entries: u64) -> u64 {
    entries * 5 / 2
}

impl PhaseResources<'_, '_> {
    /// Calls `work` for each of the [`END_PARTITIONS`] partitions, each by one worker, as their
    /// `cost_bytes` fit the memory. Gives what the workers have gathered.
    pub(crate) fn for_each_partition<T, E>(
        &self,
        cost_bytes: impl Fn(usize) -> u64 + Sync,
        work: impl Fn(usize, &mut StoreScratch, &mut T) -> Result<(), E> + Sync,
    ) -> Result<Vec<T>, E>
    where
        T: Default + Send,
        E: From<SpillError> + From<Stopped> + Send,
    {
        let in_flight = IN_FLIGHT_PER_WORKER * self.threads.get();
        let control = AdmissionControl::new(&self.backing.ledger, in_flight);
        let cost_of = |ticket: u64| {
            let partition = usize::try_from(ticket).ok().filter(|&p| p < END_PARTITIONS)?;
            Some(cost_bytes(partition))
        };
        let worker = |_| Ok::<_, E>((StoreScratch::new()?, T::default()));
        let workers =
            control.run(self.threads, self.watch, cost_of, worker, |(scratch, own), pass| {
                work(pass.ticket() as usize, scratch, own)
            })?;
        Ok(workers.into_iter().map(|(_, own)| own).collect())
    }
}

/// Brings mates together and passes the pairs to where their sets will be; gives the first records
/// of a name that is used twice.
fn pair_partition(
    ends: &EndCollector<'_>,
    mates: &ChunkStore<'_>,
    partition: usize,
    backing: &Backing,
    scratch: &mut StoreScratch,
) -> Result<Option<NameUsedTwice>, ResolveError> {
    let entries = mates.bytes(partition) as usize / ends.umi_form().entry_bytes(MateEnd::BYTES);
    let mut found = Vec::with_capacity(entries);
    for_each_chunk(mates, partition, backing, scratch, |bytes| {
        found.extend(ends.mates_of(bytes));
    })?;
    pair_mates(&mut found, ends.ties, |pair| Ok(ends.append_pair(pair, scratch)?))
}

/// Puts all records of the names of a partition into the family of those that have one.
fn relate(
    relatives: &ChunkStore<'_>,
    partition: usize,
    (marks, backing): (&DuplicateMarks, &Backing),
    scratch: &mut StoreScratch,
) -> Result<(), ResolveError> {
    let entries = relatives.bytes(partition) as usize / Relative::BYTES;
    let mut found = Vec::with_capacity(entries);
    for_each_chunk(relatives, partition, backing, scratch, |bytes| {
        found.extend(bytes.as_chunks().0.iter().map(Relative::from_bytes));
    })?;
    share_families(&mut found, marks);
    Ok(())
}

/// Options and marks that partitions are resolved with.
struct Resolving<'a> {
    ends: &'a EndCollector<'a>,
    options: &'a DuplicateOptions,
    marks: &'a DuplicateMarks,
    backing: &'a Backing,
}

impl Resolving<'_> {
    fn resolve(
        &self,
        partition: usize,
        counters: &mut DuplicationCounters,
        scratch: &mut StoreScratch,
    ) -> Result<(), ResolveError> {
        let Self { ends, options, mut marks, backing } = *self;
        let count = |bytes: u64, form: usize| bytes as usize / ends.umi_form().entry_bytes(form);
        let mut pairs = Vec::with_capacity(count(ends.pairs.bytes(partition), PairEnds::BYTES));
        for_each_chunk(&ends.pairs, partition, backing, scratch, |bytes| {
            pairs.extend(ends.pairs_of(bytes));
        })?;
        resolve_pairs(&mut pairs, options, &mut marks, counters);
        drop(pairs);
        let mut fragments =
            Vec::with_capacity(count(ends.fragments.bytes(partition), FragmentEnd::BYTES));
        for_each_chunk(&ends.fragments, partition, backing, scratch, |bytes| {
            fragments.extend(ends.fragments_of(bytes));
        })?;
        let mut resolver = FragmentResolver::new(&mut fragments, options.umi_distance);
        for_each_chunk(&ends.markers, partition, backing, scratch, |bytes| {
            ends.markers_of(bytes).for_each(|marker| resolver.paired_end_at(&marker));
        })?;
        resolver.finish(&mut marks, counters);
        Ok(())
    }
}

/// Hands the bytes of every chunk of a partition to `visit`; the partition is empty afterwards.
pub(crate) fn for_each_chunk(
    store: &ChunkStore<'_>,
    partition: usize,
    backing: &Backing,
    scratch: &mut StoreScratch,
    mut visit: impl FnMut(&[u8]),
) -> Result<(), SpillError> {
    store.take(partition).into_iter().try_for_each(|chunk: Chunk| {
        visit(&chunk.load(backing, scratch)?.bytes);
        Ok(())
    })
}
