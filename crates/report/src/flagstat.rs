//! The text of `samtools flagstat` (as of samtools 1.16.1).

use std::fmt::{self, Write};

use seqloom_prep::metrics::{FlagCounts, Tally};

/// A line's label and its count; with a percentage of another count, or none.
type Line = (&'static str, fn(&FlagCounts) -> u64, Option<fn(&FlagCounts) -> u64>);

const LINES: [Line; 16] = [
    ("in total (QC-passed reads + QC-failed reads)", |c| c.total, None),
    ("primary", |c| c.primary, None),
    ("secondary", |c| c.secondary, None),
    ("supplementary", |c| c.supplementary, None),
    ("duplicates", |c| c.duplicates, None),
    ("primary duplicates", |c| c.primary_duplicates, None),
    ("mapped", |c| c.mapped, Some(|c| c.total)),
    ("primary mapped", |c| c.primary_mapped, Some(|c| c.primary)),
    ("paired in sequencing", |c| c.paired, None),
    ("read1", |c| c.first, None),
    ("read2", |c| c.second, None),
    ("properly paired", |c| c.properly_paired, Some(|c| c.paired)),
    ("with itself and mate mapped", |c| c.both_mapped, None),
    ("singletons", |c| c.singletons, Some(|c| c.paired)),
    ("with mate mapped to a different chr", |c| c.mate_elsewhere, None),
    ("with mate mapped to a different chr (mapQ>=5)", |c| c.mate_elsewhere_confident, None),
];

/// Writes the sixteen lines.
///
/// # Errors
/// Only those of `out`.
pub fn write_flagstat(out: &mut impl Write, tally: &Tally) -> fmt::Result {
    let Tally { passed, failed, .. } = tally;
    for (label, count, of) in LINES {
        write!(out, "{} + {} {label}", count(passed), count(failed))?;
        if let Some(of) = of {
            let share = |counts: &FlagCounts| percentage(count(counts), of(counts));
            write!(out, " ({} : {})", share(passed), share(failed))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Two decimals of a share that samtools divides in single precision.
fn percentage(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "N/A".to_owned();
    }
    format!("{:.2}%", f64::from(part as f32 / whole as f32) * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_not_available() {
        let mut text = String::new();
        write_flagstat(&mut text, &Tally::default()).unwrap();
        assert_eq!(text.lines().count(), 16);
        assert!(
            text.starts_with("0 + 0 in total (QC-passed reads + QC-failed reads)\n0 + 0 primary\n")
        );
        assert!(text.contains("\n0 + 0 mapped (N/A : N/A)\n"));
    }

    #[test]
    fn percentages() {
        assert_eq!(percentage(1, 3), "33.33%");
        assert_eq!(percentage(3, 3), "100.00%");
        assert_eq!(percentage(0, 3), "0.00%");
    }
}
