//! Langmead et al. 2018: memory by threads, and compressed output against stripes, which the paper
//! leaves open; from the campaigns `langmead` and `compressed-output`.

use seqloom_report::page::{Figure, Section};
use seqloom_report::plot::Point;

use super::{Series, Titles, figure};
use crate::campaign::measured::{Level, Measured};
use crate::paper::langmead::{PROCESSES, Subject};

/// Programs whose memory is shown together: what the paper has, and ours that finds the same.
pub(super) struct Together {
    pub(super) name: &'static str,
    pub(super) subjects: [Subject; 2],
}

/// The most resident memory of runs, by threads.
pub(super) fn memory(measured: &Measured, all: &[Together]) -> Option<Section> {
    let of = |Together { name, subjects }: &Together| -> Option<Figure> {
        let mut series = Vec::new();
        for Subject { subject, name } in subjects {
            for processes in PROCESSES {
                let levels = [
                    Level { factor: "subject", level: subject },
                    Level { factor: "instances", level: processes.level },
                ];
                let peaks = measured.by_threads(&levels, "peak_rss_bytes");
                series.extend(line(processes.line(name), &peaks, 1e6));
            }
        }
        let titles = Titles {
            id: format!("memory {name}").to_lowercase().replace(' ', "-"),
            title: (*name).to_owned(),
            x: "threads",
            y: "most resident memory, MB",
            columns: ["program", "machine", "threads", "MB"],
        };
        (!series.is_empty()).then(|| figure(titles, series))
    };
    let figures: Vec<Figure> = all.iter().filter_map(of).collect();
    (!figures.is_empty()).then(|| Section {
        title: "Memory by threads",
        note: "The most resident memory of a process of each run, the median of the repeats; of \
               several processes the sum, in which pages that both have mapped (--mm) count twice. \
               No published curve is at hand. Programs smaller than seqloom-lab itself have no \
               point: Linux counts the memory of the process that started them."
            .to_owned(),
        figures,
    })
}

/// Throughput of each format in one file and in stripes, by threads.
pub(super) fn compressed(measured: &Measured) -> Option<Section> {
    let formats = measured.table.levels("format");
    let of_format = |format: &&str| -> Option<Figure> {
        let series: Vec<Series> = [("one-file", "one file"), ("stripes", "a file for each thread")]
            .into_iter()
            .filter_map(|(subject, name)| {
                let levels = [
                    Level { factor: "subject", level: subject },
                    Level { factor: "format", level: format },
                ];
                line(name.to_owned(), &measured.by_threads(&levels, "reads_per_s"), 1e3)
            })
            .collect();
        let titles = Titles {
            id: format!("compressed-{format}"),
            title: (*format).to_owned(),
            x: "threads",
            y: "thousand reads/s",
            columns: ["output", "machine", "threads", "thousand reads/s"],
        };
        (!series.is_empty()).then(|| figure(titles, series))
    };
    let figures: Vec<Figure> = formats.iter().filter_map(of_format).collect();
    (!figures.is_empty()).then(|| Section {
        title: "Compressed output against stripes",
        note:
            "align --mode end-to-end, weak scaling: SAM, and BAM that each worker deflates before \
               it writes, to one file and to a file for each thread (--stripes). Where one file \
               keeps up with stripes, the lock of the output is no limit; with more cores than \
               this machine has it may be."
                .to_owned(),
        figures,
    })
}

/// A line of this machine's points, none without any.
fn line(name: String, points: &[(u32, f64)], unit: f64) -> Option<Series> {
    let points: Vec<Point> =
        points.iter().map(|&(n, value)| Point::new(n.into(), value / unit)).collect();
    let machine = "here".to_owned();
    (!points.is_empty()).then(|| Series { name, machine, is_here: true, points, band: Vec::new() })
}
