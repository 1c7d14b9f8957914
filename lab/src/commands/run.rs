//! `seqloom-lab run`: an experiment that a TOML file describes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::campaign::shipped::{SHIPPED, by_name};
use crate::campaign::{Campaign, Setting};

use seqloom_terminal::UsageError;
use seqloom_terminal::error::SystemError;
use seqloom_terminal::error::UnusableFile;
use seqloom_terminal::signals;
use seqloom_terminal::{Console, print};

/// Name of the program that simulates genomes and reads.
const TESTKIT: &str = "seqloom-testkit";

/// Arguments of `seqloom-lab run`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    seqloom-lab run numa --out lab/runs/numa --work out/lab/numa-files\n  \
    seqloom-lab run numa --set reference=hg38.fa --threads 16,32,64 --dry-run\n  \
    seqloom-lab run my-experiment.toml --smoke")]
pub(crate) struct RunArguments {
    /// A TOML file, or the name of an experiment that comes with the program: locks, parsing,
    /// output, schedule, numa, oversubscription, read-length, ungapped, by-score,
    /// spliced, langmead, compressed-output, scale-weak, scale-strong, scale-index
    #[arg(value_name = "EXPERIMENT")]
    pub(super) experiment: String,
    /// Where results go [default: out/lab/EXPERIMENT]
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
    /// Where references, indices, reads and runs are; kept [default: DIR/work]
    #[arg(long, value_name = "DIR")]
    pub(super) work: Option<PathBuf>,
    /// Repeats of all runs
    #[arg(long, value_name = "N")]
    pub(super) repeats: Option<u32>,
    /// Numbers of threads
    #[arg(long, value_name = "N,...", value_delimiter = ',')]
    pub(super) threads: Vec<u32>,
    /// Set a factor's levels, a value, a number or `oversubscribe` of the protocol, or a file that
    /// is there already
    #[arg(long, value_name = "NAME=VALUE,...", value_parser = setting)]
    pub(super) set: Vec<Setting>,
    /// Make it small, as it says itself: shows that everything works, measures nothing
    #[arg(long)]
    pub(super) smoke: bool,
    /// No runs for the kernel's counters
    #[arg(long)]
    pub(super) no_counters: bool,
    /// Time after which it ends by itself, with a report; what was not run by then is left out
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(super) budget_minutes: Option<u64>,
    /// Resume the plan that DIR has runs of
    #[arg(long)]
    pub(super) resume: bool,
    /// Print what would be made and run, and what would be left out
    #[arg(long)]
    pub(super) dry_run: bool,
}

fn setting(text: &str) -> Result<Setting, String> {
    let (name, words) = text.split_once('=').ok_or("must be NAME=VALUE or NAME=VALUE,VALUE")?;
    Ok((name.to_owned(), words.split(',').map(str::to_owned).collect()))
}

/// The text of an experiment: of a file, or of one that comes with the program.
fn text_of(experiment: &str) -> seqloom_terminal::Result<String> {
    if let Some(text) = by_name(experiment) {
        return Ok(text.to_owned());
    }
    let path = Path::new(experiment);
    if !path.exists() {
        let names = SHIPPED.map(|(name, _)| name).join(", ");
        let text =
            format!("there is no file {experiment}, and no experiment of that name: {names}");
        return Err(UsageError(text).into());
    }
    Ok(std::fs::read_to_string(path).map_err(|error| UnusableFile::read(path, &error))?)
}

fn campaign(arguments: &RunArguments) -> seqloom_terminal::Result<Campaign> {
    let text = text_of(&arguments.experiment)?;
    let name = Path::new(&arguments.experiment).file_stem().unwrap_or_default();
    let out = arguments.out.clone().unwrap_or_else(|| Path::new("out/lab").join(name));
    let numbers = |numbers: &[u32]| numbers.iter().map(u32::to_string).collect::<Vec<_>>();
    let mut settings = arguments.set.clone();
    settings.extend(arguments.repeats.map(|n| ("repeats".to_owned(), numbers(&[n]))));
    if !arguments.threads.is_empty() {
        settings.push(("threads".to_owned(), numbers(&arguments.threads)));
    }
    Ok(Campaign {
        file: arguments.experiment.clone(),
        text,
        settings,
        smoke: arguments.smoke,
        work: arguments.work.clone().unwrap_or_else(|| out.join("work")),
        out,
        testkit: super::beside(TESTKIT)?,
        seqloom: super::product()?,
        lab: std::env::current_exe().map_err(SystemError::new)?,
        command_line: std::env::args().collect(),
        counted: !arguments.no_counters,
        budget: arguments.budget_minutes.map(|minutes| Duration::from_secs(60 * minutes)),
        resumes: arguments.resume,
    })
}

/// Runs the experiment and writes its report.
pub(super) fn run(arguments: &RunArguments, console: &Console) -> seqloom_terminal::Result<()> {
    let campaign = campaign(arguments)?;
    if arguments.dry_run {
        return Ok(print(&campaign.dry_run()?)?);
    }
    // Programs under way are ended, and what was recorded is kept.
    signals::defer();
    let mut tell = |what: &str| console.info(what);
    let outcome = campaign.run(&signals::interrupted, &mut tell)?;
    let report = campaign.out.join("report.html");
    console.info(&format!("report in {}", report.display()));
    if outcome.left_out > 0 {
        console.info(&format!("{} configurations were left out, see there", outcome.left_out));
    }
    let (failed, programs) = (outcome.failed, outcome.programs);
    if failed > 0 {
        let text = format!("{failed} of {programs} programs failed, see the report");
        return Err(SystemError(text).into());
    }
    if programs == 0 {
        let text = "nothing was run: all configurations were left out";
        return Err(SystemError(text.to_owned()).into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_have_a_name_and_words() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        assert_eq!(setting("threads=1,2"), Ok(("threads".to_owned(), words(&["1", "2"]))));
        assert_eq!(setting("reference=a=b.fa"), Ok(("reference".to_owned(), words(&["a=b.fa"]))));
        assert!(setting("threads").is_err());
    }
}
