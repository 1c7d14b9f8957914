//! A read's signal to [`ReadEvents`]: current, events, scaling, alignment, checks, recalibration.

use std::time::Instant;

use seqloom_format::signal::SignalRead;

use super::align::{AlignScratch, AlignedPair, BandedInput, Kernel, align};
use super::detect::{DetectOptions, DetectScratch, detect, samples_to_pa};
use super::scaling::{from_moments, recalibrate};
use super::{EventRange, ReadEvents};
use crate::pore_model::PoreModel;

/// Events per base from which on a read is not aligned (f5c's `AVG_EVENTS_PER_KMER_MAX`).
pub(crate) const TOO_MANY_EVENTS_PER_BASE: usize = 15;
/// Events per base above which an alignment is no good (nanopolish, f5c).
pub(crate) const MAX_EVENTS_PER_BASE: f64 = 5.0;
/// What remains after recalibration, in standard deviations, above which it failed (the same).
pub(crate) const MAX_VAR: f64 = 2.5;

/// Largest current that a converter may be set up for; real ones end below 1e4. What is above could
/// overflow sums of squares.
pub(crate) const MAX_PA: f64 = 1e9;

/// How reads are aligned.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReadOptions {
    /// Event detection.
    pub(crate) detect: DetectOptions,
    /// Events that recalibration needs (f5c's `--min-recalib-events`).
    pub(crate) min_recalibration_events: usize,
    /// Kernel of the alignment.
    pub(crate) kernel: Kernel,
    /// The signal begins at the last base.
    pub(crate) is_rna: bool,
}

impl ReadOptions {
    /// For DNA.
    #[must_use]
    pub fn dna() -> Self {
        Self {
            detect: DetectOptions::DNA,
            min_recalibration_events: 200,
            kernel: Kernel::best(),
            is_rna: false,
        }
    }

    /// For direct RNA.
    #[must_use]
    pub fn rna() -> Self {
        Self { detect: DetectOptions::RNA, is_rna: true, ..Self::dna() }
    }
}

/// Why a read has no [`ReadEvents`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, thiserror::Error)]
pub enum SkipReason {
    /// There are fewer bases than a k-mer has, or no samples.
    #[error("the read is shorter than a k-mer, or has no samples")]
    TooShort,
    /// Digitisation, range or offset make no current.
    #[error("digitisation, range or offset of the read are unusable")]
    BadSignal,
    /// So few events that more k-mers than allowed would have to be skipped.
    #[error("the signal has too few events for the bases")]
    TooFewEvents,
    /// See [`TOO_MANY_EVENTS_PER_BASE`].
    #[error("the signal has too many events for the bases")]
    TooManyEvents,
    /// Events and k-mers do not fit together.
    #[error("events cannot be aligned to the bases")]
    NoAlignment,
    /// Too few events to recalibrate with, or too much remains.
    #[error("the signal cannot be calibrated")]
    CouldNotCalibrate,
    /// See [`MAX_EVENTS_PER_BASE`].
    #[error("the aligned events are too many for the bases")]
    QcFail,
}

impl SkipReason {
    /// All reasons.
    #[cfg(test)]
    pub(crate) const ALL: [Self; 7] = [
        Self::TooShort,
        Self::BadSignal,
        Self::TooFewEvents,
        Self::TooManyEvents,
        Self::NoAlignment,
        Self::CouldNotCalibrate,
        Self::QcFail,
    ];

    /// A short name that does not change, for reports.
    #[must_use]
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::TooShort => "too_short",
            Self::BadSignal => "bad_signal",
            Self::TooFewEvents => "too_few_events",
            Self::TooManyEvents => "too_many_events",
            Self::NoAlignment => "no_alignment",
            Self::CouldNotCalibrate => "could_not_calibrate",
            Self::QcFail => "qc_fail",
        }
    }
}

/// Time of the stages, summed over the reads since the caller last set it to 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct StepTimes {
    /// Samples to current, and current to events.
    pub(crate) events_ns: u64,
    /// Banded alignment.
    pub(crate) align_ns: u64,
    /// Both scalings, and the map from k-mers to events.
    pub(crate) scaling_ns: u64,
    /// Cells of the banded alignment that were computed.
    pub(crate) cells: u64,
}

/// Buffers of one caller, and where its time went.
#[derive(Debug, Default)]
pub(crate) struct ReadScratch {
    /// Added to by every read.
    pub(crate) times: StepTimes,
    samples_pa: Vec<f32>,
    ranks: Vec<u32>,
    pairs: Vec<AlignedPair>,
    detect: DetectScratch,
    align: AlignScratch,
}

/// A read's signal and the bases that were called from it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BasecalledRead<'a> {
    /// Samples, and how they become current.
    pub(crate) signal: &'a SignalRead,
    /// All bases as they were called: not clipped, not reverse-complemented.
    pub(crate) sequence: &'a [u8],
}

/// Aligns a read's signal to its own bases. `out` is replaced; after an error it holds nothing of
/// use. No memory is allocated once the buffers have grown.
///
/// # Errors
/// [`SkipReason`].
pub(crate) fn align_read(
    scratch: &mut ReadScratch,
    read: BasecalledRead<'_>,
    model: &PoreModel,
    options: &ReadOptions,
    out: &mut ReadEvents,
) -> Result<(), SkipReason> {
    let BasecalledRead { signal: read, sequence } = read;
    let start = Instant::now();
    scratch.ranks.clear();
    scratch.ranks.extend(model.ranks(sequence));
    if scratch.ranks.is_empty() || read.samples.is_empty() {
        return Err(SkipReason::TooShort);
    }
    let unit_pa = read.range / read.digitisation;
    let most_pa = (read.offset.abs() + f64::from(i16::MAX) + 1.0) * unit_pa.abs();
    if !unit_pa.is_normal() || most_pa.is_nan() || most_pa > MAX_PA {
        return Err(SkipReason::BadSignal);
    }
    samples_to_pa(read, &mut scratch.samples_pa);
    detect(&mut scratch.detect, &scratch.samples_pa, &options.detect, &mut out.events);
    let detected = Instant::now();
    scratch.times.events_ns += nanoseconds(start, detected);
    let (events, kmers) = (out.events.len(), scratch.ranks.len());
    if events >= TOO_MANY_EVENTS_PER_BASE * sequence.len() {
        return Err(SkipReason::TooManyEvents);
    }
    if events * (super::align::MAX_SKIPPED_KMERS as usize + 1) < kmers {
        return Err(SkipReason::TooFewEvents);
    }
    let scaling = from_moments(&out.events.mean_pa, &scratch.ranks, model);
    if options.is_rna {
        // After the estimate, as in nanopolish: sums are of the order of the signal.
        out.events.reverse();
    }
    let scaled = Instant::now();
    scratch.times.scaling_ns += nanoseconds(detected, scaled);
    let ReadScratch { ranks, pairs, align: scratch_of_align, .. } = &mut *scratch;
    let event_means_pa = &out.events.mean_pa;
    let input = BandedInput { event_means_pa, ranks, model, scaling: &scaling };
    let aligned = align(scratch_of_align, options.kernel, input, pairs);
    let finished = Instant::now();
    scratch.times.align_ns += nanoseconds(scaled, finished);
    scratch.times.cells += ((events + kmers) * super::align::BANDWIDTH) as u64;
    aligned.map_err(|_| SkipReason::NoAlignment)?;
    let calibrated = calibrate(&scratch.pairs, &scratch.ranks, model, options, out);
    scratch.times.scaling_ns += nanoseconds(finished, Instant::now());
    calibrated
}

fn nanoseconds(from: Instant, to: Instant) -> u64 {
    u64::try_from(to.duration_since(from).as_nanos()).unwrap_or(u64::MAX)
}

/// The map from k-mers to events, and what follows from it.
fn calibrate(
    pairs: &[AlignedPair],
    ranks: &[u32],
    model: &PoreModel,
    options: &ReadOptions,
    out: &mut ReadEvents,
) -> Result<(), SkipReason> {
    let (Some(first), Some(last)) = (pairs.first(), pairs.last()) else {
        return Err(SkipReason::NoAlignment);
    };
    map_kmers(pairs, ranks.len(), &mut out.of_kmer);
    out.events_per_base = f64::from(last.event - first.event) / ranks.len() as f64;
    let min_events = options.min_recalibration_events;
    out.scaling = recalibrate(&out.events.mean_pa, &out.of_kmer, ranks, model, min_events)
        .filter(|scaling| scaling.var <= MAX_VAR)
        .ok_or(SkipReason::CouldNotCalibrate)?;
    if out.events_per_base > MAX_EVENTS_PER_BASE {
        return Err(SkipReason::QcFail);
    }
    Ok(())
}

/// First and last event of each k-mer. An event that is on several k-mers counts for the first.
fn map_kmers(pairs: &[AlignedPair], kmers: usize, of_kmer: &mut Vec<EventRange>) {
    of_kmer.clear();
    of_kmer.resize(kmers, EventRange::NONE);
    let mut before = None;
    for &AlignedPair { kmer, event } in pairs {
        if before.replace(event) == Some(event) {
            continue;
        }
        let range = &mut of_kmer[kmer as usize];
        let first = range.get().map_or(event, |range| range.first);
        *range = EventRange { first, last: event };
    }
}

#[cfg(test)]
mod tests {
    use seqloom_testkit::random::Random;

    use super::*;
    use crate::pore_model::builtin;

    /// A read of random bases: eight samples for each k-mer at its level and a little noise.
    fn simulated(model: &PoreModel, bases: usize) -> (SignalRead, Vec<u8>) {
        let mut random = Random::new(7);
        let sequence: Vec<u8> = (0..bases).map(|_| random.pick(b"ACGT")).collect();
        let mut read = SignalRead {
            digitisation: 8192.0,
            offset: 0.0,
            range: 8192.0 * 0.1,
            sampling_rate: 4000.0,
            ..SignalRead::default()
        };
        for rank in model.ranks(&sequence) {
            for _ in 0..8 {
                let level = model.level_mean_pa[rank as usize] * 1.1 + 5.0;
                let noise = random.below(2001) as f64 / 1000.0 - 1.0;
                read.samples.push(((level + 1.5 * noise) * 10.0).round() as i16);
            }
        }
        (read, sequence)
    }

    #[test]
    fn a_simulated_read_is_calibrated_and_scratch_does_not_show() {
        let model = builtin::r9_4_1_nucleotide().unwrap();
        let options = ReadOptions::dna();
        let (mut scratch, mut out) = (ReadScratch::default(), ReadEvents::default());
        for bases in [3000, 800] {
            let (read, sequence) = simulated(&model, bases);
            let read = BasecalledRead { signal: &read, sequence: &sequence };
            align_read(&mut scratch, read, &model, &options, &mut out).unwrap();
            assert!((out.scaling.scale - 1.1).abs() < 0.02, "{:?}", out.scaling);
            assert!((out.scaling.shift_pa - 5.0).abs() < 2.0, "{:?}", out.scaling);
            assert!((0.5..2.0).contains(&out.events_per_base), "{}", out.events_per_base);
            assert_eq!(out.of_kmer.len(), bases - 5);
            let found = out.of_kmer.iter().filter(|range| range.get().is_some()).count();
            assert!(found * 10 > bases * 7, "{found} of {bases} k-mers have events");
            let mut fresh = ReadEvents::default();
            let scratch = &mut ReadScratch::default();
            align_read(scratch, read, &model, &options, &mut fresh).unwrap();
            assert_eq!(fresh, out);
        }
        let times = scratch.times;
        assert!(times.events_ns > 0 && times.align_ns > 0 && times.scaling_ns > 0);
        assert!(times.cells > 100 * 3800);
    }

    #[test]
    fn reads_that_cannot_be_used_say_why() {
        let model = builtin::r9_4_1_nucleotide().unwrap();
        let (good, sequence) = simulated(&model, 1000);
        let t = |change: &dyn Fn(&mut SignalRead), bases: &[u8], expected: SkipReason| {
            let (mut read, mut out) = (good.clone(), ReadEvents::default());
            change(&mut read);
            let scratch = &mut ReadScratch::default();
            let options = ReadOptions::dna();
            let read = BasecalledRead { signal: &read, sequence: bases };
            let outcome = align_read(scratch, read, &model, &options, &mut out);
            assert_eq!(outcome, Err(expected), "{}", expected.name());
        };
        t(&|_| {}, b"", SkipReason::TooShort);
        t(&|_| {}, b"ACGTA", SkipReason::TooShort);
        t(&|read| read.samples.clear(), &sequence, SkipReason::TooShort);
        t(&|read| read.digitisation = 0.0, &sequence, SkipReason::BadSignal);
        t(&|read| read.range = f64::NAN, &sequence, SkipReason::BadSignal);
        t(&|read| read.offset = f64::INFINITY, &sequence, SkipReason::BadSignal);
        t(&|read| read.range = 1e30, &sequence, SkipReason::BadSignal);
        t(&|read| read.range = 0.0, &sequence, SkipReason::BadSignal);
        t(&|read| read.samples.truncate(30), &sequence, SkipReason::TooFewEvents);
        t(&|_| {}, &sequence[..20], SkipReason::TooManyEvents);
        let backwards: Vec<u8> = sequence.iter().rev().copied().collect();
        t(&|_| {}, &backwards, SkipReason::NoAlignment);
        t(&|read| read.samples.truncate(8 * 95), &sequence[..100], SkipReason::CouldNotCalibrate);
    }

    #[test]
    fn names_of_reasons_differ() {
        let names: std::collections::BTreeSet<_> =
            SkipReason::ALL.iter().map(|reason| reason.name()).collect();
        assert_eq!(names.len(), SkipReason::ALL.len());
    }
}
