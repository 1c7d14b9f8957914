//! A record as BAM has it (SAM specification, 4.2), without its block size.

use super::super::cigar::SOFT_CLIP;
use super::sa::has_sa;
use super::{
    Alignment, MATE_REVERSE, Pool, REVERSE, RecordRead, Recorder, SECONDARY, SPLIT, UNMAPPED,
    clipped, push_cigar_text, reference_length,
};

/// BAM's codes of our codes, A C G T and N, on the forward strand and on the reverse.
const NIBBLES: [[u8; 8]; 2] = [[1, 2, 4, 8, 15, 15, 15, 15], [8, 4, 2, 1, 15, 15, 15, 15]];
/// Phred scores are written with this letter for 0.
const FIRST_QUALITY: u8 = 33;
/// In place of qualities where there are none.
const NO_QUALITY: u8 = 0xFF;

/// Which of the records of a read is written.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct RecordOf<'a> {
    pub(in super::super) read: &'a RecordRead<'a>,
    /// All that are written of the read.
    pub(in super::super) list: &'a [Alignment],
    /// The number of this one.
    pub(in super::super) number: usize,
    pub(in super::super) mate: Option<&'a Alignment>,
    pub(in super::super) pool: &'a Pool,
}

/// Position of a record or of its mate: an unplaced read gets its mate's.
#[derive(Debug, Clone, Copy)]
struct Placed {
    sequence: i32,
    position: i64,
    reverse: bool,
}

impl Placed {
    fn of(alignment: &Alignment, other: Option<Self>) -> Self {
        let Alignment { sequence, position, reverse, .. } = *alignment;
        let own = Self { sequence, position, reverse };
        if sequence < 0 { other.filter(|it| it.sequence >= 0).unwrap_or(own) } else { own }
    }
}

impl Recorder<'_> {
    /// Writes one record to `out`.
    ///
    /// # Errors
    /// If its CIGAR has more operations than BAM can hold.
    pub(in super::super) fn write(
        &self,
        of: &RecordOf<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), String> {
        let RecordOf { read, list, number, mate, pool } = *of;
        let alignment = &list[number];
        let mate_itself = mate.map(|mate| Placed::of(mate, None));
        let own = Placed::of(alignment, mate_itself);
        let mate_place = mate.map(|mate| Placed::of(mate, Some(own)));
        let operations = alignment.operations(pool);
        let count = u16::try_from(operations.len())
            .map_err(|_| "a CIGAR of more than 65,535 operations".to_owned())?;
        let flags = flags(alignment, own, mate_place);
        let span = reference_length(operations);
        let kept = self.kept_bases(of);
        out.clear();
        out.extend_from_slice(&own.sequence.to_le_bytes());
        out.extend_from_slice(&(own.position as i32).to_le_bytes());
        out.push(read.name.len() as u8 + 1);
        out.push(alignment.quality as u8);
        let binned = if flags & UNMAPPED as u16 != 0 || span == 0 { 1 } else { span };
        out.extend_from_slice(&bin(own.position, binned).to_le_bytes());
        out.extend_from_slice(&count.to_le_bytes());
        out.extend_from_slice(&flags.to_le_bytes());
        out.extend_from_slice(&(kept.len() as u32).to_le_bytes());
        let next = mate_place.map_or((-1, -1), |it| (it.sequence, it.position as i32));
        out.extend_from_slice(&next.0.to_le_bytes());
        out.extend_from_slice(&next.1.to_le_bytes());
        let length = mate.map_or(0, |mate| template_length(alignment, mate, pool));
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(read.name);
        out.push(0);
        for &operation in operations {
            let operation = clipped(operation, number, alignment.is_alt, self.settings);
            out.extend_from_slice(&operation.to_le_bytes());
        }
        push_bases(&read.codes[kept.clone()], own.reverse, out);
        push_qualities(read.qualities.map(|it| &it[kept.clone()]), kept.len(), own.reverse, out);
        self.push_tags(of, out);
        Ok(())
    }

    /// The bases of the read that a record has, in order of the read: all but hard clips.
    fn kept_bases(&self, of: &RecordOf<'_>) -> std::ops::Range<usize> {
        let alignment = &of.list[of.number];
        let length = of.read.codes.len();
        if alignment.flags & SECONDARY != 0 {
            return 0..0;
        }
        let is_whole = of.number == 0 || self.settings.soft_clips || alignment.is_alt;
        let [first, .., last] = alignment.operations(of.pool) else { return 0..length };
        if is_whole {
            return 0..length;
        }
        let clip = |it: &u32| if it & 0xF == SOFT_CLIP { (it >> 4) as usize } else { 0 };
        let [front, back] = [clip(first), clip(last)];
        if alignment.reverse { back..length - front } else { front..length - back }
    }

    /// Tags in bwa's order; the read group and what the input said come later.
    fn push_tags(&self, of: &RecordOf<'_>, out: &mut Vec<u8>) {
        let RecordOf { list, number, mate, pool, .. } = *of;
        let alignment = &list[number];
        if !alignment.cigar.is_empty() {
            push_integer(out, b"NM", alignment.edits);
            push_text(out, b"MD", |out| {
                out.extend_from_slice(&pool.text[alignment.md.clone()]);
            });
        }
        if let Some(mate) = mate {
            let operations = mate.operations(pool);
            if !operations.is_empty() {
                // The mate's clips are those of this record, whatever they are in its own.
                let clipped = |&it: &u32| clipped(it, number, mate.is_alt, self.settings);
                push_text(out, b"MC", |out| {
                    push_cigar_text(out, operations.iter().map(clipped));
                });
            }
            push_integer(out, b"MQ", mate.quality);
        }
        if alignment.score >= 0 {
            push_integer(out, b"AS", alignment.score);
        }
        if alignment.sub >= 0 {
            push_integer(out, b"XS", alignment.sub);
        }
        if has_sa(list, number) {
            push_text(out, b"SA", |out| self.push_sa(list, number, pool, out));
        }
        if alignment.flags & SECONDARY == 0 && alignment.alt_score > 0 {
            out.extend_from_slice(b"paf");
            let share = share(alignment.score, alignment.alt_score);
            out.extend_from_slice(&share.to_le_bytes());
        }
        if let Some(xa) = &alignment.xa {
            push_text(out, b"XA", |out| {
                out.extend_from_slice(&pool.text[xa.clone()]);
            });
        }
    }
}

/// The flags as they are written: strands are those of places, and a split hit is secondary.
fn flags(alignment: &Alignment, own: Placed, mate: Option<Placed>) -> u16 {
    let mut flags = alignment.flags;
    if own.reverse {
        flags |= REVERSE;
    }
    if mate.is_some_and(|it| it.reverse) {
        flags |= MATE_REVERSE;
    }
    if flags & SPLIT != 0 {
        flags |= SECONDARY;
    }
    flags as u16
}

/// The bin of `length` bases (SAM specification, 5.3); 4680 for what has no place.
fn bin(position: i64, length: i64) -> u16 {
    let (first, last) = (position as i32, (position + length - 1) as i32);
    for (shift, before) in [(14, 15), (17, 12), (20, 9), (23, 6), (26, 3)] {
        if first >> shift == last >> shift {
            return (((1 << before) - 1) / 7 + (first >> shift)) as u16;
        }
    }
    0
}

/// TLEN: from the first base of one mate to that of the other, each on its own strand.
fn template_length(own: &Alignment, mate: &Alignment, pool: &Pool) -> i32 {
    let operations = [own, mate].map(|it| it.operations(pool));
    let apart = own.sequence != mate.sequence || !own.is_placed();
    if apart || operations.iter().any(|it| it.is_empty()) {
        return 0;
    }
    let first_base = |it: &Alignment, operations: &[u32]| {
        it.position + if it.reverse { reference_length(operations) - 1 } else { 0 }
    };
    let difference = first_base(own, operations[0]) - first_base(mate, operations[1]);
    -(difference + difference.signum()) as i32
}

/// Two bases a byte.
fn push_bases(codes: &[u8], reverse: bool, out: &mut Vec<u8>) {
    let nibble = |code: u8| NIBBLES[usize::from(reverse)][usize::from(code & 7)];
    let pack = |[first, second]: [u8; 2]| nibble(first) << 4 | nibble(second);
    if reverse {
        let (odd, pairs) = codes.as_rchunks();
        out.extend(pairs.iter().rev().map(|&[second, first]| pack([first, second])));
        out.extend(odd.first().map(|&code| nibble(code) << 4));
    } else {
        let (pairs, odd) = codes.as_chunks();
        out.extend(pairs.iter().map(|&pair| pack(pair)));
        out.extend(odd.first().map(|&code| nibble(code) << 4));
    }
}

fn push_qualities(qualities: Option<&[u8]>, count: usize, reverse: bool, out: &mut Vec<u8>) {
    let score = |letter: &u8| letter.wrapping_sub(FIRST_QUALITY);
    match qualities {
        Some(qualities) if reverse => out.extend(qualities.iter().rev().map(score)),
        Some(qualities) => out.extend(qualities.iter().map(score)),
        None => out.extend(std::iter::repeat_n(NO_QUALITY, count)),
    }
}

/// A tag of 32 bits.
fn push_integer(out: &mut Vec<u8>, tag: &[u8; 2], value: i32) {
    out.extend_from_slice(tag);
    out.push(b'i');
    out.extend_from_slice(&value.to_le_bytes());
}

/// A tag of text.
fn push_text(out: &mut Vec<u8>, tag: &[u8; 2], text: impl FnOnce(&mut Vec<u8>)) {
    out.extend_from_slice(tag);
    out.push(b'Z');
    text(out);
    out.push(0);
}

/// One score by another, with three digits, as bwa prints it and samtools reads it.
fn share(score: i32, other: i32) -> f32 {
    let text = format!("{:.3}", f64::from(score) / f64::from(other));
    text.parse::<f64>().unwrap_or(0.0) as f32
}
