//! Why a run failed, and where, for the program that started it, such as the Python package.

use std::path::Path;

use seqloom_align::index::{BuildError, IndexError};
use seqloom_align::input_error::CohortError;
use seqloom_format::fasta::FastaError;
use seqloom_io::alignments::{AlignmentError, MalformedRecord, RecordPlace};
use seqloom_io::known_sites::KnownSitesError;
use seqloom_io::reference::ReferenceError;
use seqloom_io::sink::atomic::AtomicFileError;
use seqloom_io::sink::output::OutputError;
use seqloom_io::source::{Malformed, SourceError};
use seqloom_prep::input::IngestError;
use seqloom_signal::store::StoreError;
use seqloom_terminal::exit::{self, OK};
use seqloom_terminal::host::{Failure, Place};
use seqloom_terminal::{Console, signals};

use crate::align::lanes::SheetError;

/// Tells the host why the run failed.
pub(crate) fn tell_host(error: &anyhow::Error, console: &Console, code: u8) {
    let Some(host) = console.host().filter(|_| code != OK) else { return };
    host.error(&Failure {
        exit_code: code,
        message: exit::message(error),
        signal: signals::received(),
        place: place(error),
    });
}

/// Where an error happened: what the innermost error knows that names a file.
fn place(error: &anyhow::Error) -> Place {
    error.chain().filter_map(place_of).last().unwrap_or_default()
}

fn place_of(error: &(dyn std::error::Error + 'static)) -> Option<Place> {
    let place = error.downcast_ref().and_then(of_source);
    let place = place.or_else(|| error.downcast_ref().and_then(of_alignments));
    let place = place.or_else(|| error.downcast_ref().and_then(of_cohort));
    let place = place.or_else(|| error.downcast_ref().and_then(of_ingest));
    let place = place.or_else(|| error.downcast_ref().and_then(of_build));
    let place = place.or_else(|| error.downcast_ref().and_then(of_index));
    let place = place.or_else(|| error.downcast_ref().and_then(of_reference));
    let place = place.or_else(|| error.downcast_ref().and_then(of_known_sites));
    let place = place.or_else(|| error.downcast_ref().and_then(of_sheet));
    let place = place.or_else(|| error.downcast_ref().and_then(of_output));
    let place = place.or_else(|| error.downcast_ref::<AtomicFileError>().map(|it| at(&it.path)));
    let place = place.or_else(|| of_columns(error));
    place.or_else(|| error.downcast_ref::<StoreError>().map(|error| at(error.path())))
}

#[cfg(feature = "columns")]
fn of_columns(error: &(dyn std::error::Error + 'static)) -> Option<Place> {
    use seqloom_columns::error::ColumnsError as E;
    match error.downcast_ref::<E>()? {
        E::Value(value) => {
            let (record, name) = (Some(value.record), Some(value.name.clone()));
            Some(Place { record, name, ..at(&value.path) })
        }
        E::Fault(fault) => {
            let name = fault.read_id.as_ref().map(|id| String::from_utf8_lossy(id).into_owned());
            Some(Place { name, byte: fault.offset, ..at(&fault.path) })
        }
        E::Inputs { path, .. } => Some(at(path)),
        _ => None,
    }
}

/// There is no `columns`.
#[cfg(not(feature = "columns"))]
fn of_columns(_: &(dyn std::error::Error + 'static)) -> Option<Place> {
    None
}

fn at(path: &Path) -> Place {
    Place { file: Some(path.display().to_string()), ..Place::default() }
}

fn at_line(path: &Path, line: u64) -> Place {
    Place { line: Some(line), ..at(path) }
}

fn of_source(error: &SourceError) -> Option<Place> {
    use SourceError as E;
    Some(match error {
        E::InputCount(_) | E::StandardInputTwice => return None,
        E::Open { path, .. }
        | E::Unsupported { path, .. }
        | E::PhredOffset { path, .. }
        | E::Changed { path, .. }
        | E::Skew { path, .. } => at(path),
        E::Read { path, byte, .. }
        | E::Compressed { path, byte, .. }
        | E::Inconsistent { path, byte } => Place { byte: Some(*byte), ..at(path) },
        E::Malformed(malformed) => {
            let Malformed { path, record, line, byte, name, .. } = &**malformed;
            let (record, byte) = (Some(*record), Some(*byte));
            Place { record, name: name.clone(), line: *line, byte, ..at(path) }
        }
    })
}

fn of_alignments(error: &AlignmentError) -> Option<Place> {
    use AlignmentError as E;
    Some(match error {
        E::NoInput | E::StandardInputTwice => return None,
        E::Source(source) => return of_source(source),
        E::Header { path, .. } => at(path),
        E::MissingEof { path, byte, .. } => Place { byte: Some(*byte), ..at(path) },
        E::Start { path, offset } => Place { byte: Some(offset.block_offset()), ..at(path) },
        E::Malformed(malformed) => {
            let MalformedRecord { path, record, name, place, .. } = &**malformed;
            let (line, byte) = match place {
                RecordPlace::Virtual(offset) => (None, offset.block_offset()),
                RecordPlace::Byte(byte) => (None, *byte),
                RecordPlace::Line { line, byte } => (Some(*line), *byte),
            };
            let (record, byte) = (Some(*record), Some(byte));
            Place { record, name: name.clone(), line, byte, ..at(path) }
        }
    })
}

fn of_cohort(error: &CohortError) -> Option<Place> {
    use CohortError as E;
    let (file, record, name) = match error {
        E::Source(source) => return of_source(source),
        E::UnequalCounts { shorter, records, .. } => (shorter, Some(*records), None),
        E::NamesDiffer { files, record, first, .. } => (files, Some(*record), Some(first)),
        E::NumbersWrong { files, record, name, .. } | E::Umi { files, record, name, .. } => {
            (files, Some(*record), Some(name))
        }
        E::NotGrouped { path } => (path, None, None),
        E::MatesApart { path, name, records } => (path, Some(records[1]), Some(name)),
        E::TooLong { files, name, .. } => (files, None, Some(name)),
    };
    Some(Place { file: Some(file.clone()), record, name: name.cloned(), ..Place::default() })
}

fn of_ingest(error: &IngestError) -> Option<Place> {
    use IngestError as E;
    match error {
        E::Input(input) => of_alignments(input),
        E::Unsorted { path, record } | E::Apart { path, record, .. } => {
            Some(Place { record: Some(*record), ..at(path) })
        }
        E::TooManyRecords { path, name } => Some(Place { name: Some(name.clone()), ..at(path) }),
        _ => None,
    }
}

fn of_fasta(path: &Path, error: &FastaError) -> Place {
    let name = Some(error.name.clone()).filter(|name| !name.is_empty());
    let record = Some(error.record).filter(|record| *record > 0);
    Place { record, name, byte: Some(error.byte), ..at_line(path, error.line) }
}

fn of_build(error: &BuildError) -> Option<Place> {
    use BuildError as E;
    match error {
        E::Io { path, .. }
        | E::Write { path, .. }
        | E::Gzip { path, .. }
        | E::TooLarge { path, .. } => Some(at(path)),
        E::Fasta { path, source } => Some(of_fasta(path, source)),
        _ => None,
    }
}

fn of_index(error: &IndexError) -> Option<Place> {
    use IndexError as E;
    Some(match error {
        E::Missing { prefix, .. } => at(prefix),
        E::Io { path, .. } | E::Damaged { path, .. } => at(path),
        E::Text { path, line, .. } => at_line(path, *line),
        E::OtherReference { bwt, .. } => at(bwt),
    })
}

fn of_reference(error: &ReferenceError) -> Option<Place> {
    use ReferenceError as E;
    match error {
        E::Source(source) => of_source(source),
        E::Fasta { path, source } => Some(of_fasta(path, source)),
        E::Length { path, .. } | E::Missing { path, .. } | E::Needed { path, .. } => Some(at(path)),
    }
}

fn of_known_sites(error: &KnownSitesError) -> Option<Place> {
    use KnownSitesError as E;
    Some(match error {
        E::Source(source) => return of_source(source),
        E::Line { path, line, .. } => at_line(path, *line),
        E::NotVcf { path } | E::Bed { path, .. } | E::OtherReference { path, .. } => at(path),
    })
}

fn of_sheet(error: &SheetError) -> Option<Place> {
    use SheetError as E;
    Some(match error {
        E::Io { path, .. } | E::Csv { path, .. } | E::NoColumn { path, .. } | E::Names { path } => {
            at(path)
        }
        E::Row { path, line, .. } => at_line(path, *line),
    })
}

fn of_output(error: &OutputError) -> Option<Place> {
    match error {
        OutputError::Write { path, .. } | OutputError::Read { path, .. } => Some(at(path)),
        OutputError::File(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn the_innermost_place_is_told() {
        let malformed = Malformed {
            path: PathBuf::from("r.fq"),
            record: 7,
            line: Some(25),
            byte: 812,
            name: Some("read7".to_owned()),
            after: None,
            problem: "no quality".to_owned(),
            hint: None,
        };
        let error =
            anyhow::Error::from(CohortError::Source(SourceError::Malformed(Box::new(malformed))));
        let expected = Place {
            file: Some("r.fq".to_owned()),
            record: Some(7),
            name: Some("read7".to_owned()),
            line: Some(25),
            byte: Some(812),
        };
        assert_eq!(place(&error.context("while reading")), expected);
        assert_eq!(place(&anyhow::anyhow!("no place")), Place::default());
    }
}
