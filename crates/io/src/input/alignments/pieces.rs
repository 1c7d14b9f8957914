//! What is taken from an input that is read front to back, to blocks of records.

use std::sync::atomic::Ordering;

use super::block::{Defect, RecordBlock};
use super::error::{AlignmentError, Problem};
use super::file::{Access, StreamGrammar};
use super::records::{CUT_RECORD, SamLines, Stop, check_records, name_of_line, parse_lines};
use super::{AlignmentScratch, AlignmentSource};
use crate::cram::ContainerPiece;
use crate::input::error::InputError;
use crate::input::extent::BlockExtent;
use crate::input::reader::Truncation;
use crate::input::stream::Piece;

impl AlignmentSource {
    /// Problem and name of a record that begins with `head` and does not end in time.
    fn too_long(&self, grammar: StreamGrammar, head: &[u8]) -> (Problem, Vec<u8>) {
        match grammar {
            StreamGrammar::Sam => {
                (Problem::LongLine(self.options.max_line_bytes), name_of_line(head).to_vec())
            }
            StreamGrammar::Bam => (Problem::TooLong, Vec::new()),
        }
    }

    /// Checks or parses a piece of a stream.
    pub(super) fn parse_piece(
        &self,
        input: usize,
        grammar: StreamGrammar,
        piece: Piece,
        scratch: &mut AlignmentScratch,
    ) -> Result<Box<RecordBlock>, AlignmentError> {
        let file = &self.files[input];
        let Piece { index, last, mut text, too_long, raw_bytes, raw_end, fault, truncation } =
            piece;
        let bytes = match grammar {
            StreamGrammar::Sam => self.free_bytes(),
            StreamGrammar::Bam => Vec::new(),
        };
        let mut block = self.new_block(input, index, last, bytes);
        let (limit, at_eof) = (text.len(), last && fault.is_none() && truncation.is_none());
        let (mut at, mut records) = (0, 0);
        let stop = match grammar {
            StreamGrammar::Sam => {
                let lines = SamLines {
                    text: &text,
                    limit,
                    at_eof,
                    names: &file.names,
                    read_names: self.options.read_names,
                    max_line_bytes: self.options.max_line_bytes,
                };
                parse_lines(lines, &mut block.bytes, &mut at, &mut records)
            }
            StreamGrammar::Bam => {
                check_records(&mut text, limit, self.rules(file), &mut at, &mut records)
            }
        };
        let mut defect = |problem, name: Vec<u8>| {
            let byte = at as u64;
            block.defect =
                Some(Defect { problem, record: records, byte, virtual_offset: None, name });
        };
        match (stop, fault) {
            _ if too_long.is_some() => {
                let (problem, name) = self.too_long(grammar, &too_long.unwrap_or_default());
                defect(problem, name);
            }
            (Stop::Defect(problem, name), _) => defect(problem, name),
            (_, Some(InputError::Compressed { byte, problem, is_truncation, .. })) => {
                let problem = match is_truncation {
                    true => Problem::Truncated { byte, problem },
                    false => Problem::Compressed { byte, problem },
                };
                defect(problem, Vec::new());
            }
            (_, Some(fault)) => return Err(fault.into()),
            (Stop::NeedMore(_), None) if truncation.is_none() => {
                let (byte, problem) = (raw_end, CUT_RECORD.to_owned());
                if self.options.allow_truncated {
                    block.truncation = Some(Truncation { byte, problem });
                } else {
                    defect(Problem::Truncated { byte, problem }, Vec::new());
                }
            }
            _ => {}
        }
        block.records = records;
        block.place = BlockExtent { own_bytes: limit as u64, ..BlockExtent::default() };
        block.truncation = truncation.or(block.truncation.take());
        match grammar {
            StreamGrammar::Sam => scratch.text = text,
            StreamGrammar::Bam => {
                text.truncate(at);
                block.bytes = text;
            }
        }
        // Relaxed: see `InputFile::bytes_read`.
        file.bytes_read.fetch_add(raw_bytes, Ordering::Relaxed);
        Ok(block)
    }

    /// Decodes a container and checks its records.
    pub(super) fn read_container(
        &self,
        input: usize,
        mut piece: ContainerPiece,
        scratch: &mut AlignmentScratch,
    ) -> Box<RecordBlock> {
        let file = &self.files[input];
        let own_bytes = piece.bytes.len() as u64;
        let bytes = self.free_bytes();
        let mut block = self.new_block(input, piece.index, piece.last, bytes);
        let broken = match &file.access {
            Access::Containers(cram) => {
                cram.decode(&mut piece, &mut scratch.container, &mut block.bytes)
            }
            _ => None,
        };
        let (limit, mut at, mut records) = (block.bytes.len(), 0, 0);
        let rules = self.rules(file);
        let stop = check_records(&mut block.bytes, limit, rules, &mut at, &mut records);
        let defect = |problem, byte, name| {
            Some(Defect { problem, record: records, byte, virtual_offset: None, name })
        };
        block.defect = match (stop, broken) {
            (Stop::Defect(problem, name), _) => defect(problem, 0, name),
            (_, Some(broken)) => {
                let byte = broken.byte;
                defect(Problem::Container(broken), byte, Vec::new())
            }
            _ => None,
        };
        block.bytes.truncate(at);
        block.records = records;
        block.place = BlockExtent { own_bytes, ..BlockExtent::default() };
        block.truncation = piece.truncation.take();
        // Relaxed: as above.
        file.bytes_read.fetch_add(piece.raw_bytes, Ordering::Relaxed);
        block
    }
}
