//! rANS Nx16 (CRAM codecs specification, section 3): 4 or 32 states in turn, filled up by 16 bits.

use super::packing::{Coder, ORDER, RUNS, STORED, expand_runs};
use super::slots::{Contexts, MOST_BITS, Slots};
use crate::read::cursor::Cursor;
use crate::read::error::Problem;

/// 32 states instead of 4.
pub(crate) const MANY_STATES: u8 = 4;
/// Smallest state.
const LOWEST: u32 = 1 << 15;
/// Most bytes that a turn of states takes.
const TURN_BYTES: usize = 64;
/// Symbols of a state that are put together before they go where they belong.
const TILE: usize = 64;
const NAME: &str = "rANS Nx16";
const CORRUPT: Problem = Problem::Corrupt(NAME);
const WHAT: &str = "a rANS Nx16 block";

const CODER: Coder = Coder { what: WHAT, name: NAME, symbols };

/// The raw bytes, at most `most`.
pub(crate) fn decompress(bytes: &[u8], most: usize) -> Result<Vec<u8>, Problem> {
    CODER.decompress(bytes, most)
}

fn symbols(cursor: &mut Cursor<'_>, flags: u8, count: usize) -> Result<Vec<u8>, Problem> {
    let runs = (flags & RUNS != 0).then(|| Runs::read(cursor, flags, count)).transpose()?;
    let literals = runs.as_ref().map_or(count, |runs| runs.literals);
    let data = if flags & STORED != 0 {
        cursor.take(literals)?.to_vec()
    } else {
        decode(cursor, flags, literals)?
    };
    let Some(runs) = runs else { return Ok(data) };
    let mut lengths = Cursor::new(&runs.lengths, "run lengths");
    let has_runs = read_run_symbols(&mut lengths)?;
    expand_runs(&data, &has_runs, &mut lengths, count)
}

/// Lengths of runs that were taken out.
struct Runs {
    lengths: Vec<u8>,
    /// Symbols that are left.
    literals: usize,
}

impl Runs {
    fn read(cursor: &mut Cursor<'_>, flags: u8, count: usize) -> Result<Self, Problem> {
        let size = cursor.uint7()?;
        let literals = cursor.uint7()?;
        if literals > count {
            return Err(CORRUPT);
        }
        // The symbols, and for each literal a length of at most 5 bytes.
        if size / 2 > 257 + 5 * literals {
            return Err(CORRUPT);
        }
        let lengths = if size & 1 == 1 {
            cursor.take(size / 2)?.to_vec()
        } else {
            let compressed = cursor.uint7()?;
            let mut inner = Cursor::new(cursor.take(compressed)?, WHAT);
            decode(&mut inner, flags & !ORDER, size / 2)?
        };
        Ok(Self { lengths, literals })
    }
}

fn read_run_symbols(lengths: &mut Cursor<'_>) -> Result<[bool; 256], Problem> {
    let count = match lengths.byte()? {
        0 => 256,
        count => usize::from(count),
    };
    let mut has_runs = [false; 256];
    for &symbol in lengths.take(count)? {
        has_runs[usize::from(symbol)] = true;
    }
    Ok(has_runs)
}

/// Reads `count` symbols.
fn decode(cursor: &mut Cursor<'_>, flags: u8, count: usize) -> Result<Vec<u8>, Problem> {
    let mut out = vec![0; count];
    if count == 0 {
        return Ok(out);
    }
    if flags & ORDER == 0 {
        let mut slots = Slots::new();
        let frequencies = read_frequencies(cursor)?;
        slots.fill(frequencies.into_iter(), MOST_BITS)?;
        match flags & MANY_STATES {
            0 => order_0::<4>(cursor, &slots, &mut out)?,
            _ => order_0::<32>(cursor, &slots, &mut out)?,
        }
    } else {
        let (contexts, bits) = read_contexts(cursor)?;
        match flags & MANY_STATES {
            0 => order_1::<4>(cursor, &contexts, bits, &mut out)?,
            _ => order_1::<32>(cursor, &contexts, bits, &mut out)?,
        }
    }
    Ok(out)
}

/// Symbols in ascending order, by a run-length code.
fn read_alphabet(cursor: &mut Cursor<'_>) -> Result<Vec<u8>, Problem> {
    let mut alphabet = Vec::new();
    let (mut symbol, mut implied) = (cursor.byte()?, 0);
    loop {
        if alphabet.last().is_some_and(|&last| last >= symbol) {
            return Err(CORRUPT);
        }
        alphabet.push(symbol);
        if implied > 0 {
            implied -= 1;
            symbol = symbol.checked_add(1).ok_or(CORRUPT)?;
            continue;
        }
        let next = cursor.byte()?;
        if symbol.checked_add(1) == Some(next) {
            implied = cursor.byte()?;
        }
        symbol = next;
        if symbol == 0 {
            return Ok(alphabet);
        }
    }
}

fn read_frequencies(cursor: &mut Cursor<'_>) -> Result<Vec<(u8, u32)>, Problem> {
    let alphabet = read_alphabet(cursor)?;
    let mut frequencies = Vec::with_capacity(alphabet.len());
    for symbol in alphabet {
        frequencies.push((symbol, frequency(cursor)?));
    }
    normalise(&mut frequencies, MOST_BITS)?;
    Ok(frequencies)
}

fn frequency(cursor: &mut Cursor<'_>) -> Result<u32, Problem> {
    let frequency = cursor.uint7()? as u32;
    if frequency > 1 << MOST_BITS { Err(CORRUPT) } else { Ok(frequency) }
}

/// Doubles frequencies until they add up to 2^bits.
fn normalise(frequencies: &mut Vec<(u8, u32)>, bits: u32) -> Result<(), Problem> {
    frequencies.retain(|&(_, frequency)| frequency > 0);
    let sum: u32 = frequencies.iter().map(|&(_, frequency)| frequency).sum();
    if sum == 0 {
        return Ok(());
    }
    let (all, mut shift) = (1 << bits, 0);
    while sum << shift < all {
        shift += 1;
    }
    if sum << shift != all {
        return Err(CORRUPT);
    }
    frequencies.iter_mut().for_each(|(_, frequency)| *frequency <<= shift);
    Ok(())
}

/// Frequencies by the symbol before, and the bits that they add up to.
fn read_contexts(cursor: &mut Cursor<'_>) -> Result<(Contexts, u32), Problem> {
    let head = cursor.byte()?;
    let bits = u32::from(head >> 4);
    if bits == 0 || bits > MOST_BITS {
        return Err(CORRUPT);
    }
    let contexts = if head & 1 == 1 {
        let (raw, compressed) = (cursor.uint7()?, cursor.uint7()?);
        // 256 contexts of 256 frequencies of two bytes, and the alphabet.
        if raw > 257 * 3 * 256 {
            return Err(CORRUPT);
        }
        let mut inner = Cursor::new(cursor.take(compressed)?, WHAT);
        let table = decode(&mut inner, 0, raw)?;
        read_context_tables(&mut Cursor::new(&table, WHAT), bits)?
    } else {
        read_context_tables(cursor, bits)?
    };
    Ok((contexts, bits))
}

fn read_context_tables(cursor: &mut Cursor<'_>, bits: u32) -> Result<Contexts, Problem> {
    let alphabet = read_alphabet(cursor)?;
    let mut contexts = Contexts::default();
    for &before in &alphabet {
        let mut frequencies = Vec::with_capacity(alphabet.len());
        let mut zeros = 0;
        for &symbol in &alphabet {
            if zeros > 0 {
                zeros -= 1;
                continue;
            }
            let frequency = frequency(cursor)?;
            if frequency == 0 {
                zeros = cursor.byte()?;
            }
            frequencies.push((symbol, frequency));
        }
        normalise(&mut frequencies, bits)?;
        contexts.add(before).fill(frequencies.into_iter(), bits)?;
    }
    Ok(contexts)
}

/// 16-bit words that states are filled up with; zeros after the last one, which are counted.
struct Renewal<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Renewal<'_> {
    /// The bytes of a turn of states, if there are as many as it may take.
    #[inline(always)]
    fn turn(&self) -> Option<&[u8; TURN_BYTES]> {
        self.bytes.get(self.at..).and_then(<[u8]>::first_chunk)
    }

    #[inline(always)]
    fn renew(&mut self, state: &mut u32) {
        if *state < LOWEST {
            let two = self.bytes.get(self.at..).and_then(<[u8]>::first_chunk);
            let word = two.map_or(0, |&two| u16::from_le_bytes(two));
            *state = *state << 16 | u32::from(word);
            self.at += 2;
        }
    }

    fn finish(&self) -> Result<(), Problem> {
        if self.at > self.bytes.len() { Err(Problem::Ends(WHAT)) } else { Ok(()) }
    }
}

/// Fills up a state by the bytes of its turn of which `used` are used. Which states need it is as
/// good as random, so no branch depends on it.
#[inline(always)]
fn renew_within(state: &mut u32, turn: &[u8; TURN_BYTES], used: &mut usize) {
    let at = *used & (TURN_BYTES - 2);
    let word = u16::from_le_bytes([turn[at], turn[at + 1]]);
    let is_low = *state < LOWEST;
    let filled = *state << 16 | u32::from(word);
    *state = if is_low { filled } else { *state };
    *used += 2 * usize::from(is_low);
}

fn read_states<const N: usize>(cursor: &mut Cursor<'_>) -> Result<[u32; N], Problem> {
    let mut states = [0; N];
    for state in &mut states {
        *state = cursor.word()?;
    }
    Ok(states)
}

fn order_0<const N: usize>(
    cursor: &mut Cursor<'_>,
    slots: &Slots,
    out: &mut [u8],
) -> Result<(), Problem> {
    let mut states = read_states::<N>(cursor)?;
    let mut renewal = Renewal { bytes: cursor.rest(), at: 0 };
    let mut chunks = out.chunks_exact_mut(N);
    for chunk in &mut chunks {
        let lanes = chunk.iter_mut().zip(&mut states);
        if let Some(turn) = renewal.turn() {
            let mut used = 0;
            for (out, state) in lanes {
                *out = slots.step(state, MOST_BITS);
                renew_within(state, turn, &mut used);
            }
            renewal.at += used;
        } else {
            for (out, state) in lanes {
                *out = slots.step(state, MOST_BITS);
                renewal.renew(state);
            }
        }
    }
    for (out, state) in chunks.into_remainder().iter_mut().zip(&mut states) {
        *out = slots.step(state, MOST_BITS);
        renewal.renew(state);
    }
    renewal.finish()
}

fn order_1<const N: usize>(
    cursor: &mut Cursor<'_>,
    contexts: &Contexts,
    bits: u32,
    out: &mut [u8],
) -> Result<(), Problem> {
    // Those that writers have: a shift by a constant is less work.
    match bits {
        10 => order_1_of::<N>(cursor, contexts, 10, out),
        12 => order_1_of::<N>(cursor, contexts, 12, out),
        bits => order_1_of::<N>(cursor, contexts, bits, out),
    }
}

#[inline(always)]
fn order_1_of<const N: usize>(
    cursor: &mut Cursor<'_>,
    contexts: &Contexts,
    bits: u32,
    out: &mut [u8],
) -> Result<(), Problem> {
    let mut states = read_states::<N>(cursor)?;
    let mut renewal = Renewal { bytes: cursor.rest(), at: 0 };
    let part = out.len() / N;
    let mut before = [0; N];
    let mut tile = [[0; N]; TILE];
    for start in (0..part).step_by(TILE) {
        let turns = TILE.min(part - start);
        for row in &mut tile[..turns] {
            let mut used = 0;
            if let Some(turn) = renewal.turn() {
                let (befores, states) =
                    (before.as_chunks_mut::<4>().0, states.as_chunks_mut::<4>().0);
                let rows = row.as_chunks_mut::<4>().0;
                for ((before, state), out) in befores.iter_mut().zip(states).zip(rows) {
                    for lane in 0..4 {
                        before[lane] = contexts.step(before[lane], &mut state[lane], bits);
                        out[lane] = before[lane];
                        renew_within(&mut state[lane], turn, &mut used);
                    }
                }
                renewal.at += used;
            } else {
                for (before, state) in before.iter_mut().zip(&mut states) {
                    *before = contexts.step(*before, state, bits);
                    renewal.renew(state);
                }
                *row = before;
            }
        }
        for index in 0..N {
            let own = &mut out[index * part + start..][..turns];
            for (out, row) in own.iter_mut().zip(&tile) {
                *out = row[index];
            }
        }
    }
    let (state, before) = (&mut states[N - 1], &mut before[N - 1]);
    for out in &mut out[N * part..] {
        *before = contexts.step(*before, state, bits);
        *out = *before;
        renewal.renew(state);
    }
    renewal.finish()
}
