//! Counters that the kernel gives through `perf stat`, where that program is: migrations, and where
//! the machine lets its counters be seen, instructions per cycle and cache misses.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use crate::process::printed;
use crate::programs::find;

/// What is requested.
const EVENTS: &str = "task-clock,context-switches,cpu-migrations,page-faults,cycles,instructions,\
    cache-references,cache-misses";

/// What of it this machine gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Perf {
    /// Whether runs can be counted at all.
    pub(crate) works: bool,
    /// What is there and what is not, in words.
    pub(crate) words: String,
}

impl Perf {
    /// Tries it on a program that does nothing.
    #[must_use]
    pub(crate) fn probe() -> Self {
        let no = |words: &str| Self { works: false, words: words.to_owned() };
        if find("perf").is_none() {
            return no(
                "perf is not installed: no migrations, no instructions per cycle, no misses",
            );
        }
        let mut command = Command::new("perf");
        command.args(["stat", "-x", ",", "-e", EVENTS, "--", "true"]);
        let Ok(output) = printed(&mut command) else {
            return no("perf cannot be run: no migrations, instructions per cycle, misses");
        };
        let (ran, text) = (output.status.success(), String::from_utf8_lossy(&output.stderr));
        let counters = counters(&text);
        if !ran || counters.is_empty() {
            return no("perf does not work here: no migrations, instructions per cycle, misses");
        }
        let words = if counters.contains_key("instructions_per_cycle") {
            "by perf stat, in runs of their own that are not timed"
        } else {
            "by perf stat, in runs of their own that are not timed; this machine shows no hardware \
             counters, so instructions per cycle and cache misses are missing"
        };
        Self { works: true, words: words.to_owned() }
    }
}

/// The words before a program whose counters go to a file.
pub(super) fn before(file: &Path) -> Vec<String> {
    before_with(EVENTS, file)
}

/// The same with other events, commas between.
pub(crate) fn before_with(events: &str, file: &Path) -> Vec<String> {
    let file = file.display().to_string();
    ["perf", "stat", "-x", ",", "-e", events, "-o", &file, "--"].map(str::to_owned).to_vec()
}

/// The counters in what `perf stat -x ,` wrote: number, unit, event, and more.
pub(super) fn counters(text: &str) -> BTreeMap<String, f64> {
    let events = events(text);
    let mut counters = BTreeMap::new();
    for (event, counter) in [
        ("cpu-migrations", "cpu_migrations"),
        ("page-faults", "page_faults"),
        ("context-switches", "context_switches"),
        ("cache-misses", "cache_misses"),
    ] {
        counters.extend(events.get(event).map(|number| (counter.to_owned(), *number)));
    }
    for (part, whole, ratio) in [
        ("instructions", "cycles", "instructions_per_cycle"),
        ("cache-misses", "cache-references", "cache_miss_share"),
    ] {
        if let (Some(part), Some(whole)) =
            (events.get(part), events.get(whole).filter(|n| **n > 0.0))
        {
            counters.insert(ratio.to_owned(), part / whole);
        }
    }
    counters
}

/// The events that were counted.
pub(crate) fn events(text: &str) -> BTreeMap<&str, f64> {
    let mut events = BTreeMap::new();
    for line in text.lines() {
        let mut fields = line.split(',');
        let (Some(number), Some(_), Some(event)) = (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        // "<not supported>" and "<not counted>" are no numbers. After a colon is who was
        // counted.
        if let Ok(number) = number.parse::<f64>() {
            events.insert(event.split(':').next().unwrap_or_default(), number);
        }
    }
    events
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_read_and_missing_ones_are_missing() {
        let text = "# started on Sun\n\n0.83,msec,task-clock,825800,100.00,0.133,CPUs utilized\n\
            2,,context-switches,825800,100.00,2.422,K/sec\n7,,cpu-migrations:u,825800,100.00,,\n\
            <not supported>,,cycles,0,100.00,,\n<not supported>,,instructions,0,100.00,,\n";
        let found = counters(text);
        let expected = [("context_switches", 2.0), ("cpu_migrations", 7.0)];
        assert_eq!(found, expected.map(|(name, n)| (name.to_owned(), n)).into());
        let found = counters("100,,cycles,1,1,,\n250,,instructions,1,1,,\n5,,cache-misses,1,1,,\n");
        assert_eq!(found["instructions_per_cycle"], 2.5);
        assert_eq!(found["cache_misses"], 5.0);
        assert!(!found.contains_key("cache_miss_share"));
        assert!(counters("nonsense\n,,\n").is_empty());
    }

    #[test]
    fn a_probe_says_what_there_is() {
        let perf = Perf::probe();
        assert_eq!(perf.works, perf.words.starts_with("by perf"), "{perf:?}");
    }
}
