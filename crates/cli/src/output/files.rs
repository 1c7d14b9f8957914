//! The output of a command: header before the records; name, index and metrics after.

use std::fs;
use std::iter;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use seqloom_format::bam::{Header, Reference};
use seqloom_format::bgzf::VirtualOffset;
use seqloom_io::sidecars::with_suffix;
use seqloom_io::{Output, Publication, is_direct};
use seqloom_prep::finish::{EncodeError, Encoding, OutputIndex};
use seqloom_terminal::error::Bug;
use seqloom_terminal::{UsageError, signals};

use super::arguments::{IndexKind, OutputArguments, OutputFormat};
use super::index::{self, IndexFormat};
use super::metrics::{self, Metrics};
use super::run::Run;
use super::summary::{Ingested, Summary};
use super::{check_writable, page, stage_text, stripes};

/// The output and what goes next to it: which files, in which format, with which index.
pub(crate) struct OutputFiles<'a> {
    arguments: &'a OutputArguments,
    format: OutputFormat,
    /// Format of the index that will be written, if one of bins will be.
    index: Option<IndexFormat>,
    /// Whether the index of a CRAM will be.
    has_crai: bool,
}

impl<'a> OutputFiles<'a> {
    /// Opens the output, unless it is `begun` already. `in_coordinate_order` allows an index.
    ///
    /// # Errors
    /// A file that cannot be written, or an index that cannot hold the references.
    pub(crate) fn open(
        arguments: &'a OutputArguments,
        references: &[Reference],
        in_coordinate_order: bool,
        begun: Option<Output>,
    ) -> seqloom_terminal::Result<(Self, Output)> {
        let format = arguments.format()?;
        check_sidecars(arguments)?;
        signals::defer();
        let mut output = match begun {
            Some(output) => output,
            None => Output::create(&arguments.output)?,
        };
        if arguments.md5 {
            let refuse = "--md5 needs an output file";
            if !output.is_regular_file() {
                return Err(UsageError(refuse.to_owned()).into());
            }
            output.take_md5()?;
        }
        let indexable = in_coordinate_order && output.is_regular_file();
        let is_bam = indexable && format == OutputFormat::Bam;
        let index = IndexFormat::choose(arguments.write_index, references, is_bam)?;
        let is_cram = indexable && format == OutputFormat::Cram;
        let has_crai = is_cram && arguments.write_index == IndexKind::Auto;
        Ok((Self { arguments, format, index, has_crai }, output))
    }

    /// Opens an output in several files that are one after the other what a single one would be.
    ///
    /// # Errors
    /// As [`OutputFiles::open`], and what is in the way.
    pub(crate) fn open_striped(
        arguments: &'a OutputArguments,
        stripes: NonZeroUsize,
        references: &[Reference],
        in_coordinate_order: bool,
    ) -> seqloom_terminal::Result<(Self, Vec<Output>)> {
        if stripes == NonZeroUsize::MIN {
            let (files, output) = Self::open(arguments, references, in_coordinate_order, None)?;
            return Ok((files, vec![output]));
        }
        let format = arguments.format()?;
        check_sidecars(arguments)?;
        let indexable = in_coordinate_order && format == OutputFormat::Bam;
        let index = IndexFormat::choose(arguments.write_index, references, indexable)?;
        signals::defer();
        let outputs = stripes::open(arguments, stripes, index.is_some())?;
        Ok((Self { arguments, format, index, has_crai: false }, outputs))
    }

    /// The files of a sorted BAM or CRAM that other processes write, or of which this one writes a
    /// piece.
    ///
    /// # Errors
    /// SAM, which has no pieces that could be put together; an index that cannot hold the
    /// references.
    pub(crate) fn of_others(
        arguments: &'a OutputArguments,
        references: &[Reference],
    ) -> seqloom_terminal::Result<Self> {
        arguments.refuse_sam("a run of several processes")?;
        let format = arguments.named_format();
        arguments.check_cram_options(format)?;
        let is_bam = format == OutputFormat::Bam;
        let index = IndexFormat::choose(arguments.write_index, references, is_bam)?;
        Ok(Self { arguments, format, index, has_crai: false })
    }

    /// Path of the output.
    pub(crate) fn path(&self) -> &'a Path {
        &self.arguments.output
    }

    pub(crate) fn encoding(&self) -> Encoding {
        match self.format {
            OutputFormat::Bam => Encoding::Bam {
                deflate: self.arguments.deflate(),
                index: self.index.map(IndexFormat::scheme),
            },
            OutputFormat::Sam => Encoding::Sam,
            OutputFormat::Cram => Encoding::Cram {
                settings: seqloom_cram::Settings {
                    version: self.arguments.cram_version(),
                    level: self.arguments.level,
                    keeps_mismatch_tags: self.arguments.cram_keep_md,
                },
                index: self.has_crai,
            },
        }
    }

    /// Writes the header before the records.
    pub(crate) fn write_header(
        &self,
        header: &Header,
        outputs: &mut [Output],
    ) -> seqloom_terminal::Result<()> {
        let Some(output) = outputs.first_mut() else { return Ok(()) };
        Ok(output.write(&self.encoding().header(header)?)?)
    }

    /// Ends the stream of records; gives the index file's bytes.
    pub(crate) fn close(
        &self,
        builder: Option<OutputIndex>,
        outputs: &mut [Output],
    ) -> seqloom_terminal::Result<Option<Vec<u8>>> {
        let end = VirtualOffset::new(written_bytes(outputs), 0).unwrap_or_default();
        if let Some(last) = outputs.last_mut() {
            last.write(self.encoding().end())?;
        }
        match (builder, self.index) {
            (Some(OutputIndex::Bins(builder)), Some(format)) => {
                Ok(Some(format.finish(builder, end)?))
            }
            (Some(OutputIndex::Containers(numbering)), _) => {
                Ok(numbering.finish().map_err(EncodeError::Cram)?)
            }
            _ => Ok(None),
        }
    }

    /// Gives the output its name, with its index, and their names to metrics and the report of the
    /// run. All of these are written before: should there be no room for one, what had the
    /// output's name is still there. What is next to that, and belongs to it alone, goes with it:
    /// indices, MD5, and all metrics in the folder that is named now.
    pub(crate) fn publish(
        &self,
        outputs: Vec<Output>,
        references: &[Reference],
        (summary, run): (&mut Summary, &Run<'_>),
        ingested: impl FnOnce() -> Ingested,
    ) -> seqloom_terminal::Result<()> {
        let written_bytes = written_bytes(&outputs);
        let (path, mut sidecars) = (self.path(), Vec::new());
        if let Some(folder) = &self.arguments.metrics_dir {
            let of = (&*summary, self.arguments.metrics_files());
            sidecars = Metrics::stage(folder, path, references, of)?;
        }
        let host = run.console.host().filter(|host| host.wants_report());
        let mut for_host = None;
        if self.arguments.json.is_some() || self.arguments.html.is_some() || host.is_some() {
            let mut report = summary.report(ingested(), run, (path, written_bytes));
            if let Some(html) = &self.arguments.html {
                let page = page::page(summary, references, (&report, run));
                sidecars.push(stage_text(html, &page.to_html())?);
                report.qc = Some(page.to_json());
            }
            if let Some(json) = &self.arguments.json {
                sidecars.push(stage_text(json, &report.to_json().map_err(Bug::new)?)?);
            }
            for_host = host.map(|host| (host, report));
        }
        // As Picard writes it: the digits alone.
        if let Some(md5) = outputs.first().and_then(Output::digest) {
            sidecars.push(stage_text(&with_suffix(path, ".md5"), &md5)?);
        }
        sidecars.append(&mut summary.sidecars);
        let suffix = match self.index {
            Some(format) => format.suffix(),
            None => ".crai",
        };
        let index = summary.index.as_deref().map(|bytes| index::file(path, suffix, bytes));
        let index = index.transpose()?.flatten();
        let stale = self.stale(&outputs, index.is_some());
        let outputs = outputs.into_iter().filter_map(Output::into_file).collect();
        refuse_replacing(self.arguments, iter::empty())?;
        // The input may have ended because who wrote it was stopped, by the same signal.
        signals::check()?;
        Publication { outputs, index, sidecars, stale }.commit()?;
        // What it hears of is there.
        if let Some((host, report)) = for_host {
            host.report(&report);
        }
        Ok(())
    }

    /// Files next to the output's name that would be taken for the new output's.
    fn stale(&self, outputs: &[Output], is_indexed: bool) -> Vec<PathBuf> {
        let path = self.path();
        let folder = self.arguments.metrics_dir.as_deref();
        let mut stale = folder.map_or_else(Vec::new, |folder| metrics::paths(folder, path));
        let is_striped = outputs.len() > 1;
        // Where there is a file of this name, what is next to may be that one's.
        let are_of_stripes = is_indexed || fs::symlink_metadata(path).is_err();
        let is_file = outputs.iter().any(Output::is_regular_file);
        if is_file && (!is_striped || are_of_stripes) {
            stale.extend(self.arguments.indices());
            stale.push(with_suffix(path, ".md5"));
        }
        stale
    }
}

/// Refuses, with `--no-clobber`, whatever a run would put its own in the place of: its outputs,
/// what is next to them under names that belong to it, and `more`. Pipes and devices are written
/// to, not replaced.
///
/// # Errors
/// [`UsageError`] that names the first such file.
pub(crate) fn refuse_replacing<'p>(
    arguments: &'p OutputArguments,
    more: impl Iterator<Item = &'p Path>,
) -> Result<(), UsageError> {
    if !arguments.no_clobber {
        return Ok(());
    }
    let output = &arguments.output;
    let is_stream = |path: &Path| path.as_os_str() == "-" || is_direct(path);
    let given = arguments.outputs().map(|(_, path)| path).chain(more);
    let mut paths: Vec<PathBuf> =
        given.filter(|path| !is_stream(path)).map(Path::to_owned).collect();
    if !is_stream(output) {
        paths.extend(arguments.indices());
        paths.push(with_suffix(output, ".md5"));
    }
    let folder = arguments.metrics_dir.as_deref();
    paths.extend(folder.map_or_else(Vec::new, |folder| metrics::paths(folder, output)));
    match paths.iter().find(|path| fs::symlink_metadata(path).is_ok()) {
        Some(path) => {
            let name = path.display();
            Err(UsageError(format!("{name} is there already, and --no-clobber keeps it")))
        }
        None => Ok(()),
    }
}

/// Looks whether what is written next to the output can be, before there is one.
fn check_sidecars(arguments: &OutputArguments) -> seqloom_terminal::Result<()> {
    arguments.metrics_dir.as_deref().map_or(Ok(()), metrics::create_folder)?;
    arguments.json.as_deref().map_or(Ok(()), check_writable)?;
    arguments.html.as_deref().map_or(Ok(()), check_writable)
}

/// Bytes of all outputs.
fn written_bytes(outputs: &[Output]) -> u64 {
    outputs.iter().map(Output::written_bytes).sum()
}
