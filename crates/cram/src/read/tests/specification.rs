//! The specification's own files (hts-specs, test/cram).

use std::process::Command;

use seqloom_testkit::referees::{self, SAMTOOLS};
use seqloom_testkit::skip;

use super::*;

/// What a file's reading gave: lines, or why there are none.
fn read(path: &Path, sequences: &HashMap<String, Vec<u8>>) -> Result<Vec<String>, Problem> {
    let name = path.file_name().unwrap().to_str().unwrap();
    let read = read_file(&fs::read(path).unwrap(), sequences, name);
    let (header, framed) = read.map_err(|fault| fault.problem)?;
    Ok(lines(&header, &framed))
}

/// Compares all files of a folder with what samtools reads.
fn compare_folder(folder: &str, samtools: &Path) {
    let Some(root) = skip::data("bam/hts-specs_test/cram") else { return };
    let sequences = fasta(&root.join("ce.fa"));
    let mut records = 0;
    let mut paths: Vec<_> =
        fs::read_dir(root.join(folder)).unwrap().map(|it| it.unwrap().path()).collect();
    paths.sort();
    for path in paths.into_iter().filter(|it| it.extension().is_some_and(|it| it == "cram")) {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let ours = read(&path, &sequences).unwrap_or_else(|problem| panic!("{name}: {problem}"));
        let mut view = Command::new(samtools);
        let done = view.arg("view").arg("-T").arg(root.join("ce.fa")).arg(&path).output().unwrap();
        assert!(done.status.success(), "{name}: {}", String::from_utf8_lossy(&done.stderr));
        let theirs = String::from_utf8_lossy(&done.stdout).into_owned();
        let theirs: Vec<String> = theirs.lines().map(ordered).collect();
        assert_eq!(ours, theirs, "{folder}/{name}");
        records += ours.len();
    }
    referees::compared(&referees::name_of(samtools), records);
}

#[test]
fn files_are_read_as_samtools_reads_them() {
    for version in SAMTOOLS {
        let Some(samtools) = referees::find("samtools", version) else { continue };
        if skip::data("bam/hts-specs_test/cram").is_none() {
            return;
        }
        for folder in ["3.0/passed", "3.1/passed"] {
            compare_folder(folder, &samtools);
        }
    }
}

#[test]
fn files_that_are_no_cram_are_refused() {
    let Some(root) = skip::data("bam/hts-specs_test/cram/3.0/failed") else { return };
    let none = HashMap::new();
    assert_eq!(read(&root.join("0000_empty_noeof.cram"), &none), Err(Problem::Ends("the file")),);
}
