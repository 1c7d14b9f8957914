//! Where on the flow cell a read was seen, as its name says.

use std::str::{self, FromStr};
use std::sync::Arc;

use regex::bytes::Regex;

use super::PicardVersion;

/// Place of a cluster on the flow cell, by its read name; in order by tile, x, y.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Location {
    /// Tile number in 16 bits, as in every Picard (40000 is -25536); -1 is "not located".
    pub(crate) tile: i16,
    /// x coordinate in pixels.
    pub(crate) x: i32,
    /// y coordinate in pixels.
    pub(crate) y: i32,
}

impl Location {
    /// Of whole numbers, as Picard 3.5.0 stores them: the tile in 16 bits, x and y in 32.
    pub(crate) fn new(tile: i32, x: i32, y: i32) -> Self {
        Self { tile: tile as i16, x, y }
    }

    /// With x and y in 16 bits, as Picard 2.27.5 stores them: an x of 32,800, which NovaSeq has,
    /// becomes -32,736, so that it sorts before 32,700 and is far away from it.
    pub(crate) fn narrowed(self) -> Self {
        Self { x: (self.x as i16).into(), y: (self.y as i16).into(), ..self }
    }

    /// Location of names that hold none.
    pub(crate) const NONE: Self = Self { tile: -1, x: -1, y: -1 };

    /// Whether the location may make an optical duplicate.
    pub(crate) fn is_located(&self) -> bool {
        self.tile != -1
    }
}

/// How places on the flow cell are read from names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum LocationSource {
    /// They are not, as with Picard's READ_NAME_REGEX=null: there are no optical duplicates, and
    /// ties are broken by place in the file alone.
    None,
    /// Tile, x and y are the last of 5 or 7 fields between colons (Illumina's names).
    #[default]
    Illumina,
    /// By a regular expression.
    Pattern(NamePattern),
}

impl LocationSource {
    /// The place of the read with this name, as this Picard stores it.
    pub(crate) fn locate(&self, name: &[u8], picard: PicardVersion) -> Location {
        let parsed = match self {
            Self::None => None,
            Self::Illumina => parse_location(name),
            Self::Pattern(pattern) => pattern.locate(name),
        };
        match picard {
            PicardVersion::V3_5 => parsed.unwrap_or(Location::NONE),
            PicardVersion::V2_27 => parsed.map_or(Location::NONE, Location::narrowed),
        }
    }
}

/// A regular expression that whole names match, whose first three groups are tile, x and y
/// (Picard's READ_NAME_REGEX). A name of which one is no integer gives no place; Picard then keeps
/// those before it.
#[derive(Debug, Clone)]
pub struct NamePattern(Arc<Regex>);

impl PartialEq for NamePattern {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}

impl Eq for NamePattern {}

impl FromStr for NamePattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let regex = Regex::new(&format!(r"\A(?:{text})\z")).map_err(|error| error.to_string())?;
        match regex.captures_len() - 1 {
            3.. => Ok(Self(Arc::new(regex))),
            groups => Err(format!("has {groups} groups, and needs three: tile, x and y")),
        }
    }
}

impl NamePattern {
    fn locate(&self, name: &[u8]) -> Option<Location> {
        let groups = self.0.captures(name)?;
        let number = |group| java_integer(groups.get(group)?.as_bytes());
        Some(Location::new(number(1)?, number(2)?, number(3)?))
    }
}

/// `Integer.parseInt` of Java, for ASCII: a sign or none, and digits within 32 bits.
fn java_integer(text: &[u8]) -> Option<i32> {
    str::from_utf8(text).ok()?.parse().ok()
}

/// Tile, x and y: the last three of 5 or 7 fields between colons (Illumina's names).
fn parse_location(name: &[u8]) -> Option<Location> {
    let colons = name.iter().filter(|&&byte| byte == b':').count();
    if colons != 4 && colons != 6 {
        return None;
    }
    let mut fields = name.rsplit(|&byte| byte == b':').map(leading_integer);
    let (y, x, tile) = (fields.next()??, fields.next()??, fields.next()??);
    Some(Location::new(tile, x, y))
}

/// An optional minus sign and digits; anything after them is ignored. Wraps at 32 bits, as Java.
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
mod tests {
    use super::*;

    fn place(tile: i16, x: i32, y: i32) -> Location {
        Location { tile, x, y }
    }

    #[test]
    fn fields_between_colons_give_three_numbers() {
        let at = |tile, x, y| Some(Location { tile, x, y });
        let cases = [
            ("HWI:1:1101:5:7", at(1101, 5, 7)),
            ("A:1:F:4:2201:1000:2000", at(2201, 1000, 2000)),
            ("A:1:F:4:2201:1000:2000#ACGT/1", at(2201, 1000, 2000)),
            ("a:b:-3:-5:7x", at(-3, -5, 7)),
            ("a:b:40000:5:7", at(-25536, 5, 7)),
            ("a:b:65535:5:7", at(-1, 5, 7)),
            ("a:b:1:4294967297:7", at(1, 1, 7)),
            ("a:b:1:x:7", None),
            ("a:b:1:-:7", None),
            ("a:b:1::7", None),
            ("a:b:1:+5:7", None),
            ("1:2:3:4", None),
            ("1:2:3:4:5:6", None),
            ("1:2:3:4:5:6:7:8", None),
            ("::::", None),
            ("", None),
        ];
        for (name, location) in cases {
            assert_eq!(parse_location(name.as_bytes()), location, "{name}");
        }
        assert!(!parse_location(b"a:b:65535:5:7").unwrap().is_located());
    }

    #[test]
    fn x_and_y_have_as_many_bits_as_in_each_picard_and_tiles_have_16() {
        let any: NamePattern = "[^:]*:[^:]*:(.*):(.*):(.*)".parse().unwrap();
        let t = |name: &str, now: Location, before: Location| {
            for source in [LocationSource::Illumina, LocationSource::Pattern(any.clone())] {
                assert_eq!(source.locate(name.as_bytes(), PicardVersion::V3_5), now, "{name}");
                assert_eq!(source.locate(name.as_bytes(), PicardVersion::V2_27), before, "{name}");
            }
        };
        t("a:b:1101:32767:32767", place(1101, 32_767, 32_767), place(1101, 32_767, 32_767));
        t("a:b:1101:32768:2", place(1101, 32_768, 2), place(1101, -32_768, 2));
        t("a:b:1101:2:65537", place(1101, 2, 65_537), place(1101, 2, 1));
        t("a:b:1101:-40000:2", place(1101, -40_000, 2), place(1101, 25_536, 2));
        t("a:b:40000:2:3", place(-25_536, 2, 3), place(-25_536, 2, 3));
        t("a:b:65535:40000:3", place(-1, 40_000, 3), place(-1, -25_536, 3));
    }

    #[test]
    fn whole_names_match_and_give_three_numbers() {
        let t = |pattern: &str, name: &str| {
            let source = LocationSource::Pattern(pattern.parse().unwrap());
            source.locate(name.as_bytes(), PicardVersion::V3_5)
        };
        let of_fields = "(?:.*;)?([0-9]+)[^;]*;([0-9]+)[^;]*;([0-9]+)[^;]*$";
        assert_eq!(t(of_fields, "run;7;12a;34;56"), place(12, 34, 56));
        assert_eq!(t(of_fields, "run;7;;34;56"), Location::NONE);
        assert_eq!(t("x([0-9]+)y([0-9]+)t([0-9]+)", "x1y2t3"), place(1, 2, 3));
        // Neither a part of a name nor an alternative of it.
        assert_eq!(t("x([0-9]+)y([0-9]+)t([0-9]+)", "x1y2t3 "), Location::NONE);
        assert_eq!(t("a|x(.)y(.)t(.)", "x1y2t3b"), Location::NONE);
        assert_eq!(t("a|x(.)y(.)t(.)", "a"), Location::NONE);
        // As Java reads integers.
        let any = "(.*),(.*),(.*)";
        assert_eq!(t(any, "+1,-2,3"), place(1, -2, 3));
        assert_eq!(t(any, "1,2,2147483648"), Location::NONE);
        assert_eq!(t(any, "1,2, 3"), Location::NONE);
        assert_eq!(t(any, "40000,32800,3"), place(-25_536, 32_800, 3));
        assert!("(.)(.)".parse::<NamePattern>().unwrap_err().contains("2 groups"));
        assert!("(.)(.)(.".parse::<NamePattern>().is_err());
    }
}
