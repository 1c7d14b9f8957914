//! The smallest value of a function of a few parameters: Nelder and Mead 1965, with their
//! coefficients (1, 2, 1/2, 1/2), begun again where it ended. No derivatives, no chance.

/// Steps of one descent for each parameter.
const STEPS_PER_PARAMETER: usize = 80;
/// Descents, each begun where the one before ended: a collapsed simplex is made anew.
const DESCENTS: usize = 3;

/// Parameters at which `cost` is smallest, looked for from `start` with first steps of `step`.
#[must_use]
pub(crate) fn smallest(start: &[f64], step: f64, cost: impl Fn(&[f64]) -> f64) -> Vec<f64> {
    let mut best = start.to_vec();
    for descent in 0..DESCENTS {
        best = descend(&best, step / (1 << descent) as f64, &cost);
    }
    best
}

type Corner = (f64, Vec<f64>);

fn descend(start: &[f64], step: f64, cost: &impl Fn(&[f64]) -> f64) -> Vec<f64> {
    let corner = |at: Vec<f64>| (finite(cost(&at)), at);
    let mut corners: Vec<Corner> = vec![corner(start.to_vec())];
    for axis in 0..start.len() {
        let mut at = start.to_vec();
        at[axis] += step;
        corners.push(corner(at));
    }
    for _ in 0..STEPS_PER_PARAMETER * start.len() {
        corners.sort_by(|a, b| a.0.total_cmp(&b.0));
        better(&mut corners, &corner);
    }
    corners.sort_by(|a, b| a.0.total_cmp(&b.0));
    corners.swap_remove(0).1
}

/// A cost that is no number is the worst of all.
fn finite(cost: f64) -> f64 {
    if cost.is_finite() { cost } else { f64::MAX }
}

/// One step: the worst corner is mirrored, stretched or drawn in, or all are drawn to the best.
fn better(corners: &mut [Corner], corner: &impl Fn(Vec<f64>) -> Corner) {
    let Some((worst, others)) = corners.split_last_mut() else { return };
    let (Some(best), Some(second)) = (others.first(), others.last()) else { return };
    let middle =
        |axis: usize| others.iter().map(|(_, at)| at[axis]).sum::<f64>() / others.len() as f64;
    let along = |times: f64| {
        let place = |axis: usize| middle(axis) + times * (worst.1[axis] - middle(axis));
        corner((0..worst.1.len()).map(place).collect())
    };
    let mirrored = along(-1.0);
    let next = if mirrored.0 < best.0 {
        let stretched = along(-2.0);
        if stretched.0 < mirrored.0 { stretched } else { mirrored }
    } else if mirrored.0 < second.0 {
        mirrored
    } else {
        along(if mirrored.0 < worst.0 { -0.5 } else { 0.5 })
    };
    if next.0 < worst.0 {
        *worst = next;
        return;
    }
    let best = best.1.clone();
    for (_, at) in corners.iter_mut().skip(1) {
        for (value, to) in at.iter_mut().zip(&best) {
            *value = (*value + to) / 2.0;
        }
    }
    for it in corners.iter_mut().skip(1) {
        *it = corner(std::mem::take(&mut it.1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bottom_of_a_bent_valley_is_found() {
        // Rosenbrock 1960.
        let found = smallest(&[-1.2, 1.0], 0.5, |p| {
            100.0 * (p[1] - p[0] * p[0]).powi(2) + (1.0 - p[0]).powi(2)
        });
        assert!((found[0] - 1.0).abs() < 1e-3 && (found[1] - 1.0).abs() < 1e-3, "{found:?}");
    }

    #[test]
    fn edges_and_places_without_a_value_are_got_round() {
        let found = smallest(&[3.0, 4.0, 5.0], 1.0, |p| {
            if p[0] < 1.0 { f64::NAN } else { p.iter().map(|x| x.abs()).sum() }
        });
        assert!((found[0] - 1.0).abs() < 0.05, "{found:?}");
        assert!(found[1].abs() < 0.05 && found[2].abs() < 0.05, "{found:?}");
    }

    #[test]
    fn one_parameter_and_none_will_do() {
        assert!((smallest(&[9.0], 1.0, |p| (p[0] - 2.0).abs())[0] - 2.0).abs() < 1e-3);
        assert!(smallest(&[], 1.0, |_| 0.0).is_empty());
    }
}
