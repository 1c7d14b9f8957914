//! Formats, compressions, and what is refused.

use std::path::PathBuf;

use seqloom_format::MateOfPair;
use seqloom_format::bgzf::EOF_BLOCK;

use super::{Read, bgzf, collect, file, gzip, malformed, options, read, read_bytes, zstd};
use crate::input::error::InputError;
use crate::input::malformed::RecordPlace;
use crate::input::reads::{
    Compression, Fetch, FetchScratch, ReadFormat, ReadSource, ReadsError, SourceOptions,
};

const THREE: &str = "@a/1 x\nACGT\n+\nIIII\n@b\nAC\n+b\n!~\n@c\n\n+\n\n";

fn three() -> Vec<Read> {
    let mut first = read("a", "ACGT", "IIII");
    first.extra = b"x".to_vec();
    vec![first, read("b", "AC", "!~"), read("c", "", "")]
}

fn open(content: &[u8]) -> (super::TestFile, ReadSource) {
    let file = file(content);
    let source = ReadSource::open(std::slice::from_ref(&file.path), options(64)).unwrap();
    (file, source)
}

#[test]
fn every_compression_reads_the_same() {
    let text = THREE.as_bytes();
    let members = [gzip(&text[..9]), gzip(b""), gzip(&text[9..])].concat();
    let mut padded = gzip(text);
    padded.extend_from_slice(&[0; 700]);
    let frames = [zstd(&text[..20]), zstd(&text[20..])].concat();
    let concatenated = [bgzf(&text[..17], &[5]), bgzf(&text[17..], &[4])].concat();
    let leading = [EOF_BLOCK.to_vec(), bgzf(text, &[6])].concat();
    let mut unmarked = bgzf(text, &[6]);
    unmarked.truncate(unmarked.len() - EOF_BLOCK.len());
    let mixed_members = [gzip(&text[..17]), bgzf(&text[17..], &[4])].concat();
    let cases = [
        (text.to_vec(), Compression::Plain),
        (members, Compression::Gzip),
        (padded, Compression::Gzip),
        (mixed_members, Compression::Gzip),
        (frames, Compression::Zstd),
        (concatenated, Compression::Bgzf),
        (leading, Compression::Bgzf),
        (unmarked, Compression::Bgzf),
    ];
    for (content, compression) in cases {
        let (_file, source) = open(&content);
        let format = source.format(0);
        assert_eq!((format.reads, format.compression), (ReadFormat::Fastq, compression));
        for block_bytes in [1, 7, 30, 1 << 16] {
            assert_eq!(read_bytes(&content, block_bytes).unwrap(), three(), "{compression:?}");
        }
    }
}

#[test]
fn nothing_is_no_reads() {
    for content in [Vec::new(), gzip(b""), bgzf(b"", &[1]), zstd(b""), b"\n\r\n\n".to_vec()] {
        assert_eq!(read_bytes(&content, 3).unwrap(), Vec::new());
    }
}

#[test]
fn cut_compressed_files_are_errors() {
    let text: String = (0..500)
        .map(|at| {
            format!("@r{at}\nACGTTGCA{at:x}\n+\n", at = at).replace(char::is_numeric, "A")
                + "IIIIIIIIIII\n"
        })
        .collect();
    let text = text.as_bytes();
    for (whole, what) in [
        (gzip(text), "gzip"),
        ([gzip(&text[..50]), gzip(&text[50..])].concat(), "gzip members"),
        (bgzf(text, &[700]), "bgzf"),
        (zstd(text), "zstd"),
    ] {
        let eof = if what == "bgzf" { EOF_BLOCK.len() } else { 0 };
        for cut in [1, 2, 5, 9, 20, 60] {
            let content = &whole[..whole.len() - eof - cut];
            for block_bytes in [20, 1 << 16] {
                let result = read_bytes(content, block_bytes);
                let truncated = matches!(&result,
                    Err(ReadsError::Input(InputError::Compressed { problem, .. }))
                        if problem.contains("truncated"));
                assert!(truncated, "{what} less {cut}: {:?}", result.err());
            }
        }
    }
}

#[test]
fn corrupt_compressed_files_are_errors() {
    let text = "@r\nACGTACGTAC\n+\nIIIIIIIIII\n".repeat(200).into_bytes();
    for (mut content, what) in [(gzip(&text), "gzip"), (bgzf(&text, &[700]), "bgzf")] {
        // The checksum: before ISIZE, and for BGZF before the EOF block.
        let eof = if what == "bgzf" { EOF_BLOCK.len() } else { 0 };
        let at = content.len() - eof - 8;
        content[at] ^= 1;
        for block_bytes in [20, 1 << 16] {
            let result = read_bytes(&content, block_bytes);
            assert!(
                matches!(&result,
                    Err(ReadsError::Input(InputError::Compressed { problem, byte, .. }))
                        if problem.contains("checksum") && *byte <= at as u64),
                "{what}: {:?}",
                result.err()
            );
        }
    }
    let mut broken = zstd(&text);
    let middle = broken.len() / 2;
    broken[middle..].fill(0xff);
    assert!(matches!(
        read_bytes(&broken, 99),
        Err(ReadsError::Input(InputError::Compressed { .. }))
    ));
}

#[test]
fn what_follows_the_end_of_compressed_data_is_named() {
    let text = "@r\nACGTACGTAC\n+\nIIIIIIIIII\n".repeat(200).into_bytes();
    for whole in [gzip(&text), bgzf(&text, &[700])] {
        for (more, what) in [
            (&b"@r2\nACGT\n+\nIIII\n"[..], "text that is not compressed (\"@r2\")"),
            (b"\x28\xb5\x2f\xfd\x04\0", "a zstd frame"),
            (b"\0\0\0hello", "text that is not compressed (\"hello\")"),
            (b"\xff\xfe", "bytes of no known format (ff fe)"),
        ] {
            let content = [&whole[..], more].concat();
            let zeros = more.iter().take_while(|&&byte| byte == 0).count();
            let at = (whole.len() + zeros) as u64;
            for block_bytes in [20, 999, 1 << 16] {
                let error = read_bytes(&content, block_bytes).unwrap_err();
                let ReadsError::Input(InputError::Compressed {
                    byte, problem, is_truncation, ..
                }) = &error
                else {
                    panic!("{error}");
                };
                assert_eq!((*byte, *is_truncation), (at, false), "{error}");
                let end = format!("after the end of the compressed data; `head -c {at} FILE`");
                assert!(problem.starts_with(what) && problem.contains(&end), "{error}");
            }
        }
        // As gzip reads them.
        let padded = [&whole[..], &[0; 1000]].concat();
        assert_eq!(read_bytes(&padded, 99).unwrap().len(), 200);
    }
}

#[test]
fn other_formats_are_named() {
    let cases: [(&[u8], &str); 9] = [
        (b"BZh91AY&SY...............", "bzip2"),
        (b"\xfd7zXZ\0................", "xz"),
        (b"CRAM\x03\0.................", "truncated: the input ends within this container"),
        (b"@HD\tVN:1.6\n@SQ\tSN:a\tLN:5\n", "SAM"),
        (b"@SQ\tSN:a\tLN:5\n", "SAM"),
        (b"hello, this is no sequence\n", "'h'"),
        (b"\xef\xbb\xbf@a\nA\n+\nI\n....", "byte order mark"),
        (&gzip(&gzip(THREE.as_bytes())), "twice"),
        (b"BAM\x01\xff\xff\xff\xff........................", "BAM header"),
    ];
    for (content, word) in cases {
        let message = read_bytes(content, 99).unwrap_err().to_string();
        assert!(message.contains(word) && message.contains("reads.txt"), "{message}");
    }
}

#[test]
fn inputs_that_cannot_be() {
    let path = || PathBuf::from("-");
    let error = |paths: &[PathBuf]| {
        ReadSource::open(paths, SourceOptions::default()).err().unwrap().to_string()
    };
    assert!(error(&[]).contains("got 0"));
    assert!(error(&[path(), path(), path()]).contains("got 3"));
    assert!(error(&[path(), path()]).contains("standard input"));
    assert!(error(&[PathBuf::from("no/such/file")]).contains("no/such/file: cannot open"));
    let folder = tempfile::tempdir().unwrap();
    assert!(error(&[folder.path().into()]).contains("cannot open"));
}

#[test]
fn wrapped_fastq_is_read_when_it_starts_so() {
    let text = "@a\nACGT\n+\nIIII\n@b\nACGT\nAC\n+\n@@@\n+++\n@c\n\n+\n\n@d\nAC\n+\nI\nI\n\n";
    let expected = [
        read("a", "ACGT", "IIII"),
        read("b", "ACGTAC", "@@@+++"),
        read("c", "", ""),
        read("d", "AC", "II"),
    ];
    for content in [text.as_bytes().to_vec(), gzip(text.as_bytes())] {
        let (_file, source) = open(&content);
        assert_eq!(source.format(0).reads, ReadFormat::WrappedFastq);
        for block_bytes in [1, 10, 1 << 16] {
            assert_eq!(read_bytes(&content, block_bytes).unwrap(), expected);
        }
    }
    let qualities = "@q\nACGT\n+\nII\nII\n";
    assert_eq!(read_bytes(qualities.as_bytes(), 9).unwrap(), [read("q", "ACGT", "IIII")]);
}

#[test]
fn wrapped_records_far_past_the_start_are_refused_by_name() {
    let four = "@four\nACGTACGTACGTACGTACGT\n+\nIIIIIIIIIIIIIIIIIIII\n".repeat(2000);
    let text = format!("{four}@wrapped\nACGT\nACGT\n+\nIIIIIIII\n");
    for content in [text.as_bytes().to_vec(), gzip(text.as_bytes()), bgzf(text.as_bytes(), &[999])]
    {
        let error = malformed(read_bytes(&content, 5000));
        let byte = four.len() as u64 + 14;
        assert_eq!((error.record, error.place), (2001, RecordPlace::Line { line: 8003, byte }));
        assert_eq!(error.name.as_deref(), Some("wrapped"));
        assert!(error.hint.unwrap().contains("seqtk seq -l0"));
    }
}

#[test]
fn fasta_reads_have_no_qualities() {
    let text = ">a one\nACGT\nAC\r\n\n>b\n>c/2\nNN";
    let mut first = read("a", "ACGTAC", "");
    first.extra = b"one".to_vec();
    let expected = [first, read("b", "", ""), read("c", "NN", "")];
    for content in [text.as_bytes().to_vec(), gzip(text.as_bytes())] {
        for block_bytes in [1, 4, 1 << 16] {
            assert_eq!(read_bytes(&content, block_bytes).unwrap(), expected);
        }
    }
    let error = malformed(read_bytes(b">a\nAC\n>b\nA1\n", 4));
    assert_eq!((error.record, error.place), (2, RecordPlace::Line { line: 4, byte: 10 }));
}

#[test]
fn a_file_that_changes_is_an_error() {
    let text = "@r\nACGT\n+\nIIII\n".repeat(100);
    for (content, grow) in [
        (text.as_bytes().to_vec(), true),
        (text.as_bytes().to_vec(), false),
        (bgzf(text.as_bytes(), &[99]), true),
        (gzip(text.as_bytes()), false),
    ] {
        let (file, source) = open(&content);
        let handle = std::fs::OpenOptions::new().write(true).open(&file.path).unwrap();
        let len = content.len() as u64;
        handle.set_len(if grow { len + 1 } else { len / 2 }).unwrap();
        // Of gzip, the whole file was read when it was opened: nothing is lost.
        match source.format(0).compression {
            Compression::Gzip => assert!(collect(&source, 1).is_ok()),
            _ => assert!(matches!(
                collect(&source, 2),
                Err(ReadsError::Input(InputError::Changed { .. }))
            )),
        }
    }
}

#[test]
fn pairs_may_differ_in_compression() {
    let mates = |mate: u8| -> String {
        (0..300).map(|at| format!("@r{at}/{mate}\nACGT\n+\nIIII\n")).collect()
    };
    let (first, second) = (file(mates(1).as_bytes()), file(&gzip(mates(2).as_bytes())));
    let expected: Vec<Read> = (0..300).map(|at| read(&format!("r{at}"), "ACGT", "IIII")).collect();
    for threads in [1, 3] {
        let paths = [first.path.clone(), second.path.clone()];
        let source = ReadSource::open(&paths, options(200)).unwrap();
        assert_eq!(
            source.total_bytes(),
            Some(paths.iter().map(|path| path.metadata().unwrap().len()).sum())
        );
        let files = collect(&source, threads).unwrap();
        assert_eq!(files, [expected.clone(), expected.clone()]);
        assert_eq!(Some(source.bytes_read()), source.total_bytes());
    }
}

/// One BAM record: name, flags, bases by code, qualities.
fn bam_record(name: &str, flags: u16, codes: &[u8], qualities: &[u8], aux: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    body.extend_from_slice(&(-1i32).to_le_bytes());
    body.extend_from_slice(&(-1i32).to_le_bytes());
    body.extend_from_slice(&[name.len() as u8 + 1, 0]);
    body.extend_from_slice(&4680u16.to_le_bytes());
    body.extend_from_slice(&0u16.to_le_bytes());
    body.extend_from_slice(&flags.to_le_bytes());
    body.extend_from_slice(&(codes.len() as u32).to_le_bytes());
    body.extend_from_slice(&[0xff; 8]);
    body.extend_from_slice(&0u32.to_le_bytes());
    body.extend_from_slice(name.as_bytes());
    body.push(0);
    body.extend(codes.chunks(2).map(|pair| pair[0] << 4 | pair.get(1).unwrap_or(&0)));
    body.extend_from_slice(qualities);
    body.extend_from_slice(aux);
    [&(body.len() as u32).to_le_bytes()[..], &body].concat()
}

fn bam_bytes(records: &[Vec<u8>]) -> Vec<u8> {
    let text = "@HD\tVN:1.6\tSO:unsorted\n@RG\tID:x\tSM:s\n";
    let mut bytes = b"BAM\x01".to_vec();
    bytes.extend_from_slice(&(text.len() as u32).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
    bytes.extend_from_slice(&0u32.to_le_bytes());
    bytes.extend(records.iter().flatten());
    bytes
}

#[test]
fn unaligned_bam_gives_reads_tags_and_header() {
    let aux = b"RGZx\0";
    let records = [
        bam_record("p", 0x4d, &[1, 2, 4, 8, 15], &[0, 1, 40, 93, 2], aux),
        bam_record("p", 0x8d, &[1, 2], &[0xff, 0xff], b""),
        bam_record("s", 0x904, &[1, 2], &[1, 1], b""),
        bam_record("r", 0x14, &[1, 2, 3, 8], &[1, 2, 3, 4], aux),
        bam_record("e", 4, &[], &[], b""),
    ];
    let bytes = bam_bytes(&records);
    for content in [bgzf(&bytes, &[40]), bytes.clone(), gzip(&bytes), bgzf(&bytes, &[9, 0, 100])] {
        let (_file, source) = open(&content);
        assert_eq!(source.format(0).reads, ReadFormat::Bam);
        let header = source.header().unwrap();
        assert_eq!(header.read_groups()[0].id, b"x");
        let mut scratch = FetchScratch::default();
        let blocks: Vec<_> = std::iter::from_fn(|| match source.fetch(&mut scratch).unwrap() {
            Fetch::Block(block) => Some(block),
            _ => None,
        })
        .collect();
        let mates: Vec<_> =
            blocks.iter().flat_map(|block| block.reads.mate_of_pair.clone()).collect();
        use MateOfPair::{First, Second, Unpaired};
        assert_eq!(mates, [First, Second, Unpaired, Unpaired]);
        assert_eq!(blocks.iter().map(|block| block.records).sum::<u64>(), 5);
        let reads: Vec<Read> = blocks.iter().flat_map(|block| super::reads_of(block)).collect();
        let mut expected = [
            read("p", "ACGTN", "!\"I~#"),
            read("p", "AC", ""),
            read("r", "AKGT", "%$#\""),
            read("e", "", ""),
        ];
        expected[0].extra = aux.to_vec();
        expected[2].extra = aux.to_vec();
        assert_eq!(reads, expected);
    }
}

#[test]
fn damaged_bam_is_refused() {
    let good = bam_record("a", 4, &[1], &[1], b"");
    let mut too_much = good.clone();
    too_much[20] = 200;
    let cases = [
        (bam_record("b", 0xc5, &[1], &[1], b""), "both first and second"),
        (bam_record("b", 0x5, &[1], &[1], b""), "neither first nor second"),
        (bam_record("b", 4, &[0], &[1], b""), "'=' among"),
        (bam_record("b", 4, &[1], &[94], b""), "above 93"),
        (bam_record("b", 4, &[1], &[1], b"RGZx"), "tag RG at byte"),
        (bam_record("b", 4, &[1], &[1], b"XXHABC\0"), "tag XX at byte"),
        (bam_record("b", 4, &[1], &[1], b"XZZa\tb\0"), "tag XZ at byte"),
        (bam_record("b", 4, &[1], &[1], b"XZZa\nb\0"), "tag XZ at byte"),
        (bam_record("b", 4, &[1], &[1], b"XAA "), "tag XA at byte"),
        (bam_record("", 4, &[1], &[1], b""), "no name"),
        (bam_record("@b", 4, &[1], &[1], b""), "'@' in the read name"),
        (bam_record("b\tc", 4, &[1], &[1], b""), "a tab in the read name"),
        (bam_record("b\nc", 4, &[1], &[1], b""), "a line end in the read name"),
        (bam_record("\u{e9}", 4, &[1], &[1], b""), "byte 0xc3 in the read name"),
        (too_much, "needs"),
        (good[..20].to_vec(), "truncated"),
    ];
    for (record, problem) in cases {
        let bytes = bam_bytes(&[good.clone(), record]);
        for block_bytes in [1, 1 << 16] {
            let error = malformed(read_bytes(&bgzf(&bytes, &[30]), block_bytes));
            assert!(error.problem.contains(problem), "{error}");
            let byte = bam_bytes(std::slice::from_ref(&good)).len() as u64;
            assert_eq!((error.record, error.place), (2, RecordPlace::Byte(byte)), "{error}");
        }
    }
    let mut unmarked = bgzf(&bam_bytes(&[good]), &[30]);
    unmarked.truncate(unmarked.len() - EOF_BLOCK.len());
    assert!(matches!(
        read_bytes(&unmarked, 99),
        Err(ReadsError::Input(InputError::Compressed { .. }))
    ));
}

#[test]
fn bam_is_given_alone() {
    let (bam, fastq) = (file(&bgzf(&bam_bytes(&[]), &[99])), file(THREE.as_bytes()));
    let error = ReadSource::open(&[fastq.path.clone(), bam.path.clone()], options(9)).err();
    assert!(error.unwrap().to_string().contains("only input"));
}

#[test]
fn other_offsets_are_recognised_by_the_range_of_qualities() {
    let text = "@r\nACGT\n+\nhhhh\n".repeat(3);
    let result = read_bytes(text.as_bytes(), 9);
    assert!(matches!(result, Err(ReadsError::PhredOffset { records: 3, .. })));
    let phred33 = SourceOptions { assume_phred33: true, ..options(9) };
    assert_eq!(super::read_file(&file(text.as_bytes()).path, phred33, 1).unwrap().len(), 3);
    // High, but what Phred+33 has: binned, CCS, consensus, and one low base in 30,000 reads.
    for qualities in ["IIII", "JJJJ", "KKKK", "~~~~", "z~~~", "FFFF"] {
        let (bases, qualities) = ("ACGT".repeat(5), qualities.repeat(5));
        let text = format!("@r\n{bases}\n+\n{qualities}\n").repeat(12_000);
        assert_eq!(read_bytes(text.as_bytes(), 1 << 16).is_ok(), &qualities[..1] != "K");
        assert!(read_bytes(&text.as_bytes()[..47 * 100], 1 << 16).is_ok(), "{qualities}");
    }
    let low = format!("@r\nA\n+\n5\n{}", "@r\nACGT\n+\nhhhh\n".repeat(12_000));
    assert!(read_bytes(low.as_bytes(), 1 << 16).is_ok());
}
