//! A reference in memory: packed bases, sequences, holes. Made from FASTA as bwa makes its own.

use seqloom_format::fasta::FastaSink;

use super::packed::{CODE, Packed};

/// The seed of the bases that replace ambiguous ones; bwa writes it into `.ann`.
pub(crate) const SEED: u32 = 11;

/// One sequence.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Sequence {
    pub(crate) name: Vec<u8>,
    /// Empty when the FASTA gave none.
    pub(crate) comment: Vec<u8>,
    /// First base in the concatenation.
    pub(crate) offset: u64,
    pub(crate) length: u64,
    pub(crate) holes: u64,
}

/// A run of one ambiguous byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hole {
    /// First base in the concatenation.
    pub(crate) offset: u64,
    /// At most the length of a sequence, which the FASTA parser keeps below 2^31.
    pub(crate) length: u32,
    pub(crate) byte: u8,
}

/// All of a FASTA that the index needs.
#[derive(Debug)]
pub(crate) struct Reference {
    pub(crate) packed: Packed,
    pub(crate) sequences: Vec<Sequence>,
    pub(crate) holes: Vec<Hole>,
    random: Lrand48,
    /// The ambiguous byte that the last base was, if it was one: its hole can grow.
    open_hole: Option<u8>,
    names_bytes: u64,
}

impl Reference {
    pub(crate) fn new() -> Self {
        Self {
            packed: Packed::default(),
            sequences: Vec::new(),
            holes: Vec::new(),
            random: Lrand48::new(SEED),
            open_hole: None,
            names_bytes: 0,
        }
    }

    /// Memory of sequences and holes, names counted twice (the duplicate search has its own).
    pub(crate) fn annotation_bytes(&self) -> u64 {
        let sequences = self.sequences.capacity() * (size_of::<Sequence>() + 64);
        let holes = self.holes.capacity() * size_of::<Hole>();
        (sequences + holes) as u64 + 2 * self.names_bytes
    }

    /// Gives spare capacity back.
    pub(crate) fn shrink(&mut self) {
        self.packed.shrink();
        self.sequences.shrink_to_fit();
        self.holes.shrink_to_fit();
    }

    /// Gives the bases back and only counts those that follow: they do not fit, but how many they
    /// are says what would.
    pub(crate) fn only_count(&mut self) {
        self.packed.only_count();
    }

    /// Records an ambiguous byte and draws the base that stands for it.
    fn ambiguous(&mut self, byte: u8) -> u8 {
        match self.holes.last_mut() {
            Some(hole) if self.open_hole == Some(byte) => hole.length += 1,
            _ => {
                self.holes.push(Hole { offset: self.packed.bases(), length: 1, byte });
                if let Some(sequence) = self.sequences.last_mut() {
                    sequence.holes += 1;
                }
            }
        }
        self.open_hole = Some(byte);
        (self.random.next() & 3) as u8
    }
}

impl FastaSink for Reference {
    fn record(&mut self, name: &[u8], comment: &[u8]) {
        self.open_hole = None;
        self.names_bytes += (name.len() + comment.len()) as u64;
        self.sequences.push(Sequence {
            name: name.to_vec(),
            comment: comment.to_vec(),
            offset: self.packed.bases(),
            length: 0,
            holes: 0,
        });
    }

    fn bases(&mut self, bases: &[u8]) {
        for &base in bases {
            let code = CODE[usize::from(base)];
            if code < 4 {
                self.open_hole = None;
                self.packed.push(code);
            } else {
                let drawn = self.ambiguous(base);
                self.packed.push(drawn);
            }
        }
        if let Some(sequence) = self.sequences.last_mut() {
            sequence.length += bases.len() as u64;
        }
    }
}

/// The generator of POSIX `srand48`/`lrand48` (POSIX.1-2017, drand48).
#[derive(Debug)]
struct Lrand48(u64);

impl Lrand48 {
    fn new(seed: u32) -> Self {
        Self((u64::from(seed) << 16) | 0x330E)
    }

    /// The next number, 31 bits.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(0x5_DEEC_E66D).wrapping_add(0xB) & ((1 << 48) - 1);
        self.0 >> 17
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_are_runs_of_one_byte_within_a_sequence() {
        let mut reference = Reference::new();
        reference.record(b"a", b"");
        reference.bases(b"NNn");
        reference.bases(b"nRYRRAN");
        reference.record(b"b", b"x");
        reference.bases(b"NC");
        let holes: Vec<_> = reference.holes.iter().map(|h| (h.offset, h.length, h.byte)).collect();
        let expected = [
            (0, 2, b'N'),
            (2, 2, b'n'),
            (4, 1, b'R'),
            (5, 1, b'Y'),
            (6, 2, b'R'),
            (9, 1, b'N'),
            (10, 1, b'N'),
        ];
        assert_eq!(holes, expected);
        let sequences: Vec<_> =
            reference.sequences.iter().map(|s| (s.offset, s.length, s.holes)).collect();
        assert_eq!(sequences, [(0, 10, 6), (10, 2, 1)]);
    }

    #[test]
    fn lrand48_is_the_c_library_s() {
        // What glibc 2.36 answers to srand48(11) and three calls of lrand48().
        let mut random = Lrand48::new(11);
        let drawn = [random.next(), random.next(), random.next()];
        assert_eq!(drawn, [1_609_868_485, 1_074_594_562, 470_884_846]);
    }
}
