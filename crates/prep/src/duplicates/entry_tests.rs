//! Entries of read ends: what they keep, and how they are ordered.

use super::*;
use proptest::prelude::*;

#[test]
fn every_byte_of_a_form_is_used() {
    // A byte that no field covers would stay 0 in the form of an all-ones entry.
    let ones = PairEnds::from_bytes(&[0xff; PairEnds::BYTES]).to_bytes();
    assert!(ones[..PairEnds::BYTES - 1].iter().all(|&b| b == 0xff));
    assert_eq!(ones[PairEnds::BYTES - 1], 0x1f);
    let ones = FragmentEnd::from_bytes(&[0xff; FragmentEnd::BYTES]).to_bytes();
    assert!(ones[..FragmentEnd::BYTES - 1].iter().all(|&b| b == 0xff));
    assert_eq!(ones[FragmentEnd::BYTES - 1], 0x1f);
    let ones = PairedEndMarker::from_bytes(&[0xff; PairedEndMarker::BYTES]).to_bytes();
    assert!(ones[..PairedEndMarker::BYTES - 1].iter().all(|&b| b == 0xff));
    assert_eq!(ones[PairedEndMarker::BYTES - 1], 1);
}

#[test]
fn partitions_are_in_range_and_even() {
    let mut sizes = [0_usize; 7];
    for position in 0..70_000 {
        let marker = PairedEndMarker {
            position,
            ..PairedEndMarker::from_bytes(&[0; PairedEndMarker::BYTES])
        };
        sizes[marker.partition_of(7)] += 1;
    }
    assert!(sizes.iter().all(|&n| (9_000..11_000).contains(&n)), "{sizes:?}");
    let marker = PairedEndMarker::from_bytes(&[0; PairedEndMarker::BYTES]);
    assert_eq!(marker.partition_of(1), 0);
    assert_eq!(marker.partition_of(0), 0);
}

proptest! {
    #[test]
    fn pair_end_round_trip(bytes in prop::array::uniform32(any::<u8>()),
                           more in prop::array::uniform21(any::<u8>())) {
        let mut form = [0; PairEnds::BYTES];
        form[..32].copy_from_slice(&bytes);
        form[32..].copy_from_slice(&more);
        form[PairEnds::BYTES - 1] &= 0x1f;
        let entry = PairEnds::from_bytes(&form);
        prop_assert_eq!(entry.to_bytes(), form);
        prop_assert!(entry.partition_of(5) < 5);
    }

    #[test]
    fn fragment_end_round_trip(
        bytes in prop::collection::vec(any::<u8>(), 38),
        bits in 0_u8..32,
    ) {
        let mut form = [bits; FragmentEnd::BYTES];
        form[..38].copy_from_slice(&bytes);
        if bits & 8 == 0 {
            form[36..38].fill(0);
            form[38] &= 7;
        }
        let entry = FragmentEnd::from_bytes(&form);
        prop_assert_eq!(entry.to_bytes(), form);
        prop_assert_eq!(entry.partition_of(9), entry.place().partition_of(9));
    }

    #[test]
    fn marker_round_trip(bytes in prop::array::uniform14(any::<u8>()), reverse in 0u8..2) {
        let mut form = [reverse; PairedEndMarker::BYTES];
        form[..14].copy_from_slice(&bytes);
        prop_assert_eq!(PairedEndMarker::from_bytes(&form).to_bytes(), form);
    }
}
