//! Misale 2014: schedules of alignment end to end, from the table of `seqloom-lab schedule`.

use seqloom_report::page::{Cell, Figure, Page, Section};
use seqloom_report::plot::Point;

use super::catalogue::Paper;
use super::{Recorded, Series, Titles, figure, table};
use crate::output::noise_note;
use crate::table::Table;

/// Figures of time, which the page shows together.
pub(crate) const TIMES: [&str; 2] = ["Figure 5", "Figure 6"];
/// The figure of the farm.
pub(crate) const FARM: &str = "Figure 3";

/// The tables of counters.
pub(crate) const COUNTERS: [&str; 2] = ["Table II", "Table III"];

/// The page, of the figures that `is_wanted` by their labels.
pub(crate) fn page(
    paper: &Paper,
    Recorded { table: runs, facts }: &Recorded,
    counted: &Table,
    is_wanted: &dyn Fn(&str) -> bool,
) -> Page {
    let mut lines = vec![
        format!("Published values at hand: {}.", paper.at_hand),
        format!("Not at hand, and left out: {}.", paper.missing),
    ];
    lines.extend(facts.iter().map(|fact| format!("{}: {}", fact.name, fact.text)));
    lines.push(noise_note().trim().to_owned());
    let mut sections = Vec::new();
    if TIMES.iter().any(|label| is_wanted(label)) {
        sections.push(times(runs));
    }
    if is_wanted(FARM) {
        sections.push(farm(runs));
    }
    if COUNTERS.iter().any(|label| is_wanted(label)) {
        sections.push(counters(counted));
    }
    let maker = format!("seqloom-lab {}", env!("CARGO_PKG_VERSION"));
    Page { maker, title: paper.citation.to_owned(), lines, facts: Vec::new(), sections }
}

/// A median of a schedule and an engine by workers.
fn medians<'a>(
    runs: &'a Table,
    schedule: &'a str,
    engine: &'a str,
    column: &'a str,
) -> impl Iterator<Item = (u32, f64)> + 'a {
    runs.numbers("threads").into_iter().filter_map(move |threads| {
        let value = runs.median(&[schedule, engine, &threads.to_string()], column)?;
        value.is_finite().then_some((threads, value))
    })
}

fn times(runs: &Table) -> Section {
    let mut figures = Vec::new();
    for engine in runs.levels("engine") {
        let speedup: fn(f64, f64) -> f64 = |alone, time| alone / time;
        let seconds: fn(f64, f64) -> f64 = |_, time| time / 1e6;
        let shown = [
            Shown { what: "time", y: "seconds", of: seconds },
            Shown { what: "speed-up", y: "times", of: speedup },
        ];
        figures.extend(shown.iter().filter_map(|shown| by_workers(runs, engine, shown)));
    }
    Section {
        title: "Figures 5 and 6: time and speed-up by threads and schedule",
        note: "From the first line of the slowest worker's work to its end; indexes are loaded \
               before. Speed-up is by the same schedule with one worker. The farm has an emitter \
               thread next to its workers, the pipeline two masters."
            .to_owned(),
        figures,
    }
}

/// What is shown by workers.
struct Shown {
    what: &'static str,
    y: &'static str,
    /// Of the time of one worker and of all.
    of: fn(f64, f64) -> f64,
}

/// Lines of all schedules of an engine.
fn by_workers(runs: &Table, engine: &str, &Shown { what, y, of }: &Shown) -> Option<Figure> {
    let mut series = Vec::new();
    for schedule in runs.levels("schedule") {
        let times: Vec<(u32, f64)> = medians(runs, schedule, engine, "align_us").collect();
        let Some(&(1, alone)) = times.first() else { continue };
        let point = |&(n, time): &(u32, f64)| Point::new(n.into(), of(alone, time));
        let points = times.iter().map(point).collect();
        let (name, machine) = (schedule.to_owned(), "here".to_owned());
        series.push(Series { name, machine, is_here: true, points, band: Vec::new() });
    }
    let words = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let titles = Titles {
        id: format!("{what}-{engine}").chars().map(words).collect(),
        title: format!("{engine}: {what}"),
        x: "workers",
        y,
        columns: ["schedule", "machine", "workers", y],
    };
    (!series.is_empty()).then(|| figure(titles, series))
}

/// What threads of a schedule do that do not align, with the most workers.
fn farm(runs: &Table) -> Section {
    let mut rows = Vec::new();
    for [schedule, engine] in runs.combinations(["schedule", "engine"]) {
        let last = |column| medians(runs, schedule, engine, column).last();
        let (Some((workers, time)), Some((_, reads))) = (last("align_us"), last("reads")) else {
            continue;
        };
        let value = |column| last(column).map_or(f64::NAN, |(_, value)| value);
        rows.push(vec![
            schedule.into(),
            engine.into(),
            u64::from(workers).into(),
            (value("threads_all") as u64).into(),
            (value("master_busy_us") / time).into(),
            (value("sleeps") * 1e3 / reads).into(),
            (value("contended_rmws") * 1e3 / reads).into(),
            (value("peak_rss_bytes") / 1e6).into(),
        ]);
    }
    let columns = [
        "schedule",
        "engine",
        "workers",
        "threads",
        "masters busy",
        "sleeps per 1,000 reads",
        "contended changes per 1,000 reads",
        "most memory, MB",
    ];
    Section {
        title: "Figure 3: the farm, and what takes its place",
        note:
            "A farm has an emitter, which reads and hands out tasks through rings without locks. \
               Masters busy: the part of the run in which threads that do not align were at work. \
               Contended changes: of counters that another worker had changed."
                .to_owned(),
        figures: vec![table("With the most workers", "farm", &columns, rows)],
    }
}

/// Shares of what processors counted: part, whole, head, and the unit that it is shown in.
const SHARES: [(&str, &str, &str, f64); 6] = [
    ("instructions", "cycles", "instructions a cycle", 1.0),
    ("stalled_before_decode", "cycles", "cycles stalled, front end, %", 0.01),
    ("stalled_after_decode", "cycles", "cycles stalled, back end, %", 0.01),
    ("branch_misses", "branches", "branch misses, %", 0.01),
    ("l1d_misses", "l1d_loads", "L1d misses, % of loads", 0.01),
    ("llc_misses", "llc_loads", "LLC misses, % of loads", 0.01),
];

/// What processors counted, where the machine shows it.
fn counters(counted: &Table) -> Section {
    let title = "Tables II and III: stalls, branch misses, caches";
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for row in &counted.rows {
        let value = |column: &str| {
            let at = counted.columns.iter().position(|name| name == column);
            at.map_or(f64::NAN, |at| row.values[at])
        };
        let shares = SHARES.map(|(part, whole, _, unit)| value(part) / value(whole) / unit);
        let names = row.factors.iter().map(|factor| Cell::from(factor.as_str()));
        rows.push(names.chain(shares.map(Cell::from)).collect());
    }
    if rows.is_empty() {
        let note = "No counters on this machine: nothing is shown. A machine that lets perf stat \
                    count cycles, stalls, branches and caches has a table here."
            .to_owned();
        return Section { title, note, figures: Vec::new() };
    }
    let mut columns = vec!["schedule", "engine", "workers"];
    columns.extend(SHARES.map(|(_, _, head, _)| head));
    Section {
        title,
        note: "By perf stat, one run of each schedule with the most workers, which is not timed; \
               of the whole program, its start and the load of the index, too. What is empty this \
               machine does not count."
            .to_owned(),
        figures: vec![table("Counters of processors", "counters", &columns, rows)],
    }
}
