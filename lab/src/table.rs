//! Tables of measurements: factors as text, measured values as numbers.

/// What was measured in one run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    /// One for each factor of the table.
    pub(crate) factors: Vec<String>,
    /// One for each measured column.
    pub(crate) values: Vec<f64>,
}

/// A table of runs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Table {
    /// Names of the factors.
    pub(crate) factors: Vec<String>,
    /// Names of what is measured, units last.
    pub(crate) columns: Vec<String>,
    /// The last so many columns may be missing in files: what was recorded before there were such.
    later: usize,
    /// The runs, in the order in which they were made.
    pub(crate) rows: Vec<Row>,
}

/// A file that is no such table.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("line {line}: {what}")]
pub(crate) struct TableError {
    /// From 1.
    pub(crate) line: usize,
    /// What is wrong.
    pub(crate) what: &'static str,
}

impl Table {
    /// Without rows.
    #[must_use]
    pub(crate) fn new(factors: &[&str], columns: &[&str]) -> Self {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Self { factors: owned(factors), columns: owned(columns), later: 0, rows: Vec::new() }
    }

    /// The same, the last `later` columns of which files may lack; their values are not numbers.
    #[must_use]
    pub(crate) fn with_later(self, later: usize) -> Self {
        Self { later, ..self }
    }

    /// Numbers that a factor has, in their order.
    #[must_use]
    pub(crate) fn numbers(&self, factor: &str) -> Vec<u32> {
        let levels = self.levels(factor);
        let mut numbers: Vec<u32> = levels.iter().filter_map(|level| level.parse().ok()).collect();
        numbers.sort_unstable();
        numbers
    }

    /// As tab-separated values: a line of names, a line for each row.
    #[must_use]
    pub(crate) fn to_tsv(&self) -> String {
        let names = self.factors.iter().chain(&self.columns);
        let mut text = names.cloned().collect::<Vec<_>>().join("\t") + "\n";
        for row in &self.rows {
            let values = row.values.iter().map(|value| number(*value));
            text += &row.factors.iter().cloned().chain(values).collect::<Vec<_>>().join("\t");
            text.push('\n');
        }
        text
    }

    /// Rounds values as [`Self::to_tsv`] writes them: what is made of this table can be made of its
    /// file once more, to the last digit.
    pub(crate) fn round(&mut self) {
        for value in self.rows.iter_mut().flat_map(|row| &mut row.values) {
            *value = number(*value).parse().unwrap_or(*value);
        }
    }

    /// Reads rows of a table of these columns.
    ///
    /// # Errors
    /// Another first line, lines of another number of fields, values that are no numbers.
    pub(crate) fn add_tsv(&mut self, text: &str) -> Result<(), TableError> {
        let mut lines = text.lines().enumerate();
        let all: Vec<&String> = self.factors.iter().chain(&self.columns).collect();
        let first = lines.next().map_or(Vec::new(), |(_, line)| line.split('\t').collect());
        let least = all.len() - self.later;
        let names = &all[..first.len().clamp(least, all.len())];
        if first.len() != names.len() || first.iter().zip(names).any(|(a, b)| a != b) {
            return Err(TableError { line: 1, what: "other columns" });
        }
        let missing = all.len() - names.len();
        for (at, line) in lines {
            let bad = |what| TableError { line: at + 1, what };
            let fields: Vec<&str> = line.split('\t').collect();
            if fields.len() != names.len() {
                return Err(bad("another number of fields"));
            }
            let (factors, values) = fields.split_at(self.factors.len());
            let values: Result<Vec<f64>, _> = values.iter().map(|value| value.parse()).collect();
            let mut values = values.map_err(|_| bad("a value that is no number"))?;
            values.resize(values.len() + missing, f64::NAN);
            let factors = factors.iter().map(|factor| (*factor).to_owned()).collect();
            self.rows.push(Row { factors, values });
        }
        Ok(())
    }

    /// A measured value of the row with these factors, the smallest where there are several.
    #[must_use]
    pub(crate) fn value(&self, factors: &[&str], column: &str) -> Option<f64> {
        let at = self.columns.iter().position(|name| name == column)?;
        let rows = self.rows.iter().filter(|row| row.factors == factors);
        rows.map(|row| row.values[at]).min_by(f64::total_cmp)
    }

    /// A measured value of all rows with these factors, in the order of the runs.
    #[must_use]
    pub(crate) fn runs(&self, factors: &[&str], column: &str) -> Vec<f64> {
        let at = self.columns.iter().position(|name| name == column);
        let rows = self.rows.iter().filter(|row| row.factors == factors);
        rows.filter_map(|row| row.values.get(at?).copied()).collect()
    }

    /// The median of a measured value over the rows with these factors.
    #[must_use]
    pub(crate) fn median(&self, factors: &[&str], column: &str) -> Option<f64> {
        quantile(&self.runs(factors, column), 0.5)
    }

    /// The different combinations of values of some factors, each in the order of `factors`; in
    /// the order in which they appear.
    #[must_use]
    pub(crate) fn combinations<const N: usize>(&self, factors: [&str; N]) -> Vec<[&str; N]> {
        let places = factors.map(|of| self.factors.iter().position(|name| name == of));
        let mut combinations: Vec<[&str; N]> = Vec::new();
        for row in &self.rows {
            let found = places.map(|place| place.map_or("", |at| row.factors[at].as_str()));
            if !combinations.contains(&found) {
                combinations.push(found);
            }
        }
        combinations
    }

    /// The different values of a factor, in the order in which they appear.
    #[must_use]
    pub(crate) fn levels(&self, factor: &str) -> Vec<&str> {
        let Some(at) = self.factors.iter().position(|name| name == factor) else {
            return Vec::new();
        };
        let mut levels: Vec<&str> = Vec::new();
        for row in &self.rows {
            if !levels.contains(&row.factors[at].as_str()) {
                levels.push(&row.factors[at]);
            }
        }
        levels
    }
}

/// A quantile with straight lines between values (Hyndman and Fan 1996, type 7); `None` of none.
#[must_use]
pub(crate) fn quantile(values: &[f64], share: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = share * sorted.len().checked_sub(1)? as f64;
    let (low, high) = (sorted.get(at.floor() as usize)?, sorted.get(at.ceil() as usize)?);
    Some(low + (high - low) * at.fract())
}

/// Six digits after the point; none of a whole number.
fn number(value: f64) -> String {
    let text = format!("{value:.6}");
    let shorter = text.strip_suffix(".000000").unwrap_or(&text);
    if shorter == "-0" { "0".to_owned() } else { shorter.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::iter;

    #[test]
    fn a_table_comes_back_from_its_text() {
        let mut table = Table::new(&["way", "workers"], &["wall_s", "reads"]);
        for (way, wall_s) in [("a", 1.5), ("b", 0.25), ("a", 1.25)] {
            let factors = vec![way.to_owned(), "2".to_owned()];
            table.rows.push(Row { factors, values: vec![wall_s, 10.0] });
        }
        let text = table.to_tsv();
        assert!(text.starts_with("way\tworkers\twall_s\treads\na\t2\t1.500000\t10\n"), "{text}");
        let mut again = Table::new(&["way", "workers"], &["wall_s", "reads"]);
        again.add_tsv(&text).unwrap();
        assert_eq!(again, table);
        assert_eq!(table.value(&["a", "2"], "wall_s"), Some(1.25));
        assert_eq!(table.value(&["c", "2"], "wall_s"), None);
        assert_eq!(table.levels("way"), ["a", "b"]);
    }

    #[test]
    fn a_table_of_an_earlier_version_lacks_the_last_columns() {
        let mut table = Table::new(&["way"], &["wall_s", "bam_s", "fasta_s"]).with_later(2);
        for text in ["way\twall_s\na\t1\n", "way\twall_s\tbam_s\nb\t2\t3\n"] {
            table.add_tsv(text).unwrap();
        }
        let values: Vec<Vec<f64>> = table.rows.iter().map(|row| row.values.clone()).collect();
        assert_eq!((values[0][0], values[1][..2].to_vec()), (1.0, vec![2.0, 3.0]));
        assert!(values[0][1].is_nan() && values[0][2].is_nan() && values[1][2].is_nan());
        for text in ["way\n", "way\twall_s\tfasta_s\n", "way\twall_s\tbam_s\tfasta_s\tx\n"] {
            assert_eq!(table.add_tsv(text).unwrap_err().line, 1, "{text}");
        }
    }

    #[test]
    fn rounded_values_are_those_of_the_file() {
        let mut table = Table::new(&["way"], &["ns"]);
        // The first one is just above the edge between two last digits, in the file on it.
        let others = [-1.0 / 3.0, 0.999_999_9, -1e-9, 1e15 + 0.5, 1e16, f64::NAN, f64::INFINITY];
        for ns in iter::once(65.65 + 3e-7).chain(others) {
            table.rows.push(Row { factors: vec!["a".to_owned()], values: vec![ns] });
        }
        let mut rounded = table.clone();
        rounded.round();
        let mut read = Table::new(&["way"], &["ns"]);
        read.add_tsv(&table.to_tsv()).unwrap();
        let bits = |of: &Table| of.rows.iter().map(|r| r.values[0].to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&rounded), bits(&read));
        assert_ne!(bits(&rounded), bits(&table));
        assert_eq!(rounded.to_tsv(), table.to_tsv());
    }

    #[test]
    fn quantiles_are_between_the_values() {
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(quantile(&[3.0], 0.25), Some(3.0));
        assert_eq!(quantile(&[4.0, 1.0, 2.0], 0.5), Some(2.0));
        assert_eq!(quantile(&[4.0, 1.0, 2.0, 3.0], 0.5), Some(2.5));
        assert_eq!(quantile(&[5.0, 1.0, 2.0, 3.0, 4.0], 0.25), Some(2.0));
        assert_eq!(quantile(&[1.0, 2.0], 1.0), Some(2.0));
    }

    #[test]
    fn what_is_no_such_table_is_refused() {
        let mut table = Table::new(&["way"], &["wall_s"]);
        assert_eq!(table.add_tsv("").unwrap_err().line, 1);
        assert_eq!(table.add_tsv("way\tcpu_s\n").unwrap_err().line, 1);
        assert_eq!(table.add_tsv("way\twall_s\na\t1\nb\n").unwrap_err().line, 3);
        assert_eq!(table.add_tsv("way\twall_s\na\tx\n").unwrap_err().line, 2);
    }
}
