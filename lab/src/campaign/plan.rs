//! From an experiment to its runs: which configurations there are, which of them this machine
//! cannot make, and in which order the others are made.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::definition::{Experiment, InstancesLevel, Subject};
use crate::random::SplitMix;

/// A subject with a level of each factor.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Configuration {
    /// The subject's place in the experiment.
    pub(crate) subject: usize,
    /// One for each factor, in the experiment's order.
    pub(crate) levels: Vec<String>,
}

/// What a run is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Purpose {
    /// Few reads: what loading costs.
    Minimal,
    /// Its times are results.
    Measured,
    /// Under `perf stat`: its times are not results, its counters are.
    Counted,
}

impl Purpose {
    /// Its name in tables.
    #[must_use]
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Minimal => "minimal",
            Self::Measured => "measured",
            Self::Counted => "counted",
        }
    }
}

/// A run that is to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Planned {
    /// From 1.
    pub(crate) repeat: u32,
    /// What for.
    pub(crate) purpose: Purpose,
    /// Of what.
    pub(crate) configuration: Configuration,
}

/// Configurations that are not run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LeftOut {
    /// Of which subject.
    pub(crate) subject: String,
    /// Why.
    pub(crate) why: String,
    /// How many.
    pub(crate) configurations: usize,
}

/// What is run, and what is not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    /// In the order in which they are made.
    pub(crate) runs: Vec<Planned>,
    /// Configurations that are run.
    pub(crate) configurations: Vec<Configuration>,
    /// Those that are not.
    pub(crate) left_out: Vec<LeftOut>,
}

/// Threads of a run, and the programs that share them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Share {
    /// Threads of the run.
    pub(crate) threads: u64,
    /// Programs that run side by side.
    pub(crate) instances: u64,
}

impl Configuration {
    /// The level of a factor.
    #[must_use]
    pub(crate) fn level<'a>(&'a self, experiment: &Experiment, factor: &str) -> Option<&'a str> {
        let at = experiment.factor.iter().position(|other| other.name == factor)?;
        self.levels.get(at).map(String::as_str)
    }

    /// Threads and instances; 1 where they are no factors, no instances where the threads of the
    /// run do not fill them.
    #[must_use]
    pub(crate) fn share(&self, experiment: &Experiment) -> Share {
        let level = |factor| self.level(experiment, factor);
        let threads = level("threads").and_then(|level| level.parse().ok()).unwrap_or(1);
        let instances = level("instances").and_then(InstancesLevel::parse);
        let instances = match instances.unwrap_or(InstancesLevel::Count(1)) {
            InstancesLevel::Count(count) => count,
            InstancesLevel::ThreadsOfEach(each) if threads % each == 0 => threads / each,
            InstancesLevel::ThreadsOfEach(_) => 0,
        };
        Share { threads, instances }
    }

    /// Reads of an instance.
    #[must_use]
    pub(crate) fn reads_of_instance(&self, experiment: &Experiment, purpose: Purpose) -> u64 {
        let (share, protocol) = (self.share(experiment), &experiment.protocol);
        if purpose == Purpose::Minimal {
            return protocol.minimal_reads;
        }
        let weak = protocol.reads_per_thread.map(|reads| reads.saturating_mul(share.threads));
        let total = weak.or(protocol.reads).unwrap_or(0);
        total / share.instances.max(1)
    }

    /// Subject and levels, as a line.
    #[must_use]
    pub(crate) fn words(&self, experiment: &Experiment) -> String {
        let mut words = vec![experiment.subject[self.subject].name.clone()];
        let level = |(factor, level): (&super::definition::Factor, &String)| {
            format!("{}={level}", factor.name)
        };
        words.extend(experiment.factor.iter().zip(&self.levels).map(level));
        words.join(" ")
    }
}

/// Makes the plan. `obstacle` says what keeps a configuration from being run on this machine,
/// `cores` are those that may be used; with `counted`, all is run once more for its counters.
#[must_use]
pub(crate) fn plan(
    experiment: &Experiment,
    cores: u64,
    counted: bool,
    obstacle: &dyn Fn(&Configuration) -> Option<String>,
) -> Plan {
    let mut plan = Plan::default();
    for configuration in configurations(experiment) {
        let why = unfit(experiment, &configuration, cores).or_else(|| obstacle(&configuration));
        match why {
            None => plan.configurations.push(configuration),
            Some(why) => plan.leave_out(experiment, configuration.subject, why),
        }
    }
    plan.runs = in_order(experiment, &plan.configurations, counted);
    plan
}

impl Plan {
    fn leave_out(&mut self, experiment: &Experiment, subject: usize, why: String) {
        let subject = &experiment.subject[subject].name;
        let same = |left: &&mut LeftOut| left.subject == *subject && left.why == why;
        match self.left_out.iter_mut().find(same) {
            Some(left) => left.configurations += 1,
            None => {
                self.left_out.push(LeftOut { subject: subject.clone(), why, configurations: 1 });
            }
        }
    }

    /// Leaves out what could not be prepared.
    pub(crate) fn retain(
        &mut self,
        experiment: &Experiment,
        obstacle: &dyn Fn(&Configuration) -> Option<String>,
    ) {
        let mut obstacles = BTreeMap::new();
        for configuration in &self.configurations {
            if let Some(why) = obstacle(configuration) {
                obstacles.insert(configuration.clone(), why);
            }
        }
        self.configurations.retain(|configuration| !obstacles.contains_key(configuration));
        self.runs.retain(|run| !obstacles.contains_key(&run.configuration));
        for (configuration, why) in obstacles {
            self.leave_out(experiment, configuration.subject, why);
        }
    }

    /// How many configurations are not run.
    #[must_use]
    pub(crate) fn left_out_count(&self) -> usize {
        self.left_out.iter().map(|left| left.configurations).sum()
    }
}

/// Each subject with each combination of levels that it takes.
fn configurations(experiment: &Experiment) -> Vec<Configuration> {
    let mut all = Vec::new();
    for (at, subject) in experiment.subject.iter().enumerate() {
        let mut combinations = vec![Vec::new()];
        for factor in &experiment.factor {
            let with = |levels: &Vec<String>| {
                let mut longer = Vec::new();
                for level in taken(subject, &factor.name, &factor.levels.0) {
                    longer.push(levels.iter().cloned().chain([level.clone()]).collect());
                }
                longer
            };
            combinations = combinations.iter().flat_map(with).collect::<Vec<Vec<String>>>();
        }
        all.extend(combinations.into_iter().map(|levels| Configuration { subject: at, levels }));
    }
    all
}

/// The levels of a factor that a subject is run with.
fn taken<'a>(subject: &Subject, factor: &str, levels: &'a [String]) -> Vec<&'a String> {
    let only = subject.only.get(factor);
    levels.iter().filter(|level| only.is_none_or(|only| only.0.contains(level))).collect()
}

/// Why a configuration makes no sense here, whatever programs there are.
fn unfit(experiment: &Experiment, configuration: &Configuration, cores: u64) -> Option<String> {
    let Share { threads, instances } = configuration.share(experiment);
    if instances == 0 || threads % instances != 0 {
        return Some("threads cannot be shared equally by instances".to_owned());
    }
    if threads > cores && !experiment.protocol.oversubscribe {
        return Some(format!("more threads than the {cores} cores that may be used"));
    }
    let total = experiment.protocol.reads?;
    (total < instances).then(|| "fewer reads than instances".to_owned())
}

/// Repeats one after the other, each in an order of its own, so that what changes on the machine
/// meanwhile falls on all alike.
fn in_order(
    experiment: &Experiment,
    configurations: &[Configuration],
    counted: bool,
) -> Vec<Planned> {
    let (mut random, mut runs) = (SplitMix::new(experiment.protocol.seed), Vec::new());
    let repeats = experiment.protocol.repeats;
    for repeat in 1..=repeats + u32::from(counted) {
        let mut round = Vec::new();
        for configuration in configurations {
            let mut add = |purpose| {
                round.push(Planned { repeat, purpose, configuration: configuration.clone() });
            };
            let subject = &experiment.subject[configuration.subject];
            if repeat > repeats {
                // The kernel's counters are of a whole run, and belong to none of its rows.
                if subject.rows.is_none() {
                    add(Purpose::Counted);
                }
                continue;
            }
            add(Purpose::Measured);
            if subject.time == super::definition::TimeBasis::LessMinimalRun {
                add(Purpose::Minimal);
            }
        }
        random.shuffle(&mut round);
        runs.append(&mut round);
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaign::template::Words;

    fn experiment(more: &str) -> Experiment {
        let text = format!(
            r#"
            name = "x"
            title = "t"
            question = "q"
            protocol = {{ repeats = 2, reads_per_thread = 10, {more} }}
            factor = [
                {{ name = "threads", levels = [1, 2, 3, 4] }},
                {{ name = "instances", levels = [1, 2] }},
                {{ name = "lock", levels = ["a", "none"] }},
            ]
            subject = [
                {{ name = "s", command = ["sh"], time = "wall", only = {{ lock = ["a"] }} }},
                {{ name = "m", command = ["sh"], time = "less-minimal-run",
                   only = {{ lock = ["none"], instances = [1] }} }},
            ]
            "#
        );
        Experiment::parse("x.toml", &text).unwrap()
    }

    fn nothing(_: &Configuration) -> Option<String> {
        None
    }

    #[test]
    fn every_configuration_is_run_or_left_out_with_a_reason() {
        let experiment = experiment("oversubscribe = false");
        let plan = plan(&experiment, 3, false, &nothing);
        let words: Vec<String> = plan.configurations.iter().map(|c| c.words(&experiment)).collect();
        assert_eq!(
            words,
            [
                "s threads=1 instances=1 lock=a",
                "s threads=2 instances=1 lock=a",
                "s threads=2 instances=2 lock=a",
                "s threads=3 instances=1 lock=a",
                "m threads=1 instances=1 lock=none",
                "m threads=2 instances=1 lock=none",
                "m threads=3 instances=1 lock=none",
            ]
        );
        let left: Vec<(&str, usize)> =
            plan.left_out.iter().map(|left| (left.subject.as_str(), left.configurations)).collect();
        // Threads 1 and 3 for two instances; 4 threads with one and two, and of the other subject.
        assert_eq!(left, [("s", 2), ("s", 2), ("m", 1)]);
        assert_eq!(plan.left_out_count(), 5);
        let two = &plan.configurations[2];
        assert_eq!(two.reads_of_instance(&experiment, Purpose::Measured), 10);
        assert_eq!(two.reads_of_instance(&experiment, Purpose::Minimal), 1);
    }

    #[test]
    fn instances_of_as_many_threads_each_are_run_where_the_threads_fill_them() {
        let mut experiment = experiment("oversubscribe = true");
        experiment.factor[1].levels = Words(vec!["1".to_owned(), "threads/2".to_owned()]);
        let plan = plan(&experiment, 1, false, &nothing);
        let filled = |c: &&Configuration| c.level(&experiment, "instances") == Some("threads/2");
        let shares: Vec<Share> = plan
            .configurations
            .iter()
            .filter(filled)
            .map(|configuration| configuration.share(&experiment))
            .collect();
        assert_eq!(
            shares,
            [Share { threads: 2, instances: 1 }, Share { threads: 4, instances: 2 }]
        );
    }

    #[test]
    fn repeats_are_interleaved_in_an_order_that_follows_from_the_seed() {
        let all = experiment("oversubscribe = true");
        let runs = plan(&all, 1, true, &nothing).runs;
        // 6 configurations of s, 4 of m with a minimal run each; a third round for counters.
        assert_eq!(runs.len(), 2 * (6 + 2 * 4) + 10);
        assert!(runs.is_sorted_by_key(|run| run.repeat), "one repeat after the other");
        let round = |repeat| -> Vec<Planned> {
            let of = runs.iter().filter(|run| run.repeat == repeat && run.repeat < 3);
            of.map(|run| Planned { repeat: 0, ..run.clone() }).collect()
        };
        assert_ne!(round(1), round(2), "each in an order of its own");
        let sorted = |mut runs: Vec<Planned>| {
            runs.sort_by_key(|run| (run.configuration.clone(), run.purpose));
            runs
        };
        assert_eq!(sorted(round(1)), sorted(round(2)), "the same runs");
        assert!(runs[28..].iter().all(|run| run.purpose == Purpose::Counted));
        assert_eq!(plan(&all, 1, true, &nothing).runs, runs, "the same seed");
        let other = plan(&experiment("oversubscribe = true, seed = 2"), 1, true, &nothing).runs;
        assert_ne!(other, runs, "another seed");
    }

    #[test]
    fn what_has_rows_is_not_run_for_counters() {
        let text = r#"
            name = "x"
            title = "t"
            question = "q"
            factor = [{ name = "threads", levels = [1] }]
            subject = [
                { name = "s", command = ["sh"], time = "wall" },
                { name = "r", command = ["sh"], time = "told",
                  rows = { file = "f", factors = [], values = { align_s = "s" } } },
            ]
        "#;
        let experiment = Experiment::parse("x.toml", text).unwrap();
        let runs = plan(&experiment, 1, true, &nothing).runs;
        let counted = runs.iter().filter(|run| run.purpose == Purpose::Counted);
        let counted: Vec<usize> = counted.map(|run| run.configuration.subject).collect();
        assert_eq!((runs.len(), counted), (3 + 3 + 1, vec![0]));
    }

    #[test]
    fn what_cannot_be_prepared_is_left_out_later() {
        let experiment = experiment("oversubscribe = true");
        let mut plan = plan(&experiment, 1, false, &nothing);
        let before = plan.runs.len();
        let why = |c: &Configuration| (c.subject == 1).then(|| "no index".to_owned());
        plan.retain(&experiment, &why);
        assert_eq!(plan.configurations.len(), 6);
        assert_eq!(plan.runs.len(), before - 16);
        assert_eq!(plan.left_out.last().unwrap().configurations, 4);
        assert_eq!(plan.left_out.last().unwrap().why, "no index");
    }
}
