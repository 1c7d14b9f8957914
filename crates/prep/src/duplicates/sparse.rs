//! The marks of one part of the read ends as a list, for the process that puts all parts together.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use seqloom_format::{MalformedState, persist_fields};

use super::{DuplicateMarks, DuplicateMode};

/// Bits that are set in a bitmap of marks: the distance of each from the one before, less one; and
/// the families of templates: of each that has one its distance from the one before, less one, and
/// how far before it the first of its family is. All are variable-length numbers (LEB128).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SparseMarks {
    templates: u64,
    is_coordinate: bool,
    marked: Box<[u8]>,
    optical: Box<[u8]>,
    families: Box<[u8]>,
}

persist_fields!(SparseMarks { templates, is_coordinate, marked, optical, families });

impl DuplicateMarks {
    /// Adds the marks of another bitmap of the same templates and mode.
    ///
    /// # Errors
    /// Marks of others.
    pub fn merge(&self, sparse: &SparseMarks) -> Result<(), MalformedState> {
        let SparseMarks { templates, is_coordinate, marked, optical, families } = sparse;
        let is_same = *templates == self.numbers.total()
            && *is_coordinate == (self.mode == DuplicateMode::Coordinate);
        if !is_same {
            return Err(MalformedState);
        }
        set_positions(&self.words, marked)?;
        set_positions(&self.optical, optical)?;
        join_families(&self.families, families)
    }

    /// The marks, few as they are of one part of the read ends, as a list.
    #[must_use]
    pub fn to_sparse(&self) -> SparseMarks {
        SparseMarks {
            templates: self.numbers.total(),
            is_coordinate: self.mode == DuplicateMode::Coordinate,
            marked: positions(&self.words),
            optical: positions(&self.optical),
            families: families_of(&self.families),
        }
    }
}

/// Appends a number.
fn push(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Takes the next number off a list.
fn take(list: &mut &[u8]) -> Result<u64, MalformedState> {
    let (mut number, mut shift) = (0_u64, 0);
    loop {
        let (byte, rest) = list.split_first().ok_or(MalformedState)?;
        *list = rest;
        let bits = u64::from(byte & 0x7f);
        let shifted = bits.checked_shl(shift).filter(|it| it >> shift == bits);
        number |= shifted.ok_or(MalformedState)?;
        shift += 7;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
}

// Relaxed, in all of this file: marks are read when the workers that set them have ended, and set
// by one thread that reads what others have left in files.
fn positions(words: &[AtomicU64]) -> Box<[u8]> {
    let (mut out, mut next) = (Vec::new(), 0);
    for (index, word) in words.iter().enumerate() {
        let mut bits = word.load(Ordering::Relaxed);
        while bits != 0 {
            let position = index as u64 * 64 + u64::from(bits.trailing_zeros());
            bits &= bits - 1;
            push(&mut out, position - next);
            next = position + 1;
        }
    }
    out.into()
}

fn set_positions(words: &[AtomicU64], mut list: &[u8]) -> Result<(), MalformedState> {
    let mut next = 0_u64;
    while !list.is_empty() {
        let position = next.checked_add(take(&mut list)?).ok_or(MalformedState)?;
        let word = words.get((position / 64) as usize).ok_or(MalformedState)?;
        word.fetch_or(1 << (position % 64), Ordering::Relaxed);
        next = position + 1;
    }
    Ok(())
}

/// The first of a family is seldom far from its last, and most often the template itself.
fn families_of(families: &[AtomicU32]) -> Box<[u8]> {
    let (mut out, mut next) = (Vec::new(), 0);
    for (template, family) in (0_u32..).zip(families) {
        let stored = family.load(Ordering::Relaxed);
        if stored > 0 {
            push(&mut out, (template - next).into());
            push(&mut out, template.wrapping_sub(u32::MAX - stored).into());
            next = template + 1;
        }
    }
    out.into()
}

/// A template that is in families of two parts has the earlier one.
fn join_families(families: &[AtomicU32], mut list: &[u8]) -> Result<(), MalformedState> {
    let mut next = 0_u64;
    while !list.is_empty() {
        let template = next.checked_add(take(&mut list)?).ok_or(MalformedState)?;
        let before = u32::try_from(take(&mut list)?).map_err(|_| MalformedState)?;
        let family = usize::try_from(template).ok().and_then(|it| families.get(it));
        let first = (template as u32).wrapping_sub(before);
        family.ok_or(MalformedState)?.fetch_max(u32::MAX - first, Ordering::Relaxed);
        next = template + 1;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use seqloom_format::Persist;

    use super::*;
    use crate::duplicates::{MarkSink, MarkedReads};

    #[test]
    fn marks_of_parts_come_together() {
        for mode in [DuplicateMode::Query, DuplicateMode::Coordinate] {
            let make = || DuplicateMarks::new(100_000, mode).telling_families().unwrap();
            let (whole, parts) = (make(), [make(), make(), make()]);
            for template in (0..100_000_u64).filter(|it| it * it % 17 == 1 || it % 4099 == 0) {
                for mut marks in [&whole, &parts[(template % 2) as usize]] {
                    marks.set(template, MarkedReads::Second);
                    marks.put_in_family(template, template - template % 300);
                }
                // Its other read, found in another part, is of an earlier family.
                for mut marks in [&whole, &parts[(template + 1) as usize % 2]] {
                    marks.put_in_family(template, template / 2);
                }
            }
            let merged = make();
            for part in &parts {
                let sparse = part.to_sparse().to_state();
                merged.merge(&SparseMarks::from_state(&sparse).unwrap()).unwrap();
            }
            assert_eq!(merged.to_state(), whole.to_state());
            let none = parts[2].to_sparse();
            assert_eq!((none.marked.len(), none.families.len()), (0, 0));
            let other = DuplicateMarks::new(99_999, mode).to_sparse();
            assert_eq!(merged.merge(&other), Err(MalformedState));
            let with_families = whole.to_sparse();
            let without = DuplicateMarks::new(100_000, mode);
            assert_eq!(without.merge(&with_families), Err(MalformedState));
        }
    }

    #[test]
    fn lists_that_nobody_wrote_are_refused() {
        let words = [AtomicU64::new(0), AtomicU64::new(0)];
        assert_eq!(set_positions(&words, &[0x7f]), Ok(()));
        for bytes in [&[0x80, 0x01][..], &[0x80], &[0xff; 11], &[0x7f, 0], &[0xff, 0xff, 0x03]] {
            assert_eq!(set_positions(&words, bytes), Err(MalformedState), "{bytes:?}");
        }
        let families = [AtomicU32::new(0), AtomicU32::new(0)];
        assert_eq!(join_families(&families, &[1, 1]), Ok(()));
        assert_eq!(families[1].load(Ordering::Relaxed), u32::MAX);
        for bytes in [&[2, 0][..], &[0], &[0, 0x80], &[0, 0xff, 0xff, 0xff, 0xff, 0x1f], &[1, 0, 0]]
        {
            assert_eq!(join_families(&families, bytes), Err(MalformedState), "{bytes:?}");
        }
    }
}
