//! Reads for the schedules: made once, or given; and cut into shares for processes.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use seqloom_align::Pairing;
use seqloom_io::reads::{Compression, ReadFormat, ReadSource, SourceOptions};

use crate::experiment::LabError;
use crate::parsing::simulate;

/// Lines of a read.
const LINES: u64 = 4;

/// Files of `reads` reads in all, one or two of a pair. They are made when they are not there.
///
/// # Errors
/// They cannot be written.
pub(crate) fn made(folder: &Path, reads: u64, is_paired: bool) -> Result<Vec<PathBuf>, LabError> {
    fs::create_dir_all(folder).map_err(LabError::file(folder))?;
    let (mates, kind) = if is_paired { (2, "paired") } else { (1, "single") };
    let of_mate = |mate: usize| {
        let path = folder.join(format!("{kind}-{reads}-{mate}.fq"));
        if path.exists() {
            return Ok(path);
        }
        // Under a name of its own, should another process be at it too.
        let unfinished = path.with_extension(format!("{}.unfinished", std::process::id()));
        let write = || -> io::Result<()> {
            let mut out = BufWriter::new(File::create(&unfinished)?);
            simulate(reads / mates as u64, mate, &mut out)?;
            out.flush()?;
            fs::rename(&unfinished, &path)
        };
        write().map_err(LabError::file(&path))?;
        Ok(path)
    };
    (1..=mates).map(of_mate).collect()
}

/// The files, opened, and how their reads form templates.
pub(super) fn open(inputs: &[PathBuf]) -> Result<(ReadSource, Pairing), LabError> {
    let source = ReadSource::open(inputs, SourceOptions::default())
        .map_err(|error| LabError::Prepare(error.to_string()))?;
    let pairing = if source.files() == 2 { Pairing::TwoFiles } else { Pairing::Single };
    Ok((source, pairing))
}

/// A part of the input, in files of its own.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Share {
    /// One, or two of a pair.
    pub(super) files: Vec<PathBuf>,
    /// Templates before it.
    pub(super) first_template: u64,
}

/// Cuts the input into shares of as many templates, one at most, in files of a folder.
pub(super) fn cut(
    inputs: &[PathBuf],
    shares: usize,
    folder: &Path,
) -> Result<Vec<Share>, LabError> {
    let (source, _) = open(inputs)?;
    for file in 0..source.files() {
        let format = source.format(file);
        if format.compression != Compression::Plain || format.reads != ReadFormat::Fastq {
            let path = source.path(file).display();
            let why = "only plain FASTQ of four lines a read can be cut for processes";
            return Err(LabError::Prepare(format!("{path}: {why}")));
        }
    }
    fs::create_dir_all(folder).map_err(LabError::file(folder))?;
    let templates = inputs.first().map_or(Ok(0), |path| lines_in(path))?.div_ceil(LINES);
    let starts = |share: usize| templates * share as u64 / shares.max(1) as u64;
    let mut cut: Vec<Share> = (0..shares)
        .map(|share| Share { files: Vec::new(), first_template: starts(share) })
        .collect();
    for (file, input) in inputs.iter().enumerate() {
        let mut lines = BufReader::new(File::open(input).map_err(LabError::file(input))?);
        for (at, share) in cut.iter_mut().enumerate() {
            let path = folder.join(format!("share-{at}-{}.fq", file + 1));
            let reads = starts(at + 1) - starts(at);
            copy_lines(&mut lines, reads * LINES, &path).map_err(LabError::file(&path))?;
            share.files.push(path);
        }
    }
    Ok(cut)
}

fn lines_in(path: &Path) -> Result<u64, LabError> {
    let mut input = BufReader::new(File::open(path).map_err(LabError::file(path))?);
    let mut count = 0;
    loop {
        let bytes = input.fill_buf().map_err(LabError::file(path))?;
        if bytes.is_empty() {
            return Ok(count);
        }
        count += memchr::memchr_iter(b'\n', bytes).count() as u64;
        let length = bytes.len();
        input.consume(length);
    }
}

fn copy_lines(input: &mut impl BufRead, count: u64, path: &Path) -> io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    let mut line = Vec::new();
    for _ in 0..count {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        out.write_all(&line)?;
    }
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_joined_are_the_input() {
        let folder = tempfile::tempdir().unwrap();
        let inputs = made(folder.path(), 20, true).unwrap();
        assert_eq!(inputs, made(folder.path(), 20, true).unwrap());
        let shares = cut(&inputs, 3, &folder.path().join("shares")).unwrap();
        let firsts: Vec<u64> = shares.iter().map(|share| share.first_template).collect();
        assert_eq!(firsts, [0, 3, 6]);
        for (file, input) in inputs.iter().enumerate() {
            let parts = shares.iter().map(|share| fs::read_to_string(&share.files[file]).unwrap());
            assert_eq!(parts.collect::<String>(), fs::read_to_string(input).unwrap());
        }
    }

    #[test]
    fn what_cannot_be_cut_by_lines_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.fa");
        fs::write(&path, ">a\nACGT\n").unwrap();
        let error = cut(&[path], 2, folder.path()).unwrap_err();
        assert!(error.to_string().contains("four lines"), "{error}");
    }
}
