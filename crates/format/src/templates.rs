//! Packed alignment records grouped by template: what an aligner emits and what preparation takes.

/// Consecutive templates, each with its BAM records in emission order.
///
/// `bytes` holds records exactly as a BAM stream does (`u32` block size, then the body), so a
/// stream sink can compress them as they are.
#[derive(Debug, Default)]
pub struct PackedTemplates {
    /// Framed BAM records of all templates.
    pub bytes: Vec<u8>,
    /// `ends[i]` is the offset in `bytes` after the last record of template `i`.
    pub ends: Vec<u32>,
    /// Ordinal of the first template in the input.
    pub first_template: u64,
    /// Number of records in `bytes`.
    pub records: u64,
}

impl PackedTemplates {
    /// Empties the batch, keeping its memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.first_template = 0;
        self.records = 0;
    }

    /// Each template's ordinal and framed records.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &[u8])> + Clone {
        let mut start = 0;
        self.ends.iter().zip(self.first_template..).map(move |(&end, ordinal)| {
            let records = &self.bytes[start as usize..end as usize];
            start = end;
            (ordinal, records)
        })
    }
}
