//! Versions of CRAM.

/// A version of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Version {
    /// 3.0, which all readers know.
    #[default]
    V30,
    /// 3.1, whose codecs make files smaller.
    V31,
}
