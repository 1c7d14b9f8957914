//! A file as the threads of 2018 had it: one buffer, filled by whoever holds the lock.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use memchr::memchr;
use seqloom_format::bgzf::{self, BlockDecompressor};
use seqloom_format::fastq::{Grammar, ParseOptions, Stop, TextRange, parse};
use seqloom_format::{ReadBlock, ReadSpans, Span};

/// A file behind the lock.
pub(super) struct Feed {
    file: File,
    /// Bytes that one read requires.
    unit_bytes: usize,
    /// Text not taken yet, from `from` on; `reads` is scratch of the parser.
    text: ReadBlock,
    from: usize,
    ended: bool,
    bgzf: Option<Compressed>,
}

/// Compressed bytes not inflated yet, from `from` on.
#[derive(Default)]
struct Compressed {
    raw: Vec<u8>,
    from: usize,
    inflate: BlockDecompressor,
}

impl Feed {
    pub(super) fn open(path: &Path, is_bgzf: bool, unit_bytes: usize) -> io::Result<Self> {
        Ok(Self {
            file: File::open(path)?,
            unit_bytes,
            text: ReadBlock::default(),
            from: 0,
            ended: false,
            bgzf: is_bgzf.then(Compressed::default),
        })
    }

    /// Reads one unit (or inflates one block) after the text; false at the end.
    fn more(&mut self) -> io::Result<bool> {
        if self.ended {
            return Ok(false);
        }
        self.text.bytes.drain(..self.from);
        self.from = 0;
        let Some(compressed) = &mut self.bgzf else {
            self.ended = !append(&mut self.file, &mut self.text.bytes, self.unit_bytes)?;
            return Ok(!self.ended);
        };
        match compressed.next_block(&mut self.file, self.unit_bytes)? {
            None => self.ended = true,
            Some(range) => {
                let block = &compressed.raw[range];
                let inflated = compressed.inflate.decompress(block, &mut self.text.bytes);
                inflated.map_err(io::Error::other)?;
            }
        }
        Ok(!self.ended)
    }

    /// O: parses one record and copies it to `out`; false at the end.
    pub(super) fn parse_one(&mut self, out: &mut ReadBlock) -> io::Result<bool> {
        loop {
            self.text.reads.clear();
            let range = TextRange { from: self.from, limit: self.from + 1, at_eof: self.ended };
            let parsed = parse(Grammar::FourLine, &mut self.text, range, ParseOptions::default());
            match parsed.stop {
                Stop::Defect(defect) => return Err(io::Error::other(defect.kind.to_string())),
                Stop::NeedMore => {
                    self.more()?;
                    continue;
                }
                Stop::Done => {}
            }
            let Some(read) = self.text.reads.first() else { return Ok(false) };
            let (from, to) = (self.from, out.bytes.len());
            out.bytes.extend_from_slice(&self.text.bytes[from..parsed.end]);
            out.reads.push(moved(read, from, to));
            self.from = parsed.end;
            return Ok(true);
        }
    }

    /// D, B: copies the text of up to `records` records to `out`, without looking into them.
    pub(super) fn copy_records(&mut self, records: usize, out: &mut Vec<u8>) -> io::Result<bool> {
        let (mut bytes, mut lines) = (0, 0);
        while lines < 4 * records {
            if let Some(at) = memchr(b'\n', &self.text.bytes[self.from + bytes..]) {
                bytes += at + 1;
                lines += 1;
            } else if !self.more()? {
                bytes = self.text.bytes.len() - self.from;
                break;
            }
        }
        out.extend_from_slice(&self.text.bytes[self.from..self.from + bytes]);
        self.from += bytes;
        Ok(bytes > 0)
    }

    /// L: copies the next block, compressed as it is; false at the end.
    pub(super) fn copy_block(&mut self, out: &mut Vec<u8>) -> io::Result<bool> {
        let Some(compressed) = &mut self.bgzf else {
            return append(&mut self.file, out, self.unit_bytes);
        };
        let Some(range) = compressed.next_block(&mut self.file, self.unit_bytes)? else {
            return Ok(false);
        };
        out.extend_from_slice(&compressed.raw[range]);
        Ok(true)
    }
}

impl Compressed {
    /// Where the next block is in `raw`; `None` at the end.
    fn next_block(
        &mut self,
        file: &mut File,
        unit_bytes: usize,
    ) -> io::Result<Option<std::ops::Range<usize>>> {
        loop {
            let waiting = &self.raw[self.from..];
            let header = bgzf::parse_block_header(waiting).ok();
            if let Some(header) = header.filter(|header| header.block_bytes <= waiting.len()) {
                let range = self.from..self.from + header.block_bytes;
                self.from = range.end;
                return Ok(Some(range));
            }
            self.raw.drain(..self.from);
            self.from = 0;
            if !append(file, &mut self.raw, unit_bytes)? {
                return match self.raw.is_empty() {
                    true => Ok(None),
                    false => Err(io::Error::other("the BGZF file ends within a block")),
                };
            }
        }
    }
}

/// Appends up to `bytes` bytes of a file; false if there were none.
fn append(file: &mut File, out: &mut Vec<u8>, bytes: usize) -> io::Result<bool> {
    let before = out.len();
    file.take(bytes as u64).read_to_end(out)?;
    Ok(out.len() > before)
}

/// Spans of a read whose text was copied from `from` to `to`.
fn moved(read: &ReadSpans, from: usize, to: usize) -> ReadSpans {
    let shift = |span: Span| Span { start: span.start - from as u32 + to as u32, len: span.len };
    ReadSpans {
        name: shift(read.name),
        bases: shift(read.bases),
        qualities: shift(read.qualities),
        extra: Span::default(),
    }
}
