//! Motifs whose methylation is called: short palindromes, one base of which a methyltransferase
//! methylates on either strand.

use std::fmt;

/// A motif, and the base of it that can be methylated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Motif {
    /// CG, 5-methylcytosine: vertebrates, M.SssI.
    #[default]
    Cpg,
    /// GC, 5-methylcytosine: M.CviPI, as in NOMe-seq.
    Gpc,
    /// GATC, 6-methyladenine: Dam of bacteria.
    Dam,
    /// CCWGG, 5-methylcytosine on the second C: Dcm of bacteria.
    Dcm,
}

impl Motif {
    /// All motifs.
    pub const ALL: [Self; 4] = [Self::Cpg, Self::Gpc, Self::Dam, Self::Dcm];

    /// Its name, as nanopolish and the `#alphabet` of its models have it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cpg => "cpg",
            Self::Gpc => "gpc",
            Self::Dam => "dam",
            Self::Dcm => "dcm",
        }
    }

    /// The motif of that name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }

    /// What it reads, upper case. All of a motif are of one length, no two sites overlap, and the
    /// reverse complement of a site is one.
    const fn texts(self) -> &'static [&'static [u8]] {
        match self {
            Self::Cpg => &[b"CG"],
            Self::Gpc => &[b"GC"],
            Self::Dam => &[b"GATC"],
            Self::Dcm => &[b"CCAGG", b"CCTGG"],
        }
    }

    /// Bases of a site.
    #[must_use]
    pub const fn length(self) -> usize {
        self.texts()[0].len()
    }

    /// Where a strand's methylated base is, in bases of the forward strand from the first of the
    /// site.
    #[must_use]
    pub(crate) const fn shift(self, is_reverse: bool) -> usize {
        let forward = match self {
            Self::Cpg => 0,
            Self::Gpc | Self::Dam | Self::Dcm => 1,
        };
        if is_reverse { self.length() - 1 - forward } else { forward }
    }

    /// The base that can be methylated, on its own strand.
    #[must_use]
    pub(crate) const fn base(self) -> u8 {
        match self {
            Self::Dam => b'A',
            Self::Cpg | Self::Gpc | Self::Dcm => b'C',
        }
    }

    /// The letter of the modification in MM tags and bedMethyl.
    #[must_use]
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Dam => b'a',
            Self::Cpg | Self::Gpc | Self::Dcm => b'm',
        }
    }

    /// Whether a site begins at `at` and ends within `bases`, which are upper case.
    #[must_use]
    pub(crate) fn is_at(self, bases: &[u8], at: usize) -> bool {
        let rest = bases.get(at..).unwrap_or_default();
        self.texts().iter().any(|text| rest.starts_with(text))
    }

    /// Whether each M of a k-mer is at the methylated base of a site, as far as the k-mer shows the
    /// site; other letters of sites may be bare.
    #[must_use]
    pub(crate) fn fits(self, kmer: &[u8]) -> bool {
        let shift = self.shift(false);
        let is_site = |mark: usize, text: &[u8]| {
            let hidden = shift.saturating_sub(mark);
            let mut shown = kmer[mark + hidden - shift..].iter().zip(&text[hidden..]);
            let is_letter = |(&letter, &base): (&u8, &u8)| {
                letter == base || letter == b'M' && self.base() == base
            };
            shown.all(is_letter)
        };
        let mut marks = kmer.iter().enumerate().filter(|(_, letter)| **letter == b'M');
        marks.all(|(mark, _)| self.texts().iter().any(|text| is_site(mark, text)))
    }

    /// Starts of the sites of `bases` (upper case), in their order.
    pub(crate) fn sites(self, bases: &[u8]) -> impl Iterator<Item = usize> {
        // All texts of a motif begin with the same letter.
        let first = self.texts()[0][0];
        memchr::memchr_iter(first, bases).filter(move |&at| self.is_at(bases, at))
    }
}

impl fmt::Display for Motif {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cpg => "CG",
            Self::Gpc => "GC",
            Self::Dam => "GATC",
            Self::Dcm => "CCWGG",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hmm::kmers::complement;

    #[test]
    fn motifs_are_palindromes_that_do_not_overlap_themselves() {
        for motif in Motif::ALL {
            assert_eq!(Motif::of_name(motif.name()), Some(motif));
            let texts = motif.texts();
            for text in texts {
                assert_eq!((text.len(), text[0]), (motif.length(), texts[0][0]));
                let paired: Vec<u8> = text.iter().rev().map(|&base| complement(base)).collect();
                assert!(texts.contains(&paired.as_slice()));
                for (length, other) in
                    (1..text.len()).flat_map(|n| texts.iter().map(move |t| (n, t)))
                {
                    assert!(!text.ends_with(&other[..length]), "{motif}");
                }
                assert_eq!(text[motif.shift(false)], motif.base());
                assert_eq!(complement(text[motif.shift(true)]), motif.base());
            }
        }
        assert_eq!(Motif::of_name("CG"), None);
    }

    #[test]
    fn sites_are_whole_ones() {
        let t = |motif: Motif, bases: &[u8], expected: &[usize]| {
            assert_eq!(motif.sites(bases).collect::<Vec<_>>(), expected, "{motif}");
        };
        t(Motif::Cpg, b"CGCGACG", &[0, 2, 5]);
        t(Motif::Gpc, b"GGCGCG", &[1, 3]);
        t(Motif::Dam, b"GATCGATCGAT", &[0, 4]);
        t(Motif::Dcm, b"CCAGGCCTGGCCCGGCCAG", &[0, 5]);
        t(Motif::Dcm, b"", &[]);
    }
}
