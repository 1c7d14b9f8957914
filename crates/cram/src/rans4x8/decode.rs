//! The way back.

use super::STATES;
use super::symbol::LOWEST;
use crate::read::codecs::slots::{Contexts, Slots};
use crate::read::cursor::Cursor;
use crate::read::error::Problem;

/// Bits of the sum of all frequencies.
const BITS: u32 = 12;
const CORRUPT: Problem = Problem::Corrupt("rANS 4x8");

/// Buffers of a decoder.
pub(crate) struct Tables {
    plain: Slots,
    contexts: Contexts,
}

impl Default for Tables {
    fn default() -> Self {
        Self { plain: Slots::new(), contexts: Contexts::default() }
    }
}

/// Replaces `out` by the raw bytes, which must be `raw_bytes`.
pub(crate) fn decompress(
    bytes: &[u8],
    raw_bytes: usize,
    tables: &mut Tables,
    out: &mut Vec<u8>,
) -> Result<(), Problem> {
    let mut cursor = Cursor::new(bytes, "a rANS 4x8 block");
    let order = cursor.byte()?;
    let (compressed, raw) = (cursor.word()? as usize, cursor.word()? as usize);
    if raw != raw_bytes || compressed > bytes.len() {
        return Err(CORRUPT);
    }
    out.clear();
    out.resize(raw, 0);
    match order {
        0 => {
            read_table(&mut cursor, &mut tables.plain, false)?;
            order_0(&mut cursor, &tables.plain, out)
        }
        1 => {
            tables.contexts.clear();
            let contexts = &mut tables.contexts;
            read_symbols(&mut cursor, |cursor, symbol| {
                if contexts.is_full() {
                    return Err(CORRUPT);
                }
                read_table(cursor, contexts.add(symbol), true)
            })?;
            order_1(&mut cursor, contexts, out)
        }
        _ => Err(CORRUPT),
    }
}

/// Calls `value` for each symbol of a run-length code.
fn read_symbols<'a>(
    cursor: &mut Cursor<'a>,
    mut value: impl FnMut(&mut Cursor<'a>, u8) -> Result<(), Problem>,
) -> Result<(), Problem> {
    let (mut symbol, mut implied) = (cursor.byte()?, 0);
    loop {
        value(cursor, symbol)?;
        if implied > 0 {
            implied -= 1;
            symbol = symbol.checked_add(1).ok_or(CORRUPT)?;
            continue;
        }
        let next = cursor.byte()?;
        let follows = symbol.checked_add(1) == Some(next);
        symbol = next;
        if symbol == 0 {
            return Ok(());
        }
        if follows {
            implied = cursor.byte()?;
        }
    }
}

/// Frequencies of one context.
fn read_table(
    cursor: &mut Cursor<'_>,
    slots: &mut Slots,
    zero_is_all: bool,
) -> Result<(), Problem> {
    let mut frequencies = Vec::with_capacity(256);
    read_symbols(cursor, |cursor, symbol| {
        let first = u32::from(cursor.byte()?);
        let mut frequency = first;
        if first >= 128 {
            frequency = (first & 0x7f) << 8 | u32::from(cursor.byte()?);
        }
        // Old encoders write the only symbol of a context so.
        if frequency == 0 && zero_is_all {
            frequency = 1 << BITS;
        }
        if frequencies.len() > 256 {
            return Err(CORRUPT);
        }
        frequencies.push((symbol, frequency));
        Ok(())
    })?;
    let there = frequencies.into_iter().filter(|&(_, frequency)| frequency > 0);
    slots.fill(there, BITS).map_err(|_| CORRUPT)
}

/// Bytes that states are filled up with; zeros after the last one, which are counted.
struct Renewal<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Renewal<'_> {
    /// Fills up a state. No valid one needs more than two bytes.
    #[inline(always)]
    fn renew(&mut self, state: &mut u32) {
        if *state < LOWEST {
            *state = *state << 8 | self.next();
            if *state < LOWEST {
                *state = *state << 8 | self.next();
            }
        }
    }

    #[inline(always)]
    fn next(&mut self) -> u32 {
        let byte = self.bytes.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        u32::from(byte)
    }

    fn finish(&self) -> Result<(), Problem> {
        if self.at > self.bytes.len() { Err(Problem::Ends("a rANS 4x8 block")) } else { Ok(()) }
    }
}

fn read_states(cursor: &mut Cursor<'_>) -> Result<[u32; STATES], Problem> {
    let mut states = [0; STATES];
    for state in &mut states {
        *state = cursor.word()?;
    }
    Ok(states)
}

fn order_0(cursor: &mut Cursor<'_>, slots: &Slots, out: &mut [u8]) -> Result<(), Problem> {
    let mut states = read_states(cursor)?;
    let mut renewal = Renewal { bytes: cursor.rest(), at: 0 };
    let mut chunks = out.chunks_exact_mut(STATES);
    for chunk in &mut chunks {
        for (out, state) in chunk.iter_mut().zip(&mut states) {
            *out = slots.step(state, BITS);
        }
        for state in &mut states {
            renewal.renew(state);
        }
    }
    for (out, state) in chunks.into_remainder().iter_mut().zip(&mut states) {
        *out = slots.step(state, BITS);
        renewal.renew(state);
    }
    renewal.finish()
}

fn order_1(cursor: &mut Cursor<'_>, contexts: &Contexts, out: &mut [u8]) -> Result<(), Problem> {
    let mut states = read_states(cursor)?;
    let mut renewal = Renewal { bytes: cursor.rest(), at: 0 };
    let quarter = out.len() / STATES;
    let (whole, rest) = out.split_at_mut(quarter * STATES);
    let (a, b) = whole.split_at_mut(2 * quarter);
    let ((a, b), (c, d)) = (a.split_at_mut(quarter), b.split_at_mut(quarter));
    let mut before = [0; STATES];
    for (((a, b), c), d) in a.iter_mut().zip(b).zip(c).zip(d) {
        for (before, state) in before.iter_mut().zip(&mut states) {
            *before = contexts.step(*before, state, BITS);
        }
        [*a, *b, *c, *d] = before;
        for state in &mut states {
            renewal.renew(state);
        }
    }
    let (state, before) = (&mut states[STATES - 1], &mut before[STATES - 1]);
    for out in rest {
        *before = contexts.step(*before, state, BITS);
        *out = *before;
        renewal.renew(state);
    }
    renewal.finish()
}
