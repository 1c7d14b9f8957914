//! The papers, each by one command: this machine's points next to what was published, on one page
//! with its tables, light and dark.
//!
//! What was published comes from files that the user names, never from this program: nothing of a
//! paper is repeated from memory. Thread counts that were not measured are left out, and values
//! that are not at hand are named ([`catalogue`]).

pub(crate) mod catalogue;
pub(crate) mod gamaarachchi;
pub(crate) mod langmead;

use seqloom_report::page::{Cell, Figure, Table};
use seqloom_report::plot::{Line, Plot, Spread, Style};

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
    let table = Table { id: id.into(), columns: columns.to_vec(), rows };
    Figure { title, plot: Some((plot, CURVES)), marked, bands, table }
}

/// A table by itself.
fn table(title: &str, id: &'static str, columns: &[&'static str], rows: Vec<Vec<Cell>>) -> Figure {
    let table = Table { id: id.into(), columns: columns.to_vec(), rows };
    Figure { title: title.to_owned(), table, ..Figure::default() }
}

#[cfg(test)]
mod tests;
