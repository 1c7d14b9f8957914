//! Tables and plots of what was measured.

use std::fmt::Write;

use super::{Files, SHARED_LINE_NS, Way};
use crate::output::{Fact, NO_LOCK, WithLock, markdown_facts, markdown_table, noise_note, short};
use crate::table::{Table, quantile};
use seqloom_report::plot::{Line, Plot, Point};

/// Time of an engine per read, in microseconds: from a k-mer tool to a careful aligner.
const ENGINES_US: [f64; 4] = [2.0, 10.0, 50.0, 200.0];

/// The fact that names the engine; without it there is none.
pub(crate) const ENGINE: &str = "engine";

/// What is read: kind of files, and bytes of a unit.
#[derive(Clone, Copy)]
struct Input<'a> {
    files: &'a str,
    unit: &'a str,
}

/// Ways with their locks: a row of the report each.
fn rows(table: &Table) -> Vec<WithLock<'_>> {
    let rows = table.combinations(["way", "lock"]).into_iter();
    let mut rows: Vec<_> = rows.map(|[way, lock]| WithLock { way, lock }).collect();
    let place = |row: &WithLock<'_>| Way::ALL.iter().position(|way| way.name() == row.way);
    rows.sort_by_key(place);
    rows
}

fn median(table: &Table, input: Input<'_>, row: WithLock<'_>, threads: u32, of: &str) -> f64 {
    let factors = [input.files, input.unit, row.way, row.lock, &threads.to_string()];
    table.median(&factors, of).unwrap_or(f64::NAN)
}

/// Time per read in which nobody else gets on.
fn exclusive_ns(table: &Table, input: Input<'_>, row: WithLock<'_>, threads: u32) -> f64 {
    let writes = median(table, input, row, threads, "shared_writes_per_read");
    median(table, input, row, threads, "held_ns_per_read") + SHARED_LINE_NS * writes
}

fn rate(table: &Table, input: Input<'_>, row: WithLock<'_>, threads: u32) -> f64 {
    median(table, input, row, threads, "reads") / median(table, input, row, threads, "wall_s")
}

/// Reads per second by threads, a plot for each kind of files.
pub(super) fn plots(table: &Table) -> Vec<(String, Plot)> {
    let units = table.levels("unit");
    let plot = |files: &&str| {
        let unit = units.last().copied().unwrap_or_default();
        let line = |row: &WithLock<'_>| {
            let input = Input { files, unit };
            let point = |n: u32| Point::new(n.into(), rate(table, input, *row, n));
            Line {
                name: row.name(),
                points: table.numbers("threads").into_iter().map(point).collect(),
            }
        };
        let plot = Plot {
            title: format!("Reads taken: {files}, units of {unit} bytes"),
            x: "threads".to_owned(),
            y: "reads per second".to_owned(),
            lines: rows(table).iter().map(line).collect(),
        };
        (format!("{files}.svg"), plot)
    };
    table.levels("files").iter().map(plot).collect()
}

/// The whole report.
pub(super) fn markdown(table: &Table, facts: &[Fact]) -> String {
    let mut out = String::from(
        "# Ways to take reads from files by many threads\n\n\
         Made by `seqloom-lab parsing`; numbers in [parsing.tsv](parsing.tsv). O parses inside the \
         lock, D finds one record inside and parses it outside, B finds 32, L reads a block of \
         known \
         size from a padded file; the source is that of `seqloom align`, which claims chunks of \
         unpadded files without a lock. One parser for all; before anything was timed all were \
         checked to give the same reads. Unlike the aligners of 2018, O, D and B find line \
         ends with \
         SIMD here, so that they differ in what is locked and in nothing else. Paired: O, D, B, L \
         take both mates under one lock; the source gives blocks of either file, and its mates are \
         joined later by their ordinals, which is not timed here. BGZF: O, D, B inflate a block of \
         64 KiB inside the lock, L takes one that has whole reads, of as many bytes as the unit \
         says, but 64 KiB at most; the source claims chunks of at least 64 KiB of compressed \
         bytes, so that each has a block.\n\n\
         *Exclusive* time per read: what locks were held for (holds of more than a millisecond, in \
         which the thread had lost its core, count as the mean of the others), and for each \
         write to a line that threads share 200 ns, which is an assumption (100 to 400 ns from \
         socket to socket are usual). For the \
         source the \
         lock is that of the check that blocks join; its shared writes are counted in its \
         code.\n\n",
    );
    markdown_facts(&mut out, facts);
    out.push_str(&noise_note());
    let of = facts.iter().find(|fact| fact.name == ENGINE);
    let engine = of.map_or("engine that does nothing", |fact| &fact.text);
    out.push_str("\n## Exclusive nanoseconds per read (one thread)\n\n");
    exclusive(table, &mut out);
    for files in Files::ALL {
        if table.levels("files").contains(&files.name()) {
            rates(table, files, engine, &mut out);
        }
    }
    verdict(table, &mut out);
    saturation(table, &mut out);
    out
}

fn inputs(table: &Table) -> Vec<Input<'_>> {
    let units = table.levels("unit");
    let of = |files| units.iter().map(move |unit| Input { files, unit }).collect::<Vec<_>>();
    table.levels("files").into_iter().flat_map(of).collect()
}

fn exclusive(table: &Table, out: &mut String) {
    let inputs = inputs(table);
    let mut heads = vec!["way".to_owned()];
    heads.extend(inputs.iter().map(|it| format!("{} {}", it.files, it.unit)));
    let row = |row: &WithLock<'_>| {
        let mut cells = vec![row.name()];
        let cell = |input: &Input<'_>| short(exclusive_ns(table, *input, *row, 1));
        cells.extend(inputs.iter().map(cell));
        cells
    };
    markdown_table(out, &heads, &rows(table).iter().map(row).collect::<Vec<_>>());
}

fn rates(table: &Table, files: Files, engine: &str, out: &mut String) {
    let files = files.name();
    let _ =
        writeln!(out, "\n## Thousand reads per second, {engine}: {files}\n\n![]({files}.svg)\n");
    let (units, threads) = (table.levels("unit"), table.numbers("threads"));
    let mut heads = vec!["way".to_owned()];
    for unit in &units {
        heads.extend(threads.iter().map(|n| format!("{unit} bytes, {n} threads")));
    }
    let row = |row: &WithLock<'_>| {
        let mut cells = vec![row.name()];
        for unit in &units {
            let cell = |n: &u32| short(rate(table, Input { files, unit }, *row, *n) / 1e3);
            cells.extend(threads.iter().map(cell));
        }
        cells
    };
    markdown_table(out, &heads, &rows(table).iter().map(row).collect::<Vec<_>>());
}

/// Whether the source leads, where. The runs of a repeat are made in turn, within a second or so:
/// what the machine does meanwhile is in both, and leaves their ratio alone.
fn verdict(table: &Table, out: &mut String) {
    out.push_str(
        "\n## Does the source lead?\n\nRates of the source by those of the best other way, \
         repeat by repeat: the median, and the interval in which the true median lies with 95 % \
         (order statistics; from all the runs where they are too few for that). It leads where all \
         of the interval is above 1.\n\n",
    );
    let heads = ["files", "unit", "threads", "source / best other", "interval", "leads"];
    let mut lines = Vec::new();
    for input in inputs(table) {
        for n in table.numbers("threads") {
            let others = rows(table).into_iter().filter(|row| row.way != Way::Source.name());
            let by_rate = |a: &WithLock<'_>, b: &WithLock<'_>| {
                rate(table, input, *a, n).total_cmp(&rate(table, input, *b, n))
            };
            let Some(best) = others.max_by(by_rate) else { continue };
            let [low, ratio, high] = lead(table, input, best, n);
            let leads = match () {
                () if low > 1.0 => "yes",
                () if high < 1.0 => "**no**",
                () => "level",
            };
            lines.push(vec![
                input.files.to_owned(),
                input.unit.to_owned(),
                n.to_string(),
                format!("{} ({})", short(ratio), best.name()),
                format!("{} to {}", short(low), short(high)),
                leads.to_owned(),
            ]);
        }
    }
    markdown_table(out, &heads.map(str::to_owned), &lines);
}

/// The median of the source's rate by that of `other` in the same repeat, between the ends of its
/// interval of 95 % (Conover 1999, Practical Nonparametric Statistics, 3.2: the ranks that the
/// normal distribution gives for n coins).
fn lead(table: &Table, input: Input<'_>, other: WithLock<'_>, threads: u32) -> [f64; 3] {
    let threads = threads.to_string();
    let wall_s = |it: WithLock<'_>| {
        table.runs(&[input.files, input.unit, it.way, it.lock, &threads], "wall_s")
    };
    let (source, other) =
        (wall_s(WithLock { way: Way::Source.name(), lock: NO_LOCK }), wall_s(other));
    let mut ratios: Vec<f64> = source.iter().zip(&other).map(|(own, its)| its / own).collect();
    ratios.sort_by(f64::total_cmp);
    let n = ratios.len() as f64;
    let low = ((n - 1.96 * n.sqrt()) / 2.0).max(0.0) as usize;
    let at = |index: usize| ratios.get(index).copied().unwrap_or(f64::NAN);
    let median = quantile(&ratios, 0.5).unwrap_or(f64::NAN);
    [at(low), median, at(ratios.len().saturating_sub(low + 1))]
}

/// Threads at which the exclusive part is always busy.
fn saturation(table: &Table, out: &mut String) {
    out.push_str(
        "\n## Threads that saturate the input\n\nN* = (T + p) / x: T the engine's time per \
        read, p what \
         a thread spends on a read outside the exclusive part, x the exclusive part; single file. \
         Beyond N* threads the input is the limit, whatever the lock.\n",
    );
    for unit in table.levels("unit") {
        let _ = writeln!(out, "\nUnits of {unit} bytes:\n");
        let mut heads = vec!["way".to_owned()];
        heads.extend(ENGINES_US.iter().map(|us| format!("{us} us")));
        let row = |row: &WithLock<'_>| {
            let input = Input { files: "single", unit };
            let of = |column| median(table, input, *row, 1, column);
            let x = exclusive_ns(table, input, *row, 1);
            let outside = (of("cpu_s") * 1e9 / of("reads") - x).max(0.0);
            let mut cells = vec![row.name()];
            cells.extend(ENGINES_US.map(|us| format!("{:.0}", (us * 1e3 + outside) / x)));
            cells
        };
        markdown_table(out, &heads, &rows(table).iter().map(row).collect::<Vec<_>>());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table;

    #[test]
    fn the_lead_is_that_of_runs_of_one_repeat() {
        let mut runs = Table::new(&["files", "unit", "way", "lock", "threads"], &["wall_s"]);
        // The machine is three times slower in every second repeat;
        // the source leads in all but one.
        for repeat in 0..25 {
            let slow = if repeat % 2 == 0 { 1.0 } else { 3.0 };
            let gain = if repeat == 7 { 0.5 } else { 1.1 + f64::from(repeat) / 100.0 };
            for (way, lock, wall_s) in [("L", "standard", gain * slow), ("source", NO_LOCK, slow)] {
                let factors = ["single", "1", way, lock, "2"].map(str::to_owned).to_vec();
                runs.rows.push(table::Row { factors, values: vec![wall_s] });
            }
        }
        let input = Input { files: "single", unit: "1" };
        let found = lead(&runs, input, WithLock { way: "L", lock: "standard" }, 2);
        // Of 25 values the 8th, the 13th and the 18th.
        for (found, expected) in found.into_iter().zip([1.16, 1.22, 1.27]) {
            assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        }
    }
}
