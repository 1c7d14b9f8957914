//! The records of a slice, from its series to bodies of BAM (CRAM specification, section 10).

use seqloom_format::bam::{FIXED_BYTES, Flags, reg2bin};
use seqloom_format::names::MAX_READ_NAME_BYTES;

use super::bases::{Aligned, Read, Under};
use super::compression::CompressionHeader;
use super::encodings::Streams;
use super::error::Problem;
use super::mates::{self, Placed};
use super::slice::{SliceHeader, check_known};
use super::window::{SequenceBases, Window};
use crate::container::SEVERAL_REFERENCES;

/// Bits of CF.
const HAS_QUALITIES: i32 = 1;
const STORES_MATE: i32 = 2;
const HAS_MATE_BEHIND: i32 = 4;
const HAS_NO_BASES: i32 = 8;
/// Bits of MF.
const MATE_IS_REVERSE: i32 = 1;
const MATE_IS_UNMAPPED: i32 = 2;
/// The tag of samtools for records of which NM or MD is not to be made, where the bases of the
/// reference are made of the reads (embed_ref=2); no reader shows it.
const WITHOUT: &[u8; 3] = b"cFC";
const WITHOUT_MD: u8 = 1;
const WITHOUT_NM: u8 = 2;
/// Most operations of a CIGAR that a record has a field for.
const MOST_OPS: usize = 0xffff;

/// Codes of bases by their letters; N for what is none.
const BASE_CODES: [u8; 256] = {
    let mut codes = [15; 256];
    let mut code = 0;
    while code < 16 {
        let letter = seqloom_format::bam::BASE_LETTERS[code];
        codes[letter as usize] = code as u8;
        codes[letter.to_ascii_lowercase() as usize] = code as u8;
        code += 1;
    }
    codes
};

/// Header and bases that records refer to.
#[derive(Clone, Copy)]
pub struct Sources<'a> {
    /// Bases of the header's sequences.
    pub sequences: &'a dyn SequenceBases,
    /// Identifiers of the header's read groups.
    pub read_groups: &'a [Vec<u8>],
    /// Number of the header's sequences.
    pub sequence_count: usize,
    /// Prefix of names that the file does not hold: samtools takes the file's name.
    pub name_prefix: &'a [u8],
}

/// Inputs of a slice's decoding.
pub(crate) struct Context<'a> {
    pub(crate) header: &'a CompressionHeader,
    pub(crate) slice: &'a SliceHeader,
    pub(crate) sources: Sources<'a>,
    /// Of a slice of one reference: the window is at its bases.
    pub(crate) has_bases: bool,
    /// Bytes that the records may take.
    pub(crate) most: usize,
}

/// Fields of a record before its bases.
#[derive(Debug, Default)]
struct Fields {
    flags: u16,
    cram_flags: i32,
    reference_id: i32,
    length: usize,
    /// 0-based.
    position: i32,
    read_group: i32,
    mate_reference: i32,
    mate_position: i32,
    template_length: i32,
    mapping_quality: u8,
    has_nm: bool,
    has_md: bool,
    has_reference: bool,
}

/// One worker's memory.
#[derive(Debug, Default)]
pub(crate) struct RecordReader {
    read: Read,
    name: Vec<u8>,
    tags: Vec<u8>,
    placed: Vec<Placed>,
    /// Numbers that generated names have.
    numbers: Vec<u64>,
}

impl RecordReader {
    /// Appends the records of a slice to `out`, each preceded by its size.
    pub(crate) fn read_all(
        &mut self,
        context: &Context<'_>,
        window: &mut Window,
        streams: &mut Streams,
        out: &mut Vec<u8>,
    ) -> Result<(), Problem> {
        self.placed.clear();
        self.numbers.clear();
        let mut last = context.slice.start;
        for index in 0..context.slice.records {
            let read = self.read_one(index as usize, &mut last, context, window, streams, out);
            read.map_err(|problem| {
                let record = index.saturating_add(1);
                Problem::Record { record, problem: Box::new(problem) }
            })?;
        }
        mates::resolve(&self.placed, out)
    }

    fn read_one(
        &mut self,
        index: usize,
        last: &mut i32,
        context: &Context<'_>,
        window: &mut Window,
        streams: &mut Streams,
        out: &mut Vec<u8>,
    ) -> Result<(), Problem> {
        let series = &context.header.series;
        let mut fields = Fields {
            flags: series.flags.number(streams)? as u16,
            cram_flags: series.cram_flags.number(streams)?,
            reference_id: match context.slice.reference_id {
                SEVERAL_REFERENCES => series.reference_id.number(streams)?,
                only => only,
            },
            ..Fields::default()
        };
        let length = usize::try_from(series.read_length.number(streams)?);
        fields.length = length.map_err(|_| Problem::Malformed("a read's length is negative"))?;
        // A base takes 12 bits and more.
        if fields.length > context.most.saturating_sub(out.len()) {
            return Err(Problem::TooLarge(context.most));
        }
        if fields.reference_id < -1
            || usize::try_from(fields.reference_id)
                .is_ok_and(|it| it >= context.sources.sequence_count)
        {
            return Err(Problem::Malformed("a record is on a sequence that the header has not"));
        }
        let place = series.position.number(streams)?;
        *last = if context.header.has_deltas { last.wrapping_add(place) } else { place };
        fields.position = last.wrapping_sub(1);
        fields.read_group = series.read_group.number(streams)?;
        self.name.clear();
        if context.header.keeps_names {
            series.name.append(MAX_READ_NAME_BYTES, streams, &mut self.name)?;
        }
        let next = self.read_mate(index, &mut fields, context, streams)?;
        self.read_tags(&mut fields, context, streams)?;
        self.read_bases(&mut fields, context, window, streams)?;
        self.push_made_tags(&fields, context)?;
        let body = out.len() + 4;
        self.push_body(&fields, context.most, out)?;
        let is_mapped = fields.flags & Flags::UNMAPPED == 0;
        let position = i64::from(fields.position);
        self.placed[index] = Placed {
            body,
            bytes: out.len() - body,
            flags: fields.flags,
            reference_id: fields.reference_id,
            position: fields.position,
            last: if is_mapped { (self.read.end - 1).max(position) } else { position },
            next,
            is_named: self.placed[index].is_named,
        };
        Ok(())
    }

    /// Reads where the mate is, and makes a name where there is none; the next record of the
    /// template.
    fn read_mate(
        &mut self,
        index: usize,
        fields: &mut Fields,
        context: &Context<'_>,
        streams: &mut Streams,
    ) -> Result<Option<usize>, Problem> {
        let series = &context.header.series;
        self.make_room(index, context);
        (fields.mate_reference, fields.mate_position) = (-1, -1);
        let mut next = None;
        if fields.cram_flags & STORES_MATE != 0 {
            let bits = series.mate_flags.number(streams)?;
            if !context.header.keeps_names {
                series.name.append(MAX_READ_NAME_BYTES, streams, &mut self.name)?;
            }
            fields.mate_reference = series.mate_reference.number(streams)?;
            fields.mate_position = series.mate_position.number(streams)?.wrapping_sub(1);
            fields.template_length = series.template_length.number(streams)?;
            if bits & MATE_IS_REVERSE != 0 {
                fields.flags |= Flags::PAIRED | Flags::MATE_REVERSE;
            }
            if bits & MATE_IS_UNMAPPED != 0 {
                fields.flags |= Flags::MATE_UNMAPPED;
            }
            // samtools drops it, too.
            if fields.flags & Flags::PAIRED == 0 {
                fields.mate_reference = -1;
            }
        } else if fields.cram_flags & HAS_MATE_BEHIND != 0 {
            let between = usize::try_from(series.next_fragment.number(streams)?).ok();
            let mate = between.and_then(|it| index.checked_add(it)?.checked_add(1));
            let mate = mate.filter(|&it| it < context.slice.records as usize);
            let mate = mate.ok_or(Problem::Malformed("a mate is outside its slice"))?;
            self.make_room(mate, context);
            if std::mem::replace(&mut self.placed[mate].is_named, true) {
                return Err(Problem::Malformed("a record is the mate of two"));
            }
            self.numbers[mate] = self.numbers[index];
            next = Some(mate);
        }
        if !context.header.keeps_names && fields.cram_flags & STORES_MATE == 0 {
            self.name.extend_from_slice(context.sources.name_prefix);
            self.name.push(b':');
            self.name.extend_from_slice(self.numbers[index].to_string().as_bytes());
        }
        Ok(next)
    }

    /// Has entries up to that of the record `index`.
    fn make_room(&mut self, index: usize, context: &Context<'_>) {
        const NOWHERE: Placed = Placed {
            body: 0,
            bytes: 0,
            flags: 0,
            reference_id: -1,
            position: -1,
            last: -1,
            next: None,
            is_named: false,
        };
        while self.placed.len() <= index {
            let number = context.slice.counter.wrapping_add(self.placed.len() as u64 + 1);
            self.placed.push(NOWHERE);
            self.numbers.push(number);
        }
    }

    fn read_tags(
        &mut self,
        fields: &mut Fields,
        context: &Context<'_>,
        streams: &mut Streams,
    ) -> Result<(), Problem> {
        self.tags.clear();
        let line = context.header.series.tag_line.number(streams)?;
        let line = usize::try_from(line).ok().and_then(|line| context.header.lines.get(line));
        let no_line = || Problem::Malformed("a line of tags is not in the dictionary");
        for tag in line.ok_or_else(no_line)? {
            fields.has_md |= tag.key.starts_with(b"MD");
            fields.has_nm |= tag.key.starts_with(b"NM");
            let start = self.tags.len();
            self.tags.extend_from_slice(&tag.key);
            let most = context.most.saturating_sub(self.tags.len());
            context.header.tags[tag.encoding].append(most, streams, &mut self.tags)?;
            if tag.key == *WITHOUT {
                self.take_without(start, fields);
            }
        }
        Ok(())
    }

    /// Takes the tag off again that says which of NM and MD a record has not.
    fn take_without(&mut self, start: usize, fields: &mut Fields) {
        let bits = self.tags.last().copied().unwrap_or(0);
        fields.has_md |= bits & WITHOUT_MD != 0;
        fields.has_nm |= bits & WITHOUT_NM != 0;
        self.tags.truncate(start);
    }

    fn read_bases(
        &mut self,
        fields: &mut Fields,
        context: &Context<'_>,
        window: &mut Window,
        streams: &mut Streams,
    ) -> Result<(), Problem> {
        let series = &context.header.series;
        self.read.clear();
        if fields.flags & Flags::UNMAPPED == 0 {
            fields.has_reference = match context.slice.reference_id {
                SEVERAL_REFERENCES => go_to(fields.reference_id, context, window)?,
                _ => context.has_bases,
            };
            let (start, length) = (i64::from(fields.position), fields.length);
            window.begin(start);
            let sequences = context.sources.sequences;
            let under = fields.has_reference.then_some(Under { window, sequences });
            let mut aligned = Aligned { start, length, under };
            self.read.align(&mut aligned, context.header, streams)?;
            fields.mapping_quality = series.mapping_quality.number(streams)? as u8;
        } else if fields.cram_flags & HAS_NO_BASES == 0 {
            series.base.bytes(fields.length, streams, &mut self.read.letters)?;
        }
        if fields.cram_flags & HAS_QUALITIES != 0 {
            self.read.qualities.clear();
            series.quality.bytes(fields.length, streams, &mut self.read.qualities)?;
        } else if self.read.qualities.is_empty() {
            self.read.qualities.resize(fields.length, 0xff);
        }
        if fields.cram_flags & HAS_NO_BASES != 0 {
            self.read.letters.clear();
            self.read.qualities.clear();
        }
        Ok(())
    }

    /// Appends NM and MD, where they can be made and are not there, and RG.
    fn push_made_tags(&mut self, fields: &Fields, context: &Context<'_>) -> Result<(), Problem> {
        let is_mapped = fields.flags & Flags::UNMAPPED == 0;
        let has_bases = fields.cram_flags & HAS_NO_BASES == 0;
        if is_mapped && has_bases && fields.has_reference {
            if !fields.has_md {
                self.tags.extend_from_slice(b"MDZ");
                self.tags.extend_from_slice(&self.read.md);
                self.tags.push(0);
            }
            if !fields.has_nm {
                push_nm(self.read.mismatches, &mut self.tags);
            }
        }
        if fields.read_group >= 0 {
            let group = context.sources.read_groups.get(fields.read_group as usize);
            let no_group =
                || Problem::Malformed("a record is of a read group that the header has not");
            self.tags.extend_from_slice(b"RGZ");
            self.tags.extend_from_slice(group.ok_or_else(no_group)?);
            self.tags.push(0);
        }
        Ok(())
    }

    fn push_body(
        &mut self,
        fields: &Fields,
        most: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Problem> {
        let read = &mut self.read;
        let bases = read.letters.len();
        let is_long = read.cigar.len() > MOST_OPS;
        if is_long {
            push_long_cigar(&mut self.tags, &read.cigar);
            let span = read.end - i64::from(fields.position);
            let op = |code: u32, length: u64| (length as u32) << 4 | code;
            read.cigar.clear();
            read.cigar.extend([op(4, bases as u64), op(3, span.max(0) as u64)]);
        }
        // A name of no letters is `*`, and a NUL ends it.
        if self.name.is_empty() {
            self.name.push(b'*');
        }
        if self.name.len() > MAX_READ_NAME_BYTES {
            return Err(Problem::Malformed("a name is longer than 254 bytes"));
        }
        let name_bytes = self.name.len() + 1;
        let size = FIXED_BYTES
            + name_bytes
            + 4 * read.cigar.len()
            + bases.div_ceil(2)
            + read.qualities.len()
            + self.tags.len();
        if size + out.len() > most {
            return Err(Problem::TooLarge(most));
        }
        let size = u32::try_from(size).map_err(|_| Problem::TooLarge(u32::MAX as usize))?;
        let start = i64::from(fields.position);
        let is_mapped = fields.flags & Flags::UNMAPPED == 0;
        let end = if is_mapped { read.end.max(start + 1) } else { start + 1 };
        out.extend_from_slice(&size.to_le_bytes());
        out.extend_from_slice(&fields.reference_id.to_le_bytes());
        out.extend_from_slice(&fields.position.to_le_bytes());
        out.extend_from_slice(&[name_bytes as u8, fields.mapping_quality]);
        out.extend_from_slice(&reg2bin(start, end).to_le_bytes());
        out.extend_from_slice(&(read.cigar.len() as u16).to_le_bytes());
        out.extend_from_slice(&fields.flags.to_le_bytes());
        out.extend_from_slice(&(bases as u32).to_le_bytes());
        out.extend_from_slice(&fields.mate_reference.to_le_bytes());
        out.extend_from_slice(&fields.mate_position.to_le_bytes());
        out.extend_from_slice(&fields.template_length.to_le_bytes());
        out.extend_from_slice(&self.name);
        out.push(0);
        read.cigar.iter().for_each(|op| out.extend_from_slice(&op.to_le_bytes()));
        push_packed(&read.letters, out);
        out.extend_from_slice(&read.qualities);
        out.extend_from_slice(&self.tags);
        Ok(())
    }
}

/// Has the window be at the bases under a record of a slice of several references; whether there
/// are some.
fn go_to(sequence: i32, context: &Context<'_>, window: &mut Window) -> Result<bool, Problem> {
    if sequence < 0 || !context.header.needs_reference {
        return Ok(false);
    }
    if window.go_to(sequence, context.sources.sequences)? {
        check_known(sequence, window.length(), context.sources.sequences)?;
    }
    Ok(true)
}

fn push_nm(mismatches: u64, tags: &mut Vec<u8>) {
    match mismatches {
        0..=0xff => tags.extend_from_slice(&[b'N', b'M', b'C', mismatches as u8]),
        0x100..=0xffff => {
            tags.extend_from_slice(b"NMS");
            tags.extend_from_slice(&(mismatches as u16).to_le_bytes());
        }
        _ => {
            tags.extend_from_slice(b"NMI");
            tags.extend_from_slice(&(mismatches as u32).to_le_bytes());
        }
    }
}

/// Appends a CIGAR that has no room in its field as the tag CG.
fn push_long_cigar(tags: &mut Vec<u8>, cigar: &[u32]) {
    tags.extend_from_slice(b"CGBI");
    tags.extend_from_slice(&(cigar.len() as u32).to_le_bytes());
    cigar.iter().for_each(|op| tags.extend_from_slice(&op.to_le_bytes()));
}

/// Appends letters, two to a byte.
fn push_packed(letters: &[u8], out: &mut Vec<u8>) {
    let code = |letter: &u8| BASE_CODES[usize::from(*letter)];
    let (pairs, rest) = letters.as_chunks::<2>();
    out.extend(pairs.iter().map(|[a, b]| code(a) << 4 | code(b)));
    out.extend(rest.iter().map(|last| code(last) << 4));
}
