//! The motifs that `--motif` names.

use clap::ValueEnum;
use seqloom_calling::Motif;

/// A motif on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum MotifName {
    /// CG, 5-methylcytosine
    Cpg,
    /// GC, 5-methylcytosine
    Gpc,
    /// GATC, 6-methyladenine
    Dam,
    /// CCWGG, 5-methylcytosine on the second C
    Dcm,
}

impl From<MotifName> for Motif {
    fn from(name: MotifName) -> Self {
        match name {
            MotifName::Cpg => Self::Cpg,
            MotifName::Gpc => Self::Gpc,
            MotifName::Dam => Self::Dam,
            MotifName::Dcm => Self::Dcm,
        }
    }
}
