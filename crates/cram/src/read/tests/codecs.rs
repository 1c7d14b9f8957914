//! The specification's own files of each codec (hts-specs, test/cram/codecs).

use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};

use seqloom_testkit::skip;

use crate::rans4x8::Tables;
use crate::read::codecs::{arithmetic, fqzcomp, names, rans_nx16};
use crate::read::error::Problem;

type Decompress = fn(&[u8], usize) -> Result<Vec<u8>, Problem>;

fn rans_4x8(bytes: &[u8], raw: usize) -> Result<Vec<u8>, Problem> {
    let mut out = Vec::new();
    crate::rans4x8::decompress(bytes, raw, &mut Tables::default(), &mut out).map(|()| out)
}

fn gunzip(path: &Path) -> Vec<u8> {
    let mut inflate = Command::new("gzip")
        .arg("-dc")
        .stdin(fs::File::open(path).unwrap())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut bytes = Vec::new();
    inflate.stdout.take().unwrap().read_to_end(&mut bytes).unwrap();
    assert!(inflate.wait().unwrap().success());
    bytes
}

/// What a codec's file holds, from the text that it was made of.
fn expected(folder: &str, name: &str, raw: Vec<u8>) -> Vec<u8> {
    let is_numbers = name.starts_with("u32");
    match folder {
        "tok3" => raw.into_iter().map(|byte| if byte == b'\n' { 0 } else { byte }).collect(),
        _ if is_numbers => raw,
        // Qualities: the first column, without ends of lines; of FQZComp as BAM has them.
        _ => raw
            .split(|&byte| byte == b'\n')
            .flat_map(|line| line.split(|&byte| byte == b'\t' || byte == b' ').next().unwrap())
            .map(|&byte| if folder == "fqzcomp" { byte - 33 } else { byte })
            .collect(),
    }
}

/// Checks all files of a codec.
fn check(folder: &str, decompress: Decompress) {
    let Some(root) = skip::data("bam/hts-specs_test/cram/codecs") else { return };
    let mut files = 0;
    for entry in fs::read_dir(root.join(folder)).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let (of, _) = name.rsplit_once('.').unwrap();
        let raw = expected(folder, &name, gunzip(&root.join(format!("gzip/{of}.gz"))));
        let bytes = fs::read(&path).unwrap();
        let found = decompress(&bytes, raw.len()).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(found == raw, "{folder}/{name}: {} bytes, expected {}", found.len(), raw.len());
        for end in [0, 1, 5, 9, bytes.len() / 2, bytes.len() - 1] {
            assert!(decompress(&bytes[..end], raw.len()).ok().as_ref() != Some(&raw), "{name}");
        }
        files += 1;
    }
    assert!(files > 0);
}

#[test]
fn rans_4x8_files_are_read() {
    check("rans4x8", rans_4x8);
}

#[test]
fn rans_nx16_files_are_read() {
    check("ransNx16", rans_nx16::decompress);
}

#[test]
fn arithmetic_files_are_read() {
    check("range", arithmetic::decompress);
}

#[test]
fn name_files_are_read() {
    check("tok3", names::decompress);
}

#[test]
fn fqzcomp_files_are_read() {
    check("fqzcomp", fqzcomp::decompress);
}
