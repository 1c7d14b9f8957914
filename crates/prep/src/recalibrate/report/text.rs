//! A table as text: columns as wide as their widest cell, numbers to the right.

use std::fmt::Display;
use std::io::{self, Write};

/// A column of a table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column {
    name: &'static str,
    /// As of `printf`.
    format: &'static str,
}

impl Column {
    pub(super) const fn new(name: &'static str, format: &'static str) -> Self {
        Self { name, format }
    }
}

/// How the columns of a table are laid out, which all of its cells decide.
pub(super) struct Layout {
    columns: &'static [Column],
    widths: Vec<usize>,
    are_numbers: Vec<bool>,
    rows: usize,
}

impl Layout {
    pub(super) fn new(columns: &'static [Column]) -> Self {
        let widths = columns.iter().map(|column| column.name.len()).collect();
        Self { columns, widths, are_numbers: vec![true; columns.len()], rows: 0 }
    }

    /// Makes room for the cells of some rows.
    pub(super) fn add(&mut self, rows: &TextRows) {
        let count = self.columns.len();
        for (index, cell) in rows.cells().enumerate() {
            let column = index % count;
            self.widths[column] = self.widths[column].max(cell.chars().count());
            let is_number = cell.is_empty() || is_number(cell);
            self.are_numbers[column] = self.are_numbers[column] && is_number;
        }
        self.rows += rows.ends.len() / count;
    }

    /// Writes what is before the rows. The title is name and description, with a colon between.
    pub(super) fn write_head(&self, title: &str, out: &mut dyn Write) -> io::Result<()> {
        write!(out, "#:GATKTable:{}:{}", self.columns.len(), self.rows)?;
        self.columns.iter().try_for_each(|column| write!(out, ":{}", column.format))?;
        writeln!(out, ":;\n#:GATKTable:{title}")?;
        let names = self.columns.iter().map(|column| (column.name, false));
        self.write_cells(names, out)
    }

    /// Writes rows that were added before.
    pub(super) fn write_rows(&self, rows: &TextRows, out: &mut dyn Write) -> io::Result<()> {
        self.write_cells(rows.cells().zip(self.are_numbers.iter().copied().cycle()), out)
    }

    /// Writes cells, each with whether it goes to the right, as rows of padded columns.
    fn write_cells<'a>(
        &self,
        cells: impl Iterator<Item = (&'a str, bool)>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let widths = &self.widths;
        for (index, (cell, is_right)) in cells.enumerate() {
            let (column, width) = (index % widths.len(), widths[index % widths.len()]);
            let gap = if column > 0 { "  " } else { "" };
            match is_right {
                true => write!(out, "{gap}{cell:>width$}")?,
                false => write!(out, "{gap}{cell:<width$}")?,
            }
            if column + 1 == widths.len() {
                out.write_all(b"\n")?;
            }
        }
        Ok(())
    }
}

/// The cells of rows.
#[derive(Default)]
pub(super) struct TextRows {
    text: String,
    /// End of each cell in `text`.
    ends: Vec<usize>,
}

impl TextRows {
    /// Adds the next cell.
    pub(super) fn cell(&mut self, value: impl Display) {
        // Writing to a string cannot fail.
        let _ = std::fmt::Write::write_fmt(&mut self.text, format_args!("{value}"));
        self.ends.push(self.text.len());
    }

    fn cells(&self) -> impl Iterator<Item = &str> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.text[start..end])
    }

    /// Writes them as a table of their own.
    pub(super) fn write(
        &self,
        title: &str,
        columns: &'static [Column],
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let mut layout = Layout::new(columns);
        layout.add(self);
        layout.write_head(title, out)?;
        layout.write_rows(self, out)?;
        out.write_all(b"\n")
    }
}

/// Whether GATK takes a cell for a number and so puts it to the right: what Java and its usual
/// libraries read as one, with hexadecimal, octal and type suffixes.
fn is_number(cell: &str) -> bool {
    if matches!(cell, "null" | "NA" | "Infinity" | "-Infinity" | "NaN") {
        return true;
    }
    let cell = cell.trim();
    let digits = cell.strip_prefix(['-', '+']).unwrap_or(cell);
    let is_all = |text: &str, is: fn(u8) -> bool| !text.is_empty() && text.bytes().all(is);
    if let Some(rest) = digits.strip_prefix('0').filter(|_| !cell.contains('.')) {
        if let Some(hexadecimal) = rest.strip_prefix(['x', 'X']) {
            return is_all(hexadecimal, |byte| byte.is_ascii_hexdigit());
        }
        if rest.starts_with(|it: char| it.is_ascii_digit()) {
            return is_all(rest, |byte| (b'0'..=b'7').contains(&byte));
        }
    }
    let (number, is_long) = match digits.as_bytes().last() {
        Some(b'd' | b'D' | b'f' | b'F') => (&digits[..digits.len() - 1], false),
        Some(b'l' | b'L') => (&digits[..digits.len() - 1], true),
        _ => (digits, false),
    };
    let (mantissa, exponent) = match number.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (number, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_exponent = |text: &str| {
        is_all(text.strip_prefix(['-', '+']).unwrap_or(text), |byte| byte.is_ascii_digit())
    };
    (whole.len() + fraction.len() > 0)
        && are_digits(whole)
        && are_digits(fraction)
        && exponent.is_none_or(is_exponent)
        && !(is_long && (exponent.is_some() || mantissa.contains('.')))
}

/// A number with so many decimals, its shortest decimal form rounded half up as Java does.
pub(super) fn half_up(value: f64, decimals: usize) -> String {
    let shortest = format!("{value}");
    let cut = shortest.find('.').map(|point| point + decimals + 1);
    match cut.filter(|&cut| cut < shortest.len()) {
        // A five with nothing after it: the one case where binary and decimal rounding differ.
        Some(cut) if &shortest[cut..] == "5" => {
            format!("{:.decimals$}", value + value.signum() * 10_f64.powi(-(decimals as i32) - 2))
        }
        _ => format!("{value:.decimals$}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_reported() {
        for text in "0 12 -3 1.5 .5 1. 1e5 1E-5 1.5e+3 0x1F 017 1L 1d 2F 0.5 00.5 null NA NaN 0 +7"
            .split(' ')
        {
            assert!(is_number(text), "{text}");
        }
        for text in "a 1a 20GAV.1 0x 09 1e 1.5L 1e5L -- . e5 1.2.3 0xG AC x1 - 1-1 H0164ALXX.2"
            .split(' ')
            .chain([""])
        {
            assert!(!is_number(text), "{text}");
        }
    }

    #[test]
    fn decimals() {
        let t = |value, decimals, expected: &str| assert_eq!(half_up(value, decimals), expected);
        t(6.0, 4, "6.0000");
        t(27.0494, 4, "27.0494");
        t(2.675, 2, "2.68");
        t(0.125, 2, "0.13");
        t(0.124_999, 2, "0.12");
        t(11_646_516.65, 2, "11646516.65");
        t(0.0, 2, "0.00");
    }

    #[test]
    fn columns_are_padded() {
        const COLUMNS: [Column; 3] =
            [Column::new("Name", "%s"), Column::new("N", "%d"), Column::new("Longer", "%s")];
        let mut rows = TextRows::default();
        for cell in ["a", "1", "7", "bcdef", "1000", "8"] {
            rows.cell(cell);
        }
        let mut out = Vec::new();
        rows.write("T:d", &COLUMNS, &mut out).unwrap();
        let expected = "#:GATKTable:3:2:%s:%d:%s:;\n#:GATKTable:T:d\nName   N     Longer\n\
            a         1       7\nbcdef  1000       8\n\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
        let mut out = Vec::new();
        TextRows::default().write("T:", &COLUMNS, &mut out).unwrap();
        assert_eq!(out, b"#:GATKTable:3:0:%s:%d:%s:;\n#:GATKTable:T:\nName  N  Longer\n\n");
    }
}
