//! The stage that writes everything about reads but their samples, as text.

use seqloom_format::signal::{AuxiliaryType, SignalHeader, SignalRead};
use seqloom_format::slow5::text;

use crate::flow::pass::{Components, Stage, StoredRead, Tally, Work};
use crate::store::{DecodeScratch, ReadError};

/// Columns of a SLOW5 line before the auxiliary ones.
const PRIMARY_COLUMNS: usize = 8;
/// The column of the number of samples; that of the samples follows.
const SAMPLES_COLUMN: usize = 6;

/// Writes the fields of each read without its samples.
pub struct Skim<'a> {
    /// Header of the file.
    pub header: &'a SignalHeader,
    /// Time of the components.
    pub components: &'a Components,
}

/// The lines of a batch.
#[derive(Debug, Default)]
pub struct Skimmed {
    /// All lines, one after the other.
    pub text: Vec<u8>,
    /// Reads and faults.
    pub tally: Tally,
}

/// Scratch of a worker.
#[derive(Default)]
pub struct SkimScratch {
    decode: DecodeScratch,
    read: SignalRead,
    line: Vec<u8>,
}

/// The line of column names.
#[must_use]
pub fn column_names(header: &SignalHeader) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend_from_slice(
        b"#read_id\tread_group\tdigitisation\toffset\trange\tsampling_rate\tlen_raw_signal\t\
          raw_signal",
    );
    for field in &header.auxiliary {
        out.push(b'\t');
        out.extend_from_slice(&field.name);
    }
    out.push(b'\n');
    out
}

impl Stage for Skim<'_> {
    type Scratch = SkimScratch;
    type Output = Skimmed;

    fn scratch(&self) -> SkimScratch {
        SkimScratch::default()
    }

    fn process(&self, scratch: &mut SkimScratch, work: &Work, output: &mut Skimmed) {
        output.text.clear();
        output.tally.clear();
        output.tally.faults.extend_from_slice(&work.batch.faults);
        for stored in work.reads() {
            let before = output.text.len();
            match self.one(scratch, stored, &mut output.text) {
                Ok(()) => output.tally.reads += 1,
                Err(error) => {
                    output.text.truncate(before);
                    let SkimScratch { decode, read, .. } = &mut *scratch;
                    output.tally.faults.push(stored.fault(decode, read, &error));
                }
            }
        }
    }
}

impl Skim<'_> {
    fn one(
        &self,
        scratch: &mut SkimScratch,
        stored: StoredRead<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), ReadError> {
        let SkimScratch { decode, read, line } = scratch;
        read.clear();
        let StoredRead { store, batch, frame } = stored;
        let decoding = &self.components.decode;
        let samples = decoding.time(|| store.decode_without_samples(decode, batch, frame, read))?;
        read.samples.clear();
        line.clear();
        text::append_record(read, self.header, line).map_err(ReadError::new)?;
        append_line(line, samples, self.header, out);
        Ok(())
    }
}

/// The line of a read without samples, with their number put in, a dot in their place, and labels
/// for the numbers of enums.
fn append_line(line: &[u8], samples: u64, header: &SignalHeader, out: &mut Vec<u8>) {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    for (column, text) in line.split(|&byte| byte == b'\t').enumerate() {
        if column > 0 {
            out.push(b'\t');
        }
        let field = column.checked_sub(PRIMARY_COLUMNS).and_then(|at| header.auxiliary.get(at));
        match field.map(|field| &field.kind) {
            None if column == SAMPLES_COLUMN => out.extend(samples.to_string().into_bytes()),
            None if column == SAMPLES_COLUMN + 1 => out.push(b'.'),
            Some(AuxiliaryType::Enum(labels)) => append_labels(text, labels, out),
            _ => out.extend_from_slice(text),
        }
    }
    out.push(b'\n');
}

/// Labels in place of the numbers in `text`, one or several with commas.
fn append_labels(text: &[u8], labels: &[Vec<u8>], out: &mut Vec<u8>) {
    for (at, number) in text.split(|&byte| byte == b',').enumerate() {
        if at > 0 {
            out.push(b',');
        }
        let index = std::str::from_utf8(number).ok().and_then(|digits| digits.parse().ok());
        let label = index.and_then(|index: usize| labels.get(index));
        out.extend_from_slice(label.map_or(number, Vec::as_slice));
    }
}
