//! Ranks the suffixes of the sample: sorts them by as many symbols as there are between two of one
//! residue, names equal ones alike, and sorts the string of the names.
//!
//! The string is the names at `d`, `d + v`, `d + 2v` ... for each residue `d`, one after the other.
//! The last suffix of a residue has fewer than `v` symbols, so its name is unique: no comparison
//! of names runs into the next residue.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicI32, Ordering};

use libsais::SuffixArrayConstruction;

use super::super::error::BuildError;
use super::super::memory::reserved;
use super::cover::{Cover, Places};
use super::entry::{Entry, Format};
use super::matcher::Matcher;
use super::passes::{Sink, Workers};
use super::ranks::Ranks;
use super::scan::Members;
use super::sort::Sorting;
use super::text::Text;

/// Names that are being given.
struct Naming<'a> {
    format: Format,
    text: &'a Text,
    cover: &'a Cover,
    places: &'a Places,
    /// By place.
    names: Vec<AtomicI32>,
    /// Names given so far.
    given: i32,
}

impl Naming<'_> {
    fn give(&mut self, at: u64, tied: bool) -> Result<(), BuildError> {
        if !tied {
            self.given += 1;
        }
        let Some(name) = self.names.get(self.places.of(at)) else {
            return Err(BuildError::SuffixArray("a sample without a place".into()));
        };
        name.store(self.given - 1, Ordering::Relaxed);
        Ok(())
    }
}

impl Sink for Naming<'_> {
    fn entries(&mut self, entries: &[Entry]) -> Result<(), BuildError> {
        for &entry in entries {
            self.give(self.format.position(entry), self.format.is_tied(entry))?;
        }
        Ok(())
    }

    fn tied(&mut self, like: u64) -> Result<u64, BuildError> {
        let (cover, symbols) = (self.cover, self.text.symbols());
        let depth = cover.modulus();
        let mut matcher = Matcher::new(self.text, like, depth);
        let mut count = 0;
        for start in (0..=symbols).step_by(depth as usize) {
            for at in cover.residues().iter().map(|&residue| start + u64::from(residue)) {
                if at + depth <= symbols && matcher.common(at) == depth {
                    self.give(at, count > 0)?;
                    count += 1;
                }
            }
        }
        Ok(count)
    }
}

/// Ranks the sample of `cover`, in passes of at most `cap` entries.
pub(super) fn rank(
    text: &Text,
    cover: Cover,
    cap: u64,
    threads: NonZeroUsize,
    progress: &dyn Fn(f64),
) -> Result<Ranks, BuildError> {
    let format = Format::new(text.symbols());
    let places = Places::new(&cover, text.symbols());
    let all = cover.positions(text.symbols());
    let mut names = reserved(all)?;
    names.resize_with(all as usize, || AtomicI32::new(0));
    let mut naming = Naming { format, text, cover: &cover, places: &places, names, given: 0 };
    let sorting = Sorting { text, format, depth: cover.modulus(), ranks: None };
    Workers::new(sorting, Members::Sample(&cover), all, cap, threads, progress)
        .sort_into(&mut naming)?;
    let given = naming.given;
    // In place: one vector becomes the other.
    let mut names: Vec<i32> = naming.names.into_iter().map(AtomicI32::into_inner).collect();
    if (given as u64) < all {
        let suffixes = sorted_names(&mut names)?;
        for (rank, &place) in suffixes.iter().enumerate() {
            names[place as usize] = rank as i32;
        }
    }
    Ok(Ranks::new(cover, places, names))
}

/// The suffix array of a string of numbers, which are not negative.
fn sorted_names(names: &mut [i32]) -> Result<Vec<i32>, BuildError> {
    let mut suffixes = reserved(names.len() as u64)?;
    suffixes.resize(names.len(), 0_i32);
    SuffixArrayConstruction::for_text_mut(names)
        .in_borrowed_buffer(&mut suffixes)
        .single_threaded()
        .run()
        .map_err(|error| BuildError::SuffixArray(format!("{error:?}")))?;
    Ok(suffixes)
}
