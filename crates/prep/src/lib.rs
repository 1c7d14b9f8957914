//! Preparation of aligned reads: duplicates, sorting, recalibration, metrics. Knows no aligner and
//! no command line.
//!
//! In the order of use:
//!
//! * [`input`]: [`merge`](input::headers::merge) makes one header of several; an
//!   [`ingest::run`](input::ingest::run) takes all records through the steps to a collector; a
//!   [`ReferenceSequences`](input::ReferenceSequences) has the bases that they are compared with.
//! * [`steps`]: [`Steps`](steps::Steps), which records pass; a
//!   [`RecordStep`](steps::RecordStep) of one's own.
//! * [`partition`]: a [`Backing`](partition::Backing), memory and spilled data; the
//!   [`SortOrder`](partition::SortOrder) of the output and the
//!   [`GenomeBins`](partition::GenomeBins) that it is made by; a
//!   [`Collector`](partition::Collector), in which records wait until all are there.
//! * [`duplicates`]: [`LibraryTable`](duplicates::LibraryTable) and
//!   [`ReadEndOptions`](duplicates::ReadEndOptions) say which reads are compared; an
//!   [`EndCollector`](partition::EndCollector) keeps their ends, and
//!   [`resolve_all`](duplicates::resolve_all) makes [`DuplicateMarks`](duplicates::DuplicateMarks)
//!   of them.
//! * [`recalibrate`]: a [`RecalibrationRequest`](recalibrate::RecalibrationRequest) counts
//!   covariates outside of [`KnownSites`](recalibrate::KnownSites), or has a
//!   [`RecalibrationTable`](recalibrate::RecalibrationTable); an
//!   [`Applier`](recalibrate::Applier) sets qualities.
//! * [`finish`]: [`StoredRecords`](finish::StoredRecords) are sorted, marked and written by
//!   [`finish::run`], in an [`Encoding`](finish::Encoding), unit by unit of a
//!   [`UnitPlan`](finish::UnitPlan).
//! * [`metrics`]: a [`MetricsRequest`](metrics::MetricsRequest), and the
//!   [`GatheredMetrics`](metrics::GatheredMetrics) and [`Tally`](metrics::Tally) of what is
//!   written.
//! * [`pipeline`]: [`pipeline::run`] does all that follows input for a command, its
//!   [`PipelineCallbacks`](pipeline::PipelineCallbacks), as a
//!   [`PipelineRequest`](pipeline::PipelineRequest) says, with
//!   [`Checkpoints`](pipeline::Checkpoints) if it may be resumed;
//!   [`run_piece`](pipeline::run_piece) writes a piece of an output.
//! * [`exchange`]: [`exchange::write`] and [`Exchanges`](exchange::Exchanges), by which several
//!   processes share the work.
//!
//! Three records, sorted, duplicates marked:
//!
//! ```
//! use std::num::NonZeroUsize;
//!
//! use seqloom_io::{AlignmentOptions, AlignmentSource, Output, spill::SpillFile};
//! use seqloom_prep::duplicates::*;
//! use seqloom_prep::finish::*;
//! use seqloom_prep::input::CoordinateClaim;
//! use seqloom_prep::input::ingest::{self, IngestOptions, IngestTrace};
//! use seqloom_prep::partition::*;
//! use seqloom_prep::{finish, steps::Steps};
//! use seqloom_runtime::memory::Ledger;
//!
//! # let folder = tempfile::tempdir()?;
//! let [sam, sorted] = ["in.sam", "out.sam"].map(|name| folder.path().join(name));
//! std::fs::write(
//!     &sam,
//!     "@SQ\tSN:chr1\tLN:1000\n\
//!      last\t0\tchr1\t500\t60\t4M\t*\t0\t0\tACGT\tIIII\n\
//!      poor\t0\tchr1\t100\t60\t4M\t*\t0\t0\tACGT\t5555\n\
//!      good\t0\tchr1\t100\t60\t4M\t*\t0\t0\tACGT\tIIII\n",
//! )?;
//! let source = AlignmentSource::open(&[sam], AlignmentOptions::default())?;
//! let header = &source.headers()[0];
//!
//! // All records to partitions.
//! let spill = SpillFile::create(&[folder.path().to_owned()])?;
//! let backing = Backing { ledger: Ledger::new(64 << 20), spill };
//! let (bins, libraries) = (GenomeBins::new(header.references()), LibraryTable::new(header)?);
//! let (mode, grouping) = (DuplicateMode::Query, Grouping::Templates);
//! let ends = ReadEndOptions {
//!     mode,
//!     locations: LocationSource::Illumina,
//!     barcodes: BarcodeTags::default(),
//!     picard: PicardVersion::default(),
//! };
//! let ends = EndCollector::new(&backing, 4096, grouping, &libraries, ends);
//! let to = Destination::by_coordinate(&bins);
//! let collector = Collector::new(&backing, 4096, to, Some(ends));
//! let threads = NonZeroUsize::new(2).unwrap();
//! let (claim, steps) = (CoordinateClaim::None, [Steps::new()]);
//! let options = IngestOptions { threads, grouping, claim, names: None, steps: &steps };
//! let trace = IngestTrace::default();
//! let read = ingest::run(&source, &collector, &options, &trace, &|| Ok(()))?;
//!
//! // Duplicates.
//! let Collected { placed, by_ordinal, ends, .. } = collector.into_collected();
//! let resources = PhaseResources { backing: &backing, threads, watch: &|| Ok(()) };
//! let options = DuplicateOptions::default();
//! let (marks, _) = resolve_all(ends.unwrap(), read.templates, mode, &options, &resources)?;
//!
//! // Each partition is sorted and written.
//! let stores = [&placed, &by_ordinal];
//! let records = StoredRecords { stores: &stores, backing: &backing, marks: Some(&marks) };
//! let options = FinishOptions {
//!     threads,
//!     order: SortOrder::Coordinate,
//!     encoding: Encoding::Sam,
//!     references: header.references(),
//!     referred: None,
//!     remove_duplicates: false,
//!     editor: None,
//!     visitor: None,
//!     trace: &FinishTrace::default(),
//!     watch: &|| Ok(()),
//! };
//! let mut outputs = [Output::create(&sorted)?];
//! let plan = UnitPlan::new(&stores, UNIT_BYTES);
//! finish::run(&records, plan.all(), &options, &mut outputs, None)?;
//! let [output] = outputs;
//! output.into_file().unwrap().commit()?;
//! let text = std::fs::read_to_string(&sorted)?;
//! let starts = ["poor\t1024\t", "good\t0\t", "last\t0\t"];
//! assert_eq!(text.lines().count(), starts.len());
//! assert!(text.lines().zip(starts).all(|(line, start)| line.starts_with(start)), "{text}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod duplicates;
pub mod exchange;
pub mod finish;
mod hash;
pub mod input;
pub mod metrics;
pub mod partition;
pub mod pipeline;
pub mod recalibrate;
pub mod steps;
#[cfg(test)]
mod test_records;

#[cfg(test)]
mod tests;
