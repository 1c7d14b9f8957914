//! What a table says of reported qualities, for who reads it: by quality, by cycle, by context.

use std::collections::BTreeMap;

use super::Event;
use super::covariates::context_text;
use super::datum::Datum;
use super::log10::log10;
use super::table::{Covariate, Table};

/// Read groups that are told apart; of more, all are taken together.
const MOST_GROUPS: usize = 10;
/// The name of all read groups together.
const ALL: &str = "all";

/// Observations of bases with one value of a covariate.
#[derive(Debug, Clone, PartialEq)]
pub struct QualityRow {
    /// ID of the read group.
    pub read_group: String,
    /// Quality, cycle (negative in second reads) or context, as text.
    pub value: String,
    /// The value as a number; that of a context is its place among them.
    pub position: f64,
    /// Bases.
    pub observations: u64,
    /// Mismatches, fractional where they were shared between bases.
    pub errors: f64,
    /// Reported quality: that of the errors that it expects.
    pub reported: f64,
    /// Quality by errors + 1 among observations + 2.
    pub empirical: f64,
}

/// See the module documentation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct QualityRows {
    /// By reported quality, of each read group where there are few.
    pub by_quality: Vec<QualityRow>,
    /// By cycle, of all read groups.
    pub by_cycle: Vec<QualityRow>,
    /// By context, of all read groups.
    pub by_context: Vec<QualityRow>,
}

/// What a row is about.
struct Subject {
    read_group: String,
    value: String,
    position: f64,
}

/// Sums by key.
struct Sums<K>(BTreeMap<K, Datum>);

impl<K: Ord> Sums<K> {
    fn of(data: impl Iterator<Item = (K, Datum)>) -> Self {
        let mut sums = BTreeMap::new();
        for (key, datum) in data.filter(|(_, datum)| datum.observations > 0) {
            sums.entry(key).and_modify(|sum: &mut Datum| sum.combine(&datum)).or_insert(datum);
        }
        Self(sums)
    }

    fn rows(self, subject: impl Fn(&K) -> Subject) -> Vec<QualityRow> {
        let row = |(key, datum): (K, Datum)| {
            let Subject { read_group, value, position } = subject(&key);
            let (observations, errors) = (datum.observations, datum.errors());
            let empirical = -10.0 * log10((errors + 1.0) / (observations as f64 + 2.0));
            let reported = datum.reported;
            QualityRow { read_group, value, position, observations, errors, reported, empirical }
        };
        self.0.into_iter().map(row).collect()
    }
}

impl Table {
    /// What it holds of mismatches.
    #[must_use]
    pub fn quality_rows(&self) -> QualityRows {
        let tells_groups = self.read_groups.len() <= MOST_GROUPS;
        let group = |index: usize| if tells_groups { index } else { 0 };
        let by_quality = self.by_quality.iter().filter(|((.., event), _)| is_mismatch(*event));
        let by_quality =
            Sums::of(by_quality.map(|(&(index, quality, _), &it)| ((group(index), quality), it)));
        let all = || ALL.to_owned();
        let name = |index: usize| {
            if tells_groups {
                self.read_groups.get(index).cloned().unwrap_or_default()
            } else {
                all()
            }
        };
        let by_covariate = || {
            let mismatches =
                self.by_covariate.iter().filter(|((.., event), _)| is_mismatch(*event));
            mismatches.map(|(&(_, _, covariate, _), &datum)| (covariate, datum))
        };
        let cycles = by_covariate().filter_map(|(covariate, datum)| match covariate {
            Covariate::Cycle(cycle) => Some((cycle, datum)),
            Covariate::Context(_) => None,
        });
        let contexts = by_covariate().filter_map(|(covariate, datum)| match covariate {
            Covariate::Context(column) => Some((column, datum)),
            Covariate::Cycle(_) => None,
        });
        let bases = self.arguments.context_bases(Event::Mismatch);
        let of_all = |value, position| Subject { read_group: all(), value, position };
        QualityRows {
            by_quality: by_quality.rows(|&(index, quality)| Subject {
                read_group: name(index),
                value: quality.to_string(),
                position: quality.into(),
            }),
            by_cycle: Sums::of(cycles).rows(|&it| of_all(it.to_string(), it.into())),
            by_context: Sums::of(contexts).rows(|&it| of_all(context_text(it, bases), it as f64)),
        }
    }
}

fn is_mismatch(event: Event) -> bool {
    event == Event::Mismatch
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recalibrate::RecalibrationOptions;
    use crate::recalibrate::table::Arguments;

    fn table(groups: usize) -> Table {
        let names = (0..groups).map(|index| format!("g{index}")).collect();
        let arguments = Arguments::new(&RecalibrationOptions::default());
        let mut table = Table::empty(arguments, names);
        for group in 0..groups {
            let datum = |quality: u8, n| Datum::new(n, 8.0, quality.into());
            table.by_quality.insert((group, 30, Event::Mismatch), datum(30, 998));
            table.by_quality.insert((group, 30, Event::Deletion), datum(45, 7));
            for (cycle, quality) in [(-1, 20), (-1, 30), (2, 30)] {
                let key = (group, quality, Covariate::Cycle(cycle), Event::Mismatch);
                table.by_covariate.insert(key, datum(quality, 100));
            }
            let key = (group, 30, Covariate::Context(1), Event::Mismatch);
            table.by_covariate.insert(key, datum(30, 50));
        }
        table
    }

    #[test]
    fn rows_are_sums_of_mismatches() {
        let rows = table(2).quality_rows();
        let [first, second] = &rows.by_quality[..] else { panic!("{rows:?}") };
        assert_eq!((first.read_group.as_str(), second.read_group.as_str()), ("g0", "g1"));
        assert_eq!((first.observations, first.errors, first.reported), (998, 8.0, 30.0));
        assert!((first.empirical - 20.457_57).abs() < 1e-4, "9 of 1,000: {first:?}");
        let cycles: Vec<_> =
            rows.by_cycle.iter().map(|it| (it.value.as_str(), it.observations)).collect();
        assert_eq!(cycles, [("-1", 400), ("2", 200)]);
        assert!(rows.by_cycle[0].reported > 20.0 && rows.by_cycle[0].reported < 30.0);
        let [context] = &rows.by_context[..] else { panic!("{rows:?}") };
        assert_eq!((context.value.as_str(), context.observations), ("AC", 100));
    }

    #[test]
    fn many_read_groups_are_taken_together() {
        let rows = table(11).quality_rows();
        let [row] = &rows.by_quality[..] else { panic!("{rows:?}") };
        assert_eq!((row.read_group.as_str(), row.observations), ("all", 11 * 998));
    }
}
