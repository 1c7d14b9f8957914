//! Local alignment of a query to a window of the reference (`ksw_align2`): mates that are rescued,
//! seeds of long reads.
//!
//! [`bound`] says in which bands of a window an alignment can be, [`band`] aligns in one, and
//! [`kernel`] in all of a window; [`parts`] is what they find, [`dispatch`] runs them with the
//! instructions of the processor.

pub(super) mod band;
pub(super) mod bound;
pub(super) mod dispatch;
pub(super) mod kernel;
pub(super) mod parts;
