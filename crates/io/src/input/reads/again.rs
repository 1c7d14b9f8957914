//! A claimed file, read once more from front to back: where in it the first defect is.

use seqloom_format::ReadBlock;
use seqloom_format::fastq::Grammar;

use super::ReadSource;
use super::block::Defect;
use super::error::ReadsError;
use super::file::{Access, InputFile};
use super::grammar::StreamGrammar;
use super::parse::{self, ParsedText};
use crate::input::reader::TextReader;
use crate::input::stream::{Limits, Pull, StreamState};

impl ReadSource {
    /// Reads a claimed file once more, one record after the other, from the record that starts
    /// `skip` bytes of text after what is at `raw_start` in the file, to the first defect; its
    /// counts and offset start at that record.
    pub(crate) fn first_defect(
        &self,
        file: usize,
        raw_start: u64,
        skip: u64,
    ) -> Result<Option<Defect>, ReadsError> {
        let InputFile { input, source, max_record_bytes, .. } = &self.files[file];
        let (mut reader, mut skip) = match source {
            Access::Plain(_) => (TextReader::plain(input.clone(), raw_start + skip), 0),
            Access::Bgzf(_) => (TextReader::new(input.clone(), raw_start), skip),
            Access::Stream(_) | Access::Containers(_) => return Ok(None),
        };
        let mut text = Vec::new();
        while skip > 0 {
            reader.fill(&mut text, self.options.block_bytes)?;
            let skipped = text.len().min(usize::try_from(skip).unwrap_or(usize::MAX));
            if skipped == 0 {
                return Ok(None);
            }
            text.drain(..skipped);
            skip -= skipped as u64;
        }
        let grammar = StreamGrammar::Text(Grammar::FourLine);
        let block_bytes = self.options.block_bytes;
        let limits = Limits { block_bytes, max_record_bytes: *max_record_bytes };
        let mut state = StreamState::new(reader, grammar, text, limits);
        let mut before = ParsedText::default();
        loop {
            let Pull::Piece(mut piece) = state.pull(Vec::new)? else { return Ok(None) };
            if let Some(fault) = piece.fault {
                return Err(fault.into());
            }
            let mut block =
                ReadBlock { bytes: std::mem::take(&mut piece.text), ..Default::default() };
            let mut parsed = parse::parse_piece(Grammar::FourLine, &mut block, self.parse);
            if let Some(head) = piece.too_long {
                parsed.set_too_long(*max_record_bytes, &head, 0);
            }
            if let Some(defect) = parsed.defect {
                return Ok(Some(before.after(defect)));
            }
            before.append(&parsed);
            if piece.last {
                return Ok(None);
            }
        }
    }
}
