//! BED: intervals of a reference, as text.
//!
//! Source: BED specification v1.0 (samtools/hts-specs): fields separated by tabs or spaces, the
//! first three being chromosome, start (0-based) and end (exclusive). Fields after them are not
//! read. Empty lines, comments (`#`) and the browser's `track` and `browser` lines are skipped.

use std::collections::HashMap;

use crate::bam::Reference;

/// Positions `[start, end)` of a reference, 0-based, in bp.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Interval {
    /// First position.
    pub start: i64,
    /// Position after the last.
    pub end: i64,
}

/// Problem of BED text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BedError {
    /// Fewer than three fields.
    #[error("BED line {line} has {fields} fields, at least 3 are needed")]
    TooFewFields {
        /// Line number, from 1.
        line: usize,
        /// Fields there are.
        fields: usize,
    },
    /// A start or end that is not a number.
    #[error("BED line {line}: {text:?} is not a position")]
    BadPosition {
        /// Line number, from 1.
        line: usize,
        /// The field.
        text: String,
    },
    /// An end before its start.
    #[error("BED line {line}: end {end} is before start {start}")]
    Reversed {
        /// Line number, from 1.
        line: usize,
        /// First position.
        start: i64,
        /// Position after the last.
        end: i64,
    },
}

/// Intervals by the name of their reference: sorted, and those that touch or overlap joined.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BedIntervals {
    by_name: HashMap<Vec<u8>, Vec<Interval>>,
}

impl BedIntervals {
    /// Reads BED text.
    ///
    /// # Errors
    /// A [`BedError`] that names the first malformed line.
    pub fn parse(text: &[u8]) -> Result<Self, BedError> {
        let mut by_name: HashMap<Vec<u8>, Vec<Interval>> = HashMap::new();
        for (index, text) in text.split(|&byte| byte == b'\n').enumerate() {
            if let Some((name, interval)) = parse_line(text, index + 1)? {
                match by_name.get_mut(name) {
                    Some(intervals) => intervals.push(interval),
                    None => drop(by_name.insert(name.to_vec(), vec![interval])),
                }
            }
        }
        by_name.values_mut().for_each(join);
        Ok(Self { by_name })
    }

    /// The intervals of one reference: sorted, disjoint; none where BED does not name it.
    #[must_use]
    pub fn of(&self, reference: &[u8]) -> &[Interval] {
        self.by_name.get(reference).map_or(&[], Vec::as_slice)
    }

    /// The intervals of each reference of a header, by its index.
    #[must_use]
    pub fn by_reference(&self, references: &[Reference]) -> Vec<Vec<Interval>> {
        references.iter().map(|it| self.of(it.name.as_bytes()).to_vec()).collect()
    }

    /// Names of the references that have intervals, sorted.
    #[must_use]
    pub fn names(&self) -> Vec<&[u8]> {
        let mut names: Vec<&[u8]> = self.by_name.keys().map(Vec::as_slice).collect();
        names.sort_unstable();
        names
    }
}

/// Whether `[start, end)` overlaps one of `intervals`, which are sorted and disjoint.
#[must_use]
pub fn overlaps(intervals: &[Interval], start: i64, end: i64) -> bool {
    let first_after_start = intervals.partition_point(|it| it.end <= start);
    intervals.get(first_after_start).is_some_and(|it| it.start < end)
}

/// Name and interval of a line, whose number is from 1; `None` for one without.
///
/// # Errors
/// A [`BedError`].
pub fn parse_line(text: &[u8], line: usize) -> Result<Option<(&[u8], Interval)>, BedError> {
    let mut fields =
        text.split(|byte| matches!(byte, b'\t' | b' ' | b'\r')).filter(|field| !field.is_empty());
    let Some(name) = fields.next() else { return Ok(None) };
    if name[0] == b'#' || name == b"track" || name == b"browser" {
        return Ok(None);
    }
    let mut position = |found| match fields.next() {
        None => Err(BedError::TooFewFields { line, fields: found }),
        Some(text) => std::str::from_utf8(text)
            .ok()
            .filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))
            .and_then(|text| text.parse::<i64>().ok())
            .ok_or_else(|| {
                let text = String::from_utf8_lossy(text).into_owned();
                BedError::BadPosition { line, text }
            }),
    };
    let (start, end) = (position(1)?, position(2)?);
    if end < start {
        return Err(BedError::Reversed { line, start, end });
    }
    Ok(Some((name, Interval { start, end })))
}

/// Sorts, and joins intervals that touch or overlap.
fn join(intervals: &mut Vec<Interval>) {
    intervals.sort_unstable();
    intervals.dedup_by(|next, kept| {
        let joined = next.start <= kept.end;
        if joined {
            kept.end = kept.end.max(next.end);
        }
        joined
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn intervals(pairs: &[(i64, i64)]) -> Vec<Interval> {
        pairs.iter().map(|&(start, end)| Interval { start, end }).collect()
    }

    #[test]
    fn lines_are_read() {
        let text = b"# comment\nbrowser position chr1:1-2\ntrack name=x\n\n \t\r\n\
            chr2\t5\t9\tname\t0\t+\r\nchr1 10 20\nchr1\t15\t30\nchr1\t30\t31\nchr1\t40\t40\n\
            chr1\t0\t1";
        let bed = BedIntervals::parse(text).unwrap();
        assert_eq!(bed.of(b"chr1"), intervals(&[(0, 1), (10, 31), (40, 40)]));
        assert_eq!(bed.of(b"chr2"), intervals(&[(5, 9)]));
        assert_eq!(bed.of(b"chr3"), []);
        assert_eq!(bed.names(), [b"chr1", b"chr2"]);
        assert_eq!(BedIntervals::parse(b"").unwrap(), BedIntervals::default());
        let references =
            ["chr2", "chr9"].map(|name| Reference { name: name.to_owned(), length: 50 });
        assert_eq!(bed.by_reference(&references), [intervals(&[(5, 9)]), vec![]]);
    }

    #[test]
    fn malformed_lines_are_named() {
        fn t(text: &str, expected: BedError) {
            assert_eq!(BedIntervals::parse(text.as_bytes()), Err(expected), "{text:?}");
        }
        let bad = |line, text: &str| BedError::BadPosition { line, text: text.to_owned() };
        t("chr1", BedError::TooFewFields { line: 1, fields: 1 });
        t("c\t0\t1\nchr1\t5\n", BedError::TooFewFields { line: 2, fields: 2 });
        t("c\t-1\t5", bad(1, "-1"));
        t("c\t+1\t5", bad(1, "+1"));
        t("c\t1\tx", bad(1, "x"));
        t("c\t1\t9223372036854775808", bad(1, "9223372036854775808"));
        t("c\t6\t5", BedError::Reversed { line: 1, start: 6, end: 5 });
    }

    proptest! {
        #[test]
        fn overlap_is_what_a_search_of_all_lines_finds(
            pairs in prop::collection::vec((0_i64..60, 0_i64..12), 0..12),
            start in 0_i64..70,
            length in 1_i64..20,
        ) {
            let text: String = pairs
                .iter()
                .map(|(start, length)| format!("c\t{start}\t{}\n", start + length))
                .collect();
            let bed = BedIntervals::parse(text.as_bytes()).unwrap();
            let end = start + length;
            let expected =
                pairs.iter().any(|&(at, length)| at < end && at + length > start);
            prop_assert_eq!(overlaps(bed.of(b"c"), start, end), expected);
        }

        #[test]
        fn noise_never_panics(text in "[c0-9\t \n\r#-]{0,60}") {
            let _ = BedIntervals::parse(text.as_bytes());
        }
    }
}
