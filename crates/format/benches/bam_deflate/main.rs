//! Deflate of BAM records against libdeflate: size, speed and what a reader then takes, by level.
//!
//! `cargo bench -p seqloom-format --bench bam_deflate -- [-f] [-r ROUNDS] [-l LEVELS] [-m MB]
//! FILE.bam...`
//!
//! Blocks and units are cut as the program cuts them. All codecs of a level take turns block by
//! block in one process, and the least time of each block counts, so that other programs on the
//! machine disturb all alike; ratios are what such a machine can say. Every block is inflated again
//! and compared, once and not timed. With `-f` bits a record by field are printed
//! instead.
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod fields;

use std::hint::black_box;
use std::time::{Duration, Instant};

use seqloom_format::bam::Header;
use seqloom_format::bam_deflate::{BamCompressor, Method, Settings};
use seqloom_format::bgzf::{BlockDecompressor, MAX_PAYLOAD_BYTES, parse_block_header};

/// What the program closes a unit after.
const UNIT_BYTES: usize = 2 << 20;

/// The payloads of a file's blocks, by unit.
struct Units {
    units: Vec<Vec<Vec<u8>>>,
    bytes: usize,
    records: usize,
}

/// Inflates a file and cuts its records into blocks and units.
fn load(path: &str, most_bytes: usize) -> Units {
    let file = std::fs::read(path).expect("a BAM file");
    let (mut at, mut bytes, mut inflater) = (0, Vec::new(), BlockDecompressor::new());
    while at < file.len() && bytes.len() < most_bytes {
        let size = parse_block_header(&file[at..]).expect("a block").block_bytes;
        inflater.decompress(&file[at..at + size], &mut bytes).expect("a block");
        at += size;
    }
    let (_, mut at) = Header::decode(&bytes).expect("a header");
    let mut loaded = Units { units: Vec::new(), bytes: 0, records: 0 };
    let (mut unit, mut block, mut unit_bytes) = (Vec::new(), Vec::new(), 0);
    while let Some(size) = bytes.get(at..).and_then(|rest| rest.first_chunk()) {
        let end = at + 4 + u32::from_le_bytes(*size) as usize;
        let Some(record) = bytes.get(at..end) else { break };
        if !block.is_empty() && block.len() + record.len() > MAX_PAYLOAD_BYTES {
            unit.push(std::mem::take(&mut block));
        }
        if unit_bytes >= UNIT_BYTES {
            unit.extend(Some(std::mem::take(&mut block)).filter(|block| !block.is_empty()));
            loaded.units.push(std::mem::take(&mut unit));
            unit_bytes = 0;
        }
        block.extend_from_slice(record);
        while block.len() >= MAX_PAYLOAD_BYTES {
            let rest = block.split_off(MAX_PAYLOAD_BYTES);
            unit.push(std::mem::replace(&mut block, rest));
        }
        (loaded.bytes, loaded.records) = (loaded.bytes + record.len(), loaded.records + 1);
        (at, unit_bytes) = (end, unit_bytes + record.len());
    }
    unit.extend(Some(block).filter(|block| !block.is_empty()));
    loaded.units.push(unit);
    loaded
}

/// One codec and what it has done.
struct Contestant {
    compressor: BamCompressor,
    size: usize,
    deflate: Duration,
    inflate: Duration,
}

fn contestant(level: u8, method: Method) -> Contestant {
    let settings = Settings { level, method, check: false };
    let compressor = BamCompressor::new(settings).expect("a level");
    let none = Duration::ZERO;
    Contestant { compressor, size: 0, deflate: none, inflate: none }
}

impl Contestant {
    /// Sizes, once.
    fn unit_size(&mut self, unit: &[Vec<u8>]) -> usize {
        let (mut inflater, mut size) = (BlockDecompressor::new(), 0);
        self.compressor.end_unit();
        for payload in unit {
            let (mut block, mut inflated) = (Vec::new(), Vec::new());
            size += self.compressor.compress(payload, &mut block).unwrap();
            inflater.decompress(&block, &mut inflated).unwrap();
            assert!(inflated == *payload, "a block that is not what it was made of");
        }
        self.size += size;
        size
    }
}

/// Times both codecs on a unit, in turn.
fn time(pair: &mut [Contestant; 2], unit: &[Vec<u8>], rounds: usize) {
    let mut least = vec![[[Duration::MAX; 2]; 2]; unit.len()];
    let (mut inflater, mut block, mut inflated) =
        (BlockDecompressor::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        pair.iter_mut().for_each(|it| it.compressor.end_unit());
        for (payload, least) in unit.iter().zip(&mut least) {
            for (it, [deflate, inflate]) in pair.iter_mut().zip(least) {
                block.clear();
                let start = Instant::now();
                black_box(it.compressor.compress(payload, &mut block).unwrap());
                *deflate = start.elapsed().min(*deflate);
                let start = Instant::now();
                inflated.clear();
                black_box(inflater.decompress(&block, &mut inflated).unwrap());
                *inflate = start.elapsed().min(*inflate);
            }
        }
    }
    for least in least {
        for (it, [deflate, inflate]) in pair.iter_mut().zip(least) {
            it.deflate += deflate;
            it.inflate += inflate;
        }
    }
}

/// Bytes of a block before its deflate stream, and after it.
const BLOCK_HEADER_BYTES: usize = 18;
const BLOCK_FOOTER_BYTES: usize = 8;

/// Prints what a codec spends bits on.
fn print_fields(loaded: &Units, level: u8, method: Method) {
    let mut it = contestant(level, method);
    let mut bits = [0; fields::FIELDS.len()];
    for unit in &loaded.units {
        it.compressor.end_unit();
        for payload in unit {
            let mut block = Vec::new();
            it.compressor.compress(payload, &mut block).unwrap();
            let stream = &block[BLOCK_HEADER_BYTES..block.len() - BLOCK_FOOTER_BYTES];
            fields::add_bits(stream, &fields::fields(payload), &mut bits);
        }
    }
    let each = |bits: u64| format!("{:.1}", bits as f64 / loaded.records as f64);
    let columns: Vec<String> = bits.into_iter().map(each).collect();
    println!("{method:?} {level}\t{}\t{}", columns.join("\t"), each(bits.iter().sum()));
}

fn main() {
    let (mut rounds, mut levels, mut most_mb) = (5, "123456".to_owned(), 64);
    let mut by_field = false;
    let mut arguments = std::env::args().skip(1).filter(|it| it != "--bench");
    let mut files = Vec::new();
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().expect("a value");
        match argument.as_str() {
            "-r" => rounds = value().parse().expect("a number"),
            "-l" => levels = value(),
            "-f" => by_field = true,
            "-m" => most_mb = value().parse().expect("a number"),
            _ => files.push(argument),
        }
    }
    if by_field {
        println!("bits a record\t{}\tall", fields::FIELDS.join("\t"));
        for path in &files {
            println!("{path}");
            let loaded = load(path, most_mb << 20);
            for level in levels.bytes().map(|digit| digit - b'0') {
                print_fields(&loaded, level, Method::Libdeflate);
                print_fields(&loaded, level, Method::Records);
            }
        }
        return;
    }
    println!(
        "file\trecords\tbytes\tlevel\tlibdeflate MB/s\trecords MB/s\tspeed\tsize\tworst unit\t\
         inflate"
    );
    for path in &files {
        let loaded = load(path, most_mb << 20);
        for level in levels.bytes().map(|digit| digit - b'0') {
            let mut pair = [Method::Libdeflate, Method::Records].map(|it| contestant(level, it));
            let mut worst_unit = f64::MIN;
            for unit in &loaded.units {
                let [usual, ours] = pair.each_mut().map(|it| it.unit_size(unit));
                worst_unit = worst_unit.max(100.0 * ours as f64 / usual as f64 - 100.0);
                time(&mut pair, unit, rounds);
            }
            let rate = |it: &Contestant| loaded.bytes as f64 / it.deflate.as_secs_f64() / 1e6;
            let [usual, ours] = &pair;
            println!(
                "{}\t{}\t{}\t{level}\t{:.0}\t{:.0}\t{:.2}\t{:+.2} %\t{worst_unit:+.2} %\t{:.2}",
                path.rsplit('/').next().unwrap_or(path),
                loaded.records,
                loaded.bytes,
                rate(usual),
                rate(ours),
                rate(ours) / rate(usual),
                100.0 * ours.size as f64 / usual.size as f64 - 100.0,
                ours.inflate.as_secs_f64() / usual.inflate.as_secs_f64(),
            );
        }
    }
}
