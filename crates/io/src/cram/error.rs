//! Containers that cannot be read.

use std::fmt;
use std::path::{Path, PathBuf};

use seqloom_cram::read::Problem;
use seqloom_runtime::error::Place;

/// Hint for a file that is not what was written.
const DAMAGED: &str = "the file is damaged: copy it again from its source";
/// Hint for what other programs read.
const PIPE: &str = "pipe it in: `samtools view -u FILE | seqloom ... -`";

/// Who reads the records, and what can be done about what is wrong with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Consumer {
    /// A command that takes alignments: it has a reference, and may allow truncated input.
    Alignments,
    /// A command that takes reads, and no bases of another reference.
    Reads,
}

impl Consumer {
    pub(crate) fn cut_hint(self) -> &'static str {
        match self {
            Self::Alignments => {
                "the file was probably cut short while it was copied or written; with \
                 --allow-truncated the containers before it are read"
            }
            Self::Reads => "the file was probably cut short while it was copied or written",
        }
    }

    pub(crate) fn reference_hint(self) -> &'static str {
        match self {
            Self::Alignments => "name the FASTA that the file was written with: --reference",
            Self::Reads => {
                "reads are taken from CRAM where they are not aligned; others are piped in: \
                 `samtools view -u -T FASTA FILE | seqloom ... -`"
            }
        }
    }
}

/// A problem in a container, which is not placed in its input yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerDefect {
    /// Offset from its start.
    pub byte: u64,
    /// The problem.
    pub problem: String,
    /// A hint.
    pub hint: Option<&'static str>,
}

impl ContainerDefect {
    /// The defect in the container of number `container`, from 1, which begins at `start`.
    pub(crate) fn at(self, input: &Path, container: u64, start: u64) -> MalformedContainer {
        MalformedContainer { path: input.to_path_buf(), container, start, defect: self }
    }

    /// Something that ends too early.
    pub(crate) fn cut(problem: &str, reader: Consumer) -> Self {
        Self { byte: 0, problem: problem.to_owned(), hint: Some(reader.cut_hint()) }
    }

    /// What a decoder says of `byte`, where no sequence has to be named.
    pub(crate) fn of(byte: usize, problem: &Problem) -> Self {
        let hint = match innermost(problem) {
            Problem::Version { .. } | Problem::NotCram => None,
            Problem::Method(_) | Problem::Encoding(_) => Some(PIPE),
            Problem::TooLarge(_) => Some("with more memory (-m) larger containers are read"),
            _ => Some(DAMAGED),
        };
        Self { byte: byte as u64, problem: problem.to_string(), hint }
    }
}

/// A problem without the record that has it.
pub(crate) fn innermost(problem: &Problem) -> &Problem {
    match problem {
        Problem::Record { problem, .. } => innermost(problem),
        problem => problem,
    }
}

/// A container that cannot be read, placed in its input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MalformedContainer {
    /// The input.
    pub path: PathBuf,
    /// Its number, from 1; 0 is that of the SAM header.
    pub container: u64,
    /// Offset in the input where it begins.
    pub start: u64,
    /// The problem.
    pub defect: ContainerDefect,
}

impl MalformedContainer {
    /// Its place in the input.
    #[must_use]
    pub fn place(&self) -> Place {
        Place::of(&self.path).at_byte(self.start.saturating_add(self.defect.byte))
    }
}

impl fmt::Display for MalformedContainer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, container, start, defect } = self;
        let byte = start.saturating_add(defect.byte);
        write!(f, "{}: ", path.display())?;
        match container {
            0 => write!(f, "the header's container")?,
            number => write!(f, "container {number}")?,
        }
        write!(f, ", byte {byte}: {}", defect.problem)?;
        match defect.hint {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for MalformedContainer {}
