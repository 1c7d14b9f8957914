//! The flow of calling with a kernel that computes nothing but shows what it was given.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use seqloom_io::IndexedFasta;
use seqloom_io::alignments::{AlignmentOptions, AlignmentSource};
use seqloom_runtime::memory::ByteSize;
use seqloom_runtime::pool::Stopped;
use seqloom_signal::flow::pass::{Components, PassOptions, run as pass};
use seqloom_signal::flow::{Input, Numbers, Sequential};
use seqloom_signal::operations::Locate;
use seqloom_signal::store::{OpenOptions, StoreError};

use crate::flow::error::CallError;
use crate::flow::record::{Filter, HardClips, Region};
use crate::flow::sequences::ReadSequences;
use crate::flow::signals::{ListFiles, ScanFiles, SignalFiles, SignalFilesBuilder, SignalOptions};
use crate::flow::{
    self, CallInputs, CallOptions, CallTimes, Committed, KernelSkip, ReadInput, ReadKernel,
};

#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    Call(#[from] CallError),
    #[error(transparent)]
    Panic(#[from] Stopped),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Says in a line what it was given.
struct Mirror {
    bytes_per_base: u64,
}

impl ReadKernel for Mirror {
    type Scratch = u64;
    type Output = String;

    fn working_bytes(&self, bases: u64, _: u64) -> u64 {
        bases * self.bytes_per_base
    }

    fn result_bytes(&self, bases: u64) -> u64 {
        bases
    }

    fn held_bytes(&self, output: &String) -> u64 {
        output.capacity() as u64
    }

    fn call(
        &self,
        calls: &mut u64,
        input: &ReadInput<'_>,
        _: &CallTimes,
        output: &mut String,
    ) -> Result<(), KernelSkip> {
        *calls += 1;
        let read = &input.aligned;
        if input.signal.samples.is_empty() {
            return Err(KernelSkip { key: "too_short", text: "no samples".to_owned() });
        }
        output.clear();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let sum: i64 = input.signal.samples.iter().map(|&sample| i64::from(sample)).sum();
        let [first, last] = [0, read.pairs.len() - 1].map(|at| {
            let pair = read.pairs[at];
            (pair.offset, pair.position)
        });
        writeln!(
            output,
            "{} {} {}:{} {} {} {} {first:?} {last:?} {sum}",
            input.ordinal,
            text(read.name),
            text(read.contig),
            read.start,
            read.is_reverse,
            text(read.sequence),
            text(read.reference),
        )
        .unwrap();
        Ok(())
    }
}

const CONTIG: &str = "acgtnryACGTACGTACGTACGTACGTACGTACGTACGT";

struct Case {
    folder: tempfile::TempDir,
    sam: String,
    reads: Option<&'static str>,
    filter: Filter,
    threads: usize,
    memory_bytes: u64,
    bytes_per_base: u64,
}

fn case(records: &[String]) -> Case {
    let folder = tempfile::tempdir().unwrap();
    let mut sam = format!("@HD\tVN:1.6\n@SQ\tSN:c\tLN:{}\n@SQ\tSN:gone\tLN:9\n", CONTIG.len());
    records.iter().for_each(|record| sam += &format!("{}\n", record.replace(' ', "\t")));
    let filter = Filter { min_mapping_quality: 20, region: None, has_secondary: false };
    Case { folder, sam, reads: None, filter, threads: 1, memory_bytes: 1 << 30, bytes_per_base: 1 }
}

/// SLOW5 of reads with these ids; the samples of each are its number and one.
fn slow5(ids: &[String]) -> String {
    let mut text = "#slow5_version\t0.2.0\n#num_read_groups\t1\n@asic_id\t.\n\
                    #char*\tuint32_t\tdouble\tdouble\tdouble\tdouble\tuint64_t\tint16_t*\n\
                    #read_id\tread_group\tdigitisation\toffset\trange\tsampling_rate\t\
                    len_raw_signal\traw_signal\n"
        .to_owned();
    for (number, id) in ids.iter().enumerate() {
        text += &format!("{id}\t0\t8192\t4\t1400\t4000\t2\t{number},1\n");
    }
    text
}

fn signals(paths: Vec<PathBuf>, open_files: usize) -> (SignalFiles, u64) {
    let (components, options) = (Components::default(), OpenOptions::default());
    let watch = || Ok(());
    let threads = NonZeroUsize::new(2).unwrap();
    let pass_options = PassOptions { threads, components: &components, watch: &watch };
    let mut builder = SignalFilesBuilder::new(paths.clone()).unwrap();
    let stage = ListFiles { paths: &paths, options: &options, components: &components };
    let numbers = Numbers { count: paths.len(), next: 0 };
    pass(&pass_options, numbers, &stage, |listed| {
        assert!(builder.take_listed(listed).unwrap().is_none());
        Ok::<_, Error>(())
    })
    .unwrap();
    let inputs = builder.must_scan().into_iter().map(Input::Path).collect();
    let stage = ScanFiles(Locate { components: &components });
    let source = Sequential::new(inputs, OpenOptions::default());
    pass(&pass_options, source, &stage, |scanned| {
        builder.take_scanned(scanned);
        Ok::<_, Error>(())
    })
    .unwrap();
    builder.finish(SignalOptions { open_files, ..SignalOptions::default() })
}

type Skipped = BTreeMap<&'static str, u64>;

impl Case {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn run(&self, signals: &SignalFiles) -> Result<(Vec<String>, Skipped), Error> {
        fs::write(self.path("in.sam"), &self.sam).unwrap();
        fs::write(self.path("ref.fa"), format!(">c\n{CONTIG}\n")).unwrap();
        let options = AlignmentOptions { block_bytes: 400, ..AlignmentOptions::default() };
        let alignments = AlignmentSource::open(&[self.path("in.sam")], options).unwrap();
        let reference = IndexedFasta::open(&self.path("ref.fa")).unwrap();
        let sequences = self.reads.map(|text| {
            fs::write(self.path("reads.fa"), text).unwrap();
            ReadSequences::open(&self.path("reads.fa"), ByteSize(1 << 30), &|| Ok(())).unwrap()
        });
        let inputs = CallInputs {
            alignments: &alignments,
            reference: &reference,
            contigs: vec![reference.find(b"c"), None],
            sequences: sequences.as_ref(),
            signals,
            filter: self.filter,
            hard_clips: HardClips::Counted,
        };
        let (times, components) = (CallTimes::default(), Components::default());
        let options = CallOptions {
            threads: NonZeroUsize::new(self.threads).unwrap(),
            memory_bytes: self.memory_bytes,
            block_bytes: 400,
            times: &times,
            components: &components,
        };
        let mut lines = Vec::new();
        let kernel = Mirror { bytes_per_base: self.bytes_per_base };
        let commit = |committed: Committed<'_, String>| {
            assert_eq!(committed.outcome.is_some(), committed.record.is_some());
            lines.extend(committed.outcome.and_then(Result::ok).cloned());
            Ok::<(), Error>(())
        };
        let watch = || Ok(());
        let totals = flow::run(&inputs, &kernel, &options, &watch, commit)?;
        let account = totals.account;
        assert_eq!((account.called, account.records()), (lines.len() as u64, totals.records));
        let skipped = account.skipped.iter().map(|(&key, it)| (key, it.records)).collect();
        Ok((lines, skipped))
    }
}

fn one_file(folder: &Path, ids: &[String]) -> SignalFiles {
    let path = folder.join("reads.slow5");
    fs::write(&path, slow5(ids)).unwrap();
    signals(vec![path], 9).0
}

fn ids(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("r{number}")).collect()
}

#[test]
fn a_kernel_is_given_what_belongs_together() {
    let mut case = case(&[
        "r0 0 c 3 60 2S3M1D2M * 0 0 TTGCAGT *".to_owned(),
        "r1 16 c 33 60 3M * 0 0 ACG *".to_owned(),
    ]);
    let signals = one_file(case.folder.path(), &ids(2));
    let (lines, skipped) = case.run(&signals).unwrap();
    assert_eq!(
        lines,
        [
            "0 r0 c:2 false TTGCAGT GTAACAC (0, 2) (5, 6) 1\n",
            "1 r1 c:32 true CGT CGTA (0, 0) (2, 2) 2\n",
        ]
    );
    assert!(skipped.is_empty());
    // From a file they come as they are there, whatever the BAM says.
    case.reads = Some(">r1 x\nAU\nG\n>r0\nGGGGGGG\n");
    let (lines, _) = case.run(&signals).unwrap();
    assert!(lines[0].contains("GGGGGGG") && lines[1].contains(" ATG "), "{lines:?}");
}

#[test]
fn a_read_that_cannot_be_called_costs_that_read() {
    let line = |name: &str, flags: u16, rest: &str| format!("{name} {flags} {rest}");
    let mut records = vec![
        line("r0", 0, "c 2 60 3M * 0 0 ACG *"),
        line("r1", 0, "c 2 19 3M * 0 0 ACG *"),
        line("r2", 256, "c 2 60 3M * 0 0 ACG *"),
        line("r3", 0, "c 2 60 1M1N1M * 0 0 AC *"),
        line("r4", 0, "c 2 60 3M1H * 0 0 ACG *"),
        line("r5", 0, "c 2 60 3M * 0 0 * *"),
        line("none", 0, "c 2 60 3M * 0 0 ACG *"),
        line("r0", 2048, "c 2 60 3M * 0 0 ACG *"),
        line("r6", 0, "c 40 60 3M * 0 0 ACG *"),
        line("r7", 0, "gone 2 60 3M * 0 0 ACG *"),
        line("twice", 0, "gone 2 60 3M * 0 0 ACG *"),
        line("u", 4, "* 0 0 * * 0 0 ACG *"),
    ];
    let counts = |pairs: &[(&'static str, u64)]| pairs.iter().copied().collect::<Skipped>();
    let folder = tempfile::tempdir().unwrap();
    let signals = one_file(folder.path(), &ids(8));
    let (lines, skipped) = case(&records).run(&signals).unwrap();
    assert_eq!(lines.len(), 2);
    let common = [
        ("low_mapq", 1),
        ("secondary", 1),
        ("spliced", 1),
        ("behind_contig", 1),
        ("contig_missing", 2),
        ("unmapped", 1),
    ];
    let expected = [&common[..], &[("hard_clipped", 2), ("no_signal", 1)]].concat();
    assert_eq!(skipped, counts(&expected));
    // With reads, a clipped record is whole again.
    records[10] = line("twice", 0, "c 9 60 3M * 0 0 ACG *");
    records.swap(9, 10);
    records.swap(8, 9);
    let mut case = case(&records);
    case.reads = Some(">r0\nACG\n>r4\nACGT\n>r5\nAC\n>none\nACG\n>twice\nA\n>twice\nC\n>r6\nACG\n");
    let (lines, skipped) = case.run(&signals).unwrap();
    assert_eq!(lines.len(), 3);
    let mut expected = counts(&common);
    expected.insert("contig_missing", 1);
    expected.extend([("sequence_length", 1), ("no_signal", 1), ("sequence_twice", 1)]);
    assert_eq!(skipped, expected);
}

/// Records of all lengths, in order.
fn many(count: usize) -> Vec<String> {
    (0..count)
        .map(|number| {
            let length = 1 + number * number % 29;
            let position = 1 + number * 8 / count;
            format!("r{number} 0 c {position} 60 {length}M * 0 0 {} *", "A".repeat(length))
        })
        .collect()
}

#[test]
fn neither_threads_nor_memory_show() {
    let mut case = case(&many(300));
    let signals = one_file(case.folder.path(), &ids(300));
    let expected = case.run(&signals).unwrap();
    assert_eq!(expected.0.len(), 300);
    for (threads, memory_bytes, bytes_per_base) in
        [(2, 1 << 30, 1), (7, 0, 1 << 20), (7, 1 << 12, 1 << 24), (64, 1 << 22, 1 << 17)]
    {
        (case.threads, case.memory_bytes, case.bytes_per_base) =
            (threads, memory_bytes, bytes_per_base);
        assert_eq!(case.run(&signals).unwrap(), expected, "{threads} {memory_bytes}");
    }
    let region = Region { reference_id: 0, start: 0, end: 1 };
    case.filter.region = Some(region);
    let (lines, _) = case.run(&signals).unwrap();
    assert_eq!(lines, expected.0[..38], "those that begin at the first base");
}

#[test]
fn signal_comes_from_any_number_of_files() {
    let mut case = case(&many(40));
    let folder = tempfile::tempdir().unwrap();
    let expected = case.run(&one_file(folder.path(), &ids(40))).unwrap();
    let paths: Vec<PathBuf> = ids(40)
        .chunks(3)
        .enumerate()
        .map(|(number, ids)| {
            let path = folder.path().join(format!("part{number}.slow5"));
            // Sums of samples distinguish reads by their place in the file.
            let all: Vec<String> = (0..number * 3).map(|at| format!("x{number}-{at}")).collect();
            fs::write(&path, slow5(&[&all[..], ids].concat())).unwrap();
            path
        })
        .collect();
    for open_files in [1, 3, 100] {
        case.threads = 5;
        let (signals, twice) = signals(paths.clone(), open_files);
        assert_eq!(twice, 0);
        assert_eq!(case.run(&signals).unwrap(), expected);
    }
    let (signals, twice) = signals([paths.clone(), paths].concat(), 9);
    assert!(twice > 40);
    let (lines, skipped) = case.run(&signals).unwrap();
    assert!(lines.is_empty() && skipped["signal_twice"] == 40);
}

#[test]
fn records_that_are_not_sorted_end_the_run() {
    let records = many(50);
    let case = case(&records);
    let signals = one_file(case.folder.path(), &ids(50));
    let unsorted = records.iter().rev().cloned().collect::<Vec<_>>();
    let error = self::case(&unsorted).run(&signals).unwrap_err();
    assert!(matches!(error, Error::Call(CallError::Unsorted { .. })), "{error}");
}
