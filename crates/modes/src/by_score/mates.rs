//! Mates: which of their placements are a pair, and what records say of the other one.

use super::alignment::Placement;
use super::record::push_mate_cigar;
use crate::fields::{MATE_UNMAPPED, PROPER, push_signed};
use crate::options::Strands;
use crate::pairs::{Orientation, PairOptions, mate_flags, template_length};
use crate::reference::{Extent, Spot};

/// Which placements of mates make a pair, and what becomes of the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MateOptions {
    /// How mates are oriented to each other, and how far.
    pub pairs: PairOptions,
    /// Mates that overlap may have passed each other.
    pub dovetail: bool,
    /// A mate may be inside the other.
    pub contain: bool,
    /// Mates may have bases in common.
    pub overlap: bool,
    /// Mates that are no pair are placed one by one.
    pub mixed: bool,
    /// Mates that have one placement each are a discordant pair, wherever those are.
    pub discordant: bool,
}

impl Default for MateOptions {
    /// Bowtie 2's.
    fn default() -> Self {
        let orientation = Orientation::ForwardReverse;
        Self {
            pairs: PairOptions {
                orientation,
                min_insert_bp: 0,
                max_insert_bp: MateOptions::MAX_INSERT_BP,
            },
            dovetail: false,
            contain: true,
            overlap: true,
            mixed: true,
            discordant: true,
        }
    }
}

impl MateOptions {
    /// Greatest distance between the outer ends of mates where none is given: Bowtie 2's.
    pub const MAX_INSERT_BP: u32 = 500;

    /// Whether mates that are here are a pair; one whose ends are not known for sure is given
    /// `slack`.
    pub(crate) fn is_pair(&self, [first, second]: [Extent; 2], slack: i64) -> bool {
        let Some(left) = self.pairs.left_mate([first.is_reverse, second.is_reverse]) else {
            return false;
        };
        let [a, b] = if left == 0 { [first, second] } else { [second, first] };
        let span = a.end.max(b.end) - a.start.min(b.start);
        let is_near = first.sequence == second.sequence
            && span + slack >= self.pairs.min_insert_bp.into()
            && span <= i64::from(self.pairs.max_insert_bp) + slack;
        if slack > 0 || !is_near {
            return is_near;
        }
        let is_ordered = a.start <= b.start && a.end <= b.end;
        let overlap = a.start < b.end && b.start < a.end;
        let contains =
            |outer: Extent, inner: Extent| outer.start <= inner.start && inner.end <= outer.end;
        (is_ordered || self.dovetail && overlap)
            && (self.contain || !contains(a, b) && !contains(b, a))
            && (self.overlap || !overlap)
    }

    /// The strands on which mate `mate` is requested, or a single read (0), where those are of the
    /// first.
    pub(crate) fn strands(&self, mate: usize, strands: Strands) -> Strands {
        strands.turned_if(mate == 1 && !self.pairs.are_alike())
    }
}

/// What reads of a template are to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// There is one alone.
    Single,
    /// A pair as it should be.
    Concordant,
    /// Both placed, and nowhere else.
    Discordant,
    /// Each as it is.
    Mixed,
    /// Neither is said to be placed.
    Lost,
}

impl Kind {
    /// That of a template of which this was chosen for each read: whether it is a pair as it
    /// should be, and whether a mate has one placement and no other.
    pub(crate) fn of<C>(
        options: &MateOptions,
        chosen: &[C],
        is_pair: bool,
        is_alone: impl Fn(&C) -> bool,
    ) -> Self {
        match () {
            () if chosen.len() < 2 => Self::Single,
            () if is_pair => Self::Concordant,
            () if options.discordant && chosen.iter().all(is_alone) => Self::Discordant,
            () if options.mixed => Self::Mixed,
            () => Self::Lost,
        }
    }

    /// As Bowtie 2's and HISAT2's YT has it.
    fn name(self) -> &'static [u8; 2] {
        match self {
            Self::Single => b"UU",
            Self::Concordant => b"CP",
            Self::Discordant => b"DP",
            Self::Mixed | Self::Lost => b"UP",
        }
    }

    /// Whether the placements are those of a pair.
    fn is_pair(self) -> bool {
        matches!(self, Self::Concordant | Self::Discordant)
    }
}

/// What a record says of the mate, if there is one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OfMate<'a> {
    kind: Kind,
    /// Those that are about mates.
    pub(crate) flags: u16,
    placement: Option<Placement<'a>>,
    pub(crate) template_length: i32,
    /// Both are placed as a pair.
    is_pair: bool,
    /// The score of another pair.
    second_pair: Option<i32>,
}

impl<'a> OfMate<'a> {
    /// Of a single read.
    pub(crate) const NONE: OfMate<'static> = OfMate {
        kind: Kind::Single,
        flags: 0,
        placement: None,
        template_length: 0,
        is_pair: false,
        second_pair: None,
    };

    /// Of mate `mate`; the placements of its own record and of the other mate's, in a genome of so
    /// many bases.
    pub(crate) fn of(
        mate: usize,
        kind: Kind,
        [own, other]: [Option<Placement<'a>>; 2],
        bases: u64,
    ) -> Self {
        let mut flags = mate_flags(mate, other.is_some_and(|it| it.segment.is_reverse));
        if other.is_none() {
            flags |= MATE_UNMAPPED;
        }
        if kind == Kind::Concordant {
            flags |= PROPER;
        }
        let both = own.zip(other).filter(|_| kind.is_pair());
        let template_length = both.map_or(0, |(own, other)| {
            let [first, second] = if mate == 0 { [own, other] } else { [other, own] };
            template_length(mate, [first, second].map(|it| it.extent(bases)))
        });
        let is_pair = both.is_some();
        Self { kind, flags, placement: other, template_length, is_pair, second_pair: None }
    }

    /// With the score of another pair.
    pub(crate) fn with_second_pair(self, second_pair: Option<i32>) -> Self {
        Self { second_pair, ..self }
    }

    /// Where it is.
    pub(crate) fn spot(&self) -> Option<Spot> {
        self.placement.map(|it| it.spot())
    }

    /// MC, YS, ZP and YT.
    pub(crate) fn push_tags(&self, body: &mut Vec<u8>) {
        if let Some(placement) = self.placement {
            push_mate_cigar(placement.ops, placement.segment.is_reverse, body);
            if self.is_pair {
                push_signed(b"YS", placement.score, body);
            }
        }
        if let Some(score) = self.second_pair {
            push_signed(b"ZP", score, body);
        }
        body.extend_from_slice(b"YTZ");
        body.extend_from_slice(self.kind.name());
        body.push(0);
    }
}
