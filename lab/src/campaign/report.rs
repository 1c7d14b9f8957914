//! The report of a campaign: one page that needs nothing but itself. A function of what is kept in
//! the campaign's folder.

use super::curves::Curves;
use super::definition::Experiment;
use super::html::{LegendEntry, Page};
use super::record::{Facts, Record};
use super::summary::{SPREADS, TIME_BASIS};
use crate::output::short;
use crate::table::{Row, Table};
use seqloom_report::plot::{Bars, Line, Plot, Point, Spread, Style, legend_key};

/// Levels of some factors.
type Levels = Vec<String>;

/// The summary, and which of its factors are what in plots.
struct View<'a> {
    experiment: &'a Experiment,
    table: &'a Table,
    lines: Vec<String>,
    panels: Vec<String>,
}

/// The page.
#[must_use]
pub(crate) fn page(
    experiment: &Experiment,
    facts: &Facts,
    records: &[Record],
    table: &Table,
) -> String {
    let view = View::new(experiment, table);
    let mut page = Page::new(&experiment.title);
    page.paragraph(&experiment.question);
    if facts.smoke {
        page.paragraph("A smoke run: it shows that everything works, and measures nothing.");
    }
    about(&mut page, experiment, facts, records);
    not_run(&mut page, experiment, facts, records);
    if facts.is_busy() {
        no_curves(&mut page, facts);
    } else {
        view.plots(&mut page);
        view.peaks(&mut page);
        view.bars(&mut page);
        view.curves(&mut page, records);
    }
    view.medians(&mut page);
    page.heading("Again");
    page.paragraph(&facts.command_line.join(" "));
    page.finish()
}

fn strings(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn about(page: &mut Page, experiment: &Experiment, facts: &Facts, records: &[Record]) {
    let host = &facts.host;
    let nodes: Vec<String> = host
        .node_memory_bytes
        .iter()
        .map(|(node, bytes)| format!("node {node}: {} MiB", bytes >> 20))
        .collect();
    let protocol = &experiment.protocol;
    let reads = match (protocol.reads_per_thread, protocol.reads) {
        (Some(reads), _) => format!("weak scaling, {reads} reads a thread"),
        (_, Some(reads)) => format!("strong scaling, {reads} reads"),
        _ => "no reads".to_owned(),
    };
    let unknown = || "not told".to_owned();
    let quota = host.quota_cores.map_or_else(|| "none".to_owned(), |q| format!("{q:.2} cores"));
    let done = records.iter().map(|record| record.order).collect::<std::collections::BTreeSet<_>>();
    let mut rows = vec![
        ("began, ended", format!("{}, {}", facts.began, facts.ended.as_deref().unwrap_or("early"))),
        ("runs", format!("{} of {} planned", done.len(), facts.planned_runs)),
        ("repeats", format!("{}, interleaved, seed {}", protocol.repeats, protocol.seed)),
        ("reads", reads),
        ("processor", host.cpu_model.clone()),
        ("CPUs, cores, sockets", format!("{}, {}, {}", host.cpus, host.cores, host.packages)),
        ("memory of nodes", nodes.join(", ")),
        ("may be used", format!("CPUs {}, {} cores", host.allowed_cpus, host.usable_cores)),
        ("quota", quota),
        ("governor", host.governor.clone().unwrap_or_else(unknown)),
        ("kernel", host.kernel.clone()),
        (
            "transparent huge pages",
            format!(
                "{}, {} KiB",
                host.transparent_huge_pages,
                host.transparent_huge_page_bytes >> 10
            ),
        ),
        ("load before", format!("{:.2} threads of others ready to run", facts.ready_threads)),
        ("counters", facts.counters.clone()),
    ];
    rows.extend(
        facts
            .settings
            .iter()
            .map(|(name, words)| ("set", format!("{name} = {}", words.join(", ")))),
    );
    let versions = facts.versions.iter();
    rows.extend(versions.map(|(subject, said)| ("version", format!("{subject}: {said}"))));
    let rows: Vec<Levels> =
        rows.into_iter().map(|(name, fact)| vec![name.to_owned(), fact]).collect();
    page.heading("Machine and protocol");
    page.table(&strings(&["what", "value"]), &rows);
}

/// In place of what a busy machine cannot show.
fn no_curves(page: &mut Page, facts: &Facts) {
    let (load, cores) = (facts.ready_threads, facts.host.usable_cores);
    page.heading("No curves");
    page.paragraph(&format!(
        "Before the first run {load:.2} threads of others were ready to run on {cores} cores. What \
         took how long on the clock says more of them than of what was run, so nothing is drawn of \
         it. In the table below processor time (cpu_s) counts; wall_s, align_s, reads_per_s and \
         cores_busy do not. A run on a machine that is quiet, with at most half of its cores busy \
         before, gets its curves."
    ));
}

/// What was left out, and what failed.
fn not_run(page: &mut Page, experiment: &Experiment, facts: &Facts, records: &[Record]) {
    let count: usize = facts.left_out.iter().map(|left| left.configurations).sum();
    let mut failures: Vec<(String, String, usize)> = Vec::new();
    for record in records {
        let Some(why) = &record.failure else { continue };
        let names = experiment.factor.iter().map(|factor| &factor.name);
        let levels = names.zip(&record.levels).map(|(name, level)| format!("{name}={level}"));
        let what = format!("{} {}", record.subject, levels.collect::<Vec<_>>().join(" "));
        match failures.iter_mut().find(|(other, reason, _)| *other == what && reason == why) {
            Some(failure) => failure.2 += 1,
            None => failures.push((what, why.clone(), 1)),
        }
    }
    page.heading("Not run, or failed");
    let failed: usize = failures.iter().map(|failure| failure.2).sum();
    page.paragraph(&format!(
        "{count} configurations were left out; {failed} of {} programs failed.",
        records.len()
    ));
    if count > 0 {
        let row = |left: &super::plan::LeftOut| {
            vec![left.subject.clone(), left.why.clone(), left.configurations.to_string()]
        };
        let rows: Vec<Levels> = facts.left_out.iter().map(row).collect();
        page.table(&strings(&["left out", "why", "configurations"]), &rows);
    }
    if failed > 0 {
        let row = |(what, why, count): (String, String, usize)| vec![what, why, count.to_string()];
        let rows: Vec<Levels> = failures.into_iter().map(row).collect();
        page.table(&strings(&["failed", "why", "programs"]), &rows);
    }
}

/// Parts and the rest as shares of one whole, and whether they came to more than it.
fn of_a_whole(mut parts: Vec<f64>) -> (Vec<f64>, bool) {
    let sum: f64 = parts.iter().sum();
    // Clocks differ by less than a bar shows.
    let is_over = sum > 1.005;
    if sum > 1.0 {
        parts.iter_mut().for_each(|part| *part /= sum);
    }
    parts.push((1.0 - sum).max(0.0));
    (parts, is_over)
}

impl<'a> View<'a> {
    fn new(experiment: &'a Experiment, table: &'a Table) -> Self {
        let report = &experiment.report;
        let stands = |name: &String| {
            *name == report.x || report.lines.contains(name) || report.panels.contains(name)
        };
        let varies = |name: &String| table.levels(name).len() > 1;
        let more = experiment.keys().into_iter().filter(|name| !stands(name) && varies(name));
        let panels = report.panels.iter().cloned().chain(more).collect();
        Self { experiment, table, lines: report.lines.clone(), panels }
    }

    fn column(&self, name: &str) -> Option<usize> {
        self.table.columns.iter().position(|column| column == name)
    }

    fn levels(&self, row: &Row, names: &[String]) -> Levels {
        let at = |name: &String| self.table.factors.iter().position(|factor| factor == name);
        names.iter().filter_map(|name| Some(row.factors[at(name)?].clone())).collect()
    }

    fn x(&self, row: &Row) -> Option<f64> {
        let x = self.levels(row, std::slice::from_ref(&self.experiment.report.x));
        x.first()?.parse().ok()
    }

    /// Combinations of levels, in the order of the table.
    fn combinations(&self, names: &[String]) -> Vec<Levels> {
        let mut all: Vec<Levels> = Vec::new();
        for row in &self.table.rows {
            let levels = self.levels(row, names);
            if !all.contains(&levels) {
                all.push(levels);
            }
        }
        all
    }

    fn rows(&self, panel: &Levels, line: &Levels) -> Vec<&Row> {
        let is_it = |row: &&Row| {
            self.levels(row, &self.panels) == *panel && self.levels(row, &self.lines) == *line
        };
        self.table.rows.iter().filter(is_it).collect()
    }

    /// A combination in words: the names of subjects speak for themselves.
    fn words(names: &[String], levels: &Levels) -> String {
        let word = |(name, level): (&String, &String)| match name.as_str() {
            "subject" => level.clone(),
            _ => format!("{name} {level}"),
        };
        let words: Vec<String> = names.iter().zip(levels).map(word).collect();
        if words.is_empty() { "all".to_owned() } else { words.join(", ") }
    }

    fn legend(names: &[String], lines: &[Levels]) -> Vec<LegendEntry> {
        let entry = |(number, line)| LegendEntry {
            key: legend_key(number),
            name: Self::words(names, line),
        };
        lines.iter().enumerate().map(entry).collect()
    }

    fn plots(&self, page: &mut Page) {
        let report = &self.experiment.report;
        page.heading(&format!("{} by {}", report.y_title, report.x));
        let Some(y) = self.column(&report.y) else {
            page.paragraph(&format!("Nothing told {}.", report.y));
            return;
        };
        let basis: Vec<&str> = self.table.levels(TIME_BASIS);
        page.paragraph(&format!(
            "Medians of the repeats; lines up and down go from quartile to quartile. The time of \
             the work (align_s) is: {}. Of several instances the slowest counts.",
            basis.join("; ")
        ));
        let lines = self.combinations(&self.lines);
        let ends = [self.column(&(report.y.clone() + SPREADS[0]))]
            .into_iter()
            .chain([self.column(&(report.y.clone() + SPREADS[1]))])
            .collect::<Option<Vec<usize>>>();
        let panel = |panel: &Levels| {
            let points = |line: &Levels| {
                let rows = self.rows(panel, line);
                let point = |row: &&Row| Some(Point::new(self.x(row)?, row.values[y]));
                let mut points: Vec<Point> = rows.iter().filter_map(point).collect();
                points.retain(|point| point.y.is_finite());
                points.sort_by(|a, b| a.x.total_cmp(&b.x));
                Line { name: Self::words(&self.lines, line), points }
            };
            let spread = |line: &Levels| {
                let ends = ends.as_deref().unwrap_or_default();
                let [low, high] = ends else { return Vec::new() };
                let whisker = |row: &&Row| {
                    let (low, high) = (row.values[*low], row.values[*high]);
                    Some(Spread { x: self.x(row)?, low, high })
                };
                self.rows(panel, line).iter().filter_map(whisker).collect()
            };
            let plot = Plot {
                title: Self::words(&self.panels, panel),
                x: report.x.clone(),
                y: report.y_title.clone(),
                lines: lines.iter().map(points).collect(),
            };
            let spread: Vec<_> = lines.iter().map(spread).collect();
            plot.draw(Style { small: true, linear_y: true, spread: &spread, ..Style::default() })
        };
        let plots: Vec<String> = self.combinations(&self.panels).iter().map(panel).collect();
        page.panels(&Self::legend(&self.lines, &lines), &plots);
    }

    fn peaks(&self, page: &mut Page) {
        let report = &self.experiment.report;
        page.heading(&format!("Peaks: best {}", report.peak));
        let Some(at) = self.column(&report.peak) else {
            page.paragraph(&format!("Nothing told {}.", report.peak));
            return;
        };
        let mut rows = Vec::new();
        for panel in self.combinations(&self.panels) {
            for line in self.combinations(&self.lines) {
                let rates = self.rows(&panel, &line);
                let mut rates: Vec<(f64, f64)> =
                    rates.iter().filter_map(|row| Some((self.x(row)?, row.values[at]))).collect();
                rates.retain(|rate| rate.1.is_finite());
                let first = rates.iter().min_by(|a, b| a.0.total_cmp(&b.0));
                let best = rates.iter().max_by(|a, b| a.1.total_cmp(&b.1));
                let (Some(first), Some(best)) = (first, best) else { continue };
                rows.push(vec![
                    Self::words(&self.panels, &panel),
                    Self::words(&self.lines, &line),
                    short(best.1),
                    best.0.to_string(),
                    short(first.1),
                    short(best.1 / first.1),
                ]);
            }
        }
        let x = &report.x;
        let heads = ["of", "way", "best", &format!("at {x}"), &format!("at least {x}"), "ratio"];
        page.table(&strings(&heads), &rows);
    }

    /// How busy threads were, at the least and the most threads of each line.
    fn bars(&self, page: &mut Page) {
        let (Some(busy), Some(wall)) = (self.column("cores_busy"), self.column("wall_s")) else {
            return;
        };
        let waits = &self.experiment.report.waits;
        let wait_columns: Vec<usize> = waits.iter().filter_map(|name| self.column(name)).collect();
        let mut bars = Vec::new();
        for panel in self.combinations(&self.panels) {
            for line in self.combinations(&self.lines) {
                let mut rows = self.rows(&panel, &line);
                rows.retain(|row| row.values[busy].is_finite());
                rows.sort_by(|a, b| self.x(a).unwrap_or(0.0).total_cmp(&self.x(b).unwrap_or(0.0)));
                rows.dedup_by_key(|row| self.x(row).map(f64::to_bits));
                let ends = rows.first().into_iter().chain(rows.last().filter(|_| rows.len() > 1));
                for row in ends {
                    let threads = self.levels(row, &strings(&["threads"]));
                    let threads = threads.first().and_then(|n| n.parse().ok()).unwrap_or(1.0);
                    let whole = (threads * row.values[wall]).max(1e-9);
                    let mut parts = vec![row.values[busy] / threads];
                    parts.extend(wait_columns.iter().map(|&at| row.values[at] / whole));
                    let of = Self::words(&self.panels, &panel);
                    let way = Self::words(&self.lines, &line);
                    let (parts, over) = of_a_whole(parts);
                    let mark = if over { " *" } else { "" };
                    bars.push((format!("{of}: {way}, {threads} threads{mark}"), parts));
                }
            }
        }
        if bars.is_empty() {
            return;
        }
        let mut parts = vec!["busy".to_owned()];
        parts.extend(waits.iter().filter(|name| self.column(name).is_some()).cloned());
        parts.push("waiting for anything".to_owned());
        page.heading("Busy and waiting");
        for name in waits.iter().filter(|name| self.column(name).is_none()) {
            page.paragraph(&format!("Nothing told {name}."));
        }
        page.paragraph(
            "Of the time of all threads, loading included: what processors worked, and the rest, \
             in which threads waited for locks, files, or a core. Waiting at a lock that spins is \
             work of processors, too, and counts twice: where parts come to more than the whole, \
             they are scaled to it, and the bar is marked *.",
        );
        let title = "share of the threads' time".to_owned();
        page.figure(&Bars { title, parts, bars }.to_svg());
    }

    /// Curves that subjects wrote, of the first repeat that has any.
    fn curves(&self, page: &mut Page, records: &[Record]) {
        let Some(rule) = self.experiment.subject.iter().find_map(|s| s.curve.as_ref()) else {
            return;
        };
        let Some(curves) = Curves::new(self.experiment, records) else { return };
        let names = curves.names(&self.lines);
        let with_curve = curves.combinations(&names);
        let mut lines = self.combinations(&names);
        lines.retain(|line| with_curve.contains(line));
        let x = std::slice::from_ref(&self.experiment.report.x);
        let panel_names = curves.names(&[&self.panels, x].concat());
        let plot = |panel: Levels| {
            let line = |line: &Levels| Line {
                name: String::new(),
                points: curves.points([&panel_names, &names], [&panel, line]),
            };
            let plot = Plot {
                title: Self::words(&panel_names, &panel),
                x: rule.title.clone(),
                y: "share within".to_owned(),
                lines: lines.iter().map(line).collect(),
            };
            plot.draw(Style { small: true, linear_y: true, decades: true, ..Style::default() })
        };
        let plots: Vec<_> = curves.combinations(&panel_names).into_iter().map(plot).collect();
        page.heading(&format!("Distribution: {}", rule.title));
        page.paragraph(&format!("Share that took no longer, of repeat {}.", curves.repeat));
        page.panels(&Self::legend(&names, &lines), &plots);
    }

    fn medians(&self, page: &mut Page) {
        page.heading("All medians");
        let heads: Levels = self.table.factors.iter().chain(&self.table.columns).cloned().collect();
        let row = |row: &Row| {
            let values = row.values.iter().map(|value| short(*value));
            row.factors.iter().cloned().chain(values).collect()
        };
        page.table(&heads, &self.table.rows.iter().map(row).collect::<Vec<_>>());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_those_of_one_whole() {
        assert_eq!(of_a_whole(vec![0.5, 0.25]), (vec![0.5, 0.25, 0.25], false));
        // All of it busy, a quarter of that at a spinning lock.
        assert_eq!(of_a_whole(vec![1.0, 0.25]), (vec![0.8, 0.2, 0.0], true));
        assert_eq!(of_a_whole(Vec::new()), (vec![1.0], false));
    }
}
