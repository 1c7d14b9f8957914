//! Signal of aligned reads to calls: what brings a BAM record, its bases, its reference and its
//! signal together in one worker, and hands over what a kernel makes of them in the order of the
//! BAM.
//!
//! ```text
//!  BAM blocks ──► window ─► a worker, per record:                             ──► commit
//!  any order      window    signal by read id, read by name, region of FASTA      order of the BAM
//!                 longest   align_read, kernel
//!                 first
//! ```
//!
//! There is no batch and no barrier: records enter a window of bounded bytes as long as there is
//! room, workers take the longest of them, and what leaves at the front makes room at the back. A
//! read that cannot be called costs that read, and is booked with its reason ([`account`]).

pub(crate) mod account;
pub(crate) mod error;
mod gather;
mod inputs;
mod kernels;
pub(crate) mod record;
mod run;
mod scheduler;
pub(crate) mod sequences;
pub(crate) mod signals;
mod training_kernel;

pub use account::{CallAccount, Skip};
pub use error::CallError;
pub use inputs::CallInputs;
pub use kernels::{EventalignKernel, MethylationKernel, MethylationOutput, MethylationScratch};
pub use record::{Filter, HardClips, Region, aligned_pairs, sequenced_bases, shape};
pub use run::{CallOptions, CallTotals, Committed, run};
pub use sequences::{ReadSequences, ReadSequencesError, normalise};
pub use signals::{
    Kit, ListFiles, ScanFiles, SignalFiles, SignalFilesBuilder, SignalFilesError, SignalOptions,
};

pub use training_kernel::{TrainingKernel, TrainingOutput};

use seqloom_format::signal::SignalRead;
use seqloom_runtime::trace::Stage;

use crate::aligned_read::AlignedRead;

/// Where the time of calling went, summed over workers; that of opening, reading and decoding
/// signal and of writing is in [`seqloom_signal::flow::pass::Components`].
#[derive(Debug, Default)]
pub struct CallTimes {
    /// Reading, inflating and checking BAM records.
    pub bam: Stage,
    /// Reading the reference.
    pub reference: Stage,
    /// Reading the reads' bases.
    pub sequences: Stage,
    /// Current and events.
    pub events: Stage,
    /// Events aligned to the read's bases.
    pub align: Stage,
    /// Scaling, recalibration.
    pub scaling: Stage,
    /// Likelihoods of sequences, or events along the reference.
    pub hmm: Stage,
    /// Text and records of the output.
    pub format: Stage,
    /// Workers with nothing to do.
    pub wait: Stage,
}

/// One read, with all that is known of it.
#[derive(Debug, Clone, Copy)]
pub struct ReadInput<'a> {
    /// Its alignment.
    pub aligned: AlignedRead<'a>,
    /// Its signal.
    pub signal: &'a SignalRead,
    /// File that the signal is from.
    pub signal_path: &'a std::path::Path,
    /// Number of the BAM record among those of the input, or of its region, from 0.
    pub ordinal: u64,
    /// The BAM record.
    pub record: seqloom_format::bam::RecordRef<'a>,
}

/// Why a kernel makes nothing of a read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelSkip {
    /// A word for it, the same for all reads with that reason: `qc_alignment`.
    pub key: &'static str,
    /// Its meaning.
    pub text: String,
}

/// Computation on one read.
pub trait ReadKernel: Sync {
    /// Working memory, kept from read to read.
    type Scratch: Default;
    /// What a read becomes. Recycled: `call` is given one that holds an earlier result.
    type Output: Default + Send;

    /// Most bytes that calling a read of so many bases and samples takes, about.
    fn working_bytes(&self, bases: u64, samples: u64) -> u64;

    /// Bytes that the result of a read of so many bases holds, about.
    fn result_bytes(&self, bases: u64) -> u64;

    /// Bytes that a result holds.
    fn held_bytes(&self, output: &Self::Output) -> u64;

    /// Turns a read into `output`, in place of whatever that held.
    ///
    /// # Errors
    /// Why nothing can be made of it.
    fn call(
        &self,
        scratch: &mut Self::Scratch,
        input: &ReadInput<'_>,
        times: &CallTimes,
        output: &mut Self::Output,
    ) -> Result<(), KernelSkip>;
}
