//! What goes with an output and is made as its records are written.

use seqloom_cram::Numbering;
use seqloom_format::index::IndexBuilder;
use seqloom_format::{MalformedState, Persist};

/// The index of an output, gathered while its units are written.
#[derive(Debug)]
pub enum OutputIndex {
    /// Bins of BAM, for BAI or CSI.
    Bins(IndexBuilder),
    /// Numbers of the containers of CRAM, and their index, where one is requested.
    Containers(Numbering),
}

impl Persist for OutputIndex {
    fn save(&self, out: &mut Vec<u8>) {
        matches!(self, Self::Containers(_)).save(out);
        match self {
            Self::Bins(builder) => builder.save(out),
            Self::Containers(numbering) => numbering.save(out),
        }
    }

    fn load(bytes: &mut &[u8]) -> Result<Self, MalformedState> {
        Ok(match bool::load(bytes)? {
            false => Self::Bins(Persist::load(bytes)?),
            true => Self::Containers(Persist::load(bytes)?),
        })
    }
}
