//! A small deterministic generator: xoshiro256++, seeded by splitmix64.
//!
//! Source: D. Blackman, S. Vigna, "Scrambled linear pseudorandom number generators", ACM TOMS 47
//! (2021). Own code instead of a crate, because the same seed must give the same test data for as
//! long as a test quotes a number.

/// A random source. Equal seeds give equal sequences on every machine.
#[derive(Debug, Clone)]
pub struct Random {
    state: [u64; 4],
}

impl Random {
    /// A generator for `seed` (any value, zero included).
    #[must_use]
    pub fn new(seed: u64) -> Random {
        let mut x = seed;
        Random { state: std::array::from_fn(|_| splitmix64(&mut x)) }
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.state;
        let out = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        out
    }

    /// Uniform in `0..n`; 0 when `n` is 0. Multiply-shift: the bias is below `n / 2^64`.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(n)) >> 64) as u64
    }

    /// Uniform index in `0..n`; 0 when `n` is 0.
    pub fn index(&mut self, n: usize) -> usize {
        self.below(n as u64) as usize
    }

    /// True in `chance` of 100 cases.
    pub fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }

    /// One of `from`, which is not empty.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.index(from.len())]
    }

    /// Uniform in `low..=high` (`low` when the range is empty).
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low) + 1)
    }

    /// Uniform in `[0, 1)`, 53 bits.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform in `[low, high)`.
    pub fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// True with probability `share`.
    pub fn chance(&mut self, share: f64) -> bool {
        self.unit() < share
    }

    /// Close to normal: the sum of twelve uniforms (Irwin-Hall), within six `sd` of `mean`.
    pub fn normal(&mut self, mean: f64, sd: f64) -> f64 {
        let sum: f64 = (0..12).map(|_| self.unit()).sum();
        mean + sd * (sum - 6.0)
    }
}

fn splitmix64(x: &mut u64) -> u64 {
    *x = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *x;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seeds_give_equal_sequences_and_other_seeds_others() {
        let draw = |seed| {
            let mut r = Random::new(seed);
            (0..100).map(|_| r.next_u64()).collect::<Vec<_>>()
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }

    #[test]
    fn ranges_hold_and_are_used_up() {
        let mut r = Random::new(1);
        let seen: std::collections::BTreeSet<u64> = (0..1000).map(|_| r.between(3, 9)).collect();
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), vec![3, 4, 5, 6, 7, 8, 9]);
        assert_eq!(r.below(0), 0);
        assert_eq!(r.between(5, 5), 5);
        assert!((0..1000).all(|_| (0.0..1.0).contains(&r.unit())));
    }

    #[test]
    fn normal_has_its_mean_and_deviation() {
        let mut r = Random::new(2);
        let n = 20_000;
        let x: Vec<f64> = (0..n).map(|_| r.normal(400.0, 60.0)).collect();
        let mean = x.iter().sum::<f64>() / f64::from(n);
        let sd = (x.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / f64::from(n)).sqrt();
        assert!((mean - 400.0).abs() < 3.0 && (sd - 60.0).abs() < 3.0, "{mean} {sd}");
    }
}
