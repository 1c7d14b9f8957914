//! The best way of a read over several diagonals: where it goes from one to the next, over an
//! intron or a gap.
//!
//! What a read is worth on a diagonal up to a base is what its best entry there was worth, less the
//! mismatches since. So each base of each diagonal is one step, and what is looked at of the genome
//! are the ends of those introns alone that would be a better entry. Scores are multiples of
//! [`SCALE`]: what is left over decides which of two introns that cost the same is the likelier
//! one. Each intron costs the same whatever came before it, so the best way to each base is enough.

use std::ops::Range;

use crate::by_score::score::Scoring;

/// One point of score: more than all introns of a read add to its likeness, which go from one of
/// some 34 diagonals to the next.
pub(super) const SCALE: i32 = 512;
/// Most of what makes an intron likelier than others that cost the same.
pub(super) const MOST_LIKENESS: i32 = 15;
/// No score is so low.
const LOW: i32 = i32::MIN / 4;
/// No entry.
const NONE: u32 = u32::MAX;

/// A diagonal under a read.
#[derive(Debug, Default)]
pub(super) struct DiagonalCosts {
    /// The place of the read's first base.
    pub(super) start: i64,
    /// What each base costs, times [`SCALE`].
    pub(super) costs: Vec<i32>,
}

/// An intron that a read may go over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Splice {
    /// What it costs, times [`SCALE`].
    pub(super) cost: i32,
    /// By how much more a way over it has to be better than others, times [`SCALE`], less what
    /// makes it likely.
    pub(super) doubt: i32,
    /// Fewest bases of the read on either side.
    pub(super) anchor: u16,
    /// Its transcript is on the other strand of `T`, if that is known.
    pub(super) is_turned: Option<bool>,
}

/// What is said about introns.
pub(super) trait Introns {
    /// The intron from `left` to `right` of `T`, if it may be one.
    fn splice(&self, left: i64, right: i64) -> Option<Splice>;
    /// Bases of the known ones that begin at one of `lefts`.
    fn known_lengths(&self, lefts: Range<i64>, out: &mut Vec<i64>);
    /// What one of so many bases costs at least, doubt and all, times [`SCALE`].
    fn least_cost(&self, bases: i64, is_known: bool) -> i32;
    /// Fewest and most bases of one.
    fn lengths(&self) -> [i64; 2];
}

/// What a read is, for what goes over it.
#[derive(Clone, Copy)]
pub(super) struct Question<'a> {
    pub(super) scoring: &'a Scoring,
    /// What it costs to clip the bases before each one, and all, times [`SCALE`].
    pub(super) clips: &'a [i32],
    /// Of introns that are alike, that further right is taken.
    pub(super) introns_late: bool,
}

/// A part of a read that is on one diagonal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) lane: usize,
    /// Bases of the read.
    pub(super) from: usize,
    pub(super) end: usize,
    /// What precedes it is an intron.
    pub(super) is_spliced: bool,
}

/// How a read came to a diagonal.
#[derive(Debug, Clone, Copy)]
struct Entry {
    lane: u16,
    from: u16,
    /// One past the last base on the diagonal before.
    left_at: u16,
    /// Fewest bases on this one.
    least: u16,
    is_spliced: bool,
    /// What is doubted of the introns up to here.
    doubt: i32,
    is_turned: Option<bool>,
    before: u32,
}

/// From one diagonal to another.
#[derive(Debug, Clone, Copy)]
enum Way {
    /// At this cost at least, times [`SCALE`].
    Intron(i32),
    /// The reference has more, at this cost.
    Deletion(i32),
    /// The read has so many more, at this cost.
    Insertion(usize, i32),
}

#[derive(Debug, Clone, Copy)]
struct Pair {
    from: usize,
    to: usize,
    way: Way,
}

/// Working memory.
#[derive(Debug, Default)]
pub(super) struct Joiner {
    pairs: Vec<Pair>,
    /// Bases of known introns that begin under a diagonal.
    known: Vec<i64>,
    entries: Vec<Entry>,
    /// Of each diagonal: what the best way to the base at hand is worth, and its entry.
    front: Vec<i32>,
    current: Vec<u32>,
    /// Those at each base, where a way goes over bases of the read.
    history: Vec<(i32, u32)>,
    /// The best way, in order.
    pub(super) steps: Vec<Step>,
    /// Whether its transcript is on the other strand of `T`, if its introns say so.
    pub(super) is_turned: Option<bool>,
    /// What it would have more if none of its introns were doubted, times [`SCALE`].
    pub(super) doubt: i32,
}

/// Most bases of a gap.
pub(super) const MOST_GAP: i64 = 15;

/// The base of a read, of so many, with which a way goes on.
#[derive(Debug, Clone, Copy)]
struct Next {
    at: usize,
    length: usize,
}

/// Where a way leaves a diagonal.
struct Left {
    /// One past the last base there.
    at: usize,
    worth: i32,
    /// How it came there, by number.
    entry: u32,
    before: Entry,
}

impl Left {
    /// Whether the part that is left has so many bases, and as many as its own entry wants.
    fn has_bases(&self, least: usize) -> bool {
        let bases = self.at.saturating_sub(self.before.from.into());
        bases >= least.max(self.before.least.into()).max(1)
    }

    /// To another diagonal with the next base, over an intron.
    #[inline(always)]
    fn over_intron(
        &self,
        lanes: &[DiagonalCosts],
        to: usize,
        length: usize,
        introns: &impl Introns,
    ) -> Option<(i32, Entry)> {
        let before = &self.before;
        let place = |lane: usize| lanes[lane].start + self.at as i64;
        let splice = introns.splice(place(before.lane.into()), place(to))?;
        let disagree = |one: bool| splice.is_turned.is_some_and(|other| other != one);
        let anchor = usize::from(splice.anchor);
        let is_short = length - self.at < anchor || !self.has_bases(anchor);
        if is_short || before.is_turned.is_some_and(disagree) {
            return None;
        }
        let entry = Entry {
            lane: to as u16,
            from: self.at as u16,
            left_at: self.at as u16,
            least: splice.anchor,
            is_spliced: true,
            doubt: before.doubt + splice.doubt,
            is_turned: splice.is_turned.or(before.is_turned),
            before: self.entry,
        };
        Some((self.worth - splice.cost - splice.doubt, entry))
    }

    /// To another diagonal, over a gap, which is not so near to an end as `barrier`.
    fn over_gap(&self, to: usize, cost: i32, next: Next, barrier: usize) -> Option<(i32, Entry)> {
        if self.at < barrier || next.length - next.at < barrier || !self.has_bases(1) {
            return None;
        }
        let (from, left_at) = (next.at as u16, self.at as u16);
        let (lane, before) = (to as u16, self.entry);
        let entry =
            Entry { lane, from, left_at, least: 1, is_spliced: false, before, ..self.before };
        Some((self.worth - cost * SCALE, entry))
    }
}

impl Joiner {
    /// The best way of a read over those of `lanes` that are not `passed`; its score times
    /// [`SCALE`].
    pub(super) fn best(
        &mut self,
        question: Question<'_>,
        lanes: &[DiagonalCosts],
        passed: &[bool],
        introns: &impl Introns,
    ) -> Option<i32> {
        let length = question.clips.len() - 1;
        self.list_pairs(question, lanes, passed, introns);
        let has_insertions = self.pairs.iter().any(|pair| matches!(pair.way, Way::Insertion(..)));
        self.entries.clear();
        self.history.clear();
        self.front.clear();
        self.front.resize(lanes.len(), LOW);
        self.current.clear();
        self.current.resize(lanes.len(), NONE);
        let mut best = (LOW, NONE, 0);
        for at in 0..=length {
            if at > 0 {
                let costs = lanes.iter().map(|lane| lane.costs[at - 1]);
                self.front.iter_mut().zip(costs).for_each(|(front, cost)| *front -= cost);
            }
            self.start_at(question, passed, at);
            if at > 0 {
                self.cross(question, lanes, Next { at, length }, introns);
            }
            if has_insertions {
                self.history.extend(self.front.iter().copied().zip(self.current.iter().copied()));
            }
            let after = question.clips[length] - question.clips[at];
            for (&front, &entry) in self.front.iter().zip(&self.current) {
                if front - after > best.0 && entry != NONE {
                    let of = &self.entries[entry as usize];
                    let bases = at - usize::from(of.from).min(at);
                    if bases >= usize::from(of.least) {
                        best = (front - after, entry, at);
                    }
                }
            }
        }
        self.follow(best.1, best.2);
        (best.1 != NONE).then_some(best.0)
    }

    /// Which diagonals a read may go to from which.
    fn list_pairs(
        &mut self,
        question: Question<'_>,
        lanes: &[DiagonalCosts],
        passed: &[bool],
        introns: &impl Introns,
    ) {
        self.pairs.clear();
        let (scoring, [least, most]) = (question.scoring, introns.lengths());
        let length = question.clips.len() as i64;
        let open = |lane: &usize| !passed[*lane];
        for from in (0..lanes.len()).filter(open) {
            let lefts = lanes[from].start..lanes[from].start + length;
            self.known.clear();
            introns.known_lengths(lefts, &mut self.known);
            for to in (0..lanes.len()).filter(open) {
                let further = lanes[to].start - lanes[from].start;
                let way = match further {
                    _ if (least..=most).contains(&further) => {
                        Way::Intron(introns.least_cost(further, self.known.contains(&further)))
                    }
                    1..=MOST_GAP => Way::Deletion(scoring.read_gap.of(further)),
                    _ if (-MOST_GAP..0).contains(&further) => {
                        Way::Insertion(-further as usize, scoring.reference_gap.of(-further))
                    }
                    _ => continue,
                };
                self.pairs.push(Pair { from, to, way });
            }
        }
    }

    /// The read may begin at base `at` of any diagonal, with what precedes it clipped.
    #[inline(always)]
    fn start_at(&mut self, question: Question<'_>, passed: &[bool], at: usize) {
        let worth = -question.clips[at];
        for (lane, &is_passed) in passed.iter().enumerate() {
            if worth > self.front[lane] && !is_passed {
                let entry = Entry {
                    lane: lane as u16,
                    from: at as u16,
                    left_at: 0,
                    least: 1,
                    is_spliced: false,
                    doubt: 0,
                    is_turned: None,
                    before: NONE,
                };
                self.enter(lane, worth, entry);
            }
        }
    }

    #[inline(always)]
    fn enter(&mut self, lane: usize, worth: i32, entry: Entry) {
        self.front[lane] = worth;
        self.current[lane] = self.entries.len() as u32;
        self.entries.push(entry);
    }

    /// Goes over introns and gaps before a base, where that is better.
    #[inline(always)]
    fn cross(
        &mut self,
        question: Question<'_>,
        lanes: &[DiagonalCosts],
        next: Next,
        introns: &impl Introns,
    ) {
        let Next { at, length } = next;
        for number in 0..self.pairs.len() {
            let Pair { from, to, way } = self.pairs[number];
            let (left_at, least_cost) = match way {
                Way::Intron(cost) => (at, cost),
                Way::Deletion(cost) => (at, cost * SCALE),
                Way::Insertion(bases, cost) => (at.saturating_sub(bases), cost * SCALE),
            };
            let (source, current) = if left_at == at {
                (self.front[from], self.current[from])
            } else {
                self.history[left_at * lanes.len() + from]
            };
            if source - least_cost < self.front[to] || current == NONE {
                continue;
            }
            let before = self.entries[current as usize];
            let left = Left { at: left_at, worth: source, entry: current, before };
            let found = match way {
                Way::Intron(_) => left.over_intron(lanes, to, length, introns),
                Way::Deletion(cost) | Way::Insertion(_, cost) => {
                    left.over_gap(to, cost, next, question.scoring.gap_barrier.into())
                }
            };
            let Some((worth, entry)) = found else { continue };
            let is_better = worth > self.front[to]
                || question.introns_late && entry.is_spliced && worth == self.front[to];
            if is_better {
                self.enter(to, worth, entry);
            }
        }
    }

    /// Lists the way that ends after base `end`.
    fn follow(&mut self, entry: u32, end: usize) {
        self.steps.clear();
        self.doubt = self.entries.get(entry as usize).map_or(0, |it| it.doubt);
        self.is_turned = self.entries.get(entry as usize).and_then(|it| it.is_turned);
        let (mut next, mut end) = (entry, end);
        while let Some(entry) = self.entries.get(next as usize) {
            let from = entry.from.into();
            let (lane, is_spliced) = (entry.lane.into(), entry.is_spliced);
            self.steps.push(Step { lane, from, end, is_spliced });
            (next, end) = (entry.before, entry.left_at.into());
        }
        self.steps.reverse();
    }
}

#[cfg(test)]
#[path = "join_tests.rs"]
mod tests;
