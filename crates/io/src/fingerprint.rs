//! Whether a file is still the one that it was: its size, its time, and samples of its bytes.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use crc32fast::Hasher;

/// Samples of a file: evenly spread, the first at its start and the last at its end.
const SAMPLES: u64 = 64;
/// Bytes of a sample.
const SAMPLE_BYTES: u64 = 4096;

/// What distinguishes one file from another, and from itself after a change. A change that keeps
/// size and time, and is between the samples, is not seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint {
    /// Size in bytes.
    pub(crate) bytes: u64,
    /// Time of the last change, in nanoseconds since 1970.
    pub(crate) modified_ns: i128,
    /// CRC32 of the samples.
    pub(crate) checksum: u32,
}

impl Fingerprint {
    /// Looks at a regular file; `None` for what is none, which cannot be read twice.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn of(path: &Path) -> io::Result<Option<Self>> {
        if !std::fs::metadata(path)?.is_file() {
            return Ok(None);
        }
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        let bytes = metadata.len();
        let modified_ns =
            i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec());
        let mut hasher = Hasher::new();
        let mut sample = [0; SAMPLE_BYTES as usize];
        let size = bytes.min(SAMPLE_BYTES);
        let last = bytes - size;
        for index in 0..SAMPLES {
            // Products of 128 bits: any size fits.
            let start = u128::from(last) * u128::from(index) / u128::from(SAMPLES - 1);
            let sample = &mut sample[..size as usize];
            file.read_exact_at(sample, start as u64)?;
            hasher.update(sample);
        }
        Ok(Some(Self { bytes, modified_ns, checksum: hasher.finalize() }))
    }
}

impl std::fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { bytes, modified_ns, checksum } = self;
        write!(f, "{bytes} bytes of time {modified_ns}, checksum {checksum:08x}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_seen_and_devices_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        for size in [0, 1, 4096, 5000, 1 << 20] {
            let mut bytes = vec![7; size];
            std::fs::write(&path, &bytes).unwrap();
            let time = std::fs::metadata(&path).unwrap().modified().unwrap();
            let before = Fingerprint::of(&path).unwrap().unwrap();
            assert_eq!(Fingerprint::of(&path).unwrap(), Some(before));
            if let Some(last) = bytes.last_mut() {
                *last = 8;
                std::fs::write(&path, &bytes).unwrap();
                File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
                let after = Fingerprint::of(&path).unwrap().unwrap();
                assert_eq!(after.modified_ns, before.modified_ns);
                assert_ne!(after.checksum, before.checksum, "{size} bytes");
            }
        }
        assert_eq!(Fingerprint::of(Path::new("/dev/null")).unwrap(), None);
        assert!(Fingerprint::of(&folder.path().join("missing")).is_err());
    }
}
