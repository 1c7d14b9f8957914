//! The two checksums of HDF5: Jenkins' lookup3 over metadata, Fletcher's over filtered chunks.

use super::error::Hdf5Error;
use super::little_endian::little_endian;

/// Jenkins' `lookup3` hash, `hashlittle` with an initial value of 0 (specification, VIII, and
/// Bob Jenkins, *lookup3.c*, 2006, public domain).
pub(super) fn lookup3(bytes: &[u8]) -> u32 {
    let start = 0xdead_beef_u32.wrapping_add(bytes.len() as u32);
    let (mut a, mut b, mut c) = (start, start, start);
    let word = |part: &[u8]| little_endian(part) as u32;
    let mut rest = bytes;
    while rest.len() > 12 {
        a = a.wrapping_add(word(&rest[..4]));
        b = b.wrapping_add(word(&rest[4..8]));
        c = c.wrapping_add(word(&rest[8..12]));
        [a, b, c] = mix([a, b, c]);
        rest = &rest[12..];
    }
    if rest.is_empty() {
        return c;
    }
    a = a.wrapping_add(word(&rest[..rest.len().min(4)]));
    b = b.wrapping_add(word(&rest[rest.len().min(4)..rest.len().min(8)]));
    c = c.wrapping_add(word(&rest[rest.len().min(8)..]));
    last(a, b, c)
}

/// Mixes the three words of the state.
fn mix([mut a, mut b, mut c]: [u32; 3]) -> [u32; 3] {
    a = a.wrapping_sub(c) ^ c.rotate_left(4);
    c = c.wrapping_add(b);
    b = b.wrapping_sub(a) ^ a.rotate_left(6);
    a = a.wrapping_add(c);
    c = c.wrapping_sub(b) ^ b.rotate_left(8);
    b = b.wrapping_add(a);
    a = a.wrapping_sub(c) ^ c.rotate_left(16);
    c = c.wrapping_add(b);
    b = b.wrapping_sub(a) ^ a.rotate_left(19);
    a = a.wrapping_add(c);
    c = c.wrapping_sub(b) ^ b.rotate_left(4);
    b = b.wrapping_add(a);
    [a, b, c]
}

fn last(mut a: u32, mut b: u32, mut c: u32) -> u32 {
    c = (c ^ b).wrapping_sub(b.rotate_left(14));
    a = (a ^ c).wrapping_sub(c.rotate_left(11));
    b = (b ^ a).wrapping_sub(a.rotate_left(25));
    c = (c ^ b).wrapping_sub(b.rotate_left(16));
    a = (a ^ c).wrapping_sub(c.rotate_left(4));
    b = (b ^ a).wrapping_sub(a.rotate_left(14));
    (c ^ b).wrapping_sub(b.rotate_left(24))
}

/// Verifies a structure whose last four bytes are the lookup3 of all before them.
pub(super) fn verify(bytes: &[u8], what: &'static str, address: u64) -> Result<(), Hdf5Error> {
    let Some((body, stored)) = bytes.split_last_chunk::<4>() else {
        return Err(Hdf5Error::malformed(what, address, "it is shorter than its checksum"));
    };
    // A fuzzer cannot guess checksums, and what they guard must be safe without them.
    if cfg!(fuzzing) || lookup3(body) == u32::from_le_bytes(*stored) {
        return Ok(());
    }
    Err(Hdf5Error::Checksum { what, address })
}

/// Fletcher's 32-bit checksum of filter 3, over big-endian 16-bit words, a last odd byte being the
/// high half of its word.
pub(super) fn fletcher32(bytes: &[u8]) -> u32 {
    let (mut low, mut high) = (0u32, 0u32);
    // 360 words are the most whose sums stay within 32 bits before they are folded.
    for block in bytes.chunks(720) {
        for word in block.chunks(2) {
            let second = word.get(1).copied().unwrap_or(0);
            low += u32::from(word[0]) << 8 | u32::from(second);
            high += low;
        }
        low = (low & 0xffff) + (low >> 16);
        high = (high & 0xffff) + (high >> 16);
    }
    low = (low & 0xffff) + (low >> 16);
    high = (high & 0xffff) + (high >> 16);
    high << 16 | low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lookup3_gives_its_authors_values() {
        // driver5 of lookup3.c.
        assert_eq!(lookup3(b""), 0xdead_beef);
        assert_eq!(lookup3(b"Four score and seven years ago"), 0x1777_0551);
    }

    #[test]
    fn fletcher32_of_known_words() {
        assert_eq!(fletcher32(b""), 0);
        // Words 0x0102 and 0x0304: sums 0x0406 and 0x0102 + 0x0406.
        assert_eq!(fletcher32(&[1, 2, 3, 4]), 0x0508_0406);
        assert_eq!(fletcher32(&[0xff; 2000]), 0xffff_ffff);
    }
}
