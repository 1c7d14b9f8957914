//! Which records make a slice: a function of the records of a unit, in their order, and of nothing
//! else.
//!
//! A slice holds at most 12,000 records, 5 million bases and 12 MiB of records. Records are held
//! until a slice more than fits is there, so that a unit's last slices are equal halves and not a
//! full one and a rest. A new reference ends a slice that holds 1,000 records; a smaller one goes
//! on, over several references.

use seqloom_format::bam::{RecordRef, set_duplicate};

use crate::container::Container;
use crate::error::CramError;
use crate::slice::{Referred, Settings, SliceEncoder};

/// Most records in a slice. Slices of 10,000 are 1 % smaller than those of 5,000, and of 20,000 0.5
/// % smaller than those of 10,000 (docs/internals/cram.md).
const MOST_RECORDS: usize = 12_000;
/// Most bases, and bytes of records, that wait: what a worker holds.
const MOST_BASES: usize = 5_000_000;
const MOST_BYTES: usize = 12 << 20;
/// Records of a slice that does not go on over another reference.
const ENOUGH_RECORDS: usize = 1_000;

/// Records of units to containers.
pub struct Encoder<'a> {
    referred: Referred<'a>,
    slices: SliceEncoder,
    /// Records that wait, each preceded by its size.
    framed: Vec<u8>,
    /// Start of each.
    starts: Vec<usize>,
    bases: usize,
    reference_id: i32,
    has_several: bool,
}

impl<'a> Encoder<'a> {
    /// An encoder for records that refer to `referred`.
    #[must_use]
    pub fn new(settings: Settings, referred: Referred<'a>) -> Self {
        Self {
            referred,
            slices: SliceEncoder::new(settings),
            framed: Vec::new(),
            starts: Vec::new(),
            bases: 0,
            reference_id: -1,
            has_several: false,
        }
    }

    /// Adds a record, its duplicate flag set or cleared if `duplicate` says so; containers that are
    /// whole go to `containers`.
    ///
    /// # Errors
    /// [`CramError`] for records that wait.
    pub fn push(
        &mut self,
        record: &RecordRef<'_>,
        duplicate: Option<bool>,
        containers: &mut Vec<Container>,
    ) -> Result<(), CramError> {
        let (body, bases) = (record.body(), record.base_count());
        let size = u32::try_from(body.len()).map_err(|_| CramError::TooLarge("a record"))?;
        let reference_id = record.reference_id();
        let turns = !self.starts.is_empty() && reference_id != self.reference_id;
        let ends_slice = turns && !self.has_several && self.starts.len() >= ENOUGH_RECORDS;
        let is_full =
            self.bases + bases > MOST_BASES || self.framed.len() + body.len() > MOST_BYTES;
        if ends_slice || is_full {
            self.flush(containers)?;
        } else if turns {
            self.has_several = true;
        }
        self.reference_id = reference_id;
        self.starts.push(self.framed.len());
        self.framed.extend_from_slice(&size.to_le_bytes());
        let at = self.framed.len();
        self.framed.extend_from_slice(body);
        if let Some(duplicate) = duplicate {
            set_duplicate(&mut self.framed[at..], duplicate);
        }
        self.bases += bases;
        if self.starts.len() == 2 * MOST_RECORDS {
            self.encode(MOST_RECORDS, containers)?;
        }
        Ok(())
    }

    /// Ends the unit.
    ///
    /// # Errors
    /// As [`Encoder::push`].
    pub fn finish_unit(&mut self, containers: &mut Vec<Container>) -> Result<(), CramError> {
        self.flush(containers)
    }

    /// Makes slices of all that waits: one, or two of a size.
    fn flush(&mut self, containers: &mut Vec<Container>) -> Result<(), CramError> {
        let count = self.starts.len();
        if count > MOST_RECORDS {
            self.encode(count.div_ceil(2), containers)?;
        }
        if !self.starts.is_empty() {
            self.encode(self.starts.len(), containers)?;
        }
        self.has_several = false;
        Ok(())
    }

    /// Makes a slice of the first records.
    fn encode(&mut self, count: usize, containers: &mut Vec<Container>) -> Result<(), CramError> {
        let end = self.starts.get(count).copied().unwrap_or(self.framed.len());
        containers.push(self.slices.encode(&self.framed[..end], self.referred)?);
        self.framed.drain(..end);
        self.starts.drain(..count);
        self.starts.iter_mut().for_each(|start| *start -= end);
        self.bases = 0;
        for &start in &self.starts {
            let record = RecordRef::new(&self.framed[start + 4..]);
            self.bases += record.map_or(0, |it| it.base_count());
        }
        Ok(())
    }
}
