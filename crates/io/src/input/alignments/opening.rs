//! What an input is, found out from its first bytes, and its header.

use std::path::Path;

use seqloom_format::bam::{Header, HeaderError, LineProblem, MAX_HEADER_LINE_BYTES};
use seqloom_format::bgzf::{self, BgzfError, VirtualOffset};

use super::chunk::BgzfPosition;
use super::error::AlignmentError;
use crate::cram::Consumer;
use crate::input::SAMPLE_BYTES;
use crate::input::bam::{MAX_HEADER_BYTES, more_header_bytes};
use crate::input::error::{HeaderProblem, InputError};
use crate::input::header::RecordFormat;
use crate::input::raw::Input;
use crate::input::reader::TextReader;
use crate::input::trailing;
use crate::input::window::BlockError;

/// Kind of aligned reads, recognised by content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AlignmentFormat {
    /// BAM, in BGZF, gzip, zstd or nothing.
    Bam,
    /// SAM text, likewise.
    Sam,
    /// CRAM 3.0 or 3.1.
    Cram,
}

/// An input whose header is read.
pub(super) struct Opened {
    pub(super) reader: TextReader,
    /// Text read so far, after the header.
    pub(super) text: Vec<u8>,
    pub(super) format: AlignmentFormat,
    pub(super) header: Header,
    pub(super) header_bytes: u64,
    /// Lines of a SAM header.
    pub(super) header_lines: u64,
    /// Decompressing failed after `text`.
    pub(super) fault: Option<InputError>,
}

/// Opens one input and reads its header, waiting for data of a pipe as long as it takes.
pub(super) fn open(path: &Path, allow_truncated: bool) -> Result<Opened, AlignmentError> {
    let mut reader = TextReader::new(Input::open(path)?, 0);
    if allow_truncated {
        reader.allow_truncation();
    }
    let mut text = Vec::new();
    let mut want = SAMPLE_BYTES;
    loop {
        // Data that are damaged after the header are a record's fault.
        let (ended, fault) = match reader.fill_waiting(&mut text, want) {
            Ok(ended) => (ended, None),
            Err(fault) => (true, Some(fault)),
        };
        match read_header(&text, ended, reader.input()) {
            Ok(None) => {
                want = more_header_bytes(text.len());
            }
            Ok(Some((format, header, header_bytes, header_lines))) => {
                text.drain(..header_bytes);
                let header_bytes = header_bytes as u64;
                return Ok(Opened {
                    reader,
                    text,
                    format,
                    header,
                    header_bytes,
                    header_lines,
                    fault,
                });
            }
            Err(error) => return Err(fault.map_or(error, AlignmentError::Input)),
        }
    }
}

/// Format, header, its bytes and lines; `None` if more text is needed first.
fn read_header(
    text: &[u8],
    ended: bool,
    input: &Input,
) -> Result<Option<(AlignmentFormat, Header, usize, u64)>, AlignmentError> {
    let of_records = |records: RecordFormat| {
        let header = records.read_header(text, ended, input, Consumer::Alignments);
        header.map(|header| header.map(|(header, bytes)| (header, bytes, 0)))
    };
    let format = sniff(text, ended).map_err(|(problem, hint)| input.unsupported(problem, hint))?;
    let header = match format {
        AlignmentFormat::Bam => of_records(RecordFormat::Bam),
        AlignmentFormat::Cram => of_records(RecordFormat::Cram),
        AlignmentFormat::Sam => parse_sam(text, ended).map_err(HeaderProblem::Text),
    };
    let header = header.map_err(|problem| match problem {
        HeaderProblem::Input(error) => AlignmentError::Input(error),
        HeaderProblem::Text(source) => {
            AlignmentError::Header { path: input.path.to_path_buf(), source }
        }
    })?;
    Ok(header.map(|(header, bytes, lines)| (format, header, bytes, lines)))
}

/// The error is what it is instead and what to do.
fn sniff(text: &[u8], ended: bool) -> Result<AlignmentFormat, (String, &'static str)> {
    const EXPECTED: &str = "BAM, CRAM or SAM is expected";
    const ALIGN: &str = "reads that are not aligned yet are for `seqloom align`";
    match RecordFormat::sniff(text)? {
        Some(RecordFormat::Bam) => return Ok(AlignmentFormat::Bam),
        Some(RecordFormat::Cram) => return Ok(AlignmentFormat::Cram),
        None => {}
    }
    match text {
        [] => Err(("the input is empty".into(), EXPECTED)),
        _ if is_header_line(text) || is_record_line(text, ended) => Ok(AlignmentFormat::Sam),
        [b'@' | b'>', ..] => Err(("FASTQ or FASTA, not aligned reads".into(), ALIGN)),
        [first, ..] => {
            let first = char::from(*first);
            Err((format!("neither BAM, CRAM nor SAM: the first byte is {first:?}"), EXPECTED))
        }
    }
}

/// `@`, two letters and a tab: FASTQ hardly has such a name and comment.
fn is_header_line(text: &[u8]) -> bool {
    matches!(text, [b'@', a, b, b'\t', ..] if a.is_ascii_uppercase() && b.is_ascii_uppercase())
}

/// A SAM record without any header: 11 fields, and the second a number.
fn is_record_line(text: &[u8], ended: bool) -> bool {
    let line = match memchr::memchr(b'\n', text) {
        Some(newline) => &text[..newline],
        None if ended || text.len() >= SAMPLE_BYTES => text,
        None => return false,
    };
    let mut fields = line.split(|&byte| byte == b'\t');
    let flags = fields.nth(1).unwrap_or_default();
    let is_number = !flags.is_empty() && flags.iter().all(u8::is_ascii_digit);
    // Of a very long first line the end is not at hand.
    is_number && (fields.count() >= 9 || line.len() == text.len())
}

/// Header, bytes and lines; `None` if more text is needed first.
type ReadHeader = Option<(Header, usize, u64)>;

/// The first lines that start with `@`, up to one that is a record whose name does.
fn parse_sam(text: &[u8], ended: bool) -> Result<ReadHeader, HeaderError> {
    let (mut end, mut lines) = (0, 0);
    while text.get(end) == Some(&b'@') {
        if !is_header_line(&text[end..]) && is_record_line(&text[end..], ended) {
            break;
        }
        let newline = memchr::memchr(b'\n', &text[end..]);
        lines += 1;
        if newline.unwrap_or(text.len() - end) > MAX_HEADER_LINE_BYTES {
            let line = usize::try_from(lines).unwrap_or(usize::MAX);
            return Err(HeaderError::Line { line, problem: LineProblem::TooLong });
        }
        match newline {
            Some(newline) => end += newline + 1,
            None if ended => end = text.len(),
            None => return more(text),
        }
    }
    if end == text.len() && !ended {
        return more(text);
    }
    Ok(Some((Header::parse(&text[..end])?, end, lines)))
}

fn more(text: &[u8]) -> Result<ReadHeader, HeaderError> {
    if text.len() > MAX_HEADER_BYTES { Err(HeaderError::TooLarge) } else { Ok(None) }
}

/// Where the text of a BGZF file at `byte` is: the block, and the offset in it. The end of the
/// file where nothing is there.
pub(super) fn locate(input: &Input, size: u64, byte: u64) -> Result<BgzfPosition, InputError> {
    let (mut block, mut skip) = (0, byte);
    while block < size {
        let sizes = block_sizes(input, size, block).map_err(|error| error.at(input, block))?;
        // A block that is cut short is found out by whoever reads it.
        let Some(sizes) = sizes else { break };
        if skip < sizes.inflated_bytes {
            break;
        }
        skip -= sizes.inflated_bytes;
        block += sizes.block_bytes;
    }
    Ok(BgzfPosition { block: block.min(size), skip })
}

/// The place of an offset of an index, if it can be one.
pub(super) fn place_at(
    input: &Input,
    size: u64,
    offset: VirtualOffset,
) -> Result<BgzfPosition, AlignmentError> {
    let (block, skip) = (offset.block_offset(), u64::from(offset.offset_in_block()));
    let is_block = match block_sizes(input, size, block) {
        Ok(sizes) => sizes.is_some_and(|sizes| skip <= sizes.inflated_bytes),
        Err(BlockError::Damaged(_)) => false,
        Err(BlockError::Source(error)) => return Err(error.into()),
    };
    let path = || input.path.to_path_buf();
    is_block
        .then_some(BgzfPosition { block, skip })
        .ok_or_else(|| AlignmentError::Start { path: path(), offset })
}

/// Bytes of a BGZF block, and of what it inflates to.
struct BlockSizes {
    block_bytes: u64,
    inflated_bytes: u64,
}

/// Sizes of the BGZF block at `block`; `None` if it is cut short.
fn block_sizes(input: &Input, size: u64, block: u64) -> Result<Option<BlockSizes>, BlockError> {
    let mut head = [0; bgzf::MAX_BLOCK_BYTES];
    let bytes = size.saturating_sub(block).min(head.len() as u64) as usize;
    input.read_exact_at(&mut head[..bytes], block)?;
    let parsed = bgzf::parse_block_header(&head[..bytes])?;
    let inflated = head[..bytes].get(parsed.block_bytes - 4..parsed.block_bytes);
    let inflated = inflated.and_then(|bytes| bytes.first_chunk()).copied().map(u32::from_le_bytes);
    let block_bytes = parsed.block_bytes as u64;
    Ok(inflated.map(|bytes| BlockSizes { block_bytes, inflated_bytes: bytes.into() }))
}

/// Whether a BGZF file ends with an empty block.
pub(super) fn ends_with_eof_block(input: &Input, size: u64) -> Result<bool, InputError> {
    let mut tail = [0; bgzf::EOF_BLOCK.len()];
    let Some(start) = size.checked_sub(tail.len() as u64) else { return Ok(false) };
    input.read_exact_at(&mut tail, start)?;
    Ok(tail == bgzf::EOF_BLOCK)
}

/// How far before the end of a file its empty block is looked for.
const TAIL_BYTES: u64 = 64 * 1024;

/// Refuses a BGZF file in which something else than a block follows the empty block that ends
/// complete files.
pub(super) fn refuse_trailing(input: &Input, size: u64) -> Result<(), InputError> {
    let mut tail = vec![0; size.min(TAIL_BYTES) as usize];
    let start = size - tail.len() as u64;
    input.read_exact_at(&mut tail, start)?;
    let Some(at) = memchr::memmem::rfind(&tail, &bgzf::EOF_BLOCK) else { return Ok(()) };
    let end = at + bgzf::EOF_BLOCK.len();
    match bgzf::parse_block_header(&tail[end..]) {
        Ok(_) | Err(BgzfError::Truncated { .. }) => Ok(()),
        Err(_) => {
            let byte = start + end as u64;
            Err(input.compressed_error(byte, trailing::after_end(&tail[end..], byte)))
        }
    }
}
