//! Reads and records whose names, comments, tags and header lines are as odd as SAM allows, or
//! odder: many in one file, made from a seed.

use crate::random::Random;

/// What is in a file.
#[derive(Debug, Clone, Copy)]
pub struct HostileOptions {
    /// Reads, pairs, or records.
    pub records: usize,
    /// Percent of names that SAM does not allow.
    pub bad_names_percent: u64,
    /// Percent of tags that SAM does not allow.
    pub bad_tags_percent: u64,
}

/// Bytes that read names may have (SAM specification 1.4).
const NAME_BYTES: &[u8] = b"!\"#$%&'()*+,-./:;<=>?[\\]^_`{|}~019AZaz";

/// Names of reference sequences that SAM allows (1.2.1), though few have seen them.
pub const ODD_SEQUENCES: [&str; 5] =
    ["!#$%&+./:;?@^_|~-", "0*=", "HLA-A*01:01:01:01", "gi|2|ref|NC_1.1|", "@SQ"];

/// The read name of template `number`, which no other has: one that SAM allows, or one that it does
/// not.
#[must_use]
pub fn read_name(random: &mut Random, number: usize, is_good: bool) -> Vec<u8> {
    // No digit after a slash, which would be the number of a mate and no part of the name.
    let own = format!("x{number:x}").into_bytes();
    let length = match random.below(8) {
        0 => own.len(),
        1 => 254,
        _ => own.len() + random.between(1, 40) as usize,
    };
    let mut name: Vec<u8> = (own.len()..length).map(|_| random.pick(NAME_BYTES)).collect();
    name.extend_from_slice(&own);
    if is_good {
        return name;
    }
    match random.below(6) {
        0 => name[0] = b'@',
        1 => name.insert(0, b'@'),
        2 => name.insert(random.index(length), 0x7f),
        3 => name.insert(random.index(length), random.pick(b"\x01\x08\x0b\x1b\x1f")),
        4 => drop(name.splice(0..0, "\u{e9}\u{4e2d}".bytes())),
        _ => drop(name.splice(0..0, std::iter::repeat_n(b'x', 255))),
    }
    name
}

/// A tag as text, `TAG:TYPE:VALUE`: one that SAM allows, or one that it does not.
#[must_use]
pub fn tag_text(random: &mut Random, is_good: bool) -> Vec<u8> {
    let tag = [random.pick(b"XYZxyz"), random.pick(b"ABCabc019")];
    let value: Vec<u8> = match (is_good, random.below(8)) {
        (true, 0) => vec![b'A', b':', random.pick(b"!~A0:@")],
        (true, 1) => format!("i:{}", random.pick(&INTEGERS)).into(),
        (true, 2) => format!("f:{}", random.pick(&["1.5", "-0", "1e-30", "inf", "nan"])).into(),
        (true, 3) => format!("H:{}", random.pick(&["", "00", "1aE3FF"])).into(),
        (true, 4) => array_text(random),
        (true, 5) => "Z:gr\u{fc}n \u{4e2d}".into(),
        (true, _) => [b"Z:".to_vec(), printable(random)].concat(),
        (false, 0) => b"H:ABC".to_vec(),
        (false, 1) => b"H:0G".to_vec(),
        (false, 2) => b"A: ".to_vec(),
        (false, 3) => b"A:ab".to_vec(),
        (false, 4) => b"i:4294967296".to_vec(),
        (false, 5) => b"B:C,256".to_vec(),
        (false, 6) => b"Z:a\x07b".to_vec(),
        (false, _) => b"Q:1".to_vec(),
    };
    [&tag[..], b":", &value].concat()
}

const INTEGERS: [i64; 9] =
    [0, -1, 127, -128, 255, -32_768, 65_535, i32::MIN as i64, u32::MAX as i64];

fn array_text(random: &mut Random) -> Vec<u8> {
    let values = random.pick(&["", ",0", ",1,2,3", ",100,0,7"]);
    format!("B:{}{values}", char::from(random.pick(b"cCsSiIf"))).into()
}

fn printable(random: &mut Random) -> Vec<u8> {
    (0..random.below(30)).map(|_| random.between(32, 126) as u8).collect()
}

/// A tag as BAM has it: one that SAM allows, or one that it does not.
#[must_use]
pub fn tag_bytes(random: &mut Random, is_good: bool) -> Vec<u8> {
    let tag = [random.pick(b"XYZxyz"), random.pick(b"ABCabc019")];
    let value: &[u8] = match (is_good, random.below(8)) {
        (true, 0) => b"A~",
        (true, 1) => random.pick(&[&b"c\x80"[..], b"C\xff", b"s\0\x80", b"S\xff\xff"]),
        (true, 2) => random.pick(&[&b"i\0\0\0\x80"[..], b"I\xff\xff\xff\xff"]),
        (true, 3) => random.pick(&[&b"f\0\0\xc0\x7f"[..], b"f\0\0\x80\xff", b"f\x01\0\0\0"]),
        (true, 4) => random.pick(&[&b"H\0"[..], b"H1aE3\0"]),
        (true, 5) => random.pick(&[&b"Bc\0\0\0\0"[..], b"BS\x02\0\0\0\x01\0\xff\xff"]),
        (true, 6) => b"Bf\x01\0\0\0\0\0\xc0\x7f",
        (true, _) => return [&tag[..], b"Z", &printable(random), b"\0"].concat(),
        (false, 0) => b"HABC\0",
        (false, 1) => b"H0G\0",
        (false, 2) => b"A ",
        (false, 3) => b"A\t",
        (false, 4) => b"Za\tb\0",
        (false, 5) => b"Za\nXX\0",
        (false, 6) => b"Bc\xff\xff\xff\x7f",
        (false, _) => b"Q1",
    };
    [&tag[..], value].concat()
}

/// Bases, some of a genome and some of none.
fn bases(random: &mut Random, genome: &[u8]) -> Vec<u8> {
    let length = random.pick(&[0, 20, 50, 100, 100, 100, 151]);
    if genome.len() <= length || random.percent(20) {
        return (0..length).map(|_| random.pick(b"ACGTN")).collect();
    }
    let start = random.index(genome.len() - length);
    genome[start..start + length].to_vec()
}

/// Qualities from the lowest to the highest that text has.
fn qualities(random: &mut Random, count: usize) -> Vec<u8> {
    (0..count).map(|_| random.between(33, 126) as u8).collect()
}

/// Tags, separated by tabs, none to three.
fn tags(
    random: &mut Random,
    options: &HostileOptions,
    one: fn(&mut Random, bool) -> Vec<u8>,
) -> Vec<Vec<u8>> {
    let count = random.below(4);
    let mut tag = |_| {
        let is_good = !random.percent(options.bad_tags_percent);
        one(random, is_good)
    };
    (0..count).map(&mut tag).collect()
}

/// FASTQ of two files of mates; the first alone is one of single reads. Comments are tags.
#[must_use]
pub fn fastq(random: &mut Random, genome: &[u8], options: &HostileOptions) -> [Vec<u8>; 2] {
    let mut files = [Vec::new(), Vec::new()];
    for number in 0..options.records {
        let is_good = !random.percent(options.bad_names_percent);
        let name = read_name(random, number, is_good);
        for (mate, file) in files.iter_mut().enumerate() {
            let bases = bases(random, genome);
            let qualities = qualities(random, bases.len());
            let comment = tags(random, options, tag_text).join(&b'\t');
            let slash = if number % 3 == 0 { format!("/{}", mate + 1) } else { String::new() };
            let blank: &[u8] = if comment.is_empty() { b"" } else { b" " };
            for part in [b"@", &name[..], slash.as_bytes(), blank, &comment] {
                file.extend_from_slice(part);
            }
            for part in [b"\n", &bases[..], b"\n+\n", &qualities, b"\n"] {
                file.extend_from_slice(part);
            }
        }
    }
    files
}

/// Lines of a SAM header with these sequences: other lines are as odd as readers take them.
#[must_use]
pub fn header(random: &mut Random, sequences: &[(&str, usize)]) -> Vec<u8> {
    let mut text = b"@HD\tVN:1.6\tSO:unsorted\tGO:query\n".to_vec();
    for (name, length) in sequences {
        text.extend_from_slice(format!("@SQ\tSN:{name}\tLN:{length}\n").as_bytes());
    }
    let groups: [&[u8]; 4] =
        [b"@RG\tID:a\tSM:s", b"@RG\tID:lane 1", "@RG\tID:gr\u{fc}n\tDS:".as_bytes(), b"@RG\tID:@"];
    let others: [&[u8]; 4] =
        [b"@CO\tfree \t\ttext \xff\x01", b"@CO", b"@PG\tID:p\tCL:x\tID:q", b"@PG\tID:p.1\tPP:p"];
    for line in groups.iter().chain(&others) {
        if random.percent(60) {
            text.extend_from_slice(line);
            text.push(b'\n');
        }
    }
    text
}

/// A record, before it is text or bytes.
struct Record {
    name: Vec<u8>,
    flags: u16,
    /// Index of the sequence and 0-based position.
    place: Option<(usize, usize)>,
    mapping_quality: u8,
    /// Length and operation, as its letter.
    cigar: Vec<(usize, u8)>,
    bases: Vec<u8>,
    qualities: Option<Vec<u8>>,
}

impl Record {
    fn new(
        random: &mut Random,
        number: usize,
        sequences: &[(&str, usize)],
        options: &HostileOptions,
    ) -> Self {
        let is_good = !random.percent(options.bad_names_percent);
        let mut name = read_name(random, number, is_good);
        // What a byte cannot count is no name in BAM.
        name.truncate(254);
        let bases: Vec<u8> = bases(random, b"");
        let is_mapped = !bases.is_empty() && random.percent(70);
        let sequence = random.index(sequences.len());
        let room = sequences.get(sequence).map_or(0, |it| it.1).saturating_sub(200).max(1);
        let qualities = random.percent(80).then(|| qualities(random, bases.len()));
        Self {
            name,
            flags: if is_mapped { random.pick(&[0, 16, 1024, 512]) } else { 4 },
            place: is_mapped.then(|| (sequence, random.index(room))),
            mapping_quality: random.next_u64() as u8,
            cigar: if is_mapped { vec![(bases.len(), random.pick(b"M=XSI"))] } else { Vec::new() },
            qualities: qualities.filter(|it| !it.is_empty()),
            bases,
        }
    }

    fn line(&self, sequences: &[(&str, usize)], tags: &[Vec<u8>]) -> Vec<u8> {
        let cigar: String =
            self.cigar.iter().map(|(len, op)| format!("{len}{}", char::from(*op))).collect();
        let star = |text: &[u8]| if text.is_empty() { b"*".to_vec() } else { text.to_vec() };
        let place = self.place.map(|(sequence, position)| (sequences[sequence].0, position + 1));
        let (sequence, position) = place.unwrap_or(("*", 0));
        let fields = [
            self.name.clone(),
            format!("{}\t{sequence}\t{position}", self.flags).into(),
            self.mapping_quality.to_string().into(),
            star(cigar.as_bytes()),
            b"*\t0\t0".to_vec(),
            star(&self.bases),
            star(self.qualities.as_deref().unwrap_or_default()),
        ];
        let mut line = fields.iter().chain(tags).cloned().collect::<Vec<_>>().join(&b'\t');
        line.push(b'\n');
        line
    }

    /// Preceded by its size.
    fn framed(&self, tags: &[Vec<u8>]) -> Vec<u8> {
        const LETTERS: &[u8] = b"=ACMGRSVTWYHKDBN";
        const OPERATIONS: &[u8] = b"MIDNSHP=X";
        let index = |letters: &[u8], it: u8| letters.iter().position(|&letter| letter == it);
        let (sequence, position) =
            self.place.map_or((-1, -1), |(sequence, position)| (sequence as i32, position as i32));
        let mut body = [sequence.to_le_bytes(), position.to_le_bytes()].concat();
        body.extend_from_slice(&[self.name.len() as u8 + 1, self.mapping_quality, 0, 0]);
        body.extend_from_slice(&(self.cigar.len() as u16).to_le_bytes());
        body.extend_from_slice(&self.flags.to_le_bytes());
        body.extend_from_slice(&(self.bases.len() as u32).to_le_bytes());
        body.extend_from_slice(&[0xff; 8]);
        body.extend_from_slice(&[0; 4]);
        body.extend_from_slice(&self.name);
        body.push(0);
        for &(length, letter) in &self.cigar {
            let code = index(OPERATIONS, letter).unwrap_or_default();
            body.extend_from_slice(&((length << 4 | code) as u32).to_le_bytes());
        }
        let codes: Vec<u8> =
            self.bases.iter().map(|&it| index(LETTERS, it).unwrap_or(15) as u8).collect();
        body.extend(codes.chunks(2).map(|two| two[0] << 4 | two.get(1).copied().unwrap_or(0)));
        match &self.qualities {
            Some(qualities) => body.extend(qualities.iter().map(|it| it - 33)),
            None => body.resize(body.len() + self.bases.len(), 0xff),
        }
        tags.iter().for_each(|tag| body.extend_from_slice(tag));
        [&(body.len() as u32).to_le_bytes()[..], &body].concat()
    }
}

/// SAM text: the header and single reads, some aligned.
#[must_use]
pub fn sam(random: &mut Random, sequences: &[(&str, usize)], options: &HostileOptions) -> Vec<u8> {
    let mut text = header(random, sequences);
    for number in 0..options.records {
        let record = Record::new(random, number, sequences, options);
        let tags = tags(random, options, tag_text);
        text.extend_from_slice(&record.line(sequences, &tags));
    }
    text
}

/// BAM, not compressed: the header and single reads, some aligned.
#[must_use]
pub fn bam(random: &mut Random, sequences: &[(&str, usize)], options: &HostileOptions) -> Vec<u8> {
    let text = header(random, sequences);
    let mut bytes = b"BAM\x01".to_vec();
    bytes.extend_from_slice(&(text.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&text);
    bytes.extend_from_slice(&(sequences.len() as u32).to_le_bytes());
    for (name, length) in sequences {
        bytes.extend_from_slice(&(name.len() as u32 + 1).to_le_bytes());
        bytes.extend_from_slice(name.as_bytes());
        bytes.push(0);
        bytes.extend_from_slice(&(*length as u32).to_le_bytes());
    }
    for number in 0..options.records {
        let record = Record::new(random, number, sequences, options);
        let tags = tags(random, options, tag_bytes);
        bytes.extend_from_slice(&record.framed(&tags));
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_a_file_and_bad_ones_are_requested() {
        let make = |seed, bad| {
            let options =
                HostileOptions { records: 50, bad_names_percent: bad, bad_tags_percent: bad };
            let mut random = Random::new(seed);
            let sequences = [("c1", 1000), (ODD_SEQUENCES[0], 500)];
            let [first, second] = fastq(&mut random, &b"ACGT".repeat(100), &options);
            let sam = sam(&mut random, &sequences, &options);
            [first, second, sam, bam(&mut random, &sequences, &options)]
        };
        assert_eq!(make(1, 50), make(1, 50));
        assert_ne!(make(1, 50), make(2, 50));
        let [first, second, sam, _] = make(3, 0);
        for file in [&first, &second] {
            assert_eq!(file.iter().filter(|&&byte| byte == b'\n').count(), 200);
        }
        let names = first.split(|&byte| byte == b'\n').step_by(4).filter(|it| !it.is_empty());
        assert!(
            names
                .clone()
                .all(|it| it[0] == b'@'
                    && it.iter().skip(1).all(|&b| b != b'@' || it.contains(&b' ')))
        );
        assert_eq!(names.count(), 50);
        assert!(sam.starts_with(b"@HD") && sam.ends_with(b"\n"));
    }
}
