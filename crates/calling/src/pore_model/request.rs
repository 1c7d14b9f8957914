//! What a caller needs a model to be.

use super::chemistry::Chemistry;
use super::{Alphabet, ModelError, PoreModel};
use crate::Motif;

/// Requirements of a model; `None` where anything will do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ModelRequest {
    /// Its letters.
    pub alphabet: Option<Alphabet>,
    /// What its M stands for. Compared only where the file says so: nanopolish's CpG models do not.
    pub motif: Option<Motif>,
    /// Letters of its k-mers.
    pub kmer_length: Option<usize>,
    /// Its chemistry. Compared only where the file names one: many models do not.
    pub chemistry: Option<Chemistry>,
}

impl ModelRequest {
    /// Whether the model, whose file calls itself `names`, is what is requested. `motif` is what
    /// the file says its M stands for, if it does. Gives the chemistry that the names speak of.
    pub(super) fn check<'a>(
        &self,
        model: &PoreModel,
        motif: Option<Motif>,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Result<Option<Chemistry>, ModelError> {
        if let Some(required) = self.alphabet.filter(|&it| it != model.alphabet) {
            return Err(ModelError::WrongAlphabet { found: model.alphabet, required });
        }
        if let Some(required) = self.kmer_length.filter(|&it| it != model.kmer_length) {
            return Err(ModelError::WrongKmerLength { found: model.kmer_length, required });
        }
        if let (Some(required), Some(found)) = (self.motif, motif)
            && required != found
        {
            return Err(ModelError::WrongMotif { found, required });
        }
        let mut names = names.into_iter();
        let Some((found, text)) = names.find_map(|text| Some((Chemistry::of_name(text)?, text)))
        else {
            return Ok(None);
        };
        match self.chemistry.filter(|&required| required != found) {
            Some(required) => {
                Err(ModelError::WrongChemistry { found, text: text.to_owned(), required })
            }
            None => Ok(Some(found)),
        }
    }
}
