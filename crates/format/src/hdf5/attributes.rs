//! The attributes of an object, wherever they are stored (specification, IV.A.2.m and IV.A.2.v).

use super::attribute::Attribute;
use super::btree2;
use super::bytes::{Fields, Sizes, UNDEFINED};
use super::error::Hdf5Error;
use super::file::Hdf5File;
use super::fractal_heap::FractalHeap;
use super::object::MessageKind;
use super::scratch::Hdf5Scratch;

/// Record type of the tree of dense attributes by name (III.A.2).
const NAME_INDEX: u8 = 8;

impl Hdf5File {
    /// Visits the attributes of an object in the order of the file: that of its header for few
    /// attributes, that of the hashes of their names for many (dense storage).
    ///
    /// # Errors
    /// Damage in the object's header or in an attribute; what `visit` returns.
    pub fn attributes<E: From<Hdf5Error>>(
        &self,
        address: u64,
        scratch: &mut Hdf5Scratch,
        mut visit: impl FnMut(&Attribute) -> Result<(), E>,
    ) -> Result<(), E> {
        let Hdf5Scratch { cache, object, shared, attribute, node, heap: block, .. } = scratch;
        let mut reader = self.metadata(cache);
        object.load(&mut reader, address)?;
        for &message in object.messages() {
            if message.kind != MessageKind::ATTRIBUTE {
                continue;
            }
            if message.is_shared() {
                let flags = message.flags;
                return Err(Hdf5Error::unsupported("shared attribute", flags, address).into());
            }
            attribute.parse(&mut reader, shared, object.body(message), message.address)?;
            visit(attribute)?;
        }
        let Some(message) = object.find(MessageKind::ATTRIBUTE_INFO) else { return Ok(()) };
        let place = message.address;
        let dense = dense_storage(object.body(message), place, self.sizes)?;
        let Some(DenseStorage { heap, index }) = dense else { return Ok(()) };
        let heap = FractalHeap::open(&mut reader, heap, node)?;
        btree2::visit(&mut reader, index, NAME_INDEX, node, &mut |reader, record| {
            // Type 8: heap ID (8), flags (1), creation order (4), hash (4).
            let id = record.get(..8).unwrap_or_default();
            if record.get(8).is_some_and(|flags| flags & 2 != 0) {
                return Err(Hdf5Error::unsupported("shared attribute", 0u8, address).into());
            }
            let place = heap.read(reader, id, block)?;
            attribute.parse(reader, shared, block, place)?;
            visit(attribute)
        })
    }
}

/// Places of dense attributes.
struct DenseStorage {
    /// Address of the heap.
    heap: u64,
    /// Address of the index by name.
    index: u64,
}

/// Places of dense attributes, when there are any (IV.A.2.v).
fn dense_storage(
    body: &[u8],
    address: u64,
    sizes: Sizes,
) -> Result<Option<DenseStorage>, Hdf5Error> {
    let mut fields = Fields::new(body, address, "attribute info message", sizes);
    fields.version(0)?;
    let flags = fields.u8()?;
    fields.skip(if flags & 1 != 0 { 2 } else { 0 })?;
    let (heap, index) = (fields.offset()?, fields.offset()?);
    let is_there = heap != UNDEFINED && index != UNDEFINED;
    Ok(is_there.then_some(DenseStorage { heap, index }))
}
