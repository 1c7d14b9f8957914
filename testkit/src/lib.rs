//! What the tests and the demo need and the product never does: genomes and reads made from a
//! seed, with the truth in the read names; BAM against that truth; two SAM streams against each
//! other; and one place where a test says that it was skipped.
//!
//! Everything here is a function of its options and its seed, so that a failing test fails again.

pub mod accuracy;
pub mod bam;
#[allow(clippy::print_stdout, clippy::print_stderr)] // a command line program
mod commands;
pub mod compare;
pub mod damage;
mod error;
pub mod fastq;
pub mod gatk;
pub mod genome;
pub mod hard_data;
pub mod hostile;
mod human;
mod index_check;
pub mod nanopore;
pub mod planted;
pub mod python;
pub mod random;
pub mod reads;
pub mod recorded;
pub mod referees;
pub mod running;
pub mod sam;
pub mod skip;
pub mod transcripts;
mod truth;

pub use commands::run;
pub use error::Error;
