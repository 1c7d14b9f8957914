//! What was measured, and what follows from it for many nodes.

use std::fmt::Write;

use super::predict::{Assumed, CORES, LEVELS, NODES, Predicted, READS, measured, predict};
use crate::output::{Fact, markdown_facts, markdown_table, short};
use crate::table::Table;

/// How many nodes are to be how efficient.
const ENOUGH_NODES: usize = 8;
const ENOUGH_EFFICIENCY: f64 = 0.85;

/// Verbs in the order of a run.
const VERBS: [&str; 7] = ["scan-gzip", "plan", "align", "mark", "finish", "place", "gather"];

/// The whole report.
pub(super) fn markdown(table: &Table, facts: &[Fact]) -> String {
    let mut out = String::from(
        "# A run in shards on many nodes, predicted\n\n\
         Made by `seqloom-lab shard`: every task of one run was timed on this machine, a line each \
         in [shard.tsv](shard.tsv). The rest is arithmetic on these times, no measurement.\n\n",
    );
    markdown_facts(&mut out, facts);
    measurements(table, &mut out);
    assumptions(&mut out);
    for (is_gzip, form) in [(false, "BGZF or plain input"), (true, "gzip input")] {
        predictions(table, (is_gzip, form), &mut out);
    }
    limits(table, &mut out);
    out
}

fn measurements(table: &Table, out: &mut String) {
    let heads = ["verb", "tasks", "CPU us a read", "written bytes a read", "longest / mean"];
    let rows = VERBS.iter().filter_map(|verb| {
        let it = measured(table, verb)?;
        let longest = it.skew.last().copied().unwrap_or(1.0);
        let numbers = [it.cpu_s_per_read * 1e6, it.bytes_per_read, longest].map(short);
        Some([vec![(*verb).to_owned(), it.skew.len().to_string()], numbers.to_vec()].concat())
    });
    out.push_str("\n## Measured\n\n");
    markdown_table(out, &heads.map(str::to_owned), &rows.collect::<Vec<_>>());
}

fn assumptions(out: &mut String) {
    let _ = write!(
        out,
        "\n## Assumed\n\n\
         {} million reads of 150 bases (30x of a human genome) in 47 shards, 16 parts and 62 \
         ranges, on nodes of {CORES} cores. Tasks of a verb are as unequal as those measured, and \
         come to nodes in their order; a verb waits for the one in front of it, shards for the \
         plan. A task takes as long as its work, or as its node needs to move what it reads and \
         writes; a phase, as the shared file system needs for all of that.\n\n",
        READS / 1e6
    );
    let heads = [
        "level",
        "CPU of align, whole genome / measured",
        "cores busy",
        "file system GB/s",
        "node GB/s",
    ];
    let row = |it: &super::predict::Assumed| {
        let numbers = [it.genome, it.busy, it.gb_per_s, it.node_gb_per_s].map(short);
        [vec![it.name.to_owned()], numbers.to_vec()].concat()
    };
    let rows: Vec<_> = LEVELS.iter().map(row).collect();
    markdown_table(out, &heads.map(str::to_owned), &rows);
}

/// Efficiency of a run: what one node takes over what all of them take together.
fn efficiency(one: &Predicted, many: &Predicted) -> f64 {
    one.wall_s() / (many.nodes as f64 * many.wall_s())
}

/// The least rate of a shared file system, in steps of 0.1 GB/s, by which [`ENOUGH_NODES`] nodes
/// are as efficient as is requested, all else as in the middle; `None` if none is enough.
fn enough_gb_per_s(table: &Table) -> Option<f64> {
    let efficiency_with = |gb_per_s: f64| {
        let on = |nodes| predict(table, false, nodes, Assumed { gb_per_s, ..LEVELS[1] });
        Some(efficiency(&on(1)?, &on(ENOUGH_NODES)?))
    };
    let mut rates = (10..=1000).map(|tenths| f64::from(tenths) / 10.0);
    rates.find(|&rate| efficiency_with(rate) >= Some(ENOUGH_EFFICIENCY))
}

fn predictions(table: &Table, (is_gzip, form): (bool, &str), out: &mut String) {
    let of = |nodes: usize| LEVELS.map(|level| predict(table, is_gzip, nodes, level));
    let [Some(low), Some(middle), Some(high)] = of(1) else { return };
    let ones = [low, middle, high];
    let _ = writeln!(out, "\n## {form}\n");
    let heads = [
        "nodes",
        "minutes: low, middle, high",
        "efficiency",
        "efficiency of the tasks alone",
        "limit (middle)",
    ];
    let row = |nodes: &usize| {
        let many: Vec<Predicted> = of(*nodes).into_iter().flatten().collect();
        let joined = |numbers: Vec<String>| numbers.join(", ");
        let minutes = many.iter().map(|it| short(it.wall_s() / 60.0)).collect();
        let pairs = ones.iter().zip(&many);
        let shares = pairs.map(|(one, many)| format!("{:.2}", efficiency(one, many))).collect();
        let alone = LEVELS.iter().filter_map(|level| {
            let on = |nodes| predict(table, is_gzip, nodes, level.of_tasks_alone());
            Some(format!("{:.2}", efficiency(&on(1)?, &on(*nodes)?)))
        });
        let limit = many.get(1).map_or("", |it| it.limit);
        let columns = [joined(minutes), joined(shares), joined(alone.collect()), limit.to_owned()];
        [vec![nodes.to_string()], columns.to_vec()].concat()
    };
    let rows: Vec<_> = NODES.iter().map(row).collect();
    markdown_table(out, &heads.map(str::to_owned), &rows);
    let serial = ones.each_ref().map(|it| format!("{:.1} %", 100.0 * it.serial_s() / it.wall_s()));
    let _ =
        writeln!(out, "\nOne node alone does plan and gather: {} of its wall.", serial.join(", "));
    if !is_gzip && let Some(gb_per_s) = enough_gb_per_s(table) {
        let _ = writeln!(
            out,
            "\n{ENOUGH_NODES} nodes are {ENOUGH_EFFICIENCY} efficient (middle level) with a shared \
             file system of {} GB/s or more.",
            short(gb_per_s)
        );
    }
    if is_gzip {
        let Some(many) = predict(table, true, 64, LEVELS[1]) else { return };
        let bound = 1.3 * (many.plan_s + many.shard_s + many.mark_s + many.finish_s);
        let _ = writeln!(
            out,
            "\nWith 64 nodes, middle level: {} minutes; 1.3 times (scan, the longest shard, mark, \
             finish) are {} minutes.",
            short(many.wall_s() / 60.0),
            short(bound / 60.0)
        );
    }
}

fn limits(table: &Table, out: &mut String) {
    let Some(it) = predict(table, false, 64, LEVELS[1]) else { return };
    let _ = write!(
        out,
        "\n## Limits\n\n\
         * gzip: one core inflates a file, so that the scan takes as long on any number of nodes.\n\
         * The file system: what shards write is read again by `finish`, and what that writes by \
         `place`. Where nodes ask for more than it gives, the phase takes as long as the bytes: \
         efficiency is that of the tasks alone where it gives what all nodes ask for.\n\
         * The number of tasks: 47 shards on 64 nodes leave 17 of them idle, and the longest shard \
         ({} minutes, middle level) is the least that align takes; smaller shards \
         (`--shard-bases`) move that limit. 16 parts are the most nodes that `mark` can use.\n\
         * Skew: bins of repeats and of deep places make some ranges longer than others.\n",
        short(it.shard_s / 60.0)
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Row;

    #[test]
    fn the_report_has_both_forms_where_both_were_measured() {
        let mut table = super::super::RESULTS.empty_table();
        for verb in VERBS {
            let factors = vec![verb.to_owned(), "0".to_owned()];
            let is_small = ["plan", "place", "gather"].contains(&verb);
            let seconds = if is_small { 1e-3 } else { 2.0 };
            table.rows.push(Row { factors, values: vec![seconds, seconds, 1e8, 1e6] });
        }
        let text = markdown(&table, &[Fact::new("machine", "2 cores")]);
        for part in [
            "machine: 2 cores",
            "## BGZF",
            "## gzip",
            "| 64 |",
            "1.3 times",
            "## Limits",
            "GB/s or more",
        ] {
            assert!(text.contains(part), "{part} is missing in {text}");
        }
        table.rows.retain(|row| row.factors[0] != "scan-gzip");
        assert!(!markdown(&table, &[]).contains("## gzip"));
    }
}
