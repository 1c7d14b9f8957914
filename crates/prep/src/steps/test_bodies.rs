//! Records for the tests of steps, written as SAM lines.

use seqloom_format::bam::edit::append_tag;
use seqloom_format::bam::{
    AuxValue, BASE_LETTERS, CIGAR_LETTERS, Header, RecordRef, framed_records, reg2bin,
};
use seqloom_format::sam;

use super::{StepCounts, StepScratch, Steps};

/// References c (1000 bp), d (500 bp) and e (40 bp), read groups a and b.
pub(super) fn header() -> Header {
    Header::parse(
        b"@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:c\tLN:1000\n@SQ\tSN:d\tLN:500\n\
          @SQ\tSN:e\tLN:40\n@RG\tID:a\tSM:x\n@RG\tID:b\tSM:y\n@PG\tID:p\n",
    )
    .unwrap()
}

fn reference_id(name: &str, own: i32) -> i32 {
    match name {
        "*" => -1,
        "=" => own,
        name => header().references().iter().position(|it| it.name == name).unwrap() as i32,
    }
}

/// Packed operations of CIGAR text.
pub(super) fn ops(text: &str) -> Vec<u32> {
    let mut ops = Vec::new();
    let mut length = 0;
    for byte in text.bytes().filter(|&byte| byte != b'*') {
        match CIGAR_LETTERS.iter().position(|&it| it == byte) {
            Some(code) => ops.push(std::mem::take(&mut length) << 4 | code as u32),
            None => length = length * 10 + u32::from(byte - b'0'),
        }
    }
    ops
}

/// The body of a record given as SAM text with spaces for tabs; tags of types i, A and Z.
pub(super) fn body(line: &str) -> Vec<u8> {
    let columns: Vec<&str> = line.split_whitespace().collect();
    let number = |index: usize| columns[index].parse::<i32>().unwrap();
    let bases = columns[9].trim_start_matches('*').as_bytes();
    let own = reference_id(columns[2], -1);
    let mut body = Vec::new();
    let mut words = |words: &[i32]| words.iter().for_each(|it| body.extend(it.to_le_bytes()));
    words(&[own, number(3) - 1]);
    body.extend([columns[0].len() as u8 + 1, columns[4].parse().unwrap(), 0, 0]);
    let ops = ops(columns[5]);
    body.extend((ops.len() as u16).to_le_bytes());
    body.extend(columns[1].parse::<u16>().unwrap().to_le_bytes());
    let mut words = |words: &[i32]| words.iter().for_each(|it| body.extend(it.to_le_bytes()));
    let mate = reference_id(columns[6], own);
    words(&[bases.len() as i32, mate, number(7) - 1, number(8)]);
    body.extend(columns[0].bytes().chain([0]));
    ops.iter().for_each(|op| body.extend(op.to_le_bytes()));
    let code = |letter: &u8| BASE_LETTERS.iter().position(|it| it == letter).unwrap() as u8;
    body.extend(bases.chunks(2).map(|two| code(&two[0]) << 4 | two.get(1).map_or(0, code)));
    match columns[10] {
        "*" => body.extend(vec![0xff; bases.len()]),
        qualities => body.extend(qualities.bytes().map(|byte| byte - 33)),
    }
    let record = RecordRef::new(&body).unwrap();
    let bin = reg2bin(record.position().into(), record.reference_end());
    body[10..12].copy_from_slice(&bin.to_le_bytes());
    for field in &columns[11..] {
        let tag = [field.as_bytes()[0], field.as_bytes()[1]];
        let text = &field[5..];
        let value = match &field[3..4] {
            "i" => AuxValue::Int32(text.parse().unwrap()),
            "A" => AuxValue::Character(text.as_bytes()[0]),
            _ => AuxValue::String(text.as_bytes()),
        };
        append_tag(&mut body, tag, value).unwrap();
    }
    body
}

/// Framed records of SAM lines.
pub(super) fn framed(lines: &[&str]) -> Vec<u8> {
    let frame = |line: &&str| {
        let body = body(line);
        [&(body.len() as u32).to_le_bytes()[..], &body].concat()
    };
    lines.iter().flat_map(frame).collect()
}

/// SAM lines of framed records, with spaces for tabs; every bin is checked.
pub(super) fn lines(framed: &[u8], header: &Header) -> Vec<String> {
    let line = |body: Result<&[u8], _>| {
        let body = body.unwrap();
        let record = RecordRef::new(body).unwrap();
        let bin = reg2bin(record.position().into(), record.reference_end());
        assert_eq!(record.bin(), bin, "bin of {}", String::from_utf8_lossy(record.name()));
        let mut line = Vec::new();
        sam::append_record(body, header.references(), &mut line).unwrap();
        String::from_utf8(line).unwrap().trim_end().replace('\t', " ")
    };
    framed_records(framed).map(line).collect()
}

/// What the steps make of SAM lines, which are one template; the header is changed, too.
pub(super) fn apply(steps: &Steps, input: &[&str]) -> (Vec<String>, StepCounts) {
    let mut header = header();
    steps.prepare_header(&mut header).unwrap();
    let (mut out, mut counts) = (Vec::new(), StepCounts::default());
    let kept =
        steps.apply(&framed(input), &mut out, &mut StepScratch::default(), &mut counts).unwrap();
    let lines = lines(&out, &header);
    assert_eq!((kept, counts.kept), (lines.len() as u64, lines.len() as u64));
    (lines, counts)
}
