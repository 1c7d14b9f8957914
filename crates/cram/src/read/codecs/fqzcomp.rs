//! FQZComp, a coder of qualities (CRAM codecs specification, section 6; Bonfield and Mahoney 2013):
//! each quality by a model that those before it, the place and a selector choose.

use super::model::{Model, RangeDecoder};
use crate::read::cursor::Cursor;
use crate::read::error::Problem;

const VERSION: u8 = 5;
/// Bits of what holds for all.
const SEVERAL_PARAMETERS: u8 = 1;
const HAS_SELECTOR_TABLE: u8 = 2;
const MAY_REVERSE: u8 = 4;
/// Bits of a set of parameters.
const MAY_REPEAT: u8 = 2;
/// All records are as long as the first one: htscodecs' files have it so, and the specification's
/// words the other way round.
const HAS_ONE_LENGTH: u8 = 4;
const HAS_SELECTOR: u8 = 8;
const HAS_MAP: u8 = 16;
const HAS_PLACES: u8 = 32;
const HAS_CHANGES: u8 = 64;
const HAS_QUALITIES: u8 = 128;

const CORRUPT: Problem = Problem::Corrupt("FQZComp");
const CONTEXTS: usize = 1 << 16;

/// Parts of the context of a quality.
struct Parameters {
    context: u16,
    flags: u8,
    quality_bits: u32,
    quality_shift: u32,
    quality_at: u32,
    selector_at: u32,
    place_at: u32,
    change_at: u32,
    map: Option<Vec<u8>>,
    qualities: Vec<u8>,
    places: Vec<u8>,
    changes: Vec<u8>,
    /// Length of the last record, once there was one.
    last_length: Option<usize>,
}

/// Parameters of all records.
struct Sets {
    flags: u8,
    most_selector: u8,
    selector_table: Vec<u8>,
    sets: Vec<Parameters>,
    most_symbol: u8,
}

impl Sets {
    fn read(cursor: &mut Cursor<'_>) -> Result<Self, Problem> {
        if cursor.byte()? != VERSION {
            return Err(CORRUPT);
        }
        let flags = cursor.byte()?;
        let (mut count, mut most_selector) = (1, 0);
        if flags & SEVERAL_PARAMETERS != 0 {
            count = cursor.byte()?;
            most_selector = count;
        }
        let mut selector_table: Vec<u8> = (0..=255).collect();
        if flags & HAS_SELECTOR_TABLE != 0 {
            most_selector = cursor.byte()?;
            selector_table = read_array(cursor, 256)?;
        }
        let (mut sets, mut most_symbol) = (Vec::new(), 0);
        for _ in 0..count {
            let (set, most) = Parameters::read(cursor)?;
            sets.push(set);
            most_symbol = most.max(most_symbol);
        }
        Ok(Self { flags, most_selector, selector_table, sets, most_symbol })
    }
}

impl Parameters {
    /// The parameters, and their largest symbol.
    fn read(cursor: &mut Cursor<'_>) -> Result<(Self, u8), Problem> {
        let context = u16::from_le_bytes(cursor.array()?);
        let [flags, most_symbol] = cursor.array()?;
        let halves = |byte: u8| (u32::from(byte >> 4), u32::from(byte & 0xf));
        let [a, b, c] = cursor.array()?;
        let (quality_bits, quality_shift) = halves(a);
        let (quality_at, selector_at) = halves(b);
        let (place_at, change_at) = halves(c);
        let map = match flags & HAS_MAP {
            0 => None,
            _ => Some(cursor.take(most_symbol.into())?.to_vec()),
        };
        let mut table = |bit, size, otherwise: fn() -> Vec<u8>| match flags & bit {
            0 => Ok(otherwise()),
            _ => read_array(cursor, size),
        };
        let qualities = table(HAS_QUALITIES, 256, || (0..=255).collect())?;
        let places = table(HAS_PLACES, 1024, Vec::new)?;
        let changes = table(HAS_CHANGES, 256, Vec::new)?;
        let read = Self {
            context,
            flags,
            quality_bits,
            quality_shift,
            quality_at,
            selector_at,
            place_at,
            change_at,
            map,
            qualities,
            places,
            changes,
            last_length: None,
        };
        Ok((read, most_symbol))
    }
}

/// An array that ascends, as run lengths of its values, themselves by their runs.
fn read_array(cursor: &mut Cursor<'_>, count: usize) -> Result<Vec<u8>, Problem> {
    let mut lengths = Vec::new();
    let (mut sum, mut last) = (0, None);
    while sum < count {
        let length = cursor.byte()?;
        let mut times = 1;
        if last == Some(length) {
            times += usize::from(cursor.byte()?);
        }
        if lengths.len() > count {
            return Err(CORRUPT);
        }
        lengths.resize(lengths.len() + times, length);
        sum += usize::from(length) * times;
        last = Some(length);
    }
    let (mut array, mut value) = (Vec::with_capacity(count), 0_u8);
    for length in lengths {
        let end = (array.len() + usize::from(length)).min(count);
        array.resize(end, value);
        if array.len() == count {
            return Ok(array);
        }
        // 255 goes on.
        if length < 255 {
            value = value.checked_add(1).ok_or(CORRUPT)?;
        }
    }
    Err(CORRUPT)
}

/// The models of all that is read.
struct Models {
    qualities: Vec<Option<Box<Model>>>,
    symbols: usize,
    lengths: [Model; 4],
    reversed: Model,
    repeated: Model,
    selector: Model,
}

impl Models {
    fn new(sets: &Sets) -> Self {
        Self {
            qualities: vec![None; CONTEXTS],
            symbols: usize::from(sets.most_symbol) + 1,
            lengths: std::array::from_fn(|_| Model::new(256)),
            reversed: Model::new(2),
            repeated: Model::new(2),
            selector: Model::new(usize::from(sets.most_selector) + 1),
        }
    }

    fn quality(&mut self, context: u16, decoder: &mut RangeDecoder<'_>) -> Result<u8, Problem> {
        let symbols = self.symbols;
        let model = &mut self.qualities[usize::from(context)];
        model.get_or_insert_with(|| Box::new(Model::new(symbols))).decode(decoder)
    }

    fn length(&mut self, decoder: &mut RangeDecoder<'_>) -> Result<usize, Problem> {
        let mut bytes = [0; 4];
        for (byte, model) in bytes.iter_mut().zip(&mut self.lengths) {
            *byte = model.decode(decoder)?;
        }
        Ok(u32::from_le_bytes(bytes) as usize)
    }
}

/// State of a context within a record.
#[derive(Default)]
struct State {
    qualities: u32,
    changes: usize,
    last: u8,
    selector: u8,
}

impl State {
    /// The context of the quality after `symbol`, which was the first of `left` to come.
    fn context(&mut self, set: &Parameters, symbol: u8, left: usize) -> u16 {
        let quality = u32::from(set.qualities[usize::from(symbol)]);
        self.qualities = (self.qualities << set.quality_shift).wrapping_add(quality);
        let kept = self.qualities & ((1 << set.quality_bits) - 1);
        let mut context = u32::from(set.context).wrapping_add(kept << set.quality_at);
        if set.flags & HAS_PLACES != 0 {
            context += u32::from(set.places[left.min(1023)]) << set.place_at;
        }
        if set.flags & HAS_CHANGES != 0 {
            context += u32::from(set.changes[self.changes.min(255)]) << set.change_at;
            self.changes += usize::from(self.last != symbol);
            self.last = symbol;
        }
        if set.flags & HAS_SELECTOR != 0 {
            context += u32::from(self.selector) << set.selector_at;
        }
        context as u16
    }
}

/// The qualities of all records, at most `most`.
pub(crate) fn decompress(bytes: &[u8], most: usize) -> Result<Vec<u8>, Problem> {
    let mut cursor = Cursor::new(bytes, "an FQZComp block");
    let count = cursor.uint7()?;
    if count > most {
        return Err(Problem::TooLarge(most));
    }
    let mut sets = Sets::read(&mut cursor)?;
    let mut models = Models::new(&sets);
    let mut decoder = RangeDecoder::new(cursor.rest());
    let mut out = Vec::with_capacity(count);
    let mut reversed = Vec::new();
    while out.len() < count {
        let mut state = State::default();
        let mut index = 0;
        if sets.most_selector > 0 {
            state.selector = models.selector.decode(&mut decoder)?;
            index = sets.selector_table[usize::from(state.selector)];
        }
        let set = sets.sets.get_mut(usize::from(index)).ok_or(CORRUPT)?;
        let length = match set.last_length {
            Some(length) if set.flags & HAS_ONE_LENGTH != 0 => length,
            _ => models.length(&mut decoder)?,
        };
        set.last_length = Some(length);
        let start = out.len();
        if length == 0 || length > count - start {
            return Err(CORRUPT);
        }
        if sets.flags & MAY_REVERSE != 0 && models.reversed.decode(&mut decoder)? != 0 {
            reversed.push(start..start + length);
        }
        if set.flags & MAY_REPEAT != 0 && models.repeated.decode(&mut decoder)? != 0 {
            let from = start.checked_sub(length).ok_or(CORRUPT)?;
            out.extend_from_within(from..start);
            continue;
        }
        let mut context = set.context;
        for left in (1..=length).rev() {
            let symbol = models.quality(context, &mut decoder)?;
            out.push(match &set.map {
                Some(map) => *map.get(usize::from(symbol)).ok_or(CORRUPT)?,
                None => symbol,
            });
            context = state.context(set, symbol, left);
        }
    }
    decoder.finish()?;
    reversed.into_iter().for_each(|range| out[range].reverse());
    Ok(out)
}
