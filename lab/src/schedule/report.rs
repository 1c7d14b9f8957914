//! Tables and plots of what was measured.

use std::fmt::Write;

use super::{COUNTERS, FACTORS, PRESETS};
use crate::experiment::TIMES;
use crate::output::{Fact, Results, markdown_facts, markdown_table, noise_note, short};
use crate::table::Table;
use seqloom_report::plot::{Line, Plot, Point};

/// What the experiment leaves behind.
pub(crate) const RESULTS: Results = Results {
    table: "schedule.tsv",
    factors: &FACTORS,
    columns: &[&TIMES, &COUNTERS],
    later: 0,
    plots,
    markdown,
};

/// Medians of one schedule, engine and number of threads, by column.
type Of<'a> = &'a dyn Fn(&str) -> f64;

fn median(table: &Table, schedule: &str, engine: &str, threads: u32, column: &str) -> f64 {
    table.median(&[schedule, engine, &threads.to_string()], column).unwrap_or(f64::NAN)
}

fn rate(of: Of<'_>) -> f64 {
    of("reads") * 1e6 / of("align_us")
}

fn file_of(engine: &str) -> String {
    let kept = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    format!("{}.svg", engine.chars().map(kept).collect::<String>())
}

/// Reads per second by threads, a plot for each engine.
fn plots(table: &Table) -> Vec<(String, Plot)> {
    let plot = |engine: &&str| {
        let line = |schedule: &&str| {
            let point = |n: u32| {
                let of = |column: &str| median(table, schedule, engine, n, column);
                Point::new(n.into(), rate(&of))
            };
            let points = table.numbers("threads").into_iter().map(point).collect();
            Line { name: (*schedule).to_owned(), points }
        };
        let plot = Plot {
            title: format!("Schedules: {engine}"),
            x: "workers".to_owned(),
            y: "reads per second".to_owned(),
            lines: table.levels("schedule").iter().map(line).collect(),
        };
        (file_of(engine), plot)
    };
    table.levels("engine").iter().map(plot).collect()
}

/// The whole report.
fn markdown(table: &Table, facts: &[Fact]) -> String {
    let mut out = String::from(
        "# Ways to share alignment out among threads\n\n\
         Made by `seqloom-lab schedule`; numbers in [schedule.tsv](schedule.tsv). All have one \
         source, one way to make records, and one output file behind a lock (processes: a file \
         each), and were checked to give the same records. The engine does not align: *null* \
         makes records at once, the others take processor time for each read as well (*spin*), or \
         sleep.\n\n\
         * *pull*: workers claim chunks of the input, as `align` does.\n\
         * *farm*: an emitter reads, copies reads into tasks that lie where their worker runs, \
         and writes what comes home; rings without locks (Misale 2014). *pinned*: each worker to \
         a core; *interleaved*: the index's pages over all nodes as well. One thread more than \
         workers.\n\
         * *pipeline*: two masters read and write in turn, workers align a chunk together and \
         steal (BWA-MEM). Two threads more than workers.\n\
         * *multiprocess*: processes of 16 threads that pull, each with its share of the input.\n\n\
         The time of a run is that of its slowest worker, from the first line of its work to its \
         end; the index is loaded before. Medians of the repeats; runs are interleaved, each is a \
         process of its own.\n\n",
    );
    markdown_facts(&mut out, facts);
    out.push_str(&noise_note());
    for engine in table.levels("engine") {
        of_engine(table, engine, &mut out);
    }
    out
}

fn of_engine(table: &Table, engine: &str, out: &mut String) {
    let _ = writeln!(out, "\n## {engine}\n\n![]({})\n", file_of(engine));
    if let Some(preset) = PRESETS.iter().find(|preset| preset.name == engine) {
        let _ = writeln!(out, "{} us a read: {}.\n", preset.per_read_us, preset.source);
    }
    out.push_str("Thousand reads per second by workers:\n\n");
    by_threads(table, engine, out, &|of| rate(of) / 1e3);
    out.push_str("\nProcessor time, us per read:\n\n");
    by_threads(table, engine, out, &|of| of("flow_cpu_s") * 1e6 / of("reads"));
    out.push_str("\nContext switches per 1,000 reads:\n\n");
    let switches = |of: Of<'_>| of("voluntary_switches") + of("involuntary_switches");
    by_threads(table, engine, out, &|of| switches(of) * 1e3 / of("reads"));
    out.push_str("\nMost memory, MB (processes: added up):\n\n");
    by_threads(table, engine, out, &|of| of("peak_rss_bytes") / 1e6);
    kept(table, engine, out);
}

fn by_threads(table: &Table, engine: &str, out: &mut String, value: &dyn Fn(Of<'_>) -> f64) {
    let threads = table.numbers("threads");
    let mut heads = vec!["schedule".to_owned()];
    heads.extend(threads.iter().map(u32::to_string));
    let row = |schedule: &&str| {
        let mut cells = vec![(*schedule).to_owned()];
        let cell = |n: &u32| short(value(&|column| median(table, schedule, engine, *n, column)));
        cells.extend(threads.iter().map(cell));
        cells
    };
    markdown_table(out, &heads, &table.levels("schedule").iter().map(row).collect::<Vec<_>>());
}

/// What is kept with most threads of what two have, by the clock and by processor time; and how
/// busy the thread is that hands out.
fn kept(table: &Table, engine: &str, out: &mut String) {
    let threads = table.numbers("threads");
    let few = threads.iter().copied().find(|&n| n >= 2).unwrap_or(1);
    let most = threads.last().copied().unwrap_or(1);
    let _ = writeln!(out, "\nWith {most} workers, against {few}:\n");
    let heads = [
        "schedule",
        "throughput kept",
        "by processor time",
        "masters busy",
        "sleeps per 1,000 reads",
    ]
    .map(str::to_owned);
    let row = |schedule: &&str| {
        let of = |n: u32, column: &str| median(table, schedule, engine, n, column);
        let by_clock = rate(&|column| of(most, column)) / rate(&|column| of(few, column));
        let by_time = of(few, "flow_cpu_s") / of(most, "flow_cpu_s");
        vec![
            (*schedule).to_owned(),
            short(by_clock),
            short(by_time),
            short(of(most, "master_busy_us") / of(most, "align_us")),
            short(of(most, "sleeps") * 1e3 / of(most, "reads")),
        ]
    };
    markdown_table(out, &heads, &table.levels("schedule").iter().map(row).collect::<Vec<_>>());
}
