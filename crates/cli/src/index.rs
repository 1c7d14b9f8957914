//! `seqloom index`: FASTA to the reference index.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use seqloom_align::index::{
    BuildError, BuildOptions, IndexPaths, IndexPlan, Method, Phase, build, plan,
};
use seqloom_report::run::SCHEMA;
use seqloom_runtime::machine;
use seqloom_runtime::memory::ByteSize;
use seqloom_terminal::host::Progress;
use seqloom_terminal::{Console, UsageError};

use crate::align::least_memory_of_pairs;
use crate::host;
use crate::output::arguments::{memory_size, thread_count};
use crate::output::run::{beyond_address_space, within_address_space};
use crate::same_file::refuse_same_file;

/// Arguments of `seqloom index`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  seqloom index ref.fa.gz\n\nWrites PREFIX.pac, PREFIX.ann, \
    PREFIX.amb (as `bwa index`), PREFIX.bwt.2bit.64 (as `bwa-mem2 index`), PREFIX.fast, \
    PREFIX.tsa where `align` takes no more memory with it, and REF.fai and REF's .dict where they \
    are missing. A run that is stopped leaves none of them, and starts anew when it is run again.")]
pub(crate) struct IndexArguments {
    /// Reference, FASTA, plain, gzip or zstd
    #[arg(value_name = "REF")]
    reference: PathBuf,
    /// Prefix of the index files [default: REF]
    #[arg(short, long, value_name = "PREFIX")]
    prefix: Option<PathBuf>,
    /// Busy threads, 1 to 4096 [default: all cores this process may use]
    #[arg(short, long, short_alias = '@', value_name = "N", value_parser = thread_count)]
    threads: Option<NonZeroUsize>,
    /// Memory of the whole process, such as 16G: with less than sorting takes in one piece it is
    /// done in blocks, slower, with the same result [default: 7/8 of the machine's, or of the
    /// cgroup's limit, or what `ulimit -v` leaves]
    #[arg(short, long, value_name = "SIZE", value_parser = memory_size)]
    memory: Option<ByteSize>,
    /// Leave out PREFIX.fast and PREFIX.tsa, tables that spare `align` most of its searches
    #[arg(long)]
    no_fast_table: bool,
    /// Also write PREFIX.0123, which bwa-mem2 (not seqloom) needs
    #[arg(long = "with-0123")]
    with_0123: bool,
    /// Distance of suffix-array samples, 1, 2, 4 ... 64: the closer, the larger the index, and with
    /// 4 `align` is a fiftieth faster; bwa-mem2 reads others than 8 wrong without a word
    /// [default: 8, and 16 for references of more than 2^30 bases]
    #[arg(long, value_name = "N", value_parser = power_of_two)]
    sa_stride: Option<u32>,
    /// Print errors only
    #[arg(long)]
    quiet: bool,
}

fn power_of_two(text: &str) -> Result<u32, String> {
    let value: u32 = text.parse().map_err(|_| "not a number".to_owned())?;
    let fits = value.is_power_of_two() && value <= 64;
    fits.then_some(value).ok_or_else(|| "must be 1, 2, 4, 8, 16, 32 or 64".to_owned())
}

/// # Errors
/// When a file of the index is the reference, as with `index ref.pac -p ref`.
fn refuse_overwriting(reference: &Path, prefix: &Path, with_0123: bool) -> Result<(), UsageError> {
    let index = IndexPaths::new(prefix);
    let mut files = vec![index.pac(), index.ann(), index.amb(), index.bwt(), index.fast()];
    files.push(index.text_samples());
    files.extend(with_0123.then(|| index.unpacked()));
    refuse_same_file([reference], files.iter().map(|path| ("the index file", path.as_path())))
}

/// Where what is allowed is what a limit of address space leaves, that limit is named.
fn explained(
    error: BuildError,
    space_limit: Option<ByteSize>,
    threads: NonZeroUsize,
) -> seqloom_terminal::Error {
    match (error, space_limit) {
        (BuildError::MemoryLimit { needed_bytes, .. }, Some(limit)) => {
            beyond_address_space(limit, needed_bytes, threads).into()
        }
        (error, _) => error.into(),
    }
}

/// What is taken without `-m`: some is left to the system and to other programs, and to the cache
/// of the file that is written.
fn default_memory() -> ByteSize {
    ByteSize(machine::available_memory_bytes() / 8 * 7)
}

/// Strides whose need of memory is said.
const STRIDES: [u32; 3] = [8, 16, 32];

/// Memory that `align` will need at the usual strides, and with the index that is made.
fn announcement_of_align(plan: &IndexPlan, threads: NonZeroUsize) -> String {
    let own = plan.sa_stride();
    let strides: BTreeSet<u32> = STRIDES.into_iter().chain([own]).collect();
    let needs: Vec<String> = strides
        .into_iter()
        .filter_map(|stride| {
            let bytes =
                least_memory_of_pairs(plan.loaded_bytes(stride)?, plan.lengths_bp(), threads);
            let this = if stride == own { " (this index)" } else { "" };
            Some(format!("{bytes} at --sa-stride {stride}{this}"))
        })
        .collect();
    format!("index: align -t {threads} of pairs 2x150 will need -m {}", needs.join(", "))
}

/// The line before the work.
fn announcement(plan: &IndexPlan) -> String {
    let method = match plan.method {
        Method::OnePiece => "sorts suffixes in one piece".to_owned(),
        Method::Blocks { passes: 1 } => "sorts suffixes in blocks, 1 pass".to_owned(),
        Method::Blocks { passes } => format!("sorts suffixes in blocks, {passes} passes"),
    };
    format!(
        "index: {} sequences, {} bases; starts anew; {method}; needs {} of memory, writes up to {}",
        plan.sequences,
        plan.bases,
        ByteSize(plan.memory_bytes_needed),
        ByteSize(plan.most_output_bytes)
    )
}

/// How often progress is logged where there is no terminal to draw it on.
const LOG_INTERVAL: Duration = Duration::from_secs(60);

/// From this part of a phase on the time it has taken foretells the rest.
const FORETOLD_FROM: f64 = 0.02;

/// Says how far the work is.
struct Narrator<'a> {
    console: &'a Console,
    /// The phase, and when it began.
    phase: Cell<Option<(Phase, Instant)>>,
    logged: Cell<Instant>,
}

impl<'a> Narrator<'a> {
    fn new(console: &'a Console) -> Self {
        Self { console, phase: Cell::new(None), logged: Cell::new(Instant::now()) }
    }

    fn tell(&self, phase: Phase, done: f64) {
        let now = Instant::now();
        let begun = match self.phase.get() {
            Some((same, begun)) if same == phase => begun,
            _ => {
                self.phase.set(Some((phase, now)));
                now
            }
        };
        let text = narrated(phase, done, now - begun);
        self.console.progress(&text);
        let share = Some(done);
        self.console.report_progress(Progress { phase: name(phase), share, ..Progress::default() });
        if phase == Phase::Sort && now - self.logged.get() > LOG_INTERVAL {
            self.console.info(&text);
            self.logged.set(now);
        }
    }
}

fn name(phase: Phase) -> &'static str {
    match phase {
        Phase::Read => "read",
        Phase::Sort => "sort",
        Phase::Write => "write",
    }
}

fn narrated(phase: Phase, done: f64, elapsed: Duration) -> String {
    let what = match phase {
        Phase::Read => "reading",
        Phase::Sort => "sorting suffixes",
        Phase::Write => "writing",
    };
    let to_go = if (FORETOLD_FROM..1.0).contains(&done) {
        let seconds = elapsed.as_secs_f64() * (1.0 - done) / done;
        match seconds.ceil() as u64 {
            seconds @ 0..120 => format!(", {seconds} s to go"),
            seconds => format!(", {} min to go", seconds.div_ceil(60)),
        }
    } else {
        String::new()
    };
    format!("index: {what} {:.0} %{to_go}", 100.0 * done)
}

/// The report, by the names of that of `align`.
fn report(
    counts: &serde_json::Value,
    files: &[PathBuf],
    threads: NonZeroUsize,
    console: &Console,
) -> serde_json::Value {
    let usage = machine::usage();
    serde_json::json!({
        "schema": SCHEMA,
        "program": format!("seqloom {}", env!("CARGO_PKG_VERSION")),
        "command": host::command_line(),
        "files": files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>(),
        "threads": threads,
        "counts": counts,
        "usage": {
            "wall_seconds": console.wall().as_secs_f64(),
            "cpu_seconds": usage.cpu.as_secs_f64(),
            "peak_rss_bytes": usage.peak_rss_bytes,
        },
    })
}

/// Runs the command.
pub(crate) fn run(arguments: &IndexArguments, console: &Console) -> seqloom_terminal::Result<()> {
    if arguments.quiet {
        console.be_quiet();
    }
    let prefix = arguments.prefix.as_ref().unwrap_or(&arguments.reference);
    refuse_overwriting(&arguments.reference, prefix, arguments.with_0123)?;
    let threads = arguments.threads.unwrap_or_else(machine::available_cores);
    let requested = arguments.memory.unwrap_or_else(default_memory);
    let (limit, space_limit) = within_address_space(requested, threads);
    let options = BuildOptions {
        memory_limit_bytes: Some(limit.0),
        fast_table: !arguments.no_fast_table,
        with_0123: arguments.with_0123,
        sa_stride_log2: arguments.sa_stride.map(|stride| stride.trailing_zeros() as u8),
        threads,
    };
    let narrator = Narrator::new(console);
    let progress = |phase, done| narrator.tell(phase, done);
    let explained = |error| explained(error, space_limit, threads);
    let prepared = plan(&arguments.reference, &options, &progress).map_err(explained)?;
    console.info(&announcement(&prepared));
    console.info(&announcement_of_align(&prepared, threads));
    let counts = serde_json::json!({
        "sequences": prepared.sequences,
        "bases": prepared.bases,
    });
    let built = build(prepared, prefix, &progress).map_err(explained)?;
    for stale in &built.stale_files {
        console.error(&format!(
            "seqloom: warning: {} belongs to another reference than the new index",
            stale.display()
        ));
    }
    for error in &built.not_made {
        console.info(&format!("index: {error}: left out"));
    }
    for file in &built.files {
        console.info(&format!("index: wrote {}", file.display()));
    }
    if let Some(host) = console.host() {
        host.report(&report(&counts, &built.files, threads, console));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_to_go_follows_from_the_time_it_has_taken() {
        let after = |done, seconds| narrated(Phase::Sort, done, Duration::from_secs(seconds));
        assert_eq!(after(0.0, 5), "index: sorting suffixes 0 %");
        assert_eq!(after(0.5, 60), "index: sorting suffixes 50 %, 60 s to go");
        assert_eq!(after(0.1, 60), "index: sorting suffixes 10 %, 9 min to go");
        assert_eq!(after(1.0, 60), "index: sorting suffixes 100 %");
    }
}
