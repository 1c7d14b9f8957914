//! `nanopolish eventalign`.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use seqloom_signal::event::detect::samples_to_pa;
use seqloom_signal::eventalign::table::{
    TableOptions, TableRead, push_header, push_rows, push_summary, push_summary_header,
};
use seqloom_signal::eventalign::{WalkScratch, align};
use seqloom_testkit::skip;

use crate::referee::{Alignment, Referee};
use crate::support::model;

/// Where the draft has bases. Elsewhere it has N, which becomes a long run of A, on which all paths
/// are as likely as each other and rounding alone decides.
const REGION: RangeInclusive<u64> = 191_106..=209_252;
const REGION_TEXT: &str = "tig00000001:191106-209252";

/// Table and summary of all alignments that overlap the region.
fn ours(referee: &Referee, options: &TableOptions) -> (String, String) {
    let model = model();
    let (mut scratch, mut rows, mut samples_pa) = (WalkScratch::default(), Vec::new(), Vec::new());
    let (mut table, mut summary) = (Vec::new(), Vec::new());
    push_header(options, &mut table);
    push_summary_header(&mut summary);
    let overlaps = |it: &&Alignment| {
        it.contig == "tig00000001" && it.start <= *REGION.end() && it.end > *REGION.start()
    };
    for (index, alignment) in referee.alignments.iter().filter(overlaps).enumerate() {
        let (real, events) = referee.read(alignment);
        let read = referee.aligned(alignment);
        rows.clear();
        align(&mut scratch, &read, events, &model, Some(REGION), &mut rows);
        samples_to_pa(&real.signal, &mut samples_pa);
        let read = TableRead {
            read: &read,
            index: index as u64,
            events,
            model: &model,
            sample_rate_hz: real.signal.sampling_rate,
            samples_pa: &samples_pa,
        };
        push_rows(&read, &rows, options, &mut table);
        push_summary(&read, &rows, b"", b"", &mut summary);
    }
    (String::from_utf8(table).unwrap(), String::from_utf8(summary).unwrap())
}

/// Lines by contig, read and event, in order.
fn by_event(table: &str) -> BTreeMap<[&str; 3], Vec<&str>> {
    let mut lines = BTreeMap::<_, Vec<_>>::new();
    for line in table.lines().skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        lines.entry([fields[0], fields[3], fields[5]]).or_default().push(line);
    }
    lines
}

/// Compares tables. At least 99 of 100 lines are equal; of the others, all but a few are of the same
/// event at the same place.
fn compare_tables(theirs: &str, ours: &str) {
    assert_eq!(theirs.lines().next(), ours.lines().next());
    let (theirs, ours) = (by_event(theirs), by_event(ours));
    let (mut lines, mut equal, mut moved, mut missing) = (0, 0, 0, 0);
    for (event, theirs) in &theirs {
        lines += theirs.len();
        let none = Vec::new();
        let ours = ours.get(event).unwrap_or(&none);
        missing += theirs.len().abs_diff(ours.len());
        for (theirs, ours) in theirs.iter().zip(ours) {
            let place = |line: &str| line.split('\t').nth(1).unwrap().to_owned();
            equal += usize::from(theirs == ours);
            moved += usize::from(place(theirs) != place(ours));
        }
    }
    let extra = ours.keys().filter(|event| !theirs.contains_key(*event)).count();
    println!("{lines} lines: {equal} equal, {moved} elsewhere, {missing} missing, {extra} extra");
    assert!(lines > 1000, "{lines}");
    assert!(equal as f64 >= 0.99 * lines as f64, "{equal} of {lines}");
    assert!((moved + missing + extra) as f64 <= 0.005 * lines as f64, "{moved} {missing} {extra}");
}

/// Compares summaries, but for the path of the signal's file.
fn compare_summaries(theirs: &str, ours: &str) {
    let without_path = |text: &str| -> Vec<String> {
        let line = |line: &str| {
            let mut fields: Vec<&str> = line.split('\t').collect();
            fields.remove(2);
            fields.join("\t")
        };
        text.lines().map(line).collect()
    };
    let (theirs, ours) = (without_path(theirs), without_path(ours));
    assert_eq!(theirs.len(), ours.len());
    assert_eq!(theirs[0], ours[0]);
    let equal = theirs.iter().zip(&ours).filter(|(theirs, ours)| theirs == ours).count();
    println!("summary: {equal} of {} lines equal", theirs.len());
    for (theirs, ours) in theirs.iter().zip(&ours).filter(|(theirs, ours)| theirs != ours) {
        println!("{theirs}\n{ours}\n");
    }
    assert!(equal * 10 >= theirs.len() * 9, "{equal} of {}", theirs.len());
}

#[test]
fn rows_are_those_of_nanopolish() {
    let Some(referee) = Referee::new(false) else { return };
    let columns = ["--scale-events", "--signal-index", "--samples", "--print-read-names"];
    let rest = ["--summary", "sum", "-w", REGION_TEXT];
    let theirs = referee.nanopolish("eventalign", &[columns, rest].concat());
    let all =
        TableOptions { read_names: true, scale_events: true, signal_index: true, samples: true };
    let (table, summary) = ours(&referee, &all);
    compare_tables(&theirs, &table);
    compare_summaries(&referee.written("sum"), &summary);
}

#[test]
fn slow_all_rows_are_those_of_nanopolish() {
    if !skip::slow_tests() {
        return;
    }
    let Some(referee) = Referee::new(true) else { return };
    let theirs = referee.nanopolish("eventalign", &["--summary", "sum", "-w", REGION_TEXT]);
    let (table, summary) = ours(&referee, &TableOptions::default());
    compare_tables(&theirs, &table);
    compare_summaries(&referee.written("sum"), &summary);
}
