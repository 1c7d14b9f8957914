//! Any bytes as an input file: what `ReadSource` must survive. The property test beside this file
//! and the fuzz target call the same function.

use std::path::Path;

use seqloom_io::source::{Fetch, FetchScratch, ReadSource, SequenceCheck, SourceOptions};

type Read = [Vec<u8>; 4];

/// Every read of `path`, or what the error says.
fn read_all(path: &Path, block_bytes: usize) -> Result<Vec<Read>, String> {
    let options = SourceOptions { block_bytes, keep_comments: true, ..SourceOptions::default() };
    let source =
        ReadSource::open(&[path.to_path_buf()], options).map_err(|error| error.to_string())?;
    let mut check = SequenceCheck::new(&source, 0);
    let mut scratch = FetchScratch::default();
    let mut reads = Vec::new();
    loop {
        match source.fetch(&mut scratch).map_err(|error| error.to_string())? {
            Fetch::Block(block) => {
                check.accept(&source, &block).map_err(|error| error.to_string())?;
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
