//! What the modes' engines have in common: they learn nothing of a cohort, and align a batch in one
//! call, a group of reads at a time.

use std::ops::Range;

use seqloom_align::engine::{EngineError, EngineReads, Origin, Read, RecordSink};
use seqloom_format::names::check_read_name;

/// Reads that are placed together, trimmed.
#[derive(Debug, Clone, Copy)]
pub struct Group<'r> {
    pub(super) reads: &'r [Read<'r>],
    /// Two and two are mates.
    pub(super) are_mates: bool,
    /// Number of the first in the input.
    pub(super) first_ordinal: u64,
}

/// What becomes records together: a single read of a group, or two mates.
#[derive(Debug, Clone, Copy)]
pub struct Template<'r> {
    pub(super) reads: &'r [Read<'r>],
    /// Number of the first in its group.
    pub(super) number: usize,
    /// And in the input.
    pub(super) ordinal: u64,
}

impl Template<'_> {
    /// The numbers of its reads in their group.
    pub(super) fn numbers(&self) -> Range<usize> {
        self.number..self.number + self.reads.len()
    }
}

impl<'r> Group<'r> {
    /// Reads of a template.
    pub(super) fn step(&self) -> usize {
        if self.are_mates { 2 } else { 1 }
    }

    /// The templates of the first reads, as many as these are whole ones.
    fn templates(self, reads: usize) -> impl Iterator<Item = Template<'r>> {
        let templates = self.reads[..reads].chunks_exact(self.step()).enumerate();
        templates.map(move |(at, reads)| {
            let number = at * self.step();
            Template { reads, number, ordinal: self.first_ordinal + number as u64 }
        })
    }
}

/// Takes the records of one template.
pub struct Out<'s> {
    origin: Origin,
    sink: &'s mut dyn RecordSink,
}

impl Out<'_> {
    /// Hands out a record.
    pub(super) fn record(&mut self, body: &[u8]) {
        self.sink.record(self.origin, body);
    }
}

/// An engine that needs no more than the reads of a batch.
pub trait Placer: Sync {
    /// Working memory of one worker.
    type Scratch: Default + Send;

    /// Bases that are left out at the 5' and the 3' end of reads.
    fn trim(&self) -> [usize; 2];

    /// Most reads that are placed together; it is even.
    fn group_reads(&self) -> usize;

    /// Finds the placements of the reads of a group, in place of what was found before; of how
    /// many of them, from the first on. The others will come again.
    fn place(&self, group: Group<'_>, scratch: &mut Self::Scratch) -> usize;

    /// Hands out the records of a template of the group that was placed last.
    fn report(&self, template: Template<'_>, scratch: &mut Self::Scratch, out: &mut Out<'_>);

    /// Ends a batch: what is gathered over many reads is handed on.
    fn end_batch(&self, scratch: &mut Self::Scratch);
}

/// Hands out the records of the reads of a batch, the first of which is number `first_read` of the
/// input.
///
/// # Errors
/// A read whose name SAM does not allow.
pub(super) fn align<P: Placer>(
    placer: &P,
    scratch: &mut P::Scratch,
    reads: &EngineReads<'_>,
    first_read: u64,
    sink: &mut dyn RecordSink,
) -> Result<(), EngineError> {
    let mates = 2 * reads.pairs.len();
    let all = reads.pairs.iter().flatten().chain(&reads.singles);
    let reads: Vec<Read<'_>> =
        all.map(|&read| trimmed(read, placer.trim())).collect::<Result<_, _>>()?;
    let mut from = 0;
    while from < reads.len() {
        let are_mates = from < mates;
        let border = if are_mates { mates } else { reads.len() };
        let group = Group {
            reads: &reads[from..border.min(from + placer.group_reads())],
            are_mates,
            first_ordinal: first_read + from as u64,
        };
        let placed = placer.place(group, scratch);
        for template in group.templates(placed) {
            let at = from + template.number;
            let origin = if are_mates { Origin::Pair(at / 2) } else { Origin::Single(at - mates) };
            placer.report(template, scratch, &mut Out { origin, sink });
        }
        from += placed / group.step() * group.step();
    }
    placer.end_batch(scratch);
    Ok(())
}

/// Has an engine place batches as the [`Placer`] that it is.
macro_rules! batch_engine {
    ($engine:ty) => {
        impl seqloom_align::engine::BatchEngine for $engine {
            type Scratch = <Self as $crate::placer::Placer>::Scratch;

            fn scratch(&self) -> Result<Self::Scratch, seqloom_align::engine::EngineError> {
                Ok(Self::Scratch::default())
            }

            fn align(
                &self,
                scratch: &mut Self::Scratch,
                reads: &seqloom_align::engine::EngineReads<'_>,
                first_read: u64,
                sink: &mut dyn seqloom_align::engine::RecordSink,
            ) -> Result<(), seqloom_align::engine::EngineError> {
                $crate::placer::align(self, scratch, reads, first_read, sink)
            }

            fn longest_read_bases(&self) -> usize {
                $crate::query::LONGEST_READ
            }
        }
    };
}
pub(crate) use batch_engine;

/// The read without so many bases at its 5' and its 3' end.
fn trimmed<'r>(read: Read<'r>, [start, end]: [usize; 2]) -> Result<Read<'r>, EngineError> {
    check_read_name(read.name).map_err(|fault| EngineError::Read {
        name: String::from_utf8_lossy(read.name).into_owned(),
        problem: fault.to_string(),
    })?;
    let end = read.bases.len().saturating_sub(end);
    let start = start.min(end);
    let bases = &read.bases[start..end];
    let qualities = read.qualities.map(|qualities| &qualities[start..end]);
    Ok(Read { bases, qualities, ..read })
}
