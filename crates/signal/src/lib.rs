//! Nanopore raw signal as files: SLOW5, BLOW5, FAST5 and POD5 behind one [`store`], and what is
//! done with their reads. What is computed from signal is the crate `seqloom-calling`.
//!
//! In the order of use:
//!
//! * [`store`]: [`open`](store::open), with [`OpenOptions`](store::OpenOptions), gives a
//!   [`SignalStore`](store::SignalStore); with a [`Cursor`](store::Cursor) it fills a
//!   [`FrameBatch`](store::FrameBatch), of which it decodes one [`Frame`](store::Frame) after the
//!   other; a [`ReadIndex`](store::ReadIndex) says where a read is, and
//!   [`Requests`](store::Requests) fetches those of a list. [`fast5`](store::fast5) has a
//!   [`Fast5Writer`](store::fast5::Fast5Writer).
//! * [`flow`]: [`inputs::find`](flow::inputs::find) lists files; a [`pass::run`](flow::pass::run)
//!   takes all reads of a [`BatchSource`](flow::pass::BatchSource), such as
//!   [`Sequential`](flow::Sequential), through a [`Stage`](flow::pass::Stage); an
//!   [`Account`](flow::Account) books each [`Fault`](flow::Fault).
//! * [`operations`], its stages: [`Transcode`](operations::Transcode) to an
//!   [`Encoding`](operations::Encoding), [`Skim`](operations::Skim) without samples,
//!   [`Locate`](operations::Locate) for indices; a [`HeaderUnion`](operations::HeaderUnion) for
//!   merged files, a [`DemuxTable`](operations::DemuxTable) for those that are split.
//! * [`pool`]: a [`Fast5Pool`](pool::Fast5Pool) of processes reads FAST5 files that may crash their
//!   reader.
//!
//! All reads of a file, whatever its format is: one after the other, then by a pass.
//!
//! ```
//! use std::num::NonZeroUsize;
//!
//! use seqloom_format::signal::SignalRead;
//! use seqloom_signal::flow::Sequential;
//! use seqloom_signal::flow::pass::{self, Components, PassOptions};
//! use seqloom_signal::operations::Skim;
//! use seqloom_signal::store::{self, Cursor, DecodeScratch, FrameBatch, OpenOptions};
//!
//! # let folder = tempfile::tempdir()?;
//! let path = folder.path().join("reads.slow5");
//! std::fs::write(
//!     &path,
//!     "#slow5_version\t0.2.0\n#num_read_groups\t1\n@run_id\ta\n\
//!      #char*\tuint32_t\tdouble\tdouble\tdouble\tdouble\tuint64_t\tint16_t*\n\
//!      #read_id\tread_group\tdigitisation\toffset\trange\tsampling_rate\tlen_raw_signal\t\
//!      raw_signal\n\
//!      r1\t0\t8192\t6\t1467.6\t4000\t3\t430,472,463\n",
//! )?;
//! let store = store::open(&path, &OpenOptions::default())?;
//! let (mut cursor, mut batch) = (Cursor::default(), FrameBatch::default());
//! let (mut scratch, mut read) = (DecodeScratch::default(), SignalRead::default());
//! while store.next(&mut cursor, &mut batch)? {
//!     for frame in &batch.frames {
//!         store.decode(&mut scratch, &batch, frame, &mut read)?;
//!         assert_eq!(read.samples, [430, 472, 463]);
//!     }
//! }
//!
//! let (threads, components) = (NonZeroUsize::new(2).unwrap(), Components::default());
//! let options = PassOptions { threads, components: &components, watch: &|| Ok(()) };
//! let header = store.header().clone();
//! let stage = Skim { header: &header, components: &components };
//! let mut lines = Vec::new();
//! pass::run(&options, Sequential::of(store), &stage, |skimmed| {
//!     lines.extend_from_slice(&skimmed.text);
//!     Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
//! })?;
//! assert!(lines.starts_with(b"r1\t0\t8192\t"));
//! # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
//! ```

pub mod flow;
pub mod operations;
pub mod pool;
pub mod store;

#[cfg(test)]
mod tests;
