//! What became of reads and pairs by score, as Bowtie 2 counts and prints it.

use std::fmt;

use seqloom_format::bam::{Flags, RecordError, RecordRef};

/// How often reads are placed: not at all, once, more often.
pub(super) type Times = [u64; 3];

/// Counts of reads and pairs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct OutcomeCounts {
    /// Reads without a mate.
    pub(super) singles: Times,
    /// Pairs, by how often they are concordant.
    pub(super) pairs: Times,
    /// Of those that are not, those that are discordant.
    pub(super) discordant: u64,
    /// Mates of the others.
    pub(super) mates: Times,
}

/// What the records of a read or pair say of it.
#[derive(Debug, Default)]
pub(super) struct Template {
    /// It has two reads, whether they have records or not.
    is_paired: bool,
    is_concordant: bool,
    is_discordant: bool,
    /// The score of another pair is known.
    is_pair_repeated: bool,
    /// Of both mates, or of a single read.
    reads: [Placed; 2],
}

/// Placement of a read or a pair.
#[derive(Debug, Clone, Copy, Default)]
struct Placed {
    is_placed: bool,
    /// The score of another placement is known.
    is_repeated: bool,
}

impl Template {
    /// One without records, of two reads or of one.
    pub(super) fn new(is_paired: bool) -> Self {
        Self { is_paired, ..Self::default() }
    }

    /// Adds what a record says.
    pub(super) fn add(&mut self, record: &RecordRef<'_>) -> Result<(), RecordError> {
        self.is_concordant |= record.has_flags(Flags::PROPER_PAIR);
        if !record.has_flags(Flags::UNMAPPED) {
            // Over introns XS is a strand, and NH decides.
            let count = record.find_aux(*b"NH")?.and_then(|value| value.as_int());
            let is_repeated = match count {
                Some(count) => count > 1,
                None => record.find_aux(*b"XS")?.is_some(),
            };
            let read = usize::from(record.has_flags(Flags::SECOND_OF_PAIR));
            self.reads[read] = Placed { is_placed: true, is_repeated };
            let is_counted = count.is_some() && is_repeated;
            self.is_pair_repeated |= is_counted || record.find_aux(*b"ZP")?.is_some();
            // Mates that are no pair do not know each other's score.
            self.is_discordant |= record.find_aux(*b"YS")?.is_some();
        }
        Ok(())
    }

    /// Whether it is placed as it should be.
    pub(super) fn is_aligned(&self) -> bool {
        if self.is_paired { self.is_concordant } else { self.reads[0].is_placed }
    }
}

/// 0, 1 or 2 for not at all, once, more often.
fn times(read: Placed) -> usize {
    usize::from(read.is_placed) + usize::from(read.is_placed && read.is_repeated)
}

impl OutcomeCounts {
    /// Counts a read or pair.
    pub(super) fn count(&mut self, template: &Template) {
        if !template.is_paired {
            self.singles[times(template.reads[0])] += 1;
            return;
        }
        let pair =
            Placed { is_placed: template.is_concordant, is_repeated: template.is_pair_repeated };
        self.pairs[times(pair)] += 1;
        if !template.is_concordant && template.is_discordant {
            self.discordant += 1;
        } else if !template.is_concordant {
            template.reads.iter().for_each(|&read| self.mates[times(read)] += 1);
        }
    }

    /// Adds other counts.
    pub(super) fn add(&mut self, other: &Self) {
        let add = |ours: &mut Times, theirs: &Times| {
            ours.iter_mut().zip(theirs).for_each(|(one, more)| *one += more);
        };
        add(&mut self.singles, &other.singles);
        add(&mut self.pairs, &other.pairs);
        add(&mut self.mates, &other.mates);
        self.discordant += other.discordant;
    }

    fn write_pairs(&self, f: &mut fmt::Formatter<'_>, all: u64) -> fmt::Result {
        let pairs: u64 = self.pairs.iter().sum();
        writeln!(f, "  {} were paired; of these:", share(pairs, all))?;
        write_times(f, "    ", "aligned concordantly", self.pairs)?;
        let others = self.pairs[0];
        writeln!(f, "    ----")?;
        writeln!(f, "    {others} pairs aligned concordantly 0 times; of these:")?;
        writeln!(f, "      {} aligned discordantly 1 time", share(self.discordant, others))?;
        writeln!(f, "    ----")?;
        let rest = others - self.discordant;
        writeln!(f, "    {rest} pairs aligned 0 times concordantly or discordantly; of these:")?;
        writeln!(f, "      {} mates make up the pairs; of these:", 2 * rest)?;
        write_times(f, "        ", "aligned", self.mates)
    }
}

impl fmt::Display for OutcomeCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sum = |times: &Times| times.iter().sum::<u64>();
        let (singles, pairs) = (sum(&self.singles), sum(&self.pairs));
        writeln!(f, "{} reads; of these:", singles + pairs)?;
        if pairs > 0 {
            self.write_pairs(f, singles + pairs)?;
        }
        if singles > 0 || pairs == 0 {
            writeln!(f, "  {} were unpaired; of these:", share(singles, singles + pairs))?;
            write_times(f, "    ", "aligned", self.singles)?;
        }
        let lost = self.singles[0] + self.mates[0];
        let reads = singles + 2 * pairs;
        write!(f, "{:.2}% overall alignment rate", percent(reads - lost, reads))
    }
}

/// A line each for reads that are not placed, that are so once, and more often.
fn write_times(f: &mut fmt::Formatter<'_>, indent: &str, verb: &str, times: Times) -> fmt::Result {
    let all = times.iter().sum();
    for (count, times) in times.into_iter().zip(["0 times", "exactly 1 time", ">1 times"]) {
        writeln!(f, "{indent}{} {verb} {times}", share(count, all))?;
    }
    Ok(())
}

fn share(count: u64, of: u64) -> String {
    format!("{count} ({:.2}%)", percent(count, of))
}

/// A count in percent.
pub(super) fn percent(count: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { 100.0 * count as f64 / of as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_read_as_bowtie_2_s() {
        let tally = OutcomeCounts { singles: [2, 15, 3], ..OutcomeCounts::default() };
        let expected = [
            "20 reads; of these:",
            "  20 (100.00%) were unpaired; of these:",
            "    2 (10.00%) aligned 0 times",
            "    15 (75.00%) aligned exactly 1 time",
            "    3 (15.00%) aligned >1 times",
            "90.00% overall alignment rate",
        ];
        assert_eq!(tally.to_string().lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn pairs_read_as_bowtie_2_s() {
        let tally = OutcomeCounts {
            singles: [0, 1, 0],
            pairs: [17, 8, 2],
            discordant: 11,
            mates: [6, 5, 1],
        };
        // The program's own words about such an input.
        let expected = [
            "28 reads; of these:",
            "  27 (96.43%) were paired; of these:",
            "    17 (62.96%) aligned concordantly 0 times",
            "    8 (29.63%) aligned concordantly exactly 1 time",
            "    2 (7.41%) aligned concordantly >1 times",
            "    ----",
            "    17 pairs aligned concordantly 0 times; of these:",
            "      11 (64.71%) aligned discordantly 1 time",
            "    ----",
            "    6 pairs aligned 0 times concordantly or discordantly; of these:",
            "      12 mates make up the pairs; of these:",
            "        6 (50.00%) aligned 0 times",
            "        5 (41.67%) aligned exactly 1 time",
            "        1 (8.33%) aligned >1 times",
            "  1 (3.57%) were unpaired; of these:",
            "    0 (0.00%) aligned 0 times",
            "    1 (100.00%) aligned exactly 1 time",
            "    0 (0.00%) aligned >1 times",
            "89.09% overall alignment rate",
        ];
        assert_eq!(tally.to_string().lines().collect::<Vec<_>>(), expected);
    }
}
