//! `shard place`: copies a range's piece to where it is in the output, so that nodes share the
//! copying, and `gather` has but to name the file.
//!
//! All tasks write to one file, `place/output`, each to whole blocks that are its own alone: a
//! client of a network file system may write whole pages, with what it takes to be in them around
//! what it was given. The bytes before a range's first block and after its last one, its
//! [`Seams`], are what a task publishes; `gather` writes them.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use seqloom_format::{Persist, persist_fields};
use seqloom_io::Output;
use seqloom_terminal::{Console, UsageError};
use sha2::{Digest, Sha256};

use super::arguments::RangeArguments;
use super::folder::{Clock, RunFolder};
use super::loaded::{header, planned_options, unless_done};
use super::piece;
use super::sealed::{hex, write_sealed};
use super::task::ShardTask;
use crate::output::files::OutputFiles;
use crate::output::run::Run;
use crate::output::{read_error, write_error};

/// No page of a client is larger.
const BLOCK_BYTES: u64 = 64 << 10;
/// The file that all tasks write to.
const OUTPUT: &str = "place/output";
/// Name of the seams inside their file.
const SEAMS: &str = "seams";

/// Bytes of a range that no other task of `place` may write.
struct Seams {
    front: Box<[u8]>,
    back: Box<[u8]>,
    /// SHA-256 of the first and the last block between them, so that it shows where the file is
    /// not the one that was written to.
    ends_sha256: String,
}

persist_fields!(Seams { front, back, ends_sha256 });

/// Runs the command.
pub(super) fn run(arguments: &RangeArguments, console: &Console) -> seqloom_terminal::Result<()> {
    let clock = Clock::start();
    let range = arguments.range;
    let task = |folder: &RunFolder| {
        Ok(ShardTask::Place(range.check(folder.plan.ranges, "ranges of the output")?))
    };
    let Some((folder, task)) = unless_done(&arguments.task, task, console)? else {
        return Ok(());
    };
    if planned_options(&folder)?.output.is_cram() {
        let text = "`seqloom shard place` is for BAM: `gather` numbers the containers of a CRAM";
        return Err(UsageError(text.to_owned()).into());
    }
    let run = Run::new(&arguments.task.machine, console)?;
    let place = place_of(&folder, range.index)?;
    let path = folder.file(OUTPUT);
    let output = open(&path)?;
    let seams = copy(&folder, (range.index, place), (&output, &path), &run)?;
    output.sync_data().map_err(write_error(&path))?;
    let file = folder.create(task, "")?;
    write_sealed(&file, SEAMS, &seams.to_state())?;
    folder.publish(task, vec![file.into()], &clock)?;
    run.close(&format!("shard: {} is done", task.name()));
    Ok(())
}

/// The file of all ranges, which the first task makes.
fn open(path: &Path) -> seqloom_terminal::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    Ok(options.open(path).map_err(write_error(path))?)
}

/// Place of a range in the output: after the header and the ranges before it.
fn place_of(folder: &RunFolder, range: usize) -> seqloom_terminal::Result<Range<u64>> {
    let (align, header) = (planned_options(folder)?, header(folder)?);
    let files = OutputFiles::of_others(&align.output, header.references())?;
    let mut start = files.encoding().header(&header)?.len() as u64;
    for before in 0..range {
        start += piece::size_bytes(folder, before)?;
    }
    Ok(start..start + piece::size_bytes(folder, range)?)
}

/// The blocks that are whole in a place; where there are none, an empty one at its end.
fn blocks(place: &Range<u64>) -> Range<u64> {
    let start = place.start.next_multiple_of(BLOCK_BYTES);
    let end = place.end / BLOCK_BYTES * BLOCK_BYTES;
    if start < end { start..end } else { place.end..place.end }
}

/// What of `bytes`, which are at `at` in a file, is before `blocks`, in them and after them.
fn split<'a>(bytes: &'a [u8], at: u64, blocks: &Range<u64>) -> [&'a [u8]; 3] {
    let until = |end: u64| end.saturating_sub(at).min(bytes.len() as u64) as usize;
    let (front, rest) = bytes.split_at(until(blocks.start));
    let (inside, back) = rest.split_at(until(blocks.end) - front.len());
    [front, inside, back]
}

/// Writes the blocks of a range; gives the rest.
fn copy(
    folder: &RunFolder,
    (range, place): (usize, Range<u64>),
    (output, path): (&File, &Path),
    run: &Run<'_>,
) -> seqloom_terminal::Result<Seams> {
    let blocks = blocks(&place);
    // A file with another name is an output that was gathered: nobody writes to it any more.
    let is_gathered = output.metadata().map_err(read_error(path))?.nlink() > 1;
    let (mut front, mut back, mut at) = (Vec::new(), Vec::new(), place.start);
    piece::read(folder, range, |bytes| {
        let [before, inside, after] = split(bytes, at, &blocks);
        front.extend_from_slice(before);
        if !is_gathered {
            output.write_all_at(inside, at + before.len() as u64).map_err(write_error(path))?;
        }
        back.extend_from_slice(after);
        at += bytes.len() as u64;
        let done = (at - place.start, Some(place.end - place.start));
        Ok(run.watch("place", done, 0)?)
    })?;
    let ends_sha256 = ends_sha256(output, &blocks).map_err(write_error(path))?;
    Ok(Seams { front: front.into(), back: back.into(), ends_sha256 })
}

/// The digest of the first block and the last.
fn ends_sha256(output: &File, blocks: &Range<u64>) -> io::Result<String> {
    let mut sha = Sha256::new();
    if !blocks.is_empty() {
        let mut block = [0; BLOCK_BYTES as usize];
        for at in [blocks.start, blocks.end - BLOCK_BYTES] {
            output.read_exact_at(&mut block, at)?;
            sha.update(block);
        }
    }
    Ok(hex(&sha.finalize()))
}

/// The output `path`, begun with the file that tasks of `place` have written; `None` where not all
/// of them have, where that file is an output already, or where it cannot get a name there, on
/// another file system.
///
/// # Errors
/// A task's file that is damaged; an output that cannot be opened.
pub(super) fn begun(folder: &RunFolder, path: &Path) -> seqloom_terminal::Result<Option<Output>> {
    for range in 0..folder.plan.ranges {
        if !folder.is_done(ShardTask::Place(range))? {
            return Ok(None);
        }
    }
    let placed = folder.file(OUTPUT);
    match fs::metadata(&placed) {
        Ok(metadata) if metadata.nlink() == 1 => Ok(Output::adopt(path, &placed)?),
        _ => Ok(None),
    }
}

/// Writes what a range's task left to be written, around what it has written itself.
///
/// # Errors
/// The file is not the one that the task wrote to.
pub(super) fn append(
    folder: &RunFolder,
    range: usize,
    output: &mut Output,
) -> seqloom_terminal::Result<()> {
    let (task, path) = (ShardTask::Place(range), folder.file(OUTPUT));
    let seams: Seams = folder.read_sealed(task, "", SEAMS)?;
    let start = output.written_bytes();
    let blocks = blocks(&(start..start + piece::size_bytes(folder, range)?));
    let placed = File::open(&path).map_err(read_error(&path))?;
    let ends = ends_sha256(&placed, &blocks);
    if !ends.is_ok_and(|ends| ends == seams.ends_sha256) {
        let problem = format!("{} does not hold what it put there", path.display());
        return Err(folder.damaged(task, &folder.file(&task.name()), problem).into());
    }
    output.write(&seams.front)?;
    output.skip(blocks.end - blocks.start)?;
    Ok(output.write(&seams.back)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_blocks_are_inside() {
        const B: u64 = BLOCK_BYTES;
        let t = |place: Range<u64>, expected: Range<u64>| {
            assert_eq!(blocks(&place), expected, "{place:?}");
        };
        t(0..B, 0..B);
        t(1..B, B..B);
        t(1..2 * B - 1, 2 * B - 1..2 * B - 1);
        t(1..2 * B, B..2 * B);
        t(B - 1..3 * B + 1, B..3 * B);
        t(5..5, 5..5);
    }

    #[test]
    fn all_bytes_are_before_inside_or_after() {
        let bytes: Vec<u8> = (0..40).collect();
        for blocks in [10..20, 0..40, 40..40, 7..8] {
            for step in [1, 3, 10, 40] {
                let mut parts = [Vec::new(), Vec::new(), Vec::new()];
                for (index, piece) in bytes.chunks(step).enumerate() {
                    let of = split(piece, (index * step) as u64, &blocks);
                    parts.iter_mut().zip(of).for_each(|(part, of)| part.extend_from_slice(of));
                }
                let (start, end) = (blocks.start as usize, blocks.end as usize);
                let expected = [&bytes[..start], &bytes[start..end], &bytes[end..]];
                assert_eq!(parts.each_ref().map(Vec::as_slice), expected, "{blocks:?}, {step}");
            }
        }
    }
}
