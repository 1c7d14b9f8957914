//! A malformed record: the problem, and where in its input it is.

use std::fmt;
use std::path::PathBuf;

use seqloom_format::bgzf::VirtualOffset;
use seqloom_runtime::error::Place;

/// A malformed record and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    /// The input.
    pub path: PathBuf,
    /// Number of the record, from 1, header lines not counted.
    pub record: u64,
    /// Name of the read as far as it is known.
    pub name: Option<String>,
    /// Name of the read before, where the record itself has none.
    pub after: Option<String>,
    /// Where the record starts or, in FASTQ and FASTA, the byte at fault.
    pub place: RecordPlace,
    /// The problem.
    pub problem: String,
    /// A hint, if there is one.
    pub hint: Option<&'static str>,
}

/// A place in an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordPlace {
    /// In a BGZF file that is read at offsets.
    Virtual(VirtualOffset),
    /// Offset in the data, decompressed where they are compressed.
    Byte(u64),
    /// In text.
    Line {
        /// Number of the line, from 1, header lines counted.
        line: u64,
        /// Offset in the decompressed text.
        byte: u64,
    },
    /// In a container of CRAM.
    Container {
        /// Its number, from 1.
        container: u64,
        /// Offset of its start.
        byte: u64,
    },
}

impl fmt::Display for RecordPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Virtual(offset) => write!(
                f,
                "byte {} of the BGZF block at byte {} (virtual offset {})",
                offset.offset_in_block(),
                offset.block_offset(),
                offset.raw()
            ),
            Self::Byte(byte) => write!(f, "byte {byte}"),
            Self::Line { line, byte } => write!(f, "line {line}, byte {byte}"),
            Self::Container { container, byte } => {
                write!(f, "container {container}, byte {byte}")
            }
        }
    }
}

impl Malformed {
    pub(crate) fn place(&self) -> Place {
        let (line, byte) = match self.place {
            RecordPlace::Virtual(offset) => (None, offset.block_offset()),
            RecordPlace::Byte(byte) | RecordPlace::Container { byte, .. } => (None, byte),
            RecordPlace::Line { line, byte } => (Some(line), byte),
        };
        let (record, byte) = (Some(self.record), Some(byte));
        Place { record, name: self.name.clone(), line, byte, ..Place::of(&self.path) }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: record {}", self.path.display(), self.record)?;
        match (&self.name, &self.after) {
            (Some(name), _) => write!(f, " ({name})")?,
            (None, Some(after)) => write!(f, " (after {after})")?,
            (None, None) => {}
        }
        write!(f, ", {}: {}", self.place, self.problem)?;
        match self.hint {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Malformed {}

/// The name of a read for a message; `None` if it is empty.
pub(crate) fn shown_name(name: &[u8]) -> Option<String> {
    (!name.is_empty()).then(|| String::from_utf8_lossy(name).escape_debug().to_string())
}
