//! Takes the suffixes in order, as many at a time as fit the memory: a pass.
//!
//! A pass is a run of neighbouring bins. Its suffixes are collected by a scan of the text, in
//! which every worker has a slice of it and places of its own for what it finds, so that nothing
//! is shared; then the bins are sorted, each by one worker.
//!
//! A bin that alone is too large for a pass (poly-A, satellites, tandem repeats) is cut into parts
//! by suffixes of its own, chosen at random and sorted. A scan compares each of the bin's suffixes
//! with the two edges of a part, in linear time, and collects those between before it is known how
//! many there are: so hardly any input takes more than one scan per pass, and none more than two.

use std::cell::Cell;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use seqloom_runtime::failure::lock;
use seqloom_runtime::pool;

use super::super::error::BuildError;
use super::super::memory::reserved;
use super::entry::Entry;
use super::pieces::{Filled, Filler, Pieces, close_holes};
use super::scan::{BINS, Filling, Members, Part, Search, slice};
use super::sort::{Scratch, Sorting, sort_bin};

/// Suffixes that are sorted for each part that a bin is cut into: with 64 the largest of thousands
/// of parts is hardly ever twice the average.
const EDGE_SAMPLES: u64 = 64;

/// How often a part is cut again if it is still too large.
const MAX_CUTS: u64 = 16;

/// Parts of the pass that are sorted per worker, at least where bins allow: the last to end should
/// not hold up the others for long.
const TASKS_PER_WORKER: usize = 64;

/// What becomes of the suffixes, which come in order.
pub(super) trait Sink {
    /// The entries of a pass.
    fn entries(&mut self, entries: &[Entry]) -> Result<(), BuildError>;

    /// The suffixes that sorting does not distinguish from the one at `like`, however many; returns
    /// how many. Only called where ties are not broken.
    fn tied(&mut self, like: u64) -> Result<u64, BuildError>;
}

/// Workers and what they own.
pub(super) struct Workers<'a> {
    sorting: Sorting<'a>,
    members: Members<'a>,
    workers: Vec<Mutex<Worker>>,
    /// Most entries of a pass.
    cap: u64,
    progress: &'a dyn Fn(f64),
    /// Positions scanned and entries sorted in the pass. Relaxed: counts for who watches.
    scanned: AtomicU64,
    sorted: AtomicU64,
    /// Suffixes of finished passes, of the running one, and of all.
    finished: Cell<u64>,
    running: Cell<u64>,
    all: u64,
}

#[derive(Default)]
struct Worker {
    /// Of the worker's slice: suffixes per bin.
    counts: Vec<u64>,
    /// Those of a part, and how they were collected.
    part: Filled,
    buffers: Vec<[Entry; 4]>,
    scratch: Scratch,
    /// Suffixes chosen from a part.
    chosen: Vec<u64>,
}

/// What is to be done, in the order of the suffixes.
enum Work {
    /// The suffixes of some bins, which fit.
    Bins(Range<usize>),
    /// The suffixes of a bin that does not fit, and their number.
    Bin(usize, u64),
    /// The suffixes of a bin between two others, after `cuts` splits.
    Part { bin: usize, low: Option<u64>, high: Option<u64>, cuts: u64 },
    /// Those that sorting does not distinguish from this one.
    Tied(u64),
}

/// What was collected of a part.
struct Gathered {
    /// Its suffixes.
    came: u64,
    /// Those for which there was no room.
    lost: u64,
}

/// Bytes that a worker needs besides its share of the entries.
pub(super) const WORKER_BYTES: u64 = (BINS * (2 * 8 + 64 + 16 + 1)) as u64 + (2 << 20);

/// How suffixes are sorted in passes.
#[derive(Clone, Copy)]
pub(super) struct PassOptions<'a> {
    /// Most suffixes of a pass.
    pub(super) cap: u64,
    pub(super) threads: NonZeroUsize,
    /// Called with the part that is done.
    pub(super) progress: &'a dyn Fn(f64),
}

impl<'a> Workers<'a> {
    /// Workers for passes over `members`, of which there are `all`.
    pub(super) fn new(
        sorting: Sorting<'a>,
        members: Members<'a>,
        all: u64,
        options: PassOptions<'a>,
    ) -> Self {
        let PassOptions { cap, threads, progress } = options;
        Self {
            workers: (0..threads.get()).map(|_| Mutex::default()).collect(),
            // A part of tied suffixes takes those that have ended along.
            cap: cap.max(4 * sorting.depth),
            sorting,
            members,
            progress,
            scanned: AtomicU64::new(0),
            sorted: AtomicU64::new(0),
            finished: Cell::new(0),
            running: Cell::new(0),
            all,
        }
    }

    /// Sorts all of them, pass by pass, into `sink`.
    pub(super) fn sort_into(&self, sink: &mut dyn Sink) -> Result<(), BuildError> {
        let room = self.cap.min(self.all);
        let mut entries = reserved(room)?;
        self.count()?;
        let mut work: Vec<Work> = runs(&self.totals(), self.cap).collect();
        work.reverse();
        while let Some(next) = work.pop() {
            match next {
                Work::Bins(bins) => sink.entries(self.pass(None, bins, &mut entries)?)?,
                Work::Bin(bin, suffixes) => {
                    let whole = self.part(bin, None, None);
                    work.extend(self.cut(whole, suffixes, 0)?.into_iter().rev());
                }
                Work::Part { bin, low, high, cuts } => {
                    let part = self.part(bin, low, high);
                    entries.resize(room as usize, Entry::default());
                    let Gathered { came, lost } = self.gather(part, &mut entries)?;
                    if came > self.cap {
                        work.extend(self.cut(part, came, cuts)?.into_iter().rev());
                    } else if lost > 0 {
                        sink.entries(self.pass(Some(part), 0..1, &mut entries)?)?;
                    } else if came > 0 {
                        let gathered = &mut entries[..came as usize];
                        self.begin(came, self.sorting.text.symbols());
                        self.sort_pass(gathered, &[came])?;
                        sink.entries(gathered)?;
                    }
                }
                Work::Tied(like) => {
                    let tied = sink.tied(like)?;
                    self.finished.update(|finished| finished + tied);
                }
            }
        }
        if self.finished.get() == self.all { Ok(()) } else { Err(bug("suffixes are missing")) }
    }

    fn part(&self, bin: usize, low: Option<u64>, high: Option<u64>) -> Part<'a> {
        Part { bin, low, high, depth: self.sorting.depth, ranks: self.sorting.ranks }
    }

    fn search(&self, part: Option<Part<'a>>) -> Search<'a> {
        Search { text: self.sorting.text, members: self.members, part }
    }

    /// Counts the suffixes of each bin.
    fn count(&self) -> Result<(), BuildError> {
        let search = self.search(None);
        self.scan(&search, |_, worker, slice| {
            worker.counts.resize(BINS, 0);
            search.count(slice, &mut worker.counts);
        })
    }

    /// Suffixes per bin, of all workers.
    fn totals(&self) -> Vec<u64> {
        let mut totals = vec![0; BINS];
        for worker in &self.workers {
            let worker = lock(worker);
            totals.iter_mut().zip(&worker.counts).for_each(|(total, count)| *total += count);
        }
        totals
    }

    /// Collects the suffixes of a part at the beginning of `room`, in any order, as far as there is
    /// room.
    fn gather(&self, part: Part<'a>, room: &mut [Entry]) -> Result<Gathered, BuildError> {
        let (search, format) = (self.search(Some(part)), self.sorting.format);
        let pieces = Pieces::new(room, self.workers.len());
        self.scan(&search, |_, worker, slice| {
            let mut filler = Filler::new(&pieces);
            search.each(slice, 0..1, |at, _| filler.put(format.entry(search.text, at)));
            worker.part = filler.finish();
        })?;
        let taken = pieces.taken();
        let filled: Vec<Filled> =
            self.workers.iter().map(|worker| lock(worker).part.clone()).collect();
        let (mut came, mut lost) = (0, 0);
        filled.iter().for_each(|it| (came, lost) = (came + it.came, lost + it.lost));
        let holes = filled.into_iter().map(|it| it.hole).collect();
        if close_holes(room, taken, holes) as u64 != came - lost {
            return Err(bug("collected suffixes are missing"));
        }
        Ok(Gathered { came, lost })
    }

    /// Cuts a part with too many suffixes into smaller ones, most of which fit a pass.
    fn cut(&self, part: Part<'a>, suffixes: u64, cuts: u64) -> Result<Vec<Work>, BuildError> {
        let parts = 1 + suffixes.div_ceil((self.cap / 2).max(1));
        let share = u128::from(u64::MAX) * u128::from(parts * EDGE_SAMPLES) / u128::from(suffixes);
        let below = u64::try_from(share).unwrap_or(u64::MAX);
        let last = self.sorting.text.symbols().saturating_sub(part.depth);
        let search = self.search(Some(part));
        self.scan(&search, |_, worker, slice| {
            worker.chosen.clear();
            search.each(slice, 0..1, |at, _| {
                // One that has ended is no edge: there are few, all at the beginning.
                if at <= last && hash(at ^ (cuts << 40)) <= below {
                    worker.chosen.push(at);
                }
            });
        })?;
        let edges = self.edges(parts as usize);
        if edges.is_empty() || cuts == MAX_CUTS {
            return Err(bug("a bin could not be cut into parts"));
        }
        let (mut work, mut low) = (Vec::new(), part.low);
        let between = |low, high| Work::Part { bin: part.bin, low, high, cuts: cuts + 1 };
        for edge in edges {
            work.push(between(low, Some(edge)));
            if part.ranks.is_none() {
                work.push(Work::Tied(edge));
            }
            low = Some(edge);
        }
        work.push(between(low, part.high));
        Ok(work)
    }

    /// Every so manieth of the suffixes that workers have chosen, in order; of tied ones, one.
    fn edges(&self, parts: usize) -> Vec<u64> {
        let Sorting { text, format, depth, ranks } = self.sorting;
        let mut chosen = Vec::new();
        for worker in &self.workers {
            let positions = std::mem::take(&mut lock(worker).chosen);
            chosen.extend(positions.into_iter().map(|at| format.entry(text, at)));
        }
        sort_bin(&self.sorting, &mut chosen, &mut Scratch::default());
        let mut edges: Vec<u64> = (1..parts)
            .filter_map(|part| chosen.get(part * chosen.len() / parts))
            .map(|&entry| format.position(entry))
            .collect();
        edges.dedup_by(|a, b| a == b || ranks.is_none() && text.common(*a, *b, depth) == depth);
        edges
    }

    /// Collects and sorts the suffixes of some bins, or of a part, whose counts the workers have.
    fn pass<'e>(
        &self,
        part: Option<Part<'a>>,
        bins: Range<usize>,
        entries: &'e mut Vec<Entry>,
    ) -> Result<&'e [Entry], BuildError> {
        let counts: Vec<Vec<u64>> = self
            .workers
            .iter()
            .map(|worker| {
                let worker = lock(worker);
                if part.is_some() {
                    vec![worker.part.came]
                } else {
                    worker.counts[bins.clone()].to_vec()
                }
            })
            .collect();
        let of_bin = |bin: usize| counts.iter().map(|counts| counts[bin]).sum();
        let sizes: Vec<u64> = (0..bins.len()).map(of_bin).collect();
        let length = sizes.iter().sum::<u64>();
        if length > self.cap {
            return Err(bug("a pass is too large"));
        }
        if entries.len() < length as usize {
            entries.resize(length as usize, Entry::default());
        }
        let entries = &mut entries[..length as usize];
        self.begin(length, 0);
        let slots = slots(entries, &counts)?;
        let fits = AtomicUsize::new(0);
        let (search, format) = (self.search(part), self.sorting.format);
        self.scan(&search, |index, worker, slice| {
            let slots = std::mem::take(&mut *lock(&slots[index]));
            let fit = search.collect(
                format,
                slice,
                bins.clone(),
                Filling::new(slots, &mut worker.buffers),
            );
            // Relaxed: read when the workers have ended.
            fits.fetch_add(usize::from(fit), Ordering::Relaxed);
        })?;
        if fits.into_inner() != self.workers.len() {
            return Err(bug("a pass found other suffixes than were counted"));
        }
        self.sort_pass(entries, &sizes)?;
        Ok(entries)
    }

    /// Begins a pass of `length` suffixes, for which so many positions have been scanned.
    fn begin(&self, length: u64, scanned: u64) {
        self.scanned.store(scanned, Ordering::Relaxed);
        self.sorted.store(0, Ordering::Relaxed);
        self.running.set(length);
    }

    /// Sorts the entries of a pass, bins of the given sizes, and ends it.
    fn sort_pass(&self, entries: &mut [Entry], sizes: &[u64]) -> Result<(), BuildError> {
        let length = entries.len() as u64;
        self.sort_bins(entries, sizes)?;
        self.running.set(0);
        self.finished.update(|finished| finished + length);
        (self.progress)(self.done());
        Ok(())
    }

    /// Sorts bins of the given sizes, the largest first.
    fn sort_bins(&self, mut entries: &mut [Entry], sizes: &[u64]) -> Result<(), BuildError> {
        let target = entries.len() / (self.workers.len() * TASKS_PER_WORKER) + 1;
        let mut tasks = Vec::new();
        let (mut first, mut held) = (0, 0);
        for (bin, &size) in sizes.iter().enumerate() {
            held += size as usize;
            if held >= target || bin + 1 == sizes.len() {
                let part = entries.split_off_mut(..held);
                tasks.push((part.ok_or_else(|| bug("bins overlap"))?, &sizes[first..=bin]));
                (first, held) = (bin + 1, 0);
            }
        }
        tasks.sort_by_key(|(part, _)| std::cmp::Reverse(part.len()));
        let (sorting, sorted, workers) = (&self.sorting, &self.sorted, &self.workers);
        self.for_each(
            tasks.into_iter(),
            |index| &workers[index],
            |worker, (mut part, sizes)| {
                let scratch = &mut lock(worker).scratch;
                for &size in sizes {
                    let Some(bin) = part.split_off_mut(..size as usize) else {
                        return Err(bug("bins overlap"));
                    };
                    sort_bin(sorting, bin, scratch);
                    sorted.fetch_add(size, Ordering::Relaxed);
                }
                Ok(())
            },
        )
    }

    /// Has every worker do `work` with its slice of the text.
    fn scan(
        &self,
        search: &Search<'_>,
        work: impl Fn(usize, &mut Worker, Range<u64>) + Sync,
    ) -> Result<(), BuildError> {
        let (symbols, unit) = (self.sorting.text.symbols(), search.unit());
        let (parts, scanned) = (self.workers.len(), &self.scanned);
        self.for_each(
            self.workers.iter().enumerate(),
            |_| (),
            |(), (index, worker)| {
                let slice = slice(symbols, index, parts, unit);
                let length = slice.end - slice.start;
                work(index, &mut lock(worker), slice);
                scanned.fetch_add(length, Ordering::Relaxed);
                Ok(())
            },
        )
    }

    /// As [`pool::for_each`], with progress.
    fn for_each<I: Iterator + Send, W: Send>(
        &self,
        items: I,
        own: impl Fn(usize) -> W + Sync,
        work: impl Fn(&mut W, I::Item) -> Result<(), BuildError> + Sync,
    ) -> Result<(), BuildError> {
        let threads = NonZeroUsize::new(self.workers.len()).unwrap_or(NonZeroUsize::MIN);
        let watch = || {
            (self.progress)(self.done());
            Ok(())
        };
        pool::for_each(threads, items, &watch, |index| Ok(own(index)), work).map(drop)
    }

    /// The part of all suffixes that is done, 0 to 1; of the running pass the scan counts as much
    /// as sorting, as measured with eight passes.
    fn done(&self) -> f64 {
        let share = |done: &AtomicU64, of: u64| {
            (done.load(Ordering::Relaxed) as f64 / of.max(1) as f64).min(1.0)
        };
        let running = self.running.get();
        let scanned = share(&self.scanned, self.sorting.text.symbols());
        let part = (scanned + share(&self.sorted, running)) / 2.0;
        (self.finished.get() as f64 + running as f64 * part) / self.all.max(1) as f64
    }
}

/// For each worker the places of what it will find, bin by bin.
fn slots<'e>(
    mut entries: &'e mut [Entry],
    counts: &[Vec<u64>],
) -> Result<Vec<Mutex<Vec<&'e mut [Entry]>>>, BuildError> {
    let bins = counts.first().map_or(0, Vec::len);
    let mut slots: Vec<Vec<_>> = counts.iter().map(|_| Vec::with_capacity(bins)).collect();
    for bin in 0..bins {
        for (counts, slots) in counts.iter().zip(&mut slots) {
            let places = entries.split_off_mut(..counts[bin] as usize);
            slots.push(places.ok_or_else(|| bug("the counts of a pass changed"))?);
        }
    }
    Ok(slots.into_iter().map(Mutex::new).collect())
}

/// Runs of neighbouring bins of the given sizes with at most `cap` suffixes, none of them empty,
/// and bins that have more.
fn runs(sizes: &[u64], cap: u64) -> impl Iterator<Item = Work> {
    let mut at = 0;
    std::iter::from_fn(move || {
        while sizes.get(at) == Some(&0) {
            at += 1;
        }
        let first = at;
        let mut held = 0;
        while let Some(size) = sizes.get(at).filter(|&&size| held + size <= cap) {
            held += size;
            at += 1;
        }
        if at > first {
            return Some(Work::Bins(first..at));
        }
        at += 1;
        sizes.get(first).map(|&size| Work::Bin(first, size))
    })
}

/// Mixes the bits of a position (splitmix64, Steele, Lea and Flood 2014).
fn hash(at: u64) -> u64 {
    let x = at.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

fn bug(what: &str) -> BuildError {
    BuildError::SuffixArray(format!("{what}; this is a bug"))
}
