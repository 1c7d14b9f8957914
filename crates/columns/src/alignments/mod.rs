//! Aligned reads, BAM, CRAM or SAM, as columns.

mod arrays;
mod builder;
mod columns;
mod regions;
mod requested;
mod table;
mod tags;

use std::path::PathBuf;

use seqloom_format::bam::Header;
use seqloom_format::index::IndexedRegion;
use seqloom_io::alignments::{AlignmentError, AlignmentOptions, AlignmentSource};
use seqloom_io::{AlignmentIndex, RecordStart};

pub use self::columns::Column;
pub use self::regions::Region;
pub use self::requested::Requested;
pub use self::tags::TagColumn;

use self::regions::Regions;
use self::table::{AlignmentTable, Chunk};
use crate::error::ColumnsError;
use crate::flow::{self, Destination, Totals};

/// More regions than this are read in one chunk: each chunk opens the file once more.
const MOST_CHUNKS: usize = 16;

/// Inputs whose headers have the same sequences.
pub struct Alignments {
    options: AlignmentOptions,
    chunks: Vec<Chunk>,
    regions: Regions,
}

impl Alignments {
    /// Opens inputs, `-` being standard input.
    ///
    /// # Errors
    /// An input that cannot be opened.
    pub fn open(inputs: &[PathBuf], options: AlignmentOptions) -> Result<Self, ColumnsError> {
        if inputs.is_empty() {
            return Err(AlignmentError::NoInput.into());
        }
        if inputs.iter().filter(|path| path.as_os_str() == "-").count() > 1 {
            return Err(AlignmentError::StandardInputTwice.into());
        }
        let open = |path: &PathBuf| {
            let source = AlignmentSource::open(std::slice::from_ref(path), options.clone())?;
            Ok::<_, ColumnsError>(Chunk::whole(source))
        };
        let chunks = inputs.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        let first = &chunks[0];
        for other in &chunks[1..] {
            if other.header().references() != first.header().references() {
                let first = first.path().display();
                return Err(ColumnsError::Inputs {
                    path: other.path().to_path_buf(),
                    problem: format!("its header has other sequences than that of {first}"),
                });
            }
        }
        Ok(Self { options, chunks, regions: Regions::default() })
    }

    /// The first header.
    #[must_use]
    pub fn header(&self) -> &Header {
        self.chunks[0].header()
    }

    /// Shows each input that is read to `show`, before anything is.
    ///
    /// # Errors
    /// Errors of `show`.
    pub fn each_source<E>(
        &mut self,
        mut show: impl FnMut(&mut AlignmentSource) -> Result<(), E>,
    ) -> Result<(), E> {
        self.chunks.iter_mut().try_for_each(|chunk| show(chunk.source()))
    }

    /// Reads only what reaches into one of `regions`. Gives a line for each input that is read as a
    /// whole for it.
    ///
    /// # Errors
    /// A malformed index, or that of another file.
    pub fn restrict(&mut self, regions: Vec<Region>) -> Result<Vec<String>, ColumnsError> {
        self.regions = Regions::new(regions);
        let mut notes = Vec::new();
        let mut chunks = Vec::new();
        for chunk in std::mem::take(&mut self.chunks) {
            match usable_index(&chunk) {
                Ok(index) => self.seek(chunk, &index, &mut chunks)?,
                Err(why) => {
                    notes.push(why);
                    chunks.push(chunk.of_regions(0..self.regions.len(), None));
                }
            }
        }
        self.chunks = chunks;
        Ok(notes)
    }

    /// Chunks of one input that hold its records of the regions.
    fn seek(
        &self,
        whole: Chunk,
        index: &AlignmentIndex,
        chunks: &mut Vec<Chunk>,
    ) -> Result<(), ColumnsError> {
        let reference_count = whole.header().references().len();
        let (path, referred) = (whole.path().to_path_buf(), whole.referred());
        let mut opened = Some(whole);
        for own in self.regions.chunks(MOST_CHUNKS) {
            let mut first: Option<RecordStart> = None;
            for region in self.regions.get(own.clone()) {
                let found = index.first_start(&IndexedRegion {
                    reference_count,
                    reference: usize::try_from(region.reference_id).unwrap_or(usize::MAX),
                    bases: region.start.unsigned_abs()..region.end.unsigned_abs(),
                })?;
                first = [first, found].into_iter().flatten().min();
            }
            let mut chunk = match opened.take() {
                Some(chunk) => chunk,
                None => Chunk::whole(AlignmentSource::open(
                    std::slice::from_ref(&path),
                    self.options.clone(),
                )?),
            };
            if let Some((bases, fasta)) = &referred {
                chunk.refer(bases.clone(), fasta);
            }
            chunk.start_at(first)?;
            let end = self.regions.end(own.clone());
            chunks.push(chunk.of_regions(own, end));
        }
        Ok(())
    }

    /// Writes the stream.
    ///
    /// # Errors
    /// The first failure of any worker.
    pub fn write(
        self,
        requested: &Requested,
        destination: Destination<'_>,
    ) -> Result<Totals, ColumnsError> {
        let table = AlignmentTable::new(self.chunks, self.regions, requested)?;
        flow::run(&table, destination)
    }
}

/// The index of an input, or why there is none to go by.
fn usable_index(chunk: &Chunk) -> Result<AlignmentIndex, String> {
    let path = chunk.path();
    let name = path.display();
    let index =
        chunk.can_start_anywhere().then(|| AlignmentIndex::find(path, chunk.format())).flatten();
    let index = index.ok_or_else(|| format!("{name} has no index: all of it is read"))?;
    if index.is_older() {
        let index = index.path().display();
        return Err(format!("{index} is older than {name}, all of which is therefore read"));
    }
    Ok(index)
}
