//! Counts of methylated reads by site and strand: bedMethyl with the 18 columns of modkit.
//!
//! | column | here |
//! |---|---|
//! | 1 to 3 | sequence; position of the strand's base, 0-based, and the one after it |
//! | 4 | `m`, 5-methylcytosine, or `a`, 6-methyladenine |
//! | 5 and 10 | Nvalid_cov = Nmod + Ncanonical + Nother |
//! | 6 | strand |
//! | 7, 8, 9 | columns 2 and 3 again; `255,0,0` |
//! | 11 | 100 Nmod / Nvalid_cov, two decimals; 0.00 where no call passed |
//! | 12 | Nmod: reads whose call passed the cut-off, with a ratio above 0 |
//! | 13 | Ncanonical: the same with another ratio |
//! | 14 | Nother: always 0, only one modification is called |
//! | 15 | Ndelete: reads with a deletion there |
//! | 16 | Nfail: reads whose call was too ambiguous |
//! | 17 | Ndiff: reads with another base there |
//! | 18 | Nnocall: reads with the base, whose group was not called |
//!
//! A call passes by the same [`Cutoff`] as in the table of frequencies: a log-likelihood ratio of
//! 2.0 is a probability of 0.88. These are the counts that modkit makes of the reads' MM and ML
//! tags, were its threshold that one. Rows stand for sites with a call, passed or not.
//!
//! Reads come in the order of the reference, so a site is written once reads begin after it, and
//! no more is held than the longest reads cover.

use std::collections::BTreeMap;
use std::io::Write;

use super::frequency::Cutoff;
use super::sites::{CalledSite, site_offsets};
use crate::Motif;
use crate::aligned_read::AlignedRead;

/// Outcome of one read at one site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SiteOutcome {
    /// It is methylated.
    Modified,
    /// It is not.
    Canonical,
    /// The call is too ambiguous.
    Failed,
    /// The read lacks the base.
    Deleted,
    /// The read has another base.
    Different,
    /// The group was not called.
    NotCalled,
}

/// Appends what a read says of every site under its alignment to `outcomes`: the position of the
/// base that can be methylated on the read's strand, and the outcome. `sites` are its called ones,
/// in the order of the reference. A site that begins before the alignment, or ends more than a
/// base after it, is not seen, as the slice of the reference ends there; it is never called.
pub(crate) fn push_outcomes(
    motif: Motif,
    read: &AlignedRead<'_>,
    sites: &[CalledSite],
    cutoff: &Cutoff,
    outcomes: &mut Vec<(u64, SiteOutcome)>,
) {
    let (Some(first), Some(last)) = (read.pairs.first(), read.pairs.last()) else {
        return;
    };
    let shift = motif.shift(read.is_reverse);
    let mut pairs = read.pairs.iter().peekable();
    let mut sites = sites.iter().peekable();
    for offset in site_offsets(motif, read.reference, 0, read.reference.len()) {
        let (position, offset) = (read.start + offset as u64, offset + shift);
        if !(first.offset as usize..=last.offset as usize).contains(&offset) {
            continue;
        }
        while pairs.next_if(|pair| (pair.offset as usize) < offset).is_some() {}
        while sites.next_if(|site| site.position < position).is_some() {}
        let pair = pairs.peek().filter(|pair| pair.offset as usize == offset);
        let call = sites.peek().filter(|site| site.position == position);
        let outcome = match (pair, call) {
            (None, _) => SiteOutcome::Deleted,
            (Some(pair), _) if sequenced_base(read, pair.position) != Some(motif.base()) => {
                SiteOutcome::Different
            }
            (_, None) => SiteOutcome::NotCalled,
            (_, Some(call)) if cutoff.is_ambiguous(call.log_lik_ratio, call.motif_count) => {
                SiteOutcome::Failed
            }
            (_, Some(call)) if call.log_lik_ratio > 0.0 => SiteOutcome::Modified,
            _ => SiteOutcome::Canonical,
        };
        outcomes.push((position + shift as u64, outcome));
    }
}

/// The base as it was sequenced, at a position as the record has it.
fn sequenced_base(read: &AlignedRead<'_>, at: u32) -> Option<u8> {
    let at = at as usize;
    if read.is_reverse {
        read.sequence.get(read.sequence.len().checked_sub(at + 1)?).copied()
    } else {
        read.sequence.get(at).copied()
    }
}

/// Reads by outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct SiteCounts {
    modified: u32,
    canonical: u32,
    failed: u32,
    deleted: u32,
    different: u32,
    not_called: u32,
}

impl SiteCounts {
    fn add(&mut self, outcome: SiteOutcome) {
        let count = match outcome {
            SiteOutcome::Modified => &mut self.modified,
            SiteOutcome::Canonical => &mut self.canonical,
            SiteOutcome::Failed => &mut self.failed,
            SiteOutcome::Deleted => &mut self.deleted,
            SiteOutcome::Different => &mut self.different,
            SiteOutcome::NotCalled => &mut self.not_called,
        };
        *count = count.saturating_add(1);
    }
}

/// Counts of sites that reads may still be added to.
#[derive(Debug, Default)]
pub struct BedMethyl {
    motif: Motif,
    contig: Vec<u8>,
    /// By position of the base and strand.
    open: BTreeMap<(u64, bool), SiteCounts>,
}

impl BedMethyl {
    /// Counts of the sites of a motif.
    #[must_use]
    pub fn new(motif: Motif) -> Self {
        Self { motif, ..Self::default() }
    }

    /// Counts the outcomes of a read, and appends the rows of sites before it to `out`. Reads
    /// come in the order of sequence and start; only primary alignments should, as in modkit, since
    /// others count a read twice.
    pub fn add(
        &mut self,
        read: &AlignedRead<'_>,
        outcomes: &[(u64, SiteOutcome)],
        out: &mut Vec<u8>,
    ) {
        if self.contig != read.contig {
            self.finish(out);
            self.contig.extend_from_slice(read.contig);
        }
        while let Some(entry) = self.open.first_entry()
            && entry.key().0 < read.start
        {
            let ((position, is_reverse), counts) = entry.remove_entry();
            append_row(self.motif, &self.contig, position, is_reverse, &counts, out);
        }
        for &(position, outcome) in outcomes {
            self.open.entry((position, read.is_reverse)).or_default().add(outcome);
        }
    }

    /// Appends the rows of all sites that are left.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        for ((position, is_reverse), counts) in std::mem::take(&mut self.open) {
            append_row(self.motif, &self.contig, position, is_reverse, &counts, out);
        }
        self.contig.clear();
    }
}

fn append_row(
    motif: Motif,
    contig: &[u8],
    position: u64,
    is_reverse: bool,
    counts: &SiteCounts,
    out: &mut Vec<u8>,
) {
    let SiteCounts { modified, canonical, failed, deleted, different, not_called } = *counts;
    let valid = u64::from(modified) + u64::from(canonical);
    if valid + u64::from(failed) == 0 {
        return;
    }
    let end = position + 1;
    let strand = if is_reverse { '-' } else { '+' };
    let code = char::from(motif.code());
    let percent = 100.0 * f64::from(modified) / valid.max(1) as f64;
    out.extend_from_slice(contig);
    // Writing to a Vec does not fail.
    let _ = writeln!(
        out,
        "\t{position}\t{end}\t{code}\t{valid}\t{strand}\t{position}\t{end}\t255,0,0\t{valid}\t\
         {percent:.2}\t{modified}\t{canonical}\t0\t{deleted}\t{failed}\t{different}\t{not_called}"
    );
}

#[cfg(test)]
#[path = "bedmethyl_tests.rs"]
mod tests;
