//! What the HDF5 reader and the VBZ decoder must survive, whatever the bytes. The property tests
//! next to this file, those of FAST5, and the fuzz targets call the same functions.

use std::sync::Arc;

use seqloom_format::hdf5::vbz::VbzDecoder;
use seqloom_format::hdf5::{
    Attribute, Hdf5Error, Hdf5File, Hdf5Scratch, Hdf5Writer, LinkTarget, Links, MAX_ELEMENTS,
    Messages, NumberType, SUPERBLOCK_BYTES, SignalCompressor, Value, superblock,
};

/// Objects that are looked at: links that meet again must not multiply work here.
const MAX_OBJECTS: usize = 60;

/// Everything in a file: addresses, names and values that are found are used once more.
pub(crate) fn file(bytes: &[u8]) {
    let Ok(file) = Hdf5File::open(Arc::new(bytes.to_vec())) else { return };
    let mut scratch = Hdf5Scratch::default();
    let mut samples = Vec::new();
    let mut objects = vec![file.root()];
    let mut next = 0;
    while let Some(&object) = objects.get(next) {
        next += 1;
        let _ = file.kind(object, &mut scratch);
        let _ = file.attributes(object, &mut scratch, |it| {
            attribute(it);
            Ok::<(), Hdf5Error>(())
        });
        if file.read_i16(object, &mut scratch, &mut samples).is_ok() {
            assert!(samples.len() as u64 <= MAX_ELEMENTS);
        }
        let mut links = Links::default();
        if file.links(object, &mut scratch, &mut links).is_err() {
            continue;
        }
        let names: Vec<&[u8]> = (0..links.len()).map(|index| links.get(index).name).collect();
        assert!(names.is_sorted());
        for index in 0..links.len() {
            if let LinkTarget::Object(member) = links.get(index).target
                && !objects.contains(&member)
                && objects.len() < MAX_OBJECTS
            {
                objects.push(member);
            }
        }
        links.truncate(links.len() / 2);
        links.truncate(0);
        assert!(links.is_empty());
    }
}

fn attribute(attribute: &Attribute) {
    for label in attribute.datatype().members() {
        assert!(!label.name.contains(&0));
    }
    match attribute.value() {
        Value::Text(text) => assert!(!text.contains(&0)),
        Value::Other => {}
        _ => assert_eq!(attribute.elements(), 1),
    }
}

/// Four parameters of a byte each, then a chunk.
pub(crate) fn vbz(bytes: &[u8]) {
    const LIMIT_BYTES: usize = 1 << 20;
    let Some((parameters, chunk)) = bytes.split_first_chunk::<4>() else { return };
    let mut out = b"before".to_vec();
    let mut decoder = VbzDecoder::default();
    let parameters = parameters.map(u32::from);
    let first = decoder.decode(&parameters, chunk, LIMIT_BYTES, &mut out).is_ok();
    if first {
        let size = u32::from_le_bytes([chunk[0], chunk[1], chunk[2], chunk[3]]);
        assert_eq!(out.len(), size as usize);
        assert!(out.len() <= LIMIT_BYTES);
    }
    // A decoder that has met damage is as good as a new one.
    let mut again = Vec::new();
    let second = decoder.decode(&parameters, chunk, LIMIT_BYTES, &mut again).is_ok();
    assert!(first == second && (!first || out == again));
}

/// A file with groups, attributes of every type and a dataset.
pub(crate) fn good() -> Vec<u8> {
    let mut out = vec![0; SUPERBLOCK_BYTES];
    let mut writer = Hdf5Writer::at(SUPERBLOCK_BYTES as u64);
    let mut messages = Messages::default();
    let samples: Vec<i16> = (0..180).map(|index| index * index % 97).collect();
    let mut chunk = Vec::new();
    SignalCompressor::default().compress(&samples, &mut chunk);
    let signal = writer.samples(samples.len(), &chunk, &mut messages, &mut out).unwrap();
    messages.clear();
    messages.text(b"read_id", b"0123").unwrap();
    messages.number(b"start_time", NumberType::Integer(8, false), &[7; 8]).unwrap();
    messages.number(b"median", NumberType::F64, &[7; 8]).unwrap();
    messages.number(b"scale", NumberType::F32, &[7; 4]).unwrap();
    messages.label(b"end_reason", &[b"unknown".to_vec(), b"partial".to_vec()], 1).unwrap();
    let members = [(&b"Signal"[..], signal)].into_iter();
    let raw = writer.group(members, &mut messages, 1, &mut out).unwrap().header;
    messages.clear();
    let names: Vec<String> = (0..20).map(|index| format!("read_{index:02}")).collect();
    let members = names.iter().map(|name| (name.as_bytes(), raw));
    let root = writer.group(members, &mut messages, 1, &mut out).unwrap();
    out[..SUPERBLOCK_BYTES].copy_from_slice(&superblock(root, writer.position()));
    out
}
