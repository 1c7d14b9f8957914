//! The fixed-size entries that duplicate marking keeps, spills and sorts.
//!
//! Every entry is `Copy`, has a little-endian form of fixed size, and decodes from any bytes
//! (a spill's checksum guards content, not this code).

use std::cmp::Ordering;

use super::Location;
use crate::hash::{mix, spread};

/// Strands of the two ends of a pair, first letter for the end that is named first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Orientation {
    /// Both ends are on the forward strand.
    ForwardForward,
    /// Forward, then reverse: the usual pair.
    ForwardReverse,
    /// Both ends are on the reverse strand.
    ReverseReverse,
    /// Reverse, then forward.
    ReverseForward,
}

impl Orientation {
    /// The orientation of two ends from their strands (`true` is reverse).
    pub(crate) fn of(reverse1: bool, reverse2: bool) -> Self {
        match (reverse1, reverse2) {
            (false, false) => Self::ForwardForward,
            (false, true) => Self::ForwardReverse,
            (true, true) => Self::ReverseReverse,
            (true, false) => Self::ReverseForward,
        }
    }

    fn from_bits(bits: u8) -> Self {
        match bits & 3 {
            0 => Self::ForwardForward,
            1 => Self::ForwardReverse,
            2 => Self::ReverseReverse,
            _ => Self::ReverseForward,
        }
    }
}

/// A template whose two primary records are mapped, paired and found.
///
/// End 1 is the one with the smaller (reference, unclipped 5' position), the record earlier in the
/// file where these are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PairEnds {
    /// Reference index of end 1.
    pub(crate) reference1: i32,
    /// Unclipped 5' position of end 1, 0-based; may be outside the reference.
    pub(crate) position1: i32,
    /// Reference index of end 2.
    pub(crate) reference2: i32,
    /// Unclipped 5' position of end 2, 0-based.
    pub(crate) position2: i32,
    /// Ordinal of the template, or of end 1's record where each record of the input counts as a
    /// template of its own; 48 bits are kept.
    pub(crate) template: u64,
    /// Ordinal of end 2: that of end 1, or that of end 2's record.
    pub(crate) template2: u64,
    /// Place of the cluster.
    pub(crate) location: Location,
    /// Coordinate mode: POS (0-based) of end 1's record, with [`Self::tie_reverse`] its place in
    /// the sorted file among ends of equal 5' position. Query mode: 0.
    pub(crate) tie_position: i32,
    /// Library index, see [`super::LibraryTable`].
    pub(crate) library: u16,
    /// Hash of the barcodes; 0 where they do not count.
    pub(crate) barcode: u32,
    /// UMI that counts up to errors; 0 where none does. Not in the serialised form: see
    /// [`UmiForm`].
    pub(crate) umi: u64,
    /// Read group in header order, for "same place" of optical duplicates.
    pub(crate) read_group: u16,
    /// Sum of both ends' scores, 16-bit as in Picard.
    pub(crate) score: i16,
    /// Strands of end 1 and end 2.
    pub(crate) orientation: Orientation,
    /// Strands in read-number order.
    pub(crate) optical_orientation: Orientation,
    /// Coordinate mode: strand of end 1's record. Query mode: false.
    pub(crate) tie_reverse: bool,
}

/// What is counted of a mapped primary record that is marked because of another of its template.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Companion {
    /// Library index.
    pub(crate) library: u16,
    /// The flags say that its mate is mapped.
    pub(crate) mate_mapped: bool,
}

/// A mapped primary record without a mapped mate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FragmentEnd {
    /// Reference index.
    pub(crate) reference: i32,
    /// Unclipped 5' position, 0-based; may be outside the reference.
    pub(crate) position: i32,
    /// Template ordinal; 48 bits are kept.
    pub(crate) template: u64,
    /// Place of the cluster.
    pub(crate) location: Location,
    /// Coordinate mode: POS (0-based) of the record. Query mode: 0.
    pub(crate) tie_position: i32,
    /// Library index.
    pub(crate) library: u16,
    /// Hash of the barcodes; 0 where they do not count.
    pub(crate) barcode: u32,
    /// UMI that counts up to errors; 0 where none does. Not in the serialised form: see
    /// [`UmiForm`].
    pub(crate) umi: u64,
    /// Score, 16-bit as in Picard.
    pub(crate) score: i16,
    /// Whether the read is on the reverse strand.
    pub(crate) reverse: bool,
    /// The record has flag 0x80 (second read of its template).
    pub(crate) second: bool,
    /// The flags say that its mate is mapped: it is not there.
    pub(crate) mate_mapped: bool,
    /// The other mapped primary record of its template, which gets the same mark and makes no pair
    /// with it: unpaired reads that share a name, in query mode.
    pub(crate) companion: Option<Companion>,
}

/// "Here is an end of a read whose mate is mapped": all that fragments need to know of pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PairedEndMarker {
    /// Reference index.
    pub(crate) reference: i32,
    /// Unclipped 5' position, 0-based.
    pub(crate) position: i32,
    /// Library index.
    pub(crate) library: u16,
    /// Hash of the barcodes; 0 where they do not count.
    pub(crate) barcode: u32,
    /// UMI that counts up to errors; 0 where none does. Not in the serialised form: see
    /// [`UmiForm`].
    pub(crate) umi: u64,
    /// Whether the read is on the reverse strand.
    pub(crate) reverse: bool,
}

/// What members of one pair set share, most distinctive part first (the order of sets is free).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PairKey {
    positions: u64,
    references: u64,
    /// Barcode, library and orientation.
    rest: u64,
}

/// Key that the members of one fragment set share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PlaceKey {
    /// Position and reference.
    place: u64,
    /// Barcode, library and strand.
    rest: u64,
}

impl PairEnds {
    /// Size of the serialised form.
    pub(crate) const BYTES: usize = 53;

    /// The set that the pair is of.
    pub(super) fn set_key(&self) -> PairKey {
        let rest = u32::from(self.library) << 2 | self.orientation as u32;
        PairKey {
            positions: join(self.position1, self.position2),
            references: join(self.reference1, self.reference2),
            rest: u64::from(self.barcode) << 32 | u64::from(rest),
        }
    }

    /// Picard's order: sets together; in a set by tile, x, y, then place in the file.
    ///
    /// File indices of end 1 never repeat, so end 2's are not needed.
    pub(super) fn order(&self, other: &Self) -> Ordering {
        self.set_key().cmp(&other.set_key()).then_with(|| {
            let tie = |e: &Self| (e.location, e.tie_position, e.tie_reverse, e.template);
            tie(self).cmp(&tie(other))
        })
    }

    /// Partition of `partitions` that the whole pair set goes to.
    pub fn partition_of(&self, partitions: usize) -> usize {
        let PairKey { positions, references, rest } = self.set_key();
        spread(mix(mix(mix(positions) ^ references) ^ rest), partitions)
    }

    /// The serialised form.
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut out = Encoder::<{ Self::BYTES }>::new();
        out.put(self.reference1.to_le_bytes());
        out.put(self.position1.to_le_bytes());
        out.put(self.reference2.to_le_bytes());
        out.put(self.position2.to_le_bytes());
        out.put(ordinal_bytes(self.template));
        out.put(ordinal_bytes(self.template2));
        out.put_location(self.location);
        out.put(self.tie_position.to_le_bytes());
        out.put(self.library.to_le_bytes());
        out.put(self.barcode.to_le_bytes());
        out.put(self.read_group.to_le_bytes());
        out.put(self.score.to_le_bytes());
        let optical = self.optical_orientation as u8;
        out.put([self.orientation as u8 | optical << 2 | u8::from(self.tie_reverse) << 4]);
        out.bytes
    }

    /// The entry of a serialised form.
    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> Self {
        let mut input = Decoder { bytes, at: 0 };
        let [reference1, position1, reference2, position2] =
            std::array::from_fn(|_| i32::from_le_bytes(input.take()));
        let (template, template2) = (input.ordinal(), input.ordinal());
        let location = input.location();
        let tie_position = i32::from_le_bytes(input.take());
        let library = u16::from_le_bytes(input.take());
        let barcode = u32::from_le_bytes(input.take());
        let read_group = u16::from_le_bytes(input.take());
        let score = i16::from_le_bytes(input.take());
        let [bits] = input.take();
        Self {
            reference1,
            position1,
            reference2,
            position2,
            template,
            template2,
            location,
            tie_position,
            library,
            barcode,
            umi: 0,
            read_group,
            score,
            orientation: Orientation::from_bits(bits),
            optical_orientation: Orientation::from_bits(bits >> 2),
            tie_reverse: bits & 16 != 0,
        }
    }
}

impl FragmentEnd {
    /// Size of the serialised form.
    pub(crate) const BYTES: usize = 39;

    /// The marker of the fragment's place: equal for all members of a fragment set.
    pub(super) fn place(&self) -> PairedEndMarker {
        PairedEndMarker {
            reference: self.reference,
            position: self.position,
            library: self.library,
            barcode: self.barcode,
            umi: self.umi,
            reverse: self.reverse,
        }
    }

    /// Picard's order: sets together; in a set by tile, x, y, then place in the file.
    pub(super) fn order(&self, other: &Self) -> Ordering {
        self.place().set_key().cmp(&other.place().set_key()).then_with(|| {
            let tie = |e: &Self| (e.location, e.tie_position, e.template, e.second);
            tie(self).cmp(&tie(other))
        })
    }

    /// Partition of `partitions` that the whole fragment set and its markers go to.
    pub fn partition_of(&self, partitions: usize) -> usize {
        self.place().partition_of(partitions)
    }

    /// The serialised form.
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut out = Encoder::<{ Self::BYTES }>::new();
        out.put(self.reference.to_le_bytes());
        out.put(self.position.to_le_bytes());
        out.put(ordinal_bytes(self.template));
        out.put_location(self.location);
        out.put(self.tie_position.to_le_bytes());
        out.put(self.library.to_le_bytes());
        out.put(self.barcode.to_le_bytes());
        out.put(self.score.to_le_bytes());
        let has_companion = self.companion.is_some();
        let companion = self.companion.unwrap_or_default();
        out.put(companion.library.to_le_bytes());
        let mated = [self.mate_mapped, companion.mate_mapped];
        let flags = [self.reverse, self.second, mated[0], has_companion, mated[1]];
        out.put([flags.iter().rfold(0, |bits, &flag| bits << 1 | u8::from(flag))]);
        out.bytes
    }

    /// The entry of a serialised form.
    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> Self {
        let mut input = Decoder { bytes, at: 0 };
        let [reference, position] = std::array::from_fn(|_| i32::from_le_bytes(input.take()));
        let template = input.ordinal();
        let location = input.location();
        let tie_position = i32::from_le_bytes(input.take());
        let library = u16::from_le_bytes(input.take());
        let barcode = u32::from_le_bytes(input.take());
        let score = i16::from_le_bytes(input.take());
        let other_library = u16::from_le_bytes(input.take());
        let [bits] = input.take();
        let [reverse, second, mate_mapped, has_companion, other_mated] =
            [1, 2, 4, 8, 16].map(|flag| bits & flag != 0);
        let companion = Companion { library: other_library, mate_mapped: other_mated };
        Self {
            reference,
            position,
            template,
            location,
            tie_position,
            library,
            barcode,
            umi: 0,
            score,
            reverse,
            second,
            mate_mapped,
            companion: has_companion.then_some(companion),
        }
    }
}

impl PairedEndMarker {
    /// Size of the serialised form.
    pub(crate) const BYTES: usize = 15;

    /// The fragment set of the place.
    pub(super) fn set_key(&self) -> PlaceKey {
        let rest = u32::from(self.library) << 1 | u32::from(self.reverse);
        PlaceKey {
            place: join(self.position, self.reference),
            rest: u64::from(self.barcode) << 32 | u64::from(rest),
        }
    }

    /// A hash of the place, fixed for ever (it decides partitions).
    pub(super) fn hash(&self) -> u64 {
        let PlaceKey { place, rest } = self.set_key();
        mix(mix(place) ^ rest)
    }

    /// Partition of `partitions` that fragments of this place go to.
    pub fn partition_of(&self, partitions: usize) -> usize {
        spread(self.hash(), partitions)
    }

    /// The serialised form.
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut out = Encoder::<{ Self::BYTES }>::new();
        out.put(self.reference.to_le_bytes());
        out.put(self.position.to_le_bytes());
        out.put(self.library.to_le_bytes());
        out.put(self.barcode.to_le_bytes());
        out.put([u8::from(self.reverse)]);
        out.bytes
    }

    /// The entry of a serialised form.
    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> Self {
        let mut input = Decoder { bytes, at: 0 };
        let [reference, position] = std::array::from_fn(|_| i32::from_le_bytes(input.take()));
        let library = u16::from_le_bytes(input.take());
        let barcode = u32::from_le_bytes(input.take());
        let [bits] = input.take();
        Self { reference, position, library, barcode, umi: 0, reverse: bits & 1 != 0 }
    }
}

/// How entries hold UMIs: not at all, or after the serialised form. Few runs ask for UMIs that
/// count up to errors, and others are not to pay for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UmiForm {
    pub(crate) is_kept: bool,
}

impl UmiForm {
    /// Bytes of an entry whose form takes `form_bytes`.
    pub(crate) fn entry_bytes(self, form_bytes: usize) -> usize {
        form_bytes + if self.is_kept { size_of::<u64>() } else { 0 }
    }

    /// What is put after the form, a part of `bytes`.
    pub(crate) fn tail(self, bytes: &[u8; size_of::<u64>()]) -> &[u8] {
        &bytes[..self.entry_bytes(0)]
    }

    /// The entries in a run of them, each as its form and UMI.
    pub(crate) fn entries<const FORM: usize>(
        self,
        bytes: &[u8],
    ) -> impl Iterator<Item = (&[u8; FORM], u64)> {
        bytes.chunks_exact(self.entry_bytes(FORM)).filter_map(|entry| {
            let (form, tail) = entry.split_first_chunk()?;
            Some((form, tail.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))))
        })
    }
}

/// Two 32-bit values as one key; the bit patterns count, not the signs.
fn join(high: i32, low: i32) -> u64 {
    u64::from(high.cast_unsigned()) << 32 | u64::from(low.cast_unsigned())
}

/// The low 48 bits of a template ordinal.
pub(super) fn ordinal_bytes(template: u64) -> [u8; 6] {
    debug_assert!(template < 1 << 48, "template ordinal {template} needs more than 48 bits");
    let [a, b, c, d, e, f, _, _] = template.to_le_bytes();
    [a, b, c, d, e, f]
}

/// Writes fields one after the other; the caller's size constant covers them (tested).
pub(super) struct Encoder<const N: usize> {
    pub(super) bytes: [u8; N],
    at: usize,
}

impl<const N: usize> Encoder<N> {
    pub(super) fn new() -> Self {
        Self { bytes: [0; N], at: 0 }
    }

    pub(super) fn put<const M: usize>(&mut self, field: [u8; M]) {
        self.bytes[self.at..self.at + M].copy_from_slice(&field);
        self.at += M;
    }

    pub(super) fn put_location(&mut self, location: Location) {
        self.put(location.tile.to_le_bytes());
        self.put(location.x.to_le_bytes());
        self.put(location.y.to_le_bytes());
    }
}

/// Reads fields one after the other.
pub(super) struct Decoder<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
}

impl Decoder<'_> {
    pub(super) fn take<const M: usize>(&mut self) -> [u8; M] {
        let field = std::array::from_fn(|i| self.bytes[self.at + i]);
        self.at += M;
        field
    }

    pub(super) fn ordinal(&mut self) -> u64 {
        let [a, b, c, d, e, f] = self.take();
        u64::from_le_bytes([a, b, c, d, e, f, 0, 0])
    }

    pub(super) fn location(&mut self) -> Location {
        Location {
            tile: i16::from_le_bytes(self.take()),
            x: i32::from_le_bytes(self.take()),
            y: i32::from_le_bytes(self.take()),
        }
    }
}

#[cfg(test)]
#[path = "entry_tests.rs"]
mod tests;
