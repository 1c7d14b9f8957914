//! The page of a run (`--html`).

use std::path::Path;

use seqloom_format::bam::Reference;
use seqloom_report::page::Page;
use seqloom_report::quality::{self, DuplicateFindings, Findings, run as run_section};
use seqloom_report::run::RunReport;

use super::run::Run;
use super::summary::Summary;

/// What was counted, and what the run took. All but the last section is a function of the input and
/// the options.
pub(super) fn page(
    summary: &mut Summary,
    references: &[Reference],
    (report, run): (&RunReport, &Run<'_>),
) -> Page {
    let lengths: Vec<u32> = references.iter().map(|reference| reference.length).collect();
    let depth = summary.metrics.depth.take().map(|depth| depth.finish(&lengths));
    let duplicates = summary.duplicates.as_ref().map(|it| DuplicateFindings {
        rows: &it.rows,
        histogram: &it.histogram,
        saturation: &it.saturation,
    });
    let findings = Findings {
        tally: &summary.tally,
        metrics: &summary.metrics,
        references,
        read_groups: summary.read_groups.clone(),
        depth,
        gc_windows: summary.gc_windows.as_ref(),
        duplicates,
        recalibration: summary.recalibration.as_ref(),
        applied: summary.applied.as_ref(),
    };
    let mut sections = quality::sections(&findings);
    sections.push(run_section::run(report, &run.samples()));
    let output = Path::new(&report.output);
    let name = output.file_name().unwrap_or(output.as_os_str()).to_string_lossy();
    let lines = report.inputs.iter().map(|path| describe(path)).collect();
    let command = report.command.get(1).map_or("", String::as_str);
    Page {
        maker: format!("{} {command}", report.program),
        title: name.into_owned(),
        lines,
        facts: quality::facts(&findings),
        sections,
    }
}

/// An input with its size, where it has one.
fn describe(path: &str) -> String {
    let size = std::fs::metadata(path).ok().filter(|it| it.is_file()).map(|it| it.len());
    size.map_or_else(|| path.to_owned(), |bytes| format!("{path} ({})", size_text(bytes)))
}

/// A size in the unit that leaves a number below a thousand.
fn size_text(bytes: u64) -> String {
    let units = [(1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    let unit = units.into_iter().find(|(size, _)| bytes as f64 >= *size);
    unit.map_or_else(
        || format!("{bytes} bytes"),
        |(size, name)| format!("{:.1} {name}", bytes as f64 / size),
    )
}
