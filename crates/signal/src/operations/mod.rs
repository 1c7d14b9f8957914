//! Stages of a pass: what is made of stored reads.

pub mod copy;
pub mod degrade;
pub mod demultiplex;
pub mod index;
pub mod merge;
pub mod metadata;
pub mod transcode;
