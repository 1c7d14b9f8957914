//! What a table says of reported qualities, for who reads it: by quality, by cycle, by context.

use std::collections::BTreeMap;

use super::Event;
use super::covariates::context_text;
use super::datum::Datum;
use super::log10::log10;
use super::table::Covariate;
use super::view::{TableError, TableView};

/// Read groups that are distinguished; of more, all are taken together.
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
    /// Bases that were counted.
    pub observations: u64,
    /// Mismatches, fractional where they were shared between bases.
    pub errors: f64,
    /// Reported quality: that of the errors that it expects.
    pub reported: f64,
    /// Quality by errors + 1 among observations + 2.
    pub empirical: f64,
}

/// Rows of a table summed by reported quality, by cycle and by context.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct QualityRows {
    /// By reported quality, of each read group where there are few.
    pub by_quality: Vec<QualityRow>,
    /// By cycle, of all read groups.
    pub by_cycle: Vec<QualityRow>,
    /// By context, of all read groups.
    pub by_context: Vec<QualityRow>,
}

/// Labels of a row.
struct Subject {
    read_group: String,
    value: String,
    position: f64,
}

/// Sums by key.
struct Sums<K>(BTreeMap<K, Datum>);

impl<K> Default for Sums<K> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<K: Ord> Sums<K> {
    fn add(&mut self, key: K, datum: &Datum) {
        if datum.observations > 0 {
            let sum = self.0.entry(key);
            sum.and_modify(|sum: &mut Datum| sum.combine(datum)).or_insert(*datum);
        }
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

impl QualityRows {
    /// Mismatches of a table.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn of(view: TableView<'_>) -> Result<Self, TableError> {
        let table = view.table;
        let writes_groups = table.read_groups.len() <= MOST_GROUPS;
        let group = |index: usize| if writes_groups { index } else { 0 };
        let all = || ALL.to_owned();
        let name = |index: usize| {
            if writes_groups {
                table.read_groups.get(index).cloned().unwrap_or_default()
            } else {
                all()
            }
        };
        let mut qualities = Sums::default();
        for (&(index, quality, event), datum) in &table.by_quality {
            if event == Event::Mismatch {
                qualities.add((group(index), quality), datum);
            }
        }
        let (mut cycles, mut contexts) = (Sums::default(), Sums::default());
        for index in 0..table.read_groups.len() {
            view.for_each_quality(index, |rows| {
                for row in rows.iter().filter(|row| row.event == Event::Mismatch) {
                    match row.covariate {
                        Covariate::Cycle(cycle) => cycles.add(cycle, &row.datum),
                        Covariate::Context(column) => contexts.add(column, &row.datum),
                    }
                }
                Ok(())
            })?;
        }
        let bases = table.arguments.context_bases(Event::Mismatch);
        let of_all = |value, position| Subject { read_group: all(), value, position };
        Ok(Self {
            by_quality: qualities.rows(|&(index, quality)| Subject {
                read_group: name(index),
                value: quality.to_string(),
                position: quality.into(),
            }),
            by_cycle: cycles.rows(|&it| of_all(it.to_string(), it.into())),
            by_context: contexts.rows(|&it| of_all(context_text(it, bases), it as f64)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recalibrate::RecalibrationOptions;
    use crate::recalibrate::table::{Arguments, RecalibrationTable};

    fn table(groups: usize) -> RecalibrationTable {
        let names = (0..groups).map(|index| format!("g{index}")).collect();
        let arguments = Arguments::new(&RecalibrationOptions::default());
        let mut table = RecalibrationTable::empty(arguments, names);
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
        let rows = QualityRows::of(table(2).view()).unwrap();
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
        let rows = QualityRows::of(table(11).view()).unwrap();
        let [row] = &rows.by_quality[..] else { panic!("{rows:?}") };
        assert_eq!((row.read_group.as_str(), row.observations), ("all", 11 * 998));
    }
}
