//! Where the same three bytes were before: what stock zlib's hash chains hold, in a form that is
//! quicker to search.
//!
//! zlib chains all places whose three bytes have the same hash of 15 bits, and looks at the nearest
//! 128. Most of these have other bytes. Here each place is linked to the nearest earlier one that
//! has the very same three bytes, and knows its rank in zlib's chain, so that those that zlib would
//! not have come to can be determined.

use std::hint::select_unpredictable;

/// The nearest place is no farther than this (zlib: 32 KiB less the longest match and its margin).
pub(super) const MAX_DISTANCE: usize = (1 << 15) - 262;
/// Bytes that are linked.
pub(super) const LINKED_BYTES: usize = 3;
/// Places that are linked ahead at a time.
const AHEAD: usize = 1 << 13;

/// Places that are kept: all within reach of a place, and those ahead of it.
const RING: usize = 1 << 16;
/// Buckets for three bytes: four times as many as there are places within reach.
const BUCKET_BITS: u32 = 17;
/// Bits of zlib's hash at its memory level 8.
const ZLIB_HASH_BITS: u32 = 15;

/// Links of one input after the other; nothing is cleared between them, as places are counted on.
pub(super) struct Chains {
    /// Of each bucket the last place, counted from the first input on.
    heads: Box<[u32; 1 << BUCKET_BITS]>,
    /// Of each of zlib's chains how many places it had.
    counts: Box<[u16; 1 << ZLIB_HASH_BITS]>,
    /// Of a place, back to the nearest one with the same three bytes; 0 for none.
    same: Box<[u16; RING]>,
    /// Of a place, back to the nearest one in its bucket; 0 for none.
    bucket: Box<[u16; RING]>,
    /// Number of a place in zlib's chain, modulo 2^16, which is more than it reaches.
    ranks: Box<[u16; RING]>,
    /// Places whose bucket has other bytes first, from the first one that is linked.
    others: Box<[u16; AHEAD]>,
    /// Count at the first byte of this input.
    start: u32,
    /// How far this input is linked.
    end: usize,
}

impl Chains {
    pub(super) fn new() -> Self {
        Self {
            heads: boxed(),
            counts: boxed(),
            same: boxed(),
            bucket: boxed(),
            ranks: boxed(),
            others: boxed(),
            start: RING as u32,
            end: 0,
        }
    }

    /// Begins with another input; the last one is out of its reach.
    pub(super) fn begin(&mut self, input: &[u8]) {
        let start = self.start as usize + self.end + RING;
        self.end = 0;
        self.start = match u32::try_from(start + input.len()) {
            Ok(_) => start as u32,
            Err(_) => {
                self.heads.fill(0);
                RING as u32
            }
        };
    }

    /// As if so many bytes had been linked.
    #[cfg(test)]
    pub(super) fn skip_to(&mut self, start: u32) {
        self.start = start;
    }

    /// Back from `at` to the nearest place with the same three bytes; 0 for none.
    #[inline]
    pub(super) fn same(&self, at: usize) -> usize {
        usize::from(self.same[at % RING])
    }

    /// How many places from `at` on have no such place, at most `most`.
    #[inline]
    pub(super) fn unlinked(&self, at: usize, most: usize) -> usize {
        let ring = &self.same[at % RING..];
        let ring = &ring[..most.min(ring.len())];
        let (fours, few) = ring.as_chunks::<4>();
        for (index, &[a, b, c, d]) in fours.iter().enumerate() {
            let [a, b, c, d] = [a, b, c, d].map(u64::from);
            let four = a | b << 16 | c << 32 | d << 48;
            if four != 0 {
                return 4 * index + four.trailing_zeros() as usize / 16;
            }
        }
        4 * fours.len() + few.iter().take_while(|&&same| same == 0).count()
    }

    /// How many places zlib's chain leads from `later` back to `earlier`, both in one chain.
    #[inline]
    pub(super) fn steps(&self, later: usize, earlier: usize) -> u16 {
        self.ranks[later % RING].wrapping_sub(self.ranks[earlier % RING])
    }

    /// How far the input is linked.
    pub(super) fn end(&self) -> usize {
        self.end
    }

    /// Links [`AHEAD`] more places of the input, or all; the last two have no link.
    ///
    /// In three passes over them, of which the first two are without branches: what a place is
    /// linked to is as good as random, and a guess of the processor is wrong too often.
    pub(super) fn extend(&mut self, input: &[u8]) {
        let (start, end) = (self.end, input.len().min(self.end + AHEAD));
        let whole = end.min(input.len().saturating_sub(LINKED_BYTES)).max(start);
        self.count(input, start, whole);
        let others = self.compare(input, start, whole);
        for other in 0..others {
            let at = start + usize::from(self.others[other]);
            self.same[at % RING] = self.walk(input, at) as u16;
        }
        for at in whole..end {
            self.bucket[at % RING] = 0;
            if let &[a, b, c] = &input[at..] {
                let now = self.start.wrapping_add(at as u32);
                let three = u32::from_le_bytes([0, a, b, c]);
                let hash = [a, b, c].into_iter().fold(0, next_hash);
                let Put { rank, back } = put(&mut self.heads, &mut self.counts, now, three, hash);
                (self.ranks[at % RING], self.bucket[at % RING]) = (rank, back);
            }
            self.same[at % RING] = self.walk(input, at) as u16;
        }
        self.end = end;
    }

    /// The first pass, over places that have four bytes: ranks and links of buckets.
    #[inline(never)] // its registers are needed
    fn count(&mut self, input: &[u8], mut start: usize, end: usize) {
        if start == 0 && end > 0 {
            // zlib takes the first place of an input for no place at all: it is never linked to.
            self.bucket[0] = 0;
            start = 1;
        }
        let Self { heads, counts, ranks, bucket, .. } = self;
        let now = self.start.wrapping_add(start as u32)..;
        // Blocks of places never cross the end of the ring.
        let ring = start % RING..;
        let places = ranks[ring.clone()].iter_mut().zip(&mut bucket[ring]);
        // zlib's hash goes from place to place: what is shifted out at the top is forgotten.
        let mut hash = input[start..].iter().take(2).fold(0, |hash, &byte| next_hash(hash, byte));
        let windows = input[start..input.len().min(end + 3)].windows(4);
        for ((bytes, (rank, bucket)), now) in windows.zip(places).zip(now) {
            let three = bytes.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes)) << 8;
            hash = next_hash(hash, bytes[2]);
            let put = put(heads, counts, now, three, hash);
            (*rank, *bucket) = (put.rank, put.back);
        }
    }

    /// The second pass: links to places that are the first of their bucket. Gives how many places
    /// there are whose bucket has other bytes first.
    #[inline(never)] // its registers are needed
    fn compare(&mut self, input: &[u8], start: usize, end: usize) -> usize {
        let Self { same, bucket, others, .. } = self;
        let ring = start % RING..;
        let places = same[ring.clone()].iter_mut().zip(&bucket[ring]);
        let mut count = 0;
        let windows = input[start..input.len().min(end + 3)].windows(4).enumerate();
        for ((offset, bytes), (same, &back)) in windows.zip(places) {
            let there = input[start + offset - usize::from(back)..].first_chunk();
            let (Some(here), Some(there)) = (bytes.first_chunk(), there) else { break };
            let differ = (u32::from_le_bytes(*here) ^ u32::from_le_bytes(*there)) << 8;
            *same = select_unpredictable(differ == 0, back, 0);
            others[count % AHEAD] = offset as u16;
            count += usize::from(differ != 0);
        }
        count
    }

    /// The nearest of the bucket's earlier places that has the same bytes.
    fn walk(&self, input: &[u8], at: usize) -> usize {
        let (three, mut back) = (three_at(input, at), 0);
        loop {
            let more = usize::from(self.bucket[(at - back) % RING]);
            back += more;
            if more == 0 || back > MAX_DISTANCE {
                return 0;
            }
            if three_at(input, at - back) == three {
                return back;
            }
        }
    }
}

/// A place that was put at the heads of its chain and its bucket.
#[derive(Clone, Copy)]
struct Put {
    rank: u16,
    /// How far back the bucket's last one is; 0 for too far.
    back: u16,
}

/// Puts a place at the heads of its chain and its bucket. The place is counted as `now`, its bytes
/// are the upper three of `three`, and `hash` is zlib's of them.
#[inline]
fn put(
    heads: &mut [u32; 1 << BUCKET_BITS],
    counts: &mut [u16; 1 << ZLIB_HASH_BITS],
    now: u32,
    three: u32,
    hash: u32,
) -> Put {
    let count = &mut counts[hash as usize];
    *count = count.wrapping_add(1);
    let head = &mut heads[bucket_of(three)];
    let back = now.wrapping_sub(*head);
    *head = now;
    let back = select_unpredictable(back <= MAX_DISTANCE as u32, back as u16, 0);
    Put { rank: *count, back }
}

/// zlib's hash with one byte more; three bytes make it anew.
#[inline]
fn next_hash(hash: u32, byte: u8) -> u32 {
    (hash << (ZLIB_HASH_BITS / 3) ^ u32::from(byte)) % (1 << ZLIB_HASH_BITS)
}

/// The bucket of the upper three bytes: Knuth's multiplicative hash, by the golden ratio of 2^32.
#[inline]
fn bucket_of(three: u32) -> usize {
    (three.wrapping_mul(0x9E37_79B1) >> (32 - BUCKET_BITS)) as usize
}

/// The three bytes at a place, as far as there are.
#[inline]
fn three_at(input: &[u8], at: usize) -> u32 {
    let rest = input.get(at..).unwrap_or_default();
    match (rest.first_chunk::<4>(), rest) {
        (Some(bytes), _) => u32::from_le_bytes(*bytes) & 0xFF_FFFF,
        (None, &[a, b, c]) => u32::from_le_bytes([a, b, c, 0]),
        _ => u32::MAX,
    }
}

fn boxed<T: Copy + Default, const SIZE: usize>() -> Box<[T; SIZE]> {
    let values = vec![T::default(); SIZE].into_boxed_slice();
    values.try_into().unwrap_or_else(|_| Box::new([T::default(); SIZE]))
}
