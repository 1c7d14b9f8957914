//! Visitors of stored records: what counts them, and what finds out which room that takes.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use seqloom_format::bam::RecordRef;
use seqloom_runtime::failure::lock;

use super::counts::{Counts, Extent};
use super::{CountScratch, Counter};
use crate::finish::hooks::{HookError, RecordVisitor, VisitorSource};

/// Counts what they are shown, in tables that several may share.
#[derive(Debug)]
pub(super) struct CountingVisitors<'a> {
    counter: &'a Counter<'a>,
    tables: &'a [Counts],
    /// Visitors made so far.
    made: AtomicUsize,
}

impl<'a> CountingVisitors<'a> {
    /// Visitors that take the next of `tables` in turn, of which there is at least one.
    pub(super) fn new(counter: &'a Counter<'a>, tables: &'a [Counts]) -> Self {
        Self { counter, tables, made: AtomicUsize::new(0) }
    }
}

impl VisitorSource for CountingVisitors<'_> {
    fn visitor(&self) -> Box<dyn RecordVisitor + '_> {
        // Relaxed: a turn; tables are atomic and their sums the same whoever counts in which.
        let turn = self.made.fetch_add(1, Ordering::Relaxed) % self.tables.len();
        let (scratch, counts) = (CountScratch::default(), &self.tables[turn]);
        Box::new(CountingVisitor { counter: self.counter, scratch, counts })
    }
}

/// One worker, and the table that it counts in.
struct CountingVisitor<'a> {
    counter: &'a Counter<'a>,
    scratch: CountScratch,
    counts: &'a Counts,
}

impl RecordVisitor for CountingVisitor<'_> {
    fn visit(&mut self, _: u64, record: &RecordRef<'_>) -> Result<(), HookError> {
        self.counter.count(record.body(), &mut self.scratch, self.counts)?;
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), HookError> {
        Ok(())
    }
}

/// Note which qualities each read group has, and how long its reads are.
#[derive(Debug)]
pub(super) struct ExtentVisitors<'a> {
    counter: &'a Counter<'a>,
    extents: Mutex<Vec<Extent>>,
}

impl<'a> ExtentVisitors<'a> {
    pub(super) fn new(counter: &'a Counter<'a>) -> Self {
        let extents = vec![Extent::default(); counter.group_names().len()];
        Self { counter, extents: Mutex::new(extents) }
    }

    /// Extents that all workers have noted.
    pub(super) fn extents(&self) -> Vec<Extent> {
        lock(&self.extents).clone()
    }
}

impl VisitorSource for ExtentVisitors<'_> {
    fn visitor(&self) -> Box<dyn RecordVisitor + '_> {
        let (scratch, extents) = (CountScratch::default(), self.extents());
        Box::new(ExtentVisitor { visitors: self, scratch, extents })
    }
}

struct ExtentVisitor<'a> {
    visitors: &'a ExtentVisitors<'a>,
    scratch: CountScratch,
    extents: Vec<Extent>,
}

impl RecordVisitor for ExtentVisitor<'_> {
    fn visit(&mut self, _: u64, record: &RecordRef<'_>) -> Result<(), HookError> {
        if let Some((group, extent)) = self.visitors.counter.extent(record, &mut self.scratch) {
            self.extents[group] = self.extents[group].union(extent);
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), HookError> {
        let mut all = lock(&self.visitors.extents);
        let both = all.iter_mut().zip(self.extents);
        both.for_each(|(sum, extent)| *sum = sum.union(extent));
        Ok(())
    }
}
