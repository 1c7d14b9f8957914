//! What the stages after seeding need of all reads.

use super::reference::Reference;
use super::settings::Settings;

/// The options and the reference.
#[derive(Debug, Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) settings: &'a Settings,
    pub(super) reference: &'a Reference<'a>,
}
