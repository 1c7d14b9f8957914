//! Version 2 B-trees (specification, III.A.2): the indices of dense links and attributes.

use std::ops::Range;

use super::bytes::{Sizes, UNDEFINED, encoded_width};
use super::error::Hdf5Error;
use super::file::MetadataReader;

const WHAT: &str = "B-tree";
/// Signature, version, type and checksum of a node.
const NODE_OVERHEAD: u64 = 10;
/// Deepest tree. With two records a node this holds more than any file.
const MAX_DEPTH: u16 = 32;

/// Takes a record.
pub(super) type Visit<'a, E> = dyn FnMut(&mut MetadataReader<'_>, &[u8]) -> Result<(), E> + 'a;

/// Properties of all nodes of a tree.
struct Tree {
    kind: u8,
    node_bytes: u64,
    record_bytes: u64,
    /// For each level from the leaves: most records of its nodes, and the width of the count of all
    /// records below one of its nodes.
    levels: Vec<Level>,
    /// Width of the number of records in a node.
    count_width: usize,
}

struct Level {
    max_records: u64,
    total_width: usize,
}

/// A node to be visited.
#[derive(Clone, Copy)]
struct Node {
    address: u64,
    level: u16,
    records: u64,
}

/// An inner node on the way to the leaf that is visited.
struct Frame {
    records: Vec<u8>,
    children: Vec<Node>,
    next: usize,
}

/// Visits every record of a tree, in its order.
///
/// # Errors
/// Damage in the tree; what `visit` returns.
pub(super) fn visit<E: From<Hdf5Error>>(
    reader: &mut MetadataReader<'_>,
    address: u64,
    kind: u8,
    buffer: &mut Vec<u8>,
    visit: &mut Visit<'_, E>,
) -> Result<(), E> {
    let (tree, root) = open(reader, address, kind, buffer)?;
    let record_bytes = tree.record_bytes as usize;
    let mut frames: Vec<Frame> = Vec::new();
    let mut visited_bytes = 0u64;
    let mut node = root;
    loop {
        if let Some(node) = node.take() {
            visited_bytes = visited_bytes.saturating_add(tree.node_bytes);
            if visited_bytes > reader.file.size_bytes {
                let why = "it has more nodes than the file has room for";
                return Err(Hdf5Error::malformed(WHAT, address, why).into());
            }
            let mut children = Vec::new();
            let records = read_node(reader, &tree, node, buffer, &mut children)?;
            if node.level == 0 {
                let mut records = buffer[records].chunks_exact(record_bytes);
                records.try_for_each(|record| visit(reader, record))?;
            } else {
                frames.push(Frame { records: buffer[records].to_vec(), children, next: 0 });
            }
        }
        let Some(frame) = frames.last_mut() else { return Ok(()) };
        let next = frame.next;
        frame.next += 1;
        if let Some(before) = next.checked_sub(1)
            && let Some(record) = frame.records.chunks_exact(record_bytes).nth(before)
        {
            visit(reader, record)?;
        }
        match frame.children.get(next) {
            Some(&child) => node = Some(child),
            None => drop(frames.pop()),
        }
    }
}

/// Reads the header of a tree.
fn open(
    reader: &mut MetadataReader<'_>,
    address: u64,
    kind: u8,
    buffer: &mut Vec<u8>,
) -> Result<(Tree, Option<Node>), Hdf5Error> {
    let sizes = reader.file.sizes;
    let length = 22 + u64::from(sizes.offset) + u64::from(sizes.length);
    let mut fields = reader.fetch(address, length, WHAT, buffer)?;
    fields.signature(b"BTHD")?;
    fields.version(0)?;
    if fields.u8()? != kind {
        return Err(fields.malformed("it is not of the expected type"));
    }
    fields.verify_checksum()?;
    let node_bytes = u64::from(fields.u32()?);
    let record_bytes = u64::from(fields.u16()?);
    let depth = fields.u16()?;
    fields.skip(2)?;
    let root = fields.offset()?;
    let records = u64::from(fields.u16()?);
    if record_bytes == 0 || node_bytes < NODE_OVERHEAD + record_bytes || depth > MAX_DEPTH {
        return Err(fields.malformed("its sizes make no sense"));
    }
    let max_records = (node_bytes - NODE_OVERHEAD) / record_bytes;
    let count_width = encoded_width(max_records);
    let mut levels = vec![Level { max_records, total_width: 0 }];
    let mut total = max_records;
    for level in 1..=depth {
        let pointer = pointer_bytes(sizes, count_width, levels[usize::from(level) - 1].total_width);
        let room = node_bytes.saturating_sub(NODE_OVERHEAD + pointer);
        let max_records = room / (record_bytes + pointer);
        total = (max_records + 1).saturating_mul(total).saturating_add(max_records);
        levels.push(Level { max_records, total_width: encoded_width(total) });
    }
    let tree = Tree { kind, node_bytes, record_bytes, levels, count_width };
    let root =
        (root != UNDEFINED && records > 0).then_some(Node { address: root, level: depth, records });
    Ok((tree, root))
}

/// Bytes of a pointer to a child: address, records in it, records in and below it.
fn pointer_bytes(sizes: Sizes, count_width: usize, total_width: usize) -> u64 {
    u64::from(sizes.offset) + (count_width + total_width) as u64
}

/// Reads a node into `buffer`, appends its children, and returns where its records are.
fn read_node(
    reader: &mut MetadataReader<'_>,
    tree: &Tree,
    node: Node,
    buffer: &mut Vec<u8>,
    children: &mut Vec<Node>,
) -> Result<Range<usize>, Hdf5Error> {
    let Node { address, level, records } = node;
    if records > tree.levels[usize::from(level)].max_records {
        return Err(Hdf5Error::malformed(WHAT, address, "a node has more records than fit"));
    }
    // Both factors are bounded by 32-bit fields.
    let mut length = NODE_OVERHEAD + records * tree.record_bytes;
    let below = level.checked_sub(1).map(|below| tree.levels[usize::from(below)].total_width);
    if let Some(total_width) = below {
        length += (records + 1) * pointer_bytes(reader.file.sizes, tree.count_width, total_width);
    }
    let mut fields = reader.fetch(address, length, WHAT, buffer)?;
    fields.verify_checksum()?;
    fields.signature(if level == 0 { b"BTLF" } else { b"BTIN" })?;
    fields.version(0)?;
    if fields.u8()? != tree.kind {
        return Err(fields.malformed("a node is not of the tree's type"));
    }
    let start = fields.position();
    fields.skip((records * tree.record_bytes) as usize)?;
    let range = start..fields.position();
    if let Some(total_width) = below {
        for _ in 0..=records {
            let child = fields.offset()?;
            let records = fields.unsigned(tree.count_width)?;
            fields.unsigned(total_width)?;
            children.push(Node { address: child, level: level - 1, records });
        }
    }
    Ok(range)
}
