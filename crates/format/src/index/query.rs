//! Where in a BAM file the records of a region begin, as its index has it.

use std::ops::Range;

use super::BinningScheme;
use crate::bgzf::VirtualOffset;

/// Problem of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadIndex {
    /// It does not begin as BAI and CSI do.
    #[error("neither BAI nor CSI")]
    NotAnIndex,
    /// It ends too early.
    #[error("byte {byte}: the index is cut short")]
    Truncated {
        /// Offset in the inflated bytes.
        byte: usize,
    },
    /// Bins that no index can have.
    #[error("bins of 2^{min_shift} bp in {depth} levels cannot be")]
    Scheme {
        /// log2 of the smallest bin's size in bp.
        min_shift: u32,
        /// Levels above the smallest bins.
        depth: u32,
    },
    /// It is the index of another file.
    #[error("the index has {found} reference sequences, its file {expected}")]
    References {
        /// Those of the index.
        found: usize,
        /// Those of the BAM file's header.
        expected: usize,
    },
}

/// A region of a reference sequence of a BAM file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexedRegion {
    /// Reference sequences in the header of the file.
    pub reference_count: usize,
    /// Number of the one that is meant.
    pub reference: usize,
    /// Its bases, from 0; not empty.
    pub bases: Range<u64>,
}

/// From where on a file must be read to meet all records that reach into a region; `None` where
/// there is no such record. `index` is the content of a BAI file, or the inflated content of a CSI
/// file.
///
/// # Errors
/// [`BadIndex`].
pub fn first_offset(
    index: &[u8],
    region: &IndexedRegion,
) -> Result<Option<VirtualOffset>, BadIndex> {
    let mut words = Words { bytes: index, at: 0 };
    let (kind, scheme) = read_head(&mut words)?;
    let (found, expected) = (words.count()?, region.reference_count);
    if found != expected {
        return Err(BadIndex::References { found, expected });
    }
    if region.reference >= found {
        return Ok(None);
    }
    let mut ignored = Found::default();
    for _ in 0..region.reference {
        read_reference(&mut words, kind, |_| Requested::default(), None, &mut ignored)?;
    }
    let (first, last) = (region.bases.start, region.bases.end.saturating_sub(1));
    let requested = |bin| Requested {
        chunks: scheme.overlaps(bin, first, last),
        level: scheme.overlaps(bin, first, first).then(|| scheme.level(bin)),
    };
    let window = usize::try_from(first >> scheme.min_shift()).ok();
    let mut found = Found::default();
    read_reference(&mut words, kind, requested, window, &mut found)?;
    // Before `lowest` no record reaches as far as the region's first base.
    let lowest = found.lowest;
    let starts = found.chunks.iter().filter(|chunk| chunk.end > lowest);
    Ok(starts.map(|chunk| VirtualOffset::from_raw(chunk.start.max(lowest))).min())
}

/// The two kinds of index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Bai,
    Csi,
}

/// Requested part of a bin.
#[derive(Default)]
struct Requested {
    chunks: bool,
    /// Its level, if it holds the first base of the region.
    level: Option<u32>,
}

/// Entries of an index for a region.
#[derive(Default)]
struct Found {
    /// Parts of the file that may have records of the region: raw virtual offsets.
    chunks: Vec<Range<u64>>,
    /// The first record that may reach the first base of the region, likewise.
    lowest: u64,
}

/// The kind of index and its bins; what follows is the number of reference sequences.
fn read_head(words: &mut Words<'_>) -> Result<(Kind, BinningScheme), BadIndex> {
    if words.bytes.starts_with(b"BAI\x01") {
        words.skip(4)?;
        return Ok((Kind::Bai, BinningScheme::BAI));
    }
    if !words.bytes.starts_with(b"CSI\x01") {
        return Err(BadIndex::NotAnIndex);
    }
    words.skip(4)?;
    let (min_shift, depth) = (words.u32()?, words.u32()?);
    let scheme = BinningScheme::new(min_shift, depth);
    let auxiliary_bytes = words.count()?;
    words.skip(auxiliary_bytes)?;
    Ok((Kind::Csi, scheme.ok_or(BadIndex::Scheme { min_shift, depth })?))
}

/// Reads bins and windows of one reference sequence.
fn read_reference(
    words: &mut Words<'_>,
    kind: Kind,
    requested: impl Fn(u32) -> Requested,
    window: Option<usize>,
    found: &mut Found,
) -> Result<(), BadIndex> {
    let mut deepest = None;
    for _ in 0..words.count()? {
        let requested = requested(words.u32()?);
        let first_of_bin = if kind == Kind::Csi { words.u64()? } else { 0 };
        if kind == Kind::Csi && requested.level > deepest {
            (deepest, found.lowest) = (requested.level, first_of_bin);
        }
        for _ in 0..words.count()? {
            let chunk = words.u64()?..words.u64()?;
            if requested.chunks {
                found.chunks.push(chunk);
            }
        }
    }
    if kind == Kind::Csi {
        return Ok(());
    }
    for at in 0..words.count()? {
        let first_of_window = words.u64()?;
        if Some(at) == window {
            found.lowest = first_of_window;
        }
    }
    Ok(())
}

/// Numbers of an index, one after the other.
struct Words<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Words<'_> {
    fn take<const BYTES: usize>(&mut self) -> Result<[u8; BYTES], BadIndex> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let taken = rest.first_chunk().ok_or(BadIndex::Truncated { byte: self.at })?;
        self.at += BYTES;
        Ok(*taken)
    }

    fn skip(&mut self, bytes: usize) -> Result<(), BadIndex> {
        let end = self.at.checked_add(bytes).filter(|&end| end <= self.bytes.len());
        self.at = end.ok_or(BadIndex::Truncated { byte: self.at })?;
        Ok(())
    }

    fn u32(&mut self) -> Result<u32, BadIndex> {
        self.take().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, BadIndex> {
        self.take().map(u64::from_le_bytes)
    }

    fn count(&mut self) -> Result<usize, BadIndex> {
        self.u32().map(|it| it as usize)
    }
}
