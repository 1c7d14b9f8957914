//! The data series of a slice (CRAM specification 3.0, section 8.4): each holds one field of all
//! records.

use crate::integers::push_itf8;

/// A data series. Integers come first, then bytes, then texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Series {
    Flags,
    CramFlags,
    ReferenceId,
    ReadLength,
    Position,
    ReadGroup,
    MateFlags,
    MateReference,
    MatePosition,
    TemplateLength,
    NextFragment,
    TagLine,
    FeatureCount,
    FeaturePosition,
    DeletionLength,
    SkipLength,
    PaddingLength,
    HardClipLength,
    MappingQuality,
    FeatureCode,
    Substitution,
    Base,
    Quality,
    Name,
    Insertion,
    SoftClip,
    Bases,
}

/// How the values of a series are distinguished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// ITF8.
    Integer,
    /// A byte each.
    Byte,
    /// Bytes up to a NUL.
    Stopped,
    /// A length before them, in the same block.
    Counted,
}

impl Series {
    /// All of them, in the order in which a compression header has them.
    pub(crate) const ALL: [Self; 27] = [
        Self::Flags,
        Self::CramFlags,
        Self::ReferenceId,
        Self::ReadLength,
        Self::Position,
        Self::ReadGroup,
        Self::MateFlags,
        Self::MateReference,
        Self::MatePosition,
        Self::TemplateLength,
        Self::NextFragment,
        Self::TagLine,
        Self::FeatureCount,
        Self::FeaturePosition,
        Self::DeletionLength,
        Self::SkipLength,
        Self::PaddingLength,
        Self::HardClipLength,
        Self::MappingQuality,
        Self::FeatureCode,
        Self::Substitution,
        Self::Base,
        Self::Quality,
        Self::Name,
        Self::Insertion,
        Self::SoftClip,
        Self::Bases,
    ];

    /// Its two letters.
    pub(crate) fn key(self) -> [u8; 2] {
        *match self {
            Self::Flags => b"BF",
            Self::CramFlags => b"CF",
            Self::ReferenceId => b"RI",
            Self::ReadLength => b"RL",
            Self::Position => b"AP",
            Self::ReadGroup => b"RG",
            Self::MateFlags => b"MF",
            Self::MateReference => b"NS",
            Self::MatePosition => b"NP",
            Self::TemplateLength => b"TS",
            Self::NextFragment => b"NF",
            Self::TagLine => b"TL",
            Self::FeatureCount => b"FN",
            Self::FeaturePosition => b"FP",
            Self::DeletionLength => b"DL",
            Self::SkipLength => b"RS",
            Self::PaddingLength => b"PD",
            Self::HardClipLength => b"HC",
            Self::MappingQuality => b"MQ",
            Self::FeatureCode => b"FC",
            Self::Substitution => b"BS",
            Self::Base => b"BA",
            Self::Quality => b"QS",
            Self::Name => b"RN",
            Self::Insertion => b"IN",
            Self::SoftClip => b"SC",
            Self::Bases => b"BB",
        }
    }

    pub(crate) fn shape(self) -> Shape {
        match self {
            Self::FeatureCode | Self::Substitution | Self::Base | Self::Quality => Shape::Byte,
            Self::Name | Self::Insertion | Self::SoftClip => Shape::Stopped,
            Self::Bases => Shape::Counted,
            _ => Shape::Integer,
        }
    }

    /// Its block. Those of tags have larger numbers.
    pub(crate) fn block_id(self) -> i32 {
        self as i32 + 1
    }
}

/// The values of a series, encoded.
#[derive(Debug, Default)]
struct Values {
    bytes: Vec<u8>,
    /// Of integers: the first one.
    first: Option<i32>,
    /// Whether there are others.
    is_mixed: bool,
}

/// All series of a slice.
#[derive(Debug, Default)]
pub(crate) struct SeriesValues {
    values: [Values; Series::ALL.len()],
}

/// Form in which a series is written.
pub(crate) enum Written<'a> {
    /// It has no values.
    Nothing,
    /// All its integers are this one.
    Constant(i32),
    /// Its bytes.
    Bytes(&'a [u8]),
}

impl SeriesValues {
    /// Forgets the values, not their memory.
    pub(crate) fn clear(&mut self) {
        for values in &mut self.values {
            values.bytes.clear();
            (values.first, values.is_mixed) = (None, false);
        }
    }

    /// Adds an integer.
    #[inline]
    pub(crate) fn push(&mut self, series: Series, value: i32) {
        let values = &mut self.values[series as usize];
        values.is_mixed |= *values.first.get_or_insert(value) != value;
        push_itf8(&mut values.bytes, value);
    }

    /// The bytes of a series that has no integers, to be added to.
    #[inline]
    pub(crate) fn bytes(&mut self, series: Series) -> &mut Vec<u8> {
        &mut self.values[series as usize].bytes
    }

    /// Adds a text, which holds no NUL.
    #[inline]
    pub(crate) fn push_stopped(&mut self, series: Series, text: &[u8]) {
        let bytes = self.bytes(series);
        bytes.extend_from_slice(text);
        bytes.push(0);
    }

    /// Form in which a series is to be written.
    pub(crate) fn written(&self, series: Series) -> Written<'_> {
        let values = &self.values[series as usize];
        match values.first {
            Some(value) if !values.is_mixed => Written::Constant(value),
            _ if values.bytes.is_empty() => Written::Nothing,
            _ => Written::Bytes(&values.bytes),
        }
    }
}
