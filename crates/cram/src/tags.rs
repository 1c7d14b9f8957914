//! Tags: the values of each tag and type in a block of their own, and for each record a *line*, the
//! list of tags that it has (CRAM specification 3.0, sections 8.4 and 10.5).

use std::collections::HashMap;

use crate::error::CramError;

/// Ends a text in its block. Where one holds it, the block has lengths instead.
const STOP: u8 = b'\t';

/// Name and type.
pub(crate) type Key = [u8; 3];

/// The values of one tag.
#[derive(Debug, Default)]
pub(crate) struct Tag {
    pub(crate) key: Key,
    /// One after the other, [`STOP`] after each text.
    values: Vec<u8>,
    lengths: Vec<u32>,
    has_stop: bool,
}

/// How a tag's values are distinguished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TagShape {
    /// All have this many bytes.
    Fixed(u8),
    /// Each ends with this byte.
    Stopped(u8),
    /// Their lengths are in a block of their own.
    Counted,
}

impl Tag {
    pub(crate) fn shape(&self) -> TagShape {
        match self.key[2] {
            b'A' | b'c' | b'C' => TagShape::Fixed(1),
            b's' | b'S' => TagShape::Fixed(2),
            b'i' | b'I' | b'f' => TagShape::Fixed(4),
            b'd' => TagShape::Fixed(8),
            b'Z' | b'H' if !self.has_stop => TagShape::Stopped(STOP),
            _ => TagShape::Counted,
        }
    }

    /// The block of its values: the tag as a number.
    pub(crate) fn block_id(&self) -> i32 {
        let [a, b, kind] = self.key;
        i32::from_be_bytes([0, a, b, kind])
    }

    /// The block of its lengths.
    pub(crate) fn lengths_id(&self) -> i32 {
        self.block_id() | 1 << 24
    }

    /// Its values as their block has them.
    pub(crate) fn values<'a>(&'a self, scratch: &'a mut Vec<u8>) -> &'a [u8] {
        if !self.is_text() || !self.has_stop {
            return &self.values;
        }
        scratch.clear();
        let mut rest = self.values.as_slice();
        for &length in &self.lengths {
            let (value, after) = rest.split_at(length as usize);
            scratch.extend_from_slice(value);
            rest = &after[1..];
        }
        scratch
    }

    fn is_text(&self) -> bool {
        matches!(self.key[2], b'Z' | b'H')
    }

    /// Replaces `out` by its lengths as their block has them.
    pub(crate) fn lengths_into(&self, out: &mut Vec<u8>) {
        out.clear();
        self.lengths.iter().for_each(|&it| crate::integers::push_itf8(out, it.cast_signed()));
    }

    fn clear(&mut self) {
        self.values.clear();
        self.lengths.clear();
        self.has_stop = false;
    }
}

/// The tags of a slice.
#[derive(Debug, Default)]
pub(crate) struct Tags {
    /// In the order in which they appear; after `count` there is memory alone.
    tags: Vec<Tag>,
    count: usize,
    by_key: HashMap<Key, usize>,
    /// Number of each line.
    lines: HashMap<Vec<u8>, i32>,
    /// The lines, a NUL after each.
    dictionary: Vec<u8>,
    line: Vec<u8>,
    /// The tags of the line before, which the next one often has, too.
    guess: Vec<usize>,
    place: usize,
    last: Option<(Vec<u8>, i32)>,
}

impl Tags {
    pub(crate) fn clear(&mut self) {
        self.tags[..self.count].iter_mut().for_each(Tag::clear);
        self.count = 0;
        self.by_key.clear();
        self.lines.clear();
        self.dictionary.clear();
        self.guess.clear();
        self.last = None;
        self.begin_line();
    }

    /// Begins the tags of a record.
    pub(crate) fn begin_line(&mut self) {
        self.line.clear();
        self.place = 0;
    }

    /// Adds a field as BAM has it: name, type, value.
    pub(crate) fn push(&mut self, field: &[u8]) -> Result<(), CramError> {
        let Some((&key, value)) = field.split_first_chunk::<3>() else { return Ok(()) };
        let length = u32::try_from(value.len()).map_err(|_| CramError::TooLarge("a tag"))?;
        self.line.extend_from_slice(&key);
        let guess = self.guess.get(self.place).copied();
        let index = match guess.filter(|&it| self.tags[it].key == key) {
            Some(index) => index,
            None => {
                let index = self.find(key);
                self.guess.truncate(self.place);
                self.guess.push(index);
                index
            }
        };
        self.place += 1;
        let tag = &mut self.tags[index];
        tag.values.extend_from_slice(value);
        if tag.is_text() {
            tag.values.push(STOP);
            tag.has_stop |= memchr::memchr(STOP, value).is_some();
        }
        if tag.is_text() || key[2] == b'B' {
            tag.lengths.push(length);
        }
        Ok(())
    }

    fn find(&mut self, key: Key) -> usize {
        if let Some(&index) = self.by_key.get(&key) {
            return index;
        }
        let index = self.count;
        match self.tags.get_mut(index) {
            Some(tag) => tag.key = key,
            None => self.tags.push(Tag { key, ..Tag::default() }),
        }
        self.count += 1;
        self.by_key.insert(key, index);
        index
    }

    /// Ends the tags of a record; gives the number of its line.
    pub(crate) fn end_line(&mut self) -> i32 {
        if let Some((last, number)) = &self.last
            && *last == self.line
        {
            return *number;
        }
        let number = match self.lines.get(&self.line) {
            Some(&number) => number,
            None => {
                let number = self.lines.len() as i32;
                self.dictionary.extend_from_slice(&self.line);
                self.dictionary.push(0);
                self.lines.insert(self.line.clone(), number);
                number
            }
        };
        let (mut text, _) = self.last.take().unwrap_or_default();
        text.clone_from(&self.line);
        self.last = Some((text, number));
        number
    }

    /// The lines, as a compression header has them.
    pub(crate) fn dictionary(&self) -> &[u8] {
        &self.dictionary
    }

    /// The tags that there are.
    pub(crate) fn all(&self) -> &[Tag] {
        &self.tags[..self.count]
    }
}
