//! What reads say of sites, and when rows are written.

use super::*;
use crate::aligned_read::AlignedBase;
use crate::methylation::GroupCall;
use crate::methylation::frequency::CutoffStyle;
use crate::methylation::sites::push_sites;

const CUTOFF: Cutoff = Cutoff { style: CutoffStyle::Nanopolish, threshold: 2.0 };

/// A read of `bases` (as the record has them) that is aligned base by base, but for the offsets
/// that are deleted; `calls` are offset of the first C, of the last, and ratio.
struct Read<'a> {
    contig: &'a str,
    start: u64,
    is_reverse: bool,
    reference: &'a [u8],
    bases: &'a [u8],
    deleted: &'a [u32],
    calls: &'a [(u64, u64, u32, f64)],
}

fn as_sequenced(bases: &[u8], is_reverse: bool) -> Vec<u8> {
    let pair = |base: &u8| b"TGCA"[b"ACGT".iter().position(|it| it == base).unwrap()];
    if is_reverse { bases.iter().rev().map(pair).collect() } else { bases.to_vec() }
}

fn add(table: &mut BedMethyl, read: &Read<'_>, out: &mut Vec<u8>) -> Vec<(u64, SiteOutcome)> {
    let sequence = as_sequenced(read.bases, read.is_reverse);
    let span = read.reference.len() as u32 - 1;
    let offsets = (0..span).filter(|at| !read.deleted.contains(at));
    let base = |(offset, position)| AlignedBase { offset, position };
    let pairs: Vec<_> = offsets.zip(0..).map(base).collect();
    assert_eq!(pairs.len(), read.bases.len());
    let aligned = AlignedRead {
        name: b"r",
        contig: read.contig.as_bytes(),
        start: read.start,
        is_reverse: read.is_reverse,
        sequence: &sequence,
        reference: read.reference,
        pairs: &pairs,
    };
    let call = |&(first, last, motif_count, ratio): &(u64, u64, u32, f64)| GroupCall {
        first: read.start + first,
        last: read.start + last,
        motif_count,
        log_lik_methylated: ratio,
        log_lik_unmethylated: 0.0,
        context_start: 0,
        context_end: 0,
    };
    let calls: Vec<GroupCall> = read.calls.iter().map(call).collect();
    let (mut sites, mut outcomes) = (Vec::new(), Vec::new());
    push_sites(Motif::Cpg, &aligned, &calls, &mut sites);
    push_outcomes(Motif::Cpg, &aligned, &sites, &CUTOFF, &mut outcomes);
    table.add(&aligned, &outcomes, out);
    outcomes
}

#[test]
fn a_read_says_something_of_every_site_under_it() {
    use SiteOutcome::{Canonical, Deleted, Different, Failed, Modified, NotCalled};
    let read = Read {
        contig: "c",
        start: 100,
        is_reverse: false,
        reference: b"CGACGACGACGACGACGT",
        bases: b"CGACGACGAGATGACG",
        deleted: &[9],
        calls: &[(0, 0, 1, 2.0), (3, 3, 1, -3.0), (6, 12, 3, 5.9)],
    };
    let t = |read: &Read<'_>, expected: &[(u64, SiteOutcome)]| {
        assert_eq!(add(&mut BedMethyl::default(), read, &mut Vec::new()), expected);
    };
    let forward = [
        (100, Modified),
        (103, Canonical),
        (106, Failed),
        (109, Deleted),
        (112, Different),
        (115, NotCalled),
    ];
    t(&read, &forward);
    // On the other strand the C is one further: 109 is still the first of its site, but not its C.
    let reverse = Read { is_reverse: true, ..read };
    let reverse = Read { deleted: &[10], bases: b"CGACGACGACACAACG", ..reverse };
    let expected = [
        (101, Modified),
        (104, Canonical),
        (107, Failed),
        (110, Deleted),
        (113, Different),
        (116, NotCalled),
    ];
    t(&reverse, &expected);
    // The G after the last aligned base belongs to a site of the forward strand only.
    let read = Read { reference: b"ACG", bases: b"AC", deleted: &[], calls: &[], ..read };
    t(&read, &[(101, NotCalled)]);
    t(&Read { is_reverse: true, bases: b"AC", ..read }, &[]);
    let nothing = AlignedRead {
        name: b"",
        contig: b"",
        start: 0,
        is_reverse: false,
        sequence: b"",
        reference: b"CG",
        pairs: &[],
    };
    let mut outcomes = Vec::new();
    push_outcomes(Motif::Cpg, &nothing, &[], &CUTOFF, &mut outcomes);
    assert_eq!(outcomes, []);
}

#[test]
fn rows_are_written_once_no_read_can_reach_them() {
    let mut table = BedMethyl::default();
    let read = Read {
        contig: "b",
        start: 10,
        is_reverse: false,
        reference: b"ACGACGA",
        bases: b"ACGACG",
        deleted: &[],
        calls: &[(1, 1, 1, 3.0)],
    };
    let mut out = Vec::new();
    let mut step = |read: &Read<'_>| {
        out.clear();
        add(&mut table, read, &mut out);
        String::from_utf8(out.clone()).unwrap()
    };
    assert_eq!(step(&read), "");
    assert_eq!(step(&Read { calls: &[(1, 1, 1, -3.0), (4, 4, 1, 0.5)], ..read }), "");
    assert_eq!(step(&Read { is_reverse: true, calls: &[(1, 1, 1, 9.0)], ..read }), "");
    let forward = "b\t11\t12\tm\t2\t+\t11\t12\t255,0,0\t2\t50.00\t1\t1\t0\t0\t0\t0\t0\n";
    let reverse = "b\t12\t13\tm\t1\t-\t12\t13\t255,0,0\t1\t100.00\t1\t0\t0\t0\t0\t0\t0\n";
    assert_eq!(step(&Read { start: 12, calls: &[(1, 1, 1, 0.0)], ..read }), forward);
    // Another sequence: all rows of the one before, with the site where no call passed, and without
    // those where none was made.
    let failed =
        |at: u64, row: &str| format!("b\t{at}\t{}\tm\t0\t+\t{at}\t{}{row}", at + 1, at + 1);
    let rest = [
        reverse.to_owned(),
        failed(13, "\t255,0,0\t0\t0.00\t0\t0\t0\t0\t1\t0\t0\n"),
        failed(14, "\t255,0,0\t0\t0.00\t0\t0\t0\t0\t1\t0\t1\n"),
    ];
    assert_eq!(step(&Read { contig: "a", start: 0, ..read }), rest.concat());
    out.clear();
    table.finish(&mut out);
    assert!(out.starts_with(b"a\t1\t2\tm\t1\t+"));
    out.clear();
    table.finish(&mut out);
    assert_eq!(out, b"");
}
