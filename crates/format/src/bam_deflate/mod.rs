//! BGZF blocks of BAM records, deflated by what a record is.
//!
//! A deflater that knows nothing of its bytes hashes all of them to find what repeats. Records say
//! where that is: [`search`] compares each field with the same field of the records before. What it
//! finds becomes an ordinary deflate stream ([`emit`]) that any reader inflates. `docs/internals/
//! deflate.md` says what that takes, field by field.
//!
//! A *unit* is a run of blocks that start and end with it. Its blocks share state, the codes of
//! earlier ones and whether the method is worth it, and no block depends on another unit. So bytes
//! are a function of the unit's payloads and the settings.

mod compare;
mod cover;
mod emit;
mod history;
mod layout;
mod lists;
mod search;
mod simd;
mod tokens;
mod unit;
mod window;

use std::fmt;

use crate::bgzf::{BgzfError, BlockCompressor, BlockDecompressor, MAX_PAYLOAD_BYTES, append_block};
use unit::{Deflate, RecordDeflater};

/// First bytes of a unit that are deflated both ways.
const TRIAL_BYTES: usize = 32 << 10;
/// Records that are longer than this on average have long reads, most of whose bytes are sequence
/// and qualities that no earlier record has.
const MAX_MEAN_RECORD_BYTES: usize = 4 << 10;
/// Blocks of a unit for which the search was not worth it; the last of them ends the method.
const MAX_REFUSED_BLOCKS: u32 = 3;
/// Below this a unit has too little for records to repeat.
const MIN_TRIAL_BYTES: usize = 512;

/// Method of deflating.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Method {
    /// The search by records at levels 1 to 6, where it is worth it; else libdeflate.
    #[default]
    Records,
    /// libdeflate alone, to compare with.
    Libdeflate,
}

/// How blocks are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// 0 stores, 1 is the fastest, 12 the smallest.
    pub level: u8,
    /// Method of deflating.
    pub method: Method,
    /// Whether every block is inflated again and compared; always so in builds with debug
    /// assertions.
    pub check: bool,
}

impl Settings {
    /// The usual settings of a level.
    #[must_use]
    pub const fn at_level(level: u8) -> Self {
        Self { level, method: Method::Records, check: false }
    }
}

/// Method for the unit at hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// After so many trials that failed.
    Untried {
        failed: u32,
    },
    /// With so many blocks that were libdeflate's all the same.
    Records {
        refused: u32,
    },
    Libdeflate,
}

/// Makes the blocks of one unit after the other.
pub struct BamCompressor {
    settings: Settings,
    libdeflate: BlockCompressor,
    records: Option<Box<dyn Deflate + Send>>,
    way: Way,
    trial: Vec<u8>,
    check: Option<Check>,
}

impl BamCompressor {
    /// With no unit begun.
    ///
    /// # Errors
    /// [`BgzfError::BadLevel`] above 12.
    pub fn new(settings: Settings) -> Result<Self, BgzfError> {
        let checks = settings.check || cfg!(debug_assertions);
        Ok(Self {
            settings,
            libdeflate: BlockCompressor::new(settings.level)?,
            records: match settings.method {
                Method::Records => effort(settings.level),
                Method::Libdeflate => None,
            },
            way: Way::Untried { failed: 0 },
            trial: Vec::new(),
            check: checks.then(Check::default),
        })
    }

    /// Ends the unit.
    pub fn end_unit(&mut self) {
        self.way = Way::Untried { failed: 0 };
    }

    /// Appends exactly one block with `payload` to `out` and returns the block's size in bytes, as
    /// [`BlockCompressor::compress`] does.
    ///
    /// # Errors
    /// [`BgzfError::PayloadTooLarge`] above [`MAX_PAYLOAD_BYTES`]; `out` is then unchanged.
    /// [`BgzfError::BadCheck`] where blocks are checked and one is not what it must be.
    pub fn compress(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<usize, BgzfError> {
        let block_bytes = self.append(payload, out)?;
        if let Some(check) = &mut self.check {
            check.block(&out[out.len() - block_bytes..], payload)?;
        }
        Ok(block_bytes)
    }

    fn append(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<usize, BgzfError> {
        if let Way::Untried { failed } = self.way {
            self.way = match self.is_worth_it(payload)? {
                true => Way::Records { refused: 0 },
                false if failed + 1 == most_trials(self.settings.level) => Way::Libdeflate,
                false => Way::Untried { failed: failed + 1 },
            };
        }
        let Some(records) = &mut self.records else {
            return self.libdeflate.compress(payload, out);
        };
        if let Way::Records { refused } = self.way
            && payload.len() <= MAX_PAYLOAD_BYTES
        {
            if let Some(deflated) = records.deflate(payload) {
                return append_block(payload, out, |out| out.extend_from_slice(deflated));
            }
            let refused = refused + 1;
            let is_over = refused == MAX_REFUSED_BLOCKS;
            self.way = if is_over { Way::Libdeflate } else { Way::Records { refused } };
        }
        self.libdeflate.compress(payload, out)
    }

    /// Deflates the first records of a block both ways: whether those that follow are worth a
    /// search.
    fn is_worth_it(&mut self, payload: &[u8]) -> Result<bool, BgzfError> {
        let (Some(records), Some(first)) = (&mut self.records, first_records(payload)) else {
            return Ok(false);
        };
        records.start_unit();
        let Some(by_records) = records.deflate(first).map(<[u8]>::len) else {
            return Ok(false);
        };
        records.start_unit();
        self.trial.clear();
        let by_libdeflate = self.libdeflate.compress(first, &mut self.trial)?;
        let most = by_libdeflate * (100 + tolerance_percent(self.settings.level)) / 100;
        Ok(by_records <= most)
    }
}

impl fmt::Debug for BamCompressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let settings = &self.settings;
        f.debug_struct("BamCompressor").field("settings", settings).finish_non_exhaustive()
    }
}

/// Search of a level, if it is not libdeflate's.
fn effort(level: u8) -> Option<Box<dyn Deflate + Send>> {
    Some(match level {
        1 => Box::new(RecordDeflater::<16, 4, false>::new()),
        2..=5 => Box::new(RecordDeflater::<32, 8, true>::new()),
        6 => Box::new(RecordDeflater::<40, 8, true>::new()),
        _ => return None,
    })
}

/// By how much a unit's first records may be larger than libdeflate's, for the speed. Files are to
/// be at most 3 % larger. At level 1 it is less: of reads that are not sorted a whole unit comes
/// out 1 to 2 % worse than its first records, for libdeflate finds more by chance in a full window.
fn tolerance_percent(level: u8) -> usize {
    match level {
        1 => 1,
        2..=5 => 2,
        _ => 3,
    }
}

/// Trials of a unit, in as many blocks: where the first records are of a repeat, the others may yet
/// be worth it. At levels below 6 libdeflate is too fast to be worth what a trial that succeeds by
/// chance costs in size.
fn most_trials(level: u8) -> u32 {
    if level == 6 { 2 } else { 1 }
}

/// The first whole records of a unit that have [`TRIAL_BYTES`], or all; `None` where the method
/// would not be worth it.
fn first_records(payload: &[u8]) -> Option<&[u8]> {
    let (mut end, mut count) = (0, 0);
    while end < TRIAL_BYTES {
        let Some(size) = payload[end..].first_chunk() else { break };
        end = end.checked_add(4 + u32::from_le_bytes(*size) as usize)?;
        if end > payload.len() {
            return None;
        }
        count += 1;
    }
    let is_worth_it = end >= MIN_TRIAL_BYTES && end <= count * MAX_MEAN_RECORD_BYTES;
    is_worth_it.then_some(&payload[..end])
}

/// Inflates blocks again.
#[derive(Default)]
struct Check {
    decompressor: BlockDecompressor,
    inflated: Vec<u8>,
}

impl Check {
    fn block(&mut self, block: &[u8], payload: &[u8]) -> Result<(), BgzfError> {
        self.inflated.clear();
        self.decompressor.decompress(block, &mut self.inflated)?;
        if self.inflated == payload { Ok(()) } else { Err(BgzfError::BadCheck) }
    }
}

#[cfg(test)]
mod test_blocks;
#[cfg(test)]
mod tests;
