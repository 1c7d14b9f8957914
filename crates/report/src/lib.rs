//! Reports: what was counted, in the layouts that other tools read.
//!
//! In the order of use:
//!
//! * As samtools: [`write_flagstat`](flagstat::write_flagstat),
//!   [`write_idxstats`](idxstats::write_idxstats),
//!   [`write_samtools_stats`](samtools_stats::write_samtools_stats).
//! * As Picard, under a [`Heading`](picard::Heading):
//!   [`write_duplication_metrics`](picard::write_duplication_metrics),
//!   [`write_insert_sizes`](picard::write_insert_sizes),
//!   [`write_alignment_summary`](picard::write_alignment_summary),
//!   [`write_quality_yield`](picard::write_quality_yield),
//!   [`write_quality_by_cycle`](picard::write_quality_by_cycle),
//!   [`write_quality_distribution`](picard::write_quality_distribution).
//! * The JSON of a run: a [`RunReport`](run::RunReport) of [`Counts`](run::Counts),
//!   [`StageReport`](run::StageReport)s, [`UsageReport`](run::UsageReport) and
//!   [`Bytes`](run::Bytes).
//! * Quality: [`Findings`](quality::Findings) become [`sections`](quality::sections) and
//!   [`facts`](quality::facts); [`Samples`](quality::run::Samples) of a run become
//!   [one more](quality::run::run).
//! * HTML: a [`Page`](page::Page) has [`Section`](page::Section)s of [`Figure`](page::Figure)s: a
//!   [`PageTable`](page::PageTable) of [`Cell`](page::Cell)s, and a [`Plot`](plot::Plot) of
//!   [`Line`](plot::Line)s, or [`Bars`](plot::Bars), in a [`Style`](plot::Style), where that shows
//!   more.
//!
//! Flags, as samtools prints their counts, and a page:
//!
//! ```
//! use seqloom_prep::metrics::Tally;
//! use seqloom_report::flagstat::write_flagstat;
//! use seqloom_report::page::Page;
//!
//! let mut text = String::new();
//! write_flagstat(&mut text, &Tally::default())?;
//! assert!(text.starts_with("0 + 0 in total (QC-passed reads + QC-failed reads)\n"));
//!
//! let facts = vec![("records", "0".to_owned())];
//! let page = Page { title: "x.bam".to_owned(), facts, ..Page::default() };
//! assert!(page.to_html().contains("<h1>x.bam</h1>"));
//! # Ok::<(), std::fmt::Error>(())
//! ```

pub mod flagstat;
pub mod idxstats;
pub mod page;
pub mod picard;
pub mod plot;
pub mod quality;
pub mod run;
pub mod samtools_stats;
