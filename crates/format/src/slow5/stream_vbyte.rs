//! StreamVByte: 32-bit numbers in 1 to 4 bytes each, with the lengths apart from the bytes.
//!
//! Source: Lemire, Kurz, Rupp, "Stream VByte: faster byte-oriented integer compression" (2018), the
//! "1234" form. First a key byte for every four numbers, two bits each, the first number in the
//! lowest: the number's bytes less one. Then the bytes, little-endian. The last key byte has zeros
//! where there are no numbers.

use super::SignalError;

/// Key bytes of `count` numbers.
#[must_use]
pub(crate) fn key_bytes(count: usize) -> usize {
    count.div_ceil(4)
}

/// Appends the coding of exactly `count` numbers, in as few bytes as the form allows.
pub fn encode(count: usize, values: impl Iterator<Item = u32>, out: &mut Vec<u8>) {
    let start = out.len();
    let data_at = start + key_bytes(count);
    out.resize(data_at + WRITTEN_BYTES * count, 0);
    let (keys, data) = out[start..].split_at_mut(data_at - start);
    let data_bytes = put(values.take(count), keys, data);
    out.truncate(data_at + data_bytes);
}

/// Bytes that are written of a number, whatever of them counts; the next one overwrites the rest.
pub(super) const WRITTEN_BYTES: usize = 4;

/// Codes numbers from the front of `keys`, which must be zero, and of `data`, which must have
/// [`WRITTEN_BYTES`] of room after the bytes of all but the last; gives the bytes of data.
pub(super) fn put(values: impl Iterator<Item = u32>, keys: &mut [u8], data: &mut [u8]) -> usize {
    let mut at = 0;
    for (index, value) in values.enumerate() {
        let code = code_of(value);
        keys[index / 4] |= code << (2 * (index % 4));
        data[at..at + WRITTEN_BYTES].copy_from_slice(&value.to_le_bytes());
        at += usize::from(code) + 1;
    }
    at
}

/// The number's bytes less one, at least 0.
fn code_of(value: u32) -> u8 {
    ((31 - (value | 1).leading_zeros()) / 8) as u8
}

/// Coded numbers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Coded<'a> {
    pub(super) keys: &'a [u8],
    pub(super) data: &'a [u8],
}

/// Splits `bytes` into the keys of `count` numbers and what follows them.
///
/// # Errors
/// When the bytes cannot hold that many numbers, of at least one byte each.
pub(super) fn split(count: usize, bytes: &[u8]) -> Result<Coded<'_>, SignalError> {
    let (keys, data) =
        bytes.split_at_checked(key_bytes(count)).ok_or(SignalError::CountTooLarge(count as u64))?;
    if data.len() < count {
        return Err(SignalError::CountTooLarge(count as u64));
    }
    Ok(Coded { keys, data })
}

/// One number after the other: the oracle of all faster ways, and what they leave over.
pub(super) struct Numbers<'a> {
    pub(super) keys: &'a [u8],
    pub(super) data: &'a [u8],
    pub(super) index: usize,
    pub(super) at: usize,
}

impl<'a> Numbers<'a> {
    pub(super) fn new(keys: &'a [u8], data: &'a [u8]) -> Self {
        Self { keys, data, index: 0, at: 0 }
    }

    /// The next number; an error where keys or bytes end.
    pub(super) fn next(&mut self) -> Result<u32, SignalError> {
        let key = *self.keys.get(self.index / 4).ok_or(SignalError::Truncated)?;
        let length = usize::from(key >> (2 * (self.index % 4)) & 3) + 1;
        let bytes = self.data.get(self.at..self.at + length).ok_or(SignalError::Truncated)?;
        let mut value = [0; 4];
        value[..length].copy_from_slice(bytes);
        self.index += 1;
        self.at += length;
        Ok(u32::from_le_bytes(value))
    }
}

/// Replaces `out` by the `count` numbers that all of `bytes` codes.
///
/// # Errors
/// When the bytes hold fewer numbers, or more bytes.
pub fn decode(count: usize, bytes: &[u8], out: &mut Vec<u32>) -> Result<(), SignalError> {
    out.clear();
    let Coded { keys, data } = split(count, bytes)?;
    let mut numbers = Numbers::new(keys, data);
    for _ in 0..count {
        out.push(numbers.next()?);
    }
    match data.len() - numbers.at {
        0 => Ok(()),
        rest => Err(SignalError::TrailingBytes(rest)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encoded(values: &[u32]) -> Vec<u8> {
        let mut out = b"x".to_vec();
        encode(values.len(), values.iter().copied(), &mut out);
        assert_eq!(out[0], b'x');
        out.split_off(1)
    }

    #[test]
    fn lengths_are_the_shortest() {
        fn t(values: &[u32], expected: &[u8]) {
            assert_eq!(encoded(values), expected);
            let mut back = vec![7];
            assert_eq!(decode(values.len(), expected, &mut back), Ok(()));
            assert_eq!(back, values);
        }
        t(&[], &[]);
        t(&[0], &[0, 0]);
        t(&[255, 256, 65535, 65536], &[0b10_01_01_00, 255, 0, 1, 255, 255, 0, 0, 1]);
        t(&[0, 0, 0, 0, 1 << 24], &[0, 3, 0, 0, 0, 0, 0, 0, 0, 1]);
        t(&[0xFF_FFFF], &[2, 255, 255, 255]);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let good = encoded(&[1, 300, 70_000, 5, 6]);
        let mut out = Vec::new();
        for cut in 0..good.len() {
            assert!(decode(5, &good[..cut], &mut out).is_err(), "cut at {cut}");
        }
        assert_eq!(
            decode(5, &[&good[..], b"x"].concat(), &mut out),
            Err(SignalError::TrailingBytes(1))
        );
        assert_eq!(decode(usize::MAX, &good, &mut out), Err(SignalError::CountTooLarge(u64::MAX)));
    }

    proptest! {
        #[test]
        fn decode_inverts_encode(values in prop::collection::vec(
            (any::<u32>(), 0_u32..32).prop_map(|(value, shift)| value >> shift), 0..70)) {
            let mut back = Vec::new();
            prop_assert_eq!(decode(values.len(), &encoded(&values), &mut back), Ok(()));
            prop_assert_eq!(back, values);
        }
    }
}
