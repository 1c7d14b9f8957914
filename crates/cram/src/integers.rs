//! Integers of variable length: ITF8 and LTF8 (CRAM specification 3.0, section 2.3). The number of
//! leading ones of the first byte is that of the bytes after it.

/// Appends a 32-bit integer: 1 to 5 bytes.
#[inline]
pub(crate) fn push_itf8(out: &mut Vec<u8>, value: i32) {
    let bits = value.cast_unsigned();
    let [a, b, c, d] = bits.to_be_bytes();
    match bits {
        0..0x80 => out.push(d),
        0x80..0x4000 => out.extend_from_slice(&[0x80 | c, d]),
        0x4000..0x20_0000 => out.extend_from_slice(&[0xc0 | b, c, d]),
        0x20_0000..0x1000_0000 => out.extend_from_slice(&[0xe0 | a, b, c, d]),
        // The last byte holds four bits alone.
        _ => out.extend_from_slice(&[
            0xf0 | a >> 4,
            (bits >> 20) as u8,
            (bits >> 12) as u8,
            (bits >> 4) as u8,
            d & 0xf,
        ]),
    }
}

/// Appends a 64-bit integer: 1 to 9 bytes.
pub(crate) fn push_ltf8(out: &mut Vec<u8>, value: u64) {
    let bits = (64 - value.leading_zeros()).max(1);
    // With n bytes after it the first one has room for 7 - n bits.
    let after = (bits - 1) as usize / 7;
    let bytes = value.to_be_bytes();
    if after >= 8 {
        out.push(0xff);
        out.extend_from_slice(&bytes);
        return;
    }
    let ones = !(0xff_u8 >> after);
    let first = if after == 7 { 0 } else { bytes[7 - after] };
    out.push(ones | first);
    out.extend_from_slice(&bytes[8 - after..]);
}

/// Appends a size, seven bits a byte, the highest first.
pub(crate) fn push_uint7(out: &mut Vec<u8>, value: usize) {
    let value = value as u32;
    for shift in [28, 21, 14, 7] {
        if value >> shift > 0 {
            out.push(0x80 | (value >> shift & 0x7f) as u8);
        }
    }
    out.push((value & 0x7f) as u8);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// By the specification: the bits after the leading ones, then whole bytes.
    fn decode_ltf8(bytes: &[u8]) -> u64 {
        let after = bytes[0].leading_ones() as usize;
        assert_eq!(bytes.len(), after + 1);
        let first = if after >= 7 { 0 } else { u64::from(bytes[0] & 0x7f >> after) };
        bytes[1..].iter().fold(first, |value, &byte| value << 8 | u64::from(byte))
    }

    #[test]
    fn known_integers_have_their_bytes() {
        fn t(value: i32, expected: &[u8]) {
            let mut out = Vec::new();
            push_itf8(&mut out, value);
            assert_eq!(out, expected, "{value}");
        }
        t(0, &[0]);
        t(127, &[0x7f]);
        t(128, &[0x80, 0x80]);
        t(0x3fff, &[0xbf, 0xff]);
        t(0x4000, &[0xc0, 0x40, 0]);
        t(0x1f_ffff, &[0xdf, 0xff, 0xff]);
        t(0x20_0000, &[0xe0, 0x20, 0, 0]);
        t(0x0fff_ffff, &[0xef, 0xff, 0xff, 0xff]);
        t(0x1000_0000, &[0xf1, 0, 0, 0, 0]);
        // As in the end-of-file container.
        t(-1, &[0xff, 0xff, 0xff, 0xff, 0x0f]);
        t(i32::MIN, &[0xf8, 0, 0, 0, 0]);
    }

    proptest! {
        #[test]
        fn long_integers_come_back(value in any::<u64>(), shift in 0..64_u32) {
            let value = value >> shift;
            let mut out = Vec::new();
            push_ltf8(&mut out, value);
            prop_assert_eq!(decode_ltf8(&out), value);
            if let Ok(small) = u32::try_from(value) && small < 0x1000_0000 {
                let mut short = Vec::new();
                push_itf8(&mut short, small.cast_signed());
                prop_assert_eq!(short, out);
            }
        }
    }
}
