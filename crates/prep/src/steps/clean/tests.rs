//! Tests of clean-sam.
