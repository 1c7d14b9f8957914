//! Random SAM text that holds what tools of this kind disagree on: alignments past the end of
//! their reference, every CIGAR operation, missing bases and qualities, ambiguous bases, orphans,
//! third reads, unmapped reads with and without a place, wrong mate fields, tags of all types.

use std::fmt::Write;

use seqloom_testkit::random::Random;

/// Names and lengths of the references.
pub(crate) const REFERENCES: [(&str, usize); 4] =
    [("c1", 900), ("c2", 500), ("c3", 20_000), ("c4", 60)];

/// What the data holds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kind {
    /// Alignments may end past their reference.
    pub(crate) overhang: bool,
    /// More than two primary records of a name, wrong flags, records without a place that claim
    /// to be mapped. Picard refuses such input.
    pub(crate) wild: bool,
    /// Records without bases or qualities, and `=` among the bases.
    pub(crate) gaps: bool,
}

/// A reference and records on it, grouped by name.
pub(crate) struct HardData {
    pub(crate) fasta: String,
    pub(crate) sam: String,
    pub(crate) records: usize,
}

struct Maker {
    random: Random,
    kind: Kind,
    sequences: Vec<Vec<u8>>,
}

/// One record before it is written.
#[derive(Clone)]
struct Record {
    flags: u16,
    /// Index of the reference and 0-based position.
    place: Option<(usize, usize)>,
    mapq: u64,
    cigar: Vec<(usize, u8)>,
    bases: Vec<u8>,
}

fn consumes_read(op: u8) -> bool {
    b"MIS=X".contains(&op)
}

fn consumes_reference(op: u8) -> bool {
    b"MDN=X".contains(&op)
}

impl HardData {
    pub(crate) fn new(seed: u64, templates: usize, kind: Kind) -> Self {
        let mut random = Random::new(seed);
        let sequences: Vec<Vec<u8>> =
            REFERENCES.iter().map(|&(_, length)| sequence(&mut random, length, kind)).collect();
        let mut fasta = String::new();
        for ((name, _), sequence) in REFERENCES.iter().zip(&sequences) {
            writeln!(fasta, ">{name} text\n{}", String::from_utf8_lossy(sequence)).unwrap();
        }
        let mut sam = String::from("@HD\tVN:1.6\tSO:unsorted\tGO:query\n");
        for (name, length) in REFERENCES {
            writeln!(sam, "@SQ\tSN:{name}\tLN:{length}").unwrap();
        }
        sam.push_str("@RG\tID:a\tSM:s\tLB:l\tPL:ILLUMINA\tPU:u\n@RG\tID:b\tSM:s\tPL:ILLUMINA\n");
        let mut maker = Maker { random, kind, sequences };
        let mut records = 0;
        for template in 0..templates {
            records += maker.template(template, &mut sam);
        }
        Self { fasta, sam, records }
    }
}

/// Bases with lower case, runs of N and, for samtools alone, ambiguity codes.
fn sequence(random: &mut Random, length: usize, kind: Kind) -> Vec<u8> {
    let mut bases: Vec<u8> = (0..length).map(|_| b"ACGT"[random.index(4)]).collect();
    for _ in 0..length / 40 {
        let at = random.index(length);
        let run = 1 + random.index(6);
        let letter = if random.chance(0.5) { Some(b'N') } else { None };
        for base in bases.iter_mut().skip(at).take(run) {
            *base = letter.unwrap_or_else(|| base.to_ascii_lowercase());
        }
        if kind.wild && random.chance(0.3) {
            bases[at] = b"RYKMn"[random.index(5)];
        }
    }
    bases
}

impl Maker {
    fn cigar(&mut self) -> Vec<(usize, u8)> {
        let mut cigar = Vec::new();
        let clip = |random: &mut Random| 1 + random.index(6);
        if self.random.chance(0.1) {
            cigar.push((clip(&mut self.random), b'H'));
        }
        if self.random.chance(0.2) {
            cigar.push((clip(&mut self.random), b'S'));
        }
        let inner = 1 + self.random.index(4);
        for index in 0..inner {
            if index > 0 {
                let op = b"IDDIN"[self.random.index(5)];
                cigar.push((1 + self.random.index(4), op));
            }
            let op = b"MMMMMM=X"[self.random.index(8)];
            cigar.push((1 + self.random.index(30 / inner), op));
        }
        if self.kind.overhang && self.random.chance(0.1) {
            cigar.push((1 + self.random.index(3), b"ID"[self.random.index(2)]));
        }
        if self.random.chance(0.2) {
            cigar.push((clip(&mut self.random), b'S'));
        }
        if self.random.chance(0.1) {
            cigar.push((clip(&mut self.random), b'H'));
        }
        cigar
    }

    /// The reference's bases with a few changes, and any bases where there are none.
    fn bases(&mut self, place: Option<(usize, usize)>, cigar: &[(usize, u8)]) -> Vec<u8> {
        let mut bases = Vec::new();
        let mut position = place.map_or(0, |(_, position)| position);
        for &(length, op) in cigar {
            for offset in 0..length {
                let theirs = place
                    .filter(|_| consumes_reference(op))
                    .and_then(|(index, _)| self.sequences[index].get(position + offset));
                let letter = theirs.map_or(b'A', u8::to_ascii_uppercase);
                if consumes_read(op) {
                    bases.push(match self.random.index(20) {
                        0 => b"ACGTN"[self.random.index(5)],
                        1 if self.kind.gaps => b'=',
                        _ if letter.is_ascii_alphabetic() => letter,
                        _ => b'G',
                    });
                }
            }
            position += if consumes_reference(op) { length } else { 0 };
        }
        bases
    }

    fn record(&mut self, flags: u16, near: Option<(usize, usize)>) -> Record {
        let is_mapped = flags & 4 == 0;
        let cigar = if is_mapped { self.cigar() } else { Vec::new() };
        let span: usize = cigar
            .iter()
            .filter(|&&(_, op)| consumes_reference(op))
            .map(|&(length, _)| length)
            .sum();
        let index = match near {
            Some((index, _)) if self.random.chance(0.8) => index,
            _ => self.random.index(REFERENCES.len()),
        };
        let length = REFERENCES[index].1;
        let last = length.saturating_sub(span);
        let position = match near {
            Some((same, near)) if same == index => near + self.random.index(80),
            _ => self.random.index(length),
        };
        let position = if self.kind.overhang && self.random.chance(0.1) {
            (length + self.random.index(4)).saturating_sub(self.random.index(span + 2))
        } else {
            position.min(last)
        };
        let fits = self.kind.overhang || position + span <= length;
        let is_placed = (is_mapped || self.random.chance(0.4)) && fits;
        let lost = self.kind.wild && self.random.chance(0.03);
        let place = (is_placed && !lost).then_some((index, position));
        let bases = match cigar.is_empty() {
            true => {
                (0..10 + self.random.index(20)).map(|_| b"ACGTN"[self.random.index(5)]).collect()
            }
            false => self.bases(place, &cigar),
        };
        let mapq = if is_mapped || self.random.chance(0.2) { self.random.below(61) } else { 0 };
        Record { flags, place, mapq, cigar, bases }
    }

    fn template(&mut self, template: usize, sam: &mut String) -> usize {
        let unmapped = |random: &mut Random| if random.chance(0.12) { 4 } else { 0 };
        let strand = |random: &mut Random| if random.chance(0.5) { 0x10 } else { 0 };
        let mut records: Vec<Record> = Vec::new();
        let primaries = match self.random.index(20) {
            0 => 1,
            1 if self.kind.wild => 3,
            _ => 2,
        };
        for number in 0..primaries {
            let mut flags = unmapped(&mut self.random) | strand(&mut self.random) | 1;
            flags |= if number % 2 == 0 { 0x40 } else { 0x80 };
            if self.kind.wild && self.random.chance(0.1) {
                flags = flags & !1 | (self.random.below(16) << 1) as u16 & !4;
            }
            flags |= if self.random.chance(0.05) { 0x200 } else { 0 };
            let near = records.first().and_then(|first| first.place);
            records.push(self.record(flags, near));
        }
        for _ in 0..[0, 0, 0, 1, 2][self.random.index(5)] {
            let of = records[self.random.index(primaries)].flags & 0xc1;
            let kind = if self.random.chance(0.5) { 0x100 } else { 0x800 };
            let flags = of | kind | strand(&mut self.random);
            let record = self.record(flags, None);
            let at = self.random.index(records.len() + 1);
            records.insert(at, record);
        }
        self.link(&mut records, template, sam);
        records.len()
    }

    /// Mate fields, as good as an aligner's or wrong, then the lines.
    fn link(&mut self, records: &mut [Record], template: usize, sam: &mut String) {
        let primary = |bit: u16, records: &[Record]| {
            records.iter().find(|it| it.flags & 0x900 == 0 && it.flags & bit != 0).cloned()
        };
        let mates = [primary(0x80, records), primary(0x40, records)];
        for (number, record) in records.iter_mut().enumerate() {
            let mate = mates[usize::from(record.flags & 0x80 != 0)].clone();
            let is_wrong = self.kind.wild && self.random.chance(0.2);
            if let (Some(mate), 1) = (&mate, record.flags & 1) {
                record.flags |= if mate.flags & 4 != 0 { 8 } else { 0 };
                record.flags |= if mate.flags & 0x10 != 0 { 0x20 } else { 0 };
                let both = (record.flags | mate.flags) & 4 == 0;
                record.flags |= if both && self.random.chance(0.6) { 2 } else { 0 };
            } else if record.flags & 1 != 0 && !self.kind.wild {
                record.flags |= 8;
            }
            let place = match mate.as_ref().filter(|_| !is_wrong).and_then(|it| it.place) {
                Some((index, position)) => format!("{}\t{}", REFERENCES[index].0, position + 1),
                None if is_wrong => format!("c2\t{}", self.random.below(400)),
                None => "*\t0".to_owned(),
            };
            let tlen = if is_wrong || record.flags & 2 != 0 { self.random.below(100) } else { 0 };
            let name = format!("t{template}");
            let line = self.line(&name, record, &place, tlen);
            let tags = self.tags(&format!("{template}/{number}"), mate.as_ref());
            writeln!(sam, "{line}{tags}").unwrap();
        }
    }

    fn line(&mut self, name: &str, record: &Record, mate: &str, tlen: u64) -> String {
        let place = match record.place {
            Some((index, position)) => format!("{}\t{}", REFERENCES[index].0, position + 1),
            None => "*\t0".to_owned(),
        };
        let text = |(length, op): &(usize, u8)| format!("{length}{}", char::from(*op));
        let cigar: String = record.cigar.iter().map(text).collect();
        let cigar = if cigar.is_empty() { "*".to_owned() } else { cigar };
        let quality = |_| char::from(33 + self.random.below(42) as u8);
        let mut qualities: String = (0..record.bases.len()).map(quality).collect();
        let mut bases = String::from_utf8_lossy(&record.bases).into_owned();
        if self.kind.gaps && self.random.chance(0.1) {
            qualities = "*".to_owned();
            if self.random.chance(0.5) {
                bases = "*".to_owned();
            }
        }
        let (flags, mapq) = (record.flags, record.mapq);
        format!("{name}\t{flags}\t{place}\t{mapq}\t{cigar}\t{mate}\t{tlen}\t{bases}\t{qualities}")
    }

    fn tags(&mut self, identity: &str, mate: Option<&Record>) -> String {
        let mut tags = format!("\tXI:Z:{identity}");
        let mut add = |share: f64, text: String, random: &mut Random| {
            if random.chance(share) {
                tags.push('\t');
                tags.push_str(&text);
            }
        };
        let r = &mut self.random;
        let number = r.below(4);
        add(0.3, format!("NM:i:{number}"), r);
        add(0.2, "MD:Z:10a5".to_owned(), r);
        add(0.5, format!("RG:Z:{}", ["a", "b"][r.index(2)]), r);
        add(0.2, "MQ:i:7".to_owned(), r);
        let text = |(length, op): &(usize, u8)| format!("{length}{}", char::from(*op));
        if let Some(mate) = mate.filter(|mate| !mate.cigar.is_empty()) {
            add(0.3, format!("MC:Z:{}", mate.cigar.iter().map(text).collect::<String>()), r);
        }
        add(0.2, "ms:i:70000".to_owned(), r);
        add(0.1, "ct:Z:x".to_owned(), r);
        add(0.1, "UQ:i:3".to_owned(), r);
        add(0.1, "XB:B:s,1,-2".to_owned(), r);
        add(0.1, "XF:f:1.5".to_owned(), r);
        add(0.1, "XA:A:x".to_owned(), r);
        for (tag, right) in [("X0", 1), ("X1", 0), ("XM", 0), ("XO", 0), ("XG", 0)] {
            let value = if r.chance(0.9) { right } else { 2 };
            add(0.8, format!("{tag}:i:{value}"), r);
        }
        tags
    }
}
