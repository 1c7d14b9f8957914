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
    /// Covariates counted for recalibration, and applied.
    Recalibrate,
    /// Records sorted, encoded and written.
    Finish,
}

impl Phase {
    /// All phases, in order.
    pub const ALL: [Self; 5] =
        [Self::Ingest, Self::Resolve, Self::Redistribute, Self::Recalibrate, Self::Finish];

    /// Its name, in progress, reports and manifests.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ingest => "ingest",
            Self::Resolve => "resolve",
            Self::Redistribute => "redistribute",
            Self::Recalibrate => "recalibrate",
            Self::Finish => "finish",
        }
    }
}
