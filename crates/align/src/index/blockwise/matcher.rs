//! How much suffixes have in common with another one, for ascending positions in linear time (the Z
//! algorithm, Gusfield 1997): in repeats neighbours would each be compared in full.

use std::ops::Range;

use super::text::Text;

/// Finds how many symbols each suffix shares with a given one.
pub(super) struct Matcher<'a> {
    text: &'a Text,
    /// The suffix that others are compared with.
    like: u64,
    /// By symbol of it: how many symbols from there on are those of its start.
    overlaps: Vec<u64>,
    /// Positions known to be equal to its start, of those the ones that reach farthest.
    known: Range<u64>,
}

impl<'a> Matcher<'a> {
    /// Compares with the suffix at `like`, `most` symbols of it.
    pub(super) fn new(text: &'a Text, like: u64, most: u64) -> Self {
        let overlap = |from| text.common(like + from, like, most - from);
        Self { text, like, overlaps: (0..most).map(overlap).collect(), known: 0..0 }
    }

    /// The suffix that others are compared with.
    pub(super) fn like(&self) -> u64 {
        self.like
    }

    /// The number of symbols that the suffix at `at`, after all that were requested, has in common
    /// with it. What is past the end is A.
    #[inline]
    pub(super) fn common(&mut self, at: u64) -> u64 {
        let most = self.overlaps.len() as u64;
        let mut common = 0;
        if at < self.known.end {
            common = self.known.end - at;
            if let Some(&overlap) = self.overlaps.get((at - self.known.start) as usize)
                && overlap < common
            {
                return overlap;
            }
        }
        if common < most {
            common += self.text.common(at + common, self.like + common, most - common);
        }
        if at + common > self.known.end {
            self.known = at..at + common;
        }
        common
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::packed::Packed;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn equal_to_comparing_each(
            codes in prop::collection::vec(0_u8..4, 1..300),
            alphabet in 1_u8..4,
            like in 0_u64..400,
            most in 0_u64..100,
            step in 1_usize..9,
        ) {
            let mut packed = Packed::default();
            codes.iter().for_each(|code| packed.push(code % alphabet));
            let text = Text::new(&packed).unwrap();
            let mut matcher = Matcher::new(&text, like, most);
            for at in (0..=text.symbols()).step_by(step) {
                prop_assert_eq!(matcher.common(at), text.common(at, like, most), "{}", at);
            }
        }
    }
}
