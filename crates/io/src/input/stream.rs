//! Inputs that are read front to back, by whichever worker comes first: gzip, zstd, pipes, BAM,
//! FASTA and wrapped FASTQ.
//!
//! Under the stream's lock a worker decompresses about a block of text, cuts it after a record and
//! keeps the rest for the next one. It parses after it has released the lock. Nobody waits for the
//! lock: a worker that does not get it takes another task.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError, TryLockError};

use super::error::InputError;
use super::reader::{Fill, TextReader, Truncation};

/// Problem of BGZF data without their last block.
pub(crate) const MISSING_EOF_BLOCK: &str =
    "truncated: the empty BGZF block that ends a complete file is missing";

/// Bytes of a record that is too long which are kept to name it.
const HEAD_BYTES: usize = 512;

/// A record of more bytes than this gets a buffer for the longest one.
pub(crate) const LARGE_BYTES: usize = 1024 * 1024;

/// Grammar by which a stream is cut.
pub(crate) trait Cut: Copy {
    /// Where to cut `text`, which starts with a record: after as many whole ones as it has, 0 for
    /// none.
    fn last_boundary(self, text: &[u8]) -> usize;

    /// BGZF that does not end with its empty block was cut short, even if between records.
    fn needs_eof_block(self) -> bool;
}

/// Result of an attempt to take a piece.
#[derive(Debug)]
pub(crate) enum Pull<T = Piece> {
    Piece(T),
    /// Another worker has the lock.
    Held,
    /// The stream has nothing now.
    Waiting,
    /// All pieces have been taken.
    Ended,
}

impl<T> Pull<T> {
    /// The same with something made of the piece.
    pub(crate) fn try_map<U, E>(self, make: impl FnOnce(T) -> Result<U, E>) -> Result<Pull<U>, E> {
        Ok(match self {
            Self::Piece(piece) => Pull::Piece(make(piece)?),
            Self::Held => Pull::Held,
            Self::Waiting => Pull::Waiting,
            Self::Ended => Pull::Ended,
        })
    }
}

/// Text that starts with a record and, unless it is the last or too long, ends after one.
#[derive(Debug, Default)]
pub(crate) struct Piece {
    pub(crate) index: u64,
    pub(crate) last: bool,
    pub(crate) text: Vec<u8>,
    /// The start of a record that is longer than may be; `text` is empty and the file ended.
    pub(crate) too_long: Option<Vec<u8>>,
    /// Raw bytes read since the piece before.
    pub(crate) raw_bytes: u64,
    /// Raw bytes read so far.
    pub(crate) raw_end: u64,
    /// Reading or decompressing failed after `text`, which may end within a record then. Only the
    /// last piece has one.
    pub(crate) fault: Option<InputError>,
    /// The input was cut off after `text`, and that is allowed. Only the last piece has one.
    pub(crate) truncation: Option<Truncation>,
}

/// A source of pieces for one worker at a time. Nobody waits for it.
pub(crate) struct InTurn<S> {
    state: Mutex<S>,
    ended: AtomicBool,
}

impl<S> InTurn<S> {
    pub(crate) fn new(state: S) -> Self {
        Self { state: Mutex::new(state), ended: AtomicBool::new(false) }
    }

    pub(crate) fn is_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// Takes the next piece.
    pub(crate) fn pull<T>(
        &self,
        take: impl FnOnce(&mut S) -> Result<Pull<T>, InputError>,
        is_last: impl FnOnce(&T) -> bool,
    ) -> Result<Pull<T>, InputError> {
        let mut state = match self.state.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(poisoned)) => PoisonError::into_inner(poisoned),
            Err(TryLockError::WouldBlock) => return Ok(Pull::Held),
        };
        if self.is_ended() {
            return Ok(Pull::Ended);
        }
        let result = take(&mut state);
        let goes_on = match &result {
            Ok(Pull::Piece(piece)) => !is_last(piece),
            Ok(Pull::Waiting) => true,
            // An error ends it too: it is reported once.
            _ => false,
        };
        if !goes_on {
            self.ended.store(true, Ordering::Release);
        }
        result
    }
}

/// A stream that all workers read, one at a time.
pub(crate) struct SharedStream<C> {
    turn: InTurn<StreamState<C>>,
    pub(crate) grammar: C,
}

impl<C: Cut> SharedStream<C> {
    pub(crate) fn new(state: StreamState<C>) -> Self {
        let grammar = state.grammar;
        Self { turn: InTurn::new(state), grammar }
    }

    pub(crate) fn is_ended(&self) -> bool {
        self.turn.is_ended()
    }

    /// The restart points that were found so far.
    pub(crate) fn take_restart_points(&self) -> Vec<super::restart::RestartPoint> {
        let state = self.turn.state.lock();
        state.unwrap_or_else(PoisonError::into_inner).reader.take_restart_points()
    }

    /// Takes the next piece, into a buffer that `buffer` gives.
    pub(crate) fn pull(&self, buffer: impl FnOnce() -> Vec<u8>) -> Result<Pull, InputError> {
        self.turn.pull(|state| state.pull(buffer), |piece| piece.last)
    }
}

/// How much text is taken at a time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) block_bytes: usize,
    /// Of the longest record.
    pub(crate) max_record_bytes: usize,
}

/// A stream and the text before its next piece.
pub(crate) struct StreamState<C> {
    reader: TextReader,
    pub(crate) grammar: C,
    /// `text[start..]` is not handed out yet.
    text: Vec<u8>,
    start: usize,
    block_bytes: usize,
    /// Longest record.
    max_record_bytes: usize,
    want: usize,
    index: u64,
    raw_reported: u64,
    /// Text before the first record that is still to be passed over.
    skip: u64,
    fault: Option<InputError>,
}

impl<C: Cut> StreamState<C> {
    /// A stream of which `text` is read already and starts with a record.
    pub(crate) fn new(
        reader: TextReader,
        grammar: C,
        text: Vec<u8>,
        Limits { block_bytes, max_record_bytes }: Limits,
    ) -> Self {
        Self {
            reader,
            grammar,
            text,
            start: 0,
            block_bytes,
            max_record_bytes,
            want: block_bytes,
            index: 0,
            raw_reported: 0,
            skip: 0,
            fault: None,
        }
    }

    /// Starts after the next `bytes` of text, which are decompressed and passed over.
    pub(crate) fn after(mut self, bytes: u64) -> Self {
        self.skip = bytes;
        self
    }

    /// Its first piece has this index, and the bytes in the file before it are not its own.
    pub(crate) fn numbered_from(mut self, index: u64) -> Self {
        self.index = index;
        self.raw_reported = self.reader.raw_offset();
        self
    }

    /// Nothing can be read after the text that it was made with, if there is a fault.
    pub(crate) fn with_fault(mut self, fault: Option<InputError>) -> Self {
        self.fault = fault;
        self
    }

    pub(crate) fn pull(&mut self, buffer: impl FnOnce() -> Vec<u8>) -> Result<Pull, InputError> {
        loop {
            let Some(ended) = self.fill() else { return Ok(Pull::Waiting) };
            let held = self.text.len() - self.start;
            if ended && held <= self.want.saturating_mul(2) {
                let mut piece = self.last_piece(buffer);
                piece.fault = self.fault.take();
                piece.truncation = self.reader.truncation().cloned();
                self.check_end(&mut piece);
                return Ok(Pull::Piece(piece));
            }
            let upto = self.start + held.min(self.want.saturating_mul(2));
            let cut = self.grammar.last_boundary(&self.text[self.start..upto]);
            if cut > 0 {
                self.want = self.block_bytes;
                return Ok(Pull::Piece(self.piece(cut, buffer())));
            }
            if upto - self.start > self.max_record_bytes {
                let head = &self.text[self.start..upto.min(self.start + HEAD_BYTES)];
                let head = head.to_vec();
                let mut piece = self.last_piece(Vec::new);
                piece.text.clear();
                piece.too_long = Some(head);
                return Ok(Pull::Piece(piece));
            }
            self.want = self.want.saturating_mul(2).min(self.max_record_bytes + 1);
            if self.want > LARGE_BYTES {
                // At once: a buffer that is made larger step by step is there twice meanwhile.
                let enough = self.start + self.max_record_bytes + LARGE_BYTES;
                self.text.reserve_exact(enough.saturating_sub(self.text.len()));
            }
        }
    }

    /// Decompresses as much as is requested; whether that is all there is, `None` if it is not
    /// there yet. A fault ends the text.
    fn fill(&mut self) -> Option<bool> {
        if self.fault.is_some() {
            return Some(true);
        }
        while self.skip > 0 {
            match self.reader.fill(&mut self.text, self.block_bytes) {
                Ok(Fill::Waiting) => return None,
                Ok(Fill::Full) => {}
                Ok(Fill::End) if !self.text.is_empty() => {}
                Ok(Fill::End) => return Some(true),
                Err(fault) => {
                    self.fault = Some(fault);
                    return Some(true);
                }
            }
            let passed = self.text.len().min(usize::try_from(self.skip).unwrap_or(usize::MAX));
            self.text.drain(..passed);
            self.skip -= passed as u64;
        }
        match self.reader.fill(&mut self.text, self.start + self.want) {
            Ok(Fill::Waiting) => None,
            Ok(Fill::Full) => Some(false),
            Ok(Fill::End) => Some(true),
            Err(fault) => {
                self.fault = Some(fault);
                Some(true)
            }
        }
    }

    fn check_end(&self, piece: &mut Piece) {
        let is_cut = self.grammar.needs_eof_block() && self.reader.lacks_eof_block();
        if !is_cut || piece.fault.is_some() || piece.truncation.is_some() {
            return;
        }
        let (byte, problem) = (self.reader.raw_offset(), MISSING_EOF_BLOCK);
        if self.reader.allows_truncation() {
            piece.truncation = Some(Truncation { byte, problem: problem.into() });
        } else {
            piece.fault = Some(self.reader.input().truncation_error(byte, problem));
        }
    }

    fn piece(&mut self, cut: usize, mut buffer: Vec<u8>) -> Piece {
        let end = self.start + cut;
        buffer.clear();
        if self.text.len() - end <= cut {
            // The usual case: a short rest is copied and the buffer itself handed out.
            buffer.extend_from_slice(&self.text[end..]);
            self.text.truncate(end);
            std::mem::swap(&mut self.text, &mut buffer);
            buffer.drain(..self.start);
            self.start = 0;
        } else {
            buffer.extend_from_slice(&self.text[self.start..end]);
            self.start = end;
            if self.start > self.text.len() / 2 {
                self.text.drain(..self.start);
                self.start = 0;
            }
        }
        self.finish_piece(buffer, false)
    }

    fn last_piece(&mut self, buffer: impl FnOnce() -> Vec<u8>) -> Piece {
        let cut = self.text.len() - self.start;
        if cut == 0 {
            return self.finish_piece(Vec::new(), true);
        }
        let mut piece = self.piece(cut, buffer());
        piece.last = true;
        piece
    }

    fn finish_piece(&mut self, text: Vec<u8>, last: bool) -> Piece {
        let index = self.index;
        self.index += 1;
        let raw = self.reader.raw_offset();
        let raw_bytes = raw - std::mem::replace(&mut self.raw_reported, raw);
        Piece { index, last, text, raw_bytes, raw_end: raw, ..Piece::default() }
    }
}
