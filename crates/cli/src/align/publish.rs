//! The ends of the output: its header in front, its name, index, metrics and report behind.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use seqloom_format::bgzf::{BlockCompressor, EOF_BLOCK, MAX_PAYLOAD_BYTES, VirtualOffset};
use seqloom_format::index::IndexBuilder;
use seqloom_io::sink::atomic::{AtomicFile, commit_with_index, commit_without_index};
use seqloom_io::sink::output::Output;
use seqloom_prep::encode::Encoding;
use seqloom_report::{flagstat, idxstats, picard};

use super::job::{IndexFormat, Job, command_line};
use super::summary::Summary;
use crate::exit::at_path;

/// Level of the header's blocks when records have none of their own.
const HEADER_LEVEL: u8 = 6;

/// Writes the header in front of the records.
pub(super) fn write_header(job: &Job<'_>, output: &mut Output) -> anyhow::Result<()> {
    match job.encoding() {
        Encoding::Bam { level, .. } => {
            output.write(&compress(&job.header.encode()?, level)?)?;
        }
        Encoding::Sam => output.write(&job.header.text())?,
    }
    Ok(())
}

/// `payload` as BGZF blocks.
fn compress(payload: &[u8], level: u8) -> anyhow::Result<Vec<u8>> {
    let mut compressor = BlockCompressor::new(level)?;
    let mut out = Vec::new();
    for piece in payload.chunks(MAX_PAYLOAD_BYTES) {
        compressor.compress(piece, &mut out)?;
    }
    Ok(out)
}

/// The index file's bytes; `end` is where the last record ends.
pub(super) fn index_bytes(
    builder: IndexBuilder,
    format: IndexFormat,
    end: VirtualOffset,
) -> anyhow::Result<Vec<u8>> {
    if !format.is_csi {
        return Ok(builder.finish_bai(end)?);
    }
    let mut bytes = compress(&builder.finish_csi(end)?, HEADER_LEVEL)?;
    bytes.extend_from_slice(&EOF_BLOCK);
    Ok(bytes)
}

/// `path` with `suffix` behind its name.
fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

/// Where samtools and others look for an index of `bam`.
fn index_paths(bam: &Path) -> [PathBuf; 4] {
    [
        with_suffix(bam, ".bai"),
        with_suffix(bam, ".csi"),
        bam.with_extension("bai"),
        bam.with_extension("csi"),
    ]
}

/// Gives the output its name, with its index, and writes metrics and report.
pub(super) fn publish(job: &Job<'_>, output: Output, summary: &Summary) -> anyhow::Result<()> {
    let written_bytes = output.written_bytes();
    let path = &job.arguments.output.output;
    if let Some(file) = output.into_file() {
        let old_indices = index_paths(path);
        match (&summary.index, job.index_format) {
            (Some(bytes), Some(format)) => {
                let suffix = if format.is_csi { ".csi" } else { ".bai" };
                let index_path = with_suffix(path, suffix);
                let index = AtomicFile::create(&index_path)?;
                index.file().write_all(bytes).map_err(at_path(&index_path))?;
                commit_with_index(file, index, &old_indices)?;
            }
            _ if file.is_direct() => file.commit()?,
            _ => commit_without_index(file, &old_indices)?,
        }
    }
    if let Some(folder) = &job.arguments.output.metrics_dir {
        write_metrics(job, summary, folder)?;
    }
    if let Some(path) = &job.arguments.output.json {
        write_text(path, &summary.report(job, written_bytes).to_json()?)?;
    }
    Ok(())
}

fn write_text(path: &Path, text: &str) -> anyhow::Result<()> {
    let file = AtomicFile::create(path)?;
    file.file().write_all(text.as_bytes()).map_err(at_path(path))?;
    file.commit()?;
    Ok(())
}

fn write_metrics(job: &Job<'_>, summary: &Summary, folder: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(folder).map_err(at_path(folder))?;
    let stem = job.arguments.output.output.file_stem().filter(|stem| *stem != "-");
    let sample = stem.map_or_else(|| "seqloom".into(), |stem| stem.to_string_lossy().into_owned());
    let file = |kind: &str| folder.join(format!("{sample}.{kind}.txt"));
    let mut text = String::new();
    flagstat::write_flagstat(&mut text, &summary.tally)?;
    write_text(&file("flagstat"), &text)?;
    text.clear();
    idxstats::write_idxstats(&mut text, job.header.references(), &summary.tally)?;
    write_text(&file("idxstats"), &text)?;
    if let Some(duplicates) = &summary.duplicates {
        text.clear();
        picard::write_duplication_metrics(
            &mut text,
            &command_line(),
            None,
            &duplicates.rows,
            &duplicates.histogram,
        )?;
        write_text(&file("markdup"), &text)?;
    }
    Ok(())
}
