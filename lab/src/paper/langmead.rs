//! Langmead et al. 2018: throughput by threads as published, with this machine's own, the peaks of
//! the tables, and what the model says of the machine of the published curves.

use seqloom_report::page::{Cell, Page, Section};
use seqloom_report::plot::{Point, Spread};

use super::catalogue::Paper;
use super::scaling::Together;
use super::{Recorded, Series, Titles, figure, parsing, scaling, state, table, timeline};
use crate::campaign::measured::{Level, Measured};
use crate::output::short;
use crate::predict::bands::{self, Placement, Question};
use crate::predict::machine::MACHINES;
use crate::predict::model::HandOver;
use crate::predict::published::{Curve, Published};
use crate::table::Table;

/// The figure of threads at a lock.
pub(crate) const TIME_LINE: &str = "Figure 1";
/// Memory by threads, and compressed output: no figures of the paper.
pub(crate) const MEMORY: &str = "Memory";
/// See [`MEMORY`].
pub(crate) const COMPRESSED: &str = "Output";
/// Figures of locks and ways to parse.
pub(crate) const READING: [&str; 2] = ["Figure 3", "Figure 4"];

/// A program of the paper: in the curves, in the tables, and what is measured here of its kind.
struct Tool {
    curves: &'static str,
    name: &'static str,
    here: [Subject; 2],
}

/// A subject of the experiment, and what it is called on the page.
#[derive(Clone, Copy)]
pub(super) struct Subject {
    pub(super) subject: &'static str,
    pub(super) name: &'static str,
}

const fn subject(subject: &'static str, name: &'static str) -> Subject {
    Subject { subject, name }
}

const TOOLS: [Tool; 3] = [
    Tool {
        curves: "bowtie",
        name: "Bowtie",
        here: [
            subject("bowtie", "Bowtie as it is"),
            subject("seqloom-ungapped", "align --mode ungapped"),
        ],
    },
    Tool {
        curves: "bowtie2",
        name: "Bowtie 2",
        here: [
            subject("bowtie2", "Bowtie 2 as it is"),
            subject("seqloom-end-to-end", "align --mode end-to-end"),
        ],
    },
    Tool {
        curves: "hisat",
        name: "HISAT",
        here: [
            subject("hisat2", "HISAT2 as it is"),
            subject("seqloom-spliced", "align --mode spliced"),
        ],
    },
];

/// A level of `instances`, and what it is called on the page.
#[derive(Clone, Copy)]
pub(super) struct Processes {
    pub(super) level: &'static str,
    name: &'static str,
}

impl Processes {
    /// The name of a program's line.
    pub(super) fn line(self, program: &str) -> String {
        match self.level {
            "1" => program.to_owned(),
            _ => format!("{program}, {}", self.name),
        }
    }
}

/// The paper has one process, and processes of 16 threads.
pub(super) const PROCESSES: [Processes; 3] = [
    Processes { level: "1", name: "one process" },
    Processes { level: "2", name: "2 processes" },
    Processes { level: "threads/16", name: "processes of 16 threads" },
];

/// What is measured besides.
const OTHERS: [Subject; 2] = [subject("bwa", "bwa mem as it is"), subject("seqloom-bwa", "align")];

/// What was measured on a quiet machine.
fn quiet(measured: Option<&Measured>) -> Option<&Measured> {
    measured.filter(|measured| !measured.facts.is_busy())
}

/// What of it is shown together.
fn together() -> Vec<Together> {
    let tools = TOOLS.iter().map(|tool| Together { name: tool.name, subjects: tool.here });
    tools.chain([Together { name: "BWA-MEM", subjects: OTHERS }]).collect()
}

/// All that is measured.
fn subjects() -> Vec<Subject> {
    TOOLS.iter().flat_map(|tool| tool.here).chain(OTHERS).collect()
}

/// A published line.
#[derive(Clone, Copy)]
struct Named {
    /// Its name here.
    name: &'static str,
    /// Its lock in the words of the files; the first that there is counts.
    locks: &'static [&'static str],
    /// Its way to parse in the words of the files.
    version: &'static str,
}

const fn named(name: &'static str, locks: &'static [&'static str], version: &'static str) -> Named {
    Named { name, locks, version }
}

const ORIGINAL: &str = "Original parsing";
const QUEUEING: &[&str] = &["TBB queuing_mutex"];
const LOCKS: [Named; 5] = [
    named("TinyThread++ spin", &["tinythreads fast_mutex"], ORIGINAL),
    named("TBB spin", &["TBB spin_mutex"], ORIGINAL),
    named("TBB standard", &["TBB mutex"], ORIGINAL),
    named("TBB queueing", QUEUEING, ORIGINAL),
    named("MP baseline", &["tinythreads fast_mutex MP"], ORIGINAL),
];
const PARSING: [Named; 5] = [
    named("O", QUEUEING, ORIGINAL),
    named("D", QUEUEING, "Two-phase parsing"),
    named("B, input 32", QUEUEING, "Batch parsing input=32"),
    named(
        "B, input and output 32",
        &["TBB queuing_mutex Stack", "TBB queuing_mutex Large Pool Stack"],
        "Batch parsing input=32 & output=32",
    ),
    named("MP baseline", &["tinythreads fast_mutex MP"], ORIGINAL),
];
/// The machine of the curves.
const MACHINE: &str = "Broadwell";
/// Threads of the model: up to all hardware threads of that machine.
const MODEL_THREADS: [u32; 5] = [1, 8, 28, 56, 112];
const MODEL_WAYS: [&str; 4] = ["O", "B", "L", "source"];

/// What the page is made of.
pub(crate) struct Sources<'a> {
    pub(crate) published: Option<&'a Published>,
    pub(crate) measured: Option<&'a Measured>,
    /// Of the campaign `compressed-output`.
    pub(crate) compressed: Option<&'a Measured>,
    /// Of `seqloom-lab parsing`, with an engine that aligns.
    pub(crate) parsing: Option<&'a Recorded>,
    /// Numbers of threads at a lock over time, and what each does.
    pub(crate) timeline: Option<(&'a Recorded, &'a Table)>,
}

impl Sources<'_> {
    /// The page, of the figures and tables that `is_wanted` by their labels.
    pub(crate) fn page(&self, paper: &Paper, is_wanted: &dyn Fn(&str) -> bool) -> Page {
        let mut page = Page {
            maker: format!("seqloom-lab {}", env!("CARGO_PKG_VERSION")),
            title: paper.citation.to_owned(),
            lines: self.lines(paper),
            facts: self.facts(),
            sections: Vec::new(),
        };
        if is_wanted(TIME_LINE) {
            let of = self.timeline.and_then(|(counts, each)| timeline::section(counts, each));
            page.sections.extend(of);
        }
        for (label, title, lines) in [
            ("Figure 3", "Figure 3: locks", LOCKS),
            ("Figure 4", "Figure 4: ways to parse", PARSING),
        ] {
            if is_wanted(label) {
                page.sections.push(self.curves(title, label, &lines));
            }
        }
        if is_wanted("Figure 3") || is_wanted("Figure 4") {
            page.sections.extend(self.parsing.and_then(parsing::section));
        }
        if is_wanted("Figure 5") {
            page.sections.extend(self.last_programs());
        }
        for (number, label, title) in [
            (2, "Table 2", "Table 2: peaks by lock"),
            (3, "Table 3", "Table 3: peaks by way to parse"),
            (4, "Table 4", "Table 4: peaks of the last programs and BWA-MEM"),
        ] {
            if is_wanted(label) {
                page.sections.push(self.peaks(number, title));
            }
        }
        if is_wanted(MEMORY) {
            let of = quiet(self.measured).and_then(|it| scaling::memory(it, &together()));
            page.sections.extend(of);
        }
        if is_wanted(COMPRESSED) {
            page.sections.extend(quiet(self.compressed).and_then(scaling::compressed));
        }
        if is_wanted("Figure 3") || is_wanted("Figure 4") {
            page.sections.extend(self.model());
        }
        page
    }

    fn lines(&self, paper: &Paper) -> Vec<String> {
        let mut lines = vec![
            format!("Published values at hand: {}.", paper.at_hand),
            format!("Not at hand, and left out: {}.", paper.missing),
        ];
        if self.published.is_none() {
            lines.push("No published value is shown: --published DIR was not given.".to_owned());
        }
        if let Some((Recorded { facts, .. }, _)) = self.timeline {
            let facts: Vec<_> =
                facts.iter().map(|it| format!("{}: {}", it.name, it.text)).collect();
            lines.push(format!("Threads at a lock: {}.", facts.join("; ")));
        }
        if self.measured.is_some() || self.timeline.is_none() {
            lines.push(state(self.measured));
        }
        lines
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let Some(Measured { facts, .. }) = self.measured else { return Vec::new() };
        let host = &facts.host;
        let left_out: usize = facts.left_out.iter().map(|left| left.configurations).sum();
        vec![
            ("cores here", host.usable_cores.to_string()),
            ("load before", format!("{:.2}", facts.ready_threads)),
            ("configurations left out", left_out.to_string()),
        ]
    }

    /// Rates of a subject by threads, where the machine was quiet.
    fn rates(&self, subject: &str, instances: &str) -> Vec<(u32, f64)> {
        let levels = [
            Level { factor: "subject", level: subject },
            Level { factor: "instances", level: instances },
        ];
        let measured = quiet(self.measured);
        measured.map(|it| it.by_threads(&levels, "reads_per_s")).unwrap_or_default()
    }

    /// This machine's lines of some subjects, by one thread of one instance each.
    fn here(&self, subjects: &[Subject]) -> Vec<Series> {
        let mut all = Vec::new();
        for &Subject { subject, name } in subjects {
            let one = self.rates(subject, "1");
            let Some(&(1, alone)) = one.first() else { continue };
            let relative = |rates: &[(u32, f64)]| -> Vec<Point> {
                rates.iter().map(|(n, rate)| Point::new((*n).into(), rate / alone)).collect()
            };
            for processes in PROCESSES {
                let rates = self.rates(subject, processes.level);
                if !rates.is_empty() {
                    let (name, machine) = (processes.line(name), "here".to_owned());
                    let points = relative(&rates);
                    all.push(Series { name, machine, is_here: true, points, band: Vec::new() });
                }
            }
        }
        all
    }

    fn curves(&self, title: &'static str, label: &str, lines: &[Named]) -> Section {
        let mut figures = Vec::new();
        let mut missing = Vec::new();
        for tool in &TOOLS {
            for (paired, reads) in [(false, "unpaired"), (true, "paired")] {
                let mut series = Vec::new();
                for &Named { name, locks, version } in lines {
                    let curve = self.curve(tool.curves, (locks, version), paired);
                    let Some(points) = curve.and_then(relative) else {
                        missing.push(format!("{} {reads} {name}", tool.name));
                        continue;
                    };
                    let (name, machine) = (name.to_owned(), MACHINE.to_owned());
                    series.push(Series { name, machine, is_here: false, points, band: Vec::new() });
                }
                if !paired {
                    series.extend(self.here(&tool.here));
                }
                if series.is_empty() {
                    continue;
                }
                let id =
                    format!("{label} {} {reads}", tool.curves).to_lowercase().replace(' ', "-");
                figures.push(figure(
                    Titles {
                        id,
                        title: format!("{}, {reads} reads", tool.name),
                        x: "threads",
                        y: "throughput, times that of one thread",
                        columns: ["line", "machine", "threads", "throughput"],
                    },
                    series,
                ));
            }
        }
        let mut note = String::from(
            "Weak scaling: each thread has as many reads, so that throughput is threads by the \
             ratio of the times of one thread of the same line and of all. As published: \
             github.com/BenLangmead/bowtie-scaling, one run of each; the slowest thread counts.",
        );
        if self.published.is_some() && !missing.is_empty() {
            note += &format!(" Not in the files: {}.", missing.join("; "));
        }
        Section { title, note, figures }
    }

    fn curve(&self, tool: &str, (locks, version): (&[&str], &str), paired: bool) -> Option<&Curve> {
        let curves = &self.published?.curves;
        let is_it = |curve: &&Curve, lock: &str| {
            (curve.tool.as_str(), curve.lock.as_str(), curve.version.as_str(), curve.paired)
                == (tool, lock, version, paired)
        };
        locks.iter().find_map(|lock| curves.iter().find(|curve| is_it(curve, lock)))
    }

    /// Of programs that have no published curve.
    fn last_programs(&self) -> Option<Section> {
        let series = self.here(&OTHERS);
        let titles = Titles {
            id: "figure-5".to_owned(),
            title: "bwa mem, and align, which finds the same".to_owned(),
            x: "threads",
            y: "throughput, times that of one thread",
            columns: ["line", "machine", "threads", "throughput"],
        };
        (!series.is_empty()).then(|| Section {
            title: "Figure 5: BWA-MEM",
            note: "No published curve is at hand; Table 4 has the peaks.".to_owned(),
            figures: vec![figure(titles, series)],
        })
    }

    fn peaks(&self, number: u32, title: &'static str) -> Section {
        let mut rows = Vec::new();
        let published = self.published.map(|it| &it.peaks[..]).unwrap_or_default();
        for peak in published.iter().filter(|peak| peak.table == number) {
            rows.push(vec![
                Cell::from(peak.tool.as_str()),
                peak.configuration.as_str().into(),
                peak.machine.as_str().into(),
                (if peak.paired { "paired" } else { "unpaired" }).into(),
                u64::from(peak.threads).into(),
                peak.krd_s.into(),
            ]);
        }
        for Subject { subject, name } in subjects() {
            for Processes { level, name: how } in PROCESSES {
                let rates = self.rates(subject, level);
                let best = rates.iter().max_by(|a, b| a.1.total_cmp(&b.1));
                let Some(&(threads, rate)) = best else { continue };
                rows.push(vec![
                    name.into(),
                    how.into(),
                    "here".into(),
                    "unpaired".into(),
                    u64::from(threads).into(),
                    (rate / 1e3).into(),
                ]);
            }
        }
        let id = ["table-2", "table-3", "table-4"][number as usize - 2];
        let columns =
            ["program", "configuration", "machine", "reads", "threads", "thousand reads/s"];
        Section {
            title,
            note:
                "The most reads a second, and with how many threads. Machines of the paper: four \
                   Xeon E7-4830 v4 (Broadwell), two Xeon Platinum 8160 (Skylake), a Xeon Phi 7250 \
                   (KNL). Rows of this machine are of other reads and another genome."
                    .to_owned(),
            figures: vec![table("Peaks", id, &columns, rows)],
        }
    }

    /// The model, for the machine of the curves and an engine as fast as ours is here.
    fn model(&self) -> Option<Section> {
        let &(1, alone) = self.rates("seqloom-ungapped", "1").first()? else { return None };
        let machine = MACHINES.into_iter().find(|machine| machine.name == MACHINE)?;
        let ways = bands::ways(bands::SHIPPED_TABLE, "single", "262144").ok()?;
        let question = Question {
            threads: Vec::new(),
            engine_us: 1e6 / alone,
            engine_bytes: 4096.0,
            machine,
            placement: Placement::Interleaved,
            lock: HandOver::constant(0.0),
            output_ns: 30.0,
            output_reads: 256,
            seed: 1,
        };
        let mut series = Vec::new();
        for way in ways.iter().filter(|way| MODEL_WAYS.contains(&way.name.as_str())) {
            let ([_, one, _], _) = question.band(way, 1);
            let rates = MODEL_THREADS.map(|threads| (threads, question.band(way, threads).0));
            let points =
                rates.map(|(n, [_, middle, _])| Point::new(n.into(), middle / one)).to_vec();
            let band = rates.map(|(n, [low, _, high])| Spread {
                x: n.into(),
                low: low / one,
                high: high / one,
            });
            let (name, machine) = (way.name.clone(), format!("model of {MACHINE}"));
            series.push(Series { name, machine, is_here: false, points, band: band.to_vec() });
        }
        let titles = Titles {
            id: "model".to_owned(),
            title: format!("An engine of {} us a read, by way to take reads", short(1e6 / alone)),
            x: "threads",
            y: "throughput, times that of one thread",
            columns: ["way", "machine", "threads", "throughput"],
        };
        Some(Section {
            title: "The model's band",
            note:
                "What seqloom-lab predict says of that machine, from the costs of lab/runs/parsing \
                   and an engine that takes what align --mode ungapped took here with one thread. \
                   Bands go from low to high of what is not known of the machine; it is arithmetic \
                   on assumptions, not a measurement."
                    .to_owned(),
            figures: vec![figure(titles, series)],
        })
    }
}

/// Throughput of a weak scaling curve by that of one thread; none where one thread was not timed.
fn relative(curve: &Curve) -> Option<Vec<Point>> {
    let alone = curve.seconds(1)?;
    let point = |&(threads, seconds): &(u32, f64)| {
        Point::new(threads.into(), f64::from(threads) * alone / seconds)
    };
    Some(curve.points.iter().map(point).collect())
}
