//! Referees of FAST5: h5py with the VBZ plugin on every object of every file of the real data, and
//! slow5tools' own expected files for what becomes of their reads.

mod container;
mod conversion;
mod damage;
mod support;
mod written;
