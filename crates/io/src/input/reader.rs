//! Text of one input, front to back: raw bytes through the decoder that their first bytes name.

use super::decode::{Decoder, GzipDecoder, MAX_GZIP_HEADER_BYTES, State, ZstdFrames};
use super::error::InputError;
use super::raw::{Filled, Input, RawReader};
use super::restart::RestartPoint;
use super::waiting::{WAIT, wait};

/// Compressed bytes held at a time; more than the longest gzip header or BGZF block.
const RAW_BYTES: usize = 256 * 1024;
const _: () = assert!(RAW_BYTES > MAX_GZIP_HEADER_BYTES);

/// First bytes that show how an input is compressed: those of a BGZF header.
const MAGIC_BYTES: usize = 18;

/// Compression, recognised by content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Not compressed.
    Plain,
    /// gzip, one or many members.
    Gzip,
    /// Blocked gzip (BGZF).
    Bgzf,
    /// zstd.
    Zstd,
}

/// Truncation of an input: its place and its symptom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Truncation {
    /// Offset in the file, compressed as it is, at or shortly before its end.
    pub byte: u64,
    /// How it shows.
    pub problem: String,
}

seqloom_format::persist_fields!(Truncation { byte, problem });

/// Result of [`TextReader::fill`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fill {
    /// As much text as was needed.
    Full,
    /// The stream has nothing now.
    Waiting,
    /// The end of the input.
    End,
}

/// Reads and decompresses one input from front to back.
pub(crate) struct TextReader {
    raw: RawReader,
    /// Unknown until the first bytes are there.
    decoder: Option<(Compression, Decoder)>,
    buffer: Vec<u8>,
    /// Bytes of `buffer` that wait to be decoded.
    from: usize,
    to: usize,
    raw_ended: bool,
    ended: bool,
    allows_truncation: bool,
    truncation: Option<Truncation>,
    /// Text between two restart points that are to be found.
    record_every_bytes: Option<u64>,
    /// Offset in the file that it reads from.
    start: u64,
    /// Bytes of text before that.
    text_before: u64,
}

impl TextReader {
    /// Reads `input` from `offset` on (0 for a stream), where an uncompressed file or a gzip
    /// member starts.
    pub(crate) fn new(input: Input, offset: u64) -> Self {
        let raw = RawReader::new(input, offset);
        Self {
            raw,
            decoder: None,
            buffer: Vec::new(),
            from: 0,
            to: 0,
            raw_ended: false,
            ended: false,
            allows_truncation: false,
            truncation: None,
            record_every_bytes: None,
            start: offset,
            text_before: 0,
        }
    }

    /// Reads gzip from a restart point on.
    ///
    /// # Errors
    /// It is no place in gzip data.
    pub(crate) fn restarted(input: Input, point: &RestartPoint) -> Result<Self, InputError> {
        let refuse = |problem: String| input.compressed_error(point.raw(), problem);
        let gzip = GzipDecoder::at(point)
            .map_err(|error| refuse(format!("its restart point is damaged: {error}")))?;
        let mut reader = Self::new(input, point.raw());
        reader.decoder = Some((Compression::Gzip, Decoder::Gzip(Box::new(gzip))));
        Ok(reader)
    }

    /// Takes note of restart points in gzip on the way, so many bytes of text apart. Only before
    /// anything is read.
    pub(crate) fn recording(mut self, every_bytes: u64) -> Self {
        self.record_every_bytes = Some(every_bytes);
        self
    }

    /// So many bytes of text are before the offset that it reads from. Only before anything is
    /// read.
    pub(crate) fn with_text_before(mut self, bytes: u64) -> Self {
        self.text_before = bytes;
        self
    }

    /// The restart points that were found.
    pub(crate) fn take_restart_points(&mut self) -> Vec<RestartPoint> {
        match &mut self.decoder {
            Some((_, Decoder::Gzip(gzip))) => gzip.take_restart_points(),
            _ => Vec::new(),
        }
    }

    /// As [`TextReader::new`] for text that is known to be uncompressed, wherever `offset` is.
    pub(crate) fn plain(input: Input, offset: u64) -> Self {
        let mut reader = Self::new(input, offset);
        reader.decoder = Some((Compression::Plain, Decoder::Plain));
        reader
    }

    /// Takes a cut in compressed data for their end and remembers it.
    pub(crate) fn allow_truncation(&mut self) {
        self.allows_truncation = true;
    }

    pub(crate) fn allows_truncation(&self) -> bool {
        self.allows_truncation
    }

    /// The cut that was found, if truncation is allowed.
    pub(crate) fn truncation(&self) -> Option<&Truncation> {
        self.truncation.as_ref()
    }

    pub(crate) fn input(&self) -> &Input {
        &self.raw.input
    }

    /// Raw bytes read so far.
    pub(crate) fn raw_offset(&self) -> u64 {
        self.raw.offset()
    }

    /// Compression, once it is known.
    pub(crate) fn compression(&self) -> Option<Compression> {
        self.decoder.as_ref().map(|(compression, _)| *compression)
    }

    /// All text has been handed out.
    pub(crate) fn is_ended(&self) -> bool {
        self.ended
    }

    /// BGZF that does not end with its empty block.
    pub(crate) fn lacks_eof_block(&self) -> bool {
        matches!(&self.decoder, Some((_, Decoder::Gzip(gzip))) if gzip.lacks_eof_block())
    }

    /// Appends text until `text` has at least `want` bytes, nothing is there now, or the end.
    pub(crate) fn fill(&mut self, text: &mut Vec<u8>, want: usize) -> Result<Fill, InputError> {
        loop {
            if self.ended {
                return Ok(Fill::End);
            }
            if self.decoder.is_none() && !self.choose_decoder()? {
                if self.read_raw()? == Fill::Waiting {
                    return Ok(Fill::Waiting);
                }
                continue;
            }
            if text.len() >= want {
                return Ok(Fill::Full);
            }
            match self.decode(text, want)? {
                State::Going => {}
                State::End => self.ended = true,
                State::NeedInput => {
                    if self.read_raw()? == Fill::Waiting {
                        return Ok(Fill::Waiting);
                    }
                }
            }
        }
    }

    /// As [`TextReader::fill`], but waits for the data of a pipe as long as it takes; whether the
    /// input ends with what is in `text` now.
    pub(crate) fn fill_waiting(
        &mut self,
        text: &mut Vec<u8>,
        want: usize,
    ) -> Result<bool, InputError> {
        loop {
            match self.fill(text, want)? {
                Fill::Full => return Ok(false),
                Fill::End => return Ok(true),
                Fill::Waiting => wait(&[self.input()], WAIT)?,
            };
        }
    }

    fn decode(&mut self, text: &mut Vec<u8>, want: usize) -> Result<State, InputError> {
        let Some((_, decoder)) = &mut self.decoder else { return Ok(State::NeedInput) };
        let pending = &self.buffer[self.from..self.to];
        match decoder.step(pending, self.raw_ended, text, want) {
            Ok(step) => {
                self.from += step.consumed;
                Ok(step.state)
            }
            Err(error) => {
                let byte = self.raw.offset() - (self.to - self.from - error.at) as u64;
                if !error.is_truncation {
                    return Err(self.raw.input.compressed_error(byte, error.problem));
                }
                if !self.allows_truncation {
                    return Err(self.raw.input.truncation_error(byte, error.problem));
                }
                self.truncation = Some(Truncation { byte, problem: error.problem });
                Ok(State::End)
            }
        }
    }

    /// Reads more raw bytes after those that wait.
    fn read_raw(&mut self) -> Result<Fill, InputError> {
        self.buffer.resize(RAW_BYTES, 0);
        self.buffer.copy_within(self.from..self.to, 0);
        self.to -= self.from;
        self.from = 0;
        if self.to == self.buffer.len() {
            // No decoder leaves that much unused; this keeps a wrong one from looping.
            let byte = self.raw.offset();
            return Err(self.raw.input.compressed_error(byte, "compressed unit is too long"));
        }
        match self.raw.read(&mut self.buffer[self.to..])? {
            Filled::Bytes(count) => self.to += count,
            Filled::Waiting => return Ok(Fill::Waiting),
            Filled::End => self.raw_ended = true,
        }
        Ok(Fill::Full)
    }

    /// Chooses the decoder if enough bytes are there to decide.
    fn choose_decoder(&mut self) -> Result<bool, InputError> {
        let head = &self.buffer[self.from..self.to];
        if head.len() < MAGIC_BYTES && !self.raw_ended {
            return Ok(false);
        }
        let decoder = match sniff_compression(head) {
            Ok(Compression::Zstd) => {
                let frames = ZstdFrames::new();
                let frames = frames.map_err(|error| self.raw.input.read_error(0, error))?;
                (Compression::Zstd, Decoder::Zstd(Box::new(frames)))
            }
            Ok(Compression::Plain) => (Compression::Plain, Decoder::Plain),
            Ok(compression) => {
                let gzip = GzipDecoder::new().starting_at(self.start, self.text_before);
                let gzip = match self.record_every_bytes {
                    Some(every_bytes) => gzip.recording(every_bytes),
                    None => gzip,
                };
                (compression, Decoder::Gzip(Box::new(gzip)))
            }
            Err(Unread { problem, hint }) => return Err(self.raw.input.unsupported(problem, hint)),
        };
        self.decoder = Some(decoder);
        Ok(true)
    }
}

/// A compression that is not read, and a hint.
struct Unread {
    problem: &'static str,
    hint: &'static str,
}

/// Compression by the first bytes; BGZF only where they reach that far.
fn sniff_compression(head: &[u8]) -> Result<Compression, Unread> {
    match head {
        [0x1f, 0x8b, ..] if seqloom_format::bgzf::parse_block_header(head).is_ok() => {
            Ok(Compression::Bgzf)
        }
        [0x1f, 0x8b, ..] => Ok(Compression::Gzip),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Ok(Compression::Zstd),
        // A skippable frame (RFC 8878, 3.1.2), as pzstd writes first.
        [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Ok(Compression::Zstd),
        [b'B', b'Z', b'h', b'1'..=b'9', ..] => Err(Unread {
            problem: "bzip2 is not read",
            hint: "pipe it in: `bzip2 -dc FILE | seqloom ... -`",
        }),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Err(Unread {
            problem: "xz is not read",
            hint: "pipe it in: `xz -dc FILE | seqloom ... -`",
        }),
        _ => Ok(Compression::Plain),
    }
}
