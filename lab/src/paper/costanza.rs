//! Costanza, Herzeel, Verachtert 2019: time and memory of elPrep's five steps by program and
//! allocator, from the tables of `seqloom-lab prep-memory`.

use seqloom_report::page::{Cell, Figure, Page, Section};
use seqloom_report::plot::{Plot, Point, Style};

use super::catalogue::Paper;
use super::{CURVES, Recorded, Series, Titles, figure, table};
use crate::prep_memory::{PHASES, Sample, Spread, gb_hours_over_time};
use crate::table::Table;

/// What the paper's abstract says of its three programs: GB h, peak memory times time.
const PUBLISHED_GB_HOURS: [(&str, f64); 3] =
    [("elPrep in Go", 29.3), ("elPrep in Java", 38.6), ("elPrep in C++17", 44.3)];

/// What is averaged: column, head, and the unit it is shown in.
const MEANS: [(&str, &str, f64); 6] = [
    ("wall_s", "wall s", 1.0),
    ("cpu_s", "CPU s", 1.0),
    ("peak_bytes", "peak MB", 1e6),
    ("gb_hours", "GB h x 1000", 1e-3),
    ("gb_hours_over_time", "GB h x 1000, over time", 1e-3),
    ("after_output_s", "s after the output", 1.0),
];

/// The page; `curves` is memory over time, where that was kept.
pub(crate) fn page(
    paper: &Paper,
    Recorded { table: runs, facts }: &Recorded,
    curves: Option<&Table>,
) -> Page {
    let mut lines = vec![
        format!("Published values at hand: {}.", paper.at_hand),
        format!("Not at hand, and left out: {}.", paper.missing),
    ];
    lines.extend(facts.iter().map(|fact| format!("{}: {}", fact.name, fact.text)));
    let mut sections = vec![means(runs), phases(runs)];
    sections.extend(curves.map(over_time));
    sections.push(products(runs, curves));
    let maker = format!("seqloom-lab {}", env!("CARGO_PKG_VERSION"));
    Page { maker, title: paper.citation.to_owned(), lines, facts: Vec::new(), sections }
}

/// Means with their confidence intervals, and each way as a point of memory and time.
fn means(runs: &Table) -> Section {
    let (mut rows, mut points) = (Vec::new(), Vec::new());
    for way in runs.levels("way") {
        let of = |column| Spread::of(runs, way, column);
        let (Some(wall), Some(peak)) = (of("wall_s"), of("peak_bytes")) else { continue };
        let mut row: Vec<Cell> = vec![way.into(), wall.runs.into()];
        for (column, _, unit) in MEANS {
            let spread = of(column);
            row.push(spread.map(|it| it.mean / unit).into());
            row.push(spread.and_then(Spread::half_interval).map(|half| half / unit).into());
        }
        rows.push(row);
        let point = vec![Point::new(peak.mean / 1e6, wall.mean)];
        let (name, machine) = (way.to_owned(), "here".to_owned());
        points.push(Series { name, machine, is_here: true, points: point, band: Vec::new() });
    }
    let mut columns = vec!["way", "runs"];
    for (_, head, _) in MEANS {
        columns.extend([head, "±"]);
    }
    let titles = Titles {
        id: "time-and-memory".to_owned(),
        title: "Time and memory".to_owned(),
        x: "peak memory, MB",
        y: "seconds",
        columns: ["way", "machine", "peak MB", "wall s"],
    };
    Section {
        title: "Time, memory and their product",
        note: "Each run leaves out unmapped reads, replaces the header's sequences and the read \
               group, marks duplicates and sorts: elPrep's five steps. Means of all runs; ± is \
               half of the 95 % confidence interval of the mean by Student's t. GB h is peak \
               memory times time on the clock; over time it is the area below memory over time. \
               Seconds after the output are those from its last write, as the file system dates \
               it, to the end of the program: what is freed at the end is freed in them, and the \
               pages that the kernel takes back; a program that frees nothing ends at once. \
               Earlier recordings lack the last two."
            .to_owned(),
        figures: vec![figure(titles, points), table("Means", "means", &columns, rows)],
    }
}

fn phases(runs: &Table) -> Section {
    let mut rows = Vec::new();
    for way in runs.levels("way") {
        let of = |phase: &str| Spread::of(runs, way, &format!("{phase}_s")).map(|it| it.mean);
        let means = PHASES.map(of);
        if means.iter().flatten().any(|&mean| mean > 0.0) {
            let mut row = vec![Cell::from(way)];
            row.extend(means.map(Cell::from));
            rows.push(row);
        }
    }
    let mut columns = vec!["way"];
    columns.extend(PHASES);
    Section {
        title: "Phases",
        note: "Mean seconds of the phases of prep; other programs report none.".to_owned(),
        figures: vec![table("Seconds by phase", "phases", &columns, rows)],
    }
}

/// A way's memory over time.
fn samples(curves: &Table, way: &str) -> Vec<Sample> {
    let rows = curves.rows.iter().filter(|row| row.factors[0] == way);
    let sample = |row: &crate::table::Row| {
        let ms: f64 = row.factors[1].parse().ok()?;
        Some(Sample { seconds: ms / 1e3, bytes: row.values[0] as u64 })
    };
    rows.filter_map(sample).collect()
}

fn over_time(curves: &Table) -> Section {
    let line = |way: &str| {
        let points = samples(curves, way);
        let points = points.iter().map(|it| Point::new(it.seconds, it.bytes as f64 / 1e6));
        seqloom_report::plot::Line { name: way.to_owned(), points: points.collect() }
    };
    let lines: Vec<_> = curves.levels("way").into_iter().map(line).collect();
    let mut rows = Vec::new();
    for line in &lines {
        for point in &line.points {
            rows.push(vec![line.name.as_str().into(), point.x.into(), point.y.into()]);
        }
    }
    let title = "Memory over time".to_owned();
    let plot = Plot { title: title.clone(), x: "seconds".into(), y: "MB".into(), lines };
    let style = Style { linear_x: true, ..CURVES };
    let columns = vec!["way", "seconds", "MB"];
    let table = seqloom_report::page::PageTable { id: "memory-over-time".into(), columns, rows };
    Section {
        title: "Memory over time",
        note: "Resident memory of all processes of a way, of its last run, looked at every 5 ms."
            .to_owned(),
        figures: vec![Figure { title, plot: Some((plot, style)), table, ..Figure::default() }],
    }
}

/// Memory times time, by its peak and as the area below memory over time; and as published.
fn products(runs: &Table, curves: Option<&Table>) -> Section {
    let mean = |way: &str| Spread::of(runs, way, "gb_hours").map(|it| it.mean);
    let over_time = |way: &str| {
        let all = Spread::of(runs, way, "gb_hours_over_time").map(|it| it.mean);
        let last = curves.map(|curves| gb_hours_over_time(&samples(curves, way)));
        all.filter(|mean| mean.is_finite()).or(last)
    };
    let ways = runs.levels("way");
    let least = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::INFINITY, f64::min);
    let here = least(&mut ways.iter().filter_map(|way| mean(way)));
    let published = least(&mut PUBLISHED_GB_HOURS.into_iter().map(|(_, gb_hours)| gb_hours));
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for way in ways {
        let ratio = mean(way).map(|mean| mean / here);
        rows.push(vec![
            way.into(),
            "here".into(),
            mean(way).into(),
            over_time(way).into(),
            ratio.into(),
        ]);
    }
    for (program, gb_hours) in PUBLISHED_GB_HOURS {
        let ratio = gb_hours / published;
        rows.push(vec![
            program.into(),
            "published".into(),
            gb_hours.into(),
            Cell::Empty,
            ratio.into(),
        ]);
    }
    let columns = [
        "way",
        "machine",
        "GB h, by the peak",
        "GB h, over time",
        "times the least of its machine",
    ];
    Section {
        title: "Memory times time",
        note: "Published rows are of another input on another machine: ratios may be compared, \
               levels may not. Over time: the area below memory over time, the mean of all runs \
               (of the last one in earlier recordings), which is what others on the machine cannot \
               have."
            .to_owned(),
        figures: vec![table("GB h", "gb-hours", &columns, rows)],
    }
}
