//! Any bytes as an input file: what `ReadSource` and `AlignmentSource` must survive. The property
//! tests next to this file and the fuzz targets call the same functions.

use std::path::Path;

use seqloom_format::Persist;
use seqloom_format::bam::{check_record, framed_records};
use seqloom_io::alignments::{AlignmentFetch, AlignmentOptions, AlignmentScratch, AlignmentSource};
use seqloom_io::reads::{
    Fetch, FetchScratch, FilePosition, FileStart, ReadSource, RestartPoint, SourceOptions,
};
use seqloom_io::{alignments, reads};

type Read = [Vec<u8>; 4];

/// Every read of `path`, or what the error says.
fn read_all(path: &Path, block_bytes: usize) -> Result<Vec<Read>, String> {
    let options = SourceOptions { block_bytes, keep_comments: true, ..SourceOptions::default() };
    let source =
        ReadSource::open(&[path.to_path_buf()], options).map_err(|error| error.to_string())?;
    drained(&source)
}

/// All that `source` gives, checked and counted, or what the error says.
fn drained(source: &ReadSource) -> Result<Vec<Read>, String> {
    let mut check = reads::BlockCheck::new(source, 0);
    let (mut scratch, mut reads) = (FetchScratch::default(), Vec::new());
    loop {
        match source.fetch(&mut scratch).map_err(|error| error.to_string())? {
            Fetch::Block(mut block) => {
                check.accept(source, &mut block).map_err(|error| error.to_string())?;
                let block = block.reads;
                reads.extend((0..block.reads.len()).map(|i| {
                    [block.name(i), block.bases(i), block.qualities(i), block.extra(i)]
                        .map(<[u8]>::to_vec)
                }));
            }
            Fetch::Busy => {}
            Fetch::End => break,
        }
    }
    assert_eq!(check.records(), reads.len() as u64);
    Ok(reads)
}

/// Reads `bytes` as a file, in large blocks and in small ones: the same reads, or an error that
/// names the file, both ways.
pub(crate) fn source(folder: &Path, bytes: &[u8]) {
    let path = folder.join("reads");
    std::fs::write(&path, bytes).unwrap();
    let large = read_all(&path, 1 << 20);
    let small = read_all(&path, 61);
    assert_eq!(large.is_ok(), small.is_ok(), "{large:?} but in small blocks {small:?}");
    match large {
        Ok(reads) => assert_eq!(Ok(reads), small),
        Err(error) => assert!(error.contains(&path.display().to_string()), "{error}"),
    }
}

/// The reads from `start` on, and the restart points that were met, or what the error says.
fn read_from(
    path: &Path,
    start: Option<FileStart>,
) -> Result<(Vec<Read>, Vec<RestartPoint>), String> {
    let options = SourceOptions {
        block_bytes: 61,
        keep_comments: true,
        restart_every_bytes: start.is_none().then_some(1),
        ..SourceOptions::default()
    };
    let starts: Vec<FileStart> = start.into_iter().collect();
    let source = ReadSource::open_at(&[path.to_path_buf()], options, &starts)
        .map_err(|error| error.to_string())?;
    let reads = drained(&source)?;
    Ok((reads, source.take_restart_points(0)))
}

/// Reads gzip of `text` from every restart point on, and from one that is made of `noise`: the
/// reads that are left, or an error.
pub(crate) fn restart(folder: &Path, content: &[u8], noise: &[u8]) {
    let path = folder.join("restarted");
    std::fs::write(&path, content).unwrap();
    let Ok((reads, points)) = read_from(&path, None) else { return };
    for point in points {
        let place =
            FilePosition { text: point.text(), ..FilePosition::default() }.reached_from(&point);
        let start = FileStart { place, restart: Some(point) };
        // A point is anywhere in a record, so that its first one may be malformed.
        if let Ok((rest, _)) = read_from(&path, Some(start)) {
            assert!(rest.len() <= reads.len());
        }
    }
    if let Ok(point) = RestartPoint::from_state(noise) {
        let place =
            FilePosition { text: point.text(), ..FilePosition::default() }.reached_from(&point);
        let _ = read_from(&path, Some(FileStart { place, restart: Some(point) }));
    }
}

/// Every record of `path`, or what the error says.
fn align_all(path: &Path, block_bytes: usize, allow_truncated: bool) -> Result<Vec<u8>, String> {
    let options = AlignmentOptions { block_bytes, allow_truncated, ..Default::default() };
    let source =
        AlignmentSource::open(&[path.to_path_buf()], options).map_err(|error| error.to_string())?;
    let references = source.headers()[0].references().len();
    let mut check = alignments::BlockCheck::new(&source, 0);
    let mut scratch = AlignmentScratch::default();
    let mut bytes = Vec::new();
    let mut records = 0;
    loop {
        match source.fetch(&mut scratch).map_err(|error| error.to_string())? {
            AlignmentFetch::Block(mut block) => {
                check.accept(&source, &mut block).map_err(|error| error.to_string())?;
                for body in framed_records(&block.bytes) {
                    assert!(check_record(body.unwrap(), references).is_ok());
                    records += 1;
                }
                bytes.extend_from_slice(&block.bytes);
                source.recycle(block);
            }
            AlignmentFetch::Busy => {}
            AlignmentFetch::End => break,
        }
    }
    assert_eq!(check.records(), records);
    Ok(bytes)
}

/// Reads `bytes` as aligned reads, in large blocks and in small ones: the same records, each of
/// them well-formed, or the same error, which names the file; and no fewer with truncation allowed.
pub(crate) fn alignments(folder: &Path, bytes: &[u8]) {
    let path = folder.join("alignments");
    std::fs::write(&path, bytes).unwrap();
    let large = align_all(&path, 1 << 20, false);
    assert_eq!(large, align_all(&path, 61, false));
    let cut = align_all(&path, 1 << 20, true);
    assert_eq!(cut, align_all(&path, 61, true));
    match large {
        Ok(records) => assert_eq!(Ok(records), cut),
        Err(error) => assert!(error.contains(&path.display().to_string()), "{error}"),
    }
}

/// Reads `bytes` as a FASTA, and as the indices of one: every base that is said to be there can be
/// had or is refused, and an index that was accepted gives nothing but what is in the file.
pub(crate) fn indexed_fasta(folder: &Path, bytes: &[u8]) {
    use seqloom_io::IndexedFasta;
    use seqloom_io::{SeekableText, TextScratch};
    const TEXT: &[u8] = b">c1 x\nACGTACGT\nAC\n>c2\nGGG\n";
    let (fasta, mut scratch) = (folder.join("f.fa"), TextScratch::default());
    for (name, content) in [("f.fa", bytes), ("f.fa.fai", bytes), ("f.fa.gzi", bytes)] {
        for old in ["f.fa", "f.fa.fai", "f.fa.gzi"] {
            let _ = std::fs::remove_file(folder.join(old));
        }
        let mut blocks = Vec::new();
        seqloom_format::bgzf::BlockCompressor::new(1).unwrap().compress(TEXT, &mut blocks).unwrap();
        let text = if name == "f.fa.gzi" { &blocks } else { TEXT };
        std::fs::write(&fasta, text).unwrap();
        std::fs::write(folder.join(name), content).unwrap();
        if let Ok(text) = SeekableText::open(&fasta) {
            let (all, mut out) = (text.text_bytes().min(1 << 20) as usize, Vec::new());
            if text.read(&mut scratch, 0, all, &mut out).is_ok() {
                assert_eq!(out.len(), all);
            }
        }
        let Ok(opened) = IndexedFasta::open(&fasta) else { continue };
        let (mut sequence, mut out) = (0, Vec::new());
        while opened.length_bp(sequence) > 0 {
            let end = opened.length_bp(sequence).min(1 << 20);
            if opened.fetch(&mut scratch, sequence, 0..end, &mut out).is_ok() {
                assert_eq!(out.len() as u64, end);
            }
            sequence += 1;
        }
    }
}
