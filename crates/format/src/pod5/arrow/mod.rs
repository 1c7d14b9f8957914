//! Arrow's IPC file format ("Feather V2"), as far as tables of POD5 use it (Arrow Columnar Format,
//! "IPC File Format").
//!
//! A table is opened by its footer: the schema and the places of its batches. A batch is a
//! FlatBuffer that says where in its body the buffers of each column are. Bodies are read by
//! whoever needs them: [`ArrowTable::load`] reads a whole one, [`ArrowTable::layout`] only says
//! where things are.

mod array;
mod dictionary;
mod layout;
mod schema;
mod table;

pub(crate) use array::Array;
pub use array::Batch;
pub(crate) use layout::Buffer;
pub(crate) use schema::DataType;
pub(crate) use table::{ArrowTable, BatchLayout};
