//! The phases by name.

/// A phase of preparation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Records to partitions, which is the command's.
    Ingest,
    /// Which records are duplicates.
    Resolve,
    /// In orders by name, records to partitions by name. Where lanes were read side by side, the
    /// records without a reference to bins by their number in the whole input.
    Redistribute,
    /// What recalibration counts.
    Recalibrate,
    /// Records sorted, encoded and written.
    Finish,
}

impl Phase {
    /// All of them, in order.
    pub const ALL: [Self; 5] =
        [Self::Ingest, Self::Resolve, Self::Redistribute, Self::Recalibrate, Self::Finish];

    /// As reports call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ingest => "ingest",
            Self::Resolve => "resolve",
            Self::Redistribute => "redistribute",
            Self::Recalibrate => "recalibrate",
            Self::Finish => "finish",
        }
    }
}
