//! Against the referees, on real reads: events, scalings, models, calls, tables and tags.

mod f5c;
mod flow;
mod modbam;
mod models;
mod nanopolish;
mod real_reads;
mod real_signal;
