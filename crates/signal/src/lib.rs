//! Nanopore raw signal: one store over SLOW5, BLOW5, FAST5 and POD5, and what is done with it.

pub mod account;
pub mod aligned_read;
pub mod calling;
pub mod copying;
pub mod degrade;
pub mod demux;
pub mod event;
pub mod eventalign;
pub mod fast5;
pub mod flow;
pub mod hmm;
pub mod indexing;
pub mod inputs;
pub mod methylation;
pub mod pod5;
pub mod pool;
pub mod pore_model;
pub mod skimming;
pub mod sources;
pub mod store;
pub mod transcode;
pub mod union;
