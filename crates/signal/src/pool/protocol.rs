//! What a program and its workers say to each other: frames of bytes, little-endian.
//!
//! A frame is its length (4 bytes), a kind (1), a sequence number (8) and a body. Headers and reads
//! travel as the header and the records of a BLOW5 file, so that what a worker sends goes through
//! the codec that reads foreign files. Samples do not travel: they are in memory that both share.
//!
//! Neither side trusts the other: every length is checked against the bytes that are there.

use std::io::{self, Read};

use seqloom_format::signal::SignalHeader;
use seqloom_format::slow5::{Compression, RecordCompression, SignalCompression, header};

use crate::store::fast5::Fast5Options;

/// Longest frame: the names of some millions of reads, and a header.
pub(super) const MAX_FRAME_BYTES: u32 = 1 << 28;

/// A frame is read in pieces of this size, so that memory grows with what has come, not with what a
/// length promises.
const PIECE_BYTES: usize = 1 << 16;

/// Records between the two are neither deflated nor coded: they cross a socket, no disk.
pub(super) const COMPRESSION: Compression =
    Compression { record: RecordCompression::None, signal: SignalCompression::None };

/// A frame that makes no sense.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("malformed frame: {0}")]
pub(super) struct BadFrame(pub(super) &'static str);

/// A request to a worker.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Request<'a> {
    /// To open a file and say what is in it.
    Open { path: &'a [u8], options: Fast5Options },
    /// To open a file whose header is known.
    Attach { path: &'a [u8], options: Fast5Options, header: &'a [u8] },
    /// A read of the file opened last.
    Read { index: u64 },
}

/// Answer of a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reply<'a> {
    /// The file's header, and [`append_names`] of its reads.
    Opened { header: &'a [u8], names: &'a [u8] },
    /// The file is open.
    Attached,
    /// A record without samples, and where these are.
    Read { offset_bytes: u64, samples: u64, record: &'a [u8] },
    /// It cannot be done, and why.
    Failed { reason: &'a [u8] },
}

/// Bytes of a frame from front to back.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], BadFrame> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(BadFrame("it is cut short"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], BadFrame> {
        self.take(N)?.try_into().map_err(|_| BadFrame("it is cut short"))
    }

    fn u64(&mut self) -> Result<u64, BadFrame> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// A piece preceded by its length.
    fn piece(&mut self) -> Result<&'a [u8], BadFrame> {
        let length = u32::from_le_bytes(self.array()?);
        self.take(length as usize)
    }

    fn end(self) -> Result<(), BadFrame> {
        if self.0.is_empty() { Ok(()) } else { Err(BadFrame("there is more in it than it says")) }
    }
}

/// Starts a frame in `out`, which becomes empty first.
fn begin(kind: u8, sequence: u64, out: &mut Vec<u8>) {
    out.clear();
    out.extend_from_slice(&[0; 4]);
    out.push(kind);
    out.extend_from_slice(&sequence.to_le_bytes());
}

fn piece(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), BadFrame> {
    let length = u32::try_from(bytes.len()).map_err(|_| BadFrame("it is too long"))?;
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(bytes);
    Ok(())
}

/// Puts the length first.
fn finish(out: &mut [u8]) -> Result<(), BadFrame> {
    let length = u32::try_from(out.len() - 4).ok().filter(|&length| length <= MAX_FRAME_BYTES);
    let length = length.ok_or(BadFrame("it is too long"))?;
    out[..4].copy_from_slice(&length.to_le_bytes());
    Ok(())
}

fn options_byte(options: Fast5Options) -> u8 {
    let Fast5Options {
        allow_run_id_mismatch,
        keep_unknown,
        complete_header,
        leave_out_auxiliary,
        mend_names,
    } = options;
    let flags =
        [allow_run_id_mismatch, keep_unknown, complete_header, leave_out_auxiliary, mend_names];
    flags.iter().rev().fold(0, |byte, &flag| byte << 1 | u8::from(flag))
}

fn options_of(byte: u8) -> Fast5Options {
    Fast5Options {
        allow_run_id_mismatch: byte & 1 != 0,
        keep_unknown: byte & 2 != 0,
        complete_header: byte & 4 != 0,
        leave_out_auxiliary: byte & 8 != 0,
        mend_names: byte & 16 != 0,
    }
}

impl<'a> Request<'a> {
    /// Makes `out` this frame.
    pub(super) fn write(&self, sequence: u64, out: &mut Vec<u8>) -> Result<(), BadFrame> {
        match *self {
            Self::Open { path, options } => {
                begin(1, sequence, out);
                out.push(options_byte(options));
                piece(path, out)?;
            }
            Self::Attach { path, options, header } => {
                begin(2, sequence, out);
                out.push(options_byte(options));
                piece(path, out)?;
                piece(header, out)?;
            }
            Self::Read { index } => {
                begin(3, sequence, out);
                out.extend_from_slice(&index.to_le_bytes());
            }
        }
        finish(out)
    }

    /// From a frame after its length, with its sequence number.
    pub(super) fn parse(frame: &'a [u8]) -> Result<(u64, Self), BadFrame> {
        let mut fields = Fields(frame);
        let [kind] = fields.array()?;
        let sequence = fields.u64()?;
        let request = match kind {
            1 => {
                let options = options_of(fields.array::<1>()?[0]);
                Self::Open { path: fields.piece()?, options }
            }
            2 => {
                let options = options_of(fields.array::<1>()?[0]);
                Self::Attach { path: fields.piece()?, options, header: fields.piece()? }
            }
            3 => Self::Read { index: fields.u64()? },
            _ => return Err(BadFrame("no such request")),
        };
        fields.end()?;
        Ok((sequence, request))
    }
}

impl<'a> Reply<'a> {
    /// Makes `out` this frame.
    pub(super) fn write(&self, sequence: u64, out: &mut Vec<u8>) -> Result<(), BadFrame> {
        match *self {
            Self::Opened { header, names } => {
                begin(1, sequence, out);
                piece(header, out)?;
                piece(names, out)?;
            }
            Self::Attached => begin(2, sequence, out),
            Self::Read { offset_bytes, samples, record } => {
                begin(3, sequence, out);
                out.extend_from_slice(&offset_bytes.to_le_bytes());
                out.extend_from_slice(&samples.to_le_bytes());
                piece(record, out)?;
            }
            Self::Failed { reason } => {
                begin(4, sequence, out);
                piece(reason, out)?;
            }
        }
        finish(out)
    }

    /// From a frame after its length, with its sequence number.
    pub(super) fn parse(frame: &'a [u8]) -> Result<(u64, Self), BadFrame> {
        let mut fields = Fields(frame);
        let [kind] = fields.array()?;
        let sequence = fields.u64()?;
        let reply = match kind {
            1 => Self::Opened { header: fields.piece()?, names: fields.piece()? },
            2 => Self::Attached,
            3 => Self::Read {
                offset_bytes: fields.u64()?,
                samples: fields.u64()?,
                record: fields.piece()?,
            },
            4 => Self::Failed { reason: fields.piece()? },
            _ => return Err(BadFrame("no such reply")),
        };
        fields.end()?;
        Ok((sequence, reply))
    }
}

/// Reads one frame into `frame`, without its length; `false` where the stream ends before one.
pub(super) fn read_frame(input: &mut impl Read, frame: &mut Vec<u8>) -> io::Result<bool> {
    let mut length = [0; 4];
    let first = loop {
        match input.read(&mut length) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => break other?,
        }
    };
    if first == 0 {
        return Ok(false);
    }
    input.read_exact(&mut length[first..])?;
    let length = u32::from_le_bytes(length);
    if length > MAX_FRAME_BYTES {
        let problem = BadFrame("it is longer than a frame may be");
        return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
    }
    frame.clear();
    let mut left = length as usize;
    while left > 0 {
        let start = frame.len();
        frame.resize(start + left.min(PIECE_BYTES), 0);
        input.read_exact(&mut frame[start..])?;
        left -= frame.len() - start;
    }
    Ok(true)
}

/// Appends read ids, each preceded by its length.
pub(super) fn append_names<'a>(
    mut names: impl Iterator<Item = &'a [u8]>,
    out: &mut Vec<u8>,
) -> Result<(), BadFrame> {
    names.try_for_each(|name| piece(name, out))
}

/// Read ids, one after the other.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Names {
    texts: Vec<u8>,
    ends: Vec<usize>,
}

impl Names {
    /// From [`append_names`].
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, BadFrame> {
        let mut fields = Fields(bytes);
        let mut names = Self::default();
        while !fields.0.is_empty() {
            names.texts.extend_from_slice(fields.piece()?);
            names.ends.push(names.texts.len());
        }
        Ok(names)
    }

    /// How many.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The one with this number; empty past the end.
    pub(super) fn get(&self, index: usize) -> &[u8] {
        let Some(&end) = self.ends.get(index) else { return &[] };
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.texts[start..end]
    }
}

/// A header from the bytes of a BLOW5 header, which must be all there is.
pub(super) fn parse_header(bytes: &[u8]) -> Result<SignalHeader, BadFrame> {
    match header::parse_binary(bytes) {
        Ok(Some((header, compression, end)))
            if end == bytes.len() && compression == COMPRESSION =>
        {
            Ok(header)
        }
        _ => Err(BadFrame("its header is malformed")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn requests() -> Vec<Request<'static>> {
        let options = Fast5Options { keep_unknown: true, ..Fast5Options::default() };
        vec![
            Request::Open { path: b"a/b.fast5", options },
            Request::Attach { path: b"", options: Fast5Options::default(), header: b"h" },
            Request::Read { index: u64::MAX },
        ]
    }

    fn replies() -> Vec<Reply<'static>> {
        vec![
            Reply::Opened { header: b"head", names: b"" },
            Reply::Attached,
            Reply::Read { offset_bytes: 3, samples: u64::MAX, record: b"r" },
            Reply::Failed { reason: b"it is broken" },
        ]
    }

    #[test]
    fn frames_come_back_as_they_were_and_cut_ones_are_refused() {
        let mut out = Vec::new();
        for (sequence, request) in (7..).zip(requests()) {
            request.write(sequence, &mut out).unwrap();
            assert_eq!(Request::parse(&out[4..]), Ok((sequence, request)));
            assert!((4..out.len()).all(|end| Request::parse(&out[4..end]).is_err()));
            out.push(0);
            assert!(Request::parse(&out[4..]).is_err());
        }
        for (sequence, reply) in (7..).zip(replies()) {
            reply.write(sequence, &mut out).unwrap();
            assert_eq!(Reply::parse(&out[4..]), Ok((sequence, reply)));
            assert!((4..out.len()).all(|end| Reply::parse(&out[4..end]).is_err()));
        }
    }

    #[test]
    fn options_survive() {
        for byte in 0..8 {
            assert_eq!(options_byte(options_of(byte)), byte);
        }
    }

    #[test]
    fn a_stream_is_cut_into_frames() {
        let (mut one, mut two, mut frame) = (Vec::new(), Vec::new(), Vec::new());
        Request::Read { index: 5 }.write(1, &mut one).unwrap();
        let long = vec![b'x'; 3 * PIECE_BYTES + 1];
        Reply::Failed { reason: &long }.write(2, &mut two).unwrap();
        let stream = [&one[..], &two].concat();
        let mut input = &stream[..];
        assert!(read_frame(&mut input, &mut frame).unwrap());
        assert_eq!(frame, one[4..]);
        assert!(read_frame(&mut input, &mut frame).unwrap());
        assert_eq!(frame, two[4..]);
        assert!(!read_frame(&mut input, &mut frame).unwrap());
        for end in (1..one.len()).chain(one.len() + 1..stream.len()) {
            let mut input = &stream[..end];
            let last = std::iter::from_fn(|| Some(read_frame(&mut input, &mut frame)));
            assert!(last.take(2).any(|read| read.is_err()), "{end}");
        }
    }

    #[test]
    fn a_length_that_is_only_promised_costs_no_memory() {
        let (mut frame, promise) = (Vec::new(), MAX_FRAME_BYTES.to_le_bytes());
        assert!(read_frame(&mut &promise[..], &mut frame).is_err());
        assert!(frame.capacity() <= 2 * PIECE_BYTES);
        let too_long = (MAX_FRAME_BYTES + 1).to_le_bytes();
        let error = read_frame(&mut &too_long[..], &mut frame).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn names_come_back_in_order() {
        let names: [&[u8]; 3] = [b"a", b"", b"read"];
        let mut out = Vec::new();
        append_names(names.iter().copied(), &mut out).unwrap();
        let parsed = Names::parse(&out).unwrap();
        assert_eq!(parsed.len(), 3);
        assert_eq!([parsed.get(0), parsed.get(1), parsed.get(2)], names);
        assert_eq!(parsed.get(3), b"");
        assert!(Names::parse(&out[..out.len() - 1]).is_err());
    }

    #[test]
    fn a_header_has_no_more_and_no_less() {
        let mut bytes = Vec::new();
        let header = SignalHeader::default();
        header::append_binary(&header, COMPRESSION, &mut bytes).unwrap();
        assert_eq!(parse_header(&bytes), Ok(header));
        assert!(parse_header(&bytes[..bytes.len() - 1]).is_err());
        bytes.push(b'\n');
        assert!(parse_header(&bytes).is_err());
    }

    proptest! {
        #[test]
        fn noise_is_no_reason_to_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Request::parse(&bytes);
            let _ = Reply::parse(&bytes);
            let _ = Names::parse(&bytes);
            let _ = parse_header(&bytes);
            let _ = read_frame(&mut &bytes[..], &mut Vec::new());
        }
    }
}
