//! Text of a file or pipe, front to back, decompressed by content (gzip, BGZF, zstd).

use std::path::Path;

use crate::input::MAX_RECORD_BYTES;
use crate::input::error::InputError;
use crate::input::raw::Input;
use crate::input::reader::{Compression, TextReader};

/// Text handed on at a time.
const CHUNK_BYTES: usize = 1024 * 1024;

/// A piece of a text, which may end anywhere.
#[derive(Debug, Clone, Copy)]
pub struct Chunk<'t> {
    /// The piece.
    pub text: &'t [u8],
    /// Whether the input is compressed.
    pub is_compressed: bool,
    /// Share of the file that is read, 0 to 1; 0 of a stream.
    pub share_read: f64,
}

/// Hands the text of `path` (`-` for standard input) to `on_chunk`, piece by piece.
///
/// # Errors
/// The input cannot be read, its compressed data are damaged or cut short, or `on_chunk` fails.
pub fn for_each_chunk<E: From<InputError>>(
    path: &Path,
    mut on_chunk: impl FnMut(Chunk<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let mut reader = TextReader::new(Input::open(path)?, 0);
    let mut text = Vec::with_capacity(2 * CHUNK_BYTES);
    loop {
        text.clear();
        let has_ended = reader.fill_waiting(&mut text, CHUNK_BYTES)?;
        let size = reader.input().size.unwrap_or(u64::MAX).max(1);
        on_chunk(Chunk {
            text: &text,
            is_compressed: reader.compression() != Some(Compression::Plain),
            share_read: reader.raw_offset() as f64 / size as f64,
        })?;
        if has_ended {
            break;
        }
    }
    if reader.lacks_eof_block() {
        let byte = reader.raw_offset();
        let problem = "truncated: BGZF without its end-of-file block";
        return Err(reader.input().compressed_error(byte, problem).into());
    }
    Ok(())
}

/// The whole text of `path`, decompressed, if it has at most `most_bytes`.
///
/// # Errors
/// As [`for_each_chunk`]; a longer text.
pub fn read_all(path: &Path, most_bytes: usize) -> Result<Vec<u8>, InputError> {
    let mut text = Vec::new();
    for_each_chunk(path, |Chunk { text: chunk, .. }| {
        if text.len() + chunk.len() > most_bytes {
            let problem = format!("it has more than {most_bytes} bytes");
            let (path, hint) = (path.to_path_buf(), "is it the right file?");
            return Err(InputError::Unsupported { path, problem, hint });
        }
        text.extend_from_slice(chunk);
        Ok(())
    })?;
    Ok(text)
}

/// Hands the lines of `path` to `on_line`, each with its number (from 1) and without its newline.
///
/// # Errors
/// As [`for_each_chunk`]; a line longer than [`MAX_RECORD_BYTES`].
pub fn for_each_line<E: From<InputError>>(
    path: &Path,
    mut on_line: impl FnMut(u64, &[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let (mut line, mut started) = (0_u64, Vec::new());
    for_each_chunk(path, |Chunk { text: mut chunk, .. }| -> Result<(), E> {
        while let Some(end) = memchr::memchr(b'\n', chunk) {
            line += 1;
            if started.is_empty() {
                on_line(line, &chunk[..end])?;
            } else {
                started.extend_from_slice(&chunk[..end]);
                on_line(line, &started)?;
                started.clear();
            }
            chunk = &chunk[end + 1..];
        }
        started.extend_from_slice(chunk);
        if started.len() > MAX_RECORD_BYTES {
            let path = path.to_path_buf();
            let problem = format!("line {} is longer than 256 MiB", line + 1);
            return Err(InputError::Unsupported { path, problem, hint: "is it text?" }.into());
        }
        Ok(())
    })?;
    if started.is_empty() { Ok(()) } else { on_line(line + 1, &started) }
}
