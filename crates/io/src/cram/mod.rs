//! CRAM as an input: containers from files and pipes, one at a time, each decoded by whichever
//! worker has taken it.
//!
//! Decoding is nearly all the work, so all is read front to back under a lock (`containers`), and
//! everything else is done after it is let go (`input`).

mod containers;
mod error;
mod input;

use std::sync::Arc;

use seqloom_cram::read::SequenceBases;

pub(crate) use self::containers::{ContainerPiece, CramLimits};
pub(crate) use self::error::Consumer;
pub use self::error::{ContainerDefect, MalformedContainer};
pub(crate) use self::input::{ContainerScratch, CramInput, read_header};

/// Bases of an input's sequences, in upper case, by the order of its header.
pub type InputBases = Arc<dyn SequenceBases + Send + Sync>;

/// The most that a container may take when it is inflated, if nobody says less.
pub(crate) const MAX_CONTAINER_BYTES: usize = 1 << 30;
