//! The bases under a slice's records, of which a part at a time is in memory: records come in the
//! order of their places, so the part moves forward.

use std::ops::Range;

use super::error::Problem;

/// Most bases that a decoder has in memory at once. A slice of 10,000 short reads at a depth of 30
/// is on 50,000.
pub const MOST_BASES: usize = 1 << 20;
const ENDS: Problem = Problem::Ends("a sequence of the reference");
/// Bases that are read where nothing is known of what is read next.
const LEAST_BASES: usize = 8 << 10;

/// Bases of the sequences of a header.
pub trait SequenceBases {
    /// Number of a sequence's bases; `None` if they are not known.
    fn length(&self, index: usize) -> Option<usize>;

    /// Replaces `out` by the bases of a sequence at these places, which it has, in upper case.
    ///
    /// # Errors
    /// Why they cannot be read.
    fn read(&self, index: usize, places: Range<usize>, out: &mut Vec<u8>) -> Result<(), String>;

    /// Whether a sequence is the one of the header's M5, as far as there is one; for slices without
    /// an MD5 of their own.
    ///
    /// # Errors
    /// Why its bases cannot be read.
    fn is_known(&self, index: usize) -> Result<bool, String>;
}

/// One worker's part of a sequence.
#[derive(Debug, Default)]
pub(crate) struct Window {
    /// `None` for bases that are all here.
    sequence: Option<usize>,
    length: usize,
    /// 0-based place of the first of `bases`.
    first: usize,
    bases: Vec<u8>,
    /// Start of the record whose bases are read.
    record: usize,
    /// Bases that are read next time.
    ahead: usize,
}

impl Window {
    /// Takes the bases that a slice brings, of which the first is at `first`; gives the buffer
    /// back that was there.
    pub(crate) fn embed(&mut self, first: i64, bases: &mut Vec<u8>) {
        std::mem::swap(&mut self.bases, bases);
        self.sequence = None;
        self.first = usize::try_from(first).unwrap_or(0);
        self.length = self.first.saturating_add(self.bases.len());
    }

    /// Goes to a sequence, of which nothing is read yet; whether it was at another one.
    pub(crate) fn go_to(&mut self, sequence: i32, of: &dyn SequenceBases) -> Result<bool, Problem> {
        let index = usize::try_from(sequence).unwrap_or(usize::MAX);
        if self.sequence == Some(index) {
            return Ok(false);
        }
        self.length = of.length(index).ok_or(Problem::NoReference { sequence })?;
        self.sequence = Some(index);
        self.first = 0;
        self.ahead = LEAST_BASES;
        self.bases.clear();
        Ok(true)
    }

    /// Forgets what is there.
    pub(crate) fn clear(&mut self) {
        self.sequence = None;
        self.bases.clear();
    }

    /// Bases of the whole sequence.
    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// Has a record begin, before which no base of it is.
    pub(crate) fn begin(&mut self, place: i64) {
        self.record = usize::try_from(place).unwrap_or(0);
    }

    /// The bases from `place` on: at least one and at most `count`; none where the sequence has no
    /// more, or `place` is not in it.
    #[inline]
    pub(crate) fn part(
        &mut self,
        place: i64,
        count: usize,
        of: &dyn SequenceBases,
    ) -> Result<&[u8], Problem> {
        let Ok(place) = usize::try_from(place) else { return Ok(&[]) };
        let offset = place.wrapping_sub(self.first);
        if offset >= self.bases.len() || count > self.bases.len() - offset {
            self.read(place, count, of)?;
        }
        let rest = self.bases.get(place.wrapping_sub(self.first)..).unwrap_or_default();
        Ok(&rest[..rest.len().min(count)])
    }

    /// Has bases from `place` on, where the sequence has some.
    #[cold]
    fn read(&mut self, place: usize, count: usize, of: &dyn SequenceBases) -> Result<(), Problem> {
        if self.sequence.is_none() {
            return Ok(());
        }
        let end = place.saturating_add(count.min(MOST_BASES)).min(self.length);
        let here = self.first..self.first + self.bases.len();
        if place >= self.length || (here.contains(&place) && end <= here.end) {
            return Ok(());
        }
        // The next record may begin where this one does.
        let record = Some(self.record).filter(|&it| it <= place && end - it <= MOST_BASES);
        let first = record.unwrap_or(place);
        let is_near = (here.start..=here.end.saturating_add(self.ahead)).contains(&first);
        self.ahead = if is_near { 2 * self.ahead } else { LEAST_BASES };
        self.ahead = self.ahead.min(MOST_BASES);
        let end = end.max(first.saturating_add(self.ahead).min(self.length));
        self.load(first..end, of).map(|_| ())
    }

    /// Reads the bases at these places of the sequence, as far as there is room for them.
    pub(crate) fn load(
        &mut self,
        places: Range<usize>,
        of: &dyn SequenceBases,
    ) -> Result<&[u8], Problem> {
        let index = self.sequence.unwrap_or(usize::MAX);
        let sequence = i32::try_from(index).unwrap_or(i32::MAX);
        self.first = places.start;
        let places = places.start..places.end.min(places.start.saturating_add(MOST_BASES));
        let count = places.len();
        of.read(index, places, &mut self.bases)
            .map_err(|reason| Problem::Bases { sequence, reason })?;
        if self.bases.len() == count { Ok(&self.bases) } else { Err(ENDS) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sequence, and what was read of it.
    struct Sequence(Vec<u8>, std::cell::RefCell<Vec<Range<usize>>>);

    impl SequenceBases for Sequence {
        fn length(&self, index: usize) -> Option<usize> {
            (index < 2).then_some(self.0.len())
        }

        fn read(&self, _: usize, places: Range<usize>, out: &mut Vec<u8>) -> Result<(), String> {
            self.1.borrow_mut().push(places.clone());
            out.clear();
            out.extend_from_slice(&self.0[places]);
            Ok(())
        }

        fn is_known(&self, _: usize) -> Result<bool, String> {
            Ok(true)
        }
    }

    fn sequence(length: usize) -> Sequence {
        let bases = (0..length as u64).map(|at| b"ACGTN"[(at * at / 7 % 5) as usize]);
        Sequence(bases.collect(), Default::default())
    }

    /// All parts of some places, which must be those of the sequence.
    #[track_caller]
    fn check(window: &mut Window, of: &Sequence, place: i64, count: usize) {
        let (mut at, mut got) = (place, Vec::new());
        while got.len() < count {
            let part = window.part(at, count - got.len(), of).unwrap();
            if part.is_empty() {
                break;
            }
            got.extend_from_slice(part);
            at += part.len() as i64;
        }
        let first = usize::try_from(place).unwrap_or(usize::MAX).min(of.0.len());
        assert!(got == of.0[first..of.0.len().min(first.saturating_add(count))], "{place} {count}");
        assert!(window.bases.len() <= MOST_BASES);
    }

    #[test]
    fn any_part_in_any_order_is_that_of_the_sequence() {
        let of = sequence(3 * MOST_BASES + 77);
        let mut window = Window::default();
        window.go_to(0, &of).unwrap();
        let (mut state, length) = (3_u64, of.0.len() as u64);
        for round in 0..3000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
            let place = (state >> 20) % (length + 9);
            let record = if round % 3 == 0 { place } else { place.saturating_sub(state % 5000) };
            window.begin(record as i64);
            let count = if round % 500 == 0 { 5 << 20 } else { state as usize % 400 };
            check(&mut window, &of, place as i64, count);
        }
        for place in [-1, -150, i64::MIN, of.0.len() as i64, i64::MAX] {
            check(&mut window, &of, place, 10);
        }
        assert_eq!(window.go_to(2, &of), Err(Problem::NoReference { sequence: 2 }));
    }

    #[test]
    fn what_goes_forward_is_read_once() {
        let of = sequence(2 * MOST_BASES);
        let mut window = Window::default();
        window.go_to(0, &of).unwrap();
        for place in (0..of.0.len() - 15_000).step_by(1000) {
            window.begin(place as i64);
            for offset in (0..15_000).step_by(150) {
                check(&mut window, &of, (place + offset) as i64, 150);
            }
        }
        let reads = of.1.borrow();
        let bases: usize = reads.iter().map(ExactSizeIterator::len).sum();
        assert!(reads.len() < 30 && bases < 3 * of.0.len(), "{} {bases}", reads.len());
    }

    #[test]
    fn what_is_in_no_order_is_read_a_little_at_a_time() {
        let of = sequence(3 * MOST_BASES);
        let mut window = Window::default();
        window.go_to(1, &of).unwrap();
        for place in (0..2000).map(|number| number * 1_048_583 % (of.0.len() - 200)) {
            window.begin(place as i64);
            check(&mut window, &of, place as i64, 150);
        }
        let bases: usize = of.1.borrow().iter().map(ExactSizeIterator::len).sum();
        assert!(bases < 2000 * 3 * LEAST_BASES, "{bases}");
    }

    #[test]
    fn bases_that_a_slice_brings_are_all_there_is() {
        let of = sequence(100);
        let mut window = Window::default();
        window.embed(40, &mut of.0[40..60].to_vec());
        assert_eq!(window.part(45, 10, &of), Ok(&of.0[45..55]));
        assert_eq!(window.part(55, 10, &of), Ok(&of.0[55..60]));
        for place in [39, 60, -1] {
            assert_eq!(window.part(place, 1, &of), Ok(&b""[..]));
        }
        assert!(of.1.borrow().is_empty());
    }
}
