//! The text of `samtools idxstats`.

use std::fmt::{self, Write};

use seqloom_format::bam::Reference;
use seqloom_prep::metrics::{ReferenceCounts, Tally};

/// Writes one line for each reference (name, length, mapped, unmapped records) and one for records
/// without a reference. References that the tally has not met have no records.
///
/// # Errors
/// Only those of `out`.
pub fn write_idxstats(
    out: &mut impl Write,
    references: &[Reference],
    tally: &Tally,
) -> fmt::Result {
    for (index, reference) in references.iter().enumerate() {
        let ReferenceCounts { mapped, unmapped } =
            tally.references.get(index).copied().unwrap_or_default();
        writeln!(out, "{}\t{}\t{mapped}\t{unmapped}", reference.name, reference.length)?;
    }
    writeln!(out, "*\t0\t0\t{}", tally.no_coordinate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_has_a_line() {
        let reference = |name: &str, length| Reference { name: name.to_owned(), length };
        let mut tally = Tally::new(1);
        tally.references[0] = ReferenceCounts { mapped: 3, unmapped: 1 };
        tally.no_coordinate = 7;
        let mut text = String::new();
        write_idxstats(&mut text, &[reference("a", 10), reference("b", 20)], &tally).unwrap();
        assert_eq!(text, "a\t10\t3\t1\nb\t20\t0\t0\n*\t0\t0\t7\n");
    }
}
