//! Frequencies as a decoder of rANS wants them: by the low bits of a state its symbol, and by the
//! symbol what the state becomes. Of a context that is 5 KiB, so that the usual contexts of
//! qualities fit the first cache; a table of both by the low bits does not.

use crate::read::error::Problem;

/// Largest number of bits of all frequencies.
pub(crate) const MOST_BITS: u32 = 12;
const SLOTS: usize = 1 << MOST_BITS;

/// One context: the symbols by slot, and by symbol its frequency and its first slot (12 bits).
#[derive(Clone)]
pub(crate) struct Slots {
    symbols: [u8; SLOTS],
    codes: [u32; 256],
}

impl Slots {
    pub(crate) fn new() -> Self {
        Self { symbols: [0; SLOTS], codes: [0; 256] }
    }

    /// Gives each symbol as many slots as it has frequency, in the order in which they come. What
    /// is left has the symbol 0, which no valid state finds.
    pub(crate) fn fill(
        &mut self,
        frequencies: impl Iterator<Item = (u8, u32)>,
        bits: u32,
    ) -> Result<(), Problem> {
        let slots = &mut self.symbols[..1 << bits.min(MOST_BITS)];
        self.codes[0] = 0;
        let mut start = 0;
        for (symbol, frequency) in frequencies {
            let end = start + frequency as usize;
            let own = slots.get_mut(start..end).ok_or(Problem::Corrupt("rANS"))?;
            own.fill(symbol);
            self.codes[usize::from(symbol)] = frequency << 12 | start as u32;
            start = end;
        }
        slots[start..].fill(0);
        Ok(())
    }

    /// The symbol of a state of `BITS` bits, which becomes the one before it was coded.
    #[inline(always)]
    pub(crate) fn step(&self, state: &mut u32, bits: u32) -> u8 {
        let slot = *state & ((1 << bits) - 1);
        let symbol = self.symbols[slot as usize & (SLOTS - 1)];
        let code = self.codes[usize::from(symbol)];
        let distance = slot.wrapping_sub(code & 0xfff);
        *state = (code >> 12).wrapping_mul(*state >> bits).wrapping_add(distance);
        symbol
    }
}

/// Contexts by the symbol before, of which only those are there that occur.
pub(crate) struct Contexts {
    tables: Vec<Slots>,
    count: usize,
    /// 0 for those that do not occur: a table that holds the symbol 0 alone.
    ranks: [u16; 256],
}

impl Default for Contexts {
    fn default() -> Self {
        Self { tables: vec![Slots::new()], count: 1, ranks: [0; 256] }
    }
}

impl Contexts {
    pub(crate) fn clear(&mut self) {
        (self.count, self.ranks) = (1, [0; 256]);
    }

    /// A further context.
    pub(crate) fn add(&mut self, symbol: u8) -> &mut Slots {
        let rank = self.count;
        if self.tables.len() == rank {
            self.tables.push(Slots::new());
        }
        // A symbol has one table, so there are at most 257.
        self.ranks[usize::from(symbol)] = rank as u16;
        self.count += 1;
        &mut self.tables[rank]
    }

    #[inline(always)]
    pub(crate) fn step(&self, before: u8, state: &mut u32, bits: u32) -> u8 {
        self.tables[usize::from(self.ranks[usize::from(before)])].step(state, bits)
    }

    /// Bounds what hostile tables, that name a symbol again and again, can add.
    pub(crate) fn is_full(&self) -> bool {
        self.count > 256
    }
}
