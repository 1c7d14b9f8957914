//! Campaigns over shells, from the file to the page.

use std::fs;
use std::path::Path;

use super::html::tests::check_page;
use super::*;

mod folders;

/// Subjects that are shells: one reports its time, one is timed, one fails with two threads, one is
/// not installed. The levels of `way` are reported as numbers.
const TEXT: &str = r#"
name = "shells"
title = "Shells <side by side>"
question = "Do they?"

[protocol]
repeats = 3
reads_per_thread = 2
timeout_s = 20
oversubscribe = true

[values]
script = "wc -l < {reads} > /dev/null"

[[factor]]
name = "way"
levels = ["a", "b"]

[[factor]]
name = "instances"
levels = [1, 2]

[[factor]]
name = "threads"
levels = [1, 2]

[[make]]
name = "all"
file = "all.fq"
commands = [["sh", "-c", "for i in 1 2 3; do printf '@r%s\nACGT\n+\nFFFF\n' $i; done > {file}"]]

[input]
reads = "{all}"

[[subject]]
name = "teller"
command = ["sh", "-c", """n=$(grep -c @ {reads}); echo "took $((n * {threads})).5 ms" >&2; \
  printf 'counter\twaits\t%s\n' {threads}; printf 'counter\treads\t%s\n' $n; \
  printf 'kind\tns\nx\t4\ny\t8\n' > {run}/t.tsv""", "{way}"]
version = ["sh", "-c", "echo shell 1"]
time = "told"
tell = [{ counter = "align_s", from = "stderr", after = "took ", scale = 1e-3 }]
curve = { file = "{run}/t.tsv", x = "ns", share = "ns", title = "ns" }

[[subject]]
name = "breaker"
command = ["sh", "-c", "if [ {threads_total} = 2 ]; then echo no luck >&2; exit 3; fi; sleep 0.02"]
time = "wall"
only = { way = ["a"], instances = [1] }

[[subject]]
name = "loader"
command = ["sh", "-c", "sleep 0.1; for i in $(seq {reads_of_instance}); do sleep 0.05; done"]
time = "less-minimal-run"
only = { way = ["a"], instances = [1], threads = [2] }

[[subject]]
name = "rows"
command = ["sh", "-c", "printf 'kind\tt\treads\nx\t0.5\t10\ny\t1\t10\ny\t3\t10\n' > {run}/t.tsv"]
time = "told"
only = { way = ["b"], instances = [1] }
rows = { file = "{run}/t.tsv", factors = ["kind"], values = { align_s = "t", reads = "reads" } }

[[subject]]
name = "missing"
command = ["no-such-aligner", "{reads}"]
time = "wall"

[report]
lines = ["way"]
panels = ["subject", "instances"]
waits = ["waits"]

[smoke]
repeats = 1
"#;

fn campaign(text: &str, folder: &Path) -> Campaign {
    Campaign {
        file: "shells.toml".into(),
        text: text.into(),
        settings: Vec::new(),
        smoke: false,
        out: folder.join("out"),
        work: folder.join("work"),
        seqloom: "seqloom".into(),
        lab: "seqloom-lab".into(),
        testkit: "testkit".into(),
        command_line: vec!["seqloom".into(), "lab".into(), "run".into()],
        counted: false,
        budget: None,
        resumes: false,
    }
}

fn run(campaign: &Campaign) -> (Outcome, Vec<String>) {
    let mut told = Vec::new();
    let outcome = campaign.run(&|| false, &mut |what| told.push(what.to_owned())).unwrap();
    (outcome, told)
}

fn read(campaign: &Campaign, name: &str) -> String {
    fs::read_to_string(campaign.out.join(name)).unwrap()
}

/// Cells of a summary's row, by column, of the rows in which all of `with` are.
fn cells(campaign: &Campaign, with: &[&str], column: &str) -> Vec<String> {
    let text = read(campaign, "summary.tsv");
    let mut lines = text.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let heads = lines.next().unwrap();
    let at = heads.iter().position(|head| *head == column).unwrap();
    let rows = lines.filter(|cells| with.iter().all(|cell| cells.contains(cell)));
    rows.map(|cells| cells[at].to_owned()).collect()
}

#[test]
fn a_campaign_goes_from_its_file_to_its_page() {
    let folder = tempfile::tempdir().unwrap();
    let campaign = campaign(TEXT, folder.path());
    let (outcome, told) = run(&campaign);
    // Each repeat: teller 2 ways x 3 shapes, two of which are one program and one of which is two;
    // breaker 2, loader 1 and its minimal run, rows 2.
    assert_eq!(outcome.programs, 3 * (2 * 4 + 2 + 2 + 2));
    assert_eq!(outcome.failed, 3, "{told:?}");
    // One thread for two instances: of teller and missing, for each way; and what is missing.
    assert_eq!(outcome.left_out, 2 + 2 + 6);
    assert!(told.iter().any(|what| what.contains("no-such-aligner is not installed")), "{told:?}");
    assert!(told.iter().any(|what| what.contains("exit status: 3: no luck")), "{told:?}");

    // Two reads a thread; the slowest of two instances with two reads each and one thread.
    assert_eq!(cells(&campaign, &["teller", "a", "1"], "align_s")[0], "0.002500");
    let of_two = |column| cells(&campaign, &["teller", "a"], column);
    assert_eq!(of_two("align_s"), ["0.002500", "0.008500", "0.002500"]);
    assert_eq!(of_two("waits"), ["1", "2", "2"], "added up over instances");
    assert_eq!(of_two("reads"), ["2", "4", "4"]);
    assert_eq!(of_two("repeats"), ["3", "3", "3"]);
    assert_eq!(of_two("align_s_mad"), ["0", "0", "0"]);
    assert_eq!(of_two("time_basis")[0], "told by the program");

    assert_eq!(cells(&campaign, &["breaker"], "failed_repeats"), ["0", "3"]);
    assert_eq!(cells(&campaign, &["breaker"], "align_s")[1], "NaN");
    // Four reads of 50 ms, less one of a minimal run.
    let loader: f64 = cells(&campaign, &["loader"], "align_s")[0].parse().unwrap();
    assert!((0.1..0.3).contains(&loader), "{loader}");
    assert_eq!(cells(&campaign, &["rows", "x"], "reads_per_s"), ["20", "20"]);
    // Two rows of one key are one repeat.
    assert_eq!(cells(&campaign, &["rows", "y"], "reads_per_s"), ["5", "5"]);
    assert_eq!(cells(&campaign, &["rows", "y"], "repeats"), ["3", "3"]);
}

/// As if so many threads of others had been ready to run before the first run.
fn had_load(campaign: &Campaign, load: f64) {
    let path = campaign.out.join(record::FACTS);
    let mut facts: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    facts["ready_threads"] = load.into();
    fs::write(&path, facts.to_string()).unwrap();
    report(&campaign.out).unwrap();
}

#[test]
fn results_are_json_and_the_page_is_complete_alone() {
    let folder = tempfile::tempdir().unwrap();
    let campaign = campaign(TEXT, folder.path());
    let (outcome, _) = run(&campaign);
    had_load(&campaign, 0.25);
    let page = read(&campaign, "report.html");
    check_page(&page);
    for shown in ["Shells &lt;side by side&gt;", "no luck", "not installed", "teller: shell 1"] {
        assert!(page.contains(shown), "{shown}");
    }
    assert!(page.contains("Distribution: ns") && page.contains("Busy and waiting"));
    let results: serde_json::Value =
        serde_json::from_str(&read(&campaign, "results.json")).unwrap();
    assert_eq!(results["schema"], 1);
    assert!(results["campaign"]["host"]["usable_cores"].as_u64().unwrap() > 0);
    let rows = results["summary"].as_array().unwrap();
    assert_eq!(rows.len(), 6 + 2 + 1 + 4);
    assert!(rows.iter().all(|row| row["subject"].is_string()));
    let lines = read(&campaign, "runs.jsonl");
    assert_eq!(lines.lines().count(), outcome.programs);
    let runs = read(&campaign, "runs.tsv");
    let wide = runs.lines().next().unwrap().split('\t').count();
    assert!(runs.lines().all(|line| line.split('\t').count() == wide));

    // The same folder gives the same bytes, also without what is made from the rest.
    let before = MADE.map(|name| read(&campaign, name));
    MADE.iter().for_each(|name| fs::remove_file(campaign.out.join(name)).unwrap());
    report(&campaign.out).unwrap();
    assert_eq!(MADE.map(|name| read(&campaign, name)), before);
}

#[test]
fn runs_are_interleaved_and_a_campaign_that_was_stopped_keeps_what_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let campaign = campaign(TEXT, folder.path());
    let runs = std::sync::atomic::AtomicUsize::new(0);
    let count = || runs.load(std::sync::atomic::Ordering::Relaxed);
    let stopped = campaign.run(&|| count() > 12, &mut |what| {
        if what.starts_with("run ") {
            runs.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
    });
    assert!(matches!(stopped, Err(CampaignError::Stopped)));
    let records: Vec<Record> =
        read(&campaign, "runs.jsonl").lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert!(records.len() >= 10);
    let subjects: Vec<&str> = records.iter().map(|record| record.subject.as_str()).collect();
    assert!(!subjects.is_sorted(), "{subjects:?}");
    // A line that was being written.
    let path = campaign.out.join("runs.jsonl");
    fs::write(&path, read(&campaign, "runs.jsonl") + "{\"order\":").unwrap();
    report(&campaign.out).unwrap();
    let page = read(&campaign, "report.html");
    check_page(&page);
    assert!(page.contains("early") && page.contains("planned"));
}

#[test]
fn settings_and_smoke_change_what_is_run() {
    let folder = tempfile::tempdir().unwrap();
    let mut campaign = campaign(TEXT, folder.path());
    campaign.smoke = true;
    campaign.settings = vec![
        ("threads".into(), vec!["1".into()]),
        ("instances".into(), vec!["1".into()]),
        ("way".into(), vec!["a".into()]),
    ];
    let (outcome, _) = run(&campaign);
    assert_eq!((outcome.programs, outcome.failed, outcome.left_out), (2, 0, 1));
    assert_eq!(cells(&campaign, &["teller"], "repeats"), ["1"]);
    let page = read(&campaign, "report.html");
    assert!(page.contains("A smoke run"));
    report(&campaign.out).unwrap();
    assert_eq!(read(&campaign, "report.html"), page, "settings are kept");
    let again = campaign.run(&|| false, &mut |_| {}).unwrap_err().to_string();
    assert!(again.contains("holds the runs of a campaign"), "{again}");
    campaign.settings = vec![("colour".into(), vec!["red".into()])];
    let error = campaign.run(&|| false, &mut |_| {}).unwrap_err().to_string();
    assert!(error.contains("there is no colour") && error.contains("way"), "{error}");
    campaign.settings = vec![("threads".into(), vec!["none".into()])];
    let error = campaign.dry_run().unwrap_err().to_string();
    assert!(error.contains("'none' is not a number"), "{error}");
    let thousand = ("threads".into(), vec!["1000".into()]);
    for (word, is_run) in [("true", true), ("false", false)] {
        campaign.settings = vec![thousand.clone(), ("oversubscribe".into(), vec![word.into()])];
        let text = campaign.dry_run().unwrap();
        assert_eq!(!text.contains("more threads than"), is_run, "{text}");
    }
    campaign.settings = vec![("oversubscribe".into(), vec!["perhaps".into()])];
    let error = campaign.dry_run().unwrap_err().to_string();
    assert!(error.contains("oversubscribe is true or false"), "{error}");
}

#[test]
fn a_dry_run_says_what_would_be_done_and_does_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let campaign = campaign(TEXT, folder.path());
    let text = campaign.dry_run().unwrap();
    assert!(text.starts_with("shells: 36 runs of 11 configurations\n"), "{text}");
    assert!(text.contains("make ") && text.contains("all.fq\n"), "{text}");
    assert!(text.contains("READS_OF_4"), "{text}");
    assert!(text.contains("left out: 6 of missing: no-such-aligner is not installed"), "{text}");
    assert!(text.ends_with("10 configurations are left out\n"), "{text}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn what_takes_too_long_is_ended_and_not_tried_again() {
    let folder = tempfile::tempdir().unwrap();
    let text = r#"
        name = "slow"
        title = "t"
        question = "q"
        protocol = { repeats = 2, timeout_s = 1 }
        factor = [{ name = "threads", levels = [1] }]
        subject = [{ name = "s", command = ["sh", "-c", "sleep 30"], time = "wall" }]
    "#;
    let campaign = campaign(text, folder.path());
    let (outcome, told) = run(&campaign);
    assert_eq!((outcome.programs, outcome.failed), (2, 2));
    assert!(told.iter().any(|what| what.contains("longer than 1 s")), "{told:?}");
    assert!(told.iter().any(|what| what.contains("not tried again")), "{told:?}");
}

#[test]
fn what_cannot_be_made_leaves_out_what_needs_it() {
    let folder = tempfile::tempdir().unwrap();
    let text = TEXT.replace("for i in 1 2 3", "echo disk full >&2; exit 1; for i in 1 2 3");
    let (outcome, told) = run(&campaign(&text, folder.path()));
    assert!(told.iter().any(|what| what.contains("cannot be made")), "{told:?}");
    assert!(told.iter().any(|what| what.contains("disk full")), "{told:?}");
    assert_eq!(outcome.programs, 3 * (2 + 2 + 2), "those without reads");
    // A given file that is not there is the same.
    let mut other = campaign(TEXT, &folder.path().join("other"));
    other.settings = vec![("all".into(), vec!["/none.fq".into()])];
    let (_, told) = run(&other);
    assert!(told.iter().any(|what| what.contains("no such file")), "{told:?}");
}

#[test]
fn placements_come_before_the_program_and_those_that_are_refused_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let text = r#"
        name = "placed"
        title = "t"
        question = "q"
        protocol = { repeats = 1 }
        factor = [
            { name = "threads", levels = [1] },
            { name = "placement", levels = ["default", "env", "refused", "absent"] },
        ]
        placement = [
            { name = "default", command = [] },
            { name = "env", command = ["env", "WHERE=9"] },
            { name = "refused", command = ["sh", "-c", "echo not permitted >&2; exit 1"] },
            { name = "absent", command = ["no-such-numactl"] },
        ]
        [[subject]]
        name = "s"
        command = ["sh", "-c", "printf 'counter\twhere\t%s\n' ${{WHERE:-0}}"]
        time = "wall"
    "#;
    let campaign = campaign(text, folder.path());
    let (outcome, told) = run(&campaign);
    assert_eq!((outcome.programs, outcome.failed, outcome.left_out), (2, 0, 2), "{told:?}");
    assert_eq!(cells(&campaign, &["env"], "where"), ["9"]);
    assert_eq!(cells(&campaign, &["default"], "where"), ["0"]);
    assert!(told.iter().any(|what| what.contains("refused here: not permitted")), "{told:?}");
}

#[test]
fn counters_of_the_kernel_come_from_runs_that_are_not_timed() {
    let folder = tempfile::tempdir().unwrap();
    let text = r#"
        name = "counted"
        title = "t"
        question = "q"
        protocol = { repeats = 2 }
        factor = [{ name = "threads", levels = [1] }]
        subject = [{ name = "s", command = ["sh", "-c", "sleep 0.01"], time = "wall" }]
    "#;
    let mut campaign = campaign(text, folder.path());
    campaign.counted = true;
    let (outcome, _) = run(&campaign);
    let facts: serde_json::Value = serde_json::from_str(&read(&campaign, "campaign.json")).unwrap();
    let words = facts["counters"].as_str().unwrap();
    let summary = read(&campaign, "summary.tsv");
    if words.starts_with("by perf stat") {
        assert_eq!((outcome.programs, outcome.failed), (3, 0));
        assert!(cells(&campaign, &["s"], "cpu_migrations")[0].parse::<u32>().is_ok(), "{summary}");
    } else {
        assert_eq!((outcome.programs, outcome.failed), (2, 0), "{words}");
        assert!(!summary.contains("migrations"));
    }
    assert_eq!(cells(&campaign, &["s"], "repeats"), ["2"]);
}

#[test]
fn errors_of_a_definition_name_file_line_and_key() {
    fn t(from: &str, to: &str, expected: &[&str]) {
        assert!(TEXT.contains(from), "{from}");
        let error = Experiment::parse("x.toml", &TEXT.replacen(from, to, 1)).unwrap_err();
        let error = error.to_string();
        assert!(error.starts_with("x.toml, ") && !error.contains('\n'), "{error}");
        expected.iter().for_each(|part| assert!(error.contains(part), "{part}: {error}"));
    }
    t("repeats = 3", "repeat = 3", &["line 7 ", "unknown field `repeat`", "repeats"]);
    t("repeats = 3", "repeats = \"x\"", &["line 7 (repeats = \"x\")", "invalid type"]);
    t("repeats = 3", "repeats = 0", &["protocol.repeats", "at least 1"]);
    t("repeats = 3", "repeats = ", &["line 7 "]);
    t("title = ", "titel = ", &["unknown field `titel`"]);
    t("time = \"wall\"", "time = \"wal\"", &["unknown variant `wal`", "less-minimal-run"]);
    t("levels = [1, 2]", "levels = [1, 0]", &["factor instances", "'0' is not a number above 0"]);
    t("levels = [1, 2]", "levels = [1, 'threads/0']", &["factor instances", "'threads/0' is not"]);
    t("levels = [1, 2]", "levels = [1, 1]", &["factor instances", "none twice"]);
    t("name = \"way\"", "name = \"run\"", &["factor run", "something else"]);
    t("[values]", "[values]\nway = 1", &["value way", "something else"]);
    t("[values]", "[values]\nthreads = 1", &["value threads", "something else"]);
    t("{threads}", "{thread}", &["subject teller, command", "{thread}", "threads"]);
    t("{file}", "{reads}", &["make all, commands", "{reads}"]);
    t("only = { way = [\"a\"]", "only = { way = [\"c\"]", &["breaker, only", "no way 'c'"]);
    t("name = \"breaker\"", "name = \"teller\"", &["subject teller", "twice"]);
    t("reads = \"{all}\"", "reads = \"{al}\"", &["input", "{al}"]);
    t("after = \"took \"", "after = \"\"", &["tell align_s", "empty text"]);
    t("lines = [\"way\"]", "lines = [\"lock\"]", &["report", "no factor lock", "kind"]);
    t("[smoke]\nrepeats", "[smoke]\nrepeat", &["smoke", "no repeat;"]);
    t("reads_per_thread = 2", "reads_per_thread = 2\nreads = 3", &["protocol", "either"]);
    t("name = \"shells\"", "name = \"a shell\"", &["name", "one word"]);
    t("values = { align_s", "values = { s", &["subject rows, rows", "align_s"]);
    let rows = "rows = { file";
    t(
        rows,
        "tell = [{ counter = \"a\", from = \"stdout\", after = \"a\" }]\nrows = { file",
        &["subject rows, tell"],
    );
    for time in ["wall", "less-minimal-run"] {
        let to = format!("time = \"{time}\"\nonly = {{ way = [\"b\"]");
        t("time = \"told\"\nonly = { way = [\"b\"]", &to, &["subject rows, time"]);
    }
    t("scale = 1e-3", "scale = 1e-3, over = \"sum\"", &["tell align_s, over"]);
    t("only = { way = [\"a\"]", "only = { way = []", &["breaker, only.way", "empty"]);
    let tell = "tell = [{ counter = \"align_s\", from = \"stdout\", after = \"x\" }, ";
    t("tell = [", tell, &["subject teller, tell align_s", "twice"]);
    t("[input]", "[[placement]]\nname = \"p\"\ncommand = []\n[input]", &["placement p"]);
    let make = "[[make]]\nname = \"more\"\nfile = \"m\"\ngiven = \"m\"\n[input]";
    t("[input]", make, &["make more", "nothing names"]);
    let many = "reads_per_thread = 9223372036854775807";
    let text = TEXT.replace("levels = [1, 2]", "levels = [1, 4]");
    let text = text.replace("reads_per_thread = 2", many);
    let error = Experiment::parse("x.toml", &text).unwrap_err().to_string();
    assert!(error.contains("protocol.reads_per_thread: ") && error.contains("too many"), "{error}");
}

#[test]
fn what_no_row_has_is_not_shown() {
    let text = |report: &str| {
        format!(
            r#"
            name = "x"
            title = "t"
            question = "q"
            factor = [{{ name = "threads", levels = [1] }}]
            subject = [{{ name = "r", command = ["sh"], time = "told",
              rows = {{ file = "f", factors = [], values = {{ align_s = "s" }} }} }}]
            report = {{ {report} }}
            "#
        )
    };
    assert!(Experiment::parse("x.toml", &text("")).is_ok());
    for (report, key) in [
        ("y = \"z\"", "report.y"),
        ("peak = \"z\"", "report.peak"),
        ("waits = [\"align_s\", \"z\"]", "report.waits"),
    ] {
        let error = Experiment::parse("x.toml", &text(report)).unwrap_err().to_string();
        assert!(error.contains(key) && error.contains("no subject tells z"), "{error}");
    }
}
