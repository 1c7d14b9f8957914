//! Files next to another: what they are called, and whether they may still belong to it.

use std::path::{Path, PathBuf};

/// `path` with `suffix` after its whole name: `reads.bam` and `.bai` give `reads.bam.bai`.
#[must_use]
pub fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Paths where samtools and others look for an index of the BAM file `bam`.
#[must_use]
pub fn bam_indices(bam: &Path) -> [PathBuf; 4] {
    [
        with_suffix(bam, ".bai"),
        with_suffix(bam, ".csi"),
        bam.with_extension("bai"),
        bam.with_extension("csi"),
    ]
}

/// Paths where samtools and others look for an index of the CRAM file `cram`.
#[must_use]
pub fn cram_indices(cram: &Path) -> [PathBuf; 2] {
    [with_suffix(cram, ".crai"), cram.with_extension("crai")]
}

/// Whether `file` was last changed before `data` was; not if one of them cannot be checked.
#[must_use]
pub fn is_older(file: &Path, data: &Path) -> bool {
    let modified = |path: &Path| std::fs::metadata(path).and_then(|it| it.modified()).ok();
    modified(file).zip(modified(data)).is_some_and(|(file, data)| file < data)
}
