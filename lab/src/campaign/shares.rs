//! Shares of a FASTQ file: each instance of a run gets reads of its own, in the order of the file.
//!
//! A file with fewer reads than a run wants is read from its start again, as Langmead et al. 2018
//! did. Shares are kept and used again; they are not part of what is timed.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};

/// Lines of a read.
const LINES: usize = 4;
const BUFFER_BYTES: usize = 1 << 20;

/// A share: `count` reads, the first of which is `number * count` in the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Share {
    pub(super) number: u64,
    pub(super) count: u64,
}

/// Path of a share of a file, which is cut if it is not there.
pub(super) fn share_of(source: &Path, folder: &Path, share: Share) -> io::Result<PathBuf> {
    let stem = source.file_stem().unwrap_or_default().to_string_lossy();
    let (file, Share { number, count }) = (fs::metadata(source)?, share);
    // A file that was made anew has other shares.
    let made = file.modified()?.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let (bytes, made) = (file.len(), made.as_micros());
    let path = folder.join(format!("{stem}.{bytes:x}.{made:x}.{count}.{number}.fq"));
    if path.exists() {
        return Ok(path);
    }
    fs::create_dir_all(folder)?;
    // Next to it, so that a share that is there is whole.
    let beside = path.with_extension("fq.part");
    let mut out = BufWriter::with_capacity(BUFFER_BYTES, File::create(&beside)?);
    let mut reads = BufReader::with_capacity(BUFFER_BYTES, File::open(source)?);
    cut(&mut reads, share, &mut out)?;
    out.flush()?;
    fs::rename(&beside, &path)?;
    Ok(path)
}

fn cut<R: BufRead + Seek>(reads: &mut R, share: Share, out: &mut impl Write) -> io::Result<()> {
    let mut read = Vec::new();
    let mut in_file = 0;
    let (first, mut at) = (share.number * share.count, 0);
    while at < first + share.count {
        if !next_read(reads, &mut read)? {
            if in_file == 0 {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "a file without reads"));
            }
            reads.rewind()?;
            // Whole rounds of the file are passed over at once.
            at += first.saturating_sub(at) / in_file * in_file;
            in_file = 0;
            continue;
        }
        in_file += 1;
        if at >= first {
            out.write_all(&read)?;
        }
        at += 1;
    }
    Ok(())
}

/// The next read of four-line FASTQ; `false` after the last one.
fn next_read(reads: &mut impl BufRead, read: &mut Vec<u8>) -> io::Result<bool> {
    read.clear();
    for line in 0..LINES {
        let length = reads.read_until(b'\n', read)?;
        if line == 0 && length == 0 {
            return Ok(false);
        }
    }
    let lines = read.iter().filter(|byte| **byte == b'\n').count();
    if read.last() != Some(&b'\n') {
        read.push(b'\n');
    }
    if read[0] != b'@' || lines + 1 < LINES {
        let what = "not FASTQ with four lines to a read (neither compressed nor wrapped)";
        return Err(io::Error::new(io::ErrorKind::InvalidData, what));
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fastq(reads: std::ops::Range<u32>) -> String {
        reads.map(|n| format!("@r{n}\nACGT\n+\nFFFF\n")).collect()
    }

    fn share(text: &str, number: u64, count: u64) -> io::Result<String> {
        let mut out = Vec::new();
        cut(&mut io::Cursor::new(text), Share { number, count }, &mut out)?;
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn shares_are_reads_in_order_and_begin_again_after_the_last() {
        let five = fastq(0..5);
        fn t(five: &str, number: u64, count: u64, expected: &[u32]) {
            let expected: String = expected.iter().map(|&n| fastq(n..n + 1)).collect();
            assert_eq!(share(five, number, count).unwrap(), expected, "{number} of {count}");
        }
        t(&five, 0, 1, &[0]);
        t(&five, 1, 2, &[2, 3]);
        t(&five, 2, 2, &[4, 0]);
        t(&five, 0, 7, &[0, 1, 2, 3, 4, 0, 1]);
        t(&five, 9, 2, &[3, 4]);
        t(&five, 2, 5, &[0, 1, 2, 3, 4]);
        t(five.trim_end(), 0, 6, &[0, 1, 2, 3, 4, 0]);
    }

    #[test]
    fn what_is_no_fastq_is_refused() {
        for bad in ["", ">r\nACGT\n", "@r\nACGT\n", "@r\nAC\nGT\n+\nFFFF\n@s\nA\n+\nF\n"] {
            assert!(share(bad, 0, 2).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_share_is_cut_once_as_long_as_the_file_is_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("all.fq");
        let cut = || share_of(&source, &folder.path().join("s"), Share { number: 1, count: 2 });
        fs::write(&source, fastq(0..4)).unwrap();
        let path = cut().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), fastq(2..4));
        fs::write(&path, "kept").unwrap();
        assert_eq!((cut().unwrap(), fs::read_to_string(&path).unwrap()), (path, "kept".into()));
        fs::write(&source, fastq(10..15)).unwrap();
        assert_eq!(fs::read_to_string(cut().unwrap()).unwrap(), fastq(12..14));
    }
}
