//! Units of any size give what a plain count over all records gives.

use super::*;
use crate::test_records::body;
use proptest::prelude::*;
use seqloom_format::bam::edit::{set_mate_position, set_mate_reference_id};
use seqloom_format::bam::{Flags, RecordRef};

/// Records of 20 bases sorted by place: template, reference, position, mate's position.
type Read = (u8, i32, i32, i32);

fn bodies(reads: &[Read]) -> Vec<Vec<u8>> {
    let record = |&(template, reference, position, mate): &Read| {
        let flags = Flags::PAIRED | if template % 3 == 0 { Flags::SUPPLEMENTARY } else { 0 };
        let mut body = body(&name((template, reference)), flags, reference, position, 20);
        set_mate_reference_id(&mut body, reference).unwrap();
        set_mate_position(&mut body, mate).unwrap();
        body
    };
    reads.iter().map(record).collect()
}

/// Only further alignments of a read are on other sequences than its mate.
fn name((template, reference): (u8, i32)) -> String {
    let reference = if template % 3 == 0 { 0 } else { reference };
    format!("t{template}.{reference}")
}

/// As samtools does it: one pass, a map of names.
fn plain(reads: &[Read], lengths: &[u32]) -> DepthSummary {
    let mut depths: Vec<Vec<u32>> = lengths.iter().map(|&it| vec![0; it as usize]).collect();
    let mut open = std::collections::BTreeMap::new();
    for &(template, reference, position, mate) in reads {
        let end = position + 20;
        let name = name((template, reference));
        let clip = open.remove(&name);
        if clip.is_none() && mate <= end {
            open.insert(name, end);
        }
        let from = position.max(clip.unwrap_or(0));
        (from..end).for_each(|at| depths[reference as usize][at as usize] += 1);
    }
    let mut positions = vec![0; 1];
    for &depth in depths.iter().flatten() {
        positions.resize(positions.len().max(depth as usize + 1), 0);
        positions[depth as usize] += 1;
    }
    let reference = |depths: &Vec<u32>| ReferenceDepth {
        sum: depths.iter().copied().map(u64::from).sum(),
        covered: depths.iter().filter(|depth| **depth > 0).count() as u64,
    };
    let references = depths.iter().map(reference).collect();
    DepthSummary { positions, references, lengths: lengths.to_vec() }
}

/// In units, which two workers share.
fn in_units(reads: &[Read], unit: usize, lengths: &[u32]) -> DepthSummary {
    let bodies = bodies(reads);
    let mut workers = [DepthWorker::default(), DepthWorker::default()];
    let mut depth = Depth::default();
    for (number, unit) in bodies.chunks(unit).enumerate() {
        let worker = &mut workers[number % 2];
        unit.iter().for_each(|body| worker.add(&RecordRef::new(body).unwrap(), false));
        depth.commit(&worker.end_unit());
        // What a killed run keeps is all there is to know.
        depth = Depth::from_state(&depth.to_state()).unwrap();
    }
    workers.into_iter().for_each(|worker| depth.merge(&worker.into_depth()));
    depth.finish(lengths)
}

const LENGTHS: [u32; 3] = [20_000, 300, 500];

proptest! {
    #[test]
    fn units_of_any_size_give_the_depth_of_the_whole(
        mut reads in prop::collection::vec(
            (0..12_u8, 0..2_i32, 0..200_i32, 0..260_i32), 0..60),
        unit in 1..20_usize,
    ) {
        reads.iter_mut().for_each(|read| if read.1 == 1 { read.1 = 2; });
        reads.sort_by_key(|read| (read.1, read.2));
        prop_assert_eq!(in_units(&reads, unit, &LENGTHS), plain(&reads, &LENGTHS));
    }
}

#[test]
fn nothing_and_what_is_left_out_have_no_depth() {
    assert_eq!(in_units(&[], 1, &LENGTHS), plain(&[], &LENGTHS));
    let mut worker = DepthWorker::default();
    for flags in [Flags::UNMAPPED, Flags::SECONDARY, Flags::QC_FAIL, Flags::DUPLICATE] {
        worker.add(&RecordRef::new(&body("n", flags, 0, 5, 20)).unwrap(), false);
    }
    let mut depth = Depth::default();
    depth.commit(&worker.end_unit());
    depth.merge(&worker.into_depth());
    let summary = depth.finish(&[100]);
    assert_eq!((summary.mean(), summary.positions), (0.0, vec![100]));
}

#[test]
fn events_that_are_settled_early_are_counted_once() {
    let bodies: Vec<Vec<u8>> =
        (0..700_000).map(|n| body(&format!("r{n}"), 0, 0, n / 40, 20)).collect();
    let (mut worker, mut depth) = (DepthWorker::default(), Depth::default());
    bodies.iter().for_each(|it| worker.add(&RecordRef::new(it).unwrap(), false));
    depth.commit(&worker.end_unit());
    depth.merge(&worker.into_depth());
    let summary = depth.finish(&[20_000]);
    assert_eq!(summary.references, [ReferenceDepth { sum: 14_000_000, covered: 17_519 }]);
    assert_eq!(summary.positions.len(), 801);
    assert_eq!((summary.positions[800], summary.positions[40]), (17_481, 2));
}

#[test]
fn summary_numbers() {
    let summary = DepthSummary {
        positions: vec![20, 10, 40, 30],
        references: vec![ReferenceDepth { sum: 180, covered: 80 }],
        lengths: vec![100],
    };
    assert_eq!(summary.mean(), 1.8);
    assert_eq!(summary.share_at_least(0), 1.0);
    assert_eq!([1, 2, 3, 4].map(|n| summary.share_at_least(n)), [0.8, 0.7, 0.3, 0.0]);
    assert_eq!(summary.fold_80(), Some(180.0 / 80.0 / 2.0));
    assert_eq!(DepthSummary::default().fold_80(), None);
}
