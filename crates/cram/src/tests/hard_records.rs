//! Records that are hard to encode.

use super::*;

const C1: &str =
    "ACGTACGTTAGCCATGCANNACGTRYACGTTTACGATCGATCGGGCTATATTACGCGCGATATATCGCTAGCTAGGCTAGC";

fn sequences() -> Sequences {
    vec![("c1", C1.to_owned()), ("c2", "T".repeat(200)), ("c3", C1.repeat(40))]
}

/// Writes lines and reads them back; how many records have NM or MD that they had not.
fn t(lines: &[&str]) -> usize {
    let text: String = lines.iter().map(|line| line.replace(' ', "\t") + "\n").collect();
    let groups = "@RG\tID:one\tSM:s\n@RG\tID:two\tSM:s\n";
    let input = Input::of(sequences(), groups, &text);
    let usual = compare(&input, &input.write(USUAL, usize::MAX));
    for version in [Version::V30, Version::V31] {
        for (level, keeps_mismatch_tags) in [(0, false), (9, true), (1, true), (6, false)] {
            compare(&input, &input.write(Settings { version, level, keeps_mismatch_tags }, 3));
        }
    }
    usual.made_tags
}

#[test]
fn files_without_records_and_without_sequences_are_read() {
    let input = Input::of(sequences(), "", "");
    compare(&input, &input.write(USUAL, usize::MAX));
    let unaligned = "a\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII\nb\t4\t*\t0\t0\t*\t*\t0\t0\t*\t*\n";
    let input = Input::of(Vec::new(), "", unaligned);
    let folder = tempfile::tempdir().unwrap();
    input.put(folder.path(), &input.write(USUAL, usize::MAX));
    for version in SAMTOOLS {
        let Some(samtools) = referees::find("samtools", version) else { continue };
        assert_eq!(printed(&samtools, &["view", "x.cram"], folder.path()), unaligned);
    }
}

#[test]
fn long_headers_are_compressed_and_read() {
    let comments: String = (0..2000).map(|it| format!("@CO\tcomment {it}\n")).collect();
    let input = Input::of(sequences(), &comments, "a\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII\n");
    let written = input.write(USUAL, 1);
    assert!(written.cram.len() < comments.len() / 2);
    let folder = tempfile::tempdir().unwrap();
    input.put(folder.path(), &written);
    for version in SAMTOOLS {
        let Some(samtools) = referees::find("samtools", version) else { continue };
        let header = printed(&samtools, &["view", "-H", "--no-PG", "x.cram"], folder.path());
        assert!(header.ends_with(&comments));
        assert!(header.contains("\tM5:"));
    }
}

#[test]
fn unmapped_reads_are_read_with_and_without_places() {
    t(&[
        "p 69 c1 5 0 * = 5 0 ACGTN !!!!!",
        "p 137 c1 5 60 5M = 5 0 ACGTT *",
        "q 77 * 0 0 * * 0 0 * *",
        "q 141 * 0 0 * * 0 0 NNRYK IIIII",
        "r 4 * 0 0 * * 0 0 * *",
    ]);
}

#[test]
fn bases_and_qualities_may_be_missing() {
    t(&[
        "a 0 c1 3 7 5M * 0 0 * *",
        "b 0 c1 3 7 2S3M1I2D4M3H * 0 0 * *",
        "c 0 c1 3 7 4M * 0 0 GTAC *",
        "d 256 c1 3 0 4M * 0 0 * *",
        "e 0 c1 3 7 4M * 0 0 GTAC IIII",
        "f 4 c1 3 0 * * 0 0 * *",
        "g 0 c1 3 7 1S * 0 0 A !",
    ]);
}

#[test]
fn every_operation_of_a_cigar_is_kept() {
    t(&[
        "a 0 c1 1 60 3H2S4M2I3D4M5N6M1P2M1S2H * 0 0 TTACGTGGCATGGGGGGGCAC *",
        "b 0 c3 100 60 10M700N10M * 0 0 ACGTACGTACACGTACGTAC *",
        "c 0 c3 100 60 1S1I1S * 0 0 ACG *",
        "d 0 c3 100 60 5I * 0 0 ACGTA *",
        "e 0 c3 100 60 2M1I3M1D1I2M * 0 0 ACGTACGTA *",
        "f 16 c3 100 60 3D4M * 0 0 ACGT *",
    ]);
}

#[test]
fn ambiguous_bases_are_kept_in_reads_and_references() {
    // Places 19 and 20 of c1 are N, 25 and 26 are R and Y.
    t(&[
        "a 0 c1 10 60 20M * 0 0 AGCCATGCANNACGTRYACG *",
        "b 0 c1 10 60 20M * 0 0 NNNNNNNNNNNNNNNNNNNN *",
        "c 0 c1 10 60 20M * 0 0 =ACMGRSVTWYHKDBN=ACM *",
        "d 0 c1 17 60 6M * 0 0 CAACAC * NM:i:2 MD:Z:2N0N2",
        "e 0 c1 17 60 6M * 0 0 CANNAC * NM:i:0 MD:Z:6",
        "f 0 c1 1 60 6M * 0 0 ANGTAC * NM:i:1 MD:Z:1C4",
        "g 0 c1 15 60 2M6D2M * 0 0 TGAC * NM:i:6 MD:Z:2^CANNAC2",
    ]);
}

#[test]
fn reads_past_the_end_of_their_reference_are_kept() {
    t(&[
        "a 0 c1 75 60 20M * 0 0 GCTAGCACGTACGTACGTAC IIIIIIIIIIIIIIIIIIII",
        "b 4 c1 300 0 * * 0 0 GCAAC *",
    ]);
}

#[test]
fn mismatch_tags_come_back_as_they_were() {
    let made = t(&[
        "a 0 c2 1 60 10M * 0 0 TTTTTTTTTT * NM:i:0 MD:Z:10",
        "b 0 c2 1 60 10M * 0 0 ATTTTCTTTG * NM:i:3 MD:Z:0T4T3T0",
        // Not what a reader would make.
        "c 0 c2 1 60 10M * 0 0 ATTTTCTTTG * NM:i:4 MD:Z:T4T3T0",
        "d 0 c2 1 60 10M * 0 0 ATTTTCTTTG * NM:Z:3 MD:i:1",
        "e 0 c2 1 60 2S3M1I4M2D3M * 0 0 AATTTATTTTTTT * MD:Z:7^TT3 NM:i:3",
        "f 0 c2 1 60 200M * 0 0 * * NM:i:0 MD:Z:200",
    ]);
    assert_eq!(made, 0);
    assert_eq!(t(&["a 0 c2 1 60 4M * 0 0 TTTT *", "b 0 c2 1 60 4M * 0 0 TTTT * NM:i:0"]), 2);
}

#[test]
fn tags_of_all_types_are_kept() {
    t(&[
        "a 0 c2 1 60 2M * 0 0 TT * XA:A:x Xc:i:-3 XC:i:200 Xs:i:-300 XS:i:60000",
        "a 0 c2 1 60 2M * 0 0 TT * Xi:i:-70000 XI:i:4000000000",
        "b 0 c2 1 60 2M * 0 0 TT * Xf:f:1.5 XZ:Z:text XY:Z: XH:H:1AFF XE:H:",
        "c 0 c2 1 60 2M * 0 0 TT * B1:B:c,-1,2 B2:B:C,1,255 B3:B:s,-300 B4:B:S,60000 B5:B:i,-70000",
        "d 0 c2 1 60 2M * 0 0 TT * B6:B:I,4000000000 B7:B:f,1.5,-2 B8:B:i B9:B:C",
        "e 0 c2 1 60 2M * 0 0 TT * RG:Z:two XZ:Z:other",
        "f 0 c2 1 60 2M * 0 0 TT * XZ:Z:first RG:Z:one",
        "g 0 c2 1 60 2M * 0 0 TT * RG:Z:unknown XC:i:3",
        "h 4 * 0 0 * * 0 0 TT * RG:Z:one XZ:i:7",
    ]);
}

#[test]
fn tabs_in_texts_are_kept() {
    let lines = "a\t0\tc2\t1\t60\t2M\t*\t0\t0\tTT\t*\tXZ:Z:one_two\tXY:Z:x\n";
    let mut input = Input::of(sequences(), "", &lines.repeat(3));
    // SAM has none: into BAM's bytes.
    let at = memchr::memmem::find(&input.records[1], b"one_two").unwrap();
    input.records[1][at + 3] = b'\t';
    let written = input.write(USUAL, usize::MAX);
    let folder = tempfile::tempdir().unwrap();
    input.put(folder.path(), &written);
    for version in SAMTOOLS {
        let Some(samtools) = referees::find("samtools", version) else { continue };
        let read = printed(&samtools, &["view", "-T", "r.fa", "x.cram"], folder.path());
        let texts: Vec<bool> = read.lines().map(|line| line.contains("one\ttwo")).collect();
        assert_eq!(texts, [false, true, false]);
        assert!(read.lines().all(|line| line.contains("XY:Z:x")));
    }
}

#[test]
fn mates_come_back_whether_they_are_stored_or_found() {
    t(&[
        // Found in the slice.
        "a 99 c3 100 60 10M = 130 40 ACGTACGTAC *",
        "b 83 c3 120 60 10M = 110 -20 ACGTACGTAC *",
        "a 147 c3 130 60 10M = 100 -40 ACGTACGTAC *",
        // Another TLEN, no flag of the mate's strand, no mate, itself.
        "d 99 c3 140 60 10M = 170 41 ACGTACGTAC *",
        "e 67 c3 140 60 10M = 170 40 ACGTACGTAC *",
        "f 99 c3 140 60 10M c2 7 0 ACGTACGTAC *",
        "g 99 c3 140 60 10M = 140 10 ACGTACGTAC *",
        "g 147 c3 140 60 10M = 140 -10 ACGTACGTAC *",
        "d 147 c3 170 60 10M = 140 -40 ACGTACGTAC *",
        "e 147 c3 170 60 10M = 140 -40 ACGTACGTAC *",
        // A supplementary record between, three of a name.
        "h 99 c3 180 60 10M = 190 20 ACGTACGTAC *",
        "h 2147 c3 185 60 5H5M = 190 0 ACGTA *",
        "h 147 c3 190 60 10M = 180 -20 ACGTACGTAC *",
        "h 99 c3 195 60 10M = 180 -20 ACGTACGTAC *",
        "j 99 c3 197 60 5M3D5M = 210 20 ACGTACGTAC *",
        "j 147 c3 210 60 2S5M3S = 197 -18 ACGTACGTAC *",
    ]);
}

#[test]
fn cigars_of_more_than_65535_operations_are_kept() {
    let (pairs, mut cigar, mut bases) = (40_000, String::new(), String::new());
    for _ in 0..pairs {
        cigar += "1M1I";
        bases += "TC";
    }
    let line = format!("a\t0\tc2\t1\t60\t{cigar}\t*\t0\t0\t{bases}\t*\tXX:i:1\n");
    let long = vec![("c2", "T".repeat(50_000))];
    let input = Input::of(long, "", &line);
    compare(&input, &input.write(USUAL, usize::MAX));
}

#[test]
fn what_cram_cannot_hold_is_refused_by_name() {
    let line = "a\t0\tc2\t1\t60\t2M\t*\t0\t0\tTT\t*\n";
    let mut input = Input::of(sequences(), "", line);
    let bad = |input: &Input, sequences: &[Vec<u8>]| {
        let read_groups = HashMap::new();
        let mut encoder = Encoder::new(USUAL, Referred { sequences, read_groups: &read_groups });
        let mut containers = Vec::new();
        encoder.push(&RecordRef::new(&input.records[0]).unwrap(), None, &mut containers).unwrap();
        encoder.finish_unit(&mut containers).unwrap_err().to_string()
    };
    let error = bad(&input, &[]);
    assert_eq!(error, "record a is on reference 1, which the header does not have");
    for line in ["a\t0\tc1\t300\t60\t2M\t*\t0\t0\tTT\t*", "a\t0\tc1\t78\t6\t2M9D\t*\t0\t0\tTT\t*"] {
        let input = Input::of(sequences(), "", line);
        let error = bad(&input, &[C1.as_bytes().to_vec()]);
        assert!(error.starts_with("record a: it begins or deletes past the end"), "{error}");
    }
    // A CIGAR of 3 bases: the operation is after the name.
    input.records[0][34] = 3 << 4;
    let error = bad(&input, &[Vec::new(), vec![b'T'; 9]]);
    assert!(error.starts_with("record a: its CIGAR covers 3 of 2 bases"), "{error}");
}
