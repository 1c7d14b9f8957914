//! Depth of coverage, and how it depends on GC content.

use seqloom_prep::metrics::DepthSummary;

use super::{Axes, Findings, absent, as_bars, figure, line, share, table};
use crate::page::{Cell, Figure, Section};
use crate::plot::Point;

/// Depths are drawn up to the one that this share of the positions is below.
const DRAWN_SHARE: f64 = 0.999;
/// GC contents that a smaller share of the windows has are not drawn: chance makes their coverage.
const RARE_WINDOWS: f64 = 1e-3;
/// Rows of depths; deeper positions are one row.
const MOST_DEPTHS: usize = 1000;
/// Sequences with a row of their own: the longest ones.
const MOST_SEQUENCES: usize = 4000;

pub(super) fn depth(of: &Findings<'_>) -> Section {
    let Some(depth) = &of.depth else {
        return absent("Depth", "it is counted where one file is written, sorted by coordinate");
    };
    let length = depth.length_bp();
    let mut below = 0;
    let drawn = depth.positions.iter().position(|count| {
        below += count;
        share(below, length) >= DRAWN_SHARE
    });
    let drawn = drawn.unwrap_or(depth.positions.len()).max(10) + 1;
    let at = |depths: usize| depth.positions.get(depths).copied().unwrap_or(0);
    let shares = (0..drawn).map(|it| Point::new(it as f64, 100.0 * share(at(it), length)));
    let axes = Axes { x: "depth", y: "% of positions" };
    let title = "Positions by depth";
    let rows = depth_rows(depth);
    let histogram = ("depth", &["depth", "positions", "% at least as deep"][..], rows);
    let mut figures = vec![as_bars(figure(title, axes, vec![line(title, shares)], histogram))];
    let so_deep = |it| Point::new(it as f64, 100.0 * depth.share_at_least(it));
    let title = "Positions at least as deep";
    figures.push(figure(title, axes, vec![line(title, (0..drawn).map(so_deep))], summary(depth)));
    figures.push(sequences(of, depth));
    let note = "As samtools depth -a -s counts: without unmapped, secondary, duplicate and \
                QC-failed records; overlapping mates count once.";
    Section { title: "Depth", note: note.to_owned(), figures }
}

fn depth_rows(depth: &DepthSummary) -> Vec<Vec<Cell>> {
    let row = |(at, &count): (usize, &u64)| {
        vec![Cell::from(at), count.into(), (100.0 * depth.share_at_least(at)).into()]
    };
    let counted = depth.positions.iter().enumerate().take(MOST_DEPTHS);
    let mut rows: Vec<_> = counted.filter(|(at, count)| *at == 0 || **count > 0).map(row).collect();
    let deeper: u64 = depth.positions.iter().skip(MOST_DEPTHS).sum();
    if deeper > 0 {
        let share = 100.0 * depth.share_at_least(MOST_DEPTHS);
        let name = Cell::Text(format!("{MOST_DEPTHS} and more"));
        rows.push(vec![name, deeper.into(), share.into()]);
    }
    rows
}

/// Summary numbers as a table.
fn summary(depth: &DepthSummary) -> (&'static str, &'static [&'static str], Vec<Vec<Cell>>) {
    let mut rows = vec![vec![Cell::from("mean depth"), depth.mean().into()]];
    for least in [1, 5, 10, 20, 30, 50, 100] {
        let share = 100.0 * depth.share_at_least(least);
        rows.push(vec![Cell::Text(format!("% of positions at {least}x")), share.into()]);
    }
    rows.push(vec![Cell::from("fold-80 penalty of covered positions"), depth.fold_80().into()]);
    ("depth_summary", &["what", "value"], rows)
}

/// A row for each sequence; the shortest of very many are one row.
fn sequences(of: &Findings<'_>, depth: &DepthSummary) -> Figure {
    let mut kept: Vec<usize> = (0..of.references.len()).collect();
    kept.sort_by_key(|&index| (std::cmp::Reverse(of.references[index].length), index));
    let rest = kept.split_off(kept.len().min(MOST_SEQUENCES));
    kept.sort_unstable();
    let row = |name: Cell, length: u64, sum: u64, covered: u64| {
        let (mean, covered) = (share(sum, length), 100.0 * share(covered, length));
        vec![name, length.into(), sum.into(), mean.into(), covered.into()]
    };
    let of_one = |&index: &usize| {
        let (reference, counts) = (&of.references[index], depth.references[index]);
        let name = Cell::Text(reference.name.clone());
        row(name, reference.length.into(), counts.sum, counts.covered)
    };
    let mut rows: Vec<_> = kept.iter().map(of_one).collect();
    if !rest.is_empty() {
        let sum = |count: fn(&Findings<'_>, &DepthSummary, usize) -> u64| -> u64 {
            rest.iter().map(|&index| count(of, depth, index)).sum()
        };
        let length = sum(|of, _, index| of.references[index].length.into());
        let bases = sum(|_, depth, index| depth.references[index].sum);
        let covered = sum(|_, depth, index| depth.references[index].covered);
        let name = Cell::Text(format!("({} shorter ones)", rest.len()));
        rows.push(row(name, length, bases, covered));
    }
    let columns = ["sequence", "bp", "sum of depths", "mean depth", "% covered"];
    table("By sequence", ("depth_by_sequence", &columns, rows))
}

pub(super) fn gc_bias(of: &Findings<'_>) -> Section {
    let Some((counts, windows)) = of.metrics.gc_bias.as_ref().zip(of.gc_windows) else {
        return absent("GC bias", "it is counted where the FASTA of the reference is at hand");
    };
    let rows = counts.rows(windows);
    if rows.is_empty() {
        return absent("GC bias", "no read is mapped");
    }
    let windows: u64 = rows.iter().map(|row| row.windows).sum();
    let most = rows.iter().map(|row| row.windows).max().unwrap_or(0);
    let usual = rows.iter().filter(|row| share(row.windows, windows) > RARE_WINDOWS);
    let coverage = usual.map(|row| Point::new(row.gc_percent as f64, row.normalized_coverage));
    let scaled = rows.iter();
    let scaled = scaled.map(|row| Point::new(row.gc_percent as f64, share(row.windows, most)));
    let lines = vec![line("normalized coverage", coverage), line("windows (scaled to 1)", scaled)];
    let cells = rows
        .iter()
        .map(|row| {
            vec![
                Cell::from(row.gc_percent),
                row.windows.into(),
                row.read_starts.into(),
                row.normalized_coverage.into(),
            ]
        })
        .collect();
    let columns = ["% GC", "windows", "read starts", "normalized coverage"];
    let axes = Axes { x: "GC content of 100 bases, %", y: "normalized coverage" };
    let table = ("gc_bias", &columns[..], cells);
    let figures = vec![figure("Coverage by GC content", axes, lines, table)];
    let note = "As Picard's CollectGcBiasMetrics, all reads. The line leaves out GC contents that \
                fewer than one of 1,000 windows has; the table has all.";
    Section { title: "GC bias", note: note.to_owned(), figures }
}
