//! Prediction: how locks, batches and memory limit machines that are not at hand.
//!
//! [`model`] is a closed network of a delay and stations, solved in product form or run as events
//! ([`simulate`]); [`calibrate`] fits it to curves that others published ([`published`]).

pub(crate) mod bands;
pub(crate) mod calibrate;
pub(crate) mod machine;
pub(crate) mod model;
pub(crate) mod peaks;
mod prose;
pub(crate) mod published;
pub(crate) mod report;
pub(crate) mod search;
pub(crate) mod simulate;
pub(crate) mod validate;

#[cfg(test)]
mod prediction_tests;
