//! CRAM as an input: the bases of the reference that it was written with, of which the header has
//! each sequence's MD5. They are read as they are needed where the FASTA has its `.fai`.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use seqloom_cram::digest;
use seqloom_cram::read::{MOST_BASES, SequenceBases, sequence_digest};
use seqloom_format::bam::{Header, Reference, hexadecimal};
use seqloom_io::alignments::{AlignmentFormat, AlignmentSource};
use seqloom_io::reference::{ReferenceError, load_found};
use seqloom_io::{IndexedFasta, TextScratch};
use seqloom_prep::input::ReferenceSequences;
use seqloom_runtime::memory::ByteSize;
use seqloom_terminal::UsageError;
use seqloom_terminal::error::UnusableFile;

/// Containers of CRAM of which the memory of a worker has room: one that is inflated, and the
/// records of four that wait and one that is being processed, which take a third more.
const CONTAINERS_PER_WORKER: u64 = 8;
/// Bases that a worker has in memory, with the ends of their lines as they are read.
const WINDOW_BYTES: u64 = 2 * MOST_BASES as u64;
/// Least limit of what a container of CRAM inflates to: several times what usual ones do.
const MIN_CONTAINER_BYTES: u64 = 64 << 20;

/// Bases that are in memory already, by the order of these references.
#[derive(Debug, Clone, Default)]
pub(crate) struct Held<'a> {
    pub(crate) references: &'a [Reference],
    pub(crate) sequences: Arc<ReferenceSequences>,
}

/// Source of the bases of a sequence.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// In memory already.
    Held(usize),
    /// Loaded for this input.
    Own(usize),
    /// In the file.
    File(usize),
    Nowhere,
}

/// Bases by the order of an input's header, in upper case.
struct HeaderBases {
    held: Arc<ReferenceSequences>,
    own: Vec<Vec<u8>>,
    file: Option<IndexedFasta>,
    /// Those that nobody reads with.
    scratches: Mutex<Vec<TextScratch>>,
    places: Vec<Place>,
    /// The header's M5 of those that are in the file, and whether they have it.
    stated: Vec<Option<String>>,
    known: Vec<OnceLock<bool>>,
}

impl SequenceBases for HeaderBases {
    fn length(&self, index: usize) -> Option<usize> {
        let length = match *self.places.get(index)? {
            Place::File(sequence) => self.file.as_ref()?.length_bp(sequence) as usize,
            _ => self.loaded(index)?.len(),
        };
        // Sequences have bases.
        Some(length).filter(|&length| length > 0)
    }

    fn read(&self, index: usize, places: Range<usize>, out: &mut Vec<u8>) -> Result<(), String> {
        out.clear();
        if let Some(bases) = self.loaded(index) {
            out.extend_from_slice(bases.get(places).unwrap_or_default());
            return Ok(());
        }
        let (Some(Place::File(sequence)), Some(file)) = (self.places.get(index), &self.file) else {
            return Ok(());
        };
        let scratches = || self.scratches.lock().unwrap_or_else(PoisonError::into_inner);
        let mut scratch = scratches().pop().unwrap_or_default();
        let places = places.start as u64..places.end as u64;
        let read = file.fetch(&mut scratch, *sequence, places, out);
        scratches().push(scratch);
        out.make_ascii_uppercase();
        read.map_err(|error| error.to_string())
    }

    fn is_known(&self, index: usize) -> Result<bool, String> {
        let Some((stated, known)) = self.stated.get(index).zip(self.known.get(index)) else {
            return Ok(true);
        };
        let Some(stated) = stated else { return Ok(true) };
        if let Some(known) = known.get() {
            return Ok(*known);
        }
        let digest = hexadecimal(&sequence_digest(self, index)?);
        let is_known = digest.eq_ignore_ascii_case(stated);
        Ok(*known.get_or_init(|| is_known))
    }
}

impl HeaderBases {
    /// A sequence that is in memory.
    fn loaded(&self, index: usize) -> Option<&[u8]> {
        match *self.places.get(index)? {
            Place::Held(index) => self.held.sequences().get(index).map(Vec::as_slice),
            Place::Own(index) => self.own.get(index).map(Vec::as_slice),
            Place::File(_) | Place::Nowhere => None,
        }
    }

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
        let mut places: Vec<Place> = header.references().iter().map(place).collect();
        let (mut own, mut file) = (Vec::new(), None);
        if !missing.is_empty() {
            file = IndexedFasta::open_indexed(fasta)?;
            if let Some(file) = &file {
                for place in &mut places {
                    if let Place::Own(index) = place {
                        *place = place_in(file, &missing[*index])?;
                    }
                }
            } else {
                own = load_found(fasta, &missing)?.sequences;
                own.iter_mut().for_each(|bases| bases.make_ascii_uppercase());
            }
        }
        let mut bases = Self {
            held: held.sequences.clone(),
            own,
            file,
            scratches: Mutex::default(),
            known: places.iter().map(|_| OnceLock::new()).collect(),
            places,
            stated: header.stated_digests(),
        };
        let loaded = |index| bases.loaded(index).filter(|it| !it.is_empty()).map(digest);
        header.check_sequence_digests(loaded).map_err(|error| UnusableFile::new(fasta, error))?;
        for (stated, place) in bases.stated.iter_mut().zip(&bases.places) {
            if !matches!(place, Place::File(_)) {
                *stated = None;
            }
        }
        Ok(bases)
    }

    /// Memory that only this input needs.
    fn own_bytes(&self) -> u64 {
        self.own.iter().map(|bases| bases.capacity() as u64).sum()
    }
}

/// Place of a header's sequence in a file.
fn place_in(file: &IndexedFasta, reference: &Reference) -> Result<Place, ReferenceError> {
    let Some(sequence) = file.find(reference.name.as_bytes()) else { return Ok(Place::Nowhere) };
    let found = file.length_bp(sequence);
    if found == 0 || found == u64::from(reference.length) {
        return Ok(Place::File(sequence));
    }
    let (path, name, expected) = (file.path().to_owned(), reference.name.clone(), reference.length);
    Err(ReferenceError::Length { path, name, found, expected })
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
        own_bytes += bases.own_bytes();
        source.refer(input, Arc::new(bases), fasta);
    }
    Ok(own_bytes)
}

/// Bytes that the first container of any input inflates to.
pub(crate) fn container_bytes(source: &AlignmentSource) -> u64 {
    inputs(source).map(|input| source.container_bytes(input)).max().unwrap_or(0)
}

/// Most that a container of CRAM inflates to: for all workers together an eighth of the memory.
pub(crate) fn max_container_bytes(memory: ByteSize, threads: NonZeroUsize) -> usize {
    let share = memory.0 / 8 / threads.get() as u64;
    usize::try_from(share.max(MIN_CONTAINER_BYTES)).unwrap_or(usize::MAX)
}

/// Memory of containers that inflate to `raw_bytes`: of each worker one as it is in the file and
/// inflated, the bases under its records, and the records of those that wait; nothing where there
/// are none.
pub(crate) fn waiting_bytes(raw_bytes: u64, threads: NonZeroUsize) -> u64 {
    let bases = if raw_bytes > 0 { WINDOW_BYTES } else { 0 };
    let each = raw_bytes.saturating_mul(CONTAINERS_PER_WORKER).saturating_add(bases);
    each.saturating_mul(threads.get() as u64)
}
