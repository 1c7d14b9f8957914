//! What a caller needs a model to be.

use super::chemistry::Chemistry;
use super::{Alphabet, ModelError, PoreModel};
use crate::Motif;

/// What a model must be; `None` where anything will do.
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
    /// Whether the model, whose file calls itself `names`, is what is requested. `motif` is what the
    /// file says its M stands for, if it does.
    pub(super) fn check<'a>(
        &self,
        model: &PoreModel,
        motif: Option<Motif>,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Result<(), ModelError> {
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
        let Some(required) = self.chemistry else { return Ok(()) };
        for text in names {
            match Chemistry::of_name(text) {
                Some(found) if found != required => {
                    return Err(ModelError::WrongChemistry {
                        found,
                        text: text.to_owned(),
                        required,
                    });
                }
                Some(_) => return Ok(()),
                None => {}
            }
        }
        Ok(())
    }
}
