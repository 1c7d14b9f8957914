//! bwa's arithmetic with fractions: how it rounds, and its logarithm.
//!
//! The functions are those of crate `libm`, on every platform. The C library's differ in the last
//! bit of some results, and nowhere in what bwa makes of them: `tests` compare the integers.

/// Half, but for what bwa leaves out so that a half is rounded down.
const ALMOST_HALF: f64 = 0.499;

/// The integer that bwa takes for a fraction: `.499` more, cut off.
pub(super) fn rounded(value: f64) -> i32 {
    truncated(value + ALMOST_HALF)
}

/// A fraction cut off, as x86-64 does it: the smallest integer for what is none of 32 bits.
pub(super) fn truncated(value: f64) -> i32 {
    const END: f64 = 2_147_483_648.0;
    if value > -END - 1.0 && value < END { value as i32 } else { i32::MIN }
}

/// The natural logarithm.
pub(super) fn log(value: f64) -> f64 {
    libm::log(value)
}

/// What a match scores where an insert size is by chance in 4^score: `.721 = 1 / ln 4`.
const PER_NAT: f64 = 0.721;

/// What an insert size adds to the score of a pair, for matches that score 1: the logarithm, to
/// base 4, of the chance that one is at least so many deviations off the mean.
pub(super) fn insert_score(deviations: f64) -> f64 {
    let off = deviations.abs() * std::f64::consts::FRAC_1_SQRT_2;
    PER_NAT * log(2.0 * libm::erfc(off))
}

/// What so many competitors take from a MAPQ.
pub(super) fn crowd_penalty(competitors: i32) -> i32 {
    rounded(4.343 * log(f64::from(competitors.wrapping_add(1))))
}

/// A MAPQ for a difference of scores, where a match scores `matching`.
pub(super) fn raw_quality(difference: i32, matching: i32) -> i32 {
    rounded(6.02 * f64::from(difference) / f64::from(matching))
}

#[cfg(test)]
mod tests {
    use super::super::oracle::emit::{erfc_of_c, log_of_c};
    use super::*;

    #[test]
    fn a_half_is_rounded_down() {
        fn t(value: f64, expected: i32) {
            assert_eq!(rounded(value), expected, "{value}");
        }
        t(0.5, 0);
        t(0.501, 1);
        t(2.5, 2);
        t(-0.4, 0);
        t(-1.6, -1);
        t(f64::NAN, i32::MIN);
        t(f64::INFINITY, i32::MIN);
        t(f64::NEG_INFINITY, i32::MIN);
    }

    #[test]
    fn penalties_of_competitors_are_those_of_the_c_library() {
        for count in 0..200_000 {
            let of_c = (4.343 * log_of_c(f64::from(count + 1)) + 0.499) as i32;
            assert_eq!(crowd_penalty(count), of_c, "{count}");
        }
    }

    /// Distances of models from narrow to wide; every sum of scores that rounds differently counts.
    #[test]
    fn pair_scores_are_those_of_the_c_library() {
        for step in 0..400 {
            let (mean, deviation) = (50.0 + f64::from(step) * 3.7, 0.3 + f64::from(step) * 0.61);
            for distance in 0..(mean + 8.0 * deviation) as i32 {
                let off = (f64::from(distance) - mean) / deviation;
                let of_c =
                    0.721 * log_of_c(2.0 * erfc_of_c(off.abs() * std::f64::consts::FRAC_1_SQRT_2));
                for scores in [0.0, 61.0, 150.0, 299.0] {
                    let [ours, c] = [insert_score(off), of_c].map(|it| rounded(scores + it));
                    assert_eq!(ours, c, "{distance} of {mean} {deviation}");
                }
            }
        }
    }

    #[test]
    fn logarithms_of_lengths_are_those_of_the_c_library_where_they_show() {
        // As in the MAPQ of a read: an integer over the logarithm, squared, and rounded.
        for length in 50..70_000 {
            for difference in [1, 7, 30, 131] {
                let quality = |log: f64| {
                    let factor = 3.0 / log;
                    rounded(6.02 * f64::from(difference) * factor * factor)
                };
                let length = f64::from(length);
                assert_eq!(quality(log(length)), quality(log_of_c(length)), "{length}");
            }
        }
    }
}
