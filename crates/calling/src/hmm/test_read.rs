//! A read that is made from a model: every event's k-mer is known.

use crate::aligned_read::{AlignedBase, AlignedRead};
use crate::events::{EventRange, Events, ReadEvents, Scaling};
use crate::pore_model::PoreModel;

use super::kmers::{Molecule, complement, push_ranks};

/// Bases of a made read.
const BASES: u32 = 700;

/// A read without errors that is on its reference from its first base to its last.
pub(crate) struct MadeRead {
    pub(crate) reference: Vec<u8>,
    pub(crate) sequence: Vec<u8>,
    pub(crate) pairs: Vec<AlignedBase>,
    pub(crate) events: ReadEvents,
    /// The k-mer of each event, by its place on the reference.
    pub(crate) kmer_of_event: Vec<u32>,
    pub(crate) is_reverse: bool,
}

impl MadeRead {
    /// A read of `molecule`; one to three events a base, at most 0.6 standard deviations off.
    pub(crate) fn new(model: &PoreModel, molecule: Molecule) -> Self {
        Self::with_sites(model, molecule, b"")
    }

    /// The same with `site` at every 60th base, however seldom it is by chance.
    pub(crate) fn with_sites(model: &PoreModel, molecule: Molecule, site: &[u8]) -> Self {
        let mut state = 7_u32;
        let mut random = |bound: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) % bound
        };
        let mut reference: Vec<u8> = (0..=BASES).map(|_| b"ACGT"[random(4) as usize]).collect();
        for bases in reference.chunks_exact_mut(60) {
            bases[30..30 + site.len()].copy_from_slice(site);
        }
        let covered = &reference[..BASES as usize];
        let mut ranks = Vec::new();
        push_ranks(covered, molecule, model.alphabet, model.kmer_length, &mut ranks);
        let mut kmers: Vec<(u32, u32)> = (0..).zip(ranks).collect();
        let mut sequence = covered.to_vec();
        if molecule.is_reverse {
            kmers.reverse();
            sequence = covered.iter().rev().map(|base| complement(*base)).collect();
        }
        let (mut events, mut of_kmer, mut kmer_of_event) =
            (Events::default(), Vec::new(), Vec::new());
        for (at, rank) in kmers {
            let first = kmer_of_event.len() as u32;
            for _ in 0..=random(3) {
                let deviation = (f64::from(random(13)) - 6.0) / 10.0;
                let stdv_pa = model.level_stdv_pa[rank as usize];
                events.start_samples.push(5 * kmer_of_event.len() as u64);
                events.length_samples.push(5.0);
                let level_pa = model.level_mean_pa[rank as usize] + deviation * stdv_pa;
                events.mean_pa.push(level_pa as f32);
                events.stdv_pa.push(1.0);
                kmer_of_event.push(at);
            }
            of_kmer.push(EventRange { first, last: kmer_of_event.len() as u32 - 1 });
        }
        let events_per_base = kmer_of_event.len() as f64 / f64::from(BASES);
        let scaling = Scaling { shift_pa: 0.0, scale: 1.0, var: 1.0 };
        let events = ReadEvents { events, of_kmer, scaling, events_per_base };
        let pairs = (0..BASES).map(|at| AlignedBase { offset: at, position: at }).collect();
        let is_reverse = molecule.is_reverse;
        Self { reference, sequence, pairs, events, kmer_of_event, is_reverse }
    }

    pub(crate) fn aligned(&self) -> AlignedRead<'_> {
        AlignedRead {
            name: b"made",
            contig: b"chr1",
            start: 1000,
            is_reverse: self.is_reverse,
            sequence: &self.sequence,
            reference: &self.reference,
            pairs: &self.pairs,
        }
    }
}
