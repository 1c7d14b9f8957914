//! Lines as samtools reads them, and lines that nobody should read.

use super::*;
use crate::bam::test_data::{TestBam, bam_folder, files, samtools};
use crate::bam::{check_record, framed_records};
use crate::sam::append_record;

const HEADER: &str = "@SQ\tSN:a\tLN:1000000\n@SQ\tSN:b\tLN:2000\n";

fn names() -> ReferenceNames {
    let header = crate::bam::Header::parse(HEADER.as_bytes()).unwrap();
    ReferenceNames::new(header.references())
}

fn parse(line: &str) -> Result<Vec<u8>, SamError> {
    let mut out = Vec::new();
    parse_record(line.as_bytes(), &names(), &mut out).map(|()| out)
}

/// The bodies that samtools makes of lines.
fn by_samtools(name: &str, lines: &[String]) -> Vec<Vec<u8>> {
    let stem = std::env::temp_dir().join(format!("seqloom-{}-parse-{name}", std::process::id()));
    let (sam_path, bam_path) = (stem.with_extension("sam"), stem.with_extension("bam"));
    std::fs::write(&sam_path, format!("{HEADER}{}\n", lines.join("\n"))).unwrap();
    samtools(&["view", "-b", "-o", bam_path.to_str().unwrap()], &sam_path).expect("it reads them");
    let bam = TestBam::read(&bam_path).unwrap();
    std::fs::remove_file(sam_path).unwrap();
    std::fs::remove_file(bam_path).unwrap();
    framed_records(&bam.records).map(|body| body.unwrap().to_vec()).collect()
}

fn assert_as_samtools(name: &str, lines: &[String]) {
    if bam_folder().is_none() {
        return;
    }
    let theirs = by_samtools(name, lines);
    assert_eq!(theirs.len(), lines.len());
    for (line, theirs) in lines.iter().zip(theirs) {
        let ours = parse(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        assert_eq!(ours, theirs, "{line}");
        assert_eq!(check_record(&ours, 2), Ok(u16::from_le_bytes([ours[10], ours[11]])), "{line}");
    }
}

/// A line with these FLAG, RNAME, POS and CIGAR, and what follows it.
fn line(flag: u16, place: &str, cigar: &str, rest: &str) -> String {
    format!("r\t{flag}\t{place}\t7\t{cigar}\t{rest}")
}

#[test]
fn places_are_those_of_samtools() {
    const REST: &str = "=\t20\t-9\tACGTA\tIIIII";
    let mut lines = Vec::new();
    for place in ["a\t1", "a\t0", "*\t0", "*\t5", "b\t2000", "b\t2147483000", "a\t536870912"] {
        for cigar in ["*", "5M", "2S3M", "1H2S1M2S3H", "1M1000N2M2D1M1P1I", "5I"] {
            for flag in [0, 4, 16, 0x41, 0x4d, 65535] {
                lines.push(line(flag, place, cigar, REST));
            }
        }
        for mate in ["*\t0\t0", "=\t0\t0", "b\t0\t1", "a\t7\t-2147483648", "=\t9\t2147483647"] {
            lines.push(line(1, place, "5M", &format!("{mate}\tACGTA\t*")));
        }
    }
    assert_as_samtools("places", &lines);
}

#[test]
fn bases_and_qualities_are_those_of_samtools() {
    let all: String = (b'A'..=b'Z').map(char::from).collect();
    let qualities: String = (b'!'..=b'~').map(char::from).collect();
    let mut lines: Vec<String> = [&all, &all.to_lowercase(), "=.ACGT=", "A", "AC", "*"]
        .map(|bases| line(4, "*\t0", "*", &format!("*\t0\t0\t{bases}\t*")))
        .to_vec();
    let bases = "N".repeat(qualities.len());
    lines.push(line(4, "*\t0", "*", &format!("*\t0\t0\t{bases}\t{qualities}")));
    lines.push(line(4, "*\t0", "*", "*\t0\t0\tAC\t**"));
    lines.push(line(0, "a\t4", "3M", "*\t0\t0\t*\t*"));
    assert_as_samtools("bases", &lines);
}

#[test]
fn auxiliary_fields_are_those_of_samtools() {
    const SEEN: &str = "*\t0\t0\tA\tI";
    let mut fields = Vec::new();
    for bits in [0_u32, 7, 8, 15, 16, 31] {
        for step in -1..=1_i64 {
            let edge = (1_i64 << bits) + step;
            fields.extend([format!("XI:i:{edge}"), format!("XI:i:-{edge}")]);
        }
    }
    fields.retain(|it| it != "XI:i:-2147483649" && it != "XI:i:--1");
    for number in ["1.5", "-0", "+3", "1e-7", "3.4e38", "1e-46", "nan", "-inf", "0.1", ".5", "1E5"]
    {
        fields.extend([format!("XF:f:{number}"), format!("XF:B:f,{number},2")]);
    }
    fields.extend(["4294967295", "-0", "+0", "007"].map(|it| format!("XI:i:{it}")));
    for text in [
        "XZ:Z:",
        "XZ:Z:with blanks:and:colons",
        "XZ:Z:gr\u{fc}n",
        "XH:H:",
        "XH:H:1AE3",
        "XA:A:!",
        "XA:A::",
        "Bc:B:c,-128,127",
        "BC:B:C,0,255",
        "Bs:B:s,-32768,32767",
        "BS:B:S,65535",
        "Bi:B:i,-2147483648",
        "BI:B:I,4294967295",
        "B0:B:c",
        "X0:d:1.25",
        "A!:Z:x",
        "XI:I:9",
        "XZ:Z:trailing tab\t",
    ] {
        fields.push(text.into());
    }
    let mut lines: Vec<String> =
        fields.iter().map(|it| line(4, "*\t0", "*", &format!("{SEEN}\t{it}"))).collect();
    lines.push(line(4, "*\t0", "*", &format!("{SEEN}\t{}", fields.join("\t"))));
    assert_as_samtools("aux", &lines);
}

#[test]
fn long_cigars_go_where_samtools_puts_them() {
    let line_of = |ops: usize, flag: u16| {
        let cigar = "1M1D".repeat(ops / 2) + if ops % 2 == 1 { "1M" } else { "" };
        let bases = "A".repeat(ops.div_ceil(2));
        line(flag, "a\t5", &cigar, &format!("*\t0\t0\t{bases}\t*\tXX:i:1\tXY:Z:y"))
    };
    let lines =
        [65_534, 65_535, 65_536, 70_001].map(|ops| [line_of(ops, 0), line_of(ops, 4)]).concat();
    assert_as_samtools("long", &lines);
}

#[test]
fn what_is_malformed_is_named() {
    fn t(line: &str, expected: &str) {
        let error = parse(&line.replace(' ', "\t")).unwrap_err().to_string();
        assert!(error.contains(expected), "{line}: {error}");
    }
    t("", "1 fields");
    t("r 0 a 1 0 1M * 0 0 A", "10 fields");
    t("@r 0 a 1 0 1M * 0 0 A I", "'@' in the read name");
    t("r@ 0 a 1 0 1M * 0 0 A I", "'@' in the read name");
    t("\u{e9} 0 a 1 0 1M * 0 0 A I", "byte 0xc3 in the read name");
    t(" 0 a 1 0 1M * 0 0 A I", "the read has no name");
    t(&format!("{} 0 a 1 0 1M * 0 0 A I", "r".repeat(255)), "255 bytes, more than 254");
    t("r 65536 a 1 0 1M * 0 0 A I", "FLAG \"65536\"");
    t("r 0x4 a 1 0 1M * 0 0 A I", "FLAG");
    t("r 0 c 1 0 1M * 0 0 A I", "RNAME \"c\" is not among the @SQ lines of the header");
    t("r 0 a -1 0 1M * 0 0 A I", "POS");
    t("r 0 a 2147483648 0 1M * 0 0 A I", "POS");
    t("r 0 a 99999999999999999999999 0 1M * 0 0 A I", "POS");
    t("r 0 a 1 256 1M * 0 0 A I", "MAPQ");
    t("r 0 a 1 0 M * 0 0 A I", "CIGAR");
    t("r 0 a 1 0 1M2 * 0 0 A I", "CIGAR");
    t("r 0 a 1 0 1B * 0 0 A I", "CIGAR");
    t("r 0 a 1 0 268435456M * 0 0 A I", "CIGAR");
    t("r 0 a 1 0 1S1H1M * 0 0 AA II", "CIGAR");
    t("r 0 a 1 0 2M * 0 0 A I", "SEQ has 1 bases and CIGAR covers 2");
    t("r 0 a 1 0 1M c 0 0 A I", "RNEXT");
    t("r 0 a 1 0 1M * 1.5 0 A I", "PNEXT");
    t("r 0 a 1 0 1M * 0 2147483648 A I", "TLEN");
    t("r 0 a 1 0 1M * 0 0 1 I", "SEQ");
    t("r 4 * 0 0 * * 0 0 A II", "1 bases and QUAL has 2");
    t("r 4 * 0 0 * * 0 0 * I", "0 bases and QUAL has 1");
    t("r 4 * 0 0 * * 0 0 AC I\u{7f}", "QUAL");
    for field in [
        "X",
        "XX",
        "XXX:i:1",
        "XX:i",
        "XX:i:",
        "XX:i:1x",
        "XX:i:4294967296",
        "XX:Q:1",
        "XX:A:",
        "XX:A:xy",
        "XX:H:1",
        "XX:H:1G",
        "XX:f:1.",
        "XX:f:x",
        "XX:f:1e39",
        "XX:B:",
        "XX:B:c1",
        "XX:B:c,",
        "XX:B:c,128",
        "XX:B:C,-1",
        "XX:B:q,1",
        "XX:Z:\u{7}",
    ] {
        t(&format!("r 4 * 0 0 * * 0 0 * * {field}"), "auxiliary field");
    }
    t("r 4 * 0 0 * * 0 0 * *  XX:i:1", "auxiliary field \"\"");
    let mut out = b"before".to_vec();
    let line = b"r\t0\tb\t1\t0\t1M\t*\t0\t0\tA\tI\tXX:i:x";
    assert!(parse_record(line, &names(), &mut out).is_err());
    assert_eq!(out, b"before");
    let error = parse_record(b"r\t0\ta\t1\t0\t1M\t*\t0\t0\tA\tI", &Default::default(), &mut out);
    assert!(error.unwrap_err().to_string().contains("of which there is none"));
}

#[test]
fn lines_of_dos_files() {
    let line = "r\t4\t*\t0\t0\t*\t*\t0\t0\tA\tI";
    assert_eq!(parse(&format!("{line}\r")), parse(line));
}

/// Records of real files, printed and parsed and printed again. (Bodies may differ: integers take
/// the smallest type.)
#[test]
fn parsing_inverts_printing() {
    let Some(folder) = bam_folder() else { return };
    let mut checked = 0;
    for path in files(&folder.join("nf-cmgg"), ".bam") {
        let bam = TestBam::read(&path).unwrap();
        let references = bam.header.references();
        let names = ReferenceNames::new(references);
        let (mut line, mut body, mut again) = (Vec::new(), Vec::new(), Vec::new());
        for original in framed_records(&bam.records) {
            let original = original.unwrap();
            for buffer in [&mut line, &mut body, &mut again] {
                buffer.clear();
            }
            append_record(original, references, &mut line).unwrap();
            parse_record(line.strip_suffix(b"\n").unwrap(), &names, &mut body).unwrap();
            append_record(&body, references, &mut again).unwrap();
            assert_eq!(again, line);
            let bases_end = crate::bam::RecordRef::new(&body).unwrap().aux_start();
            assert_eq!(body[..bases_end], original[..bases_end]);
            checked += 1;
        }
    }
    assert!(checked > 10_000, "{checked}");
}
