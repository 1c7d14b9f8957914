//! Tests of the dictionary step.
