//! Decompression as a step from bytes at hand to text, for input that arrives piecemeal.
//!
//! A decoder never reads input itself: it takes what is there and says when it needs more. The
//! end of the input is accepted only between members (gzip, RFC 1952) or frames (zstd, RFC 8878).

use flate2::{Decompress, FlushDecompress, Status};
use seqloom_format::bgzf::{self, BgzfError, BlockDecompressor};
use zstd::stream::raw::{Decoder as ZstdDecoder, InBuffer, Operation, OutBuffer};

use super::restart::{NoPoint, Position, Primed, Recorder, RestartPoint};
use super::trailing;

/// Longest gzip header that is read: 64 KiB of extra field, a name and a comment.
pub(crate) const MAX_GZIP_HEADER_BYTES: usize = 128 * 1024;

/// The first bytes of a gzip member: magic, and deflate as its method (RFC 1952, 2.3.1).
const GZIP_MAGIC: [u8; 3] = [0x1f, 0x8b, 8];

/// Room made for output at a time.
const OUTPUT_STEP_BYTES: usize = 64 * 1024;

/// Result of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Step {
    /// Input bytes used up.
    pub(crate) consumed: usize,
    /// State after it.
    pub(crate) state: State,
}

/// State after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// Another step with what is there can do more.
    Going,
    /// Nothing more can be done without further input.
    NeedInput,
    /// The input has ended, and where it may.
    End,
}

/// A problem, and how many bytes into the input of this step it is.
#[derive(Debug)]
pub(crate) struct DecodeError {
    pub(crate) at: usize,
    pub(crate) problem: String,
    /// The input ended where it may not; all before that was good.
    pub(crate) is_truncation: bool,
}

fn fail<T>(at: usize, problem: impl Into<String>) -> Result<T, DecodeError> {
    Err(DecodeError { at, problem: problem.into(), is_truncation: false })
}

fn truncated<T>(at: usize, problem: &str) -> Result<T, DecodeError> {
    Err(DecodeError { at, problem: format!("truncated: {problem}"), is_truncation: true })
}

/// How an input is compressed.
pub(crate) enum Decoder {
    /// Not at all.
    Plain,
    /// gzip of any number of members, BGZF blocks among them.
    Gzip(Box<GzipDecoder>),
    /// zstd of any number of frames.
    Zstd(Box<ZstdFrames>),
}

impl Decoder {
    /// Decompresses some of `input`, of which nothing follows if `input_ended`, and appends to
    /// `out`, about up to the length `want`.
    pub(crate) fn step(
        &mut self,
        input: &[u8],
        input_ended: bool,
        out: &mut Vec<u8>,
        want: usize,
    ) -> Result<Step, DecodeError> {
        match self {
            Self::Plain => {
                let consumed = input.len().min(want.saturating_sub(out.len()));
                out.extend_from_slice(&input[..consumed]);
                let state = match (consumed == input.len(), input_ended) {
                    (false, _) => State::Going,
                    (true, true) => State::End,
                    (true, false) => State::NeedInput,
                };
                Ok(Step { consumed, state })
            }
            Self::Gzip(gzip) => gzip.step(input, input_ended, out),
            Self::Zstd(zstd) => zstd.step(input, input_ended, out),
        }
    }
}

enum GzipPart {
    /// Between members.
    Header,
    Body,
    Trailer,
    /// Zeros after the last member, as tapes and block devices leave them.
    Padding,
}

/// Inflater of a member's body.
enum Body {
    Plain(Decompress),
    /// The rest of a member from a restart point on; its first byte is not as it is in the file.
    Restarted(Box<zlib_rs::Inflate>, Option<Primed>),
    /// Takes note of restart points.
    Recording(Box<Recorder>),
}

/// Inflates gzip members one after the other; whole BGZF blocks in one go.
pub(crate) struct GzipDecoder {
    part: GzipPart,
    inflate: Body,
    /// Offset of the next byte of input in the file, and text before it.
    raw: u64,
    text: u64,
    block: BlockDecompressor,
    crc: crc32fast::Hasher,
    member_bytes: u32,
    members: u64,
    /// The last member was a BGZF block without content.
    ended_by_eof_block: bool,
    /// Some member was a BGZF block.
    has_bgzf: bool,
}

impl GzipDecoder {
    pub(crate) fn new() -> Self {
        Self {
            part: GzipPart::Header,
            inflate: Body::Plain(Decompress::new(false)),
            raw: 0,
            text: 0,
            block: BlockDecompressor::new(),
            crc: crc32fast::Hasher::new(),
            member_bytes: 0,
            members: 0,
            ended_by_eof_block: false,
            has_bgzf: false,
        }
    }

    /// Takes note of restart points, at least so many bytes of text apart.
    pub(crate) fn recording(self, every_bytes: u64) -> Self {
        let recorder = Recorder::new(every_bytes, self.text);
        Self { inflate: Body::Recording(Box::new(recorder)), ..self }
    }

    /// For the data from offset `raw` in a file on, with so many bytes of text before them.
    pub(crate) fn starting_at(self, raw: u64, text: u64) -> Self {
        Self { raw, text, ..self }
    }

    /// For the data from `point` on.
    pub(crate) fn at(point: &RestartPoint) -> Result<Self, NoPoint> {
        let new = || Self::new().starting_at(point.raw(), point.text());
        if !point.is_in_member() {
            return Ok(new());
        }
        let (inflate, primed) = point.inflater()?;
        Ok(Self {
            part: GzipPart::Body,
            inflate: Body::Restarted(Box::new(inflate), Some(primed)),
            crc: crc32fast::Hasher::new_with_initial(point.crc()),
            member_bytes: point.member_bytes(),
            ..new()
        })
    }

    /// The restart points that were found.
    pub(crate) fn take_restart_points(&mut self) -> Vec<RestartPoint> {
        match &mut self.inflate {
            Body::Recording(recorder) => recorder.take_points(),
            _ => Vec::new(),
        }
    }

    /// BGZF that does not end with its empty block, as complete files do.
    pub(crate) fn lacks_eof_block(&self) -> bool {
        self.has_bgzf && !self.ended_by_eof_block
    }

    fn step(&mut self, input: &[u8], ended: bool, out: &mut Vec<u8>) -> Result<Step, DecodeError> {
        let before = out.len();
        let step = self.step_of_part(input, ended, out)?;
        self.raw += step.consumed as u64;
        self.text += (out.len() - before) as u64;
        Ok(step)
    }

    fn step_of_part(
        &mut self,
        input: &[u8],
        ended: bool,
        out: &mut Vec<u8>,
    ) -> Result<Step, DecodeError> {
        match self.part {
            GzipPart::Header => self.header(input, ended, out),
            GzipPart::Body => self.body(input, ended, out),
            GzipPart::Trailer => self.trailer(input, ended),
            GzipPart::Padding => match input.iter().position(|&byte| byte != 0) {
                Some(at) if input.len() - at < trailing::LOOKED_AT_BYTES && !ended => {
                    Ok(Step { consumed: at, state: State::NeedInput })
                }
                Some(at) => fail(at, trailing::after_end(&input[at..], self.raw + at as u64)),
                None if ended => Ok(Step { consumed: input.len(), state: State::End }),
                None => Ok(Step { consumed: input.len(), state: State::NeedInput }),
            },
        }
    }

    fn header(
        &mut self,
        input: &[u8],
        ended: bool,
        out: &mut Vec<u8>,
    ) -> Result<Step, DecodeError> {
        if input.is_empty() && ended && self.members > 0 {
            return Ok(Step { consumed: 0, state: State::End });
        }
        if self.members > 0 && input.first() == Some(&0) {
            self.part = GzipPart::Padding;
            return Ok(Step { consumed: 0, state: State::Going });
        }
        if self.members > 0 && !GZIP_MAGIC.starts_with(&input[..input.len().min(3)]) {
            if input.len() < trailing::LOOKED_AT_BYTES && !ended {
                return Ok(Step { consumed: 0, state: State::NeedInput });
            }
            return fail(0, trailing::after_end(input, self.raw));
        }
        match bgzf::parse_block_header(input) {
            Ok(header) if header.block_bytes <= input.len() => {
                let block = &input[..header.block_bytes];
                if let Body::Recording(recorder) = &mut self.inflate {
                    recorder.at_member(self.raw, self.text);
                }
                let inflated = match self.block.decompress(block, out) {
                    Ok(inflated) => inflated,
                    Err(error) => return fail(0, error.to_string()),
                };
                self.members += 1;
                self.has_bgzf = true;
                self.ended_by_eof_block = inflated == 0;
                return Ok(Step { consumed: header.block_bytes, state: State::Going });
            }
            Ok(_) | Err(BgzfError::Truncated { .. }) if !ended => {
                return Ok(Step { consumed: 0, state: State::NeedInput });
            }
            Ok(header) => {
                let (has, needs) = (input.len(), header.block_bytes);
                return truncated(0, &format!("BGZF block of {needs} bytes has only {has}"));
            }
            Err(_) => {}
        }
        match gzip_header_bytes(input)? {
            Some(consumed) => {
                self.part = GzipPart::Body;
                match &mut self.inflate {
                    Body::Plain(inflate) => inflate.reset(false),
                    Body::Restarted(..) => self.inflate = Body::Plain(Decompress::new(false)),
                    Body::Recording(recorder) => recorder.at_member(self.raw, self.text),
                }
                self.crc.reset();
                self.member_bytes = 0;
                Ok(Step { consumed, state: State::Going })
            }
            None if ended => truncated(input.len(), "the file ends within a gzip header"),
            None if input.len() > MAX_GZIP_HEADER_BYTES => fail(0, "gzip header is too long"),
            None => Ok(Step { consumed: 0, state: State::NeedInput }),
        }
    }

    fn body(&mut self, input: &[u8], ended: bool, out: &mut Vec<u8>) -> Result<Step, DecodeError> {
        let start = out.len();
        let inflated = self.inflate_some(input, out);
        let (consumed, has_ended) = inflated.map_or_else(|| fail(0, "corrupt deflate data"), Ok)?;
        self.crc.update(&out[start..]);
        // ISIZE is the length modulo 2^32 (RFC 1952, 2.3.1).
        self.member_bytes = self.member_bytes.wrapping_add((out.len() - start) as u32);
        let state = if has_ended {
            self.part = GzipPart::Trailer;
            State::Going
        } else if consumed > 0 || out.len() > start {
            State::Going
        } else if ended {
            return truncated(input.len(), "the file ends within gzip data");
        } else {
            State::NeedInput
        };
        Ok(Step { consumed, state })
    }

    /// Inflates some of a member; how much of the input was used up, and whether its data ended.
    /// `None`: they are corrupt.
    fn inflate_some(&mut self, input: &[u8], out: &mut Vec<u8>) -> Option<(usize, bool)> {
        let (crc, member_bytes, raw, text) = (&self.crc, self.member_bytes, self.raw, self.text);
        match &mut self.inflate {
            Body::Plain(inflate) => {
                out.reserve(OUTPUT_STEP_BYTES);
                let before = inflate.total_in();
                let status = inflate.decompress_vec(input, out, FlushDecompress::None).ok()?;
                let consumed = usize::try_from(inflate.total_in() - before).ok()?;
                Some((consumed, status == Status::StreamEnd))
            }
            Body::Restarted(inflate, primed) => inflate_restarted(inflate, primed, input, out),
            Body::Recording(recorder) => recorder.inflate(input, out, |consumed, made| {
                let mut crc = crc.clone();
                crc.update(made);
                let member = (crc.finalize(), member_bytes.wrapping_add(made.len() as u32));
                let (raw, text) = (raw + consumed as u64, text + made.len() as u64);
                Position { raw, text, member }
            }),
        }
    }

    fn trailer(&mut self, input: &[u8], ended: bool) -> Result<Step, DecodeError> {
        let Some((trailer, _)) = input.split_first_chunk::<8>() else {
            return match ended {
                true => truncated(input.len(), "the file ends within a gzip checksum"),
                false => Ok(Step { consumed: 0, state: State::NeedInput }),
            };
        };
        let [c0, c1, c2, c3, s0, s1, s2, s3] = *trailer;
        let computed = self.crc.clone().finalize();
        let stored = u32::from_le_bytes([c0, c1, c2, c3]);
        if stored != computed {
            return fail(
                0,
                format!("gzip checksum mismatch: stored {stored:08x}, computed {computed:08x}"),
            );
        }
        if u32::from_le_bytes([s0, s1, s2, s3]) != self.member_bytes {
            return fail(4, "gzip member does not have the length it states");
        }
        self.members += 1;
        self.ended_by_eof_block = false;
        self.part = GzipPart::Header;
        Ok(Step { consumed: 8, state: State::Going })
    }
}

/// As [`GzipDecoder::inflate_some`], for a member from a restart point on.
fn inflate_restarted(
    inflate: &mut zlib_rs::Inflate,
    primed: &mut Option<Primed>,
    input: &[u8],
    out: &mut Vec<u8>,
) -> Option<(usize, bool)> {
    let start = out.len();
    out.resize(start + OUTPUT_STEP_BYTES, 0);
    let before = (inflate.total_in(), inflate.total_out());
    let first = match (*primed, input.first()) {
        (Some(primed), Some(first)) => Some([primed.first_byte(*first)]),
        _ => None,
    };
    let input = first.as_ref().map_or(input, |first| &first[..]);
    let status = inflate.decompress(input, &mut out[start..], zlib_rs::InflateFlush::NoFlush);
    let consumed = (inflate.total_in() - before.0) as usize;
    out.truncate(start + (inflate.total_out() - before.1) as usize);
    if consumed > 0 {
        *primed = None;
    }
    Some((consumed, status.ok()? == zlib_rs::Status::StreamEnd))
}

/// Size of the gzip member header at the start of `input` (RFC 1952, 2.3); `None` if it goes on
/// after it.
fn gzip_header_bytes(input: &[u8]) -> Result<Option<usize>, DecodeError> {
    const HCRC: u8 = 2;
    const EXTRA: u8 = 4;
    const NAME: u8 = 8;
    const COMMENT: u8 = 16;
    if !GZIP_MAGIC.starts_with(&input[..input.len().min(3)]) {
        return fail(0, "not a gzip member header where one should be");
    }
    let Some(&flags) = input.get(3) else { return Ok(None) };
    if flags & 0xe0 != 0 {
        return fail(3, "gzip header with reserved flags");
    }
    let mut at = 10;
    if flags & EXTRA != 0 {
        let Some(len) = input.get(at..at + 2) else { return Ok(None) };
        at += 2 + usize::from(u16::from_le_bytes([len[0], len[1]]));
    }
    for flag in [NAME, COMMENT] {
        if flags & flag != 0 {
            let Some(end) = input.get(at..).and_then(|rest| memchr::memchr(0, rest)) else {
                return Ok(None);
            };
            at += end + 1;
        }
    }
    if flags & HCRC != 0 {
        at += 2;
    }
    Ok((at <= input.len()).then_some(at))
}

/// Decompresses zstd frames one after the other.
pub(crate) struct ZstdFrames {
    decoder: ZstdDecoder<'static>,
    in_frame: bool,
}

impl ZstdFrames {
    pub(crate) fn new() -> std::io::Result<Self> {
        Ok(Self { decoder: ZstdDecoder::new()?, in_frame: false })
    }

    fn step(&mut self, input: &[u8], ended: bool, out: &mut Vec<u8>) -> Result<Step, DecodeError> {
        let start = out.len();
        out.reserve(OUTPUT_STEP_BYTES);
        let mut source = InBuffer::around(input);
        let mut sink = OutBuffer::around_pos(out, start);
        let hint = self.decoder.run(&mut source, &mut sink);
        let (consumed, produced) = (source.pos(), sink.pos() - start);
        let hint = match hint {
            Ok(hint) => hint,
            Err(error) => return fail(consumed, format!("corrupt zstd data: {error}")),
        };
        if consumed > 0 || produced > 0 {
            self.in_frame = hint != 0;
            return Ok(Step { consumed, state: State::Going });
        }
        match (ended && input.is_empty(), self.in_frame) {
            (true, false) => Ok(Step { consumed, state: State::End }),
            (true, true) => truncated(0, "the file ends within a zstd frame"),
            _ => Ok(Step { consumed, state: State::NeedInput }),
        }
    }
}
