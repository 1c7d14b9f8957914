//! Tables and plots of what was measured.

use std::fmt::Write;

use super::measure::{COUNTERS, FACTORS};
use crate::experiment::TIMES;
use crate::output::{Fact, Results, WithLock, markdown_facts, markdown_table, short};
use crate::table::Table;
use seqloom_report::plot::{Line, Plot, Point};

/// What the experiment leaves behind.
pub(crate) const RESULTS: Results = Results {
    table: "output.tsv",
    factors: &FACTORS,
    columns: &[&TIMES, &COUNTERS],
    later: 0,
    plots,
    markdown,
};

/// Medians of one strategy, unit and number of threads, by column.
type Of<'a> = &'a dyn Fn(&str) -> f64;

/// Strategies with their locks.
fn rows(table: &Table) -> Vec<WithLock<'_>> {
    let rows = table.combinations(["strategy", "lock"]).into_iter();
    rows.map(|[way, lock]| WithLock { way, lock }).collect()
}

fn median(table: &Table, row: WithLock<'_>, unit: &str, threads: u32, column: &str) -> f64 {
    table.median(&[row.way, row.lock, unit, &threads.to_string()], column).unwrap_or(f64::NAN)
}

/// Records per second by threads, a plot for each unit.
fn plots(table: &Table) -> Vec<(String, Plot)> {
    let plot = |unit: &&str| {
        let line = |row: &WithLock<'_>| {
            let rate = |n: u32| {
                let of = |column| median(table, *row, unit, n, column);
                Point::new(n.into(), of("records") / of("wall_s"))
            };
            Line {
                name: row.name(),
                points: table.numbers("threads").into_iter().map(rate).collect(),
            }
        };
        let plot = Plot {
            title: format!("Records written by threads that do nothing else, {unit} at a time"),
            x: "threads".to_owned(),
            y: "records per second".to_owned(),
            lines: rows(table).iter().map(line).collect(),
        };
        (format!("units-of-{unit}.svg"), plot)
    };
    table.levels("unit").iter().map(plot).collect()
}

/// The whole report.
fn markdown(table: &Table, facts: &[Fact]) -> String {
    let mut out = String::from(
        "# Ways for many threads to write\n\n\
         Made by `seqloom-lab output`; numbers in [output.tsv](output.tsv). Threads make records \
         of 100 bases and do nothing else. *Locked*: one file behind a lock. *Striped*: so many \
         files, each with a lock; a thread keeps to one. *Ordered*: one file; a thread deposits \
         its piece and goes on, and whoever finds the next piece and nobody writing writes all \
         that is ready (`runtime::order`); nobody starts a piece more than 4 per thread ahead of \
         the one that is written next. Every run was read back: all have the same records, and \
         ordered ones in the same order. Files lie in the page cache: disks are not \
         measured.\n\n\
         *Held*: time per record in which a file is one thread's (holds of more than a \
         millisecond, in which the thread had lost its core, count as the mean of the others). \
         *Waited*: time per record that threads waited for a lock. Medians of the repeats.\n\n",
    );
    markdown_facts(&mut out, facts);
    for unit in table.levels("unit") {
        let _ = writeln!(
            out,
            "\n## {unit} records at a time\n\n![](units-of-{unit}.svg)\n\nThousand records per \
             second by threads:\n"
        );
        by_threads(table, unit, &mut out, &|of| of("records") / of("wall_s") / 1e3);
        out.push_str("\nHeld, ns per record:\n\n");
        by_threads(table, unit, &mut out, &|of| of("held_ns_per_record"));
        out.push_str("\nWaited, ns per record:\n\n");
        by_threads(table, unit, &mut out, &|of| of("wait_ns_per_record"));
        out.push_str("\nShare of writes that found the lock taken:\n\n");
        by_threads(table, unit, &mut out, &|of| of("contended") / of("holds"));
    }
    out
}

fn by_threads(table: &Table, unit: &str, out: &mut String, value: &dyn Fn(Of<'_>) -> f64) {
    let threads = table.numbers("threads");
    let mut heads = vec!["strategy".to_owned()];
    heads.extend(threads.iter().map(u32::to_string));
    let row = |row: &WithLock<'_>| {
        let mut cells = vec![row.name()];
        let cell = |n: &u32| short(value(&|column| median(table, *row, unit, *n, column)));
        cells.extend(threads.iter().map(cell));
        cells
    };
    markdown_table(out, &heads, &rows(table).iter().map(row).collect::<Vec<_>>());
}
