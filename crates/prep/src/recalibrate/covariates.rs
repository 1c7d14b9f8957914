//! Covariates of bases: context and cycle.

use std::ops::Range;

use seqloom_format::bam::{Flags, RecordRef};

use super::prepare::NO_BASE;

/// Context of a base that has none: near the start of the read, or with a base that is not A, C, G
/// or T.
pub(super) const NO_CONTEXT: u16 = u16::MAX;

/// Number of context columns for contexts of `bases` bases: one for each, and one more for reads
/// of nothing but low quality, whose bases GATK gives the context of no bases at all.
pub(super) fn context_columns(bases: u8) -> usize {
    (1 << (2 * usize::from(bases))) + 1
}

/// Text of a context column.
pub(super) fn context_text(column: usize, bases: u8) -> String {
    if column + 1 == context_columns(bases) {
        return String::new();
    }
    let letter = |at: u8| char::from(b"ACGT"[column >> (2 * usize::from(at)) & 3]);
    (0..bases).rev().map(letter).collect()
}

/// Column of the text of a context.
pub(super) fn context_column(text: &str, bases: u8) -> Option<usize> {
    if text.is_empty() {
        return Some(context_columns(bases) - 1);
    }
    if text.len() != usize::from(bases) {
        return None;
    }
    text.bytes().try_fold(0, |column, byte| {
        let code = b"ACGT".iter().position(|&it| it == byte)?;
        Some(column << 2 | code)
    })
}

/// The bases between the low-quality tails.
fn without_tails(qualities: &[u8], low_quality: u8) -> Range<usize> {
    let is_high = |&quality: &u8| quality > low_quality;
    let Some(first) = qualities.iter().position(is_high) else { return 0..0 };
    let end = qualities.iter().rposition(is_high).map_or(first, |at| at + 1);
    first..end
}

/// The bases of a read as the record has them.
pub(super) struct SequencedBases<'a> {
    /// 0 to 3 for A, C, G, T.
    pub(super) codes: &'a [u8],
    pub(super) qualities: &'a [u8],
    /// Sequenced from the last of them to the first.
    pub(super) is_reverse: bool,
}

/// Writes the context column of each base, of so many `bases`, or [`NO_CONTEXT`]; the context is
/// the base and those sequenced before it, so that reverse reads are looked at from their end,
/// complemented.
pub(super) fn contexts(
    read: &SequencedBases<'_>,
    low_quality_tail: u8,
    bases: u8,
    out: &mut Vec<u16>,
) {
    let &SequencedBases { codes, qualities, is_reverse } = read;
    let kept = without_tails(qualities, low_quality_tail);
    out.clear();
    if kept.is_empty() {
        out.resize(codes.len(), (context_columns(bases) - 1) as u16);
        return;
    }
    out.resize(codes.len(), NO_CONTEXT);
    if bases == 2 {
        return pairs(&codes[kept.clone()], is_reverse, &mut out[kept]);
    }
    let mask = (1_u32 << (2 * u32::from(bases))) - 1;
    let (mut key, mut run) = (0_u32, 0_u8);
    let mut next = |code: u8, out: &mut u16| {
        key = (key << 2 | u32::from(code & 3)) & mask;
        run = if code < NO_BASE { (run + 1).min(bases) } else { 0 };
        if run == bases {
            *out = key as u16;
        }
    };
    let (codes, out) = (&codes[kept.clone()], &mut out[kept]);
    if is_reverse {
        // 3 - code complements; what is no base stays none.
        let complement = |code: u8| if code < NO_BASE { 3 - code } else { NO_BASE };
        codes.iter().zip(out).rev().for_each(|(&code, out)| next(complement(code), out));
    } else {
        codes.iter().zip(out).for_each(|(&code, out)| next(code, out));
    }
}

/// Contexts of two bases, the usual ones: each on its own, so that many are done at a time.
fn pairs(codes: &[u8], is_reverse: bool, out: &mut [u16]) {
    let (left, right) = (&codes[..codes.len() - 1], &codes[1..]);
    // Codes of bases have two bits, that of no base has the third.
    let column = |before: u8, base: u8, complement: u8| match (before | base) < NO_BASE {
        true => u16::from((before << 2 | base) ^ complement),
        false => NO_CONTEXT,
    };
    let both = left.iter().zip(right);
    if is_reverse {
        both.zip(out).for_each(|((&base, &before), out)| *out = column(before, base, 15));
    } else {
        both.zip(&mut out[1..]).for_each(|((&before, &base), out)| *out = column(before, base, 0));
    }
}

/// Cycles of the bases of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cycles {
    /// Cycle of the first base.
    pub(super) first: i64,
    /// From a base to the next one.
    pub(super) step: i64,
}

/// Of a read of so many bases. Second reads of a pair count down from -1.
pub(super) fn cycles(length: usize, is_reverse: bool, is_second: bool) -> Cycles {
    let sign = if is_second { -1 } else { 1 };
    if is_reverse {
        Cycles { first: length as i64 * sign, step: -sign }
    } else {
        Cycles { first: sign, step: sign }
    }
}

/// Whether it is the second read of a pair.
pub(super) fn is_second(record: &RecordRef<'_>) -> bool {
    record.has_flags(Flags::PAIRED | Flags::SECOND_OF_PAIR)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(text: &str) -> Vec<u8> {
        let code = |byte| b"ACGT".iter().position(|&it| it == byte).map_or(NO_BASE, |at| at as u8);
        text.bytes().map(code).collect()
    }

    #[test]
    fn contexts_in_sequencing_order() {
        let t = |bases: &str, qualities: &[u8], size: u8, reverse: bool, expected: &[&str]| {
            let mut out = Vec::new();
            let (codes, is_reverse) = (&codes(bases)[..], reverse);
            let read = SequencedBases { codes, qualities, is_reverse };
            contexts(&read, 2, size, &mut out);
            let text = |&column: &u16| match column {
                NO_CONTEXT => "-".to_owned(),
                column => context_text(column.into(), size),
            };
            let texts: Vec<String> = out.iter().map(text).collect();
            assert_eq!(texts, expected, "{bases} {reverse}");
        };
        t("ACGT", &[9; 4], 2, false, &["-", "AC", "CG", "GT"]);
        t("AACT", &[9; 4], 2, true, &["TT", "GT", "AG", "-"]);
        t("ACNGT", &[9; 5], 2, false, &["-", "AC", "-", "-", "GT"]);
        t("ACNGA", &[9; 5], 2, true, &["GT", "-", "-", "TC", "-"]);
        t("ACGTA", &[2, 9, 1, 9, 2], 2, false, &["-", "-", "CG", "GT", "-"]);
        t("ACGT", &[2; 4], 2, false, &["", "", "", ""]);
        t("ACGTA", &[9; 5], 3, false, &["-", "-", "ACG", "CGT", "GTA"]);
        t("A", &[9], 3, false, &["-"]);
        t("", &[], 3, false, &[]);
    }

    /// Pairs are computed in a way of their own: against contexts of three bases.
    #[test]
    fn pairs_are_the_ends_of_triples() {
        let bases = codes("ACGTNACCNNGTTAGCATNACGGTTTNAC");
        let qualities: Vec<u8> = (0..bases.len()).map(|at| [2, 9, 30][at * 7 / 5 % 3]).collect();
        for is_reverse in [false, true] {
            let (mut two, mut three) = (Vec::new(), Vec::new());
            let read = SequencedBases { codes: &bases, qualities: &qualities, is_reverse };
            contexts(&read, 2, 2, &mut two);
            contexts(&read, 2, 3, &mut three);
            let ends = two.iter().zip(&three).filter(|(_, triple)| **triple != NO_CONTEXT);
            assert!(ends.clone().count() > 5);
            assert!(ends.clone().all(|(pair, triple)| *pair == triple & 15));
        }
    }

    #[test]
    fn contexts_have_texts() {
        for size in 1..=7 {
            for column in 0..context_columns(size) {
                let text = context_text(column, size);
                assert_eq!(context_column(&text, size), Some(column), "{text}");
            }
        }
        assert_eq!(context_column("AN", 2), None);
        assert_eq!(context_column("ACG", 2), None);
    }

    #[test]
    fn cycles_of_all_reads() {
        let cycles = |length, is_reverse, is_second| {
            let Cycles { first, step } = cycles(length, is_reverse, is_second);
            (first, step)
        };
        assert_eq!(cycles(5, false, false), (1, 1));
        assert_eq!(cycles(5, true, false), (5, -1));
        assert_eq!(cycles(5, false, true), (-1, -1));
        assert_eq!(cycles(5, true, true), (-5, 1));
    }
}
