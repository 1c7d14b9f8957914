//! What was counted of a run's records as sections of a [`crate::page`]: tables, and plots of
//! them. All of it is a function of the records; what the run took is in [`run`].

mod depth;
mod duplicates;
mod reads;
pub mod run;

use seqloom_format::bam::Reference;
use seqloom_prep::duplicates::{DuplicateSetHistogram, DuplicationMetrics, Saturation};
use seqloom_prep::metrics::{DepthSummary, FlagCounts, GatheredMetrics, GcWindows, Tally};
use seqloom_prep::recalibrate::{AppliedCounts, QualityRows};

use crate::page::{Cell, Fact, Figure, PageTable, Section, thousands};
use crate::plot::{Line, Plot, Point, Style};

/// Lines of a page.
const LINES: Style<'static> = Style {
    small: false,
    linear_y: true,
    linear_x: true,
    decades: false,
    themed: true,
    spread: &[],
    marked: &[],
    bars: false,
    filled: false,
};

/// More bars than these are drawn as a line.
const MOST_BARS: usize = 110;

/// What a run has counted, of which the report is made.
pub struct Findings<'a> {
    /// Records by FLAG.
    pub tally: &'a Tally,
    /// Of each kind that was requested.
    pub metrics: &'a GatheredMetrics,
    /// Sequences of the header.
    pub references: &'a [Reference],
    /// IDs of the header's read groups.
    pub read_groups: Vec<String>,
    /// Depth, where records were sorted by coordinate.
    pub depth: Option<DepthSummary>,
    /// Windows of the reference, where it was at hand.
    pub gc_windows: Option<&'a GcWindows>,
    /// Duplicates, where they were marked.
    pub duplicates: Option<DuplicateFindings<'a>>,
    /// The table that was counted or applied.
    pub recalibration: Option<&'a QualityRows>,
    /// Outcomes of recalibration.
    pub applied: Option<&'a AppliedCounts>,
}

/// Findings of duplicate marking.
pub struct DuplicateFindings<'a> {
    /// By library.
    pub rows: &'a [DuplicationMetrics],
    /// Sizes of sets.
    pub histogram: &'a DuplicateSetHistogram,
    /// Unique pairs of parts of the templates.
    pub saturation: &'a Saturation,
}

/// All sections, those without numbers with the reason.
#[must_use]
pub fn sections(of: &Findings<'_>) -> Vec<Section> {
    let sections = [
        reads::overview(of),
        reads::qualities(of),
        reads::bases(of),
        reads::inserts(of),
        Some(depth::depth(of)),
        Some(depth::gc_bias(of)),
        Some(duplicates::duplicates(of)),
        duplicates::recalibration(of),
    ];
    sections.into_iter().flatten().collect()
}

/// The verdict.
#[must_use]
pub fn facts(of: &Findings<'_>) -> Vec<Fact> {
    let (primary, mapped) = (both(of, |it| it.primary), both(of, |it| it.primary_mapped));
    let mut facts = vec![
        ("reads", thousands(&primary.to_string())),
        ("mapped", percent(mapped, primary)),
        ("duplicates", percent(both(of, |it| it.primary_duplicates), primary)),
    ];
    if of.duplicates.is_none() {
        facts.pop();
    }
    if let Some(depth) = &of.depth {
        facts.push(("mean depth", format!("{:.2}x", depth.mean())));
        facts.push(("positions at 10x", format!("{:.1} %", 100.0 * depth.share_at_least(10))));
    }
    let inserts = of.metrics.insert_size.as_ref().map(|it| it.rows());
    if let Some(row) = inserts.iter().flatten().max_by_key(|row| row.read_pairs) {
        facts.push(("median insert size", format!("{} bp", row.median_bp)));
    }
    if let Some(counts) = &of.metrics.quality_yield {
        facts.push(("bases of Q30", percent(counts.all.q30_bases, counts.all.bases)));
    }
    facts
}

/// Records that pass and that fail quality control.
fn both(of: &Findings<'_>, count: fn(&FlagCounts) -> u64) -> u64 {
    count(&of.tally.passed) + count(&of.tally.failed)
}

fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

fn percent(part: u64, whole: u64) -> String {
    if whole == 0 { "none".to_owned() } else { format!("{:.2} %", 100.0 * share(part, whole)) }
}

fn line(name: &str, points: impl Iterator<Item = Point>) -> Line {
    Line { name: name.to_owned(), points: points.filter(|point| point.y.is_finite()).collect() }
}

/// Labels of the axes of a plot.
#[derive(Clone, Copy)]
struct Axes {
    x: &'static str,
    y: &'static str,
}

fn plot(title: &str, axes: Axes, lines: Vec<Line>) -> Option<(Plot, Style<'static>)> {
    let (title, x, y) = (title.to_owned(), axes.x.to_owned(), axes.y.to_owned());
    let filled = lines.len() == 1;
    Some((Plot { title, x, y, lines }, Style { filled, ..LINES }))
}

/// Bars of counts of whole numbers, where there are not too many.
fn as_bars(mut figure: Figure) -> Figure {
    if let Some((plot, style)) = &mut figure.plot {
        let most = plot.lines.iter().flat_map(|line| &line.points).map(|point| point.x);
        style.bars = plot.lines.len() == 1 && most.fold(0.0, f64::max) < MOST_BARS as f64;
    }
    figure
}

/// A section without numbers, with the reason.
fn absent(title: &'static str, why: &str) -> Section {
    Section { title, note: format!("Not here: {why}."), figures: Vec::new() }
}

/// A figure of lines, and the table after them.
fn figure(
    title: &str,
    axes: Axes,
    lines: Vec<Line>,
    (id, columns, rows): (&'static str, &[&'static str], Vec<Vec<Cell>>),
) -> Figure {
    let table = PageTable { id: id.into(), columns: columns.to_vec(), rows };
    Figure { title: title.to_owned(), plot: plot(title, axes, lines), table, ..Figure::default() }
}

/// A table by itself.
fn table(
    title: &str,
    (id, columns, rows): (&'static str, &[&'static str], Vec<Vec<Cell>>),
) -> Figure {
    let table = PageTable { id: id.into(), columns: columns.to_vec(), rows };
    Figure { title: title.to_owned(), table, ..Figure::default() }
}

#[cfg(test)]
#[path = "quality_tests.rs"]
mod tests;
