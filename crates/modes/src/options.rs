//! Options that several modes have.

/// How many placements of a read are reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reported {
    /// All of them (`-a`).
    All,
    /// At most so many (`-k`), the best ones.
    AtMost(u32),
}

/// The strands of the reference that reads are placed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strands {
    /// The reference and its reverse complement.
    Both,
    /// The read as it is.
    Forward,
    /// Its reverse complement.
    Reverse,
}

impl Strands {
    /// Those of a mate that is the other way.
    pub(crate) fn turned_if(self, is_turned: bool) -> Self {
        match self {
            Self::Forward if is_turned => Self::Reverse,
            Self::Reverse if is_turned => Self::Forward,
            strands => strands,
        }
    }
}
