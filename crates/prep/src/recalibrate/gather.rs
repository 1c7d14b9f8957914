//! Reports of parts of the reads, put together (GatherBQSRReports).

use std::collections::{BTreeMap, HashMap};

use seqloom_runtime::error::{Class, RunError};

use super::RecalibrationTable;
use super::datum::Datum;

/// Why reports cannot be put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum GatherError {
    /// No reports, or nothing in any of them.
    #[error("there is nothing to gather: no report has any observations")]
    Nothing,
    /// They were made with other options.
    #[error(
        "report {0} was made with another context size or largest cycle than report 1, and their \
         rows cannot be added"
    )]
    OtherArguments(usize),
}

impl RunError for GatherError {
    fn class(&self) -> Class {
        match self {
            Self::Nothing | Self::OtherArguments(_) => Class::Input,
        }
    }
}

/// Adds up reports. Arguments are those of the first; quantization follows from the sum.
///
/// # Errors
/// There is nothing to add, or the reports do not fit together.
pub fn gather(
    tables: impl IntoIterator<Item = RecalibrationTable>,
) -> Result<RecalibrationTable, GatherError> {
    let mut tables = tables.into_iter();
    let mut sum = tables.next().ok_or(GatherError::Nothing)?;
    for (index, table) in tables.enumerate() {
        add(&mut sum, table, index + 2)?;
    }
    if sum.by_group.is_empty() {
        return Err(GatherError::Nothing);
    }
    sum.quantize();
    Ok(sum)
}

fn add(
    sum: &mut RecalibrationTable,
    table: RecalibrationTable,
    number: usize,
) -> Result<(), GatherError> {
    let shape = |table: &RecalibrationTable| {
        let arguments = &table.arguments;
        let contexts = (arguments.mismatches_context_bases, arguments.indels_context_bases);
        (contexts, arguments.max_cycle)
    };
    // A part without rows fits anything.
    if !table.by_covariate.is_empty() && shape(sum) != shape(&table) {
        return Err(GatherError::OtherArguments(number));
    }
    let mut known: HashMap<String, usize> = sum.read_groups.iter().cloned().zip(0..).collect();
    let mut groups = Vec::with_capacity(table.read_groups.len());
    for name in &table.read_groups {
        let next = known.len();
        let group = *known.entry(name.clone()).or_insert(next);
        if group == sum.read_groups.len() {
            sum.read_groups.push(name.clone());
        }
        groups.push(group);
    }
    add_rows(&mut sum.by_group, table.by_group, |key| (groups[key.0], key.1));
    add_rows(&mut sum.by_quality, table.by_quality, |key| (groups[key.0], key.1, key.2));
    add_rows(&mut sum.by_covariate, table.by_covariate, |key| (groups[key.0], key.1, key.2, key.3));
    Ok(())
}

fn add_rows<K: Ord>(
    rows: &mut BTreeMap<K, Datum>,
    others: BTreeMap<K, Datum>,
    key: impl Fn(K) -> K,
) {
    for (other_key, datum) in others {
        rows.entry(key(other_key)).and_modify(|it| it.combine(&datum)).or_insert(datum);
    }
}
