//! Reads: counts, read groups, qualities, bases and insert sizes.

use seqloom_prep::metrics::{ADAPTERS, CycleBases, FlagCounts, InsertSizeMetrics};

use super::{Axes, Findings, absent, as_bars, both, figure, line, share, table};
use crate::page::{Cell, Section};
use crate::plot::Point;

/// Rows of a histogram that are written one by one.
const MOST_ROWS: usize = 1200;

/// Counts of records by flag.
type Count = (&'static str, fn(&FlagCounts) -> u64);

pub(super) fn overview(of: &Findings<'_>) -> Option<Section> {
    const COUNTS: [Count; 9] = [
        ("records", |it| it.total),
        ("reads (primary records)", |it| it.primary),
        ("secondary", |it| it.secondary),
        ("supplementary", |it| it.supplementary),
        ("mapped reads", |it| it.primary_mapped),
        ("duplicate reads", |it| it.primary_duplicates),
        ("properly paired reads", |it| it.properly_paired),
        ("reads whose mate is unmapped", |it| it.singletons),
        ("mates on different sequences", |it| it.mate_elsewhere),
    ];
    let reads = both(of, |it| it.primary);
    let row = |(name, count): &Count| {
        let count = both(of, *count);
        vec![Cell::from(*name), count.into(), (100.0 * share(count, reads)).into()]
    };
    let rows = COUNTS.iter().map(row).collect();
    let mut figures = vec![table("Records", ("records", &["what", "count", "% of reads"], rows))];
    figures.extend(read_groups(of));
    let note = "Counts are those of samtools flagstat, passed and failed together.".to_owned();
    Some(Section { title: "Reads", note, figures })
}

fn read_groups(of: &Findings<'_>) -> Option<crate::page::Figure> {
    let counts = of.metrics.read_groups.as_ref()?;
    let names = of.read_groups.iter().cloned().chain([String::from("(none)")]);
    let rows: Vec<Vec<Cell>> = names
        .zip(&counts.0)
        .filter(|(_, it)| it.reads > 0)
        .map(|(name, it)| {
            let per_read = |count| Cell::from(100.0 * share(count, it.reads));
            let q30 = 100.0 * share(it.q30_bases, it.bases);
            vec![
                Cell::Text(name),
                it.reads.into(),
                it.bases.into(),
                per_read(it.mapped),
                per_read(it.duplicates),
                q30.into(),
                it.median_insert_bp().into(),
            ]
        })
        .collect();
    let columns =
        ["read group", "reads", "bases", "% mapped", "% duplicates", "% Q30", "median insert, bp"];
    Some(table("Read groups", ("read_groups", &columns, rows)))
}

pub(super) fn qualities(of: &Findings<'_>) -> Option<Section> {
    let mut figures = Vec::new();
    if let Some(counts) = &of.metrics.quality_by_cycle {
        let [first, second] = counts.means_of_reads();
        let lines = [("read 1", &first), ("read 2", &second)];
        let lines = lines.iter().filter(|(_, means)| !means.is_empty());
        let lines = lines.map(|(name, means)| {
            line(name, means.iter().map(|&(cycle, mean)| Point::new(cycle.into(), mean)))
        });
        let rows = |read: &'static str, means: &[(u32, f64)]| -> Vec<Vec<Cell>> {
            let row = |&(cycle, mean): &(u32, f64)| {
                vec![Cell::from(read), u64::from(cycle).into(), mean.into()]
            };
            means.iter().map(row).collect()
        };
        let rows = [rows("1", &first), rows("2", &second)].concat();
        let table = ("quality_by_cycle", &["read", "cycle", "mean quality"][..], rows);
        let axes = Axes { x: "cycle", y: "mean quality" };
        figures.push(figure("Quality by cycle", axes, lines.collect(), table));
    }
    if let Some(counts) = &of.metrics.quality_distribution {
        let (name, columns) = ("quality_distribution", ["quality", "bases"]);
        let counts = counts.stated();
        figures.push(histogram(
            "Qualities",
            Axes { x: "base quality", y: "bases" },
            &counts,
            (name, &columns),
        ));
    }
    if let Some(counts) = &of.metrics.cycles {
        let (name, columns) = ("mapping_quality", ["mapping quality", "reads"]);
        let counts = &counts.mapping_qualities;
        let axes = Axes { x: "mapping quality", y: "mapped reads" };
        figures.push(histogram("Mapping qualities", axes, counts, (name, &columns)));
    }
    let note = "Quality by cycle and distribution as Picard's MeanQualityByCycle and \
                QualityScoreDistribution; mapping qualities of mapped reads.";
    Some(Section { title: "Quality", note: note.to_owned(), figures })
}

/// Counts by their index, up to the last one that is not 0.
fn histogram(
    title: &str,
    axes: Axes,
    counts: &[u64],
    (id, columns): (&'static str, &[&'static str]),
) -> crate::page::Figure {
    let end = counts.iter().rposition(|count| *count > 0).map_or(0, |last| last + 1);
    let points = counts[..end].iter().enumerate().map(|(at, n)| Point::new(at as f64, *n as f64));
    let met = counts.iter().enumerate().filter(|(_, count)| **count > 0);
    let rows = met.map(|(at, &count)| vec![Cell::from(at), count.into()]).collect();
    as_bars(figure(title, axes, vec![line(title, points)], (id, columns, rows)))
}

pub(super) fn bases(of: &Findings<'_>) -> Option<Section> {
    let counts = of.metrics.cycles.as_ref()?;
    let mut figures = Vec::new();
    let reads = [
        (&counts.first, "1", "Bases by cycle, read 1", "bases_by_cycle_1"),
        (&counts.second, "2", "Bases by cycle, read 2", "bases_by_cycle_2"),
    ];
    for (bases, _, title, id) in reads {
        if bases.reads() > 0 {
            figures.push(content(bases, title, id));
        }
    }
    let (mut lines, mut rows) = (Vec::new(), Vec::new());
    for (bases, read, ..) in reads {
        let so_far = bases.adapters_so_far();
        for (number, (name, _)) in ADAPTERS.iter().enumerate() {
            let shares = so_far.iter().map(|sums| 100.0 * share(sums[number], bases.reads()));
            let points = (1..).zip(shares).map(|(cycle, share)| Point::new(cycle.into(), share));
            if !so_far.is_empty() {
                lines.push(line(&format!("{name}, read {read}"), points));
            }
        }
        for (cycle, sums) in (1_u64..).zip(&so_far) {
            let sums = sums.map(Cell::from);
            rows.push([&[Cell::from(read), cycle.into()][..], &sums].concat());
        }
    }
    if !lines.is_empty() {
        let columns = ["read", "cycle", ADAPTERS[0].0, ADAPTERS[1].0, ADAPTERS[2].0];
        let axes = Axes { x: "cycle", y: "% of reads, so far" };
        let table = ("adapters_by_cycle", &columns[..], rows);
        figures.push(figure("Adapters found up to a cycle", axes, lines, table));
    }
    let note = "Of primary records, as the sequencer read them. An adapter is found by its first \
                twelve bases, each as it is, where they end in bases that no alignment covers; \
                the table has numbers of reads.";
    Some(Section { title: "Bases", note: note.to_owned(), figures })
}

fn content(bases: &CycleBases, title: &str, id: &'static str) -> crate::page::Figure {
    const NAMES: [&str; 5] = ["A", "C", "G", "T", "N"];
    let content = bases.content();
    let of_base = |base: usize| {
        let share = content
            .iter()
            .map(move |cycle| 100.0 * share(cycle.bases[base], cycle.bases.iter().sum()));
        line(NAMES[base], (1..).zip(share).map(|(cycle, share)| Point::new(cycle.into(), share)))
    };
    let lines = (0..NAMES.len()).map(of_base).collect();
    let row = |(cycle, content): (u64, &[u64; 5])| {
        [&[Cell::from(cycle)][..], &content.map(Cell::from)].concat()
    };
    let rows = (1..).zip(content.iter().map(|it| &it.bases)).map(row).collect();
    let table = (id, &["cycle", "A", "C", "G", "T", "N"][..], rows);
    figure(title, Axes { x: "cycle", y: "% of bases" }, lines, table)
}

pub(super) fn inserts(of: &Findings<'_>) -> Option<Section> {
    let rows = of.metrics.insert_size.as_ref()?.rows();
    if rows.is_empty() {
        return Some(absent("Insert size", "no pair has both reads mapped"));
    }
    let (mut lines, mut cells) = (Vec::new(), Vec::new());
    for row in &rows {
        let name = row.orientation.name();
        let points = row.histogram.iter();
        lines.push(line(name, points.map(|(size, n)| Point::new(size.into(), n as f64))));
        let step = row.histogram.iter().count().div_ceil(MOST_ROWS).max(1);
        let bins: Vec<(u32, u64)> = row.histogram.iter().collect();
        cells.extend(bins.chunks(step).map(|bin| {
            let count: u64 = bin.iter().map(|it| it.1).sum();
            vec![Cell::from(name), u64::from(bin[0].0).into(), count.into()]
        }));
    }
    let data = ("insert_size", &["orientation", "from bp", "pairs"][..], cells);
    let histogram = figure("Insert sizes", Axes { x: "insert size, bp", y: "pairs" }, lines, data);
    let columns = [
        "orientation",
        "pairs",
        "median, bp",
        "median absolute deviation, bp",
        "mean, bp",
        "standard deviation, bp",
        "smallest, bp",
        "largest, bp",
    ];
    let summary = ("insert_size_summary", &columns[..], rows.iter().map(insert_cells).collect());
    let figures = vec![histogram, table("Insert sizes by orientation", summary)];
    let note = "As Picard's CollectInsertSizeMetrics.".to_owned();
    Some(Section { title: "Insert size", note, figures })
}

fn insert_cells(it: &InsertSizeMetrics) -> Vec<Cell> {
    vec![
        Cell::from(it.orientation.name()),
        it.read_pairs.into(),
        it.median_bp.into(),
        it.median_absolute_deviation_bp.into(),
        it.mean_bp.into(),
        it.standard_deviation_bp.into(),
        u64::from(it.min_bp).into(),
        u64::from(it.max_bp).into(),
    ]
}
