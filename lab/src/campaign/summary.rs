//! From records to tables: every program that ran, and the medians of each configuration with
//! their spread. Both are functions of experiment and records alone.

use std::collections::{BTreeMap, BTreeSet};

use super::definition::{Experiment, Join, Subject, TimeBasis};
use super::plan::Purpose;
use super::record::Record;
use super::told::over_instances;
use crate::table::{Row, Table, quantile};

/// What is measured of every program from outside.
const OUTSIDE: [&str; 7] = [
    "reads",
    "wall_s",
    "cpu_s",
    "peak_rss_bytes",
    "voluntary_switches",
    "involuntary_switches",
    "failed",
];
/// Columns that every summary begins with.
const FIRST: [&str; 11] = [
    "repeats",
    "failed_repeats",
    "align_s",
    "wall_s",
    "cpu_s",
    "cores_busy",
    "reads",
    "reads_per_s",
    "peak_rss_bytes",
    "voluntary_switches",
    "involuntary_switches",
];
/// Values of rows that instances have between them, and those of which the slowest counts, as
/// where there are no rows; of others the mean counts.
const ADDED: [&str; 6] = [
    "cpu_s",
    "cores_busy",
    "reads",
    "peak_rss_bytes",
    "voluntary_switches",
    "involuntary_switches",
];
const SLOWEST: [&str; 2] = ["align_s", "wall_s"];
/// Counters of `perf stat` that are ratios.
const RATIOS: [&str; 2] = ["instructions_per_cycle", "cache_miss_share"];
/// Stands for a factor that a row does not have.
const NONE: &str = "-";
/// The factor that says what `align_s` is.
pub(super) const TIME_BASIS: &str = "time_basis";

/// Endings of the columns of spread: quartiles, and the median distance from the median.
pub(super) const SPREADS: [&str; 3] = ["_q1", "_q3", "_mad"];

type Values = BTreeMap<String, f64>;

/// A table with a line for each program that ran, and for each row of a table that it wrote.
#[must_use]
pub(crate) fn runs(experiment: &Experiment, records: &[Record]) -> Table {
    let of_rows = records.iter().flat_map(|r| &r.rows).flat_map(|row| row.values.keys());
    let told = records.iter().flat_map(|record| record.told.keys()).chain(of_rows);
    let told: BTreeSet<&str> = told.map(String::as_str).collect();
    let told = told.into_iter().filter(|name| !OUTSIDE.contains(name));
    let columns: Vec<&str> = OUTSIDE.into_iter().chain(told).collect();
    let keys = experiment.keys();
    let before = ["order", "repeat", "purpose"].into_iter();
    let names = before.chain(keys.iter().map(String::as_str)).chain(["instance", "failure"]);
    let mut table = Table::new(&names.collect::<Vec<_>>(), &columns);
    for record in records {
        let of = |row: Option<&super::told::Row>| {
            let mut factors = vec![record.order.to_string(), record.repeat.to_string()];
            factors.push(record.purpose.name().to_owned());
            factors.extend(key(experiment, record, row));
            factors.push(record.instance.to_string());
            let failure = record.failure.as_deref().unwrap_or(NONE);
            factors.push(failure.replace(['\t', '\n', '\r'], " "));
            factors
        };
        // What is measured from outside overrides what a program says of itself.
        let mut values = record.told.clone();
        values.extend(outside(record));
        let line = |factors, values: &Values| {
            let value = |name: &&str| values.get(*name).copied().unwrap_or(f64::NAN);
            Row { factors, values: columns.iter().map(value).collect() }
        };
        table.rows.push(line(of(None), &values));
        table.rows.extend(record.rows.iter().map(|row| line(of(Some(row)), &row.values)));
    }
    table
}

/// NaN where it is not known.
fn peak_rss_bytes(record: &Record) -> f64 {
    record.peak_rss_bytes.map_or(f64::NAN, |bytes| bytes as f64)
}

fn outside(record: &Record) -> Values {
    let values = [
        record.reads as f64,
        record.wall_s,
        record.cpu_s,
        peak_rss_bytes(record),
        record.voluntary_switches as f64,
        record.involuntary_switches as f64,
        f64::from(u8::from(record.failure.is_some())),
    ];
    OUTSIDE.iter().zip(values).map(|(name, value)| ((*name).to_owned(), value)).collect()
}

/// The levels that distinguish a row of results, in the order of [`Experiment::keys`].
fn key(experiment: &Experiment, record: &Record, row: Option<&super::told::Row>) -> Vec<String> {
    let rule = subject_of(experiment, record).and_then(|subject| subject.rows.as_ref());
    let level = |name: &String| {
        let of_row = rule.and_then(|rule| rule.factors.iter().position(|other| other == name));
        let of_row = of_row.and_then(|at| row?.factors.get(at));
        let at = experiment.factor.iter().position(|factor| factor.name == *name);
        let of_run = at.and_then(|at| record.levels.get(at));
        of_row.or(of_run).map_or(NONE, String::as_str).to_owned()
    };
    let keys = experiment.keys();
    std::iter::once(record.subject.clone()).chain(keys.iter().skip(1).map(level)).collect()
}

fn subject_of<'a>(experiment: &'a Experiment, record: &Record) -> Option<&'a Subject> {
    experiment.subject.iter().find(|subject| subject.name == record.subject)
}

/// Runs of one configuration.
#[derive(Default)]
struct Group<'a> {
    /// By repeat: the programs of the run.
    measured: BTreeMap<u32, Vec<&'a Record>>,
    minimal: BTreeMap<u32, Vec<&'a Record>>,
    counted: BTreeMap<u32, Vec<&'a Record>>,
}

/// Medians of all configurations, in the experiment's order.
#[must_use]
pub(crate) fn summary(experiment: &Experiment, records: &[Record]) -> Table {
    let mut groups: BTreeMap<(usize, Vec<usize>), Group<'_>> = BTreeMap::new();
    for record in records {
        let group = groups.entry(place(experiment, record)).or_default();
        let runs = match record.purpose {
            Purpose::Measured => &mut group.measured,
            Purpose::Minimal => &mut group.minimal,
            Purpose::Counted => &mut group.counted,
        };
        runs.entry(record.repeat).or_default().push(record);
    }
    let loads_s = loads_s(experiment, &groups);
    let mut lines: Vec<(Vec<String>, Values)> = Vec::new();
    for (place, group) in &groups {
        let load_s = load_key(experiment, place, group).and_then(|key| loads_s.get(&key)).copied();
        lines.extend(summary_of(experiment, group, load_s));
    }
    let later: BTreeSet<&String> = lines.iter().flat_map(|(_, values)| values.keys()).collect();
    let is_first = |name: &&&String| !FIRST.contains(&name.as_str());
    let mut columns: Vec<&str> = FIRST.to_vec();
    columns.extend(later.iter().filter(is_first).map(|name| name.as_str()));
    let keys = experiment.keys();
    let names = keys.iter().map(String::as_str).chain([TIME_BASIS]);
    let mut table = Table::new(&names.collect::<Vec<_>>(), &columns);
    for (factors, values) in &lines {
        let value = |name: &&str| values.get(*name).copied().unwrap_or(f64::NAN);
        let values = columns.iter().map(value).collect();
        table.rows.push(Row { factors: factors.clone(), values });
    }
    table
}

/// Where a record's configuration is in the experiment's order.
fn place(experiment: &Experiment, record: &Record) -> (usize, Vec<usize>) {
    let subject = experiment.subject.iter().position(|subject| subject.name == record.subject);
    let level = |(factor, level): (&super::definition::Factor, &String)| {
        factor.levels.0.iter().position(|other| other == level).unwrap_or(usize::MAX)
    };
    let levels = experiment.factor.iter().zip(&record.levels).map(level).collect();
    (subject.unwrap_or(usize::MAX), levels)
}

/// Configurations that load alike: the subject, its levels but for the number of threads, and how
/// many instances load at a time.
type LoadKey = (usize, Vec<usize>, u64);

fn load_key(
    experiment: &Experiment,
    (subject, levels): &(usize, Vec<usize>),
    group: &Group<'_>,
) -> Option<LoadKey> {
    let instances = group.minimal.values().flatten().next()?.instances;
    let mut levels = levels.clone();
    let threads = experiment.factor.iter().position(|factor| factor.name == "threads");
    if let Some(level) = threads.and_then(|at| levels.get_mut(at)) {
        *level = 0;
    }
    Some((*subject, levels, instances))
}

/// How long configurations load: the median of their minimal runs, with the number of threads that
/// has the least. What minimal runs with more threads take longer is what these threads cost.
fn loads_s(
    experiment: &Experiment,
    groups: &BTreeMap<(usize, Vec<usize>), Group<'_>>,
) -> BTreeMap<LoadKey, f64> {
    let mut loads_s = BTreeMap::new();
    for (place, group) in groups {
        let whole = group.minimal.values().filter(|run| is_whole(run));
        let walls_s: Vec<f64> = whole.map(|run| slowest_s(run)).collect();
        let key = load_key(experiment, place, group);
        if let (Some(key), Some(load_s)) = (key, quantile(&walls_s, 0.5)) {
            let least = loads_s.entry(key).or_insert(load_s);
            *least = load_s.min(*least);
        }
    }
    loads_s
}

/// The rows of one configuration, which loads for so long: one, or one for each row of the table
/// that it writes.
fn summary_of(
    experiment: &Experiment,
    group: &Group<'_>,
    load_s: Option<f64>,
) -> Vec<(Vec<String>, Values)> {
    let Some(first) = group.measured.values().chain(group.minimal.values()).flatten().next() else {
        return Vec::new();
    };
    let Some(subject) = subject_of(experiment, first) else { return Vec::new() };
    // By levels: a set of values for each repeat.
    let mut samples: BTreeMap<Vec<String>, Vec<Values>> = BTreeMap::new();
    let failed = group.measured.values().filter(|run| !is_whole(run)).count();
    for run in group.measured.values().filter(|run| is_whole(run)) {
        for (key, values) in samples_of(experiment, subject, run, load_s) {
            samples.entry(key).or_default().push(values);
        }
    }
    if samples.is_empty() {
        samples.insert(key(experiment, first, None), Vec::new());
    }
    let counted = counted(group);
    let line = |(mut factors, repeats): (Vec<String>, Vec<Values>)| {
        let mut values = medians(&repeats, &["align_s", experiment.report.y.as_str()]);
        values.insert("repeats".to_owned(), repeats.len() as f64);
        values.insert("failed_repeats".to_owned(), failed as f64);
        if subject.rows.is_none() {
            values.extend(counted.clone());
        }
        factors.push(subject.time.words().to_owned());
        (factors, values)
    };
    samples.into_iter().map(line).collect()
}

/// Whether all programs of a run ended well.
fn is_whole(run: &[&Record]) -> bool {
    let instances = run.first().map_or(0, |record| record.instances);
    run.len() as u64 == instances && run.iter().all(|record| record.failure.is_none())
}

fn slowest_s(run: &[&Record]) -> f64 {
    run.iter().map(|record| record.wall_s).fold(0.0, f64::max)
}

/// What one run gave: of several programs the slowest counts, what they used is added up.
fn samples_of(
    experiment: &Experiment,
    subject: &Subject,
    run: &[&Record],
    load_s: Option<f64>,
) -> Vec<(Vec<String>, Values)> {
    let Some(first) = run.first() else { return Vec::new() };
    if subject.rows.is_some() {
        return rows_of(experiment, run);
    }
    let mut values = Values::new();
    let names: BTreeSet<&String> = run.iter().flat_map(|record| record.told.keys()).collect();
    for name in names {
        let all: Vec<f64> = run.iter().filter_map(|r| r.told.get(name).copied()).collect();
        values.extend(over_instances(&subject.tell, name, &all).map(|v| (name.clone(), v)));
    }
    let sum = |of: &dyn Fn(&Record) -> f64| run.iter().map(|record| of(record)).sum::<f64>();
    let (wall_s, cpu_s) = (slowest_s(run), sum(&|r| r.cpu_s));
    let align_s = match subject.time {
        TimeBasis::Told => values.get("align_s").copied(),
        TimeBasis::LessMinimalRun => load_s.map(|load_s| wall_s - load_s),
        TimeBasis::Wall => Some(wall_s),
    };
    // A run that is as short as the minimal one has no time that could be determined.
    let align_s = align_s.filter(|align_s| *align_s > 0.0);
    values.remove("align_s");
    values.extend(align_s.map(|align_s| ("align_s".to_owned(), align_s)));
    let reads = values.get("reads").copied().unwrap_or_else(|| sum(&|r| r.reads as f64));
    for (name, value) in [
        ("wall_s", wall_s),
        ("cpu_s", cpu_s),
        ("cores_busy", cpu_s / wall_s.max(1e-9)),
        ("reads", reads),
        ("peak_rss_bytes", sum(&peak_rss_bytes)),
        ("voluntary_switches", sum(&|r| r.voluntary_switches as f64)),
        ("involuntary_switches", sum(&|r| r.involuntary_switches as f64)),
    ] {
        values.insert(name.to_owned(), value);
    }
    add_rate(&mut values);
    vec![(key(experiment, first, None), values)]
}

/// Values as one set: each name's by its join.
fn joined(all: &[Values], join: impl Fn(&str) -> Join) -> Values {
    let names: BTreeSet<&String> = all.iter().flat_map(BTreeMap::keys).collect();
    let value = |name: &String| {
        let of: Vec<f64> = all.iter().filter_map(|values| values.get(name).copied()).collect();
        Some((name.clone(), join(name).of(&of)?))
    };
    names.into_iter().filter_map(value).collect()
}

/// The rows of one run, each key once: rows of one key that a program wrote are as many looks at
/// the same, of which the mean counts; then its instances are one.
fn rows_of(experiment: &Experiment, run: &[&Record]) -> Vec<(Vec<String>, Values)> {
    let mut of_keys: BTreeMap<Vec<String>, Vec<Values>> = BTreeMap::new();
    for record in run {
        let mut of_program: BTreeMap<Vec<String>, Vec<Values>> = BTreeMap::new();
        for row in &record.rows {
            let key = key(experiment, record, Some(row));
            of_program.entry(key).or_default().push(row.values.clone());
        }
        for (key, rows) in of_program {
            of_keys.entry(key).or_default().push(joined(&rows, |_| Join::Mean));
        }
    }
    let over_instances = |name: &str| match name {
        _ if SLOWEST.contains(&name) => Join::Max,
        _ if ADDED.contains(&name) => Join::Sum,
        _ => Join::Mean,
    };
    let sample = |(key, instances): (Vec<String>, Vec<Values>)| {
        let mut values = joined(&instances, over_instances);
        add_rate(&mut values);
        (key, values)
    };
    of_keys.into_iter().map(sample).collect()
}

/// Reads per second of the time of the work.
fn add_rate(values: &mut Values) {
    let positive = |name: &str| values.get(name).copied().filter(|value| *value > 0.0);
    if let (Some(reads), Some(align_s)) = (positive("reads"), positive("align_s")) {
        values.insert("reads_per_s".to_owned(), reads / align_s);
    }
}

/// What `perf stat` counted.
fn counted(group: &Group<'_>) -> Values {
    let mut values = Values::new();
    for run in group.counted.values().filter(|run| is_whole(run)) {
        let names: BTreeSet<&String> = run.iter().flat_map(|record| record.told.keys()).collect();
        for name in names {
            let all: Vec<f64> = run.iter().filter_map(|r| r.told.get(name).copied()).collect();
            let join = if RATIOS.contains(&name.as_str()) { Join::Mean } else { Join::Sum };
            values.extend(join.of(&all).map(|value| (name.clone(), value)));
        }
    }
    values
}

/// The median of each value, and the spread of some.
fn medians(repeats: &[Values], spread: &[&str]) -> Values {
    let names: BTreeSet<&String> = repeats.iter().flat_map(BTreeMap::keys).collect();
    let mut medians = Values::new();
    for name in names {
        let all = repeats.iter().filter_map(|values| values.get(name).copied());
        let all: Vec<f64> = all.filter(|value| value.is_finite()).collect();
        let Some(median) = quantile(&all, 0.5) else { continue };
        medians.insert(name.clone(), median);
        if spread.contains(&name.as_str()) {
            let distances: Vec<f64> = all.iter().map(|value| (value - median).abs()).collect();
            let values = [quantile(&all, 0.25), quantile(&all, 0.75), quantile(&distances, 0.5)];
            let named = SPREADS.iter().zip(values);
            medians.extend(named.filter_map(|(end, value)| Some((format!("{name}{end}"), value?))));
        }
    }
    medians
}

#[cfg(test)]
mod tests {
    use super::super::told::Row;
    use super::*;

    /// A program that wrote these seconds, each as a row of ten reads.
    fn record(repeat: u32, instance: u64, seconds: &[f64]) -> Record {
        let row = |align_s: &f64| Row {
            factors: vec!["a".to_owned()],
            values: [("align_s", *align_s), ("reads", 10.0), ("share", *align_s)]
                .map(|(name, value)| (name.to_owned(), value))
                .into(),
        };
        let rows = seconds.iter().map(row).collect();
        Record { repeat, instance, instances: 2, rows, ..Record::example("r", &["2"]) }
    }

    /// A run of so many threads that took so long.
    fn timed(purpose: Purpose, threads: &str, wall_s: f64) -> Record {
        Record { purpose, wall_s, ..Record::example("m", &["fast", threads]) }
    }

    #[test]
    fn a_load_is_that_of_the_threads_that_load_fastest() {
        let text = r#"
            name = "x"
            title = "t"
            question = "q"
            factor = [{ name = "way", levels = ["fast"] }, { name = "threads", levels = [1, 8] }]
            subject = [{ name = "m", command = ["sh"], time = "less-minimal-run" }]
            [protocol]
            reads = 10
        "#;
        let experiment = Experiment::parse("x.toml", text).unwrap();
        // Eight threads take 2 s to end, with many reads as with one.
        let records = [
            timed(Purpose::Measured, "1", 5.0),
            timed(Purpose::Minimal, "1", 1.0),
            timed(Purpose::Measured, "8", 4.0),
            timed(Purpose::Minimal, "8", 3.0),
        ];
        let table = summary(&experiment, &records);
        let at = table.columns.iter().position(|column| column == "align_s").unwrap();
        let align_s: Vec<f64> = table.rows.iter().map(|row| row.values[at]).collect();
        assert_eq!(align_s, [4.0, 3.0]);
    }

    #[test]
    fn rows_of_all_programs_of_a_run_are_one_repeat() {
        let text = r#"
            name = "x"
            title = "t"
            question = "q"
            factor = [{ name = "threads", levels = [2] }]
            subject = [{ name = "r", command = ["sh"], time = "told",
              rows = { file = "f", factors = ["way"], values = { align_s = "s" } } }]
        "#;
        let experiment = Experiment::parse("x.toml", text).unwrap();
        let first = [record(1, 0, &[1.0, 3.0]), record(1, 1, &[4.0])];
        let second = [record(2, 0, &[2.0]), record(2, 1, &[4.0])];
        let records = [first, second].concat();
        let table = summary(&experiment, &records);
        let [row] = &table.rows[..] else { panic!("one row") };
        let value = |name: &str| {
            let at = table.columns.iter().position(|column| column == name).unwrap();
            row.values[at]
        };
        // The slowest of the means; reads added up; the mean of what is neither.
        let found = ["repeats", "align_s", "reads", "share", "reads_per_s"].map(value);
        assert_eq!(found, [2.0, 4.0, 20.0, 3.0, 5.0]);
    }
}
