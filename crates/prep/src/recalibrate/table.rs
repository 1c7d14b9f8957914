//! A recalibration table: what a report holds.

use std::collections::BTreeMap;

use super::counts::{Cell, Counts};
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

/// Value of a covariate beside read group and quality.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Covariate {
    /// Column of a context, see `covariates::context_text`.
    Context(usize),
    /// Cycle, negative in second reads.
    Cycle(i32),
}

/// Observations and errors by covariates, with the quantization that follows from them.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
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

impl Table {
    /// The table of what all workers have counted (merged), with the options and the read groups
    /// of their counter.
    pub(super) fn from_counts(
        counts: &Counts,
        options: &RecalibrationOptions,
        read_groups: &[String],
    ) -> Self {
        let mut table = Self::empty(Arguments::new(options), read_groups.to_vec());
        let units = options.error_units();
        for (group, cells) in counts.groups() {
            for (event, cells) in cells.events() {
                for quality in 0..QUALITIES as u8 {
                    let cell = cells.quality(quality);
                    if cell.is_empty() {
                        continue;
                    }
                    let of_quality = datum(cell, units, quality);
                    let of_group = table.by_group.entry((group, event));
                    of_group.and_modify(|it| it.combine(&of_quality)).or_insert(of_quality);
                    table.by_quality.insert((group, quality, event), of_quality.rounded());
                    let contexts = cells.by_context(quality);
                    let contexts = contexts.map(|(at, cell)| (Covariate::Context(at), cell));
                    let cycles = cells.by_cycle(quality);
                    let cycles = cycles.map(|(cycle, cell)| (Covariate::Cycle(cycle), cell));
                    let rows = contexts.chain(cycles).map(|(value, cell)| {
                        ((group, quality, value, event), datum(cell, units, quality).rounded())
                    });
                    table.by_covariate.extend(rows);
                }
            }
        }
        table.by_group.values_mut().for_each(|datum| *datum = datum.rounded());
        table.quantize();
        table
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
