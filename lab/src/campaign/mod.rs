//! Campaigns: an experiment that a TOML file describes, from its plan to its report.
//!
//! [`definition`] is what the file says, [`plan`] makes runs of it, [`runner`] makes one run,
//! [`record`] keeps what it gave, [`summary`] makes tables of that, [`report`] a page. A folder of
//! results keeps the file, the facts and the records; all else is made from these three, so that
//! the same folder gives the same page.

mod check;
mod curves;
pub(crate) mod definition;
mod host;
mod html;
mod make;
pub(crate) mod measured;
mod parse;
pub(crate) mod perf;
pub(crate) mod plan;
pub(crate) mod record;
pub(crate) mod report;
mod resume;
mod runner;
mod scope;
pub(crate) mod settings;
mod shares;
pub(crate) mod shipped;
pub(crate) mod summary;
pub(crate) mod template;
mod told;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use seqloom_runtime::error::{Class, RunError};

use self::definition::{DefinitionError, Experiment};
use self::host::Host;
use self::perf::Perf;
use self::plan::{Configuration, Plan, Purpose};
use self::record::{EXPERIMENT, Facts, Log, RUNS, Record, SCHEMA};
use self::resume::{Budget, Earlier};
use self::runner::Runner;
use self::scope::{Scope, Site};
use self::template::Words;
use crate::experiment::LabError;
use crate::output::ready_threads_of_others;
use crate::process::printed;
use crate::programs;

/// Names of the files that are made from what is kept.
pub(crate) const MADE: [&str; 4] = ["runs.tsv", "summary.tsv", "results.json", "report.html"];

/// A setting: a name, and its words.
pub(crate) type Setting = (String, Vec<String>);

/// A campaign that is to be run.
#[derive(Debug, Clone)]
pub(crate) struct Campaign {
    /// Where its file came from.
    pub(crate) file: String,
    /// The file.
    pub(crate) text: String,
    /// What is set besides.
    pub(crate) settings: Vec<Setting>,
    /// Whether it is made small first, by its own `[smoke]`.
    pub(crate) smoke: bool,
    /// Folder of results.
    pub(crate) out: PathBuf,
    /// Folder of files that are made; they are kept.
    pub(crate) work: PathBuf,
    /// The product.
    pub(crate) seqloom: PathBuf,
    /// This program.
    pub(crate) lab: PathBuf,
    /// The program that simulates genomes and reads.
    pub(crate) testkit: PathBuf,
    /// The command line.
    pub(crate) command_line: Vec<String>,
    /// Whether all is run once more for the kernel's counters, where there are any.
    pub(crate) counted: bool,
    /// Time after which it ends by itself; what was not run by then is left out by name.
    pub(crate) budget: Option<Duration>,
    /// Whether the runs that the folder has of the same plan are kept, and those missing made.
    pub(crate) resumes: bool,
}

/// How a campaign ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Programs that ran.
    pub(crate) programs: usize,
    /// Those that failed.
    pub(crate) failed: usize,
    /// Configurations that were left out.
    pub(crate) left_out: usize,
}

/// A campaign with the machine looked at.
struct Prepared {
    experiment: Experiment,
    settings: Vec<Setting>,
    host: Host,
    site: Site,
    perf: Perf,
    plan: Plan,
}

/// Reads an experiment and applies settings.
fn defined(file: &str, text: &str, settings: &[Setting]) -> Result<Experiment, DefinitionError> {
    let mut experiment = Experiment::parse(file, text)?;
    for (name, words) in settings {
        let set = settings::set(&mut experiment, name, &Words(words.clone()));
        let key = format!("set {name}");
        set.map_err(|what| DefinitionError::Value { file: file.to_owned(), key, what })?;
    }
    Ok(experiment)
}

impl Campaign {
    /// Settings of the file's `[smoke]`, then those of the command line.
    fn all_settings(&self) -> Result<Vec<Setting>, DefinitionError> {
        let experiment = Experiment::parse(&self.file, &self.text)?;
        let small = experiment.smoke.into_iter().filter(|_| self.smoke);
        let small = small.map(|(name, words)| (name, words.0));
        Ok(small.chain(self.settings.iter().cloned()).collect())
    }

    fn prepare(&self) -> Result<Prepared, CampaignError> {
        let settings = self.all_settings()?;
        let experiment = defined(&self.file, &self.text, &settings)?;
        let (host, nodes) = host::this_machine(Path::new("/")).map_err(LabError::Prepare)?;
        let absolute = |path: &Path| std::path::absolute(path).unwrap_or(path.to_path_buf());
        let mut site = Site {
            seqloom: self.seqloom.clone(),
            lab: self.lab.clone(),
            testkit: self.testkit.clone(),
            cores: host.usable_cores as u64,
            nodes,
            work: absolute(&self.work),
            most_reads: 0,
        };
        let perf = if self.counted {
            Perf::probe()
        } else {
            Perf { works: false, words: "not asked for".to_owned() }
        };
        let obstacles = Obstacles::new(&experiment, &site);
        let plan = plan::plan(&experiment, site.cores, perf.works, &|c| obstacles.of(c));
        site.most_reads = most_reads(&experiment, &plan);
        Ok(Prepared { experiment, settings, host, site, perf, plan })
    }

    /// The plan in words, with the command line of the first program of each run.
    ///
    /// # Errors
    /// The definition is none, or the machine cannot be looked at.
    pub(crate) fn dry_run(&self) -> Result<String, CampaignError> {
        let Prepared { experiment, site, perf, plan, .. } = self.prepare()?;
        let mut text = format!("{}: {} runs", experiment.name, plan.runs.len());
        text += &format!(" of {} configurations\n", plan.configurations.len());
        text += &format!("counters: {}\n", perf.words);
        let mut made = BTreeSet::new();
        for configuration in &plan.configurations {
            let scope = Scope::new(&experiment, configuration, &site);
            for make in scope.files() {
                if let (Ok(path), Ok(commands)) = (scope.path_of(make), scope.commands_of(make))
                    && made.insert(path.clone())
                {
                    let how = if make.given.is_some() { "given" } else { "make" };
                    text += &format!("{how} {}\n", path.display());
                    let commands = commands.iter().filter(|_| make.given.is_none());
                    commands.for_each(|words| text += &format!("    {}\n", in_one_line(words)));
                }
            }
        }
        for (order, planned) in plan.runs.iter().enumerate() {
            let configuration = &planned.configuration;
            let (repeat, purpose) = (planned.repeat, planned.purpose);
            text += &format!("run {} {repeat} {}", order + 1, purpose.name());
            text += &format!(" {}\n", configuration.words(&experiment));
            let words = first_command(&experiment, &site, configuration, purpose);
            text += &format!("    {words}\n");
        }
        text += &left_out_words(&plan);
        Ok(text)
    }

    /// Makes files and runs, and writes the report; `progress` is called with what is done next,
    /// and `stop` said so.
    ///
    /// # Errors
    /// The definition is none, the folder cannot be written, or the campaign was stopped. A
    /// program that fails is no error: it is counted.
    pub(crate) fn run(
        &self,
        stop: &(dyn Fn() -> bool + Sync),
        tell: &mut dyn FnMut(&str),
    ) -> Result<Outcome, CampaignError> {
        let budget = Budget::new(self.budget);
        let ends = || stop() || budget.is_over();
        let mut prepared = self.prepare()?;
        // Hours of work are not written over by the same command once more.
        let there = fs::metadata(self.out.join(RUNS)).is_ok_and(|file| file.len() > 0);
        if there && !self.resumes {
            let what = "holds the runs of a campaign; give another folder, or remove it";
            return Err(LabError::Prepare(format!("{}: {what}", self.out.display())).into());
        }
        for folder in [&self.out, &prepared.site.work] {
            fs::create_dir_all(folder).map_err(LabError::file(folder))?;
        }
        let out = std::path::absolute(&self.out).unwrap_or(self.out.clone());
        let (experiment, site) = (&prepared.experiment, &prepared.site);
        let failed = make::make_all(experiment, &prepared.plan, site, &ends, tell);
        if stop() {
            return Err(CampaignError::Stopped);
        }
        let lacks = |c: &Configuration| make::lacks(&Scope::new(experiment, c, site), &failed);
        prepared.plan.retain(experiment, &lacks);
        tell(left_out_words(&prepared.plan).trim_end());
        let mut facts = self.facts(&prepared);
        let mut earlier = Earlier::default();
        if there {
            let (were, runs) = resume::earlier(self, &prepared)?;
            facts.began = were.began;
            facts.ready_threads = facts.ready_threads.max(were.ready_threads);
            earlier = runs;
        }
        let path = out.join(EXPERIMENT);
        fs::write(&path, &self.text).map_err(LabError::file(&path))?;
        record::write_facts(&out, &facts)?;
        let records = run_all(&prepared, (&out, earlier), (stop, budget), tell)?;
        resume::leave_out_unmeasured(&mut prepared, &records);
        facts.left_out = prepared.plan.left_out.clone();
        facts.ended = Some(host::now());
        record::write_facts(&out, &facts)?;
        report(&out)?;
        let failed = records.iter().filter(|record| record.failure.is_some()).count();
        let left_out = prepared.plan.left_out_count();
        Ok(Outcome { programs: records.len(), failed, left_out })
    }

    fn facts(&self, prepared: &Prepared) -> Facts {
        let Prepared { experiment, settings, host, site, perf, plan } = prepared;
        let mut versions = BTreeMap::new();
        for configuration in &plan.configurations {
            let scope = Scope::new(experiment, configuration, site);
            let subject = scope.subject();
            if subject.version.is_empty() || versions.contains_key(&subject.name) {
                continue;
            }
            let words = scope.words(&subject.version).ok();
            if let Some(said) = words.and_then(|words| programs::version(&words)) {
                versions.insert(subject.name.clone(), said);
            }
        }
        Facts {
            schema: SCHEMA,
            experiment: experiment.name.clone(),
            smoke: self.smoke,
            settings: settings.clone(),
            began: host::now(),
            ended: None,
            command_line: self.command_line.clone(),
            host: host.clone(),
            versions,
            counters: perf.words.clone(),
            ready_threads: if self.smoke { 0.0 } else { ready_threads_of_others() },
            planned_runs: plan.runs.len(),
            left_out: plan.left_out.clone(),
        }
    }
}

/// Why a campaign ended early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CampaignError {
    /// The file is no experiment, or cannot be set so.
    #[error(transparent)]
    Definition(#[from] DefinitionError),
    /// A file cannot be read or written, or what is needed cannot be made.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// It was stopped. What was recorded by then is kept.
    #[error("stopped; `seqloom-lab report` shows the runs that were made")]
    Stopped,
}

impl RunError for CampaignError {
    fn class(&self) -> Class {
        match self {
            Self::Definition(_) => Class::Usage,
            Self::Lab(lab) => lab.class(),
            Self::Stopped => Class::Interrupted,
        }
    }
}

fn run_all(
    prepared: &Prepared,
    (out, earlier): (&Path, Earlier),
    (stop, budget): (&(dyn Fn() -> bool + Sync), Budget),
    tell: &mut dyn FnMut(&str),
) -> Result<Vec<Record>, CampaignError> {
    let Prepared { experiment, site, plan, .. } = prepared;
    let ends = || stop() || budget.is_over();
    let (folder, out_of_time) = (site.work.join("runs"), BTreeSet::new());
    let mut runner = Runner { experiment, site, folder, stop: &ends, out_of_time };
    let (mut log, mut all) = (Log::create(out, &earlier.lines)?, earlier.records);
    let done: BTreeSet<usize> = all.iter().map(|record| record.order).collect();
    for (order, planned) in plan.runs.iter().enumerate() {
        let words = planned.configuration.words(experiment);
        let (number, count) = (order + 1, plan.runs.len());
        if done.contains(&number) {
            continue;
        }
        if budget.is_over() {
            break;
        }
        tell(&format!("run {number} of {count}: {} {words}", planned.purpose.name()));
        let records = runner.run(number, planned);
        if stop() {
            return Err(CampaignError::Stopped);
        }
        // It was ended with the time that was given.
        if budget.is_over() && records.iter().any(|record| record.failure.is_some()) {
            break;
        }
        for record in &records {
            if let Some(why) = &record.failure {
                tell(&format!("run {number} failed: {why}"));
            }
            log.add(record)?;
        }
        all.extend(records);
    }
    Ok(all)
}

/// Reads of the largest run.
fn most_reads(experiment: &Experiment, plan: &Plan) -> u64 {
    let reads = |configuration: &Configuration| {
        let share = configuration.share(experiment);
        configuration.reads_of_instance(experiment, Purpose::Measured) * share.instances
    };
    plan.configurations.iter().map(reads).max().unwrap_or(0)
}

/// The command of a run's first program, in one line; reads stand for their share.
fn first_command(
    experiment: &Experiment,
    site: &Site,
    configuration: &Configuration,
    purpose: Purpose,
) -> String {
    let mut scope = Scope::new(experiment, configuration, site);
    let reads = configuration.reads_of_instance(experiment, purpose);
    scope.set_instance(0, reads, Path::new("RUN"));
    for name in ["reads", "mates"] {
        scope.run.insert(name, Words::one(format!("{}_OF_{reads}", name.to_uppercase())));
    }
    let words = scope.words(scope.placement()).and_then(|mut words| {
        words.extend(scope.words(&scope.subject().command)?);
        Ok(words)
    });
    words.map_or_else(|error| error.to_string(), |words| in_one_line(&words))
}

/// Words in one line, those with blanks or line ends in quotes.
fn in_one_line(words: &[String]) -> String {
    let word = |word: &String| {
        let is_plain = !word.is_empty() && !word.contains([' ', '\t', '\n', '"', '\'']);
        if is_plain { word.clone() } else { format!("{word:?}") }
    };
    words.iter().map(word).collect::<Vec<_>>().join(" ")
}

fn left_out_words(plan: &Plan) -> String {
    let mut text = String::new();
    for left in &plan.left_out {
        let (subject, why, count) = (&left.subject, &left.why, left.configurations);
        text += &format!("left out: {count} of {subject}: {why}\n");
    }
    text + &format!("{} configurations are left out\n", plan.left_out_count())
}

/// What this machine lacks, looked up once.
struct Obstacles<'a> {
    experiment: &'a Experiment,
    site: &'a Site,
    programs: RefCell<BTreeMap<String, bool>>,
    placements: RefCell<BTreeMap<Vec<String>, Option<String>>>,
}

impl<'a> Obstacles<'a> {
    fn new(experiment: &'a Experiment, site: &'a Site) -> Self {
        Self { experiment, site, programs: RefCell::default(), placements: RefCell::default() }
    }

    /// What keeps a configuration from being run.
    fn of(&self, configuration: &Configuration) -> Option<String> {
        let mut scope = Scope::new(self.experiment, configuration, self.site);
        // A minimal set of values: which nodes there are.
        scope.set_instance(0, 0, Path::new(""));
        let programs = match scope.programs() {
            Ok(programs) => programs,
            Err(error) => return Some(error.to_string()),
        };
        for program in programs {
            let mut known = self.programs.borrow_mut();
            let is_there =
                known.entry(program.clone()).or_insert_with(|| programs::is_there(&program));
            if !*is_there {
                return Some(format!("{program} is not installed"));
            }
        }
        let words = scope.words(scope.placement()).ok().filter(|words| !words.is_empty())?;
        let mut known = self.placements.borrow_mut();
        known.entry(words.clone()).or_insert_with(|| refused(&words)).clone()
    }
}

/// Why the machine does not let programs be placed so: containers often forbid it.
fn refused(words: &[String]) -> Option<String> {
    let mut command = Command::new(&words[0]);
    let output = printed(command.args(&words[1..]).arg("true"));
    let said = match output {
        Ok(output) if output.status.success() => return None,
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().replace('\n', " / "),
        Err(error) => error.to_string(),
    };
    Some(format!("{} is refused here: {said}", words.join(" ")))
}

/// Makes tables and the page of a folder from what is kept there.
///
/// # Errors
/// A file cannot be read or written, or is none of a campaign.
pub(crate) fn report(folder: &Path) -> Result<(), CampaignError> {
    for (name, text) in MADE.iter().zip(made(folder)?) {
        let path = folder.join(name);
        fs::write(&path, text).map_err(LabError::file(&path))?;
    }
    Ok(())
}

/// Texts of the files of [`MADE`], of what a folder keeps.
fn made(folder: &Path) -> Result<[String; MADE.len()], CampaignError> {
    let (text, facts, records) = record::read(folder)?;
    let file = folder.join(EXPERIMENT).display().to_string();
    let experiment = defined(&file, &text, &facts.settings)?;
    let runs = summary::runs(&experiment, &records);
    let summary = summary::summary(&experiment, &records);
    let results = results(&facts, &summary);
    let page = report::page(&experiment, &facts, &records, &summary);
    Ok([runs.to_tsv(), summary.to_tsv(), results, page])
}

/// Facts and medians as one JSON document.
fn results(facts: &Facts, summary: &crate::table::Table) -> String {
    let row = |row: &crate::table::Row| {
        let levels = summary.factors.iter().zip(&row.factors);
        let levels = levels.map(|(name, level)| (name.clone(), level.as_str().into()));
        // What is no number has no place in JSON.
        let values = summary.columns.iter().zip(&row.values).filter(|(_, v)| v.is_finite());
        let values = values.map(|(name, value)| (name.clone(), (*value).into()));
        serde_json::Value::Object(levels.chain(values).collect())
    };
    let rows: Vec<serde_json::Value> = summary.rows.iter().map(row).collect();
    let document = serde_json::json!({ "schema": SCHEMA, "campaign": facts, "summary": rows });
    format!("{document:#}\n")
}

#[cfg(test)]
mod tests;
