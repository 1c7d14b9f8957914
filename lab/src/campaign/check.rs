//! What a definition has to keep, beyond its form.

use std::collections::BTreeSet;

use super::definition::{Experiment, InstancesLevel, Rows, Subject, Tell, TimeBasis};
use super::template;

/// What is wrong with a definition.
#[derive(Debug)]
pub(super) struct Wrong {
    /// The place in it.
    pub(super) key: String,
    pub(super) what: String,
}

type Checked = Result<(), Wrong>;

/// Placeholders that are known before any run.
const EVERYWHERE: [&str; 7] = ["seqloom", "lab", "testkit", "cores", "seed", "work", "most_reads"];
/// Placeholders of a run and its instances.
const IN_RUNS: [&str; 11] = [
    "threads",
    "threads_total",
    "instances",
    "instance",
    "reads_total",
    "reads_of_instance",
    "reads",
    "mates",
    "node",
    "nodes",
    "run",
];
/// Placeholder of the file that a command makes.
const FILE: &str = "file";

fn wrong<T>(key: impl Into<String>, what: impl Into<String>) -> Result<T, Wrong> {
    Err(Wrong { key: key.into(), what: what.into() })
}

/// Everything, of a definition as its file states it.
pub(super) fn check(experiment: &Experiment) -> Checked {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if experiment.name.is_empty() || !experiment.name.chars().all(is_plain) {
        return wrong("name", "is one word of small letters, digits and '-'");
    }
    check_factors(experiment)?;
    check_settings(experiment)?;
    check_files(experiment)?;
    if experiment.subject.is_empty() {
        return wrong("subject", "there is none");
    }
    let mut names = BTreeSet::new();
    for subject in &experiment.subject {
        let key = format!("subject {}", subject.name);
        if !names.insert(&subject.name) {
            return wrong(key, "is there twice");
        }
        check_subject(experiment, subject)
            .or_else(|Wrong { key: part, what }| wrong(key + ", " + &part, what))?;
    }
    check_used(experiment)?;
    check_report(experiment)?;
    let known = experiment.settings();
    match experiment.smoke.keys().find(|name| !known.contains(&name.as_str())) {
        Some(name) => wrong("smoke", format!("there is no {name}; there are {}", known.join(", "))),
        None => Ok(()),
    }
}

/// What settings of the command line can break, too.
pub(super) fn check_settings(experiment: &Experiment) -> Checked {
    let protocol = &experiment.protocol;
    if protocol.reads.is_some() && protocol.reads_per_thread.is_some() {
        return wrong("protocol", "has either reads or reads_per_thread");
    }
    let least = [
        ("repeats", u64::from(protocol.repeats)),
        ("minimal_reads", protocol.minimal_reads),
        ("timeout_s", protocol.timeout_s),
        ("reads", protocol.reads.unwrap_or(1)),
        ("reads_per_thread", protocol.reads_per_thread.unwrap_or(1)),
    ];
    if let Some((name, _)) = least.iter().find(|(_, number)| *number == 0) {
        return wrong(format!("protocol.{name}"), "is at least 1");
    }
    check_sizes(experiment)?;
    for factor in &experiment.factor {
        let key = format!("factor {}", factor.name);
        let levels = &factor.levels.0;
        if levels.is_empty() || levels.iter().collect::<BTreeSet<_>>().len() < levels.len() {
            return wrong(key, "has at least one level, and none twice");
        }
        let is_count = |level: &String| match factor.name.as_str() {
            "threads" => level.parse::<u32>().is_ok_and(|n| n > 0),
            "instances" => InstancesLevel::parse(level).is_some(),
            _ => true,
        };
        if let Some(level) = levels.iter().find(|level| !is_count(level)) {
            return wrong(key, format!("'{level}' is not a number above 0"));
        }
        let is_placement = |level: &&String| experiment.placement.iter().any(|p| p.name == **level);
        if let Some(level) =
            levels.iter().find(|level| factor.name == "placement" && !is_placement(level))
        {
            return wrong(key, format!("there is no placement '{level}'"));
        }
    }
    Ok(())
}

/// Reads of the largest run can be counted.
fn check_sizes(experiment: &Experiment) -> Checked {
    let most = |factor| {
        let levels = experiment.levels(factor).unwrap_or_default();
        levels.iter().filter_map(|level| level.parse::<u64>().ok()).max().unwrap_or(1)
    };
    let protocol = &experiment.protocol;
    for (name, reads, times) in [
        ("reads_per_thread", protocol.reads_per_thread.unwrap_or(1), most("threads")),
        ("minimal_reads", protocol.minimal_reads, most("instances")),
    ] {
        if reads.checked_mul(times).is_none() {
            return wrong(format!("protocol.{name}"), format!("{reads} times {times} is too many"));
        }
    }
    Ok(())
}

fn is_reserved(name: &str) -> bool {
    EVERYWHERE.iter().chain(&IN_RUNS).chain(&[FILE, "subject"]).any(|reserved| *reserved == name)
}

fn check_factors(experiment: &Experiment) -> Checked {
    let mut names = BTreeSet::new();
    for factor in &experiment.factor {
        let name = factor.name.as_str();
        let key = format!("factor {name}");
        let counts = ["threads", "instances"].contains(&name);
        if !counts && is_reserved(name) {
            return wrong(key, "is the name of something else");
        }
        if !names.insert(name) {
            return wrong(key, "is there twice");
        }
    }
    for level in &experiment.level {
        let levels = experiment.levels(&level.of).unwrap_or_default();
        if !levels.contains(&level.level) {
            let what = format!("factor {} has no level '{}'", level.of, level.level);
            return wrong("level", what);
        }
    }
    // One of them would stand for nothing, or for a factor whose levels stand for nothing then.
    let of_levels = experiment.level.iter().flat_map(|level| level.values.keys());
    let mut keys = experiment.values.keys().chain(of_levels).map(String::as_str);
    match keys.find(|name| is_reserved(name) || names.contains(*name)) {
        Some(name) => wrong(format!("value {name}"), "is the name of something else"),
        None => Ok(()),
    }
}

/// Names of values, of levels' values and of factors that are not numbers of a run.
fn values(experiment: &Experiment) -> BTreeSet<&str> {
    let of_levels = experiment.level.iter().flat_map(|level| level.values.keys());
    let factors = experiment.factor.iter().map(|factor| factor.name.as_str());
    let names = experiment.values.keys().chain(of_levels).map(String::as_str);
    let counts = ["threads", "instances", "placement"];
    names.chain(factors.filter(|name| !counts.contains(name))).chain(EVERYWHERE).collect()
}

fn check_words(words: &[String], known: &BTreeSet<&str>, key: &str) -> Checked {
    for word in words {
        let names = template::names(word).or_else(|error| wrong(key, error.to_string()))?;
        if let Some(name) = names.iter().find(|name| !known.contains(*name)) {
            let all: Vec<&str> = known.iter().copied().collect();
            let what = format!("nothing is known of {{{name}}}; there are {}", all.join(", "));
            return wrong(key, what);
        }
    }
    Ok(())
}

fn check_files(experiment: &Experiment) -> Checked {
    let mut known = values(experiment);
    for make in &experiment.make {
        let key = format!("make {}", make.name);
        if known.contains(make.name.as_str()) || IN_RUNS.contains(&make.name.as_str()) {
            return wrong(key, "is the name of something else");
        }
        if make.commands.is_empty() && make.given.is_none() {
            return wrong(key, "has neither commands nor a file that is given");
        }
        let leaves = make.file.starts_with('/') || make.file.split('/').any(|part| part == "..");
        if make.file.is_empty() || leaves {
            return wrong(key, "file is a path within the folder of files");
        }
        check_words(std::slice::from_ref(&make.file), &known, &format!("{key}, file"))?;
        known.insert(FILE);
        for command in &make.commands {
            let key = format!("{key}, commands");
            if command.is_empty() {
                return wrong(key, "one of them is empty");
            }
            check_words(command, &known, &key)?;
        }
        known.remove(FILE);
        // Files are made of those before them: no circles.
        known.insert(&make.name);
    }
    let input = experiment.input.iter();
    let input: Vec<String> = input
        .flat_map(|input| std::iter::once(&input.reads).chain(&input.mates))
        .cloned()
        .collect();
    check_words(&input, &known, "input")
}

fn check_subject(experiment: &Experiment, subject: &Subject) -> Checked {
    let mut known = values(experiment);
    known.extend(experiment.make.iter().map(|make| make.name.as_str()));
    known.extend(IN_RUNS);
    if experiment.input.is_none() {
        known.remove("reads");
    }
    if experiment.input.as_ref().is_none_or(|input| input.mates.is_none()) {
        known.remove("mates");
    }
    if subject.command.is_empty() {
        return wrong("command", "is empty");
    }
    check_words(&subject.command, &known, "command")?;
    let environment: Vec<String> = subject.environment.values().cloned().collect();
    check_words(&environment, &known, "environment")?;
    check_words(&subject.needs, &known, "needs")?;
    check_words(&subject.version, &known, "version")?;
    for (factor, levels) in &subject.only {
        if levels.0.is_empty() {
            return wrong(format!("only.{factor}"), "is empty: the subject would never be run");
        }
        let all = experiment.levels(factor).unwrap_or_default();
        if let Some(level) = levels.0.iter().find(|level| !all.contains(level)) {
            return wrong("only", format!("there is no {factor} '{level}'"));
        }
    }
    let has_reads = experiment.protocol.reads.or(experiment.protocol.reads_per_thread).is_some();
    if subject.time == TimeBasis::LessMinimalRun && !has_reads {
        return wrong("time", "a minimal run needs reads or reads_per_thread in [protocol]");
    }
    let rows = subject.rows.as_ref();
    rows.map_or(Ok(()), |rows| check_rows(subject, rows))?;
    let files = rows.map(|rows| &rows.file).into_iter();
    let files: Vec<String> =
        files.chain(subject.curve.as_ref().map(|curve| &curve.file)).cloned().collect();
    check_words(&files, &known, "rows or curve")?;
    let mut counters = BTreeSet::new();
    if let Some(tell) = subject.tell.iter().find(|tell| !counters.insert(&tell.counter)) {
        return wrong(format!("tell {}", tell.counter), "is there twice");
    }
    subject.tell.iter().try_for_each(|tell| check_tell(tell, &known))
}

/// A subject whose results are rows has no others: what is reported of a whole run, and the run's
/// own time, belong to none of them.
fn check_rows(subject: &Subject, rows: &Rows) -> Checked {
    if !subject.tell.is_empty() {
        return wrong("tell", "is for subjects without rows, whose values are all that counts");
    }
    if subject.time != TimeBasis::Told {
        return wrong("time", "is told where there are rows: a run's time is not that of a row");
    }
    if !rows.values.contains_key("align_s") {
        return wrong("rows", "values has no align_s, the time that is told");
    }
    Ok(())
}

/// Files and placements that nothing names.
fn check_used(experiment: &Experiment) -> Checked {
    let placed = experiment.levels("placement").unwrap_or_default();
    if let Some(unused) = experiment.placement.iter().find(|p| !placed.contains(&p.name)) {
        return wrong(format!("placement {}", unused.name), "is no level of a factor placement");
    }
    let of_levels = experiment.level.iter().flat_map(|level| level.values.values());
    let mut words: Vec<&String> =
        experiment.values.values().chain(of_levels).flat_map(|words| &words.0).collect();
    for make in &experiment.make {
        words.extend(make.commands.iter().flatten().chain([&make.file]));
    }
    words.extend(experiment.input.iter().flat_map(|i| i.mates.iter().chain([&i.reads])));
    words.extend(experiment.placement.iter().flat_map(|placement| &placement.command));
    for subject in &experiment.subject {
        words.extend(subject.command.iter().chain(subject.environment.values()));
        words.extend(subject.needs.iter().chain(&subject.version));
        words.extend(subject.tell.iter().map(|tell| &tell.from));
        words.extend(subject.rows.iter().map(|rows| &rows.file));
        words.extend(subject.curve.iter().map(|curve| &curve.file));
    }
    // What is no template stands for itself, in scripts.
    let named: BTreeSet<&str> =
        words.iter().flat_map(|word| template::names(word).unwrap_or_default()).collect();
    match experiment.make.iter().find(|make| !named.contains(make.name.as_str())) {
        Some(make) => wrong(format!("make {}", make.name), "is a file that nothing names"),
        None => Ok(()),
    }
}

fn check_tell(tell: &Tell, known: &BTreeSet<&str>) -> Checked {
    let key = format!("tell {}", tell.counter);
    if tell.after.is_some() != tell.json.is_empty() {
        return wrong(key, "has either the text after which a number stands, or places in JSON");
    }
    if tell.counter == "align_s" && tell.over.is_some() {
        return wrong(key + ", over", "is for other counters: of times the slowest counts");
    }
    if tell.after.as_ref().is_some_and(String::is_empty) || !tell.scale.is_normal() {
        return wrong(key, "has an empty text, or a scale that multiplies to nothing");
    }
    check_words(std::slice::from_ref(&tell.from), known, &key)
}

fn check_report(experiment: &Experiment) -> Checked {
    let (report, keys) = (&experiment.report, experiment.keys());
    let numbers = experiment.levels(&report.x);
    let is_number = |level: &String| level.parse::<f64>().is_ok_and(|number| number > 0.0);
    if !numbers.is_some_and(|levels| levels.iter().all(is_number)) {
        return wrong("report.x", format!("'{}' is no factor of numbers above 0", report.x));
    }
    check_counters(experiment)?;
    match report.lines.iter().chain(&report.panels).find(|name| !keys.contains(name)) {
        Some(name) => {
            wrong("report", format!("there is no factor {name}; there are {}", keys.join(", ")))
        }
        None => Ok(()),
    }
}

/// What a report shows has to be in rows where all results are. A program without rows may print
/// any counter, which its file does not say.
fn check_counters(experiment: &Experiment) -> Checked {
    let rows: Option<Vec<&Rows>> = experiment.subject.iter().map(|s| s.rows.as_ref()).collect();
    let Some(rows) = rows else { return Ok(()) };
    let report = &experiment.report;
    let of_waits = report.waits.iter().map(|name| ("report.waits", name));
    let shown = [("report.y", &report.y), ("report.peak", &report.peak)].into_iter();
    let is_told = |name: &String| {
        name == "reads_per_s" || rows.iter().any(|rows| rows.values.contains_key(name))
    };
    match shown.chain(of_waits).find(|(_, name)| !is_told(name)) {
        Some((key, name)) => wrong(key, format!("no subject tells {name}")),
        None => Ok(()),
    }
}
