//! Any bytes as comments, as fields of unaligned BAM, or as files of an index. The property tests
//! next to this file and the fuzz targets call the same functions.

use std::fs;
use std::path::{Path, PathBuf};

use seqloom_align::InputTags;
use seqloom_align::index::{BuildOptions, IndexPaths, build, check, plan};
use seqloom_format::bam::AuxFields;

/// A FASTQ comment, and the same bytes as BAM fields: what is accepted is well-formed.
pub(crate) fn input_tags(extra: &[u8]) {
    for (kind, has_read_group) in
        [(InputTags::Comments, false), (InputTags::Fields, false), (InputTags::Fields, true)]
    {
        let replaced: &[[u8; 2]] = if has_read_group { &[*b"RG"] } else { &[] };
        let mut fields = Vec::new();
        if kind.append(extra, replaced, &mut fields).is_err() {
            continue;
        }
        for field in AuxFields::of(&fields) {
            let (tag, _) = field.unwrap();
            let is_stale = kind == InputTags::Fields && [*b"NM", *b"MC", *b"XA"].contains(&tag);
            let is_replaced = has_read_group && tag == *b"RG";
            assert!(!is_stale && !is_replaced, "{tag:?}");
        }
    }
}

/// Files that `align` needs.
pub(crate) const SUFFIXES: [&str; 4] = ["pac", "ann", "amb", "bwt.2bit.64"];

/// An index of two short sequences in a folder.
pub(crate) struct Index {
    prefix: PathBuf,
    files: Vec<Vec<u8>>,
}

impl Index {
    /// Builds it in `folder`.
    pub(crate) fn build_in(folder: &Path) -> Self {
        let prefix = folder.join("ref.fa");
        fs::write(&prefix, ">c1 first\nACGTTGCANNNGATTACA\n>c2\nTTGACCAGTRACCAGT\n").unwrap();
        let options = BuildOptions::default();
        let ready = plan(&prefix, &options, &|_, _| ()).unwrap();
        build(ready, &prefix, &|_, _| ()).unwrap();
        let paths = IndexPaths::new(&prefix);
        let files = SUFFIXES.iter().map(|suffix| fs::read(paths.with(suffix)).unwrap()).collect();
        Self { prefix, files }
    }

    /// Checks it with file `which` changed by `change`, then puts the file back.
    pub(crate) fn check_with(&self, which: usize, change: impl FnOnce(&[u8]) -> Vec<u8>) {
        let path = IndexPaths::new(&self.prefix).with(SUFFIXES[which]);
        let bytes = change(&self.files[which]);
        fs::write(&path, &bytes).unwrap();
        match check(&self.prefix) {
            Ok(info) => {
                let sum: u64 = info.contigs.iter().map(|it| u64::from(it.length)).sum();
                assert_eq!(sum, info.bases);
                assert_eq!(info.bases, 34);
            }
            Err(error) => {
                assert!(bytes != self.files[which], "a good index is refused: {error}");
                assert!(error.to_string().contains("ref.fa"), "{error}");
            }
        }
        fs::write(&path, &self.files[which]).unwrap();
    }
}
