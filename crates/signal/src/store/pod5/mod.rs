//! A POD5 file as reads: the mapping to SLOW5's model, as blue-crab 0.6.0 (`p2s`) writes it.
//!
//! [`Pod5File`] is opened once and shared by all workers; each brings a [`Pod5Scratch`]. What is
//! kept of a file is 16 bytes per read (20 once a read was requested by id) and 12 per row of
//! signal.
//!
//! Where this differs from blue-crab: a file may have several runs (a read group each, in the
//! order of the Run Info table), any type of pore (there is no field for it), reasons for the end
//! of a read that are not known yet (labels after the known ones), and missing values. The
//! sampling rate is the run's `sample_rate`, not the tag `sample_frequency`.

mod error;
mod file;
mod mapping;
mod moment;
mod scratch;

pub(crate) use error::Pod5Error;
pub(crate) use file::Pod5File;
pub(crate) use scratch::Pod5Scratch;
