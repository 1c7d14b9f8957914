//! From the engine's records to packed templates: our own tags, and input order.
//!
//! The engine writes NM MD MC MQ AS XS, then SA pa XA. We put RG after XS, where bwa has it, and
//! append what the input said of the read (`-C`, unaligned BAM). A read that did not pass the
//! instrument's filter (flag 0x200 of unaligned BAM) has the flag in all of its records. Reads that
//! the engine got without bases, as they are too long, get them back.

use seqloom_format::PackedTemplates;
use seqloom_format::bam::edit::set_flags;
use seqloom_format::bam::{AuxFields, Flags, RecordError, RecordRef};
use seqloom_runtime::error::{Class, Place, RunError};

use crate::cohort::{Batch, LongRead, Shape, TemplateCounts};
use crate::engine::{Origin, Read, RecordSink};
use crate::input::tags::InputTags;
use crate::input::tags::RecordTags;
use crate::records::unsearched::{UnsearchedReads, with_bases};

/// Tags of the aligner that are after RG in bwa's order.
const BEHIND_READ_GROUP: [&[u8; 2]; 3] = [b"SA", b"pa", b"XA"];

/// Why a batch could not be emitted.
#[derive(Debug, thiserror::Error)]
pub enum EmitError {
    /// The engine made a record that is no BAM record.
    #[error("the alignment engine made a malformed record: {0}")]
    Record(#[from] RecordError),
    /// The engine emitted fewer templates than it was given.
    #[error("the alignment engine emitted {emitted} of {given} templates")]
    Lost {
        /// Templates with records.
        emitted: usize,
        /// Templates in the batch.
        given: usize,
    },
    /// The engine emitted templates in another order than it promises.
    #[error("the alignment engine emitted template {0} of a batch out of order")]
    Disordered(usize),
    /// The records of one batch exceed what its offsets reach.
    #[error("the records of template {template} and those near it exceed 4 GiB")]
    TooLarge {
        /// Template ordinal, from 0.
        template: u64,
    },
    /// A part of the batch could not be handed on; the sink says why.
    #[error("the records of a batch could not be handed on")]
    Part,
}

impl RunError for EmitError {
    fn class(&self) -> Class {
        match self {
            Self::TooLarge { .. } => Class::Input,
            Self::Record(_) | Self::Lost { .. } | Self::Disordered(_) | Self::Part => Class::Bug,
        }
    }

    fn place(&self) -> Place {
        match self {
            Self::TooLarge { .. }
            | Self::Record(_)
            | Self::Lost { .. }
            | Self::Disordered(_)
            | Self::Part => Place::default(),
        }
    }
}

/// Records of so many bytes are handed on before the batch is complete, where that is requested.
const PART_BYTES: usize = 4 << 20;

/// Takes the templates of a batch that is not complete; false if it cannot.
pub(crate) type PartSink<'a> = dyn FnMut(&PackedTemplates) -> bool + 'a;

/// Collects the records of one batch; [`TaggedRecords::finish`] completes it.
pub struct TaggedRecords<'a> {
    batch: &'a Batch,
    /// Reads that the engine got without their bases, by template and mate.
    long_reads: &'a [LongRead<'a>],
    tags: &'a RecordTags,
    out: &'a mut PackedTemplates,
    part: Option<&'a mut PartSink<'a>>,
    /// Per template in emission order.
    origins: Vec<Origin>,
    /// The longest read that the engine searches for, in bases.
    longest_bases: usize,
    outside: UnsearchedReads,
    failure: Option<EmitError>,
}

impl<'a> TaggedRecords<'a> {
    /// Starts to collect the records of `batch` in `out`, of an engine that searches for reads of
    /// up to `longest_bases` and got `long_reads` without their bases.
    #[must_use]
    pub fn new(
        batch: &'a Batch,
        long_reads: &'a [LongRead<'a>],
        tags: &'a RecordTags,
        longest_bases: usize,
        out: &'a mut PackedTemplates,
    ) -> Self {
        out.clear();
        out.first_template = batch.first_template;
        let TemplateCounts { pairs, singles } = batch.counts();
        let origins = Vec::with_capacity(pairs + singles);
        let outside = UnsearchedReads::default();
        let (part, failure) = (None, None);
        Self { batch, long_reads, tags, out, part, origins, longest_bases, outside, failure }
    }

    /// Has a batch of many records handed on in parts, each of whole templates, but for a mixed
    /// one, which has to be put in order.
    #[must_use]
    pub(crate) fn in_parts(self, part: &'a mut PartSink<'a>) -> Self {
        Self { part: Some(part), ..self }
    }

    /// Puts the templates in input order and checks that none is missing; the reads that were not
    /// searched for.
    ///
    /// # Errors
    /// A malformed record or a missing template.
    pub fn finish(self) -> Result<UnsearchedReads, EmitError> {
        if let Some(error) = self.failure {
            return Err(error);
        }
        let TemplateCounts { pairs, singles } = self.batch.counts();
        if self.origins.len() != pairs + singles {
            return Err(EmitError::Lost { emitted: self.origins.len(), given: pairs + singles });
        }
        let expected = (0..pairs).map(Origin::Pair).chain((0..singles).map(Origin::Single));
        if let Some(at) = self.origins.iter().zip(expected).position(|(a, b)| *a != b) {
            return Err(EmitError::Disordered(at));
        }
        if !self.origins.is_empty() {
            self.out.ends.push(self.out.bytes.len() as u32);
        }
        if let Shape::Mixed(pairs) = &self.batch.shape {
            restore_input_order(self.out, &self.origins, pairs);
        }
        Ok(self.outside)
    }

    /// Hands on what there is, if it is much.
    fn hand_on(&mut self) -> Result<(), EmitError> {
        let is_mixed = matches!(self.batch.shape, Shape::Mixed(_));
        let Some(part) = self.part.as_mut().filter(|_| !is_mixed) else { return Ok(()) };
        if self.out.bytes.len() < PART_BYTES {
            return Ok(());
        }
        if !part(self.out) {
            return Err(EmitError::Part);
        }
        let next = self.out.first_template + self.out.ends.len() as u64;
        self.out.clear();
        self.out.first_template = next;
        Ok(())
    }

    /// The read of a record, if the engine got it without its bases.
    fn long_read(&self, origin: Origin, second: bool) -> Option<&'a Read<'a>> {
        let all = self.long_reads;
        if all.is_empty() {
            return None;
        }
        let place = (template_index(&self.batch.shape, origin), second);
        all.binary_search_by_key(&place, |it| it.place).ok().map(|at| &all[at].read)
    }

    fn append(&mut self, origin: Origin, body: &[u8]) -> Result<(), EmitError> {
        if self.origins.last() != Some(&origin) {
            if !self.origins.is_empty() {
                self.out.ends.push(self.out.bytes.len() as u32);
                self.hand_on()?;
            }
            self.origins.push(origin);
        }
        let record = RecordRef::new(body)?;
        let second = record.has_flags(Flags::SECOND_OF_PAIR);
        let restored = match self.long_read(origin, second) {
            Some(read) => Some(with_bases(&record, read)?),
            None => None,
        };
        let body = restored.as_deref().unwrap_or(body);
        let record = RecordRef::new(body)?;
        if record.has_flags(Flags::UNMAPPED) {
            let template = template_index(&self.batch.shape, origin) as u64;
            let place = (self.batch.first_template + template, second);
            self.outside.look(place, &record, self.longest_bases)?;
        }
        if self.tags.drops_unaligned && is_unaligned(&record) {
            return Ok(());
        }
        let out = &mut self.out.bytes;
        let start = out.len();
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&body[..record.aux_start()]);
        append_tags(&body[record.aux_start()..], self.tags.read_group.as_deref(), out)?;
        if self.tags.input != InputTags::Drop {
            let template = template_index(&self.batch.shape, origin);
            out.extend_from_slice(self.batch.tags.of(template)[usize::from(second)]);
        }
        if !self.batch.failed_filter.is_empty() {
            let template = template_index(&self.batch.shape, origin);
            if self.batch.failed_filter[template][usize::from(second)] {
                set_flags(&mut out[start + 4..], record.flags() | Flags::QC_FAIL)?;
            }
        }
        if self.tags.umi.is_some() {
            let template = template_index(&self.batch.shape, origin);
            out.extend_from_slice(self.batch.umis.of(template));
        }
        if u32::try_from(out.len()).is_err() {
            let template =
                self.batch.first_template + template_index(&self.batch.shape, origin) as u64;
            return Err(EmitError::TooLarge { template });
        }
        let size = (out.len() - start - 4) as u32;
        out[start..start + 4].copy_from_slice(&size.to_le_bytes());
        self.out.records += 1;
        Ok(())
    }
}

impl RecordSink for TaggedRecords<'_> {
    fn record(&mut self, origin: Origin, body: &[u8]) {
        if self.failure.is_none() {
            self.failure = self.append(origin, body).err();
        }
    }
}

/// Whether neither the read nor its mate, if it has one, is placed.
fn is_unaligned(record: &RecordRef<'_>) -> bool {
    let has_placed_mate =
        record.has_flags(Flags::PAIRED) && !record.has_flags(Flags::MATE_UNMAPPED);
    record.has_flags(Flags::UNMAPPED) && !has_placed_mate
}

/// Copies the engine's tags with RG in its place.
fn append_tags(
    aux: &[u8],
    read_group: Option<&[u8]>,
    out: &mut Vec<u8>,
) -> Result<(), RecordError> {
    let mut pending = read_group;
    let mut fields = AuxFields::of(aux);
    let mut done = 0;
    while let Some(tag) = fields.peek() {
        let start = fields.offset();
        fields.skip_one()?;
        if pending.is_some() && BEHIND_READ_GROUP.contains(&&tag) {
            out.extend_from_slice(&aux[done..start]);
            append_read_group(pending.take(), out);
            done = start;
        }
    }
    out.extend_from_slice(&aux[done..]);
    append_read_group(pending, out);
    Ok(())
}

fn append_read_group(id: Option<&[u8]>, out: &mut Vec<u8>) {
    if let Some(id) = id {
        out.extend_from_slice(b"RGZ");
        out.extend_from_slice(id);
        out.push(0);
    }
}

/// Index in the batch of the template that `origin` names.
fn template_index(shape: &Shape, origin: Origin) -> usize {
    match (shape, origin) {
        (Shape::Mixed(pairs), _) => {
            let (requested, rank) = match origin {
                Origin::Pair(rank) => (true, rank),
                Origin::Single(rank) => (false, rank),
            };
            let of_kind = pairs.iter().enumerate().filter(|&(_, &pair)| pair == requested);
            of_kind.map(|(i, _)| i).nth(rank).unwrap_or(0)
        }
        (_, Origin::Pair(i) | Origin::Single(i)) => i,
    }
}

/// The engine emits pairs, then singles; the output has them as the input had.
fn restore_input_order(out: &mut PackedTemplates, origins: &[Origin], pairs: &[bool]) {
    let mut spans = vec![0..0; pairs.len()];
    let mut start = 0;
    let shape = Shape::Mixed(pairs.to_vec());
    for (&origin, &end) in origins.iter().zip(&out.ends) {
        spans[template_index(&shape, origin)] = start as usize..end as usize;
        start = end;
    }
    let mut ordered = Vec::with_capacity(out.bytes.len());
    out.ends.clear();
    for span in spans {
        ordered.extend_from_slice(&out.bytes[span]);
        out.ends.push(ordered.len() as u32);
    }
    out.bytes = ordered;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(id: &str, value: &str) -> Vec<u8> {
        format!("{id}Z{value}\0").into_bytes()
    }

    #[test]
    fn read_group_is_where_bwa_puts_it() {
        fn t(engine: &[&str], expected: &[&str]) {
            let aux: Vec<u8> = engine.iter().flat_map(|id| text(id, "x")).collect();
            let mut out = Vec::new();
            append_tags(&aux, Some(b"g"), &mut out).unwrap();
            let tags: Vec<_> = AuxFields::of(&out)
                .map(|field| String::from_utf8(field.unwrap().0.to_vec()).unwrap())
                .collect();
            assert_eq!(tags, expected);
        }
        t(&["MD", "XS", "SA", "XA"], &["MD", "XS", "RG", "SA", "XA"]);
        t(&["MD", "XA"], &["MD", "RG", "XA"]);
        t(&["MD"], &["MD", "RG"]);
        t(&[], &["RG"]);
    }

    #[test]
    fn a_mixed_batch_leaves_in_input_order() {
        let mut out = PackedTemplates {
            bytes: b"PPQQss".to_vec(),
            ends: vec![2, 4, 6],
            ..PackedTemplates::default()
        };
        let origins = [Origin::Pair(0), Origin::Pair(1), Origin::Single(0)];
        restore_input_order(&mut out, &origins, &[true, false, true]);
        assert_eq!(out.bytes, b"PPssQQ");
        assert_eq!(out.ends, [2, 4, 6]);
    }
}
