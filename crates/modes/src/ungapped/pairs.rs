//! Pairs: both mates where their orientation and distance are as requested.

use super::choice::Choosable;
use super::locate::Placement;
use super::placements::Genome;
use crate::pairs::PairOptions;
use crate::reference::Spot;

/// A placement with where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Placed {
    pub(super) placement: Placement,
    pub(super) spot: Spot,
}

impl Choosable for [Placed; 2] {
    type Place = [u64; 2];

    fn stratum(&self) -> u32 {
        self.iter().map(|mate| u32::from(mate.placement.stratum)).sum()
    }

    fn place(&self) -> [u64; 2] {
        self.map(|mate| mate.placement.place)
    }
}

/// Which of a pair's placements a record is of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hit {
    pub(super) number: u32,
    /// Bases of the other mate.
    pub(super) mate_bases: u32,
}

/// Working memory.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    /// Both mates' placements, by sequence and position.
    mates: [Vec<Placed>; 2],
    /// First and second mate of each pair that counts.
    pub(super) found: Vec<[Placed; 2]>,
}

impl Pairs {
    /// Finds all pairs among the placements of mates of `lengths` bases; no more than `most` and
    /// one.
    pub(super) fn find(
        &mut self,
        genome: Genome<'_>,
        options: PairOptions,
        placements: [&[Placement]; 2],
        lengths: [usize; 2],
        most: usize,
    ) {
        self.found.clear();
        for (mate, (placed, placements)) in self.mates.iter_mut().zip(placements).enumerate() {
            placed.clear();
            placed.extend(placements.iter().filter_map(|&placement| {
                let spot = genome.reference.spot(placement.place, lengths[mate])?;
                Some(Placed { placement, spot })
            }));
            placed.sort_unstable_by_key(|it| (it.spot.sequence, it.spot.position));
        }
        for left_mate in [0, 1] {
            let requested = options.strands(left_mate);
            let [left, right] = [&self.mates[left_mate], &self.mates[1 - left_mate]];
            let ends = [lengths[left_mate], lengths[1 - left_mate]].map(|it| it as i64);
            let found = &mut self.found;
            join([left, right], requested, ends, options, |left, right| {
                let pair = if left_mate == 0 { [left, right] } else { [right, left] };
                found.push(pair);
                found.len() <= most
            });
            if self.found.len() > most {
                return;
            }
        }
    }
}

/// All placements of one mate with those of the other that begin and end further right, on the
/// strands that are requested, in distance; until `out` says that it has enough.
fn join(
    [left, right]: [&[Placed]; 2],
    requested: [bool; 2],
    [left_bases, right_bases]: [i64; 2],
    options: PairOptions,
    mut out: impl FnMut(Placed, Placed) -> bool,
) {
    let place = |it: &Placed| (it.spot.sequence, it.spot.position);
    let mut from = 0;
    for one in left.iter().filter(|it| it.spot.is_reverse == requested[0]) {
        while right.get(from).is_some_and(|other| place(other) <= place(one)) {
            from += 1;
        }
        let (sequence, start) = place(one);
        let last = start + i64::from(options.max_insert_bp) - right_bases;
        let near = right[from..].iter().take_while(|other| place(other) <= (sequence, last));
        for other in near.filter(|it| it.spot.is_reverse == requested[1]) {
            let end = other.spot.position + right_bases;
            let is_inside = end <= start + left_bases;
            let is_far = end - start >= i64::from(options.min_insert_bp);
            if !is_inside && is_far && !out(*one, *other) {
                return;
            }
        }
    }
}
