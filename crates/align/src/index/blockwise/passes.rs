//! Takes the suffixes in order, as many at a time as fit the memory: a pass.
//!
//! A pass is a run of neighbouring bins. Its suffixes are collected by a scan of the text, in
//! which every worker has a stretch of it and places of its own for what it finds, so that nothing
//! is shared; then the bins are sorted, each by one worker.
//!
//! A bin that alone is too large for a pass (poly-A, satellites, tandem repeats) is cut in the
//! same way by the symbols behind those that all its suffixes have in common, again and again; where
//! they have as many in common as sorting looks at, by suffixes among them that are chosen at
//! random and put in order by their ranks. Nothing compares more than that many symbols.

use std::cell::Cell;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use seqloom_runtime::failure::{Failure, lock};
use seqloom_runtime::pool;

use super::super::error::BuildError;
use super::entry::Entry;
use super::scan::{BIN_SYMBOLS, BINS, Cut, Members, Prefix, Search, stretch};
use super::sort::{Scratch, Sorting, sort_bin};

/// Suffixes that are put in order for each part that a bin of tied suffixes is cut into: with 64
/// the largest of thousands of parts is hardly ever twice the average.
const SPLITTER_SAMPLES: u64 = 64;

/// Parts of the pass that are sorted per worker, at least where bins allow: the last to end should
/// not hold up the others for long.
const TASKS_PER_WORKER: usize = 64;

/// What becomes of the suffixes, which come in order.
pub(super) trait Sink {
    /// The entries of a pass.
    fn entries(&mut self, entries: &[Entry]) -> Result<(), BuildError>;

    /// Suffixes that sorting does not tell apart, or that have ended, all with one prefix; returns
    /// how many. Only called where ties are not broken.
    fn tied(&mut self, search: &Search<'_>) -> Result<u64, BuildError>;
}

/// Workers and what they own.
pub(super) struct Crew<'a> {
    sorting: Sorting<'a>,
    members: Members<'a>,
    workers: Vec<Mutex<Worker>>,
    /// Most entries of a pass.
    cap: u64,
    progress: &'a dyn Fn(f64),
    /// Positions scanned and entries sorted in the pass.
    scanned: AtomicU64,
    sorted: AtomicU64,
    /// Suffixes of finished passes, of the running one, and of all.
    finished: Cell<u64>,
    running: Cell<u64>,
    all: u64,
}

#[derive(Default)]
struct Worker {
    /// Of the worker's stretch: suffixes per bin.
    top: Vec<u64>,
    /// The same for a prefix.
    deep: Vec<u64>,
    buffers: Vec<[Entry; 4]>,
    scratch: Scratch,
    /// What a scan has found, by the scan's own meaning.
    found: Vec<u64>,
}

/// What is to be done, in the order of the suffixes.
enum Work {
    /// Suffixes with a prefix, however many.
    Node(Prefix),
    /// Those of some bins, which fit.
    Pass(Prefix, Option<Arc<[u64]>>, Range<usize>),
    /// Those of a bin that does not fit.
    Oversize(Prefix, usize),
}

/// Bytes that a worker needs beside its share of the entries.
pub(super) const WORKER_BYTES: u64 = (BINS * (2 * 8 + 64 + 16 + 1)) as u64 + (2 << 20);

impl<'a> Crew<'a> {
    /// `threads` workers for passes of at most `cap` of `members`, of which there are `all`.
    pub(super) fn new(
        sorting: Sorting<'a>,
        members: Members<'a>,
        all: u64,
        cap: u64,
        threads: NonZeroUsize,
        progress: &'a dyn Fn(f64),
    ) -> Self {
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
        let mut entries = Vec::new();
        let room = self.cap.min(self.all);
        entries.try_reserve_exact(room as usize).map_err(|_| BuildError::OutOfMemory(16 * room))?;
        let mut work = vec![Work::Node(Prefix::default())];
        let mut counted = None;
        while let Some(next) = work.pop() {
            match next {
                Work::Node(prefix) if prefix.symbols < self.sorting.depth => {
                    self.count(prefix, &mut counted)?;
                    work.extend(self.cut_by_symbols(prefix).into_iter().rev());
                }
                Work::Node(prefix) if self.sorting.ranks.is_none() => {
                    let tied = sink.tied(&self.search(prefix, Cut::Symbols))?;
                    self.finished.update(|finished| finished + tied);
                }
                Work::Node(prefix) => {
                    counted = None;
                    work.extend(self.cut_by_ranks(prefix)?.into_iter().rev());
                }
                Work::Oversize(prefix, bin) => {
                    work.push(Work::Node(self.common_prefix(prefix, bin)?));
                }
                Work::Pass(prefix, splitters, bins) => {
                    let cut = match (&splitters, self.sorting.ranks) {
                        (Some(splitters), Some(ranks)) => Cut::Splitters(splitters, ranks),
                        _ => Cut::Symbols,
                    };
                    if splitters.is_none() {
                        self.count(prefix, &mut counted)?;
                    }
                    let search = self.search(prefix, cut);
                    sink.entries(self.pass(&search, bins, &mut entries)?)?;
                }
            }
        }
        if self.finished.get() == self.all { Ok(()) } else { Err(bug("suffixes are missing")) }
    }

    fn search<'s>(&'s self, prefix: Prefix, cut: Cut<'s>) -> Search<'s> {
        Search { text: self.sorting.text, members: self.members, prefix, cut }
    }

    /// Makes the workers' counts those of `prefix`, if they are not.
    fn count(&self, prefix: Prefix, counted: &mut Option<Prefix>) -> Result<(), BuildError> {
        let top = prefix.symbols == 0;
        if *counted == Some(prefix) || top && !lock(&self.workers[0]).top.is_empty() {
            return Ok(());
        }
        let search = self.search(prefix, Cut::Symbols);
        self.scan(&search, |worker, stretch| {
            let counts = if top { &mut worker.top } else { &mut worker.deep };
            counts.clear();
            counts.resize(BINS, 0);
            search.count(stretch, counts);
        })?;
        if !top {
            *counted = Some(prefix);
        }
        Ok(())
    }

    /// Suffixes per bin, of all workers.
    fn totals(&self, top: bool) -> Vec<u64> {
        let mut totals = Vec::new();
        for worker in &self.workers {
            let worker = lock(worker);
            let counts = if top { &worker.top } else { &worker.deep };
            totals.resize(counts.len(), 0);
            totals.iter_mut().zip(counts).for_each(|(total, count)| *total += count);
        }
        totals
    }

    /// Runs of bins that fit a pass, as long as possible, and bins that do not.
    fn cut_by_symbols(&self, prefix: Prefix) -> Vec<Work> {
        let totals = self.totals(prefix.symbols == 0);
        runs(&totals, self.cap)
            .map(|run| match run {
                Run::Fits(bins) => Work::Pass(prefix, None, bins),
                Run::TooLarge(bin) => Work::Oversize(prefix, bin),
            })
            .collect()
    }

    /// The longest prefix, in whole bins, of all suffixes in a bin, and how many they are.
    fn common_prefix(&self, prefix: Prefix, bin: usize) -> Result<Prefix, BuildError> {
        let most = self.sorting.depth;
        let text = self.sorting.text;
        let search = self.search(prefix, Cut::Symbols);
        self.scan(&search, |worker, stretch| {
            worker.found.clear();
            let (mut first, mut common) = (None, most);
            search.each(stretch, bin..bin + 1, |at, _| {
                common = text.common(at, *first.get_or_insert(at), common);
            });
            worker.found.extend(first.into_iter().chain([common]));
        })?;
        let (mut first, mut common) = (None, most);
        for worker in &self.workers {
            if let [at, within] = lock(worker).found[..] {
                common = text.common(at, *first.get_or_insert(at), common.min(within));
            }
        }
        match first {
            Some(at) if common >= prefix.symbols + BIN_SYMBOLS => {
                Ok(Prefix { at, symbols: common & !(BIN_SYMBOLS - 1) })
            }
            _ => Err(bug("a bin's suffixes have too little in common")),
        }
    }

    /// Passes over suffixes that have as much in common as sorting looks at: parts between some of
    /// them, chosen by a hash of their positions. The workers' counts are those of the parts.
    fn cut_by_ranks(&self, prefix: Prefix) -> Result<Vec<Work>, BuildError> {
        let Some(ranks) = self.sorting.ranks else { return Err(bug("there are no ranks")) };
        self.count(prefix, &mut None)?;
        let members: u64 = self.totals(prefix.symbols == 0).iter().sum();
        let parts = 1 + members.div_ceil((self.cap / 2).max(1));
        for attempt in 0..8 {
            let wanted = (parts * SPLITTER_SAMPLES) << (2 * attempt);
            let below = (u128::from(u64::MAX) * u128::from(wanted) / u128::from(members.max(1)))
                .min(u128::from(u64::MAX)) as u64;
            let all = self.search(prefix, Cut::Symbols);
            let last = self.sorting.text.symbols().saturating_sub(prefix.symbols);
            self.scan(&all, |worker, stretch| {
                worker.found.clear();
                let found = &mut worker.found;
                all.each(stretch, 0..BINS, |at, _| {
                    if at <= last && hash(at) <= below {
                        found.push(at);
                    }
                });
            })?;
            let mut sample: Vec<u64> = Vec::new();
            self.workers.iter().for_each(|worker| sample.append(&mut lock(worker).found));
            sample.sort_unstable_by(|&a, &b| ranks.compare(a, b));
            let splitters: Arc<[u64]> = (1..parts as usize)
                .filter_map(|part| sample.get(part * sample.len() / parts as usize).copied())
                .collect();
            let search = self.search(prefix, Cut::Splitters(&splitters, ranks));
            self.scan(&search, |worker, stretch| {
                worker.deep.clear();
                worker.deep.resize(splitters.len() + 1, 0);
                search.count(stretch, &mut worker.deep);
            })?;
            let runs: Vec<Run> = runs(&self.totals(false), self.cap).collect();
            let fit = |run| match run {
                Run::Fits(parts) => Some(Work::Pass(prefix, Some(splitters.clone()), parts)),
                Run::TooLarge(_) => None,
            };
            if let Some(passes) = runs.into_iter().map(fit).collect() {
                return Ok(passes);
            }
        }
        Err(bug("tied suffixes could not be cut into parts"))
    }

    /// Collects and sorts the suffixes of some bins, whose counts the workers have.
    fn pass<'e>(
        &self,
        search: &Search<'_>,
        bins: Range<usize>,
        entries: &'e mut Vec<Entry>,
    ) -> Result<&'e [Entry], BuildError> {
        let top = search.prefix.symbols == 0 && matches!(search.cut, Cut::Symbols);
        let totals = self.totals(top).get(bins.clone()).map(<[u64]>::to_vec).unwrap_or_default();
        let length = totals.iter().sum::<u64>();
        if length > self.cap {
            return Err(bug("a pass is too large"));
        }
        if entries.len() < length as usize {
            entries.resize(length as usize, Entry::default());
        }
        let entries = &mut entries[..length as usize];
        self.running.set(length);
        let slots = self.slots(entries, bins.clone(), top)?;
        let fits = AtomicUsize::new(0);
        let format = self.sorting.format;
        self.scan_by_index(search, |index, worker, stretch| {
            let slots = std::mem::take(&mut *lock(&slots[index]));
            let buffers = &mut worker.buffers;
            let fit = search.collect(format, stretch, bins.clone(), slots, buffers);
            fits.fetch_add(usize::from(fit), Ordering::Relaxed);
        })?;
        if fits.into_inner() != self.workers.len() {
            return Err(bug("a pass found other suffixes than were counted"));
        }
        self.sort_bins(entries, &totals, search.prefix.symbols)?;
        self.scanned.store(0, Ordering::Relaxed);
        self.sorted.store(0, Ordering::Relaxed);
        self.running.set(0);
        self.finished.update(|finished| finished + length);
        (self.progress)(self.done());
        Ok(entries)
    }

    /// For each worker the places of what it will find, bin by bin.
    fn slots<'e>(
        &self,
        mut entries: &'e mut [Entry],
        bins: Range<usize>,
        top: bool,
    ) -> Result<Vec<Mutex<Vec<&'e mut [Entry]>>>, BuildError> {
        let workers: Vec<_> = self.workers.iter().map(lock).collect();
        let mut slots: Vec<Vec<_>> =
            workers.iter().map(|_| Vec::with_capacity(bins.len())).collect();
        for bin in bins {
            for (worker, slots) in workers.iter().zip(&mut slots) {
                let counts = if top { &worker.top } else { &worker.deep };
                let places = entries.split_off_mut(..counts[bin] as usize);
                slots.push(places.ok_or_else(|| bug("the counts of a pass changed"))?);
            }
        }
        Ok(slots.into_iter().map(Mutex::new).collect())
    }

    /// Sorts bins of the given sizes, the largest first.
    fn sort_bins(
        &self,
        mut entries: &mut [Entry],
        sizes: &[u64],
        depth: u64,
    ) -> Result<(), BuildError> {
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
        let tasks: Vec<_> = tasks.into_iter().map(|task| Mutex::new(Some(task))).collect();
        let next = AtomicUsize::new(0);
        let (sorting, sorted) = (&self.sorting, &self.sorted);
        self.run(|_, worker, failure| {
            while let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
                let Some((mut part, sizes)) = lock(task).take() else { continue };
                for &size in sizes {
                    let Some(bin) = part.split_off_mut(..size as usize) else {
                        return Err(bug("bins overlap"));
                    };
                    sort_bin(sorting, bin, depth, &mut worker.scratch);
                    sorted.fetch_add(size, Ordering::Relaxed);
                    if failure.stopped() {
                        return Ok(());
                    }
                }
            }
            Ok(())
        })
    }

    /// Has every worker do `work` with its stretch of the text.
    fn scan(
        &self,
        search: &Search<'_>,
        work: impl Fn(&mut Worker, Range<u64>) + Sync,
    ) -> Result<(), BuildError> {
        self.scan_by_index(search, |_, worker, stretch| work(worker, stretch))
    }

    fn scan_by_index(
        &self,
        search: &Search<'_>,
        work: impl Fn(usize, &mut Worker, Range<u64>) + Sync,
    ) -> Result<(), BuildError> {
        let (symbols, unit) = (self.sorting.text.symbols(), search.unit());
        let (parts, scanned) = (self.workers.len(), &self.scanned);
        self.run(|index, worker, _| {
            let stretch = stretch(symbols, index, parts, unit);
            let length = stretch.end - stretch.start;
            work(index, worker, stretch);
            scanned.fetch_add(length, Ordering::Relaxed);
            Ok(())
        })
    }

    /// Runs `work` on all workers.
    fn run(
        &self,
        work: impl Fn(usize, &mut Worker, &Failure<BuildError>) -> Result<(), BuildError> + Sync,
    ) -> Result<(), BuildError> {
        let failure = Failure::default();
        let workers = &self.workers;
        let threads = NonZeroUsize::new(workers.len()).unwrap_or(NonZeroUsize::MIN);
        let watch = || {
            (self.progress)(self.done());
            Ok(())
        };
        pool::run(
            threads,
            &failure,
            || (),
            &watch,
            |index| work(index, &mut lock(&workers[index]), &failure),
        )
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

/// What bins are cut into.
enum Run {
    Fits(Range<usize>),
    TooLarge(usize),
}

/// Cuts bins of the given sizes into runs of at most `cap` suffixes, none of them empty, and bins
/// that have more.
fn runs(sizes: &[u64], cap: u64) -> impl Iterator<Item = Run> {
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
            return Some(Run::Fits(first..at));
        }
        at += 1;
        (first < sizes.len()).then_some(Run::TooLarge(first))
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
