//! Damage done to good bytes: what tests of parsers feed them besides noise.

/// One change: what, where, and a value that the change makes use of.
pub type Change = (u8, u32, u8);

/// `good` after all `changes`, each applied to what the one before left. Places wrap round.
///
/// Kinds (modulo 6): set a byte, flip a bit, insert a byte, remove up to 16 bytes, repeat up to 255
/// bytes, set four bytes to an extreme of a 32-bit number. A kind of 255 cuts the bytes off.
#[must_use]
pub fn damaged(good: &[u8], changes: &[Change]) -> Vec<u8> {
    let mut bytes = good.to_vec();
    for &(kind, place, value) in changes {
        let at = place as usize % (bytes.len() + 1);
        if kind == 255 {
            bytes.truncate(at);
            continue;
        }
        let rest = bytes.len() - at;
        match kind % 6 {
            0 if rest > 0 => bytes[at] = value,
            1 if rest > 0 => bytes[at] ^= 1 << (value % 8),
            2 => bytes.insert(at, value),
            3 => drop(bytes.drain(at..at + rest.min(usize::from(value % 16) + 1))),
            4 => {
                let segment = bytes[at..at + rest.min(usize::from(value))].to_vec();
                bytes.splice(at..at, segment);
            }
            5 if rest >= 4 => {
                let extremes = [0, 1, u32::MAX, i32::MAX as u32, 1 << 31, u32::MAX - 3];
                let number = extremes[usize::from(value) % extremes.len()];
                bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
            }
            _ => {}
        }
    }
    bytes
}

/// Reads [`Change`]s from bytes, six each: how a fuzzer writes them.
#[must_use]
pub fn changes_of(bytes: &[u8]) -> Vec<Change> {
    let change = |c: &[u8; 6]| (c[0], u32::from_le_bytes([c[1], c[2], c[3], c[4]]), c[5]);
    bytes.as_chunks().0.iter().map(change).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_change_is_made() {
        fn t(change: Change, expected: &[u8]) {
            assert_eq!(damaged(b"abcdef", &[change]), expected, "{change:?}");
        }
        t((0, 1, b'X'), b"aXcdef");
        t((1, 0, 1), b"cbcdef");
        t((2, 6, b'X'), b"abcdefX");
        t((3, 4, 9), b"abcd");
        t((4, 2, 2), b"abcdcdef");
        t((5, 1, 2), b"a\xff\xff\xff\xfff");
        t((5, 3, 2), b"abcdef");
        t((255, 8, 0), b"a");
        assert_eq!(damaged(b"", &[(0, 9, 9), (1, 9, 9), (5, 9, 9)]), b"");
        assert_eq!(changes_of(&[1, 2, 0, 0, 0, 3, 9]), [(1, 2, 3)]);
    }
}
