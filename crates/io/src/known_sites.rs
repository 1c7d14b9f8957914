//! Files of known variants, VCF or BED: where they are, by the sequences of a header.

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use seqloom_format::bam::Reference;
use seqloom_format::bed::{self, BedError, Interval};
use seqloom_format::vcf::{VCF_MAGIC, VcfError, parse_line};
use seqloom_runtime::error::{Class, Place, RunError};

use crate::input::error::InputError;
use crate::text::for_each_line;

/// Why known sites cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KnownSitesError {
    /// The file cannot be read.
    #[error(transparent)]
    Source(#[from] InputError),
    /// It does not start as VCF does, and its name does not end as that of BED does.
    #[error("{}: known sites must be VCF, or BED by suffix, plain or compressed", path.display())]
    NotVcf {
        /// The file.
        path: PathBuf,
    },
    /// A line is malformed.
    #[error("{}: line {line} {source}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: u64,
        /// The problem.
        source: VcfError,
    },
    /// A line of BED is malformed.
    #[error("{}: {source}", path.display())]
    Bed {
        /// The file.
        path: PathBuf,
        /// Which line, and what is wrong with it.
        source: BedError,
    },
    /// There are sites, but on no sequence of the header.
    #[error(
        "{}: all known sites are on sequences that the reads' header does not have, {name} the \
         first; are they of another reference?", path.display()
    )]
    OtherReference {
        /// The file.
        path: PathBuf,
        /// The first sequence in it.
        name: String,
    },
}

impl RunError for KnownSitesError {
    fn class(&self) -> Class {
        match self {
            Self::Source(source) => source.class(),
            Self::NotVcf { .. }
            | Self::Line { .. }
            | Self::Bed { .. }
            | Self::OtherReference { .. } => Class::Input,
        }
    }

    fn place(&self) -> Place {
        match self {
            Self::Source(source) => source.place(),
            Self::Line { path, line, .. } => Place::of(path).at_line(*line),
            Self::NotVcf { path } | Self::Bed { path, .. } | Self::OtherReference { path, .. } => {
                Place::of(path)
            }
        }
    }
}

/// Totals of a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KnownSitesRead {
    /// Sites on sequences of the header.
    pub sites: u64,
    /// Sites on other sequences, which no read can have.
    pub(crate) elsewhere: u64,
}

/// Suffixes of BED; all else is VCF, as GATK distinguishes them.
const BED_SUFFIXES: [&str; 4] = [".bed", ".bed.gz", ".bed.bgz", ".bed.zst"];

fn is_bed(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    BED_SUFFIXES.iter().any(|suffix| name.ends_with(suffix))
}

/// Name of a sequence, and bases of it.
type Site<'a> = (&'a [u8], Range<u32>);

/// The site of a line of BED. Bases after the last position of any sequence are none.
fn bed_site(text: &[u8], line: u64) -> Result<Option<Site<'_>>, BedError> {
    let within = |position: i64| position.clamp(0, i32::MAX.into()) as u32;
    let site = bed::parse_line(text, usize::try_from(line).unwrap_or(usize::MAX))?;
    Ok(site.map(|(name, Interval { start, end })| (name, within(start)..within(end))))
}

/// Reads the sites of a VCF or BED (plain, gzip, BGZF or zstd) and hands those on sequences of the
/// header to `add`: index of the sequence, and bases, 0-based.
///
/// # Errors
/// The file cannot be read or is malformed, or is of another reference.
pub fn read(
    path: &Path,
    references: &[Reference],
    mut add: impl FnMut(usize, Range<u32>),
) -> Result<KnownSitesRead, KnownSitesError> {
    let by_name: HashMap<&[u8], usize> =
        references.iter().enumerate().map(|(index, it)| (it.name.as_bytes(), index)).collect();
    let mut read = KnownSitesRead::default();
    // Lines of a sequence are together: its name is looked up once.
    let (mut name, mut index): (Vec<u8>, Option<usize>) = (Vec::new(), None);
    let mut elsewhere = None;
    let (is_bed, mut is_vcf) = (is_bed(path), false);
    for_each_line(path, |line, text| {
        if line == 1 {
            is_vcf = text.starts_with(VCF_MAGIC);
        }
        if !is_vcf && !is_bed {
            return Err(KnownSitesError::NotVcf { path: path.to_path_buf() });
        }
        let wrong = |source| KnownSitesError::Line { path: path.to_path_buf(), line, source };
        let site = if is_bed {
            let wrong = |source| KnownSitesError::Bed { path: path.to_path_buf(), source };
            bed_site(text, line).map_err(wrong)?
        } else {
            parse_line(text).map_err(wrong)?.map(|site| (site.sequence, site.bases))
        };
        let Some((sequence, bases)) = site else { return Ok(()) };
        if sequence != name {
            name.clear();
            name.extend_from_slice(sequence);
            index = by_name.get(sequence).copied();
        }
        match index {
            Some(index) => {
                read.sites += 1;
                add(index, bases);
            }
            None => {
                read.elsewhere += 1;
                elsewhere.get_or_insert_with(|| String::from_utf8_lossy(&name).into_owned());
            }
        }
        Ok(())
    })?;
    match elsewhere {
        _ if !is_vcf && !is_bed => Err(KnownSitesError::NotVcf { path: path.to_path_buf() }),
        Some(name) if read.sites == 0 => {
            Err(KnownSitesError::OtherReference { path: path.to_path_buf(), name })
        }
        _ => Ok(read),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Sites = Vec<(usize, Range<u32>)>;

    fn sites(text: &[u8]) -> Result<(Sites, KnownSitesRead), String> {
        sites_of("sites.vcf", text)
    }

    fn sites_of(name: &str, text: &[u8]) -> Result<(Sites, KnownSitesRead), String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        let references = ["a", "b"].map(|name| Reference { name: name.to_owned(), length: 1000 });
        let mut sites = Vec::new();
        match read(&path, &references, |index, bases| sites.push((index, bases))) {
            Ok(read) => Ok((sites, read)),
            Err(error) => Err(error.to_string().replace(&path.display().to_string(), "FILE")),
        }
    }

    #[test]
    fn sites_of_known_sequences_are_read() {
        let text = b"##fileformat=VCFv4.2\n#CHROM\tPOS\n\
            b\t5\t.\tA\tC\t.\t.\t.\nz\t5\t.\tA\tC\t.\t.\t.\na\t7\t.\tAC\tA\t.\t.\tEND=9";
        let read = KnownSitesRead { sites: 2, elsewhere: 1 };
        assert_eq!(sites(text), Ok((vec![(1, 4..5), (0, 6..9)], read)));
        let mut long = b"##fileformat=VCFv4.2\n".to_vec();
        long.resize(3 << 20, b'#');
        long.extend_from_slice(b"\na\t1\t.\tA\tC\t.\t.\t.\n");
        assert_eq!(sites(&long).unwrap().0, [(0, 0..1)]);
        let read = KnownSitesRead::default();
        assert_eq!(sites(b"##fileformat=VCFv4.2\n#CHROM\n"), Ok((Vec::new(), read)));
    }

    #[test]
    fn bed_is_recognised_by_its_name() {
        let text = b"track name=x\n# comment\nb\t4\t6\tname\nz\t1\t2\n\na 0 99999999999\na\t7\t7\n";
        let read = KnownSitesRead { sites: 3, elsewhere: 1 };
        let expected = vec![(1, 4..6), (0, 0..i32::MAX as u32), (0, 7..7)];
        assert_eq!(sites_of("a.bed", text), Ok((expected, read)));
        assert_eq!(sites_of("a.bed", b"").unwrap().1, KnownSitesRead::default());
        let t = |text: &str, expected: &str| {
            let error = sites_of("a.bed", text.as_bytes()).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        };
        t("a\t5\n", "FILE: BED line 1 has 2 fields");
        t("a\t5\tx\n", "FILE: BED line 1: \"x\" is not");
        t("z\t5\t9\n", "FILE: all known sites are on");
    }

    #[test]
    fn other_files_are_refused() {
        let t = |text: &str, expected: &str| {
            let error = sites(text.as_bytes()).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        };
        t("", "FILE: known sites must be VCF");
        t("a\t5\t9\n", "FILE: known sites must be VCF");
        t("##fileformat=VCFv4.2\na\tx\t.\tA\tC\t.\t.\t.\n", "FILE: line 2 POS \"x\" is not");
        t("##fileformat=VCFv4.2\nz\t1\t.\tA\tC\t.\t.\t.\n", "FILE: all known sites are on");
    }
}
