//! Ranks of the k-mers of a sequence, each from the one before it.

use super::Alphabet;

/// Ranks of all k-mers of a sequence, from left to right. Letters that are not in the alphabet
/// count as A, as in nanopolish and f5c.
#[derive(Debug, Clone)]
pub struct KmerRanks<'a> {
    alphabet: Alphabet,
    /// Weight of the first letter of a k-mer.
    first_weight: u32,
    /// The letters after the first k-mer that is still to come, but for its last one.
    rest: &'a [u8],
    /// Rank of the first k-1 letters of the next k-mer.
    head: u32,
}

impl<'a> KmerRanks<'a> {
    /// Over `bases`; no ranks at all if `kmer_length` is not one a model can have.
    #[must_use]
    pub(crate) fn new(alphabet: Alphabet, kmer_length: usize, bases: &'a [u8]) -> Self {
        let size = alphabet.letters().len() as u32;
        let whole = alphabet.rows(kmer_length).filter(|_| bases.len() >= kmer_length);
        let first_weight = whole.map_or(1, |rows| rows as u32 / size);
        let (head, rest) =
            if whole.is_some() { bases.split_at(kmer_length - 1) } else { (bases, &[][..]) };
        let mut ranks = Self { alphabet, first_weight, rest, head: 0 };
        if whole.is_some() {
            ranks.head = head.iter().fold(0, |rank, &base| rank * size + ranks.letter(base));
        }
        ranks
    }

    fn letter(&self, base: u8) -> u32 {
        u32::from(self.alphabet.rank(base).unwrap_or(0))
    }
}

impl Iterator for KmerRanks<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let (&base, rest) = self.rest.split_first()?;
        self.rest = rest;
        let size = self.alphabet.letters().len() as u32;
        let rank = self.head * size + self.letter(base);
        self.head = rank % self.first_weight;
        Some(rank)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.rest.len(), Some(self.rest.len()))
    }
}

impl ExactSizeIterator for KmerRanks<'_> {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::pore_model::PoreModel;

    #[test]
    fn hard_cases() {
        fn t(kmer_length: usize, bases: &[u8], expected: &[u32]) {
            let ranks = KmerRanks::new(Alphabet::Nucleotide, kmer_length, bases);
            assert_eq!(ranks.len(), expected.len());
            assert_eq!(ranks.collect::<Vec<_>>(), expected);
        }
        t(0, b"ACGT", &[]);
        t(13, &[b'T'; 20], &[]);
        t(3, b"AC", &[]);
        t(3, b"", &[]);
        t(3, b"ACG", &[6]);
        t(1, b"ACGTU", &[0, 1, 2, 3, 3]);
        t(2, b"aNtM", &[0, 3, 12]);
        t(12, &[b'T'; 13], &[(1 << 24) - 1; 2]);
    }

    proptest! {
        #[test]
        fn rolling_ranks_are_those_of_each_kmer(
            bases in prop::collection::vec(prop::sample::select(b"ACGTMNacgu".to_vec()), 0..80),
            kmer_length in 1_usize..6,
            cpg: bool,
        ) {
            let alphabet = if cpg { Alphabet::Methylated } else { Alphabet::Nucleotide };
            let levels = vec![1.0; alphabet.rows(kmer_length).unwrap()];
            let model =
                PoreModel::new(String::new(), alphabet, kmer_length, levels.clone(), levels)
                    .unwrap();
            let one_by_one: Vec<_> = (0..bases.len())
                .filter_map(|at| model.rank(&bases[at..]).map(|rank| rank as u32))
                .collect();
            prop_assert_eq!(model.ranks(&bases).collect::<Vec<_>>(), one_by_one);
        }
    }
}
