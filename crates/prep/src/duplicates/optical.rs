//! Optical duplicates: copies of one cluster on the flow cell, found exactly as Picard does.
//!
//! Picard compares every two members of a set, which takes days on deep sets (picard issues 893
//! and 1828); here a list of n takes O(n log n).

use std::collections::BTreeSet;

use crate::duplicates::{DuplicateOptions, Orientation, PairEnds};

/// Finds optical duplicates in pair sets; keeps its memory between sets.
#[derive(Debug)]
pub(crate) struct OpticalFinder {
    distance_px: Option<u32>,
    max_set: usize,
    list: Vec<u32>,
    located: Vec<u32>,
    parents: Vec<u32>,
    /// Members whose x is within the distance of the sweep line: (y, place in `located`).
    window: BTreeSet<(i32, u32)>,
    /// By cluster: the member that stays.
    kept: Vec<u32>,
    optical: Vec<u32>,
}

/// Lists up to this length are compared pairwise by Picard, which decides otherwise who stays.
const PAIRWISE_MAX: usize = 3;

impl OpticalFinder {
    /// A finder for these options.
    pub(crate) fn new(options: &DuplicateOptions) -> Self {
        Self {
            distance_px: options.optical_distance_px,
            max_set: options.max_optical_set.min(u32::MAX as usize),
            list: Vec::new(),
            located: Vec::new(),
            parents: Vec::new(),
            window: BTreeSet::new(),
            kept: Vec::new(),
            optical: Vec::new(),
        }
    }

    /// Whether optical duplicates are looked for.
    pub(crate) fn is_on(&self) -> bool {
        self.distance_px.is_some()
    }

    /// The optical duplicates in one pair set, given in Picard's order; `original` is the pair that
    /// is no duplicate at all.
    ///
    /// Members whose reads are the other way round (read 1 forward or reverse) came from different
    /// strands of the molecule, so such lists are searched apart.
    pub(crate) fn find(&mut self, set: &[PairEnds], original: usize) -> &[u32] {
        self.optical.clear();
        let Some(distance) = self.distance_px.filter(|_| set.len() > 1) else { return &[] };
        let has = |orientation| set.iter().any(|pair| pair.optical_orientation == orientation);
        if has(Orientation::ForwardReverse) && has(Orientation::ReverseForward) {
            for orientation in [Orientation::ForwardReverse, Orientation::ReverseForward] {
                let belongs = |pair: &PairEnds| pair.optical_orientation == orientation;
                self.find_in_list(set, original, distance, belongs);
            }
        } else {
            self.find_in_list(set, original, distance, |_| true);
        }
        &self.optical
    }

    /// Finds in the list of members that `belongs` accepts. How many are optical is always the
    /// size of each cluster less one; who stays depends on the length of the list.
    fn find_in_list(
        &mut self,
        set: &[PairEnds],
        original: usize,
        distance: u32,
        belongs: impl Fn(&PairEnds) -> bool,
    ) {
        let members = set.iter().zip(0_u32..).filter(|(pair, _)| belongs(pair));
        self.list.clear();
        self.list.extend(members.map(|(_, index)| index));
        if self.list.len() < 2 || self.list.len() > self.max_set {
            return;
        }
        if self.list.len() <= PAIRWISE_MAX {
            self.find_pairwise(set, original, distance);
        } else if self.joined(set, distance) > 0 {
            self.find_in_clusters(set, original);
        }
    }

    /// Lists of two or three: first those near the original, then of every other two the later one,
    /// or the earlier one where the later is optical already.
    fn find_pairwise(&mut self, set: &[PairEnds], original: usize, distance: u32) {
        let mut is_optical = [false; PAIRWISE_MAX];
        let members = self.list.len();
        let pair = |i: usize| &set[self.list[i] as usize];
        let keeper = (0..members).find(|&i| self.list[i] as usize == original);
        if let Some(keeper) = keeper {
            for i in (0..members).filter(|&i| i != keeper) {
                is_optical[i] = near(pair(keeper), pair(i), distance);
            }
        }
        for i in (0..members).filter(|&i| Some(i) != keeper) {
            for j in (i + 1..members).filter(|&j| Some(j) != keeper) {
                if !(is_optical[i] && is_optical[j]) && near(pair(i), pair(j), distance) {
                    is_optical[if is_optical[j] { i } else { j }] = true;
                }
            }
        }
        let found = self.list.iter().zip(is_optical).filter(|(_, is_optical)| *is_optical);
        self.optical.extend(found.map(|(&index, _)| index));
    }

    /// Longer lists: in every cluster the original stays, or the one with the smallest x, y, place.
    fn find_in_clusters(&mut self, set: &[PairEnds], original: usize) {
        let Self { located, parents, kept, optical, .. } = self;
        let order = |index: u32| {
            let location = set[index as usize].location;
            (index as usize != original, location.x, location.y, index)
        };
        kept.clear();
        kept.extend_from_slice(located);
        for (&index, rank) in located.iter().zip(0..) {
            let cluster = root(parents, rank) as usize;
            if order(index) < order(kept[cluster]) {
                kept[cluster] = index;
            }
        }
        for (&index, rank) in located.iter().zip(0..) {
            if kept[root(parents, rank) as usize] != index {
                optical.push(index);
            }
        }
    }

    /// Members of the list that clusters hold beyond one each.
    ///
    /// Sweeps by x within one read group and tile. Of the members in the window, all within the
    /// distance in x of each other, those within the distance below the new one in y are near each
    /// other and so in one cluster already; the same holds above. Joining the new one with its two
    /// neighbours in y is therefore enough.
    fn joined(&mut self, set: &[PairEnds], distance: u32) -> u64 {
        let Self { list, located, parents, window, .. } = self;
        let at = |index: u32| &set[index as usize];
        located.clear();
        located.extend(list.iter().filter(|&&index| at(index).location.is_located()));
        located.sort_unstable_by_key(|&index| {
            let pair = at(index);
            (pair.read_group, pair.location.tile, pair.location.x, index)
        });
        parents.clear();
        parents.extend(0..located.len() as u32);
        let same_place = |a: &u32, b: &u32| {
            let (a, b) = (at(*a), at(*b));
            a.read_group == b.read_group && a.location.tile == b.location.tile
        };
        let mut joined = 0;
        let mut first = 0;
        for place in located.chunk_by(same_place) {
            window.clear();
            let mut oldest = 0;
            for (&index, rank) in place.iter().zip(first..) {
                let new = at(index).location;
                while at(place[oldest]).location.x.abs_diff(new.x) > distance {
                    window.remove(&(at(place[oldest]).location.y, first + oldest as u32));
                    oldest += 1;
                }
                let below = window.range(..(new.y, rank)).next_back();
                let above = window.range((new.y, rank)..).next();
                for &(y, other) in below.into_iter().chain(above) {
                    if y.abs_diff(new.y) <= distance {
                        joined += u64::from(join(parents, rank, other));
                    }
                }
                window.insert((new.y, rank));
            }
            first += place.len() as u32;
        }
        joined
    }
}

/// Whether two members are on one tile of one read group, within the distance in x and in y.
fn near(a: &PairEnds, b: &PairEnds, distance: u32) -> bool {
    a.location.is_located()
        && b.location.is_located()
        && a.read_group == b.read_group
        && a.location.tile == b.location.tile
        && a.location.x.abs_diff(b.location.x) <= distance
        && a.location.y.abs_diff(b.location.y) <= distance
}

/// Unites the clusters of two members; false where they are one already.
fn join(parents: &mut [u32], a: u32, b: u32) -> bool {
    let (a, b) = (root(parents, a), root(parents, b));
    parents[a.max(b) as usize] = a.min(b);
    a != b
}

/// The representative of a cluster, halving the path to it.
fn root(parents: &mut [u32], mut member: u32) -> u32 {
    while parents[member as usize] != member {
        let next = parents[parents[member as usize] as usize];
        parents[member as usize] = next;
        member = next;
    }
    member
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::duplicates::Location;
    use proptest::prelude::*;

    fn cluster(read_group: u16, tile: i16, x: i32, y: i32) -> PairEnds {
        PairEnds {
            reference1: 0,
            position1: 0,
            reference2: 0,
            position2: 0,
            template: 0,
            template2: 0,
            location: Location { tile, x, y },
            tie_position: 0,
            library: 0,
            barcode: 0,
            umi: 0,
            read_group,
            score: 0,
            orientation: Orientation::ForwardReverse,
            optical_orientation: Orientation::ForwardReverse,
            tie_reverse: false,
        }
    }

    fn find(set: &[PairEnds], original: usize, distance: u32) -> Vec<u32> {
        let options =
            DuplicateOptions { optical_distance_px: Some(distance), ..Default::default() };
        let mut found = OpticalFinder::new(&options).find(set, original).to_vec();
        found.sort_unstable();
        found
    }

    fn count(set: &[PairEnds], distance: u32) -> usize {
        find(set, 0, distance).len()
    }

    /// Picard's rule for lists of two or three: first those near the kept one, then every other
    /// two.
    fn pairwise(set: &[PairEnds], list: &[u32], original: usize, distance: u32) -> Vec<u32> {
        let mut optical = [false; 3];
        let member = |i: usize| list[i] as usize;
        let list_near = |i: usize, j: usize| near(&set[member(i)], &set[member(j)], distance);
        let keeper = (0..list.len()).find(|&i| member(i) == original);
        if let Some(keeper) = keeper {
            for i in (0..list.len()).filter(|&i| i != keeper) {
                optical[i] = list_near(keeper, i);
            }
        }
        for i in (0..list.len()).filter(|&i| Some(i) != keeper) {
            for j in (i + 1..list.len()).filter(|&j| Some(j) != keeper) {
                if !(optical[i] && optical[j]) && list_near(i, j) {
                    optical[if optical[j] { i } else { j }] = true;
                }
            }
        }
        (0..list.len()).filter(|&i| optical[i]).map(|i| list[i]).collect()
    }

    /// The specification word by word, quadratic.
    fn direct(set: &[PairEnds], original: usize, distance: u32) -> Vec<u32> {
        let all: Vec<usize> = (0..set.len()).collect();
        let of = |orientation| -> Vec<usize> {
            all.iter().copied().filter(|&i| set[i].optical_orientation == orientation).collect()
        };
        let (fr, rf) = (of(Orientation::ForwardReverse), of(Orientation::ReverseForward));
        let lists = if fr.is_empty() || rf.is_empty() { vec![all] } else { vec![fr, rf] };
        let mut found: Vec<u32> =
            lists.iter().flat_map(|list| direct_list(set, list, original, distance)).collect();
        found.sort_unstable();
        found
    }

    fn direct_list(set: &[PairEnds], list: &[usize], original: usize, distance: u32) -> Vec<u32> {
        let n = list.len();
        if n < 4 {
            let list: Vec<u32> = list.iter().map(|&i| i as u32).collect();
            return if n < 2 { vec![] } else { pairwise(set, &list, original, distance) };
        }
        let mut component: Vec<usize> = (0..n).collect();
        for _ in 0..n {
            for i in 0..n {
                for j in 0..n {
                    if near(&set[list[i]], &set[list[j]], distance) {
                        let low = component[i].min(component[j]);
                        (component[i], component[j]) = (low, low);
                    }
                }
            }
        }
        let mut optical = vec![false; n];
        for c in 0..n {
            let members: Vec<usize> = (0..n).filter(|&i| component[i] == c).collect();
            let smallest = members.iter().copied().min_by_key(|&i| {
                let location = set[list[i]].location;
                (location.x, location.y, i)
            });
            let kept = members.iter().copied().find(|&i| list[i] == original).or(smallest);
            members.iter().filter(|&&i| Some(i) != kept).for_each(|&i| optical[i] = true);
        }
        (0..n).filter(|&i| optical[i]).map(|i| list[i] as u32).collect()
    }

    #[test]
    fn small_sets() {
        let at = |x, y| cluster(0, 1, x, y);
        assert_eq!(count(&[at(0, 0), at(100, 100)], 100), 1);
        assert_eq!(count(&[at(0, 0), at(101, 0)], 100), 0);
        assert_eq!(count(&[at(0, 0), at(0, 101)], 100), 0);
        // A chain of three: the one in the middle is near both, its ends are not near each other.
        let chain = [at(0, 0), at(90, 0), at(180, 0)];
        assert_eq!(count(&chain, 100), 2);
        assert_eq!([0, 1, 2].map(|original| direct(&chain, original, 100).len()), [2; 3]);
        // Four in a chain are one cluster.
        assert_eq!(count(&[at(0, 0), at(90, 0), at(180, 0), at(270, 0)], 100), 3);
    }

    #[test]
    fn other_tile_read_group_or_no_location_is_never_near() {
        let a = cluster(0, 1, 5, 5);
        let others = [cluster(1, 1, 5, 5), cluster(0, 2, 5, 5), cluster(0, -1, 5, 5)];
        for other in others {
            assert_eq!(count(&[a, other], 100), 0);
            assert_eq!(
                count(&[a, other, other, a], 100),
                direct(&[a, other, other, a], 0, 100).len()
            );
        }
        assert_eq!(count(&[cluster(0, -1, 5, 5); 2], 100), 0);
        assert_eq!(count(&[cluster(0, -1, 5, 5); 9], 100), 0);
    }

    #[test]
    fn off_and_too_large() {
        let set = [cluster(0, 1, 5, 5); 6];
        assert_eq!(count(&set, 0), 5);
        let off = DuplicateOptions { optical_distance_px: None, ..Default::default() };
        assert_eq!(OpticalFinder::new(&off).find(&set, 0).len(), 0);
        let limit = |max_optical_set| DuplicateOptions { max_optical_set, ..Default::default() };
        assert_eq!(OpticalFinder::new(&limit(6)).find(&set, 0).len(), 5);
        assert_eq!(OpticalFinder::new(&limit(5)).find(&set, 0).len(), 0);
    }

    #[test]
    fn extreme_coordinates_do_not_overflow() {
        let (low, high) = (cluster(0, 1, i32::MIN, i32::MAX), cluster(0, 1, i32::MAX, i32::MIN));
        assert_eq!(count(&[low, high, low, high], 100), 2);
        assert_eq!(count(&[low, high, low, high], u32::MAX), 3);
    }

    #[test]
    fn a_large_set_takes_no_quadratic_time() {
        // All in one column: each is within the distance in x of every other.
        let set: Vec<PairEnds> = (0..300_000).map(|i| cluster(0, 1, i % 7, i * 3)).collect();
        assert_eq!(count(&set, 2), 0);
        assert_eq!(count(&set, 20), 299_999);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn sweep_equals_comparing_every_two(
            members in prop::collection::vec(
                (0..2_u16, -1..2_i16, 0..60_i32, 0..60_i32, any::<bool>()), 1..24),
            kept in 1_usize..24,
            original in any::<prop::sample::Index>(),
            distance in 0_u32..12,
        ) {
            let set: Vec<PairEnds> = members
                .iter()
                .take(kept) // short lists often: they have a rule of their own
                .map(|&(read_group, tile, x, y, forward)| PairEnds {
                    optical_orientation: Orientation::of(!forward, forward),
                    ..cluster(read_group, tile, x, y)
                })
                .collect();
            let original = original.index(set.len());
            prop_assert_eq!(find(&set, original, distance), direct(&set, original, distance));
        }
    }
}
