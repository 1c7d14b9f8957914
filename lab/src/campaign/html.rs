//! Pieces of a page of HTML that is XML as well and refers to nothing outside itself.

use std::fmt::Write;

use seqloom_report::plot::escaped;

const STYLE: &str = "body{font-family:sans-serif;max-width:80em;margin:2em auto;padding:0 1em}\
    table{border-collapse:collapse;margin:1em 0}\
    td,th{border:1px solid #ccc;padding:2px 8px;text-align:right}\
    td:first-child,th:first-child{text-align:left}\
    .panels{display:flex;flex-wrap:wrap;gap:8px}.panels svg{width:380px}\
    .wide svg{max-width:760px}.legend span{margin-right:1.5em;white-space:nowrap}\
    .scroll{overflow-x:auto;font-size:85%}";

/// A page that is being written.
pub(super) struct Page(String);

impl Page {
    pub(super) fn new(title: &str) -> Self {
        let title = plain(title);
        Self(format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
             <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
        ))
    }

    pub(super) fn heading(&mut self, text: &str) {
        self.element("h2", text);
    }

    pub(super) fn paragraph(&mut self, text: &str) {
        self.element("p", text);
    }

    fn element(&mut self, name: &str, text: &str) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.0, "<{name}>{}</{name}>", plain(text));
    }

    /// A table: heads, then rows of as many cells.
    pub(super) fn table(&mut self, heads: &[String], rows: &[Vec<String>]) {
        let cells = |name: &str, cells: &[String]| -> String {
            cells.iter().map(|cell| format!("<{name}>{}</{name}>", plain(cell))).collect()
        };
        self.0.push_str("<div class=\"scroll\"><table>\n");
        let _ = writeln!(self.0, "<tr>{}</tr>", cells("th", heads));
        for row in rows {
            let _ = writeln!(self.0, "<tr>{}</tr>", cells("td", row));
        }
        self.0.push_str("</table></div>\n");
    }

    /// Plots side by side, below one legend.
    pub(super) fn panels(&mut self, legend: &[LegendEntry], plots: &[String]) {
        self.0.push_str("<p class=\"legend\">");
        for LegendEntry { key, name } in legend {
            let _ = write!(self.0, "<span>{key} {}</span> ", plain(name));
        }
        self.0.push_str("</p>\n<div class=\"panels\">\n");
        plots.iter().for_each(|plot| self.0.push_str(plot));
        self.0.push_str("</div>\n");
    }

    /// One plot by itself.
    pub(super) fn figure(&mut self, plot: &str) {
        let _ = writeln!(self.0, "<div class=\"wide\">\n{plot}</div>");
    }

    pub(super) fn finish(self) -> String {
        self.0 + "</body>\n</html>\n"
    }
}

/// A line of plots, as a legend has it.
pub(super) struct LegendEntry {
    /// SVG.
    pub(super) key: String,
    pub(super) name: String,
}

/// Text that XML can hold: programs say what they like.
fn plain(text: &str) -> String {
    escaped(&text.replace(|c: char| c.is_control(), " "))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Fails unless every element of a page is closed in its order, attributes are quoted, and
    /// nothing refers to anything outside.
    #[track_caller]
    pub(in super::super) fn check_page(page: &str) {
        let body = page.strip_prefix("<!DOCTYPE html>\n").unwrap();
        let mut open: Vec<&str> = Vec::new();
        let mut rest = body;
        while let Some(at) = rest.find(['<', '>', '&']) {
            let after = &rest[at + 1..];
            match rest.as_bytes()[at] {
                b'<' => {
                    let end = after.find('>').expect("a tag that ends");
                    let tag = &after[..end];
                    assert!(
                        !tag.contains('<') && tag.matches('"').count().is_multiple_of(2),
                        "<{tag}>"
                    );
                    let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap();
                    assert!(name.chars().all(|c| c.is_ascii_alphanumeric()), "<{tag}>");
                    if tag.starts_with('/') {
                        assert_eq!(open.pop(), Some(name), "</{name}>");
                    } else if !tag.ends_with('/') {
                        open.push(name);
                    }
                    rest = &after[end + 1..];
                }
                b'&' => {
                    let end = after.find(';').expect("an entity that ends");
                    assert!(["amp", "lt", "gt", "quot"].contains(&&after[..end]), "&{after:.8}");
                    rest = &after[end + 1..];
                }
                _ => panic!("a bare > before {after:.20}"),
            }
        }
        assert!(open.is_empty(), "{open:?} stay open");
        let own = body.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
        for outside in ["http", "href", "src=", "url(", "@import", "<script", "<link", "<iframe"] {
            assert!(!own.contains(outside), "{outside}");
        }
    }

    #[test]
    fn pages_are_closed_and_hold_any_text() {
        let mut page = Page::new("a < b & c");
        page.heading("h\u{1b}[31m");
        page.paragraph("\"quoted\"");
        page.table(&["a".into(), "b".into()], &[vec!["<x>".into(), "1".into()]]);
        let entry = LegendEntry { key: "<svg></svg>".into(), name: "n<".into() };
        page.panels(&[entry], &["<svg></svg>\n".into()]);
        let text = page.finish();
        check_page(&text);
        assert!(text.contains("<td>&lt;x&gt;</td>") && !text.contains('\u{1b}'));
    }

    #[test]
    #[should_panic(expected = "</b>")]
    fn an_open_element_would_be_seen() {
        check_page("<!DOCTYPE html>\n<a><i></b></a>");
    }
}
