//! What a search finds in a block: literals and copies, in the order of the bytes.

/// Longest copy that deflate has a code for (RFC 1951, 3.2.5).
const LONGEST_COPY: usize = 258;
/// Shortest one.
pub(super) const SHORTEST_COPY: usize = 3;
/// Longest distance.
pub(super) const LONGEST_DISTANCE: usize = 32_768;

/// What literals are part of. Sequences and qualities have few values, so two of their literals can
/// be written at once, from a table of pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// Fixed fields, names, CIGARs, tags.
    Other,
    /// Sequences and qualities.
    Bases,
}

/// Literals, then a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token {
    /// Bytes that are literals.
    pub(super) literals: u16,
    /// Bytes that are copied; 0 for none.
    pub(super) length: u16,
    /// From how far back, at most [`LONGEST_DISTANCE`]; 1 where nothing is copied.
    pub(super) distance: u16,
    /// Of the literals.
    pub(super) class: Class,
}

/// The tokens of one block, from its start up to where the search has come.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    list: Vec<Token>,
    covered: usize,
}

impl Tokens {
    /// Forgets all.
    pub(super) fn clear(&mut self) {
        self.list.clear();
        self.covered = 0;
    }

    /// In order.
    pub(super) fn list(&self) -> &[Token] {
        &self.list
    }

    /// The first byte that is not part of a token.
    #[inline(always)]
    pub(super) fn covered(&self) -> usize {
        self.covered
    }

    /// Bytes up to `at` as literals of `class`, then a copy of `length` bytes, at least
    /// [`SHORTEST_COPY`], from `distance` bytes before.
    #[inline(always)]
    pub(super) fn copy(&mut self, at: usize, length: usize, distance: usize, class: Class) {
        let mut token = Token {
            literals: (at - self.covered) as u16,
            length: length as u16,
            distance: distance as u16,
            class,
        };
        self.covered = at + length;
        if length > LONGEST_COPY {
            token = self.copy_long(token, length);
        }
        self.list.push(token);
    }

    /// All copies of a long one but the last, which is returned.
    #[cold]
    fn copy_long(&mut self, mut token: Token, length: usize) -> Token {
        let mut left = length;
        while left > LONGEST_COPY {
            // What is left must be long enough for a copy.
            let part = LONGEST_COPY.min(left - SHORTEST_COPY);
            self.list.push(Token { length: part as u16, ..token });
            token.literals = 0;
            left -= part;
        }
        Token { length: left as u16, ..token }
    }

    /// Bytes up to `end`, if they are not covered, as literals of `class`.
    #[inline(always)]
    pub(super) fn literals_to(&mut self, end: usize, class: Class) {
        if end > self.covered {
            let literals = (end - self.covered) as u16;
            self.list.push(Token { literals, length: 0, distance: 1, class });
            self.covered = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_copies_are_cut_so_that_each_part_has_a_code() {
        for length in 3..2_000 {
            let mut tokens = Tokens::default();
            tokens.copy(5, length, 7, Class::Other);
            assert_eq!(tokens.covered(), 5 + length);
            let lengths: Vec<usize> =
                tokens.list().iter().map(|token| token.length.into()).collect();
            assert_eq!(lengths.iter().sum::<usize>(), length);
            assert!(lengths.iter().all(|length| (3..=258).contains(length)), "{lengths:?}");
            let literals: Vec<u16> = tokens.list().iter().map(|token| token.literals).collect();
            assert_eq!(literals[0], 5);
            assert!(literals[1..].iter().all(|&literals| literals == 0));
        }
    }

    #[test]
    fn literals_that_are_covered_are_not_written_again() {
        let mut tokens = Tokens::default();
        tokens.literals_to(4, Class::Bases);
        tokens.literals_to(4, Class::Other);
        tokens.literals_to(2, Class::Other);
        let token = Token { literals: 4, length: 0, distance: 1, class: Class::Bases };
        assert_eq!(tokens.list(), [token]);
    }
}
