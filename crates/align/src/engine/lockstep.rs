//! How many reads the engine looks up in the index at once.
//!
//! It walks several reads through the index in turn, so that their cache misses overlap. Its own
//! main program chooses how many by the processor (32 on Zen 5, where that was measured to be
//! best; else 16, and 24 in the third pass); its library stays at 16 and 24 unless it is asked.
//! Only the order of look-ups follows from it, never a record.
#![allow(unsafe_code)]

use std::ffi::c_void;

// `lockstep_width.h` of the engine.
unsafe extern "C" {
    fn bwa3_init_smem_lockstep_width(
        base: *const c_void,
        blocks: i64,
        stride_bytes: usize,
        word_offset_bytes: usize,
    );
    fn bwa3_init_bwtseed_lockstep_width();
}

/// Lets the engine choose by the processor. Call before reads are aligned; the first call counts.
pub(crate) fn fit_to_processor() {
    // SAFETY: the arguments describe an array for a measurement that the engine makes only where
    // an environment variable asks for it, and not at all without an array. Both functions set
    // their variable once, behind a `std::call_once`.
    unsafe {
        bwa3_init_smem_lockstep_width(std::ptr::null(), 0, 0, 0);
        bwa3_init_bwtseed_lockstep_width();
    }
}

#[cfg(test)]
mod tests {
    use super::super::bwa::{BwaEngine, BwaOptions};
    use super::super::{
        CohortEngine, EngineReads, Ordinals, Origin, Read, RecordSink, SeededBatch,
    };
    use crate::index::{BuildOptions, build, plan};
    use seqloom_testkit::genome::{Genome, GenomeOptions};
    use seqloom_testkit::reads::{ReadOptions, Simulator, Template};

    unsafe extern "C" {
        static mut g_smem_lockstep_n: i32;
        static mut g_bwtseed_lockstep_n: i32;
    }

    #[derive(Default)]
    struct Bodies(Vec<Vec<u8>>);

    impl RecordSink for Bodies {
        fn record(&mut self, _: Origin, body: &[u8]) {
            self.0.push(body.to_vec());
        }
    }

    fn engine(genome: &Genome) -> BwaEngine {
        let here = tempfile::tempdir().unwrap();
        let fasta = here.path().join("genome.fa");
        genome.write_fasta(&fasta).unwrap();
        let plan = plan(&fasta, &BuildOptions::default(), &|_, _| ()).unwrap();
        build(plan, &fasta, &|_, _| ()).unwrap();
        let contigs = genome.contigs.iter().map(|c| (c.name.clone(), c.bases.len() as u64));
        let contigs: Vec<_> = contigs.collect();
        BwaEngine::load(&fasta, &contigs, &BwaOptions::default(), 1).unwrap()
    }

    fn pair(template: &Template) -> [Read<'_>; 2] {
        template.reads.each_ref().map(|read| Read {
            name: &template.name,
            bases: &read.bases,
            qualities: Some(&read.qualities),
        })
    }

    /// All records of `templates`, found with so many look-ups at once.
    fn records(engine: &BwaEngine, templates: &[Template], width: i32) -> Vec<Vec<u8>> {
        // SAFETY: no other test of this package loads the engine, and this thread alone uses it.
        unsafe { (g_smem_lockstep_n, g_bwtseed_lockstep_n) = (width, width) };
        let mut scratch = engine.scratch().unwrap();
        let reads = EngineReads { pairs: templates.iter().map(pair).collect(), singles: vec![] };
        let candidates = [engine.seed_extend(&mut scratch, &reads).unwrap()];
        let model = engine.infer_cohort(&candidates).unwrap();
        let [candidates] = candidates;
        let mut bodies = Bodies::default();
        let (reads, model, ordinals) = (&reads, Some(&model), Ordinals::default());
        let seeded = SeededBatch { reads, candidates, model, ordinals };
        engine.emit(&mut scratch, seeded, &mut bodies).unwrap();
        bodies.0
    }

    #[test]
    fn records_do_not_follow_from_it() {
        let options = GenomeOptions { seed: 5, length_bp: 400_000, contigs: 2 };
        let genome = Genome::simulate(&options).unwrap();
        let options = ReadOptions { templates: 1000, ..ReadOptions::default() };
        let mut simulator = Simulator::new(&genome, &options).unwrap();
        let templates = std::iter::from_fn(|| simulator.next_template().cloned());
        let templates: Vec<Template> = templates.collect();
        let engine = engine(&genome);
        // SAFETY: as in `records`.
        let chosen = unsafe { [g_smem_lockstep_n, g_bwtseed_lockstep_n] };
        assert!([[16, 24], [32, 32]].contains(&chosen), "{chosen:?}");
        let expected = records(&engine, &templates, 16);
        assert!(expected.len() >= 2000);
        for width in [1, 7, 32, 64] {
            assert!(records(&engine, &templates, width) == expected, "{width} at once");
        }
    }
}
