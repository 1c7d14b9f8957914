//! Records: what is written of a read and its regions.
//!
//! A region becomes an [`Alignment`]: a place, a CIGAR, what differs (`mem_reg2aln`). The
//! alignments of a read, with that of its mate, become records (`mem_aln2sam`), which are written
//! as BAM has them.

pub(super) mod sa;
pub(super) mod write;
pub(super) mod xa;

use std::ops::Range;

use seqloom_format::bam::Flags;

use super::cigar::{DELETION, HARD_CLIP, MATCH, SOFT_CLIP, Tracer, operation};
use super::reference::Reference;
use super::regions::mapq::mapq_se;
use super::regions::{NONE, Region};
use super::settings::Settings;

/// Flags of a record; wider than BAM's, so that [`SPLIT`] is one of them.
pub(super) const PAIRED: u32 = Flags::PAIRED as u32;
pub(super) const PROPER: u32 = Flags::PROPER_PAIR as u32;
pub(super) const UNMAPPED: u32 = Flags::UNMAPPED as u32;
pub(super) const MATE_UNMAPPED: u32 = Flags::MATE_UNMAPPED as u32;
pub(super) const REVERSE: u32 = Flags::REVERSE as u32;
pub(super) const MATE_REVERSE: u32 = Flags::MATE_REVERSE as u32;
pub(super) const FIRST_OF_PAIR: u32 = Flags::FIRST_OF_PAIR as u32;
pub(super) const SECONDARY: u32 = Flags::SECONDARY as u32;
pub(super) const SUPPLEMENTARY: u32 = Flags::SUPPLEMENTARY as u32;
/// A split hit that is written as secondary (`-M`), and is listed in SA all the same.
pub(super) const SPLIT: u32 = 0x1_0000;

/// A read, as records need it.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordRead<'a> {
    pub(super) name: &'a [u8],
    /// Bases as codes 0 to 4.
    pub(super) codes: &'a [u8],
    /// As in FASTQ, one for each base; `None` if there are none.
    pub(super) qualities: Option<&'a [u8]>,
}

/// Texts and operations that alignments point to.
#[derive(Debug, Default)]
pub(super) struct Pool {
    pub(super) operations: Vec<u32>,
    pub(super) text: Vec<u8>,
    /// A text that is not done.
    pub(super) draft: Vec<u8>,
}

impl Pool {
    pub(super) fn clear(&mut self) {
        self.operations.clear();
        self.text.clear();
    }
}

/// A span of a [`Pool`]'s operations or text.
type Span = Range<usize>;

/// Where a read is aligned, or that it is not.
#[derive(Debug, Clone)]
pub(super) struct Alignment {
    /// Number of the sequence, or [`NONE`].
    pub(super) sequence: i32,
    /// First base there, from 0.
    pub(super) position: i64,
    pub(super) reverse: bool,
    /// Flags, but for the strands; also [`SPLIT`].
    pub(super) flags: u32,
    pub(super) quality: i32,
    pub(super) edits: i32,
    pub(super) score: i32,
    pub(super) sub: i32,
    pub(super) is_alt: bool,
    pub(super) alt_score: i32,
    /// Operations, with soft clips.
    pub(super) cigar: Span,
    /// Text of MD.
    pub(super) md: Span,
    /// Text of XA.
    pub(super) xa: Option<Span>,
}

impl Alignment {
    /// Of a read that is unplaced.
    pub(super) fn unplaced() -> Self {
        Self {
            sequence: NONE,
            position: -1,
            reverse: false,
            flags: UNMAPPED,
            quality: 0,
            edits: 0,
            score: 0,
            sub: 0,
            is_alt: false,
            alt_score: 0,
            cigar: 0..0,
            md: 0..0,
            xa: None,
        }
    }

    pub(super) fn is_placed(&self) -> bool {
        self.sequence >= 0
    }

    /// The operations.
    pub(super) fn operations<'p>(&self, pool: &'p Pool) -> &'p [u32] {
        &pool.operations[self.cigar.clone()]
    }
}

/// The options and the reference.
#[derive(Debug, Clone, Copy)]
pub(super) struct Recorder<'a> {
    pub(super) settings: &'a Settings,
    pub(super) reference: &'a Reference<'a>,
}

impl Recorder<'_> {
    /// The alignment of a region of a read, given as codes.
    ///
    /// # Errors
    /// If the region is empty or crosses from one strand to the other, which none does.
    pub(super) fn align(
        &self,
        codes: &[u8],
        region: &Region,
        tracer: &mut Tracer,
        pool: &mut Pool,
    ) -> Result<Alignment, String> {
        let Self { settings, reference } = *self;
        if !tracer.trace(codes, region, reference, settings) {
            return Err("a region without a path (this is a bug)".to_owned());
        }
        let is_primary = region.secondary < 0;
        let Region { reference_start, reference_end, .. } = *region;
        let reverse = reference.is_reverse(reference_start);
        let mut place =
            reference.forward(if reverse { reference_end - 1 } else { reference_start });
        let first_operation = pool.operations.len();
        place += self.push_cigar(region, codes.len(), &tracer.cigar, reverse, pool);
        let first_letter = pool.text.len();
        pool.text.extend_from_slice(&tracer.md_nm.text);
        let sequence = &reference.sequences[region.sequence as usize];
        Ok(Alignment {
            sequence: region.sequence,
            position: place as i64 - sequence.start as i64,
            reverse,
            flags: if is_primary { 0 } else { SECONDARY },
            quality: if is_primary { mapq_se(region, settings) } else { 0 },
            edits: tracer.md_nm.edits,
            score: region.score,
            sub: region.sub.max(region.tandem_score),
            is_alt: region.is_alt,
            alt_score: region.alt_score,
            cigar: first_operation..pool.operations.len(),
            md: first_letter..pool.text.len(),
            xa: None,
        })
    }

    /// Puts the operations of a path in the pool: without a deletion at an end, and with clips.
    /// Returns how many bases further it begins.
    fn push_cigar(
        &self,
        region: &Region,
        length: usize,
        path: &[u32],
        reverse: bool,
        pool: &mut Pool,
    ) -> u64 {
        let is_deletion = |operation: &u32| operation & 0xF == DELETION;
        let (path, further) = match path {
            [first, rest @ ..] if is_deletion(first) => (rest, u64::from(first >> 4)),
            [rest @ .., last] if is_deletion(last) => (rest, 0),
            _ => (path, 0),
        };
        let ends = [region.read_start as usize, length - region.read_end as usize];
        let [front, back] = if reverse { [ends[1], ends[0]] } else { ends };
        let clip = |bases: usize| (bases > 0).then(|| operation(bases, SOFT_CLIP));
        pool.operations.extend(clip(front));
        pool.operations.extend_from_slice(path);
        pool.operations.extend(clip(back));
        further
    }
}

/// Bases of the reference that operations reach over.
pub(super) fn reference_length(operations: &[u32]) -> i64 {
    let of_reference = |it: &&u32| matches!(*it & 0xF, MATCH | DELETION);
    operations.iter().filter(of_reference).map(|it| i64::from(it >> 4)).sum()
}

/// A clip as the `number`-th record of a read has it, counted from 0: hard but in the first, unless
/// soft ones are required, or it is on an ALT sequence.
pub(super) fn clipped(operation: u32, number: usize, is_alt: bool, settings: &Settings) -> u32 {
    let is_clip = operation & 0xF == SOFT_CLIP;
    let hard = number > 0 && !settings.soft_clips && !is_alt;
    if is_clip && hard { operation & !0xF | HARD_CLIP } else { operation }
}

/// Appends operations as text to `out`.
pub(super) fn push_cigar_text(out: &mut Vec<u8>, operations: impl Iterator<Item = u32>) {
    const LETTERS: &[u8; 16] = b"MIDNSHP=X???????";
    for operation in operations {
        super::cigar::md::push_number(out, u64::from(operation >> 4));
        out.push(LETTERS[(operation & 0xF) as usize]);
    }
}
