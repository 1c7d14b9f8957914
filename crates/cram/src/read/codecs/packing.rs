//! What the codecs of CRAM 3.1 do to bytes before they are coded (CRAM codecs specification,
//! sections 3.4 to 3.6): several symbols to a byte, runs to lengths, bytes of larger values apart.

use crate::read::cursor::Cursor;
use crate::read::error::Problem;

/// Bits of the first byte of a stream.
pub(crate) const ORDER: u8 = 1;
pub(crate) const STRIPE: u8 = 8;
pub(crate) const NO_SIZE: u8 = 16;
pub(crate) const STORED: u8 = 32;
pub(crate) const RUNS: u8 = 64;
pub(crate) const PACKED: u8 = 128;

/// Streams within streams within streams: no writer goes so far.
const MOST_DEPTH: usize = 3;

/// How symbols were packed.
struct Packing<'a> {
    symbols: &'a [u8],
    /// Bytes when packed.
    packed_bytes: usize,
}

impl<'a> Packing<'a> {
    fn read(cursor: &mut Cursor<'a>) -> Result<Self, Problem> {
        let count = cursor.byte()?;
        if !(1..=16).contains(&count) {
            return Err(Problem::Corrupt("packed"));
        }
        let symbols = cursor.take(count.into())?;
        Ok(Self { symbols, packed_bytes: cursor.uint7()? })
    }

    /// Bits of a symbol.
    fn bits(&self) -> usize {
        match self.symbols.len() {
            0 | 1 => 0,
            2 => 1,
            3 | 4 => 2,
            _ => 4,
        }
    }

    /// Bytes that so many symbols take.
    fn bytes_of(&self, count: usize) -> usize {
        (count * self.bits()).div_ceil(8)
    }

    /// The symbols of `packed`.
    fn unpack(&self, packed: &[u8], count: usize) -> Result<Vec<u8>, Problem> {
        let bits = self.bits();
        if bits == 0 {
            return Ok(vec![self.symbols[0]; count]);
        }
        if packed.len() < self.bytes_of(count) {
            return Err(Problem::Ends("packed data"));
        }
        let mut table = [0; 16];
        table[..self.symbols.len()].copy_from_slice(self.symbols);
        let (each, mask) = (8 / bits, (1_u8 << bits) - 1);
        let mut out = vec![0; count];
        for (out, &byte) in out.chunks_mut(each).zip(packed) {
            let mut left = byte;
            for out in out {
                *out = table[usize::from(left & mask)];
                left >>= bits;
            }
        }
        Ok(out)
    }
}

/// Puts runs back: `lengths` has one for each symbol that `has_runs` names.
pub(crate) fn expand_runs(
    literals: &[u8],
    has_runs: &[bool; 256],
    lengths: &mut Cursor<'_>,
    count: usize,
) -> Result<Vec<u8>, Problem> {
    let mut out = Vec::with_capacity(count);
    for &symbol in literals {
        let more = if has_runs[usize::from(symbol)] { lengths.uint7()? } else { 0 };
        if more >= count - out.len().min(count) {
            return Err(Problem::Corrupt("run-length"));
        }
        out.resize(out.len() + more + 1, symbol);
    }
    if out.len() == count { Ok(out) } else { Err(Problem::Corrupt("run-length")) }
}

/// An entropy coder within the frame that those of CRAM 3.1 have in common.
pub(crate) struct Coder {
    /// Name of the data, for messages.
    pub(crate) what: &'static str,
    pub(crate) name: &'static str,
    /// So many symbols, by the flags of the stream.
    pub(crate) symbols: fn(&mut Cursor<'_>, u8, usize) -> Result<Vec<u8>, Problem>,
}

impl Coder {
    /// The raw bytes, at most `most`.
    pub(crate) fn decompress(&self, bytes: &[u8], most: usize) -> Result<Vec<u8>, Problem> {
        self.stream(bytes, None, most, 0)
    }

    fn stream(
        &self,
        bytes: &[u8],
        known: Option<usize>,
        most: usize,
        depth: usize,
    ) -> Result<Vec<u8>, Problem> {
        let corrupt = Problem::Corrupt(self.name);
        let mut cursor = Cursor::new(bytes, self.what);
        let flags = cursor.byte()?;
        let count = if flags & NO_SIZE == 0 {
            cursor.uint7()?
        } else {
            known.ok_or_else(|| corrupt.clone())?
        };
        if count > most {
            return Err(Problem::TooLarge(most));
        }
        if flags & STRIPE != 0 {
            if depth >= MOST_DEPTH {
                return Err(corrupt);
            }
            return read_striped(&mut cursor, count, |bytes, part| {
                self.stream(bytes, Some(part), part, depth + 1)
            });
        }
        if flags & PACKED == 0 {
            return (self.symbols)(&mut cursor, flags, count);
        }
        let packing = Packing::read(&mut cursor)?;
        if packing.packed_bytes > packing.bytes_of(count) {
            return Err(corrupt);
        }
        packing.unpack(&(self.symbols)(&mut cursor, flags, packing.packed_bytes)?, count)
    }
}

/// Reads streams of which each holds every n-th byte, by `decode`, and puts them together.
fn read_striped(
    cursor: &mut Cursor<'_>,
    count: usize,
    mut decode: impl FnMut(&[u8], usize) -> Result<Vec<u8>, Problem>,
) -> Result<Vec<u8>, Problem> {
    let streams = usize::from(cursor.byte()?);
    if streams == 0 {
        return Err(Problem::Corrupt("striped"));
    }
    let sizes: Vec<usize> = (0..streams).map(|_| cursor.uint7()).collect::<Result<_, _>>()?;
    let mut out = vec![0; count];
    for (stream, size) in sizes.into_iter().enumerate() {
        let part = count / streams + usize::from(count % streams > stream);
        let bytes = decode(cursor.take(size)?, part)?;
        if bytes.len() != part {
            return Err(Problem::Corrupt("striped"));
        }
        for (out, byte) in out.iter_mut().skip(stream).step_by(streams).zip(bytes) {
            *out = byte;
        }
    }
    Ok(out)
}
