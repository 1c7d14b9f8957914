//! Noise and damaged text through the parsers of this crate: no panic, and the promises that
//! `exercise.rs` lists. The fuzz targets run the same functions for longer.
#![allow(clippy::unwrap_used)]

mod exercise;
mod models;
mod npz;

use proptest::prelude::*;
use seqloom_calling::methylation::TableFormat;
use seqloom_testkit::damage::{Change, damaged};

const ROWS: &str = "c1\t-\t100\t104\tr\t-5.35\t-10.00\t-7.65\t1\t2\tAACGTACGTT\n\
                    c1\t+\t120\t120\tr\t3.00\t-1e2\t-7\t1\t1\tAACGT\n";

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn methylation_tables(
        noise in "[c+\t\n0-9.eE-]{0,80}",
        changes in prop::collection::vec(any::<Change>(), 0..5),
    ) {
        let table = format!("{}{ROWS}", TableFormat::Nanopolish.header());
        exercise::methylation_table(noise.as_bytes());
        exercise::methylation_table(&damaged(table.as_bytes(), &changes));
        exercise::methylation_table(format!("{}{noise}", TableFormat::F5c.header()).as_bytes());
    }
}
