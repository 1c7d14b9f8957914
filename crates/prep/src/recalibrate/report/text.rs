//! A table as text: columns as wide as their widest cell, numbers to the right.

use std::fmt::{Display, Write};

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

/// The cells of a table, row by row.
pub(super) struct TextTable {
    /// Name and description, with a colon between.
    title: &'static str,
    columns: &'static [Column],
    text: String,
    /// Where each cell ends in `text`.
    ends: Vec<usize>,
}

impl TextTable {
    pub(super) fn new(title: &'static str, columns: &'static [Column]) -> Self {
        Self { title, columns, text: String::new(), ends: Vec::new() }
    }

    /// Adds the next cell.
    pub(super) fn cell(&mut self, value: impl Display) {
        // Writing to a string cannot fail.
        let _ = write!(self.text, "{value}");
        self.ends.push(self.text.len());
    }

    fn cells(&self) -> impl Iterator<Item = &str> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.text[start..end])
    }

    /// Appends the table to `out`.
    pub(super) fn write(&self, out: &mut String) {
        let count = self.columns.len();
        let mut widths: Vec<usize> = self.columns.iter().map(|column| column.name.len()).collect();
        let mut are_numbers = vec![true; count];
        for (index, cell) in self.cells().enumerate() {
            let column = index % count;
            widths[column] = widths[column].max(cell.chars().count());
            are_numbers[column] = are_numbers[column] && (cell.is_empty() || is_number(cell));
        }
        let _ = write!(out, "#:GATKTable:{count}:{}", self.ends.len() / count);
        self.columns.iter().for_each(|column| {
            let _ = write!(out, ":{}", column.format);
        });
        let _ = writeln!(out, ":;\n#:GATKTable:{}", self.title);
        let names = self.columns.iter().map(|column| (column.name, false));
        write_rows(out, names, &widths);
        let cells = self.cells().zip(are_numbers.iter().copied().cycle());
        write_rows(out, cells, &widths);
        out.push('\n');
    }
}

/// Writes cells, each with whether it goes to the right, as rows of padded columns.
fn write_rows<'a>(
    out: &mut String,
    cells: impl Iterator<Item = (&'a str, bool)>,
    widths: &[usize],
) {
    for (index, (cell, is_right)) in cells.enumerate() {
        let (column, width) = (index % widths.len(), widths[index % widths.len()]);
        let gap = if column > 0 { "  " } else { "" };
        let _ = match is_right {
            true => write!(out, "{gap}{cell:>width$}"),
            false => write!(out, "{gap}{cell:<width$}"),
        };
        if column + 1 == widths.len() {
            out.push('\n');
        }
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
        // A five with nothing behind it: the one case where binary and decimal rounding differ.
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
    fn numbers_are_told() {
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
        let mut table = TextTable::new("T:d", &COLUMNS);
        for cell in ["a", "1", "7", "bcdef", "1000", "8"] {
            table.cell(cell);
        }
        let mut out = String::new();
        table.write(&mut out);
        let expected = "#:GATKTable:3:2:%s:%d:%s:;\n#:GATKTable:T:d\nName   N     Longer\n\
            a         1       7\nbcdef  1000       8\n\n";
        assert_eq!(out, expected);
        let mut out = String::new();
        TextTable::new("T:", &COLUMNS).write(&mut out);
        assert_eq!(out, "#:GATKTable:3:0:%s:%d:%s:;\n#:GATKTable:T:\nName  N  Longer\n\n");
    }
}
