//! Read structures, in fgbio's syntax: what the bases of a read are, from its start on.
//!
//! A structure is a row of segments, each a length and a letter: `M` a UMI, `S` skipped, `T` the
//! template. `+` in place of the last length is all that is left. Here a structure has one `T`, so
//! that what is aligned is one piece of the read, and the length of every `M` is written.

use std::ops::Range;
use std::str::FromStr;

use seqloom_runtime::error::{Class, RunError};

/// What the bases of a read are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadStructure {
    umis: Vec<Range<usize>>,
    /// Where the template starts, and its length; `None` is all that is left.
    template: (usize, Option<usize>),
    /// Bases of all segments with a length.
    fixed_bases: usize,
    /// Whether the last segment is as long as the read is.
    is_open: bool,
}

/// Why a text is no read structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StructureError {
    /// It is no row of segments.
    #[error("is not a read structure: lengths, each followed by M, S or T, such as 8M5S+T")]
    Malformed,
    /// `+` is elsewhere.
    #[error("has a + before its last segment, whose length alone may be left open")]
    OpenBefore,
    /// A UMI without a length.
    #[error("has +M; the length of a UMI is a number")]
    OpenUmi,
    /// Nothing, or several things, to align.
    #[error("must have one T, the bases to align")]
    Templates,
}

impl RunError for StructureError {
    fn class(&self) -> Class {
        Class::Usage
    }
}

impl FromStr for ReadStructure {
    type Err = StructureError;

    fn from_str(text: &str) -> Result<Self, StructureError> {
        let mut found =
            Self { umis: Vec::new(), template: (0, None), fixed_bases: 0, is_open: false };
        let mut templates = 0;
        for segment in text.split_inclusive(|letter: char| letter.is_ascii_alphabetic()) {
            if found.is_open {
                return Err(StructureError::OpenBefore);
            }
            let at = segment.char_indices().next_back().map_or(0, |(at, _)| at);
            let (length, kind) = segment.split_at(at);
            let start = found.fixed_bases;
            let length = match length {
                "+" => None,
                // Longer reads than these are none that anybody sequences.
                digits => Some(digits.parse().ok().filter(|it| (1..1 << 30).contains(it))),
            };
            let length: Option<usize> = match length {
                None => None,
                Some(number) => Some(number.ok_or(StructureError::Malformed)?),
            };
            match (kind, length) {
                ("M", Some(bases)) => found.umis.push(start..start + bases),
                ("M", None) => return Err(StructureError::OpenUmi),
                ("T", length) => {
                    found.template = (start, length);
                    templates += 1;
                }
                ("S", _) => {}
                _ => return Err(StructureError::Malformed),
            }
            found.fixed_bases += length.unwrap_or(0);
            found.is_open = length.is_none();
        }
        if templates == 1 { Ok(found) } else { Err(StructureError::Templates) }
    }
}

impl ReadStructure {
    /// Where UMIs are in a read.
    pub(super) fn umis(&self) -> &[Range<usize>] {
        &self.umis
    }

    /// Bases that a read must have, and whether it may have more.
    pub(super) fn bases(&self) -> (usize, bool) {
        (self.fixed_bases, self.is_open)
    }

    /// The bases to align of a read of so many; `None` if it is not of this structure.
    pub(super) fn template(&self, bases: usize) -> Option<Range<usize>> {
        let fits = bases == self.fixed_bases || (self.is_open && bases > self.fixed_bases);
        let (start, length) = self.template;
        fits.then(|| start..length.map_or(bases, |length| start + length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_say_what_bases_are() {
        let t = |text: &str, bases: usize, umis: &[(usize, usize)], template: Range<usize>| {
            let structure: ReadStructure = text.parse().unwrap();
            let found: Vec<_> = structure.umis().iter().map(|it| (it.start, it.end)).collect();
            assert_eq!(found, umis, "{text}");
            assert_eq!(structure.template(bases), Some(template), "{text}");
        };
        t("+T", 9, &[], 0..9);
        t("8M+T", 10, &[(0, 8)], 8..10);
        t("8M+T", 8, &[(0, 8)], 8..8);
        t("3M2S+T", 10, &[(0, 3)], 5..10);
        t("2S3M1S4M5T+S", 30, &[(2, 5), (6, 10)], 10..15);
        t("5T3M", 8, &[(5, 8)], 0..5);
    }

    #[test]
    fn reads_of_other_lengths_do_not_fit() {
        let t = |text: &str, bases: usize| {
            text.parse::<ReadStructure>().unwrap().template(bases).is_some()
        };
        assert_eq!(
            [t("8M+T", 7), t("8M5T", 12), t("8M5T", 13), t("8M5T", 14)],
            [false, false, true, false]
        );
    }

    #[test]
    fn what_is_no_structure_is_refused() {
        use StructureError::{Malformed, OpenBefore, OpenUmi, Templates};
        let t = |text: &str, expected| {
            assert_eq!(text.parse::<ReadStructure>(), Err(expected), "{text}");
        };
        t("", Templates);
        t("8M+S", Templates);
        t("8M5T5T", Templates);
        t("+M", OpenUmi);
        t("+T8M", OpenBefore);
        t("8", Malformed);
        t("M+T", Malformed);
        t("0M+T", Malformed);
        t("8m+t", Malformed);
        t("8B+T", Malformed);
        t("-8M+T", Malformed);
        t("99999999999M+T", Malformed);
        t("8M5T9", Malformed);
        t("8é+T", Malformed);
        t("8M5Té", Malformed);
    }
}
