//! What the numbers say: plots and tables.

use std::fmt::Write;

use super::{WAYS, Way};
use crate::experiment::utilisation_percent;
use crate::latency::{CACHED, words};
use crate::output::{Fact, markdown_facts};
use crate::table::Table;
use seqloom_report::plot::{Line, Plot, Point};
use seqloom_report::run::core_hours;

/// A run of some workers.
#[derive(Clone, Copy)]
struct Measured {
    wall_s: f64,
    cpu_s: f64,
    workers: u32,
}

/// What is shown by workers.
#[derive(Clone, Copy)]
struct Shown {
    of: fn(Measured) -> f64,
    unit: &'static str,
    /// Of the file.
    name: &'static str,
    /// After the point in the table.
    digits: usize,
}

const SHOWN: [Shown; 4] = [
    Shown { of: |run| run.wall_s, unit: "seconds", name: "time", digits: 2 },
    Shown {
        of: |run| utilisation_percent(run.cpu_s, run.wall_s, run.workers),
        unit: "CPU utilisation, %",
        name: "utilisation",
        digits: 1,
    },
    Shown {
        of: |run| core_hours(run.workers as usize, run.wall_s),
        unit: "core-hours",
        name: "core-hours",
        digits: 5,
    },
    Shown { of: |run| run.cpu_s / 3600.0, unit: "CPU hours", name: "cpu-hours", digits: 5 },
];

/// What calling consists of.
#[derive(Clone, Copy)]
pub(crate) struct Component {
    /// Its seconds in the table.
    pub(crate) column: &'static str,
    /// Its words.
    pub(crate) words: &'static str,
}

const fn component(column: &'static str, words: &'static str) -> Component {
    Component { column, words }
}

/// All components; the last ones are missing in tables of earlier versions.
const COMPONENTS: [Component; 9] = [
    component("signal_s", "signal"),
    component("events_s", "events"),
    component("abea_s", "alignment"),
    component("scaling_s", "scaling"),
    component("hmm_s", "HMM"),
    component("format_s", "text"),
    component("wait_s", "waiting"),
    component("bam_s", "BAM"),
    component("fasta_s", "FASTA"),
];

fn ways(table: &Table) -> Vec<&'static Way> {
    let present = table.levels("way");
    WAYS.iter().filter(|way| present.contains(&way.name)).collect()
}

/// A value of the fastest repeat, so that the numbers of a line belong together.
fn value(table: &Table, storage: &str, way: &Way, workers: u32, column: &str) -> Option<f64> {
    let at = |name: &str| table.columns.iter().position(|it| it == name);
    let (wall, column) = (at("wall_s")?, at(column)?);
    let factors = [storage, way.name, &workers.to_string()];
    let rows = table.rows.iter().filter(|row| row.factors == factors);
    let fastest = rows.min_by(|a, b| a.values[wall].total_cmp(&b.values[wall]))?;
    Some(fastest.values[column])
}

/// What is shown of the fastest repeat.
fn shown(
    table: &Table,
    storage: &str,
    way: &Way,
    workers: u32,
    of: fn(Measured) -> f64,
) -> Option<f64> {
    let wall_s = value(table, storage, way, workers, "wall_s")?;
    Some(of(Measured { wall_s, cpu_s: value(table, storage, way, workers, "cpu_s")?, workers }))
}

/// Plots by workers, for each storage: name of the file and plot.
pub(super) fn plots(table: &Table) -> Vec<(String, Plot)> {
    let mut plots = Vec::new();
    for storage in table.levels("storage") {
        for Shown { of, unit, name, .. } in SHOWN {
            let line = |way: &&'static Way| {
                let point = |workers: u32| {
                    Some(Point::new(workers.into(), shown(table, storage, way, workers, of)?))
                };
                let points = table.numbers("workers").into_iter().filter_map(point).collect();
                Line { name: way.title.to_owned(), points }
            };
            let plot = Plot {
                title: format!("Methylation calling: {}", words(storage)),
                x: "workers".to_owned(),
                y: unit.to_owned(),
                lines: ways(table).iter().map(line).collect(),
            };
            plots.push((format!("{storage}-{name}.svg"), plot));
        }
    }
    plots
}

/// The whole report.
pub(super) fn markdown(table: &Table, facts: &[Fact]) -> String {
    let mut out = String::from(
        "# Methylation calling: structures beside each other\n\n\
         Made by `seqloom-lab methylation`; numbers in [methylation.tsv](methylation.tsv). All \
         ways run the same kernels on the same reads, and the experiment fails if their tables \
         of calls differ in a line. What differs:\n\n\
         * **FAST5, reads under one lock**: threads share a batch; each reads its signal under one \
         lock, as libhdf5 makes of every program with threads; the batch ends before the next one \
         begins. The original structure.\n\
         * **FAST5, batches, processes read**: as many processes as workers read a batch while as \
         many threads work on the one before. The restructured program.\n\
         * **FAST5, our flow** and **BLOW5, our flow**: `seqloom signal methylation`. No lock, no \
         batch, no barrier; listing the reads of the files is part of the run.\n",
    );
    if table.levels("way").iter().any(|way| way.starts_with("nanopolish")) {
        out.push_str(
            "* **nanopolish itself**, and **a process for each worker**: the program as it is, in \
             one process with threads, and in as many as there are workers with one thread each, \
             each with its share of the BAM. Its tables agree with each other; its last digits are \
             its own, and so is which records it calls.\n",
        );
    }
    out.push_str(
        "\nTimes are those of whole processes, start and pore models included, the fastest of the \
         repeats. The storages are the model of [signal-io](../signal-io/README.md): K servers \
         that need a given time for each request. Waiting costs no processor: more workers than \
         processors help as long as they wait. CPU utilisation is processor time by workers and \
         wall time, and core-hours are workers by hours of wall time (Gamaarachchi 2020, equation \
         1.1 and section 1.5.1): what the workers take of a machine, whether they work or \
         wait.\n\n",
    );
    markdown_facts(&mut out, facts);
    for storage in table.levels("storage") {
        let _ = writeln!(out, "\n## {}\n", words(storage));
        for which in SHOWN {
            let _ = writeln!(out, "![]({storage}-{}.svg)\n", which.name);
            by_workers(table, storage, which, &mut out);
        }
        components(table, storage, &mut out);
    }
    if table.levels("storage").contains(&CACHED) {
        let _ = writeln!(
            out,
            "\nWithout the layer all files lie in the page cache, which no real collection of \
             FAST5 files fits; that is the bound which processors set on this machine."
        );
    }
    out
}

fn by_workers(table: &Table, storage: &str, which: Shown, out: &mut String) {
    let Shown { of, unit, digits, .. } = which;
    let workers = table.numbers("workers");
    let heads: Vec<String> = workers.iter().map(u32::to_string).collect();
    let _ = writeln!(out, "| {unit}, by workers | {} |", heads.join(" | "));
    let _ = writeln!(out, "|---|{}", "---:|".repeat(workers.len()));
    for way in ways(table) {
        let cell = |&n: &u32| {
            let value = shown(table, storage, way, n, of);
            value.map_or(String::new(), |it| format!("{it:.digits$}"))
        };
        let cells: Vec<String> = workers.iter().map(cell).collect();
        let _ = writeln!(out, "| {} | {} |", way.title, cells.join(" | "));
    }
    out.push('\n');
}

/// Components for one worker and for most, in seconds summed over workers.
fn components(table: &Table, storage: &str, out: &mut String) {
    let workers = table.numbers("workers");
    let (Some(&one), Some(&most)) = (workers.first(), workers.last()) else { return };
    let present = recorded_components(table);
    let heads: Vec<&str> = present.iter().map(|it| it.words).collect();
    let _ = writeln!(
        out,
        "Components, in seconds summed over workers:\n\n\
         | way | workers | requests | {} |\n|---|---:|---:|{}",
        heads.join(" | "),
        "---:|".repeat(heads.len())
    );
    for way in ways(table).into_iter().filter(|way| !way.caller.is_nanopolish()) {
        for n in [one, most] {
            let of = |column| value(table, storage, way, n, column).unwrap_or(0.0);
            let cells: Vec<String> =
                present.iter().map(|it| format!("{:.2}", of(it.column))).collect();
            let requests = of("requests");
            let _ =
                writeln!(out, "| {} | {n} | {requests:.0} | {} |", way.title, cells.join(" | "));
        }
    }
}

/// The components that the table has.
pub(crate) fn recorded_components(table: &Table) -> Vec<Component> {
    let has = |column: &str| {
        let at = table.columns.iter().position(|name| name == column);
        at.is_some_and(|at| table.rows.iter().any(|row| row.values[at].is_finite()))
    };
    COMPONENTS.into_iter().filter(|it| has(it.column)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::assert_recorded_page_is_current;
    use crate::table::Row;

    #[test]
    fn the_recorded_page_is_what_is_made_of_its_table() {
        assert_recorded_page_is_current(&super::super::RESULTS, "methylation");
    }

    #[test]
    fn a_report_has_every_way_storage_and_plot() {
        let mut table = super::super::RESULTS.empty_table();
        for storage in ["raid", CACHED] {
            for way in &WAYS {
                for (workers, wall_s) in [("1", 8.0), ("8", 1.0), ("8", 2.0)] {
                    let factors = [storage, way.name, workers].map(str::to_owned).to_vec();
                    let mut values = vec![1.0; table.columns.len()];
                    // The processors of the slower repeat must not show.
                    (values[0], values[1]) = (wall_s, if wall_s == 2.0 { 99.0 } else { 1.0 });
                    table.rows.push(Row { factors, values });
                }
            }
        }
        let facts = [Fact::new("machine", "2 cores")];
        let text = markdown(&table, &facts);
        for (name, plot) in plots(&table) {
            assert!(text.contains(&format!("![]({name})")), "{name}");
            assert_eq!(plot.lines.len(), WAYS.len());
            assert!(plot.lines.iter().all(|line| line.points.len() == 2));
        }
        assert!(text.contains("| BLOW5, our flow | 8.00 | 1.00 |"), "{text}");
        assert!(text.contains("* machine: 2 cores"), "{text}");
        // One worker for 8 s and 8 for 1 s are the same core-hours; a second of processors of each.
        assert!(text.contains("| BLOW5, our flow | 0.00222 | 0.00222 |"), "{text}");
        assert!(text.contains("| BLOW5, our flow | 12.5 | 12.5 |"), "{text}");
        assert!(text.contains("| BLOW5, our flow | 0.00028 | 0.00028 |"), "{text}");
    }
}
