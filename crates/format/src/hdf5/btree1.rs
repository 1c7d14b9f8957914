//! Version 1 B-trees (specification, III.A.1): members of groups, chunks of datasets.

use super::bytes::Fields;
use super::error::Hdf5Error;
use super::file::MetadataReader;

const WHAT: &str = "B-tree";

/// Kind of a tree, by what it indexes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TreeKind {
    /// Symbol nodes of a group.
    Group,
    /// Chunks of a dataset of this rank, without the dimension of the element's bytes.
    Chunks {
        /// Number of dimensions.
        rank: u8,
    },
}

/// The buffers of a walk through a tree.
#[derive(Default)]
pub(super) struct TreeScratch {
    /// The node that is read.
    node: Vec<u8>,
    /// Nodes still to be visited, with their levels.
    stack: Vec<(u64, u8)>,
}

/// Visits what the leaves point to, from left to right, each with the key before it.
///
/// # Errors
/// Damage in the tree; what `visit` returns.
pub(super) fn visit(
    reader: &mut MetadataReader<'_>,
    root: u64,
    kind: TreeKind,
    scratch: &mut TreeScratch,
    visit: &mut dyn FnMut(&mut MetadataReader<'_>, Fields<'_>, u64) -> Result<(), Hdf5Error>,
) -> Result<(), Hdf5Error> {
    let sizes = reader.file.sizes;
    let TreeScratch { node, stack } = scratch;
    let offset_width = usize::from(sizes.offset);
    let (node_kind, key_bytes) = match kind {
        TreeKind::Group => (0, usize::from(sizes.length)),
        TreeKind::Chunks { rank } => (1, 8 + 8 * (usize::from(rank) + 1)),
    };
    let prefix = 8 + 2 * offset_width;
    let mut visited_bytes = 0u64;
    stack.clear();
    // The level of the root is what it says it is; of all others, one less than their parent's.
    stack.push((root, u8::MAX));
    while let Some((address, level_limit)) = stack.pop() {
        let mut fields = reader.fetch(address, prefix as u64, WHAT, node)?;
        fields.signature(b"TREE")?;
        if fields.u8()? != node_kind {
            return Err(fields.malformed("it is not of the expected type"));
        }
        let level = fields.u8()?;
        if address != root && level != level_limit {
            return Err(fields.malformed("its levels do not decrease"));
        }
        let entries = usize::from(fields.u16()?);
        let length = prefix + entries * (key_bytes + offset_width) + key_bytes;
        visited_bytes = visited_bytes.saturating_add(length as u64);
        if visited_bytes > reader.file.size_bytes {
            return Err(fields.malformed("it has more nodes than the file has room for"));
        }
        let mut fields = reader.fetch(address, length as u64, WHAT, node)?;
        fields.skip(prefix)?;
        let children = stack.len();
        for _ in 0..entries {
            let key = Fields::new(fields.take(key_bytes)?, address, WHAT, sizes);
            let child = fields.offset()?;
            match level.checked_sub(1) {
                Some(below) => stack.push((child, below)),
                None => visit(reader, key, child)?,
            }
        }
        stack[children..].reverse();
    }
    Ok(())
}
