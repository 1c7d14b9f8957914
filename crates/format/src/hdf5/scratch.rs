//! The buffers of a caller.

use super::attribute::Attribute;
use super::btree1::TreeScratch;
use super::file::PageCache;
use super::filter::FilterScratch;
use super::object::ObjectHeader;
use super::shape::DatasetShape;

/// The buffers of one caller: one for each thread, for any number of files.
#[derive(Default)]
pub struct Hdf5Scratch {
    pub(super) cache: PageCache,
    pub(super) object: ObjectHeader,
    /// Object header of a committed datatype.
    pub(super) shared: ObjectHeader,
    pub(super) attribute: Attribute,
    /// A structure in one piece.
    pub(super) node: Vec<u8>,
    /// The names of a group, or a block of a fractal heap.
    pub(super) heap: Vec<u8>,
    /// A symbol table node.
    pub(super) symbols: Vec<u8>,
    pub(super) tree: TreeScratch,
    pub(super) shape: DatasetShape,
    pub(super) filters: FilterScratch,
}
