//! Lanes that are read front to back, by whichever worker comes first: gzip, zstd, pipes, BAM,
//! FASTA and wrapped FASTQ.
//!
//! Under the lane's lock a worker decompresses about a block of text, cuts it behind a record and
//! keeps the rest for the next one. It parses after it has let the lane go. Nobody waits for the
//! lock: who does not get it does something else.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError, TryLockError};

use seqloom_format::fastq::{self, Grammar};

use super::MAX_RECORD_BYTES;
use super::error::SourceError;
use super::reader::{Fill, TextReader};
use super::unaligned;

/// How a stream is cut into records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamGrammar {
    Text(Grammar),
    Bam,
}

impl StreamGrammar {
    fn last_boundary(self, text: &[u8]) -> usize {
        match self {
            Self::Text(grammar) => fastq::last_boundary(grammar, text),
            Self::Bam => unaligned::last_boundary(text),
        }
    }
}

/// What an attempt to take a piece gave.
#[derive(Debug)]
pub(crate) enum Pull {
    Piece(Piece),
    /// Another worker has the lane.
    Held,
    /// The stream has nothing now.
    Waiting,
    /// All pieces have been taken.
    Ended,
}

/// Text that starts with a record and, unless it is the last or too long, ends behind one.
#[derive(Debug, Default)]
pub(crate) struct Piece {
    pub(crate) index: u64,
    pub(crate) last: bool,
    pub(crate) text: Vec<u8>,
    /// Not one whole record within [`MAX_RECORD_BYTES`]; `text` is empty and the lane ended.
    pub(crate) too_long: bool,
    /// Raw bytes read since the piece before.
    pub(crate) raw_bytes: u64,
}

/// One such lane.
pub(crate) struct StreamLane {
    state: Mutex<StreamState>,
    ended: AtomicBool,
    pub(crate) grammar: StreamGrammar,
}

impl StreamLane {
    pub(crate) fn new(state: StreamState) -> Self {
        let grammar = state.grammar;
        Self { state: Mutex::new(state), ended: AtomicBool::new(false), grammar }
    }

    pub(crate) fn is_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// Takes the next piece, into a buffer that `buffer` gives.
    pub(crate) fn pull(&self, buffer: impl FnOnce() -> Vec<u8>) -> Result<Pull, SourceError> {
        let mut state = match self.state.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(poisoned)) => PoisonError::into_inner(poisoned),
            Err(TryLockError::WouldBlock) => return Ok(Pull::Held),
        };
        if self.is_ended() {
            return Ok(Pull::Ended);
        }
        let result = state.pull(buffer);
        match &result {
            Ok(Pull::Piece(piece)) if !piece.last => {}
            Ok(Pull::Waiting) => {}
            // An error ends the lane too: it is reported once.
            _ => self.ended.store(true, Ordering::Release),
        }
        result
    }
}

/// A stream and the text in front of its next piece.
pub(crate) struct StreamState {
    reader: TextReader,
    pub(crate) grammar: StreamGrammar,
    /// `text[start..]` is not handed out yet.
    text: Vec<u8>,
    start: usize,
    block_bytes: usize,
    want: usize,
    index: u64,
    raw_reported: u64,
}

impl StreamState {
    /// A stream of which `text` is read already and starts with a record.
    pub(crate) fn new(
        reader: TextReader,
        grammar: StreamGrammar,
        text: Vec<u8>,
        block_bytes: usize,
    ) -> Self {
        let (start, want, index, raw_reported) = (0, block_bytes, 0, 0);
        Self { reader, grammar, text, start, block_bytes, want, index, raw_reported }
    }

    pub(crate) fn pull(&mut self, buffer: impl FnOnce() -> Vec<u8>) -> Result<Pull, SourceError> {
        loop {
            let ended = match self.reader.fill(&mut self.text, self.start + self.want)? {
                Fill::Waiting => return Ok(Pull::Waiting),
                Fill::Full => false,
                Fill::End => true,
            };
            let held = self.text.len() - self.start;
            if ended && held <= self.want.saturating_mul(2) {
                self.check_end()?;
                return Ok(Pull::Piece(self.last_piece(buffer)));
            }
            let upto = self.start + held.min(self.want.saturating_mul(2));
            let cut = self.grammar.last_boundary(&self.text[self.start..upto]);
            if cut > 0 {
                self.want = self.block_bytes;
                return Ok(Pull::Piece(self.piece(cut, buffer())));
            }
            if self.want > MAX_RECORD_BYTES {
                let mut piece = self.last_piece(Vec::new);
                piece.text.clear();
                piece.too_long = true;
                return Ok(Pull::Piece(piece));
            }
            self.want = self.want.saturating_mul(2);
        }
    }

    /// BAM that lacks its last block was cut short, even if it was cut between records.
    fn check_end(&self) -> Result<(), SourceError> {
        if self.grammar == StreamGrammar::Bam && self.reader.lacks_eof_block() {
            let problem = "truncated: the empty block that ends a BAM file is missing";
            return Err(self.reader.input().compressed_error(self.reader.raw_offset(), problem));
        }
        Ok(())
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
        Piece { index, last, text, too_long: false, raw_bytes }
    }
}
