//! A record as counters look at it: bases unpacked and tags found once for all of them.

use seqloom_format::bam::{AuxFields, AuxValue, CigarOps, Flags, RecordError, RecordRef};

use super::cigar_sums::CigarSums;
use super::padded::{LANES, Padded};
use super::request::MetricsRequest;

/// Code of N among the 4-bit codes of BAM.
pub(super) const NO_CALL: u8 = 15;
/// Byte of missing qualities in BAM.
const MISSING_QUALITY: u8 = 0xff;
/// Quality 0 in text.
const TEXT_OFFSET: u8 = b'!';

/// The tags that counters look at.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tags<'r> {
    /// `XN:i:1`: noise, composed of A and N only.
    pub(super) is_noise: bool,
    /// `MQ`, the mate's mapping quality.
    pub(super) mate_mapping_quality: Option<i64>,
    /// `SA` is there: the alignment is chimeric.
    pub(super) is_split: bool,
    /// `OQ` as text; `None` when it is empty.
    pub(super) original_qualities: Option<&'r [u8]>,
    /// `RG`.
    pub(super) read_group: Option<&'r [u8]>,
    /// `NM`; 0 when it is not there or no integer.
    pub(super) edit_distance: i64,
}

impl<'r> Tags<'r> {
    /// The first tag of each name counts.
    fn of(mut fields: AuxFields<'r>) -> Result<Self, RecordError> {
        let (mut tags, mut has_nm) = (Self::default(), false);
        while let Some(name) = fields.peek() {
            if !matches!(&name, b"XN" | b"MQ" | b"SA" | b"OQ" | b"RG" | b"NM") {
                fields.skip_one()?;
                continue;
            }
            let Some(field) = fields.next() else { break };
            let (name, value): ([u8; 2], AuxValue<'r>) = field?;
            match &name {
                b"XN" => tags.is_noise |= value.as_int() == Some(1),
                b"MQ" if tags.mate_mapping_quality.is_none() => {
                    tags.mate_mapping_quality = value.as_int();
                }
                b"SA" => tags.is_split = true,
                b"OQ" if tags.original_qualities.is_none() => {
                    tags.original_qualities = value.as_string().filter(|text| !text.is_empty());
                }
                b"RG" if tags.read_group.is_none() => tags.read_group = value.as_string(),
                b"NM" if !has_nm => {
                    has_nm = true;
                    tags.edit_distance = value.as_int().unwrap_or(0);
                }
                _ => {}
            }
        }
        Ok(tags)
    }
}

/// Memory that is used again for every record.
#[derive(Debug, Default)]
pub(super) struct ObservedScratch {
    codes: Vec<u8>,
    qualities: Vec<u8>,
    original_qualities: Vec<u8>,
}

/// Sums of a read's qualities, which several counters want.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct QualitySums {
    /// Of Q20 or more.
    pub(super) q20: u64,
    /// Of Q30 or more.
    pub(super) q30: u64,
    /// Sum of all.
    pub(super) sum: u64,
}

impl QualitySums {
    pub(super) fn of(qualities: Padded<'_>) -> Self {
        const EACH: u64 = 0x0101_0101_0101_0101;
        const EVEN: u64 = 0x00ff_00ff_00ff_00ff;
        // The topmost bit of each byte that is at least `least`, moved to its lowest one.
        let reach = |word: u64, least: u64| {
            (((word & (EACH * 0x7f)) + EACH * (128 - least)) | word) >> 7 & EACH
        };
        let mut sums = Self::default();
        // Counts in so many words fit 8 bits, sums of two bytes 16.
        for some in qualities.lanes().chunks(128 / WORDS) {
            let (mut q20, mut q30, mut sum) = (0, 0, 0);
            for word in some.as_flattened().as_chunks::<8>().0 {
                let word = u64::from_le_bytes(*word);
                q20 += reach(word, 20);
                q30 += reach(word, 30);
                sum += (word & EVEN) + (word >> 8 & EVEN);
            }
            sums.q20 += sum_of_pairs((q20 & EVEN) + (q20 >> 8 & EVEN));
            sums.q30 += sum_of_pairs((q30 & EVEN) + (q30 >> 8 & EVEN));
            sums.sum += sum_of_pairs(sum);
        }
        sums
    }
}

/// Words of eight bytes in [`LANES`].
const WORDS: usize = LANES / 8;

/// Sum of four numbers of 16 bits.
fn sum_of_pairs(word: u64) -> u64 {
    const EVEN: u64 = 0x0000_ffff_0000_ffff;
    let word = (word & EVEN) + (word >> 16 & EVEN);
    (word >> 32) + (word & 0xffff_ffff)
}

/// Unpacks bases, two a byte, to one a byte.
fn unpack(packed: &[u8], codes: &mut [u8]) {
    const MANY: usize = LANES / 2;
    let codes = &mut codes.as_chunks_mut::<2>().0[..packed.len()];
    let pair = |byte: u8| [byte >> 4, byte & 15];
    let (many, _) = packed.as_chunks::<MANY>();
    let Some(last) = packed.last_chunk::<MANY>() else {
        return codes.iter_mut().zip(packed).for_each(|(codes, &byte)| *codes = pair(byte));
    };
    for (codes, packed) in codes.as_chunks_mut::<MANY>().0.iter_mut().zip(many) {
        *codes = packed.map(pair);
    }
    // Some of the last ones once more, so that there is no rest to be done one by one.
    if let Some(codes) = codes.last_chunk_mut::<MANY>() {
        *codes = last.map(pair);
    }
}

/// A record and what was made of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Observed<'r> {
    pub(super) record: &'r RecordRef<'r>,
    /// 4-bit codes of the bases, one a byte; empty where nobody looks at them.
    pub(super) codes: Padded<'r>,
    /// All operations, where the record holds them in a tag, too.
    pub(super) cigar: CigarOps<'r>,
    /// Sums of these.
    pub(super) cigar_sums: CigarSums,
    pub(super) tags: Tags<'r>,
    /// Phred qualities; empty when they are missing.
    pub(super) qualities: Padded<'r>,
    /// Sums of these.
    pub(super) sums: QualitySums,
    /// Qualities of tag `OQ`; empty when they are missing.
    pub(super) original_qualities: Padded<'r>,
}

impl<'r> Observed<'r> {
    /// Unpacks what `request` needs.
    pub(super) fn new(
        record: &'r RecordRef<'r>,
        request: MetricsRequest,
        scratch: &'r mut ObservedScratch,
    ) -> Result<Self, RecordError> {
        let tags = Tags::of(record.aux())?;
        let wants_codes =
            request.alignment_summary || request.quality_distribution || request.cycles;
        let codes = if wants_codes { record.base_count() } else { 0 };
        let codes = Padded::fill(&mut scratch.codes, codes, |out| {
            unpack(&record.packed_bases()[..codes.div_ceil(2)], out);
            // The half byte after an odd number of bases may hold anything.
            if let Some(after) = out.get_mut(codes) {
                *after = 0;
            }
        });
        let text = tags.original_qualities.unwrap_or_default();
        let original_qualities = Padded::fill(&mut scratch.original_qualities, text.len(), |out| {
            let qualities = text.iter().map(|&letter| letter.saturating_sub(TEXT_OFFSET));
            out.iter_mut().zip(qualities).for_each(|(out, quality)| *out = quality);
        });
        let qualities = match record.qualities() {
            [MISSING_QUALITY, ..] => &[],
            qualities => qualities,
        };
        let qualities = Padded::fill(&mut scratch.qualities, qualities.len(), |out| {
            out[..qualities.len()].copy_from_slice(qualities);
        });
        let sums = QualitySums::of(qualities);
        let cigar = record.full_cigar();
        let cigar_sums = CigarSums::of(cigar);
        Ok(Self { record, codes, cigar, cigar_sums, tags, qualities, sums, original_qualities })
    }

    pub(super) fn has_flags(&self, bits: u16) -> bool {
        self.record.has_flags(bits)
    }

    /// Whether this record is the read itself, and no further alignment of it.
    pub(super) fn is_primary(&self) -> bool {
        self.record.flags() & (Flags::SECONDARY | Flags::SUPPLEMENTARY) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sums_of_qualities(bytes in prop::collection::vec(any::<u8>(), 0..9000)) {
            let mut memory = Vec::new();
            let sums = QualitySums::of(Padded::of(&bytes, &mut memory));
            let least = |least| bytes.iter().filter(|it| **it >= least).count() as u64;
            prop_assert_eq!((sums.q20, sums.q30), (least(20), least(30)));
            prop_assert_eq!(sums.sum, bytes.iter().map(|it| u64::from(*it)).sum::<u64>());
        }

        #[test]
        fn bases_are_unpacked(packed in prop::collection::vec(any::<u8>(), 0..80)) {
            let mut codes = vec![99; 2 * packed.len() + 2];
            unpack(&packed, &mut codes);
            let expected: Vec<u8> = packed.iter().flat_map(|it| [it >> 4, it & 15]).collect();
            prop_assert_eq!(&codes[..expected.len()], expected);
            prop_assert_eq!(&codes[2 * packed.len()..], [99, 99]);
        }
    }
}
