//! Which orders of BAM records pass, and what is said of the others.

use super::*;
use crate::test_input::TestInput;

const ALIGNED: &str = "\tc\t1\t60\t4M\t*\t0\t0\tACGT\tIIII\n";
const UNALIGNED: &str = "\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII\n";

/// What is said of a BAM file with such records: name and flags, alignments where 0x4 is not set.
fn outcome(hd: &str, records: &[(&str, u16)]) -> Result<BamTotals, String> {
    let mut text = format!("{hd}@SQ\tSN:c\tLN:900\n");
    for (name, flags) in records {
        let rest = if flags & 4 == 0 { ALIGNED } else { UNALIGNED };
        text.push_str(&format!("{name}\t{flags}{rest}"));
    }
    let mut outcomes = [1, 100, 1 << 20].map(|block_bytes| {
        let input = TestInput::bam(&text, block_bytes);
        let folder = input.source.path(0).parent().unwrap().display().to_string();
        let mut order = MateOrder::of(&input.source).unwrap();
        while let Some(block) = input.fetch() {
            let said = order.accept(&block);
            said.map_err(|error| error.to_string().replace(&folder, ""))?;
        }
        Ok(order.totals())
    });
    assert!(outcomes.iter().all(|one| *one == outcomes[0]), "{outcomes:?}");
    std::mem::replace(&mut outcomes[0], Ok(BamTotals::default()))
}

fn totals(aligned_reads: u64, left_out_records: u64, reads_without_mate: u64) -> BamTotals {
    BamTotals { aligned_reads, left_out_records, reads_without_mate }
}

#[test]
fn neighbours_and_reads_without_a_mate_pass() {
    let t = |records: &[(&str, u16)], expected: BamTotals| {
        for hd in ["", "@HD\tVN:1.6\tSO:queryname\n", "@HD\tVN:1.6\tSO:unsorted\tGO:query\n"] {
            assert_eq!(outcome(hd, records), Ok(expected), "{records:?}");
        }
    };
    t(&[], totals(0, 0, 0));
    t(&[("a", 77), ("a", 141), ("b", 77), ("b", 141), ("c", 4)], totals(0, 0, 0));
    // Aligned, with secondary and supplementary records between the mates.
    t(&[("a", 65), ("a", 0x841), ("a", 0x181), ("a", 129), ("b", 0)], totals(3, 2, 0));
    // Mates that are nowhere, first, between and last.
    t(&[("a", 141), ("b", 77), ("b", 141), ("c", 77), ("d", 4), ("e", 77)], totals(0, 0, 3));
    // Two pairs of one name, and one end of a name twice.
    t(&[("a", 77), ("a", 141), ("a", 77), ("a", 141)], totals(0, 0, 0));
    t(&[("a", 77), ("a", 77), ("a", 141), ("b", 77), ("b", 77)], totals(0, 0, 3));
}

#[test]
fn unaligned_reads_may_claim_any_order() {
    let by_coordinate = "@HD\tVN:1.6\tSO:coordinate\n";
    assert_eq!(outcome(by_coordinate, &[("a", 77), ("a", 141)]), Ok(totals(0, 0, 0)));
}

#[test]
fn mates_in_other_places_are_refused_with_the_command_that_helps() {
    let t = |records: &[(&str, u16)], name: &str, [first, second]: [u64; 2]| {
        let expected = format!(
            "/in.bam: the mates of '{name}' are primary records {first} and {second}, but they \
             must be neighbours, the first of the pair first; group it by name first: `samtools \
             collate -o grouped.bam /in.bam`"
        );
        assert_eq!(outcome("", records), Err(expected), "{records:?}");
    };
    t(&[("a", 77), ("b", 77), ("a", 141), ("b", 141)], "a", [1, 3]);
    t(&[("a", 65), ("b", 65), ("b", 129), ("a", 129)], "a", [1, 4]);
    t(&[("a", 141), ("a", 77)], "a", [1, 2]);
    t(&[("a", 77), ("a", 141), ("b", 0x901), ("c", 141), ("c", 77), ("d", 4)], "c", [3, 4]);
}

#[test]
fn alignments_by_coordinate_are_refused() {
    let error = outcome("@HD\tVN:1.6\tSO:coordinate\n", &[("a", 0)]).unwrap_err();
    assert!(error.contains("/in.bam: holds alignments and is sorted by coordinate"), "{error}");
    assert!(error.contains("samtools collate"), "{error}");
}
