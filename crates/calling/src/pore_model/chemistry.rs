//! What was sequenced through which pore.

use std::fmt;

/// Pores and speeds that a model can be for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chemistry {
    /// DNA through R9 pores: `r9.4_450bps`, `dna_r9.4.1_400bps`.
    R9Dna,
    /// DNA through R10 pores: `r10.4.1_400bps`.
    R10Dna,
    /// RNA through R9 pores (RNA001, RNA002): `r9.4_70bps`.
    R9Rna,
    /// RNA through RP4 pores: `rna004`.
    Rna004,
}

impl Chemistry {
    /// The chemistry that the name of a kit or a model speaks of, if it does.
    #[must_use]
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        let has = |part: &str| name.contains(part);
        match () {
            () if has("rna004") || has("rp4") => Some(Self::Rna004),
            () if has("r10") => Some(Self::R10Dna),
            () if has("r9") && (has("rna") || has("_70bps")) => Some(Self::R9Rna),
            () if has("r9") => Some(Self::R9Dna),
            () => None,
        }
    }

    /// A kit as models name it, which [`Self::of_name`] knows again.
    #[must_use]
    pub(crate) const fn kit(self) -> &'static str {
        match self {
            Self::R9Dna => "r9.4_450bps",
            Self::R10Dna => "r10.4.1_400bps",
            Self::R9Rna => "r9.4_70bps",
            Self::Rna004 => "rna004_130bps",
        }
    }

    /// Whether signal runs from the 3' end to the 5' end.
    #[must_use]
    pub const fn is_rna(self) -> bool {
        matches!(self, Self::R9Rna | Self::Rna004)
    }
}

impl fmt::Display for Chemistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::R9Dna => "R9 DNA",
            Self::R10Dna => "R10 DNA",
            Self::R9Rna => "R9 RNA",
            Self::Rna004 => "RNA004",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_show_the_chemistry() {
        fn t(name: &str, expected: Option<Chemistry>) {
            assert_eq!(Chemistry::of_name(name), expected, "{name}");
        }
        t("r9.4_450bps", Some(Chemistry::R9Dna));
        t("r9.4_180mv_450bps_6mer", Some(Chemistry::R9Dna));
        t("dna_r9.4.1_400bps_6mer", Some(Chemistry::R9Dna));
        t("r9.4_70bps", Some(Chemistry::R9Rna));
        t("rna_r9.4.1_70bps_5mer", Some(Chemistry::R9Rna));
        t("dna_r10.4.1_400bps_9mer", Some(Chemistry::R10Dna));
        t("r10.4.1_400bps", Some(Chemistry::R10Dna));
        t("rna004_130bps_9mer", Some(Chemistry::Rna004));
        for chemistry in [Chemistry::R9Dna, Chemistry::R10Dna, Chemistry::R9Rna, Chemistry::Rna004]
        {
            t(chemistry.kit(), Some(chemistry));
        }
        t("none", None);
        t("", None);
    }
}
