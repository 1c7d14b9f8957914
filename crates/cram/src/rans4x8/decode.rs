//! The way back, for tests: as the specification has it, symbol by symbol.

use super::STATES;
use super::symbol::LOWEST;

/// A symbol of a context, and the frequencies before it.
struct Share {
    symbol: u8,
    start: u32,
    frequency: u32,
}

type Table = Vec<Share>;

struct Cursor<'a>(&'a [u8]);

impl Cursor<'_> {
    fn byte(&mut self) -> u8 {
        let (&first, rest) = self.0.split_first().unwrap();
        self.0 = rest;
        first
    }

    fn word(&mut self) -> u32 {
        u32::from_le_bytes(std::array::from_fn(|_| self.byte()))
    }

    /// The symbols of a run-length code, each with what `value` reads after it.
    fn symbols<T>(&mut self, mut value: impl FnMut(&mut Self, u8) -> T) -> Vec<T> {
        let mut values = Vec::new();
        let (mut symbol, mut implied) = (self.byte(), 0);
        loop {
            values.push(value(self, symbol));
            if implied > 0 {
                implied -= 1;
                symbol += 1;
                continue;
            }
            let next = self.byte();
            let follows = next == symbol.wrapping_add(1);
            symbol = next;
            if symbol == 0 {
                return values;
            }
            if follows {
                implied = self.byte();
            }
        }
    }

    fn table(&mut self) -> Table {
        let mut start = 0;
        let table = self.symbols(|cursor, symbol| {
            let first = u32::from(cursor.byte());
            let frequency = match first {
                0..128 => first,
                _ => (first & 0x7f) << 8 | u32::from(cursor.byte()),
            };
            assert!(frequency > 0);
            start += frequency;
            Share { symbol, start: start - frequency, frequency }
        });
        assert!(start == 4095 || start == 4096, "{start}");
        table
    }

    fn step(&mut self, state: &mut u32, table: &Table) -> u8 {
        let slot = *state & 4095;
        let share = table.iter().find(|it| slot < it.start + it.frequency).unwrap();
        *state = share.frequency * (*state >> 12) + slot - share.start;
        while *state < LOWEST {
            *state = *state << 8 | u32::from(self.byte());
        }
        share.symbol
    }
}

/// The raw bytes.
pub(super) fn decompress(bytes: &[u8]) -> Vec<u8> {
    let mut cursor = Cursor(bytes);
    let order = cursor.byte();
    assert_eq!(cursor.word() as usize, bytes.len() - 9);
    let raw_bytes = cursor.word() as usize;
    let mut out = vec![0; raw_bytes];
    if order == 0 {
        let table = cursor.table();
        let mut states: [u32; STATES] = std::array::from_fn(|_| cursor.word());
        for (index, out) in out.iter_mut().enumerate() {
            *out = cursor.step(&mut states[index % STATES], &table);
        }
    } else {
        let mut tables: [Table; 256] = std::array::from_fn(|_| Vec::new());
        cursor.symbols(|cursor, context| tables[usize::from(context)] = cursor.table());
        let mut states: [u32; STATES] = std::array::from_fn(|_| cursor.word());
        let (quarter, mut contexts) = (raw_bytes / STATES, [0; STATES]);
        let places = (0..quarter).flat_map(|it| (0..STATES).map(move |at| (at, at * quarter + it)));
        for (at, place) in places.chain((STATES * quarter..raw_bytes).map(|it| (STATES - 1, it))) {
            let symbol = cursor.step(&mut states[at], &tables[usize::from(contexts[at])]);
            out[place] = symbol;
            contexts[at] = symbol;
        }
    }
    assert!(cursor.0.is_empty());
    out
}
