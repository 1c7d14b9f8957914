//! What a run took: phases, cores, bytes and memory over time. The only section that is not a
//! function of the records.

use super::{Axes, figure, line, table};
use crate::page::{Cell, Section};
use crate::plot::Point;
use crate::run::RunReport;

/// The process at one time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// Since the start.
    pub seconds: f64,
    /// CPU time so far.
    pub cpu_seconds: f64,
    /// Bytes of input read so far.
    pub read_bytes: u64,
    /// Records that passed so far, of the phase in work.
    pub records: u64,
}

/// Samples, of which there are never too many: when they are, every second one is dropped and they
/// are taken half as often.
#[derive(Debug)]
pub struct Samples {
    samples: Vec<Sample>,
    every_seconds: f64,
}

/// Samples that are kept.
const MOST_SAMPLES: usize = 1000;

impl Default for Samples {
    fn default() -> Self {
        Self { samples: Vec::new(), every_seconds: 1.0 }
    }
}

impl Samples {
    /// Takes a sample, if it is time for one.
    pub fn take(&mut self, sample: Sample) {
        let last = self.samples.last().map_or(f64::NEG_INFINITY, |it| it.seconds);
        if sample.seconds < last + self.every_seconds {
            return;
        }
        self.samples.push(sample);
        if self.samples.len() > MOST_SAMPLES {
            let mut index = 0;
            self.samples.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.every_seconds *= 2.0;
        }
    }

    /// By time.
    #[must_use]
    pub fn as_slice(&self) -> &[Sample] {
        &self.samples
    }
}

/// The section.
#[must_use]
pub fn run(report: &RunReport, samples: &[Sample]) -> Section {
    let usage = &report.usage;
    let mut figures = Vec::new();
    let pairs: Vec<(Sample, f64, f64)> = samples
        .windows(2)
        .map(|pair| {
            let seconds = pair[1].seconds - pair[0].seconds;
            let cores = (pair[1].cpu_seconds - pair[0].cpu_seconds) / seconds;
            let read = pair[1].read_bytes.saturating_sub(pair[0].read_bytes) as f64;
            (pair[1], cores, read / seconds / 1e6)
        })
        .collect();
    if !pairs.is_empty() {
        let rows = |value: fn(&(Sample, f64, f64)) -> f64| -> Vec<Vec<Cell>> {
            let cells = |it: &(Sample, f64, f64)| vec![tenths(it.0.seconds), tenths(value(it))];
            pairs.iter().map(cells).collect()
        };
        let points = |value: fn(&(Sample, f64, f64)) -> f64| {
            pairs.iter().map(move |it| Point::new(it.0.seconds, value(it)))
        };
        let title = "Cores busy";
        let lines = vec![line(title, points(|it| it.1))];
        let data = ("cores_over_time", &["seconds", "cores"][..], rows(|it| it.1));
        figures.push(figure(title, Axes { x: "seconds", y: "cores" }, lines, data));
        let title = "Input read";
        let lines = vec![line(title, points(|it| it.2))];
        let data = ("input_over_time", &["seconds", "MB/s"][..], rows(|it| it.2));
        figures.push(figure(title, Axes { x: "seconds", y: "MB/s" }, lines, data));
    }
    let phases = usage.phase_seconds.iter();
    let phases = phases.map(|(name, seconds)| vec![Cell::from(*name), (*seconds).into()]).collect();
    figures.push(table("Phases", ("phases", &["phase", "wall seconds"], phases)));
    let numbers: [(&str, Cell); 10] = [
        ("threads", report.threads.into()),
        ("memory allowed, bytes", report.memory_bytes.into()),
        ("wall seconds", usage.wall_seconds.into()),
        ("CPU seconds", usage.cpu_seconds.into()),
        ("cores busy", usage.cores_busy.into()),
        ("largest resident set, bytes", usage.peak_rss_bytes.into()),
        ("input read, bytes", report.bytes.read.into()),
        ("output written, bytes", report.bytes.written.into()),
        ("spilled, bytes", report.bytes.spilled.into()),
        ("records written", report.counts.records_written.into()),
    ];
    let rows = numbers.into_iter().map(|(name, value)| vec![Cell::from(name), value]).collect();
    figures.push(table("Totals", ("run", &["what", "value"], rows)));
    let note = format!("{}: {}", report.program, report.command.join(" "));
    Section { title: "The run", note, figures }
}

/// A number with one decimal.
fn tenths(value: f64) -> Cell {
    ((value * 10.0).round() / 10.0).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_halved_and_stay_in_order() {
        let mut samples = Samples::default();
        for tenth in 0..50_000_u32 {
            let seconds = f64::from(tenth) / 5.0;
            let sample = Sample { seconds, cpu_seconds: 0.0, read_bytes: 0, records: 0 };
            samples.take(sample);
            assert!(samples.as_slice().len() <= MOST_SAMPLES);
        }
        let kept = samples.as_slice();
        assert!(kept.len() > MOST_SAMPLES / 3);
        assert!(kept.is_sorted_by(|a, b| a.seconds < b.seconds));
        assert!(kept.last().unwrap().seconds > 9_900.0);
    }
}
