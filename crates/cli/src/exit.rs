//! From the errors of all commands to exit codes.

use seqloom_align::engine::EngineError;
use seqloom_align::index::{BuildError, IndexError};
use seqloom_align::input_error::CohortError;
use seqloom_calling::flow::CallError;
use seqloom_calling::methylation::FrequencyError;
use seqloom_calling::pore_model::ModelError;
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
use seqloom_io::source::SourceError;
use seqloom_io::spill::SpillError;
use seqloom_prep::duplicates::{NameUsedTwice, ReadEndError};
use seqloom_prep::exchange::ExchangeError;
use seqloom_prep::input::IngestError;
use seqloom_prep::input::headers::MergeError;
use seqloom_prep::recalibrate::RecalibrationError;
use seqloom_prep::recalibrate::report::ReportError;
use seqloom_prep::steps::StepError;
use seqloom_signal::store::{IndexFileError, StoreError};
use seqloom_terminal::exit::{FAILED, MALFORMED, OK, OUTPUT, USAGE, chain_has, common_code};

use crate::align::lanes::SheetError;
use crate::shard::error::ShardError;
use crate::signal::error::{JoinError, LostReads, NothingCalled, PassError};

/// The exit code of an error of any command; 0 where nobody reads the output any more.
pub(crate) fn code(error: &anyhow::Error) -> u8 {
    let common = common_code(error);
    let is_closed_pipe = chain_has::<PassError>(
        error,
        |e| matches!(e, PassError::Output(output) if output.is_closed_pipe()),
    );
    if common == OK || is_closed_pipe {
        return OK;
    }
    let is_usage = common == USAGE
        || columns_code(error) == Some(USAGE)
        || chain_has::<ReblockError>(error, |e| matches!(e, ReblockError::TooSmall { .. }))
        || chain_has::<ShardError>(error, ShardError::is_usage)
        || chain_has::<StepError>(error, |e| matches!(e, StepError::UnknownReadGroup(_)))
        || chain_has::<BuildError>(error, |e| matches!(e, BuildError::MemoryLimit { .. }));
    if is_usage {
        return USAGE;
    }
    let is_output = common == OUTPUT
        || chain_has::<PassError>(error, |e| matches!(e, PassError::Output(_)))
        || chain_has::<AtomicFileError>(error, |_| true)
        || chain_has::<BuildError>(error, |e| matches!(e, BuildError::Write { .. }))
        || chain_has::<KeptError>(error, |_| true)
        || chain_has::<ShardError>(error, ShardError::is_output)
        || chain_has::<ExchangeError>(error, |e| {
            matches!(e, ExchangeError::Write { .. } | ExchangeError::Damaged { .. })
        })
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
        || chain_has::<EngineError>(error, |e| matches!(e, EngineError::Read { .. }))
        || chain_has::<BuildError>(error, |e| {
            matches!(e, BuildError::Fasta { .. } | BuildError::Gzip { .. })
        })
        || chain_has::<SheetError>(error, |e| !matches!(e, SheetError::Io { .. }))
        || chain_has::<IndexError>(error, |e| {
            !matches!(e, IndexError::Missing { .. } | IndexError::Io { .. })
        })
        || chain_has::<ReblockError>(error, |e| matches!(e, ReblockError::Unequal { .. }))
        || columns_code(error) == Some(MALFORMED)
        || signal_is_malformed(error);
    if is_malformed { MALFORMED } else { FAILED }
}

/// The code of what only `columns` says.
#[cfg(feature = "columns")]
fn columns_code(error: &anyhow::Error) -> Option<u8> {
    use seqloom_columns::error::ColumnsError as E;
    error.chain().find_map(|cause| match cause.downcast_ref::<E>()? {
        E::Wanted(_) => Some(USAGE),
        E::Value(_) | E::Fault(_) | E::Inputs { .. } => Some(MALFORMED),
        _ => None,
    })
}

/// There is no `columns`.
#[cfg(not(feature = "columns"))]
fn columns_code(_: &anyhow::Error) -> Option<u8> {
    None
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
