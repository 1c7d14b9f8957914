//! Pore models: the current level that each k-mer is expected to give.
//!
//! K-mers are numbered by their letters in the order of the alphabet, the first letter most
//! significant, so a model is two arrays.

/// Letters that k-mers are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alphabet {
    /// `ACGT`.
    Nucleotide,
    /// `ACGMT`, where M is 5-methylcytosine in a CpG.
    Cpg,
}

impl Alphabet {
    /// Its letters, in the order of their ranks.
    #[must_use]
    pub const fn letters(self) -> &'static [u8] {
        match self {
            Self::Nucleotide => b"ACGT",
            Self::Cpg => b"ACGMT",
        }
    }
}

/// Expected levels of all k-mers.
#[derive(Debug, Clone, PartialEq)]
pub struct PoreModel {
    /// Its name, as the file or table gives it.
    pub name: String,
    /// Letters of its k-mers.
    pub alphabet: Alphabet,
    /// Letters per k-mer.
    pub kmer_length: usize,
    /// Mean level by k-mer rank, in picoampere.
    pub level_mean_pa: Vec<f32>,
    /// Standard deviation of the level by k-mer rank, in picoampere.
    pub level_stdv_pa: Vec<f32>,
    /// Natural logarithm of the latter.
    pub level_log_stdv: Vec<f32>,
}
