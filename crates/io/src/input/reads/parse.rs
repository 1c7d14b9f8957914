//! Text that a worker holds, to a block: the part common to every file of FASTQ or FASTA.

use seqloom_format::ReadBlock;
use seqloom_format::fastq::{
    self, DefectKind, Grammar, ParseOptions, RecordStart, Stop, TextRange, find_record_start,
};
use seqloom_format::names::ReadNames;

use super::block::{Defect, Problem};
use super::error::ReadsError;
use super::unaligned::{ParsedRecords, read_records};
use crate::input::extent::BlockExtent;
use crate::input::look_ahead::{Doubling, LookAhead};

/// A block before it is known whose it is.
#[derive(Debug, Default)]
pub(crate) struct ParsedText {
    pub(crate) place: BlockExtent,
    pub(crate) records: u64,
    pub(crate) lines: u64,
    pub(crate) bases: u64,
    pub(crate) aligned: u64,
    pub(crate) defect: Option<Defect>,
}

impl ParsedText {
    fn add(&mut self, parsed: &fastq::Parsed) {
        self.place.end = parsed.end as u64;
        self.records += parsed.records;
        self.lines += parsed.lines;
        self.bases += parsed.bases;
    }

    /// Counts `next`, which is after this.
    pub(crate) fn append(&mut self, next: &Self) {
        self.place.own_bytes += next.place.own_bytes;
        self.records += next.records;
        self.lines += next.lines;
    }

    /// `defect`, found after this, counted from where this starts.
    pub(crate) fn after(&self, mut defect: Defect) -> Defect {
        defect.record += self.records;
        defect.line = defect.line.map(|line| line + self.lines);
        defect.byte += self.place.own_bytes;
        defect
    }

    fn set_defect(&mut self, mut defect: fastq::Defect) {
        defect.record += self.records;
        defect.line += self.lines;
        self.defect = Some(Defect {
            problem: Problem::Text(defect.kind),
            record: defect.record,
            line: Some(defect.line),
            byte: defect.offset as u64,
            name: defect.name,
        });
    }

    /// The record after the good ones, which begins with `head` at `byte`, is longer than
    /// `limit_bytes`.
    pub(crate) fn set_too_long(&mut self, limit_bytes: usize, head: &[u8], byte: usize) {
        let (record, line) = (self.records, Some(self.lines));
        let problem = Problem::Text(DefectKind::TooLong { limit_bytes });
        let name = fastq::name_of_header(head).to_vec();
        self.defect = Some(Defect { problem, record, line, byte: byte as u64, name });
    }
}

/// Parses a piece that starts with a record and ends after one.
pub(crate) fn parse_piece(
    grammar: Grammar,
    block: &mut ReadBlock,
    options: ParseOptions,
) -> ParsedText {
    let len = block.bytes.len();
    let place = BlockExtent { own_bytes: len as u64, first: Some(0), ..BlockExtent::default() };
    let mut text = ParsedText { place, ..ParsedText::default() };
    // Every piece is cut so that its end may be taken for the end of the input.
    let range = TextRange { from: 0, limit: len, at_eof: true };
    let parsed = fastq::parse(grammar, block, range, options);
    if let Stop::Defect(defect) = &parsed.stop {
        text.set_defect(defect.clone());
    }
    text.add(&parsed);
    text
}

/// Parses BAM records that start at the start of `text` into `block`.
pub(crate) fn parse_bam_piece(text: &[u8], block: &mut ReadBlock, names: ReadNames) -> ParsedText {
    let ParsedRecords { records, bases, aligned, defect } = read_records(text, block, names);
    let own_bytes = text.len() as u64;
    let place = BlockExtent { own_bytes, first: Some(0), end: own_bytes, ..BlockExtent::default() };
    ParsedText { place, records, lines: 0, bases, aligned, defect }
}

/// A claimed chunk of four-line FASTQ.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Claim {
    /// Start of its first record, where that is known: of the first claim.
    pub(crate) first: Option<usize>,
    /// Bytes at the start of the block's buffer that the claim owns.
    pub(crate) own: usize,
    pub(crate) at_eof: bool,
    /// Bytes to look ahead at first.
    pub(crate) ahead: usize,
    /// Longest record.
    pub(crate) max_record_bytes: usize,
}

/// Finds the first record of a claimed chunk and parses all records of the chunk, looking
/// ahead by doubling for the last one.
pub(crate) fn parse_claim(
    claim: Claim,
    block: &mut ReadBlock,
    ahead: &mut dyn LookAhead,
    options: ParseOptions,
) -> Result<ParsedText, ReadsError> {
    let mut ahead = Doubling { ahead, at_eof: claim.at_eof, step: claim.ahead.max(1) };
    let most = claim.own + claim.max_record_bytes;
    let mut text = ParsedText::default();
    text.place.own_bytes = claim.own as u64;
    let own = &block.bytes[..claim.own];
    let blank = own.iter().rev().take_while(|&&byte| byte == b'\n' || byte == b'\r').count();
    text.place.blank_from = (claim.own - blank) as u64;
    let Some(first) = first_record(claim, &mut block.bytes, &mut ahead)? else {
        return Ok(text);
    };
    text.place.first = Some(first as u64);
    text.place.end = first as u64;
    let mut from = first;
    loop {
        let range = TextRange { from, limit: claim.own + 1, at_eof: ahead.at_eof };
        let parsed = fastq::parse(Grammar::FourLine, block, range, options);
        from = parsed.end;
        if let Stop::Defect(defect) = &parsed.stop {
            text.set_defect(defect.clone());
        }
        text.add(&parsed);
        match parsed.stop {
            Stop::Done | Stop::Defect(_) => return Ok(text),
            Stop::NeedMore if ahead.grow(&mut block.bytes, most)? => {}
            Stop::NeedMore => {
                text.set_too_long(claim.max_record_bytes, &block.bytes[from..], from);
                return Ok(text);
            }
        }
    }
}

/// Start of the first record whose preceding byte the claim owns.
fn first_record(
    claim: Claim,
    text: &mut Vec<u8>,
    ahead: &mut Doubling<'_>,
) -> Result<Option<usize>, ReadsError> {
    if claim.first.is_some() {
        return Ok(claim.first);
    }
    let most = claim.own + claim.max_record_bytes;
    let Some(newline) = memchr::memchr(b'\n', &text[..claim.own]) else { return Ok(None) };
    loop {
        match find_record_start(text, newline + 1, claim.own + 1, ahead.at_eof) {
            RecordStart::At(first) => return Ok(Some(first)),
            RecordStart::Nowhere => return Ok(None),
            RecordStart::NeedMore if ahead.grow(text, most)? => {}
            RecordStart::NeedMore => return Ok(None),
        }
    }
}
