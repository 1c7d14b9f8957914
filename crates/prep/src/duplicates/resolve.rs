//! Resolves one partition of read-end entries: which reads are duplicates, how many are optical.

use std::collections::HashMap;

use super::entry::PairedEndMarker;
use super::{DuplicateOptions, FragmentEnd, MarkSink, MarkedReads, PairEnds};
use crate::duplicates::metrics::DuplicationCounters;
use crate::duplicates::optical::OpticalFinder;
use crate::duplicates::umi::{Families, Member, for_each_neighbour};

/// The read ends of one partition. The lists of pairs and of the others are independent of each
/// other: each must hold all of its partition.
pub struct PartitionEnds<'a, M> {
    /// Both ends of pairs.
    pub pairs: &'a mut [PairEnds],
    /// Ends of reads without a mapped mate.
    pub fragments: &'a mut [FragmentEnd],
    /// Ends of pairs, by place.
    pub markers: M,
}

/// Resolves one partition whose entries are all in memory: pair sets, then fragment sets. A run
/// does the same chunk by chunk ([`super::resolve_all`]); tests compare this with Picard.
///
/// The lists are sorted in place. The outcome depends on the entries only, not on their order.
pub fn resolve_partition(
    ends: PartitionEnds<'_, impl IntoIterator<Item = PairedEndMarker>>,
    options: &DuplicateOptions,
    marks: &mut impl MarkSink,
    counters: &mut DuplicationCounters,
) {
    let PartitionEnds { pairs, fragments, markers } = ends;
    resolve_pairs(pairs, options, marks, counters);
    let mut resolver = FragmentResolver::new(fragments, options.umi_distance);
    markers.into_iter().for_each(|marker| resolver.paired_end_at(&marker));
    resolver.finish(marks, counters);
}

/// Marks all but the original of every pair set, and counts sets and optical duplicates. Where UMIs
/// count up to errors, each of their families is a set.
pub fn resolve_pairs(
    pairs: &mut [PairEnds],
    options: &DuplicateOptions,
    marks: &mut impl MarkSink,
    counters: &mut DuplicationCounters,
) {
    pairs.sort_unstable_by(PairEnds::order);
    let mut finder = OpticalFinder::new(options);
    let mut families = Families::default();
    for set in pairs.chunk_by_mut(|a, b| a.set_key() == b.set_key()) {
        let Some(distance) = options.umi_distance else {
            resolve_set(set, &mut finder, marks, counters);
            continue;
        };
        let member = |it: &PairEnds| Member { umi: it.umi, template: it.template };
        families.find(set.iter().map(member), distance);
        // Stable: in a family Picard's order stays.
        set.sort_by_cached_key(|pair| families.of(pair.umi));
        let of = |pair: &PairEnds| families.of(pair.umi);
        for family in set.chunk_by(|a, b| of(a) == of(b)) {
            let first = family.first().map_or(0, |first| of(first).first);
            for pair in family {
                marks.put_in_family(pair.template, first);
                marks.put_in_family(pair.template2, first);
            }
            resolve_set(family, &mut finder, marks, counters);
        }
    }
}

/// Marks all but the original of one set, which is in Picard's order ([`PairEnds::order`]): the
/// pair with the highest score, of equals the first.
fn resolve_set(
    set: &[PairEnds],
    finder: &mut OpticalFinder,
    marks: &mut impl MarkSink,
    counters: &mut DuplicationCounters,
) {
    let original = first_of_highest(set.iter().map(|pair| pair.score));
    for (index, pair) in set.iter().enumerate() {
        if index != original {
            marks.mark(pair.template, MarkedReads::Both);
            if pair.template2 != pair.template {
                marks.mark(pair.template2, MarkedReads::Both);
            }
        }
    }
    let is_searched = finder.is_on();
    let optical = finder.find(set, original);
    for &index in optical {
        marks.mark_optical(&set[index as usize]);
    }
    let optical = is_searched.then_some(optical.len() as u64);
    // A set is never empty.
    let library = set.first().map_or(0, |pair| pair.library);
    counters.count_pair_set(library, set.len(), optical);
    counters.saturation.add_set(set.iter().map(|pair| marks.number(pair.template)));
}

/// Index of the first element with the highest score: of a set in Picard's order, its original.
fn first_of_highest(scores: impl Iterator<Item = i16>) -> usize {
    let mut best = (0, i16::MIN);
    for (index, score) in scores.enumerate() {
        if score > best.1 {
            best = (index, score);
        }
    }
    best.0
}

/// A set of fragments at one place; of one family, where UMIs count up to errors.
#[derive(Debug)]
struct FragmentSet {
    place: PairedEndMarker,
    /// End of the set in the sorted list.
    end: usize,
    /// A read with a mapped mate has an end here.
    has_paired: bool,
    /// The first template of the family.
    first: u64,
}

/// Resolves the fragments of one partition while its paired markers stream by.
///
/// There are some hundred times more markers than fragments in paired data, so markers are looked
/// up (through a bitmap that turns nearly all away) and never kept or sorted.
#[derive(Debug)]
pub(crate) struct FragmentResolver<'a> {
    fragments: &'a [FragmentEnd],
    sets: Vec<FragmentSet>,
    /// Bit `hash % bits` is set for every set; at least 16 bits for each set.
    filter: Vec<u64>,
    umi_distance: Option<u8>,
    /// Where UMIs count up to errors: the set of each, by the index of its place's first set.
    umis: HashMap<(usize, u64), usize>,
}

impl<'a> FragmentResolver<'a> {
    /// Sorts the fragments into sets. Charges: 48 bytes for each set.
    pub(crate) fn new(fragments: &'a mut [FragmentEnd], umi_distance: Option<u8>) -> Self {
        fragments.sort_unstable_by(FragmentEnd::order);
        let (mut sets, mut umis) = (Vec::new(), HashMap::new());
        let mut families = Families::default();
        let mut end = 0;
        for at_place in fragments.chunk_by_mut(|a, b| a.place().set_key() == b.place().set_key()) {
            let Some(place) = at_place.first().map(FragmentEnd::place) else { continue };
            let Some(distance) = umi_distance else {
                end += at_place.len();
                sets.push(FragmentSet { place, end, has_paired: false, first: 0 });
                continue;
            };
            let member = |it: &FragmentEnd| Member { umi: it.umi, template: it.template };
            families.find(at_place.iter().map(member), distance);
            at_place.sort_by_cached_key(|end| families.of(end.umi));
            let of = |end: &FragmentEnd| families.of(end.umi);
            let start = sets.len();
            for family in at_place.chunk_by(|a, b| of(a) == of(b)) {
                end += family.len();
                let first = family.first().map_or(0, |first| of(first).first);
                umis.extend(family.iter().map(|end| ((start, end.umi), sets.len())));
                sets.push(FragmentSet { place, end, has_paired: false, first });
            }
        }
        let words = sets.len().div_ceil(4).next_power_of_two();
        let filter = vec![0; words];
        let mut resolver = Self { fragments, sets, filter, umi_distance, umis };
        for index in 0..resolver.sets.len() {
            let (word, bit) = resolver.filter_bit(&resolver.sets[index].place);
            resolver.filter[word] |= bit;
        }
        resolver
    }

    /// Word and bit of a place in the filter, whose size is a power of two.
    fn filter_bit(&self, place: &PairedEndMarker) -> (usize, u64) {
        // The high bits chose the partition, so the low ones are still even here.
        let hash = place.hash();
        ((hash >> 6) as usize & (self.filter.len() - 1), 1 << (hash & 63))
    }

    /// Takes one marker: unpaired fragments at its place are duplicates. Where UMIs count up to
    /// errors, those of the family that its UMI is of, or of all families that it is near to.
    pub(crate) fn paired_end_at(&mut self, marker: &PairedEndMarker) {
        let (word, bit) = self.filter_bit(marker);
        if self.filter[word] & bit == 0 {
            return;
        }
        let key = marker.set_key();
        let start = self.sets.partition_point(|set| set.place.set_key() < key);
        let Self { sets, umis, umi_distance, .. } = self;
        let Some(set) = sets.get_mut(start).filter(|set| set.place.set_key() == key) else {
            return;
        };
        let Some(distance) = *umi_distance else {
            set.has_paired = true;
            return;
        };
        let mut pair_has = |umi| {
            let set = umis.get(&(start, umi)).and_then(|&set| sets.get_mut(set));
            set.is_some_and(|set| {
                set.has_paired = true;
                true
            })
        };
        if !pair_has(marker.umi) && distance > 0 {
            for_each_neighbour(marker.umi, |umi| {
                pair_has(umi);
            });
        }
    }

    /// Marks the duplicates: all fragments of a set with a paired end, else all but the
    /// original.
    pub(crate) fn finish(self, marks: &mut impl MarkSink, counters: &mut DuplicationCounters) {
        let mut start = 0;
        for set in &self.sets {
            let members = &self.fragments[start..set.end];
            start = set.end;
            let original = first_of_highest(members.iter().map(|fragment| fragment.score));
            for (index, fragment) in members.iter().enumerate() {
                if self.umi_distance.is_some() {
                    marks.put_in_family(fragment.template, set.first);
                }
                if index != original || set.has_paired {
                    let reads =
                        if fragment.second { MarkedReads::Second } else { MarkedReads::First };
                    let is_first = marks.mark(fragment.template, reads);
                    counters.count_fragment_duplicate(fragment, is_first);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::metrics::LibraryCounts;
    use super::super::{Companion, DuplicateMarks, DuplicateMode, Location, Orientation};
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[derive(Default, Debug, PartialEq)]
    struct Marked(BTreeSet<(u64, u8)>);

    impl MarkSink for Marked {
        fn mark_optical(&mut self, _: &PairEnds) {}

        fn mark(&mut self, template: u64, reads: MarkedReads) -> bool {
            assert!(self.0.insert((template, reads as u8)), "{template} marked twice");
            true
        }
    }

    fn pair(template: u64, position1: i32, score: i16) -> PairEnds {
        PairEnds {
            reference1: 0,
            position1,
            reference2: 0,
            position2: 300,
            template,
            template2: template,
            location: Location::NONE,
            tie_position: 0,
            library: 0,
            barcode: 0,
            umi: 0,
            read_group: 0,
            score,
            orientation: Orientation::ForwardReverse,
            optical_orientation: Orientation::ForwardReverse,
            tie_reverse: false,
        }
    }

    fn fragment(template: u64, position: i32, score: i16) -> FragmentEnd {
        FragmentEnd {
            reference: 0,
            position,
            template,
            location: Location::NONE,
            tie_position: 0,
            library: 0,
            barcode: 0,
            umi: 0,
            score,
            reverse: false,
            mate_mapped: false,
            companion: None,
            second: template % 2 == 1,
        }
    }

    fn run(
        pairs: &mut [PairEnds],
        fragments: &mut [FragmentEnd],
        markers: &[PairedEndMarker],
    ) -> (Marked, DuplicationCounters) {
        let mut marks = Marked::default();
        let mut counters = DuplicationCounters::new(1);
        let options = DuplicateOptions::default();
        let markers = markers.iter().copied();
        let ends = PartitionEnds { pairs, fragments, markers };
        resolve_partition(ends, &options, &mut marks, &mut counters);
        (marks, counters)
    }

    #[test]
    fn nothing_in_nothing_out() {
        let (marks, counters) = run(&mut [], &mut [], &[]);
        assert!(marks.0.is_empty());
        assert_eq!(counters, DuplicationCounters::new(1));
    }

    #[test]
    fn highest_score_stays_then_location_then_place_in_the_file() {
        let located = |mut p: PairEnds, tile, x, y| {
            p.location = Location { tile, x, y };
            p
        };
        let later = |mut p: PairEnds, position, reverse| {
            (p.tie_position, p.tie_reverse) = (position, reverse);
            p
        };
        let cases: [(&str, [PairEnds; 2]); 6] = [
            ("score", [pair(9, 5, 70), pair(1, 5, 69)]),
            ("tile", [located(pair(9, 5, 7), -3, 9, 9), located(pair(1, 5, 7), 2, 1, 1)]),
            ("x", [located(pair(9, 5, 7), 2, -9, 9), located(pair(1, 5, 7), 2, 1, 1)]),
            ("file position", [later(pair(9, 5, 7), 4, true), later(pair(1, 5, 7), 5, false)]),
            ("strand", [later(pair(9, 5, 7), 4, false), later(pair(1, 5, 7), 4, true)]),
            ("template", [pair(1, 5, 7), pair(9, 5, 7)]),
        ];
        for (what, [winner, loser]) in cases {
            for mut pairs in [[winner, loser], [loser, winner]] {
                let (marks, _) = run(&mut pairs, &mut [], &[]);
                assert_eq!(marks.0, BTreeSet::from([(loser.template, 0)]), "{what}");
            }
        }
    }

    #[test]
    fn every_part_of_the_pair_key_separates() {
        let base = pair(0, 5, 1);
        let others = [
            PairEnds { reference1: -1, ..base },
            PairEnds { position1: -5, ..base },
            PairEnds { reference2: 1, ..base },
            PairEnds { position2: 301, ..base },
            PairEnds { library: 1, ..base },
            PairEnds { barcode: 1, ..base },
            PairEnds { orientation: Orientation::ReverseReverse, ..base },
        ];
        for other in others {
            let mut marks = Marked::default();
            let mut counters = DuplicationCounters::new(2);
            let options = DuplicateOptions::default();
            resolve_pairs(&mut [base, other], &options, &mut marks, &mut counters);
            assert!(marks.0.is_empty(), "{other:?}");
        }
    }

    #[test]
    fn fragments_yield_to_paired_ends() {
        let mut fragments = [fragment(1, 5, 9), fragment(2, 5, 9), fragment(4, 6, 1)];
        let (marks, counters) = run(&mut [], &mut fragments, &[]);
        assert_eq!(marks.0, BTreeSet::from([(2, 1)]));
        assert_eq!(counters.libraries[0].unpaired_read_duplicates, 1);
        let markers =
            [fragments[0].place(), PairedEndMarker { reverse: true, ..fragments[2].place() }];
        let (marks, counters) = run(&mut [], &mut fragments, &markers);
        assert_eq!(marks.0, BTreeSet::from([(1, 2), (2, 1)]));
        assert_eq!(counters.libraries[0].unpaired_read_duplicates, 2);
    }

    /// As Picard, which flags and counts every record of a name.
    #[test]
    fn records_that_share_a_mark_are_counted_once() {
        let counts = |marked: &[FragmentEnd]| {
            let options = DuplicateOptions::default();
            let marks = DuplicateMarks::new(20, DuplicateMode::Query);
            let mut counters = DuplicationCounters::new(2);
            // Each in a partition of its own, where a pair's end is too.
            for fragment in marked {
                let (fragments, markers) = (&mut [*fragment][..], [fragment.place()]);
                let ends = PartitionEnds { pairs: &mut [], fragments, markers };
                resolve_partition(ends, &options, &mut &marks, &mut counters);
            }
            let of = |library: &LibraryCounts| {
                [library.unpaired_read_duplicates, library.lone_mate_duplicates]
            };
            [of(&counters.libraries[0]), of(&counters.libraries[1])]
        };
        let other = |library, mate_mapped| Some(Companion { library, mate_mapped });
        let read = |position, companion| FragmentEnd { companion, ..fragment(7, position, 1) };
        let [one, two] = [read(5, other(0, false)), read(9, other(0, false))];
        assert_eq!(counts(&[read(5, None)]), [[1, 0], [0, 0]]);
        assert_eq!(counts(&[one]), [[2, 0], [0, 0]]);
        assert_eq!(counts(&[two]), [[2, 0], [0, 0]]);
        assert_eq!(counts(&[one, two]), [[2, 0], [0, 0]]);
        assert_eq!(counts(&[read(5, other(1, false))]), [[1, 0], [1, 0]]);
        assert_eq!(counts(&[read(5, other(0, true))]), [[1, 1], [0, 0]]);
    }

    #[test]
    fn fragments_of_a_family_yield_to_a_pair_that_is_near() {
        let umi = |text: &str| super::super::umi::code_of(text.as_bytes()).unwrap();
        let of = |template, text| FragmentEnd { umi: umi(text), ..fragment(template, 5, 1) };
        let t = |distance, pair: &str, expected: &[(u64, u8)]| {
            // AAA takes AAC in; CCC is alone.
            let mut fragments =
                [of(2, "AAA"), of(4, "AAA"), of(6, "AAA"), of(8, "AAC"), of(10, "CCC")];
            let marker = PairedEndMarker { umi: umi(pair), ..fragments[0].place() };
            let mut resolver = FragmentResolver::new(&mut fragments, Some(distance));
            // The filter may let these through.
            for position in -2000..5 {
                resolver.paired_end_at(&PairedEndMarker { position, ..marker });
            }
            resolver.paired_end_at(&marker);
            let mut marks = Marked::default();
            resolver.finish(&mut marks, &mut DuplicationCounters::new(1));
            assert_eq!(marks.0, expected.iter().copied().collect(), "{pair}");
        };
        t(1, "GGG", &[(4, 1), (6, 1), (8, 1)]);
        t(1, "AAA", &[(2, 1), (4, 1), (6, 1), (8, 1)]);
        t(1, "AGC", &[(2, 1), (4, 1), (6, 1), (8, 1)]);
        t(1, "CCT", &[(4, 1), (6, 1), (8, 1), (10, 1)]);
        t(1, "ACC", &[(2, 1), (4, 1), (6, 1), (8, 1), (10, 1)]);
        t(0, "AAC", &[(4, 1), (6, 1), (8, 1)]);
        t(0, "AGC", &[(4, 1), (6, 1)]);
    }

    fn entries() -> impl Strategy<Value = (Vec<PairEnds>, Vec<FragmentEnd>, Vec<PairedEndMarker>)> {
        let pairs = prop::collection::vec((0..4_i32, 0..3_i16, 0..200_i32, 0..2_u16), 0..60);
        let fragments = prop::collection::vec((0..20_i32, 0..3_i16, any::<bool>()), 0..60);
        let markers = prop::collection::vec((0..20_i32, any::<bool>()), 0..20);
        (pairs, fragments, markers).prop_map(|(pairs, fragments, markers)| {
            let pairs = pairs.into_iter().zip(0..).map(|((position, score, x, library), t)| {
                let location = Location { tile: 1, x, y: 0 };
                PairEnds { location, library, ..pair(t, position, score) }
            });
            let fragments =
                fragments.into_iter().zip(0..).map(|((position, score, reverse), t)| FragmentEnd {
                    reverse,
                    ..fragment(t + 1000, position, score)
                });
            let place = fragment(0, 0, 0).place();
            let markers = markers.into_iter().map(|(position, reverse)| PairedEndMarker {
                position,
                reverse,
                ..place
            });
            (pairs.collect(), fragments.collect(), markers.collect())
        })
    }

    proptest! {
        #[test]
        fn partitions_and_order_do_not_matter(
            (pairs, fragments, markers) in entries(),
            partitions in 1_usize..6,
        ) {
            let options = DuplicateOptions::default();
            let mut whole = (Marked::default(), DuplicationCounters::new(2));
            let ends = PartitionEnds {
                pairs: &mut pairs.clone(),
                fragments: &mut fragments.clone(),
                markers: markers.iter().copied(),
            };
            resolve_partition(ends, &options, &mut whole.0, &mut whole.1);
            let mut parts = (Marked::default(), DuplicationCounters::new(2));
            for part in (0..partitions).rev() {
                let here = |p: usize| p == part;
                let mut some_pairs: Vec<_> = pairs
                    .iter().rev().filter(|e| here(e.partition_of(partitions))).copied().collect();
                let mut some_fragments: Vec<_> = fragments
                    .iter().rev().filter(|e| here(e.partition_of(partitions))).copied().collect();
                let markers =
                    markers.iter().rev().filter(|e| here(e.partition_of(partitions))).copied();
                let mut counters = DuplicationCounters::new(2);
                let (pairs, fragments) = (&mut some_pairs[..], &mut some_fragments[..]);
                let ends = PartitionEnds { pairs, fragments, markers };
                resolve_partition(ends, &options, &mut parts.0, &mut counters);
                parts.1.merge(&counters);
            }
            prop_assert_eq!(whole, parts);
        }
    }
}
