//! What other programs want next to a FASTA: `.fai`, by which samtools reads it by region, and
//! `.dict`, the `@SQ` lines that GATK and Picard ask for. They are made where they are missing, and
//! compared with the FASTA where they are there.
//!
//! Sources: samtools `faidx(5)`; SAM v1, section 1.3 (`M5`: the MD5 of the bases in upper case).

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use md5::{Digest, Md5};
use seqloom_format::bam::Header;
use seqloom_format::fai::{FaiBuilder, FaiEntry, parse_fai};
use seqloom_format::fasta::FastaSink;
use seqloom_io::sidecars::with_suffix;

/// Collects both while a FASTA is read.
#[derive(Debug, Default)]
pub(super) struct Companions {
    /// `None` once the text has lines that no `.fai` can describe.
    fai: Option<FaiBuilder>,
    sequences: Vec<Sequence>,
    digest: Md5,
    upper: Vec<u8>,
}

/// A line of the `.dict`.
#[derive(Debug, PartialEq, Eq)]
struct Sequence {
    name: Vec<u8>,
    length_bp: u64,
    md5: [u8; 16],
}

/// One of the files, as it is or should be.
#[derive(Debug)]
pub(super) struct Companion {
    pub(super) path: PathBuf,
    pub(super) state: Mismatch,
}

/// What is to be done with a file.
#[derive(Debug)]
pub(super) enum Mismatch {
    /// It is not there: its content.
    Missing(Vec<u8>),
    /// It is another FASTA's.
    Other,
}

impl Companions {
    /// Those of a text of which nothing has been seen.
    pub(super) fn new() -> Self {
        Self { fai: Some(FaiBuilder::default()), ..Self::default() }
    }

    /// Takes the next piece of the text.
    pub(super) fn text(&mut self, text: &[u8]) {
        if self.fai.as_mut().is_some_and(|fai| fai.push(text).is_err()) {
            self.fai = None;
        }
    }

    fn end_sequence(&mut self) {
        if let Some(sequence) = self.sequences.last_mut() {
            sequence.md5 = std::mem::take(&mut self.digest).finalize().into();
        }
    }

    /// The files next to `fasta` that are missing or wrong. A `.fai` of compressed text is not
    /// made: without a `.gzi`, which only bgzip's files can have, nothing can use it.
    pub(super) fn finish(mut self, fasta: &Path, is_compressed: bool) -> Vec<Companion> {
        self.end_sequence();
        let fai = self.fai.and_then(|fai| fai.finish().ok());
        let sequences = self.sequences;
        let fai = fai.map(|entries| {
            let fits = |there: &[u8]| parse_fai(there).is_ok_and(|there| there == entries);
            companion(with_suffix(fasta, ".fai"), fits, || {
                (!is_compressed).then(|| fai_text(&entries))
            })
        });
        let fits = |there: &[u8]| dictionary_fits(there, &sequences);
        let dict = companion(dictionary_path(fasta), fits, || Some(dictionary(&sequences)));
        fai.into_iter().chain([dict]).flatten().collect()
    }
}

impl FastaSink for Companions {
    fn record(&mut self, name: &[u8], _: &[u8]) {
        self.end_sequence();
        self.sequences.push(Sequence { name: name.to_vec(), length_bp: 0, md5: [0; 16] });
    }

    fn bases(&mut self, bases: &[u8]) {
        self.upper.clear();
        self.upper.extend(bases.iter().map(u8::to_ascii_uppercase));
        self.digest.update(&self.upper);
        if let Some(sequence) = self.sequences.last_mut() {
            sequence.length_bp += bases.len() as u64;
        }
    }
}

/// The file at `path` if something is to be done with it: nothing is with one that cannot be read.
fn companion(
    path: PathBuf,
    fits: impl FnOnce(&[u8]) -> bool,
    make: impl FnOnce() -> Option<Vec<u8>>,
) -> Option<Companion> {
    let state = match std::fs::read(&path) {
        Ok(there) if !fits(&there) => Mismatch::Other,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Mismatch::Missing(make()?),
        _ => return None,
    };
    Some(Companion { path, state })
}

/// `ref.dict` of `ref.fa`, `ref.fa.gz`.
fn dictionary_path(fasta: &Path) -> PathBuf {
    let extension = fasta.extension().and_then(OsStr::to_str);
    if matches!(extension, Some("gz" | "bgz" | "zst")) {
        fasta.with_extension("").with_extension("dict")
    } else {
        fasta.with_extension("dict")
    }
}

fn fai_text(entries: &[FaiEntry]) -> Vec<u8> {
    let mut text = Vec::new();
    for entry in entries {
        let FaiEntry { name, length_bp, offset, line_bases, line_bytes } = entry;
        text.extend_from_slice(name);
        let numbers = format!("\t{length_bp}\t{offset}\t{line_bases}\t{line_bytes}\n");
        text.extend_from_slice(numbers.as_bytes());
    }
    text
}

fn dictionary(sequences: &[Sequence]) -> Vec<u8> {
    let mut text = b"@HD\tVN:1.6\n".to_vec();
    for Sequence { name, length_bp, md5 } in sequences {
        text.extend_from_slice(b"@SQ\tSN:");
        text.extend_from_slice(name);
        text.extend_from_slice(format!("\tLN:{length_bp}\tM5:{}\n", hex(md5)).as_bytes());
    }
    text
}

fn hex(md5: &[u8; 16]) -> String {
    md5.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether the `.dict` is of these sequences: names and lengths in this order, and the digests
/// where it has them.
fn dictionary_fits(text: &[u8], sequences: &[Sequence]) -> bool {
    let Ok(header) = Header::parse(text) else { return false };
    let lines: Vec<&[u8]> = header.lines().filter(|line| line.starts_with(b"@SQ\t")).collect();
    let references = header.references();
    references.len() == sequences.len()
        && lines.len() == sequences.len()
        && references.iter().zip(lines).zip(sequences).all(|((reference, line), sequence)| {
            let of = |field: &[u8]| field.strip_prefix(b"M5:").map(<[u8]>::to_ascii_lowercase);
            let md5 = line.split(|&byte| byte == b'\t').find_map(of);
            reference.name.as_bytes() == sequence.name
                && u64::from(reference.length) == sequence.length_bp
                && md5.is_none_or(|md5| md5 == hex(&sequence.md5).as_bytes())
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use seqloom_format::fasta::FastaParser;
    use seqloom_testkit::{running, skip};

    const TEXT: &[u8] = b">a first\nACGTN\nacgtr\nAC\n>HLA-A*01:01 x\nG\n>c\nTTTTTTTT\nA\n";

    /// What is to be done next to a FASTA, by the end of the name.
    fn of(text: &[u8], fasta: &Path, is_compressed: bool) -> Vec<(&'static str, Option<Vec<u8>>)> {
        let (mut parser, mut companions) = (FastaParser::new(), Companions::new());
        for piece in text.chunks(7) {
            companions.text(piece);
            parser.push(piece, &mut companions).unwrap();
        }
        parser.finish(&mut companions).unwrap();
        let found = companions.finish(fasta, is_compressed);
        let described = |companion: Companion| {
            let is_fai = companion.path.extension().unwrap() == "fai";
            let content = match companion.state {
                Mismatch::Missing(content) => Some(content),
                Mismatch::Other => None,
            };
            (if is_fai { "fai" } else { "dict" }, content)
        };
        found.into_iter().map(described).collect()
    }

    #[test]
    fn both_are_what_samtools_makes() {
        if !running::has("samtools") {
            skip::skip("samtools is not installed");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let (fasta, fai, dict) = (path("x.fa"), path("x.fa.fai"), path("x.dict"));
        std::fs::write(&fasta, TEXT).unwrap();
        let made = of(TEXT, &fasta, false);
        running::run(seqloom_testkit::running::words("samtools").arg("faidx").arg(&fasta)).ok();
        running::run(
            seqloom_testkit::running::words("samtools").arg("dict").arg("-o").args([&dict, &fasta]),
        )
        .ok();
        let theirs = std::fs::read_to_string(&dict).unwrap();
        let without_place = |line: &str| line.split("\tUR:").next().unwrap().to_owned();
        let sequences: Vec<String> =
            theirs.lines().filter(|line| line.starts_with("@SQ")).map(without_place).collect();
        let expected = format!("@HD\tVN:1.6\n{}\n", sequences.join("\n"));
        let fai = std::fs::read(&fai).unwrap();
        assert_eq!(made, [("fai", Some(fai)), ("dict", Some(expected.into_bytes()))]);
        // Those of samtools fit.
        assert_eq!(of(TEXT, &fasta, false), []);
    }

    #[test]
    fn what_belongs_to_another_fasta_is_found_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let fasta = path("x.fa");
        let write = |made: &[(&str, Option<Vec<u8>>)]| {
            for (name, content) in made {
                let name = if *name == "fai" { "x.fa.fai" } else { "x.dict" };
                std::fs::write(path(name), content.as_ref().unwrap()).unwrap();
            }
        };
        write(&of(TEXT, &fasta, false));
        assert_eq!(of(TEXT, &fasta, false), []);
        let both = [("fai", None), ("dict", None)];
        let changed =
            |from: &str, to: &str| String::from_utf8_lossy(TEXT).replace(from, to).into_bytes();
        assert_eq!(of(&changed(">a", ">b"), &fasta, false), both);
        assert_eq!(of(&changed("\nG\n", "\nGG\n"), &fasta, false), both);
        // A base alone shows in the digest only; another line length in the .fai only.
        assert_eq!(of(&changed("\nG\n", "\nC\n"), &fasta, false), both[1..]);
        assert_eq!(of(&changed("TTA", "TT\nA"), &fasta, false), []);
        assert_eq!(of(&changed("TTTTTTTT\nA", "TTTTTTTTA"), &fasta, false), both[..1]);
        std::fs::write(path("x.dict"), "no header").unwrap();
        assert_eq!(of(TEXT, &fasta, false), both[1..]);
    }

    #[test]
    fn no_fai_is_made_that_could_not_be_used() {
        let nowhere = Path::new("/nowhere/x.fa.gz");
        let names = |text: &[u8], is_compressed| -> Vec<&str> {
            of(text, nowhere, is_compressed).into_iter().map(|it| it.0).collect()
        };
        assert_eq!(names(TEXT, true), ["dict"]);
        assert_eq!(names(b">a\nAC\nACG\n", false), ["dict"]);
        assert_eq!(dictionary_path(nowhere), Path::new("/nowhere/x.dict"));
        assert_eq!(dictionary_path(Path::new("a.b.fasta")), Path::new("a.b.dict"));
    }
}
