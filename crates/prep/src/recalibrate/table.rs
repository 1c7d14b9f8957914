//! A recalibration table: what a report holds.

use std::collections::BTreeMap;

use super::counts::{Cell, EventRow};
use super::datum::Datum;
use super::quantize::Quantization;
use super::{Event, QUALITIES, RecalibrationOptions};

/// The arguments that a report states: those that applying it needs, and all as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Arguments {
    pub(crate) mismatches_context_bases: u8,
    pub(crate) indels_context_bases: u8,
    pub(crate) max_cycle: u32,
    pub(crate) low_quality_tail: u8,
    pub(crate) quantizing_levels: u8,
    /// Name and value, by name.
    pub(crate) rows: Vec<(String, String)>,
}

impl Arguments {
    pub(crate) fn new(options: &RecalibrationOptions) -> Self {
        let rows = [
            ("binary_tag_name", "null".to_owned()),
            (
                "covariate",
                "ReadGroupCovariate,QualityScoreCovariate,ContextCovariate,CycleCovariate".into(),
            ),
            ("default_platform", "null".into()),
            ("deletions_default_quality", "45".into()),
            ("force_platform", "null".into()),
            ("indels_context_size", options.indels_context_bases.to_string()),
            ("insertions_default_quality", "45".into()),
            ("low_quality_tail", options.low_quality_tail.to_string()),
            ("maximum_cycle_value", options.max_cycle.to_string()),
            ("mismatches_context_size", options.mismatches_context_bases.to_string()),
            ("mismatches_default_quality", "-1".into()),
            ("no_standard_covs", "false".into()),
            ("quantizing_levels", options.quantizing_levels.to_string()),
            ("recalibration_report", "null".into()),
            ("run_without_dbsnp", "false".into()),
            ("solid_nocall_strategy", "THROW_EXCEPTION".into()),
            ("solid_recal_mode", "SET_Q_ZERO".into()),
        ];
        Self {
            mismatches_context_bases: options.mismatches_context_bases,
            indels_context_bases: options.indels_context_bases,
            max_cycle: options.max_cycle,
            low_quality_tail: options.low_quality_tail,
            quantizing_levels: options.quantizing_levels,
            rows: rows.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        }
    }

    /// Bases of the contexts of an event.
    pub(crate) fn context_bases(&self, event: Event) -> u8 {
        match event {
            Event::Mismatch => self.mismatches_context_bases,
            Event::Insertion | Event::Deletion => self.indels_context_bases,
        }
    }
}

/// Value of a covariate besides read group and quality.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Covariate {
    /// Column of a context, see `covariates::context_text`.
    Context(usize),
    /// Cycle, negative in second reads.
    Cycle(i32),
}

/// Memory of a row, with its share of its map: keys and values of 56 bytes, of which a map that was
/// filled in any order has room for half as many again.
const ROW_BYTES: u64 = 96;

/// Observations and errors by covariates, with the quantization that follows from them.
#[derive(Debug, Clone, PartialEq)]
pub struct RecalibrationTable {
    pub(crate) arguments: Arguments,
    /// Names of read groups; keys of the maps below are indices into it.
    pub(crate) read_groups: Vec<String>,
    pub(crate) by_group: BTreeMap<(usize, Event), Datum>,
    pub(crate) by_quality: BTreeMap<(usize, u8, Event), Datum>,
    pub(crate) by_covariate: BTreeMap<(usize, u8, Covariate, Event), Datum>,
    pub(crate) quantization: Quantization,
}

fn datum(cell: Cell, error_units: u64, quality: u8) -> Datum {
    Datum::new(cell.observations, cell.errors as f64 / error_units as f64, quality.into())
}

/// A row by covariate, of one read group.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CovariateRow {
    pub(crate) quality: u8,
    pub(crate) covariate: Covariate,
    pub(crate) event: Event,
    pub(crate) datum: Datum,
}

impl CovariateRow {
    /// Its key in a [`RecalibrationTable`].
    pub(super) fn key(&self, group: usize) -> (usize, u8, Covariate, Event) {
        (group, self.quality, self.covariate, self.event)
    }
}

/// The rows by covariate of what was counted of a quality.
pub(super) fn covariate_rows(quality: u8, rows: &[EventRow], units: u64) -> Vec<CovariateRow> {
    let of_event = |row: &EventRow| {
        let contexts = row.by_context.iter();
        let contexts = contexts.map(|&(at, cell)| (Covariate::Context(at as usize), cell));
        let cycles = row.by_cycle.iter().map(|&(cycle, cell)| (Covariate::Cycle(cycle), cell));
        let event = row.event;
        let covariate_row = move |(covariate, cell)| {
            let datum = datum(cell, units, quality).rounded();
            CovariateRow { quality, covariate, event, datum }
        };
        contexts.chain(cycles).map(covariate_row).collect::<Vec<_>>()
    };
    rows.iter().flat_map(of_event).collect()
}

impl RecalibrationTable {
    /// Adds what was counted of a quality of a read group, but for its rows by covariate; the
    /// qualities of a group in order.
    pub(super) fn add_quality(&mut self, group: usize, quality: u8, rows: &[EventRow], units: u64) {
        for row in rows {
            let of_quality = datum(row.total, units, quality);
            let of_group = self.by_group.entry((group, row.event));
            of_group.and_modify(|it| it.combine(&of_quality)).or_insert(of_quality);
            self.by_quality.insert((group, quality, row.event), of_quality.rounded());
        }
    }

    /// Memory that its rows take.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        ROW_BYTES * (self.by_covariate.len() + self.by_quality.len()) as u64
    }

    /// Ends the table when all qualities are added.
    pub(super) fn close(&mut self) {
        self.by_group.values_mut().for_each(|datum| *datum = datum.rounded());
        self.quantize();
    }

    pub(crate) fn empty(arguments: Arguments, read_groups: Vec<String>) -> Self {
        Self {
            arguments,
            read_groups,
            by_group: BTreeMap::new(),
            by_quality: BTreeMap::new(),
            by_covariate: BTreeMap::new(),
            quantization: Quantization { counts: [0; QUALITIES], qualities: [0; QUALITIES] },
        }
    }

    /// Computes the quantization anew.
    pub(crate) fn quantize(&mut self) {
        let mut counts = [0_u64; QUALITIES];
        for datum in self.by_quality.values() {
            let count = &mut counts[usize::from(datum.empirical_quality(datum.reported))];
            *count = count.saturating_add(datum.observations);
        }
        self.quantization = Quantization::new(counts, self.arguments.quantizing_levels);
    }
}
