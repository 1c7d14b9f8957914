//! How a read's levels are scaled to those of the model: a first estimate from moments, and a
//! regression over the events that are aligned to k-mers (nanopolish 0.14's two steps).

use super::{EventRange, Scaling};
use crate::pore_model::PoreModel;

/// Shift and scale that give the events' levels the mean of the model's levels over the read, and
/// the same mean of squares. `var` is 1. Not finite if an event is not, or if either list is empty.
#[must_use]
pub(crate) fn from_moments(event_means_pa: &[f32], ranks: &[u32], model: &PoreModel) -> Scaling {
    let levels = ranks.iter().map(|&rank| model.level_mean_pa[rank as usize]);
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
pub(crate) fn recalibrate(
    event_means_pa: &[f32],
    of_kmer: &[EventRange],
    ranks: &[u32],
    model: &PoreModel,
    min_events: usize,
) -> Option<Scaling> {
    let first_events = || {
        let mut before = None;
        of_kmer.iter().zip(ranks).filter_map(move |(range, &rank)| {
            let first = range.get()?.first;
            let is_new = before.replace(rank) != Some(rank);
            let level = model.level_mean_pa[rank as usize];
            let stdv = model.level_stdv_pa[rank as usize];
            is_new.then(|| (f64::from(event_means_pa[first as usize]), level, stdv))
        })
    };
    // The normal equations: [w, wm; wm, wmm] [shift, scale] = [we, wme].
    let (mut count, mut w, mut wm, mut wmm, mut we, mut wme) = (0, 0.0, 0.0, 0.0, 0.0, 0.0);
    for (event, level, stdv) in first_events() {
        let weight = 1.0 / (stdv * stdv);
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
    let [shift_pa, scale] = solve([w, wm, wmm], [we, wme]);
    let residual = |(event, level, stdv): (f64, f64, f64)| {
        (event - shift_pa - scale * level).powi(2) / (stdv * stdv)
    };
    let var = (first_events().map(residual).sum::<f64>() / f64::from(count as u32)).sqrt();
    Some(Scaling { shift_pa, scale, var })
}

/// Solves `[a, b; b, d] x = y` for a positive definite matrix, by elimination with the greater of
/// `a` and `d` as the first pivot. That is what nanopolish's solver does (full pivoting), step by
/// step: another order of operations gives other last bits, and these decide between paths that are
/// as likely as each other.
fn solve([a, b, d]: [f64; 3], y: [f64; 2]) -> [f64; 2] {
    if d > a {
        let [second, first] = solve([d, b, a], [y[1], y[0]]);
        return [first, second];
    }
    let factor = b / a;
    let second = (y[1] - factor * y[0]) / (d - factor * b);
    [(y[0] - b * second) / a, second]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pore_model::Alphabet;

    /// Levels 10, 20, 40, 80 and deviations 1, 2, 1, 2 for A, C, G, T.
    fn model() -> PoreModel {
        let (means, stdvs) = (vec![10.0, 20.0, 40.0, 80.0], vec![1.0, 2.0, 1.0, 2.0]);
        PoreModel::new(String::new(), Alphabet::Nucleotide, 1, means, stdvs).unwrap()
    }

    fn one_each(count: u32) -> Vec<EventRange> {
        (0..count).map(|at| EventRange { first: at, last: at }).collect()
    }

    #[test]
    fn moments_of_a_small_read() {
        // Means 42.5 and 37.5: shift 5. Squares about it: (100 + 400 + 1600 + 6400) / 4, the same.
        let scaling = from_moments(&[15.0, 25.0, 45.0, 85.0], &[0, 1, 2, 3], &model());
        assert_eq!(scaling, Scaling { shift_pa: 5.0, scale: 1.0, var: 1.0 });
        // Ratio of the second moments, without a root: (100 + 900) / 2 to 100, about a shift of 0.
        let scaling = from_moments(&[-10.0, 30.0], &[0], &model());
        assert_eq!(scaling, Scaling { shift_pa: 0.0, scale: 5.0, var: 1.0 });
        assert!(!from_moments(&[], &[0], &model()).shift_pa.is_finite());
        assert!(!from_moments(&[1.0], &[], &model()).shift_pa.is_finite());
    }

    #[test]
    fn a_line_is_found_again() {
        let (model, ranks) = (model(), [0, 1, 2, 3, 0, 3]);
        let line = |rank: &u32| (model.level_mean_pa[*rank as usize] * 1.5 - 3.0) as f32;
        let events: Vec<f32> = ranks.iter().map(line).collect();
        let found = recalibrate(&events, &one_each(6), &ranks, &model, 6).unwrap();
        assert!((found.shift_pa + 3.0).abs() < 1e-9 && (found.scale - 1.5).abs() < 1e-9);
        assert!(found.var < 1e-6, "{found:?}");
        assert_eq!(recalibrate(&events, &one_each(6), &ranks, &model, 7), None);
    }

    #[test]
    fn equations_are_solved_in_the_order_of_full_pivoting() {
        fn t([a, b, d]: [f64; 3], y: [f64; 2], expected: [f64; 2]) {
            assert_eq!(solve([a, b, d], y), expected);
            let [first, second] = expected;
            assert_eq!(solve([d, b, a], [y[1], y[0]]), [second, first]);
        }
        t([2.0, 1.0, 4.0], [4.0, 9.0], [1.0, 2.0]);
        t([4.0, 1.0, 2.0], [6.0, 5.0], [1.0, 2.0]);
        // Cramer's rule gives other last bits here.
        let (a, b, d, y) = (0.3, 1.7, 11.1, [0.7, 2.9]);
        let first = (y[0] - b / d * y[1]) / (a - b / d * b);
        t([a, b, d], y, [first, (y[1] - b * first) / d]);
        assert_ne!(first, (y[0] * d - y[1] * b) / (a * d - b * b));
    }

    #[test]
    fn residuals_are_weighted() {
        // Two events on each of A and C, at equal distances from a line: A's 1 away, C's 2 away,
        // which is one standard deviation each.
        let events = [9.0, 18.0, 11.0, 22.0];
        let found = recalibrate(&events, &one_each(4), &[0, 1, 0, 1], &model(), 2).unwrap();
        assert!(found.shift_pa.abs() < 1e-9 && (found.scale - 1.0).abs() < 1e-9, "{found:?}");
        assert!((found.var - 1.0).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn repeated_kmers_and_kmers_without_events_do_not_count() {
        let model = model();
        // The second A repeats the first, with another k-mer without events between them or not.
        for ranks in [[0, 0, 1, 2], [0, 3, 0, 2]] {
            let mut of_kmer = one_each(4);
            of_kmer[1] = EventRange::NONE;
            let events = [10.0, 0.0, 999.0, 40.0];
            let found = recalibrate(&events, &of_kmer, &ranks, &model, 2);
            if ranks[2] == 0 {
                let found = found.unwrap();
                assert!((found.scale - 1.0).abs() < 1e-9, "{found:?}");
                assert_eq!(recalibrate(&events, &of_kmer, &ranks, &model, 3), None);
            } else {
                assert!(found.unwrap().var > 10.0);
            }
        }
        // One level is no line.
        assert_eq!(recalibrate(&[1.0, 2.0], &one_each(2), &[0, 0], &model, 1), None);
    }
}
