//! The name tokeniser (CRAM codecs specification, section 5): each name as its difference from one
//! before it, token by token; tokens of one place and kind in a stream of their own.

use super::{arithmetic, rans_nx16};
use crate::names::{
    CHAR, DELTA, DELTA_0, DIFFERENCE, DIGITS, DIGITS_0, DUPLICATE, END, KINDS, LENGTH_0, MATCH,
    STRING, TYPE,
};
use crate::read::cursor::Cursor;
use crate::read::error::Problem;

/// Bits of the byte before a stream.
const NEXT_PLACE: u8 = 128;
const SAME_AS: u8 = 64;
/// Places of tokens, by the specification 128; more than a byte can name there are not.
const MOST_PLACES: usize = 256;

const CORRUPT: Problem = Problem::Corrupt("name-tokenised");

/// Made where it is needed alone: to drop one for each token takes time.
fn corrupt() -> Problem {
    CORRUPT
}

/// A stream of one place and kind.
#[derive(Debug, Clone, Default)]
struct Stream {
    /// Which of the buffers it reads.
    buffer: Option<usize>,
    at: usize,
    /// Of types that are not stored: the first one, before which and after which are matches.
    implied: Option<u8>,
}

type Place = [Stream; KINDS];

/// Streams and their bytes.
struct Streams {
    places: Vec<Place>,
    buffers: Vec<Vec<u8>>,
}

impl Streams {
    fn read(cursor: &mut Cursor<'_>, by_arithmetic: bool, most: usize) -> Result<Self, Problem> {
        let mut streams = Self { places: Vec::new(), buffers: Vec::new() };
        let mut left = most;
        while !cursor.is_empty() {
            let head = cursor.byte()?;
            let kind = usize::from(head & 0x3f);
            if kind >= KINDS {
                return Err(CORRUPT);
            }
            if head & NEXT_PLACE != 0 {
                let mut place = Place::default();
                if kind != usize::from(TYPE) {
                    place[usize::from(TYPE)].implied = Some(kind as u8);
                }
                streams.places.push(place);
            }
            if streams.places.len() > MOST_PLACES {
                return Err(CORRUPT);
            }
            let buffer = if head & SAME_AS != 0 {
                let [place, kind] = cursor.array()?;
                let same = streams.places.get(usize::from(place)).ok_or_else(corrupt)?;
                same.get(usize::from(kind)).and_then(|it| it.buffer).ok_or_else(corrupt)?
            } else {
                let size = cursor.uint7()?;
                let data = cursor.take(size)?;
                let decompress =
                    if by_arithmetic { arithmetic::decompress } else { rans_nx16::decompress };
                let bytes = decompress(data, left)?;
                left -= bytes.len();
                streams.buffers.push(bytes);
                streams.buffers.len() - 1
            };
            let place = streams.places.last_mut().ok_or_else(corrupt)?;
            place[kind] = Stream { buffer: Some(buffer), ..Stream::default() };
        }
        Ok(streams)
    }

    fn take(&mut self, place: usize, kind: usize, count: usize) -> Result<&[u8], Problem> {
        let stream = &mut self.places.get_mut(place).ok_or_else(corrupt)?[kind];
        let buffer = &self.buffers[stream.buffer.ok_or_else(corrupt)?];
        let taken = buffer.get(stream.at..stream.at + count).ok_or_else(corrupt)?;
        stream.at += count;
        Ok(taken)
    }

    fn byte(&mut self, place: usize, kind: usize) -> Result<u8, Problem> {
        Ok(self.take(place, kind, 1)?[0])
    }

    fn word(&mut self, place: usize, kind: usize) -> Result<u32, Problem> {
        let bytes = self.take(place, kind, 4)?;
        Ok(bytes.first_chunk().copied().map_or(0, u32::from_le_bytes))
    }

    fn text(&mut self, place: usize) -> Result<&[u8], Problem> {
        let stream = &self.places.get(place).ok_or_else(corrupt)?[usize::from(STRING)];
        let buffer = &self.buffers[stream.buffer.ok_or_else(corrupt)?];
        let rest = buffer.get(stream.at..).ok_or_else(corrupt)?;
        let length = memchr::memchr(0, rest).ok_or_else(corrupt)?;
        Ok(&self.take(place, usize::from(STRING), length + 1)?[..length])
    }

    fn kind(&mut self, place: usize) -> Result<u8, Problem> {
        let stream = &mut self.places.get_mut(place).ok_or_else(corrupt)?[usize::from(TYPE)];
        match (stream.buffer, stream.implied) {
            (Some(_), _) => self.byte(place, TYPE.into()),
            (None, Some(first)) => {
                stream.implied = Some(MATCH);
                Ok(first)
            }
            (None, None) => Err(CORRUPT),
        }
    }
}

/// A token of a name: what others are compared with.
#[derive(Debug, Clone, Copy)]
struct Token {
    kind: TokenKind,
    /// Place of its text.
    start: usize,
    end: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TokenKind {
    Text,
    Digits(u32),
    /// With zeros before it.
    Padded(u32),
    Nothing,
}

/// Names that were read.
struct Names {
    /// Each with a NUL after it.
    text: Vec<u8>,
    tokens: Vec<Token>,
    /// Of each name: where it and its tokens are.
    names: Vec<[std::ops::Range<usize>; 2]>,
    most: usize,
}

impl Names {
    /// Whether so many bytes and a NUL have room.
    fn check_room(&self, size: usize) -> Result<(), Problem> {
        let has_room = size < self.most - self.text.len().min(self.most);
        has_room.then_some(()).ok_or_else(corrupt)
    }

    fn push_text(&mut self, text: &[u8]) -> Result<(), Problem> {
        self.check_room(text.len())?;
        self.text.extend_from_slice(text);
        Ok(())
    }

    /// Appends what is in the text already.
    fn push_again(&mut self, text: std::ops::Range<usize>) -> Result<(), Problem> {
        self.check_room(text.len())?;
        self.text.extend_from_within(text);
        Ok(())
    }

    /// Appends a number of at least so many digits.
    fn push_number(&mut self, number: u32, digits: usize) -> Result<(), Problem> {
        let own = number.checked_ilog10().map_or(1, |power| power as usize + 1);
        let digits = digits.max(own);
        self.check_room(digits)?;
        let start = self.text.len();
        self.text.resize(start + digits, b'0');
        let mut rest = number;
        for digit in self.text[start..].iter_mut().rev().take(own) {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        Ok(())
    }

    fn push(&mut self, streams: &mut Streams) -> Result<(), Problem> {
        let kind = streams.kind(0)?;
        if kind != DUPLICATE && kind != DIFFERENCE {
            return Err(CORRUPT);
        }
        let distance = streams.word(0, kind.into())? as usize;
        let number = self.names.len();
        // The first name differs from none.
        let base = match number.checked_sub(distance) {
            Some(base) if base < number => Some(self.names[base].clone()),
            Some(_) => None,
            None => return Err(CORRUPT),
        };
        let (start, tokens) = (self.text.len(), self.tokens.len());
        if kind == DUPLICATE {
            let [text, tokens] = base.ok_or_else(corrupt)?;
            self.push_again(text)?;
            self.names.push([start..self.text.len(), tokens]);
        } else {
            let base = base.map_or(0..0, |[_, tokens]| tokens);
            self.push_tokens(streams, base)?;
            self.names.push([start..self.text.len(), tokens..self.tokens.len()]);
        }
        self.text.push(0);
        Ok(())
    }

    fn push_tokens(
        &mut self,
        streams: &mut Streams,
        base: std::ops::Range<usize>,
    ) -> Result<(), Problem> {
        for place in 1.. {
            let kind = streams.kind(place)?;
            let before = base.clone().nth(place - 1).map(|it| self.tokens[it]);
            let start = self.text.len();
            let token = match kind {
                CHAR => {
                    let byte = streams.byte(place, CHAR.into())?;
                    self.push_text(&[byte])?;
                    TokenKind::Text
                }
                STRING => {
                    self.push_text(streams.text(place)?)?;
                    TokenKind::Text
                }
                DIGITS => {
                    let number = streams.word(place, DIGITS.into())?;
                    self.push_number(number, 1)?;
                    TokenKind::Digits(number)
                }
                DIGITS_0 => {
                    let number = streams.word(place, DIGITS_0.into())?;
                    let digits = streams.byte(place, LENGTH_0.into())?;
                    self.push_number(number, digits.into())?;
                    TokenKind::Padded(number)
                }
                DELTA | DELTA_0 => {
                    let before = before.ok_or_else(corrupt)?;
                    let more = u32::from(streams.byte(place, kind.into())?);
                    self.push_sum(kind, before, more)?
                }
                MATCH => {
                    let before = before.ok_or_else(corrupt)?;
                    self.push_again(before.start..before.end)?;
                    before.kind
                }
                END => return Ok(()),
                _ => TokenKind::Nothing,
            };
            self.tokens.push(Token { kind: token, start, end: self.text.len() });
        }
        Ok(())
    }

    /// Appends a number that differs a little from the one before.
    fn push_sum(&mut self, kind: u8, before: Token, more: u32) -> Result<TokenKind, Problem> {
        match (kind, before.kind) {
            (DELTA, TokenKind::Digits(number)) => {
                let number = number.wrapping_add(more);
                self.push_number(number, 1)?;
                Ok(TokenKind::Digits(number))
            }
            (DELTA_0, TokenKind::Padded(number)) => {
                let number = number.wrapping_add(more);
                self.push_number(number, before.end - before.start)?;
                Ok(TokenKind::Padded(number))
            }
            _ => Err(CORRUPT),
        }
    }
}

/// The names, a NUL after each, in all at most `most` bytes.
pub(crate) fn decompress(bytes: &[u8], most: usize) -> Result<Vec<u8>, Problem> {
    let mut cursor = Cursor::new(bytes, "a name-tokenised block");
    let (size, count) = (cursor.word()? as usize, cursor.word()? as usize);
    let by_arithmetic = cursor.byte()? != 0;
    if size > most {
        return Err(Problem::TooLarge(most));
    }
    // Each name has a NUL.
    if count > size {
        return Err(CORRUPT);
    }
    // A token has a type and at most a number of 4 bytes and its length, or a text and a NUL.
    let most_streams = (8 * MOST_PLACES).saturating_mul(count).min(size.saturating_mul(64));
    let mut streams = Streams::read(&mut cursor, by_arithmetic, most_streams.max(1024))?;
    let mut names =
        Names { text: Vec::with_capacity(size), tokens: Vec::new(), names: Vec::new(), most: size };
    for _ in 0..count {
        names.push(&mut streams)?;
    }
    if names.text.len() == size { Ok(names.text) } else { Err(CORRUPT) }
}
