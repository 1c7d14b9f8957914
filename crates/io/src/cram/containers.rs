//! The containers of one input, front to back.

use seqloom_cram::read::{ContainerHead, HEAD_BYTES, Problem, Wants};

use super::error::{Consumer, ContainerDefect};
use crate::input::error::InputError;
use crate::input::reader::{Fill, TextReader, Truncation};
use crate::input::stream::Pull;
use crate::input::waiting::{WAIT, wait};

/// Containers of no more than this get their buffer at once.
const USUAL_BYTES: usize = 16 << 20;

/// Problem of an input that ends between two containers.
pub(super) const MISSING_END: &str =
    "truncated: the container that ends a complete file is missing";
/// Problem of one that ends elsewhere.
pub(super) const CUT_CONTAINER: &str = "truncated: the input ends within this container";
/// Something follows the container that ends a file.
const TRAILING: &str = "data follow the container that ends the file";
const JOINED: &str = "files of one header are joined by `samtools cat`";

/// Limits of containers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CramLimits {
    /// When their blocks are inflated, and as records.
    pub(crate) container_bytes: usize,
    pub(crate) allow_truncated: bool,
    pub(crate) consumer: Consumer,
}

/// A container, or what is there in place of one.
#[derive(Debug, Default)]
pub(crate) struct ContainerPiece {
    pub(crate) index: u64,
    pub(crate) last: bool,
    /// `None` where there is none.
    pub(crate) head: Option<ContainerHead>,
    /// The container, its header included.
    pub(crate) bytes: Vec<u8>,
    /// Raw bytes read since the piece before.
    pub(crate) raw_bytes: u64,
    /// Why there is none, or no further one.
    pub(crate) defect: Option<ContainerDefect>,
    /// The input was cut off here, and that is allowed.
    pub(crate) truncation: Option<Truncation>,
}

/// Next part of an input.
enum Next {
    Head(ContainerHead),
    /// Nothing now.
    Waiting,
    /// The end, where it may not be.
    Cut,
    Broken(Problem),
}

/// An input whose next container begins at the start of `text`.
pub(super) struct Containers {
    reader: TextReader,
    text: Vec<u8>,
    /// Offset of that in the input.
    byte: u64,
    index: u64,
    raw_reported: u64,
    /// Reading failed after `text`.
    fault: Option<InputError>,
    /// Of the largest container.
    most_bytes: usize,
    /// Nothing is read.
    is_void: bool,
    /// Who reads them.
    consumer: Consumer,
}

impl Containers {
    /// The containers of `reader` from the byte `byte` on, of which `text` is read already.
    pub(super) fn new(reader: TextReader, text: Vec<u8>, byte: u64, limits: CramLimits) -> Self {
        let raw_reported = reader.raw_offset().saturating_sub(text.len() as u64);
        Self {
            reader,
            text,
            byte,
            index: 0,
            raw_reported,
            fault: None,
            most_bytes: limits.container_bytes,
            is_void: false,
            consumer: limits.consumer,
        }
    }

    /// None at all.
    pub(super) fn none(reader: TextReader, limits: CramLimits) -> Self {
        Self { is_void: true, ..Self::new(reader, Vec::new(), 0, limits) }
    }

    /// Sets the size of the largest container.
    pub(super) fn limit(&mut self, most_bytes: usize) {
        self.most_bytes = most_bytes;
    }

    /// Looks at the first container, which stays the next one; waits for data of a pipe. What is
    /// wrong with it is found again when it is taken. If there is a `fault`, nothing can be read
    /// after the text that it was made with.
    pub(super) fn look(&mut self, fault: Option<InputError>) -> Wants {
        self.fault = fault;
        loop {
            match self.next() {
                Ok(Next::Head(head)) => {
                    let body = head.head_bytes..head.head_bytes + head.body_bytes;
                    let body = self.text.get(body).unwrap_or_default();
                    return Wants::of(&head, body).unwrap_or_default();
                }
                Ok(Next::Waiting) => {
                    if wait(&[self.reader.input()], WAIT).is_err() {
                        return Wants::default();
                    }
                }
                Ok(Next::Cut | Next::Broken(_)) => return Wants::default(),
                Err(fault) => {
                    self.fault = Some(fault);
                    return Wants::default();
                }
            }
        }
    }

    /// Takes the next container into a buffer that `buffer` gives.
    pub(super) fn pull(
        &mut self,
        buffer: impl FnOnce() -> Vec<u8>,
    ) -> Result<Pull<ContainerPiece>, InputError> {
        if self.is_void {
            return Ok(Pull::Piece(self.last(None)));
        }
        let head = match self.next()? {
            Next::Head(head) => head,
            Next::Waiting => return Ok(Pull::Waiting),
            Next::Cut => return Ok(Pull::Piece(self.cut())),
            Next::Broken(problem) => {
                let defect = ContainerDefect::of(0, &problem);
                return Ok(Pull::Piece(self.last(Some(defect))));
            }
        };
        let bytes = head.head_bytes + head.body_bytes;
        if head.is_end() {
            let Some(_) = self.fill(bytes + 1)? else { return Ok(Pull::Waiting) };
            if self.text.len() > bytes {
                let (problem, hint) = (TRAILING.to_owned(), Some(JOINED));
                let defect = ContainerDefect { byte: bytes as u64, problem, hint };
                return Ok(Pull::Piece(self.last(Some(defect))));
            }
            return Ok(Pull::Piece(self.last(None)));
        }
        let mut rest = buffer();
        rest.clear();
        rest.extend_from_slice(&self.text[bytes..]);
        self.text.truncate(bytes);
        let bytes = std::mem::replace(&mut self.text, rest);
        self.byte += bytes.len() as u64;
        Ok(Pull::Piece(ContainerPiece { head: Some(head), bytes, ..self.piece() }))
    }

    /// What is next; a container is in `text` as a whole then.
    fn next(&mut self) -> Result<Next, InputError> {
        let mut want = HEAD_BYTES;
        let head = loop {
            let Some(has_ended) = self.fill(want)? else { return Ok(Next::Waiting) };
            match ContainerHead::parse(&self.text) {
                Ok(Some(head)) => break head,
                Ok(None) if has_ended => return Ok(Next::Cut),
                Ok(None) => want = self.text.len().max(HEAD_BYTES) * 2,
                Err(problem) => return Ok(Next::Broken(problem)),
            }
        };
        if head.body_bytes > self.most_bytes {
            return Ok(Next::Broken(Problem::TooLarge(self.most_bytes)));
        }
        let bytes = head.head_bytes + head.body_bytes;
        if bytes <= USUAL_BYTES {
            self.text.reserve_exact(bytes.saturating_sub(self.text.len()));
        }
        Ok(match self.fill(bytes)? {
            None => Next::Waiting,
            Some(false) => Next::Head(head),
            Some(true) => Next::Cut,
        })
    }

    /// Reads on until `text` has `want` bytes; whether it ends before that, `None` if nothing is
    /// there now.
    fn fill(&mut self, want: usize) -> Result<Option<bool>, InputError> {
        if self.text.len() >= want {
            return Ok(Some(false));
        }
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        Ok(match self.reader.fill(&mut self.text, want)? {
            Fill::Waiting => None,
            Fill::Full => Some(false),
            Fill::End => Some(self.text.len() < want),
        })
    }

    /// The next piece, of nothing yet.
    fn piece(&mut self) -> ContainerPiece {
        let index = self.index;
        self.index += 1;
        let raw = self.reader.raw_offset();
        let raw_bytes = raw - std::mem::replace(&mut self.raw_reported, raw);
        ContainerPiece { index, raw_bytes, ..ContainerPiece::default() }
    }

    fn last(&mut self, defect: Option<ContainerDefect>) -> ContainerPiece {
        ContainerPiece { last: true, defect, ..self.piece() }
    }

    /// The input ends here.
    fn cut(&mut self) -> ContainerPiece {
        let problem = if self.text.is_empty() { MISSING_END } else { CUT_CONTAINER };
        if self.reader.allows_truncation() {
            let truncation = Truncation { byte: self.byte, problem: problem.to_owned() };
            return ContainerPiece { truncation: Some(truncation), ..self.last(None) };
        }
        self.last(Some(ContainerDefect::cut(problem, self.consumer)))
    }
}
