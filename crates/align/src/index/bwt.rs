//! From sorted suffixes to `.bwt.2bit.64`: stripes of whole blocks, encoded and written in any
//! order by any number of workers, the same bytes for all of them.
//!
//! The one thing that runs along the rows, the count of each symbol so far, is added after a wave
//! of stripes has been encoded: encode in parallel, sum up (a few numbers per stripe), write in
//! parallel. The memory of a wave is [`wave_bytes`]. Rows come from a suffix array, or some at a
//! time from a sorter that has no such array ([`RowSource`]).

use std::fs::File;
use std::io;
use std::num::NonZeroUsize;
use std::os::unix::fs::FileExt;

use seqloom_io::AtomicFile;
use seqloom_runtime::pool;

use super::error::BuildError;
use super::layout::{BLOCK_BYTES, BLOCK_ROWS, Layout};
use super::packed::Packed;
use super::text_samples::{Sampling, TextSampleStripe, TextSampleWriter};

/// Blocks per stripe: 262,144 rows, some 10 ms of work.
const STRIPE_BLOCKS: u64 = 4_096;

/// Stripes per worker and wave: enough that the last of a wave does not hold up the rest for long.
const STRIPES_PER_WORKER: usize = 4;

/// The symbol of the sentinel row and of rows past the end.
pub(crate) const NO_SYMBOL: u8 = 4;

/// Where rows come from.
pub(crate) trait RowSource: Sync {
    /// `SA[row]`; 0 past the last row (the padding sample at stride 1).
    fn suffix(&self, row: u64) -> u64;

    /// The symbol before suffix `SA[row]`, or [`NO_SYMBOL`].
    fn symbol(&self, row: u64) -> u8;
}

/// An entry of a suffix array.
pub(crate) trait Position: Copy + Sync {
    /// The position in `T`.
    fn get(self) -> u64;
}

impl Position for i32 {
    #[inline]
    fn get(self) -> u64 {
        u64::from(self.cast_unsigned())
    }
}

impl Position for i64 {
    #[inline]
    fn get(self) -> u64 {
        self.cast_unsigned()
    }
}

/// The rows of a reference: its text and the plain suffix array of that.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a, P> {
    pub(crate) layout: Layout,
    pub(crate) packed: &'a Packed,
    /// `SA[1..]`: row `i` of the transform is entry `i - 1`.
    pub(crate) suffixes: &'a [P],
}

impl<P: Position> RowSource for Rows<'_, P> {
    #[inline]
    fn suffix(&self, row: u64) -> u64 {
        match row.checked_sub(1) {
            None => self.layout.symbols(),
            Some(entry) => self.suffixes.get(entry as usize).map_or(0, |suffix| suffix.get()),
        }
    }

    #[inline]
    fn symbol(&self, row: u64) -> u8 {
        self.suffix(row).checked_sub(1).map_or(NO_SYMBOL, |before| self.packed.symbol(before))
    }
}

/// The encoded rows of some blocks, counts relative to the first.
#[derive(Debug, Default)]
pub(crate) struct Stripe {
    first_block: u64,
    /// Per block, `mask[4]`.
    masks: Vec<[u64; 4]>,
    high: Vec<u8>,
    low: Vec<u8>,
    /// The samples in the order of the text, if they are made.
    text_samples: TextSampleStripe,
    /// Symbols in all of it.
    counts: [u64; 4],
    /// The sentinel row, if it is here.
    sentinel_row: Option<u64>,
    /// Symbols in the rows before `first_block`, once known.
    before: [u64; 4],
    /// Checkpoint bytes, made when `before` is known.
    checkpoints: Vec<u8>,
}

/// Encodes blocks `first_block .. first_block + blocks` into `stripe`, whose memory is reused.
fn encode_stripe(
    layout: Layout,
    sampling: Option<&Sampling>,
    rows: &impl RowSource,
    first_block: u64,
    blocks: u64,
    stripe: &mut Stripe,
) {
    stripe.first_block = first_block;
    stripe.masks.clear();
    stripe.counts = [0; 4];
    stripe.sentinel_row = None;
    for block in first_block..first_block + blocks {
        let start = BLOCK_ROWS * block;
        let filled = (layout.rows() - start).min(BLOCK_ROWS) as usize;
        // All reads of the text first: they are random, and independent of each other.
        let mut symbols = [NO_SYMBOL; BLOCK_ROWS as usize];
        for (symbol, row) in symbols[..filled].iter_mut().zip(start..) {
            *symbol = rows.symbol(row);
        }
        let mut masks = [0_u64; 5];
        for (place, &symbol) in symbols.iter().enumerate() {
            masks[usize::from(symbol)] |= 1 << (63 - place);
        }
        let [a, c, g, t, none] = masks;
        stripe.masks.push([a, c, g, t]);
        for (count, mask) in stripe.counts.iter_mut().zip([a, c, g, t]) {
            *count += u64::from(mask.count_ones());
        }
        let without = u64::from(none.leading_zeros());
        if (without as usize) < filled {
            stripe.sentinel_row = Some(start + without);
        }
    }
    encode_samples(layout, rows, stripe);
    if let Some(sampling) = sampling {
        let end = (BLOCK_ROWS * (first_block + blocks)).min(layout.rows());
        let rows_here = BLOCK_ROWS * first_block..end;
        stripe.text_samples.encode(sampling, rows_here, |row| rows.suffix(row));
    }
}

/// The samples of the stripe's rows.
fn encode_samples(layout: Layout, rows: &impl RowSource, stripe: &mut Stripe) {
    stripe.high.clear();
    stripe.low.clear();
    for sample in sample_range(layout, stripe) {
        let suffix = rows.suffix(sample << layout.stride_log2);
        stripe.high.push((suffix >> 32) as u8);
        stripe.low.extend_from_slice(&(suffix as u32).to_le_bytes());
    }
}

/// The samples that a stripe holds.
fn sample_range(layout: Layout, stripe: &Stripe) -> std::ops::Range<u64> {
    let first_row = BLOCK_ROWS * stripe.first_block;
    let end_row = first_row + BLOCK_ROWS * stripe.masks.len() as u64;
    // Blocks are whole strides (64 is a multiple of every stride), so nothing is cut in two.
    let end = (end_row >> layout.stride_log2).min(layout.samples());
    (first_row >> layout.stride_log2)..end
}

/// Writes a stripe to its places in the file.
fn write_stripe(layout: Layout, stripe: &mut Stripe, file: &File) -> io::Result<()> {
    let mut occ = stripe.before;
    stripe.checkpoints.clear();
    for masks in &stripe.masks {
        for count in occ {
            stripe.checkpoints.extend_from_slice(&count.to_le_bytes());
        }
        for mask in masks {
            stripe.checkpoints.extend_from_slice(&mask.to_le_bytes());
        }
        for (count, mask) in occ.iter_mut().zip(masks) {
            *count += u64::from(mask.count_ones());
        }
    }
    let first_sample = sample_range(layout, stripe).start;
    file.write_all_at(&stripe.checkpoints, layout.checkpoint_at(stripe.first_block))?;
    file.write_all_at(&stripe.high, layout.high_at(first_sample))?;
    file.write_all_at(&stripe.low, layout.low_at(first_sample))
}

/// Memory of the stripes in flight, in bytes.
pub(crate) fn wave_bytes(layout: Layout, threads: NonZeroUsize) -> u64 {
    let stripe_rows = BLOCK_ROWS * STRIPE_BLOCKS;
    let samples = 5 * (stripe_rows >> layout.stride_log2);
    let text_samples = TextSampleStripe::ROW_BYTES * stripe_rows;
    let block_bytes = BLOCK_BYTES + 32 + TextSampleStripe::BLOCK_BYTES;
    let stripe_bytes = STRIPE_BLOCKS * block_bytes + samples + text_samples;
    let stripes = layout.blocks().div_ceil(STRIPE_BLOCKS);
    stripe_bytes * stripes.min((threads.get() * STRIPES_PER_WORKER) as u64)
}

/// Writes the whole of `.bwt.2bit.64` to `file`, which is empty, and of `PREFIX.tsa` if it is made.
///
/// # Errors
/// Those of [`RowWriter`].
pub(crate) fn write<P: Position>(
    rows: Rows<'_, P>,
    file: &File,
    threads: NonZeroUsize,
    io_error: &(dyn Fn(io::Error) -> BuildError + Sync),
    text_samples: Option<TextSampleWriter>,
    progress: &mut dyn FnMut(f64),
) -> Result<Option<AtomicFile>, BuildError> {
    let mut writer = RowWriter::new(rows.layout, file, threads, io_error, text_samples);
    writer.write_until(rows.layout.blocks(), &rows, progress)?;
    writer.finish(rows.packed.cumulative_counts())
}

/// Writes `.bwt.2bit.64` to an empty file, from the first block of rows to the last.
pub(crate) struct RowWriter<'a> {
    layout: Layout,
    file: &'a File,
    threads: NonZeroUsize,
    io_error: &'a (dyn Fn(io::Error) -> BuildError + Sync),
    text_samples: Option<TextSampleWriter>,
    slots: Vec<Stripe>,
    next_block: u64,
    /// Symbols in the rows before `next_block`.
    before: [u64; 4],
    sentinel_row: Option<u64>,
}

impl<'a> RowWriter<'a> {
    /// A writer that has written nothing yet.
    pub(crate) fn new(
        layout: Layout,
        file: &'a File,
        threads: NonZeroUsize,
        io_error: &'a (dyn Fn(io::Error) -> BuildError + Sync),
        text_samples: Option<TextSampleWriter>,
    ) -> Self {
        let stripes = layout.blocks().div_ceil(STRIPE_BLOCKS);
        let wave = stripes.min((threads.get() * STRIPES_PER_WORKER) as u64);
        let slots = (0..wave).map(|_| Stripe::default()).collect();
        let (next_block, before, sentinel_row) = (0, [0; 4], None);
        Self {
            layout,
            file,
            threads,
            io_error,
            text_samples,
            slots,
            next_block,
            before,
            sentinel_row,
        }
    }

    /// Writes the blocks up to `end_block`, whose rows `rows` has; `progress` receives the part of
    /// all blocks that is written.
    ///
    /// # Errors
    /// Writing fails, or a worker panics.
    pub(crate) fn write_until(
        &mut self,
        end_block: u64,
        rows: &impl RowSource,
        progress: &mut dyn FnMut(f64),
    ) -> Result<(), BuildError> {
        let (layout, file, io_error) = (self.layout, self.file, self.io_error);
        while self.next_block < end_block {
            let first = self.next_block;
            let stripes = (end_block - first).div_ceil(STRIPE_BLOCKS);
            let wave = stripes.min(self.slots.len() as u64) as usize;
            let used = &mut self.slots[..wave];
            let sampling = self.text_samples.as_ref().map(|samples| &samples.sampling);
            for_each(self.threads, used, &|index, stripe| {
                let block = first + index as u64 * STRIPE_BLOCKS;
                let blocks = STRIPE_BLOCKS.min(end_block - block);
                encode_stripe(layout, sampling, rows, block, blocks, stripe);
                Ok(())
            })?;
            for stripe in &mut *used {
                stripe.before = self.before;
                for (sum, count) in self.before.iter_mut().zip(stripe.counts) {
                    *sum += count;
                }
                self.sentinel_row = self.sentinel_row.or(stripe.sentinel_row);
                if let Some(samples) = &mut self.text_samples {
                    samples.place(&mut stripe.text_samples);
                }
            }
            let text_samples = self.text_samples.as_ref();
            for_each(self.threads, used, &|_, stripe| {
                write_stripe(layout, stripe, file).map_err(io_error)?;
                let write = |samples: &TextSampleWriter| {
                    samples.write(stripe.first_block, &stripe.text_samples)
                };
                text_samples.map_or(Ok(()), write)
            })?;
            self.next_block = end_block.min(first + used.len() as u64 * STRIPE_BLOCKS);
            progress(self.next_block as f64 / layout.blocks() as f64);
        }
        Ok(())
    }

    /// Writes what is before and after the rows; returns `PREFIX.tsa`, if it is made. `counts` are
    /// the symbols of the text smaller than A, C, G, T and in all.
    ///
    /// # Errors
    /// [`BuildError::SuffixArray`] when the rows do not add up to the text, which would be a bug of
    /// the suffix sorter; writing fails.
    pub(crate) fn finish(self, counts: [u64; 5]) -> Result<Option<AtomicFile>, BuildError> {
        let pairs = counts.windows(2);
        let whole = self.before.iter().zip(pairs).all(|(n, pair)| pair[0] + n == pair[1])
            && self.next_block == self.layout.blocks();
        let Some(sentinel_row) = self.sentinel_row.filter(|_| whole) else {
            return Err(BuildError::SuffixArray("its rows do not add up to the text".into()));
        };
        write_ends(self.layout, counts, sentinel_row, self.file).map_err(self.io_error)?;
        self.text_samples.map(TextSampleWriter::finish).transpose()
    }
}

/// Writes what is before the checkpoints and after the samples.
fn write_ends(layout: Layout, counts: [u64; 5], sentinel_row: u64, file: &File) -> io::Result<()> {
    let mut head = layout.rows().to_le_bytes().to_vec();
    head.extend(counts.iter().flat_map(|count| count.to_le_bytes()));
    file.write_all_at(&head, 0)?;
    let tail = [sentinel_row.to_le_bytes(), u64::from(layout.stride_log2).to_le_bytes()];
    file.write_all_at(tail.as_flattened(), layout.sentinel_at())
}

/// Runs `work` once on each stripe, on `threads` workers.
fn for_each(
    threads: NonZeroUsize,
    stripes: &mut [Stripe],
    work: &(dyn Fn(usize, &mut Stripe) -> Result<(), BuildError> + Sync),
) -> Result<(), BuildError> {
    let stripes = stripes.iter_mut().enumerate();
    let work = |(): &mut (), (index, stripe)| work(index, stripe);
    pool::for_each(threads, stripes, &|| Ok(()), |_| Ok(()), work).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// `.bwt.2bit.64` from its definition alone: sort all suffixes, walk the rows.
    fn naive(forward: &[u8], stride_log2: u8) -> Vec<u8> {
        let mut text = forward.to_vec();
        text.extend(forward.iter().rev().map(|code| 3 - code));
        let mut suffixes: Vec<usize> = (0..=text.len()).collect();
        suffixes.sort_by_key(|&at| &text[at..]);
        let rows = suffixes.len();
        let mut out = (rows as u64).to_le_bytes().to_vec();
        for c in 0..5 {
            let smaller = text.iter().filter(|&&symbol| symbol < c).count() as u64;
            out.extend(smaller.to_le_bytes());
        }
        let mut occ = [0_u64; 4];
        for block in 0..=rows / 64 {
            let mut masks = [0_u64; 4];
            occ.iter().for_each(|count| out.extend(count.to_le_bytes()));
            for j in 0..64 {
                let Some(&suffix) = suffixes.get(64 * block + j) else { break };
                if suffix > 0 {
                    let symbol = usize::from(text[suffix - 1]);
                    masks[symbol] |= 1 << (63 - j);
                    occ[symbol] += 1;
                }
            }
            masks.iter().for_each(|mask| out.extend(mask.to_le_bytes()));
        }
        let samples: Vec<usize> = (0..=rows >> stride_log2)
            .map(|k| suffixes.get(k << stride_log2).copied().unwrap_or(0))
            .collect();
        out.extend(samples.iter().map(|sample| (sample >> 32) as u8));
        samples.iter().for_each(|&sample| out.extend((sample as u32).to_le_bytes()));
        let sentinel = suffixes.iter().position(|&suffix| suffix == 0).unwrap();
        out.extend((sentinel as u64).to_le_bytes());
        out.extend(u64::from(stride_log2).to_le_bytes());
        out
    }

    fn written<P: Position>(
        packed: &Packed,
        suffixes: &[P],
        stride_log2: u8,
        threads: usize,
    ) -> Vec<u8> {
        let layout = Layout::new(packed.bases(), stride_log2).unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        let rows = Rows { layout, packed, suffixes };
        let threads = NonZeroUsize::new(threads).unwrap();
        let io_error = |error: io::Error| panic!("{error}");
        write(rows, file.as_file(), threads, &io_error, None, &mut |_| ()).unwrap();
        std::fs::read(file.path()).unwrap()
    }

    fn packed(codes: &[u8]) -> Packed {
        let mut packed = Packed::default();
        codes.iter().for_each(|&code| packed.push(code));
        packed
    }

    proptest! {
        #[test]
        fn equal_to_the_definition(
            codes in prop::collection::vec(0_u8..4, 1..300),
            alphabet in 1_u8..5,
            stride_log2 in 0_u8..=6,
        ) {
            // Small alphabets give long repeats.
            let codes: Vec<u8> = codes.iter().map(|code| code % alphabet).collect();
            let packed = packed(&codes);
            let mut text = Vec::new();
            packed.unpack(&mut text);
            let expected = naive(&codes, stride_log2);
            let narrow = super::super::build::suffix_array::<i32>(&text).unwrap();
            prop_assert_eq!(&written(&packed, &narrow, stride_log2, 1), &expected);
            let wide = super::super::build::suffix_array::<i64>(&text).unwrap();
            prop_assert_eq!(&written(&packed, &wide, stride_log2, 2), &expected);
        }
    }

    #[test]
    fn threads_do_not_matter_over_several_waves() {
        // 12 stripes of blocks, so three waves for one worker.
        let mut state = 1_u64;
        let codes: Vec<u8> = (0..1_500_000)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 62) as u8
            })
            .collect();
        let packed = packed(&codes);
        let mut text = Vec::new();
        packed.unpack(&mut text);
        let suffixes = super::super::build::suffix_array::<i32>(&text).unwrap();
        let one = written(&packed, &suffixes, 3, 1);
        assert_eq!(one.len() as u64, Layout::new(packed.bases(), 3).unwrap().tagged_bytes());
        for threads in [2, 7] {
            assert!(one == written(&packed, &suffixes, 3, threads), "{threads} threads");
        }
    }

    #[test]
    fn positions_beyond_32_bits_fill_the_high_byte() {
        let mut stripe = Stripe::default();
        let packed = packed(&[0; 1]);
        // A made-up suffix array: only the samples are looked at.
        let suffixes = [0x7F_1234_5678_i64; 200];
        let layout = Layout::new(100, 0).unwrap();
        stripe.masks = vec![[0; 4]; 1];
        encode_samples(layout, &Rows { layout, packed: &packed, suffixes: &suffixes }, &mut stripe);
        assert_eq!(stripe.high[1], 0x7F);
        assert_eq!(stripe.low[4..8], 0x1234_5678_u32.to_le_bytes());
    }

    #[test]
    fn a_wrong_suffix_array_is_noticed() {
        let packed = packed(&[0, 1, 2, 3, 0, 0]);
        let layout = Layout::new(6, 3).unwrap();
        let suffixes = [1_i32; 12];
        let file = tempfile::tempfile().unwrap();
        let rows = Rows { layout, packed: &packed, suffixes: &suffixes };
        let io_error = |error: io::Error| panic!("{error}");
        let outcome = write(rows, &file, NonZeroUsize::MIN, &io_error, None, &mut |_| ());
        assert!(matches!(outcome, Err(BuildError::SuffixArray(_))));
    }
}
