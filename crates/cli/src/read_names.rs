//! `--mend-names`: what happens to read names that SAM does not allow, wherever reads enter.

use seqloom_format::names::ReadNames;

/// How read names are taken.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ReadNameArguments {
    /// Rename reads whose names SAM does not allow, which are refused otherwise: `_` in place of
    /// `@` and of all that is not printable ASCII; of more than 254 bytes, the first 237, `_` and a
    /// hash of the whole name
    #[arg(long, help_heading = "Input")]
    mend_names: bool,
}

impl ReadNameArguments {
    /// What happens to names that SAM does not allow.
    pub(crate) fn policy(&self) -> ReadNames {
        if self.mend_names { ReadNames::Rename } else { ReadNames::Check }
    }

    /// Whether reads may be renamed.
    #[cfg(feature = "signal")]
    pub(crate) fn is_given(&self) -> bool {
        self.mend_names
    }
}
