//! What can be wrong with a model.

use super::{Alphabet, Chemistry};
use crate::Motif;

/// A model that cannot be used, and where its file says so. Lines count from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// No model has k-mers of that length, or its table would be too large.
    #[error(
        "k-mers of {kmer_length} letters are not supported; a model has at most 16,777,216 rows"
    )]
    KmerLength {
        /// Letters of a k-mer.
        kmer_length: usize,
    },
    /// A table is not complete, or longer than that.
    #[error("{found} levels where {expected} {kmer_length}-mers need one each")]
    Rows {
        /// Rows that the table has.
        found: usize,
        /// K-mers.
        expected: usize,
        /// Letters of each.
        kmer_length: usize,
    },
    /// A level is not a number, or a deviation not above 0.
    #[error("the level of '{kmer}' is not finite, or its standard deviation is not above 0")]
    Level {
        /// The k-mer.
        kmer: String,
    },
    /// A line of a text cannot be read.
    #[error("line {line}: {defect}")]
    Line {
        /// Its number.
        line: usize,
        /// The problem.
        defect: LineDefect,
    },
    /// A text ends without some of its k-mers.
    #[error(
        "{missing} of {expected} {kmer_length}-mers are missing, the first is '{first}'; \
         the text ends with line {line}"
    )]
    Missing {
        /// How many.
        missing: usize,
        /// Of how many.
        expected: usize,
        /// Letters of each.
        kmer_length: usize,
        /// The first one.
        first: String,
        /// The last line.
        line: usize,
    },
    /// The model is not for what is to be done.
    #[error("the model has {found}-mers, but {required}-mers are needed")]
    WrongKmerLength {
        /// Letters of its k-mers.
        found: usize,
        /// Requested value.
        required: usize,
    },
    /// The model has other letters.
    #[error("the model's alphabet is {found:?}, but {required:?} is needed")]
    WrongAlphabet {
        /// Its letters.
        found: Alphabet,
        /// Requested value.
        required: Alphabet,
    },
    /// The model is of another motif.
    #[error(
        "the model is for methylation in {found} (#alphabet {}), but that in {required} is called; \
         a model with '#alphabet {}' is needed",
        found.name(), required.name()
    )]
    WrongMotif {
        /// Motif of its M.
        found: Motif,
        /// Requested motif.
        required: Motif,
    },
    /// The model is of another chemistry.
    #[error("the model is for {found} ('{text}'), but {required} is needed")]
    WrongChemistry {
        /// Chemistry of the model.
        found: Chemistry,
        /// Line with the chemistry.
        text: String,
        /// Requested value.
        required: Chemistry,
    },
    /// Not a file of arrays, or a damaged one.
    #[error("not a usable .npz file: {0}")]
    Archive(&'static str),
    /// An array is not what it must be.
    #[error("array '{array}': {why}")]
    Array {
        /// Its name.
        array: &'static str,
        /// The problem.
        why: &'static str,
    },
}

/// Why a line of a model in text is malformed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineDefect {
    /// A k-mer and two numbers are the least.
    #[error("{0} columns; a k-mer, its level and a standard deviation are the least")]
    Columns(usize),
    /// A letter that is in no alphabet.
    #[error("'{0}' is not a k-mer of A, C, G, T, U and M")]
    Letters(String),
    /// Another k-mer than the lines before it.
    #[error("'{kmer}' is not {expected} letters long")]
    Length {
        /// As written.
        kmer: String,
        /// Letters of the others, or as `#k` says.
        expected: usize,
    },
    /// A k-mer that was there before.
    #[error("'{kmer}' is already on line {first}")]
    Duplicate {
        /// As written.
        kmer: String,
        /// Line of its first occurrence.
        first: usize,
    },
    /// No number, or one that cannot be a level.
    #[error("'{0}' is not a usable number for this column")]
    Number(String),
    /// A comment that says something that cannot be.
    #[error("#{key} says '{value}'; {hint}")]
    Header {
        /// Its key.
        key: &'static str,
        /// As written.
        value: String,
        /// What to do, in words that end the message.
        hint: &'static str,
    },
}
