//! Text after a claimed chunk, as far as the chunk's last record reaches.

use super::error::InputError;
use super::raw::Input;
use super::stream::LARGE_BYTES;

/// Text after a claimed chunk, fetched when a record reaches into it.
pub(crate) trait LookAhead {
    /// Appends about `bytes` to `text` and says whether the end of the input is reached.
    fn extend(&mut self, text: &mut Vec<u8>, bytes: usize) -> Result<bool, InputError>;
}

/// Look-ahead in an uncompressed file.
pub(crate) struct PlainAhead<'a> {
    pub(crate) input: &'a Input,
    pub(crate) next: u64,
    pub(crate) size: u64,
}

impl LookAhead for PlainAhead<'_> {
    fn extend(&mut self, text: &mut Vec<u8>, bytes: usize) -> Result<bool, InputError> {
        let bytes = (self.size - self.next).min(bytes as u64);
        let start = text.len();
        text.resize(start + bytes as usize, 0);
        self.input.read_exact_at(&mut text[start..], self.next)?;
        self.next += bytes;
        Ok(self.next == self.size)
    }
}

/// Looks ahead by twice as much each time.
pub(crate) struct Doubling<'a> {
    pub(crate) ahead: &'a mut dyn LookAhead,
    pub(crate) at_eof: bool,
    /// Text to take next.
    pub(crate) step: usize,
}

impl Doubling<'_> {
    /// Takes more text; `false` at the end, or if `text` has more than `most` bytes already.
    pub(crate) fn grow(&mut self, text: &mut Vec<u8>, most: usize) -> Result<bool, InputError> {
        if self.at_eof || text.len() > most {
            return Ok(false);
        }
        let missing = most + 1 - text.len();
        if self.step > LARGE_BYTES {
            // At once: a buffer that is made larger step by step is there twice meanwhile.
            text.reserve_exact(missing + LARGE_BYTES);
        }
        self.at_eof = self.ahead.extend(text, self.step.min(missing))?;
        self.step = self.step.saturating_mul(2);
        Ok(true)
    }
}
