//! Files that we write: read by ourselves, h5py, ont_fast5_api and nanopolish.

use std::path::{Path, PathBuf};
use std::process::Command;

use proptest::prelude::*;
use seqloom_format::hdf5::SignalCompressor;
use seqloom_format::signal::{AuxiliaryField, AuxiliaryType, SignalHeader, SignalRead};
use seqloom_testkit::skip;

use super::container::dump;
use super::support::{files, load, open, referee};
use crate::store::fast5::{Fast5Layout, Fast5Options, Fast5WriteError, Fast5Writer};

/// A file with these reads, as a whole.
fn written(header: &SignalHeader, reads: &[SignalRead]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = Fast5Writer::new(header, &mut out).unwrap();
    let (mut compressor, mut chunk) = (SignalCompressor::default(), Vec::new());
    for read in reads {
        compressor.compress(&read.samples, &mut chunk);
        writer.push(read, &chunk, &mut out).unwrap();
    }
    let first = writer.finish(&mut out).unwrap();
    out[..first.len()].copy_from_slice(&first);
    out
}

fn write_to(path: &Path, header: &SignalHeader, reads: &[SignalRead]) {
    std::fs::write(path, written(header, reads)).unwrap();
}

/// A header with the fields of a FAST5, and some reads with samples made from the seed.
fn made(count: usize, seed: u64) -> (SignalHeader, Vec<SignalRead>) {
    let mut header = SignalHeader::default();
    for (name, value) in [
        ("file_type", "multi-read"),
        ("file_version", "2.2"),
        ("run_id", "run"),
        ("sample_frequency", "4000"),
        ("sequencing_kit", ""),
        ("asic_id", "\u{3bc}"),
    ] {
        header.attributes.insert(name.into(), vec![value.into()]);
    }
    let labels = ["unknown", "partial", "mux_change"].map(|label| label.as_bytes().to_vec());
    for (name, kind, is_array) in [
        ("start_time", AuxiliaryType::U64, false),
        ("read_number", AuxiliaryType::I32, false),
        ("start_mux", AuxiliaryType::U8, false),
        ("median_before", AuxiliaryType::F64, false),
        ("end_reason", AuxiliaryType::Enum(labels.to_vec()), false),
        ("channel_number", AuxiliaryType::Char, true),
    ] {
        header.auxiliary.push(AuxiliaryField { name: name.into(), kind, is_array });
    }
    let read = |index: usize| {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ index as u64;
        let mut next = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as u32
        };
        let mut read = SignalRead {
            read_id: format!("{:08x}-{index:04x}", next()).into(),
            digitisation: 8192.0,
            offset: f64::from(next() % 30),
            range: 1_402.882_324_218_75,
            sampling_rate: 4000.0,
            ..SignalRead::default()
        };
        let samples = if index == 0 { 0 } else { next() as usize % 300 };
        read.samples = (0..samples).map(|_| (next() % 700) as i16 - 50).collect();
        read.auxiliary.push(&u64::from(next()).to_le_bytes());
        read.auxiliary.push(&(next() as i32).to_le_bytes());
        read.auxiliary.push(&[next() as u8 % 4 + 1]);
        read.auxiliary.push(&f64::from(next()).to_le_bytes());
        read.auxiliary.push(&[[0, 1, 2, 255][next() as usize % 4]]);
        read.auxiliary.push(format!("{}", next() % 512).as_bytes());
        read
    };
    (header, (0..count).map(read).collect())
}

fn sorted(reads: &[SignalRead]) -> Vec<SignalRead> {
    let mut reads = reads.to_vec();
    reads.sort_by(|a, b| a.read_id.cmp(&b.read_id));
    reads
}

/// Both, but for the version of a single-read file, which becomes that of a multi-read one.
fn assert_same_header(ours: &SignalHeader, expected: &SignalHeader) {
    let mut expected = expected.clone();
    let version = ours.attributes[&b"file_version"[..]].clone();
    expected.attributes.insert("file_version".into(), version);
    expected.attributes.insert("file_type".into(), vec!["multi-read".into()]);
    assert_eq!(*ours, expected);
}

#[test]
fn what_is_written_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.fast5");
    // 8 names a node, 32 nodes a node of the tree: from one level to three.
    for count in [1, 2, 8, 9, 256, 257, 9000] {
        let (header, reads) = made(count, count as u64);
        write_to(&path, &header, &reads);
        let (own, found) = load(&path, Fast5Options::default()).unwrap();
        assert_same_header(&own, &header);
        assert!(found == sorted(&reads), "{count}");
    }
    // A file without reads could not be read.
    let mut out = Vec::new();
    let writer = Fast5Writer::new(&made(0, 0).0, &mut out).unwrap();
    assert!(matches!(writer.finish(&mut out), Err(Fast5WriteError::NoReads)));
}

#[test]
fn h5py_finds_in_our_files_what_we_find() {
    let Some(python) = seqloom_testkit::python::with("h5py, vbz_h5py_plugin") else { return };
    let folder = tempfile::tempdir().unwrap();
    // h5py takes a minute for 9000 reads, whose tree has three levels.
    let most = if skip::slow_tests() { 9000 } else { 300 };
    let paths: Vec<PathBuf> = [1, 9, most]
        .map(|count| {
            let path = folder.path().join(format!("{count}.fast5"));
            let (header, reads) = made(count, 7);
            write_to(&path, &header, &reads);
            path
        })
        .into();
    let expected = referee(&python, "referee.py", &paths);
    let ours: String = paths.iter().map(|path| dump(path).unwrap()).collect();
    for (number, (ours, expected)) in ours.lines().zip(expected.lines()).enumerate() {
        assert_eq!(ours, expected, "line {number}");
    }
    assert!(ours == expected);
}

#[test]
fn real_files_are_the_same_after_a_round_trip_and_ont_fast5_api_reads_them() {
    let Some(data) = skip::data("nanopore") else { return };
    let folder = tempfile::tempdir().unwrap();
    let (mut paths, mut expected) = (Vec::new(), String::new());
    for path in files(&data, ".fast5") {
        let Ok((header, reads)) = load(&path, Fast5Options::default()) else { continue };
        let to = folder.path().join(format!("{}.fast5", paths.len()));
        write_to(&to, &header, &reads);
        let (own, found) = load(&to, Fast5Options::default()).unwrap();
        // A plain end_reason, which is damage of ont_fast5_api's compress_fast5, is not written.
        let is_plain =
            |field: &AuxiliaryField| field.name == b"end_reason" && field.kind == AuxiliaryType::U8;
        if !header.auxiliary.iter().any(is_plain) {
            assert!(found == sorted(&reads), "{}", path.display());
            assert_same_header(&own, &header);
        }
        append_ont(&own, &found, &mut expected);
        paths.push(to);
    }
    assert!(paths.len() > 100);
    let Some(python) = seqloom_testkit::python::with("ont_fast5_api") else { return };
    let ont = referee(&python, "ont.py", &paths);
    for (ont, expected) in ont.lines().zip(expected.lines()) {
        assert_eq!(ont, expected);
    }
    assert!(ont == expected);
}

/// Reads as the script prints them.
fn append_ont(header: &SignalHeader, reads: &[SignalRead], out: &mut String) {
    use std::fmt::Write;
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let place = |name: &str| header.auxiliary.iter().position(|it| it.name == name.as_bytes());
    for read in sorted(reads) {
        let bytes: Vec<u8> = read.samples.iter().flat_map(|it| it.to_le_bytes()).collect();
        let numbers = [read.digitisation, read.offset, read.range, read.sampling_rate];
        let numbers = numbers.map(|number| format!("{:016x}", number.to_bits())).join("\t");
        let channel = text(read.auxiliary.get(place("channel_number").unwrap()));
        let start = read.auxiliary.get(place("start_time").unwrap());
        let start = u64::from_le_bytes(start.try_into().unwrap());
        let run = text(&header.attributes[&b"run_id"[..]][0]);
        let (id, count, sum) = (text(&read.read_id), read.samples.len(), crc32fast::hash(&bytes));
        writeln!(out, "{id}\t{count}\t{sum}\t{numbers}\t{channel}\t{run}\t{start}").unwrap();
    }
}

#[test]
fn slow_nanopolish_finds_the_same_events_in_our_file() {
    if !skip::slow_tests() {
        return;
    }
    let Some(data) = skip::data("nanopore/f5c_ecoli_2kb/ecoli_2kb_region") else { return };
    if Command::new("nanopolish").arg("--version").output().is_err() {
        return skip::skip("nanopolish is not installed");
    }
    let folder = tempfile::tempdir().unwrap();
    let singles = data.join("fast5_files");
    let mut all = (SignalHeader::default(), Vec::new());
    for path in files(&singles, ".fast5") {
        let (header, reads) = load(&path, Fast5Options::default()).unwrap();
        all.0 = header;
        all.1.extend(reads);
    }
    let multi = folder.path().join("multi");
    std::fs::create_dir(&multi).unwrap();
    write_to(&multi.join("all.fast5"), &all.0, &all.1);
    let gzip = data.join("draft.reconstructed.fa.gz");
    let draft = Command::new("gzip").arg("-dc").arg(gzip).output().unwrap().stdout;
    std::fs::write(folder.path().join("draft.fa"), draft).unwrap();
    let [ours, expected] = [&multi, &singles].map(|signal| {
        let reads = folder.path().join("reads.fasta");
        std::fs::copy(data.join("reads.fasta"), &reads).unwrap();
        let run = |command: &mut Command| {
            let output = command.output().unwrap();
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{errors}");
            String::from_utf8(output.stdout).unwrap()
        };
        run(Command::new("nanopolish").args(["index", "-d"]).arg(signal).arg(&reads));
        let options = ["eventalign", "--print-read-names", "-w", "tig00000001:200000-200400"];
        let mut command = Command::new("nanopolish");
        command.args(options).arg("-r").arg(reads).arg("-b").arg(data.join("reads.sorted.bam"));
        let events = run(command.arg("-g").arg(folder.path().join("draft.fa")));
        let mut lines: Vec<String> = events.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    });
    assert!(expected.len() > 10_000, "{}", expected.len());
    assert!(ours == expected);
}

#[test]
fn what_fast5_has_no_place_for_is_refused_or_named() {
    let (header, reads) = made(2, 1);
    let groups = SignalHeader { read_groups: 2, ..header.clone() };
    let error = Fast5Writer::new(&groups, &mut Vec::new()).err().unwrap();
    assert!(matches!(error, Fast5WriteError::ReadGroups(2)));
    let mut out = Vec::new();
    let mut wide = header.clone();
    wide.attributes.insert("long".into(), vec![vec![b'a'; 70_000]]);
    assert!(Fast5Writer::new(&wide, &mut out).is_err());
    wide.attributes.clear();
    assert!(matches!(Fast5Writer::new(&wide, &mut out), Err(Fast5WriteError::RunId)));
    wide.attributes.insert("run_id".into(), vec!["run".into()]);
    wide.auxiliary[1].kind = AuxiliaryType::U32;
    wide.auxiliary.push(AuxiliaryField {
        name: "tracked_scaling_scale".into(),
        kind: AuxiliaryType::F32,
        is_array: false,
    });
    out.clear();
    let mut writer = Fast5Writer::new(&wide, &mut out).unwrap();
    assert_eq!(writer.left_out(), ["auxiliary field tracked_scaling_scale"]);
    let mut read = reads[0].clone();
    read.auxiliary.clear();
    let values = [&7u64.to_le_bytes()[..], &u32::MAX.to_le_bytes(), &[1], &[0; 8], &[1], b"5"];
    values.into_iter().for_each(|value| read.auxiliary.push(value));
    read.auxiliary.push(&[0; 4]);
    // The missing value of one type is that of the other.
    writer.push(&read, b"", &mut out).unwrap();
    let before = out.len();
    let error = writer.push(&read, b"", &mut out).unwrap_err();
    assert!(matches!(error, Fast5WriteError::Duplicate(_)));
    for id in [&b""[..], b"a/b", b"a\0"] {
        let read = SignalRead { read_id: id.into(), ..read.clone() };
        let error = writer.push(&read, b"", &mut out).unwrap_err();
        assert!(matches!(error, Fast5WriteError::ReadId(_)));
    }
    read.read_id = b"other".to_vec();
    read.auxiliary.clear();
    let values = [&7u64.to_le_bytes()[..], &(1u32 << 31).to_le_bytes(), &[1], &[0; 8], &[1], b"5"];
    values.into_iter().for_each(|value| read.auxiliary.push(value));
    let error = writer.push(&read, b"", &mut out).unwrap_err();
    assert!(matches!(error, Fast5WriteError::Convert { .. }));
    assert_eq!(out.len(), before);
}

proptest! {
    #[test]
    fn any_samples_and_texts_come_back(
        samples in proptest::collection::vec(any::<i16>(), 0..500),
        value in "[^\\s\\x00.][^\\t\\n\\r\\x00\\x0b\\x0c]{0,40}",
        number in any::<i32>(),
        real in any::<f64>(),
    ) {
        let (mut header, mut reads) = made(1, 3);
        header.attributes.insert("exp_script_name".into(), vec![value.into()]);
        let read = &mut reads[0];
        read.samples = samples;
        (read.range, read.offset) = (1.0, 2.0);
        let start = read.auxiliary.get(0).to_vec();
        read.auxiliary.clear();
        read.auxiliary.push(&start);
        read.auxiliary.push(&number.to_le_bytes());
        read.auxiliary.push(&[1]);
        read.auxiliary.push(&real.to_le_bytes());
        read.auxiliary.push(&[2]);
        read.auxiliary.push(b"77");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.fast5");
        write_to(&path, &header, &reads);
        let file = open(&path, Fast5Options::default()).unwrap();
        prop_assert_eq!(file.layout(), Fast5Layout::Multi);
        let (own, found) = load(&path, Fast5Options::default()).unwrap();
        prop_assert_eq!(own, header);
        prop_assert_eq!(found, reads);
    }
}
