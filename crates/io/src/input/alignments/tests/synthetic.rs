//! Files made for the purpose: every way to cut them gives the same records, and every way to
//! damage them the same error.

use std::io::Write;
use std::path::Path;

use proptest::prelude::*;
use seqloom_format::bam::{Header, RecordError};
use seqloom_format::bgzf::{self, BlockCompressor, EOF_BLOCK, VirtualOffset};

use super::{AlignmentError, Stream, TestFile, collect, file, options, read};
use crate::alignment_index::RecordStart;
use crate::input::alignments::{AlignmentOptions, AlignmentSource};
use crate::input::malformed::RecordPlace;

/// A framed record of so many bases, unmapped, with an array of bytes of its own.
pub(super) fn record(name: &str, bases: usize, data: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    [-1_i32, -1].iter().for_each(|word| body.extend_from_slice(&word.to_le_bytes()));
    body.extend_from_slice(&[name.len() as u8 + 1, 0, 0x48, 0x12, 0, 0, 4, 0]);
    [bases as i32, -1, -1, 0].iter().for_each(|word| body.extend_from_slice(&word.to_le_bytes()));
    body.extend_from_slice(name.as_bytes());
    body.push(0);
    body.extend((0..bases.div_ceil(2)).map(|at| [0x12, 0x48, 0x81, 0x24][at * 7 % 4]));
    if bases % 2 == 1 {
        // The unused half of the last byte.
        let last = body.len() - 1;
        body[last] &= 0xf0;
    }
    body.extend((0..bases).map(|at| (at * 13 % 40) as u8));
    if !data.is_empty() {
        body.extend_from_slice(b"XDBC");
        body.extend_from_slice(&(data.len() as u32).to_le_bytes());
        body.extend_from_slice(data);
    }
    [&(body.len() as u32).to_le_bytes()[..], &body].concat()
}

pub(super) fn header(references: usize) -> Vec<u8> {
    let mut text = "@HD\tVN:1.6\tSO:unsorted\n".to_owned();
    for at in 0..references {
        text.push_str(&format!("@SQ\tSN:contig_{at}\tLN:{}\n", at + 1000));
    }
    Header::parse(text.as_bytes()).unwrap().encode().unwrap()
}

/// BGZF with blocks of the given payload sizes in turn (0: an empty block), without an end.
pub(super) fn blocks(text: &[u8], sizes: &[usize], level: u8) -> Vec<u8> {
    let mut compressor = BlockCompressor::new(level).unwrap();
    let mut out = Vec::new();
    let mut rest = text;
    for &size in sizes.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (payload, after) = rest.split_at(size.min(rest.len()).min(65_280));
        compressor.compress(payload, &mut out).unwrap();
        rest = after;
    }
    out
}

pub(super) fn bgzf(text: &[u8], sizes: &[usize]) -> Vec<u8> {
    let mut out = blocks(text, sizes, 1);
    out.extend_from_slice(&EOF_BLOCK);
    out
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// The message without the path.
fn describe(error: &AlignmentError, path: &Path) -> String {
    let text = error.to_string();
    assert!(text.contains(&path.display().to_string()), "{text}");
    text.replace(&path.display().to_string(), "FILE")
}

/// Reads in large blocks by one thread, and in small ones by several: the same both ways.
fn read_both(content: &[u8], options: &AlignmentOptions, small: usize, threads: usize) -> Outcome {
    read_file_both(&file(content), options, small, threads)
}

fn read_file_both(
    file: &TestFile,
    options: &AlignmentOptions,
    small: usize,
    threads: usize,
) -> Outcome {
    let outcome = |block_bytes: usize, threads: usize| -> Outcome {
        let options = AlignmentOptions { block_bytes, ..options.clone() };
        read(&file.path, options, threads)
            .map(|stream| Stream { reread_blocks: 0, ..stream })
            .map_err(|error| describe(&error, &file.path))
    };
    let large = outcome(1 << 20, 1);
    let small = outcome(small, threads);
    assert_eq!(large, small);
    large
}

type Outcome = Result<Stream, String>;

fn expect(outcome: Outcome, records: &[Vec<u8>]) {
    let stream = outcome.unwrap();
    assert_eq!(stream.records, records.len() as u64);
    assert!(stream.bytes == records.concat(), "records differ");
    assert!(!stream.is_truncated);
}

/// Records, some of them long, some with whole records among their data.
fn records() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let bases = prop_oneof![8 => 0..40usize, 2 => 0..400usize, 1 => 2000..6000usize];
    let one = ("[a-z:]{1,12}", bases, 0..6_usize).prop_map(|(name, bases, inner)| {
        // Data that look like records, so that a guess may well be wrong.
        let data: Vec<u8> =
            (0..inner * (inner % 2)).flat_map(|at| record("inner", at * 9, b"")).collect();
        record(&name, bases, &data)
    });
    prop::collection::vec(one, 0..60)
}

fn sizes() -> impl Strategy<Value = Vec<usize>> {
    let one = prop_oneof![1 => Just(0_usize), 3 => 1..50usize, 5 => 50..700usize];
    (prop::collection::vec(one, 0..5), 1..3000usize).prop_map(|(mut sizes, last)| {
        sizes.push(last);
        sizes
    })
}

/// Places, values and kinds of damage.
fn damages() -> impl Strategy<Value = Vec<(prop::sample::Index, u8, u8)>> {
    prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4_u8), 1..3)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn every_cut_gives_the_records_that_were_written(
        records in records(),
        references in prop_oneof![0..3usize, 0..200usize],
        sizes in sizes(),
        small in prop_oneof![1..16usize, 1..3000usize],
        threads in 1..9usize,
        eof_blocks in 1..4usize,
    ) {
        let text = [header(references), records.concat()].concat();
        let mut content = bgzf(&text, &sizes);
        content.extend(EOF_BLOCK.repeat(eof_blocks - 1));
        expect(read_both(&content, &options(0), small, threads), &records);
        for stream in [text.clone(), gzip(&text), zstd::encode_all(&text[..], 1).unwrap()] {
            expect(read_both(&stream, &options(0), small, threads), &records);
        }
    }

    /// Damage to the text, in good blocks: the same record is named however it is read.
    #[test]
    fn damaged_records_give_the_same_error_every_way(
        records in records(),
        sizes in sizes(),
        small in 1..3000usize,
        threads in 1..5usize,
        damages in damages(),
    ) {
        let head = header(2);
        let mut text = records.concat();
        for (at, byte, kind) in damages {
            if text.is_empty() { break }
            let at = at.index(text.len());
            match kind {
                0 => text[at] = byte,
                1 => text[at] ^= 1 << (byte % 8),
                2 => drop(text.drain(at..(at + usize::from(byte)).min(text.len()))),
                _ => text.truncate(at),
            }
        }
        let text = [head, text].concat();
        let claimed = read_both(&bgzf(&text, &sizes), &options(0), small, threads);
        let streamed = read_both(&text, &options(0), small, threads);
        match (&claimed, &streamed) {
            (Ok(claimed), Ok(streamed)) => prop_assert_eq!(claimed, streamed),
            (Err(claimed), Err(streamed)) => {
                // Only the place is reported otherwise.
                let record = |text: &str| text.split(',').next().unwrap().to_owned();
                prop_assert_eq!(record(claimed), record(streamed));
            }
            _ => prop_assert!(false, "{claimed:?} but as a stream {streamed:?}"),
        }
    }

    /// Damage to the compressed file.
    #[test]
    fn damaged_files_give_the_same_error_every_way(
        records in records(),
        sizes in sizes(),
        small in 1..3000usize,
        allow_truncated in any::<bool>(),
        damages in damages(),
    ) {
        let mut content = bgzf(&[header(2), records.concat()].concat(), &sizes);
        for (at, byte, kind) in damages {
            let at = at.index(content.len().max(1));
            match kind {
                0 if at < content.len() => content[at] = byte,
                1 if at < content.len() => content[at] ^= 1 << (byte % 8),
                2 => drop(content.drain(at..(at + usize::from(byte)).min(content.len()))),
                _ => content.truncate(at),
            }
        }
        let options = AlignmentOptions { allow_truncated, ..options(0) };
        let _ = read_both(&content, &options, small, 3);
    }
}

/// A good file for what follows: a few records over several blocks.
fn small_file() -> (Vec<Vec<u8>>, Vec<u8>) {
    let records: Vec<Vec<u8>> =
        (0..12).map(|at| record(&format!("read{at}"), at * 5, b"some data")).collect();
    let content = bgzf(&[header(2), records.concat()].concat(), &[130, 0, 70]);
    (records, content)
}

/// A chunk in which no record starts does not know where the one after it would.
#[test]
fn damage_after_the_last_record_is_at_its_own_block_every_way() {
    let records = [1, 200, 3].map(|bases| record("r", bases, b"some data"));
    let text = [header(2), records.concat()].concat();
    // The second block has the end of the second record, too little to decide that no record starts
    // there; the third has the third record.
    let tail = 15;
    let first = header(2).len() + records[0].len() + records[1].len() - tail;
    let sizes = [first, tail, 3000];
    let damaged_block = blocks(&text[..first + sizes[1]], &sizes, 1).len();
    let mut content = bgzf(&text, &sizes);
    content[damaged_block + 20] ^= 0xff;
    let file = file(&content);
    for small in 1..content.len() {
        let error = read_file_both(&file, &options(0), small, 3).unwrap_err();
        let place = format!("record 3, byte 0 of the BGZF block at byte {damaged_block} ");
        assert!(error.contains(&place), "{small}: {error}");
    }
}

#[test]
fn every_truncation_is_an_error_or_said() {
    let (records, content) = small_file();
    let text = records.concat();
    let file = file(&content);
    let mut longest = 0;
    for len in 0..content.len() {
        std::fs::write(&file.path, &content[..len]).unwrap();
        let error = read_file_both(&file, &options(0), 100, 1).unwrap_err();
        assert!(error.contains("FILE"), "{error}");
        let allowing = AlignmentOptions { allow_truncated: true, ..options(0) };
        let Ok(stream) = read_file_both(&file, &allowing, 100, 1) else {
            // Without the whole header there is nothing to read.
            assert!(longest == 0, "{len}");
            continue;
        };
        assert!(stream.is_truncated, "{len}");
        assert!(text.starts_with(&stream.bytes), "{len}");
        let whole = records.iter().scan(0, |sum, it| {
            *sum += it.len();
            Some(*sum)
        });
        assert!(stream.bytes.is_empty() || whole.collect::<Vec<_>>().contains(&stream.bytes.len()));
        assert!(stream.bytes.len() >= longest);
        longest = stream.bytes.len();
    }
    assert_eq!(longest, text.len());
}

#[test]
fn every_truncation_of_a_stream_is_an_error_or_said() {
    let records: Vec<Vec<u8>> = (0..4).map(|at| record("r", at * 5, b"")).collect();
    let text = [header(1), records.concat()].concat();
    let ends: Vec<usize> = records
        .iter()
        .scan(header(1).len(), |sum, it| {
            *sum += it.len();
            Some(*sum)
        })
        .collect();
    for content in [text.clone(), gzip(&text)] {
        let file = file(&content);
        for len in 1..content.len() {
            std::fs::write(&file.path, &content[..len]).unwrap();
            let outcome = read_file_both(&file, &options(0), 50, 1);
            // Uncompressed BAM that ends between records cannot be distinguished from a complete
            // one.
            let is_between = content == text && (ends.contains(&len) || len == header(1).len());
            assert_eq!(outcome.is_ok(), is_between, "{len}: {outcome:?}");
            let allowing = AlignmentOptions { allow_truncated: true, ..options(0) };
            if let Ok(stream) = read_file_both(&file, &allowing, 50, 1) {
                assert!(records.concat().starts_with(&stream.bytes), "{len}");
                assert_eq!(stream.is_truncated, !is_between, "{len}");
            }
        }
    }
}

#[test]
fn every_flipped_bit_is_an_error_or_nothing() {
    let (records, mut content) = small_file();
    let file = file(&content);
    let mut errors = 0;
    for byte in 0..content.len() {
        let bit = 1 << (byte % 8);
        content[byte] ^= bit;
        std::fs::write(&file.path, &content).unwrap();
        match read_file_both(&file, &options(0), 300, 1) {
            Ok(stream) => assert!(stream.bytes == records.concat(), "{byte}"),
            Err(_) => errors += 1,
        }
        content[byte] ^= bit;
    }
    // The rest are bits of gzip headers that say nothing: time stamps, operating system.
    assert!(errors > content.len() / 2, "{errors}");
}

#[test]
fn an_error_names_file_record_name_and_virtual_offset() {
    let (records, _) = small_file();
    let head = header(2);
    let mut text = [head.clone(), records.concat()].concat();
    let fifth: usize = head.len() + records[..4].iter().map(Vec::len).sum::<usize>();
    // A quality of 200.
    text[fifth + 4 + 32 + 6 + 10] = 200;
    let sizes = [130, 0, 70];
    let content = bgzf(&text, &sizes);
    let file = file(&content);
    for block_bytes in [1, 100, 1 << 20] {
        let Err(AlignmentError::Malformed(error)) = read(&file.path, options(block_bytes), 2)
        else {
            panic!("not refused");
        };
        assert_eq!(error.path, file.path);
        assert_eq!((error.record, error.name.as_deref()), (5, Some("read4")));
        let RecordPlace::Virtual(offset) = error.place else { panic!() };
        let block = &content[offset.block_offset() as usize..];
        let size = seqloom_format::bgzf::parse_block_header(block).unwrap().block_bytes;
        let mut payload = Vec::new();
        let mut inflate = seqloom_format::bgzf::BlockDecompressor::new();
        inflate.decompress(&block[..size], &mut payload).unwrap();
        let at = usize::from(offset.offset_in_block());
        let common = (payload.len() - at).min(30);
        assert_eq!(payload[at..at + common], text[fifth..fifth + common]);
        assert_eq!(error.problem, RecordError::BadQuality(200).to_string());
    }
}

#[test]
fn records_larger_than_chunks() {
    let records: Vec<Vec<u8>> = [10, 300_000, 0, 1, 170_000, 5, 5, 300_000, 20]
        .into_iter()
        .enumerate()
        .map(|(at, bases)| record(&format!("r{at}"), bases, b""))
        .collect();
    let content = bgzf(&[header(1), records.concat()].concat(), &[65_280]);
    for small in [300, 4096, 50_000] {
        expect(read_both(&content, &options(0), small, 4), &records);
    }
}

/// One so long that it is not read before its start is sure.
#[test]
fn a_record_of_many_megabytes() {
    let records =
        [record("first", 60_000, b""), record("giant", 12_000_000, b""), record("last", 7, b"")];
    let mut content = blocks(&[header(1), records.concat()].concat(), &[65_280], 0);
    content.extend_from_slice(&EOF_BLOCK);
    let file = file(&content);
    let stream = read(&file.path, options(64 << 10), 2).unwrap();
    assert!(stream.bytes == records.concat());
    assert_eq!(stream.reread_blocks, 1);
}

#[test]
fn headers_larger_than_chunks() {
    let records: Vec<Vec<u8>> = (0..300).map(|at| record(&format!("r{at}"), 30, b"")).collect();
    let content = bgzf(&[header(20_000), records.concat()].concat(), &[9_000]);
    for small in [100, 1000, 20_000] {
        expect(read_both(&content, &options(0), small, 3), &records);
    }
    expect(read_both(&bgzf(&header(5_000), &[900]), &options(0), 100, 3), &[]);
}

/// A BGZF file among the data of a record, in stored blocks: its blocks are found as blocks, and
/// the true ones after them must count.
#[test]
fn a_file_within_a_file() {
    let inner: Vec<Vec<u8>> = (0..40).map(|at| record(&format!("inner{at}"), 20, b"")).collect();
    let inner = bgzf(&[header(1), inner.concat()].concat(), &[300]);
    let records = [
        record("first", 50, b""),
        record("outer", 50, &inner.repeat(3)),
        record("last", 20, &inner),
        record("end", 5, b""),
    ];
    let text = [header(1), records.concat()].concat();
    for size in [600, 4_000, 60_000] {
        let mut content = blocks(&text, &[size], 0);
        content.extend_from_slice(&EOF_BLOCK);
        for small in [1, 50, 400, 3_000, 20_000] {
            expect(read_both(&content, &options(0), small, 3), &records);
        }
    }
}

#[test]
fn two_files_joined_by_cat_are_named_as_such() {
    let (records, content) = small_file();
    let text = [header(2), records.concat()].concat();
    for joined in [content.repeat(2), gzip(&text.repeat(2)), text.repeat(2)] {
        for allow_truncated in [false, true] {
            let options = AlignmentOptions { allow_truncated, ..options(0) };
            for small in [1, 30, 200, 5_000] {
                let error = read_both(&joined, &options, small, 3).unwrap_err();
                let words =
                    ["FILE: record 13, ", "two BAM files, joined by `cat`", "`samtools cat`"];
                assert!(words.iter().all(|word| error.contains(word)), "{error}");
                assert!(!error.contains("truncated"), "{error}");
            }
        }
    }
}

#[test]
fn what_follows_the_end_of_a_file_is_named() {
    let (_, content) = small_file();
    for (more, what) in [
        (vec![0; 100], "zeros"),
        (vec![0; 100_000], "zeros"),
        (b"@r\nACGT\n".to_vec(), "text that is not compressed (\"@r\")"),
        (b"CRAM\x03\0".to_vec(), "CRAM"),
    ] {
        let at = content.len();
        let file = file(&[&content[..], &more].concat());
        for (allow_truncated, is_near) in [(false, more.len() < 60_000), (true, true)] {
            let options = AlignmentOptions { allow_truncated, ..options(200) };
            let error = describe(&read(&file.path, options, 2).unwrap_err(), &file.path);
            let words = format!("{what} after the end of the compressed data; `head -c {at} FILE`");
            assert_eq!(error.contains(&words), is_near, "{error}");
            assert!(error.contains(&format!("byte {at} ")) || !is_near, "{error}");
        }
    }
}

/// Data that are nothing but records: every guess within them is wrong.
#[test]
fn records_within_records() {
    let inner: Vec<u8> = (0..2_000).flat_map(|at| record(&format!("i{at}"), 11, b"")).collect();
    let records = [record("a", 10, &inner), record("b", 10, &inner), record("c", 1, b"")];
    let content = bgzf(&[header(1), records.concat()].concat(), &[777]);
    let file = file(&content);
    for block_bytes in [50, 1_000, 20_000] {
        let stream = read(&file.path, options(block_bytes), 4).unwrap();
        assert!(stream.bytes == records.concat());
    }
}

#[test]
fn blocks_as_htslib_cuts_them_are_never_read_twice() {
    let records: Vec<Vec<u8>> =
        (0..5_000).map(|at| record(&format!("read:{at}"), 100, b"")).collect();
    let each = records[10].len();
    // Whole records in every block, and then records over block ends.
    let head = header(3);
    for sizes in [[each * 100], [each * 100 + 17]] {
        let mut content = blocks(&head, &[65_280], 1);
        content.extend(bgzf(&records.concat(), &sizes));
        let file = file(&content);
        let stream = read(&file.path, options(100_000), 4).unwrap();
        assert!(stream.bytes == records.concat());
        assert_eq!(stream.reread_blocks, 0);
    }
}

#[test]
fn reading_may_begin_at_any_record() {
    let (records, content) = small_file();
    let file = file(&content);
    let place_of = |at: usize| {
        let (mut block, mut skip) = (0, header(2).len() + records[..at].concat().len());
        loop {
            let bytes = bgzf::parse_block_header(&content[block..]).unwrap().block_bytes;
            let size = &content[block + bytes - 4..block + bytes];
            let size = u32::from_le_bytes(size.try_into().unwrap()) as usize;
            if skip < size || block + bytes == content.len() {
                return VirtualOffset::new(block as u64, skip as u16).unwrap();
            }
            (block, skip) = (block + bytes, skip - size);
        }
    };
    let read_from = |offset: Option<VirtualOffset>, block_bytes: usize, threads: usize| {
        let paths = [file.path.clone()];
        let mut source = AlignmentSource::open(&paths, options(block_bytes)).unwrap();
        assert!(source.can_start_anywhere(0));
        source.start_at(0, offset.map(RecordStart::Virtual))?;
        Ok::<_, AlignmentError>(collect(&source, threads)?.remove(0))
    };
    for (block_bytes, threads) in [(1 << 20, 1), (10, 3), (700, 2)] {
        for at in 0..=records.len() {
            let stream = read_from(Some(place_of(at)), block_bytes, threads).unwrap();
            assert!(stream.bytes == records[at..].concat(), "record {at}");
            assert_eq!(stream.records, (records.len() - at) as u64);
        }
        assert_eq!(read_from(None, block_bytes, threads).unwrap().records, 0);
    }
    // Places where no record can begin.
    for (block, skip) in [(1, 0), (0, 131), (content.len() as u64, 0), (1 << 40, 0)] {
        let offset = VirtualOffset::new(block, skip).unwrap();
        let error = read_from(Some(offset), 700, 2).unwrap_err().to_string();
        assert!(error.contains("its index is of another file"), "{error}");
    }
    let error = read_from(VirtualOffset::new(0, 3), 700, 2).unwrap_err();
    assert!(matches!(error, AlignmentError::Malformed(_)), "{error}");
}

fn sam(lines: &[&str]) -> TestFile {
    file(lines.concat().as_bytes())
}

#[test]
fn errors_in_sam_name_the_line() {
    const HEAD: &str = "@HD\tVN:1.6\n@SQ\tSN:a\tLN:9\n";
    const GOOD: &str = "r\t0\ta\t1\t0\t1M\t*\t0\t0\tA\tI\n";
    let file = sam(&[HEAD, GOOD, GOOD, "bad\t0\tb\t1\t0\t1M\t*\t0\t0\tA\tI\n", GOOD]);
    for block_bytes in [1, 7, 40, 1 << 20] {
        let error = read(&file.path, options(block_bytes), 3).unwrap_err().to_string();
        let byte = HEAD.len() + 2 * GOOD.len();
        assert!(error.contains(&format!("record 3 (bad), line 5, byte {byte}: RNAME")), "{error}");
    }
}

#[test]
fn sam_is_read_alike_however_it_is_cut() {
    let head: String = (0..50).map(|at| format!("@SQ\tSN:c{at}\tLN:9\n")).collect();
    let line =
        |at: usize| format!("r{at}\t4\t*\t0\t0\t*\t*\t0\t0\t{}\t*\n", "A".repeat(at % 90 + 1));
    let mut text = head + &(0..200).map(line).collect::<String>();
    for _ in 0..2 {
        let whole = read_both(text.as_bytes(), &options(0), 1, 4).unwrap();
        assert_eq!(whole.records, 200);
        let zstd = zstd::encode_all(text.as_bytes(), 1).unwrap();
        let bgzf = bgzf(text.as_bytes(), &[333, 0, 5]);
        for content in [text.clone().into_bytes(), gzip(text.as_bytes()), zstd, bgzf] {
            for small in [1, 13, 100, 5_000] {
                assert_eq!(read_both(&content, &options(0), small, 3).as_ref(), Ok(&whole));
            }
        }
        // Again without the last newline.
        text.pop();
    }
    let only_header = read_both(b"@SQ\tSN:c\tLN:9\n", &options(0), 1, 2).unwrap();
    assert_eq!((only_header.records, only_header.bytes.len()), (0, 0));
    let no_header = read_both(line(3).as_bytes(), &options(0), 1, 2).unwrap();
    assert_eq!(no_header.records, 1);
}

#[test]
fn a_cut_sam_file_in_bgzf() {
    let text: String =
        (0..50).map(|at| format!("r{at}\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\t*\n")).collect();
    let content = bgzf(text.as_bytes(), &[100]);
    let whole = read_both(&content, &options(0), 100, 2).unwrap();
    for len in (200..content.len()).step_by(7) {
        assert!(read_both(&content[..len], &options(0), 100, 2).is_err(), "{len}");
        let allowing = AlignmentOptions { allow_truncated: true, ..options(0) };
        let stream = read_both(&content[..len], &allowing, 100, 2).unwrap();
        assert!(stream.is_truncated && whole.bytes.starts_with(&stream.bytes), "{len}");
    }
}

fn unmapped(at: usize) -> String {
    format!("r{at}\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\t*\n")
}

/// A line that is longer than may be is named, however the text is read; one that is not is read.
#[test]
fn a_line_of_sam_that_is_too_long_is_named() {
    let head = "@HD\tVN:1.6\n@SQ\tSN:c\tLN:9\n";
    let good: String = (0..30).map(unmapped).collect();
    let limited = AlignmentOptions { max_line_bytes: 20_000, ..options(0) };
    let long = |len: usize| format!("giant\t4\t*\t0\t0\t*\t*\t0\t0\t{}\t*\n", "A".repeat(len));
    for text in [
        format!("{head}{good}{}{good}", long(300_000)),
        format!("{head}{good}{}", long(300_000)),
        format!("{head}{good}{}", long(20_001)),
        format!("{head}{good}{}", long(300_000).trim_end()),
    ] {
        for content in [text.clone().into_bytes(), gzip(text.as_bytes())] {
            let error = read_both(&content, &limited, 100, 3).unwrap_err();
            let place = "FILE: record 31 (giant), line 33, byte";
            assert!(error.starts_with(place), "{error}");
            assert!(error.contains("the line is longer than 20000 bytes; "), "{error}");
            assert!(error.contains("-m") && error.contains("samtools view -b"), "{error}");
        }
    }
    let text = format!("{head}{good}{}{good}", long(19_970));
    for content in [text.clone().into_bytes(), gzip(text.as_bytes())] {
        assert_eq!(read_both(&content, &limited, 100, 3).unwrap().records, 61);
    }
}

#[test]
fn a_header_line_that_is_too_long_is_named() {
    use seqloom_format::bam::MAX_HEADER_LINE_BYTES;
    let head = |bytes: usize| format!("@SQ\tSN:c\tLN:9\n@CO\t{}\n", "x".repeat(bytes - 4));
    let (longest, too_long) = (head(MAX_HEADER_LINE_BYTES), head(MAX_HEADER_LINE_BYTES + 1));
    let t = |content: &[u8]| {
        let error = read_both(content, &options(0), 100, 2).unwrap_err();
        assert!(error.contains("header line 2: is longer than 8388608 bytes"), "{error}");
    };
    for text in [&too_long, &too_long.trim_end().to_owned(), &format!("{too_long}{}", unmapped(3))]
    {
        t(text.as_bytes());
        t(&gzip(text.as_bytes()));
    }
    read_both(format!("{longest}{}", unmapped(3)).as_bytes(), &options(0), 100, 2).unwrap();
    let bam = |text: &str| {
        let mut bytes = b"BAM\x01".to_vec();
        bytes.extend((text.len() as u32).to_le_bytes());
        bytes.extend(text.as_bytes());
        bytes.extend([0; 4]);
        bytes
    };
    t(&bam(&too_long.replace("@SQ\tSN:c\tLN:9", "@CO\ta")));
    // Noticed long before the rest is there.
    t(&bam(&too_long.replace("@SQ\tSN:c\tLN:9", "@CO\ta"))[..9_000_000.min(too_long.len())]);
    read_both(&bam(&longest.replace("@SQ\tSN:c\tLN:9", "@CO\ta")), &options(0), 100, 2).unwrap();
}
