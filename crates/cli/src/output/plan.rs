//! The output of a command: header in front of the records; name, index and metrics behind.

use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;

use seqloom_format::bam::{Header, Reference};
use seqloom_format::bgzf::{EOF_BLOCK, VirtualOffset};
use seqloom_format::index::IndexBuilder;
use seqloom_io::beside::{bam_indices, with_suffix};
use seqloom_io::sink::atomic::{AtomicFile, commit_parts, commit_with_index, commit_without_index};
use seqloom_io::sink::output::Output;
use seqloom_prep::finish::encode::Encoding;

use super::arguments::{OutputArguments, OutputFormat};
use super::index::IndexFormat;
use super::metrics::{self, Metrics};
use super::resume::Kept;
use super::run::Run;
use super::stripes;
use super::summary::{Ingested, Summary};
use super::{check_writable, compress, stage_text, write_text};
use seqloom_terminal::UsageError;

/// What is written where.
pub(crate) struct OutputPlan<'a> {
    arguments: &'a OutputArguments,
    format: OutputFormat,
    /// Format of the index that will be written, if one will be.
    index: Option<IndexFormat>,
}

impl<'a> OutputPlan<'a> {
    /// Opens the output, behind what is `kept` of it. `in_coordinate_order` allows an index.
    ///
    /// # Errors
    /// What cannot be written, or an index that cannot hold the references.
    pub(crate) fn open(
        arguments: &'a OutputArguments,
        references: &[Reference],
        in_coordinate_order: bool,
        kept: Option<&Kept>,
    ) -> anyhow::Result<(Self, Output)> {
        let format = arguments.format()?;
        check_files_beside(arguments)?;
        let mut output = match kept {
            Some(kept) => kept.output(&arguments.output)?,
            None => Output::create(&arguments.output)?,
        };
        if arguments.md5 {
            let refuse = "--md5 needs an output file to lie beside";
            anyhow::ensure!(output.is_regular_file(), UsageError(refuse.to_owned()));
            output.take_md5()?;
        }
        let indexable =
            in_coordinate_order && format == OutputFormat::Bam && output.is_regular_file();
        let index = IndexFormat::choose(arguments.write_index, references, indexable)?;
        Ok((Self { arguments, format, index }, output))
    }

    /// Opens an output in several files that are one behind the other what a single one would be.
    ///
    /// # Errors
    /// As [`OutputPlan::open`], and what is in the way.
    pub(crate) fn open_striped(
        arguments: &'a OutputArguments,
        stripes: NonZeroUsize,
        references: &[Reference],
        in_coordinate_order: bool,
    ) -> anyhow::Result<(Self, Vec<Output>)> {
        if stripes == NonZeroUsize::MIN {
            let (plan, output) = Self::open(arguments, references, in_coordinate_order, None)?;
            return Ok((plan, vec![output]));
        }
        let format = arguments.format()?;
        check_files_beside(arguments)?;
        let indexable = in_coordinate_order && format == OutputFormat::Bam;
        let index = IndexFormat::choose(arguments.write_index, references, indexable)?;
        let outputs = stripes::open(arguments, stripes, index.is_some())?;
        Ok((Self { arguments, format, index }, outputs))
    }

    /// Where the output goes.
    pub(crate) fn path(&self) -> &'a Path {
        &self.arguments.output
    }

    pub(crate) fn encoding(&self) -> Encoding {
        match self.format {
            OutputFormat::Bam => Encoding::Bam {
                level: self.arguments.level,
                index: self.index.map(IndexFormat::scheme),
            },
            OutputFormat::Sam => Encoding::Sam,
        }
    }

    /// What gathers index entries, if an index is wanted.
    pub(crate) fn index_builder(&self, references: usize) -> Option<IndexBuilder> {
        self.index.map(|format| format.builder(references))
    }

    /// Writes the header in front of the records.
    pub(crate) fn write_header(
        &self,
        header: &Header,
        outputs: &mut [Output],
    ) -> anyhow::Result<()> {
        let Some(output) = outputs.first_mut() else { return Ok(()) };
        match self.encoding() {
            Encoding::Bam { level, .. } => output.write(&compress(&header.encode()?, level)?)?,
            Encoding::Sam => output.write(&header.text())?,
        }
        Ok(())
    }

    /// Ends the stream of records; gives the index file's bytes.
    pub(crate) fn close(
        &self,
        builder: Option<IndexBuilder>,
        outputs: &mut [Output],
    ) -> anyhow::Result<Option<Vec<u8>>> {
        let end = VirtualOffset::new(written_bytes(outputs), 0).unwrap_or_default();
        if let (Encoding::Bam { .. }, Some(last)) = (self.encoding(), outputs.last_mut()) {
            last.write(&EOF_BLOCK)?;
        }
        let (Some(builder), Some(format)) = (builder, self.index) else { return Ok(None) };
        Ok(Some(format.finish(builder, end)?))
    }

    /// Gives the output its name, with its index, and their names to metrics and the report of the
    /// run. All of these are written before: should there be no room for one, what had the
    /// output's name is still there.
    pub(crate) fn publish(
        &self,
        outputs: Vec<Output>,
        references: &[Reference],
        (summary, run): (&Summary, &Run<'_>),
        ingested: impl FnOnce() -> Ingested,
    ) -> anyhow::Result<()> {
        let written_bytes = written_bytes(&outputs);
        let mut beside = match &self.arguments.metrics_dir {
            Some(folder) => Metrics::stage(folder, self.path(), references, summary)?,
            None => Vec::new(),
        };
        if let Some(path) = &self.arguments.json {
            let report = summary.report(ingested(), run, (self.path(), written_bytes));
            beside.push(stage_text(path, &report.to_json()?)?);
        }
        self.name(outputs, summary.index.as_deref())?;
        Ok(beside.into_iter().try_for_each(AtomicFile::commit)?)
    }

    /// Gives the output its name, with its index.
    fn name(&self, outputs: Vec<Output>, index: Option<&[u8]>) -> anyhow::Result<()> {
        let path = self.path();
        let md5 = outputs.first().and_then(Output::md5);
        let is_striped = outputs.len() > 1;
        let mut files: Vec<_> = outputs.into_iter().filter_map(Output::into_file).collect();
        let old_indices = bam_indices(path);
        let index = index.zip(self.index).map(|(bytes, format)| format.file(path, bytes));
        let index = index.transpose()?.flatten();
        if is_striped {
            // Where there is a file of this name, an index that is there may be that one's.
            let are_of_stripes = index.is_some() || fs::symlink_metadata(path).is_err();
            let old_indices = if are_of_stripes { &old_indices[..] } else { &[] };
            commit_parts(files, index, old_indices)?;
            return Ok(());
        }
        let Some(file) = files.pop() else { return Ok(()) };
        match index {
            Some(index) => commit_with_index(file, index, &old_indices)?,
            None if file.is_direct() => file.commit()?,
            None => commit_without_index(file, &old_indices)?,
        }
        // As Picard writes it: the digits alone.
        md5.map_or(Ok(()), |md5| write_text(&with_suffix(path, ".md5"), &md5))
    }
}

/// Looks whether what is written beside the output can be, before there is one.
fn check_files_beside(arguments: &OutputArguments) -> anyhow::Result<()> {
    arguments.metrics_dir.as_deref().map_or(Ok(()), metrics::create_folder)?;
    arguments.json.as_deref().map_or(Ok(()), check_writable)
}

/// What all outputs hold together.
fn written_bytes(outputs: &[Output]) -> u64 {
    outputs.iter().map(Output::written_bytes).sum()
}
