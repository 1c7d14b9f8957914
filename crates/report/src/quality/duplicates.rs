//! Duplicates, and recalibration of base qualities.

use seqloom_prep::duplicates::{DuplicationMetrics, SampledPairs};
use seqloom_prep::recalibrate::{AppliedCounts, QualityRow};

use super::{Axes, Findings, absent, as_bars, figure, line, table};
use crate::page::{Cell, Figure, Section};
use crate::plot::{Line, Point};

/// Read groups with a line of their own.
const MOST_LINES: usize = 10;
/// Sizes of sets with a row of their own: the smallest ones.
const MOST_SIZES: usize = 1000;

pub(super) fn duplicates(of: &Findings<'_>) -> Section {
    let Some(found) = &of.duplicates else {
        return absent("Duplicates", "the run did not mark them");
    };
    let points: Vec<SampledPairs> = found.saturation.points().collect();
    let mut figures = Vec::new();
    if points.last().is_some_and(|it| it.pairs > 0) {
        figures.push(saturation(&points));
    }
    figures.push(libraries(found.rows));
    let sizes = found.histogram.all.iter().map(|it| vec![it.size.into(), it.sets.into()]);
    let sizes: Vec<Vec<Cell>> = sizes.take(MOST_SIZES).collect();
    if !sizes.is_empty() {
        let columns = ["pairs in the set", "sets"];
        let points =
            found.histogram.all.iter().map(|it| Point::new(it.size as f64, it.sets as f64));
        let lines = vec![line("sets", points.take(MOST_SIZES))];
        let data = ("duplicate_sets", &columns[..], sizes);
        figures.push(as_bars(figure(
            "Sets by size",
            Axes { x: "pairs in the set", y: "sets" },
            lines,
            data,
        )));
    }
    let note = "As Picard's MarkDuplicates. Saturation: unique pairs of nested samples of the \
                templates, counted, not estimated; the last point is the whole run.";
    Section { title: "Duplicates", note: note.to_owned(), figures }
}

fn libraries(metrics: &[DuplicationMetrics]) -> Figure {
    let row = |it: &DuplicationMetrics| {
        vec![
            Cell::Text(it.library.clone()),
            it.read_pairs_examined.into(),
            it.read_pair_duplicates.into(),
            it.read_pair_optical_duplicates.into(),
            it.unpaired_reads_examined.into(),
            it.unpaired_read_duplicates.into(),
            (100.0 * it.percent_duplication()).into(),
            it.estimated_library_size().into(),
        ]
    };
    let columns = [
        "library",
        "pairs",
        "duplicate pairs",
        "of these optical",
        "unpaired reads",
        "duplicates of these",
        "% duplication",
        "estimated library size",
    ];
    let rows = metrics.iter().map(row).collect();
    table("Libraries", ("duplicates", &columns, rows))
}

/// Pairs, and unique ones, in growing parts of the run.
fn saturation(points: &[SampledPairs]) -> Figure {
    let as_points = |second: fn(&SampledPairs) -> u64| {
        let ends = points.iter().map(move |it| Point::new(it.pairs as f64, second(it) as f64));
        std::iter::once(Point::new(0.0, 0.0)).chain(ends)
    };
    let unique = line("unique pairs", as_points(|it| it.unique));
    let lines = vec![unique, line("all pairs", as_points(|it| it.pairs))];
    let row = |(step, it): (usize, &SampledPairs)| {
        vec![Cell::from(5 * (step + 1)), it.pairs.into(), it.unique.into()]
    };
    let rows = points.iter().enumerate().map(row).collect();
    let table = ("saturation", &["% of templates", "pairs", "unique pairs"][..], rows);
    figure("Saturation", Axes { x: "pairs sequenced", y: "pairs" }, lines, table)
}

pub(super) fn recalibration(of: &Findings<'_>) -> Option<Section> {
    let rows = of.recalibration?;
    let mut figures: Vec<_> = of.applied.map(applied).into_iter().collect();
    if !rows.by_quality.is_empty() {
        let axes = Axes { x: "reported quality", y: "empirical quality" };
        let id = "recalibration_by_quality";
        figures.push(covariate("By reported quality", axes, id, &rows.by_quality));
    }
    if !rows.by_cycle.is_empty() {
        let axes =
            Axes { x: "cycle (second reads below 0 are drawn behind)", y: "empirical quality" };
        let id = "recalibration_by_cycle";
        figures.push(covariate("By cycle", axes, id, &rows.by_cycle));
    }
    if !rows.by_context.is_empty() {
        let cells = rows.by_context.iter().map(cells).collect();
        let id = "recalibration_by_context";
        figures.push(table("By context", (id, &COLUMNS, cells)));
    }
    let note = "From the recalibration report (GATK's BaseRecalibrator): before recalibration. \
                Empirical quality is that of errors + 1 among observations + 2.";
    Some(Section { title: "Recalibration", note: note.to_owned(), figures })
}

/// Records by what became of their qualities.
fn applied(counts: &AppliedCounts) -> Figure {
    let row = |what: String, records: u64| vec![Cell::Text(what), records.into()];
    let missing = counts.missing_read_groups.iter().map(|(group, records)| {
        row(format!("as they were: read group {group} has no counted base"), *records)
    });
    let unfit =
        counts.as_they_were().map(|(why, records)| row(format!("as they were: {why}"), records));
    let first = row("new qualities".to_owned(), counts.recalibrated);
    let rows = std::iter::once(first).chain(missing).chain(unfit).collect();
    table("Records", ("recalibrated_records", &["qualities", "records"], rows))
}

const COLUMNS: [&str; 6] =
    ["read group", "value", "observations", "errors", "reported", "empirical"];

fn cells(row: &QualityRow) -> Vec<Cell> {
    vec![
        Cell::Text(row.read_group.clone()),
        Cell::Text(row.value.clone()),
        row.observations.into(),
        row.errors.into(),
        row.reported.into(),
        row.empirical.into(),
    ]
}

/// Lines of the first read groups, and a table of all.
fn covariate(title: &str, axes: Axes, id: &'static str, rows: &[QualityRow]) -> Figure {
    let groups = rows.chunk_by(|a, b| a.read_group == b.read_group);
    let last_cycle = rows.iter().map(|row| row.position).fold(0.0, f64::max);
    let of_group = |rows: &[QualityRow]| -> Line {
        // Second reads, which have negative cycles, follow the first ones.
        let place = |row: &QualityRow| {
            if row.position < 0.0 { last_cycle - row.position } else { row.position }
        };
        let point = |it: &QualityRow| Point::new(place(it), it.empirical);
        let mut points: Vec<Point> = rows.iter().map(point).collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        line(&rows[0].read_group, points.into_iter())
    };
    let lines = groups.take(MOST_LINES).map(of_group).collect();
    figure(title, axes, lines, (id, &COLUMNS, rows.iter().map(cells).collect()))
}
