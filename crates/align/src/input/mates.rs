//! Whether the reads of a BAM file are as alignment needs them: mates next to each other.
//!
//! FASTQ has no order that could be wrong. BAM may be sorted, and then a pair would be aligned as
//! two single reads without a word. So what the flags say is compared with what is where, read
//! by read, in the order of the file. A read flagged as paired whose mate does not follow is
//! remembered by name: if the mate comes later, the file is refused; if it never comes, the read
//! is single, as in bwa, and counted.

use std::collections::HashMap;

use seqloom_format::MateOfPair;
use seqloom_io::reads::{InputBlock, ReadSource};

use crate::input::error::CohortError;

/// Names that are remembered. In files sorted by anything the first mate comes long before; in
/// shuffled ones each read after has its chance to be the mate of one of these.
const MAX_NAMES: usize = 1 << 16;

/// What was found in BAM input.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BamTotals {
    /// Reads whose record had an alignment.
    pub aligned_reads: u64,
    /// Secondary and supplementary records, which were left out.
    pub left_out_records: u64,
    /// Reads flagged as paired whose mate is not in the file.
    pub reads_without_mate: u64,
}

/// Looks at the blocks of a BAM file, in order.
#[derive(Debug)]
pub struct MateOrder {
    path: String,
    is_sorted_by_coordinate: bool,
    /// Name of the first of a pair before the next read, if `open` is its number.
    name: Vec<u8>,
    open: Option<u64>,
    /// Reads whose mate did not follow: which of the pair they are, and their number.
    alone: HashMap<Box<[u8]>, (MateOfPair, u64)>,
    reads: u64,
    totals: BamTotals,
}

impl MateOrder {
    /// For the BAM or CRAM of `source`; `None` if it is neither.
    #[must_use]
    pub fn of(source: &ReadSource) -> Option<Self> {
        let has_records = source.files() == 1 && source.format(0).reads.has_records();
        let claims = source.header().and_then(|header| header.sort_order());
        has_records.then(|| Self {
            path: source.path(0).display().to_string(),
            is_sorted_by_coordinate: claims == Some(b"coordinate"),
            name: Vec::new(),
            open: None,
            alone: HashMap::new(),
            reads: 0,
            totals: BamTotals::default(),
        })
    }

    /// Takes the next block.
    ///
    /// # Errors
    /// [`CohortError::NotGrouped`] where alignments are sorted by coordinate,
    /// [`CohortError::MatesApart`] for the first mates that are no neighbours.
    pub fn accept(&mut self, block: &InputBlock) -> Result<(), CohortError> {
        let reads = &block.reads;
        if block.aligned > 0 && self.is_sorted_by_coordinate {
            return Err(CohortError::NotGrouped { path: self.path.clone() });
        }
        self.totals.aligned_reads += block.aligned;
        self.totals.left_out_records += block.records.saturating_sub(reads.reads.len() as u64);
        for (i, mate) in reads.mate_of_pair.iter().enumerate() {
            self.reads += 1;
            let name = reads.name(i);
            if *mate == MateOfPair::Second && self.open.is_some() && name == self.name {
                self.open = None;
                continue;
            }
            self.leave_open_alone()?;
            match mate {
                MateOfPair::Unpaired => {}
                MateOfPair::Second => self.leave_alone(name, *mate, self.reads)?,
                MateOfPair::First => {
                    self.name.clear();
                    self.name.extend_from_slice(name);
                    self.open = Some(self.reads);
                }
            }
        }
        if block.last {
            self.leave_open_alone()?;
        }
        Ok(())
    }

    /// What was found so far.
    #[must_use]
    pub(crate) fn totals(&self) -> BamTotals {
        self.totals
    }

    fn leave_open_alone(&mut self) -> Result<(), CohortError> {
        let Some(number) = self.open.take() else { return Ok(()) };
        let name = std::mem::take(&mut self.name);
        self.leave_alone(&name, MateOfPair::First, number)?;
        self.name = name;
        Ok(())
    }

    /// The mate of a read is not next to it: is it one of those that were so before?
    fn leave_alone(
        &mut self,
        name: &[u8],
        mate: MateOfPair,
        number: u64,
    ) -> Result<(), CohortError> {
        self.totals.reads_without_mate += 1;
        match self.alone.get(name) {
            Some(&(other, earlier)) if other != mate => Err(CohortError::MatesApart {
                path: self.path.clone(),
                name: String::from_utf8_lossy(name).escape_debug().to_string(),
                records: [earlier, number],
            }),
            Some(_) => Ok(()),
            None => {
                if self.alone.len() < MAX_NAMES {
                    self.alone.insert(name.into(), (mate, number));
                }
                Ok(())
            }
        }
    }
}

#[cfg(test)]
#[path = "mates_tests.rs"]
mod tests;
