//! Base quality score recalibration, for all commands that have it: what is requested, and what has
//! to be loaded for it.

use std::path::{Path, PathBuf};

use seqloom_format::bam::Header;
use seqloom_io::{AtomicFile, known_sites, text};
use seqloom_prep::input::ReferenceSequences;
use seqloom_prep::partition::Backing;
use seqloom_prep::recalibrate::{
    AppliedCounts, ApplyOptions, CountedTable, Counter, DynamicQuantization, KnownSites,
    KnownSitesBuilder, RecalibrationError, RecalibrationOptions, RecalibrationRequest,
    RecalibrationTable, StoredCounts, TableSource, gather, most_memory_bytes, report, write_report,
};
use seqloom_report::run::AppliedReport;
use seqloom_terminal::error::UnusableFile;
use seqloom_terminal::{Console, UsageError};

use crate::output::check_writable;

/// Longest report that is read: a read group takes a quarter of a megabyte.
const MOST_REPORT_BYTES: usize = 1 << 30;

/// What is recalibrated, and how.
#[derive(Debug, clap::Args)]
#[command(
    next_help_heading = "Base quality recalibration (as GATK BaseRecalibrator, ApplyBQSR)",
    group = clap::ArgGroup::new("recalibrating").args(["known_sites", "apply_bqsr"]).multiple(true)
)]
pub(crate) struct RecalibrationArguments {
    /// VCF, or BED by its suffix (plain or compressed), of sites that vary, repeatable: recalibrate
    #[arg(long, value_name = "VCF")]
    known_sites: Vec<PathBuf>,
    /// Where the report goes (GATK's format)
    #[arg(long, value_name = "FILE")]
    bqsr_report: Option<PathBuf>,
    /// Write the report and leave qualities as they are
    #[arg(long, requires = "bqsr_report")]
    bqsr_report_only: bool,
    /// Report to apply instead of counting, plain or compressed; several are gathered
    #[arg(long, value_name = "FILE", conflicts_with_all = ["known_sites", "bqsr_report_only"])]
    apply_bqsr: Vec<PathBuf>,
    /// Levels that qualities are set to, such as 10,20,30
    #[arg(long, value_name = "Q,...", value_delimiter = ',', requires = "recalibrating")]
    static_quantized_quals: Vec<u8>,
    /// To the level below instead of the nearest one
    #[arg(long, requires = "static_quantized_quals")]
    round_down_quantized: bool,
    /// Levels of dynamic quantization; 0 for none, -1 for those of the report
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true,
          value_parser = clap::value_parser!(i16).range(-1..=93),
          conflicts_with = "static_quantized_quals", requires = "recalibrating")]
    quantize_quals: i16,
    /// Start from the qualities in tag OQ
    #[arg(long, requires = "recalibrating")]
    use_original_qualities: bool,
    /// Keep the old qualities in tag OQ
    #[arg(long, requires = "recalibrating")]
    emit_original_quals: bool,
    /// Leave lower qualities as they are
    #[arg(long, value_name = "Q", default_value_t = 6, requires = "recalibrating")]
    preserve_qscores_less_than: u8,
    /// Bases at the ends of a read with at most this quality count as N in contexts
    #[arg(long, value_name = "Q", default_value_t = 2, requires = "known_sites")]
    low_quality_tail: u8,
    /// Largest number of cycles in the table; a longer read (after clipping) stops the run
    #[arg(long, value_name = "N", default_value_t = 500, requires = "known_sites")]
    maximum_cycle_value: u32,
    /// Quality expected of every read group, instead of what it reports
    #[arg(long, value_name = "Q", requires = "recalibrating")]
    global_qscore_prior: Option<f64>,
    /// Leave the qualities of reads whose read group the report lacks as they are, where a report
    /// is given; counted in the same run, they always stay
    #[arg(long, requires = "recalibrating")]
    allow_missing_read_group: bool,
}

impl RecalibrationArguments {
    /// Whether covariates are counted, for which the reference is needed.
    pub(crate) fn counts(&self) -> bool {
        !self.known_sites.is_empty()
    }

    /// Files that are written, with their options.
    pub(crate) fn outputs(&self) -> impl Iterator<Item = (&str, &Path)> {
        self.bqsr_report.iter().map(|path| ("--bqsr-report", path.as_path()))
    }

    /// Files that are read.
    pub(crate) fn files(&self) -> impl Iterator<Item = &PathBuf> {
        self.known_sites.iter().chain(&self.apply_bqsr)
    }

    /// Whether anything is requested.
    pub(crate) fn is_requested(&self) -> bool {
        self.counts() || !self.apply_bqsr.is_empty()
    }

    /// Whether qualities are changed, or only counted.
    pub(crate) fn changes_records(&self) -> bool {
        self.is_requested() && !self.bqsr_report_only
    }

    /// Where the report goes.
    pub(crate) fn report_path(&self) -> Option<&Path> {
        self.bqsr_report.as_deref()
    }

    /// Writes the report of what several processes have counted.
    ///
    /// # Errors
    /// A header that has no table; counts that cannot be read; what cannot be written.
    pub(crate) fn write_report(
        &self,
        header: &Header,
        (counts, backing): (&StoredCounts, &Backing),
        (file, console): (&AtomicFile, &Console),
    ) -> seqloom_terminal::Result<()> {
        let none = (ReferenceSequences::default(), KnownSitesBuilder::new(&[]).finish());
        let counter = Counter::new(&self.counting(), header, &none.0, &none.1)?;
        let table = CountedTable::new(&counter, counts, backing)?;
        if self.bqsr_report_only {
            warn_of_uncounted(console, &table.view().missing_read_groups(header));
        }
        Ok(write_report(table.view(), file)?)
    }

    /// Applies a table; its report is written elsewhere.
    pub(crate) fn applying<'t>(&self, table: &'t RecalibrationTable) -> RecalibrationRequest<'t> {
        let source = TableSource::Given(table);
        RecalibrationRequest { source, report: None, applying: Some(self.apply_options()) }
    }

    /// Memory that recalibration may need besides that of its workers: its tables, and what applies
    /// them.
    pub(crate) fn most_memory_bytes(&self, header: &Header) -> u64 {
        if !self.is_requested() {
            return 0;
        }
        most_memory_bytes(&self.counting(), header.read_groups().len())
    }

    /// Makes the paths absolute that are relative to `folder`.
    pub(crate) fn rebase(&mut self, folder: &Path) {
        let paths = self.known_sites.iter_mut().chain(&mut self.apply_bqsr);
        paths.chain(&mut self.bqsr_report).for_each(|path| *path = folder.join(&*path));
    }

    /// The reports that are given, gathered, as they are once they are written: what is written is
    /// what is applied.
    fn given_table(&self) -> seqloom_terminal::Result<Option<RecalibrationTable>> {
        let mut tables = Vec::new();
        for path in &self.apply_bqsr {
            let text = text::read_all(path, MOST_REPORT_BYTES)?;
            tables.push(report::parse(&text).map_err(|error| UnusableFile::new(path, error))?);
        }
        if tables.is_empty() {
            return Ok(None);
        }
        Ok(Some(report::parse(report::write(&gather(tables)?).as_bytes())?))
    }

    fn counting(&self) -> RecalibrationOptions {
        RecalibrationOptions {
            preserve_below: self.preserve_qscores_less_than,
            low_quality_tail: self.low_quality_tail,
            max_cycle: self.maximum_cycle_value,
            use_original_qualities: self.use_original_qualities,
            ..RecalibrationOptions::default()
        }
    }

    fn apply_options(&self) -> ApplyOptions {
        ApplyOptions {
            static_quantized: self.static_quantized_quals.clone(),
            round_down: self.round_down_quantized,
            quantize_levels: match u8::try_from(self.quantize_quals) {
                Ok(0) => DynamicQuantization::Off,
                Ok(levels) => DynamicQuantization::Levels(levels),
                Err(_) => DynamicQuantization::AsReported,
            },
            preserve_below: self.preserve_qscores_less_than,
            emit_original: self.emit_original_quals,
            use_original: self.use_original_qualities,
            global_prior: self.global_qscore_prior,
            // What was counted of these very reads lacks the groups of which no read counts.
            allow_missing_read_group: self.allow_missing_read_group || self.counts(),
        }
    }
}

/// Recalibration, ready to run.
pub(crate) struct Recalibration<'a> {
    arguments: &'a RecalibrationArguments,
    known_sites: KnownSites,
    /// The report that was given, or what several together are.
    given: Option<RecalibrationTable>,
}

impl<'a> Recalibration<'a> {
    /// Reads known sites or reports; `None` where nothing is requested. What the reads' header
    /// or a report that cannot be written would stop in the end is refused here.
    ///
    /// # Errors
    /// A file that cannot be read or is malformed, options that ask for nothing.
    pub(crate) fn prepare(
        arguments: &'a RecalibrationArguments,
        header: &Header,
        groups: ReadGroupsFrom<'_>,
        console: &Console,
    ) -> seqloom_terminal::Result<Option<Self>> {
        let references = header.references();
        let given = arguments.given_table()?;
        if given.is_none() && !arguments.counts() {
            let requested = arguments.bqsr_report.is_some();
            return match requested {
                true => Err(UsageError("--bqsr-report needs --known-sites".to_owned()).into()),
                false => Ok(None),
            };
        }
        if arguments.counts() {
            let checked = arguments.counting().check_for(header);
            checked.map_err(|error| UsageError(format!("{error}{}", hint(&error, groups))))?;
        }
        if let Some(path) = &arguments.bqsr_report {
            check_writable(path)?;
        }
        let mut sites = KnownSitesBuilder::new(references);
        for path in &arguments.known_sites {
            let add = |reference, bases| sites.add(reference, bases);
            let read = known_sites::read(path, references, add)?;
            if read.sites == 0 {
                console.warn(&format!(
                    "{}: no known site; every base that differs from the reference counts as an \
                     error",
                    path.display()
                ));
            }
        }
        Ok(Some(Self { arguments, known_sites: sites.finish(), given }))
    }

    /// The text of the reports that were given, gathered.
    pub(crate) fn given_report(&self) -> Option<String> {
        self.given.as_ref().map(report::write)
    }

    /// Memory that it holds from now on, and what it may need in the end.
    pub(crate) fn memory_bytes(&self, header: &Header) -> u64 {
        // They were gathered, and are written and read, which takes two more of their size.
        let given_bytes = 3 * self.given.as_ref().map_or(0, RecalibrationTable::size_bytes);
        self.known_sites.size_bytes() + given_bytes + self.arguments.most_memory_bytes(header)
    }

    /// The request to the pipeline.
    pub(crate) fn request(&self) -> RecalibrationRequest<'_> {
        let arguments = self.arguments;
        let source = match &self.given {
            Some(table) => TableSource::Given(table),
            None => TableSource::Counted {
                options: arguments.counting(),
                known_sites: &self.known_sites,
            },
        };
        let applying = (!arguments.bqsr_report_only).then(|| arguments.apply_options());
        RecalibrationRequest { source, report: arguments.report_path(), applying }
    }
}

/// Source of read groups, for messages.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ReadGroupsFrom<'p> {
    /// `--read-group`, or the header of the input.
    Option,
    /// A sheet (`--input`), with which that option is refused.
    Sheet(&'p Path),
}

/// Says which read groups of the header the report of its reads does not have.
pub(crate) fn warn_of_uncounted(console: &Console, groups: &[String]) {
    for group in groups {
        console.warn(&format!(
            "no base of read group {group} was counted, so that the report does not have it; \
             --apply-bqsr leaves the qualities of its reads as they are with \
             --allow-missing-read-group"
        ));
    }
}

/// Says which records have no new qualities, and why.
pub(crate) fn log_applied(console: &Console, counts: &AppliedCounts) {
    for (group, records) in &counts.missing_read_groups {
        console.warn(&format!(
            "the recalibration report does not have read group {group}, as none of its bases was \
             counted: the qualities of its {records} records are not recalibrated"
        ));
    }
    let as_they_were: Vec<_> = counts.as_they_were().collect();
    if as_they_were.is_empty() {
        return;
    }
    let parts: Vec<_> = as_they_were.iter().map(|(why, it)| format!("{it} {why}")).collect();
    console.info(&format!(
        "recalibration: {} records have new qualities; as they were: {}",
        counts.recalibrated,
        parts.join(", "),
    ));
}

/// Its part of the report of a run.
pub(crate) fn applied_report(counts: &AppliedCounts) -> AppliedReport {
    AppliedReport {
        recalibrated_records: counts.recalibrated,
        missing_read_groups: counts.missing_read_groups.clone(),
        without_read_group: counts.no_read_group,
        spliced: counts.spliced,
        without_qualities: counts.no_qualities,
        cigar_of_other_length: counts.cigar_of_other_length,
        beyond_sequence: counts.beyond_sequence,
    }
}

/// Hint where what the header lacks is given.
fn hint(error: &RecalibrationError, groups: ReadGroupsFrom<'_>) -> String {
    match (error, groups) {
        (
            RecalibrationError::NoReadGroups | RecalibrationError::NoPlatforms,
            ReadGroupsFrom::Option,
        ) => "; give it, such as '@RG\\tID:a\\tSM:s\\tPL:ILLUMINA', with --read-group".to_owned(),
        (
            RecalibrationError::NoReadGroups | RecalibrationError::NoPlatforms,
            ReadGroupsFrom::Sheet(path),
        ) => format!("; give {} a column platform, with ILLUMINA for example", path.display()),
        _ => String::new(),
    }
}
