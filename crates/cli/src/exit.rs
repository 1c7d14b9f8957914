//! From errors to exit codes: 0 ok, 1 failed, 2 usage, 3 malformed input, 4 output or disk, 128 + n
//! for signal n.

use std::error::Error;
use std::process::ExitCode;

use seqloom_align::cohort::CohortError;
use seqloom_align::index::{BuildError, IndexError};
use seqloom_format::bed::BedError;
use seqloom_io::alignments::AlignmentError;
use seqloom_io::bam_index::BamIndexError;
use seqloom_io::indexed_fasta::IndexedFastaError;
use seqloom_io::kept::KeptError;
use seqloom_io::known_sites::KnownSitesError;
use seqloom_io::random_text::TextError;
use seqloom_io::reblock::ReblockError;
use seqloom_io::reference::ReferenceError;
use seqloom_io::sequences::SequencesError;
use seqloom_io::sink::atomic::AtomicFileError;
use seqloom_io::sink::output::OutputError;
use seqloom_io::source::SourceError;
use seqloom_io::spill::SpillError;
use seqloom_prep::duplicates::NameUsedTwice;
use seqloom_prep::ingest::IngestError;
use seqloom_prep::inputs::MergeError;
use seqloom_prep::read_end::ReadEndError;
use seqloom_prep::recalibrate::RecalibrationError;
use seqloom_prep::recalibrate::report::ReportError;
use seqloom_prep::steps::StepError;
use seqloom_signal::calling::error::CallError;
use seqloom_signal::methylation::frequency::FrequencyError;
use seqloom_signal::pore_model::ModelError;
use seqloom_signal::store::{IndexFileError, StoreError};

use crate::console::Console;
use crate::signal::error::{JoinError, LostReads, NothingCalled, PassError};
use crate::signals;
use crate::usage::UsageError;

/// The run failed.
pub(crate) const FAILED: u8 = 1;
/// The command line is wrong.
const USAGE: u8 = 2;
/// The input is malformed.
const MALFORMED: u8 = 3;
/// The output, or a temporary file, could not be written.
const OUTPUT: u8 = 4;

/// Says what went wrong, if anything did, and gives the exit code.
pub(crate) fn report(outcome: anyhow::Result<()>, console: &Console) -> ExitCode {
    let Err(error) = outcome else { return ExitCode::SUCCESS };
    let is_closed_pipe = chain_has::<OutputError>(&error, OutputError::is_closed_pipe)
        || chain_has::<PassError>(
            &error,
            |e| matches!(e, PassError::Output(output) if output.is_closed_pipe()),
        );
    if is_closed_pipe {
        return ExitCode::SUCCESS;
    }
    if let Some(signal) = signals::received() {
        console.error(&format!("seqloom: stopped by signal {signal}"));
        return ExitCode::from(128 + u8::try_from(signal).unwrap_or(0));
    }
    console.error(&format!("seqloom: {}", message(&error)));
    ExitCode::from(code(&error))
}

/// The messages of the chain, one behind the other, without those that the one before quotes.
fn message(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain() {
        let words = cause.to_string();
        if !text.contains(&words) {
            if !text.is_empty() {
                text.push_str(": ");
            }
            text.push_str(&words);
        }
    }
    text
}

fn chain_has<E: Error + Send + Sync + 'static>(
    error: &anyhow::Error,
    test: impl Fn(&E) -> bool,
) -> bool {
    error.chain().any(|cause| cause.downcast_ref::<E>().is_some_and(&test))
}

fn code(error: &anyhow::Error) -> u8 {
    let is_usage = chain_has::<UsageError>(error, |_| true)
        || chain_has::<ReblockError>(error, |e| matches!(e, ReblockError::TooSmall { .. }))
        || chain_has::<StepError>(error, |e| matches!(e, StepError::UnknownReadGroup(_)))
        || chain_has::<BuildError>(error, |e| matches!(e, BuildError::MemoryLimit { .. }));
    if is_usage {
        return USAGE;
    }
    let is_output = chain_has::<OutputError>(error, |_| true)
        || chain_has::<PassError>(error, |e| matches!(e, PassError::Output(_)))
        || chain_has::<AtomicFileError>(error, |_| true)
        || chain_has::<BuildError>(error, |e| matches!(e, BuildError::Write { .. }))
        || chain_has::<KeptError>(error, |_| true)
        || chain_has::<SpillError>(error, |_| true);
    if is_output {
        return OUTPUT;
    }
    let is_malformed = chain_has::<SourceError>(error, source_is_malformed)
        || is_malformed_alignments(error)
        || chain_has::<CohortError>(error, |e| match e {
            CohortError::Source(source) => source_is_malformed(source),
            _ => true,
        })
        || chain_has::<BuildError>(error, |e| {
            matches!(e, BuildError::Fasta { .. } | BuildError::Gzip { .. })
        })
        || chain_has::<IndexError>(error, |e| {
            !matches!(e, IndexError::Missing { .. } | IndexError::Io { .. })
        })
        || chain_has::<ReblockError>(error, |e| matches!(e, ReblockError::Unequal { .. }))
        || signal_is_malformed(error);
    if is_malformed { MALFORMED } else { FAILED }
}

/// Aligned input, and the files that go with it.
fn is_malformed_alignments(error: &anyhow::Error) -> bool {
    chain_has::<AlignmentError>(error, |e| {
        use AlignmentError::{Header, Malformed, MissingEof, Start};
        matches!(e, Header { .. } | MissingEof { .. } | Start { .. } | Malformed(_))
    }) || chain_has::<BamIndexError>(error, |e| matches!(e, BamIndexError::Bad { .. }))
        || chain_has::<IngestError>(error, |e| {
            use IngestError::{Apart, TooManyRecords, Unsorted};
            matches!(e, Unsorted { .. } | Apart { .. } | TooManyRecords { .. })
        })
        || chain_has::<NameUsedTwice>(error, |_| true)
        || chain_has::<ReadEndError>(error, |_| true)
        || chain_has::<MergeError>(error, |_| true)
        || chain_has::<RecalibrationError>(error, |_| true)
        || chain_has::<ReportError>(error, |_| true)
        || chain_has::<BedError>(error, |_| true)
        || chain_has::<ReferenceError>(error, |e| !matches!(e, ReferenceError::Source(_)))
        || chain_has::<KnownSitesError>(error, |e| !matches!(e, KnownSitesError::Source(_)))
}

/// Raw signal that is bad, or that something is missing from.
fn signal_is_malformed(error: &anyhow::Error) -> bool {
    chain_has::<LostReads>(error, |_| true)
        || calling_is_malformed(error)
        || chain_has::<FrequencyError>(error, |e| !matches!(e, FrequencyError::Source(_)))
        || chain_has::<StoreError>(error, StoreError::is_malformed)
        || chain_has::<IndexFileError>(error, |e| !matches!(e, IndexFileError::Read { .. }))
        || chain_has::<PassError>(error, |e| match e {
            PassError::Store(error) => error.is_malformed(),
            PassError::Index(error) => !matches!(error, IndexFileError::Read { .. }),
            PassError::Strict(_) | PassError::Join(JoinError::Union(_) | JoinError::Nothing(_)) => {
                true
            }
            _ => false,
        })
}

/// What reads are called from.
fn calling_is_malformed(error: &anyhow::Error) -> bool {
    chain_has::<NothingCalled>(error, |_| true)
        || chain_has::<CallError>(error, |e| matches!(e, CallError::Unsorted { .. }))
        || chain_has::<SequencesError>(error, |e| matches!(e, SequencesError::Malformed { .. }))
        || chain_has::<ModelError>(error, |_| true)
        || chain_has::<IndexedFastaError>(error, |e| {
            use IndexedFastaError::{Build, Index, OtherIndex};
            matches!(e, Build { .. } | Index { .. } | OtherIndex { .. })
        })
        || chain_has::<TextError>(error, |e| {
            !matches!(e, TextError::Open { .. } | TextError::Read { .. })
        })
}

/// A file that is not there or cannot be read is a failed run, not malformed input.
fn source_is_malformed(error: &SourceError) -> bool {
    !matches!(
        error,
        SourceError::Open { .. } | SourceError::Read { .. } | SourceError::InputCount(_)
    )
}
