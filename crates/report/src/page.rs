//! A report as one page of HTML that refers to nothing outside itself: sections of plots, each
//! with its numbers in a table, which are also given as JSON. No script; light and dark by the
//! reader's choice; one column on a phone; prints.

use std::borrow::Cow;
use std::fmt::Write;

use serde_json::{Map, Value, json};

use crate::plot::{Plot, Spread, Style, escaped};

const STYLE: &str = include_str!("page.css");

/// Decimals of numbers, on the page and as JSON.
const DECIMALS: f64 = 1e6;

/// A table of more columns, and of few rows, is shown with its rows side by side.
const NARROW_COLUMNS: usize = 5;
const MOST_TURNED: usize = 3;
/// Head of a column of numbers of many kinds.
const VALUE: &str = "value";

/// One number or text of a table.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// A whole number.
    Count(u64),
    /// Any number; what is none is left empty.
    Number(f64),
    /// Text, escaped on the page.
    Text(String),
    /// A cell without a value; `null` in JSON.
    Empty,
}

impl From<u64> for Cell {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<usize> for Cell {
    fn from(count: usize) -> Self {
        Self::Count(count as u64)
    }
}

impl From<f64> for Cell {
    fn from(number: f64) -> Self {
        if number.is_finite() {
            Self::Number((number * DECIMALS).round() / DECIMALS)
        } else {
            Self::Empty
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl<T: Into<Self>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Empty, Into::into)
    }
}

impl Cell {
    /// For the eye: thousands parted, with so many decimals where it is no whole number.
    fn shown(&self, decimals: usize) -> String {
        match self {
            Self::Count(count) => thousands(&count.to_string()),
            Self::Number(number) => thousands(&format!("{number:.decimals$}")),
            Self::Text(text) => plain(text),
            Self::Empty => String::new(),
        }
    }

    fn number(&self) -> Option<f64> {
        if let Self::Number(number) = self { Some(*number) } else { None }
    }

    fn json(&self) -> Value {
        match self {
            Self::Count(count) => json!(count),
            Self::Number(number) => json!(number),
            Self::Text(text) => json!(text),
            Self::Empty => Value::Null,
        }
    }
}

/// Decimals that numbers of this size are shown with: four digits or so in all.
fn decimals(numbers: impl Iterator<Item = f64>) -> usize {
    let (mut most, mut are_whole) = (0.0_f64, true);
    for number in numbers {
        most = most.max(number.abs());
        are_whole &= number.fract() == 0.0;
    }
    match most {
        _ if are_whole => 0,
        1000.0.. => 1,
        1.0.. => 2,
        _ => 4,
    }
}

/// A number with a thin space between thousands.
#[must_use]
pub(crate) fn thousands(number: &str) -> String {
    let (whole, rest) = number.split_at(number.find('.').unwrap_or(number.len()));
    let digits = whole.trim_start_matches('-').len();
    let mut text = String::new();
    for (index, character) in whole.chars().enumerate() {
        let left = whole.len() - index;
        if left < digits && left.is_multiple_of(3) {
            text.push('\u{2009}');
        }
        text.push(character);
    }
    text + rest
}

/// Numbers of a plot, or numbers alone.
#[derive(Debug, Clone, Default)]
pub struct PageTable {
    /// Its name in JSON, and what links to it.
    pub id: Cow<'static, str>,
    /// Names of the columns.
    pub columns: Vec<&'static str>,
    /// As many cells in each row.
    pub rows: Vec<Vec<Cell>>,
}

/// A table, and a plot of it where that shows more.
#[derive(Debug, Clone, Default)]
pub struct Figure {
    /// Heading above the plot and the table.
    pub title: String,
    /// The plot and its style.
    pub plot: Option<(Plot, Style<'static>)>,
    /// Lines of the plot whose points are marked, by their numbers.
    pub marked: Vec<usize>,
    /// By line of the plot: a band from where to where values spread.
    pub bands: Vec<Vec<Spread>>,
    /// The numbers.
    pub table: PageTable,
}

/// A part of the page.
#[derive(Debug, Clone, Default)]
pub struct Section {
    /// Heading of the section, and its link on the page.
    pub title: &'static str,
    /// Meaning of the numbers, and whose definition they follow.
    pub note: String,
    /// Plots and tables.
    pub figures: Vec<Figure>,
}

/// One number of the verdict: what it is, and its text.
pub type Fact = (&'static str, String);

/// A report.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// Above the title: who made it.
    pub maker: String,
    /// Of what.
    pub title: String,
    /// Below the title: files.
    pub lines: Vec<String>,
    /// The verdict.
    pub facts: Vec<Fact>,
    /// All else.
    pub sections: Vec<Section>,
}

impl Page {
    /// The page.
    #[must_use]
    pub fn to_html(&self) -> String {
        let (maker, title) = (plain(&self.maker), plain(&self.title));
        let mut out = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <link rel=\"icon\" href=\"data:,\">\n\
             <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
             <header><p class=\"maker\">{maker}</p><h1>{title}</h1>\n"
        );
        for line in &self.lines {
            // Writing to a String cannot fail.
            let _ = writeln!(out, "<p>{}</p>", plain(line));
        }
        out.push_str("<dl>\n");
        for (name, value) in &self.facts {
            let (name, value) = (plain(name), plain(value));
            let _ = writeln!(out, "<div><dt>{name}</dt><dd>{value}</dd></div>");
        }
        out.push_str("</dl></header>\n<main>\n");
        self.sections.iter().for_each(|section| section.write(&mut out));
        out.push_str("</main>\n</body>\n</html>\n");
        out
    }

    /// The numbers of all tables, by their names: columns, and rows of as many values.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let figures = self.sections.iter().flat_map(|section| &section.figures);
        let table = |table: &PageTable| {
            let row = |row: &Vec<Cell>| row.iter().map(Cell::json).collect::<Vec<_>>();
            let rows: Vec<Vec<Value>> = table.rows.iter().map(row).collect();
            json!({ "columns": table.columns, "rows": rows })
        };
        let tables = figures.map(|it| (it.table.id.to_string(), table(&it.table)));
        Value::Object(tables.collect::<Map<_, _>>())
    }
}

impl Section {
    fn write(&self, out: &mut String) {
        let (title, note) = (plain(self.title), plain(&self.note));
        let _ = writeln!(out, "<section><h2>{title}</h2>\n<p>{note}</p>");
        if !self.figures.is_empty() {
            out.push_str("<div class=\"figures\">\n");
            self.figures.iter().for_each(|figure| figure.write(out));
            out.push_str("</div>");
        }
        out.push_str("</section>\n");
    }
}

impl Figure {
    fn write(&self, out: &mut String) {
        let class = if self.plot.is_some() { " class=\"plot\"" } else { "" };
        let _ = writeln!(out, "<figure{class}><h3>{}</h3>", plain(&self.title));
        let rows = self.table.rows.len();
        let id = &self.table.id;
        let Some((plot, style)) = &self.plot else {
            // A short table is there to be read at once, a long one to be scrolled.
            let _ = writeln!(out, "<div id=\"{id}\">");
            self.table.write(out);
            out.push_str("</div></figure>\n");
            return;
        };
        out.push_str(&plot.draw(Style { marked: &self.marked, spread: &self.bands, ..*style }));
        if plot.lines.len() > 1 {
            out.push_str("<p class=\"legend\">");
            for (number, line) in plot.lines.iter().enumerate() {
                let name = plain(&line.name);
                let _ = write!(out, "<span><i class=\"s{}\"></i>{name}</span> ", number % 10);
            }
            out.push_str("</p>\n");
        }
        let rows = thousands(&rows.to_string());
        let _ = writeln!(out, "<details id=\"{id}\"><summary>numbers ({rows} rows)</summary>");
        self.table.write(out);
        out.push_str("</details></figure>\n");
    }
}

impl PageTable {
    fn write(&self, out: &mut String) {
        let columns = 0..self.columns.len();
        let of_column = |column: usize| self.rows.iter().filter_map(move |row| row.get(column));
        let decimals: Vec<usize> =
            columns.map(|column| decimals(of_column(column).filter_map(Cell::number))).collect();
        // What is below "value" has nothing in common.
        let shown = |head: &str, column: usize, cell: &Cell| match cell {
            Cell::Number(number) if head == VALUE => {
                cell.shown(self::decimals([*number].into_iter()))
            }
            _ => cell.shown(decimals[column]),
        };
        out.push_str("<div class=\"scroll\"><table><thead><tr>");
        if self.is_turned() {
            let _ = write!(out, "<th>{}", plain(self.columns[0]));
            self.rows.iter().for_each(|row| {
                let _ = write!(out, "<th>{}", shown("", 0, &row[0]));
            });
            out.push_str("<tbody>\n");
            for (column, head) in self.columns.iter().enumerate().skip(1) {
                let _ = write!(out, "<tr><td>{}", plain(head));
                self.rows.iter().for_each(|row| {
                    let _ = write!(out, "<td>{}", shown(head, column, &row[column]));
                });
                out.push('\n');
            }
        } else {
            self.columns.iter().for_each(|head| {
                let _ = write!(out, "<th>{}", plain(head));
            });
            out.push_str("<tbody>\n");
            for row in &self.rows {
                out.push_str("<tr>");
                for (column, (head, cell)) in self.columns.iter().zip(row).enumerate() {
                    let _ = write!(out, "<td>{}", shown(head, column, cell));
                }
                out.push('\n');
            }
        }
        out.push_str("</table></div>\n");
    }

    /// Whether its rows are shown side by side: few long ones.
    fn is_turned(&self) -> bool {
        (1..=MOST_TURNED).contains(&self.rows.len()) && self.columns.len() > NARROW_COLUMNS
    }
}

/// Text as HTML holds it; control characters, which names may have, are spaces.
fn plain(text: &str) -> String {
    escaped(&text.replace(|c: char| c.is_control(), " "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::{Line, Point};

    fn page() -> Page {
        let lines = ["a", "<script>alert(1)</script>"].map(|name| Line {
            name: name.to_owned(),
            points: vec![Point::new(0.0, 1.0), Point::new(2.0, 3.0)],
        });
        let plot = Plot { title: "t".into(), x: "x".into(), y: "y".into(), lines: lines.to_vec() };
        let style = Style { themed: true, linear_x: true, linear_y: true, ..Style::default() };
        let rows = vec![
            vec![Cell::from("<script>\u{7}&"), Cell::from(7_u64)],
            vec![Cell::from(f64::NAN), Cell::from(0.123_456_78)],
        ];
        let table = PageTable { id: "reads".into(), columns: vec!["name", "n"], rows };
        let bands = vec![Vec::new(), vec![Spread { x: 2.0, low: 2.5, high: 3.5 }]];
        let (title, plot) = ("\"quoted\"".into(), Some((plot, style)));
        let figure = Figure { title, plot, marked: vec![1], bands, table };
        Page {
            maker: "m".into(),
            title: "<script>".into(),
            lines: vec!["</style><b>".into()],
            facts: vec![("reads", "1 < 2".into())],
            sections: vec![Section { title: "s", note: "n".into(), figures: vec![figure] }],
        }
    }

    #[test]
    fn names_cannot_leave_their_place() {
        let html = page().to_html();
        assert!(!html.contains("<script") && !html.contains("</style><b>"), "{html}");
        assert!(html.contains("<td>&lt;script&gt; &amp;<td>7"), "{html}");
        assert!(html.contains("1 &lt; 2") && html.contains("&quot;quoted&quot;"));
        assert_eq!(html.matches("<polyline").count(), 2);
        // Marks of the second line alone, and its band.
        assert_eq!(html.matches("<circle").count(), 2);
        assert_eq!(html.matches("class=\"s1\" style=\"fill:var(--c)\"").count(), 2);
        assert_eq!(html.matches("<polygon").count(), 1);
    }

    #[test]
    fn numbers_are_shown_for_the_eye() {
        let t = |number: &str, expected: &str| {
            assert_eq!(thousands(number).replace('\u{2009}', " "), expected);
        };
        t("0", "0");
        t("999", "999");
        t("1000", "1 000");
        t("12345678.125", "12 345 678.125");
        t("-123456", "-123 456");
        let d = |numbers: &[f64], expected| assert_eq!(decimals(numbers.iter().copied()), expected);
        d(&[], 0);
        d(&[100.0, 3.0], 0);
        d(&[0.0, 0.25], 4);
        d(&[97.75, 0.0], 2);
        d(&[12345.5, 0.1], 1);
    }

    #[test]
    fn few_long_rows_are_side_by_side() {
        let row = |name: &str, number: f64| {
            let numbers = [7_u64, 1234, 5, 6].map(Cell::from);
            [&[Cell::from(name)][..], &numbers, &[Cell::from(number)]].concat()
        };
        let columns = vec!["group", "a", "b", "c", "d", "%"];
        let mut table =
            PageTable { id: "t".into(), columns, rows: vec![row("x", 1.0), row("y", 2.125)] };
        let written = |table: &PageTable| {
            let mut out = String::new();
            table.write(&mut out);
            out.replace('\u{2009}', " ")
        };
        let turned = written(&table);
        assert!(turned.contains("<th>group<th>x<th>y<tbody>\n<tr><td>a<td>7<td>7\n"), "{turned}");
        assert!(turned.contains("<td>1 234") && turned.contains("<td>%<td>1.00<td>2.12"));
        table.rows.extend([row("z", 0.0), row("w", 0.0)]);
        assert!(written(&table).contains("<tr><td>x<td>7<td>1 234<td>5<td>6<td>1.00\n"));
    }

    #[test]
    fn nothing_refers_to_anything_outside() {
        let html = page().to_html().replace("href=\"data:,\"", "");
        for outside in ["http", "href", "src=", "url(", "@import", "<iframe"] {
            assert!(!html.contains(outside), "{outside}");
        }
    }

    #[test]
    fn json_has_every_number() {
        let json = page().to_json();
        let expected = json!({ "reads": {
            "columns": ["name", "n"],
            "rows": [["<script>\u{7}&", 7], [null, 0.123_457]],
        }});
        assert_eq!(json, expected);
    }
}
