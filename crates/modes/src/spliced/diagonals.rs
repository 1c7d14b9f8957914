//! The diagonals on which seeds of a read are, those that known introns lead to from there, and
//! which of them are near enough to each other for one alignment.

use std::ops::Range;

use super::join::{DiagonalCosts, SCALE};
use super::sites::{Site, Sites};
use crate::by_score::diagonals;
use crate::by_score::score::MOST_PENALTY;
use crate::by_score::seeds::Hit;
use crate::query::{LONGEST_READ, Query, UNKNOWN};
use crate::reference::{Reference, Segment, WALL};

/// Most diagonals of one cluster that seeds are on, and most with those that introns lead to.
const MOST_OF_SEEDS: usize = 16;
const MOST: usize = 32;
/// Most introns that are tried from one diagonal, of those that begin or end under the read.
const MOST_SITES: usize = 32;
/// Bases after an intron that are looked at, and most of them that differ, for it to be tried.
const LOOKED_AT: usize = 8;
const MOST_DIFFERENT: u32 = 1;
/// What it costs to be outside of a sequence, by base: more than to be clipped.
const WALL_COST: i32 = 1000;
// A whole read there, and what no score is as low as, fit the numbers of `join` together.
const _: () = assert!(WALL_COST * SCALE * LONGEST_READ as i32 <= i32::MAX / 2);
const _: () = assert!(WALL_COST > MOST_PENALTY as i32);

/// Bases of a whole read that differ, where all of it is on known bases of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mismatches(pub(super) u32);

/// A place of the read's first base, on which seeds are.
pub(super) type Diagonal = diagonals::Diagonal<Mismatches>;

/// A read with what its bases cost.
#[derive(Clone, Copy)]
pub(super) struct PricedRead<'a> {
    pub(super) query: &'a Query,
    /// Of a mismatch, by base.
    pub(super) penalties: &'a [i16],
    /// Of a base that is not known in the reference.
    pub(super) unknown: i16,
}

impl PricedRead<'_> {
    /// Lists the diagonals of hits, which come by place.
    pub(super) fn diagonals(
        &self,
        reference: &Reference<'_>,
        hits: &[Hit],
        out: &mut Vec<Diagonal>,
    ) {
        let ungapped = |segment: Segment, start: i64| {
            let end = start + self.query.len() as i64;
            let is_plain =
                start >= segment.start && end <= segment.end && !reference.has_hole(start, end);
            let differences = || self.query.all_differences(reference.genome, start as u64);
            is_plain.then(|| Mismatches(differences().count()))
        };
        diagonals::list(reference, hits, self.query.len(), ungapped, out);
    }

    /// Fills a lane with what the read costs on a diagonal.
    fn price(
        &self,
        reference: &Reference<'_>,
        (segment, start): (Segment, i64),
        codes: &mut Vec<u8>,
        lane: &mut DiagonalCosts,
    ) {
        reference.codes(segment, start, self.query.len(), codes);
        lane.start = start;
        lane.costs.clear();
        let bases = self.query.codes().iter().zip(self.penalties);
        lane.costs.extend(codes.iter().zip(bases).map(|(&code, (&base, &penalty))| match code {
            WALL => WALL_COST * SCALE,
            UNKNOWN => i32::from(self.unknown) * SCALE,
            _ if code == base => 0,
            _ => i32::from(penalty) * SCALE,
        }));
    }
}

/// Diagonals of a read that one alignment may go over.
#[derive(Debug, Default)]
pub(super) struct Cluster {
    lanes: Vec<DiagonalCosts>,
    count: usize,
    codes: Vec<u8>,
    order: Vec<usize>,
}

impl Cluster {
    /// The lanes at hand.
    pub(super) fn lanes(&self) -> &[DiagonalCosts] {
        &self.lanes[..self.count]
    }

    /// Takes diagonals in place of what was here, and those that introns lead to from them.
    pub(super) fn take(
        &mut self,
        read: PricedRead<'_>,
        reference: &Reference<'_>,
        diagonals: &[Diagonal],
        sites: &Sites,
    ) {
        self.count = 0;
        let Some(first) = diagonals.first() else { return };
        let segment = first.segment;
        self.order.clear();
        self.order.extend(0..diagonals.len());
        if diagonals.len() > MOST_OF_SEEDS {
            let key = |&at: &usize| (std::cmp::Reverse(diagonals[at].covered), at);
            self.order.sort_unstable_by_key(key);
            self.order.truncate(MOST_OF_SEEDS);
            self.order.sort_unstable();
        }
        for at in 0..self.order.len() {
            self.add(read, reference, (segment, diagonals[self.order[at]].start));
        }
        if !sites.is_empty() {
            self.add_sites(read, reference, segment, sites);
        }
    }

    /// Adds a diagonal.
    pub(super) fn add(
        &mut self,
        read: PricedRead<'_>,
        reference: &Reference<'_>,
        at: (Segment, i64),
    ) {
        if self.lanes.len() == self.count {
            self.lanes.push(DiagonalCosts::default());
        }
        read.price(reference, at, &mut self.codes, &mut self.lanes[self.count]);
        self.count += 1;
    }

    /// Adds the diagonals that known introns lead to from those here, and from these in turn.
    fn add_sites(
        &mut self,
        read: PricedRead<'_>,
        reference: &Reference<'_>,
        segment: Segment,
        sites: &Sites,
    ) {
        let length = read.query.len();
        let mut number = 0;
        while number < self.count && self.count < MOST {
            let start = self.lanes[number].start;
            let under = start + 1..start + length as i64;
            for site in sites.with_left(under.clone()).iter().take(MOST_SITES) {
                let cut = (site.left - start) as usize;
                let end = (cut + LOOKED_AT).min(length);
                self.try_site(
                    read,
                    reference,
                    (segment, site),
                    (start + site.right - site.left, cut..end),
                );
            }
            for site in sites.with_right(under).iter().take(MOST_SITES) {
                let cut = (site.right - start) as usize;
                let from = cut.saturating_sub(LOOKED_AT);
                self.try_site(
                    read,
                    reference,
                    (segment, site),
                    (start + site.left - site.right, from..cut),
                );
            }
            number += 1;
        }
    }

    /// Adds the diagonal that an intron leads to, if the read's bases next to it may be there.
    fn try_site(
        &mut self,
        read: PricedRead<'_>,
        reference: &Reference<'_>,
        (segment, site): (Segment, &Site),
        (start, near): (i64, Range<usize>),
    ) {
        let is_inside = site.left > segment.start && site.right < segment.end;
        let is_there = || self.lanes().iter().any(|lane| lane.start == start);
        if self.count >= MOST || !is_inside || is_there() {
            return;
        }
        let (first, end) = (start + near.start as i64, start + near.end as i64);
        if first < segment.start || end > segment.end {
            return;
        }
        let word = reference.genome.word(first as u64, near.len());
        let own = read.query.codes()[near.clone()]
            .iter()
            .fold(0, |n: u64, &code| n << 2 | u64::from(code & 3));
        let either = word >> (64 - 2 * near.len()) ^ own;
        let different = ((either | either >> 1) & 0x5555_5555_5555_5555).count_ones();
        if different <= MOST_DIFFERENT {
            self.add(read, reference, (segment, start));
        }
    }
}

/// Diagonals that may be in one alignment are next to each other: those from `first` on, where
/// introns have at most so many bases.
pub(super) fn cluster_end(diagonals: &[Diagonal], first: usize, most: i64) -> usize {
    let mut end = first + 1;
    while diagonals.get(end).is_some_and(|it| {
        let before = &diagonals[end - 1];
        it.segment == before.segment && it.start - before.start <= most
    }) {
        end += 1;
    }
    end
}

#[cfg(test)]
mod tests {
    use super::super::sites::Intron;
    use super::*;
    use crate::chance::hash;
    use crate::options::Strands;
    use seqloom_align::index::Sequence;
    use seqloom_align::search::Genome;

    const BASES: usize = 800;

    fn codes() -> Vec<u8> {
        (0..BASES).map(|at| hash(3, at as u64) as u8 % 4).collect()
    }

    /// What `look` sees of two sequences of 400 bases each, with a hole in the second one.
    fn with_reference(look: impl FnOnce(&Reference<'_>, &[u8])) {
        let codes = codes();
        let byte = |four: &[u8]| four.iter().fold(0, |byte, &code| byte << 2 | code);
        let packed: Vec<u8> = codes.chunks(4).map(byte).chain([0; 16]).collect();
        let genome = Genome { packed: &packed, bases: BASES as u64 };
        let sequences =
            [[0, 400], [400, 800]].map(|[start, end]| Sequence { start, end, is_alt: false });
        let holes = [500..520, 760..761];
        let strands = Strands::Both;
        look(&Reference { genome, sequences: &sequences, holes: &holes, strands }, &codes);
    }

    fn query(codes: &[u8]) -> Query {
        let letters: Vec<u8> = codes.iter().map(|&code| b"ACGT"[usize::from(code)]).collect();
        let mut query = Query::default();
        query.take(&letters, None);
        query
    }

    fn hit(start: i64, from: u16, end: u16) -> Hit {
        Hit { query: 0, start, from, end, is_rare: false }
    }

    #[test]
    fn hits_of_one_diagonal_are_one_and_mismatches_are_counted_where_all_is_known() {
        with_reference(|reference, codes| {
            let mut read = codes[100..150].to_vec();
            read[25] ^= 1;
            let (query, penalties) = (query(&read), vec![6; 50]);
            let priced = PricedRead { query: &query, penalties: &penalties, unknown: 1 };
            let hits = [
                hit(-10, 20, 40),
                hit(100, 0, 20),
                hit(100, 30, 50),
                hit(380, 0, 20),
                hit(380, 20, 40),
                hit(480, 0, 18),
                hit(780, 10, 30),
            ];
            let mut out = Vec::new();
            priced.diagonals(reference, &hits, &mut out);
            let found: Vec<_> =
                out.iter().map(|it| (it.start, it.segment.sequence, it.covered)).collect();
            // The last seed is on the border of both strands.
            let expected = [(-10, 0, 20), (100, 0, 40), (380, 0, 20), (380, 1, 20), (480, 1, 18)];
            assert_eq!(found, expected);
            let known: Vec<_> = out.iter().map(|it| it.ungapped.is_some()).collect();
            assert_eq!(known, [false, true, false, false, false]);
            assert_eq!(out[1].ungapped, Some(Mismatches(1)));
        });
    }

    #[test]
    fn bases_cost_what_they_are_on_a_diagonal() {
        with_reference(|reference, codes| {
            let mut read = codes[480..540].to_vec();
            read[0] ^= 1;
            let (query, penalties) = (query(&read), vec![6; 60]);
            let priced = PricedRead { query: &query, penalties: &penalties, unknown: 1 };
            let cost = |start: i64, number: u32| {
                let segment = reference.segment_of(number, false).unwrap();
                let mut lane = DiagonalCosts::default();
                priced.price(reference, (segment, start), &mut Vec::new(), &mut lane);
                lane.costs.iter().map(|cost| cost / SCALE).collect::<Vec<_>>()
            };
            let over_hole = cost(480, 1);
            assert_eq!(over_hole[..2], [6, 0]);
            assert_eq!(over_hole[19..42].iter().sum::<i32>(), 20);
            // Of a diagonal that leaves its sequence the rest is a wall.
            let beyond = cost(370, 0);
            assert!(beyond[..30].iter().all(|cost| *cost <= 6));
            assert!(beyond[30..].iter().all(|cost| *cost == WALL_COST));
        });
    }

    #[test]
    fn introns_lead_to_diagonals_where_the_read_goes_on() {
        with_reference(|reference, codes| {
            let read = [&codes[100..130], &codes[200..220], &codes[300..330]].concat();
            let (query, penalties) = (query(&read), vec![6; 80]);
            let priced = PricedRead { query: &query, penalties: &penalties, unknown: 1 };
            let intron = |start, end| Intron { start, end, is_reverse: None };
            // The third one leads nowhere.
            let all = [intron(130, 200), intron(220, 300), intron(130, 290)];
            let sites = Sites::new(&all, BASES as u64);
            let mut cluster = Cluster::default();
            for start in [100, 170, 250] {
                let hits = [hit(start, 30, 50)];
                let mut diagonals = Vec::new();
                priced.diagonals(reference, &hits, &mut diagonals);
                cluster.take(priced, reference, &diagonals, &sites);
                let mut starts: Vec<_> = cluster.lanes().iter().map(|it| it.start).collect();
                starts.sort_unstable();
                assert_eq!(starts, [100, 170, 250], "from {start}");
            }
            cluster.take(priced, reference, &[], &sites);
            assert!(cluster.lanes().is_empty());
        });
    }

    #[test]
    fn clusters_end_where_no_intron_reaches() {
        with_reference(|reference, _| {
            let at = |start: i64, number: u32| {
                let segment = reference.segment_of(number, false).unwrap();
                Diagonal { start, segment, covered: 20, is_rare: false, ungapped: None }
            };
            let all = [at(0, 0), at(100, 0), at(201, 0), at(300, 0), at(350, 1)];
            assert_eq!(cluster_end(&all, 0, 100), 2);
            assert_eq!(cluster_end(&all, 2, 100), 4);
            assert_eq!(cluster_end(&all, 0, 101), 4);
            assert_eq!(cluster_end(&all, 4, 1000), 5);
        });
    }
}
