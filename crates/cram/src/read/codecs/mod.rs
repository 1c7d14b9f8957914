//! What blocks are compressed with. rANS 4x8, which is written too, is next to its encoder.

pub(crate) mod arithmetic;
pub(crate) mod bzip2;
pub(crate) mod fqzcomp;
pub(crate) mod model;
pub(crate) mod names;
pub(crate) mod packing;
pub(crate) mod rans_nx16;
pub(crate) mod slots;
pub(crate) mod xz;
