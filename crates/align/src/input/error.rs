//! What can be wrong with reads as they come in: files that do not belong together, mates that are
//! not where they are looked for.

use seqloom_io::reads::ReadsError;
use seqloom_runtime::error::{Class, Place, RunError};

use crate::input::tags::TagError;
use crate::input::umi::UmiError;

/// Why the input cannot be cut.
#[derive(Debug, thiserror::Error)]
pub enum CohortError {
    /// Malformed input.
    #[error(transparent)]
    Source(#[from] ReadsError),
    /// One file of a pair ends before the other.
    #[error(
        "{shorter} ends after {records} records, {longer} has more: the files do not belong \
         together"
    )]
    UnequalCounts {
        /// The file that ended.
        shorter: String,
        /// The file that has more.
        longer: String,
        /// Records of the shorter file.
        records: u64,
    },
    /// The two reads of a template have different names.
    #[error(
        "{files}: record {record}: mates out of step, '{first}' and '{second}' have different names"
    )]
    NamesDiffer {
        /// The file or files, joined by `+`.
        files: String,
        /// 1-based record in each file.
        record: u64,
        /// Name in the first file.
        first: String,
        /// Name in the second file.
        second: String,
    },
    /// The two reads of a template have no numbers, which those of the first one have.
    #[error(
        "{files}: record {record}: mates out of step, '{first}' and '{second}' do not end in .1 \
         and .2, as the names of the first pair do"
    )]
    NumbersMissing {
        /// The file or files, joined by `+`.
        files: String,
        /// 1-based record in each file.
        record: u64,
        /// Name in the first file.
        first: String,
        /// Name in the second file.
        second: String,
    },
    /// The two reads of a template say that they are not the first and the second.
    #[error(
        "{files}: record {record}: mates '{name}' say that they are reads {first} and {second} of \
         their pair, in this order; {hint}"
    )]
    NumbersWrong {
        /// The file or files, joined by `+`.
        files: String,
        /// 1-based record: in each of two files, in one that of the read before.
        record: u64,
        /// Name of both.
        name: String,
        /// What the one before says.
        first: u8,
        /// What the other says.
        second: u8,
        /// A hint.
        hint: &'static str,
    },
    /// BAM that holds alignments, sorted by coordinate.
    #[error(
        "{path}: holds alignments and is sorted by coordinate (SO:coordinate), but mates must be \
         neighbours; {}",
        group_by_name(path)
    )]
    NotGrouped {
        /// The BAM file.
        path: String,
    },
    /// BAM with the mates of a pair in different places, or the second before the first.
    #[error(
        "{path}: the mates of '{name}' are primary records {} and {}, but they must be neighbours, \
         the first of the pair first; {}", records[0], records[1], group_by_name(path)
    )]
    MatesApart {
        /// The BAM file.
        path: String,
        /// Name of both.
        name: String,
        /// Their numbers, from 1, secondary and supplementary records not counted.
        records: [u64; 2],
    },
    /// A template without the UMI that it should have.
    #[error("{files}: record {record}, read '{name}': {source}")]
    Umi {
        /// The file or files, joined by `+`.
        files: String,
        /// 1-based record: in each of two files, in one that of the read before.
        record: u64,
        /// Read name.
        name: String,
        /// The problem.
        source: UmiError,
    },
    /// What the input says of a read cannot be a tag of its records.
    #[error("{files}: record {record}, read '{name}': {source}")]
    Tag {
        /// The file or files, joined by `+`.
        files: String,
        /// 1-based record: in each of two files, or in the only one.
        record: u64,
        /// Read name.
        name: String,
        /// The problem.
        source: TagError,
    },
}

impl RunError for CohortError {
    fn class(&self) -> Class {
        match self {
            Self::Source(source) => source.class(),
            Self::UnequalCounts { .. }
            | Self::NamesDiffer { .. }
            | Self::NumbersMissing { .. }
            | Self::NumbersWrong { .. }
            | Self::NotGrouped { .. }
            | Self::MatesApart { .. }
            | Self::Umi { .. }
            | Self::Tag { .. } => Class::Input,
        }
    }

    fn place(&self) -> Place {
        let (file, record, name) = match self {
            Self::Source(source) => return source.place(),
            Self::UnequalCounts { shorter, records, .. } => (shorter, Some(*records), None),
            Self::NamesDiffer { files, record, first, .. }
            | Self::NumbersMissing { files, record, first, .. } => {
                (files, Some(*record), Some(first))
            }
            Self::NumbersWrong { files, record, name, .. }
            | Self::Umi { files, record, name, .. }
            | Self::Tag { files, record, name, .. } => (files, Some(*record), Some(name)),
            Self::NotGrouped { path } => (path, None, None),
            Self::MatesApart { path, name, records } => (path, Some(records[1]), Some(name)),
        };
        Place { file: Some(file.clone()), record, name: name.cloned(), ..Place::default() }
    }
}

/// The command that puts mates next to each other.
fn group_by_name(path: &str) -> String {
    let path = if path == "standard input" { "-" } else { path };
    format!("group it by name first: `samtools collate -o grouped.bam {path}`")
}
