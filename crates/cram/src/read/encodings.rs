//! Encodings: how the values of a series are in blocks (CRAM specification, section 3).

use super::cursor::Cursor;
use super::error::Problem;

/// Numbers of encodings.
const NONE: i32 = 0;
const EXTERNAL: i32 = 1;
const HUFFMAN: i32 = 3;
const ARRAY_WITH_LENGTH: i32 = 4;
const ARRAY_WITH_STOP: i32 = 5;
const BETA: i32 = 6;
const SUBEXPONENTIAL: i32 = 7;
const GAMMA: i32 = 9;

/// Values of one encoding are mixed with others in its block: bits of the core.
const MISSING: Problem = Problem::Malformed("a series that is needed has no encoding");

/// Made where it is needed alone: to drop one for each value takes time.
fn ends() -> Problem {
    Problem::Ends("a block of a series")
}

/// External blocks, by the order in which encodings name them.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    ids: Vec<(i32, usize)>,
}

impl Slots {
    pub(crate) fn clear(&mut self) {
        self.ids.clear();
    }

    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    /// The block's number.
    pub(crate) fn find(&self, id: i32) -> Option<usize> {
        let at = self.ids.binary_search_by_key(&id, |&(id, _)| id).ok()?;
        Some(self.ids[at].1)
    }

    fn of(&mut self, id: i32) -> usize {
        let next = self.ids.len();
        match self.ids.binary_search_by_key(&id, |&(id, _)| id) {
            Ok(at) => self.ids[at].1,
            Err(at) => {
                self.ids.insert(at, (id, next));
                next
            }
        }
    }
}

/// A block's bytes and the next one.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    pub(crate) bytes: Vec<u8>,
    pub(crate) at: usize,
}

/// Source of a slice's values.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    pub(crate) external: Vec<Stream>,
    pub(crate) core: Vec<u8>,
    /// The next bit.
    pub(crate) bit: usize,
}

impl Streams {
    fn bits(&mut self, count: u32) -> Result<u32, Problem> {
        let mut value = 0;
        for _ in 0..count {
            let byte = self.core.get(self.bit >> 3).ok_or(Problem::Ends("the core block"))?;
            value = value << 1 | u32::from(byte >> (7 - (self.bit & 7)) & 1);
            self.bit += 1;
        }
        Ok(value)
    }

    /// Appends `count` bytes of a block.
    fn append(&mut self, slot: usize, count: usize, out: &mut Vec<u8>) -> Result<(), Problem> {
        let stream = &mut self.external[slot];
        let end = stream.at.saturating_add(count);
        let taken = stream.bytes.get(stream.at..end).ok_or_else(ends)?;
        out.extend_from_slice(taken);
        stream.at = end;
        Ok(())
    }
}

/// Codes of a canonical Huffman alphabet by their lengths.
#[derive(Debug, Clone)]
pub(crate) struct Codes {
    /// Of lengths from 1 on: the first code, and where its symbols begin.
    lengths: Vec<Length>,
    symbols: Vec<i32>,
}

#[derive(Debug, Clone, Copy)]
struct Length {
    first: u32,
    count: u32,
    start: usize,
}

impl Codes {
    fn new(mut symbols: Vec<(u8, i32)>) -> Self {
        symbols.sort_unstable();
        let longest = symbols.last().map_or(0, |&(length, _)| length);
        let (mut lengths, mut code, mut start) = (Vec::new(), 0_u32, 0);
        for length in 1..=longest {
            let count = symbols.iter().filter(|it| it.0 == length).count();
            code = code.wrapping_shl(1);
            lengths.push(Length { first: code, count: count as u32, start });
            code = code.wrapping_add(count as u32);
            start += count;
        }
        Self { lengths, symbols: symbols.into_iter().map(|(_, symbol)| symbol).collect() }
    }

    fn read(&self, streams: &mut Streams) -> Result<i32, Problem> {
        let mut code = 0;
        for length in &self.lengths {
            code = code << 1 | streams.bits(1)?;
            let index = code.wrapping_sub(length.first);
            if index < length.count {
                return Ok(self.symbols[length.start + index as usize]);
            }
        }
        Err(Problem::Malformed("a Huffman code is not in its alphabet"))
    }
}

/// Values that are a number or a byte each.
#[derive(Debug, Clone, Default)]
pub(crate) enum Encoding {
    /// There are no values.
    #[default]
    Missing,
    /// In a block.
    External(usize),
    /// All the same.
    Constant(i32),
    Huffman(Codes),
    /// So many bits, less an offset.
    Beta(i32, u32),
    Gamma(i32),
    Subexponential(i32, u32),
}

impl Encoding {
    pub(crate) fn parse(cursor: &mut Cursor<'_>, slots: &mut Slots) -> Result<Self, Problem> {
        let number = cursor.itf8()?;
        let size = cursor.size()?;
        Self::parse_one(number, &mut Cursor::new(cursor.take(size)?, "an encoding"), slots)
    }

    fn parse_one(number: i32, of: &mut Cursor<'_>, slots: &mut Slots) -> Result<Self, Problem> {
        let bits = |count: i32| match u32::try_from(count) {
            Ok(count @ 0..=32) => Ok(count),
            _ => Err(Problem::Malformed("an encoding has more than 32 bits")),
        };
        Ok(match number {
            NONE => Self::Missing,
            EXTERNAL => Self::External(slots.of(of.itf8()?)),
            HUFFMAN => Self::parse_huffman(of)?,
            BETA => Self::Beta(of.itf8()?, bits(of.itf8()?)?),
            GAMMA => Self::Gamma(of.itf8()?),
            SUBEXPONENTIAL => Self::Subexponential(of.itf8()?, bits(of.itf8()?)?),
            other => return Err(Problem::Encoding(other)),
        })
    }

    fn parse_huffman(of: &mut Cursor<'_>) -> Result<Self, Problem> {
        const MALFORMED: Problem = Problem::Malformed("a Huffman alphabet is malformed");
        let count = of.size()?;
        let mut symbols = Vec::new();
        for _ in 0..count {
            symbols.push((0, of.itf8()?));
        }
        if of.size()? != count {
            return Err(MALFORMED);
        }
        for symbol in &mut symbols {
            symbol.0 = u8::try_from(of.itf8()?).map_err(|_| MALFORMED)?;
        }
        match symbols.as_slice() {
            [] => Ok(Self::Missing),
            [(0, only)] => Ok(Self::Constant(*only)),
            all if all.iter().all(|(length, _)| (1..=31).contains(length)) => {
                Ok(Self::Huffman(Codes::new(symbols)))
            }
            _ => Err(MALFORMED),
        }
    }

    /// The next number.
    #[inline]
    pub(crate) fn number(&self, streams: &mut Streams) -> Result<i32, Problem> {
        match self {
            Self::External(slot) => {
                let stream = &mut streams.external[*slot];
                match stream.bytes.get(stream.at) {
                    Some(&byte) if byte < 0x80 => {
                        stream.at += 1;
                        Ok(byte.into())
                    }
                    _ => {
                        let rest = stream.bytes.get(stream.at..).unwrap_or_default();
                        let mut cursor = Cursor::new(rest, "a block of a series");
                        let number = cursor.itf8()?;
                        stream.at += cursor.at();
                        Ok(number)
                    }
                }
            }
            Self::Constant(value) => Ok(*value),
            other => other.coded_number(streams),
        }
    }

    fn coded_number(&self, streams: &mut Streams) -> Result<i32, Problem> {
        match self {
            Self::Huffman(codes) => codes.read(streams),
            Self::Beta(offset, bits) => {
                Ok(streams.bits(*bits)?.cast_signed().wrapping_sub(*offset))
            }
            Self::Gamma(offset) => {
                let mut zeros = 0;
                while streams.bits(1)? == 0 {
                    zeros += 1;
                }
                let rest = streams.bits(zeros)?;
                let value = 1_u32.checked_shl(zeros).unwrap_or(0) | rest;
                Ok(value.cast_signed().wrapping_sub(*offset))
            }
            Self::Subexponential(offset, k) => {
                let mut ones = 0;
                while streams.bits(1)? == 1 {
                    ones += 1;
                }
                let value = if ones == 0 {
                    streams.bits(*k)?
                } else {
                    let bits = (ones + k - 1).min(32);
                    1_u32.checked_shl(bits).unwrap_or(0) | streams.bits(bits)?
                };
                Ok(value.cast_signed().wrapping_sub(*offset))
            }
            _ => Err(MISSING),
        }
    }

    /// The next byte.
    #[inline]
    pub(crate) fn byte(&self, streams: &mut Streams) -> Result<u8, Problem> {
        match self {
            Self::External(slot) => {
                let stream = &mut streams.external[*slot];
                let byte = stream.bytes.get(stream.at).copied();
                stream.at += 1;
                byte.ok_or_else(ends)
            }
            other => Ok(other.number(streams)? as u8),
        }
    }

    /// Appends the next `count` bytes.
    pub(crate) fn bytes(
        &self,
        count: usize,
        streams: &mut Streams,
        out: &mut Vec<u8>,
    ) -> Result<(), Problem> {
        if let Self::External(slot) = self {
            return streams.append(*slot, count, out);
        }
        for _ in 0..count {
            out.push(self.byte(streams)?);
        }
        Ok(())
    }
}

/// Values that are bytes.
#[derive(Debug, Clone, Default)]
pub(crate) enum ArrayEncoding {
    #[default]
    Missing,
    /// Their lengths, the bytes.
    Counted(Encoding, Encoding),
    /// Each ends with this byte, in this block.
    Stopped(u8, usize),
}

impl ArrayEncoding {
    pub(crate) fn parse(cursor: &mut Cursor<'_>, slots: &mut Slots) -> Result<Self, Problem> {
        let number = cursor.itf8()?;
        let size = cursor.size()?;
        let mut of = Cursor::new(cursor.take(size)?, "an encoding");
        Ok(match number {
            NONE => Self::Missing,
            ARRAY_WITH_LENGTH => {
                Self::Counted(Encoding::parse(&mut of, slots)?, Encoding::parse(&mut of, slots)?)
            }
            ARRAY_WITH_STOP => Self::Stopped(of.byte()?, slots.of(of.itf8()?)),
            other => return Err(Problem::Encoding(other)),
        })
    }

    /// Appends the next value, of at most `most` bytes.
    #[inline]
    pub(crate) fn append(
        &self,
        most: usize,
        streams: &mut Streams,
        out: &mut Vec<u8>,
    ) -> Result<(), Problem> {
        match self {
            Self::Counted(lengths, bytes) => {
                let length = usize::try_from(lengths.number(streams)?)
                    .map_err(|_| Problem::Malformed("a length is negative"))?;
                if length > most {
                    return Err(Problem::TooLarge(most));
                }
                bytes.bytes(length, streams, out)
            }
            Self::Stopped(stop, slot) => {
                let stream = &mut streams.external[*slot];
                let rest = stream.bytes.get(stream.at..).unwrap_or_default();
                let length = memchr::memchr(*stop, rest).ok_or_else(ends)?;
                if length > most {
                    return Err(Problem::TooLarge(most));
                }
                out.extend_from_slice(&rest[..length]);
                stream.at += length + 1;
                Ok(())
            }
            Self::Missing => Err(MISSING),
        }
    }
}
