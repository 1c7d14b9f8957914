//! Models as nanopolish, Oxford Nanopore, f5c and Uncalled4 publish them.

use std::path::Path;

use seqloom_testkit::skip;

use crate::Motif;
use crate::pore_model::{Alphabet, Chemistry, ModelRequest, PoreModel, builtin, text, uncalled4};

fn read(folder: &Path, name: &str, missing_stdv_pa: Option<f64>) -> PoreModel {
    let bytes = std::fs::read(folder.join(name)).unwrap();
    let any = ModelRequest::default();
    let parsed = match name.ends_with(".npz") {
        true => uncalled4::parse(&bytes, missing_stdv_pa, &any),
        false => text::parse(&bytes, &any),
    };
    parsed.unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Levels are those of the other model but for rounding.
fn assert_near(a: &PoreModel, b: &PoreModel) {
    let near = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 2e-5);
    assert_eq!((a.alphabet, a.kmer_length), (b.alphabet, b.kmer_length));
    assert!(near(&a.level_mean_pa, &b.level_mean_pa), "{} {}", a.name, b.name);
    assert!(near(&a.level_stdv_pa, &b.level_stdv_pa), "{} {}", a.name, b.name);
}

#[test]
fn the_tables_that_are_built_in_are_nanopolish_s() {
    let Some(folder) = skip::data("nanopore/models/nanopolish/etc/r9-models") else { return };
    for (name, built_in) in [
        ("r9.4_450bps.nucleotide.6mer.template.model", builtin::r9_4_1_nucleotide().unwrap()),
        ("r9.4_450bps.cpg.6mer.template.model", builtin::r9_4_1_methylated(Motif::Cpg).unwrap()),
        ("r9.4_70bps.u_to_t_rna.5mer.template.model", builtin::r9_4_1_rna().unwrap()),
        ("r9.4_450bps.gpc.6mer.template.model", builtin::r9_4_1_methylated(Motif::Gpc).unwrap()),
    ] {
        let model = read(&folder, name, None);
        assert_eq!(builtin::pack(&model), builtin::pack(&built_in), "{name}");
    }
}

/// nanopolish's program has four numbers a k-mer, the first two of which are level and deviation.
/// Of two of these tables there is no text; the calls show which is which motif's
/// (`nanopolish/calls.rs`).
#[test]
fn the_tables_of_motifs_are_in_nanopolish_s_program() {
    const ROW_BYTES: usize = 32;
    let path = Path::new("/usr/bin/nanopolish");
    let Ok(program) = std::fs::read(path) else {
        skip::skip("nanopolish is not installed");
        return;
    };
    for motif in Motif::ALL {
        let model = builtin::r9_4_1_methylated(motif).unwrap();
        let levels = model.level_mean_pa.iter().zip(&model.level_stdv_pa);
        let rows: Vec<[u8; 16]> = levels
            .map(|(mean, stdv)| {
                let bytes = [mean.to_le_bytes(), stdv.to_le_bytes()];
                *bytes.as_flattened().first_chunk().unwrap()
            })
            .collect();
        let is_table = |at: usize| {
            let there = program[at..].chunks(ROW_BYTES);
            there.zip(&rows).filter(|(there, row)| there.starts_with(&row[..])).count()
                == rows.len()
        };
        let mut starts = memchr::memmem::find_iter(&program, &rows[0]);
        assert!(starts.any(is_table), "{motif}");
    }
}

#[test]
fn every_model_in_text_is_read() {
    let Some(root) = skip::data("nanopore/models") else { return };
    let Some(f5c) = skip::data("nanopore/f5c_ecoli_2kb") else { return };
    let t = |folder: &Path, name: &str, alphabet, kmer_length| {
        let model = read(folder, name, None);
        assert_eq!((model.alphabet, model.kmer_length), (alphabet, kmer_length), "{name}");
    };
    let nanopolish = root.join("nanopolish/etc/r9-models");
    t(&nanopolish, "r9.4_450bps.nucleotide.5mer.template.model", Alphabet::Nucleotide, 5);
    t(&nanopolish, "r9.4_70bps.u_to_t_rna.5mer.template.model", Alphabet::Nucleotide, 5);
    t(&nanopolish, "r9_250bps.cpg.6mer.template.model", Alphabet::Methylated, 6);
    t(&nanopolish, "r9_250bps.nucleotide.6mer.complement.pop1.model", Alphabet::Nucleotide, 6);
    t(&f5c, "r9-models/r9.5_450bps.cpg.6mer.template.round9.model", Alphabet::Methylated, 6);
    t(&f5c, "rna004-models/rna004.nucleotide.5mer.model", Alphabet::Nucleotide, 5);
    let legacy = root.join("kmer_models/legacy");
    t(&legacy, "legacy_r9.4_180mv_450bps_6mer/template_median68pA.model", Alphabet::Nucleotide, 6);
    t(&nanopolish, "r9.4_450bps.gpc.6mer.template.model", Alphabet::Methylated, 6);
    // Methylation in GpC is not CpG, and levels without deviations are not enough.
    let refused = |path: &Path, motif, why: &str| {
        let request = ModelRequest { motif, ..ModelRequest::default() };
        let error = text::parse(&std::fs::read(path).unwrap(), &request);
        let error = error.unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    };
    let gpc = nanopolish.join("r9.4_450bps.gpc.6mer.template.model");
    refused(&gpc, Some(Motif::Cpg), "methylation in GC (#alphabet gpc), but that in CG");
    refused(&root.join("kmer_models/rna_r9.4_180mv_70bps/5mer_levels_v1.txt"), None, "2 columns");
}

#[test]
fn models_of_uncalled4_are_those_they_were_made_from() {
    let Some(root) = skip::data("nanopore/models") else { return };
    let (ours, theirs) = (root.join("uncalled4"), root.join("nanopolish/etc/r9-models"));
    let dna = read(&ours, "dna_r9.4.1_400bps_6mer.npz", None);
    assert_near(&dna, &builtin::r9_4_1_nucleotide().unwrap());
    let rna = read(&ours, "rna_r9.4.1_70bps_5mer.npz", None);
    assert_near(&rna, &read(&theirs, "r9.4_70bps.u_to_t_rna.5mer.template.model", None));
}

#[test]
fn nine_mers_are_read() {
    let Some(folder) = skip::data("nanopore/models/uncalled4") else { return };
    let model = read(&folder, "dna_r10.4.1_400bps_9mer.npz", None);
    assert_eq!((model.name.as_str(), model.kmer_length), ("dna_r10.4.1_400bps_9mer", 9));
    // By NumPy: current.mean[0] * 23.11051369 + 92.56193542.
    assert!((model.level_mean_pa[0] - 49.244_34).abs() < 1e-3, "{}", model.level_mean_pa[0]);
    assert!((model.level_stdv_pa[0] - 6.969_15).abs() < 1e-3, "{}", model.level_stdv_pa[0]);
    let rna = read(&folder, "rna004_130bps_9mer.npz", Some(3.0));
    assert_eq!((rna.kmer_length, rna.level_stdv_pa[7]), (9, 3.0));
    let bytes = std::fs::read(folder.join("dna_r10.4.1_400bps_9mer.npz")).unwrap();
    let r9 = ModelRequest { chemistry: Some(Chemistry::R9Dna), ..ModelRequest::default() };
    let wrong = uncalled4::parse(&bytes, None, &r9).unwrap_err().to_string();
    assert!(wrong.contains("R10 DNA") && wrong.contains("R9 DNA is needed"), "{wrong}");
}
