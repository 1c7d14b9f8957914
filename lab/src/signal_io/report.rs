//! What the numbers say: plots, tables, and whether they are as the paper leads to expect.

use std::fmt::Write;

use super::{WAYS, Way};
use crate::experiment::utilisation_percent;
use crate::latency::{CACHED, STORAGES, Storage, words};
use crate::output::{Fact, markdown_facts};
use crate::table::Table;
use seqloom_report::plot::{Line, Plot, Point};
use seqloom_report::run::core_hours;

/// Where time falls with workers, it must fall to this share of what the servers allow at least.
const GOOD_SHARE: f64 = 0.7;
/// Where it does not fall, the best number of workers may gain this much.
const FLAT: f64 = 1.3;

fn ways(table: &Table) -> Vec<&'static Way> {
    let present = table.levels("way");
    WAYS.iter().filter(|way| present.contains(&way.name)).collect()
}

fn value(table: &Table, storage: &str, way: &Way, workers: u32, column: &str) -> Option<f64> {
    table.value(&[storage, way.name, &workers.to_string()], column)
}

/// Time by workers, a plot for each storage: name of the file and plot.
pub(super) fn plots(table: &Table) -> Vec<(String, Plot)> {
    let plot = |storage: &&str| {
        let line = |way: &&'static Way| {
            let point = |workers: u32| {
                Some(Point::new(workers.into(), value(table, storage, way, workers, "wall_s")?))
            };
            let points = table.numbers("workers").into_iter().filter_map(point).collect();
            Line { name: way.title.replace("processes", "proc."), points }
        };
        let plot = Plot {
            title: format!("Reading every read once, shuffled: {}", words(storage)),
            x: "workers".to_owned(),
            y: "seconds".to_owned(),
            lines: ways(table).iter().map(line).collect(),
        };
        (format!("{storage}.svg"), plot)
    };
    table.levels("storage").iter().map(plot).collect()
}

/// The whole report.
pub(super) fn markdown(table: &Table, facts: &[Fact]) -> String {
    let mut out = String::from(
        "# Raw signal: reads at random, by format, reader and workers\n\n\
         Made by `seqloom-lab signal-io`; numbers in [signal-io.tsv](signal-io.tsv). Each run \
         reads every read once, in a shuffled order; each worker takes the next read when it is \
         done with one. A read of single-read FAST5 opens its file, as it must; the other files \
         are open. Times are those of whole processes, the fastest of the repeats.\n\n\
         The storages are a model (`lab/latency/latency.c`): K servers that need a given \
         time for each first open and each read of a page that nobody has read; a network file \
         system is asked at each open. Transfer and read-ahead are not modelled, and waiting costs \
         no processor: what is shown is what latency does, which a page cache hides.\n\n\
         CPU utilisation is processor time by workers and wall time, and core-hours are workers by \
         hours of wall time (Gamaarachchi 2020, equation 1.1 and section 1.5.1).\n\n",
    );
    markdown_facts(&mut out, facts);
    out.push_str("\n## What was expected, and what came out\n\n");
    verdicts(table, &mut out);
    for storage in table.levels("storage") {
        let _ = writeln!(out, "\n## {}\n\n![]({storage}.svg)\n", words(storage));
        seconds(table, storage, &mut out);
        costs(table, storage, &mut out);
    }
    out
}

fn seconds(table: &Table, storage: &str, out: &mut String) {
    let workers = table.numbers("workers");
    let heads: Vec<String> = workers.iter().map(u32::to_string).collect();
    let _ = writeln!(out, "Seconds by workers:\n\n| way | {} |", heads.join(" | "));
    let _ = writeln!(out, "|---|{}", "---:|".repeat(workers.len()));
    for way in ways(table) {
        let cell = |&n: &u32| {
            value(table, storage, way, n, "wall_s").map_or(String::new(), |s| format!("{s:.2}"))
        };
        let cells: Vec<String> = workers.iter().map(cell).collect();
        let _ = writeln!(out, "| {} | {} |", way.title, cells.join(" | "));
    }
}

/// The columns of the paper, for one worker and for most.
fn costs(table: &Table, storage: &str, out: &mut String) {
    let workers = table.numbers("workers");
    let Some(&most) = workers.last() else { return };
    let _ = writeln!(
        out,
        "\nWith {most} workers:\n\n| way | requests | CPU s | CPU utilisation, % | core-hours | \
         CPU hours |\n|---|---:|---:|---:|---:|---:|"
    );
    for way in ways(table) {
        let of = |column| value(table, storage, way, most, column).unwrap_or(f64::NAN);
        let (requests, cpu_s, wall_s) = (of("requests"), of("cpu_s"), of("wall_s"));
        let utilisation = utilisation_percent(cpu_s, wall_s, most);
        let (core, cpu) = (core_hours(most as usize, wall_s), cpu_s / 3600.0);
        let _ = writeln!(
            out,
            "| {} | {requests:.0} | {cpu_s:.2} | {utilisation:.1} | {core:.6} | {cpu:.6} |",
            way.title
        );
    }
}

/// How a way should behave under latency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    /// Time falls with workers until the servers are busy.
    Falls,
    /// It does not fall: a lock serialises.
    Flat,
}

fn expected(way: &Way) -> Expected {
    if way.engine == Some("library") { Expected::Flat } else { Expected::Falls }
}

/// How much faster the best number of workers is than one.
struct Gain {
    gained: f64,
    /// As many times as there are servers or workers, but not faster than the processors alone
    /// allow, which is the time that the same number of workers needs without latency.
    possible: f64,
}

fn gain(table: &Table, storage: Storage, way: &Way) -> Option<Gain> {
    let (mut gained, mut possible) = (0.0_f64, 0.0_f64);
    let one = value(table, storage.name, way, 1, "wall_s")?;
    for n in table.numbers("workers") {
        let time = value(table, storage.name, way, n, "wall_s")?;
        let floor = value(table, CACHED, way, n, "wall_s").unwrap_or(0.0);
        let parallel = f64::from(n.min(storage.servers));
        gained = gained.max(one / time);
        possible = possible.max(one / (one / parallel).max(floor));
    }
    Some(Gain { gained, possible })
}

fn verdicts(table: &Table, out: &mut String) {
    let _ = writeln!(
        out,
        "Gain: time of one worker over that of the best number of workers. Possible: as many times \
         as workers and servers allow, where the processors of this machine (the same run without \
         the layer) do not end it earlier. Expected: threads with libhdf5 gain at most {FLAT}; all \
         others reach {:.0} % of what is possible.\n\n\
         | storage | way | gain | possible | expected | as expected |\n|---|---|---:|---:|---|---|",
        100.0 * GOOD_SHARE
    );
    for storage in STORAGES {
        for way in ways(table) {
            let Some(Gain { gained, possible }) = gain(table, storage, way) else { continue };
            let (expectation, holds) = match expected(way) {
                Expected::Flat => ("stays", gained <= FLAT),
                Expected::Falls => ("falls", gained >= GOOD_SHARE * possible),
            };
            let holds = if holds { "yes" } else { "**no**" };
            let _ = writeln!(
                out,
                "| {} | {} | {gained:.1} | {possible:.1} | {expectation} | {holds} |",
                storage.name, way.title
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latency::FACTORS;
    use crate::output::assert_recorded_page_is_current;
    use crate::signal_io::COUNTERS;
    use crate::table::Row;

    /// A table of the RAID where each way has the given times for 1 and 8 workers.
    fn table(times: &[(&str, f64, f64)]) -> Table {
        let columns: Vec<&str> =
            crate::experiment::TIMES.iter().chain(&COUNTERS).copied().collect();
        let mut table = Table::new(&FACTORS, &columns);
        for (way, one, eight) in times {
            for (storage, scale) in [("raid", 1.0), (CACHED, 0.01)] {
                for (workers, time) in [("1", one), ("8", eight)] {
                    let factors = [storage, way, workers].map(str::to_owned).to_vec();
                    let values = vec![time * scale, 1.0, 0.5, 112.0, 5e6, 300.0, 9.0];
                    table.rows.push(Row { factors, values });
                }
            }
        }
        table
    }

    fn verdict(times: &[(&str, f64, f64)], title: &str) -> String {
        let text = markdown(&table(times), &[Fact::new("machine", "2 cores")]);
        let line = text.lines().find(|line| line.starts_with(&format!("| raid | {title} |")));
        line.unwrap_or_default().rsplit('|').nth(1).unwrap_or_default().trim().to_owned()
    }

    #[test]
    fn the_recorded_pages_are_what_is_made_of_their_tables() {
        for run in ["signal-io", "signal-io-store"] {
            assert_recorded_page_is_current(&crate::signal_io::RESULTS, run);
        }
    }

    #[test]
    fn verdicts_follow_the_numbers() {
        let (library, own) = ("FAST5, threads and libhdf5", "FAST5, threads and own reader");
        assert_eq!(verdict(&[("fast5-library", 10.0, 9.8)], library), "yes");
        assert_eq!(verdict(&[("fast5-library", 10.0, 2.0)], library), "**no**");
        assert_eq!(verdict(&[("fast5-own", 10.0, 1.3)], own), "yes");
        assert_eq!(verdict(&[("fast5-own", 10.0, 9.0)], own), "**no**");
        assert_eq!(verdict(&[("pod5", 10.0, 9.0)], own), "");
    }

    #[test]
    fn there_is_a_plot_for_each_storage() {
        let table = table(&[("slow5", 8.0, 1.0), ("blow5", 4.0, 0.5)]);
        let plots = plots(&table);
        let names: Vec<&str> = plots.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["raid.svg", "cached.svg"]);
        assert_eq!(plots[0].1.lines[1].points, [Point::new(1.0, 4.0), Point::new(8.0, 0.5)]);
        let text = markdown(&table, &[]);
        assert!(names.iter().all(|name| text.contains(&format!("![]({name})"))), "{text}");
        assert!(!text.contains("NaN"), "{text}");
    }
}
