//! Where calls go: text, and BAM. Both are whole or have no name.

use std::path::Path;

use seqloom_format::bam::Header;
use seqloom_format::bgzf::{BlockCompressor, EOF_BLOCK, MAX_PAYLOAD_BYTES};
use seqloom_io::sink::output::{Output, OutputError};

use super::pass::{Pass, PassError};
use crate::output::command_line;

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

    fn flush(&mut self) -> Result<(), PassError> {
        self.output.write(&self.waiting)?;
        self.waiting.clear();
        Ok(())
    }

    /// Ends the file and gives it its name.
    pub(super) fn publish(mut self, pass: &Pass<'_>) -> Result<(), PassError> {
        self.flush()?;
        pass.wrote(self.output.written_bytes());
        let named = self.output.into_file().map_or(Ok(()), |file| file.commit());
        Ok(named.map_err(OutputError::from)?)
    }
}

/// One output of BAM. Blocks are cut where they are full: bytes depend on the records alone.
pub(super) struct BamSink {
    text: TextSink,
    compressor: BlockCompressor,
    waiting: Vec<u8>,
    block: Vec<u8>,
}

impl BamSink {
    /// Opens it and writes the header, with this program in it.
    pub(super) fn create(path: &Path, header: &Header) -> anyhow::Result<Self> {
        let mut header = header.clone();
        header.add_program("seqloom", env!("CARGO_PKG_VERSION"), &command_line());
        let mut sink = Self {
            text: TextSink::create(path, b"")?,
            compressor: BlockCompressor::new(BAM_LEVEL)?,
            waiting: Vec::new(),
            block: Vec::new(),
        };
        sink.write(&header.encode()?)?;
        sink.flush()?;
        Ok(sink)
    }

    /// Appends records, each with its length in front.
    pub(super) fn write(&mut self, records: &[u8]) -> Result<(), PassError> {
        self.waiting.extend_from_slice(records);
        let whole = self.waiting.len() / MAX_PAYLOAD_BYTES * MAX_PAYLOAD_BYTES;
        self.compress(whole)
    }

    fn flush(&mut self) -> Result<(), PassError> {
        self.compress(self.waiting.len())
    }

    fn compress(&mut self, bytes: usize) -> Result<(), PassError> {
        for payload in self.waiting[..bytes].chunks(MAX_PAYLOAD_BYTES) {
            self.block.clear();
            let compressed = self.compressor.compress(payload, &mut self.block);
            compressed.map_err(|error| PassError::Refused(error.to_string()))?;
            self.text.write(&self.block)?;
        }
        self.waiting.drain(..bytes);
        Ok(())
    }

    /// Ends the file and gives it its name.
    pub(super) fn publish(mut self, pass: &Pass<'_>) -> Result<(), PassError> {
        self.flush()?;
        self.text.write(&EOF_BLOCK)?;
        self.text.publish(pass)
    }
}
