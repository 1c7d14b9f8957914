//! A read's events for training.

use std::ops::RangeInclusive;

use super::kernels::{EVENTS_PER_BASE, EventScratch, alignment_bytes};
use super::{CallTimes, KernelSkip, ReadInput, ReadKernel};
use crate::Motif;
use crate::aligned_read::AlignedSignal;
use crate::eventalign::{self, EventRow, Expected, WalkScratch};
use crate::events::scaling::recalibrate;
use crate::events::{EventRange, ReadEvents, ReadOptions, Scaling};
use crate::pore_model::PoreModel;
use crate::training::{EventLevel, EventSums};

/// The events of each k-mer of a read of a control.
pub struct TrainingKernel {
    /// What reads are aligned with.
    pub nucleotides: PoreModel,
    /// What events are aligned to the reference with, in the round at hand.
    pub current: PoreModel,
    /// All sites of this motif are methylated; none is.
    pub methylated: Option<Motif>,
    /// How reads are aligned.
    pub read: ReadOptions,
    /// Which bases of the reference are followed.
    pub region: Option<RangeInclusive<u64>>,
}

/// What a worker keeps.
#[derive(Default)]
pub struct TrainingScratch {
    events: EventScratch,
    walk: WalkScratch,
    rows: Vec<EventRow>,
    ranks: Vec<u32>,
    of_kmer: Vec<EventRange>,
}

/// Events that recalibration needs, as that of reads does.
const LEAST_EVENTS: usize = 200;

/// Events of one read.
#[derive(Debug, Default)]
pub struct TrainingOutput {
    events: Vec<EventLevel>,
    scale_by_var: f64,
}

impl TrainingOutput {
    /// Adds the events to `sums`.
    pub fn add_to(&self, sums: &mut EventSums) {
        sums.add(&self.events, self.scale_by_var);
    }
}

impl ReadKernel for TrainingKernel {
    type Scratch = TrainingScratch;
    type Output = TrainingOutput;

    fn working_bytes(&self, bases: u64, samples: u64) -> u64 {
        let rows = bases * EVENTS_PER_BASE * size_of::<EventRow>() as u64;
        alignment_bytes(bases, samples) + rows
    }

    fn result_bytes(&self, bases: u64) -> u64 {
        bases * EVENTS_PER_BASE * size_of::<EventLevel>() as u64
    }

    fn held_bytes(&self, output: &TrainingOutput) -> u64 {
        (output.events.capacity() * size_of::<EventLevel>()) as u64
    }

    fn call(
        &self,
        scratch: &mut TrainingScratch,
        input: &ReadInput<'_>,
        times: &CallTimes,
        output: &mut TrainingOutput,
    ) -> Result<(), KernelSkip> {
        let TrainingScratch { events: scratch, walk, rows, ranks, of_kmer } = scratch;
        scratch.align(input, &self.nucleotides, &self.read, times)?;
        rows.clear();
        let signal = AlignedSignal { read: &input.aligned, events: &scratch.events };
        let expected = Expected { model: &self.current, methylated: self.methylated };
        let region = self.region.clone();
        times.hmm.time(|| eventalign::align(walk, signal, expected, region, rows));
        let start = std::time::Instant::now();
        rows.retain(|row| !row.is_bad);
        ranks.clear();
        ranks.extend(rows.iter().map(|row| row.rank));
        of_kmer.clear();
        of_kmer.extend(rows.iter().map(|row| EventRange { first: row.event, last: row.event }));
        let means_pa = &signal.events.events.mean_pa;
        // The read's own scaling is by bare levels: those of methylated k-mers move it.
        let scaling = recalibrate(means_pa, of_kmer, ranks, &self.current, LEAST_EVENTS);
        let scaling = scaling.unwrap_or(signal.events.scaling);
        self.push_levels(signal.events, scaling, rows, output);
        times.scaling.book(start);
        Ok(())
    }
}

impl TrainingKernel {
    /// How far events are from the levels of their k-mers.
    fn push_levels(
        &self,
        read: &ReadEvents,
        scaling: Scaling,
        rows: &[EventRow],
        output: &mut TrainingOutput,
    ) {
        output.scale_by_var = scaling.scale / scaling.var;
        output.events.clear();
        output.events.extend(rows.iter().map(|row| {
            let level = self.current.level_mean_pa[row.rank as usize];
            let event_pa = f64::from(read.events.mean_pa[row.event as usize]);
            let residual_pa = event_pa - scaling.shift_pa - scaling.scale * level;
            EventLevel { rank: row.rank, residual_pa: (residual_pa / scaling.var) as f32 }
        }));
    }
}
