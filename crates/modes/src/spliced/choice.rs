//! From the hits of a read's seeds to its placements.
//!
//! A read that is somewhere without a mismatch is done. Otherwise diagonals that are near enough
//! for an intron are a cluster, and the best way over them is a placement; what is left of the
//! cluster may have another one.

use std::cmp::Reverse;
use std::ops::Range;

use super::diagonals::{Cluster, Diagonal, Mismatches, PricedRead, cluster_end};
use super::join::{Introns, Joiner, MOST_GAP, MOST_LIKENESS, Question, SCALE, Splice, Step};
use super::motif::{Kind, ends_alike, likeness, motif};
use super::options::{IntronOptions, SplicedOptions};
use super::overhang::{LEAST_CLIPPED, MOST_BASES, Overhang};
use super::sites::Sites;
use crate::by_score::alignment::{
    Aligned, Alignment, CLIP, DELETION, INSERTION, MATCH, Output, SKIP, push,
};
use crate::by_score::score::Scoring;
use crate::by_score::seeds::Hit;
use crate::chance::hash;
use crate::query::UNKNOWN;
use crate::reference::{Reference, Segment};

/// Most clusters of a read that are looked at.
const MOST_CLUSTERS: usize = 24;
/// Most placements in one cluster.
const MOST_IN_CLUSTER: usize = 6;
/// A new intron has to explain more than one mismatch at a good base: without this, one in so many
/// of them is a repeat of a few bases next to a mismatch.
const DOUBT: i32 = 6;

/// A placement, and what its introns say.
#[derive(Debug, Clone)]
pub(super) struct Spliced {
    pub(super) alignment: Alignment,
    /// The score times [`SCALE`], less what is doubted of its introns.
    pub(super) rank: i32,
    /// Whether the transcript is on the other strand of `T`, if introns say so.
    pub(super) is_turned: Option<bool>,
    chance: u64,
}

impl Aligned for Spliced {
    fn alignment(&self) -> &Alignment {
        &self.alignment
    }
}

#[cfg(test)]
impl Spliced {
    /// One of this rank and without strand.
    pub(super) fn plain((rank, segment): (i32, Segment), place: i64, ops: Range<usize>) -> Self {
        let alignment = Alignment { score: rank.div_euclid(SCALE), segment, place, ops };
        Self { alignment, rank, is_turned: None, chance: 0 }
    }
}

/// What has been chosen for a read: the best first.
#[derive(Debug, Clone, Default)]
pub(super) struct Chosen {
    /// All that were found, in [`Output::alignments`].
    pub(super) found: Range<usize>,
    /// Those of the best score come first.
    pub(super) best: usize,
    /// The next score.
    pub(super) second: Option<i32>,
}

/// What is required of a read.
#[derive(Clone, Copy)]
pub(super) struct Request<'a> {
    pub(super) read: PricedRead<'a>,
    pub(super) options: &'a SplicedOptions,
    pub(super) sites: &'a Sites,
    /// Least score.
    pub(super) minimum: i32,
    /// What decides among placements of one score.
    pub(super) key: u64,
    /// Ends that are clipped are searched for after introns.
    pub(super) looks_beyond: bool,
}

impl Request<'_> {
    /// Whether an intron begins or ends under a read on a diagonal.
    fn has_sites_under(&self, diagonal: &Diagonal) -> bool {
        let under = diagonal.start + 1..diagonal.start + self.read.query.len() as i64;
        !self.sites.is_empty()
            && (!self.sites.with_left(under.clone()).is_empty()
                || !self.sites.with_right(under).is_empty())
    }

    /// Whether no placement can come of a diagonal that is alone: each base that differs costs a
    /// point at least, whether it is clipped or not, but for those that are searched for elsewhere.
    fn is_hopeless(&self, diagonal: &Diagonal) -> bool {
        let elsewhere = if self.looks_beyond { MOST_BASES as i32 } else { 0 };
        let most = elsewhere - self.minimum;
        diagonal.ungapped.is_some_and(|it| it.0 as i32 > most)
            && self.options.costs_points()
            && !self.has_sites_under(diagonal)
    }
}

/// Working memory.
#[derive(Debug, Default)]
pub(super) struct ChoiceScratch {
    pub(super) diagonals: Vec<Diagonal>,
    clusters: Vec<(u32, Range<usize>)>,
    cluster: Cluster,
    joiner: Joiner,
    passed: Vec<bool>,
    clips: Vec<i32>,
    ops: Vec<u32>,
    turned: Vec<u8>,
}

/// Introns on a segment.
struct OnSegment<'a> {
    reference: &'a Reference<'a>,
    segment: Segment,
    sites: &'a Sites,
    options: &'a IntronOptions,
}

/// Introns with so many bases cost a point more than shorter ones: powers of e, from the ninth.
const LONGER: [i64; 6] = [8_104, 22_027, 59_875, 162_755, 442_414, 1_202_605];

/// What the length of an intron costs.
fn length_cost(bases: i64) -> i32 {
    LONGER.iter().filter(|&&it| bases >= it).count() as i32
}

impl Introns for OnSegment<'_> {
    #[inline(always)]
    fn splice(&self, left: i64, right: i64) -> Option<Splice> {
        let is_inside = left > self.segment.start && right < self.segment.end;
        if !is_inside {
            return None;
        }
        if let Some(site) = self.sites.get(left, right) {
            let is_turned = site.is_turned.or_else(|| {
                let found = motif(self.reference.genome, left, right);
                (found.kind != Kind::Other).then_some(found.is_turned)
            });
            return Some(Splice { cost: 0, doubt: -MOST_LIKENESS, anchor: 1, is_turned });
        }
        if !self.options.novel {
            return None;
        }
        let found = motif(self.reference.genome, left, right);
        let other = i32::from(self.options.other_penalty) * SCALE;
        let (cost, anchor) = match found.kind {
            Kind::Canonical => (0, self.options.anchor_bases),
            Kind::Rare | Kind::Other => (other, self.options.other_anchor_bases),
        };
        let length = length_cost(right - left) * SCALE;
        let is_known = found.kind != Kind::Other;
        let likeness = if is_known {
            likeness(self.reference.genome, left, right, found.is_turned)
        } else {
            ends_alike(self.reference.genome, left, right)
        };
        let is_turned = is_known.then_some(found.is_turned);
        let doubt = DOUBT * SCALE - i32::from(likeness);
        Some(Splice { cost: cost + length, doubt, anchor, is_turned })
    }

    fn known_lengths(&self, lefts: Range<i64>, out: &mut Vec<i64>) {
        out.extend(self.sites.with_left(lefts).iter().map(|site| site.right - site.left));
    }

    fn least_cost(&self, bases: i64, is_known: bool) -> i32 {
        let new = (DOUBT + length_cost(bases)) * SCALE;
        if is_known { -MOST_LIKENESS } else { new - MOST_LIKENESS }
    }

    fn lengths(&self) -> [i64; 2] {
        if !self.options.are_requested {
            return [i64::MAX, i64::MIN];
        }
        [self.options.least_bp, self.options.most_bp].map(i64::from)
    }
}

/// Whether a read is there without a mismatch.
fn is_perfect(diagonal: &&Diagonal) -> bool {
    diagonal.ungapped == Some(Mismatches(0))
}

impl ChoiceScratch {
    /// Finds the placements of a read whose seeds are at `hits`, in order of place.
    pub(super) fn choose(
        &mut self,
        request: Request<'_>,
        reference: &Reference<'_>,
        hits: &[Hit],
        out: &mut Output<Spliced>,
    ) -> Chosen {
        let from = out.alignments.len();
        request.read.diagonals(reference, hits, &mut self.diagonals);
        let is_over_sites = |it: &Diagonal| is_perfect(&it) && request.has_sites_under(it);
        if self.diagonals.iter().any(|it| is_perfect(&it))
            && !self.diagonals.iter().any(is_over_sites)
        {
            self.take_whole(request, out);
        } else {
            self.price_clips(request);
            self.list_clusters(request);
            for at in 0..self.clusters.len() {
                let diagonals = self.clusters[at].1.clone();
                self.join(request, reference, diagonals, (from, out));
            }
        }
        choose_best(from, out)
    }

    /// Takes the placements without a mismatch.
    fn take_whole(&mut self, request: Request<'_>, out: &mut Output<Spliced>) {
        let length = request.read.query.len();
        for diagonal in self.diagonals.iter().filter(is_perfect) {
            let ops = out.ops.len()..out.ops.len() + 1;
            out.ops.push((length as u32) << 4 | MATCH);
            let Diagonal { start: place, segment, .. } = *diagonal;
            out.alignments.push(Spliced {
                alignment: Alignment { score: 0, segment, place, ops },
                rank: 0,
                is_turned: None,
                chance: hash(request.key, place as u64),
            });
        }
    }

    /// What it costs to clip the bases of a read.
    fn price_clips(&mut self, request: Request<'_>) {
        let [good, bad] = request.options.clip.map(i32::from);
        let mut sum = 0;
        self.clips.clear();
        self.clips.push(sum);
        self.clips.extend(request.read.query.qualities().map(|quality| {
            sum += SCALE * if quality >= 40 { good } else { bad };
            sum
        }));
    }

    /// Puts diagonals in clusters, the best ones of which are kept.
    fn list_clusters(&mut self, request: Request<'_>) {
        let introns = &request.options.introns;
        let most = if introns.are_requested { i64::from(introns.most_bp) } else { MOST_GAP };
        self.clusters.clear();
        let mut first = 0;
        while first < self.diagonals.len() {
            let end = cluster_end(&self.diagonals, first, most);
            let all = &self.diagonals[first..end];
            let covered = all.iter().map(|it| it.covered).sum();
            if all.len() > 1 || !request.is_hopeless(&all[0]) {
                self.clusters.push((covered, first..end));
            }
            first = end;
        }
        if self.clusters.len() > MOST_CLUSTERS {
            self.clusters.sort_unstable_by_key(|it| (Reverse(it.0), it.1.start));
            self.clusters.truncate(MOST_CLUSTERS);
        }
    }

    /// Finds the placements in a cluster.
    fn join(
        &mut self,
        request: Request<'_>,
        reference: &Reference<'_>,
        diagonals: Range<usize>,
        (from, out): (usize, &mut Output<Spliced>),
    ) {
        let diagonals = &self.diagonals[diagonals];
        let Some(segment) = diagonals.first().map(|it| it.segment) else { return };
        self.cluster.take(request.read, reference, diagonals, request.sites);
        self.passed.clear();
        let options = &request.options.introns;
        let introns = OnSegment { reference, segment, sites: request.sites, options };
        let of_others = out.alignments[from..].iter().map(|it| it.rank.div_euclid(SCALE));
        let mut best = of_others.max().unwrap_or(request.minimum);
        for _ in 0..MOST_IN_CLUSTER {
            let Some(mut scaled) = self.best(request, &introns) else { return };
            let score = scaled.div_euclid(SCALE);
            let may_be_best = score + self.clipped() >= best;
            if request.looks_beyond
                && may_be_best
                && self.add_overhangs(request, reference, segment)
            {
                scaled = self.best(request, &introns).unwrap_or(scaled);
            }
            best = best.max(scaled.div_euclid(SCALE));
            let score = (scaled + self.joiner.doubt) / SCALE;
            if score < request.minimum {
                return;
            }
            let (steps, lanes) = (&self.joiner.steps, self.cluster.lanes());
            write_ops(steps, lanes, request.read.query.len(), &mut self.ops);
            let place = lanes[steps[0].lane].start + steps[0].from as i64;
            // Known introns may lead from one cluster to a diagonal of another.
            let is_same = |it: &Spliced| {
                it.alignment.place == place && it.alignment.with(&out.ops).ops == self.ops
            };
            if !out.alignments[from..].iter().any(is_same) {
                let ops = out.ops.len()..out.ops.len() + self.ops.len();
                out.ops.extend(&self.ops);
                out.alignments.push(Spliced {
                    alignment: Alignment { score, segment, place, ops },
                    rank: scaled,
                    is_turned: self.joiner.is_turned,
                    chance: hash(request.key, place as u64),
                });
            }
            steps.iter().for_each(|step| self.passed[step.lane] = true);
            if self.passed.iter().all(|it| *it) {
                return;
            }
        }
    }

    /// What the clipped ends of the way at hand cost, if no more is clipped than may be found
    /// after introns.
    fn clipped(&self) -> i32 {
        let steps = &self.joiner.steps;
        let (Some(first), Some(last)) = (steps.first(), steps.last()) else { return 0 };
        let all = self.clips.len() - 1;
        let is_short = |bases: usize| bases <= MOST_BASES;
        if !is_short(first.from) || !is_short(all - last.end) {
            return i32::MIN / 2;
        }
        (self.clips[first.from] + self.clips[all] - self.clips[last.end]) / SCALE
    }

    /// The best way over the diagonals of the cluster that are left.
    fn best(&mut self, request: Request<'_>, introns: &OnSegment<'_>) -> Option<i32> {
        let lanes = self.cluster.lanes();
        self.passed.resize(lanes.len(), false);
        let introns_late = introns.segment.is_reverse;
        let (scoring, clips) = (&request.options.scoring, &self.clips);
        let question = Question { scoring, clips, introns_late };
        self.joiner.best(question, lanes, &self.passed, introns)
    }

    /// Adds the diagonals of the ends of the best way that are clipped, if they are found after an
    /// intron.
    fn add_overhangs(
        &mut self,
        request: Request<'_>,
        reference: &Reference<'_>,
        segment: Segment,
    ) -> bool {
        let options = &request.options.introns;
        let length = request.read.query.len();
        let (steps, lanes) = (&self.joiner.steps, self.cluster.lanes());
        let (Some(first), Some(last)) = (steps.first(), steps.last()) else { return false };
        if !options.are_requested || !options.novel {
            return false;
        }
        let introns = [options.least_bp, options.most_bp].map(i64::from);
        let genome = reference.genome;
        let mut found = [None; 2];
        if length - last.end >= LEAST_CLIPPED {
            let (codes, start) = (request.read.query.codes(), lanes[last.lane].start);
            let segment = [segment.start, segment.end];
            found[1] = Overhang { genome, codes, start, end: last.end, segment, introns }.find();
        }
        if first.from >= LEAST_CLIPPED {
            // As on the other strand.
            let both = 2 * genome.bases as i64;
            self.turned.clear();
            let complement = |code: &u8| if *code < UNKNOWN { 3 - code } else { *code };
            self.turned.extend(request.read.query.codes().iter().rev().map(complement));
            let turned = |start: i64| both - start - length as i64;
            let overhang = Overhang {
                genome,
                codes: &self.turned,
                start: turned(lanes[first.lane].start),
                end: length - first.from,
                segment: [both - segment.end, both - segment.start],
                introns,
            };
            found[0] = overhang.find().map(turned);
        }
        for start in found.into_iter().flatten() {
            self.cluster.add(request.read, reference, (segment, start));
        }
        found.iter().any(Option::is_some)
    }
}

/// Writes the operations of a way over diagonals.
fn write_ops(
    steps: &[Step],
    lanes: &[super::join::DiagonalCosts],
    length: usize,
    ops: &mut Vec<u32>,
) {
    let (first, last) = (steps[0], steps[steps.len() - 1]);
    ops.clear();
    push(ops, CLIP, first.from);
    for (at, step) in steps.iter().enumerate() {
        if at > 0 {
            let before = steps[at - 1];
            let further = lanes[step.lane].start - lanes[before.lane].start;
            if step.from > before.end {
                push(ops, INSERTION, step.from - before.end);
            } else {
                push(ops, if step.is_spliced { SKIP } else { DELETION }, further as usize);
            }
        }
        push(ops, MATCH, step.end - step.from);
    }
    push(ops, CLIP, length - last.end);
}

/// Puts the best placements first.
fn choose_best(from: usize, out: &mut Output<Spliced>) -> Chosen {
    let found = &mut out.alignments[from..];
    found.sort_by_key(|it| (Reverse(it.rank), it.chance, it.alignment.place));
    let points = |it: &Spliced| it.rank.div_euclid(SCALE);
    let best = found
        .first()
        .map_or(0, |first| found.iter().take_while(|it| points(it) == points(first)).count());
    let second = found.get(1).map(|it| it.alignment.score);
    Chosen { found: from..out.alignments.len(), best, second }
}

/// The least score of a read of `length` bases.
pub(super) fn minimum(scoring: &Scoring, length: usize) -> i32 {
    scoring.bounds(length).minimum
}
