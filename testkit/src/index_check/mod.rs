//! Proof that a `.bwt.2bit.64` is the transform of its `.pac`, in time linear in the text and
//! without sorting: for indices that are too large for another program to build.
//!
//! Source of the layout: bwa-mem2 2.2.1 (Vasimuddin et al. 2019, doi:10.1109/IPDPS.2019.00041), the
//! tag that of bwa-mem3; read here by code that shares nothing with the program's.
//!
//! The step from a row to that of the suffix before it is a permutation of all rows, because it is
//! made of counts that are compared with the rows. From every sampled row it is followed to the
//! next sampled one, while every symbol is compared with the text, and every sample with the
//! position that the walk has come to. When as many steps were taken as there are rows, all rows
//! are on one cycle that spells the text, and a transform is given by the text that it spells
//! (Burrows and Wheeler 1994).
//!
//! Where there is a `.tsa`, the rows that it samples are compared on the way.

mod text_samples;

use crate::Error;
use std::fs::File;
use std::io::{BufReader, Read};
use std::num::NonZeroUsize;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use text_samples::TextSamples;

/// Rows of a checkpoint.
const BLOCK_ROWS: u64 = 64;

/// Rows that share absolute counts: relative ones have 32 bits.
const GROUP_BLOCKS: u64 = 1 << 24;

/// Walks that are taken side by side, so that their misses of the cache overlap.
const WALKERS: usize = 48;

/// What was found to be right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Proven {
    /// Rows, one more than symbols of both strands.
    pub(crate) rows: u64,
    /// Rows from one sample to the next.
    pub(crate) stride: u64,
    /// Samples compared.
    pub(crate) samples: u64,
    /// Samples of `.tsa` compared.
    pub(crate) text_samples: u64,
}

/// Proves the index at `prefix` with so many threads. Memory: half a byte a row, 5 bytes a sample,
/// a quarter of a byte a base; with a `.tsa` a quarter of a byte a row more.
///
/// # Errors
/// A file cannot be read, or is not what it should be: the first place where that shows.
pub(crate) fn prove(prefix: &Path, threads: NonZeroUsize) -> Result<Proven, Error> {
    let with = |suffix: &str| {
        let mut path = prefix.as_os_str().to_owned();
        path.push(suffix);
        PathBuf::from(path)
    };
    let text = Text::read(&with(".pac"))?;
    let path = with(".bwt.2bit.64");
    let mut index = Index::read(&path, &text)?;
    index.text_samples = TextSamples::read(&with(".tsa"), index.rows)?;
    let wrong = |problem: String| Error::format(path.display().to_string(), problem);
    let steps = index.walk_all(&text, threads).map_err(wrong)?;
    if steps != index.rows {
        return Err(wrong(format!("{steps} of {} rows are on the way of the text", index.rows)));
    }
    Ok(Proven {
        rows: index.rows,
        stride: index.stride,
        samples: index.low.len() as u64,
        text_samples: index.text_samples.samples.len() as u64,
    })
}

/// The bases of the forward strand, four a byte, the first in the top bits.
struct Text {
    bytes: Vec<u8>,
    bases: u64,
}

impl Text {
    fn read(path: &Path) -> Result<Self, Error> {
        let mut bytes = std::fs::read(path).map_err(Error::file(path))?;
        let wrong = || Error::format(path.display().to_string(), "its size is not that of a .pac");
        let last = u64::from(bytes.pop().ok_or_else(wrong)?);
        let whole = bytes.len() as u64;
        let bases = match (whole.checked_sub(1), last) {
            (Some(others), 0..=3) => 4 * others + last,
            _ => return Err(wrong()),
        };
        Ok(Self { bytes, bases })
    }

    fn symbols(&self) -> u64 {
        2 * self.bases
    }

    /// The symbol of both strands before position `at`, if there is one.
    #[inline]
    fn symbol_before(&self, at: u64) -> Option<u8> {
        let at = at.checked_sub(1).filter(|&at| at < self.symbols())?;
        let (place, flip) = if at < self.bases { (at, 0) } else { (self.symbols() - 1 - at, 3) };
        Some(self.bytes[(place / 4) as usize] >> (6 - 2 * (place % 4)) & 3 ^ flip)
    }
}

/// Where a walk is: a row, and the position of its suffix.
#[derive(Clone, Copy)]
struct Walk {
    row: u64,
    at: u64,
}

/// 64 rows: the symbols by bits, row 0 in the top bit, and those before them in the group.
#[derive(Clone, Copy)]
struct Block {
    bits: [u64; 2],
    before: [u32; 4],
}

struct Index {
    rows: u64,
    stride: u64,
    /// Rows before the first of each symbol.
    first: [u64; 4],
    /// The row without a symbol.
    sentinel: u64,
    checkpoints: Checkpoints,
    high: Vec<u8>,
    low: Vec<u32>,
    text_samples: TextSamples,
}

/// Reads little-endian numbers.
struct Input<'a> {
    path: &'a Path,
    reader: BufReader<File>,
}

impl Input<'_> {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        self.reader.read_exact(bytes).map_err(Error::file(self.path))
    }

    fn some<const N: usize>(&mut self) -> Result<[u64; N], Error> {
        let mut numbers = [0; N];
        for number in &mut numbers {
            let mut bytes = [0; 8];
            self.fill(&mut bytes)?;
            *number = u64::from_le_bytes(bytes);
        }
        Ok(numbers)
    }

    fn wrong(&self, problem: impl Into<String>) -> Error {
        Error::format(self.path.display().to_string(), problem)
    }
}

/// Rows and their counts.
#[derive(Default)]
struct Checkpoints {
    /// Symbols before each group of blocks.
    groups: Vec<[u64; 4]>,
    blocks: Vec<Block>,
    /// Symbols in all.
    sum: [u64; 4],
}

impl Index {
    /// Reads an index and compares the counts of its checkpoints with their rows.
    fn read(path: &Path, text: &Text) -> Result<Self, Error> {
        let file = File::open(path).map_err(Error::file(path))?;
        let bytes = file.metadata().map_err(Error::file(path))?.len();
        let mut tag = [0; 8];
        file.read_exact_at(&mut tag, bytes.saturating_sub(8)).map_err(Error::file(path))?;
        let stride_log2 = u64::from_le_bytes(tag);
        let mut input = Input { path, reader: BufReader::with_capacity(1 << 20, file) };
        let [rows] = input.some()?;
        if rows != text.symbols() + 1 {
            return Err(input.wrong("its rows are not one more than the symbols of the .pac"));
        }
        let stride = if stride_log2 <= 6 { 1 << stride_log2 } else { u64::MAX };
        let size = 48 + 64 * (rows / BLOCK_ROWS + 1) + 5 * (rows / stride + 1) + 16;
        if stride_log2 > 6 || size != bytes {
            return Err(input.wrong("its size is not that of its tag"));
        }
        let counts: [u64; 5] = input.some()?;
        let checkpoints = Checkpoints::read(rows, &mut input)?;
        // The row of the empty suffix comes before all others.
        let (mut first, sum) = ([1; 4], checkpoints.sum);
        (1..4).for_each(|symbol| first[symbol] = first[symbol - 1] + sum[symbol - 1]);
        let right = (0..4).all(|symbol| counts[symbol] + 1 == first[symbol]);
        if !right || counts[4] != rows - 1 || sum.iter().sum::<u64>() != rows - 1 {
            return Err(input.wrong("its counts of symbols are not those of its rows"));
        }
        let samples = (rows / stride + 1) as usize;
        let (mut high, mut low) = (vec![0; samples], Vec::with_capacity(samples));
        input.fill(&mut high)?;
        let mut some = [0; 4];
        for _ in 0..samples {
            input.fill(&mut some)?;
            low.push(u32::from_le_bytes(some));
        }
        let [sentinel] = input.some()?;
        let text_samples = TextSamples::default();
        Ok(Self { rows, stride, first, sentinel, checkpoints, high, low, text_samples })
    }

    /// Walks from every sample to the next, a part of them in each thread; returns the number of
    /// steps.
    fn walk_all(&self, text: &Text, threads: NonZeroUsize) -> Result<u64, String> {
        let (samples, parts) = ((self.rows - 1) / self.stride + 1, threads.get() as u64);
        let edge = |part: u64| (u128::from(samples) * u128::from(part) / u128::from(parts)) as u64;
        std::thread::scope(|scope| {
            let walks: Vec<_> = (0..parts)
                .map(|part| scope.spawn(move || self.walk(text, edge(part)..edge(part + 1))))
                .collect();
            walks
                .into_iter()
                .map(|walk| walk.join().map_err(|_| "a thread has panicked".to_owned())?)
                .sum()
        })
    }

    /// Walks from some samples to the next ones; returns the number of steps.
    fn walk(&self, text: &Text, mut samples: Range<u64>) -> Result<u64, String> {
        let start = |sample| Walk { row: sample * self.stride, at: self.sample(sample) };
        let mut walks: Vec<Walk> = samples.by_ref().take(WALKERS).map(start).collect();
        let mut read = Vec::with_capacity(WALKERS);
        let mut arrived = Vec::with_capacity(2 * WALKERS);
        let mut steps = 0;
        while !walks.is_empty() {
            steps += walks.len() as u64;
            // In a loop that does nothing else, so that the misses of all walks overlap.
            read.clear();
            read.extend(walks.iter().map(|walk| {
                let block = self.checkpoints.blocks[(walk.row / BLOCK_ROWS) as usize];
                (block, text.symbol_before(walk.at))
            }));
            // Backwards, since the last takes the place of one that has ended.
            for at in (0..walks.len()).rev() {
                self.text_samples.compare(walks[at])?;
                let walk = self.step(walks[at], read[at])?;
                walks[at] = walk;
                if walk.row % self.stride == 0 {
                    arrived.push(walk);
                    match samples.next() {
                        Some(sample) => walks[at] = start(sample),
                        None => drop(walks.swap_remove(at)),
                    }
                }
            }
            if arrived.len() >= WALKERS {
                self.compare_samples(&mut arrived)?;
            }
        }
        self.compare_samples(&mut arrived)?;
        Ok(steps)
    }

    /// Compares walks that have come to a sampled row with its sample, and forgets them.
    fn compare_samples(&self, arrived: &mut Vec<Walk>) -> Result<(), String> {
        for Walk { row, at } in arrived.drain(..) {
            let sample = row / self.stride;
            if self.sample(sample) != at {
                return Err(format!("sample {sample} is not position {at}"));
            }
        }
        Ok(())
    }

    #[inline]
    fn sample(&self, sample: u64) -> u64 {
        let at = sample as usize;
        u64::from(self.high[at]) << 32 | u64::from(self.low[at])
    }

    /// The row and the position of the suffix before that of `walk`, with what was read for it: the
    /// block of its row, and the symbol of the text.
    #[inline]
    fn step(&self, walk: Walk, (read, text): (Block, Option<u8>)) -> Result<Walk, String> {
        let Walk { row, at } = walk;
        if row == self.sentinel || at == 0 {
            let whole = row == self.sentinel && at == 0;
            let problem = || format!("row {row}, position {at}: the text begins elsewhere");
            let end = Walk { row: 0, at: self.rows - 1 };
            return if whole { Ok(end) } else { Err(problem()) };
        }
        let (block, place) = (row / BLOCK_ROWS, row % BLOCK_ROWS);
        let Block { bits, before } = read;
        let bit = |bits: u64| bits >> (63 - place) & 1;
        let symbol = bit(bits[0]) | bit(bits[1]) << 1;
        if text != Some(symbol as u8) {
            return Err(format!("row {row}, position {at}: another symbol than the text's"));
        }
        let same = |bits: u64, of: u64| bits ^ (of & 1).wrapping_sub(1);
        let equal = same(bits[0], symbol) & same(bits[1], symbol >> 1);
        // Shifted in two steps, since one of 64 is none.
        let mut count = u64::from((equal >> 1 >> (63 - place)).count_ones());
        let sentinel_before = block == self.sentinel / BLOCK_ROWS && row > self.sentinel;
        if symbol == 0 && sentinel_before {
            count -= 1;
        }
        let group = self.checkpoints.groups[(block / GROUP_BLOCKS) as usize][symbol as usize];
        let before = group + u64::from(before[symbol as usize]);
        Ok(Walk { row: self.first[symbol as usize] + before + count, at: at - 1 })
    }
}

impl Checkpoints {
    /// Reads those of `rows` rows; their counts must be those of the rows before them.
    fn read(rows: u64, input: &mut Input<'_>) -> Result<Self, Error> {
        let count = rows / BLOCK_ROWS + 1;
        let mut read = Self { blocks: Vec::with_capacity(count as usize), ..Self::default() };
        let mut base = [0; 4];
        for block in 0..count {
            let before: [u64; 4] = input.some()?;
            let [a, c, g, t]: [u64; 4] = input.some()?;
            let overlaps = a & (c | g | t) | c & (g | t) | g & t;
            if before != read.sum || overlaps != 0 {
                return Err(input.wrong(format!("block {block}: its counts or masks are wrong")));
            }
            if block % GROUP_BLOCKS == 0 {
                read.groups.push(before);
                base = before;
            }
            let before = std::array::from_fn(|symbol| (before[symbol] - base[symbol]) as u32);
            read.blocks.push(Block { bits: [c | t, g | t], before });
            for (sum, mask) in read.sum.iter_mut().zip([a, c, g, t]) {
                *sum += u64::from(mask.count_ones());
            }
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests;
