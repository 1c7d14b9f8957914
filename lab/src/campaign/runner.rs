//! One run: its programs start together, each with its share of reads; what each took and reported
//! is recorded. A run that fails is a record too, and the campaign goes on.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::process::{Ended, run_together};
use seqloom_runtime::machine;

use super::definition::{Experiment, Subject, TimeBasis};
use super::make::last_lines;
use super::plan::{Configuration, Planned, Purpose};
use super::record::Record;
use super::scope::{Scope, Site};
use super::shares::{Share, share_of};
use super::template::{TemplateError, Words};
use super::{perf, told};

const STDOUT: &str = "stdout";
const STDERR: &str = "stderr";
/// What `perf stat` writes.
const PERF: &str = "perf.txt";
/// Of what a program prints the end is looked at: some print their results there.
const LAST_BYTES: u64 = 4 << 20;

/// What runs have in common.
pub(super) struct Runner<'a> {
    pub(super) experiment: &'a Experiment,
    pub(super) site: &'a Site,
    /// Folder of the runs' own folders.
    pub(super) folder: PathBuf,
    pub(super) stop: &'a (dyn Fn() -> bool + Sync),
    /// Configurations of which a run was out of time: they are not tried again.
    pub(super) out_of_time: BTreeSet<Configuration>,
}

/// A program that is about to be run.
struct Instance<'a> {
    scope: Scope<'a>,
    folder: PathBuf,
    command: Command,
}

impl Runner<'_> {
    /// Makes a run: a record for each of its programs.
    pub(super) fn run(&mut self, order: usize, planned: &Planned) -> Vec<Record> {
        let configuration = &planned.configuration;
        let instances = configuration.share(self.experiment).instances;
        let blank = |instance| blank(self.experiment, order, planned, instance);
        let failed = |why: &str| -> Vec<Record> {
            let with = |instance| Record { failure: Some(why.to_owned()), ..blank(instance) };
            (0..instances).map(with).collect()
        };
        if self.out_of_time.contains(configuration) {
            return failed("not tried again: it was out of time before");
        }
        let prepared: Result<Vec<Instance<'_>>, String> =
            (0..instances).map(|instance| self.prepare(order, planned, instance)).collect();
        let prepared = match prepared {
            Ok(prepared) => prepared,
            Err(why) => return failed(&why),
        };
        let (kept, commands): (Vec<_>, Vec<Command>) =
            prepared.into_iter().map(|one| ((one.scope, one.folder), one.command)).unzip();
        let limit = Duration::from_secs(self.experiment.protocol.timeout_s);
        let ended = run_together(commands, limit, self.stop);
        let mut records = Vec::new();
        let mut late = false;
        for (instance, ((scope, folder), ended)) in kept.iter().zip(ended).enumerate() {
            late |= ended.as_ref().is_ok_and(|ended| ended.out_of_time);
            let mut record = blank(instance as u64);
            if let Err(why) = account(scope, folder, planned.purpose, ended, &mut record) {
                record.failure = Some(why);
            } else {
                // What stays behind is in nobody's way.
                let _ = fs::remove_dir_all(folder);
            }
            records.push(record);
        }
        drop(kept);
        if late {
            self.out_of_time.insert(configuration.clone());
        }
        records
    }

    /// The command of an instance, with its folder and its reads.
    fn prepare<'a>(
        &'a self,
        order: usize,
        planned: &'a Planned,
        instance: u64,
    ) -> Result<Instance<'a>, String> {
        let configuration = &planned.configuration;
        let folder = self.folder.join(format!("{order}-{instance}"));
        let told = |error: io::Error| format!("{}: {error}", folder.display());
        // What a run of another campaign left there is not this one's.
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).map_err(told)?;
        let mut scope = Scope::new(self.experiment, configuration, self.site);
        let reads = configuration.reads_of_instance(self.experiment, planned.purpose);
        scope.set_instance(instance, reads, &folder);
        self.cut_shares(&mut scope, Share { number: instance, count: reads })?;
        let mut words = scope.words(scope.placement()).map_err(bad)?;
        if planned.purpose == Purpose::Counted {
            words.extend(perf::before(&folder.join(PERF)));
        }
        words.extend(scope.words(&scope.subject().command).map_err(bad)?);
        let create = |name: &str| File::create(folder.join(name)).map_err(told);
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).env("LC_ALL", "C").stdin(Stdio::null());
        command.stdout(create(STDOUT)?).stderr(create(STDERR)?);
        for (name, value) in &scope.subject().environment {
            command.env(name, scope.word(value).map_err(bad)?);
        }
        Ok(Instance { scope, folder, command })
    }

    /// Makes the shares of an instance, where there is input.
    fn cut_shares(&self, scope: &mut Scope<'_>, share: Share) -> Result<(), String> {
        let Some(input) = &self.experiment.input else { return Ok(()) };
        let folder = self.site.work.join("shares");
        let both = [("reads", Some(&input.reads)), ("mates", input.mates.as_ref())];
        for (name, path) in both {
            let Some(path) = path else { continue };
            let path = PathBuf::from(scope.word(path).map_err(bad)?);
            let told = |error: io::Error| format!("{}: {error}", path.display());
            let cut = share_of(&path, &folder, share).map_err(told)?;
            scope.run.insert(name, Words::one(cut.display()));
        }
        Ok(())
    }
}

#[allow(clippy::needless_pass_by_value)] // for `map_err`
fn bad(error: TemplateError) -> String {
    error.to_string()
}

/// A record of a program that has done nothing yet.
fn blank(experiment: &Experiment, order: usize, planned: &Planned, instance: u64) -> Record {
    let configuration = &planned.configuration;
    let share = configuration.share(experiment);
    Record {
        order,
        repeat: planned.repeat,
        purpose: planned.purpose,
        subject: experiment.subject[configuration.subject].name.clone(),
        levels: configuration.levels.clone(),
        instance,
        instances: share.instances,
        threads: share.threads,
        reads: configuration.reads_of_instance(experiment, planned.purpose),
        failure: None,
        wall_s: 0.0,
        cpu_s: 0.0,
        peak_rss_bytes: None,
        voluntary_switches: 0,
        involuntary_switches: 0,
        told: BTreeMap::new(),
        rows: Vec::new(),
        curve: Vec::new(),
    }
}

/// Fills in what a program took and reported.
fn account(
    scope: &Scope<'_>,
    folder: &Path,
    purpose: Purpose,
    ended: io::Result<Ended>,
    record: &mut Record,
) -> Result<(), String> {
    let ended = ended.map_err(|error| format!("cannot be run: {error}"))?;
    record.wall_s = ended.wall.as_secs_f64();
    record.cpu_s = ended.usage.cpu.as_secs_f64();
    let peak = ended.usage.peak_rss_bytes;
    record.peak_rss_bytes = Some(peak).filter(|peak| *peak > machine::usage().peak_rss_bytes);
    record.voluntary_switches = ended.usage.voluntary_switches;
    record.involuntary_switches = ended.usage.involuntary_switches;
    if ended.out_of_time {
        let limit = scope.experiment.protocol.timeout_s;
        return Err(format!("ended because it took longer than {limit} s"));
    }
    if !ended.status.success() {
        let said = last_lines(&folder.join(STDERR));
        return Err(format!("{}: {said}", ended.status));
    }
    if purpose == Purpose::Counted {
        record.told = perf::counters(&end_of(&folder.join(PERF))?);
        return Ok(());
    }
    // A minimal run is there for its wall time: it may have nothing to report.
    if purpose == Purpose::Measured { listen(scope, folder, record) } else { Ok(()) }
}

/// What a subject reports of itself.
fn listen(scope: &Scope<'_>, folder: &Path, record: &mut Record) -> Result<(), String> {
    let subject: &Subject = scope.subject();
    record.told = told::counters(&end_of(&folder.join(STDOUT))?);
    for tell in &subject.tell {
        let path = match tell.from.as_str() {
            STDOUT | STDERR => folder.join(&tell.from),
            path => PathBuf::from(scope.word(path).map_err(bad)?),
        };
        let number = told::number(tell, &end_of(&path)?);
        let missing = || format!("does not tell {} in {}", tell.counter, tell.from);
        record.told.insert(tell.counter.clone(), number.ok_or_else(missing)?);
    }
    if let Some(rule) = &subject.rows {
        let path = PathBuf::from(scope.word(&rule.file).map_err(bad)?);
        record.rows = told::rows(rule, &path)?;
    } else if subject.time == TimeBasis::Told && !record.told.contains_key("align_s") {
        return Err("does not tell align_s".to_owned());
    }
    if let Some(rule) = &subject.curve {
        let path = PathBuf::from(scope.word(&rule.file).map_err(bad)?);
        record.curve = told::curve(rule, &path)?;
    }
    Ok(())
}

/// The end of a file, which may be results of any size.
fn end_of(path: &Path) -> Result<String, String> {
    let read = || -> io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let from = file.metadata()?.len().saturating_sub(LAST_BYTES);
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
