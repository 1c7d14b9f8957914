//! Where two sequences of codes differ.

/// Codes that are compared at once.
const AT_ONCE: usize = size_of::<u64>();

/// The places at which two sequences differ, in order, up to the end of the shorter.
#[inline]
pub(super) fn differences<'a>(one: &'a [u8], other: &'a [u8]) -> Differences<'a> {
    let length = one.len().min(other.len());
    Differences { one: &one[..length], other: &other[..length], next: 0, first: 0, differing: 0 }
}

/// See [`differences`].
#[derive(Debug)]
pub(super) struct Differences<'a> {
    one: &'a [u8],
    other: &'a [u8],
    /// The first code that is not compared yet.
    next: usize,
    /// The first of those that were compared last, and the bits in which they differ.
    first: usize,
    differing: u64,
}

impl Iterator for Differences<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.differing == 0 {
            if self.next == self.one.len() {
                return None;
            }
            let [one, other] = [self.one, self.other].map(|all| &all[self.next..]);
            self.first = self.next;
            match (one.first_chunk::<AT_ONCE>(), other.first_chunk::<AT_ONCE>()) {
                (Some(one), Some(other)) => {
                    self.differing = u64::from_le_bytes(*one) ^ u64::from_le_bytes(*other);
                    self.next += AT_ONCE;
                }
                _ => {
                    self.differing = u64::from(one[0] ^ other[0]);
                    self.next += 1;
                }
            }
        }
        let byte = self.differing.trailing_zeros() / 8;
        self.differing &= !(0xFF << (8 * byte));
        Some(self.first + byte as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn all_differences_are_found(
            one in proptest::collection::vec(0_u8..6, 0..70),
            changes in proptest::collection::vec((0_usize..70, 0_u8..6), 0..30),
            longer in proptest::collection::vec(0_u8..6, 0..20),
        ) {
            let mut other = [&one[..], &longer].concat();
            for (at, code) in changes {
                if let Some(place) = other.get_mut(at) {
                    *place = code;
                }
            }
            let expected: Vec<_> = (0..one.len()).filter(|&at| one[at] != other[at]).collect();
            prop_assert_eq!(differences(&one, &other).collect::<Vec<_>>(), &expected[..]);
            prop_assert_eq!(differences(&other, &one).collect::<Vec<_>>(), &expected[..]);
        }
    }
}
