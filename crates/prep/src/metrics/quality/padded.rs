//! Bytes of a read with zeros after them, so that who looks at many at a time has no rest to look
//! at one by one.

/// Bytes that are looked at together.
pub(super) const LANES: usize = 32;

/// Bytes, in memory that has zeros after them up to a whole number of lanes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Padded<'r> {
    memory: &'r [u8],
    len: usize,
}

impl<'r> Padded<'r> {
    /// `len` bytes in `memory`; `fill` gets room for them with zeros in its last lanes, and leaves
    /// those after `len` as they are.
    #[inline]
    pub(super) fn fill(memory: &'r mut Vec<u8>, len: usize, fill: impl FnOnce(&mut [u8])) -> Self {
        let whole = len.next_multiple_of(LANES);
        if memory.len() < whole {
            memory.resize(whole, 0);
        }
        let memory = &mut memory[..whole];
        if let Some(last) = memory.last_chunk_mut::<LANES>() {
            *last = [0; LANES];
            fill(memory);
        }
        Self { memory, len }
    }

    /// These bytes, copied to `memory`.
    #[cfg(test)]
    pub(super) fn of(bytes: &[u8], memory: &'r mut Vec<u8>) -> Self {
        Self::fill(memory, bytes.len(), |out| out[..bytes.len()].copy_from_slice(bytes))
    }

    /// The bytes themselves.
    #[inline]
    pub(super) fn bytes(&self) -> &'r [u8] {
        &self.memory[..self.len]
    }

    /// The bytes and zeros after them.
    #[inline]
    pub(super) fn lanes(&self) -> &'r [[u8; LANES]] {
        self.memory.as_chunks().0
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// At most this many whole lanes: the first ones or, from the end of the bytes, the last ones.
    #[inline]
    pub(super) fn at_most(self, lanes: usize, is_last: bool) -> Self {
        let most = lanes * LANES;
        if self.len <= most {
            return self;
        }
        let from = if is_last { self.len - most } else { 0 };
        Self { memory: &self.memory[from..from + most], len: most }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_are_after_the_bytes_whatever_was_there() {
        let mut memory = vec![7; 100];
        for len in [0, 1, 31, 32, 33, 64, 95, 130] {
            let bytes = vec![9; len];
            let padded = Padded::of(&bytes, &mut memory);
            assert_eq!((padded.bytes(), padded.len()), (&bytes[..], len));
            let lanes = padded.lanes().as_flattened();
            assert_eq!(lanes.len(), len.next_multiple_of(LANES));
            assert!(lanes[len..].iter().all(|it| *it == 0), "{len}");
            memory.fill(7);
        }
    }

    #[test]
    fn ends_of_long_reads() {
        let bytes: Vec<u8> = (0..70).collect();
        let mut memory = Vec::new();
        let padded = Padded::of(&bytes, &mut memory);
        assert_eq!(padded.at_most(3, true).bytes(), bytes);
        assert_eq!(padded.at_most(2, false).bytes(), &bytes[..64]);
        assert_eq!(padded.at_most(2, true).bytes(), &bytes[6..]);
        assert_eq!(padded.at_most(2, true).lanes().as_flattened(), &bytes[6..]);
    }
}
