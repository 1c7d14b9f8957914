//! What a caller needs a model to be.

use super::chemistry::Chemistry;
use super::{Alphabet, ModelError, PoreModel};

/// What a model must be; `None` where anything will do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ModelRequest {
    /// Its letters.
    pub alphabet: Option<Alphabet>,
    /// Letters of its k-mers.
    pub kmer_length: Option<usize>,
    /// Its chemistry. Compared only where the file names one: many models do not.
    pub chemistry: Option<Chemistry>,
}

impl ModelRequest {
    /// Whether the model, whose file calls itself `names`, is what is requested.
    pub(super) fn check<'a>(
        &self,
        model: &PoreModel,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Result<(), ModelError> {
        if let Some(required) = self.alphabet.filter(|&it| it != model.alphabet) {
            return Err(ModelError::WrongAlphabet { found: model.alphabet, required });
        }
        if let Some(required) = self.kmer_length.filter(|&it| it != model.kmer_length) {
            return Err(ModelError::WrongKmerLength { found: model.kmer_length, required });
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
