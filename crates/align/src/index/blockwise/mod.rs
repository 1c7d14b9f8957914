//! Suffix sorting in blocks, for texts whose suffix array does not fit the memory (Kärkkäinen 2007,
//! doi:10.1016/j.tcs.2007.07.018).
//!
//! The text stays in memory, packed. A pass collects the suffixes whose first symbols are in a
//! range, sorts them, hands them on and forgets them; then comes the next range. Suffixes with more
//! than `v` symbols in common are distinguished by a sample: two suffixes can be moved on together,
//! by fewer than `v` symbols, so that both are of the sample ([`cover`]), and the sample's suffixes
//! have been ranked before ([`sample`]).
//!
//! No number of workers or passes, no `v` and no size of a pass shows in the result: the order of
//! suffixes is total, and nothing but suffixes is compared.

mod cover;
mod entry;
mod matcher;
mod passes;
mod pieces;
mod plan;
mod ranks;
mod rows;
mod sample;
mod scan;
mod sort;
mod text;

#[cfg(test)]
mod tests;

use std::num::NonZeroUsize;

pub(crate) use plan::{Needs, Sizes};

use seqloom_io::AtomicFile;

use super::bwt::RowWriter;
use super::error::BuildError;
use super::packed::Packed;
use cover::Cover;
use entry::{Entry, Format};
use passes::{PassOptions, Sink, Workers};
use ranks::Ranks;
use rows::Rows;
use scan::Members;
use sort::Sorting;
use text::Text;

/// Part of the time that ranking the sample takes: measured on human chromosome 20, eight passes.
const SAMPLE_SHARE: f64 = 0.1;

/// Sorts the suffixes of both strands of `packed`, which is given back first, and writes the rows.
///
/// # Errors
/// Memory is refused; those of [`RowWriter`]; [`BuildError::SuffixArray`] for what would be a bug.
pub(crate) fn write(
    packed: Packed,
    sizes: Sizes,
    threads: NonZeroUsize,
    writer: RowWriter<'_>,
    progress: &dyn Fn(f64),
) -> Result<Option<AtomicFile>, BuildError> {
    let counts = packed.cumulative_counts();
    let text = Text::new(&packed)?;
    drop(packed);
    let mut rows = Rows::new(writer, &text, Format::new(text.symbols()));
    sort_suffixes(&text, sizes, threads, progress, &mut |entries| rows.take(entries))?;
    rows.finish(counts)
}

/// The sorted suffixes of `text` but for the empty one, in order, some at a time, to `take`.
fn sort_suffixes(
    text: &Text,
    sizes: Sizes,
    threads: NonZeroUsize,
    progress: &dyn Fn(f64),
    take: &mut dyn FnMut(&[Entry]) -> Result<(), BuildError>,
) -> Result<(), BuildError> {
    let Some(cover) = Cover::new(sizes.modulus_log2) else {
        return Err(BuildError::SuffixArray("no difference cover; this is a bug".into()));
    };
    let ranking = |done: f64| progress(SAMPLE_SHARE * done);
    let ranks = sample::rank(text, cover, sizes.sample_cap, threads, &ranking)?;
    let sorting = |done: f64| progress(SAMPLE_SHARE + (1.0 - SAMPLE_SHARE) * done);
    let passes = PassOptions { cap: sizes.cap, threads, progress: &sorting };
    sort_ranked(text, &ranks, passes, take)
}

/// The same when the sample has its ranks.
fn sort_ranked(
    text: &Text,
    ranks: &Ranks,
    passes: PassOptions<'_>,
    take: &mut dyn FnMut(&[Entry]) -> Result<(), BuildError>,
) -> Result<(), BuildError> {
    let format = Format::new(text.symbols());
    let sorting = Sorting { text, format, depth: ranks.depth(), ranks: Some(ranks) };
    Workers::new(sorting, Members::All, text.symbols(), passes).sort_into(&mut Taker(take))
}

/// A sink that hands on what comes.
struct Taker<'a>(&'a mut dyn FnMut(&[Entry]) -> Result<(), BuildError>);

impl Sink for Taker<'_> {
    fn entries(&mut self, entries: &[Entry]) -> Result<(), BuildError> {
        (self.0)(entries)
    }

    fn tied(&mut self, _: u64) -> Result<u64, BuildError> {
        Err(BuildError::SuffixArray("suffixes without ranks; this is a bug".into()))
    }
}
