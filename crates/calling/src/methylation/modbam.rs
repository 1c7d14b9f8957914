//! Calls in the alignment itself: the tags MM, ML and MN of a BAM record.
//!
//! A site is written where the read has the C of it: aligned to the reference's C (on the reverse
//! strand, to the G next to it) and read as one. Its probability is the logistic function of its
//! group's log-likelihood ratio. Of all other bases nothing is known, which the tag says (`C+m?`).
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

/// Tags of base modifications, today's names and those of the specification's draft.
const TAGS: [[u8; 2]; 5] = [*b"MM", *b"ML", *b"MN", *b"Mm", *b"Ml"];

/// Codes of C and G in BAM's packed bases.
const CODE_C: u8 = 2;
const CODE_G: u8 = 4;

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

/// What became of a record.
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
    /// The read has no C where sites were called.
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
    find_sites(&record, sites, &mut scratch.found);
    if scratch.found.is_empty() {
        return Ok(Tagging::NoSite);
    }
    as_sequenced(&record, &mut scratch.bases);
    scratch.mm.clear();
    let positions = scratch.found.iter().map(|&(position, _)| position);
    let (group, code) = (ModGroup::METHYLATED_C, ModCode::Letter(b'm'));
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
fn find_sites(record: &RecordRef<'_>, sites: &[CalledSite], found: &mut Vec<(usize, u8)>) {
    found.clear();
    let is_reverse = record.has_flags(Flags::REVERSE);
    let Ok(mut reference) = u64::try_from(record.position()) else { return };
    let mut read = 0;
    let mut sites = sites.iter().peekable();
    let target = |site: &CalledSite| site.position + u64::from(is_reverse);
    for (op, length) in record.full_cigar() {
        let end = reference + u64::from(length);
        match op {
            b'M' | b'=' | b'X' => {
                while let Some(site) = sites.next_if(|site| target(site) < end) {
                    let Some(offset) = target(site).checked_sub(reference) else { continue };
                    let at = read + offset as usize;
                    let requested = if is_reverse { CODE_G } else { CODE_C };
                    if record.base_code(at) == Some(requested) {
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
