//! Training of a model of methylated k-mers on reads whose methylation is known: nanopolish
//! methyltrain's method, with a regression for k-mers that the reads do not have. Reads are
//! [calibrated](Calibration) with a drift, and their events in a row of one k-mer are one
//! [stay](Stay), which is left out if it is far from its level.
//!
//! The model that training [starts](start) from has for each methylated k-mer the level of the bare
//! one. The events of an unmethylated and of a fully methylated control are aligned to the
//! reference with it, what each k-mer's events say is [summed](EventSums), and a [model](train) is
//! made of the sums; then again with that one.
//!
//! Events of a k-mer are combined, by precision, with what is known without them: of a bare k-mer,
//! its level in the model of the four bases; of a methylated one, the bare one's level and what
//! methylation does to it by a regression over the letters round M. How far true levels are from
//! these is measured on the k-mers that have events.

mod calibration;
mod effects;
mod letters;
mod prior;
mod ridge;
mod sums;
mod table;
#[cfg(test)]
mod tests;

pub(crate) use calibration::{AlignedStay, Calibration, Signal};
pub use sums::EventSums;
pub(crate) use sums::Stay;
pub use table::TrainingRecord;

use letters::Letters;
use prior::{Gauge, Gaussian, Observation, Prior};

use crate::Motif;
use crate::pore_model::{Alphabet, ModelError, PoreModel};

/// The model that training starts from: all levels are those of `nucleotides`, M being the bare
/// base of `motif`.
///
/// # Errors
/// [`ModelError::KmerLength`]: with M there are more k-mers than a model may have.
pub fn start(nucleotides: &PoreModel, motif: Motif) -> Result<PoreModel, ModelError> {
    let kmer_length = nucleotides.kmer_length;
    let letters = Letters { motif, kmer_length };
    let rows = Alphabet::Methylated.rows(kmer_length);
    let rows = rows.ok_or(ModelError::KmerLength { kmer_length })?;
    let of = |levels: &[f64]| (0..rows).map(|rank| levels[letters.among_four(rank)]).collect();
    let means_pa = of(&nucleotides.level_mean_pa);
    let stdvs_pa = of(&nucleotides.level_stdv_pa);
    let name = format!("{}.{}", nucleotides.name, motif.name());
    let mut model = PoreModel::new(name, Alphabet::Methylated, kmer_length, means_pa, stdvs_pa)?;
    model.chemistry = nucleotides.chemistry;
    Ok(model)
}

/// Counts of the k-mers with M.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MethylatedKmers {
    /// They have enough events.
    pub trained: u64,
    /// They have fewer: their levels are those of the regression.
    pub imputed: u64,
    /// K-mers with M outside the motif, which no molecule has: their levels are those of the four
    /// bases.
    pub kept: u64,
}

/// A model that was made of events.
#[derive(Debug, Clone)]
pub struct TrainedModel {
    /// The model.
    pub model: PoreModel,
    /// Events of each k-mer.
    pub events: Vec<u32>,
    /// How many k-mers with M were trained.
    pub methylated: MethylatedKmers,
    /// Motif of M.
    pub(crate) motif: Motif,
}

/// Why no model can be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "{found} k-mers {which} methylated base have {min_events} events or more, and {least} are \
     needed"
)]
pub struct TrainingError {
    /// K-mers with enough events.
    found: usize,
    /// Which ones.
    which: &'static str,
    /// Least events of a k-mer.
    min_events: u32,
    /// K-mers that a regression needs.
    least: usize,
}

/// Least events of a k-mer from which there is a deviation.
pub const LEAST_EVENTS: u32 = 2;

/// Makes a model of `sums`, which were taken with the levels of `current`, a model that `start`
/// or this function made for the same `nucleotides` and `motif`. K-mers with at least `min_events`
/// are trained.
///
/// # Errors
/// [`TrainingError`]: there are too few of them.
pub fn train(
    nucleotides: &PoreModel,
    motif: Motif,
    current: &PoreModel,
    sums: &EventSums,
    min_events: u32,
) -> Result<TrainedModel, TrainingError> {
    let kmer_length = current.kmer_length;
    let letters = Letters { motif, kmer_length };
    let min_events = min_events.max(LEAST_EVENTS);
    let observed = |&rank: &usize| {
        let has_enough = sums.events()[rank] >= min_events && sums.stays(rank) >= LEAST_EVENTS;
        has_enough.then(|| Observation::of(sums, current, rank))
    };
    let least = 2 * effects::coefficients(kmer_length);
    let refuse_few = |seen: &[Option<Observation>], which| {
        let found = seen.iter().flatten().count();
        match found < least {
            true => Err(TrainingError { found, which, min_events, least }),
            false => Ok(()),
        }
    };
    let mut model = current.clone();

    let bare = letters.bare();
    let seen: Vec<_> = bare.iter().map(observed).collect();
    refuse_few(&seen, "without a")?;
    let known: Vec<_> =
        bare.iter().map(|&rank| Gaussian::of(nucleotides, letters.among_four(rank))).collect();
    let gauge = Gauge::measured(both(&seen, &known));
    let scaled = |seen: Option<Observation>| seen.map(|seen| gauge.taken_from(seen));
    let seen: Vec<_> = seen.into_iter().map(scaled).collect();
    set_levels(&mut model, &bare, &seen, &known);

    let methylated = letters.methylated();
    let seen: Vec<_> = methylated.iter().map(observed).collect();
    refuse_few(&seen, "with the")?;
    let seen: Vec<_> = seen.into_iter().map(scaled).collect();
    let of_bare: Vec<_> =
        methylated.iter().map(|&rank| Gaussian::of(&model, letters.without(rank))).collect();
    let known = effects::add(letters, &methylated, &seen, &of_bare);
    set_levels(&mut model, &methylated, &seen, &known);

    let trained = seen.iter().flatten().count();
    let methylated = MethylatedKmers {
        trained: trained as u64,
        imputed: (methylated.len() - trained) as u64,
        kept: (model.rows() - bare.len() - methylated.len()) as u64,
    };
    Ok(TrainedModel { model, events: sums.events().to_vec(), methylated, motif })
}

/// The k-mers of which both are there.
fn both(
    seen: &[Option<Observation>],
    known: &[Gaussian],
) -> impl Iterator<Item = (Observation, Gaussian)> {
    seen.iter().zip(known).filter_map(|(seen, known)| Some(((*seen)?, *known)))
}

/// Sets the levels of k-mers by what their events say, if they have enough, and what is known
/// without them.
fn set_levels(
    model: &mut PoreModel,
    ranks: &[usize],
    seen: &[Option<Observation>],
    known: &[Gaussian],
) {
    let prior = Prior::measured(both(seen, known));
    for ((&rank, seen), known) in ranks.iter().zip(seen).zip(known) {
        let Gaussian { mean_pa, stdv_pa } = prior.combined(*known, *seen);
        model.level_mean_pa[rank] = mean_pa;
        model.level_stdv_pa[rank] = stdv_pa;
        model.level_log_stdv[rank] = stdv_pa.ln();
    }
}

/// Bytes that training a model with so many rows takes: sums, the model of the round before and
/// that of this one, and what is known and was seen of each k-mer.
#[must_use]
pub const fn training_bytes(rows: usize) -> u64 {
    let model = 3 * size_of::<f64>();
    let of_kmer = size_of::<usize>() + size_of::<Option<Observation>>() + 2 * size_of::<Gaussian>();
    EventSums::bytes(rows) + (rows * (2 * model + of_kmer + size_of::<u32>())) as u64
}
