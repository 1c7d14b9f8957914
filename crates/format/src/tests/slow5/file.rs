//! Whole SLOW5 and BLOW5 files in memory, for tests.

use crate::signal::{SignalHeader, SignalRead};
use crate::slow5::binary::{self, END_OF_FILE, Frame, RecordDecoder, RecordEncoder};
use crate::slow5::{Compression, header, index, text};

/// A file's content.
#[derive(Debug, Clone)]
pub(crate) struct File {
    pub(crate) header: SignalHeader,
    /// `None` for text.
    pub(crate) compression: Option<Compression>,
    pub(crate) reads: Vec<SignalRead>,
    /// Offset and size of each record or line.
    pub(crate) places: Vec<(u64, u64)>,
}

impl File {
    /// Reads text or binary, by its first bytes.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, String> {
        if bytes.starts_with(b"#") { Self::read_text(bytes) } else { Self::read_binary(bytes) }
    }

    fn read_text(bytes: &[u8]) -> Result<Self, String> {
        let parsed = header::parse_text(bytes).map_err(|error| error.to_string())?;
        let (header, mut at) = parsed.ok_or("the header is not whole")?;
        let (mut reads, mut places) = (Vec::new(), Vec::new());
        for line in bytes[at..].split_inclusive(|&byte| byte == b'\n') {
            let mut read = SignalRead::default();
            text::parse_record(line, &header, &mut read)
                .map_err(|error| format!("{at}: {error}"))?;
            reads.push(read);
            places.push((at as u64, line.len() as u64));
            at += line.len();
        }
        Ok(Self { header, compression: None, reads, places })
    }

    fn read_binary(bytes: &[u8]) -> Result<Self, String> {
        let parsed = header::parse_binary(bytes).map_err(|error| error.to_string())?;
        let (header, compression, mut at) = parsed.ok_or("the header is not whole")?;
        let mut decoder = RecordDecoder::new(compression).unwrap();
        let (mut reads, mut places) = (Vec::new(), Vec::new());
        loop {
            let rest = &bytes[at..];
            let frame = binary::parse_frame(&rest[..rest.len().min(8)], Some(rest.len() as u64))
                .map_err(|error| format!("{at}: {error}"))?;
            let Frame::Record { stored_bytes } = frame else {
                return Ok(Self { header, compression: Some(compression), reads, places });
            };
            let stored = &rest[8..8 + stored_bytes];
            let mut read = SignalRead::default();
            decoder.decode(stored, &header, &mut read).map_err(|error| format!("{at}: {error}"))?;
            check_parts(&mut decoder, stored, &header, &read);
            reads.push(read);
            places.push((at as u64, stored_bytes as u64 + 8));
            at += 8 + stored_bytes;
        }
    }

    /// The file in text, or in binary of this compression.
    pub(crate) fn write(&self, compression: Option<Compression>) -> Vec<u8> {
        let mut out = Vec::new();
        let Some(compression) = compression else {
            header::check(&self.header).unwrap();
            header::append_text(&self.header, &mut out);
            for read in &self.reads {
                text::append_record(read, &self.header, &mut out).unwrap();
            }
            return out;
        };
        header::append_binary(&self.header, compression, &mut out).unwrap();
        let mut encoder = RecordEncoder::new(compression).unwrap();
        for read in &self.reads {
            encoder.append(read, &self.header, &mut out).unwrap();
        }
        out.extend_from_slice(&END_OF_FILE);
        out
    }

    /// Bytes of all samples.
    pub(crate) fn samples_bytes(&self) -> usize {
        self.reads.iter().map(|read| 2 * read.samples.len()).sum()
    }

    /// Its index.
    pub(crate) fn index(&self) -> Vec<u8> {
        let mut out = Vec::new();
        index::append_header(self.header.version, &mut out);
        for (read, &(offset, size_bytes)) in self.reads.iter().zip(&self.places) {
            index::append_entry(
                &index::Entry { read_id: &read.read_id, offset, size_bytes },
                &mut out,
            );
        }
        index::append_footer(&mut out);
        out
    }
}

/// The read id alone and the record without its samples are those of the whole record.
fn check_parts(
    decoder: &mut RecordDecoder,
    stored: &[u8],
    header: &SignalHeader,
    read: &SignalRead,
) {
    let mut id = b"old".to_vec();
    decoder.read_id(stored, &mut id).unwrap();
    assert_eq!(id, read.read_id);
    let mut skimmed = SignalRead { samples: vec![1], ..SignalRead::default() };
    let samples = decoder.decode_without_samples(stored, header, &mut skimmed).unwrap();
    assert_eq!(samples, read.samples.len() as u64);
    skimmed.samples.extend_from_slice(&read.samples);
    // Not a number differs from itself.
    assert_eq!(format!("{skimmed:?}"), format!("{read:?}"));
}
