//! Parameters of the model from measured curves.
//!
//! What is fitted, for one tool with one kind of reads: its time per read outside of locks, what
//! parsing adds to that when it is moved out of the lock, how long O and D hold the input's lock
//! and both the output's, what a hand-over costs, and by how much all that is done under a lock is
//! slower when every hardware thread is busy. How the time outside of locks grows with the threads
//! (shared cores, memory, clock) is taken from the multiprocess baseline, which has no locks.
//!
//! Two curves cannot distinguish all of these: with D alone nobody can say what part of an
//! exclusive section is the hand-over. Where the curves say nothing, a parameter stays at what is
//! usual ([`Usual`]), to which a weak pull draws it. The hand-over may be given instead, which is
//! how bands are made.

use super::machine::Machine;
use super::model::{HandOver, Station, System};
use super::published::Curve;
use super::search::smallest;

/// How reads are taken and given back.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Way {
    /// What is done under the input's lock.
    pub(crate) input: Input,
    /// Reads taken at a time.
    pub(crate) input_batch: u32,
    /// Reads given back at a time.
    pub(crate) output_batch: u32,
    /// Output files.
    pub(crate) stripes: u32,
}

/// What is done under the input's lock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Input {
    /// O: parsing.
    Original,
    /// D and B: finding where a record ends.
    Deferred,
    /// L: copying a block, so many nanoseconds per read.
    Block(f64),
}

impl Way {
    /// O: a read at a time, parsed under the lock.
    pub(crate) const ORIGINAL: Self =
        Self { input: Input::Original, input_batch: 1, output_batch: 1, stripes: 1 };
    /// D: a read at a time, parsed outside.
    pub(crate) const DEFERRED: Self = Self { input: Input::Deferred, ..Self::ORIGINAL };
    /// B, of the input only.
    pub(crate) const BATCH: Self = Self { input_batch: 32, ..Self::DEFERRED };
    /// B, of input and output.
    pub(crate) const BATCH_BOTH: Self = Self { output_batch: 32, ..Self::BATCH };

    /// L, copying a read in so many nanoseconds, with so many output files.
    #[must_use]
    pub(crate) const fn blocks(copy_ns: f64, stripes: u32) -> Self {
        let input = Input::Block(copy_ns);
        Self { input, input_batch: BLOCK_READS, stripes, ..Self::BATCH_BOTH }
    }
}

/// Reads of about 250 bytes in L's block of 12 KiB.
const BLOCK_READS: u32 = 44;
/// Copying a read of about 250 bytes out of the page cache at 8, 4 and 2 GB/s.
pub(crate) const COPIES_NS: [f64; 3] = [30.0, 60.0, 120.0];

/// A tool with one kind of reads, as the model sees it. Times are per read (or pair).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Tool {
    /// Outside of locks, where the baseline's growth is 1.
    pub(crate) alone_ns: f64,
    /// What D, B and L do outside of locks besides.
    pub(crate) parse_ns: f64,
    /// Under the input's lock in O.
    pub(crate) original_ns: f64,
    /// Under the input's lock in D and B.
    pub(crate) deferred_ns: f64,
    /// Under the output's lock.
    pub(crate) output_ns: f64,
    /// A hand-over of the queueing lock.
    pub(crate) hand_over_ns: f64,
    /// How much longer locks are held when every hardware thread is busy, less 1.
    pub(crate) shared_core_cost: f64,
}

/// What parameters are where nothing is known, and within which factor that is meant.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Usual {
    /// From socket to socket: 100 to 400 ns.
    pub(crate) hand_over_ns: f64,
    /// Of the input's lock in D: writing a line is less than finding one byte by byte.
    pub(crate) output_share: f64,
    /// Siblings share a core's caches and units.
    pub(crate) shared_core_cost: f64,
}

/// See there; the shares are assumptions.
pub(crate) const USUAL: Usual =
    Usual { hand_over_ns: 250.0, output_share: 0.3, shared_core_cost: 0.6 };

/// Hand-overs of the band: from socket to socket (100 to 400 ns are usual).
pub(crate) const HAND_OVERS_NS: [f64; 2] = [100.0, 400.0];

/// A parameter that is off by this factor costs as much as...
const USUAL_FACTOR: f64 = 2.0;
/// ...this mean error of all points.
const PULL: f64 = 0.004;

/// How much slower threads are than few of them on an idle machine, by their number: a curve
/// without locks.
#[derive(Debug, Clone)]
pub(crate) struct Growth {
    curve: Curve,
    few_s: f64,
}

/// Threads at which growth is 1: one alone has the clock of an idle machine, which no other has.
const FEW: u32 = 4;

impl Growth {
    /// From the multiprocess baseline; none without a measurement at four threads.
    #[must_use]
    pub(crate) fn from_baseline(curve: &Curve) -> Option<Self> {
        Some(Self { few_s: curve.seconds(FEW)?, curve: curve.clone() })
    }

    /// The factor.
    #[must_use]
    pub(crate) fn at(&self, threads: u32) -> f64 {
        self.curve.seconds_between(f64::from(threads)).unwrap_or(self.few_s) / self.few_s
    }
}

impl Tool {
    /// The network of a way with so many threads, `hand_over` being that of both locks.
    #[must_use]
    pub(crate) fn system(
        &self,
        way: Way,
        threads: u32,
        hand_over: HandOver,
        (machine, growth): (&Machine, f64),
    ) -> System {
        let slow = 1.0 + self.shared_core_cost * machine.sharing(threads);
        let (input_ns, parse_ns) = match way.input {
            Input::Original => (self.original_ns, 0.0),
            Input::Deferred => (self.deferred_ns, self.parse_ns),
            Input::Block(ns) => (ns, self.parse_ns),
        };
        let hand_over = HandOver {
            base_ns: hand_over.base_ns * slow,
            per_waiter_ns: hand_over.per_waiter_ns * slow,
            ..hand_over
        };
        let input = Station {
            name: "input",
            body_ns: input_ns * slow,
            batch: way.input_batch,
            hand_over,
            copies: 1,
        };
        let output = Station {
            name: "output",
            body_ns: self.output_ns * slow,
            batch: way.output_batch,
            hand_over,
            copies: way.stripes,
        };
        let delay_ns = (self.alone_ns + parse_ns) * growth;
        System { threads, delay_ns, stations: vec![input, output] }
    }

    fn from_logarithms(at: &[f64], hand_over_ns: Option<f64>) -> Self {
        let of = |index: usize| at.get(index).copied().unwrap_or_default().exp();
        let deferred_ns = of(2);
        Self {
            alone_ns: of(0),
            // O holds longer than D: by a share, so that no fit turns them round.
            original_ns: deferred_ns * (1.0 + of(1)),
            deferred_ns,
            output_ns: of(3),
            shared_core_cost: of(4),
            parse_ns: of(5),
            hand_over_ns: hand_over_ns.unwrap_or_else(|| of(6)),
        }
    }
}

/// A curve that the model is fitted to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measured<'a> {
    /// How its program takes reads.
    pub(crate) way: Way,
    /// The measurements.
    pub(crate) curve: &'a Curve,
}

/// What is known besides curves.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setting<'a> {
    /// Where they were measured.
    pub(crate) machine: &'a Machine,
    /// How threads slow each other down without locks.
    pub(crate) growth: &'a Growth,
    /// Reads of each thread.
    pub(crate) reads: f64,
}

impl Setting<'_> {
    /// Seconds that the product form gives.
    #[must_use]
    pub(crate) fn seconds(&self, tool: &Tool, way: Way, law: HandOver, threads: u32) -> f64 {
        let system = tool.system(way, threads, law, (self.machine, self.growth.at(threads)));
        f64::from(threads) * self.reads / system.throughput()
    }

    /// Mean of the logarithms' absolute errors.
    fn cost(&self, tool: &Tool, law: HandOver, measured: &[Measured<'_>]) -> f64 {
        let error = |it: &Measured<'_>, &(threads, seconds): &(u32, f64)| {
            (self.seconds(tool, it.way, law, threads) / seconds).ln().abs()
        };
        let errors =
            measured.iter().flat_map(|it| it.curve.points.iter().map(move |point| (it, point)));
        let (sum, count) = errors
            .fold((0.0, 0.0), |(sum, count), (it, point)| (sum + error(it, point), count + 1.0));
        sum / f64::max(count, 1.0)
    }

    /// Fits a tool to curves of its builds with a queueing lock; `hand_over_ns` holds the
    /// hand-over where it is not to be fitted.
    #[must_use]
    pub(crate) fn fit(&self, measured: &[Measured<'_>], hand_over_ns: Option<f64>) -> Tool {
        let few = |it: &Measured<'_>| it.curve.seconds(FEW).unwrap_or(1.0) * 1e9 / self.reads;
        let alone = measured.iter().map(few).fold(f64::INFINITY, f64::min);
        let start = [
            alone,
            1.0,
            alone / 60.0,
            alone / 200.0,
            USUAL.shared_core_cost,
            alone / 60.0,
            hand_over_ns.unwrap_or(USUAL.hand_over_ns),
        ];
        let most = if hand_over_ns.is_some() { 6 } else { 7 };
        let start: Vec<f64> = start.iter().take(most).map(|value| value.ln()).collect();
        let cost = |at: &[f64]| {
            let tool = Tool::from_logarithms(at, hand_over_ns);
            let law = HandOver::constant(tool.hand_over_ns);
            self.cost(&tool, law, measured) + PULL * pull(&tool)
        };
        Tool::from_logarithms(&smallest(&start, 0.7, cost), hand_over_ns)
    }

    /// Fits the law of another lock to a curve of a tool that is fitted.
    #[must_use]
    pub(crate) fn fit_law(&self, tool: &Tool, kind: LawKind, measured: Measured<'_>) -> HandOver {
        let start: &[f64] = match kind {
            LawKind::Spinning => &[100.0],
            LawKind::Sleeping => &[5000.0, 10.0],
        };
        let law = |at: &[f64]| {
            let of = |index: usize| at.get(index).copied().unwrap_or_default().exp();
            let base = HandOver::constant(tool.hand_over_ns);
            match kind {
                LawKind::Spinning => HandOver {
                    per_waiter_ns: of(0),
                    most_waiters: f64::from(self.machine.cores),
                    ..base
                },
                LawKind::Sleeping => HandOver { wake_ns: of(0), wake_from: 1.0 + of(1), ..base },
            }
        };
        let start: Vec<f64> = start.iter().map(|value| value.ln()).collect();
        law(&smallest(&start, 0.7, |at| self.cost(tool, law(at), &[measured])))
    }
}

/// How threads wait for a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LawKind {
    /// All on one line: linear in those who wait.
    Spinning,
    /// Asleep: a wake-up from some number of waiters on.
    Sleeping,
}

/// How far a tool's parameters are from what is usual: squares of factors, summed.
fn pull(tool: &Tool) -> f64 {
    let off = |value: f64, usual: f64| {
        ((value.max(1e-9) / usual.max(1e-9)).ln() / USUAL_FACTOR.ln()).powi(2)
    };
    off(tool.hand_over_ns, USUAL.hand_over_ns)
        + off(tool.output_ns, USUAL.output_share * tool.deferred_ns)
        + off(tool.shared_core_cost, USUAL.shared_core_cost)
        // What leaves the lock is done outside.
        + off(tool.parse_ns, tool.original_ns - tool.deferred_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREADS: [u32; 12] = [1, 4, 8, 16, 24, 32, 40, 48, 56, 76, 96, 108];
    const MACHINE: Machine = Machine { name: "made up", nodes: 4, cores: 56, smt: 2 };

    fn curve(seconds: impl Fn(u32) -> f64) -> Curve {
        Curve {
            experiment: "e".into(),
            run: "r".into(),
            tool: "t".into(),
            lock: "l".into(),
            version: "v".into(),
            paired: false,
            points: THREADS.iter().map(|&n| (n, seconds(n))).collect(),
        }
    }

    fn baseline() -> Growth {
        let slow = |n| 30.0 * (1.0 + 0.3 * f64::from(n) / 56.0);
        Growth::from_baseline(&curve(slow)).unwrap()
    }

    const TOOL: Tool = Tool {
        alone_ns: 50_000.0,
        parse_ns: 900.0,
        original_ns: 2_500.0,
        deferred_ns: 1_200.0,
        output_ns: 300.0,
        hand_over_ns: 250.0,
        shared_core_cost: 0.6,
    };

    #[test]
    fn growth_is_one_at_four_threads_and_goes_on_after_the_last() {
        let growth = baseline();
        assert_eq!(growth.at(4), 1.0);
        assert!(growth.at(112) > growth.at(108) && growth.at(108) > growth.at(56));
        let mut short = curve(|_| 1.0);
        short.points.retain(|point| point.0 != 4);
        assert!(Growth::from_baseline(&short).is_none());
    }

    #[test]
    fn what_made_the_curves_is_found_again() {
        let growth = baseline();
        let setting = Setting { machine: &MACHINE, growth: &growth, reads: 500_000.0 };
        let law = HandOver::constant(TOOL.hand_over_ns);
        let made = |way| curve(|n| setting.seconds(&TOOL, way, law, n));
        let (original, deferred) = (made(Way::ORIGINAL), made(Way::DEFERRED));
        let measured = [
            Measured { way: Way::ORIGINAL, curve: &original },
            Measured { way: Way::DEFERRED, curve: &deferred },
        ];
        let found = setting.fit(&measured, None);
        let near = |value: f64, expected: f64, share: f64| {
            assert!((value / expected - 1.0).abs() < share, "{value}, {expected}: {found:?}");
        };
        near(found.alone_ns, TOOL.alone_ns, 0.02);
        // Hand-over and body cannot be distinguished, their sum can.
        let held = |tool: &Tool| tool.original_ns + tool.hand_over_ns;
        near(held(&found), held(&TOOL), 0.04);
        near(found.deferred_ns + found.hand_over_ns, 1_450.0, 0.06);
        near(found.shared_core_cost, TOOL.shared_core_cost, 0.3);
        // The curve that was not shown is predicted.
        for threads in [16, 48, 108] {
            let law = HandOver::constant(found.hand_over_ns);
            let seconds = setting.seconds(&found, Way::BATCH_BOTH, law, threads);
            let truth = HandOver::constant(TOOL.hand_over_ns);
            near(seconds, setting.seconds(&TOOL, Way::BATCH_BOTH, truth, threads), 0.1);
        }
    }

    #[test]
    fn a_given_hand_over_stays() {
        let growth = baseline();
        let setting = Setting { machine: &MACHINE, growth: &growth, reads: 500_000.0 };
        let original =
            curve(|n| setting.seconds(&TOOL, Way::ORIGINAL, HandOver::constant(250.0), n));
        let measured = [Measured { way: Way::ORIGINAL, curve: &original }];
        assert_eq!(setting.fit(&measured, Some(400.0)).hand_over_ns, 400.0);
    }

    #[test]
    fn laws_of_locks_are_found_again() {
        let growth = baseline();
        let setting = Setting { machine: &MACHINE, growth: &growth, reads: 500_000.0 };
        let spin =
            HandOver { per_waiter_ns: 180.0, most_waiters: 56.0, ..HandOver::constant(250.0) };
        let sleep = HandOver { wake_ns: 9000.0, wake_from: 12.0, ..HandOver::constant(250.0) };
        for (kind, truth) in [(LawKind::Spinning, spin), (LawKind::Sleeping, sleep)] {
            let original = curve(|n| setting.seconds(&TOOL, Way::ORIGINAL, truth, n));
            let measured = Measured { way: Way::ORIGINAL, curve: &original };
            let found = setting.fit_law(&TOOL, kind, measured);
            for (value, expected) in [
                (found.per_waiter_ns, truth.per_waiter_ns),
                (found.wake_ns, truth.wake_ns),
                (found.wake_from, truth.wake_from),
            ] {
                assert!((value - expected).abs() <= 0.05 * expected, "{found:?} {truth:?}");
            }
        }
    }
}
