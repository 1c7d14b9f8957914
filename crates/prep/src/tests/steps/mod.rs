//! Referees for the record steps: samtools and Picard run side by side with ours, on real files and
//! on random hard ones; no record may differ.
//!
//! Needs samtools, bgzip, java and Picard, in their current releases. Real files come from the
//! folder that `SEQLOOM_DATA` names.

mod hard_data;
mod picard;
mod samtools;

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use seqloom_format::bam::{Header, RecordRef, framed_records};
use seqloom_format::sam;
use seqloom_testkit::planted::changed_fields;
use seqloom_testkit::referees;
use seqloom_testkit::running::has;

use crate::input::reference::ReferenceSequences;
use crate::steps::{StepCounts, StepScratch, Steps};

/// Runs a program to its end and gives its standard output.
fn run(program: &str, arguments: &[&str]) -> Vec<u8> {
    finish(Command::new(referees::path_of(program)).args(arguments))
}

fn finish(command: &mut Command) -> Vec<u8> {
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
    output.stdout
}

/// Whether samtools, in the version that these steps follow, and bgzip are installed.
fn has_samtools() -> bool {
    has("samtools") && has("bgzip")
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Header and framed records of a SAM or BAM file.
fn read(path: &Path) -> (Header, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    let bam = folder.path().join("input.bam");
    run("samtools", &["view", "--no-PG", "-b", "-o", text(&bam), text(path)]);
    let bytes = run("bgzip", &["-dc", text(&bam)]);
    let (header, taken) = Header::decode(&bytes).unwrap();
    (header, bytes[taken..].to_vec())
}

/// Records of a SAM or BAM file as lines, without the header.
fn their_lines(path: &Path) -> Vec<String> {
    lines_of(&run("samtools", &["view", text(path)]))
}

fn lines_of(sam: &[u8]) -> Vec<String> {
    let sam = String::from_utf8_lossy(sam);
    sam.lines().filter(|line| !line.starts_with('@')).map(str::to_owned).collect()
}

/// What our steps make of records: lines, and how many records were read.
fn our_lines(steps: &Steps, header: &Header, records: &[u8]) -> (Vec<String>, StepCounts) {
    let mut header = header.clone();
    steps.prepare_header(&mut header).unwrap();
    let (mut scratch, mut counts) = (StepScratch::default(), StepCounts::default());
    let mut out = Vec::new();
    for part in parts(records, steps.needs_templates()) {
        steps.apply(part, &mut out, &mut scratch, &mut counts).unwrap();
    }
    let mut lines = Vec::new();
    for body in framed_records(&out) {
        let mut line = Vec::new();
        sam::append_record(body.unwrap(), header.references(), &mut line).unwrap();
        lines.push(String::from_utf8(line).unwrap().trim_end().to_owned());
    }
    (lines, counts)
}

/// The records cut where the name changes, or in one piece.
fn parts(records: &[u8], by_name: bool) -> Vec<&[u8]> {
    if !by_name {
        return vec![records];
    }
    let mut parts = Vec::new();
    let mut frames = framed_records(records);
    let (mut start, mut offset) = (0, 0);
    let mut name: Option<&[u8]> = None;
    while let Some(body) = frames.next() {
        let own = RecordRef::new(body.unwrap()).unwrap().name();
        if name.is_some_and(|name| name != own) {
            parts.push(&records[start..offset]);
            start = offset;
        }
        name = Some(own);
        offset = frames.offset();
    }
    parts.push(&records[start..]);
    parts
}

/// A line with its tags sorted: Picard sorts them its own way.
fn with_sorted_tags(line: &str) -> String {
    let mut columns: Vec<&str> = line.split('\t').collect();
    let from = columns.len().min(11);
    columns[from..].sort_unstable();
    columns.join("\t")
}

/// Fails unless the lines are equal, in any order; gives their number.
fn assert_same_lines(what: &str, mut ours: Vec<String>, mut theirs: Vec<String>) -> usize {
    ours.sort_unstable();
    theirs.sort_unstable();
    assert_equal_lines(what, &ours, &theirs)
}

/// Fails unless the lines are equal, in order, and unless each field of a record that is changed in
/// ours is seen; gives their number.
fn assert_equal_lines(what: &str, ours: &[String], theirs: &[String]) -> usize {
    if let Some(difference) = difference(ours, theirs) {
        panic!("{what}: {difference}");
    }
    let middle = ours.iter().enumerate().skip(ours.len() / 2);
    let changed = middle.filter_map(|(at, line)| Some((at, changed_fields(line)?))).next();
    for (at, (field, line)) in
        changed.into_iter().flat_map(|(at, it)| it.into_iter().map(move |it| (at, it)))
    {
        let mut ours = ours.to_vec();
        ours[at] = line;
        assert!(difference(&ours, theirs).is_some(), "{what}: a planted change of {field}");
    }
    ours.len()
}

/// In which lines the two differ, if they do.
fn difference(ours: &[String], theirs: &[String]) -> Option<String> {
    let differing: Vec<_> = ours.iter().zip(theirs).filter(|(a, b)| a != b).collect();
    let show = |(a, b): &(&String, &String)| format!("  ours   {a}\n  theirs {b}\n");
    let examples: String = differing.iter().take(4).map(show).collect();
    let (count, of) = (differing.len(), [ours.len(), theirs.len()]);
    (count > 0 || of[0] != of[1])
        .then(|| format!("{count} differ, {} of ours, {} of theirs\n{examples}", of[0], of[1]))
}

/// Sequences of a FASTA file in the order of the header.
fn reference(fasta: &str, header: &Header) -> Arc<ReferenceSequences> {
    let mut sequences = vec![Vec::new(); header.references().len()];
    for record in fasta.split('>').skip(1) {
        let (title, bases) = record.split_once('\n').unwrap();
        let name = title.split_whitespace().next().unwrap();
        if let Some(index) = header.references().iter().position(|it| it.name == name) {
            sequences[index] = bases.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
        }
    }
    Arc::new(ReferenceSequences::new(sequences))
}
