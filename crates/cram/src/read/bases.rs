//! Features to bases, CIGAR, NM and MD (CRAM specification, section 10.6).

use seqloom_format::bam::cigar::{DELETION, HARD_CLIP, INSERTION, MATCH, PADDING, SKIP, SOFT_CLIP};

use super::compression::CompressionHeader;
use super::encodings::Streams;
use super::error::Problem;
use super::window::{SequenceBases, Window};

/// Longest MD: a read that deletes a tenth of a genome, and hostile ones that delete it many times.
const MOST_MD_BYTES: usize = 256 << 20;

/// Quality of bases that have none where others of their read have one, as samtools makes it.
const DEFAULT_QUALITY: u8 = 30;

/// Bases under a read.
pub(crate) struct Under<'a> {
    pub(crate) window: &'a mut Window,
    pub(crate) sequences: &'a dyn SequenceBases,
}

impl Under<'_> {
    #[inline]
    fn part(&mut self, place: i64, count: usize) -> Result<&[u8], Problem> {
        self.window.part(place, count, self.sequences)
    }
}

/// A read as it is put together.
#[derive(Debug, Default)]
pub(crate) struct Read {
    pub(crate) letters: Vec<u8>,
    pub(crate) qualities: Vec<u8>,
    pub(crate) cigar: Vec<u32>,
    pub(crate) md: Vec<u8>,
    pub(crate) mismatches: u64,
    /// 0-based place after its last base on the reference.
    pub(crate) end: i64,
    /// Equal bases since the last difference.
    equal: u64,
    bytes: Vec<u8>,
}

/// A read that is on a reference.
pub(crate) struct Aligned<'a> {
    /// 0-based place of its first base.
    pub(crate) start: i64,
    pub(crate) length: usize,
    /// `None` where the file was written without a reference.
    pub(crate) under: Option<Under<'a>>,
}

impl Aligned<'_> {
    /// The base at a place, if there is one that is known.
    #[inline]
    fn base(&mut self, place: i64) -> Result<Option<u8>, Problem> {
        match &mut self.under {
            Some(under) => Ok(under.part(place, 1)?.first().copied()),
            None => Ok(None),
        }
    }
}

impl Read {
    pub(crate) fn clear(&mut self) {
        self.letters.clear();
        self.qualities.clear();
        self.cigar.clear();
        self.md.clear();
        (self.mismatches, self.equal) = (0, 0);
    }

    fn push_op(&mut self, code: u8, length: usize) -> Result<(), Problem> {
        const TOO_LONG: Problem = Problem::Malformed("an operation of a CIGAR is too long");
        if length == 0 {
            return Ok(());
        }
        let length = u32::try_from(length).ok().filter(|it| it >> 28 == 0).ok_or(TOO_LONG)?;
        match self.cigar.last_mut() {
            Some(last) if *last & 0xf == u32::from(code) => {
                let sum = (*last >> 4) + length;
                if sum >> 28 != 0 {
                    return Err(TOO_LONG);
                }
                *last = sum << 4 | u32::from(code);
            }
            _ => self.cigar.push(length << 4 | u32::from(code)),
        }
        Ok(())
    }

    /// Ends a run of equal bases in MD.
    fn end_equal(&mut self) {
        let number = std::mem::take(&mut self.equal);
        if number < 10 {
            self.md.push(b'0' + number as u8);
        } else {
            self.md.extend_from_slice(number.to_string().as_bytes());
        }
    }

    fn push_mismatch(&mut self, theirs: u8) {
        self.end_equal();
        self.md.push(theirs);
        self.mismatches += 1;
    }

    /// Appends bases that are those of the reference.
    fn push_equal(&mut self, of: &mut Aligned<'_>, count: usize) -> Result<(), Problem> {
        let mut place = self.end;
        self.end += count as i64;
        self.push_op(MATCH, count)?;
        let end = self.letters.len() + count;
        if let Some(under) = &mut of.under {
            while self.letters.len() < end {
                let mut rest = under.part(place, end - self.letters.len())?;
                if rest.is_empty() {
                    break;
                }
                place += rest.len() as i64;
                self.letters.extend_from_slice(rest);
                // An N is equal to nothing, as samtools counts.
                while let Some(at) = memchr::memchr(b'N', rest) {
                    self.equal += at as u64;
                    self.push_mismatch(b'N');
                    rest = &rest[at + 1..];
                }
                self.equal += rest.len() as u64;
            }
        }
        self.letters.resize(end, b'N');
        Ok(())
    }

    /// Reads the features of a read, and with them all but its qualities.
    pub(crate) fn align(
        &mut self,
        of: &mut Aligned<'_>,
        header: &CompressionHeader,
        streams: &mut Streams,
    ) -> Result<(), Problem> {
        self.end = of.start;
        let count = header.series.feature_count.number(streams)?;
        let mut place = 0_i64;
        for _ in 0..count {
            let code = header.series.feature_code.byte(streams)?;
            place += i64::from(header.series.feature_position.number(streams)?);
            // After the last base there may be deletions and clips.
            if place < 1 || place > of.length as i64 + 1 {
                return Err(Problem::Malformed("a feature is outside its read"));
            }
            let at = place as usize - 1;
            if at > self.letters.len() {
                self.push_equal(of, at - self.letters.len())?;
            } else if at < self.letters.len() && !matches!(code, b'Q' | b'q') {
                return Err(Problem::Malformed("features of a read overlap"));
            }
            self.push_feature(code, at, of, header, streams)?;
            if self.letters.len() > of.length {
                return Err(Problem::Malformed("a feature goes on after its read"));
            }
        }
        self.push_equal(of, of.length - self.letters.len())?;
        self.end_equal();
        Ok(())
    }

    fn push_feature(
        &mut self,
        code: u8,
        at: usize,
        of: &mut Aligned<'_>,
        header: &CompressionHeader,
        streams: &mut Streams,
    ) -> Result<(), Problem> {
        let series = &header.series;
        let room = of.length - self.letters.len().min(of.length);
        let length = |number: i32| {
            usize::try_from(number).map_err(|_| Problem::Malformed("a length is negative"))
        };
        match code {
            b'X' => {
                let code = series.substitution.byte(streams)?;
                let theirs = of.base(self.end)?;
                let base = header.substitutions.base(theirs.unwrap_or(b'N'), code);
                self.push_base(base, theirs)?;
            }
            b'B' => {
                let base = series.base.byte(streams)?;
                let quality = series.quality.byte(streams)?;
                self.set_qualities(at, of.length, &[quality])?;
                let theirs = of.base(self.end)?;
                self.push_base(base, theirs)?;
            }
            b'b' => {
                let start = self.letters.len();
                series.bases.append(room, streams, &mut self.letters)?;
                self.compare(start, of)?;
            }
            b'i' => {
                self.letters.push(series.base.byte(streams)?);
                self.mismatches += 1;
                self.push_op(INSERTION, 1)?;
            }
            b'I' | b'S' => {
                let start = self.letters.len();
                let is_clip = code == b'S';
                let series = if is_clip { &series.soft_clip } else { &series.insertion };
                series.append(room, streams, &mut self.letters)?;
                let count = self.letters.len() - start;
                self.mismatches += if is_clip { 0 } else { count as u64 };
                self.push_op(if is_clip { SOFT_CLIP } else { INSERTION }, count)?;
            }
            b'D' => self.push_deletion(length(series.deletion_length.number(streams)?)?, of)?,
            b'N' => {
                let count = length(series.skip_length.number(streams)?)?;
                self.end += count as i64;
                self.push_op(SKIP, count)?;
            }
            b'H' => self.push_op(HARD_CLIP, length(series.hard_clip_length.number(streams)?)?)?,
            b'P' => self.push_op(PADDING, length(series.padding_length.number(streams)?)?)?,
            b'Q' => {
                let quality = series.quality.byte(streams)?;
                self.set_qualities(at, of.length, &[quality])?;
            }
            b'q' => {
                let mut bytes = std::mem::take(&mut self.bytes);
                bytes.clear();
                let read = series.qualities.append(of.length, streams, &mut bytes);
                let read = read.and_then(|()| self.set_qualities(at, of.length, &bytes));
                self.bytes = bytes;
                read?;
            }
            _ => return Err(Problem::Malformed("a feature is of an unknown kind")),
        }
        Ok(())
    }

    fn push_base(&mut self, base: u8, theirs: Option<u8>) -> Result<(), Problem> {
        self.letters.push(base);
        self.push_op(MATCH, 1)?;
        self.end += 1;
        if let Some(theirs) = theirs {
            self.push_mismatch(theirs);
        }
        Ok(())
    }

    /// Compares the bases from `start` on, which are written as they are.
    fn compare(&mut self, start: usize, of: &mut Aligned<'_>) -> Result<(), Problem> {
        let count = self.letters.len() - start;
        let mut is_inside = true;
        for index in start..self.letters.len() {
            let ours = self.letters[index];
            match of.base(self.end)? {
                Some(theirs) if theirs != ours || theirs == b'N' => self.push_mismatch(theirs),
                Some(_) => self.equal += 1,
                // Where the reference ends samtools ends the run, and what follows is no mismatch.
                None if is_inside && of.under.is_some() => {
                    self.end_equal();
                    is_inside = false;
                }
                None => {}
            }
            self.end += 1;
        }
        self.push_op(MATCH, count)
    }

    fn push_deletion(&mut self, count: usize, of: &mut Aligned<'_>) -> Result<(), Problem> {
        self.push_op(DELETION, count)?;
        if let Some(under) = &mut of.under {
            self.end_equal();
            self.md.push(b'^');
            let (mut place, mut left) = (self.end, count);
            while left > 0 {
                let bases = under.part(place, left)?;
                if bases.is_empty() {
                    break;
                }
                if self.md.len() + bases.len() > MOST_MD_BYTES {
                    return Err(Problem::TooLarge(MOST_MD_BYTES));
                }
                self.md.extend_from_slice(bases);
                (place, left) = (place + bases.len() as i64, left - bases.len());
            }
        }
        self.mismatches += count as u64;
        self.end += count as i64;
        Ok(())
    }

    /// Sets qualities that are features; the others become samtools' default.
    fn set_qualities(&mut self, at: usize, length: usize, some: &[u8]) -> Result<(), Problem> {
        if self.qualities.is_empty() {
            self.qualities.resize(length, DEFAULT_QUALITY);
        }
        let own = self.qualities.get_mut(at..at + some.len());
        own.ok_or(Problem::Malformed("a quality is outside its read"))?.copy_from_slice(some);
        Ok(())
    }
}
