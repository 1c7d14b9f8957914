//! What can be wrong with an HDF5 file. Every error names the byte of the file where it is.

use super::vbz::VbzError;

/// Why an HDF5 file, or an object in it, could not be read.
#[derive(Debug, thiserror::Error)]
pub enum Hdf5Error {
    /// There is no HDF5 signature at any of the places where one may be.
    #[error("not an HDF5 file: its signature is missing")]
    NotHdf5,
    /// The operating system could not give the bytes.
    #[error("cannot read {length_bytes} bytes at byte {address}: {source}")]
    Io {
        /// Offset in the file.
        address: u64,
        /// How many.
        length_bytes: u64,
        /// Its words.
        source: std::io::Error,
    },
    /// Something reaches past the end of the file.
    #[error("{what} at byte {address} needs {length_bytes} bytes, past the end of the file")]
    Truncated {
        /// Which structure.
        what: &'static str,
        /// Its start.
        address: u64,
        /// Bytes that it claims to need.
        length_bytes: u64,
    },
    /// A structure contradicts the format.
    #[error("damaged {what} at byte {address}: {why}")]
    Malformed {
        /// Which structure.
        what: &'static str,
        /// Its start.
        address: u64,
        /// The problem.
        why: &'static str,
    },
    /// A structure is not what its checksum was made of.
    #[error("damaged {what} at byte {address}: its checksum is wrong")]
    Checksum {
        /// Which structure.
        what: &'static str,
        /// Its start.
        address: u64,
    },
    /// Part of HDF5 that FAST5 files do not use.
    #[error("{what} {value} at byte {address} is not supported")]
    Unsupported {
        /// Name of the feature.
        what: &'static str,
        /// Its number in the format.
        value: u64,
        /// Offset in the file.
        address: u64,
    },
    /// More than this reader is prepared to hold.
    #[error("{what} at byte {address}: {value} is more than the limit of {limit}")]
    Limit {
        /// Quantity that is too large.
        what: &'static str,
        /// How much there is.
        value: u64,
        /// How much there may be.
        limit: u64,
        /// Offset in the file.
        address: u64,
    },
    /// A chunk of signal cannot be decoded.
    #[error("damaged chunk at byte {address}: {source}")]
    Vbz {
        /// Address of the chunk.
        address: u64,
        /// The problem.
        source: VbzError,
    },
}

impl Hdf5Error {
    pub(super) fn malformed(what: &'static str, address: u64, why: &'static str) -> Self {
        Self::Malformed { what, address, why }
    }

    pub(super) fn unsupported(what: &'static str, value: impl Into<u64>, address: u64) -> Self {
        Self::Unsupported { what, value: value.into(), address }
    }
}
