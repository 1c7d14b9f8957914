//! The decimal logarithm, correctly rounded.
//!
//! Java's is, on every value that was compared, and the C library's is not. The last bit decides:
//! the reported quality of rows that are added up is `-10 log10` of a rate near 10^(-q/10), and
//! whether it comes out as 17 or as the number just below changes what quality is expected of the
//! sum.
//!
//! Sums and products of pairs of numbers are those of Dekker, "A floating-point technique for
//! extending the available precision", Numerische Mathematik 18 (1971).

/// A number as the sum of two, the second below the last bit of the first.
#[derive(Clone, Copy)]
struct Pair(f64, f64);

/// ln 2.
const LN_2: Pair = Pair(std::f64::consts::LN_2, 2.319_046_813_846_299_6e-17);

/// 1 / ln 10.
const LOG10_E: Pair = Pair(std::f64::consts::LOG10_E, 1.098_319_650_216_765e-17);

impl Pair {
    /// The sum of any two numbers, exactly.
    fn sum(a: f64, b: f64) -> Self {
        let sum = a + b;
        let b_part = sum - a;
        Self(sum, (a - (sum - b_part)) + (b - b_part))
    }

    fn add(self, other: Self) -> Self {
        let high = Self::sum(self.0, other.0);
        let low = Self::sum(self.1, other.1);
        let high = Self::sum(high.0, high.1 + low.0);
        Self::sum(high.0, high.1 + low.1)
    }

    fn multiply(self, other: Self) -> Self {
        let product = self.0 * other.0;
        let rest = self.0.mul_add(other.0, -product);
        Self::sum(product, rest + (self.0 * other.1 + self.1 * other.0))
    }

    fn divide(self, other: Self) -> Self {
        let first = self.0 / other.0;
        let rest = self.add(other.multiply(Self(-first, 0.0)));
        let second = rest.0 / other.0;
        let rest = rest.add(other.multiply(Self(-second, 0.0)));
        Self::sum(first, second).add(Self(rest.0 / other.0, 0.0))
    }
}

/// log10 of a number.
pub(super) fn log10(value: f64) -> f64 {
    if !value.is_normal() || value < 0.0 {
        return value.log10();
    }
    // value = 2^exponent * mantissa, the mantissa from sqrt(1/2) to sqrt(2).
    let bits = value.to_bits();
    let mut exponent = ((bits >> 52) & 0x7ff) as i32 - 1023;
    let mut mantissa = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
    if mantissa > std::f64::consts::SQRT_2 {
        mantissa /= 2.0;
        exponent += 1;
    }
    // ln m = 2 artanh s = 2 (s + s^3/3 + s^5/5 + ...), s = (m - 1) / (m + 1), |s| < 0.172: the
    // terms fall by 34 and more, and the 22nd is below 2^-110.
    let s = Pair::sum(mantissa, -1.0).divide(Pair::sum(mantissa, 1.0));
    let square = s.multiply(s);
    let mut sum = Pair(0.0, 0.0);
    for odd in (1..=43).rev().step_by(2) {
        let term = Pair(1.0, 0.0).divide(Pair(f64::from(odd), 0.0));
        sum = sum.multiply(square).add(term);
    }
    let ln = sum.multiply(s).multiply(Pair(2.0, 0.0));
    let ln = ln.add(LN_2.multiply(Pair(f64::from(exponent), 0.0)));
    let log = ln.multiply(LOG10_E);
    log.0 + log.1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn last_bits() {
        // Bits of Java 17's Math.log10, and of a decimal computation with 60 digits, for the
        // numbers next to 10^(-q/10) that are so many bits away.
        let t = |quality: i32, away: i64, expected: u64| {
            let value = 10_f64.powf(f64::from(quality) / -10.0);
            let value = f64::from_bits(value.to_bits().wrapping_add_signed(away));
            assert_eq!(log10(value).to_bits(), expected, "{quality} {away}");
        };
        t(0, -3, 0xbca4d89c4fdd2bcc);
        t(0, -2, 0xbc9bcb7b1526e50f);
        t(0, -1, 0xbc8bcb7b1526e50f);
        t(2, -1, 0xbfc999999999999c);
        t(2, 0, 0xbfc999999999999a);
        t(2, 1, 0xbfc9999999999997);
        t(3, -2, 0xbfd3333333333337);
        t(3, 2, 0xbfd3333333333330);
        t(4, 0, 0xbfd999999999999b);
        t(4, 1, 0xbfd9999999999999);
        t(5, -1, 0xbfe0000000000001);
        t(6, -2, 0xbfe3333333333335);
        t(30, 0, 0xc008000000000000);
        assert_eq!(log10(1.0), 0.0);
        assert_eq!(log10(10.0), 1.0);
        assert_eq!(log10(1e300), 300.0);
        assert_eq!(log10(0.0), f64::NEG_INFINITY);
        assert!(log10(-1.0).is_nan() && log10(f64::NAN).is_nan());
    }

    proptest! {
        #[test]
        fn near_what_the_library_says(value in 1e-300_f64..1e300, near_one in 0.5_f64..2.0) {
            for value in [value, near_one, 1.0 / near_one] {
                let (ours, theirs) = (log10(value), value.log10());
                prop_assert!((ours - theirs).abs() <= 3e-16 * theirs.abs(), "{}", value);
            }
        }
    }
}
