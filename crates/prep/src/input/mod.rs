//! Aligned records into the flow: headers of several inputs as one, blocks in order, cut at the
//! edges of templates.

mod error;
pub mod headers;
pub mod ingest;
mod names;
pub(crate) mod reference;
mod scheduler;
mod templates;

pub use error::IngestError;
pub use names::TemplateNames;
pub use reference::ReferenceSequences;
pub use scheduler::CoordinateClaim;
