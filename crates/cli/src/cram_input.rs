//! CRAM as an input: the bases of the reference that it was written with, of which the header has
//! each sequence's MD5.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

use seqloom_cram::digest;
use seqloom_cram::read::SequenceBases;
use seqloom_format::bam::{Header, Reference};
use seqloom_io::alignments::{AlignmentFormat, AlignmentSource};
use seqloom_io::reference::load_found;
use seqloom_prep::input::ReferenceSequences;
use seqloom_runtime::memory::ByteSize;
use seqloom_terminal::UsageError;
use seqloom_terminal::error::InputError;

/// Containers of CRAM of which the memory of a worker has room: one that is inflated, and the
/// records of four that wait and one that is being processed, which take a third more.
const CONTAINERS_PER_WORKER: u64 = 8;
/// Least limit of what a container of CRAM inflates to: several times what usual ones do.
const MIN_CONTAINER_BYTES: u64 = 64 << 20;

/// Bases that are in memory already, by the order of these references.
#[derive(Debug, Clone, Default)]
pub(crate) struct Held<'a> {
    pub(crate) references: &'a [Reference],
    pub(crate) sequences: Arc<ReferenceSequences>,
}

/// Where the bases of a sequence are.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// In memory already.
    Held(usize),
    /// Loaded for this input.
    Own(usize),
}

/// Bases by the order of an input's header, in upper case.
struct HeaderBases {
    held: Arc<ReferenceSequences>,
    own: Vec<Vec<u8>>,
    places: Vec<Place>,
}

impl SequenceBases for HeaderBases {
    fn bases(&self, index: usize) -> Option<&[u8]> {
        let bases = match *self.places.get(index)? {
            Place::Held(index) => self.held.sequences().get(index),
            Place::Own(index) => self.own.get(index),
        };
        // Sequences have bases.
        bases.map(Vec::as_slice).filter(|bases| !bases.is_empty())
    }
}

impl HeaderBases {
    /// Those that `held` does not have are loaded from `fasta`.
    fn load(header: &Header, fasta: &Path, held: &Held<'_>) -> seqloom_terminal::Result<Self> {
        let known = held.references.iter().enumerate();
        let by_name = known.map(|(index, it)| ((it.name.as_str(), it.length), index));
        let known: HashMap<(&str, u32), usize> = by_name.collect();
        let mut missing = Vec::new();
        let place =
            |reference: &Reference| match known.get(&(reference.name.as_str(), reference.length)) {
                Some(index) if *index < held.sequences.sequences().len() => Place::Held(*index),
                _ => {
                    missing.push(reference.clone());
                    Place::Own(missing.len() - 1)
                }
            };
        let places = header.references().iter().map(place).collect();
        let mut own = Vec::new();
        if !missing.is_empty() {
            own = load_found(fasta, &missing)?.sequences;
            own.iter_mut().for_each(|bases| bases.make_ascii_uppercase());
        }
        Ok(Self { held: held.sequences.clone(), own, places })
    }

    /// Memory that only this input needs.
    fn own_bytes(&self) -> u64 {
        self.own.iter().map(|bases| bases.capacity() as u64).sum()
    }
}

/// Whether an input is CRAM.
pub(crate) fn has_cram(source: &AlignmentSource) -> bool {
    inputs(source).next().is_some()
}

fn inputs(source: &AlignmentSource) -> impl Iterator<Item = usize> + '_ {
    let count = source.headers().len();
    (0..count).filter(|&input| source.format(input) == AlignmentFormat::Cram)
}

/// Has the inputs that are CRAM refer to the bases of `fasta`; the memory that these take besides
/// what is `held`, which is of the same file and in upper case.
///
/// # Errors
/// An input needs bases and no file is named; the file cannot be read, or is another reference.
pub(crate) fn refer(
    source: &mut AlignmentSource,
    fasta: Option<&Path>,
    held: &Held<'_>,
) -> seqloom_terminal::Result<u64> {
    let mut own_bytes = 0;
    for input in inputs(source).collect::<Vec<_>>() {
        let Some(fasta) = fasta else {
            if source.needs_reference(input) {
                let path = source.path(input).display();
                return Err(UsageError(format!(
                    "{path}: its records are differences from a reference; --reference FASTA \
                     names it"
                ))
                .into());
            }
            continue;
        };
        let header = &source.headers()[input];
        let bases = HeaderBases::load(header, fasta, held)?;
        header
            .check_sequence_digests(|index| bases.bases(index).map(digest))
            .map_err(|error| InputError::new(fasta, error))?;
        own_bytes += bases.own_bytes();
        source.refer(input, Arc::new(bases), fasta);
    }
    Ok(own_bytes)
}

/// What the first container of any input inflates to.
pub(crate) fn container_bytes(source: &AlignmentSource) -> u64 {
    inputs(source).map(|input| source.container_bytes(input)).max().unwrap_or(0)
}

/// Most that a container of CRAM inflates to: for all workers together an eighth of the memory.
pub(crate) fn max_container_bytes(memory: ByteSize, threads: NonZeroUsize) -> usize {
    let share = memory.0 / 8 / threads.get() as u64;
    usize::try_from(share.max(MIN_CONTAINER_BYTES)).unwrap_or(usize::MAX)
}

/// Memory of containers that inflate to `raw_bytes`: of each worker one as it is in the file and
/// inflated, and the records of those that wait.
pub(crate) fn waiting_bytes(raw_bytes: u64, threads: NonZeroUsize) -> u64 {
    raw_bytes.saturating_mul(CONTAINERS_PER_WORKER).saturating_mul(threads.get() as u64)
}
