//! `seqloom-lab scale`: how the product and others scale on this machine, in a time that is given.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::run::RunArguments;

use seqloom_terminal::{Console, signals};

/// The experiments, in the order in which they are run.
const PARTS: [&str; 3] = ["scale-weak", "scale-strong", "scale-index"];

/// Arguments of `seqloom-lab scale`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    seqloom-lab scale --out out/scale --budget-minutes 30\n  \
    seqloom-lab scale --reference hg38.fa --threads 1,16,64\n\n\
    Weak scaling of align, strong scaling of align, prep and index, and others that are on the \
    PATH beside them. Each part has a page of its own in DIR.")]
pub(crate) struct ScaleArguments {
    /// A reference [default: one that is made, of 60 million bases]
    #[arg(long, value_name = "FASTA")]
    reference: Option<PathBuf>,
    /// Where results go
    #[arg(long, value_name = "DIR", default_value = "out/lab/scale")]
    out: PathBuf,
    /// Where references, indices, reads and runs are; kept [default: DIR/work]
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,
    /// Numbers of threads [default: 1, 2, 4, ... up to all cores]
    #[arg(long, value_name = "N,...", value_delimiter = ',')]
    threads: Vec<u32>,
    /// Repeats of all runs
    #[arg(long, value_name = "N")]
    repeats: Option<u32>,
    /// Time after which it ends by itself; what was not run by then is left out by name
    #[arg(long, value_name = "N", default_value_t = crate::paper::catalogue::MINUTES,
          value_parser = clap::value_parser!(u64).range(1..=100_000))]
    budget_minutes: u64,
    /// Tiny: shows that everything works, measures nothing
    #[arg(long)]
    smoke: bool,
    /// Resume the plan that DIR has runs of
    #[arg(long)]
    resume: bool,
    /// Print what would be made and run
    #[arg(long)]
    dry_run: bool,
}

/// Runs the parts one after the other, each in its share of the time that is left.
pub(super) fn run(arguments: &ScaleArguments, console: &Console) -> seqloom_terminal::Result<()> {
    let (began, budget) = (Instant::now(), Duration::from_secs(60 * arguments.budget_minutes));
    let mut outcome = Ok(());
    for (at, part) in PARTS.iter().enumerate() {
        let left = budget.saturating_sub(began.elapsed());
        let share = left / (PARTS.len() - at) as u32;
        console.info(&format!("{part}: {} of {} parts", at + 1, PARTS.len()));
        let ended = super::run::run(&part_of(arguments, part, share), console);
        if signals::interrupted() {
            return ended;
        }
        // What fails in one part is no reason to leave out the others.
        outcome = outcome.and(ended);
    }
    outcome
}

fn part_of(arguments: &ScaleArguments, part: &str, share: Duration) -> RunArguments {
    let given = arguments.reference.iter().map(|path: &PathBuf| {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
        ("reference".to_owned(), vec![path.display().to_string()])
    });
    let work = arguments.work.clone().unwrap_or_else(|| arguments.out.join("work"));
    RunArguments {
        experiment: part.to_owned(),
        out: Some(arguments.out.join(part.trim_start_matches("scale-"))),
        work: Some(work_of(&work, arguments.reference.as_deref())),
        repeats: arguments.repeats,
        threads: arguments.threads.clone(),
        set: given.collect(),
        smoke: arguments.smoke,
        no_counters: true,
        budget_minutes: Some(share.as_secs().div_ceil(60)),
        resume: arguments.resume,
        dry_run: arguments.dry_run,
    }
}

/// Files of another reference are other files: names of files know the bases that are made alone.
fn work_of(work: &Path, reference: Option<&Path>) -> PathBuf {
    let name = reference.and_then(Path::file_name);
    name.map_or_else(|| work.to_path_buf(), |name| work.join("of").join(name))
}
