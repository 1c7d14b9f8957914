//! Events along the reference, piece by piece.
//!
//! The HMM would need memory for the whole read at once, so it is computed over some hundred bases,
//! believed for the first fifty events, and checked again from there: nanopolish's way, whose steps
//! decide where each event lands.

use std::ops::RangeInclusive;

use crate::Motif;
use crate::aligned_read::{AlignedBase, AlignedRead, AlignedSignal};
use crate::events::ReadEvents;
use crate::hmm::kmers::{Molecule, lowest_base, push_ranks};
use crate::hmm::score::Levels;
use crate::hmm::viterbi::{self, PathStep, ViterbiScratch};
use crate::hmm::{ScaledLevel, Transitions};
use crate::methylation::groups::closest_event;
use crate::pore_model::PoreModel;

use super::EventRow;

/// Bases of the reference that are aligned at once (nanopolish).
const PIECE_BP: u32 = 100;

/// Events of a piece that are believed, unless it is the last one (nanopolish).
const BELIEVED_EVENTS: usize = 50;

/// Buffers of [`align`], to be kept by the caller.
#[derive(Debug, Default)]
pub(crate) struct WalkScratch {
    reference: Vec<u8>,
    ranks: Vec<u32>,
    levels: Vec<ScaledLevel>,
    path: Vec<PathStep>,
    viterbi: ViterbiScratch,
}

/// Expected sequence of the molecule.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Expected<'a> {
    /// Levels of its k-mers.
    pub(crate) model: &'a PoreModel,
    /// All sites of this motif are methylated. Takes a model of
    /// [`Alphabet::Methylated`](crate::pore_model::Alphabet::Methylated).
    pub(crate) methylated: Option<Motif>,
}

/// Constants of a read.
struct Walk<'a> {
    pairs: &'a [AlignedBase],
    read: &'a AlignedRead<'a>,
    events: &'a ReadEvents,
    kmer_length: usize,
    transitions: Transitions,
}

impl Walk<'_> {
    /// The event closest to a position of the read.
    fn event(&self, position: u32) -> Option<u32> {
        let at = position as usize;
        let kmer = match self.read.is_reverse {
            true => self.read.sequence.len().checked_sub(at + self.kmer_length)?,
            false => at,
        };
        closest_event(&self.events.of_kmer, kmer)
    }

    /// The last pair at or before base `offset` of the reference, sought from pair `from` on.
    fn pair_at(&self, offset: u32, from: usize) -> usize {
        let after = self.pairs[from..].partition_point(|pair| pair.offset <= offset);
        (from + after).saturating_sub(1)
    }
}

/// Place of the walk, and end of the piece that begins there.
#[derive(Debug, Clone, Copy)]
struct Piece {
    /// First base, from the start of the alignment.
    start: u32,
    /// Last base.
    end: u32,
    /// First event, which the piece before has given already.
    first_event: u32,
    last_event: u32,
    is_last: bool,
}

/// Appends the events of a read to `rows`, in the order of the reference. With a `region`
/// (positions of the reference, both ends in it) only aligned bases in it are followed.
pub(crate) fn align(
    scratch: &mut WalkScratch,
    signal: AlignedSignal<'_>,
    expected: Expected<'_>,
    region: Option<RangeInclusive<u64>>,
    rows: &mut Vec<EventRow>,
) {
    let AlignedSignal { read, events } = signal;
    let kmer_length = expected.model.kmer_length;
    let pairs = followed(read, kmer_length, region);
    let (Some(front), Some(back)) = (pairs.first(), pairs.last()) else { return };
    let transitions = Transitions::new(events.events_per_base);
    let walk = Walk { pairs, read, events, kmer_length, transitions };
    let (Some(first), Some(last)) = (walk.event(front.position), walk.event(back.position)) else {
        return;
    };
    scratch.reference.clear();
    scratch.reference.extend(read.reference.iter().copied().map(lowest_base));
    let is_forward = first < last;
    let (mut start, mut event, mut pair) = (front.offset, first, 0);
    while if is_forward { event < last } else { event > last } {
        let Some(piece) = next_piece(&walk, start, event, pair) else { return };
        let given = walk_piece(scratch, &walk, expected, piece, rows);
        let Some(row) = rows.last().filter(|_| given > 0) else { return };
        (start, event) = (row.offset, row.event);
        pair = walk.pair_at(start, pair);
    }
}

/// Aligned bases that are followed: in the region, and up to the read's last k-mer.
fn followed<'a>(
    read: &AlignedRead<'a>,
    kmer_length: usize,
    region: Option<RangeInclusive<u64>>,
) -> &'a [AlignedBase] {
    let mut pairs = read.pairs;
    if let Some(region) = region {
        let at = |pair: &AlignedBase| read.start + u64::from(pair.offset);
        let begin = pairs.partition_point(|pair| at(pair) < *region.start());
        let end = pairs.partition_point(|pair| at(pair) <= *region.end());
        pairs = pairs.get(begin..end).unwrap_or_default();
    }
    let length = read.sequence.len();
    &pairs[..pairs.partition_point(|pair| pair.position as usize + kmer_length <= length)]
}

/// The piece from base `start` and event `first_event` on. None if it is too short to be aligned:
/// after a large deletion there is nothing to go on with.
fn next_piece(walk: &Walk<'_>, start: u32, first_event: u32, pair: usize) -> Option<Piece> {
    let end_pair = walk.pair_at(start.saturating_add(PIECE_BP), pair);
    let AlignedBase { offset: end, position } = walk.pairs[end_pair];
    let length = (end + 1).checked_sub(start)? as usize;
    if length < 2 * walk.kmer_length {
        return None;
    }
    let last_event = walk.event(position)?;
    if first_event.abs_diff(last_event) < 2 {
        return None;
    }
    let is_last = end_pair + 1 == walk.pairs.len();
    Some(Piece { start, end, first_event, last_event, is_last })
}

/// Aligns a piece and appends what is believed. Gives the number of rows.
fn walk_piece(
    scratch: &mut WalkScratch,
    walk: &Walk<'_>,
    Expected { model, methylated }: Expected<'_>,
    piece: Piece,
    rows: &mut Vec<EventRow>,
) -> usize {
    let WalkScratch { reference, ranks, levels, path, viterbi } = scratch;
    let Piece { first_event, last_event, .. } = piece;
    let (start, end) = (piece.start as usize, piece.end as usize);
    // A site that the piece cuts is still a site.
    let margin = methylated.map_or(0, |motif| motif.length() - 1);
    let before = margin.min(start);
    let after = margin.min(reference.len().saturating_sub(end + 1));
    let window = reference.get(start - before..=end + after).unwrap_or_default();
    let molecule = Molecule { is_reverse: walk.read.is_reverse, methylated };
    ranks.clear();
    push_ranks(window, molecule, model.alphabet, model.kmer_length, ranks);
    ranks.truncate(ranks.len().saturating_sub(after));
    ranks.drain(..before.min(ranks.len()));
    let scaling = walk.events.scaling;
    let log_var = scaling.var.ln();
    levels.clear();
    levels.extend(ranks.iter().map(|rank| ScaledLevel::of(model, *rank, &scaling, log_var)));
    let span = first_event.min(last_event) as usize..=first_event.max(last_event) as usize;
    let mean_pa = walk.events.events.mean_pa.get(span).unwrap_or_default();
    let backwards = first_event > last_event;
    path.clear();
    viterbi::align(viterbi, Levels { mean_pa, backwards }, levels, &walk.transitions, path);
    let believed = if piece.is_last { usize::MAX } else { BELIEVED_EVENTS };
    let before = rows.len();
    // The piece before gave the first event; of the read's very first, nanopolish gives none.
    rows.extend(path.iter().filter(|step| step.event > 0).take(believed).map(|step| EventRow {
        offset: piece.start + step.kmer,
        event: if backwards { first_event - step.event } else { first_event + step.event },
        rank: ranks[step.kmer as usize],
        is_bad: step.is_bad,
    }));
    rows.len() - before
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hmm::test_read::MadeRead;
    use crate::pore_model::builtin;

    fn rows(read: &MadeRead, region: Option<RangeInclusive<u64>>) -> Vec<EventRow> {
        let model = builtin::r9_4_1_nucleotide().unwrap();
        let mut rows = Vec::new();
        let scratch = &mut WalkScratch::default();
        let signal = AlignedSignal { read: &read.aligned(), events: &read.events };
        let expected = Expected { model: &model, methylated: None };
        align(scratch, signal, expected, region, &mut rows);
        rows
    }

    #[test]
    fn events_find_their_kmers_on_both_strands() {
        let model = builtin::r9_4_1_nucleotide().unwrap();
        for is_reverse in [false, true] {
            let read = MadeRead::new(&model, Molecule { is_reverse, methylated: None });
            let rows = rows(&read, None);
            let right = rows
                .iter()
                .filter(|row| !row.is_bad && row.offset == read.kmer_of_event[row.event as usize])
                .count();
            assert!(right * 100 >= rows.len() * 95, "{right} of {}", rows.len());
            // All but the first, and those of k-mers at the ends, where the search stops short.
            let all = read.kmer_of_event.len();
            assert!((all - 10..all).contains(&rows.len()), "{} of {all}", rows.len());
            let next = |pair: &[EventRow]| match is_reverse {
                true => pair[1].event + 1 == pair[0].event,
                false => pair[0].event + 1 == pair[1].event,
            };
            assert!(rows.windows(2).all(|pair| next(pair) && pair[0].offset <= pair[1].offset));
        }
    }

    /// Sites are methylated wherever pieces begin and end.
    #[test]
    fn kmers_of_methylated_molecules_have_their_marks() {
        for (motif, site) in
            [(Motif::Cpg, b"CG".as_slice()), (Motif::Dam, b"GATC"), (Motif::Dcm, b"CCTGG")]
        {
            let model = builtin::r9_4_1_methylated(motif).unwrap();
            for is_reverse in [false, true] {
                let molecule = Molecule { is_reverse, methylated: Some(motif) };
                let read = MadeRead::with_sites(&model, molecule, &site.repeat(25 / site.len()));
                let mut truth = Vec::new();
                push_ranks(&read.reference, molecule, model.alphabet, 6, &mut truth);
                let signal = AlignedSignal { read: &read.aligned(), events: &read.events };
                let expected = Expected { model: &model, methylated: Some(motif) };
                let (scratch, mut rows) = (&mut WalkScratch::default(), Vec::new());
                align(scratch, signal, expected, None, &mut rows);
                assert!(rows.len() > 1_000, "{}", rows.len());
                assert!(rows.iter().all(|row| row.rank == truth[row.offset as usize]), "{motif}");
            }
        }
    }

    #[test]
    fn a_region_bounds_the_walk() {
        let model = builtin::r9_4_1_nucleotide().unwrap();
        let molecule = Molecule { is_reverse: false, methylated: None };
        let read = MadeRead::new(&model, molecule);
        let rows = rows(&read, Some(1200..=1400));
        let offsets = rows.iter().map(|row| row.offset);
        assert!(offsets.clone().min().unwrap().abs_diff(200) <= 2);
        assert!(offsets.max().unwrap().abs_diff(400 - 5) <= 2);
        assert_eq!(self::rows(&read, Some(5000..=6000)), []);
        assert_eq!(self::rows(&read, Some(0..=10)), []);
    }
}
