//! What the bits of a deflate stream are spent on, by field of the record whose bytes they make.
//!
//! A slow inflater of its own (RFC 1951), for streams that another one has accepted.

/// Fields of a record, in order, and what is none: headers of blocks.
pub(crate) const FIELDS: [&str; 7] =
    ["header", "fixed", "name", "CIGAR", "sequence", "qualities", "tags"];
const HEADER: usize = 0;

const ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
const LENGTHS: [u16; 29] = [
    3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131,
    163, 195, 227, 258,
];

/// The field of each byte of whole records.
pub(crate) fn fields(payload: &[u8]) -> Vec<usize> {
    let (mut fields, mut start) = (Vec::new(), 0);
    let word = |at: usize| u32::from_le_bytes(*payload[at..].first_chunk().unwrap()) as usize;
    while start < payload.len() {
        let end = start + 4 + word(start);
        let (bases, operations) = (word(start + 20), word(start + 16) & 0xffff);
        let sizes =
            [36, usize::from(payload[start + 12]), 4 * operations, bases.div_ceil(2), bases];
        for (field, size) in sizes.into_iter().enumerate() {
            fields.resize(fields.len() + size, field + 1);
        }
        fields.resize(end, FIELDS.len() - 1);
        start = end;
    }
    fields
}

/// Adds the bits of a stream that makes bytes of these fields to `bits`; a copy's count where it
/// starts.
pub(crate) fn add_bits(stream: &[u8], fields: &[usize], bits: &mut [u64; FIELDS.len()]) {
    let (mut input, mut at) = (Bits { stream, at: 0 }, 0);
    loop {
        let start = input.at;
        let (is_last, kind) = (input.take(1) == 1, input.take(2));
        let Some((literals, distances)) = codes(&mut input, kind) else {
            at = stored(&mut input, fields, at, bits);
            if is_last {
                return;
            }
            continue;
        };
        bits[HEADER] += (input.at - start) as u64;
        loop {
            let start = input.at;
            let symbol = literals.symbol(&mut input);
            let mut size = 1;
            if symbol > 256 {
                let code = symbol - 257;
                let extra = if code < 8 || code == 28 { 0 } else { code / 4 - 1 };
                size = usize::from(LENGTHS[code]) + input.take(extra);
                let code = distances.symbol(&mut input);
                input.take((code / 2).saturating_sub(1));
            }
            let field = if symbol == 256 { HEADER } else { fields[at] };
            bits[field] += (input.at - start) as u64;
            if symbol == 256 {
                break;
            }
            at += size;
        }
        if is_last {
            return;
        }
    }
}

/// A stored block; gives where its bytes end.
fn stored(
    input: &mut Bits<'_>,
    fields: &[usize],
    at: usize,
    bits: &mut [u64; FIELDS.len()],
) -> usize {
    input.at = input.at.next_multiple_of(8);
    let size = input.take(16);
    input.at += 16 + 8 * size;
    fields[at..at + size].iter().for_each(|&field| bits[field] += 8);
    at + size
}

/// Both codes of a block; `None` if it is stored.
fn codes(input: &mut Bits<'_>, kind: usize) -> Option<(Code, Code)> {
    if kind == 0 {
        return None;
    }
    if kind == 1 {
        let lengths = |symbol| match symbol {
            0..144 => 8,
            144..256 => 9,
            256..280 => 7,
            _ => 8,
        };
        let lengths: Vec<usize> = (0..288).map(lengths).collect();
        return Some((Code::new(&lengths), Code::new(&[5; 30])));
    }
    let (literals, distances) = (257 + input.take(5), 1 + input.take(5));
    let mut lengths = [0; 19];
    for &symbol in &ORDER[..4 + input.take(4)] {
        lengths[symbol] = input.take(3);
    }
    let (code, mut lengths) = (Code::new(&lengths), Vec::new());
    while lengths.len() < literals + distances {
        let (length, count) = match code.symbol(input) {
            16 => (*lengths.last().unwrap(), 3 + input.take(2)),
            17 => (0, 3 + input.take(3)),
            18 => (0, 11 + input.take(7)),
            length => (length, 1),
        };
        lengths.resize(lengths.len() + count, length);
    }
    Some((Code::new(&lengths[..literals]), Code::new(&lengths[literals..])))
}

struct Bits<'a> {
    stream: &'a [u8],
    /// In bits.
    at: usize,
}

impl Bits<'_> {
    fn take(&mut self, count: usize) -> usize {
        let bit = |at: usize| usize::from(self.stream[at / 8] >> (at % 8) & 1);
        let value = (0..count).map(|place| bit(self.at + place) << place).sum();
        self.at += count;
        value
    }
}

/// A canonical code: how many symbols have each length, and all symbols by length.
struct Code {
    counts: [usize; 16],
    symbols: Vec<usize>,
}

impl Code {
    fn new(lengths: &[usize]) -> Self {
        let mut counts = [0; 16];
        lengths.iter().for_each(|&length| counts[length] += 1);
        counts[0] = 0;
        let mut symbols: Vec<usize> = (0..lengths.len()).filter(|&it| lengths[it] > 0).collect();
        symbols.sort_by_key(|&symbol| lengths[symbol]);
        Self { counts, symbols }
    }

    fn symbol(&self, input: &mut Bits<'_>) -> usize {
        let (mut code, mut first, mut index) = (0, 0, 0);
        for &count in &self.counts[1..] {
            code |= input.take(1);
            if code < first + count {
                return self.symbols[index + code - first];
            }
            index += count;
            first = (first + count) << 1;
            code <<= 1;
        }
        panic!("a stream with a code that it does not define")
    }
}
