//! Folders of campaigns: pages of busy machines, recorded pages, runs that are resumed.

use super::*;

#[test]
fn a_busy_machine_has_a_table_and_no_curves() {
    let folder = tempfile::tempdir().unwrap();
    let mut campaign = campaign(TEXT, folder.path());
    campaign.settings = vec![("repeats".into(), vec!["1".into()])];
    run(&campaign);
    had_load(&campaign, 4096.5);
    let page = read(&campaign, "report.html");
    check_page(&page);
    assert!(!page.contains("<svg") && !page.contains("Peaks"), "{page}");
    assert!(page.contains("4096.50 threads of others") && page.contains("All medians"));
    had_load(&campaign, 0.0);
    let page = read(&campaign, "report.html");
    assert!(page.contains("<polyline") && page.contains("Peaks") && !page.contains("No curves"));
}

#[test]
fn recorded_pages_are_what_is_made_of_their_runs_on_a_quiet_machine() {
    let runs = Path::new(env!("CARGO_MANIFEST_DIR")).join("runs");
    let mut folders = 0;
    for entry in fs::read_dir(runs).unwrap() {
        let folder = entry.unwrap().path();
        if !folder.join(record::FACTS).is_file() {
            continue;
        }
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        for (file, now) in MADE.iter().zip(made(&folder).unwrap()) {
            let recorded = fs::read_to_string(folder.join(file)).unwrap();
            let differing = recorded.lines().zip(now.lines()).find(|(was, is)| was != is);
            assert!(recorded == now, "{name}/{file}: {differing:?}");
        }
        let (_, facts, _) = record::read(&folder).unwrap();
        assert!(!facts.is_busy(), "{name}");
        folders += 1;
    }
    assert!(folders >= 8, "{folders}");
}

#[test]
fn a_campaign_ends_in_its_time_and_is_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let mut campaign = campaign(TEXT, folder.path());
    campaign.settings = vec![("repeats".into(), vec!["1".into()])];
    campaign.budget = Some(Duration::ZERO);
    let (outcome, _) = run(&campaign);
    assert_eq!(outcome.programs, 0);
    let page = read(&campaign, "report.html");
    assert!(page.contains("the time that was given was over"), "{page}");
    let ended = campaign.run(&|| false, &mut |_| {});
    assert_eq!(ended.unwrap().programs, 0, "nothing was run that could be written over");

    // Stopped in the midst, with a line that was being written.
    campaign.budget = None;
    let runs = std::sync::atomic::AtomicUsize::new(0);
    let count = || runs.load(std::sync::atomic::Ordering::Relaxed);
    let stopped = campaign.run(&|| count() > 5, &mut |what| {
        if what.starts_with("run ") {
            runs.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
    });
    assert!(matches!(stopped, Err(CampaignError::Stopped)));
    let before = read(&campaign, "runs.jsonl");
    fs::write(campaign.out.join("runs.jsonl"), before.clone() + "{\"order\":").unwrap();
    campaign.resumes = true;
    let (outcome, _) = run(&campaign);
    assert_eq!(outcome.programs, 2 * 4 + 2 + 2 + 2, "each once");
    let after = read(&campaign, "runs.jsonl");
    assert!(after.starts_with(&before) && before.lines().count() >= 4, "{before}");
    assert_eq!(run(&campaign).0, outcome);
    assert_eq!(read(&campaign, "runs.jsonl"), after, "all is there");

    campaign.settings = vec![("repeats".into(), vec!["2".into()])];
    let other = campaign.run(&|| false, &mut |_| {}).unwrap_err().to_string();
    assert!(other.contains("runs of another plan"), "{other}");
    assert_eq!(read(&campaign, "runs.jsonl"), after);
}
