//! Parallel reading equals sequential reading, whatever the file, the block size, and the number of
//! threads; and so do its errors.

use proptest::prelude::*;
use seqloom_format::names::ReadNames;
use seqloom_testkit::skip;

use super::{Read, bgzf, file, gzip, options, read_file};
use crate::input::reads::{ReadsError, SourceOptions};

/// How a file's text is put together.
#[derive(Debug, Clone)]
struct Text {
    records: Vec<(String, String, String, bool)>,
    crlf: bool,
    last_newline: bool,
    blank_lines: usize,
}

impl Text {
    fn bytes(&self) -> Vec<u8> {
        let newline = if self.crlf { "\r\n" } else { "\n" };
        let mut text = String::new();
        for (title, bases, qualities, repeat) in &self.records {
            let plus = if *repeat { title.as_str() } else { "" };
            for line in [&format!("@{title}"), bases, &format!("+{plus}"), qualities] {
                text.push_str(line);
                text.push_str(newline);
            }
        }
        if self.last_newline {
            text.push_str(&newline.repeat(self.blank_lines));
        } else if !self.records.is_empty() {
            text.truncate(text.len() - newline.len());
        }
        text.into_bytes()
    }

    fn reads(&self) -> Vec<Read> {
        self.records
            .iter()
            .map(|(title, bases, qualities, _)| {
                let (name, comment) = title.split_once(' ').unwrap_or((title, ""));
                Read {
                    // `@` is no letter of a name: they are renamed.
                    name: name.replace('@', "_"),
                    bases: bases.clone(),
                    qualities: qualities.clone(),
                    extra: comment.as_bytes().to_vec(),
                }
            })
            .collect()
    }
}

fn record() -> impl Strategy<Value = (String, String, String, bool)> {
    let bases = prop_oneof![4 => "[ACGTNacgt]{0,12}", 1 => "[ACGT]{30,200}"];
    ("[@+r!][@+a]{0,3}( [@+x ]{0,4})?", bases, any::<u64>(), any::<bool>()).prop_map(
        |(title, bases, seed, repeat)| {
            // Every quality line looks as much like a header or a '+' line as it can.
            let letters = b"@+!I~";
            let qualities = (0..bases.len())
                .map(|at| char::from(letters[(seed.rotate_left(at as u32 * 7) % 5) as usize]))
                .collect();
            (title, bases, qualities, repeat)
        },
    )
}

fn text() -> impl Strategy<Value = Text> {
    (prop::collection::vec(record(), 0..40), any::<bool>(), any::<bool>(), 0..4usize).prop_map(
        |(records, crlf, last_newline, blank_lines)| Text {
            records,
            crlf,
            last_newline,
            blank_lines,
        },
    )
}

fn block_bytes() -> impl Strategy<Value = usize> {
    prop_oneof![1..16usize, 1..300usize, 1..4097usize]
}

/// Every way to hold the same text, with what the result is.
fn read_every_way(
    bytes: &[u8],
    names: ReadNames,
    block_bytes: usize,
    threads: usize,
    sizes: &[usize],
) -> Vec<(&'static str, Result<Vec<Read>, String>)> {
    let ways = [("plain", bytes.to_vec()), ("bgzf", bgzf(bytes, sizes)), ("gzip", gzip(bytes))];
    ways.into_iter()
        .map(|(way, content)| {
            let file = file(&content);
            // With the offset given, blocks are checked without their reads.
            let assume_phred33 = threads % 2 == 1;
            let options = SourceOptions { assume_phred33, names, ..options(block_bytes) };
            let result = read_file(&file.path, options, threads);
            (way, result.map_err(|error| describe(&error, &file.path)))
        })
        .collect()
}

/// The message without the path.
fn describe(error: &ReadsError, path: &std::path::Path) -> String {
    error.to_string().replace(&path.display().to_string(), "FILE")
}

/// A change that a damaged file may show.
#[derive(Debug, Clone)]
enum Damage {
    Delete { at: prop::sample::Index, count: usize },
    Insert { at: prop::sample::Index, text: &'static str },
    Replace { at: prop::sample::Index, byte: u8 },
}

fn damage() -> impl Strategy<Value = Damage> {
    let at = any::<prop::sample::Index>();
    prop_oneof![
        (at.clone(), 1..20usize).prop_map(|(at, count)| Damage::Delete { at, count }),
        (at.clone(), prop::sample::select(vec!["\n", "\n\n", "@", "+", "\n@", "\n+\n", "\r", " "]))
            .prop_map(|(at, text)| Damage::Insert { at, text }),
        (at, prop::sample::select(b"\n@+A \x00".to_vec()))
            .prop_map(|(at, byte)| Damage::Replace { at, byte }),
    ]
}

fn apply(damage: &Damage, bytes: &mut Vec<u8>) {
    if bytes.is_empty() {
        return;
    }
    match damage {
        Damage::Delete { at, count } => {
            let at = at.index(bytes.len());
            bytes.drain(at..(at + count).min(bytes.len()));
        }
        Damage::Insert { at, text } => {
            let at = at.index(bytes.len());
            bytes.splice(at..at, text.bytes());
        }
        Damage::Replace { at, byte } => {
            let at = at.index(bytes.len());
            bytes[at] = *byte;
        }
    }
}

fn cases() -> u32 {
    if skip::slow_tests() { 100_000 } else { 400 }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn members_of_bgzf_and_gzip_are_read_in_any_order(
        text in text(),
        members in prop::collection::vec((any::<bool>(), 1..120usize), 1..6),
        block_bytes in block_bytes(),
        threads in 1..5usize,
    ) {
        let bytes = text.bytes();
        let (mut rest, mut content) = (&bytes[..], Vec::new());
        for (at, (is_bgzf, size)) in members.iter().enumerate() {
            // Members end within records as well.
            let size = if at + 1 == members.len() { rest.len() } else { (*size).min(rest.len()) };
            let (own, after) = rest.split_at(size);
            content.extend(if *is_bgzf { bgzf(own, &[7, 60, 0]) } else { gzip(own) });
            rest = after;
        }
        let file = file(&content);
        let renaming = SourceOptions { names: ReadNames::Rename, ..options(block_bytes) };
        let found = read_file(&file.path, renaming, threads).unwrap();
        prop_assert_eq!(found, text.reads());
    }

    #[test]
    fn parallel_reading_gives_the_records_that_were_written(
        text in text(),
        block_bytes in block_bytes(),
        threads in 1..5usize,
        sizes in prop::collection::vec(0..200usize, 1..5),
    ) {
        let mut sizes = sizes;
        sizes.push(7);
        let (bytes, names) = (text.bytes(), ReadNames::Rename);
        for (way, result) in read_every_way(&bytes, names, block_bytes, threads, &sizes) {
            prop_assert_eq!(result.as_ref(), Ok(&text.reads()), "{}", way);
        }
    }

    #[test]
    fn damaged_text_gives_the_same_error_every_way(
        text in text(),
        damages in prop::collection::vec(damage(), 1..3),
        block_bytes in block_bytes(),
        threads in 1..5usize,
        sizes in prop::collection::vec(1..200usize, 1..5),
        renames in any::<bool>(),
    ) {
        let mut bytes = text.bytes();
        for damage in &damages {
            apply(damage, &mut bytes);
        }
        let names = if renames { ReadNames::Rename } else { ReadNames::Check };
        let mut results = read_every_way(&bytes, names, block_bytes, threads, &sizes);
        let (_, expected) = results.pop().unwrap();
        for (way, result) in results {
            prop_assert_eq!(&result, &expected, "{}", way);
        }
    }
}

/// The same for text long enough that blocks of the usual size matter, with reads longer than
/// several blocks.
#[test]
fn long_reads_span_many_blocks() {
    let mut text = Vec::new();
    let mut expected = Vec::new();
    for (at, len) in [10, 100_000, 0, 1, 70_000, 5, 5, 300_000, 20].into_iter().enumerate() {
        let (bases, qualities) = ("ACGT".repeat(len / 4), "@+@I".repeat(len / 4));
        text.extend_from_slice(format!("@r{at}\n{bases}\n+\n{qualities}\n").as_bytes());
        expected.push(super::read(&format!("r{at}"), &bases, &qualities));
    }
    for block_bytes in [100, 4096, 50_000, 1 << 20] {
        for (way, result) in read_every_way(&text, ReadNames::Check, block_bytes, 3, &[65280]) {
            assert!(result.as_ref() == Ok(&expected), "{way} {block_bytes}");
        }
    }
}

/// A read that is longer than may be is named, however the text is read; one that is not is read.
#[test]
fn a_record_that_is_too_long_is_named() {
    let record = |name: &str, len: usize| {
        let (bases, qualities) = ("ACGT".repeat(len / 4), "IIII".repeat(len / 4));
        format!("@{name} x\n{bases}\n+\n{qualities}\n")
    };
    let good: String = (0..30).map(|at| record(&format!("r{at}"), 40)).collect();
    let limited = |block_bytes| SourceOptions { max_text_bytes: 20_000, ..options(block_bytes) };
    let most = 4096 + 2 * 65536;
    let t = |text: &str, line: u64| {
        for block_bytes in [100, 4096] {
            for content in
                [text.as_bytes().to_vec(), gzip(text.as_bytes()), bgzf(text.as_bytes(), &[9000])]
            {
                let file = file(&content);
                let read = read_file(&file.path, limited(block_bytes), 3);
                let error = super::malformed(read);
                assert_eq!((error.record, error.place().line), (31, Some(line)), "{error}");
                assert!(error.name.as_ref().unwrap().starts_with("giant"), "{error}");
                assert!(error.problem.contains("longer than 20000 bytes"), "{error}");
                assert!(error.hint.is_some());
            }
        }
    };
    t(&format!("{good}{}{good}", record("giant", 2 * most)), 121);
    t(&format!("{good}{}", record("giant", 2 * most)), 121);
    // Without a line end in it, or in its name.
    t(&format!("{good}@giant\n{}", "A".repeat(2 * most)), 121);
    t(&format!("{good}@giant{}", "A".repeat(2 * most)), 121);
    t(&format!("{good}@giant\nA\n+\n{}", "I".repeat(2 * most)), 121);
    // As long as may be.
    let text = format!("{good}{}{good}", record("long", 9_960));
    for block_bytes in [100, 4096] {
        for content in
            [text.as_bytes().to_vec(), gzip(text.as_bytes()), bgzf(text.as_bytes(), &[9000])]
        {
            let file = file(&content);
            let read = read_file(&file.path, limited(block_bytes), 3).unwrap();
            assert_eq!(read.len(), 61);
        }
    }
}
