//! slow5lib, live: what we write it reads, what it writes we read, and where both write they write
//! the same bytes (but for zstd, whose release differs).

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use seqloom_testkit::python;
use tempfile::TempDir;

use super::file::File;
use crate::signal::{AuxiliaryField, AuxiliaryType, AuxiliaryValues, SignalHeader, SignalRead};
use crate::slow5::{Compression, RecordCompression, SignalCompression};

/// Compressions with slow5lib's numbers and pyslow5's names of them.
const RECORDS: [(RecordCompression, u32, &str); 3] = [
    (RecordCompression::None, 0, "none"),
    (RecordCompression::Zlib, 1, "zlib"),
    (RecordCompression::Zstd, 3, "zstd"),
];
const SIGNALS: [(SignalCompression, u32, &str); 3] = [
    (SignalCompression::None, 0, "none"),
    (SignalCompression::SvbZd, 2, "svb_zd"),
    (SignalCompression::ExZd, 4, "ex_zd"),
];

fn nine() -> impl Iterator<Item = (Compression, [u32; 2], [&'static str; 2])> {
    RECORDS.into_iter().flat_map(|(record, record_number, record_name)| {
        SIGNALS.into_iter().map(move |(signal, signal_number, signal_name)| {
            let numbers = [record_number, signal_number];
            (Compression { record, signal }, numbers, [record_name, signal_name])
        })
    })
}

/// Runs the commands in slow5lib and gives what it prints; `None` where it is not installed.
pub(crate) fn slow5lib(commands: &[String]) -> Option<String> {
    let python = python::with("pyslow5")?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tests/slow5/slow5lib.py");
    let mut child = Command::new(python)
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let text = commands.join("\n");
    let writer = std::io::Write::write_all(&mut input, text.as_bytes());
    drop(input);
    let output = child.wait_with_output().unwrap();
    writer.unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    let last: Vec<&str> = errors.lines().rev().take(3).collect();
    assert!(output.status.success(), "slow5lib fails: {commands:#?} {last:#?}");
    Some(String::from_utf8(output.stdout).unwrap())
}

/// Numbers from a seed (Marsaglia's xorshift, 2003).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

const SCALARS: [AuxiliaryType; 11] = [
    AuxiliaryType::I8,
    AuxiliaryType::I16,
    AuxiliaryType::I32,
    AuxiliaryType::I64,
    AuxiliaryType::U8,
    AuxiliaryType::U16,
    AuxiliaryType::U32,
    AuxiliaryType::U64,
    AuxiliaryType::F32,
    AuxiliaryType::F64,
    AuxiliaryType::Char,
];

/// A field and an array of every type; enums of so many labels.
fn fields(labels: u8) -> Vec<AuxiliaryField> {
    let labels = (0..labels).map(|label| format!("label_{label}").into_bytes()).collect();
    let kinds = SCALARS.into_iter().chain([AuxiliaryType::Enum(labels)]);
    let mut fields = Vec::new();
    for (number, kind) in kinds.enumerate() {
        for is_array in [false, true] {
            let name = format!("{}_{number}", if is_array { "array" } else { "scalar" });
            fields.push(AuxiliaryField { name: name.into_bytes(), kind: kind.clone(), is_array });
        }
    }
    fields
}

/// One value of a type, never the missing one.
fn value(kind: &AuxiliaryType, random: &mut Random) -> Vec<u8> {
    let bits = random.next();
    match kind {
        AuxiliaryType::F32 | AuxiliaryType::F64 => {
            // Numbers of all sizes, whole and not.
            let number = bits as i32 as f64 * 10_f64.powi((bits >> 40) as i32 % 25 - 15);
            match kind {
                AuxiliaryType::F32 => (number as f32).to_le_bytes().to_vec(),
                _ => number.to_le_bytes().to_vec(),
            }
        }
        AuxiliaryType::Char => vec![b'A' + (bits % 50) as u8],
        AuxiliaryType::Enum(_) => vec![(bits % 255) as u8],
        _ => {
            let bytes = bits.to_le_bytes()[..kind.size_bytes()].to_vec();
            if bytes == kind.missing() { vec![0; bytes.len()] } else { bytes }
        }
    }
}

/// Values of the fields: in the first read all missing, in the second some elements of arrays.
fn auxiliary(fields: &[AuxiliaryField], read: usize, random: &mut Random) -> AuxiliaryValues {
    let mut values = AuxiliaryValues::default();
    for field in fields {
        let mut bytes = Vec::new();
        let elements = match (field.is_array, read) {
            (false, _) => 1,
            (true, 0) => 0,
            (true, _) => 1 + random.next() as usize % 20,
        };
        for element in 0..elements {
            let is_string = field.is_array && field.kind == AuxiliaryType::Char;
            let is_missing = read == 0 || read == 1 && element % 3 == 1 && !is_string;
            let value = value(&field.kind, random);
            bytes.extend(if is_missing { field.kind.missing() } else { value });
        }
        values.push(&bytes);
    }
    values
}

/// As [`samples`], at least so many, none of anything, and few of them near each other.
fn tame(fewest: usize) -> impl Fn(usize, &mut Random) -> Vec<i16> {
    move |read, random| {
        let mut samples = samples(if read % 5 == 1 { read + 1 } else { read }, random);
        if samples.len() < 20 {
            samples.iter_mut().for_each(|sample| *sample %= 100);
        }
        samples.extend((samples.len()..fewest).map(|index| (index % 90) as i16));
        samples
    }
}

/// Samples of every kind that the codecs distinguish.
fn samples(read: usize, random: &mut Random) -> Vec<i16> {
    let count = [1, 2, 3, 7, 8, 9, 16, 17, 100, 333, 1000, 5000, 20_000][read % 13];
    let mut level = 500_i16;
    let mut next = |index: usize| match read % 5 {
        0 => (400 + random.next() % 200) as i16,
        1 => random.next() as i16,
        2 => {
            let jump = if random.next().is_multiple_of(20) { 700 } else { 40 };
            level = level.wrapping_add((random.next() % (2 * jump)) as i16 - jump as i16);
            level
        }
        3 => ((random.next() % 300) << (1 + read % 7)) as i16,
        _ => {
            if index == count / 2 {
                9000
            } else {
                7
            }
        }
    };
    (0..count).map(&mut next).collect()
}

/// A file with all of it.
///
/// Not all of it can be written by slow5lib, which doubles its buffer once for the next field,
/// however long that is, and writes after it: what it is to write has no fields, or some samples
/// and few labels. And its encoder of ex-zd writes after its buffer for one or two samples, and
/// ends the process where most samples are exceptions.
fn hard_file(
    read_groups: u32,
    fields: Vec<AuxiliaryField>,
    samples: impl Fn(usize, &mut Random) -> Vec<i16>,
) -> File {
    let mut random = Random(u64::from(read_groups) * 0x9E37_79B9);
    let mut header = SignalHeader { read_groups, auxiliary: fields, ..SignalHeader::default() };
    for (name, missing) in [("asic_id", 1), ("run_id", u32::MAX), ("Zone", 0), ("a b,c", 7)] {
        let values = (0..read_groups).map(|group| {
            if group == missing { Vec::new() } else { format!("{name} of {group}").into_bytes() }
        });
        header.attributes.insert(name.as_bytes().to_vec(), values.collect());
    }
    let reads = (0..40).map(|number| SignalRead {
        read_id: format!("read-{number}-{}", "x".repeat((number * number / 4).min(240)))
            .into_bytes(),
        read_group: number as u32 % read_groups,
        digitisation: [8192.0, 2048.0][number % 2],
        offset: (number as f64 - 20.0) / 3.0,
        range: 1467.61 + number as f64 / 7.0,
        sampling_rate: 4000.0,
        samples: samples(number, &mut random),
        auxiliary: auxiliary(&header.auxiliary, number, &mut random),
    });
    let reads = reads.collect();
    File { header, compression: None, reads, places: Vec::new() }
}

/// A read as the script prints it.
fn line(read: &SignalRead, fields: &[AuxiliaryField]) -> String {
    let mut out = String::from_utf8(read.read_id.clone()).unwrap();
    write!(out, "\t{}", read.read_group).unwrap();
    for value in [read.digitisation, read.offset, read.range, read.sampling_rate] {
        write!(out, "\t{}", hex(&value.to_le_bytes())).unwrap();
    }
    let samples: Vec<String> = read.samples.iter().map(ToString::to_string).collect();
    write!(out, "\t{}\t{}", samples.len(), samples.join(",")).unwrap();
    for (field, value) in fields.iter().zip(read.auxiliary.iter()) {
        let is_enum = matches!(field.kind, AuxiliaryType::Enum(_));
        match (field.is_array, &field.kind) {
            (true, _) if is_enum => {}
            (true, AuxiliaryType::Char) => {
                write!(out, "\t{}", std::str::from_utf8(value).unwrap()).unwrap();
            }
            _ => {
                let one = |bytes| shown(&field.kind, bytes);
                let all: Vec<_> = value.chunks(field.kind.size_bytes()).map(one).collect();
                write!(out, "\t{}", all.join(",")).unwrap();
            }
        }
    }
    out
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn shown(kind: &AuxiliaryType, bytes: &[u8]) -> String {
    macro_rules! number {
        ($type:ty) => {
            <$type>::from_le_bytes(bytes.try_into().unwrap()).to_string()
        };
    }
    match kind {
        AuxiliaryType::I8 | AuxiliaryType::Char => number!(i8),
        AuxiliaryType::I16 => number!(i16),
        AuxiliaryType::I32 => number!(i32),
        AuxiliaryType::I64 => number!(i64),
        AuxiliaryType::U8 | AuxiliaryType::Enum(_) => number!(u8),
        AuxiliaryType::U16 => number!(u16),
        AuxiliaryType::U32 => number!(u32),
        AuxiliaryType::U64 => number!(u64),
        AuxiliaryType::F32 if f32::from_le_bytes(bytes.try_into().unwrap()).is_nan() => {
            "nan".into()
        }
        AuxiliaryType::F64 if f64::from_le_bytes(bytes.try_into().unwrap()).is_nan() => {
            "nan".into()
        }
        AuxiliaryType::F32 | AuxiliaryType::F64 => hex(bytes),
    }
}

fn dump(file: &File) -> String {
    let lines = file.reads.iter().map(|read| line(read, &file.header.auxiliary) + "\n");
    lines.chain([".\n".into()]).collect()
}

/// Panics with the first line in which two dumps differ.
fn assert_same(name: &str, ours: &str, theirs: &str) {
    for (number, (ours, theirs)) in ours.lines().zip(theirs.lines()).enumerate() {
        assert_eq!(ours, theirs, "{name}, line {number}");
    }
    assert_eq!(ours.lines().count(), theirs.lines().count(), "{name}");
}

/// Paths in a folder of the test.
fn path(folder: &TempDir, name: &str) -> String {
    folder.path().join(name).to_str().unwrap().to_owned()
}

#[test]
fn what_we_write_slow5lib_reads_and_indexes_as_we_do() {
    for read_groups in [1, 3] {
        let folder = tempfile::tempdir().unwrap();
        let file = hard_file(read_groups, fields(255), samples);
        let (mut commands, mut names) = (Vec::new(), Vec::new());
        for (compression, ..) in nine() {
            let name = format!("{:?}-{:?}.blow5", compression.record, compression.signal);
            fs::write(path(&folder, &name), file.write(Some(compression))).unwrap();
            names.push(name);
        }
        for name in &names {
            commands.push(format!("dump\t{}", path(&folder, name)));
            commands.push(format!("index\t{}", path(&folder, name)));
        }
        let Some(output) = slow5lib(&commands) else { return };
        let theirs: Vec<&str> = output.split_inclusive("\n.\n").collect();
        assert_eq!(theirs.len(), names.len());
        for (name, theirs) in names.iter().zip(theirs) {
            let ours = File::read(&fs::read(path(&folder, name)).unwrap()).unwrap();
            assert_eq!(format!("{:?}", ours.reads), format!("{:?}", file.reads), "{name}");
            assert_same(name, &dump(&ours), theirs);
            let index = fs::read(path(&folder, name) + ".idx").unwrap();
            assert!(index == ours.index(), "index of {name}");
        }
    }
}

#[test]
fn both_write_the_same_bytes() {
    for read_groups in [1, 3] {
        let with_fields = hard_file(read_groups, fields(9), tame(300));
        let without = hard_file(read_groups, Vec::new(), tame(8));
        if !assert_same_bytes(&with_fields) || !assert_same_bytes(&without) {
            return;
        }
    }
}

/// Converts the file to all forms by slow5lib, from binary and from text. `false` without it.
fn assert_same_bytes(file: &File) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let (binary, text) = (path(&folder, "ours.blow5"), path(&folder, "ours.slow5"));
    fs::write(&binary, file.write(Some(Compression::NONE))).unwrap();
    fs::write(&text, file.write(None)).unwrap();
    let their_text = path(&folder, "theirs.slow5");
    let mut commands = vec![format!("convert\t{binary}\t{their_text}\t1\t0\t0")];
    let target = |source: &str, [record, signal]: [u32; 2]| {
        path(&folder, &format!("{source}-{record}-{signal}.blow5"))
    };
    for (_, numbers, _) in nine() {
        for (source, name) in [(&binary, "binary"), (&text, "text")] {
            let ([record, signal], target) = (numbers, target(name, numbers));
            commands.push(format!("convert\t{source}\t{target}\t2\t{record}\t{signal}"));
        }
    }
    commands.push(format!("index\t{text}"));
    if slow5lib(&commands).is_none() {
        return false;
    }
    let columns = |path| fs::read_to_string(path).unwrap().replace('\t', "\n");
    assert_same("text", &columns(&text), &columns(&their_text));
    let of_text = File::read(&fs::read(&text).unwrap()).unwrap();
    assert!(fs::read(text.clone() + ".idx").unwrap() == of_text.index(), "index of text");
    for (compression, numbers, names) in nine() {
        for (source, name) in [(file, "binary"), (&of_text, "text")] {
            let theirs = fs::read(target(name, numbers)).unwrap();
            if compression.record == RecordCompression::Zstd {
                let read = File::read(&theirs).unwrap();
                assert_eq!(read.header, source.header);
                assert_eq!(format!("{:?}", read.reads), format!("{:?}", source.reads));
            } else {
                assert!(theirs == source.write(Some(compression)), "{names:?} from {name}");
            }
        }
    }
    true
}

#[test]
fn what_pyslow5_writes_we_read() {
    let folder = tempfile::tempdir().unwrap();
    let (mut commands, mut files) = (Vec::new(), Vec::new());
    for groups in [1, 2] {
        for (compression, _, [record, signal]) in nine() {
            let name = path(&folder, &format!("{record}-{signal}-{groups}.blow5"));
            commands.push(format!("write\t{name}\t{record}\t{signal}\t{groups}"));
            files.push((name, Some(compression)));
        }
        let name = path(&folder, &format!("{groups}.slow5"));
        commands.push(format!("write\t{name}\tnone\tnone\t{groups}"));
        files.push((name, None));
    }
    let Some(output) = slow5lib(&commands) else { return };
    for ((name, compression), theirs) in files.iter().zip(output.split_inclusive("\n.\n")) {
        let ours = File::read(&fs::read(name).unwrap()).unwrap();
        assert_eq!((ours.reads.len(), ours.compression), (12, *compression));
        if compression.is_some() {
            assert_same(name, &dump(&ours), theirs);
        }
        // pyslow5 writes zlib by the system's library, ours is stock zlib as well.
        if compression.is_none_or(|it| it.record != RecordCompression::Zstd) {
            assert!(ours.write(*compression) == fs::read(name).unwrap(), "{name}");
        }
    }
}

#[test]
fn reads_without_samples() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = hard_file(1, Vec::new(), samples);
    file.reads.truncate(2);
    file.reads.iter_mut().for_each(|read| read.samples.clear());
    let mut commands = Vec::new();
    for (compression, [record, signal], _) in nine() {
        let bytes = file.write(Some(compression));
        assert_eq!(File::read(&bytes).unwrap().reads, file.reads);
        // slow5lib takes any frame of ex-zd for at least one sample.
        if compression.signal != SignalCompression::ExZd {
            let name = path(&folder, &format!("{record}-{signal}.blow5"));
            fs::write(&name, bytes).unwrap();
            commands.push(format!("dump\t{name}"));
        }
    }
    // slow5lib writes them only where it need not code samples.
    let (text, binary) = (path(&folder, "ours.slow5"), path(&folder, "theirs.blow5"));
    fs::write(&text, file.write(None)).unwrap();
    commands.push(format!("convert\t{text}\t{binary}\t2\t1\t0"));
    let Some(output) = slow5lib(&commands) else { return };
    for (number, theirs) in output.split_inclusive("\n.\n").enumerate() {
        assert_same(&commands[number], &dump(&file), theirs);
    }
    let compression =
        Compression { record: RecordCompression::Zlib, signal: SignalCompression::None };
    let of_text = File::read(&fs::read(&text).unwrap()).unwrap();
    assert!(fs::read(binary).unwrap() == of_text.write(Some(compression)));
}
