//! CIGAR operations as recalibration sees them: canonical, clipped, and looked up by reference
//! position.
//!
//! GATK rebuilds CIGARs with a set of rules of its own (its `CigarBuilder`), and which base a known
//! site masks depends on them.

use seqloom_format::bam::cigar::{
    DELETION, HARD_CLIP, INSERTION, SOFT_CLIP, consumes_read, consumes_reference, is_clip,
};

/// An operation: code 0..=8 of `MIDNSHP=X`, and length.
pub(super) type Op = (u8, u32);

/// Where in `H S ... S H` a CIGAR is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Section {
    LeftHard,
    LeftSoft,
    Middle,
    RightSoft,
    RightHard,
}

/// Puts operations together by these rules: empty ones are dropped, equal neighbours merged,
/// deletions moved before the insertions they follow, and deletions at the ends of the read
/// dropped (also those that only an insertion separates from its end).
struct Builder<'a> {
    ops: &'a mut Vec<Op>,
    /// The last operation by rule: still the insertion where a deletion was moved before it.
    last: Option<u8>,
    section: Section,
    is_valid: bool,
}

impl<'a> Builder<'a> {
    fn new(ops: &'a mut Vec<Op>) -> Self {
        ops.clear();
        Self { ops, last: None, section: Section::LeftHard, is_valid: true }
    }

    fn is_leading_deletion(&self) -> bool {
        match self.last {
            None => true,
            Some(INSERTION) => match self.ops.len() {
                0 | 1 => true,
                len => is_clip(self.ops[len - 2].0),
            },
            Some(last) => is_clip(last),
        }
    }

    fn ends_in_deletion_and_insertion(&self) -> bool {
        let len = self.ops.len();
        self.last == Some(INSERTION) && len > 1 && self.ops[len - 2].0 == DELETION
    }

    fn add(&mut self, (code, len): Op) {
        if len == 0 || (code == DELETION && self.is_leading_deletion()) {
            return;
        }
        self.advance(code);
        let count = self.ops.len();
        match self.last {
            Some(last) if last == code => {
                let merged = &mut self.ops[count - 1].1;
                *merged = merged.saturating_add(len);
                return;
            }
            Some(last) if is_clip(code) && !consumes_read(last) && !is_clip(last) => {
                self.ops[count - 1] = (code, len);
            }
            Some(_) if is_clip(code) && self.ends_in_deletion_and_insertion() => {
                self.ops[count - 2] = self.ops[count - 1];
                self.ops[count - 1] = (code, len);
                // GATK keeps the insertion as last operation here.
                return;
            }
            Some(INSERTION) if code == DELETION => {
                if count > 1 && self.ops[count - 2].0 == DELETION {
                    let merged = &mut self.ops[count - 2].1;
                    *merged = merged.saturating_add(len);
                } else {
                    self.ops.insert(count - 1, (code, len));
                }
                return;
            }
            _ => self.ops.push((code, len)),
        }
        self.last = Some(code);
    }

    /// Notes where the CIGAR is, and whether it may go on with `code` there.
    fn advance(&mut self, code: u8) {
        use Section::{LeftHard, LeftSoft, Middle, RightHard, RightSoft};
        self.section = match (code, self.section) {
            (HARD_CLIP, LeftHard) => LeftHard,
            (HARD_CLIP, _) => RightHard,
            (SOFT_CLIP, LeftHard | LeftSoft) => LeftSoft,
            (SOFT_CLIP, Middle | RightSoft) => RightSoft,
            (_, LeftHard | LeftSoft | Middle) if code != SOFT_CLIP => Middle,
            (_, section) => {
                self.is_valid = false;
                section
            }
        };
    }

    /// Ends the CIGAR; false if there is none left, or none that GATK accepts.
    fn finish(self) -> bool {
        let is_all_soft = self.section == Section::LeftSoft
            && self.ops.first().is_some_and(|op| op.0 == SOFT_CLIP);
        let count = self.ops.len();
        if self.last == Some(DELETION) {
            self.ops.pop();
        } else if self.ends_in_deletion_and_insertion() {
            self.ops.remove(count - 2);
        }
        self.is_valid && !is_all_soft && !self.ops.is_empty()
    }
}

/// Writes the canonical form of `ops` to `out`; false where there is none.
pub(super) fn canonical(ops: impl Iterator<Item = Op>, out: &mut Vec<Op>) -> bool {
    let mut builder = Builder::new(out);
    ops.for_each(|op| builder.add(op));
    builder.finish()
}

/// Which end of a read is clipped, in bases of the read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Clip {
    /// The first so many.
    Left(usize),
    /// All from this index on.
    Right(usize),
}

/// Turns bases of `ops` into hard clips and writes the result to `out`; false where nothing that
/// GATK accepts is left.
pub(super) fn clip(ops: &[Op], clip: Clip, out: &mut Vec<Op>) -> bool {
    let (from, to) = match clip {
        Clip::Left(count) => (0, count as u64),
        Clip::Right(index) => (index as u64, u64::MAX),
    };
    let mut builder = Builder::new(out);
    let mut at = 0_u64;
    for &(code, len) in ops {
        if code == HARD_CLIP {
            builder.add((code, len));
            continue;
        }
        let end = at + if consumes_read(code) { u64::from(len) } else { 0 };
        if end <= from || at >= to {
            // What takes no bases goes where it touches the cut.
            if consumes_read(code) || (at != from && at != to) {
                builder.add((code, len));
            }
        } else if consumes_read(code) {
            let kept = match clip {
                Clip::Left(_) => end.saturating_sub(to),
                Clip::Right(_) => from.saturating_sub(at),
            } as u32;
            match (kept, clip) {
                (0, _) => builder.add((HARD_CLIP, len)),
                (_, Clip::Left(_)) => {
                    builder.add((HARD_CLIP, len - kept));
                    builder.add((code, kept));
                }
                (_, Clip::Right(_)) => {
                    builder.add((code, kept));
                    builder.add((HARD_CLIP, len - kept));
                }
            }
        }
        at = end;
    }
    builder.finish()
}

/// Bases of the reference that go with the first `clipped` bases of the read, deletions after
/// them included.
pub(super) fn start_shift(ops: &[Op], clipped: usize) -> i64 {
    let (clipped, mut at, mut shift) = (clipped as u64, 0_u64, 0_i64);
    for &(code, len) in ops.iter().filter(|op| op.0 != HARD_CLIP) {
        let end = at + if consumes_read(code) { u64::from(len) } else { 0 };
        let reference = |bases: u64| if consumes_reference(code) { bases as i64 } else { 0 };
        if end <= clipped {
            shift += reference(len.into());
        } else {
            if at < clipped {
                shift += reference(clipped - at);
            }
            break;
        }
        at = end;
    }
    shift
}

/// Bases of the reference that `ops` cover.
pub(super) fn reference_span(ops: &[Op]) -> i64 {
    ops.iter().filter(|op| consumes_reference(op.0)).map(|op| i64::from(op.1)).sum()
}

/// Length of the leading soft clip.
pub(super) fn leading_soft_clip(ops: &[Op]) -> i64 {
    let leading = ops.iter().take_while(|op| is_clip(op.0));
    leading.filter(|op| op.0 == SOFT_CLIP).map(|op| i64::from(op.1)).sum()
}

/// Index in the read of a reference position, and the operation it is in. `soft_start` is where
/// the first operation that is no hard clip starts, soft clips taken as aligned. Within a deletion
/// it is the index after it.
pub(super) fn read_index(ops: &[Op], soft_start: i64, position: i64) -> Option<(usize, u8)> {
    if position < soft_start {
        return None;
    }
    let (mut index, mut reference) = (0_usize, soft_start);
    for &(code, len) in ops {
        let spans = consumes_reference(code) || code == SOFT_CLIP;
        let next = reference + if spans { i64::from(len) } else { 0 };
        if reference <= position && position < next {
            let within = if consumes_read(code) { (position - reference) as usize } else { 0 };
            return Some((index + within, code));
        }
        index += if consumes_read(code) { len as usize } else { 0 };
        reference = next;
    }
    None
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use seqloom_format::bam::cigar::MATCH;

    /// Bases of the read that `ops` cover.
    pub(in super::super) fn read_span(ops: &[Op]) -> usize {
        ops.iter().filter(|op| consumes_read(op.0)).map(|op| op.1 as usize).sum()
    }

    /// Operations of CIGAR text.
    pub(in super::super) fn ops(text: &str) -> Vec<Op> {
        let mut ops = Vec::new();
        let mut len = 0;
        for byte in text.bytes() {
            match byte {
                b'0'..=b'9' => len = 10 * len + u32::from(byte - b'0'),
                _ => {
                    let code = b"MIDNSHP=X".iter().position(|&it| it == byte).unwrap();
                    ops.push((code as u8, std::mem::take(&mut len)));
                }
            }
        }
        ops
    }

    fn text(ops: &[Op]) -> String {
        ops.iter()
            .map(|&(code, len)| format!("{len}{}", char::from(b"MIDNSHP=X"[code as usize])))
            .collect()
    }

    #[test]
    fn canonical_forms() {
        let t = |input: &str, expected: Option<&str>| {
            let mut out = vec![(0, 1)];
            let is_valid = canonical(ops(input).into_iter(), &mut out);
            assert_eq!(is_valid.then(|| text(&out)).as_deref(), expected, "{input}");
        };
        t("10M", Some("10M"));
        t("10M5M", Some("15M"));
        t("10M0I5M", Some("15M"));
        t("10D10M", Some("10M"));
        t("10M10D", Some("10M"));
        t("2S3D10M", Some("2S10M"));
        t("10M3D2S", Some("10M2S"));
        t("10M3D2H", Some("10M2H"));
        t("10M1I10D5M", Some("10M10D1I5M"));
        t("10M2D1I10D5M", Some("10M12D1I5M"));
        t("10M1I2D3I5M", Some("10M2D4I5M"));
        t("2I3D10M", Some("2I10M"));
        t("3S2I3D10M", Some("3S2I10M"));
        t("10M3D2I", Some("10M2I"));
        t("10M2I3D", Some("10M2I"));
        t("10M3D2I4S", Some("10M2I4S"));
        t("5H3S10M2S1H", Some("5H3S10M2S1H"));
        t("10S", None);
        t("5H", Some("5H"));
        t("5H10S", Some("5H10S"));
        t("10D", None);
        t("", None);
        t("5M3S5M", None);
        t("5M3H3S", None);
        t("3P10M", Some("3P10M"));
    }

    #[test]
    fn clipped_forms() {
        let t = |input: &str, cut: Clip, expected: Option<&str>| {
            let mut out = Vec::new();
            let is_valid = clip(&ops(input), cut, &mut out);
            assert_eq!(is_valid.then(|| text(&out)).as_deref(), expected, "{input} {cut:?}");
        };
        t("10M", Clip::Left(3), Some("3H7M"));
        t("10M", Clip::Right(3), Some("3M7H"));
        t("2H3S10M", Clip::Left(3), Some("5H10M"));
        t("5M2D5M", Clip::Left(5), Some("5H5M"));
        t("5M2D5M", Clip::Left(4), Some("4H1M2D5M"));
        t("5M2D5M", Clip::Left(6), Some("6H4M"));
        t("5M2D5M", Clip::Right(5), Some("5M5H"));
        t("5M2D5M", Clip::Right(6), Some("5M2D1M4H"));
        t("5M2D5M", Clip::Right(3), Some("3M7H"));
        t("5M2I2D5M", Clip::Left(6), Some("6H1I5M"));
        t("5M2D2I5M", Clip::Left(5), Some("5H2I5M"));
        t("5M2D2I5M", Clip::Right(7), Some("5M2I5H"));
        t("5M2I5M3S2H", Clip::Right(12), Some("5M2I5M5H"));
        t("5S5M", Clip::Right(5), Some("5S5H"));
    }

    #[test]
    fn shifts_and_indices() {
        let t = |input: &str, clipped, expected| {
            assert_eq!(start_shift(&ops(input), clipped), expected, "{input} {clipped}");
        };
        t("10M", 3, 3);
        t("3S10M", 3, 0);
        t("5M2D5M", 5, 7);
        t("5M2D5M", 4, 4);
        t("5M2I5M", 6, 5);
        t("2H5M2D3I5M", 6, 7);
        let t = |input: &str, position, expected| {
            assert_eq!(read_index(&ops(input), 10, position), expected, "{input} {position}");
        };
        t("5M2D5M", 9, None);
        t("5M2D5M", 10, Some((0, MATCH)));
        t("5M2D5M", 14, Some((4, MATCH)));
        t("5M2D5M", 15, Some((5, DELETION)));
        t("5M2D5M", 16, Some((5, DELETION)));
        t("5M2D5M", 17, Some((5, MATCH)));
        t("5M2D5M", 22, None);
        t("5M2I5M", 15, Some((7, MATCH)));
        t("3H2S5M", 11, Some((1, SOFT_CLIP)));
        assert_eq!(leading_soft_clip(&ops("3H2S5M4S")), 2);
        assert_eq!((reference_span(&ops("3H2S5M2D1I")), read_span(&ops("3H2S5M2D1I"))), (7, 8));
    }
}
