//! Reads that an engine does not search for because of their length. They come out unmapped with
//! the tag YF:Z:LN, which Bowtie 2 and HISAT2 have for this, and are counted here.

use seqloom_format::bam::{AuxValue, Flags, RecordError, RecordRef};

use crate::engine::Read;
use crate::records::{UNSEARCHED, push_bases, push_qualities};

/// Offset of the number of bases in a record's body (SAM specification 4.2).
const BASE_COUNT_AT: usize = 16;

/// A read that was not searched for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnsearchedRead {
    /// Its template in the input, and whether it is the second of it.
    place: (u64, bool),
    /// Its name.
    pub name: String,
    /// Its bases that are left once it is trimmed.
    pub bases: usize,
}

/// How many such reads there are, and the first of them in the input.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnsearchedCount {
    /// Their number.
    pub reads: u64,
    /// The first one.
    pub first: Option<UnsearchedRead>,
}

impl UnsearchedCount {
    fn add(&mut self, place: (u64, bool), record: &RecordRef<'_>) {
        self.reads += 1;
        if self.first.as_ref().is_none_or(|first| place < first.place) {
            let name = String::from_utf8_lossy(record.name()).into_owned();
            self.first = Some(UnsearchedRead { place, name, bases: record.base_count() });
        }
    }

    /// Adds those of the same lane.
    fn merge(&mut self, other: Self) {
        self.reads += other.reads;
        let first = self.first.take().into_iter().chain(other.first);
        self.first = first.min_by_key(|it| it.place);
    }

    /// Adds those of a lane that follows.
    fn append(&mut self, other: Self) {
        self.reads += other.reads;
        self.first = self.first.take().or(other.first);
    }
}

/// Reads that were not searched for, by what is wrong with their length.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnsearchedReads {
    /// Shorter than the engine searches for.
    pub too_short: UnsearchedCount,
    /// Longer than the engine searches for.
    pub too_long: UnsearchedCount,
}

impl UnsearchedReads {
    /// Counts the read of a record if it was not searched for. `longest_bases`: the longest one
    /// that is.
    ///
    /// # Errors
    /// A malformed tag.
    pub(crate) fn look(
        &mut self,
        place: (u64, bool),
        record: &RecordRef<'_>,
        longest_bases: usize,
    ) -> Result<(), RecordError> {
        if !record.has_flags(Flags::UNMAPPED) || !is_outside(record)? {
            return Ok(());
        }
        let is_long = record.base_count() > longest_bases;
        let count = if is_long { &mut self.too_long } else { &mut self.too_short };
        count.add(place, record);
        Ok(())
    }

    /// Adds those of the same lane.
    pub(crate) fn merge(&mut self, other: Self) {
        self.too_short.merge(other.too_short);
        self.too_long.merge(other.too_long);
    }

    /// Adds those of a lane that follows.
    pub(crate) fn append(&mut self, other: Self) {
        self.too_short.append(other.too_short);
        self.too_long.append(other.too_long);
    }
}

/// Whether a record has the tag of a read that was not searched for.
fn is_outside(record: &RecordRef<'_>) -> Result<bool, RecordError> {
    let [first, second, _, value @ .., _] = *UNSEARCHED;
    let found = record.find_aux([first, second])?;
    Ok(found.as_ref().and_then(AuxValue::as_string) == Some(&value[..]))
}

/// The record that an engine has made of a read without its bases, with them and the tag.
///
/// # Errors
/// A malformed tag.
pub(crate) fn with_bases(record: &RecordRef<'_>, read: &Read<'_>) -> Result<Vec<u8>, RecordError> {
    let (body, at) = (record.body(), record.aux_start());
    let bases = read.bases;
    let is_reverse = record.has_flags(Flags::REVERSE);
    let mut out = Vec::with_capacity(body.len() + 2 * bases.len() + UNSEARCHED.len());
    out.extend_from_slice(&body[..at]);
    out[BASE_COUNT_AT..BASE_COUNT_AT + 4].copy_from_slice(&(bases.len() as u32).to_le_bytes());
    push_bases(bases, is_reverse, &mut out);
    push_qualities(read, is_reverse, &mut out);
    out.extend_from_slice(&body[at..]);
    if !is_outside(record)? {
        out.extend_from_slice(UNSEARCHED);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An unmapped record of a read without bases.
    fn body(flags: u16, tags: &[u8]) -> Vec<u8> {
        let mut body = vec![0; 32];
        body[..8].fill(0xff);
        body[8] = 2;
        body[14..16].copy_from_slice(&(flags | Flags::UNMAPPED).to_le_bytes());
        body[20..28].fill(0xff);
        body.extend_from_slice(b"r\0");
        body.extend_from_slice(tags);
        body
    }

    #[test]
    fn bases_come_back_in_the_order_of_the_strand_and_the_tag_is_there_once() {
        let t = |flags: u16, tags: &[u8], qualities: Option<&[u8]>, expected: &[u8]| {
            let empty = body(flags, tags);
            let record = RecordRef::new(&empty).unwrap();
            let full = with_bases(&record, &Read { name: b"r", bases: b"ACG", qualities }).unwrap();
            let record = RecordRef::new(&full).unwrap();
            assert_eq!((record.base_count(), record.name()), (3, &b"r"[..]));
            assert_eq!(&full[34..], expected);
            let mut outside = UnsearchedReads::default();
            outside.look((4, true), &record, 2).unwrap();
            assert_eq!((outside.too_short.reads, outside.too_long.reads), (0, 1));
            outside.look((3, true), &record, 3).unwrap();
            assert_eq!(outside.too_short.first.unwrap().bases, 3);
        };
        t(0, b"ASC\0", Some(b"!5I"), b"\x12\x40\0\x14\x28ASC\0YFZLN\0");
        t(0, b"YFZLN\0", Some(b"!5I"), b"\x12\x40\0\x14\x28YFZLN\0");
        t(Flags::REVERSE, b"", Some(b"!5I"), b"\x24\x80\x28\x14\0YFZLN\0");
        t(0, b"", None, b"\x12\x40\xff\xff\xffYFZLN\0");
    }

    #[test]
    fn the_first_read_is_that_of_the_input_and_of_the_first_lane() {
        let record = body(0, UNSEARCHED);
        let record = RecordRef::new(&record).unwrap();
        let of = |places: &[(u64, bool)]| {
            let mut outside = UnsearchedReads::default();
            places.iter().for_each(|&place| outside.look(place, &record, 9).unwrap());
            outside
        };
        let place = |it: &UnsearchedReads| it.too_short.first.as_ref().map(|it| it.place);
        let mut all = of(&[(7, false), (5, true), (5, false)]);
        assert_eq!((place(&all), all.too_short.reads), (Some((5, false)), 3));
        all.merge(of(&[(4, true)]));
        assert_eq!(place(&all), Some((4, true)));
        all.append(of(&[(0, false)]));
        assert_eq!((place(&all), all.too_short.reads), (Some((4, true)), 5));
        let placed = body(0, b"");
        let mut none = UnsearchedReads::default();
        none.look((0, false), &RecordRef::new(&placed).unwrap(), 9).unwrap();
        assert_eq!(none, UnsearchedReads::default());
    }
}
