//! Places within gzip data from which they can be inflated, without what precedes them.
//!
//! Deflate data (RFC 1951) consist of blocks that start at any bit and copy from the 32 KiB of text
//! before them, the *window*. A [`RestartPoint`] is a block's first bit and its window, or the
//! first byte of a gzip member, which needs none.
//!
//! To inflate from within a byte takes no inflater of its own: [`priming`] makes deflate data that
//! give the window, and then blocks without content up to the bit of a byte where the block starts.
//! To find such places takes one that can stop after a block, which reports neither that it did nor
//! at which bit. That it did shows in input and room that are left over; and of the eight bits the
//! right one is that from which the same text comes out again ([`Trial`]). A point is kept only if
//! one does.

use seqloom_format::persist_fields;
use zlib_rs::{Inflate, InflateFlush, Status};

/// Text that a block may copy from (RFC 1951, 2).
const WINDOW_BYTES: usize = 32 * 1024;
/// Room made for output at a time: a fixed one, so that the points are the same each time.
const OUTPUT_STEP_BYTES: usize = 64 * 1024;
/// Text that has to come out again; a wrong bit gives an error or other text at once.
const TRIAL_BYTES: usize = 64 * 1024;
/// Less text after a block shows nothing.
const LEAST_TRIAL_BYTES: usize = 64;
/// Levels above make points a tenth smaller at twice the time.
const ZSTD_LEVEL: i32 = 3;

/// A place from which inflating can start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestartPoint {
    /// Offset in the file of the byte that the block starts in, or the member with.
    raw: u64,
    /// Bytes of text before it, those of earlier members included.
    text: u64,
    /// Bits of that byte that are before the block.
    used_bits: u8,
    /// Within a member.
    in_member: bool,
    /// Of the member's text before the block.
    crc: u32,
    member_bytes: u32,
    /// The window, zstd.
    window: Vec<u8>,
}

persist_fields!(RestartPoint { raw, text, used_bits, in_member, crc, member_bytes, window });

/// A restart point is not one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the position is not in gzip data")]
pub(crate) struct NoPoint;

impl RestartPoint {
    /// Offset in the file of the first byte that is read.
    #[must_use]
    pub(crate) fn raw(&self) -> u64 {
        self.raw
    }

    /// Bytes of text before the point.
    #[must_use]
    pub fn text(&self) -> u64 {
        self.text
    }

    pub(super) fn is_in_member(&self) -> bool {
        self.in_member
    }

    /// CRC32 of the member's text before the point.
    pub(super) fn crc(&self) -> u32 {
        self.crc
    }

    /// Size of that text.
    pub(super) fn member_bytes(&self) -> u32 {
        self.member_bytes
    }

    /// An inflater that has the window, and what the first byte's used bits are to be replaced by.
    pub(super) fn inflater(&self) -> Result<(Inflate, Primed), NoPoint> {
        if self.used_bits > 7 || !self.in_member {
            return Err(NoPoint);
        }
        let window = zstd::bulk::decompress(&self.window, WINDOW_BYTES).map_err(|_| NoPoint)?;
        let (bytes, primed) = priming(&window, self.used_bits);
        let mut inflate = Inflate::new(false, 15);
        let mut text = vec![0; window.len() + 1];
        let given = inflate.decompress(&bytes, &mut text, InflateFlush::NoFlush);
        let (read, made) = (inflate.total_in() as usize, inflate.total_out() as usize);
        let is_ready = matches!(given, Ok(Status::Ok | Status::BufError));
        match is_ready && read == bytes.len() && text[..made] == window[..] {
            true => Ok((inflate, primed)),
            false => Err(NoPoint),
        }
    }
}

/// Bits that are in the first byte in place of those before the block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Primed {
    bits: u8,
    count: u8,
}

impl Primed {
    /// The first byte, as the inflater is to see it.
    pub(super) fn first_byte(self, byte: u8) -> u8 {
        (byte & (0xff_u8 << self.count)) | self.bits
    }
}

/// Bits from the lowest of each byte on, as deflate has them.
#[derive(Default)]
struct BitWriter {
    bytes: Vec<u8>,
    bits: u8,
    count: u8,
}

impl BitWriter {
    fn push(&mut self, bits: u32, count: u8) {
        for at in 0..count {
            self.bits |= u8::from(bits >> at & 1 == 1) << self.count;
            self.count += 1;
            if self.count == 8 {
                self.bytes.push(std::mem::take(&mut self.bits));
                self.count = 0;
            }
        }
    }

    /// A block with the fixed codes and nothing in it: ten bits.
    fn push_empty_fixed(&mut self) {
        self.push(0b01 << 1, 3);
        self.push(0, 7);
    }

    /// A block with codes of its own and nothing in it: 91 bits, an odd number.
    fn push_empty_dynamic(&mut self) {
        /// Lengths of code lengths are written in this order (RFC 1951, 3.2.7).
        const ORDER: [u8; 18] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1];
        self.push(0b10 << 1, 3);
        self.push(0, 5); // 257 codes of literals and lengths
        self.push(0, 5); // one of distances
        self.push(ORDER.len() as u32 - 4, 4);
        // Two codes of one bit: 0 for a length of 1, 1 for a run of zeros (18).
        for symbol in ORDER {
            self.push(u32::from(matches!(symbol, 1 | 18)), 3);
        }
        self.push(0, 1); // literal 0: one bit
        for zeros in [138, 117] {
            self.push(1, 1);
            self.push(zeros - 11, 7);
        }
        self.push(0, 1); // the end of the block: one bit
        self.push(0, 1); // the one distance
        self.push(1, 1); // the end of the block
    }
}

/// Deflate data that give `window` and end `used_bits` after a whole byte.
fn priming(window: &[u8], used_bits: u8) -> (Vec<u8>, Primed) {
    let mut writer = BitWriter::default();
    if !window.is_empty() {
        // A stored block of 32 KiB at most.
        let length = window.len() as u16;
        writer.bytes.push(0);
        writer.bytes.extend_from_slice(&length.to_le_bytes());
        writer.bytes.extend_from_slice(&(!length).to_le_bytes());
        writer.bytes.extend_from_slice(window);
    }
    // 91 is 3 and 10 is 2, modulo 8.
    let (dynamic, fixed) = match used_bits {
        0 => (0, 0),
        1 => (1, 3),
        odd if odd % 2 == 1 => (1, (odd - 3) / 2),
        even => (0, even / 2),
    };
    (0..dynamic).for_each(|_| writer.push_empty_dynamic());
    (0..fixed).for_each(|_| writer.push_empty_fixed());
    (writer.bytes, Primed { bits: writer.bits, count: writer.count })
}

/// A block's start at an unknown bit, and what came after it so far.
struct Trial {
    /// With `used_bits` of a byte that ends here.
    point: RestartPoint,
    window: Vec<u8>,
    /// The last byte before, some bits of which may belong to the block, and those after.
    input: Vec<u8>,
    text: Vec<u8>,
}

impl Trial {
    /// The point, if the text comes out again from one of the eight bits.
    fn outcome(self) -> Option<RestartPoint> {
        if self.text.len() < LEAST_TRIAL_BYTES {
            return None;
        }
        let window = zstd::bulk::compress(&self.window, ZSTD_LEVEL).ok()?;
        // Where it starts with a byte, that is the one after the last.
        let at_byte = RestartPoint { window, ..self.point };
        let within = |used_bits| {
            let raw = at_byte.raw - 1;
            RestartPoint { raw, used_bits, ..at_byte.clone() }
        };
        let mut points = std::iter::once(at_byte.clone()).chain((1..8).map(within));
        points.find(|point| {
            let input = if point.used_bits == 0 { &self.input[1..] } else { &self.input[..] };
            gives(point, input, &self.text)
        })
    }
}

/// Whether `input` gives `text`, from `point` on.
fn gives(point: &RestartPoint, input: &[u8], text: &[u8]) -> bool {
    let (Ok((mut inflate, primed)), Some((first, rest))) = (point.inflater(), input.split_first())
    else {
        return false;
    };
    let mut made = vec![0; text.len()];
    let start = inflate.total_out();
    let mut at = 0;
    for part in [&[primed.first_byte(*first)][..], rest] {
        if inflate.decompress(part, &mut made[at..], InflateFlush::NoFlush).is_err() {
            return false;
        }
        at = (inflate.total_out() - start) as usize;
    }
    made == text
}

/// Inflates members and takes note of restart points.
pub(crate) struct Recorder {
    inflate: Inflate,
    /// Text between two points.
    every_bytes: u64,
    /// Text at which the next one is due.
    due: u64,
    /// The last text of the member, at least the window as far as there is one.
    history: Vec<u8>,
    trial: Option<Trial>,
    points: Vec<RestartPoint>,
    /// The last byte of the member's data that was read.
    last_byte: u8,
}

/// Offsets of the recorder's caller.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Position {
    /// Offset of the next byte.
    pub(crate) raw: u64,
    /// Bytes of text so far.
    pub(crate) text: u64,
    /// CRC32 and size of the member's text so far.
    pub(crate) member: (u32, u32),
}

impl Recorder {
    /// A recorder that has `text` bytes of text before it.
    pub(crate) fn new(every_bytes: u64, text: u64) -> Self {
        Self {
            inflate: Inflate::new(false, 15),
            every_bytes,
            due: text + every_bytes,
            history: Vec::new(),
            trial: None,
            points: Vec::new(),
            last_byte: 0,
        }
    }

    /// Points found so far.
    pub(crate) fn take_points(&mut self) -> Vec<RestartPoint> {
        std::mem::take(&mut self.points)
    }

    /// A member, or a BGZF block, starts.
    pub(crate) fn at_member(&mut self, raw: u64, text: u64) {
        self.inflate.reset(false);
        self.history.clear();
        if text >= self.due {
            self.due = text + self.every_bytes;
            self.points.push(RestartPoint {
                raw,
                text,
                used_bits: 0,
                in_member: false,
                crc: 0,
                member_bytes: 0,
                window: Vec::new(),
            });
        }
    }

    /// Inflates some of `input` onto `out`; how much of it was used up, and whether the member's
    /// data ended. `None`: they are corrupt.
    pub(crate) fn inflate(
        &mut self,
        input: &[u8],
        out: &mut Vec<u8>,
        at: impl Fn(usize, &[u8]) -> Position,
    ) -> Option<(usize, bool)> {
        let start = out.len();
        out.resize(start + OUTPUT_STEP_BYTES, 0);
        let before = (self.inflate.total_in(), self.inflate.total_out());
        let is_due = self.trial.is_none() && at(0, &[]).text >= self.due;
        let flush = if is_due { InflateFlush::Block } else { InflateFlush::NoFlush };
        let status = self.inflate.decompress(input, &mut out[start..], flush).ok();
        let consumed = (self.inflate.total_in() - before.0) as usize;
        let made = (self.inflate.total_out() - before.1) as usize;
        out.truncate(start + made);
        let text = &out[start..];
        let status = status?;
        let has_ended = status == Status::StreamEnd;
        if let Some(trial) = &mut self.trial {
            trial.input.extend_from_slice(&input[..consumed]);
            trial.text.extend_from_slice(text);
        }
        self.remember(text);
        if let Some(last) = input[..consumed].last() {
            self.last_byte = *last;
        }
        let is_over = self.trial.as_ref().is_some_and(|it| it.text.len() >= TRIAL_BYTES);
        if is_over || has_ended {
            self.end_trial();
        }
        // Nothing else leaves both input and room: a block has ended.
        if is_due && !has_ended && consumed < input.len() && made < OUTPUT_STEP_BYTES {
            self.start_trial(at(consumed, text));
        }
        Some((consumed, has_ended))
    }

    fn remember(&mut self, text: &[u8]) {
        self.history.extend_from_slice(text);
        if self.history.len() > 4 * WINDOW_BYTES {
            self.history.drain(..self.history.len() - WINDOW_BYTES);
        }
    }

    fn start_trial(&mut self, at: Position) {
        let window = self.history[self.history.len().saturating_sub(WINDOW_BYTES)..].to_vec();
        let (crc, member_bytes) = at.member;
        let point = RestartPoint {
            raw: at.raw,
            text: at.text,
            used_bits: 0,
            in_member: true,
            crc,
            member_bytes,
            window: Vec::new(),
        };
        let (input, text) = (vec![self.last_byte], Vec::new());
        self.trial = Some(Trial { point, window, input, text });
    }

    fn end_trial(&mut self) {
        if let Some(point) = self.trial.take().and_then(Trial::outcome) {
            self.due = point.text + self.every_bytes;
            self.points.push(point);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bit_can_be_primed() {
        for window in [&b""[..], b"some text before"] {
            for used_bits in 0..8 {
                let (mut bytes, primed) = priming(window, used_bits);
                assert_eq!(primed.count, used_bits);
                // A last block with the fixed codes: 'A' (0x30 + 0x41, highest bit first), the end.
                let mut writer = BitWriter::default();
                // What precedes the block must not matter.
                writer.push(0xff, used_bits);
                writer.push(0b011, 3);
                writer.push(u32::from(0x71_u8.reverse_bits()), 8);
                writer.push(0, 7 + 7);
                let first = primed.first_byte(writer.bytes[0]);
                bytes.push(first);
                bytes.extend_from_slice(&writer.bytes[1..]);
                let (mut inflate, mut text) = (Inflate::new(false, 15), [0; 64]);
                let status = inflate.decompress(&bytes, &mut text, InflateFlush::NoFlush);
                assert_eq!(status, Ok(Status::StreamEnd), "{used_bits}");
                let expected = [window, b"A"].concat();
                assert_eq!(text[..inflate.total_out() as usize], expected[..], "{used_bits}");
            }
        }
    }

    #[test]
    fn what_is_no_point_is_refused() {
        let point = RestartPoint {
            raw: 5,
            text: 7,
            used_bits: 3,
            in_member: true,
            crc: 0,
            member_bytes: 0,
            window: zstd::bulk::compress(b"window", 3).unwrap(),
        };
        assert!(point.inflater().is_ok());
        let bad = [
            RestartPoint { used_bits: 8, ..point.clone() },
            RestartPoint { in_member: false, ..point.clone() },
            RestartPoint { window: b"no zstd".to_vec(), ..point.clone() },
            RestartPoint {
                window: zstd::bulk::compress(&[0; 40_000], 3).unwrap(),
                ..point.clone()
            },
        ];
        assert!(bad.iter().all(|point| point.inflater().is_err()));
    }
}
