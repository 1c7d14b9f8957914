//! Aligned records into the flow: headers of several inputs as one, blocks in order, cut at the
//! edges of templates.

pub mod headers;
pub mod ingest;
pub mod reference;
mod scheduler;
mod templates;

pub use templates::Templates;
