//! Published measurements: curves of the thread-scaling repository of Langmead et al. 2018
//! (github.com/BenLangmead/bowtie-scaling; seconds at a constant number of reads per thread), and
//! the peaks of Tables 2 to 4 of the paper. The files are not part of this project; they are read
//! from a folder that the user names.

use std::fs;
use std::path::Path;

use crate::experiment::LabError;

/// Columns of a file of curves.
const CURVE_HEAD: &str =
    "experiment\trun\ttool\tlock\tversion\tsensitivity\tpaired\tthreads\tseconds";
/// Columns of the table of peaks.
const PEAK_HEAD: &str = "table\ttool\tconfiguration\tmachine\treads\tthreads\tkrd_s";
/// Threads that no such measurement has, so that a damaged number is found out.
const MOST_THREADS: u32 = 4096;

/// A row that is none.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("line {line}: {what}")]
pub(crate) struct RowError {
    /// From 1.
    pub(crate) line: usize,
    /// What is wrong.
    pub(crate) what: &'static str,
}

/// Whose peak is requested.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PeakOf<'a> {
    /// The machine's name.
    pub(crate) machine: &'a str,
    /// The tool's name.
    pub(crate) tool: &'a str,
    /// Of paired reads.
    pub(crate) paired: bool,
}

/// A curve: seconds by threads, for one build of a tool.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Curve {
    /// Name of the set of runs.
    pub(crate) experiment: String,
    /// Name of the build.
    pub(crate) run: String,
    /// Name of the tool.
    pub(crate) tool: String,
    /// Its lock, in the words of the file.
    pub(crate) lock: String,
    /// How it parses, in the words of the file.
    pub(crate) version: String,
    /// Whether reads are pairs.
    pub(crate) paired: bool,
    /// Threads and seconds, by threads.
    pub(crate) points: Vec<(u32, f64)>,
}

impl Curve {
    /// Seconds with so many threads.
    #[must_use]
    pub(crate) fn seconds(&self, threads: u32) -> Option<f64> {
        self.points.iter().find(|point| point.0 == threads).map(|point| point.1)
    }

    /// Seconds with so many threads, on a straight line between the neighbours; at the ends, the
    /// last two points are gone on from.
    #[must_use]
    pub(crate) fn seconds_between(&self, threads: f64) -> Option<f64> {
        let above = self.points.iter().position(|point| f64::from(point.0) >= threads);
        let right = above.unwrap_or(self.points.len()).clamp(1, self.points.len().max(2) - 1);
        let (left, right) = (self.points.get(right - 1)?, self.points.get(right)?);
        let share = (threads - f64::from(left.0)) / f64::from(right.0 - left.0);
        Some(left.1 + share * (right.1 - left.1))
    }
}

/// A peak: the most reads per second, and with how many threads.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Peak {
    /// Number of the paper's table.
    pub(crate) table: u32,
    /// Name of the tool.
    pub(crate) tool: String,
    /// Lock, parsing or comparison.
    pub(crate) configuration: String,
    /// Machine.
    pub(crate) machine: String,
    /// Whether reads are pairs.
    pub(crate) paired: bool,
    /// Threads at the peak.
    pub(crate) threads: u32,
    /// Thousands of reads per second there.
    pub(crate) krd_s: f64,
}

fn fields<const N: usize>(line: &str) -> Option<[&str; N]> {
    let all: Vec<&str> = line.split('\t').collect();
    all.try_into().ok()
}

fn threads(text: &str) -> Option<u32> {
    text.parse().ok().filter(|threads| (1..=MOST_THREADS).contains(threads))
}

fn positive(text: &str) -> Option<f64> {
    text.parse().ok().filter(|value: &f64| value.is_finite() && *value > 0.0)
}

fn is_paired(text: &str, paired: &str, unpaired: &str) -> Option<bool> {
    (text == paired).then_some(true).or((text == unpaired).then_some(false))
}

/// Lines that hold something, with their numbers.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// The curves of a file; several measurements of a point are an error, since which of them counts
/// is not known, unless they are equal.
///
/// # Errors
/// The first line that is no row of such a file.
pub(crate) fn curves(text: &str) -> Result<Vec<Curve>, RowError> {
    let mut rows = lines(text);
    let head = rows.next();
    if head.is_none_or(|(_, line)| line != CURVE_HEAD) {
        return Err(RowError { line: head.map_or(1, |(line, _)| line), what: "other columns" });
    }
    let mut curves: Vec<Curve> = Vec::new();
    for (line, row) in rows {
        let bad = |what| RowError { line, what };
        let [experiment, run, tool, lock, version, _, paired, count, seconds] =
            fields(row).ok_or(bad("another number of fields"))?;
        let paired = is_paired(paired, "pe", "unp").ok_or(bad("neither pe nor unp"))?;
        let count = threads(count).ok_or(bad("no number of threads"))?;
        let seconds = positive(seconds).ok_or(bad("no time above 0"))?;
        let is_same = |it: &Curve| {
            (it.experiment.as_str(), it.run.as_str(), it.paired) == (experiment, run, paired)
        };
        let at = curves.iter().position(is_same).unwrap_or_else(|| {
            let [experiment, run, tool, lock, version] =
                [experiment, run, tool, lock, version].map(str::to_owned);
            curves.push(Curve { experiment, run, tool, lock, version, paired, points: vec![] });
            curves.len() - 1
        });
        let points = &mut curves[at].points;
        match points.binary_search_by_key(&count, |point| point.0) {
            Ok(at) if points[at].1.to_bits() == seconds.to_bits() => (),
            Ok(_) => return Err(bad("a second time for the same point")),
            Err(at) => points.insert(at, (count, seconds)),
        }
    }
    Ok(curves)
}

/// The peaks of a table.
///
/// # Errors
/// The first line that is no row of it.
pub(crate) fn peaks(text: &str) -> Result<Vec<Peak>, RowError> {
    let mut rows = lines(text);
    let head = rows.next();
    if head.is_none_or(|(_, line)| line != PEAK_HEAD) {
        return Err(RowError { line: head.map_or(1, |(line, _)| line), what: "other columns" });
    }
    let row = |(line, row): (usize, &str)| {
        let bad = |what| RowError { line, what };
        let [table, tool, configuration, machine, reads, count, krd_s] =
            fields(row).ok_or(bad("another number of fields"))?;
        Ok(Peak {
            table: table.parse().map_err(|_| bad("no number of a table"))?,
            tool: tool.to_owned(),
            configuration: configuration.to_owned(),
            machine: machine.to_owned(),
            paired: is_paired(reads, "paired", "unpaired")
                .ok_or(bad("neither paired nor unpaired"))?,
            threads: threads(count).ok_or(bad("no number of threads"))?,
            krd_s: positive(krd_s).ok_or(bad("no rate above 0"))?,
        })
    };
    rows.map(row).collect()
}

/// What a folder holds of both.
#[derive(Debug, Clone, Default)]
pub(crate) struct Published {
    /// All curves.
    pub(crate) curves: Vec<Curve>,
    /// All peaks; none where the folder has no table of them.
    pub(crate) peaks: Vec<Peak>,
}

impl Published {
    /// Reads the `.tsv` files of a folder, and of the one above it for the table of peaks (which
    /// is next to the unpacked curves). Files with other columns are not looked at.
    ///
    /// # Errors
    /// A file cannot be read or has a row that is none, or there are no curves.
    pub(crate) fn read(folder: &Path) -> Result<Self, LabError> {
        let mut all = Self::default();
        let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty());
        for (folder, with_curves) in [(Some(folder), true), (parent, false)] {
            let Some(folder) = folder else { continue };
            let entries = fs::read_dir(folder).map_err(LabError::file(folder))?;
            let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
            files.retain(|path| path.extension().is_some_and(|it| it == "tsv"));
            files.sort();
            for path in files {
                let text = fs::read_to_string(&path).map_err(LabError::file(&path))?;
                let bad =
                    |error: RowError| LabError::Prepare(format!("{}: {error}", path.display()));
                let head = lines(&text).next().map(|(_, line)| line);
                if head == Some(CURVE_HEAD) && with_curves {
                    all.add(curves(&text).map_err(bad)?);
                } else if head == Some(PEAK_HEAD) && all.peaks.is_empty() {
                    all.peaks = peaks(&text).map_err(bad)?;
                }
            }
        }
        if all.curves.is_empty() {
            let what = "holds no curves: wanted are .tsv files with the columns experiment, run, \
                        tool, lock, version, sensitivity, paired, threads, seconds";
            return Err(LabError::Prepare(format!("{}: {what}", folder.display())));
        }
        Ok(all)
    }

    /// Files may repeat curves of others: the first stays.
    fn add(&mut self, more: Vec<Curve>) {
        for curve in more {
            let is_same = |it: &Curve| {
                (&it.experiment, &it.run, it.paired)
                    == (&curve.experiment, &curve.run, curve.paired)
            };
            if !self.curves.iter().any(is_same) {
                self.curves.push(curve);
            }
        }
    }

    /// A peak.
    #[must_use]
    pub(crate) fn peak(
        &self,
        table: u32,
        configuration: &str,
        PeakOf { machine, tool, paired }: PeakOf<'_>,
    ) -> Option<&Peak> {
        self.peaks.iter().find(|peak| {
            (peak.table, peak.paired) == (table, paired)
                && (peak.configuration.as_str(), peak.machine.as_str(), peak.tool.as_str())
                    == (configuration, machine, tool)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rows: &[&str]) -> String {
        let rows: Vec<String> =
            rows.iter().map(|row| format!("e\tr\tbowtie\tl\tv\ts\t{row}\n")).collect();
        format!("{CURVE_HEAD}\n{}", rows.concat())
    }

    #[test]
    fn curves_are_ordered_by_threads() {
        let all =
            curves(&rows(&["unp\t8\t4.5", "pe\t1\t2", "unp\t2\t3.0", "unp\t8\t4.5"])).unwrap();
        assert_eq!(all.len(), 2);
        assert_eq!(all[0].points, [(2, 3.0), (8, 4.5)]);
        assert!(!all[0].paired && all[1].paired);
        assert_eq!((all[0].seconds(8), all[0].seconds(4)), (Some(4.5), None));
        assert_eq!(
            [4.0, 8.0, 10.0, 0.0].map(|n| all[0].seconds_between(n)),
            [Some(3.5), Some(4.5), Some(5.0), Some(2.5)]
        );
        assert_eq!(all[1].seconds_between(4.0), None);
    }

    #[test]
    fn rows_that_are_none_are_refused_with_their_line() {
        let t = |row: &str, what: &str| {
            let error = curves(&rows(&["unp\t1\t1.0", row])).unwrap_err();
            assert_eq!((error.line, error.what), (3, what), "{row}");
        };
        t("unp\t1", "another number of fields");
        t("unp\t1\t1.0\tx", "another number of fields");
        t("un\t1\t1.0", "neither pe nor unp");
        t("unp\t0\t1.0", "no number of threads");
        t("unp\t-4\t1.0", "no number of threads");
        t("unp\t99999999999999999999\t1.0", "no number of threads");
        t("unp\t1.5\t1.0", "no number of threads");
        for seconds in ["", "0", "-1", "nan", "inf", "1e999", "x"] {
            t(&format!("unp\t2\t{seconds}"), "no time above 0");
        }
        t("unp\t1\t2.0", "a second time for the same point");
        assert_eq!(curves("").unwrap_err().line, 1);
        assert_eq!(
            curves("# a\n\nb\tc\n").unwrap_err(),
            RowError { line: 3, what: "other columns" }
        );
    }

    #[test]
    fn peaks_are_read_and_bad_ones_refused() {
        let with = |row: &str| peaks(&format!("# of a paper\n{PEAK_HEAD}\n{row}\n"));
        let all = with("4\tBowtie 2\tL-parsing, 1 output\tKNL\tpaired\t272\t26.27").unwrap();
        assert_eq!((all[0].table, all[0].threads, all[0].krd_s), (4, 272, 26.27));
        assert!(all[0].paired && all[0].tool == "Bowtie 2");
        for row in [
            "4\tB\tL\tK\tpaired\t272",
            "x\tB\tL\tK\tpaired\t272\t1",
            "4\tB\tL\tK\tpairs\t272\t1",
            "4\tB\tL\tK\tpaired\t0\t1",
            "4\tB\tL\tK\tpaired\t272\tNaN",
        ] {
            assert_eq!(with(row).unwrap_err().line, 3, "{row}");
        }
        assert!(peaks(CURVE_HEAD).is_err());
    }

    #[test]
    fn a_folder_is_read_whole_and_named_when_it_has_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let curves = folder.path().join("curves");
        fs::create_dir(&curves).unwrap();
        let error = Published::read(&curves).unwrap_err().to_string();
        assert!(error.contains("holds no curves"), "{error}");
        fs::write(curves.join("a.tsv"), rows(&["unp\t1\t1.0"])).unwrap();
        fs::write(curves.join("b.tsv"), rows(&["unp\t1\t7.0", "pe\t1\t2.0"])).unwrap();
        fs::write(curves.join("c.tsv"), "other\tcolumns\n").unwrap();
        let row = "3\tBowtie\tO-parsing\tKNL\tunpaired\t48\t123.33";
        fs::write(folder.path().join("peaks.tsv"), format!("{PEAK_HEAD}\n{row}\n")).unwrap();
        let all = Published::read(&curves).unwrap();
        assert_eq!(all.curves.len(), 2);
        assert_eq!(all.curves[0].seconds(1), Some(1.0), "the first stays");
        let of = |paired| PeakOf { machine: "KNL", tool: "Bowtie", paired };
        assert!(all.peak(3, "O-parsing", of(false)).is_some());
        assert!(all.peak(3, "O-parsing", of(true)).is_none());
        fs::write(curves.join("d.tsv"), rows(&["unp\t1\tx"])).unwrap();
        let error = Published::read(&curves).unwrap_err().to_string();
        assert!(error.contains("d.tsv: line 2: no time above 0"), "{error}");
    }
}
