//! Random SAM text that is hard to sort: names that begin alike, with digits and zeros, many
//! records of few names and places, every flag that an order looks at, tag HI.

use std::fmt::Write;

use seqloom_testkit::random::Random;

/// What the data holds.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) seed: u64,
    pub(crate) records: usize,
    /// Percentage of the records that have the same name.
    pub(crate) one_name_percent: u64,
    /// Percentage of the records that are unmapped.
    pub(crate) unmapped_percent: u64,
    /// Names as sequencers make them, each for a pair of reads; else names made to confuse.
    pub(crate) sequencer_names: bool,
    /// Paired records that are neither or both of first and second: Picard has no order for them.
    pub(crate) odd_pairs: bool,
}

/// Names that collide in part.
const STEMS: [&str; 22] = [
    "a",
    "a1",
    "a01",
    "a001",
    "a10",
    "a2",
    "ab",
    "a0",
    "a00",
    "a0b",
    "a1b",
    "a01b",
    "1",
    "01",
    "10",
    "b:1:2",
    "b:01:2",
    "b:1:10",
    "A1",
    "a9z00",
    "a99999999999999999999",
    "a100000000000000000000",
];

fn name(random: &mut Random, shape: &Shape, record: usize) -> String {
    if random.below(100) < shape.one_name_percent {
        return "HWI:1:1101:one".to_owned();
    }
    if shape.sequencer_names {
        let mut of_pair = Random::new(shape.seed ^ (record as u64 / 2) << 8);
        let (lane, tile) = (1 + of_pair.below(4), 1101 + of_pair.below(90));
        let (x, y) = (1000 + of_pair.below(30_000), 1000 + of_pair.below(30_000));
        return format!("A00123:45:HXXXX:{lane}:{tile}:{x}:{y}");
    }
    let stem = STEMS[random.index(STEMS.len())];
    match random.below(4) {
        0 => stem.to_owned(),
        1 => format!("{stem}{}", STEMS[random.index(STEMS.len())]),
        2 => format!("{stem}:{:0width$}", random.below(40), width = random.index(4)),
        _ => format!("{stem}/{}", random.below(3000)),
    }
}

fn flags(random: &mut Random, shape: &Shape, record: usize) -> u16 {
    let reads = if shape.sequencer_names {
        [0x41, 0x81][record % 2]
    } else {
        let kinds = if shape.odd_pairs { 5 } else { 3 };
        [0, 0x41, 0x81, 0x1, 0xc1][random.index(kinds)]
    };
    let more =
        |random: &mut Random, bit, percent| if random.below(100) < percent { bit } else { 0 };
    reads
        | more(random, 0x10, 50)
        | more(random, 0x100, 15)
        | more(random, 0x800, 15)
        | more(random, 0x400, 20)
        | more(random, 0x200, 5)
        | more(random, 0x4, shape.unmapped_percent)
}

/// SAM text of that shape; every record has its index in tag XI.
pub(crate) fn sam(shape: &Shape) -> String {
    let mut random = Random::new(shape.seed);
    let mut sam = "@HD\tVN:1.6\n@SQ\tSN:c1\tLN:4000000\n@SQ\tSN:c2\tLN:5000\n".to_owned();
    for record in 0..shape.records {
        let flags = flags(&mut random, shape, record);
        let no_coordinate = flags & 0x4 != 0 && random.chance(0.8);
        let (reference, position) = match random.below(10) {
            // Without a reference, and sometimes with a position all the same.
            _ if no_coordinate => ("*", [0, 0, 0, 7, 2_500_000][random.index(5)]),
            0..=5 => ("c1", 1_000_000 + random.below(4)),
            6..=8 => ("c1", 1 + random.below(3_999_000)),
            _ => ("c2", 1 + random.below(3)),
        };
        let bases = if shape.sequencer_names { 60 } else { 20 + random.index(200) };
        let cigar = if flags & 0x4 != 0 { "*".to_owned() } else { format!("{bases}M") };
        let mate = ["*", "c1", "c2"][random.index(3)];
        let mate_position = if mate == "*" { 0 } else { random.below(3) };
        let mapq = random.below(3);
        let length = random.below(3) as i64 - 1;
        let name = name(&mut random, shape, record);
        write!(
            sam,
            "{name}\t{flags}\t{reference}\t{position}\t{mapq}\t{cigar}\t{mate}\t{mate_position}\t\
             {length}\t"
        )
        .unwrap();
        sam.extend((0..bases).map(|_| ['A', 'C', 'G', 'T'][random.index(4)]));
        sam.push('\t');
        sam.extend((0..bases).map(|_| ['#', '5', 'F', 'F'][random.index(4)]));
        write!(sam, "\tXI:i:{record}").unwrap();
        if random.chance(0.4) {
            write!(sam, "\tHI:i:{}", random.below(300) as i64 - 2).unwrap();
        }
        sam.push('\n');
    }
    sam
}
