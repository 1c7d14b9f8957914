//! A read's events for training.

use std::ops::RangeInclusive;
use std::time::Instant;

use super::kernels::{EVENTS_PER_BASE, EventScratch, alignment_bytes};
use super::{CallTimes, KernelSkip, ReadInput, ReadKernel};
use crate::Motif;
use crate::aligned_read::AlignedSignal;
use crate::eventalign::{self, EventRow, Expected, WalkScratch};
use crate::events::{EventRange, ReadEvents, ReadOptions};
use crate::pore_model::PoreModel;
use crate::training::{AlignedStay, Calibration, EventSums, Signal, Stay};

/// The events of each k-mer of a read of a control.
pub struct TrainingKernel {
    /// Model that reads are aligned with.
    pub nucleotides: PoreModel,
    /// Model that events are aligned to the reference with, in the round at hand.
    pub current: PoreModel,
    /// All sites of this motif are methylated; none is.
    pub methylated: Option<Motif>,
    /// How reads are aligned.
    pub read: ReadOptions,
    /// Which bases of the reference are followed.
    pub region: Option<RangeInclusive<u64>>,
}

/// Scratch of a worker.
#[derive(Default)]
pub struct TrainingScratch {
    events: EventScratch,
    walk: WalkScratch,
    rows: Vec<EventRow>,
    stays: Vec<AlignedStay>,
}

/// Stays that a read's own calibration needs, as that of calls needs so many events.
const LEAST_STAYS: usize = 200;

/// The stays of one read.
#[derive(Debug, Default)]
pub struct TrainingOutput {
    stays: Vec<Stay>,
    scale_by_var: f64,
}

impl TrainingOutput {
    /// Adds them to `sums`.
    pub fn add_to(&self, sums: &mut EventSums) {
        sums.add(&self.stays, self.scale_by_var);
    }
}

impl ReadKernel for TrainingKernel {
    type Scratch = TrainingScratch;
    type Output = TrainingOutput;

    fn working_bytes(&self, bases: u64, samples: u64) -> u64 {
        let rows = bases * EVENTS_PER_BASE * size_of::<EventRow>() as u64;
        let stays = bases * size_of::<AlignedStay>() as u64;
        alignment_bytes(bases, samples) + rows + stays
    }

    fn result_bytes(&self, bases: u64) -> u64 {
        bases * size_of::<Stay>() as u64
    }

    fn held_bytes(&self, output: &TrainingOutput) -> u64 {
        (output.stays.capacity() * size_of::<Stay>()) as u64
    }

    fn call(
        &self,
        scratch: &mut TrainingScratch,
        input: &ReadInput<'_>,
        times: &CallTimes,
        output: &mut TrainingOutput,
    ) -> Result<(), KernelSkip> {
        output.stays.clear();
        let TrainingScratch { events: scratch, walk, rows, stays } = scratch;
        scratch.align(input, &self.nucleotides, &self.read, times)?;
        let start = Instant::now();
        self.take_drift(input.aligned.sequence, &mut scratch.events, stays);
        times.scaling.book(start);
        rows.clear();
        let signal = AlignedSignal { read: &input.aligned, events: &scratch.events };
        let expected = Expected { model: &self.current, methylated: self.methylated };
        let region = self.region.clone();
        times.hmm.time(|| eventalign::align(walk, signal, expected, region, rows));
        let start = Instant::now();
        rows.retain(|row| !row.is_bad);
        self.push_stays(&scratch.events, rows, stays, output);
        times.scaling.book(start);
        Ok(())
    }
}

impl TrainingKernel {
    /// Takes the drift of the current from a read's events, and scales the read without it. Where
    /// that cannot be known all stays as it is.
    fn take_drift(&self, bases: &[u8], read: &mut ReadEvents, stays: &mut Vec<AlignedStay>) {
        let ReadEvents { events, of_kmer, scaling, .. } = read;
        let signal = Signal::of(events);
        stays.clear();
        for (range, rank) in of_kmer.iter().zip(self.nucleotides.ranks(bases)) {
            if let Some(EventRange { first, last }) = range.get() {
                stays.push(signal.stay(first..=last, &self.nucleotides, rank));
            }
        }
        let Some(found) = Calibration::fitted(stays, LEAST_STAYS) else { return };
        let drifts = signal.times().map(|time| found.drifted_pa(time) as f32).collect::<Vec<_>>();
        events.mean_pa.iter_mut().zip(drifts).for_each(|(mean_pa, drift)| *mean_pa -= drift);
        *scaling = found.scaling;
    }

    /// How far the stays of the rows are from the levels of their k-mers.
    fn push_stays(
        &self,
        read: &ReadEvents,
        rows: &[EventRow],
        stays: &mut Vec<AlignedStay>,
        output: &mut TrainingOutput,
    ) {
        let signal = Signal::of(&read.events);
        let of_stays = || rows.chunk_by(|one, next| one.offset == next.offset);
        stays.clear();
        stays.extend(of_stays().map(|rows| {
            let events = rows.iter().map(|row| row.event);
            signal.stay(events, &self.current, rows[0].rank)
        }));
        // The read's scaling is by bare levels: those of methylated k-mers move it.
        let found = Calibration::fitted(stays, LEAST_STAYS);
        let found = found.unwrap_or(Calibration { scaling: read.scaling, drift_pa: 0.0 });
        output.scale_by_var = found.scaling.scale / found.scaling.var;
        output.stays.extend(stays.iter().zip(of_stays()).map(|(stay, rows)| Stay {
            rank: rows[0].rank,
            events: rows.len() as u32,
            deviation: found.deviation(stay) as f32,
        }));
    }
}
