//! `seqloom-lab predict`: what a machine that is not at hand would do, in bands; and the model
//! against published curves.

use std::fs;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use crate::output::Fact;
use crate::predict::bands::{self, LOCK_NAMES, Placement, Question, SHIPPED_LAWS};
use crate::predict::machine::Machine;
use crate::predict::model::HandOver;
use crate::predict::published::Published;
use crate::predict::{report, validate};
use crate::table::Table;

use seqloom_terminal::error::UnusableFile;
use seqloom_terminal::{Console, UsageError, print};

/// Most threads that are requested: a simulation's time grows with them.
const MOST_THREADS: u32 = 4096;

/// Arguments of `seqloom-lab predict`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    seqloom-lab predict --threads 16..512 --engine-us 20 --machine nodes=8,cores=256,smt=2\n  \
    seqloom-lab predict --validate bowtie-scaling --out lab/runs/prediction")]
pub(crate) struct PredictArguments {
    /// Numbers of threads: 16..512 doubles from 16 on, 1,24,96 are these
    #[arg(long, value_name = "N..M", default_value = "16..512")]
    threads: String,
    /// Time of the engine per read in microseconds, on a core of its own
    #[arg(long, value_name = "US", default_value_t = 20.0)]
    engine_us: f64,
    /// Bytes per read that the engine fetches from memory (64 cache lines)
    #[arg(long, value_name = "N", default_value_t = 4096.0)]
    engine_bytes: f64,
    /// The machine: nodes, cores of all of them, hardware threads of a core
    #[arg(long, value_name = "nodes=N,cores=N,smt=N", default_value = "nodes=8,cores=256,smt=2")]
    machine: String,
    /// Where the index is: one-node, interleave or replicate
    #[arg(long, value_name = "WHERE", default_value = "interleave")]
    placement: String,
    /// Lock of O, D, B and L: queueing, standard, spin (TBB's) or tinythread
    #[arg(long, value_name = "LOCK", default_value = "queueing")]
    lock: String,
    /// Kind of files in the table of costs: single, paired or bgzf
    #[arg(long, value_name = "FILES", default_value = "single")]
    files: String,
    /// Bytes read at a time, as in the table of costs
    #[arg(long, value_name = "N", default_value = "262144")]
    unit: String,
    /// Time under the output's lock per read in nanoseconds (copying 300 bytes); 0: no such lock
    #[arg(long, value_name = "NS", default_value_t = 30.0)]
    output_ns: f64,
    /// Reads written at a time
    #[arg(long, value_name = "N", default_value = "256")]
    output_reads: NonZeroU32,
    /// Table of `seqloom-lab parsing` with the costs of taking reads [default: the shipped one]
    #[arg(long, value_name = "FILE")]
    parsing: Option<PathBuf>,
    /// Table of laws of locks, as --validate writes it [default: the shipped one]
    #[arg(long, value_name = "FILE")]
    laws: Option<PathBuf>,
    /// Where random numbers start
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Try the model on the published curves and tables in this folder, and write a report
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with_all = [
            "threads", "engine_us", "engine_bytes", "machine", "placement", "lock", "files", "unit",
            "output_ns", "output_reads", "parsing", "laws", "seed",
        ]
    )]
    validate: Option<PathBuf>,
    /// Where the report of --validate goes
    #[arg(long, value_name = "DIR", default_value = "out/lab/prediction", requires = "validate")]
    out: PathBuf,
}

/// Prints bands, or writes the report of a validation.
pub(super) fn run(arguments: &PredictArguments, console: &Console) -> seqloom_terminal::Result<()> {
    match &arguments.validate {
        Some(folder) => check(folder, &arguments.out, console),
        None => Ok(print(&answer(arguments)?)?),
    }
}

/// The model against what was published.
fn check(folder: &Path, out: &Path, console: &Console) -> seqloom_terminal::Result<()> {
    let published = Published::read(folder)?;
    let found = validate::validate(&published, &mut |what| console.info(what));
    if found.predictions.is_empty() {
        let problem =
            "no set of curves with O, D and the baseline on a machine that is known, and its peaks";
        return Err(UnusableFile::new(folder, problem).into());
    }
    let facts = [
        ("program", format!("seqloom {}", env!("CARGO_PKG_VERSION"))),
        ("again", "`seqloom-lab predict --validate DIR --out lab/runs/prediction`".to_owned()),
        ("curves read", published.curves.len().to_string()),
        ("peaks read", published.peaks.len().to_string()),
    ];
    let facts = facts.map(|(name, text)| Fact::new(name, text));
    report::write(&found, &facts, out)?;
    let missed = report::missed(&found);
    console.info(&format!("{} misses; report in {}", missed.len(), out.display()));
    Ok(())
}

/// What is printed: assumptions, then bands.
fn answer(arguments: &PredictArguments) -> seqloom_terminal::Result<String> {
    let Source { text: costs, name: from } =
        text_or(arguments.parsing.as_deref(), bands::SHIPPED_TABLE, "parsing.tsv")?;
    let Source { text: laws, name: laws_from } =
        text_or(arguments.laws.as_deref(), SHIPPED_LAWS, "laws.tsv")?;
    let question = question(arguments, &laws, &laws_from)?;
    let named = |error| UnusableFile::new(Path::new(&from), error);
    let ways = bands::ways(&costs, &arguments.files, &arguments.unit).map_err(named)?;
    if ways.is_empty() {
        let inputs = bands::inputs(&costs).map_err(named)?.into_iter();
        let inputs: Vec<String> = inputs.map(|it| format!("{} {}", it.files, it.unit)).collect();
        let what = format!("{from} has no rows of {} {}", arguments.files, arguments.unit);
        return Err(UsageError(format!("{what}; it has {}", inputs.join(", "))).into());
    }
    let mut text = format!(
        "# costs of taking reads: {from}, {} files, units of {} bytes, one thread\n\
         # law of the lock: {} ({laws_from})\n",
        arguments.files, arguments.unit, arguments.lock
    );
    question.assumptions().iter().for_each(|line| text += &format!("# {line}\n"));
    text += &as_text(&question.answer(&ways));
    Ok(text)
}

/// A text, and where it is from.
struct Source {
    text: String,
    name: String,
}

/// A file's, or what is shipped.
fn text_or(file: Option<&Path>, shipped: &str, name: &str) -> seqloom_terminal::Result<Source> {
    match file {
        None => Ok(Source { text: shipped.to_owned(), name: format!("the shipped {name}") }),
        Some(path) => {
            let text = fs::read_to_string(path);
            let text = text.map_err(|error| UnusableFile::read(path, &error))?;
            Ok(Source { text, name: path.display().to_string() })
        }
    }
}

fn question(
    arguments: &PredictArguments,
    laws: &str,
    laws_from: &str,
) -> seqloom_terminal::Result<Question> {
    let machine = machine(&arguments.machine)?;
    let among = |names: Vec<&str>, what: &str| {
        UsageError(format!("no {what} of that name: {}", names.join(", ")))
    };
    let placement = Placement::ALL.iter().find(|(_, name)| *name == arguments.placement);
    let names = || Placement::ALL.map(|it| it.1).to_vec();
    let (placement, _) = *placement.ok_or_else(|| among(names(), "placement"))?;
    let law = LOCK_NAMES.iter().find(|(name, _)| *name == arguments.lock);
    let names = || LOCK_NAMES.map(|it| it.0).to_vec();
    let (_, law) = *law.ok_or_else(|| among(names(), "lock"))?;
    let lock = match law {
        None => HandOver::constant(0.0),
        Some((name, _)) => bands::law(laws, name, &machine)
            .map_err(|error| UnusableFile::new(Path::new(laws_from), error))?
            .ok_or_else(|| UnusableFile::new(Path::new(laws_from), format!("no law of {name}")))?,
    };
    for (name, value) in [
        ("--engine-us", arguments.engine_us),
        ("--engine-bytes", arguments.engine_bytes),
        ("--output-ns", arguments.output_ns),
    ] {
        if !(0.0..=1e12).contains(&value) {
            return Err(UsageError(format!("{name} {value} is not between 0 and 1e12")).into());
        }
    }
    let most = bands::MOST_HOLD_READS;
    if arguments.output_reads.get() > most {
        let what = format!("--output-reads {} is more than {most}", arguments.output_reads);
        return Err(UsageError(what).into());
    }
    Ok(Question {
        threads: threads(&arguments.threads)?,
        engine_us: arguments.engine_us,
        engine_bytes: arguments.engine_bytes,
        machine,
        placement,
        lock,
        output_ns: arguments.output_ns,
        output_reads: arguments.output_reads.get(),
        seed: arguments.seed,
    })
}

/// `16..512` as doublings with both ends, or numbers with commas.
fn threads(text: &str) -> Result<Vec<u32>, UsageError> {
    let bad = || {
        UsageError(format!(
            "--threads {text}: wanted is 16..512, or numbers such as 1,24,96, of 1 to \
             {MOST_THREADS}"
        ))
    };
    let number = |text: &str| {
        let number = text.trim().parse().ok();
        number.filter(|number| (1..=MOST_THREADS).contains(number)).ok_or_else(bad)
    };
    let Some((first, last)) = text.split_once("..") else {
        return text.split(',').map(number).collect();
    };
    let (first, last) = (number(first)?, number(last)?);
    if first > last {
        return Err(bad());
    }
    let doubled = std::iter::successors(Some(first), |number| number.checked_mul(2));
    let mut all: Vec<u32> = doubled.take_while(|number| *number < last).collect();
    all.push(last);
    Ok(all)
}

/// `nodes=8,cores=256,smt=2`.
fn machine(text: &str) -> Result<Machine, UsageError> {
    let mut machine = Machine { name: "asked for", nodes: 1, cores: 0, smt: 1 };
    for part in text.split(',') {
        let number = part.split_once('=').and_then(|(name, number)| {
            Some((
                name.trim(),
                number.trim().parse::<u32>().ok().filter(|n| (1..=65_536).contains(n))?,
            ))
        });
        match number {
            Some(("nodes", number)) => machine.nodes = number,
            Some(("cores", number)) => machine.cores = number,
            Some(("smt", number)) => machine.smt = number,
            _ => {
                return Err(UsageError(format!(
                    "--machine {text}: {part} is not nodes=, cores= or \
                smt= with a number above 0"
                )));
            }
        }
    }
    if machine.cores < machine.nodes || machine.smt > 16 {
        return Err(UsageError(format!(
            "--machine {text}: a core for each node at least is wanted, and smt of at most 16"
        )));
    }
    Ok(machine)
}

/// The table in columns, thousands of reads per second.
fn as_text(table: &Table) -> String {
    let mut out = format!(
        "{:8} {:>7} {:>12} {:>12} {:>12}  limit in the middle (thousand reads/s)\n",
        "way", "threads", "low", "middle", "high"
    );
    for row in &table.rows {
        let [way, threads, limit] = &row.factors[..] else { continue };
        let [low, middle, high] = row.values[..] else { continue };
        out += &format!(
            "{way:8} {threads:>7} {:>12.0} {:>12.0} {:>12.0}  {limit}\n",
            low / 1e3,
            middle / 1e3,
            high / 1e3
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line of arguments.
    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        arguments: PredictArguments,
    }

    #[test]
    fn the_page_has_the_bands_that_are_printed_of_the_recorded_costs() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("scaling.md");
        let page = fs::read_to_string(page).unwrap();
        let command = page.split('`').find(|it| it.starts_with("seqloom-lab predict --threads"));
        let words = command.unwrap().split(' ').skip(1);
        let Line { arguments } = clap::Parser::parse_from(words);
        let printed = answer(&arguments).unwrap();
        let rows: Vec<Vec<&str>> = printed
            .lines()
            .filter(|line| !line.starts_with('#'))
            .skip(1)
            .map(|line| line.split_whitespace().collect())
            .collect();
        let mut lines = page.lines().skip_while(|line| !line.starts_with("| way | 16 threads |"));
        let threads: Vec<&str> = cells(lines.next().unwrap()).skip(1).collect();
        let threads: Vec<&str> = threads.iter().map(|it| it.trim_end_matches(" threads")).collect();
        let mut compared = 0;
        for line in lines.skip(1).take_while(|line| line.starts_with('|')) {
            let mut cells = cells(line);
            let way = cells.next().unwrap().split(',').next().unwrap();
            for (threads, cell) in threads.iter().zip(cells) {
                let row = rows.iter().find(|row| row[0] == way && row[1] == *threads);
                let row = row.unwrap_or_else(|| panic!("{way} {threads}: {printed}"));
                assert_eq!(cell, format!("{} to {}", row[2], row[4]), "{way} {threads}");
                compared += 1;
            }
        }
        let ways = rows.iter().filter(|row| row[1] == "16").count();
        assert_eq!(compared, ways * threads.len(), "{printed}");
        // Up to how many threads the engine is the limit, as the sentence after the table says.
        let most = |way: &str| -> u32 {
            let of = rows.iter().filter(|row| row[0] == way && row[5..].join(" ") == "engine");
            of.map(|row| row[1].parse().unwrap()).max().unwrap_or(0)
        };
        let said = page.split("<!-- limits: ").nth(1).and_then(|rest| rest.split(" -->").next());
        let limits = ["O", "D", "B", "L", "source"].map(|way| format!("{way} {}", most(way)));
        assert_eq!(said, Some(&limits.join(", ")[..]), "{printed}");
    }

    /// Cells of a row of a table in Markdown.
    fn cells(row: &str) -> impl Iterator<Item = &str> {
        row.trim_matches('|').split('|').map(str::trim)
    }

    #[test]
    fn numbers_of_threads_are_read() {
        let t =
            |text: &str, expected: &[u32]| assert_eq!(threads(text).unwrap(), expected, "{text}");
        t("16..512", &[16, 32, 64, 128, 256, 512]);
        t("16..100", &[16, 32, 64, 100]);
        t("7..7", &[7]);
        t("1, 24,96", &[1, 24, 96]);
        for text in ["", "0", "5000", "8..4", "..", "1..x", "1,,2", "-3"] {
            assert!(threads(text).is_err(), "{text}");
        }
    }

    #[test]
    fn machines_are_read() {
        let found = machine("nodes=4,cores=64,smt=2").unwrap();
        assert_eq!((found.nodes, found.cores, found.smt), (4, 64, 2));
        assert_eq!(machine("cores=8").unwrap().hardware_threads(), 8);
        for text in
            ["", "nodes=2", "cores=0", "cores=8,sockets=2", "nodes=9,cores=8", "cores=8,smt=99"]
        {
            assert!(machine(text).is_err(), "{text}");
        }
    }
}
