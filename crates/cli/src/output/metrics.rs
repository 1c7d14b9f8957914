//! Files of metrics: what Picard and samtools would say of the output.

use std::fs;
use std::path::{Path, PathBuf};

use seqloom_format::bam::Reference;
use seqloom_io::AtomicFile;
use seqloom_prep::metrics::{GatheredMetrics, MetricsRequest};
use seqloom_report::{flagstat, idxstats, picard, samtools_stats};

use super::summary::{Duplicates, Summary};
use super::{command_line, stage_text, write_error};

/// Files of metrics of one output, which are still to get their names.
pub(super) struct Metrics<'a> {
    folder: &'a Path,
    /// The output's name without suffix.
    sample: String,
    command_line: String,
    files: Vec<AtomicFile>,
}

/// Kinds of files, all that any run may write.
const KINDS: [&str; 10] = [
    "counts",
    "flagstat",
    "idxstats",
    "markdup",
    "insert_size",
    "alignment_summary",
    "quality_yield",
    "quality_by_cycle",
    "quality_distribution",
    "stats",
];

/// Paths of all metrics of an output.
pub(super) fn paths(folder: &Path, output: &Path) -> Vec<PathBuf> {
    let sample = sample(output);
    KINDS.iter().map(|kind| path(folder, &sample, kind)).collect()
}

fn path(folder: &Path, sample: &str, kind: &str) -> PathBuf {
    folder.join(format!("{sample}.{kind}.txt"))
}

/// Name of the sample, which metrics files begin with.
fn sample(output: &Path) -> String {
    let stem = output.file_stem().filter(|stem| *stem != "-");
    stem.map_or_else(|| "seqloom".into(), |stem| stem.to_string_lossy().into_owned())
}

/// Makes a folder for metrics, if need be.
///
/// # Errors
/// It cannot be made.
pub(super) fn create_folder(folder: &Path) -> seqloom_terminal::Result<()> {
    Ok(fs::create_dir_all(folder).map_err(write_error(folder))?)
}

impl<'a> Metrics<'a> {
    /// Writes what was counted of `output`, but for the names of the files.
    ///
    /// # Errors
    /// A file cannot be written.
    pub(super) fn stage(
        folder: &'a Path,
        output: &Path,
        references: &[Reference],
        (of, requested): (&Summary, MetricsRequest),
    ) -> seqloom_terminal::Result<Vec<AtomicFile>> {
        create_folder(folder)?;
        let (sample, command_line) = (sample(output), command_line());
        let mut metrics = Self { folder, sample, command_line, files: Vec::new() };
        metrics.write_counts(references, of)?;
        if let Some(lines) = &of.outcomes {
            metrics.write_file("counts", &mut lines.clone())?;
        }
        if let Some(duplicates) = &of.duplicates {
            metrics.write_duplicates(duplicates)?;
        }
        metrics.write_quality(&of.metrics, requested)?;
        Ok(metrics.files)
    }

    /// flagstat and idxstats.
    fn write_counts(
        &mut self,
        references: &[Reference],
        of: &Summary,
    ) -> seqloom_terminal::Result<()> {
        let mut text = String::new();
        flagstat::write_flagstat(&mut text, &of.tally)?;
        self.write_file("flagstat", &mut text)?;
        idxstats::write_idxstats(&mut text, references, &of.tally)?;
        self.write_file("idxstats", &mut text)
    }

    fn write_duplicates(&mut self, of: &Duplicates) -> seqloom_terminal::Result<()> {
        let Duplicates { rows, histogram, .. } = of;
        let mut text = String::new();
        picard::write_duplication_metrics(&mut text, &self.command_line, None, rows, histogram)?;
        self.write_file("markdup", &mut text)
    }

    /// Of each kind that was requested, a file. Without pairs there is no file of insert sizes, as
    /// with Picard.
    fn write_quality(
        &mut self,
        metrics: &GatheredMetrics,
        requested: MetricsRequest,
    ) -> seqloom_terminal::Result<()> {
        let (command_line, sample) = (self.command_line.clone(), self.sample.clone());
        let heading = picard::Heading { command_line: &command_line, sample: &sample };
        let mut text = String::new();
        if let Some(counts) = metrics.insert_size.as_ref().filter(|_| requested.insert_size) {
            let rows = counts.rows();
            if !rows.is_empty() {
                picard::write_insert_sizes(&mut text, &heading, &rows)?;
                self.write_file("insert_size", &mut text)?;
            }
        }
        if let Some(counts) = &metrics.alignment_summary {
            picard::write_alignment_summary(&mut text, &heading, counts)?;
            self.write_file("alignment_summary", &mut text)?;
        }
        if let Some(counts) = metrics.quality_yield.as_ref().filter(|_| requested.quality_yield) {
            picard::write_quality_yield(&mut text, &heading, counts)?;
            self.write_file("quality_yield", &mut text)?;
        }
        if let Some(counts) =
            metrics.quality_by_cycle.as_ref().filter(|_| requested.quality_by_cycle)
        {
            picard::write_quality_by_cycle(&mut text, &heading, counts)?;
            self.write_file("quality_by_cycle", &mut text)?;
        }
        if let Some(counts) =
            metrics.quality_distribution.as_ref().filter(|_| requested.quality_distribution)
        {
            picard::write_quality_distribution(&mut text, &heading, counts)?;
            self.write_file("quality_distribution", &mut text)?;
        }
        if let Some(counts) = &metrics.samtools_stats {
            samtools_stats::write_samtools_stats(&mut text, &command_line, counts)?;
            self.write_file("stats", &mut text)?;
        }
        Ok(())
    }

    /// Writes and empties `text`.
    fn write_file(&mut self, kind: &str, text: &mut String) -> seqloom_terminal::Result<()> {
        let path = path(self.folder, &self.sample, kind);
        self.files.push(stage_text(&path, text)?);
        text.clear();
        Ok(())
    }
}
