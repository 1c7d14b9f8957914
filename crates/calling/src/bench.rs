//! The kernels one at a time, for the benchmarks: what is built with the feature `bench` alone.

use seqloom_format::signal::SignalRead;

use crate::Motif;
use crate::aligned_read::{AlignedBase, AlignedRead, AlignedSignal};
use crate::eventalign::table::{TableOptions, TableRead, push_rows};
use crate::eventalign::{self, EventRow, Expected, WalkScratch};
use crate::events::align::{AlignScratch, BANDWIDTH, BandedInput, Kernel, align};
use crate::events::detect::{DetectOptions, DetectScratch, detect, samples_to_pa};
use crate::events::scaling::from_moments;
use crate::events::{EventRange, Events, ReadEvents, Scaling};
use crate::hmm::kmers::{Molecule, push_ranks};
use crate::hmm::score::{LANES, Levels, Question, ScoreScratch, in_logarithms, score};
use crate::hmm::{Clipping, ScaledLevel, Transitions};
use crate::methylation::call::{CallOptions, CallScratch, call_read};
use crate::pore_model::{ModelError, PoreModel, builtin};

/// K-mers of the window of one CpG.
const WINDOW_KMERS: usize = 16;

/// Samples to events, by themselves.
#[derive(Default)]
pub struct Detection {
    samples_pa: Vec<f32>,
    scratch: DetectScratch,
    events: Events,
}

impl Detection {
    /// Finds the events of a read of DNA.
    pub fn detect(&mut self, signal: &SignalRead) {
        samples_to_pa(signal, &mut self.samples_pa);
        detect(&mut self.scratch, &self.samples_pa, &DetectOptions::DNA, &mut self.events);
    }
}

/// What the alignment of one read starts from.
struct Prepared {
    events: Events,
    ranks: Vec<u32>,
    scaling: Scaling,
}

/// Reads whose events are found, to be aligned.
pub struct BandedReads {
    model: PoreModel,
    prepared: Vec<Prepared>,
}

impl BandedReads {
    /// Finds the events of reads, each a signal and its bases.
    ///
    /// # Errors
    ///
    /// The model that is built in is not whole.
    pub fn new<'a>(
        reads: impl Iterator<Item = (&'a SignalRead, &'a [u8])>,
    ) -> Result<Self, ModelError> {
        let model = builtin::r9_4_1_nucleotide()?;
        let mut detection = Detection::default();
        let prepare = |(signal, bases): (&SignalRead, &[u8])| {
            detection.detect(signal);
            let events = std::mem::take(&mut detection.events);
            let ranks: Vec<u32> = model.ranks(bases).collect();
            let scaling = from_moments(&events.mean_pa, &ranks, &model);
            Prepared { events, ranks, scaling }
        };
        let prepared = reads.map(prepare).collect();
        Ok(Self { model, prepared })
    }

    /// Names of the kernels that this processor can run.
    pub fn kernels() -> impl Iterator<Item = &'static str> {
        Kernel::available().map(Kernel::name)
    }

    /// Cells that one alignment of each read fills.
    #[must_use]
    pub fn cells(&self) -> usize {
        let rows = |it: &Prepared| it.events.len() + it.ranks.len();
        self.prepared.iter().map(|it| rows(it) * BANDWIDTH).sum()
    }

    /// Aligns each read once by the kernel of this name.
    pub fn align(&self, kernel: &str) {
        let (mut scratch, mut pairs) = (AlignScratch::default(), Vec::new());
        for kernel in Kernel::available().filter(|it| it.name() == kernel) {
            for Prepared { events, ranks, scaling } in &self.prepared {
                let event_means_pa = &events.mean_pa;
                let input = BandedInput { event_means_pa, ranks, model: &self.model, scaling };
                // Whether there is an alignment does not matter here.
                let _ = align(&mut scratch, kernel, input, &mut pairs);
            }
        }
    }
}

/// A read without errors or methylation, aligned to itself.
pub struct MadeRead {
    nucleotide: PoreModel,
    cpg: PoreModel,
    bases: Vec<u8>,
    events: ReadEvents,
    pairs: Vec<AlignedBase>,
}

impl MadeRead {
    /// A read of these bases; `below` draws a number below its argument, and with it how long the
    /// pore stays at each k-mer and what it measures.
    ///
    /// # Errors
    ///
    /// A model that is built in is not whole.
    pub fn new(bases: Vec<u8>, below: &mut dyn FnMut(u64) -> u64) -> Result<Self, ModelError> {
        let (nucleotide, cpg) =
            (builtin::r9_4_1_nucleotide()?, builtin::r9_4_1_methylated(Motif::Cpg)?);
        let events = made_events(&bases, &nucleotide, below);
        let pairs =
            (0..bases.len() as u32).map(|at| AlignedBase { offset: at, position: at }).collect();
        Ok(Self { nucleotide, cpg, bases, events, pairs })
    }

    fn aligned(&self) -> AlignedRead<'_> {
        AlignedRead {
            name: b"read",
            contig: b"chr1",
            start: 0,
            is_reverse: false,
            sequence: &self.bases,
            reference: &self.bases,
            pairs: &self.pairs,
        }
    }

    /// Calls all CpG groups `rounds` times: calls of a round.
    #[must_use]
    pub fn call(&self, rounds: usize) -> usize {
        let (mut scratch, mut calls) = (CallScratch::default(), Vec::new());
        let signal = AlignedSignal { read: &self.aligned(), events: &self.events };
        for _ in 0..rounds {
            calls.clear();
            call_read(&mut scratch, signal, &self.cpg, &CallOptions::default(), &mut calls);
        }
        calls.len()
    }

    /// Windows of the size of one CpG, to be scored by two ways.
    #[must_use]
    pub fn windows(&self) -> Windows<'_> {
        let mut ranks = Vec::new();
        let molecule = Molecule { is_reverse: false, methylated: None };
        push_ranks(&self.bases, molecule, self.cpg.alphabet, self.cpg.kmer_length, &mut ranks);
        let scaled = |rank: &u32| ScaledLevel::of(&self.cpg, *rank, &self.events.scaling, 0.0);
        Windows {
            transitions: Transitions::new(self.events.events_per_base),
            levels: ranks.iter().map(scaled).collect(),
            events: &self.events,
        }
    }

    /// Aligns the events to the reference, for a table.
    #[must_use]
    pub fn walk(&self) -> Table<'_> {
        let mut rows = Vec::new();
        let signal = AlignedSignal { read: &self.aligned(), events: &self.events };
        let expected = Expected { model: &self.nucleotide, methylated: None };
        eventalign::align(&mut WalkScratch::default(), signal, expected, None, &mut rows);
        Table { read: self, rows }
    }
}

/// Bases to events: 1 to 4 for each k-mer, of 5 samples each.
fn made_events(bases: &[u8], model: &PoreModel, below: &mut dyn FnMut(u64) -> u64) -> ReadEvents {
    let mut ranks = Vec::new();
    let molecule = Molecule { is_reverse: false, methylated: None };
    push_ranks(bases, molecule, model.alphabet, model.kmer_length, &mut ranks);
    let (mut events, mut of_kmer) = (Events::default(), Vec::new());
    for rank in ranks {
        let first = events.len() as u32;
        for _ in 0..=below(3) + below(10) / 9 {
            events.start_samples.push(5 * events.len() as u64);
            events.length_samples.push(5.0);
            let stdv_pa = model.level_stdv_pa[rank as usize] * f64::from(normal(below));
            events.mean_pa.push((model.level_mean_pa[rank as usize] + stdv_pa) as f32);
            events.stdv_pa.push(1.0);
        }
        of_kmer.push(EventRange { first, last: events.len() as u32 - 1 });
    }
    let events_per_base = events.len() as f64 / bases.len() as f64;
    let scaling = Scaling { shift_pa: 0.0, scale: 1.0, var: 1.2 };
    ReadEvents { events, of_kmer, scaling, events_per_base }
}

/// Near enough to a normal deviate: the sum of twelve uniform ones.
fn normal(below: &mut dyn FnMut(u64) -> u64) -> f32 {
    (0..12).map(|_| below(1 << 20) as f32 / (1 << 20) as f32).sum::<f32>() - 6.0
}

/// Windows of the size of one CpG, one for each lane of the vectors.
pub struct Windows<'a> {
    transitions: Transitions,
    levels: Vec<ScaledLevel>,
    events: &'a ReadEvents,
}

impl Windows<'_> {
    /// How many windows are scored at once.
    pub const COUNT: usize = LANES;

    fn questions(&self) -> [Question<'_>; LANES] {
        std::array::from_fn(|lane| {
            let at = 1000 * (lane + 1);
            let first = self.events.of_kmer[at].first as usize;
            let last = self.events.of_kmer[at + WINDOW_KMERS - 1].last as usize;
            let mean_pa = &self.events.events.mean_pa[first..=last];
            let kmers = &self.levels[at..at + WINDOW_KMERS];
            Question { levels: Levels { mean_pa, backwards: false }, kmers }
        })
    }

    /// Scores all windows `rounds` times by vectors: the sum of a round.
    #[must_use]
    pub fn by_vectors(&self, rounds: usize) -> f64 {
        let (mut scratch, questions, mut sum) = (ScoreScratch::default(), self.questions(), 0.0);
        for _ in 0..rounds {
            let scores = score(&mut scratch, &questions, &self.transitions, Clipping::BOTH);
            sum = scores.iter().sum();
        }
        sum
    }

    /// Score by the plain recurrence.
    #[must_use]
    pub fn by_definition(&self, rounds: usize) -> f64 {
        let (questions, mut sum) = (self.questions(), 0.0);
        let each = |question| in_logarithms(question, &self.transitions, Clipping::BOTH);
        for _ in 0..rounds {
            sum = questions.iter().map(each).sum();
        }
        sum
    }
}

/// Events along the reference.
pub struct Table<'a> {
    read: &'a MadeRead,
    rows: Vec<EventRow>,
}

impl Table<'_> {
    /// How many rows it has.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// Writes the rows `rounds` times: bytes of a round.
    #[must_use]
    pub fn write(&self, rounds: usize) -> usize {
        let (read, mut text) = (&self.read.aligned(), Vec::new());
        let (events, model) = (&self.read.events, &self.read.nucleotide);
        let table =
            TableRead { read, index: 0, events, model, sample_rate_hz: 4000.0, samples_pa: &[] };
        for _ in 0..rounds {
            text.clear();
            push_rows(&table, &self.rows, &TableOptions::default(), &mut text);
        }
        text.len()
    }
}
