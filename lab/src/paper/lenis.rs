//! Lenis and Senar 2017: throughput by placement and instances, from the campaign `numa`.

use seqloom_report::page::{Cell, Figure, Page, Section};
use seqloom_report::plot::Point;

use super::catalogue::Paper;
use super::{Series, Titles, figure, state, table};
use crate::campaign::measured::{Level, Measured};

/// How a program of the campaign is called on the page.
const NAMES: [(&str, &str); 7] = [
    ("bowtie", "Bowtie"),
    ("bowtie2", "Bowtie 2"),
    ("hisat2", "HISAT2"),
    ("bwa", "bwa mem"),
    ("snap", "SNAP"),
    ("gem3", "gem3-mapper"),
    ("seqloom", "align"),
];

/// The placement that a program has without a policy.
const UNPLACED: &str = "default";

/// A placement, and in how many instances.
#[derive(Clone, Copy, PartialEq)]
struct Way<'a> {
    placement: &'a str,
    instances: &'a str,
}

impl Way<'_> {
    fn name(self) -> String {
        let Self { placement, instances } = self;
        let plural = if instances == "1" { "" } else { "s" };
        format!("{placement}, {instances} instance{plural}")
    }
}

/// The page.
pub(crate) fn page(paper: &Paper, measured: Option<&Measured>) -> Page {
    let lines = vec![
        format!("Published values at hand: {}.", paper.at_hand),
        format!("Not at hand, and left out: {}.", paper.missing),
        state(measured),
    ];
    let quiet = measured.filter(|measured| !measured.facts.is_busy());
    let mut facts = Vec::new();
    if let Some(Measured { facts: of, .. }) = measured {
        facts.push(("cores here", of.host.usable_cores.to_string()));
        facts.push(("memory nodes", of.host.node_memory_bytes.len().to_string()));
        facts.push(("load before", format!("{:.2}", of.ready_threads)));
    }
    Page {
        maker: format!("seqloom-lab {}", env!("CARGO_PKG_VERSION")),
        title: paper.citation.to_owned(),
        lines,
        facts,
        sections: quiet.map(|it| vec![curves(it), verdict(it)]).unwrap_or_default(),
    }
}

fn curves(measured: &Measured) -> Section {
    let ways = ways(measured);
    let of_subject = |&(subject, name): &(&str, &str)| -> Option<Figure> {
        let series: Vec<Series> = ways
            .iter()
            .map(|&way| {
                let rates = rates(measured, subject, way, "reads_per_s");
                let points =
                    rates.iter().map(|&(n, rate)| Point::new(n.into(), rate / 1e3)).collect();
                let machine = "here".to_owned();
                Series { name: way.name(), machine, is_here: true, points, band: Vec::new() }
            })
            .filter(|series| !series.points.is_empty())
            .collect();
        let titles = Titles {
            id: format!("throughput-{subject}"),
            title: name.to_owned(),
            x: "threads of all instances",
            y: "thousand reads/s",
            columns: ["placement and instances", "machine", "threads", "thousand reads/s"],
        };
        (!series.is_empty()).then(|| figure(titles, series))
    };
    Section {
        title: "Figures 8 to 12: placements and instances by aligner",
        note: "Each instance has its share of threads and reads; they start together, and the \
               slowest counts. Indexes are loaded before. Placements: default (no policy), local \
               (memory where a thread first writes it), interleave (over the nodes of the \
               instance), bind (each instance on its own nodes): the paper's (Figure 3)."
            .to_owned(),
        figures: NAMES.iter().filter_map(of_subject).collect(),
    }
}

/// For each program with the most threads: the fastest way, by what it has without any.
fn verdict(measured: &Measured) -> Section {
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    let ways = ways(measured);
    for (subject, name) in NAMES {
        let last = |way: Way<'_>, column: &str| {
            rates(measured, subject, way, column).last().copied().filter(|(n, _)| *n > 1)
        };
        let plain = Way { placement: UNPLACED, instances: "1" };
        let Some((threads, without)) = last(plain, "align_s") else { continue };
        let all = ways.iter().filter_map(|&way| {
            let (n, seconds) = last(way, "align_s")?;
            (n == threads).then_some((
                way,
                seconds,
                last(way, "align_s_mad").map_or(0.0, |it| it.1),
            ))
        });
        let Some((best, seconds, spread)) = all.min_by(|a, b| a.1.total_cmp(&b.1)) else {
            continue;
        };
        let spread = spread + last(plain, "align_s_mad").map_or(0.0, |it| it.1);
        let is_clear = best != plain && without - seconds > spread;
        rows.push(vec![
            name.into(),
            u64::from(threads).into(),
            without.into(),
            best.name().as_str().into(),
            seconds.into(),
            (without / seconds).into(),
            (if is_clear { "yes" } else { "no" }).into(),
        ]);
    }
    let nodes = measured.facts.host.node_memory_bytes.len();
    let note = if nodes > 1 {
        "A difference is clear where it is more than both median absolute deviations.".to_owned()
    } else {
        "This machine has one memory node: local, interleave and bind place the same memory, and \
         what they differ by is noise. Only instances can differ. The paper's verdict, small \
         indexes gain from a copy for each node and large ones from interleaving, cannot be seen \
         here. A difference is clear where it is more than both median absolute deviations."
            .to_owned()
    };
    let columns = [
        "program",
        "threads",
        "seconds, default, 1 instance",
        "fastest",
        "seconds",
        "times faster",
        "clear",
    ];
    Section {
        title: "The verdict",
        note,
        figures: vec![table("The fastest placement and instances", "verdict", &columns, rows)],
    }
}

/// All ways that were measured, in the order of the campaign.
fn ways(measured: &Measured) -> Vec<Way<'_>> {
    let pairs = measured.table.combinations(["placement", "instances"]);
    pairs.into_iter().map(|[placement, instances]| Way { placement, instances }).collect()
}

/// A column of a program's medians by threads.
fn rates(measured: &Measured, subject: &str, way: Way<'_>, column: &str) -> Vec<(u32, f64)> {
    let levels = [
        Level { factor: "subject", level: subject },
        Level { factor: "placement", level: way.placement },
        Level { factor: "instances", level: way.instances },
    ];
    measured.by_threads(&levels, column)
}
