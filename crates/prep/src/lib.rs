//! Preparation of aligned reads: duplicates, sorting, recalibration, metrics. Knows no aligner and
//! no command line.
//!
//! The rooms in the order of the flow: records come in through [`input`], pass the [`steps`], wait
//! in a [`partition`] until all are there, and leave through [`finish`]. Between the two,
//! [`duplicates`] are found and base qualities [`recalibrate`]d; [`metrics`] are counted on the
//! way. [`exchange`] is how several processes share the work.

pub mod duplicates;
pub mod exchange;
pub mod finish;
pub mod input;
pub mod metrics;
pub mod partition;
pub mod recalibrate;
pub mod steps;
#[cfg(test)]
mod test_records;
