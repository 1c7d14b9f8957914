//! Machines of which only peaks are published: B and L from the peaks of O, D and the baseline.
//!
//! A peak says less than a curve. What is done under the lock follows from the peak of O or D if it
//! is below what the baseline does; how threads that share a core slow each other down is not
//! known, so that the band is over that.

use std::ops::Range;

use super::calibrate::{COPIES_NS, HAND_OVERS_NS, Tool, USUAL, Way};
use super::machine::{MACHINES, Machine};
use super::model::HandOver;
use super::published::{PeakOf, Published};

/// How much slower a thread is when every hardware thread of a core is busy, by threads of a core:
/// two siblings together do 1.1 to 1.6 times as much as one (low, middle, high).
const SLOWER_2: [f64; 3] = [1.8, 1.5, 1.25];
/// Four siblings: 1.3 to 2.5 times.
const SLOWER_4: [f64; 3] = [3.0, 2.2, 1.6];

/// A peak of L, published and predicted.
#[derive(Debug, Clone)]
pub(crate) struct PeakPrediction {
    /// Machine.
    pub(crate) machine: &'static str,
    /// Tool.
    pub(crate) tool: &'static str,
    /// Whether reads are pairs.
    pub(crate) paired: bool,
    /// Parsing and outputs, as in the table.
    pub(crate) configuration: &'static str,
    /// Number of the table.
    pub(crate) table: u32,
    /// What the model was fitted to: `curves` of O and D, or their `peaks`.
    pub(crate) from: &'static str,
    /// Threads and thousands of reads per second, as published.
    pub(crate) published: (u32, f64),
    /// Threads at the predicted peak.
    pub(crate) threads: u32,
    /// Thousands of reads per second: low, middle, high.
    pub(crate) krd_s: [f64; 3],
}

impl PeakPrediction {
    /// The middle's error, with its sign.
    #[must_use]
    pub(crate) fn error(&self) -> f64 {
        self.krd_s[1] / self.published.1 - 1.0
    }
}

/// A tool's rate at its best number of threads.
fn best(tool: &Tool, way: Way, machine: &Machine, slower: f64) -> (u32, f64) {
    let law = HandOver::constant(tool.hand_over_ns);
    let rate = |threads: u32| {
        let growth = 1.0 + (slower - 1.0) * machine.sharing(threads);
        (threads, tool.system(way, threads, law, (machine, growth)).throughput())
    };
    let all = (4..=machine.hardware_threads()).step_by(4).map(rate);
    all.max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((0, f64::NAN))
}

/// The value between the ends at which a falling function has this value, or the nearer end.
fn where_falls_to(target: f64, ends: &Range<f64>, of: impl Fn(f64) -> f64) -> f64 {
    let Range { start: mut low, end: mut high } = *ends;
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        if of(middle) > target { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// What peaks do not show.
struct Assumed {
    /// So many times slower is a thread where all run.
    slower: f64,
    hand_over_ns: f64,
}

/// A tool from three peaks: threads and reads per second of the baseline, and the rates of O, D.
fn tool_from(
    (threads, baseline): (u32, f64),
    [original, deferred]: [f64; 2],
    machine: &Machine,
    Assumed { slower, hand_over_ns }: Assumed,
) -> Tool {
    let growth = 1.0 + (slower - 1.0) * machine.sharing(threads);
    // All that a process does per read: it has locks, but nobody to wait for.
    let whole_ns = f64::from(threads) / baseline / growth * 1e9;
    let with = |original_ns: f64, deferred_ns: f64| {
        let output_ns = USUAL.output_share * deferred_ns;
        Tool {
            alone_ns: (whole_ns - original_ns - output_ns).max(whole_ns / 2.0),
            parse_ns: original_ns - deferred_ns,
            original_ns,
            deferred_ns,
            output_ns,
            hand_over_ns,
            shared_core_cost: USUAL.shared_core_cost,
        }
    };
    let ends = 1.0..whole_ns / 2.0;
    let rate = |tool: &Tool, way| best(tool, way, machine, slower).1;
    let deferred_ns = where_falls_to(deferred, &ends, |ns| rate(&with(ns, ns), Way::DEFERRED));
    let original_ns =
        where_falls_to(original, &ends, |ns| rate(&with(ns, ns.min(deferred_ns)), Way::ORIGINAL));
    with(original_ns.max(deferred_ns), deferred_ns)
}

/// Predictions for all machines and tools whose peaks are there.
#[must_use]
pub(crate) fn from_peaks(published: &Published, tools: &[&'static str]) -> Vec<PeakPrediction> {
    let mut all = Vec::new();
    for machine in &MACHINES {
        for &tool in tools {
            for paired in [false, true] {
                all.extend(of_tool(published, machine, (tool, paired)));
            }
        }
    }
    all
}

fn of_tool(
    published: &Published,
    machine: &Machine,
    (tool, paired): (&'static str, bool),
) -> Vec<PeakPrediction> {
    let peak =
        |table, what| published.peak(table, what, PeakOf { machine: machine.name, tool, paired });
    let (Some(baseline), Some(original), Some(deferred)) =
        (peak(3, "MP baseline"), peak(3, "O-parsing"), peak(3, "D-parsing"))
    else {
        return Vec::new();
    };
    let slower = if machine.smt > 2 { SLOWER_4 } else { SLOWER_2 };
    let hand_overs = [HAND_OVERS_NS[1], USUAL.hand_over_ns, HAND_OVERS_NS[0]];
    let ways = [
        (3, "B-parsing", None),
        (4, "L-parsing, 1 output", Some(1)),
        (4, "L-parsing, 16 outputs", Some(16)),
    ];
    let fitted = [0, 1, 2].map(|index| {
        let rates = [original.krd_s * 1e3, deferred.krd_s * 1e3];
        let baseline = (baseline.threads, baseline.krd_s * 1e3);
        tool_from(
            baseline,
            rates,
            machine,
            Assumed { slower: slower[index], hand_over_ns: hand_overs[index] },
        )
    });
    let prediction = |(table, configuration, stripes): (u32, &'static str, Option<u32>)| {
        let found = peak(table, configuration)?;
        let of = |index: usize| {
            // The low end of the band has the dearest copies.
            let blocks = |stripes| Way::blocks(COPIES_NS[2 - index], stripes);
            let way = stripes.map_or(Way::BATCH_BOTH, blocks);
            best(&fitted[index], way, machine, slower[index])
        };
        let mut krd_s = [0, 1, 2].map(|index| of(index).1 / 1e3);
        krd_s.sort_by(f64::total_cmp);
        Some(PeakPrediction {
            machine: machine.name,
            tool,
            paired,
            configuration,
            table,
            from: "peaks",
            published: (found.threads, found.krd_s),
            threads: of(1).0,
            krd_s,
        })
    };
    ways.into_iter().filter_map(prediction).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MADE: Tool = Tool {
        alone_ns: 60_000.0,
        parse_ns: 1_500.0,
        original_ns: 2_500.0,
        deferred_ns: 1_000.0,
        output_ns: 300.0,
        hand_over_ns: 250.0,
        shared_core_cost: 0.6,
    };

    #[test]
    fn peaks_that_the_model_made_give_back_what_made_them() {
        let machine = &MACHINES[0];
        let rate = |way| best(&MADE, way, machine, 1.5).1;
        let whole = MADE.alone_ns + MADE.original_ns + MADE.output_ns;
        let baseline = 112.0 / (whole * 1.5) * 1e9;
        let rates = [rate(Way::ORIGINAL), rate(Way::DEFERRED)];
        let found = tool_from(
            (112, baseline),
            rates,
            machine,
            Assumed { slower: 1.5, hand_over_ns: 250.0 },
        );
        for (value, expected) in
            [(found.original_ns, MADE.original_ns), (found.deferred_ns, MADE.deferred_ns)]
        {
            assert!((value / expected - 1.0).abs() < 0.05, "{found:?}");
        }
        let (predicted, truth) =
            (best(&found, Way::BATCH_BOTH, machine, 1.5).1, rate(Way::BATCH_BOTH));
        assert!((predicted / truth - 1.0).abs() < 0.05, "{predicted} {truth}");
    }

    #[test]
    fn a_falling_function_is_met_and_its_ends_are_kept() {
        let at = where_falls_to(4.0, &(1.0..100.0), |x| 100.0 / x);
        assert!((at - 25.0).abs() < 1e-6, "{at}");
        assert!((where_falls_to(1e6, &(1.0..100.0), |x| 100.0 / x) - 1.0).abs() < 1e-6);
        assert!((where_falls_to(0.1, &(1.0..100.0), |x| 100.0 / x) - 100.0).abs() < 1e-6);
    }
}
