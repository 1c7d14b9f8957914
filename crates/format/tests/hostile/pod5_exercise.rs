//! What the parsers of POD5 must survive, whatever the bytes; each function panics where a promise
//! is broken. The property tests in `pod5.rs` and the fuzz targets call them.

use seqloom_format::ReadAt;
use seqloom_format::pod5::flatbuffers::Table;
use seqloom_format::pod5::{
    Batch, Container, Pod5FormatError, ReadTable, RowCoding, RowDecoder, SignalTable, read_runs,
    svb16,
};

/// Rows that are looked at, so that a file of many costs no more than one of few.
const MAX_ROWS: usize = 64;

/// A whole file: every table, every row; what  said to be in the file is in it.
pub(crate) fn file(bytes: &[u8]) {
    let size_bytes = bytes.len() as u64;
    let read = || -> Result<(), Pod5FormatError> {
        let container = Container::read(&bytes)?;
        let signal = SignalTable::open(&bytes, container.signal)?;
        for row in (0..8).chain([u64::MAX]) {
            let Ok(found) = signal.row(&bytes, row) else { continue };
            let end = found.span.offset.checked_add(found.span.len).unwrap();
            assert!(end <= size_bytes);
            let mut coded = vec![0; found.span.len as usize];
            bytes.read_exact_at(&mut coded, found.span.offset).unwrap();
            row_of(signal.coding(), &coded, found.samples);
        }
        let reads = ReadTable::open(&bytes, container.reads)?;
        for run in read_runs(&bytes, container.run_info, &reads)? {
            assert_eq!(run.values[0].0, "acquisition_id");
        }
        assert!(reads.end_reasons().map(<[u8]>::len).sum::<usize>() <= 64 * bytes.len());
        let (mut ids, mut batch) = (Vec::new(), Batch::default());
        for index in 0..reads.batches() {
            let before = ids.len();
            reads.read_ids(&bytes, index, &mut ids)?;
            assert!(16 * ids.len() <= bytes.len());
            reads.load(&bytes, index, &mut batch)?;
            assert!(batch.body.len() <= bytes.len());
            for (row, id) in ids[before..].iter().enumerate().take(MAX_ROWS) {
                if let Ok(values) = reads.row(&batch, row) {
                    assert_eq!(values.read_id, *id);
                }
                let mut rows = 0;
                let _ = reads.signal_rows::<Pod5FormatError>(&batch, row, |_| {
                    rows += 1;
                    Ok(())
                });
                assert!(8 * rows <= bytes.len());
            }
            assert!(reads.row(&batch, usize::MAX).is_err());
        }
        Ok(())
    };
    if let Err(error) = read() {
        assert!(!error.to_string().is_empty());
    }
}

/// Coded bytes of a row: an error leaves the samples as they were.
pub(crate) fn row_of(coding: RowCoding, coded: &[u8], samples: u32) {
    let mut out = vec![7];
    match RowDecoder::default().decode(coding, coded, samples, &mut out) {
        Ok(()) => assert_eq!(out.len(), 1 + samples as usize),
        Err(_) => assert_eq!(out, [7]),
    }
}

/// svb16: two bytes for the number of samples, then what is coded.
pub(crate) fn svb16(bytes: &[u8]) {
    let Some((&count, coded)) = bytes.split_first_chunk() else { return };
    let samples = usize::from(u16::from_le_bytes(count));
    let mut out = vec![7];
    match svb16::decode(coded, samples, &mut out) {
        Ok(()) => assert_eq!(out.len(), 1 + samples),
        Err(_) => assert_eq!(out, [7]),
    }
    row_of(RowCoding::Vbz, coded, samples as u32);
    row_of(RowCoding::Plain, coded, samples as u32);
}

/// A FlatBuffer: every field of every kind, three tables deep.
pub(crate) fn flatbuffer(bytes: &[u8]) {
    fn visit(table: &Table<'_>, depth: usize, bytes: &[u8]) {
        for field in 0..8 {
            let _ = (table.u8(field), table.i16(field), table.i32(field), table.i64(field));
            let text = table.string(field);
            assert!(text.map_or(0, <[u8]>::len) <= bytes.len());
            if let Ok(Some(vector)) = table.vector(field, 24) {
                assert!(vector.elements().count() * 24 <= bytes.len());
            }
            if depth == 0 {
                continue;
            }
            if let Ok(Some(inner)) = table.table(field) {
                visit(&inner, depth - 1, bytes);
            }
            if let Ok(Some(vector)) = table.vector(field, 4) {
                vector.tables().take(3).flatten().for_each(|t| visit(&t, depth - 1, bytes));
            }
        }
    }
    if let Ok(root) = Table::root(bytes) {
        visit(&root, 3, bytes);
    }
}
