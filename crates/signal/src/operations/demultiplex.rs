//! Which categories a read belongs to, by a table of read ids and categories (a barcode summary).
//!
//! The table is text with tabs: a line of column names, then a line per read and category.

use std::collections::HashMap;

/// Columns of the table that are not read are not looked at.
#[derive(Debug, Clone)]
pub struct DemuxOptions {
    /// Name of the column of read ids.
    pub read_id_column: String,
    /// Name of the column of categories.
    pub category_column: String,
    /// Reads of several categories go to this one instead of to each of them.
    pub several: Option<String>,
    /// Reads that the table does not name go to this category.
    pub missing: Option<String>,
}

/// Why a table cannot be used.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum DemuxError {
    /// There is no column of that name.
    #[error("line 1: there is no column {name}")]
    NoColumn {
        /// The name looked for.
        name: String,
    },
    /// A line has too few columns.
    #[error("line {line}: there are {found} columns; the one of {name} is column {required}")]
    ShortLine {
        /// The line, from 1.
        line: u64,
        /// Columns it has.
        found: usize,
        /// The column looked for, from 1.
        required: usize,
        /// Its name.
        name: String,
    },
    /// A category cannot be part of a file name.
    #[error("line {line}: category {category:?} cannot be part of a file name")]
    BadCategory {
        /// The line, from 1; 0 for one given on the command line.
        line: u64,
        /// The category.
        category: String,
    },
    /// There are more categories than [`MAX_CATEGORIES`].
    #[error("there are more than {MAX_CATEGORIES} categories; is this the right column?")]
    TooMany,
}

/// Each category is a file that stays open.
pub(crate) const MAX_CATEGORIES: usize = 1 << 16;

/// The categories of each read id.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct DemuxTable {
    /// Names, in the order in which the table has them first.
    pub categories: Vec<String>,
    reads: HashMap<Vec<u8>, Vec<u16>>,
    missing: Option<Vec<u16>>,
}

impl DemuxTable {
    /// Reads the text of a table.
    ///
    /// # Errors
    /// [`DemuxError`].
    pub fn parse(text: &[u8], options: &DemuxOptions) -> Result<Self, DemuxError> {
        let mut lines = text.split(|&byte| byte == b'\n').map(without_return);
        let names: Vec<&[u8]> = lines.next().unwrap_or_default().split(is_tab).collect();
        let column = |name: &str| {
            let found = names.iter().position(|it| *it == name.as_bytes());
            found.ok_or_else(|| DemuxError::NoColumn { name: name.to_owned() })
        };
        let read_id_column = column(&options.read_id_column)?;
        let category_column = column(&options.category_column)?;
        let mut table = Self::default();
        let mut known = HashMap::new();
        for (line, number) in lines.zip(2..) {
            if line.is_empty() {
                continue;
            }
            let columns: Vec<&[u8]> = line.split(is_tab).collect();
            let field = |at: usize, name: &str| {
                let short = || DemuxError::ShortLine {
                    line: number,
                    found: columns.len(),
                    required: at + 1,
                    name: name.to_owned(),
                };
                columns.get(at).copied().ok_or_else(short)
            };
            let read_id = field(read_id_column, &options.read_id_column)?;
            let category = field(category_column, &options.category_column)?;
            let category = table.category(&mut known, category, number)?;
            let of_read = table.reads.entry(read_id.to_vec()).or_default();
            if !of_read.contains(&category) {
                of_read.push(category);
            }
        }
        table.fold(&mut known, options)?;
        Ok(table)
    }

    /// Categories of a read, as indices; `None` when the table does not name it.
    #[must_use]
    pub(crate) fn of(&self, read_id: &[u8]) -> Option<&[u16]> {
        self.reads.get(read_id).or(self.missing.as_ref()).map(Vec::as_slice)
    }

    fn category(
        &mut self,
        known: &mut HashMap<Vec<u8>, u16>,
        name: &[u8],
        line: u64,
    ) -> Result<u16, DemuxError> {
        if let Some(&index) = known.get(name) {
            return Ok(index);
        }
        let text = String::from_utf8_lossy(name).into_owned();
        if text.is_empty() || text.contains(['/', '\0']) {
            return Err(DemuxError::BadCategory { line, category: text });
        }
        let index = self.categories.len();
        if index == MAX_CATEGORIES {
            return Err(DemuxError::TooMany);
        }
        self.categories.push(text);
        known.insert(name.to_vec(), index as u16);
        Ok(index as u16)
    }

    /// Adds the categories for reads of several and of none, and leaves out those without reads.
    fn fold(
        &mut self,
        known: &mut HashMap<Vec<u8>, u16>,
        options: &DemuxOptions,
    ) -> Result<(), DemuxError> {
        if let Some(name) = &options.several {
            let several = self.category(known, name.as_bytes(), 0)?;
            for categories in self.reads.values_mut().filter(|of_read| of_read.len() > 1) {
                categories.clear();
                categories.push(several);
            }
        }
        if let Some(name) = &options.missing {
            self.missing = Some(vec![self.category(known, name.as_bytes(), 0)?]);
        }
        let mut is_used = vec![false; self.categories.len()];
        for &category in self.reads.values().chain(&self.missing).flatten() {
            is_used[usize::from(category)] = true;
        }
        let mut renumbered = vec![0; is_used.len()];
        let mut count = 0;
        for (new, is_used) in renumbered.iter_mut().zip(&is_used) {
            *new = count;
            count += u16::from(*is_used);
        }
        for category in self.reads.values_mut().chain(&mut self.missing).flatten() {
            *category = renumbered[usize::from(*category)];
        }
        let mut is_used = is_used.into_iter();
        self.categories.retain(|_| is_used.next() == Some(true));
        Ok(())
    }
}

fn is_tab(byte: &u8) -> bool {
    *byte == b'\t'
}

fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(several: Option<&str>, missing: Option<&str>) -> DemuxOptions {
        DemuxOptions {
            read_id_column: "id".to_owned(),
            category_column: "code".to_owned(),
            several: several.map(str::to_owned),
            missing: missing.map(str::to_owned),
        }
    }

    fn names(table: &DemuxTable, read_id: &str) -> Option<Vec<String>> {
        let categories = table.of(read_id.as_bytes())?;
        Some(categories.iter().map(|&at| table.categories[usize::from(at)].clone()).collect())
    }

    const TEXT: &[u8] = b"x\tcode\tid\r\n1\tb\tr0\r\n2\ta\tr1\n\n3\tb\tr1\n4\ta\tr1";

    #[test]
    fn reads_have_the_categories_of_their_lines() {
        let table = DemuxTable::parse(TEXT, &options(None, None)).unwrap();
        assert_eq!(table.categories, ["b", "a"]);
        assert_eq!(names(&table, "r0").unwrap(), ["b"]);
        assert_eq!(names(&table, "r1").unwrap(), ["a", "b"]);
        assert_eq!(names(&table, "r2"), None);
    }

    #[test]
    fn reads_of_several_or_no_categories_can_have_one_of_their_own() {
        let table = DemuxTable::parse(TEXT, &options(Some("mixed"), Some("none"))).unwrap();
        assert_eq!(table.categories, ["b", "mixed", "none"]);
        assert_eq!(names(&table, "r0").unwrap(), ["b"]);
        assert_eq!(names(&table, "r1").unwrap(), ["mixed"]);
        assert_eq!(names(&table, "r2").unwrap(), ["none"]);
    }

    #[test]
    fn bad_tables_are_refused() {
        fn t(text: &str, expected: &str) {
            let error = DemuxTable::parse(text.as_bytes(), &options(None, None)).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
        }
        t("", "no column id");
        t("id\tcod\n", "no column code");
        t("id\tcode\nr0\n", "line 2: there are 1 columns");
        t("id\tcode\nr0\t\n", "line 2: category");
        t("id\tcode\nr0\ta/b\n", "cannot be part of a file name");
    }
}
