//! A report as one page of HTML that refers to nothing outside itself: sections of plots, each
//! with its numbers in a table, which are also given as JSON. No script; light and dark by the
//! reader's choice; one column on a phone; prints.

use std::fmt::Write;

use serde_json::{Map, Value, json};

use crate::plot::{Plot, Style, escaped};

const STYLE: &str = include_str!("page.css");

/// Decimals of numbers, on the page and as JSON.
const DECIMALS: f64 = 1e6;

/// A table of more columns has the whole width.
const NARROW_COLUMNS: usize = 5;

/// One number or text of a table.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// A whole number.
    Count(u64),
    /// Any number; what is none is left empty.
    Number(f64),
    /// Text.
    Text(String),
    /// Nothing.
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
    fn text(&self) -> String {
        match self {
            Self::Count(count) => count.to_string(),
            Self::Number(number) => format!("{number}"),
            Self::Text(text) => plain(text),
            Self::Empty => String::new(),
        }
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

/// Numbers of a plot, or numbers alone.
#[derive(Debug, Clone, Default)]
pub struct Table {
    /// Its name in JSON, and what links to it.
    pub id: &'static str,
    /// Heads.
    pub columns: Vec<&'static str>,
    /// As many cells in each row.
    pub rows: Vec<Vec<Cell>>,
}

/// A table, and a plot of it where that shows more.
#[derive(Debug, Clone, Default)]
pub struct Figure {
    /// Heading.
    pub title: String,
    /// What is drawn, and how.
    pub plot: Option<(Plot, Style<'static>)>,
    /// The numbers.
    pub table: Table,
}

/// A part of the page.
#[derive(Debug, Clone, Default)]
pub struct Section {
    /// Heading.
    pub title: &'static str,
    /// What the numbers are, and whose definition they follow.
    pub note: String,
    /// Plots and tables.
    pub figures: Vec<Figure>,
}

/// One number of the verdict: what it is, and its text.
pub type Fact = (&'static str, String);

/// A report.
#[derive(Debug, Clone, Default)]
pub struct Page {
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
        let title = plain(&self.title);
        let mut out = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <link rel=\"icon\" href=\"data:,\">\n\
             <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
             <header><h1>{title}</h1>\n"
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
        let table = |table: &Table| {
            let row = |row: &Vec<Cell>| row.iter().map(Cell::json).collect::<Vec<_>>();
            let rows: Vec<Vec<Value>> = table.rows.iter().map(row).collect();
            json!({ "columns": table.columns, "rows": rows })
        };
        let tables = figures.map(|it| (it.table.id.to_owned(), table(&it.table)));
        Value::Object(tables.collect::<Map<_, _>>())
    }
}

impl Section {
    fn write(&self, out: &mut String) {
        let (title, note) = (plain(self.title), plain(&self.note));
        let _ = writeln!(out, "<section><h2>{title}</h2>\n<p>{note}</p>\n<div class=\"figures\">");
        self.figures.iter().for_each(|figure| figure.write(out));
        out.push_str("</div></section>\n");
    }
}

impl Figure {
    fn write(&self, out: &mut String) {
        let is_wide = self.plot.is_none() && self.table.columns.len() > NARROW_COLUMNS;
        let class = if is_wide { " class=\"wide\"" } else { "" };
        let _ = writeln!(out, "<figure{class}><h3>{}</h3>", plain(&self.title));
        if let Some((plot, style)) = &self.plot {
            out.push_str(&plot.draw(*style));
            if plot.lines.len() > 1 {
                out.push_str("<p class=\"legend\">");
                for (number, line) in plot.lines.iter().enumerate() {
                    let name = plain(&line.name);
                    let _ = write!(out, "<span><i class=\"s{}\"></i>{name}</span> ", number % 10);
                }
                out.push_str("</p>\n");
            }
        }
        // A short table without a plot is there to be read at once.
        let open = if self.plot.is_none() && self.table.rows.len() <= 12 { " open" } else { "" };
        let (id, rows) = (self.table.id, self.table.rows.len());
        let _ =
            writeln!(out, "<details id=\"{id}\"{open}><summary>numbers ({rows} rows)</summary>");
        self.table.write(out);
        out.push_str("</details></figure>\n");
    }
}

impl Table {
    fn write(&self, out: &mut String) {
        out.push_str("<div class=\"scroll\"><table><thead><tr>");
        self.columns.iter().for_each(|head| {
            let _ = write!(out, "<th>{}", plain(head));
        });
        out.push_str("<tbody>\n");
        for row in &self.rows {
            out.push_str("<tr>");
            row.iter().for_each(|cell| {
                let _ = write!(out, "<td>{}", cell.text());
            });
            out.push('\n');
        }
        out.push_str("</table></div>\n");
    }
}

/// Text as HTML holds it; control characters, which names may have, are spaces.
fn plain(text: &str) -> String {
    escaped(&text.replace(|c: char| c.is_control(), " "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::Line;

    fn page() -> Page {
        let lines = ["a", "<script>alert(1)</script>"]
            .map(|name| Line { name: name.to_owned(), points: vec![(0.0, 1.0), (2.0, 3.0)] });
        let plot = Plot { title: "t".into(), x: "x".into(), y: "y".into(), lines: lines.to_vec() };
        let style = Style { themed: true, linear_x: true, linear_y: true, ..Style::default() };
        let rows = vec![
            vec![Cell::from("<script>\u{7}&"), Cell::from(7_u64)],
            vec![Cell::from(f64::NAN), Cell::from(0.123_456_78)],
        ];
        let table = Table { id: "reads", columns: vec!["name", "n"], rows };
        let figure = Figure { title: "\"quoted\"".into(), plot: Some((plot, style)), table };
        Page {
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
