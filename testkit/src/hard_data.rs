//! Random SAM text that holds every case in which tools that mark duplicates disagree.

use std::fmt::Write;

use crate::random::Random;

/// Lengths of the references.
const REFERENCES: [i64; 3] = [60_000, 20_000, 900];

/// Unclipped 5' end of a read.
#[derive(Clone, Copy)]
struct End {
    reference: usize,
    position: i64,
    reverse: bool,
}

/// A record before its mate's fields are known.
#[derive(Clone)]
struct Record {
    flags: u16,
    /// `None` is "*".
    reference: Option<usize>,
    pos: i64,
    cigar: String,
    mate: Option<(usize, i64)>,
    bases: usize,
    group: Option<String>,
}

/// SAM text in query-grouped order; every record has a tag `XI:Z:<template>/<record>`, most have
/// barcodes in tags RX, B1 and B2.
#[derive(Debug)]
pub struct HardData {
    sam: String,
    records: usize,
}

impl HardData {
    /// Data of this many templates over this many read groups (1 to 4); they make 1, 2, 2 and 3
    /// libraries.
    #[must_use]
    pub fn new(seed: u64, templates: usize, groups: usize) -> Self {
        let mut random = Random::new(seed);
        let mut sam = String::from("@HD\tVN:1.6\n");
        for (index, length) in REFERENCES.iter().enumerate() {
            sam += &format!("@SQ\tSN:chr{index}\tLN:{length}\n");
        }
        // Two read groups share a library, one has none.
        let libraries = ["\tLB:one", "\tLB:two", "\tLB:one", ""];
        for (index, library) in libraries.iter().take(groups).enumerate() {
            sam += &format!("@RG\tID:g{index}\tSM:s{library}\n");
        }
        let mut data = Self { sam, records: 0 };
        // Few places, so that many templates share one; the first few take many.
        let places: Vec<End> = (0..templates / 6 + 4).map(|_| random_end(&mut random)).collect();
        for template in 0..templates {
            let records = random_template(&mut random, &places, groups);
            data.write_template(&mut random, template, records);
        }
        data
    }

    /// The text.
    #[must_use]
    pub fn sam(&self) -> &str {
        &self.sam
    }

    /// Number of records.
    #[must_use]
    pub fn records(&self) -> usize {
        self.records
    }

    fn write_template(&mut self, random: &mut Random, template: usize, mut records: Vec<Record>) {
        let name = random_name(random, template);
        for index in (1..records.len()).rev() {
            records.swap(index, random.below(index as u64 + 1) as usize);
        }
        let quality = random.pick(b"+???I");
        let barcodes = [0; 3].map(|_| random_barcode(random));
        for (index, record) in records.iter().enumerate() {
            let reference = |at: Option<usize>| at.map_or("*".to_owned(), |r| format!("chr{r}"));
            let quality = match random.below(20) {
                0 => "*".to_owned(),
                1..6 => (0..record.bases).map(|_| (33 + random.below(40) as u8) as char).collect(),
                _ => String::from(quality as char).repeat(record.bases),
            };
            let Record { flags, pos, cigar, bases, .. } = record;
            let cigar = if cigar.is_empty() { "*" } else { cigar };
            let (name_at, mate_at) =
                (reference(record.reference), reference(record.mate.map(|mate| mate.0)));
            let mate_pos = record.mate.map_or(0, |mate| mate.1);
            let mapq = random.below(9);
            let sequence = "A".repeat(*bases);
            let _ = write!(
                self.sam,
                "{name}\t{flags}\t{name_at}\t{pos}\t{mapq}\t{cigar}\t{mate_at}\t{mate_pos}\t0\t\
                 {sequence}\t{quality}\tXI:Z:{template}/{index}"
            );
            if let Some(group) = &record.group {
                let _ = write!(self.sam, "\tRG:Z:{group}");
            }
            for (tag, barcode) in [("RX", barcodes[0]), ("B1", barcodes[1]), ("B2", barcodes[2])] {
                // Reads of a template differ now and then.
                let differs = random.percent(5);
                let barcode = if differs { random_barcode(random) } else { barcode };
                if let Some(barcode) = barcode {
                    let _ = write!(self.sam, "\t{tag}:Z:{barcode}");
                }
            }
            self.sam.push('\n');
            self.records += 1;
        }
    }
}

fn random_end(random: &mut Random) -> End {
    let reference = random.pick(&[0, 0, 0, 1, 1, 2]);
    let position = 1 + random.below(REFERENCES[reference] as u64 - 100) as i64;
    End { reference, position, reverse: random.percent(50) }
}

/// One of the places, the first four far more often than others.
fn random_place(random: &mut Random, places: &[End]) -> End {
    if random.percent(30) { places[random.below(4) as usize] } else { random.pick(places) }
}

/// Few different ones, so that templates share them.
fn random_barcode(random: &mut Random) -> Option<&'static str> {
    random.pick(&[Some("ACGT-AAAA"), Some("ACGT-AAAA"), Some("NCGT-AAAA"), Some("ac"), None])
}

/// Names with a location (5 or 7 fields, tiles beyond 16 bits, trailing letters) and without.
fn random_name(random: &mut Random, template: usize) -> String {
    let tile = random.pick(&[1, 1, 1, 1, 1, 1, 1, 2, 1101, 40_000, 65_535, -3]);
    // Half of the clusters are about a few spots, so that there are chains of near ones.
    let (spots, spread) = if random.percent(50) { (4, 40) } else { (1, 700) };
    // Some are around the places where 16 bits wrap, as on large flow cells.
    let far = random.pick(&[0, 0, 0, 0, 32_600, 65_400]);
    let [x, y] = [0; 2].map(|_| far + 90 * random.below(spots) + random.below(spread));
    match random.below(12) {
        0 => format!("read{template}"),
        1 => format!("r{template}:1:{tile}:{x}"),
        2 => format!("r{template}:1:{tile}:x{x}:{y}"),
        3 => format!("r{template}:1:{tile}:{x}:{y}"),
        4 => format!("r{template}:1:F:1:{tile}:-{x}:{y}#ACGT"),
        5 => format!("r{template}:1:F:1:a:{tile}:{x}:{y}"),
        _ => format!("r{template}:1:F:1:{tile}:{x}:{y}"),
    }
}

/// A mapped record whose unclipped 5' end is the given one, as far as POS >= 1 allows.
fn mapped(random: &mut Random, end: End, flags: u16, group: Option<String>) -> Record {
    let clip = |random: &mut Random| match random.below(6) {
        0 => (0, 4 + random.below(9) as i64),
        1 => (3, 2 + random.below(5) as i64),
        2 => (5, 0),
        _ => (0, 0),
    };
    let ((hard5, soft5), (hard3, soft3)) = (clip(random), clip(random));
    let (core, bases, span) = random.pick(&[
        ("30M", 30, 30),
        ("30M", 30, 30),
        ("12M3D18M", 30, 33),
        ("10M2I15M", 27, 25),
        ("8=1X20=", 29, 29),
        ("9M100N20M", 29, 129),
    ]);
    let (clips5, clips3) = (hard5 + soft5, hard3 + soft3);
    let text = |n: i64, letter: char| if n > 0 { format!("{n}{letter}") } else { String::new() };
    let ends = [text(hard5, 'H') + &text(soft5, 'S'), text(soft3, 'S') + &text(hard3, 'H')];
    let (cigar, pos) = if end.reverse {
        let left = text(hard3, 'H') + &text(soft3, 'S');
        let right = text(soft5, 'S') + &text(hard5, 'H');
        (format!("{left}{core}{right}"), end.position - clips5 - span + 1)
    } else {
        let [left, right] = ends;
        (format!("{left}{core}{right}"), end.position + clips5)
    };
    debug_assert!(clips3 >= 0);
    Record {
        flags: flags | if end.reverse { 0x10 } else { 0 },
        reference: Some(end.reference),
        pos: pos.max(1),
        cigar,
        mate: None,
        bases: (bases + soft5 + soft3) as usize,
        group,
    }
}

fn unmapped(flags: u16, group: Option<String>) -> Record {
    let (cigar, bases) = (String::new(), 30);
    Record { flags: flags | 0x4, reference: None, pos: 0, cigar, mate: None, bases, group }
}

/// Fills in RNEXT, PNEXT and the mate's flags of two primary records.
fn mate(a: &mut Record, b: &mut Record) {
    let place = |record: &Record| record.reference.map(|reference| (reference, record.pos));
    (a.mate, b.mate) = (place(b), place(a));
    let (flags_a, flags_b) = (a.flags, b.flags);
    for (record, other) in [(a, flags_b), (b, flags_a)] {
        record.flags |= if other & 0x4 != 0 { 0x8 } else { 0 };
        record.flags |= if other & 0x10 != 0 { 0x20 } else { 0 };
    }
}

/// The records of one template.
fn random_template(random: &mut Random, places: &[End], groups: usize) -> Vec<Record> {
    let group = Some(format!("g{}", random.below(groups as u64)));
    let common = random.pick(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0x200]);
    let first = random_place(random, places);
    let kind = random.below(100);
    let mut records = match kind {
        0..15 => {
            // Unpaired; some without a read group or with one that the header lacks.
            let group = random.pick(&[Some(0), Some(0), Some(0), Some(1), None]).map(|unknown| {
                if unknown == 1 { "nowhere".to_owned() } else { group.clone().unwrap_or_default() }
            });
            let end = if random.percent(50) { first } else { random_end(random) };
            vec![mapped(random, end, common, group)]
        }
        15..28 => orphan(random, first, common, &group),
        28..31 => {
            let mut reads = [0x41, 0x81].map(|flags| unmapped(flags | common, group.clone()));
            let [a, b] = &mut reads;
            mate(a, b);
            reads.into()
        }
        _ => pair(random, first, common, &group, groups),
    };
    if kind >= 31 && random.percent(4) {
        // The mate never appears.
        records.truncate(1);
    }
    for _ in 0..2 {
        if records[0].flags & 0x1 != 0 && random.percent(12) {
            let other = random_place(random, places);
            let kind = random.pick(&[0x100, 0x800, 0x900]);
            let flags = 0x1 | common | kind | random.pick(&[0x40, 0x80]);
            let mut more = mapped(random, other, flags, group.clone());
            more.mate = records[0].mate;
            records.push(more);
        }
    }
    for record in &mut records {
        // Marks of an earlier run must not survive; proper pairs only matter to flagstat.
        record.flags |= random.pick(&[0, 0, 0x400]) | (random.pick(&[0, 0x2]) & record.flags << 1);
    }
    records
}

/// A mapped read and its unmapped mate, which is placed next to it.
fn orphan(random: &mut Random, end: End, common: u16, group: &Option<String>) -> Vec<Record> {
    let (mapped_read, unmapped_read) = random.pick(&[(0x41, 0x81), (0x81, 0x41)]);
    let mut a = mapped(random, end, mapped_read | common, group.clone());
    let mut b = unmapped(unmapped_read | common, group.clone());
    (b.reference, b.pos) = (a.reference, a.pos);
    mate(&mut a, &mut b);
    vec![a, b]
}

/// Two mapped reads: usual pairs, all orientations, equal places, other references, and
/// sometimes a mate with another read group of the same library.
fn pair(
    random: &mut Random,
    first: End,
    common: u16,
    group: &Option<String>,
    groups: usize,
) -> Vec<Record> {
    let offset = random.pick(&[120, 120, 120, 120, 120, 120, 0, 40]);
    let second = match random.below(12) {
        0 => End { reference: random.pick(&[0, 1, 2]), position: 500, reverse: first.reverse },
        1 => End { position: first.position + offset, ..first },
        2 => End { reverse: !first.reverse, ..first },
        _ => End {
            position: if first.reverse {
                (first.position - offset).max(1)
            } else {
                first.position + offset
            },
            reverse: !first.reverse,
            ..first
        },
    };
    let (flags1, flags2) = random.pick(&[(0x41, 0x81), (0x81, 0x41)]);
    let other_group = match group.as_deref() {
        Some("g0") if groups > 2 && random.percent(5) => Some("g2".to_owned()),
        _ => group.clone(),
    };
    let mut a = mapped(random, first, flags1 | common, group.clone());
    let mut b = mapped(random, second, flags2 | common, other_group);
    mate(&mut a, &mut b);
    vec![a, b]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_text_of_whole_lines() {
        let data = HardData::new(3, 400, 4);
        assert_eq!(data.sam(), HardData::new(3, 400, 4).sam());
        assert_ne!(data.sam(), HardData::new(4, 400, 4).sam());
        let records = data.sam().lines().filter(|line| !line.starts_with('@'));
        let fields = records.map(|line| line.split('\t').count());
        assert!(fields.clone().all(|count| (12..=16).contains(&count)));
        assert_eq!(fields.count(), data.records());
        assert_eq!(HardData::new(1, 0, 1).records(), 0);
    }
}
