//! Event tables: which event belongs to which base of the reference.
