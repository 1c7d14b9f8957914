//! Parts of an input, cut by themselves, are what the whole input is cut into.

use super::*;
use crate::cohort::{Batch, CohortRange, Cut, Pairing};
use crate::test_input::{TestInput, TestRead};
use proptest::prelude::*;
use seqloom_io::reads::{FilePosition, FileStart, RestartPoint, SourceOptions};

/// All that is known of a batch, with the names of its reads.
fn seen(batch: &Batch) -> String {
    let names: Vec<String> = batch
        .templates()
        .flat_map(|(one, two)| [Some(one), two])
        .flatten()
        .map(|(block, i)| String::from_utf8_lossy(block.name(i)).into_owned())
        .collect();
    let Batch { sequence, cohort, index_in_cohort, first_read, first_template, .. } = batch;
    let (before, shape) = ((batch.pairs_before, batch.singles_before), &batch.shape);
    format!(
        "{sequence} {cohort} {index_in_cohort} {first_read} {first_template} {before:?} {shape:?} \
         {names:?}"
    )
}

/// What a source is cut into.
fn cut(source: &ReadSource, rules: CutRules<'_>, range: CohortRange) -> (Vec<String>, CutTotals) {
    let mut cutter = CohortCutter::new(source, rules.pairing, rules.cohort_bases).within(range);
    let (mut scratch, mut found) = (FetchScratch::default(), Vec::new());
    while let Fetch::Block(block) = source.fetch(&mut scratch).unwrap() {
        cutter
            .push(*block, |cut| {
                found.push(match cut {
                    Cut::Batch(batch) => seen(&batch),
                    Cut::Closed(closed) => format!("{closed:?}"),
                });
            })
            .unwrap();
    }
    assert!(cutter.finished());
    (found, cutter.totals())
}

fn bgzf(text: &[u8]) -> Vec<u8> {
    let mut compressor = seqloom_format::bgzf::BlockCompressor::new(1).unwrap();
    let mut out = Vec::new();
    for piece in text.chunks(1700) {
        compressor.compress(piece, &mut out).unwrap();
    }
    out.extend_from_slice(&seqloom_format::bgzf::EOF_BLOCK);
    out
}

fn gzip(text: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut out = Vec::new();
    for piece in text.chunks(40_000) {
        let level = flate2::Compression::fast();
        let mut member = flate2::write::GzEncoder::new(Vec::new(), level);
        member.write_all(piece).unwrap();
        out.extend(member.finish().unwrap());
    }
    out
}

/// Writes a file anew in another form.
fn rewrite(path: &std::path::Path, form: Form) {
    let text = std::fs::read(path).unwrap();
    let bytes = match form {
        Form::Plain => text,
        Form::Bgzf => bgzf(&text),
        Form::Gzip => gzip(&text),
        Form::Mixed => {
            let (first, rest) = text.split_at(text.len() / 3);
            let (second, third) = rest.split_at(rest.len() / 2);
            [bgzf(first), gzip(second), bgzf(third)].concat()
        }
        Form::Wrapped => {
            // Sequences and qualities, each second line.
            let fold = |(number, line): (usize, &[u8])| match number % 2 {
                0 => line.to_vec(),
                _ => line.chunks(7).collect::<Vec<_>>().join(&b'\n'),
            };
            let lines = text.split(|&byte| byte == b'\n').enumerate().map(fold);
            lines.collect::<Vec<_>>().join(&b'\n')
        }
    };
    std::fs::write(path, bytes).unwrap();
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Plain,
    Bgzf,
    Gzip,
    /// BGZF, gzip and BGZF.
    Mixed,
    Wrapped,
}

/// Reads of one or two files.
fn files(lengths: &[usize], pairing: Pairing) -> Vec<Vec<TestRead>> {
    match pairing {
        Pairing::TwoFiles => {
            let read = |shift: usize| {
                let bases = move |&length: &usize| 1 + (length + shift) % 40;
                let named = move |(i, length)| (format!("r{i:05}"), bases(length));
                lengths.iter().enumerate().map(named).collect()
            };
            vec![read(0), read(17)]
        }
        _ => {
            let name = |i: usize, length: usize| format!("r{:05}", i / (1 + length % 3).min(2));
            let read = |(i, &length): (usize, &usize)| (name(i, length), 1 + length % 40);
            vec![lengths.iter().enumerate().map(read).collect()]
        }
    }
}

/// Gives names the numbers of mates, .1 and .2.
fn number(files: &mut [Vec<TestRead>]) {
    let are_two = files.len() == 2;
    for (file, reads) in files.iter_mut().enumerate() {
        let mut before = String::new();
        for (name, _) in reads {
            let is_second = if are_two { file == 1 } else { *name == before };
            // The third of a name is the first of the next pair.
            before = if is_second { String::new() } else { name.clone() };
            *name += if is_second { ".2" } else { ".1" };
        }
    }
}

/// Every part of the input, from each cohort on, is that part of the whole.
fn check(lengths: &[usize], rules: CutRules<'_>, form: Form, block_bytes: usize, cohorts: u64) {
    let mut reads = files(lengths, rules.pairing);
    if lengths.len().is_multiple_of(2) {
        number(&mut reads);
    }
    let reads: Vec<&[TestRead]> = reads.iter().map(Vec::as_slice).collect();
    let input = TestInput::new(&reads, block_bytes);
    input.paths.iter().for_each(|path| rewrite(path, form));
    let options = |restart_every_bytes| SourceOptions {
        block_bytes,
        restart_every_bytes,
        ..SourceOptions::default()
    };
    let open = |starts: &[FileStart], every| {
        ReadSource::open_at(&input.paths, options(every), starts).unwrap()
    };
    let whole = cut(&open(&[], None), rules, CohortRange::default());
    let threads = NonZeroUsize::new(3).unwrap();
    let source = open(&[], Some(3_000));
    let scanned = scan(&source, Vec::new(), rules, threads, &|_| Ok(())).unwrap();
    let points: Vec<_> =
        (0..input.paths.len()).map(|lane| source.take_restart_points(lane)).collect();
    // From the last restart point before a place, where there is one.
    let start_of = |(place, points): (&FilePosition, &Vec<RestartPoint>)| {
        let restart = points.iter().rev().find(|point| point.text() <= place.text).cloned();
        let place = restart.as_ref().map_or(*place, |point| place.reached_from(point));
        FileStart { place, restart }
    };
    let CutTotals { reads, templates } = whole.1;
    assert_eq!((scanned.reads, scanned.templates), (reads, templates));
    let (mut parts, mut totals) = (Vec::new(), CutTotals::default());
    for start in scanned.starts.iter().step_by(cohorts as usize) {
        let range = CohortRange { start: start.clone(), cohorts: Some(cohorts) };
        let starts: Vec<_> = start.places.iter().zip(&points).map(start_of).collect();
        let is_last = start.cohort + cohorts >= scanned.starts.len() as u64;
        let range = if is_last { CohortRange { cohorts: None, ..range } } else { range };
        let (part, of_part) = cut(&open(&starts, None), rules, range);
        parts.extend(part);
        totals.reads += of_part.reads;
        totals.templates += of_part.templates;
    }
    assert_eq!((parts, totals), whole, "{form:?} {rules:?} {block_bytes} {cohorts}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn a_part_is_that_part_of_the_whole(
        lengths in prop::collection::vec(0..1000_usize, 1..900),
        pairing in prop::sample::select(vec![
            Pairing::Single, Pairing::TwoFiles, Pairing::Adjacent,
        ]),
        form in prop::sample::select(vec![
            Form::Plain, Form::Bgzf, Form::Gzip, Form::Mixed, Form::Wrapped,
        ]),
        cohort_bases in 1_u64..9000,
        block_bytes in 200_usize..9000,
        cohorts in 1_u64..5,
    ) {
        let rules = CutRules { pairing, cohort_bases, umi: None };
        check(&lengths, rules, form, block_bytes, cohorts);
    }
}

#[test]
fn an_empty_input_has_no_cohort() {
    let input = TestInput::new(&[&[]], 1000);
    let one = NonZeroUsize::MIN;
    let scanned = scan(
        &input.source,
        Vec::new(),
        CutRules { pairing: Pairing::Single, cohort_bases: 10, umi: None },
        one,
        &|_| Ok(()),
    );
    assert_eq!(scanned.unwrap(), Scanned::default());
}
