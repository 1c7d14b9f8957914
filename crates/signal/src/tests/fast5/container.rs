//! The HDF5 reader against h5py: every attribute of every object, every signal.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use seqloom_format::hdf5::{
    Attribute, Hdf5Error, Hdf5File, Hdf5Scratch, LinkTarget, Links, ObjectKind, Value,
};
use seqloom_testkit::skip;

use super::support::{files, referee};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn attribute(attribute: &Attribute) -> String {
    let datatype = attribute.datatype();
    match attribute.value() {
        Value::Integer(value) => format!("int:{value}:{}", datatype.size_bytes),
        Value::F32(value) => format!("f32:{:016x}", f64::from(value).to_bits()),
        Value::F64(value) => format!("f64:{:016x}", value.to_bits()),
        Value::Text(text) => format!("text:{}", hex(text)),
        Value::Enum(value) => {
            let label = |name: &[u8]| String::from_utf8(name.to_vec()).unwrap();
            let labels = datatype.members().map(|it| format!("{}={}", label(it.name), it.value));
            format!("enum:{value}:{}", labels.collect::<Vec<_>>().join(","))
        }
        Value::Other => "other".into(),
    }
}

/// The file as the referee writes it.
pub(crate) fn dump(path: &Path) -> Result<String, Hdf5Error> {
    let file = Hdf5File::open(Arc::new(std::fs::read(path).unwrap()))?;
    let mut out = format!("file\t{}\n", path.display());
    walk(&file, file.root(), "", &mut Hdf5Scratch::default(), &mut out)?;
    Ok(out)
}

fn walk(
    file: &Hdf5File,
    object: u64,
    path: &str,
    scratch: &mut Hdf5Scratch,
    out: &mut String,
) -> Result<(), Hdf5Error> {
    let kind = file.kind(object, scratch)?;
    let name = match kind {
        ObjectKind::Group => "group",
        ObjectKind::Dataset => "dataset",
        ObjectKind::Other => "other",
    };
    writeln!(out, "object\t{path}\t{name}").unwrap();
    file.attributes(object, scratch, |it| {
        writeln!(out, "attribute\t{}\t{}", hex(it.name()), attribute(it)).unwrap();
        Ok::<(), Hdf5Error>(())
    })?;
    if kind == ObjectKind::Dataset {
        let mut samples = Vec::new();
        match file.read_i16(object, scratch, &mut samples) {
            Ok(()) => {
                let bytes: Vec<u8> = samples.iter().flat_map(|it| it.to_le_bytes()).collect();
                let sum = crc32fast::hash(&bytes);
                writeln!(out, "samples\t{}\t{sum}", samples.len()).unwrap();
            }
            // Basecalls: tables, and texts of no dimension.
            Err(Hdf5Error::Malformed { what: "dataset", .. }) => {}
            Err(error) => return Err(error),
        }
    }
    let mut links = Links::default();
    file.links(object, scratch, &mut links)?;
    for link in (0..links.len()).map(|index| links.get(index)) {
        let name = String::from_utf8(link.name.to_vec()).unwrap();
        match link.target {
            LinkTarget::Object(member) => {
                walk(file, member, &format!("{path}/{name}"), scratch, out)?;
            }
            LinkTarget::Nowhere => writeln!(out, "nowhere\t{path}/{name}").unwrap(),
        }
    }
    Ok(())
}

#[test]
fn every_object_of_every_real_file_is_as_h5py_reads_it() {
    let Some(folder) = skip::data("nanopore") else { return };
    let Some(python) = seqloom_testkit::python::with("h5py, vbz_h5py_plugin") else { return };
    let paths = files(&folder, ".fast5");
    assert!(paths.len() > 100);
    let expected = referee(&python, "referee.py", &paths);
    let mut expected = expected.split_inclusive('\n').peekable();
    for path in &paths {
        let ours = dump(path).unwrap_or_else(|error| {
            assert!(matches!(error, Hdf5Error::NotHdf5), "{}: {error}", path.display());
            format!("bad\t{}\n", path.display())
        });
        for (number, line) in ours.split_inclusive('\n').enumerate() {
            assert_eq!(expected.next(), Some(line), "{} line {number}", path.display());
        }
    }
    assert_eq!(expected.next(), None);
}

#[test]
fn every_kind_of_storage_is_as_h5py_reads_it() {
    let Some(python) = seqloom_testkit::python::with("h5py, vbz_h5py_plugin") else { return };
    let folder = tempfile::tempdir().unwrap();
    let made = referee(&python, "make.py", &[folder.path().to_owned()]);
    let paths: Vec<PathBuf> = made.lines().map(PathBuf::from).collect();
    assert_eq!(paths.len(), 6);
    for path in paths {
        let expected = referee(&python, "referee.py", std::slice::from_ref(&path));
        let ours = dump(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_lines(&ours, &expected, &path);
    }
}

fn assert_lines(ours: &str, expected: &str, path: &Path) {
    let mut object = "";
    for (ours, expected) in ours.lines().zip(expected.lines()) {
        assert_eq!(ours, expected, "{} in {object}", path.display());
        object = if ours.starts_with("object") { ours } else { object };
    }
    assert!(ours == expected, "{}", path.display());
}
