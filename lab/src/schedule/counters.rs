//! What processors count of a schedule: stalls, branch misses, misses of caches (Misale 2014,
//! tables II and III), by `perf stat` in runs of their own, where the machine shows its counters.

use std::fs;
use std::process::Command;

use super::{FACTORS, Factors, Schedules};
use crate::campaign::perf::{before_with, events};
use crate::experiment::{Counters, LabError, Run, Work, perform};
use crate::process::printed;
use crate::programs::find;
use crate::table::Table;

/// The events of `perf stat`, and the columns that they are in.
const EVENTS: [(&str, &str); 10] = [
    ("cycles", "cycles"),
    ("instructions", "instructions"),
    ("stalled-cycles-frontend", "stalled_before_decode"),
    ("stalled-cycles-backend", "stalled_after_decode"),
    ("branches", "branches"),
    ("branch-misses", "branch_misses"),
    ("L1-dcache-loads", "l1d_loads"),
    ("L1-dcache-load-misses", "l1d_misses"),
    ("LLC-loads", "llc_loads"),
    ("LLC-load-misses", "llc_misses"),
];

/// The file of counters.
pub(crate) const COUNTED: &str = "counters.tsv";

/// Its table before any run. A counter that the machine does not show is not a number.
pub(crate) fn empty_counted() -> Table {
    Table::new(&FACTORS, &EVENTS.map(|(_, column)| column))
}

fn names() -> String {
    EVENTS.map(|(event, _)| event).join(",")
}

/// What `perf stat` wrote, in the order of the table's columns.
fn values(text: &str) -> Counters {
    let events = events(text);
    let value = |event: &str| events.get(event).copied().unwrap_or(f64::NAN);
    EVENTS.map(|(event, column)| (column.to_owned(), value(event))).to_vec()
}

/// Why this machine shows no counters, if it shows none.
pub(crate) fn obstacle() -> Option<String> {
    if find("perf").is_none() {
        return Some("perf is not installed".to_owned());
    }
    let mut command = Command::new("perf");
    command.args(["stat", "-x", ",", "-e", &names(), "--", "true"]);
    match printed(&mut command) {
        Err(error) => Some(format!("perf cannot be run: {error}")),
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stderr);
            let has_any = values(&text).iter().any(|(_, value)| value.is_finite());
            (!has_any).then(|| "perf stat counts no hardware event here".to_owned())
        }
    }
}

impl Schedules {
    /// One run of each schedule and engine with the most workers, under `perf stat`.
    ///
    /// # Errors
    /// A run fails.
    pub(super) fn counted(
        &self,
        inputs: &[std::path::PathBuf],
        tell: &mut dyn FnMut(&str),
    ) -> Result<Table, LabError> {
        let (mut table, file) = (empty_counted(), self.work.join("perf.txt"));
        let Some(threads) = self.threads.iter().copied().max() else { return Ok(table) };
        let words = before_with(&names(), &file);
        for engine in &self.engines {
            for &schedule in &self.schedules {
                tell(&format!("counters of {schedule}, {engine}, {threads} threads"));
                let factors = Factors { schedule, engine, threads };
                let command = self.command(inputs, factors, &words);
                let after = || values(&fs::read_to_string(&file).unwrap_or_default());
                let levels = [schedule.name(), engine, &threads.to_string()].map(str::to_owned);
                let work = Work::Program(Box::new(command));
                let mut run = Run { factors: levels.to_vec(), work, after: Box::new(after) };
                perform(&mut run, &mut table)?;
            }
        }
        Ok(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_that_are_not_shown_are_no_numbers() {
        let text = "2000,,cycles,1,100.00,,\n3000,,instructions:u,1,100.00,,\n\
                    <not supported>,,LLC-loads,0,100.00,,\n40,,branch-misses,1,100.00,,\n";
        let found = values(text);
        let of = |name: &str| found.iter().find(|(column, _)| column == name).unwrap().1;
        assert_eq!(found.len(), empty_counted().columns.len());
        assert_eq!((of("cycles"), of("instructions"), of("branch_misses")), (2e3, 3e3, 40.0));
        assert!(of("llc_loads").is_nan() && of("stalled_after_decode").is_nan());
    }
}
