//! Referees: the pod5 package and blue-crab against our reader of POD5, on files that the pod5
//! package makes; every value of every read and every sample must be equal.
//!
//! Needs Python with pod5, blue-crab and pyslow5 in `.venv` of the repository.

mod hostile;
#[path = "../../../../format/tests/hostile/pod5_file.rs"]
pub(super) mod pod5_file;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use seqloom_format::signal::{AuxiliaryType, SignalRead};

use crate::store::pod5::{Pod5Error, Pod5File, Pod5Scratch};

/// Python with the referees, or `None` after saying that the test is skipped.
fn python() -> Option<PathBuf> {
    seqloom_testkit::python::with("pod5, blue_crab, pyslow5")
}

fn referee(python: &Path, arguments: &[&Path]) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tests/pod5/referee.py");
    let output = Command::new(python).arg(script).args(arguments).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

fn open(path: &Path) -> Result<Pod5File, Pod5Error> {
    Pod5File::open(Arc::new(std::fs::read(path).unwrap()), path)
}

/// A number as the referee writes it.
fn bits(number: f64) -> String {
    if number.is_nan() { "nan".into() } else { format!("{:016x}", number.to_bits()) }
}

/// A read as the referee writes it. `run` is the acquisition id of its read group.
fn line(file: &Pod5File, read: &SignalRead) -> String {
    let header = file.header();
    let run = &header.attributes[b"acquisition_id".as_slice()][read.read_group as usize];
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let mut fields = vec!["read".to_owned(), text(&read.read_id), text(run)];
    fields.extend([read.digitisation, read.offset, read.range, read.sampling_rate].map(bits));
    fields.push(read.samples.len().to_string());
    assert_eq!(read.auxiliary.len(), header.auxiliary.len());
    for (field, value) in header.auxiliary.iter().zip(read.auxiliary.iter()) {
        fields.push(match &field.kind {
            AuxiliaryType::Char => text(value),
            AuxiliaryType::U8 => value[0].to_string(),
            AuxiliaryType::I32 => i32::from_le_bytes(value.try_into().unwrap()).to_string(),
            AuxiliaryType::U32 => u32::from_le_bytes(value.try_into().unwrap()).to_string(),
            AuxiliaryType::U64 => u64::from_le_bytes(value.try_into().unwrap()).to_string(),
            AuxiliaryType::F32 => bits(f32::from_le_bytes(value.try_into().unwrap()).into()),
            AuxiliaryType::F64 => bits(f64::from_le_bytes(value.try_into().unwrap())),
            AuxiliaryType::Enum(labels) => text(&labels[usize::from(value[0])]),
            other => panic!("{other:?}"),
        });
    }
    fields.join("\t")
}

/// All reads of a file against the lines and samples of a referee.
fn compare(file: &Pod5File, lines: &str, samples: &[u8]) {
    let lines: Vec<&str> = lines.lines().filter(|line| line.starts_with("read\t")).collect();
    assert_eq!(file.reads(), lines.len());
    let (mut scratch, mut read) = (Pod5Scratch::default(), SignalRead::default());
    let (samples, _) = samples.as_chunks::<2>();
    let mut at = 0;
    for (index, &expected) in lines.iter().enumerate() {
        file.read(index, &mut scratch, &mut read).unwrap();
        assert_eq!(line(file, &read), expected, "{file:?} {index}");
        let expected = &samples[at..at + read.samples.len()];
        let equal = read.samples.iter().zip(expected).all(|(a, b)| *a == i16::from_le_bytes(*b));
        assert!(equal, "{file:?} {index}");
        at += read.samples.len();
        assert_eq!(file.read_id(index).unwrap().as_slice(), read.read_id);
    }
    assert_eq!(at, samples.len());
    let past = file.read(lines.len(), &mut scratch, &mut read).unwrap_err().to_string();
    assert!(past.contains("there is no such read"), "{past}");
}

/// Our reading of `path` against the pod5 package's.
fn compare_with_pod5(python: &Path, path: &Path) -> Pod5File {
    let file = open(path).unwrap();
    let out = path.with_extension("txt");
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join(out.file_name().unwrap());
    referee(python, &[Path::new("dump"), path, &out]);
    let samples = std::fs::read(format!("{}.i16", out.display())).unwrap();
    compare(&file, &std::fs::read_to_string(out).unwrap(), &samples);
    file
}

#[test]
fn every_value_and_sample_is_that_of_the_pod5_package() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    referee(&python, &[Path::new("make"), folder.path()]);
    let mut seen = 0;
    for (name, runs, reads) in [
        ("several_runs", 3, 2_500),
        ("long", 1, 25),
        ("one_run", 1, 1_200),
        ("plain", 3, 60),
        ("no_reads", 1, 0),
        ("small", 3, 200),
    ] {
        let file = compare_with_pod5(&python, &folder.path().join(format!("{name}.pod5")));
        assert_eq!((file.header().read_groups, file.reads()), (runs, reads), "{name}");
        seen += 1;
    }
    assert_eq!(seen, 6);
}

#[test]
fn header_and_reads_are_those_that_blue_crab_writes() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    referee(&python, &[Path::new("make"), folder.path()]);
    let mut paths = vec![folder.path().join("one_run.pod5"), folder.path().join("long.pod5")];
    paths.extend(seqloom_testkit::skip::data(
        "nanopore/derived_official_tools/multi_fast5_zip.pod5",
    ));
    for path in paths {
        let (blow5, out) = (folder.path().join("out.blow5"), folder.path().join("out.txt"));
        let blue_crab = python.with_file_name("blue-crab");
        let mut run = Command::new(blue_crab);
        let done = run.arg("p2s").arg(&path).arg("-o").arg(&blow5).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        referee(&python, &[Path::new("slow5"), &blow5, &out]);
        std::fs::remove_file(blow5).unwrap();
        let file = open(&path).unwrap();
        let lines = std::fs::read_to_string(&out).unwrap();
        compare(&file, &lines, &std::fs::read(folder.path().join("out.txt.i16")).unwrap());
        let header = file.header();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let mut ours: Vec<String> = Vec::new();
        for (name, values) in &header.attributes {
            ours.push(format!("@\t{}\t{}", text(name), text(&values[0])));
        }
        let names: Vec<String> = header.auxiliary.iter().map(|field| text(&field.name)).collect();
        ours.push(format!("fields\t{}", names.join("\t")));
        let AuxiliaryType::Enum(labels) = &header.auxiliary[5].kind else { panic!() };
        let labels: Vec<String> = labels.iter().map(|label| text(label)).collect();
        ours.push(format!("labels\t{}", labels.join("\t")));
        let theirs: Vec<&str> = lines.lines().filter(|line| !line.starts_with("read\t")).collect();
        assert_eq!(ours, theirs, "{}", path.display());
    }
}

/// Versions 0 to 2 keep structures in dictionaries; the package migrates them as it opens them.
#[test]
fn tables_of_all_older_versions() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    referee(&python, &[Path::new("make"), folder.path()]);
    for source in ["small", "several_runs"] {
        let source = folder.path().join(format!("{source}.pod5"));
        referee(&python, &[Path::new("old"), &source, folder.path()]);
        let newest = open(&source).unwrap();
        for version in ["v0", "v1", "v2", "v3"] {
            let file = compare_with_pod5(&python, &folder.path().join(format!("{version}.pod5")));
            assert_eq!(file.header(), newest.header(), "{version}");
        }
    }
}

#[test]
fn real_reads() {
    let Some(python) = python() else { return };
    let path = seqloom_testkit::skip::data("nanopore/derived_official_tools/multi_fast5_zip.pod5");
    let Some(path) = path else { return };
    compare_with_pod5(&python, &path);
}

/// Workers share a file and keep a scratch each.
#[test]
fn files_may_be_shared_and_scratch_may_be_moved() {
    fn t<T: Send + Sync>() {}
    t::<Pod5File>();
    t::<Pod5Scratch>();
}

#[test]
fn a_file_that_was_cut_short_is_refused() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    referee(&python, &[Path::new("make"), folder.path()]);
    let whole = std::fs::read(folder.path().join("small.pod5")).unwrap();
    for size in (0..whole.len()).step_by(997).chain(whole.len() - 40..whole.len()) {
        let error = Pod5File::open(Arc::new(whole[..size].to_vec()), "cut.pod5").unwrap_err();
        let message = error.to_string();
        let expected = if size < 24 { "not a POD5 file" } else { "without the footer" };
        assert!(message.contains(expected), "{size}: {message}");
    }
}
