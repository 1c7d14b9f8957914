//! Records to one slice: every field to its series, every series to its block.
//!
//! What a slice becomes is a function of its records, the reference and the settings.

use std::collections::HashMap;

use seqloom_format::bam::cigar::consumes_read;
use seqloom_format::bam::{AuxFields, CigarOps, Flags, RecordRef, framed_records};

use crate::bases::{Aligned, Mismatches, unpack};
use crate::block::{Content, push_raw_block};
use crate::codec::Codecs;
use crate::codec_choice::{self, Row};
use crate::container::{Container, Region, SEVERAL_REFERENCES, digest};
use crate::error::CramError;
use crate::header::push_compression_header;
use crate::mates::{self, Mate};
use crate::series::{Series, SeriesValues, Written};
use crate::tags::{TagShape, Tags};
use crate::version::Version;

/// Bits of CF.
const HAS_QUALITIES: i32 = 1;
const STORES_MATE: i32 = 2;
const HAS_MATE_BEHIND: i32 = 4;
const HAS_NO_BASES: i32 = 8;
/// Bits of MF.
const MATE_IS_REVERSE: i32 = 1;
const MATE_IS_UNMAPPED: i32 = 2;
/// The quality that says that there is none.
const NO_QUALITY: u8 = 0xff;

/// How records are encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Version of the format.
    pub version: Version,
    /// Compression level, 0 to 12.
    pub level: u8,
    /// Keep NM and MD of all records; else those are left out that readers make again.
    pub keeps_mismatch_tags: bool,
}

/// Header and bases that records refer to.
#[derive(Debug, Clone, Copy)]
pub struct Referred<'a> {
    /// Bases of the header's sequences, upper case.
    pub sequences: &'a [Vec<u8>],
    /// Numbers of the header's read groups, by their identifiers.
    pub read_groups: &'a HashMap<Vec<u8>, i32>,
}

/// One worker's memory.
pub(crate) struct SliceEncoder {
    settings: Settings,
    values: SeriesValues,
    tags: Tags,
    codecs: Codecs,
    ends: Vec<i64>,
    mates: Vec<Mate>,
    letters: Vec<u8>,
    md: Vec<u8>,
    bytes: Vec<u8>,
}

/// Places of the records of a slice.
struct Layout {
    region: Region,
    regions: Vec<Region>,
    /// Whether positions are stored as differences.
    has_deltas: bool,
}

impl SliceEncoder {
    pub(crate) fn new(settings: Settings) -> Self {
        Self {
            settings,
            values: SeriesValues::default(),
            tags: Tags::default(),
            codecs: Codecs::default(),
            ends: Vec::new(),
            mates: Vec::new(),
            letters: Vec::new(),
            md: Vec::new(),
            bytes: Vec::new(),
        }
    }

    /// Encodes records, each preceded by its size as BAM has them: at least one.
    pub(crate) fn encode(
        &mut self,
        framed: &[u8],
        referred: Referred<'_>,
    ) -> Result<Container, CramError> {
        let records: Vec<RecordRef<'_>> =
            framed_records(framed).map(|body| RecordRef::new(body?)).collect::<Result<_, _>>()?;
        self.values.clear();
        self.tags.clear();
        self.ends.clear();
        self.ends.extend(records.iter().map(end_of));
        let mut mates = std::mem::take(&mut self.mates);
        mates::find(&records, &self.ends, &mut mates);
        let layout = Layout::of(&records, &self.ends, referred);
        let mut last = layout.region.start;
        let mut bases = 0;
        for (record, mate) in records.iter().zip(&mates) {
            let position = record.position().wrapping_add(1);
            if layout.region.reference_id == SEVERAL_REFERENCES {
                self.values.push(Series::ReferenceId, record.reference_id());
            }
            let stored = if layout.has_deltas { position.wrapping_sub(last) } else { position };
            self.values.push(Series::Position, stored);
            last = position;
            bases += self.push_record(record, *mate, referred)?;
        }
        self.mates = mates;
        self.container(layout, (records.len() as u32, bases), referred)
    }

    /// Adds all but the place; gives the number of bases.
    fn push_record(
        &mut self,
        record: &RecordRef<'_>,
        mate: Mate,
        referred: Referred<'_>,
    ) -> Result<u64, CramError> {
        let (flags, count) = (record.flags(), record.base_count());
        let cigar = record.full_cigar();
        let is_mapped = !record.has_flags(Flags::UNMAPPED);
        let has_no_bases = is_mapped && count == 0 && cigar.len() > 0;
        let covered = covered_bases(cigar);
        if is_mapped && !has_no_bases && covered != count as u64 {
            let (cigar_bases, bases) = (covered, count as u64);
            return Err(CramError::CigarLength { name: name_of(record), cigar_bases, bases });
        }
        let qualities = record.qualities();
        let has_qualities = qualities.iter().any(|&it| it != NO_QUALITY);
        let (mate_bits, values) = (mate_bits(mate), &mut self.values);
        let own = flags & !(Flags::MATE_UNMAPPED | Flags::MATE_REVERSE);
        values.push(Series::Flags, own.into());
        let qualities_bit = if has_qualities { HAS_QUALITIES } else { 0 };
        let bases_bit = if has_no_bases { HAS_NO_BASES } else { 0 };
        values.push(Series::CramFlags, qualities_bit | mate_bits | bases_bit);
        let length = if has_no_bases { covered } else { count as u64 };
        let stored = i32::try_from(length).map_err(|_| CramError::TooLarge("a read"))?;
        values.push(Series::ReadLength, stored);
        values.push_stopped(Series::Name, record.name());
        push_mate(record, mate, values);
        if has_qualities {
            values.bytes(Series::Quality).extend_from_slice(qualities);
        }
        unpack(record.packed_bases(), count, &mut self.letters);
        let mut mismatches = None;
        if is_mapped {
            mismatches = Some(self.push_alignment(record, has_no_bases, referred)?);
        } else {
            self.values.bytes(Series::Base).extend_from_slice(&self.letters);
        }
        self.push_tags(record, mismatches, referred)?;
        Ok(length)
    }

    /// Adds the features of a mapped record; what becomes of NM and MD, where both are certain.
    fn push_alignment(
        &mut self,
        record: &RecordRef<'_>,
        has_no_bases: bool,
        referred: Referred<'_>,
    ) -> Result<Mismatches, CramError> {
        self.values.push(Series::MappingQuality, record.mapping_quality().into());
        let aligned = Aligned {
            cigar: record.full_cigar(),
            position: usize::try_from(record.position()).unwrap_or(0),
            bases: (!has_no_bases).then_some(&self.letters),
            reference: sequence_of(record, referred)?,
        };
        if record.reference_id() >= 0 && !aligned.begins_and_deletes_inside() {
            return Err(CramError::OutsideReference { name: name_of(record) });
        }
        let mut mismatches = aligned.push_features(&mut self.values, &mut self.md);
        // A record without a place has no bases of the reference under it.
        mismatches.are_certain &= record.position() >= 0
            && record.reference_id() >= 0
            && !self.settings.keeps_mismatch_tags
            && aligned.lies_on_plain_bases();
        Ok(mismatches)
    }

    fn push_tags(
        &mut self,
        record: &RecordRef<'_>,
        mismatches: Option<Mismatches>,
        referred: Referred<'_>,
    ) -> Result<(), CramError> {
        let certain = mismatches.filter(|it| it.are_certain);
        let has_long_cigar = record.long_cigar().is_some();
        let mut read_group = -1;
        let (body, mut fields) = (record.body(), record.aux());
        self.tags.begin_line();
        while let Some(name) = fields.peek() {
            let start = fields.offset();
            fields.skip_one()?;
            let field = &body[start..fields.offset()];
            let is_made_again = match (&name, certain) {
                (b"NM", Some(made)) => int_of(field) == i64::try_from(made.count).ok(),
                (b"MD", Some(_)) => text_of(field) == Some(self.md.as_slice()),
                (b"CG", _) => has_long_cigar,
                (b"RG", _) if read_group < 0 => {
                    let number = text_of(field).and_then(|id| referred.read_groups.get(id));
                    read_group = number.copied().unwrap_or(-1);
                    read_group >= 0
                }
                _ => false,
            };
            if !is_made_again {
                self.tags.push(field)?;
            }
        }
        let line = self.tags.end_line();
        self.values.push(Series::ReadGroup, read_group);
        self.values.push(Series::TagLine, line);
        Ok(())
    }

    /// Container of the records added.
    fn container(
        &mut self,
        layout: Layout,
        (records, bases): (u32, u64),
        referred: Referred<'_>,
    ) -> Result<Container, CramError> {
        let Self { settings, values, tags, codecs, bytes, .. } = self;
        let row_of = |row: Row| row.at_level(settings.level);
        let version = settings.version;
        let mut blocks = Vec::new();
        bytes.clear();
        push_compression_header(values, tags, layout.has_deltas, bytes);
        push_raw_block(&mut blocks, Content::CompressionHeader, bytes);
        let slice_at = blocks.len();
        push_raw_block(&mut blocks, Content::Core, &[]);
        let mut block_ids = Vec::new();
        for series in Series::ALL {
            if let Written::Bytes(bytes) = values.written(series) {
                let (id, row) =
                    (series.block_id(), row_of(codec_choice::of_series(version, series)));
                check_size(bytes)?;
                codecs.push_external(id, bytes, row.codecs(), &mut blocks)?;
                block_ids.push(id);
            }
        }
        for tag in tags.all() {
            if tag.shape() == TagShape::Counted {
                tag.lengths_into(bytes);
                let (id, row) = (tag.lengths_id(), row_of(codec_choice::of_lengths(version)));
                codecs.push_external(id, bytes, row.codecs(), &mut blocks)?;
                block_ids.push(id);
            }
            let (id, row) = (tag.block_id(), row_of(codec_choice::of_tag(version, tag.key)));
            let values = tag.values(bytes);
            check_size(values)?;
            codecs.push_external(id, values, row.codecs(), &mut blocks)?;
            block_ids.push(id);
        }
        let Layout { region, regions, .. } = layout;
        let digest = region_digest(region, referred);
        Ok(Container { blocks, slice_at, region, regions, records, bases, block_ids, digest })
    }
}

/// A block's size has 31 bits, and rANS adds up to a few thousand bytes.
fn check_size(bytes: &[u8]) -> Result<(), CramError> {
    match bytes.len() {
        0..0x7000_0000 => Ok(()),
        _ => Err(CramError::TooLarge("a slice")),
    }
}

/// MD5 of the reference below a slice; zeros where that is not one sequence.
fn region_digest(region: Region, referred: Referred<'_>) -> [u8; 16] {
    let index = usize::try_from(region.reference_id).ok();
    let Some(sequence) = index.and_then(|index| referred.sequences.get(index)) else {
        return [0; 16];
    };
    let start = usize::try_from(region.start - 1).unwrap_or(0);
    let end = start.saturating_add(usize::try_from(region.span).unwrap_or(0)).min(sequence.len());
    digest(&sequence[start.min(end)..end])
}

/// The bases of the sequence that a record is on; none where it is on none.
fn sequence_of<'a>(record: &RecordRef<'_>, referred: Referred<'a>) -> Result<&'a [u8], CramError> {
    let Ok(index) = usize::try_from(record.reference_id()) else { return Ok(&[]) };
    let (name, reference_id) = (|| name_of(record), record.reference_id());
    let sequence = referred.sequences.get(index);
    sequence
        .map(Vec::as_slice)
        .ok_or_else(|| CramError::UnknownReference { name: name(), reference_id })
}

fn name_of(record: &RecordRef<'_>) -> String {
    String::from_utf8_lossy(record.name()).into_owned()
}

fn covered_bases(cigar: CigarOps<'_>) -> u64 {
    cigar.codes().filter(|(code, _)| consumes_read(*code)).map(|(_, it)| u64::from(it)).sum()
}

/// 0-based place after the last base of the reference; an alignment of none counts as 1 base.
fn end_of(record: &RecordRef<'_>) -> i64 {
    let is_mapped = !record.has_flags(Flags::UNMAPPED);
    let span = if is_mapped { record.full_cigar().reference_span() } else { 0 };
    i64::from(record.position()) + span.max(1)
}

fn mate_bits(mate: Mate) -> i32 {
    match mate {
        Mate::Stored => STORES_MATE,
        Mate::Behind(_) => HAS_MATE_BEHIND,
        Mate::InFront => 0,
    }
}

fn push_mate(record: &RecordRef<'_>, mate: Mate, values: &mut SeriesValues) {
    match mate {
        Mate::InFront => {}
        Mate::Behind(between) => values.push(Series::NextFragment, between),
        Mate::Stored => {
            let bit = |flag, bit| if record.has_flags(flag) { bit } else { 0 };
            let bits = bit(Flags::MATE_REVERSE, MATE_IS_REVERSE)
                | bit(Flags::MATE_UNMAPPED, MATE_IS_UNMAPPED);
            values.push(Series::MateFlags, bits);
            values.push(Series::MateReference, record.mate_reference_id());
            values.push(Series::MatePosition, record.mate_position().wrapping_add(1));
            values.push(Series::TemplateLength, record.template_length());
        }
    }
}

/// The value of a field that is an integer.
fn int_of(field: &[u8]) -> Option<i64> {
    AuxFields::of(field).next()?.ok()?.1.as_int()
}

/// The value of a field that is a text.
fn text_of(field: &[u8]) -> Option<&[u8]> {
    match field {
        [_, _, b'Z', text @ .., 0] => Some(text),
        _ => None,
    }
}

impl Layout {
    fn of(records: &[RecordRef<'_>], ends: &[i64], referred: Referred<'_>) -> Self {
        let mut regions: Vec<Region> = Vec::new();
        let mut are_inside = true;
        for (record, &end) in records.iter().zip(ends) {
            let (reference_id, position) = (record.reference_id(), record.position());
            let start = position.wrapping_add(1);
            let index = usize::try_from(reference_id).ok();
            let length = index.and_then(|it| referred.sequences.get(it)).map_or(0, Vec::len) as i64;
            are_inside &= (0..length).contains(&position.into());
            // Readers warn of slices that go on after the last base.
            let end = i32::try_from(end.min(length)).unwrap_or(i32::MAX).max(start);
            match regions.last_mut() {
                Some(last) if last.reference_id == reference_id => {
                    let end = end.max(last.start.saturating_add(last.span) - 1);
                    last.start = last.start.min(start);
                    last.span = end.saturating_sub(last.start).saturating_add(1);
                }
                _ => {
                    let span = end.saturating_sub(start).saturating_add(1);
                    regions.push(Region { reference_id, start, span });
                }
            }
        }
        // samtools gives records without a reference one base among others, and none alone.
        let without = i32::from(regions.len() > 1);
        for region in regions.iter_mut().filter(|region| region.reference_id < 0) {
            (region.start, region.span) = (0, without);
        }
        let is_sorted = records.windows(2).all(|two| two[0].position() <= two[1].position());
        let region = match regions.as_slice() {
            [only] if only.reference_id < 0 || are_inside => *only,
            _ => Region { reference_id: SEVERAL_REFERENCES, start: 0, span: 0 },
        };
        let has_deltas = is_sorted && region.reference_id != SEVERAL_REFERENCES;
        Self { region, regions, has_deltas }
    }
}
