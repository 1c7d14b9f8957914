//! Sequences of the header that the reference does not hold: whether any record needs them.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use seqloom_format::bam::{Flags, RecordRef, Reference};
use seqloom_io::reference::ReferenceError;

use super::{RecordStep, StepError, StepScratch, StepStage, Verdict};

/// The sequences of a header that its reference lacks; those of them that records are on are noted
/// while records stream by, so that all can be named.
#[derive(Debug, Default)]
pub struct MissingSequences {
    path: PathBuf,
    /// Index in the header, name, and whether a mapped record is there; by index. Relaxed: who
    /// notes one may check at once and sees its own; all are read when the workers have ended.
    sequences: Vec<(usize, String, AtomicBool)>,
    /// The file holds none of the header's sequences.
    are_all: bool,
}

impl MissingSequences {
    /// `missing` are indices in `references` whose sequences the file at `path` lacks, ascending.
    #[must_use]
    pub fn new(path: PathBuf, references: &[Reference], missing: &[usize]) -> Self {
        let named = |&index: &usize| {
            let name = references.get(index).map_or_else(String::new, |it| it.name.clone());
            (index, name, AtomicBool::new(false))
        };
        let sequences = missing.iter().map(named).collect();
        Self { path, sequences, are_all: missing.len() == references.len() }
    }

    /// Whether nothing is missing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sequences.is_empty()
    }

    /// # Errors
    /// Sequences are missing that records are on.
    pub fn check(&self) -> Result<(), ReferenceError> {
        let needed = self.sequences.iter().filter(|it| it.2.load(Ordering::Relaxed));
        let names: Vec<String> = needed.map(|it| it.1.clone()).collect();
        if names.is_empty() {
            return Ok(());
        }
        Err(ReferenceError::Needed { path: self.path.clone(), names })
    }

    fn note(&self, reference_id: i32) -> Result<(), ReferenceError> {
        let Ok(index) = usize::try_from(reference_id) else { return Ok(()) };
        let Ok(at) = self.sequences.binary_search_by_key(&index, |it| it.0) else { return Ok(()) };
        self.sequences[at].2.store(true, Ordering::Relaxed);
        // Another reference altogether: there is no need to read on for hours.
        if self.are_all { self.check() } else { Ok(()) }
    }
}

/// Notes which of the sequences that a reference lacks have mapped records.
#[derive(Debug, Clone)]
pub struct NoteMissingSequences(pub Arc<MissingSequences>);

impl RecordStep for NoteMissingSequences {
    fn name(&self) -> &'static str {
        "missing-sequences"
    }

    fn stage(&self) -> StepStage {
        StepStage::Mismatches
    }

    fn apply(&self, body: &mut Vec<u8>, _: &mut StepScratch) -> Result<Verdict, StepError> {
        let record = RecordRef::new(body)?;
        if !record.has_flags(Flags::UNMAPPED) {
            self.0.note(record.reference_id())?;
        }
        Ok(Verdict::Keep)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_records::body;

    #[test]
    fn sequences_with_mapped_records_are_needed() {
        let reference = |name: &str| Reference { name: name.into(), length: 9 };
        let references = ["a", "b", "c", "d"].map(reference);
        let missing = MissingSequences::new("ref.fa".into(), &references, &[1, 2, 3]);
        let missing = Arc::new(missing);
        let step = NoteMissingSequences(missing.clone());
        let see = |flags, reference_id| {
            let mut body = body("r", flags, reference_id, 1, 4);
            step.apply(&mut body, &mut StepScratch::default()).unwrap();
        };
        see(0, 0);
        see(0, -1);
        see(Flags::UNMAPPED, 2);
        assert!(missing.check().is_ok());
        see(0, 3);
        see(Flags::REVERSE, 1);
        let text = missing.check().unwrap_err().to_string();
        assert!(text.contains("ref.fa") && text.contains("(2): b, d"), "{text}");
    }

    #[test]
    fn another_reference_is_reported_at_the_first_record() {
        let references = [Reference { name: "a".into(), length: 9 }];
        let missing = MissingSequences::new("ref.fa".into(), &references, &[0]);
        let mut body = body("r", 0, 0, 1, 4);
        let step = NoteMissingSequences(Arc::new(missing));
        let error = step.apply(&mut body, &mut StepScratch::default()).unwrap_err();
        assert!(error.to_string().contains("(1): a"), "{error}");
    }
}
