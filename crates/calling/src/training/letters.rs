//! Ranks of k-mers with and without M.

use crate::Motif;
use crate::pore_model::Alphabet;

/// K-mers of a model in [`Alphabet::Methylated`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Letters {
    /// Motif of M.
    pub(super) motif: Motif,
    /// Letters of a k-mer.
    pub(super) kmer_length: usize,
}

impl Letters {
    /// Puts the letters of a k-mer in `kmer`.
    pub(super) fn of(self, rank: usize, kmer: &mut Vec<u8>) {
        kmer.clear();
        Alphabet::Methylated.append_kmer(rank, self.kmer_length, kmer);
    }

    /// Rank of the k-mer with bare bases in place of M.
    fn bare_in(self, rank: usize, alphabet: Alphabet) -> usize {
        let (from, to) = (Alphabet::Methylated.letters(), alphabet.letters());
        let (mut rest, mut weight, mut out) = (rank, 1, 0);
        for _ in 0..self.kmer_length {
            let letter = from[rest % from.len()];
            let bare = if letter == b'M' { self.motif.base() } else { letter };
            out += weight * usize::from(alphabet.rank(bare).unwrap_or(0));
            weight *= to.len();
            rest /= from.len();
        }
        out
    }

    /// Its rank among k-mers of the four bases, the bare base for M.
    pub(super) fn among_four(self, rank: usize) -> usize {
        self.bare_in(rank, Alphabet::Nucleotide)
    }

    /// The rank of the same k-mer without M.
    pub(super) fn without(self, rank: usize) -> usize {
        self.bare_in(rank, Alphabet::Methylated)
    }

    fn rows(self) -> usize {
        Alphabet::Methylated.rows(self.kmer_length).unwrap_or(0)
    }

    /// All k-mers without M.
    pub(super) fn bare(self) -> Vec<usize> {
        (0..self.rows()).filter(|&rank| self.without(rank) == rank).collect()
    }

    /// All k-mers with M, where each M is at a site of the motif as far as the k-mer shows.
    pub(super) fn methylated(self) -> Vec<usize> {
        let mut kmer = Vec::with_capacity(self.kmer_length);
        let mut is_methylated = |&rank: &usize| {
            self.of(rank, &mut kmer);
            kmer.contains(&b'M') && self.motif.fits(&kmer)
        };
        (0..self.rows()).filter(|rank| is_methylated(rank)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kmers(letters: Letters, ranks: &[usize]) -> Vec<String> {
        let mut kmer = Vec::new();
        let text = |&rank: &usize| {
            letters.of(rank, &mut kmer);
            String::from_utf8(kmer.clone()).unwrap()
        };
        ranks.iter().map(text).collect()
    }

    #[test]
    fn kmers_with_m_are_those_of_the_motif() {
        let t = |motif, expected: &[&str]| {
            let letters = Letters { motif, kmer_length: 2 };
            assert_eq!(kmers(letters, &letters.methylated()), expected, "{motif}");
            assert_eq!(letters.bare().len(), 16);
        };
        t(Motif::Cpg, &["AM", "CM", "GM", "MG", "TM"]);
        t(Motif::Gpc, &["GM", "MA", "MC", "MG", "MT"]);
        t(Motif::Dam, &["GM", "MT"]);
        t(Motif::Dcm, &["CM", "MA", "MT"]);
    }

    #[test]
    fn m_is_the_bare_base_again() {
        let t = |motif, methylated: &[u8], bare: &[u8]| {
            let letters = Letters { motif, kmer_length: methylated.len() };
            let rank = |kmer: &[u8], alphabet: Alphabet| {
                let size = alphabet.letters().len();
                let digit = |letter: &u8| usize::from(alphabet.rank(*letter).unwrap());
                kmer.iter().fold(0, |rank, letter| rank * size + digit(letter))
            };
            let five = rank(methylated, Alphabet::Methylated);
            assert_eq!(letters.without(five), rank(bare, Alphabet::Methylated));
            assert_eq!(letters.among_four(five), rank(bare, Alphabet::Nucleotide));
        };
        t(Motif::Cpg, b"TMGTAM", b"TCGTAC");
        t(Motif::Dam, b"GMTCAG", b"GATCAG");
        t(Motif::Dcm, b"ACCTGG", b"ACCTGG");
    }
}
