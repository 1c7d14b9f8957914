//! Counting as a visitor of stored records: every worker counts for itself, and the sum is made
//! when all are done.

use std::sync::{Mutex, PoisonError};

use seqloom_format::bam::RecordRef;
use seqloom_runtime::failure::lock;

use super::{CountScratch, Counter, Counts};
use crate::finish::hooks::{HookError, RecordVisitor, VisitorSource};

/// Counts what it is shown.
#[derive(Debug)]
pub struct CountingVisitors<'a> {
    counter: &'a Counter<'a>,
    total: Mutex<Counts>,
}

impl<'a> CountingVisitors<'a> {
    /// Nothing counted yet.
    #[must_use]
    pub fn new(counter: &'a Counter<'a>) -> Self {
        Self { counter, total: Mutex::new(Counts::new()) }
    }

    /// What all workers have counted.
    #[must_use]
    pub fn into_counts(self) -> Counts {
        self.total.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl VisitorSource for CountingVisitors<'_> {
    fn visitor(&self) -> Box<dyn RecordVisitor + '_> {
        let (scratch, counts) = (CountScratch::default(), Counts::new());
        Box::new(CountingVisitor { visitors: self, scratch, counts })
    }
}

/// One worker's counts.
struct CountingVisitor<'a> {
    visitors: &'a CountingVisitors<'a>,
    scratch: CountScratch,
    counts: Counts,
}

impl RecordVisitor for CountingVisitor<'_> {
    fn visit(&mut self, _: u64, record: &RecordRef<'_>) -> Result<(), HookError> {
        self.visitors.counter.count(record.body(), &mut self.scratch, &mut self.counts)?;
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), HookError> {
        lock(&self.visitors.total).merge(&self.counts);
        Ok(())
    }
}
