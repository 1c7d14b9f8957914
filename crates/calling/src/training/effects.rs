//! What methylation does to a level, by the letters round M.

use super::letters::Letters;
use super::prior::{Distance, Gaussian, Observation, true_variance};
use super::ridge::{Ridge, Variable};

/// Letters of a place, besides A, that have a coefficient of their own.
const OTHER_LETTERS: &[u8] = b"CGMT";

/// Variance that coefficients are thought to have, in square picoampere.
const COEFFICIENT_VARIANCE: f64 = 25.0;

/// Times that the regression is repeated with weights by what it leaves.
const ROUNDS: usize = 4;

/// Coefficients of a regression over k-mers: of M at each place, and of every other letter at every
/// other place with it.
pub(super) const fn coefficients(kmer_length: usize) -> usize {
    kmer_length * per_place(kmer_length)
}

const fn per_place(kmer_length: usize) -> usize {
    1 + kmer_length * OTHER_LETTERS.len()
}

/// Which coefficients add up to the effect on `kmer`.
fn variables(kmer: &[u8], ones: &mut Vec<Variable>) {
    ones.clear();
    let mut push = |at| ones.push(Variable { at, value: 1.0 });
    let marks = kmer.iter().enumerate().filter(|(_, letter)| **letter == b'M');
    for (mark, _) in marks {
        let first = mark * per_place(kmer.len());
        push(first);
        for (place, letter) in kmer.iter().enumerate().filter(|(place, _)| *place != mark) {
            if let Some(at) = OTHER_LETTERS.iter().position(|other| other == letter) {
                push(first + 1 + place * OTHER_LETTERS.len() + at);
            }
        }
    }
}

/// Levels of methylated k-mers by those of bare ones: the effects are of a regression over those
/// that were seen.
pub(super) fn add(
    letters: Letters,
    ranks: &[usize],
    seen: &[Option<Observation>],
    of_bare: &[Gaussian],
) -> Vec<Gaussian> {
    let (mut kmer, mut ones) = (Vec::new(), Vec::new());
    let size = coefficients(letters.kmer_length);
    let mut effects = vec![0.0; size];
    let mut variance = COEFFICIENT_VARIANCE;
    let mut levels = of_bare.to_vec();
    for _ in 0..ROUNDS {
        let mut ridge = Ridge::new(size, 1.0 / COEFFICIENT_VARIANCE);
        for ((&rank, seen), bare) in ranks.iter().zip(seen).zip(of_bare) {
            let Some(seen) = seen else { continue };
            letters.of(rank, &mut kmer);
            variables(&kmer, &mut ones);
            let of_seeing = bare.stdv_pa * bare.stdv_pa / seen.events;
            ridge.add(&ones, seen.mean_pa - bare.mean_pa, 1.0 / (variance + of_seeing));
        }
        effects = ridge.solve();
        let mut left = Vec::new();
        for (at, &rank) in ranks.iter().enumerate() {
            letters.of(rank, &mut kmer);
            variables(&kmer, &mut ones);
            let effect: f64 = ones.iter().map(|one| effects[one.at]).sum();
            levels[at].mean_pa = of_bare[at].mean_pa + effect;
            if let Some(seen) = seen[at] {
                left.push(Distance {
                    distance: seen.mean_pa - levels[at].mean_pa,
                    variance: of_bare[at].stdv_pa.powi(2) / seen.events,
                });
            }
        }
        // What the coefficients themselves have taken of it.
        let cases = left.len() as f64;
        variance = true_variance(&left) * cases / (cases - size as f64);
    }
    levels
}
