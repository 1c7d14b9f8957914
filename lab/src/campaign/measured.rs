//! What a campaign measured, for pages that show it next to other numbers.

use std::path::Path;

use super::record::{self, Facts};
use super::{CampaignError, EXPERIMENT, defined, summary};
use crate::table::Table;

/// A level of a factor.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Level<'a> {
    /// The factor's name.
    pub(crate) factor: &'a str,
    /// The level.
    pub(crate) level: &'a str,
}

/// Facts and medians of a campaign.
pub(crate) struct Measured {
    /// See [`Facts`].
    pub(crate) facts: Facts,
    /// Medians by configuration.
    pub(crate) table: Table,
}

impl Measured {
    /// Of a folder; `None` where no campaign was run there.
    ///
    /// # Errors
    /// What is there cannot be read.
    pub(crate) fn read(folder: &Path) -> Result<Option<Self>, CampaignError> {
        if !folder.join(record::FACTS).is_file() {
            return Ok(None);
        }
        let (text, facts, records) = record::read(folder)?;
        let file = folder.join(EXPERIMENT).display().to_string();
        let experiment = defined(&file, &text, &facts.settings)?;
        let table = summary::summary(&experiment, &records);
        Ok(Some(Self { facts, table }))
    }

    /// A median by threads, of rows in which the factors of these names have these levels.
    pub(crate) fn by_threads(&self, levels: &[Level<'_>], column: &str) -> Vec<(u32, f64)> {
        let place = |name: &str| self.table.factors.iter().position(|factor| factor == name);
        let (Some(threads), Some(column)) =
            (place("threads"), self.table.columns.iter().position(|other| other == column))
        else {
            return Vec::new();
        };
        let rows = self.table.rows.iter().filter(|row| {
            let is_it =
                |it: &Level<'_>| place(it.factor).is_some_and(|at| row.factors[at] == it.level);
            levels.iter().all(is_it)
        });
        let point = |row: &crate::table::Row| {
            let value = row.values[column];
            Some((row.factors[threads].parse().ok()?, value)).filter(|_| value.is_finite())
        };
        let mut points: Vec<(u32, f64)> = rows.filter_map(point).collect();
        points.sort_by_key(|point| point.0);
        points
    }
}
