//! Gamaarachchi 2020: calling and reading of nanopore signal by structure, workers and modelled
//! storage, from the tables of `seqloom-lab methylation` and `seqloom-lab signal-io`.

use seqloom_report::page::{Cell, Figure, Page, PageTable, Section};
use seqloom_report::plot::{Line, Plot, Point, Style};
use seqloom_report::run::core_hours;

use super::catalogue::Paper;
use super::{CURVES, Recorded, Series, Titles, figure, table};
use crate::experiment::utilisation_percent;
use crate::latency::{STORAGES, words};
use crate::methylation;
use crate::output::Fact;
use crate::signal_io;
use crate::table::{Row, Table};

/// Figures of calling: time, processors kept busy, core-hours, components.
pub(crate) const CALLING: [&str; 4] = ["Figure 1.1", "Figure 1.5", "Figure 1.9", "Figure 1.11"];
/// Figures of reading.
pub(crate) const READING: [&str; 5] =
    ["Figure 1.10", "Figure 1.12", "Figure 1.13", "Figure 1.14", "Figure 1.15"];

/// What the page is made of.
pub(crate) struct Sources {
    /// Of `seqloom-lab methylation`.
    pub(crate) calling: Option<Recorded>,
    /// Of `seqloom-lab signal-io`.
    pub(crate) reading: Option<Recorded>,
}

/// What is shown by workers.
struct Shown {
    name: &'static str,
    y: &'static str,
    column: &'static str,
    of: fn(Run) -> f64,
}

#[derive(Clone, Copy)]
struct Run {
    wall_s: f64,
    cpu_s: f64,
    workers: u32,
}

const SHOWN: [Shown; 3] = [
    Shown { name: "time", y: "seconds", column: "seconds", of: |run| run.wall_s },
    Shown {
        name: "CPU utilisation",
        y: "CPU utilisation, % (equation 1.1)",
        column: "CPU utilisation, %",
        of: |run| utilisation_percent(run.cpu_s, run.wall_s, run.workers),
    },
    Shown {
        name: "core-hours",
        y: "core-hours",
        column: "core-hours",
        of: |run| core_hours(run.workers as usize, run.wall_s),
    },
];

const READING_NOTE: &str = "Every read once, in a shuffled order. Times are of whole processes, \
    the fastest of the repeats. A modelled storage can serve as many requests a second as it has \
    servers, divided by the seconds of one request. Of a real disk, and of the page cache, what is \
    possible is taken to be the most reads a second that any number of workers had of the same \
    bytes without looking into them, by threads or by io_uring, where that was measured. Reached: \
    by whole processes, whose start is in their time.";

impl Sources {
    /// The page, of the figures that `is_wanted` by their labels.
    pub(crate) fn page(&self, paper: &Paper, is_wanted: &dyn Fn(&str) -> bool) -> Page {
        let mut lines = vec![
            format!("Published values at hand: {}.", paper.at_hand),
            format!("Not at hand, and left out: {}.", paper.missing),
            "All points are this machine's: on modelled storages, K servers that need a given time \
             for each request; from this machine's own disk, the pages of the files evicted before \
             each run, where it has one (what lies below it, such as the memory of a host, is not \
             evicted); and in the page cache."
                .to_owned(),
        ];
        for (what, recorded) in [("calling", &self.calling), ("reading", &self.reading)] {
            let told = |facts: &[Fact]| {
                let fact = |fact: &Fact| format!("{}: {}", fact.name, fact.text);
                facts.iter().map(fact).collect::<Vec<_>>().join("; ")
            };
            lines.extend(recorded.iter().map(|it| format!("{what}: {}", told(&it.facts))));
        }
        let mut sections = Vec::new();
        if let Some(Recorded { table, .. }) = &self.calling
            && CALLING.iter().any(|label| is_wanted(label))
        {
            sections.extend(calling(table));
        }
        if let Some(Recorded { table, .. }) = &self.reading
            && READING.iter().any(|label| is_wanted(label))
        {
            let figures = figures(table, "reading", &SHOWN[..1]);
            sections.push(Section {
                title: "Figures 1.10 and 1.12 to 1.15: reading at random",
                note: READING_NOTE.to_owned(),
                figures: figures.into_iter().chain([requests(table)]).collect(),
            });
        }
        let maker = format!("seqloom-lab {}", env!("CARGO_PKG_VERSION"));
        Page { maker, title: paper.citation.to_owned(), lines, facts: Vec::new(), sections }
    }
}

fn calling(table: &Table) -> [Section; 2] {
    let by_workers = Section {
        title: "Figures 1.1, 1.5 and 1.9: time, CPU utilisation, core-hours",
        note: "Methylation calling by structure. CPU utilisation is processor time by workers and \
               wall time (equation 1.1); core-hours are workers by hours of wall time, whether \
               they work or wait (sections 1.1 and 1.5.1). Times are of whole processes, the \
               fastest of the repeats."
            .to_owned(),
        figures: figures(table, "calling", &SHOWN),
    };
    let components = Section {
        title: "Figure 1.11: components",
        note: "Seconds summed over workers, stacked: each line is its component and all below it. \
               BAM is reading alignments, FASTA reading the reference and the reads' bases; the \
               paper's structures do both before they call, so that neither waits. nanopolish \
               reports no components. The table has one worker and the most."
            .to_owned(),
        figures: stacked(table).into_iter().chain([components(table)]).collect(),
    };
    [by_workers, components]
}

/// A way of either experiment in words.
fn title(way: &str) -> &str {
    let calling = methylation::WAYS.iter().map(|it| (it.name, it.title));
    let mut all = calling.chain(signal_io::WAYS.iter().map(|it| (it.name, it.title)));
    all.find(|(name, _)| *name == way).map_or(way, |(_, title)| title)
}

/// The fastest run with these factors.
fn fastest<'a>(table: &'a Table, factors: [&str; 3]) -> Option<&'a Row> {
    let wall = table.columns.iter().position(|column| column == "wall_s")?;
    let rows = table.rows.iter().filter(|row| row.factors == factors);
    rows.min_by(|a, b| a.values[wall].total_cmp(&b.values[wall]))
}

/// A value of a run, none where there is no such column.
fn value(table: &Table, run: &Row, column: &str) -> f64 {
    let at = table.columns.iter().position(|other| other == column);
    at.map_or(f64::NAN, |at| run.values[at])
}

/// A figure for each storage and each of what is shown, with a line for each way.
fn figures(table: &Table, kind: &str, shown: &[Shown]) -> Vec<Figure> {
    let mut all = Vec::new();
    for storage in table.levels("storage") {
        for &Shown { name, y, column, of } in shown {
            let series = |way: &&str| {
                let point = |workers: u32| {
                    let run = fastest(table, [storage, way, &workers.to_string()])?;
                    let of_run = |column| value(table, run, column);
                    let (wall_s, cpu_s) = (of_run("wall_s"), of_run("cpu_s"));
                    let run = Run { wall_s, cpu_s, workers };
                    Some(Point::new(workers.into(), of(run)))
                };
                let points: Vec<Point> =
                    table.numbers("workers").into_iter().filter_map(point).collect();
                let (name, machine) = (title(way).to_owned(), "here".to_owned());
                Series { name, machine, is_here: true, points, band: Vec::new() }
            };
            let titles = Titles {
                id: format!("{kind}-{storage}-{name}").to_lowercase().replace(' ', "-"),
                title: format!("{}: {name}", words(storage)),
                x: "workers",
                y,
                columns: ["way", "machine", "workers", column],
            };
            all.push(figure(titles, table.levels("way").iter().map(series).collect()));
        }
    }
    all
}

/// The ways that report what their components took.
fn with_components(table: &Table) -> Vec<&str> {
    let ways = methylation::WAYS.iter().filter(|way| !way.caller.is_nanopolish());
    let names: Vec<&str> = ways.map(|way| way.name).collect();
    table.levels("way").into_iter().filter(|way| names.contains(way)).collect()
}

/// Components by workers, of each storage and way.
fn stacked(of: &Table) -> Vec<Figure> {
    let (present, mut figures) = (methylation::recorded_components(of), Vec::new());
    for storage in of.levels("storage") {
        for way in with_components(of) {
            let run = |workers: &u32| {
                Some((*workers, fastest(of, [storage, way, &workers.to_string()])?))
            };
            let runs: Vec<(u32, &Row)> = of.numbers("workers").iter().filter_map(run).collect();
            // Lines from the sum of all down to the first component, each above those after it.
            let line = |last: usize| {
                let sum = |run: &Row| -> f64 {
                    present[..=last].iter().map(|it| value(of, run, it.column)).sum()
                };
                let point = |&(workers, run): &(u32, &Row)| Point::new(workers.into(), sum(run));
                Line {
                    name: present[last].words.to_owned(),
                    points: runs.iter().map(point).collect(),
                }
            };
            let lines: Vec<Line> = (0..present.len()).rev().map(line).collect();
            let cells = |line: &Line| {
                let name = line.name.clone();
                let row = move |it: &Point| {
                    vec![name.as_str().into(), (it.x as u64).into(), Cell::from(it.y)]
                };
                line.points.iter().map(row).collect::<Vec<_>>()
            };
            let rows = lines.iter().flat_map(cells).collect();
            let title = format!("{}: components, {}", words(storage), title(way));
            let plot = Plot {
                title: title.clone(),
                x: "workers".to_owned(),
                y: "seconds, summed over workers".to_owned(),
                lines,
            };
            let style = Style { linear_y: true, filled: true, ..CURVES };
            let id = format!("components-{storage}-{way}").into();
            let columns = vec!["component and those below", "workers", "seconds"];
            let table = PageTable { id, columns, rows };
            figures.push(Figure { title, plot: Some((plot, style)), table, ..Figure::default() });
        }
    }
    figures
}

/// Requests or reads a second, next to what the storage can serve.
fn requests(of: &Table) -> Figure {
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for storage in of.levels("storage") {
        let modelled = STORAGES.iter().find(|it| it.name == storage);
        let possible = match modelled {
            Some(it) => Some(f64::from(it.servers) * 1e3 / it.service_ms),
            None => raw_rate(of, storage),
        };
        for way in of.levels("way") {
            for workers in ends(of) {
                let Some(run) = fastest(of, [storage, way, &workers.to_string()]) else { continue };
                let counted = if modelled.is_some() { "requests" } else { "reads" };
                let rate = value(of, run, counted) / value(of, run, "wall_s");
                rows.push(vec![
                    words(storage).as_str().into(),
                    title(way).into(),
                    u64::from(workers).into(),
                    counted.into(),
                    rate.into(),
                    possible.into(),
                    possible.map(|possible| 100.0 * rate / possible).into(),
                ]);
            }
        }
    }
    let columns = ["storage", "way", "workers", "counted", "reached/s", "possible/s", "reached, %"];
    table("Requests a second, reached and possible", "requests", &columns, rows)
}

/// The most reads a second of bytes that nobody looks into.
fn raw_rate(of: &Table, storage: &str) -> Option<f64> {
    let raw = signal_io::WAYS.iter().filter(|way| way.raw.is_some());
    let all = raw.flat_map(|way| of.numbers("workers").into_iter().map(move |n| (way.name, n)));
    let rates = all.filter_map(|(way, workers)| {
        let run = fastest(of, [storage, way, &workers.to_string()])?;
        Some(value(of, run, "reads") / value(of, run, "wall_s"))
    });
    rates.max_by(f64::total_cmp)
}

/// The fewest and the most workers.
fn ends(of: &Table) -> Vec<u32> {
    let workers = of.numbers("workers");
    let mut ends: Vec<u32> = workers.first().into_iter().chain(workers.last()).copied().collect();
    ends.dedup();
    ends
}

fn components(of: &Table) -> Figure {
    let present = methylation::recorded_components(of);
    let mut rows = Vec::new();
    for storage in of.levels("storage") {
        for way in with_components(of) {
            for workers in &ends(of) {
                let Some(run) = fastest(of, [storage, way, &workers.to_string()]) else { continue };
                let head: [Cell; 3] =
                    [storage.into(), title(way).into(), u64::from(*workers).into()];
                let parts = present.iter().map(|it| Cell::from(value(of, run, it.column)));
                rows.push(head.into_iter().chain(parts).collect());
            }
        }
    }
    let mut columns = vec!["storage", "way", "workers"];
    columns.extend(present.iter().map(|it| it.words));
    table("Seconds by component", "components", &columns, rows)
}
