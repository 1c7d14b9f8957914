//! What was read or written, in a few numbers: to see whether two ways did the same.

use seqloom_format::bam::{RecordError, framed_records};

/// 64-bit FNV-1a (Fowler, Noll, Vo).
pub(crate) fn fnv1a<'a>(bytes: impl IntoIterator<Item = &'a u8>) -> u64 {
    bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Records, by number and content.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Records {
    /// How many.
    pub(crate) count: u64,
    /// Hashes added up: the same for the same records in any order.
    pub(crate) sum: u64,
    /// Hashes chained: the same only for the same order.
    pub(crate) chain: u64,
}

impl Records {
    /// Adds records, each preceded by its size as in BAM.
    ///
    /// # Errors
    /// Bytes that are no such records.
    pub(crate) fn add(&mut self, bytes: &[u8]) -> Result<(), RecordError> {
        for body in framed_records(bytes) {
            let hash = fnv1a(body?);
            self.count += 1;
            self.sum = self.sum.wrapping_add(hash);
            self.chain = self.chain.rotate_left(5).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ hash;
        }
        Ok(())
    }

    /// As a counter, which is a floating point number: the bits of the sum that it can hold.
    #[must_use]
    pub(crate) fn counter(&self) -> f64 {
        (self.sum & ((1 << 53) - 1)) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framed(bodies: &[u8]) -> Vec<u8> {
        bodies.iter().flat_map(|&body| [1, 0, 0, 0, body]).collect()
    }

    #[test]
    fn order_shows_in_the_chain_alone() {
        let of = |bodies: &[u8]| {
            let mut records = Records::default();
            records.add(&framed(bodies)).unwrap();
            records
        };
        let (a, b, c) = (of(&[1, 2, 3]), of(&[3, 1, 2]), of(&[1, 2, 4]));
        assert_eq!((a.count, a.sum), (b.count, b.sum));
        assert_ne!(a.chain, b.chain);
        assert_ne!(a.sum, c.sum);
        let mut parts = of(&[1]);
        parts.add(&framed(&[2, 3])).unwrap();
        assert_eq!(parts, a);
        assert!(parts.add(&[9, 0, 0, 0, 1]).is_err());
    }
}
