//! The index next to a CRAM (`.crai`, CRAM specification 3.0, section 12): a line for each
//! reference of each slice; and the count of records, which containers are numbered by.

use seqloom_format::persist_fields;

use crate::codec::Codecs;
use crate::container::{Behind, Container, IndexLine};
use crate::error::CramError;

/// Level of the index's gzip.
const LEVEL: u8 = 6;

/// Records of the containers before, for whoever puts containers into a file.
#[derive(Debug, Default)]
pub struct Numbering {
    records: u64,
    /// The index, where one is requested.
    lines: Option<Vec<u8>>,
}

persist_fields!(Numbering { records, lines });

impl Numbering {
    /// Of a file without records.
    #[must_use]
    pub fn new(is_indexed: bool) -> Self {
        Self { records: 0, lines: is_indexed.then(Vec::new) }
    }

    /// Appends a container, which begins at `offset` of the file.
    pub fn push(&mut self, container: &Container, offset: u64, out: &mut Vec<u8>) {
        let lines = &mut self.lines;
        container.push(Behind { records: self.records, bytes: offset }, out, |line| {
            if let Some(lines) = lines {
                push_line(&line, lines);
            }
        });
        self.records += container.records();
    }

    /// The bytes of the index, if one is requested.
    ///
    /// # Errors
    /// gzip failed.
    pub fn finish(self) -> Result<Option<Vec<u8>>, CramError> {
        let Some(lines) = self.lines else { return Ok(None) };
        Ok(Some(Codecs::default().gzip(LEVEL, &lines)?.to_vec()))
    }
}

fn push_line(line: &IndexLine, out: &mut Vec<u8>) {
    let IndexLine { reference_id, start, span, container_at, slice_at, slice_bytes } = line;
    let text =
        format!("{reference_id}\t{start}\t{span}\t{container_at}\t{slice_at}\t{slice_bytes}\n");
    out.extend_from_slice(text.as_bytes());
}
