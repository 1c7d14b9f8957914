//! Which codec compresses what: a fixed table by series and tag, so that no slice depends on
//! another. What the table does not know is tried on the first bytes of its block.
//!
//! The rows were measured on whole-genome and panel data with four and with forty qualities
//! (docs/internals/cram.md).

use crate::codec::Codec;
use crate::rans_nx16::Way;
use crate::series::Series;
use crate::version::Version;
use Codec::{Gzip, Nx16, Rans0, Rans1};

/// The codecs to choose from, none for bytes that are not compressed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    codecs: [Codec; 3],
    count: usize,
}

impl Row {
    const fn one(codec: Codec) -> Self {
        Self { codecs: [codec; 3], count: 1 }
    }

    const fn two(first: Codec, second: Codec) -> Self {
        Self { codecs: [first, second, second], count: 2 }
    }

    const fn three(first: Codec, second: Codec, third: Codec) -> Self {
        Self { codecs: [first, second, third], count: 3 }
    }

    /// The codecs at a level of 0 to 12: at 0 none; at 1 to 3 gzip is at level 1; from 7 on it is
    /// at the level that is requested.
    pub(crate) fn at_level(mut self, level: u8) -> Self {
        let gzip = |usual: u8| match level {
            1..=3 => 1,
            4..=6 => usual,
            _ => usual.max(level),
        };
        for codec in &mut self.codecs {
            if let Gzip(usual) = codec {
                *codec = Gzip(gzip(*usual));
            }
        }
        if level == 0 { Self { count: 0, ..self } } else { self }
    }

    /// The same by the coders of a version.
    fn in_version(mut self, version: Version) -> Self {
        if version == Version::V31 {
            for codec in &mut self.codecs {
                *codec = match *codec {
                    Rans0 => Nx16(Way::PLAIN),
                    Rans1 => Nx16(Way::IN_CONTEXT),
                    other => other,
                };
            }
        }
        self
    }

    pub(crate) fn codecs(&self) -> &[Codec] {
        &self.codecs[..self.count]
    }
}

/// The row of base qualities in 3.1: of few values in runs, or of many.
const QUALITIES: Row = Row::two(Nx16(Way::RUNS_IN_CONTEXT), Nx16(Way::IN_CONTEXT));

/// The row of a series.
pub(crate) fn of_series(version: Version, series: Series) -> Row {
    if version == Version::V31 {
        match series {
            Series::Name => return Row::one(Codec::Names),
            Series::Quality => return QUALITIES,
            _ => {}
        }
    }
    let row = match series {
        Series::Quality | Series::Flags | Series::TagLine => Row::one(Rans1),
        Series::CramFlags | Series::Position | Series::FeatureCount | Series::Substitution => {
            Row::one(Rans0)
        }
        Series::NextFragment | Series::FeaturePosition => Row::one(Gzip(1)),
        Series::Name => Row::one(Gzip(5)),
        Series::FeatureCode | Series::MappingQuality => Row::two(Rans0, Gzip(1)),
        Series::Base => Row::two(Rans0, Rans1),
        Series::ReadLength
        | Series::ReadGroup
        | Series::MateFlags
        | Series::MateReference
        | Series::ReferenceId => Row::three(Rans0, Rans1, Gzip(1)),
        _ => Row::three(Rans0, Rans1, Gzip(5)),
    };
    row.in_version(version)
}

/// The row of a tag's values.
pub(crate) fn of_tag(version: Version, [a, b, kind]: [u8; 3]) -> Row {
    if version == Version::V31 {
        match (&[a, b], kind) {
            (_, b's' | b'S') => return Row::three(Codec::Striped(2), Nx16(Way::PLAIN), Gzip(5)),
            (_, b'i' | b'I' | b'f') => {
                return Row::three(Codec::Striped(4), Nx16(Way::PLAIN), Gzip(6));
            }
            (b"OQ" | b"BQ", _) => return QUALITIES,
            _ => {}
        }
    }
    let row = match (&[a, b], kind) {
        (_, b's' | b'S') => Row::three(Rans0, Rans1, Gzip(5)),
        (_, b'i' | b'I' | b'f') => Row::three(Rans0, Rans1, Gzip(6)),
        (b"MC", _) => Row::one(Gzip(1)),
        (b"AS" | b"MQ", _) => Row::one(Rans0),
        (b"XA" | b"SA", _) => Row::one(Gzip(6)),
        (b"XS", _) => Row::one(Gzip(5)),
        (b"OQ" | b"BQ", _) => Row::one(Rans1),
        _ => Row::three(Rans0, Rans1, Gzip(5)),
    };
    row.in_version(version)
}

/// The row of the lengths of a tag's values.
pub(crate) fn of_lengths(version: Version) -> Row {
    Row::three(Rans0, Rans1, Gzip(1)).in_version(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_those_of_gzip() {
        fn t(level: u8, expected: &[Codec]) {
            let row = of_series(Version::V31, Series::NextFragment).at_level(level);
            assert_eq!(row.codecs().is_empty(), level == 0);
            assert_eq!(
                of_series(Version::V30, Series::Name).at_level(level).codecs(),
                expected,
                "{level}"
            );
        }
        t(0, &[]);
        t(1, &[Gzip(1)]);
        t(3, &[Gzip(1)]);
        t(6, &[Gzip(5)]);
        t(7, &[Gzip(7)]);
        t(12, &[Gzip(12)]);
        assert_eq!(of_series(Version::V30, Series::Quality).at_level(9).codecs(), [Rans1]);
    }
}
