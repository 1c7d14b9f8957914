//! The bases at both ends of an intron: what strand its transcript is on, and what it costs.

use seqloom_align::search::Genome;

/// What the ends of an intron are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// GT-AG.
    Canonical,
    /// GC-AG or AT-AC.
    Rare,
    /// Any others.
    Other,
}

/// The ends of an intron.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Motif {
    pub(super) kind: Kind,
    /// The transcript is on the other strand.
    pub(super) is_turned: bool,
}

/// Two bases as a number.
const fn two(first: u64, second: u64) -> u64 {
    first << 2 | second
}

const A: u64 = 0;
const C: u64 = 1;
const G: u64 = 2;
const T: u64 = 3;
const AC: u64 = two(A, C);
const AG: u64 = two(A, G);
const AT: u64 = two(A, T);
const CT: u64 = two(C, T);
const GC: u64 = two(G, C);
const GT: u64 = two(G, T);

/// The ends of the intron that begins at `left` of `T`, and after which `right` is the first base.
#[inline(always)]
pub(super) fn motif(genome: Genome<'_>, left: i64, right: i64) -> Motif {
    let pair = |at: i64| genome.word(at as u64, 2) >> 60;
    let (first, last) = (pair(left), pair(right - 2));
    let (kind, is_turned) = match (first, last) {
        (GT, AG) => (Kind::Canonical, false),
        (CT, AC) => (Kind::Canonical, true),
        (GC, AG) | (AT, AC) => (Kind::Rare, false),
        (CT, GC) | (GT, AT) => (Kind::Rare, true),
        _ => (Kind::Other, false),
    };
    Motif { kind, is_turned }
}

/// How many of the four bases at the ends of an intron are those of GT-AG, on the strand that has
/// more of them: an intron that is cut in other places is taken to be as these say.
#[inline(always)]
pub(super) fn ends_alike(genome: Genome<'_>, left: i64, right: i64) -> u8 {
    let base = |at: i64| genome.word(at as u64, 1) >> 62;
    let ends = [left, left + 1, right - 2, right - 1].map(base);
    let alike = |requested: [u64; 4]| {
        ends.iter().zip(requested).map(|(&it, one)| u8::from(it == one)).sum()
    };
    u8::max(alike([G, T, A, G]), alike([C, T, A, C]))
}

/// Bases around both ends that decide which of some places is the better one for a GT-AG intron:
/// the last one before it, the four after GT, the one before AG, the first one after.
/// (Burset et al. 2000, doi:10.1093/nar/28.21.4364: G|GTRAGT, YAG|G.)
#[inline(always)]
pub(super) fn likeness(genome: Genome<'_>, left: i64, right: i64, is_turned: bool) -> u8 {
    let base = |at: i64| genome.word(at as u64, 1) >> 62;
    let bases = if is_turned {
        let of = |at: i64| 3 - base(at);
        [right, right - 3, right - 4, right - 5, right - 6, left + 2, left - 1].map(of)
    } else {
        [left - 1, left + 2, left + 3, left + 4, left + 5, right - 3, right].map(base)
    };
    let [before, third, fourth, fifth, sixth, before_last, after] = bases;
    let is_as_mostly = [
        before == G,
        third == A || third == G,
        fourth == A,
        fifth == G,
        sixth == T,
        before_last == C || before_last == T,
        after == G,
    ];
    is_as_mostly.into_iter().map(u8::from).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use seqloom_align::index::CODE;

    fn packed(text: &[u8]) -> Vec<u8> {
        let code = |letter: &u8| CODE[usize::from(*letter)];
        let byte = |four: &[u8]| (0..4).fold(0, |b, i| b << 2 | four.get(i).map_or(0, code));
        text.chunks(4).map(byte).chain([0; 16]).collect()
    }

    #[test]
    fn ends_are_known_on_both_strands() {
        let t = |ends: [&[u8]; 2], kind, is_turned| {
            let text = [b"CCAAG", ends[0], b"AAGTCCCCCCCCTTTT", ends[1], b"GAAA"].concat();
            let bytes = packed(&text);
            let bases = text.len() as u64;
            let genome = Genome { packed: &bytes, bases };
            let found = motif(genome, 5, 25);
            assert_eq!((found.kind, found.is_turned), (kind, is_turned));
            let (left, right) = (2 * bases as i64 - 25, 2 * bases as i64 - 5);
            let found = motif(genome, left, right);
            assert_eq!((found.kind, found.is_turned), (kind, kind != Kind::Other && !is_turned));
            assert_eq!(likeness(genome, 5, 25, false), 7);
            assert_eq!(likeness(genome, left, right, true), 7);
        };
        t([b"GT", b"AG"], Kind::Canonical, false);
        t([b"CT", b"AC"], Kind::Canonical, true);
        t([b"GC", b"AG"], Kind::Rare, false);
        t([b"AT", b"AC"], Kind::Rare, false);
        t([b"GT", b"AT"], Kind::Rare, true);
        t([b"AA", b"AA"], Kind::Other, false);
    }
}
