//! A FASTA file, plain or compressed, read into a [`Reference`].

use std::path::Path;

use seqloom_format::fasta::{FastaParser, FastaSink};
use seqloom_io::text::for_each_chunk;

use super::companions::{Companion, Companions};
use super::error::BuildError;
use super::reference::Reference;

/// What is made of a FASTA.
struct Sinks {
    reference: Reference,
    companions: Companions,
}

impl FastaSink for Sinks {
    fn record(&mut self, name: &[u8], comment: &[u8]) {
        self.reference.record(name, comment);
        self.companions.record(name, comment);
    }

    fn bases(&mut self, bases: &[u8]) {
        self.reference.bases(bases);
        self.companions.bases(bases);
    }
}

/// Reads the FASTA at `path`; also says which files next to it are missing or wrong. `progress` is
/// called with the fraction of the file read.
///
/// # Errors
/// The file cannot be read; its compressed data are damaged or cut; it is no FASTA we accept. When
/// what it holds takes more than `memory_limit_bytes` already packed, the bases are only counted.
pub(super) fn read(
    path: &Path,
    memory_limit_bytes: Option<u64>,
    progress: &mut dyn FnMut(f64),
) -> Result<(Reference, Vec<Companion>), BuildError> {
    // The files of an index are next to its FASTA: `-` is a file of this name.
    let opened = if path.as_os_str() == "-" { Path::new("./-") } else { path };
    let mut parser = FastaParser::new();
    let mut sinks = Sinks { reference: Reference::new(), companions: Companions::new() };
    let fasta_error = |source| BuildError::Fasta { path: path.to_owned(), source };
    let mut is_compressed = false;
    for_each_chunk(opened, |chunk| -> Result<(), BuildError> {
        parser.push(chunk.text, &mut sinks).map_err(fasta_error)?;
        sinks.companions.text(chunk.text);
        give_up_beyond(memory_limit_bytes, &mut sinks.reference);
        is_compressed = chunk.is_compressed;
        progress(chunk.share_read);
        Ok(())
    })?;
    parser.finish(&mut sinks).map_err(fasta_error)?;
    sinks.reference.shrink();
    Ok((sinks.reference, sinks.companions.finish(path, is_compressed)))
}

/// Keeps something far too large from filling the memory.
fn give_up_beyond(limit_bytes: Option<u64>, reference: &mut Reference) {
    let held_bytes = reference.packed.held_bytes() + reference.annotation_bytes();
    if limit_bytes.is_some_and(|limit_bytes| held_bytes > limit_bytes) {
        reference.only_count();
    }
}
