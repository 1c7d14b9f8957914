//! Another reference dictionary: replaced, reordered or cut down (elPrep's
//! replace-reference-sequences, Picard ReorderSam).

use std::collections::HashMap;

use seqloom_format::bam::edit::{
    remove_tag, set_flags, set_mate_position, set_mate_reference_id, set_reference_id,
    set_template_length,
};
use seqloom_format::bam::{Flags, Header, RecordError, RecordRef};

use super::{RecordStep, StepError, StepScratch, StepStage, Verdict};

/// Gives records the indices of another dictionary, by name.
///
/// Records on references that it does not have are removed, unmapped ones next to their mate
/// included; records without a reference are kept. What remains of a pair says that its mate is
/// unmapped and nowhere: RNEXT `*`, PNEXT 0, TLEN 0, flag 0x8 set, flag 0x2 cleared, `MC` and `MQ`
/// removed. `SA` and `XA` are left alone, whatever they name.
///
/// The header takes over the dictionary's @SQ lines. Where they come in another order than the
/// input's and the input was sorted by coordinate, SO becomes `unknown`.
#[derive(Debug, Clone)]
pub(crate) struct ReplaceDictionary {
    /// New index of each old one; -1 where the new dictionary does not have it.
    new_ids: Vec<i32>,
    /// The @SQ lines of the new dictionary.
    lines: Vec<Vec<u8>>,
    is_reordered: bool,
}

impl ReplaceDictionary {
    /// The step that leads from the references of `header` to those of `dictionary`.
    ///
    /// # Errors
    /// [`StepError::LengthDiffers`] when a reference has another length there: it is another
    /// reference, and positions would have no meaning.
    pub(crate) fn new(header: &Header, dictionary: &Header) -> Result<Self, StepError> {
        let by_name: HashMap<&str, (i32, u32)> = dictionary
            .references()
            .iter()
            .zip(0..)
            .map(|(it, index)| (it.name.as_str(), (index, it.length)))
            .collect();
        let mut new_ids = Vec::with_capacity(header.references().len());
        for old in header.references() {
            new_ids.push(match by_name.get(old.name.as_str()) {
                None => -1,
                Some(&(index, length)) if length == old.length => index,
                Some(&(_, new_bp)) => {
                    let name = old.name.clone();
                    return Err(StepError::LengthDiffers { name, old_bp: old.length, new_bp });
                }
            });
        }
        let is_reordered = !new_ids.iter().filter(|&&id| id >= 0).is_sorted();
        let is_line = |line: &&[u8]| line.starts_with(b"@SQ\t");
        let lines = dictionary.lines().filter(is_line).map(<[u8]>::to_vec).collect();
        Ok(Self { new_ids, lines, is_reordered })
    }

    /// New index of a reference, `None` where it is gone.
    fn new_id(&self, old: i32) -> Result<Option<i32>, RecordError> {
        let Ok(index) = usize::try_from(old) else { return Ok(Some(-1)) };
        let new = self.new_ids.get(index).ok_or(RecordError::UnknownReference(old))?;
        Ok((*new >= 0).then_some(*new))
    }
}

impl RecordStep for ReplaceDictionary {
    fn name(&self) -> &'static str {
        "reference-dictionary"
    }

    fn stage(&self) -> StepStage {
        StepStage::ReferenceDictionary
    }

    fn prepare_header(&self, header: &mut Header) -> Result<(), StepError> {
        let mut text: Vec<&[u8]> = header.lines().filter(|it| !it.starts_with(b"@SQ\t")).collect();
        let at = usize::from(text.first().is_some_and(|it| it.starts_with(b"@HD")));
        text.splice(at..at, self.lines.iter().map(Vec::as_slice));
        let mut changed = Header::parse(&text.join(&b'\n'))?;
        if self.is_reordered && changed.sort_order() == Some(b"coordinate") {
            changed.set_sort_order("unknown", None);
        }
        *header = changed;
        Ok(())
    }

    fn apply(&self, body: &mut Vec<u8>, _: &mut StepScratch) -> Result<Verdict, StepError> {
        let record = RecordRef::new(body)?;
        let (flags, mate) = (record.flags(), record.mate_reference_id());
        let Some(own) = self.new_id(record.reference_id())? else { return Ok(Verdict::Drop) };
        let new_mate = self.new_id(mate)?;
        set_reference_id(body, own)?;
        set_mate_reference_id(body, new_mate.unwrap_or(-1))?;
        if new_mate.is_none() {
            set_flags(body, flags & !Flags::PROPER_PAIR | Flags::MATE_UNMAPPED)?;
            set_mate_position(body, -1)?;
            set_template_length(body, 0)?;
            remove_tag(body, *b"MC")?;
            remove_tag(body, *b"MQ")?;
        }
        Ok(Verdict::Keep)
    }
}

#[cfg(test)]
#[path = "dictionary_tests.rs"]
mod tests;
