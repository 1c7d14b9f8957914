//! Random reads that hold every case in which covariates are easy to get wrong: soft and hard
//! clips, indels in every place, adaptor at either end, N in reads and reference, low-quality
//! tails, wrong template lengths, known sites of all lengths.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use seqloom_testkit::random::Random;

/// Lengths of the sequences.
const LENGTHS: [usize; 3] = [20_000, 9_000, 1_500];

/// Read groups: two share a platform unit, one has none, one has a number for a name.
const READ_GROUPS: [&str; 5] = [
    "@RG\tID:a\tPL:ILLUMINA\tPU:unit.1\tSM:s",
    "@RG\tID:b\tPL:ILLUMINA\tPU:unit.1\tSM:s",
    "@RG\tID:c\tPL:ILLUMINA\tSM:s",
    "@RG\tID:4\tPL:illumina\tPU:4\tSM:s",
    "@RG\tID:e\tPL:ILLUMINA\tPU:unit two\tSM:s",
];

/// What reads may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// All that GATK reads.
    Any,
    /// What it reads with base alignment quality: no `=` and `X`, no qualities above 60.
    ForBaq,
}

/// Files that GATK and we read.
pub(crate) struct HardReads {
    pub(crate) bam: PathBuf,
    pub(crate) fasta: PathBuf,
    pub(crate) sites: Vec<PathBuf>,
}

/// Runs a program to its end; false where it is missing.
fn run(program: &str, arguments: &[&str]) -> bool {
    let Ok(output) = Command::new(program).args(arguments).output() else { return false };
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {errors}");
    true
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

impl HardReads {
    /// Writes `reads` random reads, their reference and known sites to `folder`; `None` after
    /// saying that a program is missing.
    pub(crate) fn write(folder: &Path, seed: u64, reads: usize, kind: Kind) -> Option<Self> {
        let mut random = Random::new(seed);
        let genome: Vec<Vec<u8>> =
            LENGTHS.iter().map(|&length| sequence(&mut random, length)).collect();
        let (fasta, bam) = (folder.join("ref.fa"), folder.join("reads.bam"));
        let mut reference = String::new();
        let mut sam = String::from("@HD\tVN:1.6\tSO:unsorted\n");
        for (index, bases) in genome.iter().enumerate() {
            writeln!(reference, ">c{index}").unwrap();
            for line in bases.chunks(60) {
                writeln!(reference, "{}", std::str::from_utf8(line).unwrap()).unwrap();
            }
            writeln!(sam, "@SQ\tSN:c{index}\tLN:{}", bases.len()).unwrap();
        }
        READ_GROUPS.iter().for_each(|group| writeln!(sam, "{group}").unwrap());
        (0..reads).for_each(|index| {
            Read::random(&mut random, &genome).write(&mut random, index, kind, &mut sam);
        });
        let sam_path = folder.join("reads.sam");
        std::fs::write(&fasta, reference).unwrap();
        std::fs::write(&sam_path, sam).unwrap();
        let dictionary = folder.join("ref.dict");
        let are_there = run("samtools", &["faidx", text(&fasta)])
            && run("samtools", &["dict", "-o", text(&dictionary), text(&fasta)])
            && run("samtools", &["sort", "-o", text(&bam), text(&sam_path)])
            && run("samtools", &["index", text(&bam)]);
        if !are_there {
            seqloom_testkit::skip::skip("samtools is not installed");
            return None;
        }
        let mut sites = Vec::new();
        for part in 0..2 {
            let vcf = folder.join(format!("sites{part}.vcf"));
            std::fs::write(&vcf, vcf_text(&mut random, &genome)).unwrap();
            if !(run("bgzip", &["-f", text(&vcf)])
                && run("tabix", &["-p", "vcf", &format!("{}.gz", vcf.display())]))
            {
                seqloom_testkit::skip::skip("bgzip and tabix are not installed");
                return None;
            }
            sites.push(folder.join(format!("sites{part}.vcf.gz")));
        }
        Some(Self { bam, fasta, sites })
    }
}

/// Random bases, some in lower case, with N and other codes in between.
fn sequence(random: &mut Random, length: usize) -> Vec<u8> {
    let mut bases: Vec<u8> = (0..length).map(|_| b"ACGTacgt"[random.index(8)]).collect();
    for _ in 0..length / 400 {
        let (at, span) = (random.index(length), random.index(12));
        let code = b"NNNRYn"[random.index(6)];
        bases.iter_mut().skip(at).take(span).for_each(|base| *base = code);
    }
    bases
}

/// Known sites: mostly single bases, some long, some with END, some over another.
fn vcf_text(random: &mut Random, genome: &[Vec<u8>]) -> String {
    let mut vcf = String::from("##fileformat=VCFv4.2\n");
    vcf.push_str("##INFO=<ID=END,Number=1,Type=Integer,Description=\"End\">\n");
    for (index, bases) in genome.iter().enumerate() {
        writeln!(vcf, "##contig=<ID=c{index},length={}>", bases.len()).unwrap();
    }
    vcf.push_str("#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n");
    for (index, bases) in genome.iter().enumerate() {
        let mut at = 0;
        loop {
            at += random.index(90);
            let span = if random.chance(0.7) { 1 } else { 1 + random.index(20) };
            if at + span >= bases.len() {
                break;
            }
            let reference: String = bases[at..at + span]
                .iter()
                .map(|base| match base.to_ascii_uppercase() {
                    base @ (b'A' | b'C' | b'G' | b'T') => char::from(base),
                    _ => 'N',
                })
                .collect();
            let position = at + 1;
            let (alternative, info) = match random.index(12) {
                0 => ("<DEL>".to_owned(), format!("END={}", at + span + random.index(40))),
                1 => (format!("{}ACGT", &reference[..1]), ".".to_owned()),
                _ => ((if reference == "A" { "C" } else { "A" }).to_owned(), ".".to_owned()),
            };
            let (reference, alternative) = match alternative.as_str() {
                "<DEL>" => (reference[..1].to_owned(), alternative),
                _ if alternative == reference => (reference, "G".to_owned()),
                _ => (reference, alternative),
            };
            let columns = format!("c{index}\t{position}\t.\t{reference}\t{alternative}");
            writeln!(vcf, "{columns}\t.\t.\t{info}").unwrap();
            at += usize::from(random.chance(0.9));
        }
    }
    vcf
}

/// One read on its way to SAM.
struct Read {
    sequence: usize,
    /// 0-based.
    position: usize,
    cigar: String,
    bases: Vec<u8>,
    /// Bases of the reference that it covers.
    span: usize,
}

impl Read {
    fn random(random: &mut Random, genome: &[Vec<u8>]) -> Self {
        let sequence = [0, 0, 0, 1, 1, 2][random.index(6)];
        let reference = &genome[sequence];
        let mut read = Self {
            sequence,
            position: match random.index(30) {
                0 => random.index(4),
                1 => reference.len() - 170 + random.index(30),
                _ => random.index(reference.len() - 400),
            },
            cigar: String::new(),
            bases: Vec::new(),
            span: 0,
        };
        let clip = |random: &mut Random, share: f64| match random.chance(share) {
            true => 1 + random.index(25),
            false => 0,
        };
        let (left_hard, right_hard) = (clip(random, 0.1), clip(random, 0.1));
        let (left_soft, right_soft) = (clip(random, 0.25), clip(random, 0.25));
        read.push(random, reference, left_hard, 'H');
        read.push(random, reference, left_soft, 'S');
        read.middle(random, reference);
        read.push(random, reference, right_soft, 'S');
        read.push(random, reference, right_hard, 'H');
        read
    }

    /// Operations between the clips: indels anywhere, rarely nothing but an insertion.
    fn middle(&mut self, random: &mut Random, reference: &[u8]) {
        if random.chance(0.004) {
            let length = 1 + random.index(20);
            return self.push(random, reference, length, 'I');
        }
        let limit = reference.len() - 60;
        let mut last = ' ';
        let most = if random.chance(0.3) { 8 } else { 2 };
        let parts = 1 + random.index(most);
        for part in 0..parts {
            if random.chance(if part == 0 { 0.06 } else { 0.8 }) {
                let letter = if random.chance(0.5) { 'I' } else { 'D' };
                let length = 1 + random.index(6);
                self.push(random, reference, length, letter);
                if random.chance(0.15) {
                    let other = if letter == 'I' { 'D' } else { 'I' };
                    let length = 1 + random.index(4);
                    self.push(random, reference, length, other);
                }
                last = letter;
            }
            let room = limit.saturating_sub(self.position + self.span).min(120);
            let length =
                if random.chance(0.1) { 1 + random.index(5) } else { 1 + random.index(60) };
            let length = length.min(room).max(1);
            match random.index(40) {
                0 => self.push(random, reference, length, '='),
                1 => self.push(random, reference, length, 'X'),
                _ => self.push(random, reference, length, 'M'),
            }
            if random.chance(0.004) {
                let length = 1 + random.index(30);
                self.push(random, reference, length, 'N');
                self.push(random, reference, 3, 'M');
            }
        }
        if random.chance(0.05) && last != 'D' {
            let (length, letter) =
                (1 + random.index(5), if random.chance(0.5) { 'I' } else { 'D' });
            self.push(random, reference, length, letter);
        }
    }

    fn push(&mut self, random: &mut Random, reference: &[u8], length: usize, letter: char) {
        if length == 0 {
            return;
        }
        write!(self.cigar, "{length}{letter}").unwrap();
        for _ in 0..length {
            let at = (self.position + self.span).min(reference.len() - 1);
            let base = reference[at].to_ascii_uppercase();
            let is_base = b"ACGT".contains(&base);
            let other = b"ACGT"[random.index(4)];
            let read = match letter {
                'M' | '=' | 'X' if random.chance(0.95) && is_base => base,
                _ if random.chance(0.01) => b'N',
                _ => other,
            };
            if "MIS=X".contains(letter) {
                self.bases.push(read);
            }
            if "MDN=X".contains(letter) {
                self.span += 1;
            }
        }
    }

    /// FLAG, RNEXT, PNEXT (1-based) and TLEN.
    fn pairing(&self, random: &mut Random) -> (u16, String, i64, i64) {
        let mut flags = if random.chance(0.5) { 0x10 } else { 0 };
        if random.chance(0.15) {
            return (flags, "*".to_owned(), 0, 0);
        }
        flags |= 0x1 | if random.chance(0.5) { 0x40 } else { 0x80 };
        if random.chance(0.03) {
            return (flags | 0x8, "=".to_owned(), self.position as i64 + 1, 0);
        }
        let (start, end) = (self.position as i64 + 1, (self.position + self.span) as i64);
        let is_reverse = flags & 0x10 != 0;
        if random.chance(0.9) {
            flags |= if is_reverse { 0 } else { 0x20 };
        } else if random.chance(0.5) {
            flags |= 0x20;
        }
        // Templates shorter than the read show its adaptor.
        let longest = if random.chance(0.4) { 100 } else { 500 };
        let template = 1 + random.index(longest) as i64;
        let (mate, mut length) = match is_reverse {
            true => ((end - template + 1).max(1), -template),
            false => ((start + template - 100).max(1), template),
        };
        match random.index(25) {
            0 => length = 0,
            1 => length = -length,
            2 => length = random.index(3000) as i64 - 1500,
            _ => {}
        }
        let mate =
            if random.chance(0.1) { (mate + random.index(60) as i64 - 30).max(1) } else { mate };
        if random.chance(0.04) {
            return (flags, "c1".to_owned(), 1 + random.index(8000) as i64, length);
        }
        (flags, "=".to_owned(), mate, length)
    }

    fn write(&self, random: &mut Random, index: usize, kind: Kind, sam: &mut String) {
        let (mut flags, mate_sequence, mate, length) = self.pairing(random);
        flags |= [0, 0x400, 0x200, 0x100, 0x800, 0x4][match random.index(60) {
            special @ 1..=5 => special,
            6 | 7 => 4,
            _ => 0,
        }];
        let quality = [60, 60, 60, 60, 37, 1, 0, 255][random.index(8)];
        let bases = std::str::from_utf8(&self.bases).unwrap();
        let qualities = qualities(random, self.bases.len(), kind);
        let qualities = if random.chance(0.005) { "*".to_owned() } else { qualities };
        let (name, position) = (format!("r{index}"), self.position + 1);
        let columns = format!("{name}\t{flags}\tc{}\t{position}\t{quality}", self.sequence);
        let cigar = match kind {
            Kind::Any => self.cigar.clone(),
            Kind::ForBaq => self.cigar.replace(['=', 'X'], "M"),
        };
        write!(sam, "{columns}\t{cigar}\t{mate_sequence}\t{mate}\t{length}").unwrap();
        write!(sam, "\t{bases}\t{qualities}\tNM:i:{}", index % 7).unwrap();
        if random.chance(0.3) {
            write!(sam, "\tOQ:Z:{}", self::qualities(random, bases.len(), kind)).unwrap();
        }
        if !random.chance(0.005) {
            let group = READ_GROUPS[random.index(READ_GROUPS.len())];
            write!(sam, "\tRG:Z:{}", &group[7..8]).unwrap();
        }
        for tag in ["BI", "BD"].into_iter().filter(|_| index.is_multiple_of(11)) {
            write!(sam, "\t{tag}:Z:{}", self::qualities(random, bases.len(), kind)).unwrap();
        }
        sam.push_str("\tXX:B:S,1,2\n");
    }
}

/// Qualities as sequencers give them: a walk, four bins, or one value; with tails of 2.
fn qualities(random: &mut Random, length: usize, kind: Kind) -> String {
    let mut walk = 20 + random.index(20) as i64;
    let pattern = random.index(5);
    let constant = random.index(61) as i64;
    let mut values: Vec<i64> = (0..length)
        .map(|_| match pattern {
            0 => [2, 12, 23, 37][random.index(4)],
            1 if constant < 45 => constant,
            _ => {
                walk = (walk + random.index(9) as i64 - 4).clamp(0, 45);
                walk
            }
        })
        .collect();
    if random.chance(0.2) {
        let tail = random.index(length + 1);
        values[..tail].fill(2);
    }
    if random.chance(0.3) {
        let tail = random.index(length + 1);
        values[length - tail..].fill(2);
    }
    if kind == Kind::Any && random.chance(0.02) {
        values.iter_mut().for_each(|value| *value = 93 - *value);
    }
    values.iter().map(|&value| char::from(b'!' + value as u8)).collect()
}
