//! Which pore model reads are aligned with: that of the program, or of a file, and whether it is
//! for the chemistry that the signal was made with.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use seqloom_calling::flow::Kit;
use seqloom_calling::pore_model::ModelError;
use seqloom_calling::pore_model::{
    Alphabet, Chemistry, ModelRequest, PoreModel, builtin, text, uncalled4,
};
use seqloom_terminal::error::Bug;
use seqloom_terminal::error::UnusableFile;

use super::error::PassError;

/// What a kit is for: f5c's rules, by `experiment_type` and `sequencing_kit`; and what went through
/// a flow cell of R10 or for RNA004, whatever the kit.
fn chemistry_of(kit: &Kit) -> Option<Chemistry> {
    let (name, cell) = (&kit.sequencing_kit, &kit.flow_cell);
    let has_cell = |codes: &[&str]| codes.iter().any(|code| cell.contains(code));
    match () {
        () if has_cell(&["004ra"]) => Some(Chemistry::Rna004),
        () if has_cell(&["111", "112", "114"]) => Some(Chemistry::R10Dna),
        () if name.is_empty() && kit.experiment_type.is_empty() => None,
        () if name.contains("rna004") => Some(Chemistry::Rna004),
        // A kit of cDNA, whose files say "rna" (nanopolish's rule, too).
        () if name.contains("dcs108") => Some(Chemistry::R9Dna),
        () if name.contains("rna") || kit.experiment_type.ends_with("rna") => {
            Some(Chemistry::R9Rna)
        }
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

/// A model that was given.
#[derive(Debug, Clone, Copy)]
pub(super) struct GivenModel<'a> {
    /// Its file.
    pub(super) path: &'a Path,
    /// Standard deviation of its levels, if it has none.
    pub(super) stdv_pa: Option<f64>,
}

/// Molecules that a command takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Molecules {
    /// DNA only; what is done with it.
    Dna(&'static str),
    /// RNA, too; the user says that it is.
    Any { is_rna: bool },
}

/// The model that reads are aligned with, and whether they are RNA. The chemistry of the model must
/// be that of the signal, where both are known.
pub(super) fn nucleotide_model(
    given: Option<GivenModel<'_>>,
    chemistry_and_file: Option<&(Chemistry, PathBuf)>,
    takes: Molecules,
) -> seqloom_terminal::Result<(PoreModel, bool)> {
    let found = chemistry_and_file.map(|(chemistry, _)| *chemistry);
    if let Some((chemistry, of)) = chemistry_and_file {
        let of = of.display();
        let text = match takes {
            Molecules::Dna(what) if chemistry.is_rna() => {
                format!("{of}: the signal is {chemistry}; {what} of DNA only")
            }
            Molecules::Any { is_rna: true } if !chemistry.is_rna() => {
                format!("{of}: the signal is {chemistry}, but --rna says that it is RNA")
            }
            _ => String::new(),
        };
        if !text.is_empty() {
            return Err(PassError::Input(text).into());
        }
    }
    let is_said = takes == Molecules::Any { is_rna: true };
    if let Some(GivenModel { path, stdv_pa }) = given {
        let request = ModelRequest {
            alphabet: Some(Alphabet::Nucleotide),
            motif: None,
            kmer_length: None,
            chemistry: found,
        };
        let model = load_model(path, stdv_pa, &request)?;
        let of_model = model.chemistry.map(Chemistry::is_rna);
        let is_rna = found.map_or(is_said || of_model == Some(true), Chemistry::is_rna);
        let is_other = of_model.is_some_and(|of_model| of_model != is_rna);
        if is_other || (is_rna && matches!(takes, Molecules::Dna(_))) {
            let (path, what) = (path.display(), if is_rna { "RNA" } else { "DNA" });
            let text =
                format!("{path}: the model is not for the signal, which is taken for {what}");
            return Err(PassError::Input(text).into());
        }
        return Ok((model, is_rna));
    }
    let model = match found {
        Some(Chemistry::R9Rna) => builtin::r9_4_1_rna(),
        None if is_said => builtin::r9_4_1_rna(),
        Some(Chemistry::R9Dna) | None => builtin::r9_4_1_nucleotide(),
        Some(chemistry @ (Chemistry::R10Dna | Chemistry::Rna004)) => {
            let of = chemistry_and_file.map(|(_, of)| of.display().to_string());
            let text = format!(
                "{}: the signal is {chemistry}, and the models that come with the program are for \
                 {} and {}; give one with --kmer-model, for instance {}",
                of.unwrap_or_default(),
                Chemistry::R9Dna,
                Chemistry::R9Rna,
                table_of(chemistry),
            );
            return Err(PassError::Input(text).into());
        }
    };
    let is_rna = is_said || found.is_some_and(Chemistry::is_rna);
    Ok((model.map_err(bad_builtin)?, is_rna))
}

/// A published table for a chemistry whose model does not come with the program.
fn table_of(chemistry: Chemistry) -> &'static str {
    match chemistry {
        Chemistry::R10Dna => "Uncalled4's dna_r10.4.1_400bps_9mer.npz",
        Chemistry::Rna004 => "f5c's rna004.nucleotide.5mer.model",
        Chemistry::R9Dna | Chemistry::R9Rna => "nanopolish's",
    }
}

/// Reads a model from a file: an archive of arrays as Uncalled4 publishes them, by its first bytes,
/// or text.
pub(super) fn load_model(
    path: &Path,
    missing_stdv_pa: Option<f64>,
    request: &ModelRequest,
) -> seqloom_terminal::Result<PoreModel> {
    let bytes = std::fs::read(path).map_err(|error| UnusableFile::read(path, &error))?;
    let model = match bytes.starts_with(b"PK") {
        true => uncalled4::parse(&bytes, missing_stdv_pa, request),
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
    fn kits_tell_the_chemistry() {
        let with_cell = |kind: &str, kit: &str, cell: &str, expected| {
            let (experiment_type, sequencing_kit) = (kind.into(), kit.into());
            let kit = Kit { experiment_type, sequencing_kit, flow_cell: cell.into() };
            assert_eq!(chemistry_of(&kit), expected, "{kit:?}");
        };
        let t = |kind: &str, kit: &str, expected| with_cell(kind, kit, "", expected);
        with_cell("", "", "flo-min114", Some(Chemistry::R10Dna));
        with_cell("genomic_dna", "sqk-lsk109", "flo-min111", Some(Chemistry::R10Dna));
        with_cell("genomic_dna", "sqk-lsk109", "flo-min106", Some(Chemistry::R9Dna));
        with_cell("rna", "sqk-rna002", "flo-min106", Some(Chemistry::R9Rna));
        with_cell("", "", "flo-pro004ra", Some(Chemistry::Rna004));
        with_cell("", "", "flo-min106", None);
        t("", "", None);
        t("genomic_dna", "sqk-lsk109", Some(Chemistry::R9Dna));
        t("genomic_dna", "", Some(Chemistry::R9Dna));
        t("genomic_dna", "sqk-lsk114-xl", Some(Chemistry::R10Dna));
        t("rna", "", Some(Chemistry::R9Rna));
        t("", "sqk-rna002", Some(Chemistry::R9Rna));
        t("rna", "sqk-rna004", Some(Chemistry::Rna004));
        t("internal_rna", "", Some(Chemistry::R9Rna));
        t("rna", "sqk-dcs108", Some(Chemistry::R9Dna));
    }
}
