//! The samples of `.tsa`, next to a `.bwt.2bit.64`.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use super::{BLOCK_ROWS, Input, Walk};
use crate::Error;

/// The samples of a `.tsa`; none where there is no such file.
#[derive(Default)]
pub(super) struct TextSamples {
    /// For 64 rows each: which are sampled, row 0 in the top bit, and how many before are.
    words: Vec<(u64, u64)>,
    /// Positions.
    pub(super) samples: Vec<u64>,
}

impl TextSamples {
    pub(super) fn read(path: &Path, rows: u64) -> Result<Self, Error> {
        let Ok(file) = File::open(path) else { return Ok(Self::default()) };
        let bytes = file.metadata().map_err(Error::file(path))?.len();
        let mut input = Input { path, reader: BufReader::with_capacity(1 << 20, file) };
        let [_, bases, _, log2, samples, ..]: [u64; 8] = input.some()?;
        let shift = log2 & 63;
        let long = (rows - 1) >> shift > u64::from(u32::MAX);
        let words = rows / BLOCK_ROWS + 1;
        let sample_bytes = if long { 5 } else { 4 };
        if 2 * bases + 1 != rows || bytes != 64 + 8 * words + sample_bytes * samples {
            return Err(input.wrong("its size is not that of its header and of the rows"));
        }
        let mut read = Self::default();
        let mut before = 0;
        for _ in 0..words {
            let [word] = input.some()?;
            read.words.push((word, before));
            before += u64::from(word.count_ones());
        }
        if before != samples {
            return Err(input.wrong("it has not as many samples as sampled rows"));
        }
        for _ in 0..samples {
            let mut some = [0; 4];
            input.fill(&mut some)?;
            read.samples.push(u64::from(u32::from_le_bytes(some)) << shift);
        }
        for sample in read.samples.iter_mut().filter(|_| long) {
            let mut high = [0];
            input.fill(&mut high)?;
            *sample += u64::from(high[0]) << 32 << shift;
        }
        Ok(read)
    }

    /// Compares the sample of a row, if it has one, with the position of its suffix.
    #[inline]
    pub(super) fn compare(&self, Walk { row, at }: Walk) -> Result<(), String> {
        let Some(&(word, before)) = self.words.get((row / BLOCK_ROWS) as usize) else {
            return Ok(());
        };
        let place = row % BLOCK_ROWS;
        if word >> (63 - place) & 1 == 0 {
            return Ok(());
        }
        let number = before + u64::from((word >> 1 >> (63 - place)).count_ones());
        if self.samples[number as usize] == at {
            return Ok(());
        }
        Err(format!("sample {number} of the .tsa is not position {at}"))
    }
}
