//! What is written is read: reads of hostile names, comments and tags become records, and every
//! reader takes the records that were made, as BAM, as SAM text, and as unaligned reads. Or the
//! reads are refused, by an error that names file and record.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::convert::Infallible;
use std::fmt::Write as _;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use proptest::prelude::*;
use seqloom_align::index::{BuildOptions, IndexSource, build, check, plan};
use seqloom_align::ingest::{
    self, BatchPart, BatchSink, Batches, HeldLimits, IngestOptions, IngestTrace, LaneEnd, LaneInput,
};
use seqloom_align::{Batch, InputTags, Pairing, RecordTags};
use seqloom_format::bam::{Header, framed_records};
use seqloom_format::names::{ReadNames, check_read_name};
use seqloom_format::{PackedTemplates, sam};
use seqloom_io::alignments::{AlignmentFetch, AlignmentOptions, AlignmentScratch, AlignmentSource};
use seqloom_io::reads::{Fetch, FetchScratch, ReadSource, SourceOptions};
use seqloom_io::{alignments, reads};
use seqloom_modes::ungapped::{Acceptance, UngappedEngine, UngappedOptions};
use seqloom_modes::{Orientation, PairOptions, Reported, Strands};
use seqloom_runtime::placement::Plan;
use seqloom_testkit::hostile::{self, HostileOptions};
use seqloom_testkit::random::Random;
use seqloom_testkit::skip::slow_tests;

/// The sequences of the reference, and bases of the first.
const SEQUENCES: [(&str, usize); 2] = [("c1", 2000), (hostile::ODD_SEQUENCES[0], 600)];

fn cases() -> u32 {
    if slow_tests() { 1_000_000 } else { 10_000 }
}

/// An engine, and a folder for files.
struct Bench {
    folder: tempfile::TempDir,
    engine: Batches<UngappedEngine>,
    genome: Vec<u8>,
    header: Header,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let prefix = folder.path().join("ref.fa");
        let mut random = Random::new(7);
        let genome: Vec<u8> = (0..2600).map(|_| random.pick(b"ACGT")).collect();
        let mut text = String::new();
        let mut header = String::new();
        let mut start = 0;
        for (name, length) in SEQUENCES {
            let bases = std::str::from_utf8(&genome[start..start + length]).unwrap();
            writeln!(text, ">{name}\n{bases}").unwrap();
            writeln!(header, "@SQ\tSN:{name}\tLN:{length}").unwrap();
            start += length;
        }
        fs::write(&prefix, text).unwrap();
        let ready = plan(&prefix, &BuildOptions::default(), &|_, _| ()).unwrap();
        build(ready, &prefix, &|_, _| ()).unwrap();
        let options = UngappedOptions {
            acceptance: Acceptance::Mismatches(1),
            reported: Reported::All,
            max_placements: None,
            best_stratum: false,
            strands: Strands::Both,
            trim: [0, 0],
            pairs: PairOptions {
                orientation: Orientation::ForwardReverse,
                min_insert_bp: 0,
                max_insert_bp: 250,
            },
        };
        let engine =
            UngappedEngine::load(IndexSource::new(&prefix, &check(&prefix).unwrap()), options);
        let engine = Batches(engine.unwrap());
        Self { folder, engine, genome, header: Header::parse(header.as_bytes()).unwrap() }
    }

    fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    /// Records of reads that are aligned, framed; or why they are refused.
    fn align(&self, files: &[PathBuf], how: How) -> Result<Vec<u8>, String> {
        let options = SourceOptions {
            keep_comments: true,
            assume_phred33: true,
            names: how.names,
            ..SourceOptions::default()
        };
        let source = ReadSource::open(files, options).map_err(|error| error.to_string())?;
        let sink = Collected::default();
        let lane = LaneInput::whole(&source, how.pairing, &sink);
        let tags = RecordTags { input: how.input, ..RecordTags::default() };
        let options = IngestOptions {
            threads: NonZeroUsize::MIN,
            cores: NonZeroUsize::MIN,
            cohort_bases: 10_000,
            held_limits: HeldLimits::of_one_lane(1 << 26, 1 << 26),
            placement: Plan::none(1),
        };
        let lanes = vec![LaneInput { tags, ..lane }];
        let trace = IngestTrace::default();
        let done = ingest::run(lanes, &self.engine, &options, &trace, &|| Ok(()));
        done.map_err(|error| error.to_string())?;
        Ok(sink.0.into_inner().unwrap())
    }

    /// Has every reader read these records, which something here has written.
    fn must_be_read(&self, header: &Header, records: &[u8]) {
        let count = framed_records(records).count();
        let bam = self.write("written.bam", &[&header.encode().unwrap(), records].concat());
        let read = read_alignments(&bam, ReadNames::Check);
        assert!(read.as_deref() == Ok(records), "{read:?}");
        let mut text = header.text();
        for body in framed_records(records) {
            let body = body.unwrap();
            sam::append_record(body, header.references(), &mut text).unwrap();
        }
        let path = self.write("written.sam", &text);
        let again = read_alignments(&path, ReadNames::Check).unwrap();
        assert_eq!(framed_records(&again).count(), count);
        let mut printed = header.text();
        for body in framed_records(&again) {
            sam::append_record(body.unwrap(), header.references(), &mut printed).unwrap();
        }
        assert!(printed == text, "SAM text that is read is written as it was");
        read_reads(&bam);
    }
}

/// How reads are aligned.
#[derive(Clone, Copy)]
struct How {
    names: ReadNames,
    pairing: Pairing,
    input: InputTags,
}

/// All records, in order: one worker makes them.
#[derive(Default)]
struct Collected(Mutex<Vec<u8>>);

impl BatchSink for Collected {
    type Error = Infallible;
    type Scratch = ();

    fn scratch(&self) -> Result<(), Infallible> {
        Ok(())
    }

    fn accept(
        &self,
        (): &mut (),
        _: &Batch,
        templates: &PackedTemplates,
        _: BatchPart,
    ) -> Result<(), Infallible> {
        self.0.lock().unwrap().extend_from_slice(&templates.bytes);
        Ok(())
    }

    fn end(&self, _: LaneEnd) {}
}

/// The records of a file of SAM or BAM, framed; or why it is refused.
fn read_alignments(path: &Path, read_names: ReadNames) -> Result<Vec<u8>, String> {
    let text = |error: seqloom_io::alignments::AlignmentError| error.to_string();
    let options = AlignmentOptions { read_names, ..AlignmentOptions::default() };
    let source = AlignmentSource::open(&[path.to_path_buf()], options).map_err(text)?;
    let mut check = alignments::BlockCheck::new(&source, 0);
    let mut scratch = AlignmentScratch::default();
    let mut records = Vec::new();
    loop {
        match source.fetch(&mut scratch).map_err(text)? {
            AlignmentFetch::Block(mut block) => {
                check.accept(&source, &mut block).map_err(text)?;
                records.extend_from_slice(&block.bytes);
            }
            AlignmentFetch::Busy => {}
            AlignmentFetch::End => return Ok(records),
        }
    }
}

/// The header of a file of SAM or BAM, and its records.
fn read_with_header(path: &Path, names: ReadNames) -> Result<(Header, Vec<u8>), String> {
    let records = read_alignments(path, names)?;
    let source = AlignmentSource::open(&[path.to_path_buf()], AlignmentOptions::default());
    Ok((source.unwrap().headers()[0].clone(), records))
}

/// Reads records as `align` does, of which all must be good.
fn read_reads(path: &Path) {
    let source = ReadSource::open(&[path.to_path_buf()], SourceOptions::default()).unwrap();
    let mut check = reads::BlockCheck::new(&source, 0);
    let mut scratch = FetchScratch::default();
    loop {
        match source.fetch(&mut scratch).unwrap() {
            Fetch::Block(mut block) => {
                check.accept(&source, &mut block).unwrap();
                for i in 0..block.reads.reads.len() {
                    assert_eq!(check_read_name(block.reads.name(i)), Ok(()));
                }
            }
            Fetch::Busy => {}
            Fetch::End => return,
        }
    }
}

/// A refusal names the file and a record, or a line of the header.
fn must_say_where(error: &str, file: &str) {
    let has_place = ["record ", "header line ", "header: reference "];
    assert!(error.contains(file) && has_place.iter().any(|it| error.contains(it)), "{error}");
}

fn config() -> ProptestConfig {
    ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() }
}

#[test]
fn records_of_hostile_reads_are_read_by_every_reader() {
    let bench = Bench::new();
    let name = prop_oneof![
        3 => prop::collection::vec(any::<u8>(), 0..6),
        2 => "[!-~]{1,12}(/[12])?".prop_map(String::into_bytes),
        1 => prop::collection::vec(33..=126_u8, 250..260),
    ];
    let comment = prop_oneof![
        2 => prop::collection::vec(any::<u8>(), 0..12),
        3 => "X[A-Z0-9]:[AifZHBId]:[ -~]{0,8}".prop_map(String::into_bytes),
        1 => "X[A-Z]:B:[cCsSiIf](,[0-9]{1,3}){0,3}".prop_map(String::into_bytes),
    ];
    let reads = prop::collection::vec((name, comment, 0..40_usize, any::<bool>()), 1..4);
    proptest!(config(), |(reads in reads, renames in any::<bool>(), input in 0..2_u8)| {
        let mut text = Vec::new();
        for (name, comment, start, is_placed) in &reads {
            let bases: &[u8] = if *is_placed { &bench.genome[*start..start + 20] } else { b"" };
            let qualities = b"I".repeat(bases.len());
            let lines = [&b"@"[..], name, b" ", comment, b"\n", bases, b"\n+\n", &qualities, b"\n"];
            text.extend(lines.concat());
        }
        let path = bench.write("in.fq", &text);
        let how = How {
            names: if renames { ReadNames::Rename } else { ReadNames::Check },
            pairing: Pairing::Single,
            input: if input == 0 { InputTags::Drop } else { InputTags::Comments },
        };
        match bench.align(&[path], how) {
            Ok(records) => bench.must_be_read(&bench.header, &records),
            Err(error) => prop_assert!(error.contains("in.fq"), "{}", error),
        }
    });
}

#[test]
fn files_of_hostile_records_are_read_by_every_reader_once_one_has_taken_them() {
    let bench = Bench::new();
    proptest!(config(), |(seed in any::<u64>(), bad in 0..4_u64, renames in any::<bool>())| {
        let mut random = Random::new(seed);
        let options = HostileOptions {
            records: 4,
            bad_names_percent: 10 * (bad % 2),
            bad_tags_percent: 10 * (bad / 2),
        };
        let names = if renames { ReadNames::Rename } else { ReadNames::Check };
        let are_names_good = renames || bad % 2 == 0;
        let are_good = are_names_good && bad / 2 == 0;
        let aligned = |paths: &[PathBuf], pairing, input| {
            bench.align(paths, How { names, pairing, input }).map(|it| (bench.header.clone(), it))
        };
        let (written, file) = match random.below(4) {
            0 => {
                let files = hostile::fastq(&mut random, &bench.genome, &options);
                let [first, second] = &files;
                let paths = [bench.write("in1.fq", first), bench.write("in2.fq", second)];
                (aligned(&paths, Pairing::TwoFiles, InputTags::Comments), "in1.fq")
            }
            1 => {
                let path = bench.write("in.bam", &hostile::bam(&mut random, &SEQUENCES, &options));
                (aligned(&[path], Pairing::Adjacent, InputTags::Fields), "in.bam")
            }
            2 => {
                let path = bench.write("in.bam", &hostile::bam(&mut random, &SEQUENCES, &options));
                (read_with_header(&path, names), "in.bam")
            }
            _ => {
                let path = bench.write("in.sam", &hostile::sam(&mut random, &SEQUENCES, &options));
                (read_with_header(&path, names), "in.sam")
            }
        };
        match written {
            Ok((header, records)) => bench.must_be_read(&header, &records),
            Err(error) => {
                must_say_where(&error, file);
                prop_assert!(!are_good, "{}", error);
            }
        }
    });
}
