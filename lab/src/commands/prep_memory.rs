//! `seqloom-lab prep-memory`: time and memory of five steps by allocator and program.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use crate::output::Fact;
use crate::prep_memory::{JavaOptions, PHASES, PrepMemory};
use seqloom_runtime::machine;
use seqloom_terminal::error::UnusableFile;

use seqloom_terminal::{Console, signals};

/// Arguments of `seqloom-lab prep-memory`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  \
    cargo build --release -p seqloom --features system-allocator --target-dir target/plain\n  \
    seqloom-lab prep-memory --input grouped.bam --reference-dict ref.dict \\\n    \
    --plain target/plain/release/seqloom --out lab/runs/prep-memory\n\n\
    Allocators are looked for among the system's libraries (jemalloc, tcmalloc, tbbmalloc,\n\
    mimalloc), programs on the PATH (samtools, samblaster, sambamba, Picard, elPrep).")]
pub(crate) struct PrepMemoryArguments {
    /// BAM or SAM of aligned reads, grouped by name
    #[arg(long, value_name = "IN")]
    pub(super) input: PathBuf,
    /// SAM, .dict or BAM whose sequences replace those of the header
    #[arg(long, value_name = "FILE")]
    pub(super) reference_dict: PathBuf,
    /// seqloom, built with --features system-allocator; without it no allocators are compared
    #[arg(long, value_name = "PROGRAM")]
    pub(super) plain: Option<PathBuf>,
    /// Where table and report go
    #[arg(long, value_name = "DIR", default_value = "out/lab/prep-memory")]
    pub(super) out: PathBuf,
    /// Where outputs are made [default: a folder of the system's temporary folder]
    #[arg(long, value_name = "DIR")]
    pub(super) work: Option<PathBuf>,
    /// Busy threads
    #[arg(short, long, value_name = "N", default_value_t = machine::available_cores())]
    pub(super) threads: NonZeroUsize,
    /// -m of the runs of seqloom
    #[arg(short, long, value_name = "SIZE")]
    pub(super) memory: Option<String>,
    /// Runs of each way
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(super) repeats: u32,
    /// Runs of other programs [default: as many]
    #[arg(long, value_name = "N")]
    pub(super) tool_repeats: Option<u32>,
    /// Only these ways, such as seqloom,jemalloc,sambamba
    #[arg(long, value_name = "WAY,...", value_delimiter = ',')]
    pub(super) ways: Vec<String>,
    /// Levels of GOGC for elPrep, in place of its own: the growth in percent at which Go's
    /// collector runs
    #[arg(long, value_name = "N,...", value_delimiter = ',')]
    pub(super) gogc: Vec<String>,
    /// Options of Java for Picard, in place of -Xmx4g, under a name; may be given several times
    #[arg(long, value_name = "NAME=OPTIONS")]
    pub(super) java: Vec<JavaOptions>,
    /// Begin no round of runs after so many minutes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(super) budget_minutes: Option<u64>,
    /// What else is to be said of the machine, such as what ran next to
    #[arg(long, value_name = "TEXT")]
    pub(super) remark: Option<String>,
}

/// Runs the experiment and writes its report.
pub(super) fn run(
    arguments: &PrepMemoryArguments,
    console: &Console,
) -> seqloom_terminal::Result<()> {
    let experiment = PrepMemory {
        program: super::product()?,
        plain_program: arguments.plain.clone(),
        input: arguments.input.clone(),
        dictionary: arguments.reference_dict.clone(),
        work: arguments.work.clone().unwrap_or_else(|| std::env::temp_dir().join("seqloom-lab")),
        threads: arguments.threads.get(),
        memory: arguments.memory.clone(),
        repeats: arguments.repeats,
        tool_repeats: arguments.tool_repeats.unwrap_or(arguments.repeats),
        ways: arguments.ways.clone(),
        gogc: arguments.gogc.clone(),
        java: arguments.java.clone(),
        deadline: arguments.budget_minutes.map(super::deadline),
    };
    // Programs run in groups of their own: a signal that ended this process would leave them.
    signals::defer();
    let outcome = experiment.run(&mut |what| console.info(what), &phases, &signals::interrupted)?;
    let size = std::fs::metadata(&arguments.input);
    let size = size.map_err(|error| UnusableFile::read(&arguments.input, &error))?.len();
    let mut facts = vec![
        ("machine", format!("{} cores", machine::available_cores())),
        ("threads", arguments.threads.to_string()),
        ("input", format!("{:.1} MB of aligned reads, grouped by name", size as f64 / 1e6)),
        ("program", format!("seqloom {}", env!("CARGO_PKG_VERSION"))),
    ];
    facts.extend(arguments.memory.iter().map(|memory| ("-m of seqloom", memory.clone())));
    let java = arguments.java.iter().map(|it| format!("{}: {}", it.name, it.options));
    facts.extend(java.map(|options| ("options of Java", options)));
    facts.extend(arguments.remark.iter().map(|remark| ("remark", remark.clone())));
    let facts: Vec<_> = facts.into_iter().map(|(name, text)| Fact::new(name, text)).collect();
    outcome.write(&facts, &arguments.out)?;
    console.info(&format!("report in {}", arguments.out.display()));
    Ok(())
}

/// What a report of `prep` says of its phases and of its memory.
fn phases(report: &str) -> Vec<(String, f64)> {
    let report: serde_json::Value = serde_json::from_str(report).unwrap_or_default();
    let usage = &report["usage"];
    let told = usage["phase_seconds"].as_array().into_iter().flatten();
    let mut found: Vec<(String, f64)> = told
        .filter_map(|phase| Some((phase[0].as_str()?.to_owned(), phase[1].as_f64()?)))
        .filter(|(name, _)| PHASES.contains(&name.as_str()))
        .collect();
    found.extend(usage["peak_rss_bytes"].as_f64().map(|bytes| ("peak_bytes".to_owned(), bytes)));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_are_read_from_a_report() {
        let text = r#"{"usage": {"phase_seconds": [["ingest", 0.5], ["redistribute", 9.0],
                       ["finish", 1.5]], "peak_rss_bytes": 1024}}"#;
        let expected = [("ingest", 0.5), ("finish", 1.5), ("peak_bytes", 1024.0)];
        assert_eq!(phases(text), expected.map(|(name, value)| (name.to_owned(), value)));
        assert_eq!(phases("nonsense"), []);
    }
}
