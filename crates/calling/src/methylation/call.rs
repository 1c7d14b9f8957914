//! Calls of the groups of sites of one read: the events round each group are scored with all its
//! sites methylated and with none.

use crate::Motif;
use crate::aligned_read::{AlignedRead, AlignedSignal};
use crate::hmm::kmers::{Molecule, lowest_base, push_ranks};
use crate::hmm::score::{LANES, Levels, Question, ScoreScratch, score};
use crate::hmm::{Clipping, ScaledLevel, Transitions};
use crate::pore_model::PoreModel;

use super::GroupCall;
use super::groups::{EventsByReference, Group, Walked, find};

/// Options of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallOptions {
    /// Motif that is called.
    pub motif: Motif,
    /// Sites at most so many bases apart are called together; a group must be further from the
    /// start of the alignment, with its flank.
    pub(crate) gap_bp: u32,
    /// Bases before and after the first bases of the first and the last site that are scored too.
    pub(crate) flank_bp: u32,
    /// Groups with a greater distance from first to last site are not called.
    pub(crate) span_limit_bp: u32,
    /// Groups need more than so many events from one end to the other.
    pub(crate) least_events: u32,
}

impl Default for CallOptions {
    /// CpG with nanopolish's constants.
    fn default() -> Self {
        Self::of(Motif::Cpg)
    }
}

impl CallOptions {
    /// A motif with nanopolish's constants, which are the same for all.
    #[must_use]
    pub const fn of(motif: Motif) -> Self {
        Self { motif, gap_bp: 10, flank_bp: 10, span_limit_bp: 200, least_events: 10 }
    }
}

/// Which events of a group are scored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Window {
    /// K-mers after the last scored one up to whose first event the events reach.
    more_kmers: u32,
    /// Which of the events may belong to none of the scored k-mers.
    clipping: Clipping,
}

/// Longest k-mers that are scored as nanopolish scores them.
const LONGEST_CLIPPED_KMER: usize = 6;

impl Window {
    /// Of k-mers of so many letters. nanopolish, whose k-mers have six letters at the most, takes
    /// the events up to the last base of the window, though the last k-mer ends there, and leaves
    /// those that fit nowhere to the background. Deviations of 9-mers are so great that the
    /// background is as likely as a k-mer, and most events would be left to it: there, the events
    /// are those of the scored k-mers, and all are scored.
    const fn of(kmer_length: usize) -> Self {
        match kmer_length > LONGEST_CLIPPED_KMER {
            true => Self { more_kmers: 0, clipping: Clipping::NEITHER },
            false => Self { more_kmers: kmer_length as u32 - 1, clipping: Clipping::BOTH },
        }
    }
}

/// A group that will be scored.
#[derive(Debug, Clone, Copy)]
struct Job {
    group: Group,
    /// Events of both ends.
    events: Walked,
    /// Where the k-mers of the unmethylated sequence begin; those of the methylated one follow.
    kmers: usize,
    kmer_count: usize,
}

impl Job {
    fn event_count(&self) -> u32 {
        self.events.from.abs_diff(self.events.to) + 1
    }
}

/// Buffers of [`call_read`], to be kept by the caller.
#[derive(Debug, Default)]
pub(crate) struct CallScratch {
    reference: Vec<u8>,
    groups: Vec<Group>,
    ranks: Vec<u32>,
    levels: Vec<ScaledLevel>,
    jobs: Vec<Job>,
    order: Vec<u32>,
    score: ScoreScratch,
}

/// Appends the calls of one read to `calls`, in the order of the reference. `model` has the
/// alphabet [`Alphabet::Methylated`](crate::pore_model::Alphabet::Methylated).
pub(crate) fn call_read(
    scratch: &mut CallScratch,
    signal: AlignedSignal<'_>,
    model: &PoreModel,
    options: &CallOptions,
    calls: &mut Vec<GroupCall>,
) {
    let read = signal.read;
    scratch.reference.clear();
    scratch.reference.extend(read.reference.iter().copied().map(lowest_base));
    scratch.groups.clear();
    find(options.motif, &scratch.reference, options.gap_bp, &mut scratch.groups);
    collect_jobs(scratch, signal, model, options);
    let begin = calls.len();
    calls.extend(scratch.jobs.iter().map(|job| unscored(job, read, model.kmer_length)));
    let clipping = Window::of(model.kmer_length).clipping;
    score_jobs(scratch, signal, clipping, &mut calls[begin..]);
}

/// Leaves the groups that can be called, with their k-mers, in the scratch.
fn collect_jobs(
    scratch: &mut CallScratch,
    AlignedSignal { read, events }: AlignedSignal<'_>,
    model: &PoreModel,
    options: &CallOptions,
) {
    let CallScratch { reference, groups, ranks, levels, jobs, .. } = scratch;
    jobs.clear();
    levels.clear();
    let k = model.kmer_length;
    let more_kmers = Window::of(k).more_kmers;
    let of_kmer = &events.of_kmer;
    let length = read.sequence.len();
    let by_reference = EventsByReference::new(read.pairs, of_kmer, length, k, read.is_reverse);
    let Some(by_reference) = by_reference else { return };
    let log_var = events.scaling.var.ln();
    for group in groups.iter() {
        let start = group.first.saturating_sub(options.flank_bp);
        let end = group.last + options.flank_bp;
        if start <= options.gap_bp || group.last - group.first > options.span_limit_bp {
            continue;
        }
        let Some(window) = reference.get(start as usize..=end as usize) else { continue };
        let last = (end + 1 + more_kmers).saturating_sub(k as u32);
        let Some(span) = by_reference.window(start, last) else { continue };
        if span.from.abs_diff(span.to) <= options.least_events {
            continue;
        }
        let kmers = levels.len();
        ranks.clear();
        for methylated in [None, Some(options.motif)] {
            let molecule = Molecule { is_reverse: read.is_reverse, methylated };
            push_ranks(window, molecule, model.alphabet, k, ranks);
        }
        let scaled = |rank: &u32| ScaledLevel::of(model, *rank, &events.scaling, log_var);
        levels.extend(ranks.iter().map(scaled));
        jobs.push(Job { group: *group, events: span, kmers, kmer_count: ranks.len() / 2 });
    }
}

/// The call of a job, without its scores.
fn unscored(job: &Job, read: &AlignedRead<'_>, kmer_length: usize) -> GroupCall {
    let Group { first, last, count } = job.group;
    let flank = kmer_length as u32;
    GroupCall {
        first: read.start + u64::from(first),
        last: read.start + u64::from(last),
        motif_count: count,
        log_lik_methylated: f64::NEG_INFINITY,
        log_lik_unmethylated: f64::NEG_INFINITY,
        context_start: (first + 1).saturating_sub(flank),
        context_end: (last + flank).min(read.reference.len() as u32),
    }
}

/// Scores all jobs, those of like size together. The order does not touch the scores.
fn score_jobs(
    scratch: &mut CallScratch,
    AlignedSignal { read, events }: AlignedSignal<'_>,
    clipping: Clipping,
    calls: &mut [GroupCall],
) {
    let CallScratch { levels, jobs, order, score: score_scratch, .. } = scratch;
    let transitions = Transitions::new(events.events_per_base);
    order.clear();
    order.extend(0..jobs.len() as u32);
    order.sort_unstable_by_key(|at| {
        let job = &jobs[*at as usize];
        (job.kmer_count, job.event_count(), *at)
    });
    for chunk in order.chunks(LANES / 2) {
        let nothing = Levels { mean_pa: &[], backwards: read.is_reverse };
        let mut questions = [Question { levels: nothing, kmers: &[] }; LANES];
        for (at, pair) in chunk.iter().zip(questions.chunks_exact_mut(2)) {
            let job = &jobs[*at as usize];
            let Walked { from, to } = job.events;
            let mean_pa = events.events.mean_pa.get(from.min(to) as usize..=from.max(to) as usize);
            let walk = Levels { mean_pa: mean_pa.unwrap_or_default(), backwards: from > to };
            let (unmethylated, methylated) =
                levels[job.kmers..][..2 * job.kmer_count].split_at(job.kmer_count);
            pair[0] = Question { levels: walk, kmers: unmethylated };
            pair[1] = Question { levels: walk, kmers: methylated };
        }
        let questions = &questions[..2 * chunk.len()];
        let scores = score(score_scratch, questions, &transitions, clipping);
        for (at, pair) in chunk.iter().zip(scores.chunks_exact(2)) {
            let call = &mut calls[*at as usize];
            call.log_lik_unmethylated = pair[0];
            call.log_lik_methylated = pair[1];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hmm::score::in_logarithms;
    use crate::hmm::test_read::MadeRead;
    use crate::pore_model::{Alphabet, builtin};

    fn calls(read: &MadeRead, options: &CallOptions) -> Vec<GroupCall> {
        let model = builtin::r9_4_1_methylated(options.motif).unwrap();
        let mut calls = Vec::new();
        let signal = AlignedSignal { read: &read.aligned(), events: &read.events };
        call_read(&mut CallScratch::default(), signal, &model, options, &mut calls);
        calls
    }

    #[test]
    fn methylated_reads_are_distinguished_from_others_on_both_strands() {
        // Few k-mers of dam and dcm have levels of their own in nanopolish's models: noise decides
        // the sign of a ratio there, but not which of two reads with the same noise has more.
        for (motif, site, least_ratio) in [
            (Motif::Cpg, b"CG".as_slice(), 0.1),
            (Motif::Gpc, b"GC", 0.1),
            (Motif::Dam, b"GATC", 0.0),
            (Motif::Dcm, b"CCAGG", 0.0),
        ] {
            let model = builtin::r9_4_1_methylated(motif).unwrap();
            for is_reverse in [false, true] {
                let [bare, methylated] = [None, Some(motif)].map(|methylated| {
                    let molecule = Molecule { is_reverse, methylated };
                    let read = MadeRead::with_sites(&model, molecule, site);
                    let calls = calls(&read, &CallOptions::of(motif));
                    calls.iter().for_each(|call| is_at_its_sites(motif, &read, call));
                    calls
                });
                assert!(bare.len() >= 8, "{motif}: {}", bare.len());
                assert_eq!(bare.len(), methylated.len());
                let ratio = |call: &GroupCall| call.log_lik_methylated - call.log_lik_unmethylated;
                let mut apart = 0;
                for (bare, methylated) in bare.iter().zip(&methylated) {
                    assert_eq!((bare.first, bare.last), (methylated.first, methylated.last));
                    let (low, high) = (ratio(bare), ratio(methylated));
                    assert!(low <= high, "{motif}: {bare:?} {methylated:?}");
                    let is_clear = low < -least_ratio && high > least_ratio;
                    assert!(is_clear || least_ratio == 0.0, "{motif}: {bare:?} {methylated:?}");
                    apart += usize::from(low + 0.01 < high);
                }
                assert!(apart * 2 >= bare.len(), "{motif}: {apart} of {}", bare.len());
            }
        }
    }

    /// A call of a made read is at a site, with all sites of its group and the bases around.
    fn is_at_its_sites(motif: Motif, read: &MadeRead, call: &GroupCall) {
        assert!(motif.is_at(&read.reference, (call.first - 1000) as usize));
        let context = call.context_start as usize..call.context_end as usize;
        let context = &read.reference[context];
        assert_eq!(context.len() as u64, call.last - call.first + 11);
        assert_eq!(motif.sites(context).count(), call.motif_count as usize);
    }

    /// Levels that methylation and every letter move, with so great a deviation.
    fn made_model(kmer_length: usize, stdv_pa: f64) -> PoreModel {
        let rows = Alphabet::Methylated.rows(kmer_length).unwrap();
        let level = |rank: usize| 60.0 + (rank as u32).wrapping_mul(2_654_435_769) as f64 / 1e8;
        let means = (0..rows).map(level).collect();
        let stdvs = vec![stdv_pa; rows];
        PoreModel::new(String::new(), Alphabet::Methylated, kmer_length, means, stdvs).unwrap()
    }

    /// Whatever the length of k-mers: which events are scored, and how.
    #[test]
    fn events_of_long_kmers_are_scored_all_and_alone() {
        for (kmer_length, more_kmers, clipping, other) in
            [(6, 5, Clipping::BOTH, Clipping::NEITHER), (9, 0, Clipping::NEITHER, Clipping::BOTH)]
        {
            let model = made_model(kmer_length, 5.1);
            for is_reverse in [false, true] {
                let molecule = Molecule { is_reverse, methylated: Some(Motif::Cpg) };
                let read = MadeRead::with_sites(&model, molecule, b"CG");
                let (scratch, mut calls) = (&mut CallScratch::default(), Vec::new());
                let signal = AlignedSignal { read: &read.aligned(), events: &read.events };
                call_read(scratch, signal, &model, &CallOptions::default(), &mut calls);
                assert!(calls.len() >= 8, "{}", calls.len());
                let transitions = Transitions::new(read.events.events_per_base);
                let mut apart = 0;
                for (job, call) in scratch.jobs.iter().zip(&calls) {
                    let Walked { from, to } = job.events;
                    let place = |event: u32| read.kmer_of_event[event as usize];
                    let scored = (job.kmer_count - 1) as u32;
                    assert_eq!(place(from), job.group.first - 10);
                    assert_eq!(place(to), place(from) + scored + more_kmers);
                    let span = from.min(to) as usize..=from.max(to) as usize;
                    let mean_pa = &read.events.events.mean_pa[span];
                    let kmers = &scratch.levels[job.kmers..][..job.kmer_count];
                    let levels = Levels { mean_pa, backwards: from > to };
                    let question = Question { levels, kmers };
                    let by = |clipping| in_logarithms(&question, &transitions, clipping);
                    let found = call.log_lik_unmethylated;
                    assert!((found - by(clipping)).abs() < 1e-3, "{found} {}", by(clipping));
                    apart += usize::from((found - by(other)).abs() > 0.1);
                }
                assert_eq!(apart, calls.len());
            }
        }
    }

    #[test]
    fn options_leave_groups_out() {
        let model = builtin::r9_4_1_methylated(Motif::Cpg).unwrap();
        let molecule = Molecule { is_reverse: false, methylated: None };
        let read = MadeRead::new(&model, molecule);
        let all = calls(&read, &CallOptions::default());
        let t = |options, keep: &dyn Fn(&GroupCall) -> bool| {
            let kept: Vec<_> = all.iter().filter(|call| keep(call)).copied().collect();
            assert!(kept.len() < all.len());
            assert_eq!(calls(&read, &options), kept);
        };
        let options = CallOptions::default();
        t(CallOptions { span_limit_bp: 9, ..options }, &|call| call.last - call.first <= 9);
        t(CallOptions { least_events: 10_000, ..options }, &|_| false);
    }

    #[test]
    fn a_read_without_events_has_no_calls() {
        let model = builtin::r9_4_1_methylated(Motif::Cpg).unwrap();
        let mut read = MadeRead::new(&model, Molecule { is_reverse: true, methylated: None });
        read.events.of_kmer.fill(crate::events::EventRange::NONE);
        assert_eq!(calls(&read, &CallOptions::default()), []);
    }
}
