//! Events, methylation calls and event tables against nanopolish, which is run on the same reads.
//!
//! A few reads are compared always, all of them where slow tests are requested. The calls of all
//! reads are always compared with those that f5c's tests expect.

mod calls;
mod events;
mod inputs;
mod referee;
mod tables;
