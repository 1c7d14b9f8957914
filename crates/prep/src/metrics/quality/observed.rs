//! A record as counters look at it: bases unpacked and tags found once for all of them.

use seqloom_format::bam::{AuxFields, AuxValue, CigarOps, Flags, RecordError, RecordRef};

use super::MetricsRequest;
use super::cycle_sums::{count_at_least, sum_of};

/// Code of N among the 4-bit codes of BAM.
pub(super) const NO_CALL: u8 = 15;
/// What missing qualities are in BAM.
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
    pub(super) fn of(qualities: &[u8]) -> Self {
        Self {
            q20: count_at_least(qualities, 20),
            q30: count_at_least(qualities, 30),
            sum: sum_of(qualities),
        }
    }
}

/// A record and what was made of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Observed<'r> {
    pub(super) record: &'r RecordRef<'r>,
    /// 4-bit codes of the bases, one a byte; empty where nobody looks at them.
    pub(super) codes: &'r [u8],
    /// All operations, where the record holds them in a tag, too.
    pub(super) cigar: CigarOps<'r>,
    pub(super) tags: Tags<'r>,
    /// Phred qualities; empty when they are missing.
    pub(super) qualities: &'r [u8],
    /// Sums of these.
    pub(super) sums: QualitySums,
    /// Those of tag `OQ`; empty when they are missing.
    pub(super) original_qualities: &'r [u8],
}

impl<'r> Observed<'r> {
    /// Unpacks what `request` needs.
    pub(super) fn new(
        record: &'r RecordRef<'r>,
        request: MetricsRequest,
        scratch: &'r mut ObservedScratch,
    ) -> Result<Self, RecordError> {
        let tags = Tags::of(record.aux())?;
        let ObservedScratch { codes, original_qualities } = scratch;
        let mut known = 0;
        if request.alignment_summary || request.quality_distribution || request.cycles {
            let packed = record.packed_bases();
            if codes.len() < 2 * packed.len() {
                codes.resize(2 * packed.len(), 0);
            }
            for (pair, &byte) in codes.as_chunks_mut::<2>().0.iter_mut().zip(packed) {
                *pair = [byte >> 4, byte & 15];
            }
            known = record.base_count();
        }
        original_qualities.clear();
        let text = tags.original_qualities.unwrap_or_default();
        original_qualities.extend(text.iter().map(|&letter| letter.saturating_sub(TEXT_OFFSET)));
        let qualities = match record.qualities() {
            [MISSING_QUALITY, ..] => &[],
            qualities => qualities,
        };
        let sums = QualitySums::of(qualities);
        let (codes, cigar) = (&codes[..known], record.full_cigar());
        Ok(Self { record, codes, cigar, tags, qualities, sums, original_qualities })
    }

    pub(super) fn has_flags(&self, bits: u16) -> bool {
        self.record.has_flags(bits)
    }

    /// Whether this record is the read itself, and no further alignment of it.
    pub(super) fn is_primary(&self) -> bool {
        self.record.flags() & (Flags::SECONDARY | Flags::SUPPLEMENTARY) == 0
    }
}
