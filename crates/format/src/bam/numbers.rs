//! Little-endian numbers in a record; the caller has checked that they are there.

#[inline]
pub(super) fn u16_at(bytes: &[u8], offset: usize) -> u16 {
    u16::from_le_bytes([bytes[offset], bytes[offset + 1]])
}

#[inline]
pub(super) fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    let part = &bytes[offset..offset + 4];
    u32::from_le_bytes([part[0], part[1], part[2], part[3]])
}
