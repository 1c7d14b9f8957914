//! Numbers of templates where several inputs are read side by side.
//!
//! A template's ordinal says which lane it is of, and its number in that. Ordinals compare as
//! numbers in the whole input do, which counts the templates of all earlier lanes, but are known
//! before any lane has ended. With one lane both are the same.

use crate::partition::store::MAX_PARTITIONS;

/// Templates whose records without a coordinate share a bin.
pub(crate) const ORDINAL_BIN_TEMPLATES: u64 = 1 << 14;
/// Bits of a template's ordinal that all entries keep.
const ORDINAL_BITS: u32 = 48;

/// How a number of lanes shares the ordinals out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Numbering {
    lanes: usize,
    /// Bits of the number in the lane; those above are the lane.
    number_bits: u32,
}

impl Numbering {
    /// Of so many lanes, at least one.
    #[must_use]
    pub fn of_lanes(lanes: usize) -> Self {
        let lanes = lanes.max(1);
        let lane_bits = lanes.next_power_of_two().trailing_zeros().min(ORDINAL_BITS);
        Self { lanes, number_bits: ORDINAL_BITS - lane_bits }
    }

    /// Number of lanes.
    #[must_use]
    pub fn lanes(self) -> usize {
        self.lanes
    }

    /// Most templates that a lane may have.
    #[must_use]
    pub(crate) fn most_templates(self) -> u64 {
        1 << self.number_bits
    }

    /// Ordinal of the first template of a lane; the others follow it.
    #[must_use]
    pub fn first_ordinal(self, lane: usize) -> u64 {
        (lane as u64) << self.number_bits
    }

    /// Lane of a template, and its number in that.
    pub(crate) fn split(self, ordinal: u64) -> (usize, u64) {
        let lane = (ordinal >> self.number_bits) as usize;
        (lane.min(self.lanes - 1), ordinal & (self.most_templates() - 1))
    }

    /// Where the records without a coordinate of a template wait: bins are ordered lane by lane and
    /// in each by number.
    pub(crate) fn ordinal_bin(self, ordinal: u64) -> usize {
        let (lane, number) = self.split(ordinal);
        let lane_bins = (MAX_PARTITIONS / self.lanes).max(1);
        let bin = (number / ORDINAL_BIN_TEMPLATES) as usize;
        lane * lane_bins + bin.min(lane_bins - 1)
    }
}

/// Numbers of the templates in the whole input, once all are counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateNumbers {
    numbering: Numbering,
    /// Templates before each lane.
    before: Box<[u64]>,
    total: u64,
}

impl TemplateNumbers {
    /// Of lanes with so many templates each.
    #[must_use]
    pub fn new(lane_templates: &[u64]) -> Self {
        let numbering = Numbering::of_lanes(lane_templates.len());
        let mut total = 0;
        let mut before: Vec<u64> = Vec::with_capacity(numbering.lanes());
        for templates in lane_templates {
            before.push(total);
            total += templates;
        }
        before.resize(numbering.lanes(), total);
        Self { numbering, before: before.into(), total }
    }

    /// Number of the template with this ordinal in the whole input, from 0.
    #[must_use]
    pub fn number(&self, ordinal: u64) -> u64 {
        let (lane, number) = self.numbering.split(ordinal);
        self.before.get(lane).map_or(number, |before| before + number)
    }

    /// Where the records without a coordinate of a template are sorted: bins are ordered by number.
    pub(crate) fn ordinal_bin(&self, ordinal: u64) -> usize {
        Numbering::of_lanes(1).ordinal_bin(self.number(ordinal))
    }

    /// Templates of all lanes.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Number of lanes.
    #[must_use]
    pub fn lanes(&self) -> usize {
        self.numbering.lanes()
    }
}

impl From<u64> for TemplateNumbers {
    /// One lane of so many templates: ordinals are numbers.
    fn from(templates: u64) -> Self {
        Self::new(&[templates])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinals_of_one_lane_are_numbers() {
        let numbers = TemplateNumbers::from(7);
        let most = (1 << 48) - 1;
        for ordinal in [0, 5, 1 << 40, most] {
            assert_eq!(numbers.number(ordinal), ordinal);
        }
        assert_eq!((numbers.total(), numbers.lanes()), (7, 1));
        assert_eq!(TemplateNumbers::new(&[]), TemplateNumbers::from(0));
    }

    #[test]
    fn ordinals_compare_as_numbers_do_for_any_lanes() {
        for lanes in [1, 2, 3, 40, 64, 65, 1000] {
            let counts: Vec<u64> = (0..lanes).map(|lane| lane as u64 * 7919 % 5).collect();
            let numbers = TemplateNumbers::new(&counts);
            let numbering = Numbering::of_lanes(lanes);
            let all = counts.iter().enumerate().flat_map(|(lane, count)| {
                (0..*count).map(move |number| numbering.first_ordinal(lane) + number)
            });
            let all: Vec<u64> = all.collect();
            assert!(all.is_sorted() && all.iter().all(|it| it >> 48 == 0), "{lanes}");
            assert!(all.iter().map(|it| numbers.number(*it)).eq(0..numbers.total()), "{lanes}");
            assert!(all.iter().map(|it| numbering.ordinal_bin(*it)).is_sorted());
        }
    }

    #[test]
    fn a_lane_has_bins_of_its_own_however_long_it_is() {
        let numbering = Numbering::of_lanes(3);
        let last = |lane| numbering.first_ordinal(lane) + numbering.most_templates() - 1;
        let first = |lane| numbering.ordinal_bin(numbering.first_ordinal(lane));
        assert!(numbering.ordinal_bin(last(0)) < first(1));
        assert!(numbering.ordinal_bin(last(1)) < first(2));
        assert!(numbering.ordinal_bin(last(2)) < MAX_PARTITIONS);
        let bin = ORDINAL_BIN_TEMPLATES;
        assert_eq!(numbering.ordinal_bin(numbering.first_ordinal(1) + bin), first(1) + 1);
    }
}
