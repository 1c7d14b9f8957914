//! Campaigns that end by themselves in a time that is given, and those that are resumed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::{Duration, Instant};

use super::plan::{Configuration, Purpose};
use super::record::{self, Facts, RUNS, Record};
use super::{Campaign, CampaignError, Prepared};
use crate::experiment::LabError;

/// Why configurations have no runs when the time is over.
const TIME_IS_OVER: &str = "the time that was given was over";

/// The time that is given.
#[derive(Debug, Clone, Copy)]
pub(super) struct Budget(Option<Instant>);

impl Budget {
    /// From now on; none is no limit.
    pub(super) fn new(budget: Option<Duration>) -> Self {
        Self(budget.and_then(|budget| Instant::now().checked_add(budget)))
    }

    pub(super) fn is_over(self) -> bool {
        self.0.is_some_and(|end| Instant::now() >= end)
    }
}

/// Whole runs of an earlier start of a campaign.
#[derive(Default)]
pub(super) struct Earlier {
    pub(super) records: Vec<Record>,
    /// Their lines, as they are in the file.
    pub(super) lines: String,
}

/// Whole runs that the campaign's folder has of the same plan, and its facts.
///
/// # Errors
/// They are of another plan, or cannot be read.
pub(super) fn earlier(
    campaign: &Campaign,
    prepared: &Prepared,
) -> Result<(Facts, Earlier), CampaignError> {
    let (text, facts, records) = record::read(&campaign.out)?;
    let Prepared { experiment, settings, plan, .. } = prepared;
    let is_planned = |record: &Record| {
        let planned = record.order.checked_sub(1).and_then(|at| plan.runs.get(at));
        planned.is_some_and(|planned| {
            let configuration = &planned.configuration;
            (planned.repeat, planned.purpose) == (record.repeat, record.purpose)
                && experiment.subject[configuration.subject].name == record.subject
                && configuration.levels == record.levels
        })
    };
    if text != campaign.text || facts.settings != *settings || !records.iter().all(is_planned) {
        let what = "holds the runs of another plan; give another folder, or remove it";
        return Err(LabError::Prepare(format!("{}: {what}", campaign.out.display())).into());
    }
    let path = campaign.out.join(RUNS);
    let lines = fs::read_to_string(&path).map_err(LabError::file(&path))?;
    let mut programs = BTreeMap::<usize, u64>::new();
    records.iter().for_each(|record| *programs.entry(record.order).or_default() += 1);
    let mut earlier = Earlier::default();
    // Of a run of several programs all lines are there, or it is made once more.
    for (line, record) in lines.lines().zip(records) {
        if programs.get(&record.order) == Some(&record.instances) {
            earlier.lines += line;
            earlier.lines.push('\n');
            earlier.records.push(record);
        }
    }
    Ok((facts, earlier))
}

/// Leaves out what no run was made of.
pub(super) fn leave_out_unmeasured(prepared: &mut Prepared, records: &[Record]) {
    let (experiment, plan) = (&prepared.experiment, &mut prepared.plan);
    let measured: BTreeSet<(&str, &[String])> = records
        .iter()
        .filter(|record| record.purpose == Purpose::Measured)
        .map(|record| (record.subject.as_str(), &record.levels[..]))
        .collect();
    let lacks = |configuration: &Configuration| {
        let subject = experiment.subject[configuration.subject].name.as_str();
        let is_measured = measured.contains(&(subject, &configuration.levels[..]));
        (!is_measured).then(|| TIME_IS_OVER.to_owned())
    };
    plan.retain(experiment, &lacks);
}
