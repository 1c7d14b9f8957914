//! Folders of results: tables, plots, facts of the run, and the report.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::experiment::LabError;
use crate::table::Table;
use seqloom_report::plot::Plot;

/// Something that a table was measured on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fact {
    /// What it is about.
    pub(crate) name: String,
    /// What there is to say.
    pub(crate) text: String,
}

impl Fact {
    /// The fact of this name.
    pub(crate) fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into() }
    }
}

/// Name of the file of facts: a line each, name and fact.
const FACTS: &str = "facts.tsv";

/// Writes a folder of results, which is made if need be: tables and plots by the names of their
/// files, facts, and the report in Markdown.
pub(crate) fn write_results(
    folder: &Path,
    tables: &[(&str, &Table)],
    plots: &[(String, Plot)],
    facts: &[Fact],
    markdown: &str,
) -> Result<(), LabError> {
    fs::create_dir_all(folder).map_err(LabError::file(folder))?;
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::write(&path, text).map_err(LabError::file(&path))
    };
    for (name, table) in tables {
        write(name, &table.to_tsv())?;
    }
    for (name, plot) in plots {
        write(name, &plot.to_svg())?;
    }
    let line = |fact: &Fact| format!("{}\t{}\n", fact.name, fact.text);
    let lines: String = facts.iter().map(line).collect();
    write(FACTS, &lines)?;
    write("README.md", markdown)
}

/// The results of an experiment that has one table.
#[derive(Clone, Copy)]
pub(crate) struct Results {
    /// Name of the table's file.
    pub(crate) table: &'static str,
    pub(crate) factors: &'static [&'static str],
    /// Columns, in groups.
    pub(crate) columns: &'static [&'static [&'static str]],
    /// The last of them that recordings of earlier versions lack.
    pub(crate) later: usize,
    /// Plots, by the names of their files.
    pub(crate) plots: fn(&Table) -> Vec<(String, Plot)>,
    /// The report.
    pub(crate) markdown: fn(&Table, &[Fact]) -> String,
}

impl Results {
    /// The table before any run.
    pub(crate) fn empty_table(&self) -> Table {
        Table::new(self.factors, &self.columns.concat()).with_later(self.later)
    }

    /// Writes the table, the plots and the report into a folder.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub(crate) fn write(
        &self,
        table: &Table,
        facts: &[Fact],
        folder: &Path,
    ) -> Result<(), LabError> {
        let mut table = table.clone();
        table.round();
        let (plots, markdown) = ((self.plots)(&table), (self.markdown)(&table, facts));
        write_results(folder, &[(self.table, &table)], &plots, facts, &markdown)
    }

    /// Writes plots and report of a folder once more, from the table that is there.
    ///
    /// # Errors
    /// There is none, or the folder cannot be written.
    pub(crate) fn write_again(&self, folder: &Path) -> Result<(), LabError> {
        let mut table = self.empty_table();
        read_table(folder, self.table, &mut table)?;
        self.write(&table, &read_facts(folder)?, folder)
    }
}

/// Asserts that the page of a recorded run is what the report makes of its table today.
#[cfg(test)]
#[track_caller]
pub(crate) fn assert_recorded_page_is_current(results: &Results, run: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("runs").join(run);
    let mut table = results.empty_table();
    read_table(&folder, results.table, &mut table).unwrap();
    let facts = read_facts(&folder).unwrap();
    let page = text_of(&folder, "README.md").unwrap();
    let markdown = (results.markdown)(&table, &facts);
    let differing = page.lines().zip(markdown.lines()).find(|(page, now)| page != now);
    assert_eq!((differing, page.lines().count()), (None, markdown.lines().count()), "{run}");
    for (name, plot) in (results.plots)(&table) {
        assert_eq!(text_of(&folder, &name).unwrap(), plot.to_svg(), "{run}: {name}");
    }
}

fn text_of(folder: &Path, name: &str) -> Result<String, LabError> {
    let path = folder.join(name);
    fs::read_to_string(&path).map_err(LabError::file(&path))
}

/// Adds the rows that a folder has in the file of this name to a table.
pub(crate) fn read_table(folder: &Path, name: &str, table: &mut Table) -> Result<(), LabError> {
    let bad = |error| LabError::Prepare(format!("{}: {error}", folder.join(name).display()));
    table.add_tsv(&text_of(folder, name)?).map_err(bad)
}

/// The facts of a folder.
pub(crate) fn read_facts(folder: &Path) -> Result<Vec<Fact>, LabError> {
    let text = text_of(folder, FACTS)?;
    let facts = text.lines().filter_map(|line| line.split_once('\t'));
    Ok(facts.map(|(name, text)| Fact::new(name, text)).collect())
}

/// The facts as a list in Markdown.
pub(crate) fn markdown_facts(out: &mut String, facts: &[Fact]) {
    // Writing to a String cannot fail.
    for Fact { name, text } in facts {
        let _ = writeln!(out, "* {name}: {text}");
    }
}

/// A Markdown table: heads, then rows of as many cells.
pub(crate) fn markdown_table(out: &mut String, heads: &[String], rows: &[Vec<String>]) {
    // Writing to a String cannot fail.
    let _ = writeln!(out, "| {} |", heads.join(" | "));
    let _ = writeln!(out, "|---|{}", "---:|".repeat(heads.len().saturating_sub(1)));
    for row in rows {
        let _ = writeln!(out, "| {} |", row.join(" | "));
    }
}

/// Three digits that count, without an exponent.
pub(crate) fn short(value: f64) -> String {
    match value.abs() {
        v if !v.is_finite() => "-".to_owned(),
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        v if v >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// Differences below this factor are noise on a machine that others use too.
pub(crate) const MEANINGFUL: f64 = 3.0;

/// In the place of a lock's name.
pub(crate) const NO_LOCK: &str = "none";

/// A way to do things with the lock that it is done with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WithLock<'a> {
    pub(crate) way: &'a str,
    pub(crate) lock: &'a str,
}

impl WithLock<'_> {
    /// What a reader is configured with.
    pub(crate) fn name(&self) -> String {
        let Self { way, lock } = *self;
        if lock == NO_LOCK { way.to_owned() } else { format!("{way}, {lock}") }
    }
}

/// What [`MEANINGFUL`] is, for readers of a report: a paragraph.
pub(crate) fn noise_note() -> String {
    format!("\nWhere other work runs meanwhile only ratios above {MEANINGFUL} mean something.\n")
}

/// Mean number of threads that were ready to run in the last minute, on the whole machine.
pub(crate) fn load_average() -> f64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().and_then(|load| load.parse().ok()).unwrap_or(f64::NAN)
}

/// Mean number of threads of other programs that are ready to run now, over some seconds, on the
/// whole machine. The load average would count what this program itself has run just before.
pub(crate) fn ready_threads_of_others() -> f64 {
    let mut others = Vec::new();
    for _ in 0..READY_SAMPLES {
        std::thread::sleep(BETWEEN_SAMPLES);
        let text = fs::read_to_string("/proc/stat").unwrap_or_default();
        others.extend(ready_threads(&text).map(|ready| ready.saturating_sub(1)));
    }
    if others.is_empty() { 0.0 } else { others.iter().sum::<u64>() as f64 / others.len() as f64 }
}

const READY_SAMPLES: u32 = 30;
const BETWEEN_SAMPLES: Duration = Duration::from_millis(100);

/// `procs_running` of `/proc/stat`: threads that run or are ready to, the reader's among them.
fn ready_threads(stat: &str) -> Option<u64> {
    stat.lines().find_map(|line| line.strip_prefix("procs_running "))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let all = [1234.6, 99.95, 9.876, 0.05012, f64::NAN].map(short);
        assert_eq!(all, ["1235", "100.0", "9.88", "0.050", "-"]);
    }

    #[test]
    fn ready_threads_are_those_of_the_kernel() {
        let stat = "cpu  1 2 3\nprocesses 9\nprocs_running 4\nprocs_blocked 2\n";
        assert_eq!(ready_threads(stat), Some(4));
        assert_eq!(ready_threads("cpu 1\n"), None);
        let here = fs::read_to_string("/proc/stat").unwrap();
        assert!(ready_threads(&here).unwrap() >= 1, "{here}");
    }

    #[test]
    fn tables_have_as_many_rules_as_heads() {
        let mut out = String::new();
        let heads = ["a", "b"].map(str::to_owned);
        markdown_table(&mut out, &heads, &[vec!["x".to_owned(), "1".to_owned()]]);
        assert_eq!(out, "| a | b |\n|---|---:|\n| x | 1 |\n");
    }
}
