//! SMEMs: maximal exact matches of a read that occur often enough.

use super::SearchIndex;
use super::longest_match::LongestMatch;
use crate::search::lockstep::Search;
use crate::search::rows::Interval;
use crate::search::text::Bases;

/// An SMEM and its suffix array interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Smem {
    /// Its first base in the read, and one past its last.
    pub(crate) bases: [usize; 2],
    pub(crate) rows: Interval,
}

/// Neighbouring k-mers of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kmers {
    /// Of each.
    pub(crate) bases: usize,
    /// Where the first starts, and the last.
    pub(crate) positions: [usize; 2],
}

impl Kmers {
    /// All k-mers of so many bases of a read that is no shorter.
    pub(crate) fn all_of(read: &Bases, bases: usize) -> Self {
        Self { bases, positions: [0, read.len() - bases] }
    }
}

/// The search for all SMEMs that contain one of some [`Kmers`], from the last k-mer to
/// the first. These are no shorter than those of [`KmerTable`](crate::index::KmerTable).
///
/// What begins with a k-mer and reaches furthest ends where an SMEM ends; that one begins
/// as far back as what ends there reaches. The next begins before it.
#[derive(Debug, Clone)]
pub(crate) struct SmemSearch<'a> {
    read: &'a Bases,
    /// The read's number, for the caller.
    pub(crate) number: usize,
    /// How often a match must occur.
    least: u64,
    kmer_bases: usize,
    first: usize,
    /// One past the last k-mer that is not answered for.
    next: usize,
    /// Whether k-mer `next` is known not to occur so often, so that no match reaches over the end
    /// of the one before.
    closed: bool,
    /// Whether a k-mer that is not excluded most likely occurs so often.
    likely: bool,
    state: SmemState,
}

/// What is being searched for.
#[derive(Debug, Clone, Copy)]
enum SmemState {
    /// How far a match with k-mer `next - 1` at its start reaches.
    End,
    /// How far back a match begins that ends here.
    Start(usize),
}

impl<'a> SmemSearch<'a> {
    /// For `kmers` of `read`, whose number is for the caller.
    pub(crate) fn new(
        read: &'a Bases,
        number: usize,
        kmers: Kmers,
        least: u64,
        likely: bool,
    ) -> Self {
        let Kmers { bases: kmer_bases, positions: [first, last] } = kmers;
        let (next, closed) = (last + 1, last + kmer_bases == read.len());
        Self { read, number, least, kmer_bases, first, next, closed, likely, state: SmemState::End }
    }

    /// What is to be searched next; none when all are found. `excluded` says of a k-mer that it
    /// does not occur often enough; of others it is taken that they may.
    pub(super) fn next(&mut self, excluded: impl Fn(usize) -> bool) -> Option<LongestMatch> {
        while !self.is_over() && excluded(self.next - 1) {
            (self.next, self.closed) = (self.next - 1, true);
        }
        if self.is_over() {
            return None;
        }
        let kmer = self.next - 1;
        let end = if self.closed { kmer + self.kmer_bases } else { self.read.len() };
        Some(if self.closed && self.likely {
            self.state = SmemState::Start(end);
            LongestMatch::backwards(end, 0, self.least)
        } else {
            // That it does not occur follows for more k-mers from where it ends.
            self.state = SmemState::End;
            LongestMatch::forwards(kmer, end, self.least)
        })
    }

    /// Takes what was searched for, `found` the match that it is; returns what is to be searched
    /// for the same match, if that is not all.
    pub(super) fn take(
        &mut self,
        longest: LongestMatch,
        search_index: &SearchIndex<'_>,
        found: impl FnOnce(Smem),
    ) -> Option<LongestMatch> {
        match self.state {
            SmemState::End => self.take_end(longest, search_index, found),
            SmemState::Start(end) => {
                self.take_match(Smem { bases: [longest.at(), end], rows: longest.rows() }, found);
                None
            }
        }
    }

    /// Before the first k-mer, a match that reaches over it is one that begins further in
    /// front than the one found last.
    fn is_over(&self) -> bool {
        self.next == 0 || (self.next <= self.first && self.closed)
    }

    /// What begins with k-mer `next - 1` reaches as far as `longest` says.
    fn take_end(
        &mut self,
        longest: LongestMatch,
        search_index: &SearchIndex<'_>,
        found: impl FnOnce(Smem),
    ) -> Option<LongestMatch> {
        let (kmer, end) = (self.next - 1, longest.at());
        if end < kmer.max(self.first) + self.kmer_bases {
            // All k-mers that contain what was too long.
            let in_table = kmer + search_index.kmer_table.kmer_bases();
            let too_long = if end == kmer { in_table } else { end + 1 };
            self.next = too_long.saturating_sub(self.kmer_bases);
            self.closed = true;
        } else if kmer == 0 {
            self.take_match(Smem { bases: [0, end], rows: longest.rows() }, found);
        } else {
            self.state = SmemState::Start(end);
            return Some(longest.back(0, search_index));
        }
        None
    }

    fn take_match(&mut self, reached: Smem, found: impl FnOnce(Smem)) {
        let kmer = self.next - 1;
        if reached.bases[0] > kmer {
            (self.next, self.closed) = (kmer, true);
            return;
        }
        found(reached);
        (self.next, self.closed) = (reached.bases[0], false);
    }
}

/// A search with the list of what it finds.
#[derive(Debug)]
pub(crate) struct CollectedSmems<'a> {
    pub(crate) search: SmemSearch<'a>,
    longest: Option<LongestMatch>,
    pub(crate) found: &'a mut Vec<Smem>,
}

impl<'a> CollectedSmems<'a> {
    /// A search, of which `found` gets what it finds in place of what was there.
    pub(crate) fn new(mut search: SmemSearch<'a>, found: &'a mut Vec<Smem>) -> Self {
        found.clear();
        Self { longest: search.next(|_| false), search, found }
    }
}

impl Search<SearchIndex<'_>> for CollectedSmems<'_> {
    #[inline(always)]
    fn step(&mut self, search_index: &SearchIndex<'_>) -> bool {
        let Self { search, longest: Some(longest), found } = self else { return false };
        if longest.step(search.read, search_index) {
            return true;
        }
        let next = search.take(*longest, search_index, |smem| found.push(smem));
        let next = next.or_else(|| search.next(|_| false));
        self.longest = next;
        next.is_some()
    }
}
