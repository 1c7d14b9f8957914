//! From positions to MM and ML.

use std::io::Write;

use super::{ModCode, ModError, ModGroup, ModStrand, SkippedBases};

/// The value of ML that stands for a probability: the range from 0 to 1 in 256 equal parts.
#[must_use]
pub fn probability_code(probability: f64) -> u8 {
    // Saturating: 1.0 belongs to the last part, and what is no number to the first.
    (probability * 256.0).clamp(0.0, 255.0) as u8
}

/// Appends a list of MM with the positions of one modification, ascending, on a read whose bases as
/// sequenced are `bases`. The values of ML are the caller's, one for each position.
///
/// # Errors
/// [`ModError::BadPosition`] for a position that is not after the one before it, or whose base is
/// not that of the group; `mm` is then as it was.
pub fn append_modifications(
    group: ModGroup,
    code: ModCode,
    bases: &[u8],
    positions: impl IntoIterator<Item = usize>,
    mm: &mut Vec<u8>,
) -> Result<(), ModError> {
    let start = mm.len();
    let sign = if group.strand == ModStrand::Same { b'+' } else { b'-' };
    mm.extend_from_slice(&[group.base, sign]);
    // Writing to a Vec does not fail.
    let _ = match code {
        ModCode::Letter(letter) => mm.write_all(&[letter]),
        ModCode::Chebi(number) => write!(mm, "{number}"),
    };
    mm.push(if group.skipped == SkippedBases::Unknown { b'?' } else { b'.' });
    let mut from = 0;
    for position in positions {
        let why = match bases.get(from..=position) {
            _ if position < from => Some("it does not follow the one before it"),
            None => Some("the read is shorter"),
            Some(between) if !group.counts(between[between.len() - 1]) => {
                Some("the read has another base there")
            }
            Some(between) => {
                let skip = between.iter().filter(|&&base| group.counts(base)).count() - 1;
                let _ = write!(mm, ",{skip}");
                None
            }
        };
        if let Some(why) = why {
            mm.truncate(start);
            return Err(ModError::BadPosition { position, why });
        }
        from = position + 1;
    }
    mm.push(b';');
    Ok(())
}
