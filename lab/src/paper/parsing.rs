//! Langmead et al. 2018: locks and ways to parse with an engine that aligns, from the table of
//! `seqloom-lab parsing`.

use seqloom_report::page::{Figure, Section};
use seqloom_report::plot::Point;

use super::{Recorded, Series, Titles, figure};
use crate::output::WithLock;
use crate::parsing::{ENGINE, Files};
use crate::table::Table;

/// The section, if the reads were given to an engine that aligns.
pub(super) fn section(Recorded { table: runs, facts }: &Recorded) -> Option<Section> {
    let engine = facts.iter().find(|fact| fact.name == ENGINE)?;
    let units = runs.levels("unit");
    let of = |files: &&str| units.iter().filter_map(|unit| by_threads(runs, files, unit)).collect();
    let figures: Vec<Vec<Figure>> = runs.levels("files").iter().map(of).collect();
    Some(Section {
        title: "Figures 3 and 4 with an engine that aligns",
        note: format!(
            "O, D, B and L of the paper, under the locks that were chosen, and our source, which \
             has none: each gives its reads to {}. The reads are as many for any number of \
             threads; throughput is by one thread of the same line.",
            engine.text
        ),
        figures: figures.concat(),
    })
}

fn by_threads(runs: &Table, files: &str, unit: &str) -> Option<Figure> {
    let mut series = Vec::new();
    for [way, lock] in runs.combinations(["way", "lock"]) {
        let rate = |threads: u32| {
            let factors = [files, unit, way, lock, &threads.to_string()];
            Some(runs.median(&factors, "reads")? / runs.median(&factors, "wall_s")?)
        };
        let Some(alone) = rate(1) else { continue };
        let point = |n: u32| Some(Point::new(n.into(), rate(n)? / alone));
        let points = runs.numbers("threads").into_iter().filter_map(point).collect();
        let (name, machine) = (WithLock { way, lock }.name(), "here".to_owned());
        series.push(Series { name, machine, is_here: true, points, band: Vec::new() });
    }
    let kind = match files {
        _ if files == Files::Paired.name() => "two files of mates",
        _ if files == Files::Bgzf.name() => "BGZF",
        _ => "one file",
    };
    let titles = Titles {
        id: format!("aligned-{files}-{unit}"),
        title: format!("{kind}, units of {unit} bytes"),
        x: "threads",
        y: "throughput, times that of one thread",
        columns: ["way and lock", "machine", "threads", "throughput"],
    };
    (!series.is_empty()).then(|| figure(titles, series))
}
