//! A trained model as text.

use std::io::Write;

use super::TrainedModel;
use crate::pore_model::Alphabet;

/// How a model was trained, for its header.
#[derive(Debug, Clone, Copy)]
pub struct TrainingRecord {
    /// Rounds of alignment.
    pub rounds: u32,
    /// Events that a k-mer needed.
    pub min_events: u32,
}

impl TrainedModel {
    /// The model in nanopolish's form: `#` lines, then a line for each k-mer with its level, the
    /// level's deviation, and the number of its events.
    #[must_use]
    pub fn text(&self, record: &TrainingRecord) -> Vec<u8> {
        let (model, k) = (&self.model, self.model.kmer_length);
        let super::MethylatedKmers { trained, imputed, kept } = self.methylated;
        let TrainingRecord { rounds, min_events } = record;
        let mut text = Vec::with_capacity(model.rows() * (k + 24) + 400);
        let mut head = format!("#ont_model_name\t{}\n", model.name);
        if let Some(chemistry) = model.chemistry {
            head += &format!("#kit\t{}\n", chemistry.kit());
        }
        head += &format!("#strand\ttemplate\n#k\t{k}\n#alphabet\t{}\n", self.motif.name());
        head += &format!(
            "#trained_by\tseqloom signal train, {rounds} rounds\n\
             #methylated_kmers\t{trained} trained ({min_events} events or more), {imputed} imputed \
             by regression, {kept} in no molecule\n"
        );
        text.extend_from_slice(head.as_bytes());
        text.extend_from_slice(b"kmer\tlevel_mean\tlevel_stdv\tevents\n");
        for (rank, events) in self.events.iter().enumerate() {
            Alphabet::Methylated.append_kmer(rank, k, &mut text);
            let (mean, stdv) = (model.level_mean_pa[rank], model.level_stdv_pa[rank].max(1e-5));
            // Into memory: there is nothing that can fail.
            let _ = writeln!(text, "\t{mean:.5}\t{stdv:.5}\t{events}");
        }
        text
    }
}
