//! Time and memory of elPrep's five steps (leave out unmapped reads, replace the reference's
//! sequences, replace the read group, mark duplicates, sort by coordinate; and clean what hangs
//! over) by allocator and program: the comparison of Costanza 2019 (BMC Bioinformatics 20:301),
//! where memory managers are judged by time, peak memory and their product.

mod report;
mod spread;
mod ways;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use crate::experiment::LabError;
use crate::output::{Fact, Results};
use crate::table::{Row, Table};
use crate::watch::{Watched, watch_in};

pub(crate) use crate::watch::Sample;
pub(crate) use spread::Spread;
pub(crate) use ways::{JavaOptions, Tool, allocators, tools};

/// Factors of the table.
pub(crate) const FACTORS: [&str; 2] = ["way", "repeat"];

/// Phases of `prep`, as its report names them.
pub(crate) const PHASES: [&str; 3] = ["ingest", "resolve", "finish"];

/// Columns of the table; `gb_hours` is peak memory in GB times hours on the clock, as in the
/// paper, and `gb_hours_over_time` the area below memory over time; `after_output_s` is from the
/// last write to the output to the end of the program, in which what it has is freed. Phases are 0
/// where the program reports none; the last two are missing in tables of earlier versions.
pub(crate) const COLUMNS: [&str; 10] = [
    "wall_s",
    "cpu_s",
    "peak_bytes",
    "gb_hours",
    "ingest_s",
    "resolve_s",
    "finish_s",
    "output_bytes",
    "gb_hours_over_time",
    "after_output_s",
];
/// Columns that were added later.
const LATER: usize = 2;

/// The program as it is shipped.
pub(crate) const SHIPPED: &str = "seqloom";

/// What is run.
#[derive(Debug, Clone)]
pub(crate) struct PrepMemory {
    /// The program as it is shipped, with an allocator of its own.
    pub(crate) program: PathBuf,
    /// The same program built for the system's allocator, which others can take the place of.
    pub(crate) plain_program: Option<PathBuf>,
    /// Aligned reads, grouped by name.
    pub(crate) input: PathBuf,
    /// `.dict`, SAM or BAM with the sequences to replace those of the header.
    pub(crate) dictionary: PathBuf,
    /// Where outputs are made, each in place of the one before.
    pub(crate) work: PathBuf,
    /// Busy threads.
    pub(crate) threads: usize,
    /// `-m` of the program, if any.
    pub(crate) memory: Option<String>,
    /// Runs of each way, taken in turn.
    pub(crate) repeats: u32,
    /// Runs of other programs.
    pub(crate) tool_repeats: u32,
    /// Names of ways, empty for all.
    pub(crate) ways: Vec<String>,
    /// Levels of GOGC, the growth after which Go's collector runs, for elPrep; its own where there
    /// are none.
    pub(crate) gogc: Vec<String>,
    /// Options of Java for Picard; the usual ones where there are none.
    pub(crate) java: Vec<JavaOptions>,
    /// No round of runs is begun later.
    pub(crate) deadline: Option<Instant>,
}

/// What runs came to.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// A row for each run.
    pub(crate) runs: Table,
    /// Memory over time: rows of the last run of each way.
    pub(crate) curves: Table,
}

/// The file of memory over time, and its table's factors and columns.
pub(crate) const CURVES: &str = "memory-over-time.tsv";
const CURVE_FACTORS: [&str; 2] = ["way", "ms"];
const CURVE_COLUMNS: [&str; 1] = ["bytes"];
/// Points of a curve, each the most of as long a time.
const CURVE_POINTS: usize = 400;

/// A table of memory over time.
pub(crate) fn empty_curves() -> Table {
    Table::new(&CURVE_FACTORS, &CURVE_COLUMNS)
}

/// One way to do the five steps.
enum Way {
    Own { program: PathBuf, library: Option<PathBuf> },
    Other(Tool),
}

impl PrepMemory {
    /// Makes all runs, the ways in turn, so that what else the machine does meets all of them;
    /// `progress` is called with what is done next, `phases` reads the times of phases from the
    /// program's report. Once `stop` says so, the run under way is killed.
    ///
    /// # Errors
    /// A run cannot be started, fails or is stopped.
    pub(crate) fn run(
        &self,
        tell: &mut dyn FnMut(&str),
        phases: &dyn Fn(&str) -> Vec<(String, f64)>,
        stop: &dyn Fn() -> bool,
    ) -> Result<Outcome, LabError> {
        fs::create_dir_all(&self.work).map_err(LabError::file(&self.work))?;
        let (mut runs, mut curves) = (RESULTS.empty_table(), BTreeMap::new());
        let ways = self.plan()?;
        for repeat in 1..=self.repeats.max(self.tool_repeats) {
            if self.deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                tell("no time is left");
                break;
            }
            for (number, (name, way)) in ways.iter().enumerate() {
                let repeats = match way {
                    Way::Own { .. } => self.repeats,
                    Way::Other(_) => self.tool_repeats,
                };
                if repeat <= repeats {
                    tell(&format!("{name}, {repeat} of {repeats}"));
                    let (values, samples) = self.one(way, phases, stop)?;
                    let factors = vec![name.clone(), repeat.to_string()];
                    runs.rows.push(Row { factors, values });
                    curves.insert(number, curve(name, &samples));
                }
            }
        }
        let mut table = empty_curves();
        table.rows.extend(curves.into_values().flatten());
        Ok(Outcome { runs, curves: table })
    }

    /// The ways that were chosen, or all.
    fn plan(&self) -> Result<Vec<(String, Way)>, LabError> {
        let own = |name: &str, program: &Path, library| {
            (name.to_owned(), Way::Own { program: program.to_owned(), library })
        };
        let mut ways = vec![own(SHIPPED, &self.program, None)];
        if let Some(plain) = &self.plain_program {
            ways.extend(allocators().into_iter().map(|it| own(it.name, plain, it.library)));
        }
        let tools = tools(&self.gogc, &self.java);
        ways.extend(tools.into_iter().map(|tool| (tool.name.clone(), Way::Other(tool))));
        if let Some(unknown) = self.ways.iter().find(|it| !ways.iter().any(|(name, _)| name == *it))
        {
            let names: Vec<&str> = ways.iter().map(|(name, _)| name.as_str()).collect();
            return Err(LabError::Prepare(format!(
                "there is no way {unknown:?} here; there are {} (allocators need --plain)",
                names.join(", ")
            )));
        }
        let chosen = |name: &str| self.ways.is_empty() || self.ways.iter().any(|it| it == name);
        ways.retain(|(name, _)| chosen(name));
        Ok(ways)
    }

    fn one(
        &self,
        way: &Way,
        phases: &dyn Fn(&str) -> Vec<(String, f64)>,
        stop: &dyn Fn() -> bool,
    ) -> Result<(Vec<f64>, Vec<Sample>), LabError> {
        let (out, json) = (self.work.join("out.bam"), self.work.join("run.json"));
        for old in [&out, &json] {
            let _ = fs::remove_file(old); // it may not be there
        }
        let mut command = match way {
            Way::Own { program, library } => self.own(program, library.as_deref(), &out, &json),
            Way::Other(tool) => tool.command(self, &out),
        };
        let what = format!("{command:?}");
        let run = watch_in(&self.work, &mut command, &what, stop)?;
        let ended = SystemTime::now();
        let told = fs::read_to_string(&json).map(|text| phases(&text)).unwrap_or_default();
        let metadata = fs::metadata(&out).map_err(LabError::file(&out))?;
        let written = metadata.modified().map_err(LabError::file(&out))?;
        let after_output = ended.duration_since(written).unwrap_or_default();
        let output = Output { bytes: metadata.len(), after: after_output };
        Ok((values(&run, &told, output), run.samples))
    }

    fn own(&self, program: &Path, library: Option<&Path>, out: &Path, json: &Path) -> Command {
        let mut command = Command::new(program);
        command.arg("prep").arg(&self.input);
        command.args(["--filter-unmapped", "--clean-sam", "--mark-duplicates"]);
        command.args(["--duplicate-mode", "query", "--sort", "coordinate"]);
        command.arg("--reference-dict").arg(&self.dictionary);
        command.args(["--read-group", ways::READ_GROUP, "-t", &self.threads.to_string()]);
        command.args(self.memory.iter().flat_map(|memory| ["-m", memory]));
        command.arg("--json").arg(json).arg("-o").arg(out);
        if let Some(library) = library {
            command.env("LD_PRELOAD", library);
        }
        command
    }
}

/// The output of a run.
struct Output {
    bytes: u64,
    /// From its last write to the end of the program.
    after: Duration,
}

/// The area below memory over time, in GB h.
pub(crate) fn gb_hours_over_time(samples: &[Sample]) -> f64 {
    let area = |pair: &[Sample]| {
        let [a, b] = pair else { return 0.0 };
        (b.seconds - a.seconds) * (a.bytes + b.bytes) as f64 / 2.0
    };
    samples.windows(2).map(area).sum::<f64>() / 1e9 / 3600.0
}

fn values(run: &Watched, told: &[(String, f64)], output: Output) -> Vec<f64> {
    let phase = |name: &str| told.iter().find(|it| it.0 == name).map_or(0.0, |it| it.1);
    // The system's own account of the one process knows every moment.
    let peak_bytes = phase("peak_bytes").max(run.peak_bytes as f64);
    let gb_hours = peak_bytes / 1e9 * run.wall_s / 3600.0;
    let mut values = vec![run.wall_s, run.cpu_s, peak_bytes, gb_hours];
    values.extend(PHASES.map(phase));
    values.push(output.bytes as f64);
    values.extend([gb_hours_over_time(&run.samples), output.after.as_secs_f64()]);
    values
}

/// Rows of a way's memory over time: the most of as many samples each.
fn curve(way: &str, samples: &[Sample]) -> Vec<Row> {
    let points = samples.chunks(samples.len().div_ceil(CURVE_POINTS).max(1));
    let most = points.filter_map(|of| of.iter().max_by_key(|sample| sample.bytes));
    let row = |sample: &Sample| Row {
        factors: vec![way.to_owned(), format!("{:.0}", sample.seconds * 1e3)],
        values: vec![sample.bytes as f64],
    };
    most.map(row).collect()
}

impl Outcome {
    /// Writes both tables and the report into a folder.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub(crate) fn write(&self, facts: &[Fact], folder: &Path) -> Result<(), LabError> {
        RESULTS.write(&self.runs, facts, folder)?;
        let path = folder.join(CURVES);
        fs::write(&path, self.curves.to_tsv()).map_err(LabError::file(&path))
    }
}

/// What the experiment leaves behind.
pub(crate) const RESULTS: Results = Results {
    table: "prep-memory.tsv",
    factors: &FACTORS,
    columns: &[&COLUMNS],
    later: LATER,
    plots: |_| Vec::new(),
    markdown: report::markdown,
};

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn runs_are_taken_in_turn_and_reported() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        // Writes what the options after -o and --json name, and lives long enough to be looked at.
        let script = "#!/bin/sh\nsleep 0.05\nwhile [ $# -gt 0 ]; do case $1 in \
                      -o) echo x > \"$2\";; --json) echo y > \"$2\";; esac; shift; done\n";
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        // As shipped, with the system's allocator, and with others where they are installed.
        let mut names = vec![SHIPPED.to_owned()];
        names.extend(allocators().iter().map(|it| it.name.to_owned()));
        let experiment = PrepMemory {
            program: program.clone(),
            plain_program: Some(program),
            input: "in.bam".into(),
            dictionary: "dict".into(),
            work: folder.path().join("work"),
            threads: 2,
            memory: Some("1G".into()),
            repeats: 2,
            tool_repeats: 0,
            ways: names.clone(),
            gogc: Vec::new(),
            java: Vec::new(),
            deadline: None,
        };
        let phases = |text: &str| {
            assert_eq!(text, "y\n");
            vec![("ingest".to_owned(), 0.5), ("peak_bytes".to_owned(), 7e9)]
        };
        let mut told = Vec::new();
        let outcome =
            experiment.run(&mut |what| told.push(what.to_owned()), &phases, &|| false).unwrap();
        let table = &outcome.runs;
        let in_turn = [1, 2].map(|turn| names.iter().map(move |it| format!("{it}, {turn} of 2")));
        assert_eq!(told, in_turn.into_iter().flatten().collect::<Vec<_>>());
        assert_eq!(table.rows.len(), told.len());
        let [wall_s, _, peak, gb_hours, ingest_s, resolve_s, _, bytes, area, after] =
            table.rows[0].values[..]
        else {
            panic!("ten values")
        };
        // The area is below the peak, and the script ends soon after it has written.
        assert!(area > 0.0 && area < gb_hours && (0.0..wall_s).contains(&after), "{table:?}");
        assert_eq!((peak, ingest_s, resolve_s, bytes), (7e9, 0.5, 0.0, 2.0));
        assert!((gb_hours - 7.0 * wall_s / 3600.0).abs() < 1e-12);
        let folder = folder.path().join("report");
        outcome.write(&[Fact::new("machine", "2 cores")], &folder).unwrap();
        let curves = fs::read_to_string(folder.join(CURVES)).unwrap();
        assert!(curves.starts_with("way\tms\tbytes\nseqloom\t"), "{curves}");
        let report = fs::read_to_string(folder.join("README.md")).unwrap();
        assert!(report.contains("| seqloom | 2 |"), "{report}");
        assert!(report.contains("| system | 2 |"), "{report}");
    }

    #[test]
    fn the_area_is_memory_times_time() {
        let at = |seconds, bytes| Sample { seconds, bytes };
        // Up to 3.6 GB within an hour, and as long there.
        let samples = [at(0.0, 0), at(3600.0, 3_600_000_000), at(7200.0, 3_600_000_000)];
        assert!((gb_hours_over_time(&samples) - 5.4).abs() < 1e-12);
        assert_eq!(gb_hours_over_time(&samples[..1]), 0.0);
    }

    #[test]
    fn a_curve_has_the_most_of_each_stretch() {
        let samples: Vec<Sample> =
            (0..1000).map(|n| Sample { seconds: f64::from(n) * 0.005, bytes: n as u64 }).collect();
        let rows = curve("way", &samples);
        assert_eq!(rows.len(), 334);
        assert_eq!((&rows[0].factors[1][..], rows[0].values[0]), ("10", 2.0));
        assert_eq!((&rows[333].factors[1][..], rows[333].values[0]), ("4995", 999.0));
        assert_eq!(curve("way", &samples[..3]).len(), 3);
        assert_eq!(curve("way", &[]), []);
    }

    #[test]
    fn a_run_that_fails_says_why() {
        let folder = tempfile::tempdir().unwrap();
        let experiment = PrepMemory {
            program: "false".into(),
            plain_program: None,
            input: "in.bam".into(),
            dictionary: "dict".into(),
            work: folder.path().to_owned(),
            threads: 1,
            memory: None,
            repeats: 1,
            tool_repeats: 0,
            ways: Vec::new(),
            gogc: Vec::new(),
            java: Vec::new(),
            deadline: None,
        };
        let error = experiment.run(&mut |_| {}, &|_| Vec::new(), &|| false).unwrap_err();
        assert!(matches!(error, LabError::Failed { .. }), "{error}");
    }
}
