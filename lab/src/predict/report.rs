//! What a validation found: tables, plots, and every miss by name.

use std::fmt::Write;
use std::path::Path;

use super::bands::{LAW_COLUMNS, LAW_FACTORS};
use super::calibrate::Tool;
use super::peaks::PeakPrediction;
use super::prose::{BATCHES, FITS, INTRODUCTION, LOCKS, MISSES, PEAKS, PLOTS};
use super::validate::{Errors, Point, Prediction, Validation, reads_word};
use crate::experiment::LabError;
use crate::output::{Fact, markdown_facts, markdown_table, short, write_results};
use crate::table::{Row, Table};
use seqloom_report::plot::{self, Line, Plot};

/// An error above this is a miss: the aim for medians of curves, and for peaks.
pub(crate) const AIM: f64 = 0.25;

/// Factors and columns of the table of errors.
pub(crate) const ERROR_FACTORS: [&str; 4] = ["kind", "tool", "reads", "what"];
/// See [`ERROR_FACTORS`]. Errors are shares of the published value.
pub(crate) const ERROR_COLUMNS: [&str; 12] = [
    "points",
    "median_error",
    "full_machine_median_error",
    "worst_error",
    "worst_threads",
    "peak_error",
    "measured_peak_threads",
    "predicted_peak_threads",
    "naive_median_error",
    "low_median_error",
    "high_median_error",
    "within_band",
];

/// Every curve's errors.
#[must_use]
pub(crate) fn errors(all: &Validation) -> Table {
    let mut table = Table::new(&ERROR_FACTORS, &ERROR_COLUMNS);
    for (prediction, errors) in judged(all) {
        let values = vec![
            prediction.points.len() as f64,
            errors.median,
            errors.median_full,
            errors.worst.0,
            f64::from(errors.worst.1),
            errors.peak,
            f64::from(errors.peak_threads.0),
            f64::from(errors.peak_threads.1),
            errors.naive,
            errors.ends[0],
            errors.ends[1],
            errors.within,
        ];
        table.rows.push(Row { factors: names(prediction), values });
    }
    table
}

fn names(prediction: &Prediction) -> Vec<String> {
    [prediction.kind, prediction.tool, reads_word(prediction.paired), &prediction.what]
        .map(str::to_owned)
        .to_vec()
}

/// Predictions with their errors.
fn judged(all: &Validation) -> Vec<(&Prediction, Errors)> {
    all.predictions.iter().map(|it| (it, it.errors(cores(all)))).collect()
}

/// Cores of the machine that the fits are of.
fn cores(all: &Validation) -> u32 {
    all.calibrations.first().map_or(0, |it| it.machine.cores)
}

fn fits(all: &Validation) -> Table {
    let columns = [
        "reads_per_thread",
        "alone_ns",
        "parse_ns",
        "original_ns",
        "deferred_ns",
        "output_ns",
        "hand_over_ns",
        "shared_core_cost",
    ];
    let mut table = Table::new(&["tool", "reads", "hand_over"], &columns);
    for of in &all.calibrations {
        for (tool, level) in of.tools.iter().zip(["low", "fitted", "high"]) {
            let Tool { alone_ns, parse_ns, original_ns, deferred_ns, .. } = *tool;
            let Tool { output_ns, hand_over_ns, shared_core_cost, .. } = *tool;
            // Tenths of a nanosecond: the curves say no more.
            let rounded = [alone_ns, parse_ns, original_ns, deferred_ns, output_ns, hand_over_ns]
                .map(|ns| (ns * 10.0).round() / 10.0);
            let mut values = vec![of.reads];
            values.extend(rounded);
            values.push(shared_core_cost);
            let factors = [of.name, reads_word(of.paired), level].map(str::to_owned).to_vec();
            table.rows.push(Row { factors, values });
        }
    }
    table
}

fn laws(all: &Validation) -> Table {
    let mut table = Table::new(&LAW_FACTORS, &LAW_COLUMNS);
    for law in &all.laws {
        let of = law.hand_over;
        let values = vec![of.per_waiter_ns, of.wake_ns, of.wake_from];
        table.rows.push(Row { factors: vec![law.lock.to_owned()], values });
    }
    table
}

fn peaks(all: &Validation) -> Table {
    let columns = [
        "published_threads",
        "published_krd_s",
        "predicted_threads",
        "low_krd_s",
        "middle_krd_s",
        "high_krd_s",
        "error",
    ];
    let factors = ["table", "machine", "tool", "reads", "configuration", "fitted_to"];
    let mut table = Table::new(&factors, &columns);
    for peak in &all.peaks {
        let PeakPrediction { machine, tool, configuration, from, .. } = *peak;
        let factors = [machine, tool, reads_word(peak.paired), configuration, from];
        let factors = [peak.table.to_string()].into_iter().chain(factors.map(str::to_owned));
        let mut values =
            vec![f64::from(peak.published.0), peak.published.1, f64::from(peak.threads)];
        values.extend(peak.krd_s);
        values.push(peak.error());
        table.rows.push(Row { factors: factors.collect(), values });
    }
    table
}

/// Writes tables, plots and the report into a folder.
///
/// # Errors
/// The folder cannot be written.
pub(crate) fn write(all: &Validation, facts: &[Fact], folder: &Path) -> Result<(), LabError> {
    let (errors, fits, laws, peaks) = (errors(all), fits(all), laws(all), peaks(all));
    let tables =
        [("errors.tsv", &errors), ("fits.tsv", &fits), ("laws.tsv", &laws), ("peaks.tsv", &peaks)];
    write_results(folder, &tables, &plots(all), facts, &markdown(all, facts))
}

/// A plot for each tool and kind of reads: ways with the queueing lock; and O with other locks.
fn plots(all: &Validation) -> Vec<(String, Plot)> {
    let mut plots = Vec::new();
    for of in &all.calibrations {
        let own = |it: &&Prediction| (it.tool, it.paired) == (of.name, of.paired);
        let with = |queueing: bool| {
            let is_wanted = move |it: &&Prediction| {
                it.what.ends_with("queueing") == queueing && (queueing || it.what.starts_with("O,"))
            };
            all.predictions.iter().filter(own).filter(is_wanted).flat_map(lines).collect()
        };
        let stem = format!("{}-{}", of.name.replace(' ', "").to_lowercase(), reads_word(of.paired));
        for (name, what, lines) in [
            (format!("{stem}.svg"), "queueing lock", with(true)),
            (format!("{stem}-locks.svg"), "O with other locks", with(false)),
        ] {
            let title = format!("{}, {}: {what}", of.name, reads_word(of.paired));
            let (x, y) = ("threads".to_owned(), "seconds for as many reads a thread".to_owned());
            plots.push((name, Plot { title, x, y, lines }));
        }
    }
    plots
}

fn lines(prediction: &Prediction) -> [Line; 2] {
    let what =
        prediction.what.trim_end_matches(", queueing").replace("input 32, output 32", "both");
    let line = |name: String, of: fn(&Point) -> f64| Line {
        name,
        points: prediction
            .points
            .iter()
            .map(|it| plot::Point::new(it.threads.into(), of(it)))
            .collect(),
    };
    [
        line(format!("{what}: measured"), |it| it.measured_s),
        line(format!("{what}: model"), |it| it.predicted_s[1]),
    ]
}

fn percent(share: f64) -> String {
    if share.is_finite() { format!("{:.1} %", share * 100.0) } else { "-".to_owned() }
}

fn signed(share: f64) -> String {
    if share.is_finite() { format!("{:+.0} %", share * 100.0) } else { "-".to_owned() }
}

fn bold_above(share: f64, text: String) -> String {
    if share.abs() > AIM { format!("**{text}**") } else { text }
}

fn head(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// The whole report.
fn markdown(all: &Validation, facts: &[Fact]) -> String {
    let mut out = String::from(INTRODUCTION);
    markdown_facts(&mut out, facts);
    for left_out in &all.left_out {
        let _ = writeln!(out, "* left out: {left_out}");
    }
    let judged = judged(all);
    for (kind, text) in [("B", BATCHES), ("lock", LOCKS), ("fit", FITS)] {
        out.push_str(text);
        let of = judged.iter().filter(|(it, _)| it.kind == kind);
        let rows: Vec<Vec<String>> = of.map(|(it, errors)| row(it, errors)).collect();
        markdown_table(&mut out, &error_heads(cores(all)), &rows);
    }
    out.push_str(PEAKS);
    peak_rows(all, &mut out);
    misses(all, &judged, &mut out);
    out.push_str(PLOTS);
    for (name, _) in plots(all) {
        let _ = writeln!(out, "![]({name})");
    }
    out
}

fn error_heads(cores: u32) -> Vec<String> {
    let mut heads = head(&[
        "curve",
        "median",
        "without a model",
        "hand-over 100 ns",
        "hand-over 400 ns",
        "worst (threads)",
        "peak",
        "threads at the peak: measured, model",
    ]);
    heads.insert(2, format!("{cores} threads and more"));
    heads
}

fn row(prediction: &Prediction, errors: &Errors) -> Vec<String> {
    let has_band = prediction.points.iter().any(|it| it.predicted_s[0] != it.predicted_s[1]);
    let end = |share| if has_band { percent(share) } else { "-".to_owned() };
    vec![
        format!("{}, {}: {}", prediction.tool, reads_word(prediction.paired), prediction.what),
        bold_above(errors.median, percent(errors.median)),
        bold_above(errors.median_full, percent(errors.median_full)),
        if prediction.kind == "fit" { "-".to_owned() } else { percent(errors.naive) },
        end(errors.ends[0]),
        end(errors.ends[1]),
        format!("{} ({})", signed(errors.worst.0), errors.worst.1),
        bold_above(errors.peak, signed(errors.peak)),
        format!("{}, {}", errors.peak_threads.0, errors.peak_threads.1),
    ]
}

fn peak_rows(all: &Validation, out: &mut String) {
    let heads = head(&[
        "machine, tool, reads",
        "table",
        "what",
        "fitted to",
        "published (threads)",
        "low, middle, high (threads)",
        "error",
    ]);
    let row = |peak: &PeakPrediction| {
        let [low, middle, high] = peak.krd_s.map(short);
        vec![
            format!("{}, {}, {}", peak.machine, peak.tool, reads_word(peak.paired)),
            peak.table.to_string(),
            peak.configuration.to_owned(),
            peak.from.to_owned(),
            format!("{} ({})", short(peak.published.1), peak.published.0),
            format!("{low}, {middle}, {high} ({})", peak.threads),
            bold_above(peak.error(), signed(peak.error())),
        ]
    };
    markdown_table(out, &heads, &all.peaks.iter().map(row).collect::<Vec<_>>());
}

/// Names of all that is further off than the aim: what the text about them must speak of.
#[must_use]
pub(crate) fn missed(all: &Validation) -> Vec<String> {
    let judged = judged(all);
    let curves = judged.iter().filter(|(it, errors)| is_missed(it, errors));
    let mut names: Vec<String> = curves.map(|(it, _)| curve_name(it)).collect();
    names.extend(all.peaks.iter().filter(|it| it.error().abs() > AIM).map(peak_name));
    names
}

fn is_missed(it: &Prediction, errors: &Errors) -> bool {
    let of = [errors.median, errors.median_full, errors.peak.abs()];
    it.kind != "fit" && of.iter().any(|error| *error > AIM)
}

fn curve_name(it: &Prediction) -> String {
    format!("{}, {}: {}", it.tool, reads_word(it.paired), it.what)
}

fn peak_name(it: &PeakPrediction) -> String {
    let reads = reads_word(it.paired);
    format!("{}, {}, {reads}: {} from {}", it.machine, it.tool, it.configuration, it.from)
}

fn misses(all: &Validation, judged: &[(&Prediction, Errors)], out: &mut String) {
    let cores = cores(all);
    out.push_str(&MISSES.replace("{cores}", &cores.to_string()));
    for (it, errors) in judged.iter().filter(|(it, errors)| is_missed(it, errors)) {
        let off = |point: &&Point| (point.predicted_s[1] / point.measured_s - 1.0).abs() > AIM;
        let threads: Vec<String> =
            it.points.iter().filter(off).map(|point| point.threads.to_string()).collect();
        let _ = writeln!(
            out,
            "* {}: median {}, with {cores} threads and more {}, peak {}; off by more than a \
             quarter at {} threads",
            curve_name(it),
            percent(errors.median),
            percent(errors.median_full),
            signed(errors.peak),
            threads.join(", ")
        );
    }
    for peak in all.peaks.iter().filter(|it| it.error().abs() > AIM) {
        let _ = writeln!(out, "* {}: {}", peak_name(peak), signed(peak.error()));
    }
}

#[cfg(test)]
mod tests {
    use super::super::calibrate::{Growth, Setting, Way};
    use super::super::machine::MACHINES;
    use super::super::model::HandOver;
    use super::super::published::{Curve, Peak, Published};
    use super::super::validate::validate;
    use super::*;

    const TRUTH: Tool = Tool {
        alone_ns: 46_000.0,
        parse_ns: 2_500.0,
        original_ns: 4_200.0,
        deferred_ns: 1_700.0,
        output_ns: 500.0,
        hand_over_ns: 250.0,
        shared_core_cost: 0.6,
    };
    const THREADS: [u32; 8] = [1, 4, 12, 20, 28, 40, 56, 72];

    fn curve(lock: &str, version: &str, seconds: impl Fn(u32) -> f64) -> Curve {
        Curve {
            experiment: "pub_reshuf3_lbm".to_owned(),
            run: format!("{lock} {version}"),
            tool: "bowtie".to_owned(),
            lock: lock.to_owned(),
            version: version.to_owned(),
            paired: false,
            points: THREADS.iter().map(|&threads| (threads, seconds(threads))).collect(),
        }
    }

    /// Curves that the model itself made.
    fn made() -> Published {
        let reads = 100_000.0;
        let slow = |threads: u32| 5.0 * (1.0 + 0.3 * f64::from(threads) / 56.0);
        let baseline = curve("tinythreads fast_mutex MP", "Original parsing", slow);
        let growth = Growth::from_baseline(&baseline).unwrap();
        let setting = Setting { machine: &MACHINES[0], growth: &growth, reads };
        let queue = HandOver::constant(TRUTH.hand_over_ns);
        let spin = HandOver { per_waiter_ns: 150.0, most_waiters: 56.0, ..queue };
        let of = |lock: &str, version: &str, way, law| {
            curve(lock, version, |threads| setting.seconds(&TRUTH, way, law, threads))
        };
        let queueing = "TBB queuing_mutex";
        let peak = |table, configuration: &str, krd_s| Peak {
            table,
            tool: "Bowtie".to_owned(),
            configuration: configuration.to_owned(),
            machine: "Broadwell".to_owned(),
            paired: false,
            threads: 72,
            krd_s,
        };
        let rate = 72.0 * reads / baseline.seconds(72).unwrap() / 1e3;
        Published {
            curves: vec![
                of(queueing, "Original parsing", Way::ORIGINAL, queue),
                of(queueing, "Two-phase parsing", Way::DEFERRED, queue),
                of(queueing, "Batch parsing input=32", Way::BATCH, queue),
                of("TBB spin_mutex", "Original parsing", Way::ORIGINAL, spin),
                of("TBB spin_mutex", "Two-phase parsing", Way::DEFERRED, spin),
                baseline,
            ],
            peaks: vec![peak(2, "MP baseline", rate), peak(4, "L-parsing, 1 output", 10.0 * rate)],
        }
    }

    #[test]
    fn curves_that_the_model_made_are_predicted_and_a_false_peak_is_a_miss() {
        let all = validate(&made(), &mut |_| ());
        assert_eq!(all.left_out.len(), 5, "{:?}", all.left_out);
        assert!((all.calibrations[0].reads / 100_000.0 - 1.0).abs() < 1e-9);
        let table = errors(&all);
        assert_eq!(table.levels("kind"), ["fit", "B", "lock"]);
        for row in &table.rows {
            let median = row.values[1];
            assert!(median < 0.1, "{row:?}");
        }
        assert_eq!(missed(&all), ["Broadwell, Bowtie, unpaired: L-parsing, 1 output from curves"]);
        let folder = tempfile::tempdir().unwrap();
        write(&all, &[Fact::new("program", "x")], folder.path()).unwrap();
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
        let report = read("README.md");
        assert!(report.contains("| Bowtie, unpaired: B, input 32, queueing |"), "{report}");
        assert!(report.contains("* Broadwell, Bowtie, unpaired: L-parsing"), "{report}");
        assert!(!report.contains("NaN") && !report.contains("inf"), "{report}");
        assert!(read("laws.tsv").contains("TBB spin\t"));
        // The cores are those of the machine, and only times are rounded.
        assert!(report.contains("| 56 threads and more |"), "{report}");
        assert!(report.contains("a median with 56 threads and more, or"), "{report}");
        let mut of_a_larger = all.clone();
        of_a_larger.calibrations.iter_mut().for_each(|it| it.machine.cores = 60);
        let report = markdown(&of_a_larger, &[]);
        assert!(report.contains("| 60 threads and more |"), "{report}");
        assert!(!report.contains("56 threads and more"), "{report}");
        let fits = fits(&all);
        for (row, tool) in fits.rows.iter().zip(&all.calibrations[0].tools) {
            assert_eq!(row.values.first(), Some(&all.calibrations[0].reads));
            assert_eq!(row.values.last(), Some(&tool.shared_core_cost));
            assert_eq!(row.values[1], (tool.alone_ns * 10.0).round() / 10.0);
            assert_eq!(row.values[6], (tool.hand_over_ns * 10.0).round() / 10.0);
        }
        assert_eq!(fits.rows.len(), 3);
        assert!(read("bowtie-unpaired.svg").contains("D: model"));
        // Published seconds stay where they are: only errors are written.
        assert!(!read("errors.tsv").contains("measured_s"));
    }
}
