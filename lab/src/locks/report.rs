//! Tables and plots of what was measured.

use std::fmt::Write;

use super::LockTables;
use crate::output::{Fact, MEANINGFUL, markdown_facts, markdown_table, noise_note, short};
use crate::table::Table;
use seqloom_report::plot::{Line, Plot, Point};

fn numbers(table: &Table, factor: &str) -> Vec<u32> {
    let levels = table.levels(factor);
    let mut numbers: Vec<u32> = levels.iter().filter_map(|level| level.parse().ok()).collect();
    numbers.sort_unstable();
    numbers
}

/// Plots by name of the file.
pub(super) fn plots(tables: &LockTables) -> Vec<(String, Plot)> {
    let table = &tables.contention;
    let rate = |lock: &&str| {
        let point = |threads: u32| {
            let rate = table.median(&[lock, &threads.to_string()], "acquisitions_per_ms")?;
            Some(Point::new(threads.into(), rate))
        };
        let points = numbers(table, "threads").into_iter().filter_map(point).collect();
        Line { name: (*lock).to_owned(), points }
    };
    let mut plots = vec![(
        "locks.svg".to_owned(),
        Plot {
            title: "Acquisitions of one lock by threads that do nothing else".to_owned(),
            x: "threads".to_owned(),
            y: "acquisitions per ms".to_owned(),
            lines: table.levels("lock").iter().map(rate).collect(),
        },
    )];
    for threads in numbers(&tables.longer, "threads") {
        plots.push((format!("hand-overs-{threads}.svg"), longer(&tables.longer, threads)));
    }
    plots
}

/// Share of the hand-overs that took longer than some time.
fn longer(table: &Table, threads: u32) -> Plot {
    let threads = threads.to_string();
    let line = |lock: &&str| {
        let rows =
            table.rows.iter().filter(|row| row.factors[0] == *lock && row.factors[1] == threads);
        let point =
            |row: &crate::table::Row| Some(Point::new(row.factors[2].parse().ok()?, row.values[0]));
        Line { name: (*lock).to_owned(), points: rows.filter_map(point).collect() }
    };
    Plot {
        title: format!("Hand-overs between {threads} threads that take longer"),
        x: "ns".to_owned(),
        y: "share".to_owned(),
        lines: table.levels("lock").iter().map(line).collect(),
    }
}

/// The whole report.
pub(super) fn markdown(tables: &LockTables, facts: &[Fact]) -> String {
    let mut out = String::from(
        "# Locks side by side\n\n\
         Made by `seqloom-lab locks`; numbers in [locks.tsv](locks.tsv), \
         [hand-overs.tsv](hand-overs.tsv), [costs.tsv](costs.tsv). Threads do nothing but take one \
         lock, change 32 words and give it back. Medians of the repeats; runs are interleaved. \
         Threads are not pinned and say that they run on nodes in turn, so that NUMA-aware \
         locks do \
         what they do, but there is one node: what they cost shows here, what they gain does \
         not.\n\n",
    );
    markdown_facts(&mut out, facts);
    out.push_str(&noise_note());
    let _ = writeln!(
        out,
        "\n## More threads than cores\n\n![](locks.svg)\n\nAcquisitions per ms by threads:\n"
    );
    rates(&tables.contention, &mut out);
    waiting(&tables.contention, &mut out);
    delays(tables, &mut out);
    costs(&tables.costs, &mut out);
    out
}

fn head(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn rates(table: &Table, out: &mut String) {
    let threads = numbers(table, "threads");
    let rate = |lock: &str, threads: u32| {
        table.median(&[lock, &threads.to_string()], "acquisitions_per_ms").unwrap_or(f64::NAN)
    };
    let mut heads = vec!["lock".to_owned()];
    heads.extend(threads.iter().map(u32::to_string));
    let few = threads.iter().copied().find(|&threads| threads >= 2);
    let most = threads.last().copied();
    heads.push(format!("{} / {}", few.unwrap_or(1), most.unwrap_or(1)));
    let row = |lock: &&str| {
        let mut cells = vec![(*lock).to_owned()];
        cells.extend(threads.iter().map(|&threads| short(rate(lock, threads))));
        let ratio = rate(lock, few.unwrap_or(1)) / rate(lock, most.unwrap_or(1));
        cells.push(if ratio > MEANINGFUL { format!("**{}**", short(ratio)) } else { short(ratio) });
        cells
    };
    markdown_table(out, &heads, &table.levels("lock").iter().map(row).collect::<Vec<_>>());
    out.push_str(
        "\nThe last column is what is lost with most threads; bold where it means something.\n",
    );
}

/// How threads wait, and who gets the lock, at three numbers of threads.
fn waiting(table: &Table, out: &mut String) {
    let threads = numbers(table, "threads");
    let middle = threads.iter().copied().filter(|&n| n == 2 || n == 16);
    let shown: Vec<u32> = middle.chain(threads.last().copied().filter(|&n| n > 16)).collect();
    for n in shown {
        let _ = writeln!(
            out,
            "\nWith {n} threads (fairness is Jain's index; shares are of all acquisitions; the \
            rest is \
             per 1,000 acquisitions):\n"
        );
        let heads = head(&[
            "lock",
            "fairness",
            "least share",
            "most share",
            "same thread again",
            "to own node",
            "switches",
            "taken away",
            "yields",
            "parks",
        ]);
        let row = |lock: &&str| {
            let of = |column| table.median(&[lock, &n.to_string()], column).unwrap_or(f64::NAN);
            let thousands = of("acquisitions_per_ms") * of("wall_s");
            let mut cells = vec![(*lock).to_owned()];
            let plain =
                ["fairness", "least_share", "most_share", "same_thread_share", "local_share"];
            cells.extend(plain.map(|column| short(of(column))));
            let per = ["voluntary_switches", "involuntary_switches", "yields", "parks"];
            cells.extend(per.map(|column| short(of(column) / thousands)));
            cells
        };
        let rows: Vec<_> = table.levels("lock").iter().map(row).collect();
        markdown_table(out, &heads, &rows);
    }
}

fn delays(tables: &LockTables, out: &mut String) {
    out.push_str(
        "\n## Hand-overs\n\nFrom one holder's last step to the first step of the next one, who \
        was waiting \
         by then: nanoseconds, to a quarter of a doubling. Locks that nobody is handed hardly ever \
         have any.\n",
    );
    for threads in numbers(&tables.delays, "threads") {
        let _ = writeln!(out, "\n![](hand-overs-{threads}.svg)\n\nWith {threads} threads:\n");
        let heads = head(&["lock", "hand-overs", "10 %", "50 %", "90 %", "99 %", "longest"]);
        let row = |lock: &&str| {
            let of = |column: &&str| {
                let value = tables.delays.median(&[lock, &threads.to_string()], column);
                format!("{:.0}", value.unwrap_or(0.0))
            };
            let mut cells = vec![(*lock).to_owned()];
            cells.extend(super::DELAYS.iter().map(of));
            cells
        };
        let rows: Vec<_> = tables.delays.levels("lock").iter().map(row).collect();
        markdown_table(out, &heads, &rows);
    }
}

fn costs(table: &Table, out: &mut String) {
    out.push_str(
        "\n## Without contention\n\nNanoseconds to take a lock and give it back: in a loop of \
        one thread; \
         and when the other one of two threads had it last (what the lock adds to passing the \
         turn; \
         negative numbers are noise).\n\n",
    );
    let heads = head(&["lock", "one thread", "ping-pong"]);
    let row = |lock: &&str| {
        let of = |column| short(table.median(&[lock], column).unwrap_or(f64::NAN));
        vec![(*lock).to_owned(), of("uncontended_ns"), of("ping_pong_ns")]
    };
    markdown_table(out, &heads, &table.levels("lock").iter().map(row).collect::<Vec<_>>());
}
