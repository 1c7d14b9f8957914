//! Chains of seeds, as bwa makes them.
//!
//! Seeds come in the order of their bases, and of the rows where they occur. Each joins the chain
//! that begins nearest in front of it in `T`, if it fits there, or begins one. bwa keeps chains in
//! a B-tree by where they begin; of two that begin at one place it finds either, by the shape of
//! the tree, so that such a read is left to it.

use super::LoadedIndex;

/// Seeds of one chain lie no further apart (`max_chain_gap`).
const GREATEST_GAP: i64 = 10_000;

/// A seed where it occurs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PlacedSeed {
    /// First base, in `T`.
    pub(crate) place: i64,
    /// First base, in the read.
    pub(crate) base: i32,
    pub(crate) length: i32,
    /// How often the seed occurs.
    pub(crate) occurrences: i32,
}

/// A chain; its seeds are those of [`Chains::seeds`] from `first` on, each with the next.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chain {
    pub(crate) place: i64,
    pub(crate) sequence: i32,
    pub(crate) alternate: bool,
    pub(crate) count: usize,
    first: usize,
    last: usize,
}

#[derive(Debug, Clone, Copy)]
struct Link {
    seed: PlacedSeed,
    next: usize,
}

/// The chains of one read.
#[derive(Debug, Default)]
pub(crate) struct Chains {
    /// By where they begin.
    chains: Vec<Chain>,
    links: Vec<Link>,
    /// Share of the read in seeds that occur too often (`frac_rep`).
    pub(crate) repetitive: f32,
}

impl Chains {
    pub(super) fn clear(&mut self) {
        self.chains.clear();
        self.links.clear();
        self.repetitive = 0.0;
    }

    pub(crate) fn get(&self) -> &[Chain] {
        &self.chains
    }

    /// The seeds of a chain in order.
    pub(crate) fn seeds(&self, chain: Chain) -> impl Iterator<Item = PlacedSeed> {
        let first = Some(self.links[chain.first]);
        let links = std::iter::successors(first, |link| self.links.get(link.next).copied());
        links.map(|link| link.seed).take(chain.count)
    }

    /// Adds the next seed. False if two chains would begin at one place.
    pub(super) fn add(&mut self, index: LoadedIndex<'_>, band: i64, seed: PlacedSeed) -> bool {
        let Some((sequence, alternate)) = sequence_of(index, seed) else { return true };
        let behind = self.chains.partition_point(|chain| chain.place <= seed.place);
        if let Some(chain) = behind.checked_sub(1).map(|at| &mut self.chains[at]) {
            let strand_start = index.parts.bases as i64;
            let [first, last] = [chain.first, chain.last].map(|at| self.links[at].seed);
            match fit(first, last, seed, strand_start, band) {
                Fit::Inside if chain.sequence == sequence => return true,
                Fit::Behind if chain.sequence == sequence => {
                    self.links[chain.last].next = self.links.len();
                    chain.last = self.links.len();
                    chain.count += 1;
                    self.links.push(Link { seed, next: usize::MAX });
                    return true;
                }
                _ if chain.place == seed.place => return false,
                _ => {}
            }
        }
        let at = self.links.len();
        self.links.push(Link { seed, next: usize::MAX });
        let (place, count) = (seed.place, 1);
        let chain = Chain { place, sequence, alternate, count, first: at, last: at };
        self.chains.insert(behind, chain);
        true
    }
}

/// How a seed fits a chain.
enum Fit {
    /// It lies in what the chain spans.
    Inside,
    /// It goes on behind the chain's last seed.
    Behind,
    Not,
}

fn fit(first: PlacedSeed, last: PlacedSeed, seed: PlacedSeed, bases: i64, band: i64) -> Fit {
    let ends = |seed: PlacedSeed| {
        (i64::from(seed.base + seed.length), seed.place + i64::from(seed.length))
    };
    let ((last_end, last_place_end), (end, place_end)) = (ends(last), ends(seed));
    let inside = seed.base >= first.base
        && end <= last_end
        && seed.place >= first.place
        && place_end <= last_place_end;
    if inside {
        return Fit::Inside;
    }
    if (last.place < bases || first.place < bases) && seed.place >= bases {
        return Fit::Not;
    }
    let in_read = i64::from(seed.base - last.base);
    let in_genome = seed.place - last.place;
    let length = i64::from(last.length);
    let goes_on = in_genome >= 0
        && (in_read - in_genome).abs() <= band
        && in_read - length < GREATEST_GAP
        && in_genome - length < GREATEST_GAP;
    if goes_on { Fit::Behind } else { Fit::Not }
}

/// The sequence that a seed lies in, and whether that is an ALT one; `None` if it lies in two, or
/// across the border of the strands.
fn sequence_of(index: LoadedIndex<'_>, seed: PlacedSeed) -> Option<(i32, bool)> {
    let (bases, length) = (index.parts.bases as i64, i64::from(seed.length));
    let start = match seed.place {
        place if place >= bases => 2 * bases - place - length,
        place if place + length > bases => return None,
        place => place,
    };
    let start = u64::try_from(start).ok()?;
    let number = index.sequences.partition_point(|sequence| sequence.end <= start);
    let sequence = index.sequences.get(number)?;
    let in_one = start + length as u64 <= sequence.end;
    in_one.then_some((number as i32, sequence.alternate))
}
