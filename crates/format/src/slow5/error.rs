//! What can be wrong with SLOW5 and BLOW5 bytes. Files and offsets in them are added by whoever
//! read the bytes; a position given here counts from the start of the bytes handed over.

use crate::signal::Slow5Version;
use crate::signal::read_id::ReadIdError;

/// Why bytes are not a header.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HeaderError {
    /// The first line does not begin with `#slow5_version`.
    #[error("not a SLOW5 file: it does not begin with #slow5_version")]
    NotSlow5,
    /// The first six bytes are not `BLOW5` and 1.
    #[error("not a BLOW5 file: its first bytes are not \"BLOW5\\1\"")]
    NotBlow5,
    /// A version that is not known.
    #[error("version {}.{}.{} is not known: at most 1.0.0 is read", .0.0, .0.1, .0.2)]
    Version(Slow5Version),
    /// A code of record compression that is not known.
    #[error("record compression {0} is not known (0 none, 1 zlib, 2 zstd)")]
    RecordCompression(u8),
    /// A code of signal compression that is not known.
    #[error("signal compression {0} is not known (0 none, 1 svb-zd, 2 ex-zd)")]
    SignalCompression(u8),
    /// The header is longer than [`super::limits::MAX_HEADER_BYTES`].
    #[error("the header is longer than {} bytes", super::limits::MAX_HEADER_BYTES)]
    TooLong,
    /// The text of a binary header ends before or after the stated length.
    #[error("the text of the header has {parsed_bytes} bytes, {stated_bytes} are stated")]
    TextLength {
        /// Length in the fixed part.
        stated_bytes: usize,
        /// Bytes up to the end of the last header line; those given when it is missing.
        parsed_bytes: usize,
    },
    /// A line that cannot be read; the first line of text is 1.
    #[error("line {line} of the header: {defect}")]
    Line {
        /// Number of the line.
        line: usize,
        /// The problem.
        defect: LineDefect,
    },
    /// A header that must not be written.
    #[error("the header cannot be written: {0}")]
    Unwritable(LineDefect),
}

/// Problem of a line of a header.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LineDefect {
    /// The version is not three numbers up to 255.
    #[error("version is not of the form 0.2.0")]
    BadVersion,
    /// Not `#num_read_groups` with a number from 1 to 4294967295.
    #[error("expected #num_read_groups and a number of at least 1")]
    BadReadGroups,
    /// Neither an attribute nor the line of types.
    #[error("expected an attribute (@...) or the types of the columns (#char*...)")]
    Unexpected,
    /// Another number of values than read groups.
    #[error("attribute {name} has {values} values for {read_groups} read groups")]
    ValueCount {
        /// Name of the attribute.
        name: String,
        /// Values it has.
        values: usize,
        /// Values it should have.
        read_groups: u32,
    },
    /// An attribute's name comes twice.
    #[error("attribute {0} comes twice")]
    DuplicateAttribute(String),
    /// A name or value that text cannot hold.
    #[error("attribute {0} is empty or has a tab or a line break in its name or value")]
    BadAttribute(String),
    /// Names of columns do not follow, or not the eight that every file has.
    #[error("expected the names of the columns (#read_id...)")]
    NoColumns,
    /// Unequal numbers of types and names.
    #[error("{types} auxiliary types for {names} auxiliary names")]
    ColumnCount {
        /// Types in the line before.
        types: usize,
        /// Names in this line.
        names: usize,
    },
    /// A type that does not exist.
    #[error("auxiliary type {0} is not known")]
    UnknownType(String),
    /// Labels that are empty, doubled, not C identifiers, more than 255, or not in braces.
    #[error("labels of {0} are not 1 to 255 different C identifiers in braces")]
    BadLabels(String),
    /// An auxiliary name comes twice, is empty or holds a tab or a line break.
    #[error("auxiliary name {0:?} is empty, comes twice or has a tab or line break")]
    BadName(String),
    /// Enums in a file of version 0.1.0.
    #[error("enums need version 0.2.0")]
    EnumTooEarly,
}

/// Why coded samples cannot be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SignalError {
    /// The frame ends before what it announces.
    #[error("coded signal is cut short")]
    Truncated,
    /// The frame goes on after its last sample.
    #[error("coded signal has {0} bytes too many")]
    TrailingBytes(usize),
    /// More samples or exceptions than the frame's bytes can hold.
    #[error("coded signal claims {0} values, more than its bytes can hold")]
    CountTooLarge(u64),
    /// Another version of ex-zd than 0.
    #[error("version {0} of ex-zd is not known")]
    ExZdVersion(u8),
    /// A shift of more than 5.
    #[error("ex-zd shifts by {0} bits, at most 5 are possible")]
    ExZdShift(u8),
    /// A position of an exception that is not after the one before, or past the last sample.
    #[error("ex-zd puts exception {0} past the last sample")]
    ExZdPosition(usize),
    /// The value of an exception does not fit 16 bits.
    #[error("ex-zd exception {0} does not fit 16 bits")]
    ExZdValue(usize),
    /// More samples than can be stored.
    #[error("{0} samples are more than a record can hold")]
    TooManySamples(usize),
}

/// Why the bytes of one record cannot be read or a read cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The record ends within a field, or before it.
    #[error("record is cut short in {field} (byte {offset})")]
    Truncated {
        /// The field.
        field: &'static str,
        /// Offset of the field in the inflated record, or the line.
        offset: usize,
    },
    /// Bytes after the last field.
    #[error("record has {0} bytes after its last field")]
    TrailingBytes(usize),
    /// Bytes that are not a good zlib stream.
    #[error("record is not a good zlib stream")]
    BadZlib,
    /// Bytes that are not a good Zstandard frame, or not one that states its content's size.
    #[error("record is not a good zstd frame: {0}")]
    BadZstd(&'static str),
    /// Inflated, the record would be longer than [`super::limits::MAX_BODY_BYTES`].
    #[error("record has more than {} bytes", super::limits::MAX_BODY_BYTES)]
    TooLong,
    /// There is no memory for it.
    #[error("no memory for a record of {0} bytes")]
    OutOfMemory(usize),
    /// The samples cannot be decoded.
    #[error(transparent)]
    Signal(#[from] SignalError),
    /// A read group that the header does not have.
    #[error("read group {read_group} of {read_groups}")]
    ReadGroup {
        /// Number in the record.
        read_group: u32,
        /// Number of groups in the header.
        read_groups: u32,
    },
    /// A field's text is not a value of its type.
    #[error("{field} is not a value of its type: {text:?}")]
    BadText {
        /// The field; auxiliary ones by their names.
        field: String,
        /// The text, cut to some characters.
        text: String,
    },
    /// The number of samples in a line is not the stated one.
    #[error("line has {found} samples, {stated} are stated")]
    SampleCount {
        /// Samples in the line.
        found: u64,
        /// `len_raw_signal`.
        stated: u64,
    },
    /// The line has more columns than the header.
    #[error("line has more columns than the header names")]
    TooManyColumns,
    /// Another header follows: two files were put together byte by byte.
    #[error("a second header starts here: files were joined byte by byte; merge them instead")]
    SecondHeader,
    /// The read has another number of auxiliary values than the header fields.
    #[error("read has {values} auxiliary values, the header {fields} fields")]
    AuxiliaryCount {
        /// Values of the read.
        values: usize,
        /// Fields of the header.
        fields: usize,
    },
    /// An auxiliary value has another size than its type.
    #[error("auxiliary value of {0} has not the size of its type")]
    AuxiliarySize(String),
    /// A value that the text has no form for: infinity, or a tab or line break in a string.
    #[error("{0} has a value that SLOW5 text cannot hold")]
    NoText(String),
    /// A read id that must not be written.
    #[error(transparent)]
    ReadId(#[from] ReadIdError),
}

/// Why no record starts at a place where one should.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// The file ends without its end marker.
    #[error("file is truncated: it ends without the end marker 5WOLB")]
    NoEndMarker,
    /// The record's stated size goes past the end of the file.
    #[error("record claims {stored_bytes} bytes, {remaining_bytes} are left in the file")]
    PastEnd {
        /// Stated size.
        stored_bytes: u64,
        /// Bytes after the size.
        remaining_bytes: u64,
    },
    /// The record's stated size is above [`super::limits::MAX_BODY_BYTES`].
    #[error("record claims {0} bytes, more than a record can have")]
    TooLong(u64),
    /// Another header follows: two files were put together byte by byte.
    #[error(
        "a second BLOW5 header starts here: files were joined byte by byte; merge them instead"
    )]
    SecondHeader,
}

/// Why bytes are not an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// The first nine bytes are not `SLOW5IDX` and 1.
    #[error("not a SLOW5 index: its first bytes are not \"SLOW5IDX\\1\"")]
    NotAnIndex,
    /// The last eight bytes are not `XDI5WOLS`.
    #[error("index is truncated: it ends without XDI5WOLS")]
    NoFooter,
    /// An entry is cut short.
    #[error("index entry at byte {0} is cut short")]
    Truncated(usize),
}
