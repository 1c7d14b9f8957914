//! Alignments against the truth in simulated read names.
//!
//! A primary alignment is right when it is on the contig and strand of one of the read's pieces
//! and its first base, or what would be its first base without clipping, is within
//! [`NEAR_BP`] of where that piece starts.

use crate::Error;
use crate::bam::{BamReader, BamRecord};
use crate::sam::flag;
use crate::truth::{self, Origin};
use std::fmt;
use std::path::Path;

/// How far from the truth an alignment may be.
pub(crate) const NEAR_BP: i64 = 20;
/// Lower edges of the MAPQ classes.
pub(crate) const CLASSES: [u8; 8] = [0, 1, 10, 20, 30, 40, 50, 60];

/// Mapped reads of a class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Mapped {
    /// All of them.
    pub all: u64,
    /// Those where they come from.
    pub right: u64,
}

/// Reads by how they were aligned.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Accuracy {
    /// Reads from the genome: mapped ones per MAPQ class.
    pub mapped: [Mapped; CLASSES.len()],
    /// Reads from the genome that were not mapped.
    pub missed: u64,
    /// Reads from nowhere: (all, mapped).
    pub from_nowhere: (u64, u64),
    /// Primary records marked as duplicates.
    pub duplicates: u64,
    /// Secondary and supplementary records.
    pub others: u64,
    /// Primary records whose names hold no truth.
    pub unknown: u64,
}

impl Accuracy {
    /// Mapped reads that are right.
    #[must_use]
    pub fn right(&self) -> u64 {
        self.mapped.iter().map(|class| class.right).sum()
    }

    /// All reads from the genome.
    #[must_use]
    pub fn reads(&self) -> u64 {
        self.mapped.iter().map(|class| class.all).sum::<u64>() + self.missed
    }

    /// Share of the mapped reads with at least `mapq` that are right; 1 when there are none.
    #[must_use]
    pub fn precision_from(&self, mapq: u8) -> f64 {
        let classes = CLASSES.iter().zip(&self.mapped).filter(|(edge, _)| **edge >= mapq);
        let (all, right) = classes.fold((0, 0), |sum, (_, c)| (sum.0 + c.all, sum.1 + c.right));
        share(right, all)
    }

    fn count(&mut self, record: &BamRecord) {
        if !record.is_primary() {
            self.others += 1;
            return;
        }
        let bits = record.flag();
        self.duplicates += u64::from(bits & flag::DUPLICATE != 0);
        let second = bits & flag::SECOND != 0;
        let Some(origins) = truth::origins(record.name(), second) else {
            self.unknown += 1;
            return;
        };
        let mapped = bits & flag::UNMAPPED == 0;
        if origins.is_empty() {
            self.from_nowhere.0 += 1;
            self.from_nowhere.1 += u64::from(mapped);
        } else if mapped {
            let class = CLASSES.iter().rposition(|&edge| record.mapq() >= edge).unwrap_or(0);
            self.mapped[class].all += 1;
            self.mapped[class].right += u64::from(origins.iter().any(|o| is_right(record, o)));
        } else {
            self.missed += 1;
        }
    }
}

fn is_right(record: &BamRecord, origin: &Origin) -> bool {
    let reverse = record.flag() & flag::REVERSE != 0;
    if reverse != origin.reverse || i64::from(record.reference()) != i64::from(origin.contig) {
        return false;
    }
    let clip = record.cigar().take_while(|op| b"SH".contains(&op.1)).map(|op| i64::from(op.0));
    let position = i64::from(record.position());
    let unclipped = position - clip.sum::<i64>();
    let truth = i64::from(origin.position);
    [position, unclipped].iter().any(|p| (p - truth).abs() <= NEAR_BP)
}

/// Judges every record of a BAM file whose references are in the order of the simulated genome.
///
/// # Errors
/// The file cannot be read or is damaged.
pub fn of_bam(path: &Path) -> Result<Accuracy, Error> {
    let mut reader = BamReader::open(path)?;
    let mut record = BamRecord::default();
    let mut accuracy = Accuracy::default();
    while reader.read(&mut record)? {
        accuracy.count(&record);
    }
    Ok(accuracy)
}

fn share(part: u64, all: u64) -> f64 {
    if all == 0 { 1.0 } else { part as f64 / all as f64 }
}

impl fmt::Display for Accuracy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (right, all) = (self.right(), self.reads());
        let percent = |part, all| 100.0 * share(part, all);
        writeln!(
            f,
            "{right} of {all} reads within {NEAR_BP} bp of the truth ({:.3} %)",
            percent(right, all)
        )?;
        writeln!(f, "MAPQ      reads      right")?;
        for (i, Mapped { all: reads, right }) in self.mapped.iter().enumerate() {
            let high = CLASSES.get(i + 1).map_or(String::new(), |next| (next - 1).to_string());
            let class = format!("{}-{high}", CLASSES[i]);
            let share = percent(*right, *reads);
            writeln!(f, "{class:<6} {reads:>8} {right:>10}  {share:.3} %")?;
        }
        writeln!(f, "not mapped {}", self.missed)?;
        let (nowhere, mapped) = self.from_nowhere;
        writeln!(f, "from nowhere {nowhere}, of which mapped {mapped}")?;
        writeln!(f, "marked duplicate {}, other records {}", self.duplicates, self.others)?;
        if self.unknown > 0 {
            writeln!(f, "without truth in the name {}", self.unknown)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packed record with a name, a place and a CIGAR, and no bases.
    fn record(
        name: &str,
        flag: u16,
        place: (i32, i32),
        mapq: u8,
        cigar: &[(u32, u32)],
    ) -> BamRecord {
        let mut bytes = Vec::new();
        bytes.extend(place.0.to_le_bytes());
        bytes.extend(place.1.to_le_bytes());
        bytes.extend([name.len() as u8 + 1, mapq, 0, 0, cigar.len() as u8, 0]);
        bytes.extend(flag.to_le_bytes());
        bytes.resize(32, 0);
        bytes.extend(name.as_bytes());
        bytes.push(0);
        for (n, op) in cigar {
            bytes.extend((n << 4 | op).to_le_bytes());
        }
        BamRecord { bytes }
    }

    const NAME: &str = "SIM1:0_1001_F+1_501_R:u:1:1101:5:6";

    #[test]
    fn near_the_truth_is_right_and_nothing_else() {
        let cases = [
            (0, (0, 1000), true),
            (0, (0, 1020), true),
            (0, (0, 1021), false),
            (0, (0, 980), true),
            (0, (0, 979), false),
            (16, (0, 1000), false),
            (0, (1, 1000), false),
            (16, (1, 500), true),
        ];
        for (flag, place, right) in cases {
            let mut a = Accuracy::default();
            a.count(&record(NAME, flag, place, 60, &[(100, 0)]));
            assert_eq!((a.right(), a.reads()), (u64::from(right), 1), "{flag} {place:?}");
        }
        let mut a = Accuracy::default();
        a.count(&record(NAME, 0, (0, 1050), 60, &[(50, 4), (50, 0)]));
        assert_eq!((a.right(), a.reads()), (1, 1));
    }

    #[test]
    fn classes_and_others() {
        let mut a = Accuracy::default();
        for mapq in [0, 9, 10, 59, 60, 255] {
            a.count(&record(NAME, 0, (0, 1000), mapq, &[(10, 0)]));
        }
        a.count(&record(NAME, 4, (-1, -1), 0, &[]));
        a.count(&record(NAME, 0x85, (-1, -1), 0, &[]));
        a.count(&record(NAME, 0x81, (0, 1), 0, &[(10, 0)]));
        a.count(&record(NAME, 0x800, (0, 1), 0, &[(10, 0)]));
        a.count(&record("other", 0x400, (0, 1), 0, &[(10, 0)]));
        let right = a.mapped.map(|class| class.right);
        assert_eq!(right, [1, 1, 1, 0, 0, 0, 1, 2]);
        assert_eq!((a.missed, a.from_nowhere, a.others), (1, (2, 1), 1));
        assert_eq!((a.unknown, a.duplicates), (1, 1));
        assert!((a.precision_from(60) - 1.0).abs() < 1e-9);
    }
}
