//! Planted changes: a comparison that never fails may be blind, so that tests change one field of
//! what is compared and require that it is seen.
#![allow(clippy::panic)]

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Requires that a comparison fails, as it does by a panic; the panic's message is printed.
///
/// # Panics
/// Where it does not fail.
#[track_caller]
pub fn is_seen<T>(what: &str, comparison: impl FnOnce() -> T) {
    if catch_unwind(AssertUnwindSafe(comparison)).is_ok() {
        panic!("{what}: a planted change is not seen");
    }
}

/// A line of SAM with one field changed: name of the field, and the line.
pub type Changed = (&'static str, String);

/// A mapped record of SAM text with each of its fields changed in turn: FLAG (duplicate), POS,
/// MAPQ, CIGAR, TLEN, SEQ, QUAL, and a tag left out and added. `None` where the record has no
/// CIGAR or no bases.
#[must_use]
pub fn changed_fields(line: &str) -> Option<Vec<Changed>> {
    let columns: Vec<&str> = line.split('\t').collect();
    if columns.len() < 11 || columns[5] == "*" || columns[9] == "*" || columns[10] == "*" {
        return None;
    }
    let numbers = [1, 3, 4, 8].map(|at| columns[at].parse::<i64>().ok());
    let [Some(flag), Some(position), Some(mapq), Some(length)] = numbers else { return None };
    let with = |at: usize, value: String| {
        let mut columns = columns.clone();
        columns[at] = &value;
        columns.join("\t")
    };
    let other = |text: &str, (one, two): (char, char)| {
        let last = if text.ends_with(one) { two } else { one };
        format!("{}{last}", &text[..text.len() - 1])
    };
    let mut changed = vec![
        ("FLAG", with(1, (flag ^ 0x400).to_string())),
        ("POS", with(3, (position + 1).to_string())),
        ("MAPQ", with(4, (mapq ^ 1).to_string())),
        ("CIGAR", with(5, other_cigar(columns[5]))),
        ("TLEN", with(8, (length + 1).to_string())),
        ("SEQ", with(9, other(columns[9], ('A', 'C')))),
        ("QUAL", with(10, other(columns[10], ('#', 'I')))),
        ("a tag more", format!("{line}\tzz:i:1")),
    ];
    if columns.len() > 11 {
        changed.push(("a tag less", columns[..columns.len() - 1].join("\t")));
    }
    Some(changed)
}

/// A CIGAR of as many bases that differs: its first operation in two.
fn other_cigar(cigar: &str) -> String {
    let digits = cigar.chars().take_while(char::is_ascii_digit).count();
    let (length, rest) = cigar.split_at(digits);
    let operation = rest.chars().next().unwrap_or('M');
    match length.parse::<u32>() {
        Ok(length) if length > 1 => format!("1{operation}{}{rest}", length - 1),
        _ => format!("{length}{}{}", if operation == 'S' { 'I' } else { 'S' }, &rest[1..]),
    }
}

/// SAM text with its middle mapped record changed: a text for each field.
#[must_use]
pub fn changed_texts(sam: &str) -> Vec<Changed> {
    let lines: Vec<&str> = sam.lines().collect();
    let records = lines.iter().filter(|line| !line.starts_with('@')).count();
    let first = lines.len() - records;
    let at = (first + records / 2..lines.len()).chain(first..first + records / 2);
    let Some((at, fields)) = at.into_iter().find_map(|at| Some((at, changed_fields(lines[at])?)))
    else {
        return Vec::new();
    };
    let with = |line: &str| [&lines[..at], &[line], &lines[at + 1..], &[""]].concat().join("\n");
    fields.into_iter().map(|(field, line)| (field, with(&line))).collect()
}

/// The text with its last number one greater; `None` where it has no number.
#[must_use]
pub fn changed_number(text: &str) -> Option<String> {
    let end = text.rfind(|c: char| c.is_ascii_digit())? + 1;
    let start = text[..end].rfind(|c: char| !c.is_ascii_digit()).map_or(0, |it| it + 1);
    let number: u64 = text[start..end].parse().ok()?;
    Some(format!("{}{}{}", &text[..start], number + 1, &text[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "r\t99\tc\t5\t60\t4M\t=\t9\t8\tACGT\tIIII\tNM:i:0\tHN:i:1";

    #[test]
    fn each_change_is_of_one_field() {
        let changed = changed_fields(LINE).unwrap();
        assert_eq!(changed.len(), 9);
        for (field, line) in changed {
            let (a, b): (Vec<_>, Vec<_>) = (LINE.split('\t').collect(), line.split('\t').collect());
            let differ = a.iter().zip(&b).filter(|(a, b)| a != b).count();
            assert_eq!(differ + a.len().abs_diff(b.len()), 1, "{field}: {line}");
        }
        for line in ["r\t4\t*\t0\t0\t*\t*\t0\t0\tA\tI", "r\t0\tc\t1\t1\t1M\t*\t0\t0\t*\t*", ""] {
            assert!(changed_fields(line).is_none(), "{line}");
        }
    }

    #[test]
    fn cigars_stay_as_long_where_they_can() {
        let t = |cigar, expected| assert_eq!(other_cigar(cigar), expected);
        t("4M", "1M3M");
        t("10S3M", "1S9S3M");
        t("1M2I", "1S2I");
        t("1S2M", "1I2M");
    }

    #[test]
    fn the_middle_record_is_changed() {
        let sam = format!("@HD\tVN:1.6\nr0\t4\t*\t0\t0\t*\t*\t0\t0\tA\tI\n{LINE}\n");
        let changed = changed_texts(&sam);
        assert_eq!(changed.len(), 9);
        for (field, text) in changed {
            let differ = sam.lines().zip(text.lines()).filter(|(a, b)| a != b).count();
            assert_eq!((differ, text.lines().count()), (1, 3), "{field}");
        }
        assert!(changed_texts("@HD\tVN:1.6\n").is_empty());
    }

    #[test]
    fn numbers_are_changed() {
        let t =
            |text, expected: Option<&str>| assert_eq!(changed_number(text).as_deref(), expected);
        t("a\t19\tb", Some("a\t20\tb"));
        t("0.25\n", Some("0.26\n"));
        t("7", Some("8"));
        t("none", None);
    }

    #[test]
    fn a_comparison_that_fails_has_seen_it() {
        is_seen("seen", || assert_eq!(1, 2));
        assert!(catch_unwind(|| is_seen("not seen", || 1)).is_err());
    }
}
