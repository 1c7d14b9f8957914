//! What the numbers say: means and deviations by way, and what follows from them.

use std::fmt::Write;

use super::{COLUMNS, PHASES, Spread};
use crate::output::{Fact, markdown_facts};
use crate::table::Table;

fn cell(table: &Table, way: &str, column: &str, unit: f64, digits: usize) -> String {
    Spread::of(table, way, column).map_or_else(String::new, |Spread { mean, deviation, .. }| {
        format!("{:.digits$} ± {:.digits$}", mean / unit, deviation / unit)
    })
}

/// The whole report.
pub(super) fn markdown(table: &Table, facts: &[Fact]) -> String {
    let mut out = String::from(
        "# Preparing aligned reads: time and memory by allocator and program\n\n\
         Made by `seqloom-lab prep-memory`; every run is a line of \
         [prep-memory.tsv](prep-memory.tsv). Each run leaves out unmapped reads, replaces the \
         sequences of the header, cleans what hangs over, replaces the read group, marks \
         duplicates and sorts by coordinate: elPrep's five steps (Costanza 2019) and `clean-sam`. \
         Ways are taken in turn, so that what else the machine does meets all of them. Mean and \
         standard deviation of all runs.\n\n\
         Peak memory is the resident memory of all processes of a way together, looked at every 5 \
         ms, and for seqloom the largest that the system saw. GB h is peak memory times time on \
         the clock, as in the paper. `seqloom` is the program as it is shipped, with mimalloc in \
         it; for `system` it is built with `--features system-allocator`, and the other \
         allocators are preloaded to that. Only seqloom and elPrep replace the header's sequences; \
         of the others only Picard cleans.\n\n",
    );
    markdown_facts(&mut out, facts);
    out.push_str(
        "\n| way | runs | wall s | CPU s | peak MB | GB h x 1000 |\n\
         |---|---:|---:|---:|---:|---:|\n",
    );
    for way in table.levels("way") {
        let runs = Spread::of(table, way, COLUMNS[0]).map_or(0, |it| it.runs);
        let of = |column, unit, digits| cell(table, way, column, unit, digits);
        let (wall, cpu) = (of("wall_s", 1.0, 2), of("cpu_s", 1.0, 2));
        let (peak, product) = (of("peak_bytes", 1e6, 0), of("gb_hours", 1e-3, 3));
        let _ = writeln!(out, "| {way} | {runs} | {wall} | {cpu} | {peak} | {product} |");
    }
    phases(table, &mut out);
    verdict(table, &mut out);
    out
}

/// Where seqloom's time goes.
fn phases(table: &Table, out: &mut String) {
    let _ = writeln!(out, "\nSeconds by phase:\n\n| way | {} |", PHASES.join(" | "));
    let _ = writeln!(out, "|---|{}", "---:|".repeat(PHASES.len()));
    for way in table.levels("way") {
        let cells = PHASES.map(|phase| cell(table, way, &format!("{phase}_s"), 1.0, 2));
        let is_told = PHASES.iter().any(|phase| {
            Spread::of(table, way, &format!("{phase}_s")).is_some_and(|it| it.mean > 0.0)
        });
        if is_told {
            let _ = writeln!(out, "| {way} | {} |", cells.join(" | "));
        }
    }
}

/// The way with the smallest mean of each, and whether the next one is further off than both
/// deviations.
fn verdict(table: &Table, out: &mut String) {
    out.push('\n');
    for (column, what) in [
        ("wall_s", "time on the clock"),
        ("cpu_s", "time of processors"),
        ("peak_bytes", "peak memory"),
        ("gb_hours", "memory times time"),
    ] {
        let mut all: Vec<(&str, Spread)> = table
            .levels("way")
            .into_iter()
            .filter_map(|way| Some((way, Spread::of(table, way, column)?)))
            .collect();
        all.sort_by(|a, b| a.1.mean.total_cmp(&b.1.mean));
        if let [(first, a), (second, b), ..] = all[..] {
            let is_clear = b.mean - a.mean > a.deviation + b.deviation;
            let clear = if is_clear { "apart from" } else { "within the deviations of" };
            let _ = writeln!(out, "* Least {what}: {first}, {clear} {second}.");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Row;

    #[test]
    fn means_deviations_and_verdicts() {
        let mut table = Table::new(&super::super::FACTORS, &COLUMNS);
        for (way, walls) in [("a", [2.0, 4.0]), ("b", [10.0, 10.0]), ("c", [10.0, 11.0])] {
            for (repeat, wall) in walls.into_iter().enumerate() {
                let mut values = vec![0.0; COLUMNS.len()];
                values[0] = wall;
                table.rows.push(Row { factors: vec![way.into(), repeat.to_string()], values });
            }
        }
        let a = Spread::of(&table, "a", "wall_s").unwrap();
        assert_eq!((a.runs, a.mean), (2, 3.0));
        assert!((a.deviation - 2_f64.sqrt()).abs() < 1e-12);
        assert_eq!(Spread::of(&table, "d", "wall_s"), None);
        let text = markdown(&table, &[]);
        assert!(text.contains("| a | 2 | 3.00 ± 1.41 |"), "{text}");
        assert!(text.contains("Least time on the clock: a, apart from b."), "{text}");
        assert!(text.contains("Least peak memory: a, within the deviations of b."), "{text}");
    }
}
