//! The data: single-read FAST5 files copied as often as requested, and the same reads in the other
//! formats, under ids that make each copy another read.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use seqloom_format::hdf5::SignalCompressor;
use seqloom_format::signal::{SignalHeader, SignalRead};
use seqloom_format::slow5::binary::RecordEncoder;
use seqloom_format::slow5::{Compression, index, text};
use seqloom_signal::flow::inputs;
use seqloom_signal::operations::Encoding;
use seqloom_signal::store::fast5::Fast5Writer;
use seqloom_signal::store::{self, Cursor, DecodeScratch, FrameBatch, OpenOptions, index_path};

use crate::experiment::{LabError, output_of};

/// How much there is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Volume {
    /// Reads in each format.
    pub(crate) reads: u64,
    /// Bytes of the single-read FAST5 files.
    pub(crate) single_bytes: u64,
    /// Bytes of the BLOW5 file.
    pub(crate) blow5_bytes: u64,
}

fn bad(path: &Path, error: impl std::fmt::Display) -> LabError {
    LabError::Prepare(format!("{}: {error}", path.display()))
}

/// Makes what is not there yet.
pub(super) fn prepare(
    source: &Path,
    data: &Path,
    copies: u32,
    blue_crab: Option<&Path>,
) -> Result<Volume, LabError> {
    let found = inputs::find(&[source.to_owned()], &["fast5"]);
    let paths = found.map_err(|error| LabError::Prepare(error.to_string()))?.paths;
    if copies == 0 {
        return Err(bad(source, "no copies of its files are to be made"));
    }
    let stamp = format!("{copies} copies of {} files of {}\n", paths.len(), source.display());
    let done = data.join("done");
    if fs::read_to_string(&done).is_ok_and(|text| text == stamp) {
        return volume(data, paths.len() as u64 * u64::from(copies));
    }
    if data.exists() {
        fs::remove_dir_all(data).map_err(LabError::file(data))?;
    }
    let single = data.join("single");
    fs::create_dir_all(&single).map_err(LabError::file(&single))?;
    for copy in 0..copies {
        for (number, path) in paths.iter().enumerate() {
            let to = single.join(format!("{copy:03}_{number:05}.fast5"));
            fs::copy(path, &to).map_err(LabError::file(&to))?;
        }
    }
    let (header, reads) = load(&paths)?;
    write_records(&header, &reads, copies, Encoding::Slow5, &data.join("reads.slow5"))?;
    let blow5 = data.join("reads.blow5");
    let encoding = Encoding::Blow5(Compression::default());
    write_records(&header, &reads, copies, encoding, &blow5)?;
    write_multi(&header, &reads, copies, &data.join("reads.fast5"))?;
    if let Some(blue_crab) = blue_crab {
        let mut command = Command::new(blue_crab);
        command.arg("s2p").arg(&blow5).arg("-o").arg(data.join("reads.pod5"));
        output_of(&mut command, |_, said| bad(blue_crab, said))?;
    }
    fs::write(&done, stamp).map_err(LabError::file(&done))?;
    volume(data, paths.len() as u64 * u64::from(copies))
}

fn volume(data: &Path, reads: u64) -> Result<Volume, LabError> {
    let size = |path: &Path| {
        fs::metadata(path).map(|metadata| metadata.len()).map_err(LabError::file(path))
    };
    let single = data.join("single");
    let entries = fs::read_dir(&single).map_err(LabError::file(&single))?;
    let sizes = entries.map(|entry| size(&entry.map_err(LabError::file(&single))?.path()));
    let single_bytes = sizes.sum::<Result<u64, _>>()?;
    Ok(Volume { reads, single_bytes, blow5_bytes: size(&data.join("reads.blow5"))? })
}

/// All reads of the files, and the header of the first.
fn load(paths: &[PathBuf]) -> Result<(SignalHeader, Vec<SignalRead>), LabError> {
    let mut header = None;
    let mut reads = Vec::new();
    let mut scratch = DecodeScratch::default();
    for path in paths {
        let store = store::open(path, &OpenOptions::default()).map_err(|e| bad(path, e))?;
        let first = header.get_or_insert_with(|| store.header().clone());
        if store.header().auxiliary != first.auxiliary {
            return Err(bad(path, "its auxiliary fields are not those of the first file"));
        }
        let (mut cursor, mut batch) = (Cursor::default(), FrameBatch::default());
        while store.next(&mut cursor, &mut batch).map_err(|e| bad(path, e))? {
            for frame in &batch.frames {
                let mut read = SignalRead::default();
                let decoded = store.decode(&mut scratch, &batch, frame, &mut read);
                decoded.map_err(|error| bad(path, error))?;
                reads.push(read);
            }
        }
    }
    Ok((header.unwrap_or_default(), reads))
}

/// The id of a copy: still a UUID.
fn id_of(copy: u32, id: &[u8]) -> Vec<u8> {
    [format!("{copy:08x}").as_bytes(), id.get(8..).unwrap_or_default()].concat()
}

/// Each copy of each read in turn.
fn each(
    reads: &[SignalRead],
    copies: u32,
    mut visit: impl FnMut(&SignalRead) -> Result<(), LabError>,
) -> Result<(), LabError> {
    for copy in 0..copies {
        for read in reads {
            let mut read = read.clone();
            read.read_id = id_of(copy, &read.read_id);
            visit(&read)?;
        }
    }
    Ok(())
}

/// A SLOW5 or BLOW5 file and its index.
fn write_records(
    header: &SignalHeader,
    reads: &[SignalRead],
    copies: u32,
    encoding: Encoding,
    path: &Path,
) -> Result<(), LabError> {
    let mut bytes = encoding.header(header).map_err(|error| bad(path, error))?;
    let mut entries = Vec::new();
    index::append_header(header.version, &mut entries);
    let mut encoder = RecordEncoder::new(Compression::default()).map_err(|e| bad(path, e))?;
    each(reads, copies, |read| {
        let start = bytes.len();
        match encoding {
            Encoding::Slow5 => text::append_record(read, header, &mut bytes),
            Encoding::Blow5(_) => encoder.append(read, header, &mut bytes),
        }
        .map_err(|error| bad(path, error))?;
        let (offset, size_bytes) = (start as u64, (bytes.len() - start) as u64);
        let entry = index::Entry { read_id: &read.read_id, offset, size_bytes };
        index::append_entry(&entry, &mut entries);
        Ok(())
    })?;
    bytes.extend_from_slice(encoding.end());
    index::append_footer(&mut entries);
    fs::write(path, bytes).map_err(LabError::file(path))?;
    let path = index_path(path);
    fs::write(&path, entries).map_err(LabError::file(&path))
}

/// One multi-read FAST5.
fn write_multi(
    header: &SignalHeader,
    reads: &[SignalRead],
    copies: u32,
    path: &Path,
) -> Result<(), LabError> {
    let mut bytes = Vec::new();
    let mut writer = Fast5Writer::new(header, &mut bytes).map_err(|error| bad(path, error))?;
    let (mut compressor, mut chunk) = (SignalCompressor::default(), Vec::new());
    each(reads, copies, |read| {
        chunk.clear();
        compressor.compress(&read.samples, &mut chunk);
        writer.push(read, &chunk, &mut bytes).map_err(|error| bad(path, error))
    })?;
    let start = writer.finish(&mut bytes).map_err(|error| bad(path, error))?;
    bytes[..start.len()].copy_from_slice(&start);
    fs::write(path, bytes).map_err(LabError::file(path))
}
