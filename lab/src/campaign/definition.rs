//! What an experiment is: a TOML file of factors and levels, subjects, what they are given, and
//! how runs are made and reported.
//!
//! `lab/runs/README.md` describes the file for those who write one. Whatever a file says and
//! nothing would come of is refused, with its place.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::template::Words;

/// An experiment.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Experiment {
    /// One word: the name of its folder.
    pub(crate) name: String,
    /// One line.
    pub(crate) title: String,
    /// The question, and who put it first.
    pub(crate) question: String,
    /// How runs are made.
    #[serde(default)]
    pub(crate) protocol: Protocol,
    /// Values of placeholders.
    #[serde(default)]
    pub(crate) values: BTreeMap<String, Words>,
    /// What is varied.
    #[serde(default)]
    pub(crate) factor: Vec<Factor>,
    /// What else a level stands for.
    #[serde(default)]
    pub(crate) level: Vec<Level>,
    /// Ways to place a program: levels of the factor `placement`.
    #[serde(default)]
    pub(crate) placement: Vec<Placement>,
    /// Files that are made before anything is timed.
    #[serde(default)]
    pub(crate) make: Vec<Make>,
    /// Reads that the instances of a run share.
    pub(crate) input: Option<Input>,
    /// What is run.
    pub(crate) subject: Vec<Subject>,
    /// How results are shown.
    #[serde(default)]
    pub(crate) report: Report,
    /// Settings that make it small, to see that everything works.
    #[serde(default)]
    pub(crate) smoke: BTreeMap<String, Words>,
}

/// How runs are made.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Protocol {
    /// How often all runs are made.
    pub(crate) repeats: u32,
    /// From which their order follows.
    pub(crate) seed: u64,
    /// Weak scaling: reads for each thread of a run.
    pub(crate) reads_per_thread: Option<u64>,
    /// Strong scaling: reads for all threads of a run.
    pub(crate) reads: Option<u64>,
    /// Reads of an instance in a run that shows what loading costs.
    pub(crate) minimal_reads: u64,
    /// After this a run is ended.
    pub(crate) timeout_s: u64,
    /// Whether there are runs of more threads than usable cores.
    pub(crate) oversubscribe: bool,
}

impl Default for Protocol {
    fn default() -> Self {
        Self {
            repeats: 3,
            seed: 1,
            reads_per_thread: None,
            reads: None,
            minimal_reads: 1,
            timeout_s: 3600,
            oversubscribe: false,
        }
    }
}

/// A level of `instances`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InstancesLevel {
    /// `N`: as many programs.
    Count(u64),
    /// `threads/N`: as many as have N threads each.
    ThreadsOfEach(u64),
}

impl InstancesLevel {
    /// Reads a level; nothing if it is neither of the two, or of none.
    pub(crate) fn parse(level: &str) -> Option<Self> {
        let number = |digits: &str| digits.parse::<u32>().ok().filter(|n| *n > 0).map(u64::from);
        match level.strip_prefix("threads/") {
            Some(each) => number(each).map(Self::ThreadsOfEach),
            None => number(level).map(Self::Count),
        }
    }
}

/// What is varied. `threads` is the total of a run, `instances` how many programs share them,
/// `placement` where they are put; others are placeholders and nothing else.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Factor {
    /// Its name, and that of its placeholder.
    pub(crate) name: String,
    /// Its levels, in their order.
    pub(crate) levels: Words,
}

/// Values of placeholders that come with a level of a factor.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Level {
    /// The factor.
    pub(crate) of: String,
    /// The level.
    pub(crate) level: String,
    /// The values.
    pub(crate) values: BTreeMap<String, Words>,
}

/// A way to place a program.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Placement {
    /// Its name: a level of the factor `placement`.
    pub(crate) name: String,
    /// What is before the program; nothing leaves it to the kernel.
    pub(crate) command: Vec<String>,
}

/// A file that is made before anything is timed, and kept.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Make {
    /// The placeholder that stands for its path.
    pub(crate) name: String,
    /// Its path in the folder of files; what it depends on has to be in it.
    pub(crate) file: String,
    /// What makes it; `{file}` is its path.
    #[serde(default)]
    pub(crate) commands: Vec<Vec<String>>,
    /// A file that is there already, instead.
    pub(crate) given: Option<String>,
}

/// FASTQ of which each instance gets its share.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Path; the share is `{reads}`.
    pub(crate) reads: String,
    /// Path of their mates; the share is `{mates}`.
    pub(crate) mates: Option<String>,
}

/// What is run.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Subject {
    /// Its name in tables.
    pub(crate) name: String,
    /// The program and its arguments.
    pub(crate) command: Vec<String>,
    /// Variables of its environment.
    #[serde(default)]
    pub(crate) environment: BTreeMap<String, String>,
    /// What it needs on the PATH besides its program and those that make its files.
    #[serde(default)]
    pub(crate) needs: Vec<String>,
    /// What prints its version.
    #[serde(default)]
    pub(crate) version: Vec<String>,
    /// Levels that it is run with; without a word of a factor, all.
    #[serde(default)]
    pub(crate) only: BTreeMap<String, Words>,
    /// What of a run is the time of its work.
    pub(crate) time: TimeBasis,
    /// Numbers in what it prints or writes.
    #[serde(default)]
    pub(crate) tell: Vec<Tell>,
    /// A table that it writes, of several rows to a run.
    pub(crate) rows: Option<Rows>,
    /// A curve that it writes.
    pub(crate) curve: Option<Curve>,
}

/// What of a run is the time of its work, `align_s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum TimeBasis {
    /// It reports the counter `align_s` itself, of its slowest thread where it can.
    Told,
    /// From start to end, less the median of runs of `minimal_reads` with the number of threads
    /// that has the least: index load excluded, but not what more threads cost.
    LessMinimalRun,
    /// From start to end.
    Wall,
}

impl TimeBasis {
    /// In words, for tables.
    #[must_use]
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Told => "told by the program",
            Self::LessMinimalRun => "wall less a minimal run",
            Self::Wall => "wall",
        }
    }
}

/// How several numbers of one name become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Join {
    /// Added up.
    #[default]
    Sum,
    /// The largest.
    Max,
    /// The mean.
    Mean,
    /// The last.
    Last,
}

impl Join {
    /// The one number; `None` of none.
    #[must_use]
    pub(crate) fn of(self, values: &[f64]) -> Option<f64> {
        let last = *values.last()?;
        Some(match self {
            Self::Sum => values.iter().sum(),
            Self::Max => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            Self::Mean => values.iter().sum::<f64>() / values.len() as f64,
            Self::Last => last,
        })
    }
}

/// A number in what a program prints or writes.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tell {
    /// Its name in tables, unit last.
    pub(crate) counter: String,
    /// `stdout`, `stderr`, or a path.
    pub(crate) from: String,
    /// Text before it, wherever that is.
    pub(crate) after: Option<String>,
    /// Places in JSON, such as `/usage/wall_seconds`.
    #[serde(default)]
    pub(crate) json: Vec<String>,
    /// What it is multiplied by, such as 1e-6 for microseconds.
    #[serde(default = "one")]
    pub(crate) scale: f64,
    /// How several become one in what a program says.
    #[serde(default)]
    pub(crate) join: Join,
    /// The same, of the instances of a run: added up where it says nothing. Of `align_s` the
    /// largest always counts.
    pub(crate) over: Option<Join>,
}

fn one() -> f64 {
    1.0
}

/// A table of tab-separated values that a run writes.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rows {
    /// Its path.
    pub(crate) file: String,
    /// Columns that distinguish rows.
    pub(crate) factors: Vec<String>,
    /// What its columns are called here.
    pub(crate) values: BTreeMap<String, String>,
}

/// A curve in a table of tab-separated values that a run writes.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Curve {
    /// Its path.
    pub(crate) file: String,
    /// The column to the right.
    pub(crate) x: String,
    /// The column upwards: a share.
    pub(crate) share: String,
    /// Whether that is the share of what is beyond x, not within it.
    #[serde(default)]
    pub(crate) beyond: bool,
    /// What is to the right, in words.
    pub(crate) title: String,
}

/// How results are shown.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Report {
    /// What is plotted.
    pub(crate) y: String,
    /// In words.
    pub(crate) y_title: String,
    /// What it is plotted by: a factor whose levels are numbers.
    pub(crate) x: String,
    /// Factors of which each combination has a line.
    pub(crate) lines: Vec<String>,
    /// Factors of which each combination has a plot; those that vary and are nowhere follow.
    pub(crate) panels: Vec<String>,
    /// The rate whose best is listed.
    pub(crate) peak: String,
    /// Counters of seconds that threads waited, added up over threads: parts of the bars.
    pub(crate) waits: Vec<String>,
}

impl Default for Report {
    fn default() -> Self {
        Self {
            y: "align_s".to_owned(),
            y_title: "seconds".to_owned(),
            x: "threads".to_owned(),
            lines: Vec::new(),
            panels: vec!["subject".to_owned()],
            peak: "reads_per_s".to_owned(),
            waits: Vec::new(),
        }
    }
}

/// Why a file is no experiment.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DefinitionError {
    /// It is not TOML, or not of this form.
    #[error("{file}, line {line} ({text}): {what}")]
    Form {
        /// The file.
        file: String,
        /// From 1.
        line: usize,
        /// What is there.
        text: String,
        /// What is wrong.
        what: String,
    },
    /// A value that makes no sense.
    #[error("{file}, {key}: {what}")]
    Value {
        /// The file.
        file: String,
        /// Where.
        key: String,
        /// What is wrong.
        what: String,
    },
}

/// Numbers of the protocol that can be set.
pub(super) const NUMBERS: [&str; 6] =
    ["repeats", "seed", "reads_per_thread", "reads", "minimal_reads", "timeout_s"];

/// The setting of the protocol that is `true` or `false`.
pub(super) const OVERSUBSCRIBE: &str = "oversubscribe";

impl Experiment {
    /// What can be set: factors, values, files, the protocol.
    pub(super) fn settings(&self) -> Vec<&str> {
        let factors = self.factor.iter().map(|factor| factor.name.as_str());
        let values = self.values.keys().map(String::as_str);
        let files = self.make.iter().map(|make| make.name.as_str());
        factors.chain(values).chain(files).chain(NUMBERS).chain([OVERSUBSCRIBE]).collect()
    }

    /// The levels of a factor.
    #[must_use]
    pub(crate) fn levels(&self, factor: &str) -> Option<&[String]> {
        let factor = self.factor.iter().find(|other| other.name == factor)?;
        Some(&factor.levels.0)
    }

    /// Names of what distinguishes rows of results: the subject, factors, and those of subjects'
    /// own tables.
    #[must_use]
    pub(crate) fn keys(&self) -> Vec<String> {
        let mut keys = vec!["subject".to_owned()];
        keys.extend(self.factor.iter().map(|factor| factor.name.clone()));
        for name in self.subject.iter().filter_map(|s| s.rows.as_ref()).flat_map(|r| &r.factors) {
            if !keys.contains(name) {
                keys.push(name.clone());
            }
        }
        keys
    }
}
