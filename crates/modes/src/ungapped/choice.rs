//! Which placements of a read or pair are reported, and which of them is the primary one.

use super::options::{Acceptance, UngappedOptions};
use crate::options::Reported;

/// The lowest is the best: what all mismatches cost, then chance.
pub(super) type Rank = (u32, u64);

impl Acceptance {
    /// What a mismatch costs at a base of this quality.
    #[inline(always)]
    pub(super) fn cost(self, quality: u8) -> u8 {
        match self {
            Self::Seed(seed) if seed.rounds => match quality {
                0..5 => 0,
                5..15 => 10,
                15..25 => 20,
                _ => 30,
            },
            _ => quality,
        }
    }
}

/// A placement of a read, or of a pair.
pub(super) trait Choosable: Copy {
    /// Its place, which distinguishes it from all others and puts them in order.
    type Place: Ord;

    /// Mismatches, where they are counted.
    fn stratum(&self) -> u32;

    /// See [`Choosable::Place`].
    fn place(&self) -> Self::Place;
}

/// Leaves in `found`, all placements of a read or pair, those that are reported: the primary one,
/// then the others by place. Gives what Bowtie's XM says where none is: one more than
/// `max_placements`, or 0.
pub(super) fn choose<T: Choosable>(
    found: &mut Vec<T>,
    options: &UngappedOptions,
    rank: impl Fn(&T) -> Rank,
) -> u32 {
    let least = found.iter().map(T::stratum).min();
    if options.best_stratum {
        found.retain(|it| Some(it.stratum()) == least);
    }
    if let Some(most) = options.max_placements
        && found.len() > most as usize
    {
        found.clear();
        return most.saturating_add(1);
    }
    if let Reported::AtMost(requested) = options.reported
        && (requested as usize) < found.len()
    {
        found.sort_by_cached_key(|it| (it.stratum(), rank(it), it.place()));
        found.truncate(requested as usize);
        found[1..].sort_unstable_by_key(T::place);
        return 0;
    }
    found.sort_unstable_by_key(T::place);
    let best = found.iter().enumerate().filter(|(_, it)| Some(it.stratum()) == least);
    if let Some((primary, _)) = best.min_by_key(|(_, it)| rank(it)) {
        found[..=primary].rotate_right(1);
    }
    0
}
