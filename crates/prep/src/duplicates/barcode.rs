//! Barcodes (unique molecular identifiers) in tags: what duplicates must share besides their place.
//!
//! As Picard MarkDuplicates with BARCODE_TAG, READ_ONE_BARCODE_TAG and READ_TWO_BARCODE_TAG, which
//! compares hashes of 32 bits: Java's of the tag's text, so that even its collisions are the same.
//! Where several tags count, their hashes are folded into one.
//!
//! UMIs that count up to errors are kept as they are instead: see [`super::umi`].

use seqloom_format::bam::{Flags, RecordError, RecordRef};

use super::strand::{Strand, StrandError};
use super::umi::{UmiError, code_of};

/// Which tags hold barcodes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BarcodeTags {
    /// Of the template.
    pub template: Option<[u8; 2]>,
    /// Of the first or only read.
    pub read1: Option<[u8; 2]>,
    /// Of the second read.
    pub read2: Option<[u8; 2]>,
    /// The template's is a UMI that counts up to errors.
    pub is_umi: bool,
    /// The template's has two parts, which change places where it was sequenced from the bottom
    /// strand of its molecule (Picard's DUPLEX_UMI).
    pub is_duplex: bool,
}

/// Why the barcodes of a record cannot be determined.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BarcodeError {
    /// The record is malformed.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// Malformed UMI.
    #[error(transparent)]
    Umi(#[from] UmiError),
    /// Malformed UMI of a duplex.
    #[error("a UMI of a duplex has two parts with a dash between them, and {0:?} has not")]
    NoDuplex(String),
    /// The strand of a duplex cannot be determined.
    #[error(transparent)]
    Strand(#[from] StrandError),
}

/// Hashes of the barcodes of one read; 0 where there is none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ReadBarcodes {
    pub(crate) template: u32,
    /// Of the read itself.
    pub(crate) read: u32,
    pub(crate) is_second: bool,
    /// The template's UMI where it counts up to errors, else 0.
    pub(crate) umi: u64,
}

impl BarcodeTags {
    /// The barcodes of a record.
    pub(crate) fn of(&self, record: &RecordRef<'_>) -> Result<ReadBarcodes, BarcodeError> {
        let flags = record.flags();
        let own = if is_second(flags) { self.read2 } else { self.read1 };
        if self.template.is_none() && own.is_none() {
            return Ok(ReadBarcodes::of_flags(0, 0, flags));
        }
        let text = |tag: Option<[u8; 2]>| {
            let value = tag.map_or(Ok(None), |tag| record.find_aux(tag))?;
            Ok::<_, RecordError>(value.and_then(|value| value.as_string()))
        };
        if self.is_umi {
            let umi = text(self.template)?.map_or(Ok(0), code_of)?;
            return Ok(ReadBarcodes { umi, ..ReadBarcodes::of_flags(0, 0, flags) });
        }
        let template = text(self.template)?;
        let template = match template.filter(|_| self.is_duplex) {
            Some(umi) => duplex_hash(umi, Strand::of(record)?)?,
            None => template.map_or(0, java_hash),
        };
        let own = text(own)?.map_or(0, java_hash);
        Ok(ReadBarcodes::of_flags(template, own, flags))
    }
}

/// Hash of a duplex' UMI as the top strand has it.
fn duplex_hash(umi: &[u8], strand: Option<Strand>) -> Result<u32, BarcodeError> {
    let parts: Vec<&[u8]> = umi.split(|&byte| byte == b'-').collect();
    // Empty parts at the end are none to Java.
    let count = parts.iter().rposition(|part| !part.is_empty()).map_or(0, |last| last + 1);
    let [first, second] = parts[..count] else {
        return Err(BarcodeError::NoDuplex(String::from_utf8_lossy(umi).into_owned()));
    };
    Ok(match strand {
        Some(Strand::Bottom) => java_hash(second.iter().chain(b"-").chain(first)),
        Some(Strand::Top) | None => java_hash(umi),
    })
}

/// Picard's second read: paired and not the first.
fn is_second(flags: u16) -> bool {
    flags & Flags::PAIRED != 0 && flags & Flags::FIRST_OF_PAIR == 0
}

impl ReadBarcodes {
    /// With the hashes of the template's barcode and of the read's own.
    pub(crate) fn of_flags(template: u32, read: u32, flags: u16) -> Self {
        Self { template, read, is_second: is_second(flags), umi: 0 }
    }

    /// The key of a read without a mate.
    pub(crate) fn of_read(&self) -> u32 {
        let slots = if self.is_second { [0, self.read] } else { [self.read, 0] };
        fold(self.template, slots)
    }

    /// The key of a pair whose first end this is; the template's barcode is that of the first.
    pub(crate) fn of_pair(&self, later: &Self) -> u32 {
        let mut slots = [0; 2];
        slots[usize::from(self.is_second)] = self.read;
        slots[usize::from(later.is_second)] = later.read;
        fold(self.template, slots)
    }
}

/// The template's hash itself where no read has one.
fn fold(template: u32, [read1, read2]: [u32; 2]) -> u32 {
    // Odd factors, so that each part alone is kept apart; from Knuth's multiplicative hashing.
    template ^ read1.wrapping_mul(0x9e37_79b1) ^ read2.wrapping_mul(0x85eb_ca77).rotate_left(13)
}

/// `String.hashCode` of Java for text in ASCII.
fn java_hash<'a>(text: impl IntoIterator<Item = &'a u8>) -> u32 {
    text.into_iter().fold(0_u32, |hash, &byte| hash.wrapping_mul(31).wrapping_add(byte.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_javas() {
        assert_eq!(java_hash(b""), 0);
        assert_eq!(java_hash(b"A"), 65);
        assert_eq!(java_hash(b"ACGT-ACGT").cast_signed(), 320_414_477);
    }

    #[test]
    fn each_part_counts_and_belongs_to_its_read() {
        let read = |template, read, is_second| ReadBarcodes { template, read, is_second, umi: 0 };
        assert_eq!(read(7, 0, true).of_read(), 7);
        assert_ne!(read(7, 5, true).of_read(), read(7, 5, false).of_read());
        let pair = read(7, 5, false).of_pair(&read(9, 6, true));
        assert_eq!(pair, read(7, 6, true).of_pair(&read(1, 5, false)));
        assert_ne!(pair, read(7, 6, false).of_pair(&read(1, 5, true)));
        assert_ne!(pair, read(8, 5, false).of_pair(&read(9, 6, true)));
    }
}
