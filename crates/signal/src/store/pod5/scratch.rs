//! What a worker keeps between reads.

use seqloom_format::pod5::{Batch, Pod5FormatError, RowDecoder};

/// Batches of the Reads table that a worker holds: 140 kB each as POD5 writes them, so 1 MB.
const BATCHES: usize = 8;

/// Memory of one worker: buffers, and the batches of reads it used last. It serves any number of
/// files.
#[derive(Debug, Default)]
pub(crate) struct Pod5Scratch {
    pub(super) decoder: RowDecoder,
    /// Coded signal of a read, its rows one after the other.
    pub(super) coded: Vec<u8>,
    pub(super) rows: Vec<CodedRow>,
    batches: Vec<Held>,
    clock: u64,
}

/// A row of a read in `coded`.
#[derive(Debug, Clone, Copy)]
pub(super) struct CodedRow {
    pub(super) number: u64,
    pub(super) bytes: usize,
    pub(super) samples: u32,
}

#[derive(Debug)]
struct Held {
    /// Which file, and which of its batches.
    key: (u64, usize),
    used: u64,
    batch: Batch,
}

impl Pod5Scratch {
    /// The batch called `key`: as it is held, else loaded in the place of the one longest unused.
    /// Comes with the buffers of the signal, to be filled.
    pub(super) fn batch(
        &mut self,
        key: (u64, usize),
        load: impl FnOnce(&mut Batch) -> Result<(), Pod5FormatError>,
    ) -> Result<(&Batch, &mut Vec<u8>, &mut Vec<CodedRow>), Pod5FormatError> {
        self.clock += 1;
        let place = match self.batches.iter().position(|held| held.key == key) {
            Some(place) => place,
            None => {
                let oldest = self.batches.iter().enumerate().min_by_key(|(_, held)| held.used);
                let mut batch = match oldest.map(|(place, _)| place) {
                    Some(place) if self.batches.len() >= BATCHES => {
                        self.batches.swap_remove(place).batch
                    }
                    _ => Batch::default(),
                };
                load(&mut batch)?;
                self.batches.push(Held { key, used: self.clock, batch });
                self.batches.len() - 1
            }
        };
        let held = &mut self.batches[place];
        held.used = self.clock;
        Ok((&held.batch, &mut self.coded, &mut self.rows))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_batch_longest_unused_goes_and_a_failed_one_is_not_held() {
        let mut scratch = Pod5Scratch::default();
        let mut loads = 0;
        let mut get = |key: (u64, usize)| {
            let loaded = scratch.batch(key, |batch| {
                loads += 1;
                batch.at = key.1 as u64;
                if key.0 == 9 { Err(Pod5FormatError::NotPod5) } else { Ok(()) }
            });
            (loaded.map(|(batch, ..)| batch.at).ok(), loads)
        };
        for index in 0..BATCHES {
            assert_eq!(get((1, index)), (Some(index as u64), index + 1));
        }
        assert_eq!(get((1, 0)), (Some(0), BATCHES));
        assert_eq!(get((2, 5)), (Some(5), BATCHES + 1)); // in the place of (1, 1)
        assert_eq!(get((1, 0)), (Some(0), BATCHES + 1));
        assert_eq!(get((1, 1)), (Some(1), BATCHES + 2));
        assert_eq!(get((9, 1)), (None, BATCHES + 3));
        assert_eq!(get((9, 1)), (None, BATCHES + 4));
    }
}
