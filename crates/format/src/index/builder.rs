//! Fragments in file order, and the bytes of the index.

use std::collections::BTreeMap;

use super::binning::{first_of_level, parent};
use super::fragment::{Run, UNSET};
use super::{BinningScheme, IndexError, IndexFragment};
use crate::bgzf::VirtualOffset;
use crate::persist_fields;

/// A bin whose chunks span less than this many compressed bytes is merged into its parent, as
/// htslib does (its `HTS_MIN_MARKER_DIST`).
const SMALL_BIN_BYTES: u64 = 0x1_0000;

/// A part of the file: from one virtual offset up to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Chunk {
    start: VirtualOffset,
    end: VirtualOffset,
}

/// The index of one reference.
#[derive(Debug, Default)]
struct ReferenceIndex {
    bins: BTreeMap<u32, Vec<Chunk>>,
    /// First offset of a record per window of the linear index.
    windows: Vec<u64>,
    /// Start of the first record, end of the last one.
    span: Option<Chunk>,
    mapped: u64,
    unmapped: u64,
}

/// Puts fragments together to an index.
#[derive(Debug)]
pub struct IndexBuilder {
    scheme: BinningScheme,
    references: Vec<ReferenceIndex>,
    /// The run whose end is not known yet.
    open: Option<Run>,
    /// Reference and position of the last placed record.
    last: Option<(u32, i64)>,
    no_coordinate: u64,
}

persist_fields!(Chunk { start, end });
persist_fields!(ReferenceIndex { bins, windows, span, mapped, unmapped });
persist_fields!(IndexBuilder { scheme, references, open, last, no_coordinate });

impl IndexBuilder {
    /// A builder for a file with `reference_count` references.
    #[must_use]
    pub fn new(scheme: BinningScheme, reference_count: usize) -> Self {
        let references = (0..reference_count).map(|_| ReferenceIndex::default()).collect();
        Self { scheme, references, open: None, last: None, no_coordinate: 0 }
    }

    /// Adds the next fragment in file order; its compressed bytes start at file offset
    /// `base_offset`.
    ///
    /// # Errors
    /// [`IndexError`] when the fragment does not follow the ones before it, names a reference that
    /// is not there, or was made for another scheme. The builder is then of no further use.
    pub fn append(&mut self, fragment: &IndexFragment, base_offset: u64) -> Result<(), IndexError> {
        if fragment.scheme != self.scheme {
            return Err(IndexError::SchemeMismatch);
        }
        let rebased =
            |offset: VirtualOffset| offset.rebased(base_offset).ok_or(IndexError::FileTooLarge);
        for index in 0..fragment.parts.len() {
            self.append_part(fragment, index, rebased)?;
        }
        for run in &fragment.runs {
            self.open_run(Some(Run { start: rebased(run.start)?, ..*run }), rebased(run.start)?);
        }
        if let Some(start) = fragment.no_coordinate.start {
            self.open_run(None, rebased(start)?);
            self.no_coordinate += fragment.no_coordinate.count;
        }
        Ok(())
    }

    /// Takes over the counts and windows of one reference.
    fn append_part(
        &mut self,
        fragment: &IndexFragment,
        index: usize,
        rebased: impl Fn(VirtualOffset) -> Result<VirtualOffset, IndexError>,
    ) -> Result<(), IndexError> {
        let part = &fragment.parts[index];
        let reference_id = part.reference_id.cast_signed();
        let first = (part.reference_id, part.first_position);
        if self.no_coordinate > 0 || self.last.is_some_and(|last| last > first) {
            return Err(IndexError::Unsorted { reference_id, position: part.first_position });
        }
        let reference = self
            .references
            .get_mut(part.reference_id as usize)
            .ok_or(IndexError::UnknownReference(reference_id))?;
        self.last = Some((part.reference_id, part.last_position));
        reference.mapped += part.mapped;
        reference.unmapped += part.unmapped;
        let windows = fragment.part_windows(index);
        let end = part.first_window + windows.len();
        if reference.windows.len() < end {
            reference.windows.resize(end, UNSET);
        }
        let known = &mut reference.windows[part.first_window..end];
        for (known, &window) in known.iter_mut().zip(windows) {
            if *known == UNSET && window != UNSET {
                *known = rebased(VirtualOffset::from_raw(window))?.raw();
            }
        }
        Ok(())
    }

    /// Closes the open run at `start`, unless `next` continues it.
    fn open_run(&mut self, next: Option<Run>, start: VirtualOffset) {
        if let (Some(open), Some(next)) = (self.open, next)
            && (open.reference_id, open.bin) == (next.reference_id, next.bin)
        {
            return;
        }
        if let Some(run) = self.open.take() {
            let reference = &mut self.references[run.reference_id as usize];
            let chunk = Chunk { start: run.start, end: start };
            reference.bins.entry(run.bin).or_default().push(chunk);
            reference.span.get_or_insert(chunk).end = start;
        }
        self.open = next;
    }

    /// The bytes of a BAI file. `final_offset` is where the last record ends: the virtual offset
    /// of the file's EOF block.
    ///
    /// # Errors
    /// [`IndexError::SchemeMismatch`] for another scheme than [`BinningScheme::BAI`],
    /// [`IndexError::TooManyEntries`].
    pub fn finish_bai(mut self, final_offset: VirtualOffset) -> Result<Vec<u8>, IndexError> {
        if self.scheme != BinningScheme::BAI {
            return Err(IndexError::SchemeMismatch);
        }
        self.complete(final_offset);
        let mut out = b"BAI\x01".to_vec();
        push_count(&mut out, self.references.len())?;
        for reference in &self.references {
            self.push_bins(&mut out, reference, false)?;
            push_count(&mut out, reference.windows.len())?;
            for &offset in &reference.windows {
                push_u64(&mut out, offset);
            }
        }
        push_u64(&mut out, self.no_coordinate);
        Ok(out)
    }

    /// The bytes of a CSI file before BGZF compression, which the format requires.
    ///
    /// # Errors
    /// [`IndexError::TooManyEntries`].
    pub fn finish_csi(mut self, final_offset: VirtualOffset) -> Result<Vec<u8>, IndexError> {
        self.complete(final_offset);
        let mut out = b"CSI\x01".to_vec();
        push_u32(&mut out, self.scheme.min_shift());
        push_u32(&mut out, self.scheme.depth());
        push_u32(&mut out, 0);
        push_count(&mut out, self.references.len())?;
        for reference in &self.references {
            self.push_bins(&mut out, reference, true)?;
        }
        push_u64(&mut out, self.no_coordinate);
        Ok(out)
    }

    fn complete(&mut self, final_offset: VirtualOffset) {
        self.open_run(None, final_offset);
        for reference in &mut self.references {
            reference.fill_windows();
            reference.merge_small_bins(self.scheme);
            reference.merge_chunks();
        }
    }

    /// Bins of one reference, the metadata bin last; a CSI bin has its `loffset` too.
    fn push_bins(
        &self,
        out: &mut Vec<u8>,
        reference: &ReferenceIndex,
        has_loffset: bool,
    ) -> Result<(), IndexError> {
        let Some(span) = reference.span else {
            push_u32(out, 0);
            return Ok(());
        };
        push_count(out, reference.bins.len() + 1)?;
        for (&bin, chunks) in &reference.bins {
            push_u32(out, bin);
            if has_loffset {
                let window = self.scheme.first_window(bin);
                push_u64(out, reference.windows.get(window).copied().unwrap_or(0));
            }
            push_count(out, chunks.len())?;
            for chunk in chunks {
                push_u64(out, chunk.start.raw());
                push_u64(out, chunk.end.raw());
            }
        }
        push_u32(out, self.scheme.metadata_bin());
        if has_loffset {
            push_u64(out, 0);
        }
        push_u32(out, 2);
        for value in [span.start.raw(), span.end.raw(), reference.mapped, reference.unmapped] {
            push_u64(out, value);
        }
        Ok(())
    }
}

impl ReferenceIndex {
    /// Windows that no record overlaps take the offset of the next one that has one: the last
    /// window always has one.
    fn fill_windows(&mut self) {
        let mut offset = UNSET;
        for window in self.windows.iter_mut().rev() {
            if *window == UNSET {
                *window = offset;
            }
            offset = *window;
        }
    }

    /// Merges bins that span few bytes into their parents where those exist, smallest bins first.
    fn merge_small_bins(&mut self, scheme: BinningScheme) {
        for level in (1..=scheme.depth()).rev() {
            let bins: Vec<u32> = self
                .bins
                .range(first_of_level(level)..first_of_level(level + 1))
                .map(|(&bin, _)| bin)
                .collect();
            for bin in bins {
                self.merge_into_parent(bin);
            }
        }
        if let Some(chunks) = self.bins.get_mut(&0) {
            chunks.sort_unstable();
        }
    }

    fn merge_into_parent(&mut self, bin: u32) {
        let Some(chunks) = self.bins.get_mut(&bin) else { return };
        chunks.sort_unstable();
        let (Some(first), Some(last)) = (chunks.first(), chunks.last()) else { return };
        let span_bytes = last.end.block_offset().saturating_sub(first.start.block_offset());
        if span_bytes >= SMALL_BIN_BYTES || !self.bins.contains_key(&parent(bin)) {
            return;
        }
        let chunks = self.bins.remove(&bin).unwrap_or_default();
        self.bins.entry(parent(bin)).or_default().extend(chunks);
    }

    /// Merges chunks of a bin where one starts in the BGZF block in which the one before ends.
    fn merge_chunks(&mut self) {
        for chunks in self.bins.values_mut() {
            chunks.dedup_by(|next, chunk| {
                let touches = chunk.end.block_offset() >= next.start.block_offset();
                if touches {
                    chunk.end = chunk.end.max(next.end);
                }
                touches
            });
        }
    }
}

fn push_u32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn push_u64(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn push_count(out: &mut Vec<u8>, count: usize) -> Result<(), IndexError> {
    let count = i32::try_from(count).map_err(|_| IndexError::TooManyEntries)?;
    out.extend_from_slice(&count.to_le_bytes());
    Ok(())
}
