//! Pore models: the current level that each k-mer is expected to give.
//!
//! K-mers are numbered by their letters in the order of the alphabet, the first letter most
//! significant, so a model is two arrays. Models come from three kinds of file ([`text`],
//! [`uncalled4`]) or are [built in](builtin).

pub mod builtin;
mod chemistry;
mod error;
mod kmer;
mod request;
pub mod text;
pub mod uncalled4;

pub use chemistry::Chemistry;
pub use error::ModelError;
pub(crate) use kmer::KmerRanks;
pub use request::ModelRequest;

/// Most rows a model may have: 4^12, or 5^10 and a half. The largest in use has 5^9.
pub(crate) const MAX_ROWS: usize = 1 << 24;

/// Letters that k-mers are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alphabet {
    /// `ACGT`.
    Nucleotide,
    /// `ACGMT`, where M is the methylated base of a [`Motif`](crate::Motif).
    Methylated,
}

impl Alphabet {
    /// Its letters, in the order of their ranks.
    #[must_use]
    pub(crate) const fn letters(self) -> &'static [u8] {
        match self {
            Self::Nucleotide => b"ACGT",
            Self::Methylated => b"ACGMT",
        }
    }

    /// Rank of a letter, in either case, U as T; `None` for any other byte.
    #[must_use]
    pub(crate) const fn rank(self, letter: u8) -> Option<u8> {
        match (self, letter.to_ascii_uppercase()) {
            (_, b'A') => Some(0),
            (_, b'C') => Some(1),
            (_, b'G') => Some(2),
            (Self::Nucleotide, b'T' | b'U') | (Self::Methylated, b'M') => Some(3),
            (Self::Methylated, b'T' | b'U') => Some(4),
            _ => None,
        }
    }

    /// Number of k-mers of `kmer_length` letters; `None` above [`MAX_ROWS`] or for no letters.
    #[must_use]
    pub fn rows(self, kmer_length: usize) -> Option<usize> {
        let rows = self.letters().len().checked_pow(u32::try_from(kmer_length).ok()?)?;
        (kmer_length > 0 && rows <= MAX_ROWS).then_some(rows)
    }

    /// Letters of the k-mer of a rank, appended to `out`.
    pub fn append_kmer(self, rank: usize, kmer_length: usize, out: &mut Vec<u8>) {
        let letters = self.letters();
        let start = out.len();
        let mut rest = rank;
        for _ in 0..kmer_length {
            out.push(letters[rest % letters.len()]);
            rest /= letters.len();
        }
        out[start..].reverse();
    }
}

/// Expected levels of all k-mers.
#[derive(Debug, Clone, PartialEq)]
pub struct PoreModel {
    /// Its name, as the file or table gives it.
    pub name: String,
    /// Its chemistry, where its file says so.
    pub chemistry: Option<Chemistry>,
    /// Letters of its k-mers.
    pub alphabet: Alphabet,
    /// Letters per k-mer.
    pub kmer_length: usize,
    /// Mean level by k-mer rank, in picoampere.
    pub level_mean_pa: Vec<f64>,
    /// Standard deviation of the level by k-mer rank, in picoampere.
    pub level_stdv_pa: Vec<f64>,
    /// Natural logarithm of the latter.
    pub level_log_stdv: Vec<f64>,
}

impl PoreModel {
    /// A model of these levels.
    ///
    /// # Errors
    /// [`ModelError::Rows`] when the arrays are not as long as there are k-mers, and
    /// [`ModelError::Level`] for a level that is not finite or a deviation that is not positive.
    pub(crate) fn new(
        name: String,
        alphabet: Alphabet,
        kmer_length: usize,
        level_mean_pa: Vec<f64>,
        level_stdv_pa: Vec<f64>,
    ) -> Result<Self, ModelError> {
        let rows = alphabet.rows(kmer_length).ok_or(ModelError::KmerLength { kmer_length })?;
        for found in [level_mean_pa.len(), level_stdv_pa.len()] {
            if found != rows {
                return Err(ModelError::Rows { found, expected: rows, kmer_length });
            }
        }
        let is_bad = |(&mean, &stdv): (&f64, &f64)| !(mean.is_finite() && is_deviation(stdv));
        if let Some(rank) = level_mean_pa.iter().zip(&level_stdv_pa).position(is_bad) {
            let mut kmer = Vec::new();
            alphabet.append_kmer(rank, kmer_length, &mut kmer);
            return Err(ModelError::Level { kmer: String::from_utf8_lossy(&kmer).into_owned() });
        }
        let level_log_stdv = level_stdv_pa.iter().map(|stdv| stdv.ln()).collect();
        Ok(Self {
            name,
            chemistry: None,
            alphabet,
            kmer_length,
            level_mean_pa,
            level_stdv_pa,
            level_log_stdv,
        })
    }

    /// Number of k-mers.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.level_mean_pa.len()
    }

    /// Rank of the k-mer at the start of `bases`, other letters counted as A (as nanopolish and f5c
    /// count them); `None` if they are too few.
    #[must_use]
    pub fn rank(&self, bases: &[u8]) -> Option<usize> {
        let size = self.alphabet.letters().len();
        let kmer = bases.get(..self.kmer_length)?;
        let letter = |&base| usize::from(self.alphabet.rank(base).unwrap_or(0));
        Some(kmer.iter().fold(0, |rank, base| rank * size + letter(base)))
    }

    /// Ranks of all k-mers of a sequence, one after the other.
    #[must_use]
    pub fn ranks<'a>(&self, bases: &'a [u8]) -> KmerRanks<'a> {
        KmerRanks::new(self.alphabet, self.kmer_length, bases)
    }
}

/// Whether a standard deviation can be divided by.
fn is_deviation(stdv: f64) -> bool {
    stdv.is_normal() && stdv > 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_places_in_the_dictionary() {
        for (alphabet, kmer_length) in [(Alphabet::Nucleotide, 3), (Alphabet::Methylated, 3)] {
            let rows = alphabet.rows(kmer_length).unwrap();
            let levels = vec![1.0; rows];
            let model =
                PoreModel::new(String::new(), alphabet, kmer_length, levels.clone(), levels)
                    .unwrap();
            let mut before = Vec::new();
            for rank in 0..rows {
                let mut kmer = Vec::new();
                alphabet.append_kmer(rank, kmer_length, &mut kmer);
                assert!(kmer > before);
                assert_eq!(model.rank(&kmer), Some(rank));
                assert_eq!(model.rank(&kmer.to_ascii_lowercase()), Some(rank));
                before = kmer;
            }
        }
    }

    #[test]
    fn models_of_the_wrong_shape_are_refused() {
        fn t(kmer_length: usize, means: Vec<f64>, stdvs: Vec<f64>) -> ModelError {
            PoreModel::new(String::new(), Alphabet::Nucleotide, kmer_length, means, stdvs)
                .unwrap_err()
        }
        assert!(matches!(t(0, vec![], vec![]), ModelError::KmerLength { .. }));
        assert!(matches!(t(13, vec![], vec![]), ModelError::KmerLength { .. }));
        assert!(matches!(t(1, vec![1.0; 4], vec![1.0; 3]), ModelError::Rows { .. }));
        let message = t(1, vec![1.0; 4], vec![1.0, 1.0, 0.0, 1.0]).to_string();
        assert!(message.contains("'G'"), "{message}");
        let unbounded = vec![1.0, 1.0, 1.0, f64::INFINITY];
        assert!(matches!(t(1, unbounded, vec![1.0; 4]), ModelError::Level { .. }));
    }
}
