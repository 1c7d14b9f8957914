//! The worker's side: one FAST5 file at a time, one request after the other.
//!
//! A worker ends when its input ends, and when its parent does. What is wrong with a file is an
//! answer; what is wrong with the requests, or with the memory that is shared, ends the worker.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use seqloom_format::hdf5::Hdf5File;
use seqloom_format::signal::SignalRead;
use seqloom_format::slow5::binary::RecordEncoder;
use seqloom_format::slow5::{RecordError, header};
use seqloom_io::PositionedFile;

use super::protocol::{self, BadFrame, COMPRESSION, Reply, Request};
use super::sys;
use crate::store::fast5::{Engine, Fast5File, Fast5Options, Fast5Scratch};

/// Environment variable of tests, `READ_ID=FILE`: a worker that gets this read writes its
/// process number to FILE and waits for ever, unless FILE is there already.
const HOLD: &str = "SEQLOOM_FAST5_HOLD";

/// Samples are written to shared memory in pieces of this many.
const PIECE_SAMPLES: usize = 1 << 14;

/// Why a worker cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// A stream, or the shared memory, cannot be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A request makes no sense.
    #[error("{0}")]
    Request(String),
}

impl From<BadFrame> for WorkerError {
    fn from(problem: BadFrame) -> Self {
        Self::Request(problem.to_string())
    }
}

/// An engine that opens files by name.
pub trait OpenByPath: Engine + Sized {
    /// Opens a file.
    ///
    /// # Errors
    /// Why not, in words.
    fn open_path(path: &Path) -> Result<Self, String>;
}

impl OpenByPath for Hdf5File {
    fn open_path(path: &Path) -> Result<Self, String> {
        let file =
            PositionedFile::open(path).map_err(|error| format!("cannot be opened: {error}"))?;
        Self::open(Arc::new(file)).map_err(|error| error.to_string())
    }
}

/// How a worker is called: what [`super::Fast5Pool`] gives it, and the command line hands over.
#[derive(Debug, Clone, Copy)]
pub struct WorkerOptions {
    /// Descriptor of the shared memory.
    pub shared_descriptor: u32,
    /// Number of the process that the worker works for.
    pub parent: u32,
}

/// Works until standard input ends. `E` reads the files.
///
/// # Errors
/// [`WorkerError`].
pub fn run<E: OpenByPath>(options: WorkerOptions) -> Result<(), WorkerError> {
    sys::end_with_parent(options.parent)?;
    let path = format!("/proc/self/fd/{}", options.shared_descriptor);
    let shared = File::options().read(true).write(true).open(path)?;
    let (input, output) = (io::stdin().lock(), io::stdout().lock());
    serve::<E>(input, output, &shared)
}

/// Working memory, kept between requests.
struct Server<'a, E: Engine> {
    shared: &'a File,
    file: Option<Fast5File<E>>,
    scratch: Fast5Scratch<E>,
    read: SignalRead,
    encoder: RecordEncoder,
    /// Header, names or record of the reply.
    first: Vec<u8>,
    second: Vec<u8>,
    bytes: Vec<u8>,
    hold: Option<(Vec<u8>, PathBuf)>,
}

/// Answers requests until `input` ends.
pub(super) fn serve<E: OpenByPath>(
    mut input: impl Read,
    mut output: impl Write,
    shared: &File,
) -> Result<(), WorkerError> {
    let encoder = RecordEncoder::new(COMPRESSION).map_err(io::Error::other)?;
    let mut server = Server::<E> {
        shared,
        file: None,
        scratch: Fast5Scratch::default(),
        read: SignalRead::default(),
        encoder,
        first: Vec::new(),
        second: Vec::new(),
        bytes: Vec::new(),
        hold: held_read(),
    };
    let (mut frame, mut out) = (Vec::new(), Vec::new());
    while protocol::read_frame(&mut input, &mut frame)? {
        let (sequence, request) = Request::parse(&frame)?;
        match server.answer(&request)? {
            Ok(reply) => reply.write(sequence, &mut out)?,
            Err(reason) => {
                Reply::Failed { reason: reason.as_bytes() }.write(sequence, &mut out)?;
            }
        }
        output.write_all(&out)?;
        output.flush()?;
    }
    Ok(())
}

/// An answer, or why there is none.
type Answer<'a> = Result<Reply<'a>, String>;

impl<E: OpenByPath> Server<'_, E> {
    fn answer(&mut self, request: &Request<'_>) -> Result<Answer<'_>, WorkerError> {
        match *request {
            Request::Open { path, options } => Ok(self.open(path, options)),
            Request::Attach { path, options, header } => {
                let known = protocol::parse_header(header)?;
                // What it is for is in that header already.
                let options = Fast5Options { complete_header: false, ..options };
                Ok(self.load(path, options).map(|file| {
                    file.set_auxiliary(known.auxiliary);
                    Reply::Attached
                }))
            }
            Request::Read { index } => self.read(usize::try_from(index).unwrap_or(usize::MAX)),
        }
    }

    fn load(&mut self, path: &[u8], options: Fast5Options) -> Result<&mut Fast5File<E>, String> {
        self.file = None;
        let path = Path::new(OsStr::from_bytes(path));
        let engine = E::open_path(path)?;
        let file = Fast5File::with_engine(engine, path, options, &mut self.scratch);
        Ok(self.file.insert(file.map_err(|error| error.without_path())?))
    }

    fn open(&mut self, path: &[u8], options: Fast5Options) -> Answer<'_> {
        self.load(path, options)?;
        let Some(file) = &self.file else { return Err("the file is not open".to_owned()) };
        self.first.clear();
        self.second.clear();
        let written = header::append_binary(file.header(), COMPRESSION, &mut self.first);
        written.map_err(|error| error.to_string())?;
        let names = (0..file.reads()).map(|index| file.read_id(index));
        protocol::append_names(names, &mut self.second).map_err(|error| error.to_string())?;
        Ok(Reply::Opened { header: &self.first, names: &self.second })
    }

    fn read(&mut self, index: usize) -> Result<Answer<'_>, WorkerError> {
        let Some(file) = &self.file else {
            return Err(WorkerError::Request("a read of no file".to_owned()));
        };
        if let Some((id, marker)) = &self.hold
            && file.read_id(index) == id
        {
            hold(marker)?;
        }
        if let Err(error) = file.read(index, &mut self.scratch, &mut self.read) {
            return Ok(Err(error.problem.to_string()));
        }
        let samples = self.read.samples.len() as u64;
        share(&self.read.samples, self.shared, &mut self.bytes)?;
        self.read.samples.clear();
        self.first.clear();
        let encoded: Result<(), RecordError> =
            self.encoder.append(&self.read, file.header(), &mut self.first);
        if let Err(error) = encoded {
            return Ok(Err(error.to_string()));
        }
        Ok(Ok(Reply::Read { offset_bytes: 0, samples, record: &self.first }))
    }
}

/// Puts samples at the start of the shared memory.
fn share(samples: &[i16], shared: &File, bytes: &mut Vec<u8>) -> io::Result<()> {
    let mut offset = 0;
    for piece in samples.chunks(PIECE_SAMPLES) {
        bytes.clear();
        bytes.extend(piece.iter().flat_map(|sample| sample.to_le_bytes()));
        shared.write_all_at(bytes, offset)?;
        offset += bytes.len() as u64;
    }
    Ok(())
}

fn held_read() -> Option<(Vec<u8>, PathBuf)> {
    let value = std::env::var_os(HOLD)?;
    let at = value.as_bytes().iter().position(|&byte| byte == b'=')?;
    let (id, path) = value.as_bytes().split_at(at);
    Some((id.to_owned(), PathBuf::from(OsStr::from_bytes(&path[1..]))))
}

/// See [`HOLD`].
fn hold(marker: &Path) -> io::Result<()> {
    match File::create_new(marker) {
        Ok(mut file) => file.write_all(format!("{}\n", std::process::id()).as_bytes())?,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
        Err(error) => return Err(error),
    }
    loop {
        std::thread::sleep(Duration::from_secs(3600));
    }
}
