//! What the comparisons with Bowtie 2 see.

use crate::by_score::{Record, USUAL, bowtie_2_s, compare, ours, reads};
use crate::common::{folder, has};
use crate::data::small;
use seqloom_testkit::planted::is_seen;
use seqloom_testkit::sam::flag;

/// A comparison that never fails may be blind.
#[test]
fn changed_places_scores_and_mapqs_are_seen_beside_bowtie_2() {
    if !has("bowtie2") {
        return;
    }
    let here = folder();
    let file = here.path().join("reads.fq");
    let truths = reads(small(), (7, 2000), 100, USUAL, &file);
    for mode in ["end-to-end", "local"] {
        let found = ours(mode, small(), &file, "");
        let theirs = bowtie_2_s(mode, small(), &file, "");
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
