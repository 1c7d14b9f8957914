//! The piece of the output that a task of `finish` has made.

use std::fs::File;
use std::io::Read;

use sha2::{Digest, Sha256};

use super::folder::RunFolder;
use super::sealed::hex;
use super::task::ShardTask;
use crate::output::read_error;

/// Bytes read at a time.
const READ_BYTES: usize = 4 << 20;

/// Bytes of a range's piece.
///
/// # Errors
/// The range is not finished.
pub(super) fn size_bytes(folder: &RunFolder, range: usize) -> seqloom_terminal::Result<u64> {
    Ok(folder.require(ShardTask::Finish(range))?.files.first().map_or(0, |it| it.bytes))
}

/// Gives a range's piece to `take`, part after part, and compares its digest on the way.
///
/// # Errors
/// The range is not finished, its piece is damaged, or what `take` says.
pub(super) fn read(
    folder: &RunFolder,
    range: usize,
    mut take: impl FnMut(&[u8]) -> seqloom_terminal::Result<()>,
) -> seqloom_terminal::Result<()> {
    let task = ShardTask::Finish(range);
    let description = folder.require(task)?;
    let path = folder.file(&format!("{}.bgzf", task.name()));
    let mut piece = File::open(&path).map_err(read_error(&path))?;
    let (mut sha, mut buffer) = (Sha256::new(), vec![0; READ_BYTES]);
    loop {
        let count = piece.read(&mut buffer).map_err(read_error(&path))?;
        if count == 0 {
            break;
        }
        sha.update(&buffer[..count]);
        take(&buffer[..count])?;
    }
    let sha256 = hex(&sha.finalize());
    let described = description.files.first().map(|it| it.sha256.as_str());
    if described != Some(sha256.as_str()) {
        return Err(folder.damaged(task, &path, "its SHA-256 differs".to_owned()).into());
    }
    Ok(())
}
