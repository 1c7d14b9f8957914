//! The certificate's rules on reads that are made for them.

use super::regions::spot;
use super::rules::GREATEST_SHIFT;
use crate::index::test_view::{SEQUENCES, view_of};

#[test]
fn a_spot_is_in_one_sequence_and_away_from_the_ends_of_its_strand() {
    let index = view_of(&SEQUENCES);
    let margin = GREATEST_SHIFT as u64;
    let reverse = |position: u64, length: usize| 2 * 700 - position - length as u64;
    let t = |position: u64, length: usize, expected: Option<usize>| {
        for position in [position, reverse(position, length)] {
            let found = spot(index, position, length);
            assert_eq!(found.map(|spot| spot.sequence), expected, "{position} {length}");
            assert!(found.is_none_or(|spot| spot.position == position));
            assert!(found.is_none_or(|spot| spot.is_alt == (spot.sequence == 1)));
        }
    };
    t(margin, 100, Some(0));
    t(margin - 1, 100, None);
    t(0, 100, None);
    t(100, 100, Some(0));
    t(101, 100, None);
    t(199, 2, None);
    t(200, 130, Some(1));
    t(199, 130, None);
    t(200, 131, None);
    t(150, 250, None);
    t(330, 100, Some(2));
    t(700 - margin - 100, 100, Some(2));
    t(700 - margin - 99, 100, None);
    t(600, 100, None);
    assert!(spot(index, 650, 100).is_none(), "across the border of the strands");
    assert!(spot(index, 1399, 100).is_none(), "crossing the end");
}
