//! Pages of papers: their numbers, what is left out, and that the list and `lab/papers.md` agree.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::catalogue::{self, PAPERS, Paper, State, by_name};
use super::{Recorded, costanza, gamaarachchi, langmead, lenis, misale};
use crate::campaign::measured::Measured;
use crate::output::{Fact, Results, read_facts, read_table};
use crate::predict::published::{Published, curves, peaks};
use crate::table::{Row, Table};
use crate::{methylation, parsing, prep_memory, schedule, signal_io};

fn lab() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn all(_: &str) -> bool {
    true
}

/// Rows of a table of a page.
#[track_caller]
fn rows(page: &seqloom_report::page::Page, id: &str) -> Vec<Vec<Value>> {
    let json = page.to_json();
    let rows = json[id]["rows"].as_array().unwrap_or_else(|| panic!("no {id}: {json}"));
    rows.iter().map(|row| row.as_array().unwrap().clone()).collect()
}

#[test]
fn the_page_of_papers_is_the_catalogue() {
    let page = fs::read_to_string(lab().join("papers.md")).unwrap();
    let (_, listed) = page.split_once("<!-- the catalogue -->\n").unwrap();
    let now = catalogue::markdown();
    let differing = listed.lines().zip(now.lines()).find(|(was, is)| was != is);
    assert!(listed == now, "{differing:?}\n{now}");
}

#[test]
fn every_item_says_how_it_is_made_or_why_it_is_not() {
    let text = catalogue::list(&PAPERS.iter().collect::<Vec<_>>());
    for paper in &PAPERS {
        assert!(text.contains(paper.citation));
        for item in paper.items {
            assert!(item.state == State::Page || !item.why.is_empty(), "{}", item.label);
            assert!(item.command.contains(paper.name) && !item.needs.is_empty(), "{}", item.label);
        }
    }
    assert!(text.contains("seqloom-lab paper langmead2018 --published DIR --table 2\n"), "{text}");
}

const CURVES: &str = "experiment\trun\ttool\tlock\tversion\tsensitivity\tpaired\tthreads\tseconds\n\
    e\ta\tbowtie\tTBB mutex\tOriginal parsing\ts\tunp\t1\t10\n\
    e\ta\tbowtie\tTBB mutex\tOriginal parsing\ts\tunp\t4\t20\n\
    e\tb\tbowtie\tTBB spin_mutex\tOriginal parsing\ts\tunp\t2\t20\n";
const PEAKS: &str = "table\ttool\tconfiguration\tmachine\treads\tthreads\tkrd_s\n\
    2\tBowtie\tTBB spin\tKNL\tpaired\t72\t42.5\n4\tHISAT\tL\tKNL\tunpaired\t128\t468.96\n";

fn published() -> Published {
    Published { curves: curves(CURVES).unwrap(), peaks: peaks(PEAKS).unwrap() }
}

/// Of a quiet machine, with rates of one program.
fn measured() -> Measured {
    let facts = Measured::read(&lab().join("runs/numa")).unwrap().unwrap().facts;
    assert!(!facts.is_busy());
    let columns = ["align_s", "reads_per_s", "peak_rss_bytes"];
    let mut table = Table::new(&["subject", "instances", "threads"], &columns);
    for (subject, instances, threads, rate) in [
        ("seqloom-ungapped", "1", "2", 90_000.0),
        ("seqloom-ungapped", "1", "1", 50_000.0),
        ("seqloom-ungapped", "2", "2", 60_000.0),
        ("bowtie", "1", "2", 7.0),
        ("bowtie", "1", "1", f64::NAN),
    ] {
        let factors = [subject, instances, threads].map(str::to_owned).to_vec();
        // Of one thread no memory is known.
        let peak = if threads == "1" { f64::NAN } else { 1e3 * rate };
        table.rows.push(Row { factors, values: vec![1.0, rate, peak] });
    }
    Measured { facts, table }
}

#[test]
fn memory_is_shown_by_threads_and_compressed_output_next_to_stripes() {
    let (measured, mut compressed) = (measured(), measured());
    compressed.table = Table::new(&["subject", "format", "threads"], &["reads_per_s"]);
    for (subject, format, rate) in
        [("one-file", "sam", 5e3), ("stripes", "sam", 7e3), ("one-file", "bam-level-1", 4e3)]
    {
        let factors = [subject, format, "2"].map(str::to_owned).to_vec();
        compressed.table.rows.push(Row { factors, values: vec![rate] });
    }
    let page = |compressed: &Measured| {
        let (measured, compressed) = (Some(&measured), Some(compressed));
        langmead::Sources { measured, compressed, ..NOTHING }.page(langmead(), &all)
    };
    let shown = page(&compressed);
    let expected = serde_json::json!([
        ["Bowtie as it is", "here", 2, 0.007],
        ["align --mode ungapped", "here", 2, 90.0],
        ["align --mode ungapped, 2 processes", "here", 2, 60.0],
    ]);
    assert_eq!(Value::from(rows(&shown, "memory-bowtie")), expected);
    let expected = serde_json::json!([
        ["one file", "here", 2, 5.0],
        ["a file for each thread", "here", 2, 7.0],
    ]);
    assert_eq!(Value::from(rows(&shown, "compressed-sam")), expected);
    assert_eq!(rows(&shown, "compressed-bam-level-1").len(), 1);
    compressed.facts.ready_threads = 64.0;
    let is_output = |it: &&seqloom_report::page::Section| it.title.starts_with("Compressed");
    assert_eq!(page(&compressed).sections.iter().filter(is_output).count(), 0);
}

fn langmead() -> &'static Paper {
    by_name("langmead2018").unwrap()
}

#[test]
fn published_and_measured_points_are_on_one_page() {
    let (published, measured) = (published(), measured());
    let sources =
        langmead::Sources { published: Some(&published), measured: Some(&measured), ..NOTHING };
    let page = sources.page(langmead(), &all);
    // Four threads that take twice the time of one do twice the work.
    let expected = serde_json::json!([
        ["TBB standard", "Broadwell", 1, 1.0],
        ["TBB standard", "Broadwell", 4, 2.0],
        ["align --mode ungapped", "here", 1, 1.0],
        ["align --mode ungapped", "here", 2, 1.8],
        ["align --mode ungapped, 2 processes", "here", 2, 1.2],
    ]);
    assert_eq!(Value::from(rows(&page, "figure-3-bowtie-unpaired")), expected);
    // Bowtie's single thread has no rate, and one published curve has none either.
    let locks = page.sections.iter().find(|it| it.title == "Figure 3: locks").unwrap();
    assert!(locks.note.contains("Bowtie unpaired TBB spin;"), "{}", locks.note);
    assert_eq!(rows(&page, "table-2")[0][..3], ["Bowtie", "TBB spin", "KNL"]);
    assert_eq!(rows(&page, "table-2").last().unwrap()[4..], [Value::from(2), Value::from(60.0)]);
    assert_eq!(rows(&page, "table-4")[0][5], 468.96);
    let model = rows(&page, "model");
    assert!(model.iter().any(|row| row[0] == "source" && row[2] == 112));
    let html = page.to_html();
    assert!(html.contains("prefers-color-scheme:dark") && html.contains("<circle"));
    let outside = html.replace("href=\"data:,\"", "");
    assert!(!outside.contains("href") && !outside.contains("src="));

    let one = sources.page(langmead(), &|label| label == "Table 4");
    assert_eq!(one.sections.len(), 1);
}

/// A page without anything on it.
const NOTHING: langmead::Sources<'static> = langmead::Sources {
    published: None,
    measured: None,
    compressed: None,
    parsing: None,
    timeline: None,
};

#[test]
fn threads_at_a_lock_are_shown_over_time() {
    let mut counts = parsing::TIMELINE.empty_table();
    counts.add_tsv("way\tlock\tms\twaiting\tholding\nO\tmcs\t0.5\t1.5\t1\n").unwrap();
    let mut threads = parsing::empty_threads();
    let text = "way\tlock\tthread\tstate\tfrom_us\tuntil_us\nO\tmcs\t2\tholding\t1\t4.5\n";
    threads.add_tsv(text).unwrap();
    let facts = vec![Fact::new(parsing::ENGINE, parsing::END_TO_END)];
    let counts = Recorded { table: counts, facts };
    let sources = langmead::Sources { timeline: Some((&counts, &threads)), ..NOTHING };
    let page = sources.page(langmead(), &|label| label == langmead::TIME_LINE);
    assert_eq!(page.sections.len(), 1);
    assert_eq!(rows(&page, "timeline-O--mcs"), [[0.5, 1.5, 1.0].map(Value::from).to_vec()]);
    let each = rows(&page, "threads-O--mcs");
    assert_eq!(each, [[Value::from("2"), "holding".into(), 1.0.into(), 4.5.into()]]);
    let figures = &page.sections[0].figures;
    assert!(figures.iter().all(|figure| figure.plot.is_some()) && figures.len() == 2);
    let lines = page.lines.join("\n");
    assert!(lines.contains("Threads at a lock: engine: align --mode end-to-end."), "{lines}");
    assert!(!lines.contains("Nothing was measured"), "{lines}");
    let other = sources.page(langmead(), &|label| label == "Table 2");
    assert!(other.sections.iter().all(|section| !section.title.contains("Figure 1")));
}

#[test]
fn locks_and_ways_to_parse_are_shown_with_an_engine_that_aligns() {
    let runs = recorded("parsing", &parsing::RESULTS).unwrap();
    let page = |parsing: &Recorded| {
        let sources = langmead::Sources { parsing: Some(parsing), ..NOTHING };
        sources.page(langmead(), &all)
    };
    // The recorded runs are of an engine that does nothing.
    assert!(page(&runs).to_json()["aligned-single-12288"].is_null());
    let mut facts = runs.facts.clone();
    facts.push(Fact::new(parsing::ENGINE, parsing::END_TO_END));
    let page = page(&Recorded { facts, ..runs });
    let lines = rows(&page, "aligned-single-12288");
    let one =
        |name: &str| lines.iter().find(|row| row[0] == name && row[2] == 1).unwrap()[3] == 1.0;
    assert!(one("O, standard") && one("source"), "{lines:?}");
}

#[test]
fn a_busy_machine_has_no_points_and_nothing_is_made_up() {
    let mut measured = measured();
    measured.facts.ready_threads = 64.0;
    let sources = langmead::Sources { measured: Some(&measured), ..NOTHING };
    let page = sources.page(langmead(), &all);
    assert!(page.sections.iter().all(|it| it.figures.iter().all(|of| of.plot.is_none())));
    assert_eq!(rows(&page, "table-3"), [] as [Vec<Value>; 0]);
    let lines = page.lines.join("\n");
    assert!(lines.contains("64.00 threads of others") && lines.contains("--published"), "{lines}");
}

fn recorded(folder: &str, results: &Results) -> Option<Recorded> {
    let folder: PathBuf = lab().join("runs").join(folder);
    let mut table = results.empty_table();
    read_table(&folder, results.table, &mut table).unwrap();
    Some(Recorded { table, facts: read_facts(&folder).unwrap() })
}

#[test]
fn recorded_runs_of_calling_have_the_core_hours_of_the_paper() {
    let sources = gamaarachchi::Sources {
        calling: recorded("methylation", &methylation::RESULTS),
        reading: recorded("signal-io", &signal_io::RESULTS),
    };
    let paper = by_name("gamaarachchi2020").unwrap();
    let page = sources.page(paper, &all);
    let hours = rows(&page, "calling-raid-core-hours");
    let of = |way: &str, workers: u64| {
        let row = hours.iter().find(|row| row[0] == way && row[2] == workers);
        row.unwrap_or_else(|| panic!("{way} {workers}"))[3].as_f64().unwrap()
    };
    // As scaling.md says: 7.6 under one lock, 1.06 with our reader (times have six digits).
    let ratio = |way: &str| of(way, 8) / of(way, 1);
    assert!(
        (7.5..7.7).contains(&ratio("FAST5, reads under one lock")),
        "{}",
        ratio("FAST5, reads under one lock")
    );
    assert!((1.0..1.1).contains(&ratio("FAST5, our flow")), "{}", ratio("FAST5, our flow"));
    assert!(!rows(&page, "components").is_empty() && !rows(&page, "reading-raid-time").is_empty());
    let one = sources.page(paper, &|label| label == "Figure 1.12");
    assert_eq!(one.sections.len(), 1);
    assert!(page.lines.iter().any(|line| line.contains("none: the text")));
}

#[test]
fn recorded_placements_have_curves_and_a_verdict_that_one_node_allows() {
    let measured = Measured::read(&lab().join("runs/numa")).unwrap().unwrap();
    let paper = by_name("lenis2017").unwrap();
    let page = lenis::page(paper, Some(&measured));
    let curves = rows(&page, "throughput-bwa");
    let of = |way: &str, threads: u64| {
        let row = curves.iter().find(|row| row[0] == way && row[2] == threads);
        row.unwrap_or_else(|| panic!("{way} {threads}: {curves:?}"))[3].as_f64().unwrap()
    };
    assert!(of("default, 1 instance", 2) > 1.5 * of("default, 1 instance", 1));
    assert!(of("bind, 2 instances", 2) > 0.0);
    let verdict = rows(&page, "verdict");
    assert_eq!(verdict.len(), 6);
    for row in &verdict {
        // The fastest of all ways is no slower than the one that all are compared with.
        assert!(row[5].as_f64().unwrap() >= 1.0 && row[1] == 2, "{row:?}");
    }
    let note = &page.sections[1].note;
    assert!(note.contains("one memory node") && note.contains("is noise"), "{note}");

    let mut busy = measured;
    busy.facts.ready_threads = 64.0;
    let page = lenis::page(paper, Some(&busy));
    assert!(page.sections.is_empty() && page.lines[2].contains("64.00 threads"), "{page:?}");
    assert!(lenis::page(paper, None).lines[2].contains("Nothing was measured"));
}

#[test]
fn recorded_schedules_have_times_and_speed_ups() {
    let paper = by_name("misale2014").unwrap();
    let runs = recorded("schedule", &schedule::RESULTS).unwrap();
    let page = misale::page(paper, &runs, &schedule::empty_counted(), &all);
    let of = |id: &str, schedule: &str, workers: u64| {
        let rows = rows(&page, id);
        let row = rows.iter().find(|row| row[0] == schedule && row[2] == workers);
        row.unwrap_or_else(|| panic!("{schedule} {workers}: {rows:?}"))[3].as_f64().unwrap()
    };
    assert_eq!(of("speed-up-null", "farm", 1), 1.0);
    let [one, two] = [1, 2].map(|workers| of("time-null", "pull", workers));
    assert!((of("speed-up-null", "pull", 2) - one / two).abs() < 1e-5, "{one} {two}");
    let farm = rows(&page, "farm");
    let row = farm.iter().find(|row| row[0] == "farm" && row[1] == "null").unwrap();
    // The emitter is a thread more than the workers.
    assert_eq!((&row[2], &row[3]), (&Value::from(256), &Value::from(257)));
    let one =
        misale::page(paper, &runs, &schedule::empty_counted(), &|label| label == misale::FARM);
    assert_eq!(one.sections.len(), 1);
}

#[test]
fn counters_are_shares_and_where_there_are_none_the_page_says_so() {
    let paper = by_name("misale2014").unwrap();
    let runs = recorded("schedule", &schedule::RESULTS).unwrap();
    let mut counted = schedule::empty_counted();
    let is_wanted = |label: &str| label == "Table II";
    let page = misale::page(paper, &runs, &counted, &is_wanted);
    assert_eq!(page.sections.len(), 1);
    assert!(page.sections[0].note.starts_with("No counters on this machine"), "{page:?}");
    assert!(page.sections[0].figures.is_empty());
    let text = [&counted.factors[..], &counted.columns[..]].concat().join("\t");
    counted
        .add_tsv(&format!("{text}\nfarm\tnull\t2\t100\t250\tNaN\t30\t50\t1\t9\t0\tNaN\tNaN\n"))
        .unwrap();
    let page = misale::page(paper, &runs, &counted, &is_wanted);
    let expected = [2.5.into(), Value::Null, 30.0.into(), 2.0.into(), 0.0.into(), Value::Null];
    assert_eq!(rows(&page, "counters")[0][3..], expected);
}

#[test]
fn recorded_preparations_have_intervals_products_and_memory_over_time() {
    let paper = by_name("costanza2019").unwrap();
    let runs = recorded("prep-memory", &prep_memory::RESULTS).unwrap();
    let mut curves = prep_memory::empty_curves();
    curves.add_tsv("way\tms\tbytes\nseqloom\t0\t0\nseqloom\t3600000\t2000000000\n").unwrap();
    let page = costanza::page(paper, &runs, Some(&curves));
    let means = rows(&page, "means");
    let row = means.iter().find(|row| row[0] == "sambamba").unwrap();
    // As the recorded page says it: 8.60 s, with a deviation of 0.03 in five runs.
    let [mean, half] = [2, 3].map(|at| row[at].as_f64().unwrap());
    assert!((8.55..8.65).contains(&mean), "{row:?}");
    assert!((half - 2.776 * 0.03 / 5_f64.sqrt()).abs() < 0.005, "{row:?}");
    let products = rows(&page, "gb-hours");
    let of = |name: &str| products.iter().find(|row| row[0] == name).unwrap();
    let over_time = of("seqloom")[3].as_f64().unwrap();
    assert!((0.000_02..0.000_04).contains(&over_time), "below 0.000037 by the peak: {over_time}");
    assert_eq!(of("jemalloc")[4], 1.0);
    let java = of("elPrep in Java");
    assert_eq!((&java[1], &java[2], &java[3]), (&"published".into(), &38.6.into(), &Value::Null));
    assert_eq!(java[4], 1.317_406);
    assert_eq!(rows(&page, "memory-over-time").len(), 2);
    assert!(!rows(&page, "phases").is_empty());
    let without = costanza::page(paper, &runs, None);
    assert!(without.sections.iter().all(|it| it.title != "Memory over time"));

    // Of an earlier recording: the mean of one curve, a triangle of one hour.
    let mut runs = runs;
    let at = runs.table.columns.iter().position(|name| name == "gb_hours_over_time").unwrap();
    runs.table.rows.iter_mut().for_each(|row| row.values[at] = f64::NAN);
    let page = costanza::page(paper, &runs, Some(&curves));
    let products = rows(&page, "gb-hours");
    assert_eq!(products.iter().find(|row| row[0] == "seqloom").unwrap()[3], 1.0);
}
