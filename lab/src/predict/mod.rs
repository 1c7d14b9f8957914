//! Prediction: how locks, batches and memory limit machines that are not at hand.
//!
//! [`model`] is a closed network of a delay and stations, solved in product form or run as events
//! ([`simulate`]); [`calibrate`] fits it to curves that others published ([`published`]).

pub mod bands;
pub mod calibrate;
pub mod machine;
pub mod model;
pub mod peaks;
pub mod published;
pub mod report;
pub mod search;
pub mod simulate;
pub mod validate;
