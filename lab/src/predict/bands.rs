//! What a machine that is not at hand would do: bands over what is not known of it.
//!
//! What is known comes from a table of `seqloom-lab parsing`: how long each way to take reads
//! holds a lock, how often it writes to lines that threads share, what it does besides. What is not
//! known is assumed at three levels: what such a write costs from socket to socket, how much a
//! core's second thread adds, what a node's memory carries. All low, all middle and all high make
//! the band. What is changed for the better lowers no rate, so these corners bound the others.

use super::calibrate::LawKind;
use super::machine::Machine;
use super::model::{HandOver, Station, System};
use super::simulate::{Plan, Spread, simulate};
use crate::experiment::TIMES;
use crate::output::short;
use crate::parsing::{COUNTERS, FACTORS};
use crate::table::{Row, Table, TableError};

/// The table that is taken where none is given: that of `lab/runs/parsing`.
pub(crate) const SHIPPED_TABLE: &str = include_str!("../../runs/parsing/parsing.tsv");
/// Laws of locks, as `--validate` fitted them to published curves.
pub(crate) const SHIPPED_LAWS: &str = include_str!("../../runs/prediction/laws.tsv");

/// Factors and columns of the table of laws.
pub(crate) const LAW_FACTORS: [&str; 1] = ["lock"];
/// See [`LAW_FACTORS`].
pub(crate) const LAW_COLUMNS: [&str; 3] = ["per_waiter_ns", "wake_ns", "wake_from"];

/// A level of all that is assumed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Assumed {
    /// A write to a line that another socket's core wrote last.
    pub(crate) remote_write_ns: f64,
    /// What all hardware threads of a core do together, in shares of one that is alone there.
    pub(crate) core_gain: f64,
    /// What the memory of a node gives, in gigabytes per second.
    pub(crate) node_gb_s: f64,
}

/// Low, middle, high.
pub(crate) const LEVELS: [Assumed; 3] = [
    Assumed { remote_write_ns: 400.0, core_gain: 1.1, node_gb_s: 40.0 },
    Assumed { remote_write_ns: 200.0, core_gain: 1.3, node_gb_s: 100.0 },
    Assumed { remote_write_ns: 100.0, core_gain: 1.6, node_gb_s: 200.0 },
];

/// Where the engine's data are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Placement {
    /// On one node.
    OneNode,
    /// Spread over all nodes by pages.
    Interleaved,
    /// A copy on each node.
    Replicated,
}

impl Placement {
    /// All, with their names.
    pub(crate) const ALL: [(Self, &'static str); 3] = [
        (Self::OneNode, "one-node"),
        (Self::Interleaved, "interleave"),
        (Self::Replicated, "replicate"),
    ];

    /// Share of the bytes that come from another node.
    fn remote_share(self, nodes: u32) -> f64 {
        let others = f64::from(nodes.saturating_sub(1)) / f64::from(nodes.max(1));
        if self == Self::Replicated { 0.0 } else { others }
    }
}

/// What is requested.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    /// Numbers of threads.
    pub(crate) threads: Vec<u32>,
    /// Time of the engine per read, on a core of its own.
    pub(crate) engine_us: f64,
    /// Bytes that the engine fetches from memory per read.
    pub(crate) engine_bytes: f64,
    /// The machine.
    pub(crate) machine: Machine,
    /// Where the engine's data are.
    pub(crate) placement: Placement,
    /// What threads that wait do to the lock of O, D, B, L, besides what each acquisition costs.
    pub(crate) lock: HandOver,
    /// Time under the output's lock per read; 0 for outputs that do not meet.
    pub(crate) output_ns: f64,
    /// Reads written at a time.
    pub(crate) output_reads: u32,
    /// Where random numbers start.
    pub(crate) seed: u64,
}

/// A way to take reads, as measured by one thread.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Way {
    /// Its name in the table.
    pub(crate) name: String,
    /// Time that its lock is held, per read.
    pub(crate) held_ns: f64,
    /// Writes to shared lines, per read.
    pub(crate) shared_writes: f64,
    /// Reads for each time that the lock is held.
    pub(crate) hold_reads: f64,
    /// What a thread does per read besides.
    pub(crate) outside_ns: f64,
    /// Whether its lock is one that threads queue for. Claims are not: they cost what a write
    /// costs.
    pub(crate) is_locked: bool,
}

/// The ways of a table, for files of a kind read by units of so many bytes.
///
/// # Errors
/// It is no table of `seqloom-lab parsing`, or of runs that cannot have been.
pub(crate) fn ways(text: &str, files: &str, unit: &str) -> Result<Vec<Way>, TableError> {
    let table = costs(text)?;
    let lock = |way: &str| {
        let of = |row: &&Row| row.factors[2] == way;
        table.rows.iter().find(of).map(|row| row.factors[3].clone())
    };
    let way = |name: &str| {
        let lock = lock(name)?;
        let factors = [files, unit, name, &lock, "1"];
        let of = |column| table.median(&factors, column);
        let reads = of("reads")?;
        let held_ns = of("held_ns_per_read")?;
        Some(Way {
            name: name.to_owned(),
            held_ns,
            shared_writes: of("shared_writes_per_read")?,
            hold_reads: (reads / of("holds")?.max(1.0)).max(1.0),
            outside_ns: (of("cpu_s")? * 1e9 / reads - held_ns).max(0.0),
            is_locked: lock != "none",
        })
    };
    Ok(table.levels("way").into_iter().filter_map(way).collect())
}

/// A table whose values are all amounts.
fn amounts(mut table: Table, text: &str) -> Result<Table, TableError> {
    table.add_tsv(text)?;
    let is_amount = |value: &f64| (0.0..=MOST).contains(value);
    let bad = table.rows.iter().position(|row| !row.values.iter().all(is_amount));
    refused(bad, "a value that is not between 0 and 1e15")?;
    Ok(table)
}

/// A table of `seqloom-lab parsing`.
fn costs(text: &str) -> Result<Table, TableError> {
    let columns: Vec<&str> = TIMES.iter().chain(&COUNTERS).copied().collect();
    let table = amounts(Table::new(&FACTORS, &columns), text)?;
    let place = |name| table.columns.iter().position(|column| column == name);
    if let (Some(reads), Some(holds)) = (place("reads"), place("holds")) {
        let of = |is_bad: &dyn Fn(f64, f64) -> bool| {
            table.rows.iter().position(|row| is_bad(row.values[reads], row.values[holds]))
        };
        refused(of(&|reads, _| reads < 1.0), "no reads")?;
        let is_long = |reads: f64, holds: f64| reads / holds.max(1.0) > f64::from(MOST_HOLD_READS);
        refused(of(&is_long), "more than 65536 reads for each time that the lock is held")?;
    }
    Ok(table)
}

/// The row of this index is refused: rows begin in the second line.
fn refused(row: Option<usize>, what: &'static str) -> Result<(), TableError> {
    row.map_or(Ok(()), |row| Err(TableError { line: row + 2, what }))
}

/// What costs are of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Input {
    /// Kind of files.
    pub(crate) files: String,
    /// Bytes of a unit.
    pub(crate) unit: String,
}

/// The inputs that a table has.
///
/// # Errors
/// As [`ways`].
pub(crate) fn inputs(text: &str) -> Result<Vec<Input>, TableError> {
    let table = costs(text)?;
    let inputs = table.combinations(["files", "unit"]).into_iter();
    let input = |it: [&str; 2]| {
        let [files, unit] = it.map(str::to_owned);
        Input { files, unit }
    };
    Ok(inputs.map(input).collect())
}

/// The law of a lock that threads wait for, from a table of laws; its base is not in there.
///
/// # Errors
/// It is no such table, or has values that no law has.
pub(crate) fn law(
    text: &str,
    lock: &str,
    machine: &Machine,
) -> Result<Option<HandOver>, TableError> {
    let table = amounts(Table::new(&LAW_FACTORS, &LAW_COLUMNS), text)?;
    let of = |column| table.value(&[lock], column);
    let law = || {
        Some(HandOver {
            base_ns: 0.0,
            per_waiter_ns: of("per_waiter_ns")?,
            most_waiters: f64::from(machine.cores),
            wake_ns: of("wake_ns")?,
            wake_from: of("wake_from")?,
        })
    };
    Ok(law())
}

impl Question {
    /// The network of a way with so many threads, at a level.
    #[must_use]
    pub(crate) fn system(&self, way: &Way, threads: u32, level: &Assumed) -> System {
        let machine = &self.machine;
        let slower = f64::from(machine.smt) / level.core_gain.min(f64::from(machine.smt));
        let growth = 1.0 + (slower - 1.0) * machine.sharing(threads);
        let batch = way.hold_reads.round().clamp(1.0, f64::from(u32::MAX)) as u32;
        let taking_ns = way.shared_writes * way.hold_reads * level.remote_write_ns;
        let law = if way.is_locked { self.lock } else { HandOver::constant(0.0) };
        let mut stations = vec![Station {
            name: "input",
            body_ns: way.held_ns * growth,
            batch,
            hand_over: HandOver { base_ns: taking_ns, ..law },
            copies: 1,
        }];
        // The node's memory serves one read at a time, fast: in the mean that is what many at a
        // time, each slower, come to. A byte of another node passes both.
        let remote = self.placement.remote_share(machine.nodes);
        let memory_ns = self.engine_bytes * (1.0 + remote) / level.node_gb_s.max(1e-3);
        if memory_ns > 0.0 {
            let nodes = if self.placement == Placement::OneNode { 1 } else { machine.nodes };
            stations.push(Station {
                name: "memory",
                body_ns: memory_ns,
                batch: MEMORY_READS.min(batch),
                hand_over: HandOver::constant(0.0),
                copies: nodes,
            });
        }
        if self.output_ns > 0.0 {
            stations.push(Station {
                name: "output",
                body_ns: self.output_ns * growth,
                batch: self.output_reads,
                hand_over: HandOver {
                    base_ns: WRITES_PER_HOLD * level.remote_write_ns,
                    ..self.lock
                },
                copies: 1,
            });
        }
        let alone_ns = (self.engine_us * 1e3 + way.outside_ns) * growth;
        let delay_ns = alone_ns * machine.oversubscription(threads) - memory_ns;
        System { threads, delay_ns: delay_ns.max(0.0), stations }
    }

    /// Reads per second: low, middle, high; and what is the limit in the middle.
    #[must_use]
    pub(crate) fn band(&self, way: &Way, threads: u32) -> ([f64; 3], &'static str) {
        // Each thread meets every station a few times, also where few reads of each are enough.
        let output_reads = if self.output_ns > 0.0 { self.output_reads } else { 1 };
        let round = (way.hold_reads.ceil() as u32).max(output_reads);
        let plan = Plan {
            delay: Spread::Exponential,
            service: Spread::Exponential,
            warm_reads: WARM_ROUNDS.saturating_mul(round),
            reads: (READS / threads.max(1)).max(ROUNDS.saturating_mul(round)),
            seed: self.seed,
        };
        let mut limit = "engine";
        let mut rates = [0, 1, 2].map(|index| {
            let system = self.system(way, threads, &LEVELS[index]);
            let outcome = simulate(&system, plan);
            if index == 1 {
                let busy = system.stations.iter().zip(&outcome.busy);
                let busiest = busy.max_by(|a, b| a.1.total_cmp(b.1));
                let full = busiest.filter(|(_, share)| **share > LIMIT_BUSY);
                limit = full.map_or("engine", |(station, _)| station.name);
            }
            outcome.reads_per_s
        });
        // Where nothing but the engine counts, chance decides the order.
        rates.sort_by(f64::total_cmp);
        (rates, limit)
    }

    /// All bands, as a table.
    #[must_use]
    pub(crate) fn answer(&self, ways: &[Way]) -> Table {
        let columns = ["low_reads_per_s", "middle_reads_per_s", "high_reads_per_s"];
        let mut table = Table::new(&["way", "threads", "limit"], &columns);
        for way in ways {
            for &threads in &self.threads {
                let (rates, limit) = self.band(way, threads);
                let factors = vec![way.name.clone(), threads.to_string(), limit.to_owned()];
                table.rows.push(Row { factors, values: rates.to_vec() });
            }
        }
        table
    }

    fn lock_in_words(&self) -> String {
        let lock = &self.lock;
        if lock.per_waiter_ns == 0.0 && lock.wake_ns == 0.0 {
            return "lock of O, D, B, L: threads that wait cost nothing more".to_owned();
        }
        format!(
            "lock of O, D, B, L: {} ns more for each thread that waits, up to {}; {} ns more from \
             {} on; fitted to one program's curves, and far off for others",
            short(lock.per_waiter_ns),
            lock.most_waiters,
            short(lock.wake_ns),
            short(lock.wake_from)
        )
    }

    /// What was assumed, a line each.
    #[must_use]
    pub(crate) fn assumptions(&self) -> Vec<String> {
        let three = |of: fn(&Assumed) -> f64| {
            LEVELS.iter().map(|level| short(of(level))).collect::<Vec<_>>().join(", ")
        };
        let machine = &self.machine;
        let placement =
            Placement::ALL.iter().find(|it| it.0 == self.placement).map_or("", |it| it.1);
        vec![
            "band: low, middle, high of the following three together".to_owned(),
            format!(
                "unknown: a write to a line of another socket: {} ns",
                three(|it| it.remote_write_ns)
            ),
            format!(
                "unknown: all threads of a core do {} times what one alone does",
                three(|it| it.core_gain)
            ),
            format!("unknown: memory of a node: {} GB/s", three(|it| it.node_gb_s)),
            format!(
                "machine: {} nodes, {} cores, {} hardware threads each; more threads than hardware \
                 threads share them, and locks are taken to park those who wait",
                machine.nodes, machine.cores, machine.smt
            ),
            format!(
                "engine: {} us a read on a core of its own, exponentially spread; {} bytes from \
                 memory a read, {placement}; a byte of another node counts twice",
                self.engine_us, self.engine_bytes
            ),
            self.lock_in_words(),
            format!(
                "output: one lock, {} reads at a time, {} ns a read (0: outputs do not meet)",
                self.output_reads, self.output_ns
            ),
            "not in the model: disks, page cache, the clock under load, starved schedulers, \
             ordered output, memory allocators"
                .to_owned(),
        ]
    }
}

/// How a lock's waiters wait, for `--lock`: names here, and in the table of laws.
pub(crate) const LOCK_NAMES: [(&str, Option<(&str, LawKind)>); 4] = [
    ("queueing", None),
    ("tinythread", Some(("TinyThread++ spin", LawKind::Spinning))),
    ("spin", Some(("TBB spin", LawKind::Spinning))),
    ("standard", Some(("TBB standard", LawKind::Sleeping))),
];

/// Reads whose memory is fetched as one: fewer events.
const MEMORY_READS: u32 = 16;
/// As in `parsing`: to take a lock and give it back.
const WRITES_PER_HOLD: f64 = 2.0;
/// Reads simulated for a point, of all threads; rounds of each thread; and those not counted.
const READS: u32 = 60_000;
const ROUNDS: u32 = 6;
const WARM_ROUNDS: u32 = 2;
/// Values of a table are at most this: far from where times are no numbers any more.
const MOST: f64 = 1e15;
/// Reads taken or given back at a time are at most these: a simulation's time grows with them.
pub(crate) const MOST_HOLD_READS: u32 = 65_536;
/// A station that is busy for more than this share of the time is the limit.
const LIMIT_BUSY: f64 = 0.9;

#[cfg(test)]
#[path = "bands_tests.rs"]
mod tests;
