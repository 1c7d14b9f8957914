//! The model against curves it has not seen.
//!
//! For each tool and kind of reads it is fitted to the curves of O and D with the queueing lock,
//! and then predicts B, for other locks (whose law comes from one curve of one tool), and for the
//! peaks of L. Nothing is pooled: each curve has its errors.

use super::calibrate::{COPIES_NS, Growth, HAND_OVERS_NS, LawKind, Measured, Setting, Tool, Way};
use super::machine::{MACHINES, Machine};
use super::model::HandOver;
use super::peaks::{PeakPrediction, from_peaks};
use super::published::{Curve, PeakOf, Published};
use super::simulate::{Plan, Spread, simulate};
use crate::table::quantile;

/// Sets of curves and the machine they come from. Of other sets the cores are not known here.
const EXPERIMENTS: [(&str, &str); 1] = [("pub_reshuf3_lbm", "Broadwell")];
/// Tools: names in the curves, and in the tables.
const TOOLS: [(&str, &str); 3] =
    [("bowtie", "Bowtie"), ("bowtie2", "Bowtie 2"), ("hisat", "HISAT")];

/// Words of the files.
const QUEUEING: &str = "TBB queuing_mutex";
const ORIGINAL: &str = "Original parsing";
const DEFERRED: &str = "Two-phase parsing";
const BATCH: &str = "Batch parsing input=32";
const BATCH_BOTH: &str = "Batch parsing input=32 & output=32";
const BASELINE: &str = "tinythreads fast_mutex MP";
const STACK: &str = "Stack";
/// The other locks, and how their threads wait. TBB's `mutex` is that of the system.
const LOCKS: [(&str, &str, LawKind); 3] = [
    ("tinythreads fast_mutex", "TinyThread++ spin", LawKind::Spinning),
    ("TBB spin_mutex", "TBB spin", LawKind::Spinning),
    ("TBB mutex", "TBB standard", LawKind::Sleeping),
];
/// The curve that each lock's law is fitted to: O of this tool, unpaired.
const LAW_TOOL: &str = "bowtie";

/// Where the tables end.
const TABLE_THREADS: u32 = 112;

/// Reads that are simulated at each point at least, of all threads, and of each.
const READS: u32 = 24_000;
const THREAD_READS: u32 = 300;
const WARM_READS: u32 = 100;

/// A fitted tool.
#[derive(Debug, Clone)]
pub(crate) struct Calibration {
    /// Its name in the tables.
    pub(crate) name: &'static str,
    /// Its name in the curves.
    key: &'static str,
    /// Whether reads are pairs.
    pub(crate) paired: bool,
    /// Where it was measured.
    pub(crate) machine: Machine,
    /// Reads of each thread.
    pub(crate) reads: f64,
    growth: Growth,
    /// With the hand-over at its low end, fitted, and at its high end.
    pub(crate) tools: [Tool; 3],
}

impl Calibration {
    fn setting(&self) -> Setting<'_> {
        Setting { machine: &self.machine, growth: &self.growth, reads: self.reads }
    }

    /// Seconds by simulation.
    fn seconds(&self, tool: &Tool, way: Way, law: HandOver, threads: u32) -> f64 {
        let growth = self.growth.at(threads);
        let system = tool.system(way, threads, law, (&self.machine, growth));
        f64::from(threads) * self.reads / simulate(&system, plan(threads)).reads_per_s
    }

    fn three_seconds(&self, way: Way, threads: u32) -> [f64; 3] {
        self.tools
            .map(|tool| self.seconds(&tool, way, HandOver::constant(tool.hand_over_ns), threads))
    }
}

fn plan(threads: u32) -> Plan {
    Plan {
        delay: Spread::Exponential,
        service: Spread::Exponential,
        warm_reads: WARM_READS,
        reads: (READS / threads.max(1)).max(THREAD_READS),
        seed: u64::from(threads),
    }
}

/// A curve, and what was said of it.
#[derive(Debug, Clone)]
pub(crate) struct Prediction {
    /// `fit` (shown to the fit), `B`, `lock`.
    pub(crate) kind: &'static str,
    /// Tool, as in the tables.
    pub(crate) tool: &'static str,
    /// Whether reads are pairs.
    pub(crate) paired: bool,
    /// What was predicted: parsing and lock.
    pub(crate) what: String,
    /// By threads.
    pub(crate) points: Vec<Point>,
}

/// A point of a curve.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Point {
    /// How many threads.
    pub(crate) threads: u32,
    /// As published.
    pub(crate) measured_s: f64,
    /// Hand-over at its low end, fitted, high end. All equal where there is no band.
    pub(crate) predicted_s: [f64; 3],
    /// What one would say without a model: the curve of D for B, that of the queueing lock for
    /// other locks.
    pub(crate) naive_s: f64,
}

/// Errors of a curve, as shares of the measured seconds (rates for the peak).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Errors {
    /// Median over all points.
    pub(crate) median: f64,
    /// Median over the points with as many threads as cores or more.
    pub(crate) median_full: f64,
    /// The largest, with its sign, and where it is.
    pub(crate) worst: (f64, u32),
    /// Of the highest rate, with its sign.
    pub(crate) peak: f64,
    /// Threads at the highest rate: measured, predicted.
    pub(crate) peak_threads: (u32, u32),
    /// Median without a model.
    pub(crate) naive: f64,
    /// Medians at both ends of the band.
    pub(crate) ends: [f64; 2],
    /// Share of the points within the band, widened by a tenth for what repeats differ by.
    pub(crate) within: f64,
}

fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5).unwrap_or(f64::NAN)
}

impl Point {
    fn error(&self, index: usize) -> f64 {
        self.predicted_s[index] / self.measured_s - 1.0
    }
}

impl Prediction {
    /// Its errors.
    #[must_use]
    pub(crate) fn errors(&self, cores: u32) -> Errors {
        let of = |index: usize, from: u32| {
            let points = self.points.iter().filter(|point| point.threads >= from);
            median(&points.map(|point| point.error(index).abs()).collect::<Vec<_>>())
        };
        let worst = self.points.iter().map(|point| (point.error(1), point.threads));
        let worst = worst.max_by(|a, b| a.0.abs().total_cmp(&b.0.abs()));
        let peak = |seconds: fn(&Point) -> f64| {
            let rates =
                self.points.iter().map(|it| (f64::from(it.threads) / seconds(it), it.threads));
            rates.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((f64::NAN, 0))
        };
        let (measured, predicted) = (peak(|it| it.measured_s), peak(|it| it.predicted_s[1]));
        let naive = self.points.iter().map(|it| (it.naive_s / it.measured_s - 1.0).abs());
        let within = self.points.iter().filter(|point| {
            let low = point.predicted_s.iter().copied().fold(f64::INFINITY, f64::min);
            let high = point.predicted_s.iter().copied().fold(0.0, f64::max);
            (low * 0.9..=high * 1.1).contains(&point.measured_s)
        });
        Errors {
            median: of(1, 0),
            median_full: of(1, cores),
            worst: worst.unwrap_or((f64::NAN, 0)),
            peak: predicted.0 / measured.0 - 1.0,
            peak_threads: (measured.1, predicted.1),
            naive: median(&naive.collect::<Vec<_>>()),
            ends: [of(0, 0), of(2, 0)],
            within: within.count() as f64 / self.points.len().max(1) as f64,
        }
    }
}

/// A lock's law, from one curve.
#[derive(Debug, Clone)]
pub(crate) struct Law {
    /// Its name in the tables.
    pub(crate) lock: &'static str,
    /// The law.
    pub(crate) hand_over: HandOver,
}

/// All that a validation gives.
#[derive(Debug, Clone, Default)]
pub(crate) struct Validation {
    /// Fitted tools.
    pub(crate) calibrations: Vec<Calibration>,
    /// Laws of locks.
    pub(crate) laws: Vec<Law>,
    /// Curves.
    pub(crate) predictions: Vec<Prediction>,
    /// Peaks.
    pub(crate) peaks: Vec<PeakPrediction>,
    /// What could not be tried, and why.
    pub(crate) left_out: Vec<String>,
}

/// Tries the model on what was published; `progress` hears what is done.
#[must_use]
pub(crate) fn validate(published: &Published, tell: &mut dyn FnMut(&str)) -> Validation {
    let mut all = Validation::default();
    for (experiment, machine) in EXPERIMENTS {
        let Some(machine) = MACHINES.into_iter().find(|it| it.name == machine) else { continue };
        let mut set = published.clone();
        set.curves.retain(|curve| curve.experiment == experiment);
        for (key, name) in TOOLS {
            for paired in [false, true] {
                tell(&format!("{experiment}: {name}, {}", reads_word(paired)));
                match calibrated(&set, machine, Kind { key, name, paired }) {
                    Ok(calibration) => all.calibrations.push(calibration),
                    Err(why) => {
                        all.left_out.push(format!("{name}, {}: {why}", reads_word(paired)));
                    }
                }
            }
        }
        for calibration in &all.calibrations {
            tell(&format!("batches of {}, {}", calibration.name, reads_word(calibration.paired)));
            all.predictions.extend(batches(&set, calibration));
            all.peaks.extend(blocks(&set, calibration));
        }
        tell("other locks");
        let (laws, predictions) = locks(&set, &all.calibrations);
        all.laws.extend(laws);
        all.predictions.extend(predictions);
    }
    tell("machines of which only peaks are known");
    all.peaks.extend(from_peaks(published, &TOOLS.map(|tool| tool.1)));
    all
}

/// How the tables say it.
#[must_use]
pub(crate) fn reads_word(paired: bool) -> &'static str {
    if paired { "paired" } else { "unpaired" }
}

fn pick<'a>(
    set: &'a Published,
    (key, paired): (&str, bool),
    version: &str,
    is_lock: impl Fn(&str) -> bool,
) -> Option<&'a Curve> {
    set.curves.iter().find(|curve| {
        (curve.tool.as_str(), curve.paired, curve.version.as_str()) == (key, paired, version)
            && is_lock(&curve.lock)
    })
}

/// A tool and its reads.
struct Kind {
    /// Name in the curves.
    key: &'static str,
    /// Name in the tables of peaks.
    name: &'static str,
    paired: bool,
}

fn calibrated(
    set: &Published,
    machine: Machine,
    Kind { key, name, paired }: Kind,
) -> Result<Calibration, &'static str> {
    let of = |version, lock| pick(set, (key, paired), version, |it| it == lock);
    let original = of(ORIGINAL, QUEUEING).ok_or("no curve of O with the queueing lock")?;
    let deferred = of(DEFERRED, QUEUEING).ok_or("no curve of D with the queueing lock")?;
    let baseline = of(ORIGINAL, BASELINE).ok_or("no curve of the multiprocess baseline")?;
    let growth = Growth::from_baseline(baseline).ok_or("no baseline at four threads")?;
    // The files hold seconds only. The baseline has no locks and is the same program in the
    // tables, so reads per thread follow from its published peak.
    let peak = set.peak(2, "MP baseline", PeakOf { machine: machine.name, tool: name, paired });
    let peak = peak.ok_or("no baseline in the table of peaks")?;
    let seconds = baseline.seconds_between(f64::from(peak.threads)).ok_or("no baseline there")?;
    let reads = peak.krd_s * 1e3 * seconds / f64::from(peak.threads);
    let setting = Setting { machine: &machine, growth: &growth, reads };
    let measured = [
        Measured { way: Way::ORIGINAL, curve: original },
        Measured { way: Way::DEFERRED, curve: deferred },
    ];
    let tools = [Some(HAND_OVERS_NS[0]), None, Some(HAND_OVERS_NS[1])];
    let tools = tools.map(|hand_over_ns| setting.fit(&measured, hand_over_ns));
    Ok(Calibration { name, key, paired, machine, reads, growth, tools })
}

fn batches(set: &Published, of: &Calibration) -> Vec<Prediction> {
    let queueing = |it: &str| it == QUEUEING;
    let stack = |it: &str| it.starts_with(QUEUEING) && it.ends_with(STACK) && !it.contains("MP");
    let curve =
        |version, is_lock: fn(&str) -> bool| pick(set, (of.key, of.paired), version, is_lock);
    let deferred = curve(DEFERRED, queueing);
    let wanted = [
        ("fit", "O", Way::ORIGINAL, curve(ORIGINAL, queueing)),
        ("fit", "D", Way::DEFERRED, deferred),
        ("B", "B, input 32", Way::BATCH, curve(BATCH, queueing)),
        ("B", "B, input 32, output 32", Way::BATCH_BOTH, curve(BATCH_BOTH, stack)),
    ];
    let prediction = |(kind, what, way, curve): (_, &str, _, Option<&Curve>)| {
        let point = |&(threads, measured_s): &(u32, f64)| Point {
            threads,
            measured_s,
            predicted_s: of.three_seconds(way, threads),
            naive_s: deferred.and_then(|it| it.seconds(threads)).unwrap_or(f64::NAN),
        };
        let points = curve?.points.iter().map(point).collect();
        let (tool, paired, what) = (of.name, of.paired, format!("{what}, queueing"));
        Some(Prediction { kind, tool, paired, what, points })
    };
    wanted.into_iter().filter_map(prediction).collect()
}

fn blocks(set: &Published, of: &Calibration) -> Vec<PeakPrediction> {
    let wanted = [("L-parsing, 1 output", 1), ("L-parsing, 16 outputs", 16)];
    let peak = |(configuration, stripes): (&'static str, u32)| {
        let published = set.peak(
            4,
            configuration,
            PeakOf { machine: of.machine.name, tool: of.name, paired: of.paired },
        )?;
        let best = |index: usize| {
            // Slow copies go with slow hand-overs.
            let way = Way::blocks(COPIES_NS[index], stripes);
            let tool = of.tools[index];
            let rate = |threads: u32| {
                let law = HandOver::constant(tool.hand_over_ns);
                let seconds = of.setting().seconds(&tool, way, law, threads);
                (threads, f64::from(threads) * of.reads / seconds / 1e3)
            };
            let rates = (4..=TABLE_THREADS).step_by(4).map(rate);
            rates.max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((0, f64::NAN))
        };
        let mut all = [2, 1, 0].map(best);
        all.sort_by(|a, b| a.1.total_cmp(&b.1));
        Some(PeakPrediction {
            machine: of.machine.name,
            tool: of.name,
            paired: of.paired,
            configuration,
            table: 4,
            from: "curves",
            published: (published.threads, published.krd_s),
            threads: all[1].0,
            krd_s: all.map(|peak| peak.1),
        })
    };
    wanted.into_iter().filter_map(peak).collect()
}

fn locks(set: &Published, calibrations: &[Calibration]) -> (Vec<Law>, Vec<Prediction>) {
    let (mut laws, mut predictions) = (Vec::new(), Vec::new());
    let Some(shown) = calibrations.iter().find(|it| it.key == LAW_TOOL && !it.paired) else {
        return (laws, predictions);
    };
    for (word, lock, kind) in LOCKS {
        let is_lock = |it: &str| it == word;
        let Some(curve) = pick(set, (shown.key, shown.paired), ORIGINAL, is_lock) else { continue };
        let measured = Measured { way: Way::ORIGINAL, curve };
        let law = shown.setting().fit_law(&shown.tools[1], kind, measured);
        laws.push(Law { lock, hand_over: law });
        for of in calibrations {
            for (parsing, version, way) in
                [("O", ORIGINAL, Way::ORIGINAL), ("D", DEFERRED, Way::DEFERRED)]
            {
                let key = (of.key, of.paired);
                let Some(curve) = pick(set, key, version, is_lock) else { continue };
                let queueing = pick(set, key, version, |it| it == QUEUEING);
                let point = |&(threads, measured_s): &(u32, f64)| {
                    let tool = &of.tools[1];
                    let law = HandOver { base_ns: tool.hand_over_ns, ..law };
                    Point {
                        threads,
                        measured_s,
                        predicted_s: [of.seconds(tool, way, law, threads); 3],
                        naive_s: queueing.and_then(|it| it.seconds(threads)).unwrap_or(f64::NAN),
                    }
                };
                let is_shown = (of.key, of.paired, parsing) == (shown.key, shown.paired, "O");
                predictions.push(Prediction {
                    kind: if is_shown { "fit" } else { "lock" },
                    tool: of.name,
                    paired: of.paired,
                    what: format!("{parsing}, {lock}"),
                    points: curve.points.iter().map(point).collect(),
                });
            }
        }
    }
    (laws, predictions)
}
