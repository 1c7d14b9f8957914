//! Welch's t-statistic at every sample of a signal, from prefix sums.
//!
//! One body, compiled twice: for any machine, and for AVX2 and FMA, where a division by the
//! window's width becomes a product and its correction. The corrected quotient is the correctly
//! rounded one (Markstein 1990, "Computation of elementary functions on the IBM RISC System/6000
//! processor"), so both give the same bits.
#![allow(unsafe_code)] // features that are looked for at run time

/// The statistic at each sample between the `window` samples before it and those from it on; 0
/// where one of the windows is not whole. `sums` and `square_sums` are before each sample, and
/// One past the last one.
pub(super) fn statistic(sums: &[f64], square_sums: &[f64], window: usize, out: &mut Vec<f32>) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
        // SAFETY: the machine has AVX2 and FMA, the only features that the function requires.
        unsafe { with_fma(sums, square_sums, window, out) };
        return;
    }
    plain(sums, square_sums, window, out);
}

fn plain(sums: &[f64], square_sums: &[f64], window: usize, out: &mut Vec<f32>) {
    let width = window as f32;
    let divide = |it: f64| it / f64::from(width);
    fill([sums, square_sums], window, out, divide, |it| it / width);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn with_fma(sums: &[f64], square_sums: &[f64], window: usize, out: &mut Vec<f32>) {
    let (width, wide) = (window as f32, window as f64);
    let (inverse, wide_inverse) = (1.0 / width, 1.0 / wide);
    let divide_wide = |it: f64| {
        let quotient = it * wide_inverse;
        (-quotient).mul_add(wide, it).mul_add(wide_inverse, quotient)
    };
    let divide = |it: f32| {
        let quotient = it * inverse;
        (-quotient).mul_add(width, it).mul_add(inverse, quotient)
    };
    fill([sums, square_sums], window, out, divide_wide, divide);
}

#[inline(always)]
fn fill(
    [sums, square_sums]: [&[f64]; 2],
    window: usize,
    out: &mut Vec<f32>,
    divide_wide: impl Fn(f64) -> f64,
    divide: impl Fn(f32) -> f32,
) {
    let samples = sums.len().saturating_sub(1);
    out.resize(samples, 0.0);
    if window < 2 || samples < 2 * window {
        out.fill(0.0);
        return;
    }
    let count = samples - 2 * window + 1;
    out[..window].fill(0.0);
    out[window + count..].fill(0.0);
    let ends = [0, window, 2 * window].map(|start| start..start + count);
    let [s0, s1, s2] = ends.clone().map(|part| &sums[part]);
    let [q0, q1, q2] = ends.map(|part| &square_sums[part]);
    let out = &mut out[window..window + count];
    for at in 0..count {
        // Only the first window's sums are used in 64 bits, as in scrappie.
        let mean_before = divide_wide(s1[at] - s0[at]) as f32;
        let mean_after = divide((s2[at] - s1[at]) as f32);
        let square_before = divide_wide(q1[at] - q0[at]);
        let square_after = divide((q2[at] - q1[at]) as f32);
        let variance = square_before - f64::from(mean_before * mean_before)
            + f64::from(square_after)
            - f64::from(mean_after * mean_after);
        let variance = (variance as f32).max(f32::MIN_POSITIVE);
        out[at] = (mean_after - mean_before).abs() / divide(variance).sqrt();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn prefix_sums(samples: &[f32]) -> [Vec<f64>; 2] {
        let mut sums = [vec![0.0], vec![0.0]];
        for &sample in samples {
            for (sums, add) in sums.iter_mut().zip([sample, sample * sample]) {
                sums.push(sums.last().unwrap() + f64::from(add));
            }
        }
        sums
    }

    #[test]
    fn known_answers() {
        // Means 2 and 7, variances 2/3 and 8/3: 5 / sqrt((2/3 + 8/3) / 3).
        let [sums, squares] = prefix_sums(&[1.0, 2.0, 3.0, 5.0, 7.0, 9.0]);
        let mut out = Vec::new();
        plain(&sums, &squares, 3, &mut out);
        assert_eq!(out.len(), 6);
        assert!((out[3] - 4.743_416_5).abs() < 1e-5, "{out:?}");
        assert!(out.iter().enumerate().all(|(at, &it)| at == 3 || it == 0.0));
        // Too short for two windows, and no samples at all.
        for count in 0..6 {
            let [sums, squares] = prefix_sums(&vec![1.0; count]);
            plain(&sums, &squares, 3, &mut out);
            assert_eq!(out, vec![0.0; count]);
        }
    }

    proptest! {
        #[test]
        fn both_ways_give_the_same_bits(
            raw in prop::collection::vec(any::<i16>(), 0..300),
            unit_pa in 1e-4_f32..2.0,
            window in prop::sample::select(vec![2_usize, 3, 6, 7, 14, 30]),
            flat: bool,
        ) {
            let sample = |&raw: &i16| if flat { f32::from(raw % 8 + 500) } else { f32::from(raw) };
            let samples: Vec<f32> = raw.iter().map(|raw| sample(raw) * unit_pa).collect();
            let [sums, squares] = prefix_sums(&samples);
            let (mut expected, mut found) = (Vec::new(), Vec::new());
            plain(&sums, &squares, window, &mut expected);
            statistic(&sums, &squares, window, &mut found);
            let bits = |it: &[f32]| it.iter().map(|it| it.to_bits()).collect::<Vec<_>>();
            prop_assert_eq!(bits(&found), bits(&expected));
        }
    }
}
