//! Numbers of any width.

/// Up to eight bytes as a number, least significant first.
pub(super) fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().take(8).rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}
