//! The papers, each by one command: this machine's points next to what was published, on one page
//! with its tables, light and dark.
//!
//! What was published comes from files that the user names, and what a text at hand cites from
//! the [`catalogue`]: nothing of a paper is repeated from memory. Thread counts that
//! were not measured are left out, and values that are not at hand are named there.

pub(crate) mod catalogue;
pub(crate) mod costanza;
pub(crate) mod gamaarachchi;
pub(crate) mod langmead;
pub(crate) mod lenis;
pub(crate) mod misale;
mod parsing;
mod scaling;
mod timeline;

use seqloom_report::page::{Cell, Figure, PageTable};
use seqloom_report::plot::{Line, Plot, Spread, Style};

use crate::campaign::measured::Measured;
use crate::output::Fact;
use crate::table::Table as RunTable;

/// Curves by threads or workers: both axes by ratios, as scaling is.
const CURVES: Style<'static> = Style {
    small: false,
    linear_y: false,
    linear_x: false,
    decades: false,
    themed: true,
    spread: &[],
    marked: &[],
    bars: false,
    filled: false,
};

/// An experiment's table and facts.
pub(crate) struct Recorded {
    pub(crate) table: RunTable,
    pub(crate) facts: Vec<Fact>,
}

/// What must be known of a campaign before its points are looked at.
fn state(measured: Option<&Measured>) -> String {
    let Some(Measured { facts, .. }) = measured else {
        return "Nothing was measured here.".to_owned();
    };
    if facts.smoke {
        return "A smoke run: it shows that everything works, and measures nothing.".to_owned();
    }
    if facts.is_busy() {
        return format!(
            "Measured while {:.2} threads of others were ready to run: no point of this machine \
             is shown. Measure on a quiet machine.",
            facts.ready_threads
        );
    }
    "Marked points are this machine's, on a genome and reads of its own: shapes may be compared \
     with the published ones, levels may not."
        .to_owned()
}

/// A line, and what is said of it besides its points.
struct Series {
    name: String,
    /// Who has it: a machine.
    machine: String,
    /// Whether it was measured here: its points are marked.
    is_here: bool,
    points: Vec<seqloom_report::plot::Point>,
    band: Vec<Spread>,
}

/// What a figure of series is called.
struct Titles<'a> {
    id: String,
    title: String,
    x: &'static str,
    y: &'a str,
    /// Heads of the table: line, machine, x, y.
    columns: [&'static str; 4],
}

/// A plot of series, with all its points in a table.
fn figure(titles: Titles<'_>, series: Vec<Series>) -> Figure {
    let mut rows = Vec::new();
    for of in &series {
        for point in &of.points {
            let (name, machine) = (of.name.as_str(), of.machine.as_str());
            rows.push(vec![name.into(), machine.into(), (point.x as u64).into(), point.y.into()]);
        }
    }
    let marked = series.iter().enumerate().filter(|(_, of)| of.is_here).map(|(at, _)| at);
    let (marked, bands) = (marked.collect(), series.iter().map(|of| of.band.clone()).collect());
    let line =
        |of: Series| Line { name: format!("{}, {}", of.name, of.machine), points: of.points };
    let Titles { id, title, x, y, columns } = titles;
    let lines = series.into_iter().map(line).collect();
    let plot = Plot { title: title.clone(), x: x.to_owned(), y: y.to_owned(), lines };
    let table = PageTable { id: id.into(), columns: columns.to_vec(), rows };
    Figure { title, plot: Some((plot, CURVES)), marked, bands, table }
}

/// A table by itself.
fn table(title: &str, id: &'static str, columns: &[&'static str], rows: Vec<Vec<Cell>>) -> Figure {
    let table = PageTable { id: id.into(), columns: columns.to_vec(), rows };
    Figure { title: title.to_owned(), table, ..Figure::default() }
}

#[cfg(test)]
mod tests;
