//! gzip read from restart points: the text that follows, and damage that is found.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use seqloom_format::Persist;

use super::super::error::ReadsError;
use super::{bgzf, file, gzip};
use crate::input::raw::Input;
use crate::input::reader::{Fill, TextReader};
use crate::input::restart::RestartPoint;

/// Records with text that deflates to about a quarter, but for a chunk that does not.
fn text(records: u32) -> Vec<u8> {
    let mut state = 1_u64;
    let mut random = move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    let mut text = Vec::new();
    for record in 0..records {
        writeln!(text, "@read.{record} {}", random() % 1000).unwrap();
        let letters: &[u8] = if record % 1000 < 100 { b"!#%'()*+,-./:;<=>?@ABCD" } else { b"ACGT" };
        (0..150).for_each(|_| text.push(letters[random() % letters.len()]));
        text.extend_from_slice(b"\n+\n");
        (0..150).for_each(|_| text.push(b"FFFFFFF:,#"[random() % 10]));
        text.push(b'\n');
    }
    text
}

fn all(mut reader: TextReader) -> Result<(Vec<u8>, Vec<RestartPoint>), ReadsError> {
    let mut text = Vec::new();
    while reader.fill(&mut text, usize::MAX)? != Fill::End {}
    Ok((text, reader.take_restart_points()))
}

fn points_of(path: &Path, every_bytes: u64) -> Result<(Vec<u8>, Vec<RestartPoint>), ReadsError> {
    all(TextReader::new(Input::open(path)?, 0).recording(every_bytes))
}

fn from(path: &Path, point: &RestartPoint) -> Result<Vec<u8>, ReadsError> {
    Ok(all(TextReader::restarted(Input::open(path)?, point)?)?.0)
}

fn level(text: &[u8], level: u32) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(level));
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn libdeflate(text: &[u8]) -> Vec<u8> {
    let mut compressor = libdeflater::Compressor::new(libdeflater::CompressionLvl::default());
    let mut out = vec![0; compressor.gzip_compress_bound(text.len())];
    let size = compressor.gzip_compress(text, &mut out).unwrap();
    out.truncate(size);
    out
}

/// By a program, or `None` with a line that says so.
fn by_program(words: &[&str], text: &[u8]) -> Option<Vec<u8>> {
    let command = Command::new(words[0])
        .args(&words[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut child) = command else {
        println!("skipped: {} is not installed", words[0]);
        return None;
    };
    let mut input = child.stdin.take().unwrap();
    let text = text.to_vec();
    let writer = std::thread::spawn(move || input.write_all(&text).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    Some(output.stdout)
}

#[test]
fn text_follows_from_every_point() {
    let text = text(20_000);
    let half = text.len() / 2;
    let members: Vec<u8> = text.chunks(9_001).flat_map(|part| level(part, 6)).collect();
    let mixed = [libdeflate(&text[..half]), bgzf(&text[half..], &[40_000])].concat();
    let cases = [
        // One block each: there is no place to start in.
        ("zlib-rs 1", Some(level(&text, 1)), 0),
        ("zlib-rs 3", Some(level(&text, 3)), 20),
        ("zlib-rs 6", Some(level(&text, 6)), 20),
        ("zlib-rs 9", Some(level(&text, 9)), 20),
        ("stored", Some(level(&text, 0)), 20),
        ("libdeflate", Some(libdeflate(&text)), 10),
        ("gzip -1", by_program(&["gzip", "-1c"], &text), 20),
        ("gzip -9", by_program(&["gzip", "-9c"], &text), 20),
        ("small members", Some(members), 20),
        ("two members", Some([level(&text[..half], 6), libdeflate(&text[half..])].concat()), 10),
        ("BGZF after another member", Some(mixed), 10),
    ];
    for (what, content, at_least) in cases {
        let Some(content) = content else { continue };
        let file = file(&content);
        let (read, points) = points_of(&file.path, 100_000).unwrap();
        assert!(read == text, "{what}");
        assert!(points.len() >= at_least, "{what}: {} points", points.len());
        assert_eq!(points, points_of(&file.path, 100_000).unwrap().1, "{what}");
        for pair in points.windows(2) {
            assert!(pair[1].text() - pair[0].text() >= 100_000, "{what}");
        }
        for point in &points {
            let point = RestartPoint::from_state(&point.to_state()).unwrap();
            let rest = from(&file.path, &point).unwrap();
            assert!(rest == text[point.text() as usize..], "{what}: {point:?}");
        }
    }
}

#[test]
fn short_or_empty_text_has_no_points() {
    for content in [gzip(b""), gzip(b"@a\nA\n+\nI\n"), bgzf(b"", &[1])] {
        let file = file(&content);
        assert_eq!(points_of(&file.path, 1).unwrap().1, Vec::new());
    }
}

#[test]
fn damage_after_a_point_is_found() {
    let text = text(3_000);
    let content = level(&text, 6);
    let good = file(&content);
    let point = points_of(&good.path, 200_000).unwrap().1.remove(0);
    let start = point.raw() as usize;
    for step in 0..200 {
        let at = start + 1 + step * (content.len() - start - 1) / 200;
        let mut bad = content.clone();
        bad[at] ^= 1 << (step % 8);
        let bad = file(&bad);
        let error = from(&bad.path, &point).unwrap_err().to_string();
        assert!(error.contains(&bad.path.display().to_string()), "{error}");
    }
    for cut in [start + 1, start + 1000, content.len() - 9, content.len() - 1] {
        let bad = file(&content[..cut]);
        let error = from(&bad.path, &point).unwrap_err().to_string();
        assert!(error.contains("truncated"), "{cut}: {error}");
    }
    // The point's own bytes: whatever still is a point gives the text or an error.
    let state = point.to_state();
    for at in (0..40).chain((40..state.len()).step_by(state.len() / 40)) {
        let mut bad = state.clone();
        bad[at] ^= 1 << (at % 8);
        let Ok(bad) = RestartPoint::from_state(&bad) else { continue };
        if let Ok(rest) = from(&good.path, &bad) {
            assert!(rest == text[point.text() as usize..], "byte {at}");
        }
    }
}
