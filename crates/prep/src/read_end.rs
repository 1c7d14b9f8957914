//! From the packed records of one template to its duplicate-marking entries.
//!
//! Rules of Picard MarkDuplicates' `buildReadEnds`: every mapped primary record gives an end at its
//! unclipped 5' position; two ends of one template give a pair.

use seqloom_format::bam::{self, Flags, RecordError, RecordRef, framed_records};

use crate::barcode::{BarcodeTags, ReadBarcodes};
use crate::duplicates::{
    DuplicateMode, FragmentEnd, LibraryTable, Location, MateEnd, Orientation, PairEnd, PairedMarker,
};
use crate::metrics::DuplicationCounters;

/// Base qualities below this one do not count in a score (Picard's SUM_OF_BASE_QUALITIES).
const LEAST_SCORED_QUALITY: u8 = 15;

/// Upper bound of one read's score: half of Java's largest `short`.
const MOST_SCORE: u32 = i16::MAX as u32 / 2;

/// Added to the score of a read that fails quality control: half of Java's smallest `short`.
const QC_FAIL_SCORE: i16 = i16::MIN / 2;

/// Why a template has no read ends.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadEndError {
    /// A record is malformed.
    #[error("template {template}: record {record}: {source}")]
    Record {
        /// Template ordinal, from 0.
        template: u64,
        /// Record of the template, from 0.
        record: usize,
        /// What is wrong with it.
        source: RecordError,
    },
    /// The name is used for more than one template.
    #[error("template {template} ({name}) has more than two mapped primary records")]
    TooManyPrimaries {
        /// Template ordinal, from 0.
        template: u64,
        /// Its name.
        name: String,
    },
}

/// How read ends are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadEndOptions {
    /// What breaks ties.
    pub mode: DuplicateMode,
    /// Read locations from names; `false` is Picard's READ_NAME_REGEX=null (no optical
    /// duplicates, and ties are broken by place in the file alone).
    pub locate: bool,
    /// Tags whose values duplicates must share.
    pub barcodes: BarcodeTags,
}

/// The entries of one template.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReadEnds {
    /// Both ends, where both primary records are mapped and belong together.
    pub pair: Option<PairEnd>,
    /// Ends without a mapped mate; by order of the records.
    pub fragments: [Option<FragmentEnd>; 2],
    /// Ends with a mapped mate (whether the mate is there or not).
    pub markers: [Option<PairedMarker>; 2],
}

/// Makes the entries of one template and counts its records as examined.
///
/// `records` are all framed records of the template (or of a name group), in input order;
/// `template` is its ordinal. A mapped record is one without flag 0x4 and with a reference. Mates
/// of different libraries, which no aligner writes, are examined in their own library and counted
/// as duplicates in that of the first.
///
/// # Errors
/// A malformed record, or more than two mapped primary records.
pub fn examine_template(
    records: &[u8],
    template: u64,
    table: &LibraryTable,
    options: &ReadEndOptions,
    counters: &mut DuplicationCounters,
) -> Result<ReadEnds, ReadEndError> {
    let mut primaries: [Option<(MappedRead, &[u8])>; 2] = [None; 2];
    for (index, body) in framed_records(records).enumerate() {
        let malformed = |source| ReadEndError::Record { template, record: index, source };
        let record = RecordRef::new(body.map_err(malformed)?).map_err(malformed)?;
        let Some(read) = examine_record(&record, table, options, counters).map_err(malformed)?
        else {
            continue;
        };
        let free = primaries.iter_mut().find(|slot| slot.is_none()).ok_or_else(|| {
            let name = String::from_utf8_lossy(record.name()).into_owned();
            ReadEndError::TooManyPrimaries { template, name }
        })?;
        *free = Some((read, record.name()));
    }
    let mut ends = ReadEnds::default();
    for (index, read) in primaries.iter().enumerate() {
        let Some((read, name)) = read else { continue };
        if read.mate_reference == -1 {
            ends.fragments[index] = Some(read.fragment(template, options.locate(name), options));
        } else {
            ends.markers[index] = Some(read.marker());
        }
    }
    if let [Some(a), Some(b)] = &primaries {
        // The order of the records in the file: emission order, or the sorter's.
        let swapped = options.mode == DuplicateMode::Coordinate && b.0.sort_key() < a.0.sort_key();
        let ((first, name), (this, _)) = if swapped { (b, a) } else { (a, b) };
        let both = [(template, first), (template, this)];
        ends.pair = pair_up(both, || options.locate(name), options.mode);
    }
    Ok(ends)
}

/// The entries of one record of input that is sorted by coordinate, where mates lie apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordEnds {
    /// Not a mapped primary record.
    None,
    /// A read without a mapped mate.
    Fragment(FragmentEnd),
    /// A read with a mapped mate, which is somewhere else in the input.
    Mate(PairedMarker, MateEnd),
}

/// Makes the entries of one record and counts it as examined; `ordinal` is its number in the input,
/// which breaks ties (so that the mode of `options` has no effect here).
///
/// # Errors
/// A malformed record.
pub fn examine_single(
    record: &RecordRef<'_>,
    ordinal: u64,
    table: &LibraryTable,
    options: &ReadEndOptions,
    counters: &mut DuplicationCounters,
) -> Result<RecordEnds, ReadEndError> {
    let malformed = |source| ReadEndError::Record { template: ordinal, record: 0, source };
    let Some(read) = examine_record(record, table, options, counters).map_err(malformed)? else {
        return Ok(RecordEnds::None);
    };
    let location = options.locate(record.name());
    if read.mate_reference == -1 {
        let options = ReadEndOptions { mode: DuplicateMode::Query, ..*options };
        return Ok(RecordEnds::Fragment(read.fragment(ordinal, location, &options)));
    }
    let mate = MateEnd::new(record.name(), ordinal, location, read);
    Ok(RecordEnds::Mate(read.marker(), mate))
}

/// Counts a record; what duplicate marking needs of it if it is mapped and primary.
fn examine_record(
    record: &RecordRef<'_>,
    table: &LibraryTable,
    options: &ReadEndOptions,
    counters: &mut DuplicationCounters,
) -> Result<Option<MappedRead>, RecordError> {
    let group = group_of(record, table)?;
    counters.count_record(group.0, record.flags());
    let not_an_end = Flags::UNMAPPED | Flags::SECONDARY | Flags::SUPPLEMENTARY;
    let is_end = record.flags() & not_an_end == 0 && record.reference_id() >= 0;
    if !is_end {
        return Ok(None);
    }
    let barcodes = options.barcodes.of(record)?;
    Ok(Some(MappedRead::of(record, group, barcodes)))
}

/// Library and read group index of a record.
fn group_of(record: &RecordRef<'_>, table: &LibraryTable) -> Result<(u16, u16), RecordError> {
    if let Some(library) = table.constant_library() {
        return Ok((library, 0));
    }
    let id = record.find_aux(*b"RG")?.and_then(|value| value.as_string());
    Ok(table.resolve(id))
}

/// What duplicate marking needs of a mapped primary record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MappedRead {
    pub(crate) library: u16,
    pub(crate) read_group: u16,
    pub(crate) flags: u16,
    pub(crate) reference: i32,
    /// POS, 0-based; what orders the ends of a template that is not sorted yet.
    pub(crate) start: i32,
    /// Unclipped 5' position, 0-based.
    pub(crate) position: i32,
    /// -1 where the mate is unmapped or there is none.
    pub(crate) mate_reference: i32,
    pub(crate) score: i16,
    pub(crate) barcodes: ReadBarcodes,
}

impl MappedRead {
    fn of(
        record: &RecordRef<'_>,
        (library, read_group): (u16, u16),
        barcodes: ReadBarcodes,
    ) -> Self {
        let flags = record.flags();
        let has_mate = flags & Flags::PAIRED != 0 && flags & Flags::MATE_UNMAPPED == 0;
        Self {
            library,
            read_group,
            flags,
            reference: record.reference_id(),
            start: record.position(),
            position: unclipped_five_prime(record),
            mate_reference: if has_mate { record.mate_reference_id() } else { -1 },
            score: score(record.qualities(), flags),
            barcodes,
        }
    }

    fn is_reverse(&self) -> bool {
        self.flags & Flags::REVERSE != 0
    }

    fn is_mated(&self) -> bool {
        self.flags & Flags::PAIRED != 0 && self.flags & Flags::MATE_UNMAPPED == 0
    }

    /// Place in a file sorted by `samtools sort`; equal keys keep the input's order.
    fn sort_key(&self) -> (i32, i32, bool) {
        (self.reference, self.start, self.is_reverse())
    }

    /// What breaks a tie before the ordinal does.
    fn tie(&self, mode: DuplicateMode) -> (i32, bool) {
        match mode {
            DuplicateMode::Query => (0, false),
            DuplicateMode::Coordinate => (self.start, self.is_reverse()),
        }
    }

    fn fragment(&self, template: u64, location: Location, options: &ReadEndOptions) -> FragmentEnd {
        FragmentEnd {
            reference: self.reference,
            position: self.position,
            template,
            location,
            tie_position: self.tie(options.mode).0,
            library: self.library,
            barcode: self.barcodes.of_read(),
            score: self.score,
            reverse: self.is_reverse(),
            second: self.flags & Flags::SECOND_OF_PAIR != 0,
        }
    }

    fn marker(&self) -> PairedMarker {
        PairedMarker {
            reference: self.reference,
            position: self.position,
            library: self.library,
            barcode: self.barcodes.of_read(),
            reverse: self.is_reverse(),
        }
    }
}

impl ReadEndOptions {
    fn locate(&self, name: &[u8]) -> Location {
        let parsed = if self.locate { parse_location(name) } else { None };
        parsed.unwrap_or(Location::NONE)
    }
}

/// The pair of two ends with their ordinals, the first one being earlier in the file; `None` where
/// they are no mates (RNEXT of the first names another reference than that of the second).
///
/// The location, library and read group of the first count; mates with different ones make a pair,
/// too (Picard's map of pending reads has the constant "RG" in its keys, not the read group).
pub(crate) fn pair_up(
    [(first_ordinal, first), (this_ordinal, this)]: [(u64, &MappedRead); 2],
    location: impl FnOnce() -> Location,
    mode: DuplicateMode,
) -> Option<PairEnd> {
    if !(first.is_mated() && this.is_mated() && first.mate_reference == this.reference) {
        return None;
    }
    let place = |read: &MappedRead| (read.reference, read.position);
    let keeps_order = place(this) >= place(first);
    let (end1, end2) = if keeps_order { (first, this) } else { (this, first) };
    let ordinals = (first_ordinal, this_ordinal);
    let (template, template2) = if keeps_order { ordinals } else { (ordinals.1, ordinals.0) };
    let mut orientation = Orientation::of(end1.is_reverse(), end2.is_reverse());
    if place(end1) == place(end2) && orientation == Orientation::ReverseForward {
        orientation = Orientation::ForwardReverse;
    }
    let this_is_read1 = this.flags & Flags::FIRST_OF_PAIR != 0;
    let (read1, read2) = if this_is_read1 { (this, first) } else { (first, this) };
    let (tie_position, tie_reverse) = end1.tie(mode);
    Some(PairEnd {
        reference1: end1.reference,
        position1: end1.position,
        reference2: end2.reference,
        position2: end2.position,
        template,
        template2,
        location: location(),
        tie_position,
        library: first.library,
        barcode: first.barcodes.of_pair(&this.barcodes),
        read_group: first.read_group,
        score: first.score.wrapping_add(this.score),
        orientation,
        optical_orientation: Orientation::of(read1.is_reverse(), read2.is_reverse()),
        tie_reverse,
    })
}

/// Position of the first sequenced base, had it and all clipped ones been aligned; 0-based, held
/// within 32 bits.
fn unclipped_five_prime(record: &RecordRef<'_>) -> i32 {
    let cigar = record.full_cigar();
    let is_clip = |code: u8| matches!(bam::CIGAR_LETTERS.get(usize::from(code)), Some(b'S' | b'H'));
    let mut leading = 0_i64;
    let mut trailing = 0_i64;
    let mut aligned = false;
    for (code, length) in cigar.codes() {
        if is_clip(code) {
            trailing += i64::from(length);
        } else {
            trailing = 0;
            aligned = true;
        }
        if !aligned {
            leading += i64::from(length);
        }
    }
    let start = i64::from(record.position());
    let position = if record.has_flags(Flags::REVERSE) {
        start + cigar.reference_span() - 1 + trailing
    } else {
        start - leading
    };
    position.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32
}

/// Picard's SUM_OF_BASE_QUALITIES score. Absent qualities give 0; bytes above 127, which are
/// negative in Java, do not count.
fn score(qualities: &[u8], flags: u16) -> i16 {
    let counted = |&quality: &u8| {
        let counts = (LEAST_SCORED_QUALITY..=i8::MAX as u8).contains(&quality);
        if counts { u32::from(quality) } else { 0 }
    };
    let sum: u32 = match qualities.first() {
        None | Some(0xff) => 0,
        // 2^31 qualities of 127 exceed 32 bits, so chunks are capped one by one.
        Some(_) => qualities
            .chunks(1 << 16)
            .fold(0, |sum, chunk| (sum + chunk.iter().map(counted).sum::<u32>()).min(MOST_SCORE)),
    };
    let failed = if flags & Flags::QC_FAIL != 0 { QC_FAIL_SCORE } else { 0 };
    // At most 16383.
    sum as i16 + failed
}

/// Tile, x and y: the last three of 5 or 7 fields between colons (Illumina's names).
///
/// All three are narrowed to 16 bits, as Picard stores them: an x of 32,800, which NovaSeq has,
/// lies in front of one of 32,700 and far away from it. A tile that narrows to -1 is "not located".
pub fn parse_location(name: &[u8]) -> Option<Location> {
    let colons = name.iter().filter(|&&byte| byte == b':').count();
    if colons != 4 && colons != 6 {
        return None;
    }
    let mut fields = name.rsplit(|&byte| byte == b':').map(leading_integer);
    let y = fields.next()?? as i16;
    let x = fields.next()?? as i16;
    let tile = fields.next()?? as i16;
    Some(Location { tile, x: x.into(), y: y.into() })
}

/// An optional minus sign and digits; anything behind them is ignored. Wraps at 32 bits, as Java.
fn leading_integer(field: &[u8]) -> Option<i32> {
    let (negative, digits) = match field {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    digits.first().filter(|byte| byte.is_ascii_digit())?;
    let digits = digits.iter().take_while(|byte| byte.is_ascii_digit());
    let value = digits
        .fold(0_i32, |value, &digit| value.wrapping_mul(10).wrapping_add(i32::from(digit - b'0')));
    Some(if negative { value.wrapping_neg() } else { value })
}

#[cfg(test)]
mod tests;
