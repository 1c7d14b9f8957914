//! By how much a share of right reads is above another program's, in standard errors.

/// Most standard errors by which a share may be below Bowtie 2's.
pub(crate) const MOST_BELOW: f64 = 2.0;

/// Most of those sets, named, in which the draw among equal placements has both differ by more:
/// chance, of some sixty sets. (The reads of 250 bases are the same ones at all efforts.)
const MOST_BELOW_BY_DRAW: f64 = 3.0;
const BELOW_BY_DRAW: [&str; 5] = [
    "yeast, local, sensitive, 100000 of 100 bases, 0.001",
    "yeast, local, very-fast, 5000 of 250 bases, 0.01",
    "yeast, local, fast, 5000 of 250 bases, 0.01",
    "yeast, local, sensitive, 5000 of 250 bases, 0.01",
    "yeast, local, sensitive, 2500 of 2x150 bases, 0.006",
];

/// By how many more reads are right than Bowtie 2's, of those on which the two differ.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Lead {
    sum: i64,
    squares: i64,
}

impl Lead {
    /// Adds what one template says. Mates are right or wrong together.
    pub(crate) fn add(&mut self, more: i64) {
        self.sum += more;
        self.squares += more * more;
    }

    /// The same of both.
    pub(crate) fn with(self, other: Self) -> Self {
        Self { sum: self.sum + other.sum, squares: self.squares + other.squares }
    }

    /// In its standard errors.
    pub(crate) fn errors(self) -> f64 {
        self.sum as f64 / (self.squares.max(1) as f64).sqrt()
    }

    /// A set is not below Bowtie 2's.
    pub(crate) fn check_set(self, what: &str) {
        let is_named = BELOW_BY_DRAW.contains(&what);
        let most = if is_named { MOST_BELOW_BY_DRAW } else { MOST_BELOW };
        assert!(self.errors() >= -most, "{what}: {self:?}");
    }

    /// Where chance has evened out, sets together are not below Bowtie 2's.
    pub(crate) fn check(self, sets: &str) {
        eprintln!("{sets}: {:+.1} standard errors, all sets together", self.errors());
        assert!(self.errors() >= -MOST_BELOW, "{sets}: {self:?}");
    }
}
