//! What can be wrong with a FAST5 file, or with one of its reads.

use std::path::PathBuf;

use seqloom_format::hdf5::Hdf5Error;
use seqloom_format::signal::read_id::ReadIdError;

/// A file or read that cannot be used: where, and why.
#[derive(Debug, thiserror::Error)]
#[error("{}{}: {problem}", path.display(), place(.read.as_deref(), *.address))]
pub struct Fast5Error {
    /// The file.
    pub path: PathBuf,
    /// The read's group in the file; none when the file as a whole is concerned.
    pub read: Option<String>,
    /// Address of the object in the file, where the problem does not name one itself.
    pub address: Option<u64>,
    /// The problem.
    pub problem: Fast5Problem,
}

impl Fast5Error {
    /// Problem of a whole file, without its path.
    pub fn without_path(&self) -> String {
        let group = self.read.as_ref().map(|group| format!("group {group}: ")).unwrap_or_default();
        format!("{group}{}", self.problem)
    }
}

fn place(read: Option<&str>, address: Option<u64>) -> String {
    let read = read.map(|read| format!(", group {read}")).unwrap_or_default();
    let address = address.map(|address| format!(", byte {address}")).unwrap_or_default();
    read + &address
}

/// The problem.
#[derive(Debug, thiserror::Error)]
pub enum Fast5Problem {
    /// The container is damaged or uses more of HDF5 than FAST5 does.
    #[error(transparent)]
    Hdf5(#[from] Hdf5Error),
    /// `file_version` is not `MAJOR.MINOR`.
    #[error("cannot understand the file version {0:?}")]
    FileVersion(String),
    /// There is no read in the file.
    #[error("there are no reads in it")]
    NoReads,
    /// A file has no read of this number.
    #[error("there is no read number {0}")]
    NoSuchRead(usize),
    /// A link leads nowhere.
    #[error("the link {0:?} leads nowhere")]
    DanglingLink(String),
    /// Groups are nested deeper, or are more, than those of a read ever are.
    #[error("its groups are nested too deep or are too many")]
    TooManyGroups,
    /// An attribute whose name SLOW5 cannot keep.
    #[error("attribute {0:?}: a name may not be \".\" and may have no white space but blanks")]
    AttributeName(String),
    /// A text that SLOW5 cannot keep.
    #[error("attribute {name:?}: a text may not be \".\" or have tabs or line breaks: {text:?}")]
    AttributeText {
        /// Name of the attribute.
        name: String,
        /// Its value.
        text: String,
    },
    /// A field of a read that is a list or of a type that has no place in SLOW5.
    #[error("attribute {0:?} is a list or of an unexpected type")]
    AttributeType(String),
    /// Any other attribute that is, where all are to be kept.
    #[error(
        "attribute {0:?} is a list or of an unexpected type, which `seqloom signal convert \
         --dump-all` cannot keep; without --dump-all it is left out"
    )]
    List(String),
    /// An attribute has not the type or range that a field of all reads has.
    #[error("attribute {name:?} cannot be made {expected}")]
    Convert {
        /// Name of the attribute.
        name: String,
        /// Type of the field.
        expected: &'static str,
    },
    /// An attribute has not the type or range that an auxiliary field has.
    #[error(
        "attribute {name:?} cannot be made {expected}; `seqloom signal convert -l no` leaves \
         auxiliary fields out"
    )]
    ConvertAuxiliary {
        /// Name of the attribute.
        name: String,
        /// Type of the field.
        expected: &'static str,
    },
    /// An attribute in a place where none of that name is known.
    #[error(
        "attribute {name:?} of group {group:?} has no place in SLOW5; `seqloom signal convert \
         --dump-all` makes an auxiliary field of it, and -l no leaves it out"
    )]
    UnexpectedAttribute {
        /// Name of the attribute.
        name: String,
        /// Its group.
        group: String,
    },
    /// A header attribute, or a field of a read, is in two places with two values.
    #[error("attribute {0:?} is in two places")]
    Duplicate(String),
    /// Reads of one file belong to several runs.
    #[error(
        "run_id {found:?} is not that of the reads before, {expected:?}; `seqloom signal convert \
         --allow` takes all reads for those of one run"
    )]
    RunIdMismatch {
        /// The run of the reads before.
        expected: String,
        /// That of this read.
        found: String,
    },
    /// Neither the read's group nor its tracking_id has a run_id.
    #[error("run_id is missing")]
    NoRunId,
    /// A multi-read file's first read lacks a group.
    #[error("group {0} is missing")]
    NoGroup(&'static str),
    /// A file, or a read, of basecalls or events alone.
    #[error(
        "there is no raw signal in it, and events or basecalls do not replace it; use a file with \
         a group Raw"
    )]
    NoRawSignal,
    /// A field that every read must have.
    #[error("{0} is missing")]
    Missing(&'static str),
    /// A read id that no read may have.
    #[error(transparent)]
    ReadId(#[from] ReadIdError),
    /// Labels of an enum that SLOW5 cannot keep, or a value without a label.
    #[error(
        "attribute {0:?}: its labels, or its value among them, cannot be kept; `seqloom signal \
         convert -l no` leaves auxiliary fields out"
    )]
    EnumLabels(String),
    /// A second dataset in a read, or none of signal.
    #[error("there is more than one dataset in a read")]
    ManyDatasets,
}

/// Bytes of a file as text for a message.
pub(super) fn lossy(bytes: &[u8]) -> String {
    const MOST: usize = 200;
    String::from_utf8_lossy(&bytes[..bytes.len().min(MOST)]).into_owned()
}
