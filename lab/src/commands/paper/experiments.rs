//! The experiments of the pages, with the arguments that a page gives them.

use std::path::PathBuf;

use crate::latency::DISK;
use crate::prep_memory;
use crate::schedule::Schedule;
use seqloom_runtime::machine;
use seqloom_terminal::UsageError;

use super::super::methylation::MethylationArguments;
use super::super::parsing::ParsingArguments;
use super::super::prep_memory::PrepMemoryArguments;
use super::super::schedule::ScheduleArguments;
use super::super::signal_io::SignalIoArguments;
use super::Making;

/// What a smoke run takes of workers and storages.
const FEW_WORKERS: [u32; 2] = [1, 2];
const FEW_READERS: [&str; 4] = ["fast5-own", "blow5", "bytes-threads", "bytes-uring"];
const WORKERS: [u32; 6] = [1, 2, 4, 8, 16, 32];
/// Runs of each way of preparation: those of the paper.
const PREPARATIONS: u32 = 30;

fn required(file: Option<&PathBuf>, name: &str) -> Result<PathBuf, UsageError> {
    file.cloned().ok_or_else(|| {
        UsageError(format!("{name} is required, or --measured DIR with runs that are there"))
    })
}

/// One thread, and twice as many up to all cores.
fn threads() -> Vec<u32> {
    let cores = machine::available_cores().get() as u32;
    let mut threads: Vec<u32> = (0..).map(|power| 1 << power).take_while(|n| n < &cores).collect();
    threads.push(cores);
    threads
}

impl Making<'_> {
    fn few<T: Clone>(&self, all: &[T], few: &[T]) -> Vec<T> {
        if self.arguments.smoke { few.to_vec() } else { all.to_vec() }
    }

    fn reads(&self) -> Result<Vec<PathBuf>, UsageError> {
        match self.arguments.reads.first() {
            Some(_) => Ok(self.arguments.reads.clone()),
            None => required(None, "--reads").map(|reads| vec![reads]),
        }
    }

    pub(super) fn calling(
        &self,
        out: PathBuf,
        minutes: u64,
    ) -> Result<MethylationArguments, UsageError> {
        let arguments = self.arguments;
        Ok(MethylationArguments {
            source: Some(required(arguments.source.as_ref(), "--source")?),
            bam: Some(required(arguments.bam.as_ref(), "--bam")?),
            reference: Some(required(arguments.reference.as_ref(), "--reference")?),
            again: None,
            work: Some(out.join("work")),
            out,
            workers: self.few(&WORKERS, &FEW_WORKERS),
            batch: 32,
            ways: Vec::new(),
            storages: self.few(&[], &["raid", DISK].map(str::to_owned)),
            repeats: 1,
            budget_minutes: Some(minutes),
        })
    }

    pub(super) fn reading(
        &self,
        out: PathBuf,
        minutes: u64,
    ) -> Result<SignalIoArguments, UsageError> {
        let is_smoke = self.arguments.smoke;
        Ok(SignalIoArguments {
            source: Some(required(self.arguments.source.as_ref(), "--source")?),
            again: None,
            work: Some(out.join("work")),
            out,
            copies: if is_smoke { 1 } else { 2 },
            workers: self.few(&WORKERS, &FEW_WORKERS),
            ways: self.few(&[], &FEW_READERS.map(str::to_owned)),
            storages: self.few(&[], &["raid", DISK].map(str::to_owned)),
            repeats: if is_smoke { 1 } else { 2 },
            blue_crab: None,
            budget_minutes: Some(minutes),
        })
    }

    pub(super) fn preparation(
        &self,
        out: PathBuf,
        minutes: u64,
    ) -> Result<PrepMemoryArguments, UsageError> {
        let arguments = self.arguments;
        Ok(PrepMemoryArguments {
            input: required(arguments.bam.as_ref(), "--bam")?,
            reference_dict: required(arguments.reference.as_ref(), "--reference")?,
            plain: arguments.plain.clone(),
            work: Some(out.join("work")),
            out,
            threads: machine::available_cores(),
            memory: None,
            repeats: if arguments.smoke { 2 } else { PREPARATIONS },
            tool_repeats: None,
            ways: self.few(&[], &[prep_memory::SHIPPED.to_owned()]),
            gogc: arguments.gogc.clone(),
            java: arguments.java.clone(),
            budget_minutes: Some(minutes),
            remark: None,
        })
    }

    pub(super) fn parsings(
        &self,
        out: PathBuf,
        minutes: u64,
    ) -> Result<ParsingArguments, UsageError> {
        let arguments = self.arguments;
        let locks = if arguments.smoke { 1 } else { arguments.locks.len() };
        Ok(ParsingArguments {
            again: None,
            work: Some(out.join("work")),
            out,
            reads: 0,
            input: self.reads()?,
            reference: Some(required(arguments.reference.as_ref(), "--reference")?),
            units: vec![12_288],
            locks: arguments.locks.iter().take(locks).cloned().collect(),
            threads: self.few(&threads(), &FEW_WORKERS),
            repeats: if arguments.smoke { 1 } else { 3 },
            budget_minutes: Some(minutes),
        })
    }

    pub(super) fn schedules(
        &self,
        out: PathBuf,
        minutes: u64,
    ) -> Result<ScheduleArguments, UsageError> {
        Ok(ScheduleArguments {
            again: None,
            work: Some(out.join("work")),
            out,
            reads: 0,
            paired: false,
            input: self.reads()?,
            reference: Some(required(self.arguments.reference.as_ref(), "--reference")?),
            threads: self.few(&threads(), &FEW_WORKERS),
            engines: vec!["end-to-end".to_owned()],
            schedules: self.few(&[], &[Schedule::Pull, Schedule::Farm]),
            repeats: if self.arguments.smoke { 1 } else { 5 },
            budget_minutes: Some(minutes),
        })
    }
}
