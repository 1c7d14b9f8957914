//! Which pore model reads are aligned with: that of the program, or of a file, and whether it is
//! for the chemistry that the signal was made with.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use seqloom_calling::flow::Kit;
use seqloom_calling::pore_model::ModelError;
use seqloom_calling::pore_model::{
    self, Alphabet, Chemistry, ModelRequest, PoreModel, text, uncalled4,
};
use seqloom_terminal::error::Bug;
use seqloom_terminal::error::InputError;

use super::error::PassError;

/// What a kit is for: f5c's rules, by `experiment_type` and `sequencing_kit`.
fn chemistry_of(kit: &Kit) -> Option<Chemistry> {
    let name = &kit.sequencing_kit;
    match () {
        () if name.is_empty() && kit.experiment_type.is_empty() => None,
        () if name.contains("rna004") => Some(Chemistry::Rna004),
        () if name.contains("rna") || kit.experiment_type == "rna" => Some(Chemistry::R9Rna),
        () if name.contains("114") => Some(Chemistry::R10Dna),
        () => Some(Chemistry::R9Dna),
    }
}

/// The chemistry of all kits that give theirs, with a file that has it.
pub(super) fn one_chemistry(
    kits: &BTreeMap<Kit, PathBuf>,
) -> seqloom_terminal::Result<Option<(Chemistry, PathBuf)>> {
    let mut known: Option<(Chemistry, PathBuf)> = None;
    for (kit, path) in kits {
        let Some(chemistry) = chemistry_of(kit) else { continue };
        match &known {
            Some((other, of)) if *other != chemistry => {
                let text = format!(
                    "the signal is of different chemistries: {other} in {}, {chemistry} in {}; \
                     call them one by one",
                    of.display(),
                    path.display()
                );
                return Err(PassError::Input(text).into());
            }
            _ => known = Some((chemistry, path.clone())),
        }
    }
    Ok(known)
}

/// The model that reads are aligned with; its chemistry must be that of the signal.
pub(super) fn nucleotide_model(
    path: Option<&Path>,
    chemistry: Option<&(Chemistry, PathBuf)>,
) -> seqloom_terminal::Result<PoreModel> {
    let found = chemistry.map(|(chemistry, _)| *chemistry);
    if let Some((chemistry, of)) = chemistry.filter(|(chemistry, _)| chemistry.is_rna()) {
        let text = format!("{}: the signal is {chemistry}; only DNA is called", of.display());
        return Err(PassError::Input(text).into());
    }
    if let Some(path) = path {
        let request = ModelRequest {
            alphabet: Some(Alphabet::Nucleotide),
            motif: None,
            kmer_length: None,
            chemistry: found,
        };
        return load_model(path, &request);
    }
    match chemistry {
        Some((chemistry, of)) if *chemistry != Chemistry::R9Dna => {
            let text = format!(
                "{}: the signal is {chemistry}, and the model that comes with the program is for \
                 {}; give one with --kmer-model",
                of.display(),
                Chemistry::R9Dna
            );
            Err(PassError::Input(text).into())
        }
        _ => pore_model::builtin::r9_4_1_nucleotide().map_err(bad_builtin),
    }
}

/// Reads a model from a file: an archive of arrays as Uncalled4 publishes them, by its first bytes,
/// or text.
pub(super) fn load_model(
    path: &Path,
    request: &ModelRequest,
) -> seqloom_terminal::Result<PoreModel> {
    let bytes = std::fs::read(path).map_err(|error| InputError::read(path, &error))?;
    let model = match bytes.starts_with(b"PK") {
        true => uncalled4::parse(&bytes, None, request),
        false => text::parse(&bytes, request),
    };
    Ok(model.map_err(|error| PassError::Model { path: path.to_owned(), source: error })?)
}

/// Of a model that is part of the program.
pub(super) fn bad_builtin(error: ModelError) -> seqloom_terminal::Error {
    Bug(format!("a built-in model is malformed: {error}")).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kits_show_the_chemistry() {
        let t = |kind: &str, kit: &str, expected| {
            let kit = Kit { experiment_type: kind.into(), sequencing_kit: kit.into() };
            assert_eq!(chemistry_of(&kit), expected);
        };
        t("", "", None);
        t("genomic_dna", "sqk-lsk109", Some(Chemistry::R9Dna));
        t("genomic_dna", "", Some(Chemistry::R9Dna));
        t("genomic_dna", "sqk-lsk114-xl", Some(Chemistry::R10Dna));
        t("rna", "", Some(Chemistry::R9Rna));
        t("", "sqk-rna002", Some(Chemistry::R9Rna));
        t("rna", "sqk-rna004", Some(Chemistry::Rna004));
    }
}
