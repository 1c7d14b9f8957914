//! Whole files, read back by samtools.

mod hard_records;
mod kinds;
mod many_records;

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use seqloom_format::bam::{Header, RecordRef};
use seqloom_format::sam::{ReferenceNames, append_line, parse_record};
use seqloom_testkit::referees::{self, SAMTOOLS};

use crate::{EOF_CONTAINER, Encoder, Numbering, Referred, Settings, Version, digest, file_start};

pub(crate) const USUAL: Settings =
    Settings { version: Version::V30, level: 6, keeps_mismatch_tags: false };

/// Sequences by name.
type Sequences = Vec<(&'static str, String)>;

/// A file to be: its header, its sequences, its records.
struct Input {
    header: Header,
    sequences: Sequences,
    /// Bodies.
    records: Vec<Vec<u8>>,
}

/// What is written.
struct Written {
    cram: Vec<u8>,
    index: Vec<u8>,
}

impl Input {
    /// Records of SAM lines without a header; `more` are header lines after those of sequences.
    fn of(sequences: Sequences, more: &str, lines: &str) -> Self {
        let mut text = String::from("@HD\tVN:1.6\tSO:coordinate\n");
        for (name, bases) in &sequences {
            text += &format!("@SQ\tSN:{name}\tLN:{}\n", bases.len());
        }
        let header = Header::parse((text + more).as_bytes()).unwrap();
        let names = ReferenceNames::new(header.references());
        let record = |line: &str| {
            let mut body = Vec::new();
            parse_record(line.as_bytes(), &names, &mut body).unwrap();
            body
        };
        let records = lines.lines().map(record).collect();
        Self { header, sequences, records }
    }

    /// The file, of one unit, or of one for each of so many records.
    fn write(&self, settings: Settings, unit_records: usize) -> Written {
        let sequences: Vec<Vec<u8>> =
            self.sequences.iter().map(|(_, bases)| bases.clone().into_bytes()).collect();
        let ids = self.header.read_groups().into_iter().map(|group| group.id.to_vec());
        let read_groups: HashMap<Vec<u8>, i32> = ids.zip(0..).collect();
        let mut header = self.header.clone();
        let digests: Vec<[u8; 16]> = sequences.iter().map(|it| digest(it)).collect();
        header.set_sequence_digests(&digests).unwrap();
        let mut cram = file_start(settings.version, &header.text()).unwrap();
        let referred = Referred { sequences: &sequences, read_groups: &read_groups };
        let mut encoder = Encoder::new(settings, referred);
        let (mut numbering, mut containers) = (Numbering::new(true), Vec::new());
        for unit in self.records.chunks(unit_records) {
            for body in unit {
                encoder.push(&RecordRef::new(body).unwrap(), None, &mut containers).unwrap();
            }
            encoder.finish_unit(&mut containers).unwrap();
        }
        for container in containers {
            let offset = cram.len() as u64;
            numbering.push(&container, offset, &mut cram);
        }
        cram.extend_from_slice(&EOF_CONTAINER);
        Written { cram, index: numbering.finish().unwrap().unwrap() }
    }

    /// The records as lines of SAM.
    fn lines(&self) -> Vec<String> {
        let line = |body: &Vec<u8>| {
            let mut line = Vec::new();
            append_line(&RecordRef::new(body).unwrap(), self.header.references(), &mut line)
                .unwrap();
            String::from_utf8(line).unwrap().trim_end().to_owned()
        };
        self.records.iter().map(line).collect()
    }

    /// Writes FASTA and CRAM into a folder.
    fn put(&self, folder: &Path, written: &Written) {
        let fasta = |(name, bases): &(&str, String)| format!(">{name}\n{bases}\n");
        fs::write(folder.join("r.fa"), self.sequences.iter().map(fasta).collect::<String>())
            .unwrap();
        fs::write(folder.join("x.cram"), &written.cram).unwrap();
        fs::write(folder.join("x.cram.crai"), &written.index).unwrap();
    }
}

/// What a program prints.
fn printed(program: &Path, arguments: &[&str], folder: &Path) -> String {
    let done = Command::new(program).args(arguments).current_dir(folder).output().unwrap();
    let error = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{program:?} {arguments:?}: {error}");
    assert!(error.is_empty(), "{program:?} {arguments:?}: {error}");
    String::from_utf8(done.stdout).unwrap()
}

/// A line with its tags in order.
fn ordered(line: &str) -> Vec<&str> {
    let mut fields: Vec<&str> = line.split('\t').collect();
    let tags = fields.len().min(11);
    fields[tags..].sort_unstable();
    fields
}

/// What reading back may change.
#[derive(Debug, Default, PartialEq, Eq)]
struct Changes {
    /// Records with NM or MD that they did not have.
    made_tags: usize,
}

/// Our reader gets what samtools does.
fn compare_own_reader(input: &Input, written: &Written, theirs: &str) {
    let bases = |(name, bases): &(&str, String)| ((*name).to_owned(), bases.clone().into_bytes());
    let sequences = input.sequences.iter().map(bases).collect();
    let ours = crate::read::tests::lines_of(&written.cram, &sequences);
    for (ours, theirs) in ours.iter().zip(theirs.lines()) {
        assert_eq!(ours.split('\t').collect::<Vec<_>>(), ordered(theirs));
    }
    assert_eq!(ours.len(), theirs.lines().count());
}

/// Compares what samtools reads with the records; both releases of it say the same.
fn compare(input: &Input, written: &Written) -> Changes {
    let folder = tempfile::tempdir().unwrap();
    input.put(folder.path(), written);
    let expected = input.lines();
    let mut changes = Changes::default();
    for version in SAMTOOLS {
        let Some(samtools) = referees::find("samtools", version) else { continue };
        let read = printed(&samtools, &["view", "-T", "r.fa", "x.cram"], folder.path());
        printed(&samtools, &["quickcheck", "x.cram"], folder.path());
        compare_own_reader(input, written, &read);
        let read: Vec<&str> = read.lines().collect();
        assert_eq!(read.len(), expected.len());
        changes = Changes::default();
        for (read, expected) in read.iter().zip(&expected) {
            let (mut read, expected) = (ordered(read), ordered(expected));
            let has = |name: &str| expected.iter().skip(11).any(|it| it.starts_with(name));
            let before = read.len();
            let (has_nm, has_md) = (has("NM:"), has("MD:"));
            read.retain(|it| {
                (has_nm || !it.starts_with("NM:")) && (has_md || !it.starts_with("MD:"))
            });
            changes.made_tags += usize::from(read.len() < before);
            assert_eq!(read, expected, "{version}");
        }
        referees::compared(&referees::name_of(&samtools), expected.len());
    }
    changes
}

/// A file of so many short records on one sequence, and its bases, for tests of the reader.
pub(crate) fn small_file(records: usize) -> (Vec<u8>, HashMap<String, Vec<u8>>) {
    let bases = "ACGTTGCAACGTAACGTTTGCAAGGCCTTAACCGGTTACGATCGATTGCATGCATGCAAGCTTAGC".repeat(8);
    let mut lines = String::new();
    for number in 0..records {
        let start = number % 100;
        let read = &bases[start..start + 20];
        let qualities = if number % 3 == 0 { "*" } else { "FFFFF:::::FFFFF#####" };
        let cigar = ["20M", "3S17M", "5M1I14M", "5M1D15M"][number % 4];
        lines += &format!(
            "r{number}\t0\ts\t{}\t60\t{cigar}\t*\t0\t0\t{read}\t{qualities}\tAS:i:{number}\n",
            start + 1
        );
    }
    let sequences = vec![("s", bases.clone())];
    let input = Input::of(sequences, "", &lines);
    let file = input.write(USUAL, usize::MAX).cram;
    (file, HashMap::from([("s".to_owned(), bases.into_bytes())]))
}
