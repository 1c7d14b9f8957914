//! The regions of the certified path against those of the library's own search.

use seqloom_testkit::genome::{Genome, GenomeOptions};
use seqloom_testkit::reads::{ReadOptions, Simulator, Template};

use super::*;
use crate::certified::Verdict;
use crate::index::{BuildOptions, IndexPaths, build, plan};

/// Two engines of one genome, the second with the certified path.
fn engines(genome: &Genome, reads: &Arc<CertifiedReads>) -> [BwaEngine; 2] {
    let here = tempfile::tempdir().unwrap();
    let fasta = here.path().join("genome.fa");
    genome.write_fasta(&fasta).unwrap();
    let plan = plan(&fasta, &BuildOptions::default(), &|_, _| ()).unwrap();
    build(plan, &fasta, &|_, _| ()).unwrap();
    let contigs = genome.contigs.iter().map(|c| (c.name.clone(), c.bases.len() as u64));
    let contigs: Vec<_> = contigs.collect();
    let load = || BwaEngine::load(&fasta, &contigs, &BwaOptions::default(), 1).unwrap();
    let mut certified = load();
    certified.certify(&IndexPaths::new(&fasta).fast(), reads.clone()).unwrap();
    [load(), certified]
}

fn pair(template: &Template) -> [Read<'_>; 2] {
    template.reads.each_ref().map(|read| Read {
        name: &template.name,
        bases: &read.bases,
        qualities: Some(&read.qualities),
    })
}

fn simulated(genome: &Genome, options: &ReadOptions) -> Vec<Template> {
    let mut simulator = Simulator::new(genome, options).unwrap();
    std::iter::from_fn(|| simulator.next_template().cloned()).collect()
}

#[test]
fn regions_are_those_of_the_library() {
    let genome =
        Genome::simulate(&GenomeOptions { seed: 7, length_bp: 1_000_000, contigs: 3 }).unwrap();
    let counts = Arc::default();
    let [plain, certified] = engines(&genome, &counts);
    let mut scratches = [plain.scratch().unwrap(), certified.scratch().unwrap()];
    for length in [40, 76, 100, 150, 250, 400] {
        let options = ReadOptions {
            templates: 2000,
            length_min_bp: length,
            length_max_bp: length,
            seed: length as u64,
            ..ReadOptions::default()
        };
        let templates = simulated(&genome, &options);
        for batch in templates.chunks(256) {
            let reads = EngineReads { pairs: batch.iter().map(pair).collect(), singles: vec![] };
            let [expected, found] = [
                plain.seed_extend(&mut scratches[0], &reads).unwrap(),
                certified.seed_extend(&mut scratches[1], &reads).unwrap(),
            ];
            for (at, read) in reads.pairs.iter().flatten().enumerate() {
                let name = String::from_utf8_lossy(read.name);
                assert_eq!(found.regions(at), expected.regions(at), "read {at}: {name}");
            }
        }
    }
    let all = Verdict::ALL.map(|verdict| (verdict.name(), counts.get(verdict)));
    assert!(counts.get(Verdict::Certified) * 2 > 24_000, "{all:?}");
}
