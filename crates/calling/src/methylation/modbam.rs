//! Calls in the alignment itself: the tags MM, ML and MN of a BAM record.
//!
//! A site is written where the read has the base of it that can be methylated: aligned to the
//! reference's (on the reverse strand, to the base that it pairs with) and read as one. Its
//! probability is the logistic function of its group's log-likelihood ratio. Of all other bases
//! nothing is known, which the tag says (`C+m?`, or `A+a?` for dam).
//!
//! Tags count on the bases that the record holds. So a supplementary record that was hard-clipped
//! gets tags that fit what is left of the read, and MN says so; one without bases gets none. Tags
//! that a record came with are removed, whether or not it was called: those of two callers in one
//! file could not be distinguished.

use seqloom_format::bam::edit::{EditError, append_tag, retain_tags};
use seqloom_format::bam::{AuxArray, AuxValue, Flags, RecordRef};
use seqloom_format::base_modifications::{
    ModCode, ModError, ModGroup, append_modifications, as_sequenced, probability_code,
};

use super::sites::CalledSite;
use crate::Motif;

/// Tags of base modifications, today's names and those of the specification's draft.
const TAGS: [[u8; 2]; 5] = [*b"MM", *b"ML", *b"MN", *b"Mm", *b"Ml"];

/// BAM's code of the base of a site, as the record has it.
const fn base_code(motif: Motif, is_reverse: bool) -> u8 {
    match (motif.base(), is_reverse) {
        (b'A', false) => 1,
        (b'A', true) => 8,
        (_, false) => 2,
        (_, true) => 4,
    }
}

/// Why a record could not be given its tags.
#[derive(Debug, thiserror::Error)]
pub enum ModbamError {
    /// The record is malformed, or would become too large.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// The tags could not be put together.
    #[error(transparent)]
    Modifications(#[from] ModError),
}

impl From<seqloom_format::bam::RecordError> for ModbamError {
    fn from(error: seqloom_format::bam::RecordError) -> Self {
        Self::Edit(error.into())
    }
}

/// Outcome of tagging a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tagging {
    /// It has tags.
    Tagged {
        /// Sites that they describe.
        sites: usize,
    },
    /// No site of it was called.
    NotCalled,
    /// It has no bases: a secondary record, most likely.
    NoBases,
    /// The read has no such base where sites were called.
    NoSite,
}

/// Buffers of [`tag_record`], to be kept by the caller.
#[derive(Debug, Default)]
pub struct ModbamScratch {
    bases: Vec<u8>,
    /// Positions on the read as sequenced, and values of ML.
    found: Vec<(usize, u8)>,
    mm: Vec<u8>,
    ml: Vec<u8>,
}

/// The probability that a site is methylated, by the log-likelihood ratio of its group and no
/// opinion beforehand.
#[must_use]
pub(crate) fn probability(log_lik_ratio: f64) -> f64 {
    1.0 / (1.0 + (-log_lik_ratio).exp())
}

/// Gives the record (its body, without `block_size`) the tags of its called sites, which are in the
/// order of the reference.
///
/// # Errors
/// The record is malformed; it may then have lost tags that it had.
pub fn tag_record(
    motif: Motif,
    body: &mut Vec<u8>,
    sites: &[CalledSite],
    scratch: &mut ModbamScratch,
) -> Result<Tagging, ModbamError> {
    retain_tags(body, |tag, _| !TAGS.contains(&tag))?;
    let record = RecordRef::new(body)?;
    let bases = record.base_count();
    if sites.is_empty() {
        return Ok(Tagging::NotCalled);
    }
    if bases == 0 {
        return Ok(Tagging::NoBases);
    }
    find_sites(motif, &record, sites, &mut scratch.found);
    if scratch.found.is_empty() {
        return Ok(Tagging::NoSite);
    }
    as_sequenced(&record, &mut scratch.bases);
    scratch.mm.clear();
    let positions = scratch.found.iter().map(|&(position, _)| position);
    let (group, code) = (ModGroup::methylated(motif.base()), ModCode::Letter(motif.code()));
    append_modifications(group, code, &scratch.bases, positions, &mut scratch.mm)?;
    scratch.ml.clear();
    scratch.ml.extend(scratch.found.iter().map(|&(_, value)| value));
    append_tag(body, *b"MM", AuxValue::String(&scratch.mm))?;
    let values = AuxArray { subtype: b'C', bytes: &scratch.ml };
    append_tag(body, *b"ML", AuxValue::Array(values))?;
    // The length of a record's bases is a signed 32-bit number in BAM.
    append_tag(body, *b"MN", AuxValue::Int32(bases as i32))?;
    Ok(Tagging::Tagged { sites: scratch.found.len() })
}

/// Finds the called sites on the read as sequenced, in its order.
fn find_sites(
    motif: Motif,
    record: &RecordRef<'_>,
    sites: &[CalledSite],
    found: &mut Vec<(usize, u8)>,
) {
    found.clear();
    let is_reverse = record.has_flags(Flags::REVERSE);
    let Ok(mut reference) = u64::try_from(record.position()) else { return };
    let mut read = 0;
    let mut sites = sites.iter().peekable();
    let (shift, wanted) = (motif.shift(is_reverse) as u64, base_code(motif, is_reverse));
    let target = |site: &CalledSite| site.position + shift;
    for (op, length) in record.full_cigar() {
        let end = reference + u64::from(length);
        match op {
            b'M' | b'=' | b'X' => {
                while let Some(site) = sites.next_if(|site| target(site) < end) {
                    let Some(offset) = target(site).checked_sub(reference) else { continue };
                    let at = read + offset as usize;
                    if record.base_code(at) == Some(wanted) {
                        found.push((at, probability_code(probability(site.log_lik_ratio))));
                    }
                }
                reference = end;
                read += length as usize;
            }
            b'D' | b'N' => reference = end,
            b'I' | b'S' => read += length as usize,
            _ => {}
        }
    }
    if is_reverse {
        found.reverse();
        let last = record.base_count() - 1;
        found.iter_mut().for_each(|(at, _)| *at = last - *at);
    }
}

#[cfg(test)]
#[path = "modbam_tests.rs"]
mod tests;
