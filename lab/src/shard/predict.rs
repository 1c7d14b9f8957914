//! From measured times of tasks to those of many nodes: scaled, and put on nodes by a list.

use crate::table::Table;

/// The input that is predicted: 30x of a human genome, 310 million pairs of 2x150.
pub(super) const READS: f64 = 620e6;
/// Its shards, of 2 Gbp, and ranges, of 1.5 Gbp; parts of the read ends.
const SHARDS: usize = 47;
const RANGES: usize = 62;
const PARTS: usize = 16;
/// Cores of a node.
pub(super) const CORES: f64 = 16.0;
/// Numbers of nodes.
pub(super) const NODES: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];

/// A level of all that is assumed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Assumed {
    pub(super) name: &'static str,
    /// CPU of an aligned read on a whole genome, in parts of that on the genome that was measured.
    pub(super) genome: f64,
    /// Part of its cores that a task keeps busy.
    pub(super) busy: f64,
    /// What the shared file system gives to all nodes together.
    pub(super) gb_per_s: f64,
    /// What one node reads and writes.
    pub(super) node_gb_per_s: f64,
}

impl Assumed {
    /// The same where the shared file system is no limit: tasks and nodes alone.
    pub(super) fn of_tasks_alone(self) -> Self {
        Self { gb_per_s: f64::INFINITY, ..self }
    }
}

/// Worst, middle, best.
pub(super) const LEVELS: [Assumed; 3] = [
    Assumed { name: "low", genome: 2.0, busy: 0.75, gb_per_s: 1.0, node_gb_per_s: 1.0 },
    Assumed { name: "middle", genome: 1.4, busy: 0.88, gb_per_s: 4.0, node_gb_per_s: 1.0 },
    Assumed { name: "high", genome: 1.0, busy: 0.97, gb_per_s: 16.0, node_gb_per_s: 2.0 },
];

/// The tasks of a verb as they were measured.
#[derive(Debug, Clone, Default)]
pub(super) struct Measured {
    /// CPU of all of them, per read of the input.
    pub(super) cpu_s_per_read: f64,
    /// Bytes that they published, likewise.
    pub(super) bytes_per_read: f64,
    /// CPU of each in parts of the mean, in ascending order.
    pub(super) skew: Vec<f64>,
    /// Time on the clock of all, per read.
    pub(super) wall_s_per_read: f64,
    /// Time on the clock of all.
    pub(super) wall_s: f64,
}

/// What was measured of a verb; `None` if it is not in the table.
pub(super) fn measured(table: &Table, verb: &str) -> Option<Measured> {
    let rows: Vec<_> = table.rows.iter().filter(|row| row.factors[0] == verb).collect();
    let reads = rows.first()?.values[3].max(1.0);
    let sum = |column: usize| rows.iter().map(|row| row.values[column]).sum::<f64>();
    let mean = sum(1) / rows.len() as f64;
    let mut skew: Vec<f64> = rows.iter().map(|row| row.values[1] / mean.max(1e-9)).collect();
    skew.sort_by(f64::total_cmp);
    Some(Measured {
        cpu_s_per_read: sum(1) / reads,
        bytes_per_read: sum(2) / reads,
        skew,
        wall_s_per_read: sum(0) / reads,
        wall_s: sum(0),
    })
}

/// Times of `count` tasks that together take `total_s`, as unequal as those that were measured.
fn tasks(total_s: f64, count: usize, skew: &[f64]) -> Vec<f64> {
    let of = |index: usize| skew.get(index * skew.len() / count).copied().unwrap_or(1.0);
    let parts: f64 = (0..count).map(of).sum();
    (0..count).map(|index| total_s * of(index) / parts).collect()
}

/// When the last of `tasks` ends, each given to the node that is free first, in order of their
/// lengths as a driver would not know them: as they come.
fn makespan(tasks: &[f64], nodes: usize) -> f64 {
    let mut free = vec![0.0_f64; nodes.max(1)];
    for task in tasks {
        if let Some(first) = free.iter_mut().min_by(|a, b| a.total_cmp(b)) {
            *first += task;
        }
    }
    free.into_iter().fold(0.0, f64::max)
}

/// The time of a run, by phase.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Predicted {
    pub(super) nodes: usize,
    pub(super) plan_s: f64,
    pub(super) align_s: f64,
    pub(super) mark_s: f64,
    pub(super) finish_s: f64,
    pub(super) place_s: f64,
    pub(super) gather_s: f64,
    /// One shard, for the bound of gzip.
    pub(super) shard_s: f64,
    /// What limits the longest phase.
    pub(super) limit: &'static str,
}

impl Predicted {
    pub(super) fn wall_s(&self) -> f64 {
        self.plan_s + self.align_s + self.mark_s + self.finish_s + self.place_s + self.gather_s
    }

    /// The part that one node does alone.
    pub(super) fn serial_s(&self) -> f64 {
        self.plan_s + self.gather_s
    }
}

/// What limits a phase of `tasks` that move `bytes`, with its time.
fn phase(tasks: &[f64], nodes: usize, bytes: f64, assumed: Assumed) -> (f64, &'static str) {
    let total: f64 = tasks.iter().sum();
    // A task takes as long as its work, or as its node moves what it reads and writes.
    let moved = |task: f64| bytes * task / total / (assumed.node_gb_per_s * 1e9);
    let longer: Vec<f64> = tasks.iter().map(|&task| task.max(moved(task))).collect();
    let (listed, shared) = (makespan(&longer, nodes), bytes / (assumed.gb_per_s * 1e9));
    let even = longer.iter().sum::<f64>() / nodes as f64;
    let limit = match even > 0.9 * listed {
        true if moved(total) > total => "what a node moves",
        true => "work",
        false => "number and skew of tasks",
    };
    if shared > listed { (shared, "file system") } else { (listed, limit) }
}

/// A run on so many nodes, from the table of [`super::ShardExperiment::run`].
pub(super) fn predict(
    table: &Table,
    is_gzip: bool,
    nodes: usize,
    assumed: Assumed,
) -> Option<Predicted> {
    let of = |verb: &str| measured(table, verb);
    let (align, mark, finish) = (of("align")?, of("mark")?, of("finish")?);
    let (place, gather) = (of("place")?, of("gather")?);
    let node_s = |cpu_s_per_read: f64| READS * cpu_s_per_read / (CORES * assumed.busy);
    let plan_s = if is_gzip {
        // A file is inflated by one core, both files at once.
        READS * of("scan-gzip")?.wall_s_per_read
    } else {
        node_s(of("plan")?.cpu_s_per_read)
    };
    let shards = tasks(node_s(align.cpu_s_per_read) * assumed.genome, SHARDS, &align.skew);
    let marks = tasks(node_s(mark.cpu_s_per_read), PARTS, &mark.skew);
    let ranges = tasks(node_s(finish.cpu_s_per_read), RANGES, &finish.skew);
    let (exchanged, piece) = (READS * align.bytes_per_read, READS * finish.bytes_per_read);
    let (align_s, align_limit) = phase(&shards, nodes, exchanged, assumed);
    let (mark_s, mark_limit) = phase(&marks, nodes, 0.1 * exchanged, assumed);
    let (finish_s, finish_limit) = phase(&ranges, nodes, exchanged + piece, assumed);
    // One core copies a piece.
    let copies = tasks(READS * place.cpu_s_per_read, RANGES, &place.skew);
    let (place_s, place_limit) = phase(&copies, nodes, 2.0 * piece, assumed);
    // A look at each range, whatever is in it.
    let gather_s = RANGES as f64 * gather.wall_s / finish.skew.len() as f64;
    let phases = [
        (align_s, align_limit),
        (mark_s, mark_limit),
        (finish_s, finish_limit),
        (place_s, place_limit),
        (plan_s, "plan, on one node"),
        (gather_s, "gather, on one node"),
    ];
    let longest = phases.into_iter().max_by(|a, b| a.0.total_cmp(&b.0));
    let limit = longest.map_or("", |it| it.1);
    let shard_s = shards.iter().copied().fold(0.0, f64::max);
    Some(Predicted { nodes, plan_s, align_s, mark_s, finish_s, place_s, gather_s, shard_s, limit })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Row;

    fn table() -> Table {
        let mut table = super::super::RESULTS.empty_table();
        let mut add = |verb: &str, wall: f64, cpu: f64, bytes: f64| {
            let factors = vec![verb.to_owned(), verb.to_owned()];
            table.rows.push(Row { factors, values: vec![wall, cpu, bytes, 1e6] });
        };
        add("plan", 0.5, 1.0, 0.0);
        add("scan-gzip", 2.0, 3.0, 0.0);
        (0..4).for_each(|_| add("align", 5.0, 10.0, 5e7));
        (0..16).for_each(|_| add("mark", 0.1, 0.1, 1e4));
        (0..4).for_each(|_| add("finish", 1.0, 2.0, 4e7));
        (0..4).for_each(|_| add("place", 0.1, 0.1, 1e5));
        add("gather", 0.1, 0.1, 1.6e8);
        table
    }

    #[test]
    fn a_list_gives_the_next_task_to_the_node_that_is_free_first() {
        let t = |tasks: &[f64], nodes, expected: f64| {
            assert!((makespan(tasks, nodes) - expected).abs() < 1e-9, "{tasks:?} {nodes}");
        };
        t(&[], 3, 0.0);
        t(&[1.0, 2.0, 3.0], 1, 6.0);
        t(&[1.0, 2.0, 3.0], 2, 4.0);
        t(&[1.0, 2.0, 3.0], 9, 3.0);
        t(&[3.0, 1.0, 1.0, 1.0], 2, 3.0);
    }

    #[test]
    fn tasks_keep_their_sum_and_their_skew() {
        let made = tasks(100.0, 8, &[0.5, 1.5]);
        assert!((made.iter().sum::<f64>() - 100.0).abs() < 1e-9);
        assert!((made[7] / made[0] - 3.0).abs() < 1e-9);
    }

    #[test]
    fn more_nodes_never_take_longer_and_one_takes_all_the_work() {
        for assumed in LEVELS {
            for is_gzip in [false, true] {
                let walls: Vec<f64> = NODES
                    .iter()
                    .map(|&nodes| predict(&table(), is_gzip, nodes, assumed).unwrap().wall_s())
                    .collect();
                assert!(walls.windows(2).all(|pair| pair[1] <= pair[0] + 1e-9), "{walls:?}");
            }
        }
        let one = predict(&table(), false, 1, LEVELS[2]).unwrap();
        // 40 us of align a read on 16 cores, 97 % busy.
        assert!((one.align_s - READS * 40e-6 / (16.0 * 0.97)).abs() < 1e-6, "{one:?}");
        assert_eq!(one.limit, "work");
    }

    #[test]
    fn a_phase_takes_as_long_as_what_is_slowest() {
        let assumed = LEVELS[1];
        let t = |bytes: f64, nodes, expected: f64, limit| {
            let (seconds, is) = phase(&[2.0; 8], nodes, bytes, assumed);
            assert!((seconds - expected).abs() < 1e-9, "{seconds}");
            assert_eq!(is, limit);
        };
        t(0.0, 2, 8.0, "work");
        t(0.0, 16, 2.0, "number and skew of tasks");
        t(32e9, 2, 16.0, "what a node moves");
        t(32e9, 8, 8.0, "file system");
        let alone = phase(&[2.0; 8], 8, 32e9, assumed.of_tasks_alone());
        assert_eq!(alone, (4.0, "what a node moves"));
    }

    #[test]
    fn a_table_without_a_verb_predicts_nothing() {
        let mut table = table();
        table.rows.retain(|row| row.factors[0] != "mark");
        assert!(predict(&table, false, 1, LEVELS[0]).is_none());
    }
}
