//! Bowtie 2 in the versions that are installed, and what the comparisons with each of them see.

use crate::by_score::{Record, USUAL, compare, ours, reads, records};
use crate::common::{folder, run_into};
use crate::data::{Reference, small};
use crate::ungapped::index_of;
use seqloom_testkit::planted::is_seen;
use seqloom_testkit::referees::{self, BOWTIE2};
use seqloom_testkit::sam::flag;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The current Bowtie 2, and that of Debian's stable suite: those that are installed.
pub(crate) fn each_bowtie_2() -> impl Iterator<Item = PathBuf> {
    BOWTIE2.into_iter().filter_map(|version| referees::find("bowtie2", version))
}

/// Notes records whose places are held against those of a Bowtie 2.
pub(crate) fn compared_with(bowtie_2: &Path, records: usize) {
    referees::compared(&referees::name_of(bowtie_2), records);
}

/// What a Bowtie 2 makes of reads.
pub(crate) fn bowtie_2_of(
    bowtie_2: &Path,
    mode: &str,
    reference: &Reference,
    reads: &Path,
    options: &str,
) -> Vec<Record> {
    let sam = reads.with_extension("theirs.sam");
    let mut command = Command::new(bowtie_2);
    command.args(["-p", "2", "--reorder", &format!("--{mode}")]).args(options.split_whitespace());
    command.arg("-x").arg(index_of("bowtie2", "bowtie2-build-s -q", reference));
    run_into(command.arg("-U").arg(reads), &sam).ok();
    let records = records(&sam);
    compared_with(bowtie_2, records.len());
    records
}

/// A comparison that never fails may be blind.
#[test]
fn changed_places_scores_and_mapqs_are_seen_next_to_bowtie_2() {
    let here = folder();
    let file = here.path().join("reads.fq");
    let truths = reads(small(), (7, 2000), 100, USUAL, &file);
    let modes = ["end-to-end", "local"];
    for (bowtie_2, mode) in each_bowtie_2().flat_map(|it| modes.map(|mode| (it.clone(), mode))) {
        let found = ours(mode, small(), &file, "");
        let theirs = bowtie_2_of(&bowtie_2, mode, small(), &file, "");
        let compare = |found: &[Record]| compare(mode, &truths, [found, &theirs], mode);
        compare(&found);
        let changed = |how_many: usize, change: fn(&mut Record)| {
            let mut found = found.clone();
            let sure = found.iter_mut().filter(|it| it.is_placed() && it.mapq >= 20);
            sure.take(how_many).for_each(change);
            found
        };
        // Of places and scores a few may differ.
        let cases: [(&str, Vec<Record>); 7] = [
            ("contigs", changed(20, |it| it.contig.push('x'))),
            ("places", changed(20, |it| it.position += 50)),
            ("strands", changed(20, |it| it.flags ^= flag::REVERSE)),
            ("unaligned", changed(20, |it| it.flags |= flag::UNMAPPED)),
            ("scores", changed(5, |it| it.score = it.score.map(|score| score - 1))),
            ("a MAPQ", changed(1, |it| it.mapq += 1)),
            ("a record less", found[1..].to_vec()),
        ];
        for (what, found) in &cases {
            is_seen(what, || compare(found));
        }
    }
}
