//! Gamaarachchi 2020: calling and reading of nanopore signal by structure, workers and modelled
//! storage, from the tables of `seqloom-lab methylation` and `seqloom-lab signal-io`.

use seqloom_report::page::{Cell, Page, Section};
use seqloom_report::plot::Point;
use seqloom_report::run::core_hours;

use super::catalogue::Paper;
use super::{Recorded, Series, Titles, figure, table};
use crate::experiment::utilisation_percent;
use crate::latency::words;
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

/// Components of calling: columns, and heads.
const COMPONENTS: [(&str, &str); 7] = [
    ("signal_s", "signal"),
    ("events_s", "events"),
    ("abea_s", "alignment"),
    ("scaling_s", "scaling"),
    ("hmm_s", "HMM"),
    ("format_s", "text"),
    ("wait_s", "waiting"),
];

impl Sources {
    /// The page, of the figures that `is_wanted` by their labels.
    pub(crate) fn page(&self, paper: &Paper, is_wanted: &dyn Fn(&str) -> bool) -> Page {
        let mut lines = vec![
            format!("Published values at hand: {}.", paper.at_hand),
            format!("Not at hand, and left out: {}.", paper.missing),
            "All points are this machine's, on modelled storages, K servers that need a given time \
             for each request, and in the page cache."
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
            sections.push(Section {
                title: "Figures 1.10 and 1.12 to 1.15: reading at random",
                note: "Every read once, in a shuffled order. Times are of whole processes, the \
                       fastest of the repeats."
                    .to_owned(),
                figures: figures(table, "reading", &SHOWN[..1]),
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
        note: "Seconds summed over workers, with one and with the most.".to_owned(),
        figures: vec![components(table)],
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
fn figures(table: &Table, kind: &str, shown: &[Shown]) -> Vec<seqloom_report::page::Figure> {
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

fn components(of: &Table) -> seqloom_report::page::Figure {
    let workers = of.numbers("workers");
    let mut ends: Vec<u32> = workers.first().into_iter().chain(workers.last()).copied().collect();
    ends.dedup();
    let mut rows = Vec::new();
    for storage in of.levels("storage") {
        for way in of.levels("way") {
            for workers in &ends {
                let Some(run) = fastest(of, [storage, way, &workers.to_string()]) else { continue };
                let head: [Cell; 3] =
                    [storage.into(), title(way).into(), u64::from(*workers).into()];
                let parts = COMPONENTS.iter().map(|(column, _)| Cell::from(value(of, run, column)));
                rows.push(head.into_iter().chain(parts).collect());
            }
        }
    }
    let mut columns = vec!["storage", "way", "workers"];
    columns.extend(COMPONENTS.iter().map(|(_, head)| *head));
    table("Seconds by component", "components", &columns, rows)
}
