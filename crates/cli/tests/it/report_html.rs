//! `--html`: numbers that referees give, the same page for every number of threads, names that try
//! to leave their place, and what a browser makes of it.

use crate::common::{
    READ_GROUP, folder, has, memory_floor, names_in, picard, run, run_for, seqloom, words,
};
use crate::data::{align_small, small, small_pairs};
use seqloom_testkit::referees::{self, SAMTOOLS};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A BAM file of real reads, sorted by coordinate.
const DATA: &str = "bam/picard_2.27.5_expected/NA12878.20.21.unmapped.orig.md.bam";

/// The page without the section that differs from run to run.
pub(crate) fn counted(page: &Path) -> String {
    let html = fs::read_to_string(page).unwrap();
    let end = html.find("<section><h2>The run").expect("a section of the run");
    html[..end].to_owned()
}

/// What a run has written.
struct Report {
    here: tempfile::TempDir,
    qc: Value,
}

impl Report {
    fn path(&self, name: &str) -> PathBuf {
        self.here.path().join(name)
    }

    fn rows(&self, table: &str) -> Vec<Vec<Value>> {
        let rows = &self.qc[table]["rows"];
        let rows = rows.as_array().unwrap_or_else(|| panic!("no table {table}"));
        rows.iter().map(|row| row.as_array().unwrap().clone()).collect()
    }

    /// The rows of a table as text, cells parted by tabs.
    fn text(&self, table: &str) -> Vec<String> {
        let cell = |cell: &Value| cell.as_str().map_or_else(|| cell.to_string(), str::to_owned);
        let row = |row: Vec<Value>| row.iter().map(cell).collect::<Vec<_>>().join("\t");
        self.rows(table).into_iter().map(row).collect()
    }
}

/// Runs a command that writes `out.bam` with page, JSON and metrics next to it.
fn report(mut command: Command) -> Report {
    let here = folder();
    let path = |name: &str| here.path().join(name);
    command.arg("-o").arg(path("out.bam")).arg("--html").arg(path("out.html"));
    command.arg("--json").arg(path("out.json")).arg("--metrics-dir").arg(path("metrics"));
    run(&mut command).ok();
    let json: Value = serde_json::from_slice(&fs::read(path("out.json")).unwrap()).unwrap();
    Report { qc: json["qc"].clone(), here }
}

fn align(more: &[&str]) -> Report {
    let mut command = seqloom(align_small());
    command.args(["-R", READ_GROUP, "-K", "1000000", "--metrics", "all"]).args(more);
    report(command)
}

fn prep(input: &Path, more: &[&str]) -> Report {
    let mut command = seqloom(["prep", "--mark-duplicates", "--sort", "coordinate"]);
    command.args(["--metrics", "all"]).args(more).arg(input);
    report(command)
}

#[test]
fn the_page_is_the_same_for_every_number_of_threads_and_memory() {
    let one = align(&["-t", "1"]);
    let page = counted(&one.path("out.html"));
    assert!(page.contains("Saturation") && page.contains("Coverage by GC content"));
    for more in [&["-t", "2"][..], &["-t", "7", "-m", "620M"], &["-t", "7", "-m", "2G"]] {
        let other = align(more);
        assert!(page == counted(&other.path("out.html")), "{more:?}");
        let tables = |report: &Report| {
            let mut tables = report.qc.as_object().unwrap().clone();
            for run in ["cores_over_time", "input_over_time", "phases", "run"] {
                tables.remove(run);
            }
            tables
        };
        assert_eq!(tables(&one), tables(&other), "{more:?}");
    }
    let prepared = |more: &[&str]| {
        let reference = small().ours.display().to_string();
        let more = [more, &["--reference", &reference]].concat();
        counted(&prep(&one.path("out.bam"), &more).path("out.html"))
    };
    let page = prepared(&["-t", "1"]);
    assert!(page == prepared(&["-t", "7", "-m", "900M"]), "prep");
}

/// Requires the depth of the report to be that of the current samtools, position by position in
/// sum.
#[track_caller]
fn assert_depth(report: &Report) {
    assert_depth_of(&referees::path_of("samtools"), report);
}

#[track_caller]
fn assert_depth_of(samtools: &Path, report: &Report) {
    let bam = report.path("out.bam");
    let theirs = run(Command::new(samtools).args(["depth", "-aa", "-s"]).arg(&bam)).ok().text();
    let (mut sums, mut depths) = (BTreeMap::new(), BTreeMap::<String, u64>::new());
    for line in theirs.lines() {
        let (place, depth) = line.rsplit_once('\t').unwrap();
        *depths.entry(depth.to_owned()).or_default() += 1;
        let sequence = place.split('\t').next().unwrap().to_owned();
        let sum: &mut (u64, u64) = sums.entry(sequence).or_default();
        sum.0 += depth.parse::<u64>().unwrap();
        sum.1 += u64::from(depth != "0");
    }
    let rows = report.rows("depth_by_sequence");
    assert_eq!(rows.len(), sums.len());
    for row in rows {
        let (sum, covered) = sums[row[0].as_str().unwrap()];
        assert_eq!(row[2].as_u64(), Some(sum), "sum of {}", row[0]);
        let share = 100.0 * covered as f64 / row[1].as_f64().unwrap();
        assert!((row[4].as_f64().unwrap() - share).abs() < 1e-6, "covered of {}", row[0]);
    }
    let mut met = 0;
    for row in report.rows("depth").iter().filter(|row| row[0].is_u64()) {
        met += 1;
        assert_eq!(row[1].as_u64(), Some(depths[&row[0].to_string()]), "depth {}", row[0]);
    }
    assert_eq!(met, depths.len().min(1000));
}

/// samtools 1.24 counts some bases more where an operation has none.
#[test]
fn operations_of_no_bases_cover_nothing() {
    let Some(samtools) = referees::find("samtools", SAMTOOLS[1]) else { return };
    let here = folder();
    let sam = here.path().join("in.sam");
    let cigars = ["0=5M0M5M0X", "5M0N0D0I0P5M", "0H0S10M0S0H", "10M"];
    let record = |(at, cigar): (usize, &str)| {
        format!("{at}\t0\tc\t{}\t9\t{cigar}\t*\t0\t0\tACGTACGTAC\t*\n", 20 * at + 51)
    };
    let text = "@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:c\tLN:200\n".to_owned();
    let text = text + &cigars.into_iter().enumerate().map(record).collect::<String>();
    fs::write(&sam, text).unwrap();
    let report = prep(&sam, &[]);
    assert_depth_of(&samtools, &report);
    assert_eq!(report.text("depth"), ["0\t160\t100.0", "1\t40\t20.0"]);
}

/// Tables of the page that have a file among the metrics, which Picard has judged. Where mates are
/// missing from the file, Picard counts half pairs; saturation leaves them out.
#[track_caller]
fn assert_files_agree(report: &Report, mates_are_there: bool) {
    let file = |kind: &str| -> Vec<Vec<String>> {
        let path = report.path("metrics").join(format!("out.{kind}.txt"));
        let text = fs::read_to_string(path).unwrap();
        text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
    };
    let histogram = |kind: &str, head: &str| -> Vec<String> {
        let lines = file(kind);
        let start = lines.iter().position(|line| line[0] == head).unwrap();
        let rows = lines[start + 1..].iter().take_while(|line| line.len() > 1);
        rows.map(|line| line[..2].join("\t")).collect()
    };
    assert_eq!(report.text("quality_distribution"), histogram("quality_distribution", "QUALITY"));
    let ours = report.rows("quality_by_cycle");
    let theirs = histogram("quality_by_cycle", "CYCLE");
    assert_eq!(ours.len(), theirs.len());
    for (row, line) in ours.iter().zip(theirs) {
        let mean: f64 = line.split('\t').nth(1).unwrap().parse().unwrap();
        assert!((row[2].as_f64().unwrap() - mean).abs() < 1e-5, "{row:?} {line}");
    }
    let inserts = histogram("insert_size", "insert_size");
    let of_first = report.rows("insert_size");
    let of_first = of_first.iter().filter(|row| row[0] == "FR");
    let ours: Vec<String> = of_first.map(|row| format!("{}\t{}", row[1], row[2])).collect();
    let met = inserts.iter().filter(|line| !line.ends_with("\t0")).cloned();
    assert_eq!(ours, met.collect::<Vec<_>>());
    let lines = file("markdup");
    let head = lines.iter().position(|line| line[0] == "LIBRARY").unwrap();
    let rows = lines[head + 1..].iter().take_while(|line| line.len() > 1);
    let pairs: Vec<[u64; 2]> =
        rows.map(|row| [&row[2], &row[6]].map(|it| it.parse().unwrap())).collect();
    let examined: u64 = pairs.iter().map(|it| it[0]).sum();
    let unique = examined - pairs.iter().map(|it| it[1]).sum::<u64>();
    let saturation = report.rows("saturation");
    let last = saturation.last().unwrap();
    let last = [&last[1], &last[2]].map(|it| it.as_u64().unwrap());
    assert_eq!(last[0] - last[1], examined - unique, "duplicate pairs");
    if mates_are_there {
        assert_eq!(last, [examined, unique]);
    }
    assert_eq!(saturation.len(), 20);
    let unique_of = |row: &Vec<Value>| row[2].as_u64().unwrap();
    assert!(saturation.is_sorted_by_key(unique_of) && unique_of(&saturation[9]) > unique / 3);
}

#[test]
fn numbers_of_simulated_reads_are_those_of_referees() {
    let report = align(&[]);
    assert_files_agree(&report, true);
    if has("samtools") {
        assert_depth(&report);
    }
    gc_bias_is_picards(&report, &small().ours);
}

#[test]
fn numbers_of_real_reads_are_those_of_referees() {
    let Some(input) = seqloom_testkit::skip::data(DATA) else { return };
    let report = prep(&input, &[]);
    assert_files_agree(&report, false);
    if has("samtools") {
        assert_depth(&report);
    }
    assert!(report.rows("read_groups").len() > 4);
    let sum: u64 = report.rows("read_groups").iter().map(|row| row[1].as_u64().unwrap()).sum();
    assert_eq!(Some(sum), report.rows("records")[1][1].as_u64(), "each read has one read group");
}

/// GC bias as Picard's CollectGcBiasMetrics has it.
fn gc_bias_is_picards(report: &Report, fasta: &Path) {
    if !has("picard") || !has("samtools") {
        return;
    }
    let here = folder();
    let path = |name: &str| here.path().join(name);
    // Picard wants an index and a dictionary next to the FASTA.
    let copy = path("ref.fa");
    fs::copy(fasta, &copy).unwrap();
    run(words("samtools faidx").arg(&copy)).ok();
    run(words("samtools dict -o").arg(path("ref.dict")).arg(&copy)).ok();
    let mut command = picard("CollectGcBiasMetrics VALIDATION_STRINGENCY=SILENT");
    command.arg(format!("I={}", report.path("out.bam").display()));
    command.arg(format!("O={}", path("gc.txt").display()));
    command.arg(format!("S={}", path("summary.txt").display()));
    command.arg(format!("CHART={}", path("chart.pdf").display()));
    command.arg(format!("R={}", copy.display()));
    // Picard does not begin without R, which draws a chart when the table is written.
    let program = path("Rscript");
    fs::write(&program, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let folders = std::env::var("PATH").unwrap();
    command.env("PATH", format!("{}:{folders}", here.path().display()));
    run(&mut command).ok();
    let text = fs::read_to_string(path("gc.txt")).expect("Picard's table");
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
    let head = rows.iter().position(|row| row.contains(&"READ_STARTS")).unwrap();
    let column = |name: &str| rows[head].iter().position(|it| *it == name).unwrap();
    let theirs: Vec<&Vec<&str>> = rows[head + 1..].iter().filter(|row| row.len() > 3).collect();
    let ours = report.rows("gc_bias");
    assert_eq!((ours.len(), theirs.len()), (101, 101));
    for (ours, theirs) in ours.iter().zip(theirs) {
        let whole = |name: &str| theirs[column(name)].parse::<u64>().ok();
        assert_eq!(ours[0].as_u64(), whole("GC"));
        assert_eq!(ours[1].as_u64(), whole("WINDOWS"), "windows of GC {}", ours[0]);
        assert_eq!(ours[2].as_u64(), whole("READ_STARTS"), "reads of GC {}", ours[0]);
        let coverage: f64 = theirs[column("NORMALIZED_COVERAGE")].parse().unwrap();
        assert!((ours[3].as_f64().unwrap() - coverage).abs() < 2e-6, "{ours:?} {theirs:?}");
    }
}

/// SAM text of pairs on many sequences, of many read groups.
fn wide_sam(sequences: usize, read_groups: usize) -> String {
    let mut sam = String::from("@HD\tVN:1.6\tSO:coordinate\n");
    for number in 0..sequences {
        sam += &format!("@SQ\tSN:sequence_with_a_long_name_{number}\tLN:1000\n");
    }
    for number in 0..read_groups {
        sam += &format!("@RG\tID:FLOWCELL.{number}<script>alert(1)</script>\tSM:s\tLB:l{number}\n");
    }
    let bases = "ACGTTGCAAC".repeat(5);
    let qualities = "FFFF:,FFFF".repeat(5);
    for number in 0..sequences.max(read_groups) {
        let sequence =
            format!("sequence_with_a_long_name_{}", number * sequences / 3000.max(sequences));
        let group = format!("FLOWCELL.{}<script>alert(1)</script>", number % read_groups);
        for (flags, from, to, size) in [(99, 100, 300, 250), (147, 300, 100, -250)] {
            sam += &format!(
                "r{number}\t{flags}\t{sequence}\t{from}\t60\t50M\t=\t{to}\t{size}\t{bases}\t\
                 {qualities}\tRG:Z:{group}\n"
            );
        }
    }
    sam
}

#[test]
fn thousands_of_sequences_and_read_groups_stay_small_and_names_stay_text() {
    let here = folder();
    let input = here.path().join("<script>alert(2)<-script>.sam");
    fs::write(&input, wide_sam(3000, 1000)).unwrap();
    let mut command = seqloom(["prep", "--mark-duplicates", "--sort", "coordinate"]);
    command.args(["--duplicate-mode", "coordinate"]).arg(&input);
    let report = report(command);
    let html = fs::read_to_string(report.path("out.html")).unwrap();
    assert!(html.len() < 1_000_000, "{} bytes", html.len());
    assert!(!html.contains("<script"));
    assert!(html.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    assert!(html.contains("&lt;script&gt;alert(2)&lt;-script&gt;.sam"));
    assert_eq!(report.rows("depth_by_sequence").len(), 3000);
    assert_eq!(report.rows("read_groups").len(), 1000);
    stays_within_its_floor(&input, &report.path("out.html"));
    if has("samtools") {
        assert_depth(&report);
    }
}

/// The least memory that a page of many read groups is made with, by many workers, is enough.
#[track_caller]
fn stays_within_its_floor(input: &Path, page: &Path) {
    let words = "prep --mark-duplicates --duplicate-mode coordinate --sort coordinate -t 8 --html";
    let floor = |input: &Path, html: &Path| {
        let mut words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        words.extend([html, input].map(|path| path.display().to_string()));
        memory_floor(&words)
    };
    let here = folder();
    let (json, few) = (here.path().join("x.json"), here.path().join("few.sam"));
    let least = floor(input, &here.path().join("x.html"));
    let mut command = seqloom(words.split(' '));
    command.arg(here.path().join("x.html")).arg(input).args(["-m", &least, "--json"]);
    run(command.arg(&json).arg("-o").arg(here.path().join("x.bam"))).ok();
    assert_eq!(counted(&here.path().join("x.html")), counted(page).replace("out.bam", "x.bam"));
    let json: Value = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
    let peak = json["usage"]["peak_rss_bytes"].as_u64().unwrap();
    let allowed = json["memory_bytes"].as_u64().unwrap();
    assert!(peak <= allowed, "{peak} of {allowed} bytes ({least})");
    // Core-hours are threads by wall time (Gamaarachchi 2020), and were not in layout 1.
    assert_eq!(json["schema"], 2);
    let used = |name: &str| json["usage"][name].as_f64().unwrap();
    for (name, seconds) in
        [("core_hours", 8.0 * used("wall_seconds")), ("cpu_hours", used("cpu_seconds"))]
    {
        assert!((used(name) - seconds / 3600.0).abs() < 1e-9, "{name}: {}", json["usage"]);
    }
    let threads = &json["usage"]["thread_seconds"][0];
    assert_eq!((&threads["phase"], &threads["threads"]), (&"ingest".into(), &8.into()));
    let times = ["least", "median", "most"].map(|name| threads[name].as_f64().unwrap());
    assert!(times.is_sorted() && times[0] >= 0.0 && times[2] <= used("wall_seconds"), "{threads}");
    // Nine copies of the counts of a thousand read groups are planned.
    fs::write(&few, wide_sam(3000, 1)).unwrap();
    let megabytes = |size: String| size.trim_end_matches('M').parse::<u64>().unwrap();
    let more = megabytes(least) - megabytes(floor(&few, &here.path().join("y.html")));
    assert!((60..90).contains(&more), "{more} MiB");
}

#[test]
fn a_page_that_cannot_be_is_refused_before_the_work() {
    let here = folder();
    let refused = |more: &[&Path], code: i32, says: &str| {
        let mut command = seqloom(align_small());
        command.args(["-R", READ_GROUP, "--no-pg", "-o"]).arg(here.path().join("x.bam"));
        let ended = run(command.arg("--html").args(more)).fails_with(code).says(&[says]);
        assert!(!ended.stderr.contains("duplicates"), "{}", ended.stderr);
        assert_eq!(names_in(here.path()), Vec::<String>::new());
    };
    let path = |name: &str| here.path().join(name);
    refused(&[&path("no/page.html")], 4, "no/page.html");
    refused(&[here.path()], 4, &here.path().display().to_string());
    refused(&[&path("x.bam")], 2, "--html");
    refused(&[&path("x"), Path::new("--json"), &path("x")], 2, "--html");
    let streamed = [&path("page.html"), Path::new("--no-sort"), Path::new("--no-mark-duplicates")];
    refused(&streamed, 2, "--no-sort");
}

#[test]
fn stripes_have_a_page_without_depth() {
    let report = align(&["--stripes", "3"]);
    assert!(report.qc.get("depth").is_none() && report.qc.get("gc_bias").is_some());
}

/// Chromium on a page, without a network: what it printed.
fn browse(page: &Path, folder: &Path, more: &[&str]) -> String {
    let mut command = words("chromium --headless --no-sandbox --disable-gpu --hide-scrollbars");
    command.args(["--disable-background-networking", "--disable-component-update"]);
    command.args(["--no-first-run", "--disable-sync", "--enable-logging=stderr", "--v=0"]);
    command.arg("--host-resolver-rules=MAP * ~NOTFOUND");
    command.arg(format!("--user-data-dir={}", folder.join("profile").display()));
    command.arg(format!("--log-net-log={}", folder.join("net.json").display()));
    command.args(more).arg(format!("file://{}", page.display()));
    run_for(&mut command, std::time::Duration::from_secs(120)).ok().stderr
}

/// What the page that [`browse`] has shown requested from others. The browser's own requests, for
/// updates, have no page as their origin.
fn requests(folder: &Path) -> Vec<String> {
    let log = fs::read_to_string(folder.join("net.json")).unwrap();
    let of_page = log.lines().filter(|line| {
        line.contains("\"initiator\":") && !line.contains("\"initiator\":\"not an origin\"")
    });
    let url = |line: &str| line.split("\"url\":\"").nth(1)?.split('"').next().map(str::to_owned);
    let is_outside = |url: &String| !url.starts_with("file:") && !url.starts_with("data:");
    of_page.filter_map(url).filter(is_outside).collect()
}

/// Size, and the colour of the first pixel, of a picture in PNG.
fn picture(path: &Path) -> ((u32, u32), [u8; 3]) {
    let bytes = fs::read(path).unwrap();
    assert_eq!(&bytes[1..4], b"PNG");
    let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    let (mut at, mut data) = (8, Vec::new());
    while at < bytes.len() {
        let length = number(at) as usize;
        if &bytes[at + 4..at + 8] == b"IDAT" {
            data.extend_from_slice(&bytes[at + 8..at + 8 + length]);
        }
        at += 12 + length;
    }
    let mut pixels = [0; 4];
    let mut inflate = flate2::read::ZlibDecoder::new(&data[..]);
    std::io::Read::read_exact(&mut inflate, &mut pixels).unwrap();
    // No filter changes the first pixel of a picture.
    ((number(16), number(20)), [pixels[1], pixels[2], pixels[3]])
}

/// The pictures stay in the folder of this run, for who wants to look at them.
#[test]
fn a_browser_shows_it_light_and_dark_on_a_phone_and_printed() {
    if !has("chromium") {
        return;
    }
    let report = align(&[]);
    let page = report.path("out.html");
    let here = crate::common::scratch().join("pictures");
    fs::create_dir_all(&here).unwrap();
    let shoot = |name: &str, size: &str, more: &[&str]| {
        let file = here.join(format!("{name}.png"));
        let shot = format!("--screenshot={}", file.display());
        let size = format!("--window-size={size}");
        let printed = browse(&page, report.here.path(), &[&[&*shot, &*size][..], more].concat());
        assert!(!printed.contains("CONSOLE"), "{printed}");
        assert_eq!(requests(report.here.path()), Vec::<String>::new());
        picture(&file)
    };
    let (size, light) = shoot("light", "1200,2400", &["--blink-settings=preferredColorScheme=1"]);
    assert_eq!((size, light), ((1200, 2400), [255, 255, 255]));
    let (_, dark) = shoot("dark", "1200,2400", &["--blink-settings=preferredColorScheme=0"]);
    assert_eq!(dark, [0x14, 0x19, 0x1f]);
    let (size, _) = shoot("phone", "390,2400", &["--blink-settings=preferredColorScheme=1"]);
    assert_eq!(size, (390, 2400));
    // For README: the page without the folders of this machine.
    let html = fs::read_to_string(&page).unwrap();
    let folder = small_pairs().first.parent().unwrap().display().to_string() + "/";
    let front = report.path("front.html");
    fs::write(&front, html.replace(&folder, "")).unwrap();
    let shot = format!("--screenshot={}", here.join("report.png").display());
    let light = "--blink-settings=preferredColorScheme=1";
    browse(&front, report.here.path(), &[&shot, "--window-size=1200,1060", light]);
    assert_eq!(picture(&here.join("report.png")).0, (1200, 1060));
    // What the checks above would say of a page that is not by itself.
    let bad = report.path("bad.html");
    fs::write(&bad, "<img src=http://example.org/a.png><script>console.log(1)</script>").unwrap();
    let shot = format!("--screenshot={}", report.path("bad.png").display());
    let printed = browse(&bad, report.here.path(), &[&shot]);
    assert!(printed.contains("CONSOLE"), "{printed}");
    assert_eq!(requests(report.here.path()), ["http://example.org/a.png"]);
    let pdf = here.join("printed.pdf");
    browse(&page, report.here.path(), &[&format!("--print-to-pdf={}", pdf.display())]);
    let printed = fs::read(&pdf).unwrap();
    assert!(printed.starts_with(b"%PDF") && printed.len() > 20_000, "{} bytes", printed.len());
    // Two plots are in a row: a page for each would be twice as many.
    let pages = pages(&printed);
    assert!((3..9).contains(&pages), "{pages} pages");
}

/// Pages of a PDF: its tree of pages has their number in the root, and less in each branch.
fn pages(pdf: &[u8]) -> usize {
    let text = String::from_utf8_lossy(pdf);
    let counts = text.split("/Count ").skip(1);
    let digits = |count: &str| count.split(|it: char| !it.is_ascii_digit()).next()?.parse().ok();
    counts.filter_map(digits).max().unwrap_or(0)
}
