//! The real reads aligned to the model, and scalings as other programs write them.

use std::collections::HashMap;

use crate::events::read::{BasecalledRead, ReadOptions, ReadScratch, SkipReason, align_read};
use crate::events::{ReadEvents, Scaling};
use crate::pore_model::{PoreModel, builtin};

pub(crate) use super::real_signal::{RealRead, folder, reads};

/// The reads through [`align_read`].
pub(crate) fn aligned(reads: &[RealRead]) -> Vec<Result<ReadEvents, SkipReason>> {
    let model = model();
    let mut scratch = ReadScratch::default();
    let options = ReadOptions::dna();
    let mut align = |read: &RealRead| {
        let mut out = ReadEvents::default();
        let basecalled = BasecalledRead { signal: &read.signal, sequence: &read.bases };
        align_read(&mut scratch, basecalled, &model, &options, &mut out)?;
        Ok(out)
    };
    reads.iter().map(&mut align).collect()
}

pub(crate) fn model() -> PoreModel {
    builtin::r9_4_1_nucleotide().unwrap()
}

/// Shift, scale and var.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scalings(pub(crate) [f64; 3]);

impl From<Scaling> for Scalings {
    fn from(it: Scaling) -> Self {
        Self([it.shift_pa, it.scale, it.var])
    }
}

/// Scalings by the name of the read, from a summary of nanopolish or f5c.
pub(crate) fn scalings(summary: &str) -> HashMap<String, Scalings> {
    let mut lines = summary.lines();
    let columns: Vec<&str> = lines.next().unwrap().split('\t').collect();
    let column = |name| columns.iter().position(|&it| it == name).unwrap();
    let requested = ["shift", "scale", "var"].map(column);
    let row = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        (
            fields[column("read_name")].into(),
            Scalings(requested.map(|it| fields[it].parse().unwrap())),
        )
    };
    lines.map(row).collect()
}

/// Ours are theirs to all three digits.
pub(crate) fn assert_same(pairs: &[(Scalings, Scalings)]) {
    for (ours, theirs) in pairs {
        let is_same = ours.0.iter().zip(theirs.0).all(|(a, b)| (a - b).abs() < 0.000_501);
        assert!(is_same, "{ours:?}, not {theirs:?}");
    }
}
