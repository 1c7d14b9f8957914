//! A FASTA file, plain or gzip, read into a [`Reference`].

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use seqloom_format::bgzf::EOF_BLOCK;
use seqloom_format::fasta::{FastaParser, FastaSink};

use super::companions::{Companion, Companions};
use super::error::BuildError;
use super::reference::Reference;

/// Bytes read and parsed at a time.
const CHUNK_BYTES: usize = 256 << 10;

/// First bytes of a gzip member that is a BGZF block, as far as they are needed to decide.
const HEAD_BYTES: usize = 18;

/// The bytes of the file as they are there, counted, the last ones remembered.
struct Raw {
    input: io::Chain<Cursor<Vec<u8>>, File>,
    read_bytes: u64,
    tail: [u8; EOF_BLOCK.len()],
}

impl Read for Raw {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.input.read(buffer)?;
        self.read_bytes += n as u64;
        let new = &buffer[..n];
        if let Some(last) = new.last_chunk() {
            self.tail = *last;
        } else {
            self.tail.rotate_left(n);
            let end = self.tail.len();
            self.tail[end - n..].copy_from_slice(new);
        }
        Ok(n)
    }
}

enum Text {
    Plain(Raw),
    Gzip(Box<MultiGzDecoder<BufReader<Raw>>>),
}

impl Text {
    fn raw(&self) -> &Raw {
        match self {
            Self::Plain(raw) => raw,
            Self::Gzip(decoder) => decoder.get_ref().get_ref(),
        }
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let outcome = match self {
                Self::Plain(raw) => raw.read(buffer),
                Self::Gzip(decoder) => decoder.read(buffer),
            };
            match outcome {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => return other,
            }
        }
    }
}

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
/// The file cannot be read; its gzip data is damaged or cut; it is no FASTA we accept. When what it
/// holds takes more than `memory_limit_bytes` already packed, the bases are only counted.
pub(super) fn read(
    path: &Path,
    memory_limit_bytes: Option<u64>,
    progress: &mut dyn FnMut(f64),
) -> Result<(Reference, Vec<Companion>), BuildError> {
    let io_error = |source| BuildError::Io { path: path.to_owned(), source };
    let mut file = File::open(path).map_err(io_error)?;
    let size_bytes = file.metadata().map_err(io_error)?.len();
    let mut head = Vec::with_capacity(HEAD_BYTES);
    (&mut file).take(HEAD_BYTES as u64).read_to_end(&mut head).map_err(io_error)?;
    let is_gzip = head.starts_with(&[0x1f, 0x8b]);
    let is_bgzf = head.starts_with(&EOF_BLOCK[..4]) && head.get(12..16) == Some(&EOF_BLOCK[12..16]);
    let raw =
        Raw { input: Cursor::new(head).chain(file), read_bytes: 0, tail: [0; EOF_BLOCK.len()] };
    let mut text = if is_gzip {
        let buffered = BufReader::with_capacity(CHUNK_BYTES, raw);
        Text::Gzip(Box::new(MultiGzDecoder::new(buffered)))
    } else {
        Text::Plain(raw)
    };

    let mut parser = FastaParser::new();
    let mut sinks = Sinks { reference: Reference::new(), companions: Companions::new() };
    let fasta_error = |source| BuildError::Fasta { path: path.to_owned(), source };
    let mut buffer = vec![0; CHUNK_BYTES];
    loop {
        let n = text.read(&mut buffer).map_err(|source| match &text {
            Text::Gzip(_) => BuildError::Gzip { path: path.to_owned(), source },
            Text::Plain(_) => io_error(source),
        })?;
        if n == 0 {
            break;
        }
        parser.push(&buffer[..n], &mut sinks).map_err(fasta_error)?;
        sinks.companions.text(&buffer[..n]);
        give_up_beyond(memory_limit_bytes, &mut sinks.reference);
        if size_bytes > 0 {
            progress((text.raw().read_bytes as f64 / size_bytes as f64).min(1.0));
        }
    }
    if is_bgzf && text.raw().tail != EOF_BLOCK {
        let source = io::Error::new(io::ErrorKind::UnexpectedEof, "no BGZF end-of-file block");
        return Err(BuildError::Gzip { path: path.to_owned(), source });
    }
    parser.finish(&mut sinks).map_err(fasta_error)?;
    sinks.reference.shrink();
    Ok((sinks.reference, sinks.companions.finish(path, is_gzip)))
}

/// Keeps something far too large from filling the memory.
fn give_up_beyond(limit_bytes: Option<u64>, reference: &mut Reference) {
    let held_bytes = reference.packed.held_bytes() + reference.annotation_bytes();
    if limit_bytes.is_some_and(|limit_bytes| held_bytes > limit_bytes) {
        reference.only_count();
    }
}
