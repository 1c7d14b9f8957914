//! Where calls go: text, and BAM. Both are whole or have no name.

use std::path::{Path, PathBuf};

use seqloom_format::bam::{Header, RecordRef};
use seqloom_format::bgzf::{BlockCompressor, EOF_BLOCK, MAX_PAYLOAD_BYTES, VirtualOffset};
use seqloom_format::index::{IndexBuilder, IndexFragment};
use seqloom_io::sidecars::bam_indices;
use seqloom_io::{AtomicFile, Output, Publication};
use seqloom_prep::input::headers::MergeError;
use seqloom_terminal::error::Bug;

use super::error::PassError;
use super::pass::Pass;
use crate::output::arguments::IndexKind;
use crate::output::command_line;
use crate::output::index::{IndexFormat, file as index_file};

/// Text that is handed to the system at once.
const WRITE_BYTES: usize = 1 << 20;

/// Level of compression: samtools' default, where size and time are in balance.
const BAM_LEVEL: u8 = 6;

/// One output of text.
pub(super) struct TextSink {
    output: Output,
    waiting: Vec<u8>,
}

impl TextSink {
    /// Opens it; `header` is its first line.
    pub(super) fn create(path: &Path, header: &[u8]) -> Result<Self, PassError> {
        Ok(Self { output: Output::create(path)?, waiting: header.to_vec() })
    }

    /// Appends whole lines.
    pub(super) fn write(&mut self, text: &[u8]) -> Result<(), PassError> {
        self.waiting.extend_from_slice(text);
        if self.waiting.len() >= WRITE_BYTES { self.flush() } else { Ok(()) }
    }

    /// Bytes of the file so far.
    fn bytes(&self) -> u64 {
        self.output.written_bytes() + self.waiting.len() as u64
    }

    fn flush(&mut self) -> Result<(), PassError> {
        self.output.write(&self.waiting)?;
        self.waiting.clear();
        Ok(())
    }

    /// Ends the file, which is still to get its name; `None` for standard output.
    pub(super) fn finish(mut self, pass: &Pass<'_>) -> Result<Option<AtomicFile>, PassError> {
        self.flush()?;
        pass.wrote(self.output.written_bytes());
        Ok(self.output.into_file())
    }
}

/// One output of BAM, sorted by coordinate, with its index where it is a file. Blocks are cut where
/// they are full: bytes depend on the records alone.
pub(super) struct BamSink {
    path: PathBuf,
    text: TextSink,
    compressor: BlockCompressor,
    /// Begins where a block begins, and is shorter than that.
    waiting: Vec<u8>,
    block: Vec<u8>,
    index: Option<Entries>,
}

/// Entries of the index.
struct Entries {
    format: IndexFormat,
    all: IndexBuilder,
    /// Entries of records that begin in the block that waits.
    waiting: IndexFragment,
}

impl BamSink {
    /// Opens it and writes the header, with this program in it.
    pub(super) fn create(path: &Path, header: &Header) -> seqloom_terminal::Result<Self> {
        let mut header = header.clone();
        header.add_program("seqloom", env!("CARGO_PKG_VERSION"), &command_line());
        let text = TextSink::create(path, b"")?;
        let references = header.references();
        let is_file = text.output.is_regular_file();
        let index = IndexFormat::choose(IndexKind::Auto, references, is_file)?;
        let entries = |format: IndexFormat| Entries {
            format,
            all: format.builder(references.len()),
            waiting: IndexFragment::new(format.scheme()),
        };
        let mut sink = Self {
            path: path.to_owned(),
            text,
            compressor: BlockCompressor::new(BAM_LEVEL).map_err(Bug::new)?,
            waiting: header.encode().map_err(MergeError::Header)?,
            block: Vec::new(),
            index: index.map(entries),
        };
        sink.flush()?;
        Ok(sink)
    }

    /// Appends a record, its length before it.
    pub(super) fn write(&mut self, body: &[u8]) -> Result<(), PassError> {
        if let Some(index) = &mut self.index {
            let start = VirtualOffset::new(self.text.bytes(), self.waiting.len() as u16);
            let record = RecordRef::new(body).map_err(refused)?;
            let start = start.ok_or_else(|| refused("the BAM file is too long for an index"))?;
            index.waiting.push_record(&record, start).map_err(refused)?;
        }
        self.waiting.extend_from_slice(&(body.len() as u32).to_le_bytes());
        self.waiting.extend_from_slice(body);
        let whole = self.waiting.len() / MAX_PAYLOAD_BYTES * MAX_PAYLOAD_BYTES;
        if whole > 0 { self.compress(whole) } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), PassError> {
        self.compress(self.waiting.len())
    }

    fn compress(&mut self, bytes: usize) -> Result<(), PassError> {
        for payload in self.waiting[..bytes].chunks(MAX_PAYLOAD_BYTES) {
            self.block.clear();
            self.compressor.compress(payload, &mut self.block).map_err(refused)?;
            self.text.write(&self.block)?;
        }
        self.waiting.drain(..bytes);
        if let Some(index) = &mut self.index {
            // Offsets count from the start of the file.
            index.all.append(&index.waiting, 0).map_err(refused)?;
            index.waiting.clear();
        }
        Ok(())
    }

    /// Ends the file; it and its index get their names with what else is published.
    pub(super) fn finish(
        mut self,
        pass: &Pass<'_>,
        with: &mut Publication,
    ) -> Result<(), PassError> {
        self.flush()?;
        let end = VirtualOffset::new(self.text.bytes(), 0).unwrap_or_default();
        self.text.write(&EOF_BLOCK)?;
        if self.text.output.is_regular_file() {
            with.stale.extend(bam_indices(&self.path));
        }
        let mut index = None;
        if let Some(Entries { format, all, .. }) = self.index {
            let bytes = format.finish(all, end).map_err(refused)?;
            index = index_file(&self.path, format.suffix(), &bytes)?;
        }
        with.sidecars.extend(self.text.finish(pass)?.into_iter().chain(index));
        Ok(())
    }
}

fn refused(error: impl ToString) -> PassError {
    PassError::Input(error.to_string())
}
