//! Random SAM text and its reference, with all that counters of bases and qualities must know
//! apart: no-calls, mismatches, clips and gaps of all kinds, adapters, tags, missing qualities.
//!
//! Left out is what ends Picard with an error: mapped reads without bases, reads of high mapping
//! quality without qualities.

use std::fmt::Write;

use seqloom_testkit::random::Random;

/// Lengths of the sequences.
const REFERENCES: [usize; 3] = [5_000, 3_000, 200];
/// A start that Picard takes for an adapter.
const ADAPTER: &str = "AGATCGGAAGAGCACACGTCTGAACTCC";

/// SAM text, sorted by nothing, and the FASTA of its reference.
pub(crate) struct HardReads {
    pub(crate) sam: String,
    pub(crate) fasta: String,
}

/// What sort of reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reads {
    Mixed,
    Unpaired,
    /// Without CIGARs or flags that Picard's `PAIR` rows dislike: one read.
    One,
}

impl HardReads {
    /// `templates` templates.
    pub(crate) fn new(seed: u64, templates: usize, kind: Reads) -> Self {
        let mut random = Random::new(seed);
        let mut sam = String::from("@HD\tVN:1.6\n");
        let (mut fasta, mut sequences) = (String::new(), Vec::new());
        for (index, length) in REFERENCES.into_iter().enumerate() {
            writeln!(sam, "@SQ\tSN:chr{index}\tLN:{length}").unwrap();
            let sequence: Vec<u8> = (0..length).map(|_| reference_base(&mut random)).collect();
            writeln!(fasta, ">chr{index}\n{}", String::from_utf8_lossy(&sequence)).unwrap();
            sequences.push(sequence);
        }
        sam.push_str("@RG\tID:a\tSM:s\tLB:one\n@RG\tID:b\tSM:s\tLB:two\n");
        for template in 0..templates {
            write_template(&mut sam, &mut random, &sequences, template, kind);
        }
        Self { sam, fasta }
    }
}

fn reference_base(random: &mut Random) -> u8 {
    match random.below(100) {
        0 => b'N',
        1 => b'n',
        2 => random.pick(b"RYkm"),
        3..20 => random.pick(b"acgt"),
        _ => random.pick(b"ACGT"),
    }
}

/// An alignment: CIGAR, and the bases that it gives with those of the reference.
fn align(random: &mut Random, sequence: &[u8], start: usize) -> (String, String, usize) {
    let (mut cigar, mut bases, mut at) = (String::new(), String::new(), start);
    let clip = |random: &mut Random| match random.below(8) {
        0 => "3H".to_owned(),
        1 => "4S".to_owned(),
        2 => "2H5S".to_owned(),
        _ => String::new(),
    };
    let clipped = |random: &mut Random, clip: &str, bases: &mut String| {
        let count = if clip.ends_with("4S") {
            4
        } else if clip.ends_with("5S") {
            5
        } else {
            0
        };
        (0..count).for_each(|_| bases.push(random.pick(b"ACGTN") as char));
    };
    let left = clip(random);
    cigar.push_str(&left);
    clipped(random, &left, &mut bases);
    let blocks = 1 + random.below(3);
    for block in 0..blocks {
        if block > 0 {
            let gap = random.pick(&["2I", "3D", "20N", "1I2D", "1P"]);
            cigar.push_str(gap);
            match gap {
                "2I" => bases.push_str("AC"),
                "3D" => at += 3,
                "20N" => at += 20,
                "1I2D" => {
                    bases.push('G');
                    at += 2;
                }
                _ => {}
            }
        }
        let letter = random.pick(&['M', 'M', 'M', '=', 'X']);
        let length = 5 + random.below(30) as usize;
        for _ in 0..length {
            let base = sequence.get(at).copied().unwrap_or(b'A').to_ascii_uppercase();
            bases.push(match random.below(60) {
                0 => 'N',
                1..4 => random.pick(b"ACGT") as char,
                _ => base as char,
            });
            at += 1;
        }
        write!(cigar, "{length}{letter}").unwrap();
    }
    let right: String = match clip(random).as_str() {
        "2H5S" => "5S2H".to_owned(),
        other => other.to_owned(),
    };
    cigar.push_str(&right);
    clipped(random, right.trim_end_matches("2H"), &mut bases);
    (cigar, bases, at - start)
}

fn flags_of(random: &mut Random, kind: Reads) -> u64 {
    let paired = match kind {
        Reads::Mixed => random.percent(75),
        Reads::Unpaired | Reads::One => false,
    };
    let mut flags = 0;
    if paired {
        flags |= 1 | random.pick(&[0x40, 0x80, 0x40, 0x80, 0x40, 0x80, 0, 0xc0]);
        flags |= random.pick(&[0, 2]) | random.pick(&[0, 0, 0, 8]) | random.pick(&[0, 0x20]);
    }
    flags |= random.pick(&[0, 0x10]) | random.pick(&[0, 0, 0, 0, 4]);
    if kind != Reads::One {
        flags |= random.pick(&[0, 0, 0, 0, 0, 0, 0, 0x100, 0x800, 0x900]);
        flags |= random.pick(&[0, 0, 0, 0, 0x200]) | random.pick(&[0, 0, 0, 0x400]);
    }
    flags
}

/// One or two records with all fields at random; mates need not agree.
fn write_template(
    sam: &mut String,
    random: &mut Random,
    sequences: &[Vec<u8>],
    template: usize,
    kind: Reads,
) {
    for _ in 0..=random.below(2) * u64::from(kind == Reads::Mixed) {
        let flags = flags_of(random, kind);
        let reference = random.pick(&[0, 0, 0, 1, 2]);
        let start = random.below(sequences[reference].len() as u64 - 150) as usize;
        let is_mapped = flags & 4 == 0;
        let is_placed = is_mapped || random.percent(50);
        let (mut cigar, mut bases, _) = align(random, &sequences[reference], start);
        if !is_mapped {
            cigar = "*".to_owned();
        }
        let is_low = !is_mapped || random.percent(40);
        let mapq = if is_low { random.pick(&[0, 0, 19, 3]) } else { random.pick(&[20, 60]) };
        if is_low && random.percent(10) && bases.len() > ADAPTER.len() {
            bases.replace_range(..ADAPTER.len(), ADAPTER);
        }
        let bases = if !is_mapped && random.percent(5) { "*".to_owned() } else { bases };
        let quality = |random: &mut Random| -> String {
            (0..bases.len()).map(|_| (33 + random.below(60) as u8) as char).collect()
        };
        let qualities = match (bases.as_str(), is_low && random.percent(10)) {
            ("*", _) | (_, true) => "*".to_owned(),
            _ => quality(random),
        };
        let mate = if random.percent(80) { reference } else { random.pick(&[0, 1, 2]) };
        let mate_start = (start as i64 + random.pick(&[0, 1, 100, -100, 50])).max(1);
        let insert = match random.below(30) {
            // TLEN between sequences, which means nothing, is counted all the same.
            _ if mate != reference && random.percent(50) => 0,
            0 => 100_000 + random.below(3) as i64,
            // Picard walks from the median to the largest, step by step.
            1 => 1_500_000,
            2 => 8_000 + random.below(2) as i64,
            3 => 0,
            _ => 150 + random.below(60) as i64,
        };
        let insert = if random.percent(50) { insert } else { -insert };
        let at = if is_placed { start + 1 } else { 0 };
        let name = if is_placed { format!("chr{reference}") } else { "*".to_owned() };
        let (mate, mate_start) =
            if flags & 1 != 0 { (format!("chr{mate}"), mate_start) } else { ("*".to_owned(), 0) };
        write!(
            sam,
            "t{template}\t{flags}\t{name}\t{at}\t{mapq}\t{cigar}\t{mate}\t{mate_start}\t{insert}\t\
             {bases}\t{qualities}\tRG:Z:{}",
            random.pick(&["a", "b"]),
        )
        .unwrap();
        if qualities != "*" && random.percent(50) {
            write!(sam, "\tOQ:Z:{}", quality(random)).unwrap();
        }
        for (chance, tags) in [
            (50, ["\tMQ:i:60", "\tMQ:i:19", "\tMQ:i:20"]),
            (40, ["\tMC:Z:30M", "\tMC:Z:5S20M3D4M", "\tMC:Z:1M"]),
            (60, ["\tNM:i:3", "\tNM:i:0", "\tNM:i:300"]),
            (10, ["\tXN:i:1", "\tXN:i:0", "\tXN:Z:1"]),
            (5, ["\tSA:Z:chr0,1,+,30M,60,0;"; 3]),
        ] {
            if random.percent(chance) {
                sam.push_str(random.pick(&tags));
            }
        }
        sam.push('\n');
    }
}
