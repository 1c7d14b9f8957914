//! Tables for clean-sam; e is 40 bp long. Picard itself judges in `tests/steps`.

use super::super::StepOptions;
use super::super::test_bodies::{apply, header, ops};
use super::*;
use proptest::prelude::*;

fn cleaned(line: &str) -> String {
    let options = StepOptions { clean_sam: true, ..StepOptions::default() };
    apply(&options.build(&header()).unwrap(), &[line]).0.remove(0)
}

#[test]
fn alignments_past_the_end_are_clipped() {
    /// At this position of e; the CIGAR gives the number of bases.
    fn t(position: u32, cigar: &str, expected: &str) {
        let bases = "A".repeat(read_bases(&ops(cigar)) as usize);
        let line =
            |cigar: &str| format!("r 0 e {position} 60 {cigar} * 0 0 {bases} {bases} NM:i:1");
        assert_eq!(cleaned(&line(cigar)), line(expected));
    }
    t(31, "10M", "10M");
    t(32, "10M", "9M1S");
    t(36, "10M", "5M5S");
    t(36, "5S10M3H", "5S5M5S3H");
    t(36, "10M5S", "5M10S");
    t(31, "10M5S", "10M5S");
    t(36, "4=6X", "4=1X5S");
    t(36, "6M1I6M", "5M8S"); // Picard leaves 6M7S, which is one too long
    t(36, "2M2D6M", "2M2D1M5S");
    t(39, "2M4D6M", "8S"); // more hangs over than is there: Picard clips all
    t(41, "10M", "10S");
    t(45, "10M", "10S"); // Picard: a CIGAR that is longer than the read
    t(45, "2H10M", "2H10S");
    t(45, "3S10M2S4H", "15S4H");
    t(38, "2M10N2M", "4S");
    t(41, "10S", "10S");
}

#[test]
fn unmapped_reads_get_mapping_quality_0() {
    let line = "r 4 e 39 17 10M * 0 0 AAAAAAAAAA IIIIIIIIII";
    assert_eq!(cleaned(line), line.replace(" 17 ", " 0 "));
    let mapped = "r 0 e 5 17 10M * 0 0 AAAAAAAAAA IIIIIIIIII";
    assert_eq!(cleaned(mapped), mapped);
    // On no reference there is nothing to hang over.
    let nowhere = "r 0 * 5 17 10M * 0 0 AAAAAAAAAA IIIIIIIIII";
    assert_eq!(cleaned(nowhere), nowhere);
}

#[test]
fn mates_past_the_end_have_their_mc_changed() {
    fn t(flags: u16, mate: &str, mc: &str, expected: &str) {
        let line = |mc: &str| format!("r {flags} c 5 60 4M {mate} 0 ACGT IIII MC:Z:{mc} XX:i:1");
        assert_eq!(cleaned(&line(mc)), line(expected));
    }
    t(0x41, "e 36", "10M2H", "5M5S2H");
    t(0x41, "e 31", "10M", "10M");
    t(0x41, "= 998", "4M", "3M1S");
    t(0x49, "e 36", "10M", "10M");
    t(0x40, "e 36", "10M", "10M");
    t(0x41, "* 0", "10M", "10M");
    for odd in ["*", "M", "10", "10Q", "99999999999M"] {
        t(0x41, "e 36", odd, odd);
    }
}

proptest! {
    #[test]
    fn whatever_hangs_over_is_clipped_and_no_base_is_lost(
        text in "([1-9][MIDNSHP=X]){1,8}",
        start in 0_i64..60,
        length_bp in 1_i64..50,
    ) {
        let before = ops(&text);
        let mut after = before.clone();
        if start + span(&before) > length_bp {
            clip_to(&mut after, start, length_bp);
            prop_assert!(start + span(&after) <= length_bp || span(&after) == 0);
            prop_assert_eq!(read_bases(&after), read_bases(&before));
            prop_assert!(after.len() <= before.len() + 1);
        }
    }
}
