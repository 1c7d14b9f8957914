//! Parsers against noise.

mod exercise;

use proptest::prelude::*;

proptest! {
    #[test]
    fn noise_is_no_container(data in prop::collection::vec(any::<u8>(), 0..300)) {
        exercise::container(&data);
    }

    #[test]
    fn noise_is_no_block(
        method in 0..10_u8,
        mut data in prop::collection::vec(any::<u8>(), 0..400),
        flags in prop::sample::select(vec![0, 1, 4, 5, 8, 16, 32, 64, 65, 128, 193]),
    ) {
        if data.len() > 2 {
            data[2] = flags;
        }
        exercise::block(method, &data);
    }
}
