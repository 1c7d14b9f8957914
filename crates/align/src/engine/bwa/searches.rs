//! The seeds and chains of reads of which nothing is known, by our own search.
//!
//! A match has no other base than A, C, G and T, so that a read is searched in the pieces between
//! others, each as if it were a read. All pieces of a batch are searched in turn: round 1, which is
//! all SMEMs, then rounds 2 and 3. Rows of the suffix array are looked up, and chains made, by
//! `chain::occurrences`, for some reads at a time, so that memory is bounded but for that of one
//! read.

use std::ops::Range;

use super::chain::occurrences::{ChainLimits, Occurrences, SeededRead};
use super::chain::{Chains, ReadChains};
use super::seed::{CollectedSmems, Kmers, SearchIndex, SeedInterval, SeedSearch, Smem, SmemSearch};
use super::settings::SeedOptions;
use crate::index::{CODE, IndexView};
use crate::search::lockstep;
use crate::search::rows::Rows;
use crate::search::text::Bases;

/// A piece of a read without other letters.
#[derive(Debug, Default)]
struct Piece {
    bases: Bases,
    /// Where it begins in the read.
    offset: usize,
}

/// A read that is searched for.
#[derive(Debug, Clone)]
struct Searched {
    /// The read's number in the batch.
    number: usize,
    length: usize,
    pieces: Range<usize>,
    /// Its seeds, in bwa's order.
    seeds: Range<usize>,
}

/// Working memory of one worker, and what it found for a batch.
#[derive(Debug, Default)]
pub(super) struct Searches {
    reads: Vec<Searched>,
    /// The first so many pieces are of these reads.
    piece_count: usize,
    pieces: Vec<Piece>,
    /// Of each piece.
    smems: Vec<Vec<Smem>>,
    /// Of all pieces, each with its piece's number; in order.
    all_smems: Vec<(usize, Smem)>,
    /// Of each piece.
    found: Vec<Vec<SeedInterval>>,
    /// Of all reads.
    seeds: Vec<SeedInterval>,
    occurrences: Occurrences,
    /// Of the reads that were chained last.
    chains: Chains,
    active: Vec<usize>,
    /// The first read that is not chained yet.
    next: usize,
}

impl Searches {
    /// Begins a batch.
    pub(super) fn clear(&mut self) {
        self.reads.clear();
        self.seeds.clear();
        self.all_smems.clear();
        (self.piece_count, self.next) = (0, 0);
    }

    /// Takes read `number` of the batch, if it is long enough to have a seed of `least_bases`.
    pub(super) fn add(&mut self, number: usize, letters: &[u8], least_bases: usize) {
        let first = self.piece_count;
        let mut offset = 0;
        for piece in letters.split(|&letter| CODE[usize::from(letter)] > 3) {
            if piece.len() >= least_bases {
                self.add_piece(offset, piece);
            }
            offset += piece.len() + 1;
        }
        if self.piece_count > first {
            let pieces = first..self.piece_count;
            self.reads.push(Searched { number, length: letters.len(), pieces, seeds: 0..0 });
        }
    }

    fn add_piece(&mut self, offset: usize, letters: &[u8]) {
        if self.pieces.len() == self.piece_count {
            self.pieces.push(Piece::default());
        }
        let piece = &mut self.pieces[self.piece_count];
        piece.offset = offset;
        piece.bases.take_read(letters);
        self.piece_count += 1;
    }

    /// Finds the seeds of all reads that were added.
    pub(super) fn find(&mut self, options: SeedOptions, search_index: &SearchIndex<'_>) {
        self.find_smems(options, search_index);
        self.find_seeds(options, search_index);
        let Self { reads, pieces, found, seeds, .. } = self;
        for read in reads {
            let start = seeds.len();
            for at in read.pieces.clone() {
                let offset = pieces[at].offset;
                let in_read = |seed: &SeedInterval| SeedInterval {
                    bases: seed.bases.map(|b| b + offset),
                    ..*seed
                };
                seeds.extend(found[at].iter().map(in_read));
            }
            read.seeds = start..seeds.len();
            // Equal keys have equal rows.
            seeds[read.seeds.clone()].sort_unstable_by_key(|seed| seed.bases);
        }
    }

    /// Finds all SMEMs.
    fn find_smems(&mut self, options: SeedOptions, search_index: &SearchIndex<'_>) {
        let Self { pieces, smems, all_smems, active, .. } = self;
        let pieces = &pieces[..self.piece_count];
        if smems.len() < pieces.len() {
            smems.resize_with(pieces.len(), Vec::new);
        }
        let search = |((number, piece), found)| {
            let (piece, found): (&Piece, &mut Vec<Smem>) = (piece, found);
            let kmers = Kmers::all_of(&piece.bases, options.least_bases);
            let search = SmemSearch::new(&piece.bases, number, kmers, 1, false);
            CollectedSmems::new(search, found)
        };
        let mut searches: Vec<_> =
            pieces.iter().enumerate().zip(smems.iter_mut()).map(search).collect();
        lockstep::run(&mut searches, search_index, active);
        for CollectedSmems { search, found, .. } in &searches {
            all_smems.extend(found.iter().map(|&found| (search.number, found)));
        }
    }

    /// From these, finds the seeds of each piece.
    fn find_seeds(&mut self, options: SeedOptions, search_index: &SearchIndex<'_>) {
        let Self { pieces, all_smems, found, active, .. } = self;
        let pieces = &pieces[..self.piece_count];
        if found.len() < pieces.len() {
            found.resize_with(pieces.len(), Vec::new);
        }
        let mut first = 0;
        let search = |((number, piece), seeds)| {
            let (piece, seeds): (&Piece, &mut Vec<SeedInterval>) = (piece, seeds);
            let count = all_smems[first..].partition_point(|&(of, _)| of == number);
            let smems = &all_smems[first..first + count];
            first += count;
            SeedSearch::new(&piece.bases, options, None, smems, seeds)
        };
        let mut searches: Vec<_> =
            pieces.iter().enumerate().zip(found.iter_mut()).map(search).collect();
        lockstep::run(&mut searches, search_index, active);
    }

    /// Makes the chains of the next reads, as many as have their rows looked up together, next to
    /// those that were `looked_up` before; at least of one. None when there is no read left.
    pub(super) fn chain_some(
        &mut self,
        index: IndexView<'_>,
        rows: &Rows<'_>,
        limits: ChainLimits,
        looked_up: u64,
    ) -> Option<impl Iterator<Item = (usize, ReadChains<'_>)>> {
        let Self { reads, seeds, occurrences, chains, active, next, .. } = self;
        let first = *next;
        occurrences.clear();
        for read in &reads[first..] {
            let seeds = &seeds[read.seeds.clone()];
            let together = looked_up + occurrences.rows() + limits.rows_of(seeds);
            if *next > first && together > Occurrences::MOST_TOGETHER {
                break;
            }
            occurrences.add_all(seeds, limits);
            *next += 1;
        }
        let some = &reads[first..*next];
        if some.is_empty() {
            return None;
        }
        occurrences.find(rows, active);
        chains.clear(Occurrences::MOST_TOGETHER as usize);
        let mut row = 0;
        for read in some {
            let seeds = &seeds[read.seeds.clone()];
            let read = SeededRead { seeds, length: read.length, position: 0 };
            occurrences.chain(&mut row, read, index, limits, chains);
        }
        Some(some.iter().map(|read| read.number).zip(chains.reads()))
    }
}
