//! Stages of a pass: what is made of stored reads.

mod copy;
pub(crate) mod degrade;
pub(crate) mod demultiplex;
mod duplicates;
mod index;
pub(crate) mod merge;
mod metadata;
pub(crate) mod transcode;

pub use copy::Copy;
pub use degrade::Dataset;
pub use demultiplex::{DemuxError, DemuxOptions, DemuxTable};
pub use duplicates::{Deduplication, RepeatedIds, SeenReads};
pub use index::{Locate, LocateScratch, Located};
pub use merge::{Differences, HeaderUnion, UnionError, UnionOptions};
pub use metadata::{Skim, column_names};
pub use transcode::{Deflate, DeflatedRead, Encoded, Encoding, Route, Transcode};
