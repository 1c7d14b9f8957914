//! The bound against the kernel: no alignment over a known diagonal is worth more.

use proptest::prelude::*;

use super::super::distinct::walk;
use super::super::kernel::{LANES, MARGIN};
use super::super::traceback::{Problem, TracebackMatrix};
use super::*;
use crate::options::Strands;
use crate::query::Query;
use seqloom_align::index::Sequence;
use seqloom_align::search::Genome;

/// Bases of the genome before the read, and after it.
const FLANK: usize = 70;

/// A genome, and a read off its middle with changes: a base, some left out, some put in.
fn genomes() -> impl Strategy<Value = (Vec<u8>, Vec<u8>)> {
    let change = (any::<prop::sample::Index>(), 0_u8..8, 1_usize..20, 0_u8..5);
    let changes = proptest::collection::vec(change, 0..9);
    let genome = proptest::collection::vec(0_u8..4, 2 * FLANK + 20..2 * FLANK + 200);
    (genome, changes).prop_map(|(genome, changes)| {
        let mut read = genome[FLANK..genome.len() - FLANK].to_vec();
        for (at, kind, count, code) in changes {
            let at = at.index(read.len());
            let count = count.min(read.len() - at);
            match kind {
                0 if read.len() > count + 1 => drop(read.drain(at..at + count)),
                1 => drop(read.splice(at..at, std::iter::repeat_n(code % 4, count))),
                _ => read[at] = code,
            }
        }
        read.truncate(genome.len() - 2 * FLANK);
        (genome, read)
    })
}

fn ascii(codes: &[u8]) -> Vec<u8> {
    codes.iter().map(|&code| b"ACGTN"[usize::from(code)]).collect()
}

/// Bases, four a byte.
fn packed(codes: &[u8]) -> Vec<u8> {
    let byte = |four: &[u8]| (0..4).fold(0, |b, at| b << 2 | four.get(at).copied().unwrap_or(0));
    codes.chunks(4).map(byte).collect()
}

proptest! {
    #[test]
    fn no_alignment_over_a_diagonal_is_worth_more(
        (genome, read) in genomes(),
        is_local in any::<bool>(),
        numbers in (1_i16..6, 0_i16..9, 0_i16..9, 0_i16..3),
        gaps in [0_i16..9, 0_i16..5, 0_i16..9, 0_i16..5],
        barrier in 1_u16..6,
        shift in 0_i64..20,
        (below, seed) in (0_i32..30, any::<u64>()),
    ) {
        let (bonus, most, least, unknown) = numbers;
        let [a, b, c, d] = gaps;
        let scoring = Scoring::of(is_local, [bonus, most, least, unknown, a, b, c, d], barrier);
        let qualities: Vec<u8> =
            (0..read.len()).map(|at| b'!' + (seed >> (at % 58)) as u8 % 42).collect();
        let mut query = Query::default();
        query.take(&ascii(&read), Some(&qualities));
        let mut penalties = Vec::new();
        scoring.penalties(&query, &mut penalties);
        let minimum = i32::MIN / 4;
        let (query, penalties) = (&query, &penalties[..]);
        let scored = ScoredRead { query, penalties, scoring: &scoring, minimum };

        let bytes = packed(&genome);
        let bases = genome.len() as u64;
        let sequences = [Sequence { start: 0, end: bases, is_alt: false }];
        let genome = Genome { packed: &bytes, bases };
        let reference =
            Reference { genome, sequences: &sequences, holes: &[], strands: Strands::Both };
        let segment = reference.segment_of(0, false).unwrap();
        let starts = [FLANK as i64, FLANK as i64 + shift];
        let diagonals = starts.map(|start| {
            Diagonal { start, segment, covered: 0, is_rare: false, ungapped: None }
        });
        let middle = (starts[0] + starts[1]) / 2;
        let (mut window, mut table, mut ops) = (Vec::new(), TracebackMatrix::default(), Vec::new());
        let from = middle - MARGIN as i64;
        reference.codes(segment, from, read.len() + 2 * MARGIN + 1, &mut window);
        let problem = Problem {
            codes: query.codes(),
            penalties,
            window: &window,
            scoring: &scoring,
            gaps_late: seed % 2 == 0,
        };
        let traced = problem.trace(&mut table, &mut ops);
        let mut path = Vec::new();
        walk(from + traced.start as i64, &ops, &mut path);

        let mut pieces = Pieces::default();
        let band = middle - LANES as i64 + 1..=middle + LANES as i64;
        // What was there before leaves nothing.
        for needed in [traced.score, traced.score - below] {
            pieces.take(scored);
            let bound = pieces.bound(scored, &reference, &diagonals, (band.clone(), needed));
            if starts.iter().any(|start| path.contains(start)) {
                prop_assert!(bound.is_none_or(|bound| bound >= traced.score), "{bound:?}, {ops:?}");
            }
        }
    }

    #[test]
    fn pieces_are_counted_and_compared_one_by_one(one in any::<u64>(), other in any::<u64>()) {
        let [one, other] = [one, other].map(|it| it & 0xAAAA_AAAA_AAAA_AAAA);
        let pieces = |word: u64| [48, 32, 16, 0].map(|at| word >> at & 0xFFFF);
        let expected = [one, other].map(|it| pieces(it).map(|bits| u64::from(bits.count_ones())));
        prop_assert_eq!([one, other].map(|it| pieces(counts(it))), expected);
        let lesser = pieces(lesser(counts(one), counts(other)));
        let expected: Vec<u64> =
            expected[0].iter().zip(expected[1]).map(|(&one, other)| one.min(other)).collect();
        prop_assert_eq!(&lesser[..], &expected[..]);
    }
}
