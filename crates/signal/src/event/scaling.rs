//! How a read's levels are scaled to those of the model: a first estimate from moments, and a
//! regression over the events that are aligned to k-mers (nanopolish 0.14's two steps).

use super::{EventRange, Scaling};
use crate::pore_model::PoreModel;

/// Shift and scale that give the events' levels the mean of the model's levels over the read, and
/// the same mean of squares. `var` is 1. Not finite if an event is not, or if either list is empty.
#[must_use]
pub fn from_moments(event_means_pa: &[f32], ranks: &[u32], model: &PoreModel) -> Scaling {
    let levels = ranks.iter().map(|&rank| f64::from(model.level_mean_pa[rank as usize]));
    let (level_sum, level_squares) =
        levels.fold((0.0, 0.0), |(sum, squares), level| (sum + level, squares + level * level));
    let kmers = ranks.len() as f64;
    let events = event_means_pa.len() as f64;
    let event_sum: f64 = event_means_pa.iter().map(|&mean| f64::from(mean)).sum();
    let shift_pa = event_sum / events - level_sum / kmers;
    let event_squares: f64 =
        event_means_pa.iter().map(|&mean| (f64::from(mean) - shift_pa).powi(2)).sum();
    Scaling { shift_pa, scale: (event_squares / events) / (level_squares / kmers), var: 1.0 }
}

/// Shift and scale by least squares over the first event of each k-mer, weighted by the model's
/// variances, and as `var` the root mean square of what remains, in standard deviations. Of
/// consecutive equal k-mers only the first counts: which event is whose cannot be known there.
/// `None` for fewer than `min_events` such events, or levels that are all the same.
#[must_use]
pub fn recalibrate(
    event_means_pa: &[f32],
    of_kmer: &[EventRange],
    ranks: &[u32],
    model: &PoreModel,
    min_events: usize,
) -> Option<Scaling> {
    let first_events = || {
        let mut before = None;
        of_kmer.iter().zip(ranks).filter_map(move |(range, &rank)| {
            let (first, _) = range.get()?;
            let is_new = before.replace(rank) != Some(rank);
            let level = f64::from(model.level_mean_pa[rank as usize]);
            let stdv = f64::from(model.level_stdv_pa[rank as usize]);
            is_new.then(|| (f64::from(event_means_pa[first as usize]), level, 1.0 / (stdv * stdv)))
        })
    };
    // The normal equations: [w, wm; wm, wmm] [shift, scale] = [we, wme].
    let (mut count, mut w, mut wm, mut wmm, mut we, mut wme) = (0, 0.0, 0.0, 0.0, 0.0, 0.0);
    for (event, level, weight) in first_events() {
        count += 1;
        w += weight;
        wm += level * weight;
        wmm += level * level * weight;
        we += event * weight;
        wme += level * event * weight;
    }
    let determinant = w * wmm - wm * wm;
    if count < min_events.max(2) || determinant <= w * wmm * f64::EPSILON {
        return None;
    }
    let shift_pa = (we * wmm - wme * wm) / determinant;
    let scale = (w * wme - wm * we) / determinant;
    let residual = |(event, level, weight): (f64, f64, f64)| {
        (event - shift_pa - scale * level).powi(2) * weight
    };
    let var = (first_events().map(residual).sum::<f64>() / f64::from(count as u32)).sqrt();
    Some(Scaling { shift_pa, scale, var })
}
