//! A step of one's own: removes the `/1` and `/2` that old pipelines leave at read names, and
//! drops records that have no name but that.
//!
//! It is written as if in another crate: everything that it uses is public. Run it with
//! `cargo run -p seqloom-prep --example trim_names`.
#![allow(clippy::print_stdout)] // an example shows what it did

use seqloom_format::bam::{Header, RecordRef};
use seqloom_format::sam;
use seqloom_prep::steps::{RecordStep, StepCounts, StepError, StepScratch, Steps, Verdict};

/// Removes `/1` and `/2` from read names.
struct TrimNames;

impl RecordStep for TrimNames {
    fn name(&self) -> &'static str {
        "trim-names"
    }

    fn apply(&self, body: &mut Vec<u8>, _: &mut StepScratch) -> Result<Verdict, StepError> {
        let name = RecordRef::new(body)?.name();
        let (length, has_suffix) = (name.len(), name.ends_with(b"/1") || name.ends_with(b"/2"));
        if !has_suffix {
            return Ok(Verdict::Keep);
        }
        if length == 2 {
            return Ok(Verdict::Drop);
        }
        // The name is after 32 bytes of fixed fields and ends in NUL; byte 8 is its length.
        let end = 32 + length;
        body.drain(end - 2..end);
        body[8] -= 2;
        Ok(Verdict::Keep)
    }
}

/// An unmapped record of one base, preceded by its length.
fn framed_record(name: &[u8]) -> Vec<u8> {
    let mut body = [[0xff; 8]].concat();
    body.extend_from_slice(&[name.len() as u8 + 1, 0, 0x48, 0x12, 0, 0, 4, 0, 1, 0, 0, 0]);
    body.extend_from_slice(&[0xff; 8]);
    body.extend_from_slice(&[0; 4]);
    body.extend_from_slice(name);
    body.extend_from_slice(b"\0\x10\x1e");
    [&(body.len() as u32).to_le_bytes()[..], &body].concat()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut steps = Steps::new();
    steps.add_record_step(TrimNames);
    steps.prepare_header(&mut Header::default())?;

    let input = [&b"read/1"[..], b"read/2", b"other", b"/1"].map(framed_record).concat();
    let (mut scratch, mut counts) = (StepScratch::default(), StepCounts::default());
    let mut output = Vec::new();
    let kept = steps.apply(&input, &mut output, &mut scratch, &mut counts)?;

    for body in seqloom_format::bam::framed_records(&output) {
        let mut line = Vec::new();
        sam::append_record(body?, &[], &mut line)?;
        print!("{}", String::from_utf8_lossy(&line));
    }
    let dropped = counts.dropped[0];
    println!("{} records: {kept} kept, {dropped} dropped by trim-names", counts.examined);
    assert_eq!((kept, dropped), (3, 1));
    Ok(())
}
