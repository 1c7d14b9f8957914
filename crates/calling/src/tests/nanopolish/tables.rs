//! `nanopolish eventalign`.

use seqloom_testkit::skip;

use super::super::real_reads::model;
use super::inputs::Inputs;
use super::referee::Referee;
use crate::aligned_read::AlignedSignal;
use crate::eventalign::sam::push_sam;
use crate::eventalign::table::{
    TableOptions, TableRead, push_header, push_rows, push_summary, push_summary_header,
};
use crate::eventalign::{Expected, WalkScratch, align};
use crate::events::detect::samples_to_pa;

/// Table and summary of all alignments.
fn ours(inputs: &Inputs, options: &TableOptions) -> (String, String) {
    let model = model();
    let (mut scratch, mut rows, mut samples_pa) = (WalkScratch::default(), Vec::new(), Vec::new());
    let (mut table, mut summary) = (Vec::new(), Vec::new());
    push_header(options, &mut table);
    push_summary_header(&mut summary);
    let expected = Expected { model: &model, methylated: None };
    for (index, alignment) in inputs.alignments.iter().enumerate() {
        let (real, events) = inputs.read(alignment);
        let read = inputs.aligned(alignment);
        rows.clear();
        align(&mut scratch, AlignedSignal { read: &read, events }, expected, None, &mut rows);
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

/// SAM of all alignments, without a header.
fn our_sam(inputs: &Inputs) -> String {
    let (model, mut scratch, mut out) = (model(), WalkScratch::default(), Vec::new());
    let expected = Expected { model: &model, methylated: None };
    for alignment in &inputs.alignments {
        let (read, mut rows) = (inputs.aligned(alignment), Vec::new());
        let events = inputs.read(alignment).1;
        align(&mut scratch, AlignedSignal { read: &read, events }, expected, None, &mut rows);
        push_sam(&read, alignment.mapq, &rows, &mut out);
    }
    String::from_utf8(out).unwrap()
}

/// Records of a SAM text.
fn records(sam: &str) -> String {
    sam.lines().filter(|line| !line.starts_with('@')).map(|line| format!("{line}\n")).collect()
}

/// Every line is theirs, on runs of N too, where all paths are as likely as each other and the
/// order of comparisons decides: there no bit may differ.
fn assert_same_lines(theirs: &str, ours: &str, least: usize) {
    let mut lines = 0;
    for (theirs, ours) in theirs.lines().zip(ours.lines()) {
        assert_eq!(theirs, ours, "line {lines}");
        lines += 1;
    }
    assert_eq!((lines, lines), (theirs.lines().count(), ours.lines().count()));
    println!("{lines} lines, all equal");
    assert!(lines > least, "{lines}");
}

/// Summaries without the path of the signal's file, which is not ours to know here.
fn without_path(summary: &str) -> String {
    let line = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        [&fields[..2], &fields[3..]].concat().join("\t") + "\n"
    };
    summary.lines().map(line).collect()
}

/// Tables and summaries for both scales of events.
fn compare(referee: &Referee, least: usize) {
    let theirs = records(&referee.nanopolish("eventalign", &["--sam"]));
    assert_same_lines(&theirs, &our_sam(&referee.inputs), referee.inputs.alignments.len() - 1);
    for scale_events in [false, true] {
        let scale = if scale_events { &["--scale-events"][..] } else { &[] };
        let summary = ["--summary", "sum"];
        let theirs = referee.nanopolish("eventalign", &[scale, &summary].concat());
        let options = TableOptions { scale_events, ..TableOptions::default() };
        let (table, summary) = ours(&referee.inputs, &options);
        assert_same_lines(&theirs, &table, least);
        let theirs = without_path(&referee.written("sum"));
        assert_same_lines(&theirs, &without_path(&summary), referee.inputs.alignments.len());
    }
}

#[test]
fn rows_are_those_of_nanopolish() {
    let Some(referee) = Referee::new(false) else { return };
    let columns = ["--scale-events", "--signal-index", "--samples", "--print-read-names"];
    let theirs = referee.nanopolish("eventalign", &columns);
    let all =
        TableOptions { read_names: true, scale_events: true, signal_index: true, samples: true };
    let (mut early, mut same) = (0, String::new());
    for (theirs, ours) in theirs.lines().zip(ours(&referee.inputs, &all).0.lines()) {
        let is_early = theirs != ours && is_early(theirs, ours);
        early += usize::from(is_early);
        same += &format!("{}\n", if is_early { theirs } else { ours });
    }
    assert!(early < 30, "{early}");
    assert_same_lines(&theirs, &same, 10_000);
}

/// Whether only the samples differ, and theirs begin or end one too early: nanopolish makes of them
/// what a sum of durations in seconds times the sampling rate is when it is cut off, which for some
/// of the first events of a read is one less than was summed up.
fn is_early(theirs: &str, ours: &str) -> bool {
    let [theirs, ours] = [theirs, ours].map(|line| line.split('\t').collect::<Vec<_>>());
    let samples = |line: &[&str]| [13, 14].map(|at| line[at].parse::<u64>().unwrap());
    let late = |(theirs, ours): (u64, u64)| ours == theirs || ours == theirs + 1;
    theirs[..13] == ours[..13] && samples(&theirs).into_iter().zip(samples(&ours)).all(late)
}

#[test]
fn sam_is_that_of_nanopolish() {
    let Some(referee) = Referee::new(false) else { return };
    let theirs = records(&referee.nanopolish("eventalign", &["--sam"]));
    assert_same_lines(&theirs, &our_sam(&referee.inputs), 5);
}

#[test]
fn slow_all_rows_are_those_of_nanopolish() {
    if !skip::slow_tests() {
        return;
    }
    let Some(referee) = Referee::new(true) else { return };
    compare(&referee, 1_000_000);
}

#[test]
fn slow_all_rows_on_another_genome_are_those_of_nanopolish() {
    if !skip::slow_tests() {
        return;
    }
    let Some(referee) = Referee::on_another_genome() else { return };
    compare(&referee, 1_000_000);
}
