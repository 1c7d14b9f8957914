//! Where the fields of a record are in a block (SAM specification, 4.2).

use super::window::Window;

/// Bytes of a record before its name, block_size included.
pub(super) const FIXED_BYTES: usize = 36;

/// Offsets in the block of one record's fields; each field ends where the next one starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fields {
    pub(super) start: usize,
    pub(super) name: usize,
    pub(super) cigar: usize,
    pub(super) sequence: usize,
    pub(super) qualities: usize,
    pub(super) tags: usize,
    /// End of the record.
    pub(super) end: usize,
    /// Number of the reference, -1 for none.
    pub(super) reference: i32,
    /// Where the first base of the sequence would be on the reference if a leading soft clip was
    /// aligned: bases of two reads that have the same distance to it are opposite each other.
    pub(super) unclipped_start: i32,
    /// Bases of the sequence.
    pub(super) bases: usize,
}

impl Fields {
    /// The record at `start`, if all of it is in the block and its fields fit it.
    #[inline(always)]
    pub(super) fn read(window: &Window, start: usize) -> Option<Self> {
        /// Operation of a CIGAR: soft clip.
        const SOFT_CLIP: u32 = 4;
        let left = window.len().checked_sub(start)?;
        if left < FIXED_BYTES {
            return None;
        }
        let body_bytes = window.u32_at(start) as usize;
        if body_bytes < FIXED_BYTES - 4 || body_bytes > left - 4 {
            return None;
        }
        let end = start + 4 + body_bytes;
        let operations = (window.u32_at(start + 16) & 0xffff) as usize;
        let bases = window.u32_at(start + 20) as usize;
        if bases > body_bytes {
            return None;
        }
        let name = start + FIXED_BYTES;
        let cigar = name + (window.u32_at(start + 12) & 0xff) as usize;
        let sequence = cigar + 4 * operations;
        let qualities = sequence + bases.div_ceil(2);
        let tags = qualities + bases;
        if tags > end {
            return None;
        }
        let position = window.u32_at(start + 8) as i32;
        let first = window.u32_at(cigar);
        let is_clipped = operations > 0 && first & 0xf == SOFT_CLIP;
        let clipped = if is_clipped { (first >> 4) as i32 } else { 0 };
        Some(Self {
            start,
            name,
            cigar,
            sequence,
            qualities,
            tags,
            end,
            reference: window.u32_at(start + 4) as i32,
            unclipped_start: position.wrapping_sub(clipped),
            bases,
        })
    }
}

/// Where the tag at `at` of a record that ends at `end` ends; `None` if it is none or goes beyond.
#[inline(always)]
pub(super) fn tag_end(window: &Window, at: usize, end: usize) -> Option<usize> {
    let [_, _, kind, element] = window.u32_at(at).to_le_bytes();
    let value = at + 3;
    let tag_end = match kind {
        b'A' | b'c' | b'C' => value + 1,
        b's' | b'S' => value + 2,
        b'i' | b'I' | b'f' => value + 4,
        b'Z' | b'H' => window.find_zero(value, end)? + 1,
        b'B' => {
            let count = window.u32_at(value + 1) as usize;
            let width = match element {
                b'c' | b'C' => 1,
                b's' | b'S' => 2,
                _ => 4,
            };
            // An array longer than a block is none of this record; the product cannot overflow.
            value + 5 + width * count.min(1 << 16)
        }
        _ => return None,
    };
    (tag_end <= end).then_some(tag_end)
}
