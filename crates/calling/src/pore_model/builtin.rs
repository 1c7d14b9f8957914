//! The models that come with the program: R9.4.1 DNA, 6-mers, of four letters, and for each motif
//! of five; R9.4.1 RNA, 5-mers.
//!
//! Tables are little-endian `f64`: the mean levels by rank, then the standard deviations. They were
//! made from nanopolish's text models by `examples/pack_model.rs`, rounded to the five decimals
//! that nanopolish's own built-in models have (its text has six): all values are those of its
//! program, where those of dam and dcm were read, of which there is no text. `tables/NOTICE` names
//! source and licence. Other models, R10.4.1 among them, are read from files.

use super::{Alphabet, Chemistry, ModelError, PoreModel};
use crate::Motif;

/// K-mers of DNA have this many letters.
pub(crate) const KMER_LENGTH: usize = 6;

/// K-mers of RNA.
const RNA_KMER_LENGTH: usize = 5;

static NUCLEOTIDE: &[u8] = include_bytes!("tables/r9.4.1_nucleotide_6mer.f64");
static CPG: &[u8] = include_bytes!("tables/r9.4.1_cpg_6mer.f64");
static RNA: &[u8] = include_bytes!("tables/r9.4.1_rna_5mer.f64");
static GPC: &[u8] = include_bytes!("tables/r9.4.1_gpc_6mer.f64");
static DAM: &[u8] = include_bytes!("tables/r9.4.1_dam_6mer.f64");
static DCM: &[u8] = include_bytes!("tables/r9.4.1_dcm_6mer.f64");

/// R9.4.1 DNA at 450 bases a second, letters ACGT: nanopolish's
/// `r9.4_450bps.nucleotide.6mer.template.model`.
///
/// # Errors
/// None but by a bug: the tables are tested.
pub fn r9_4_1_nucleotide() -> Result<PoreModel, ModelError> {
    unpack("r9.4_450bps.nucleotide.6mer", Chemistry::R9Dna, KMER_LENGTH, NUCLEOTIDE)
}

/// R9.4.1 RNA (RNA001, RNA002) at 70 bases a second, letters ACGT with T for U: nanopolish's
/// `r9.4_70bps.u_to_t_rna.5mer.template.model`.
///
/// # Errors
/// None but by a bug: the tables are tested.
pub fn r9_4_1_rna() -> Result<PoreModel, ModelError> {
    unpack("r9.4_70bps.u_to_t_rna.5mer", Chemistry::R9Rna, RNA_KMER_LENGTH, RNA)
}

/// The same with a motif's methylated base, letters ACGMT: nanopolish's
/// `r9.4_450bps.cpg.6mer.template.model`, and its models of other motifs.
///
/// # Errors
/// None but by a bug: the tables are tested.
pub fn r9_4_1_methylated(motif: Motif) -> Result<PoreModel, ModelError> {
    let table = match motif {
        Motif::Cpg => CPG,
        Motif::Gpc => GPC,
        Motif::Dam => DAM,
        Motif::Dcm => DCM,
    };
    let name = format!("r9.4_450bps.{}.6mer", motif.name());
    unpack(&name, Chemistry::R9Dna, KMER_LENGTH, table)
}

/// A model as its table, rounded: what `examples/pack_model.rs` writes.
#[must_use]
pub fn pack(model: &PoreModel) -> Vec<u8> {
    let levels = model.level_mean_pa.iter().chain(&model.level_stdv_pa);
    levels.flat_map(|&level| round(level).to_le_bytes()).collect()
}

/// A level as nanopolish's header has it: five decimals, of the text's six.
fn round(level: f64) -> f64 {
    format!("{level:.5}").parse().unwrap_or(level)
}

fn unpack(
    name: &str,
    chemistry: Chemistry,
    kmer_length: usize,
    table: &[u8],
) -> Result<PoreModel, ModelError> {
    let mut levels: Vec<_> =
        table.as_chunks().0.iter().map(|&bytes| f64::from_le_bytes(bytes)).collect();
    let stdvs = levels.split_off(levels.len() / 2);
    let has_four = Alphabet::Nucleotide.rows(kmer_length) == Some(levels.len());
    let alphabet = if has_four { Alphabet::Nucleotide } else { Alphabet::Methylated };
    let mut model = PoreModel::new(name.to_owned(), alphabet, kmer_length, levels, stdvs)?;
    model.chemistry = Some(chemistry);
    Ok(model)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_whole() {
        // First, one inner and last row of each text.
        fn t(model: &PoreModel, kmer: &[u8], mean_pa: f64, stdv_pa: f64) {
            let rank = model.rank(kmer).unwrap();
            assert_eq!(model.level_mean_pa[rank], mean_pa);
            assert_eq!(model.level_stdv_pa[rank], stdv_pa);
        }
        let (nucleotide, cpg) =
            (r9_4_1_nucleotide().unwrap(), r9_4_1_methylated(Motif::Cpg).unwrap());
        t(&nucleotide, b"AAAAAA", 86.486_34, 1.517_85);
        t(&nucleotide, b"AAAAAT", 84.423_91, 1.517_85);
        t(&cpg, b"AAAAAA", 86.9596, 1.61061);
        t(&cpg, b"AAAAAM", 84.0604, 1.23283);
        t(&cpg, b"AAAAAT", 86.5058, 2.79715);
        assert_eq!(pack(&cpg), CPG);
        let [gpc, dam, dcm] =
            [Motif::Gpc, Motif::Dam, Motif::Dcm].map(|it| r9_4_1_methylated(it).unwrap());
        t(&gpc, b"AAAAAM", 83.9488, 2.51785);
        let rna = r9_4_1_rna().unwrap();
        t(&rna, b"AAAAA", 108.90141, 2.67652);
        t(&rna, b"UUUUU", rna.level_mean_pa[1023], rna.level_stdv_pa[1023]);
        for level in [&nucleotide, &cpg, &gpc, &dam, &dcm, &rna]
            .map(|it| [&it.level_mean_pa, &it.level_stdv_pa])
            .concat()
        {
            assert!(level.iter().all(|&level| round(level) == level));
        }
    }
}
