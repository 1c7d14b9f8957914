//! Auxiliary fields (SAM specification 4.2.4).

use super::error::RecordError;
use super::numbers::{u16_at, u32_at};
use crate::names::array_element_bytes;

/// The value of an auxiliary field.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AuxValue<'a> {
    /// `A`
    Character(u8),
    /// `c`
    Int8(i8),
    /// `C`
    UInt8(u8),
    /// `s`
    Int16(i16),
    /// `S`
    UInt16(u16),
    /// `i`
    Int32(i32),
    /// `I`
    UInt32(u32),
    /// `f`
    Float(f32),
    /// `d`: not in the specification, but htslib reads it.
    Double(f64),
    /// `Z`, without its NUL
    String(&'a [u8]),
    /// `H`, without its NUL
    Hex(&'a [u8]),
    /// `B`
    Array(AuxArray<'a>),
}

impl<'a> AuxValue<'a> {
    /// The value of any of the integer types.
    #[must_use]
    pub fn as_int(&self) -> Option<i64> {
        Some(match *self {
            Self::Int8(value) => value.into(),
            Self::UInt8(value) => value.into(),
            Self::Int16(value) => value.into(),
            Self::UInt16(value) => value.into(),
            Self::Int32(value) => value.into(),
            Self::UInt32(value) => value.into(),
            _ => return None,
        })
    }

    /// The bytes of a `Z`.
    #[must_use]
    pub fn as_string(&self) -> Option<&'a [u8]> {
        match *self {
            Self::String(bytes) => Some(bytes),
            _ => None,
        }
    }
}

/// A `B` array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuxArray<'a> {
    /// Type of the elements: one of `cCsSiIf`.
    pub subtype: u8,
    /// The elements, little-endian, a whole number of them.
    pub bytes: &'a [u8],
}

impl<'a> AuxArray<'a> {
    /// Number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        fixed_size(self.subtype).map_or(0, |size| self.bytes.len() / size)
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The elements as values.
    pub fn values(&self) -> impl Iterator<Item = AuxValue<'a>> + use<'a> {
        let subtype = self.subtype;
        let size = fixed_size(subtype).unwrap_or(1);
        self.bytes.chunks_exact(size).filter_map(move |bytes| fixed_value(subtype, bytes))
    }
}

/// Size of a value of a type whose size is fixed.
#[inline]
pub(super) fn fixed_size(kind: u8) -> Option<usize> {
    Some(match kind {
        b'A' | b'c' | b'C' => 1,
        b's' | b'S' => 2,
        b'i' | b'I' | b'f' => 4,
        b'd' => 8,
        _ => return None,
    })
}

/// The value in `bytes`, which has the size of `kind`.
#[inline]
fn fixed_value(kind: u8, bytes: &[u8]) -> Option<AuxValue<'_>> {
    Some(match kind {
        b'A' => AuxValue::Character(bytes[0]),
        b'c' => AuxValue::Int8(bytes[0].cast_signed()),
        b'C' => AuxValue::UInt8(bytes[0]),
        b's' => AuxValue::Int16(u16_at(bytes, 0).cast_signed()),
        b'S' => AuxValue::UInt16(u16_at(bytes, 0)),
        b'i' => AuxValue::Int32(u32_at(bytes, 0).cast_signed()),
        b'I' => AuxValue::UInt32(u32_at(bytes, 0)),
        b'f' => AuxValue::Float(f32::from_bits(u32_at(bytes, 0))),
        b'd' => {
            let bits = u64::from(u32_at(bytes, 4)) << 32 | u64::from(u32_at(bytes, 0));
            AuxValue::Double(f64::from_bits(bits))
        }
        _ => return None,
    })
}

/// The end of a shorter text is found byte by byte sooner than by a search.
const SHORT_TEXT: usize = 16;

/// Iterator over auxiliary fields: tag and value. It ends after the first error.
#[derive(Debug, Clone)]
pub struct AuxFields<'a> {
    body: &'a [u8],
    offset: usize,
}

impl<'a> AuxFields<'a> {
    /// The fields from `offset` (at most the body's length) to the end of `body`.
    pub(super) fn new(body: &'a [u8], offset: usize) -> Self {
        Self { body, offset }
    }

    /// The fields in a run of nothing but auxiliary fields.
    #[must_use]
    pub fn of(bytes: &'a [u8]) -> Self {
        Self { body: bytes, offset: 0 }
    }

    /// Offset of the next field.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The tag of the next field; `None` after the last one.
    #[must_use]
    #[inline]
    pub fn peek(&self) -> Option<[u8; 2]> {
        match self.body[self.offset..] {
            [first, second, ..] => Some([first, second]),
            [first] => Some([first, 0]),
            [] => None,
        }
    }

    /// Passes over the next field, which is there.
    ///
    /// # Errors
    /// [`RecordError::BadAux`], as [`AuxFields::next`]; nothing follows then.
    #[inline]
    pub fn skip_one(&mut self) -> Result<(), RecordError> {
        let rest = &self.body[self.offset..];
        // Numbers and short texts are most of what there is.
        let size = match rest {
            [_, _, b'c' | b'C' | b'A', _, ..] => 4,
            [_, _, b's' | b'S', _, _, ..] => 5,
            [_, _, b'i' | b'I' | b'f', _, _, _, _, ..] => 7,
            [_, _, b'Z' | b'H', text @ ..] => {
                match text.iter().take(SHORT_TEXT).position(|byte| *byte == 0) {
                    Some(length) => 4 + length,
                    None => return self.next().map_or(Ok(()), |field| field.map(|_| ())),
                }
            }
            _ => return self.next().map_or(Ok(()), |field| field.map(|_| ())),
        };
        self.offset += size;
        Ok(())
    }

    /// Tag, value and size of the field at the start of `field`, `None` if it is malformed.
    #[inline]
    fn parse(field: &[u8]) -> Option<([u8; 2], AuxValue<'_>, usize)> {
        let (head, data) = field.split_at_checked(3)?;
        let (value, value_bytes) = match head[2] {
            b'Z' | b'H' => {
                let len = memchr::memchr(0, data)?;
                let text = &data[..len];
                let value =
                    if head[2] == b'Z' { AuxValue::String(text) } else { AuxValue::Hex(text) };
                (value, len + 1)
            }
            b'B' => {
                let count = u32_at(data.get(1..5)?, 0) as usize;
                let subtype = data[0];
                let end = array_element_bytes(subtype)?.checked_mul(count)?.checked_add(5)?;
                (AuxValue::Array(AuxArray { subtype, bytes: data.get(5..end)? }), end)
            }
            kind => {
                let size = fixed_size(kind)?;
                (fixed_value(kind, data.get(..size)?)?, size)
            }
        };
        Some(([head[0], head[1]], value, 3 + value_bytes))
    }
}

impl<'a> Iterator for AuxFields<'a> {
    type Item = Result<([u8; 2], AuxValue<'a>), RecordError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let rest = &self.body[self.offset..];
        if rest.is_empty() {
            return None;
        }
        let Some((tag, value, size)) = Self::parse(rest) else {
            let offset = std::mem::replace(&mut self.offset, self.body.len());
            return Some(Err(RecordError::BadAux(offset)));
        };
        self.offset += size;
        Some(Ok((tag, value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_is_read() {
        let bytes =
            b"aaAxbbc\xffccC\xffdds\xff\xffeeS\xff\xffffi\xff\xff\xff\xffggI\xff\xff\xff\xff\
            hhf\0\0\xc0\x3fiid\0\0\0\0\0\0\xf8\xbfjjZtext\0kkH1A\0llBs\x02\0\0\0\x01\0\xff\xff\
            mmBf\0\0\0\0";
        let values: Vec<AuxValue<'_>> =
            AuxFields::of(bytes).map(|field| field.unwrap().1).collect();
        let shorts = AuxArray { subtype: b's', bytes: b"\x01\0\xff\xff" };
        assert_eq!(
            values,
            [
                AuxValue::Character(b'x'),
                AuxValue::Int8(-1),
                AuxValue::UInt8(255),
                AuxValue::Int16(-1),
                AuxValue::UInt16(65535),
                AuxValue::Int32(-1),
                AuxValue::UInt32(u32::MAX),
                AuxValue::Float(1.5),
                AuxValue::Double(-1.5),
                AuxValue::String(b"text"),
                AuxValue::Hex(b"1A"),
                AuxValue::Array(shorts),
                AuxValue::Array(AuxArray { subtype: b'f', bytes: b"" }),
            ]
        );
        assert_eq!(shorts.values().collect::<Vec<_>>(), [AuxValue::Int16(1), AuxValue::Int16(-1)]);
        assert_eq!((shorts.len(), shorts.is_empty()), (2, false));
        let integers: Vec<i64> = values.iter().filter_map(AuxValue::as_int).collect();
        assert_eq!(integers, [-1, 255, -1, 65535, -1, 4_294_967_295]);
        assert_eq!(values[9].as_string(), Some(&b"text"[..]));
    }

    #[test]
    fn fields_that_are_passed_over_end_where_others_begin() {
        let long = [b"LTZ".as_slice(), &[b'x'; 40], b"\0"].concat();
        for field in [
            &b"aaAx"[..],
            b"bbc\xff",
            b"ccs\0\0",
            b"ddi\0\0\0\0",
            b"eef\0\0\0\0",
            b"ffd\0\0\0\0\0\0\0\0",
            b"ggZ\0",
            b"hhZtext\0",
            b"iiH1A\0",
            b"jjBs\x02\0\0\0\x01\0\xff\xff",
            &long,
        ] {
            let bytes = [field, b"NMC\x01"].concat();
            let mut fields = AuxFields::of(&bytes);
            assert_eq!(fields.peek(), Some([field[0], field[1]]));
            assert_eq!(fields.skip_one(), Ok(()));
            assert_eq!(fields.offset(), field.len(), "{field:?}");
            assert_eq!(fields.next(), Some(Ok((*b"NM", AuxValue::UInt8(1)))));
            assert_eq!(fields.peek(), None);
            for cut in 1..field.len() {
                let mut fields = AuxFields::of(&field[..cut]);
                assert_eq!(fields.skip_one(), Err(RecordError::BadAux(0)), "{field:?} {cut}");
                assert_eq!(fields.peek(), None);
            }
        }
    }

    #[test]
    fn malformed_fields_end_the_iteration() {
        for bad in [
            &b"XX"[..],
            b"XXi",
            b"XXi\0\0\0",
            b"XXZtext",
            b"XXQ\0",
            b"XXBi\x01\0\0\0\0\0\0",
            b"XXBi\xff\xff\xff\xff\0\0\0\0",
            b"XXBZ\x01\0\0\0\0",
            b"XXBA\x01\0\0\0\0",
            b"XXBc\0\0\0",
            b"XXd\0\0\0\0",
        ] {
            let bytes = [b"NMC\x01", bad].concat();
            let fields: Vec<_> = AuxFields::of(&bytes).collect();
            let expected = [Ok((*b"NM", AuxValue::UInt8(1))), Err(RecordError::BadAux(4))];
            assert_eq!(fields, expected, "{bad:?}");
        }
    }
}
