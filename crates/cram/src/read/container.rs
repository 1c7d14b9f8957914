//! What is around slices: the file's definition, headers of containers, the SAM header.

use super::blocks::{Block, FILE_HEADER, Inflater};
use super::cursor::Cursor;
use super::error::{Defect, Problem};

/// Bytes of a file before its first container.
pub const DEFINITION_BYTES: usize = 26;
/// Bytes of a container's header that are read at first. It is longer where it has many slices.
pub const HEAD_BYTES: usize = 64;
/// Longest header of a container: a million slices.
const MOST_HEAD_BYTES: usize = 5 << 20;
/// Where the container that ends a file says that its records are: EOF in ASCII.
const END_START: i32 = 0x45_4f46;

/// Checks the definition that a file begins with, of which at least its magic number and version
/// are there.
///
/// # Errors
/// Data that are not CRAM, or not of a version that is read.
pub fn check_definition(bytes: &[u8]) -> Result<(), Problem> {
    match bytes {
        [b'C', b'R', b'A', b'M', 3, 0 | 1, ..] => Ok(()),
        [b'C', b'R', b'A', b'M', major, minor, ..] => {
            Err(Problem::Version { major: *major, minor: *minor })
        }
        _ => Err(Problem::NotCram),
    }
}

/// The header of a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerHead {
    /// Bytes of the header.
    pub head_bytes: usize,
    /// Bytes of its blocks, which follow.
    pub body_bytes: usize,
    /// Records of all its slices.
    pub records: u32,
    pub(crate) counter: u64,
    pub(crate) landmarks: Vec<usize>,
    is_end: bool,
}

impl ContainerHead {
    /// Parses a header; `None` if more bytes are needed first.
    ///
    /// # Errors
    /// The problem.
    pub fn parse(bytes: &[u8]) -> Result<Option<Self>, Problem> {
        match Self::parse_whole(bytes) {
            Err(Problem::Ends(_)) if bytes.len() < MOST_HEAD_BYTES => Ok(None),
            other => other.map(Some),
        }
    }

    fn parse_whole(bytes: &[u8]) -> Result<Self, Problem> {
        let mut cursor = Cursor::new(bytes, "a container's header");
        let body_bytes = usize::try_from(cursor.word()?.cast_signed())
            .map_err(|_| Problem::Malformed("a container's size is negative"))?;
        let (reference_id, start) = (cursor.itf8()?, cursor.itf8()?);
        cursor.itf8()?;
        let records = cursor.size()? as u32;
        let counter = cursor.ltf8()?;
        cursor.ltf8()?;
        cursor.size()?;
        let mut landmarks = Vec::new();
        for _ in 0..cursor.size()? {
            landmarks.push(cursor.size()?);
        }
        let covered = cursor.at();
        let checksum = cursor.word()?;
        if !cfg!(fuzzing) && crc32fast::hash(&bytes[..covered]) != checksum {
            return Err(Problem::Checksum("a container's header"));
        }
        let is_end = reference_id == -1 && start == END_START && records == 0;
        let head_bytes = cursor.at();
        Ok(Self { head_bytes, body_bytes, records, counter, landmarks, is_end })
    }

    /// Whether it is the one that ends a file.
    #[must_use]
    pub fn is_end(&self) -> bool {
        self.is_end
    }
}

/// The text of the SAM header, from the body of the first container; at most `most` bytes.
///
/// # Errors
/// The problem.
pub fn header_text(head: &ContainerHead, body: &[u8], most: usize) -> Result<Vec<u8>, Defect> {
    let mut cursor = Cursor::new(body, "the container of the header");
    let block = Block::read(&mut cursor, head.head_bytes)?;
    block.expect(FILE_HEADER, "the first block is not the SAM header")?;
    let mut inflater = Inflater::default();
    inflater.left_bytes = most;
    let mut content = Vec::new();
    inflater.inflate(&block, &mut content)?;
    let mut text = Cursor::new(&content, "the SAM header");
    let read = text.word().and_then(|size| text.take(size as usize));
    let mut text = read.map_err(|problem| problem.at(block.at))?.to_vec();
    // Some writers leave room.
    while text.last() == Some(&0) {
        text.pop();
    }
    Ok(text)
}
