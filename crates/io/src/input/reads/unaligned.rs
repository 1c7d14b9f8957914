//! Records of a BAM file to reads, whether they are aligned or not.

use seqloom_format::bam::{BASE_LETTERS, Flags, Header, RecordRef, check_aux, framed_records};
use seqloom_format::fastq::trim_read_number;
use seqloom_format::names::{ReadNameProblem, ReadNames, check_read_name, rename_read};
use seqloom_format::{MateOfPair, ReadBlock, ReadSpans, Span};

use super::MAX_RECORD_BYTES;
use super::block::{Defect, Problem};
use crate::input::bam::SECOND_HEADER;

/// Result of [`read_records`].
#[derive(Debug, Default)]
pub(crate) struct ParsedRecords {
    /// Good records, those passed over included.
    pub(crate) records: u64,
    pub(crate) bases: u64,
    /// Reads whose record has an alignment.
    pub(crate) aligned: u64,
    pub(crate) defect: Option<Defect>,
}

/// Appends the reads in `text`, a run of whole records, to `out`. Bases and qualities are turned
/// back to the sequenced strand; secondary and supplementary records are passed over, because
/// their primary record has the whole read.
pub(crate) fn read_records(text: &[u8], out: &mut ReadBlock, names: ReadNames) -> ParsedRecords {
    let mut parsed = ParsedRecords::default();
    let mut frames = framed_records(text);
    loop {
        let byte = frames.offset() as u64;
        if Header::starts(&text[frames.offset()..]) {
            let problem = Problem::Bam(SECOND_HEADER.to_owned());
            let (record, name) = (parsed.records, Vec::new());
            parsed.defect = Some(Defect { problem, record, line: None, byte, name });
            return parsed;
        }
        let Some(frame) = frames.next() else { return parsed };
        let record = frame.map_err(|error| error.to_string()).and_then(|body| {
            if body.len() > MAX_RECORD_BYTES {
                return Err(format!("the record is longer than {MAX_RECORD_BYTES} bytes"));
            }
            RecordRef::new(body).map_err(|error| error.to_string())
        });
        let outcome = match &record {
            Ok(record) => append_read(record, names, out),
            Err(problem) => Err(problem.clone().into()),
        };
        match outcome {
            Ok(added) => {
                parsed.records += 1;
                parsed.bases += added.bases;
                parsed.aligned += u64::from(added.aligned);
            }
            Err(problem) => {
                let name = record.map(|record| record.name().to_vec()).unwrap_or_default();
                let record = parsed.records;
                parsed.defect = Some(Defect { problem, record, line: None, byte, name });
                return parsed;
            }
        }
    }
}

/// Contribution of a record; none if it is passed over.
#[derive(Default)]
struct Added {
    bases: u64,
    aligned: bool,
}

/// Appends one read.
fn append_read(
    record: &RecordRef<'_>,
    names: ReadNames,
    out: &mut ReadBlock,
) -> Result<Added, Problem> {
    if record.has_flags(Flags::SECONDARY) || record.has_flags(Flags::SUPPLEMENTARY) {
        return Ok(Added::default());
    }
    let mate = mate_of_pair(record)?;
    let name = trim_read_number(record.name());
    let checked = check_read_name(name);
    if let Err(problem) = checked
        && (names == ReadNames::Check || problem == ReadNameProblem::Empty)
    {
        return Err(Problem::Name(problem));
    }
    check_aux(record).map_err(|error| error.to_string())?;
    let count = record.base_count();
    let aux = &record.body()[record.aux_start()..];
    if out.bytes.len() + name.len() + 2 * count + aux.len() > u32::MAX as usize {
        return Err("the block of reads grew beyond 4 GiB".to_owned().into());
    }
    let bytes = &mut out.bytes;
    let name = append(bytes, name.iter().copied());
    if checked.is_err() {
        // No longer than 254 bytes: its place is what it was.
        rename_read(&mut bytes[name.start as usize..]);
    }
    let reverse = record.has_flags(Flags::REVERSE);
    let bases = append_bases(record, reverse, bytes)?;
    let qualities = append_qualities(record.qualities(), reverse, bytes)?;
    let extra = append(bytes, aux.iter().copied());
    if record.has_flags(Flags::QC_FAIL) {
        out.failed_filter.push(out.reads.len() as u32);
    }
    out.reads.push(ReadSpans { name, bases, qualities, extra });
    out.mate_of_pair.push(mate);
    Ok(Added { bases: count as u64, aligned: !record.has_flags(Flags::UNMAPPED) })
}

fn mate_of_pair(record: &RecordRef<'_>) -> Result<MateOfPair, String> {
    if !record.has_flags(Flags::PAIRED) {
        return Ok(MateOfPair::Unpaired);
    }
    match (record.has_flags(Flags::FIRST_OF_PAIR), record.has_flags(Flags::SECOND_OF_PAIR)) {
        (true, false) => Ok(MateOfPair::First),
        (false, true) => Ok(MateOfPair::Second),
        (true, true) => Err("the read is flagged as both first and second of its pair".into()),
        (false, false) => Err("the read is paired, but neither first nor second".into()),
    }
}

fn append(bytes: &mut Vec<u8>, part: impl Iterator<Item = u8>) -> Span {
    let start = bytes.len();
    bytes.extend(part);
    // The caller has checked that the whole read stays below 4 GiB.
    Span { start: start as u32, len: (bytes.len() - start) as u32 }
}

/// Two bases a byte, the first in the high half (SAM specification 4.2).
fn append_bases(
    record: &RecordRef<'_>,
    reverse: bool,
    bytes: &mut Vec<u8>,
) -> Result<Span, String> {
    let packed = record.packed_bases();
    let codes = packed.iter().flat_map(|&pair| [pair >> 4, pair & 0xf]).take(record.base_count());
    let letter = |code: u8| BASE_LETTERS[usize::from(code)];
    let span = append(bytes, codes.map(letter));
    let bases = &mut bytes[span.start as usize..];
    if bases.contains(&b'=') {
        return Err("'=' among the bases, which only aligned reads can have".into());
    }
    if reverse {
        bases.reverse();
        for base in bases {
            *base = complement(*base);
        }
    }
    Ok(span)
}

/// Complement of an IUPAC letter as BAM holds them.
fn complement(base: u8) -> u8 {
    match base {
        b'A' => b'T',
        b'C' => b'G',
        b'G' => b'C',
        b'T' => b'A',
        b'M' => b'K',
        b'R' => b'Y',
        b'V' => b'B',
        b'Y' => b'R',
        b'H' => b'D',
        b'K' => b'M',
        b'D' => b'H',
        b'B' => b'V',
        other => other,
    }
}

/// Empty where the record has none (first byte 0xff).
fn append_qualities(qualities: &[u8], reverse: bool, bytes: &mut Vec<u8>) -> Result<Span, String> {
    if qualities.first() == Some(&0xff) {
        return Ok(Span { start: bytes.len() as u32, len: 0 });
    }
    if let Some(quality) = qualities.iter().find(|&&quality| quality > 93) {
        return Err(format!("quality {quality} is above 93"));
    }
    let span = append(bytes, qualities.iter().map(|quality| quality + b'!'));
    if reverse {
        bytes[span.start as usize..].reverse();
    }
    Ok(span)
}
