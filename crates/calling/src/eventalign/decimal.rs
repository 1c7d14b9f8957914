//! Numbers as C's `printf` and `ostream` write them, without allocating.

use std::io::Write;

/// Powers of ten that are exact as doubles and leave room for a single's digits.
const TENS: [f64; 10] = [1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];

/// Integers up to here are exact as doubles.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Appends an integer.
pub(crate) fn push_integer(out: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// Appends `%.<decimals>f`. Exact: a single has 24 binary digits and 10^9 has 21 that are not zero,
/// so their product is exact as a double, and ties go to the even digit as in glibc.
pub(crate) fn push_fixed(out: &mut Vec<u8>, value: f32, decimals: usize) {
    push_sign_or_special(out, f64::from(value));
    if value.is_finite() {
        push_scaled(out, f64::from(value.abs()), decimals);
    }
}

/// Appends `%.<decimals>f` of a double. Where the scaled number is so close to a tie that the
/// product may have been rounded over it, the standard library, which computes exactly, decides.
pub(crate) fn push_fixed_double(out: &mut Vec<u8>, value: f64, decimals: usize) {
    push_sign_or_special(out, value);
    if !value.is_finite() {
        return;
    }
    let value = value.abs();
    let scaled = value * TENS.get(decimals).copied().unwrap_or(f64::INFINITY);
    let to_tie = (scaled - scaled.floor() - 0.5).abs();
    if scaled < 1e12 && to_tie > 1e-3 {
        push_scaled(out, value, decimals);
    } else {
        // Writing to a vector does not fail.
        let _ = write!(out, "{value:.decimals$}");
    }
}

/// Appends the sign, and all of what is not finite.
fn push_sign_or_special(out: &mut Vec<u8>, value: f64) {
    if value.is_sign_negative() {
        out.push(b'-');
    }
    if value.is_nan() {
        out.extend_from_slice(b"nan");
    } else if value.is_infinite() {
        out.extend_from_slice(b"inf");
    }
}

/// Appends a number that is not negative.
fn push_scaled(out: &mut Vec<u8>, value: f64, decimals: usize) {
    let scale = TENS.get(decimals).copied().unwrap_or(f64::INFINITY);
    let scaled = (value * scale).round_ties_even();
    if scaled >= EXACT {
        // Writing to a vector does not fail.
        let _ = write!(out, "{value:.decimals$}");
        return;
    }
    let (scaled, scale) = (scaled as u64, scale as u64);
    push_integer(out, scaled / scale);
    if decimals > 0 {
        out.push(b'.');
        push_padded(out, scaled % scale, decimals);
    }
}

/// Appends an integer with leading zeros.
fn push_padded(out: &mut Vec<u8>, mut value: u64, width: usize) {
    let begin = out.len();
    out.resize(begin + width, b'0');
    for digit in out[begin..].iter_mut().rev() {
        *digit = b'0' + (value % 10) as u8;
        value /= 10;
    }
}

/// Digits of `%g`.
const GENERAL_DIGITS: i32 = 6;

/// Appends `%g`, as a C++ stream writes a number: six digits, no zeros at the end.
pub(crate) fn push_general(out: &mut Vec<u8>, value: f32) {
    push_sign_or_special(out, f64::from(value));
    if !value.is_finite() {
        return;
    }
    let value = f64::from(value.abs());
    if value == 0.0 {
        out.push(b'0');
        return;
    }
    let exponent = value.log10().floor() as i32;
    if (-3..GENERAL_DIGITS).contains(&exponent) {
        let decimals = (GENERAL_DIGITS - 1 - exponent) as usize;
        let rounded = (value * TENS[decimals]).round_ties_even();
        // Rounding or the logarithm may have missed the exponent: that is for the slow way.
        if (1e5..1e6).contains(&rounded) {
            let begin = out.len();
            push_scaled(out, value, decimals);
            trim_zeros(out, begin);
            return;
        }
    }
    push_general_slowly(out, value);
}

/// Any number, slowly.
fn push_general_slowly(out: &mut Vec<u8>, value: f64) {
    let text = format!("{value:.*e}", (GENERAL_DIGITS - 1) as usize);
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let begin = out.len();
    if (-4..GENERAL_DIGITS).contains(&exponent) {
        let decimals = (GENERAL_DIGITS - 1 - exponent) as usize;
        out.extend_from_slice(format!("{value:.decimals$}").as_bytes());
        trim_zeros(out, begin);
    } else {
        out.extend_from_slice(digits.as_bytes());
        trim_zeros(out, begin);
        let sign = if exponent < 0 { '-' } else { '+' };
        out.extend_from_slice(format!("e{sign}{:02}", exponent.abs()).as_bytes());
    }
}

/// Removes zeros after the point, and then the point.
fn trim_zeros(out: &mut Vec<u8>, begin: usize) {
    if !out[begin..].contains(&b'.') {
        return;
    }
    while out.last() == Some(&b'0') {
        out.pop();
    }
    if out.last() == Some(&b'.') {
        out.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::process::Command;

    fn text(write: impl Fn(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn numbers_are_written_as_in_c() {
        let f = |value, decimals| text(|out| push_fixed(out, value, decimals));
        assert_eq!(f(0.125, 2), "0.12");
        assert_eq!(f(0.375, 2), "0.38");
        assert_eq!(f(-0.001, 2), "-0.00");
        assert_eq!(f(102.335_f32, 2), "102.33");
        assert_eq!(f(f32::INFINITY, 2), "inf");
        assert_eq!(f(f32::NEG_INFINITY, 2), "-inf");
        assert_eq!(f(0.001, 5), "0.00100");
        assert_eq!(f(16_777_216e12, 1), "16777215931280523264.0");
        let d = |value| text(|out| push_fixed_double(out, value, 2));
        assert_eq!(d(1.005), "1.00");
        assert_eq!(d(0.125), "0.12");
        assert_eq!(d(-130.59), "-130.59");
        let g = |value| text(|out| push_general(out, value));
        assert_eq!(g(0.0), "0");
        assert_eq!(g(100.0), "100");
        assert_eq!(g(85.992_55), "85.9926");
        assert_eq!(g(999_999.5), "1e+06");
        assert_eq!(g(123_456.0), "123456");
        assert_eq!(g(1e-5), "1e-05");
        assert_eq!(g(-0.000_123_456_7), "-0.000123457");
    }

    /// `printf` of the shell takes the same way to glibc as nanopolish does.
    #[test]
    fn the_shells_printf_agrees() {
        let mut state = 1_u32;
        let mut values = Vec::new();
        for _ in 0..300 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let scale = [1e-4, 1e-2, 1.0, 1e3][(state >> 8) as usize % 4];
            values.push((state as f32 / u32::MAX as f32 - 0.5) * scale);
        }
        let exact: Vec<String> = values.iter().map(|v| format!("{:e}", f64::from(*v))).collect();
        for (format, write) in [
            ("%.2f\n", (|out, v| push_fixed(out, v, 2)) as fn(&mut Vec<u8>, f32)),
            ("%.5f\n", |out, v| push_fixed(out, v, 5)),
            ("%.3f\n", |out, v| push_fixed_double(out, f64::from(v), 3)),
            ("%g\n", push_general),
        ] {
            let output = Command::new("printf").arg(format).args(&exact).output().unwrap();
            let expected = String::from_utf8(output.stdout).unwrap();
            for (value, expected) in values.iter().zip(expected.lines()) {
                assert_eq!(text(|out| write(out, *value)), expected, "{format} of {value:e}");
            }
        }
    }

    proptest! {
        #[test]
        fn fixed_is_the_standard_librarys_but_for_ties(bits: u32, decimals in 0..6_usize) {
            let value = f32::from_bits(bits);
            prop_assume!(value.is_finite() && value.abs() < 1e9);
            let ours = text(|out| push_fixed(out, value, decimals));
            prop_assert_eq!(ours, format!("{:.*}", decimals, f64::from(value)));
        }
    }
}
