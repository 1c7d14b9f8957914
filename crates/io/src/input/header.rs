//! BAM and CRAM, which reads and alignments both come in: recognised, and their headers.

use seqloom_format::bam::{Header, HeaderError};

use super::bam::MAX_HEADER_BYTES;
use super::error::HeaderProblem;
use super::raw::Input;
use crate::cram::{self, Consumer};

/// A format of records after a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordFormat {
    Bam,
    Cram,
}

impl RecordFormat {
    /// The format of an input that begins with `text`; `None` for text. The error is what it is
    /// instead and what to do.
    pub(crate) fn sniff(text: &[u8]) -> Result<Option<Self>, (String, &'static str)> {
        match text {
            [b'B', b'A', b'M', 1, ..] => Ok(Some(Self::Bam)),
            [b'C', b'R', b'A', b'M', ..] => Ok(Some(Self::Cram)),
            [0x1f, 0x8b, ..] => {
                Err(("the file is compressed twice".into(), "decompress it once: `gzip -dc`"))
            }
            _ => Ok(None),
        }
    }

    /// The header at the start of `text`, the beginning of `input`, and its bytes; `None` if more
    /// text is needed first, as much as [`more_header_bytes`](super::bam::more_header_bytes) says.
    pub(crate) fn read_header(
        self,
        text: &[u8],
        has_ended: bool,
        input: &Input,
        consumer: Consumer,
    ) -> Result<Option<(Header, usize)>, HeaderProblem> {
        match self {
            Self::Bam => decode_bam(text, has_ended).map_err(HeaderProblem::Text),
            Self::Cram => cram::read_header(text, has_ended, &input.path, consumer),
        }
    }
}

fn decode_bam(text: &[u8], has_ended: bool) -> Result<Option<(Header, usize)>, HeaderError> {
    Header::check_line_lengths(text)?;
    match Header::decode(text) {
        Err(HeaderError::Truncated { needed_bytes, .. })
            if !has_ended && needed_bytes <= MAX_HEADER_BYTES =>
        {
            Ok(None)
        }
        decoded => decoded.map(Some),
    }
}
