//! Nanopore raw signal: one store over SLOW5, BLOW5, FAST5 and POD5, and what is done with it.

pub mod fast5;
pub mod pod5;
