//! What is scheduled: engines, times per read as the papers' aligners have them, and a meter that
//! says how long each worker was at it.

use std::str::FromStr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use seqloom_align::engine::fake::FakeOptions;
use seqloom_align::engine::{
    BatchEngine, CohortEngine, EngineError, EngineReads, Ordinals, RecordSink, SeededBatch,
};
use seqloom_runtime::failure::lock;

/// An engine that takes as long for a read as one of the papers' aligners.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Preset {
    /// Its name on the command line.
    pub(crate) name: &'static str,
    /// Time per read.
    pub(crate) per_read_us: u64,
    /// Where the time comes from.
    pub(crate) source: &'static str,
}

/// Langmead et al. 2018, Table 2: what one thread of the multiprocess baseline takes for a read,
/// which waits for no lock: threads over reads per second at the peak on Broadwell, unpaired. Two
/// threads share a core there.
pub(crate) const PRESETS: [Preset; 3] = [
    Preset {
        name: "bowtie",
        per_read_us: 92,
        source: "Langmead 2018, Table 2, MP on Broadwell, unpaired: 112 threads, 1215.75 k/s",
    },
    Preset {
        name: "bowtie2",
        per_read_us: 702,
        source: "Langmead 2018, Table 2, MP on Broadwell, unpaired: 112 threads, 159.47 k/s",
    },
    Preset {
        name: "hisat",
        per_read_us: 97,
        source: "Langmead 2018, Table 2, MP on Broadwell, unpaired: 112 threads, 1154.60 k/s",
    },
];

/// An engine by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Subject {
    /// It does not align: see [`seqloom_align::engine::fake`].
    Fake(FakeOptions),
    /// bwa's algorithm.
    Bwa,
    /// Whole reads by score, as Bowtie 2 places them end to end.
    EndToEnd,
}

impl FromStr for Subject {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(preset) = PRESETS.iter().find(|preset| preset.name == text) {
            let spin_per_read = Duration::from_micros(preset.per_read_us);
            return Ok(Self::Fake(FakeOptions { spin_per_read, ..FakeOptions::default() }));
        }
        match text.split_once(':').unwrap_or((text, "")) {
            ("bwa", "") => Ok(Self::Bwa),
            ("end-to-end", "") => Ok(Self::EndToEnd),
            ("null", "") => Ok(Self::Fake(FakeOptions::default())),
            ("fake", options) => {
                options.parse().map(Self::Fake).map_err(|error: EngineError| error.to_string())
            }
            _ => {
                let presets = PRESETS.map(|preset| preset.name).join(", ");
                Err(format!("must be null, fake:OPTIONS, {presets}, bwa or end-to-end"))
            }
        }
    }
}

impl Subject {
    /// Whether it aligns, for which it needs an index and reads of that genome.
    #[must_use]
    pub(crate) fn aligns(&self) -> bool {
        !matches!(self, Self::Fake(_))
    }

    /// The same with another time per read, slept or burnt; `None` for engines that align.
    #[must_use]
    pub(crate) fn taking(self, per_read: Option<Duration>, sleeps: bool) -> Option<Self> {
        let Self::Fake(options) = self else { return None };
        let time = per_read.unwrap_or(options.spin_per_read + options.sleep_per_read);
        let (sleep_per_read, spin_per_read) =
            if sleeps { (time, Duration::ZERO) } else { (Duration::ZERO, time) };
        Some(Self::Fake(FakeOptions { sleep_per_read, spin_per_read, ..options }))
    }
}

/// An engine that places batches by themselves, as one that works by cohorts: all is done where
/// records are handed out, and no model is learned.
pub(super) struct ByBatches<E>(pub(super) E);

impl<E: BatchEngine> CohortEngine for ByBatches<E> {
    type Scratch = E::Scratch;
    type Candidates = ();
    type Model = ();

    fn scratch(&self) -> Result<E::Scratch, EngineError> {
        self.0.scratch()
    }

    fn seed_extend(&self, _: &mut E::Scratch, _: &EngineReads<'_>) -> Result<(), EngineError> {
        Ok(())
    }

    fn infer_cohort(&self, _: &[()]) -> Result<(), EngineError> {
        Ok(())
    }

    fn emit(
        &self,
        scratch: &mut E::Scratch,
        seeded: SeededBatch<'_, Self>,
        sink: &mut dyn RecordSink,
    ) -> Result<(), EngineError> {
        let Ordinals { first_pair, first_single } = seeded.ordinals;
        // All reads of a run are pairs, or all are single.
        let first_read = if seeded.reads.pairs.is_empty() { first_single } else { 2 * first_pair };
        self.0.align(scratch, seeded.reads, first_read, sink)
    }

    fn held_bytes(&self, (): &()) -> u64 {
        0
    }

    fn longest_read_bases(&self) -> usize {
        self.0.longest_read_bases()
    }
}

/// What the workers of a run did, those that are done.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Meters {
    /// From its start to its end, the slowest worker: the papers' time of a run. The index is
    /// loaded before.
    pub(super) slowest: Duration,
    /// Time in the engine, over all workers.
    pub(super) busy: Duration,
    /// Reads.
    pub(super) reads: u64,
}

/// An engine with a meter, for a part of the input: ordinals count from the whole input's start.
pub(super) struct Metered<'a, E> {
    engine: &'a E,
    first_template: u64,
    meters: Arc<Mutex<Meters>>,
}

impl<'a, E> Metered<'a, E> {
    pub(super) fn new(engine: &'a E, first_template: u64) -> Self {
        Self { engine, first_template, meters: Arc::default() }
    }

    pub(super) fn meters(&self) -> Meters {
        *lock(&self.meters)
    }
}

/// A worker's memory: it lives as long as the worker is at work.
pub(super) struct Meter<S> {
    inner: S,
    started: Instant,
    busy: Duration,
    reads: u64,
    all: Arc<Mutex<Meters>>,
}

impl<S> Drop for Meter<S> {
    fn drop(&mut self) {
        let mut all = lock(&self.all);
        all.slowest = all.slowest.max(self.started.elapsed());
        all.busy += self.busy;
        all.reads += self.reads;
    }
}

impl<E: CohortEngine> CohortEngine for Metered<'_, E> {
    type Scratch = Meter<E::Scratch>;
    type Candidates = E::Candidates;
    type Model = E::Model;

    fn scratch(&self) -> Result<Self::Scratch, EngineError> {
        let inner = self.engine.scratch()?;
        let (started, all) = (Instant::now(), self.meters.clone());
        Ok(Meter { inner, started, busy: Duration::ZERO, reads: 0, all })
    }

    fn seed_extend(
        &self,
        meter: &mut Self::Scratch,
        reads: &EngineReads<'_>,
    ) -> Result<E::Candidates, EngineError> {
        let started = Instant::now();
        let candidates = self.engine.seed_extend(&mut meter.inner, reads);
        meter.busy += started.elapsed();
        meter.reads += (2 * reads.pairs.len() + reads.singles.len()) as u64;
        candidates
    }

    fn infer_cohort(&self, candidates: &[E::Candidates]) -> Result<E::Model, EngineError> {
        self.engine.infer_cohort(candidates)
    }

    fn emit(
        &self,
        meter: &mut Self::Scratch,
        seeded: SeededBatch<'_, Self>,
        sink: &mut dyn RecordSink,
    ) -> Result<(), EngineError> {
        let SeededBatch { reads, candidates, model, ordinals } = seeded;
        let ordinals = Ordinals {
            first_pair: ordinals.first_pair + self.first_template,
            first_single: ordinals.first_single + self.first_template,
        };
        let seeded = SeededBatch { reads, candidates, model, ordinals };
        let started = Instant::now();
        let emitted = self.engine.emit(&mut meter.inner, seeded, sink);
        meter.busy += started.elapsed();
        emitted
    }

    fn held_bytes(&self, candidates: &E::Candidates) -> u64 {
        self.engine.held_bytes(candidates)
    }

    fn longest_read_bases(&self) -> usize {
        self.engine.longest_read_bases()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_have_names() {
        let spin = |text: &str| match text.parse::<Subject>() {
            Ok(Subject::Fake(options)) => options.spin_per_read.as_micros(),
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!((spin("null"), spin("fake"), spin("fake:spin=7us")), (0, 0, 7));
        assert_eq!((spin("bowtie"), spin("bowtie2"), spin("hisat")), (92, 702, 97));
        assert_eq!("bwa".parse(), Ok(Subject::Bwa));
        assert_eq!("end-to-end".parse(), Ok(Subject::EndToEnd));
        for bad in ["", "null:spin=1us", "fake:nap=1us", "snap"] {
            assert!(bad.parse::<Subject>().is_err(), "{bad}");
        }
    }

    #[test]
    fn the_time_per_read_is_slept_or_burnt() {
        let t = |per_read, sleeps| {
            let subject = "bowtie".parse::<Subject>().unwrap().taking(per_read, sleeps);
            let Some(Subject::Fake(options)) = subject else { panic!("an engine that aligns") };
            (options.spin_per_read.as_micros(), options.sleep_per_read.as_micros())
        };
        assert_eq!(t(None, true), (0, 92));
        assert_eq!(t(Some(Duration::from_micros(5)), false), (5, 0));
        assert_eq!(Subject::Bwa.taking(None, true), None);
    }

    /// What the presets say they are.
    #[test]
    fn presets_follow_from_their_sources() {
        for preset in PRESETS {
            let (threads, rate) =
                preset.source.rsplit_once(": ").unwrap().1.split_once(", ").unwrap();
            let threads: f64 = threads.trim_end_matches(" threads").parse().unwrap();
            let rate: f64 = rate.trim_end_matches(" k/s").parse().unwrap();
            assert_eq!((threads / rate * 1e3).round() as u64, preset.per_read_us, "{preset:?}");
        }
    }
}
