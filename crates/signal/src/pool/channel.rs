//! The parent's end of the line to one worker. What comes over it is not trusted.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use seqloom_format::hdf5::MAX_ELEMENTS;
use seqloom_format::signal::{SignalHeader, SignalRead};
use seqloom_format::slow5::binary::{Frame, RecordDecoder, parse_frame};

use super::protocol::{self, BadFrame, COMPRESSION, Names, Reply, Request};

/// Samples are read from shared memory in pieces of this many bytes.
const PIECE_BYTES: usize = 1 << 15;

/// Shared memory is given back to the system when a read leaves more of it behind.
const KEEP_SHARED_BYTES: u64 = 8 << 20;

/// Bytes of a record's length, before it.
const LENGTH_BYTES: usize = 8;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum ChannelError {
    /// The worker says that it cannot be done: the only one after which the worker is still good.
    #[error("{0}")]
    Failed(String),
    /// The socket is closed: the worker is gone.
    #[error("the socket to the worker process failed: {0}")]
    Closed(io::Error),
    /// It took too long.
    #[error("there was no answer within {} s", .0.as_secs_f64())]
    TimedOut(Duration),
    /// The answer makes no sense.
    #[error("the worker gave a wrong answer: {0}")]
    Wrong(String),
    /// Shared memory cannot be read.
    #[error("cannot read shared memory: {0}")]
    Shared(io::Error),
}

impl From<BadFrame> for ChannelError {
    fn from(problem: BadFrame) -> Self {
        Self::Wrong(problem.0.to_owned())
    }
}

fn wrong(what: &str) -> ChannelError {
    ChannelError::Wrong(what.to_owned())
}

/// The connection to one worker process.
pub(super) struct Channel {
    stream: UnixStream,
    shared: File,
    timeout: Duration,
    sequence: u64,
    out: Vec<u8>,
    frame: Vec<u8>,
    piece: Vec<u8>,
    decoder: RecordDecoder,
}

/// Reads from a stream until a moment.
struct Until<'a> {
    stream: &'a UnixStream,
    deadline: Instant,
}

impl Read for Until<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        self.stream.read(out)
    }
}

impl Channel {
    /// Over a stream, with the memory that the other end writes samples to.
    pub(super) fn new(stream: UnixStream, shared: File, timeout: Duration) -> io::Result<Self> {
        stream.set_write_timeout(Some(timeout))?;
        let decoder = RecordDecoder::new(COMPRESSION).map_err(io::Error::other)?;
        let (out, frame, piece) = (Vec::new(), Vec::new(), vec![0; PIECE_BYTES]);
        Ok(Self { stream, shared, timeout, sequence: 0, out, frame, piece, decoder })
    }

    /// Has a file opened; its header and the ids of its reads.
    pub(super) fn open(
        &mut self,
        request: &Request<'_>,
    ) -> Result<(SignalHeader, Names), ChannelError> {
        self.exchange(request)?;
        match self.reply()? {
            Reply::Opened { header, names } => {
                Ok((protocol::parse_header(header)?, Names::parse(names)?))
            }
            _ => Err(wrong("to another request")),
        }
    }

    /// Has a file opened whose header is known.
    pub(super) fn attach(&mut self, request: &Request<'_>) -> Result<(), ChannelError> {
        self.exchange(request)?;
        match self.reply()? {
            Reply::Attached => Ok(()),
            _ => Err(wrong("to another request")),
        }
    }

    /// Has one read of the file read into `read`.
    pub(super) fn read(
        &mut self,
        index: u64,
        header: &SignalHeader,
        read: &mut SignalRead,
    ) -> Result<(), ChannelError> {
        self.exchange(&Request::Read { index })?;
        let Reply::Read { offset_bytes, samples, record } =
            Self::parse(&self.frame, self.sequence)?
        else {
            return Err(wrong("to another request"));
        };
        let stored = match parse_frame(record, Some(record.len() as u64)) {
            Ok(Frame::Record { stored_bytes }) => {
                record.get(LENGTH_BYTES..).filter(|body| body.len() == stored_bytes)
            }
            _ => None,
        };
        let stored = stored.ok_or_else(|| wrong("its record is malformed"))?;
        let decoded = self.decoder.decode(stored, header, read);
        decoded.map_err(|error| ChannelError::Wrong(error.to_string()))?;
        if !read.samples.is_empty() {
            return Err(wrong("samples in the record"));
        }
        self.take_samples(offset_bytes, samples, &mut read.samples)
    }

    /// Copies samples out of shared memory, after a look whether they can be there.
    fn take_samples(
        &mut self,
        offset_bytes: u64,
        samples: u64,
        out: &mut Vec<i16>,
    ) -> Result<(), ChannelError> {
        let size_bytes = self.shared.metadata().map_err(ChannelError::Shared)?.len();
        let end = samples.checked_mul(2).and_then(|bytes| bytes.checked_add(offset_bytes));
        if samples > MAX_ELEMENTS || end.is_none_or(|end| end > size_bytes) {
            return Err(wrong("samples outside the shared memory"));
        }
        let (mut at, end) = (offset_bytes, offset_bytes + 2 * samples);
        while at < end {
            let count = (end - at).min(PIECE_BYTES as u64) as usize;
            let piece = &mut self.piece[..count];
            // The other end may cut the memory short meanwhile: that is an error, no SIGBUS.
            self.shared.read_exact_at(piece, at).map_err(ChannelError::Shared)?;
            let (pairs, _) = piece.as_chunks::<2>();
            out.extend(pairs.iter().map(|pair| i16::from_le_bytes(*pair)));
            at += count as u64;
        }
        if size_bytes > KEEP_SHARED_BYTES {
            self.shared.set_len(0).map_err(ChannelError::Shared)?;
        }
        Ok(())
    }

    /// Sends a request and waits for the frame of its reply.
    fn exchange(&mut self, request: &Request<'_>) -> Result<(), ChannelError> {
        self.sequence += 1;
        request.write(self.sequence, &mut self.out)?;
        let failed = |error: io::Error| match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => ChannelError::TimedOut(self.timeout),
            ErrorKind::InvalidData => ChannelError::Wrong(error.to_string()),
            _ => ChannelError::Closed(error),
        };
        let deadline = Instant::now() + self.timeout;
        (&self.stream).write_all(&self.out).map_err(failed)?;
        let mut input = Until { stream: &self.stream, deadline };
        match protocol::read_frame(&mut input, &mut self.frame) {
            Ok(true) => Ok(()),
            Ok(false) => Err(ChannelError::Closed(ErrorKind::UnexpectedEof.into())),
            Err(error) => Err(failed(error)),
        }
    }

    fn reply(&self) -> Result<Reply<'_>, ChannelError> {
        Self::parse(&self.frame, self.sequence)
    }

    /// The reply in `frame`, which must be to the request of this number.
    fn parse(frame: &[u8], expected: u64) -> Result<Reply<'_>, ChannelError> {
        let (sequence, reply) = Reply::parse(frame)?;
        match reply {
            _ if sequence != expected => Err(wrong("to a request of another number")),
            Reply::Failed { reason } => {
                Err(ChannelError::Failed(String::from_utf8_lossy(reason).into_owned()))
            }
            reply => Ok(reply),
        }
    }
}
