//! The `seqloom` binary against its contract and against the field's referees.
//!
//! One test binary, so that its data sets are made once. Real data comes from `SEQLOOM_DATA`; the
//! runs of a million reads wait for `SEQLOOM_SLOW=1`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod common;
mod data;
mod prep;

mod address_space;
mod beside;
mod book;
mod by_score;
mod by_score_pairs;
mod certified_path;
mod command_line;
mod determinism;
mod digests;
mod duplicates;
mod fastq;
mod faults;
mod identity;
mod identity_scale;
mod index;
mod input;
mod lanes;
mod lead;
mod lengths;
mod limits;
mod limits_memory;
mod manners;
mod mates;
mod memory;
mod metrics;
mod numa;
mod packaging;
mod prep_determinism;
mod prep_duplicates;
mod prep_faults;
mod prep_inputs;
mod prep_malformed;
mod prep_memory;
mod prep_orders;
mod prep_resume;
mod prep_steps;
mod progress;
mod read_names;
mod recalibration;
mod refused;
mod report_html;
mod rna;
mod round_trips;
mod same_files;
mod shard;
mod shard_faults;
mod shard_memory;
mod shard_ray;
mod shard_resume;
mod shard_same_bytes;
mod shard_snakemake;
mod shard_start;
mod signal;
mod signal_frequency;
mod signal_hostile;
mod signal_methylation;
mod signal_pool;
mod signal_refusals;
mod signal_roundtrip;
mod signal_slow5tools;
mod signal_truth;
mod spliced;
mod stripes;
mod umi;
mod umi_families;
mod ungapped;
mod ungapped_files;
mod validity;
