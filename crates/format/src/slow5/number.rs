//! Numbers as SLOW5 text has them: what slow5lib prints, and what it accepts of that form.
//!
//! slow5lib prints floating-point numbers by C's `%f`, then drops zeros at the end, a point that is
//! left behind, and the sign of a zero. It reads integers without `+` and leading zeros, and
//! floating-point numbers of digits, `.` and `-` only. We refuse besides what it takes by accident,
//! such as `1-2`.

use std::io::Write as _;
use std::str::FromStr;

/// Appends an integer.
pub(super) fn append_integer(value: impl std::fmt::Display, out: &mut Vec<u8>) {
    let _ = write!(out, "{value}"); // writing to a Vec cannot fail
}

/// Appends a sample: as [`append_integer`], fast.
pub(super) fn append_sample(sample: i16, out: &mut Vec<u8>) {
    let mut digits = [0_u8; 6];
    let mut start = digits.len();
    let mut rest = sample.unsigned_abs();
    loop {
        start -= 1;
        digits[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if sample < 0 {
        start -= 1;
        digits[start] = b'-';
    }
    out.extend_from_slice(&digits[start..]);
}

/// Appends a number as `%f` without zeros at the end. Must be finite.
pub(super) fn append_float(value: f64, out: &mut Vec<u8>) {
    let start = out.len();
    let _ = write!(out, "{value:.6}"); // as for integers
    while out.last() == Some(&b'0') {
        out.pop();
    }
    if out.last() == Some(&b'.') {
        out.pop();
    }
    if out[start..] == *b"-0" {
        out.remove(start);
    }
}

/// An unsigned integer: digits without a leading zero, within its type.
pub(super) fn parse_unsigned<T: FromStr>(text: &[u8]) -> Option<T> {
    if !text.iter().all(u8::is_ascii_digit) || (text.len() > 1 && text[0] == b'0') {
        return None;
    }
    parse(text)
}

/// An integer: a minus perhaps, then digits; no leading zero, but after a minus.
pub(super) fn parse_signed<T: FromStr>(text: &[u8]) -> Option<T> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let leading_zero = text.len() > 1 && text[0] == b'0';
    if !digits.iter().all(u8::is_ascii_digit) || leading_zero {
        return None;
    }
    parse(text)
}

/// A sample: as [`parse_signed`], fast.
pub(super) fn parse_sample(text: &[u8]) -> Option<i16> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        _ => (false, text),
    };
    if digits.is_empty() || digits.len() > 5 || (digits.len() > 1 && text[0] == b'0') {
        return parse_signed(text); // the rare forms
    }
    let mut value = 0_i32;
    for &digit in digits {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + i32::from(digit);
    }
    i16::try_from(if negative { -value } else { value }).ok()
}

/// A floating-point number of digits, at most one point, perhaps a leading minus; finite.
pub(super) fn parse_float<T: FromStr + Into<f64> + Copy>(text: &[u8]) -> Option<T> {
    if !text.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'-')) {
        return None;
    }
    parse(text).filter(|value: &T| Into::<f64>::into(*value).is_finite())
}

fn parse<T: FromStr>(text: &[u8]) -> Option<T> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn floating_point_text_is_that_of_slow5lib() {
        fn t(value: f64, expected: &str) {
            let mut out = b"x".to_vec();
            append_float(value, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), format!("x{expected}"));
        }
        t(0.0, "0");
        t(-0.0, "0");
        t(8192.0, "8192");
        t(1467.61, "1467.61");
        t(100.0, "100");
        t(0.000_000_4, "0");
        t(0.000_000_6, "0.000001");
        t(-0.000_000_4, "0");
        t(0.5, "0.5");
        t(2.5e-6, "0.000003"); // 2.5e-6 is a little more than its name says
        t(0.000_000_5, "0"); // and this is a little less
        t(1e15, "1000000000000000");
        t(f64::from(f32::MAX), "340282346638528859811704183484516925440");
        t(f64::from(0.1_f32), "0.1");
        t(f64::from(29.214_573_f32), "29.214573");
    }

    #[test]
    fn integers_have_one_form() {
        for bad in ["", "-", "01", "+1", "1 ", "1-", "--1", "1.0", "128", "-129", "a", "00", "1\0"]
        {
            assert_eq!(parse_signed::<i8>(bad.as_bytes()), None, "{bad}");
        }
        for (good, value) in [("0", 0), ("-1", -1), ("-0", 0), ("127", 127), ("-128", -128)] {
            assert_eq!(parse_signed::<i8>(good.as_bytes()), Some(value), "{good}");
        }
        for bad in ["", "-1", "01", "+1", "256"] {
            assert_eq!(parse_unsigned::<u8>(bad.as_bytes()), None, "{bad}");
        }
        assert_eq!(parse_unsigned(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(parse_unsigned::<u64>(b"18446744073709551616"), None);
    }

    #[test]
    fn floating_point_text_has_no_exponent_and_no_names() {
        for bad in ["", ".", "-", "1e5", "nan", "inf", "+1", "1-2", "1.2.3", "0x1"] {
            assert_eq!(parse_float::<f64>(bad.as_bytes()), None, "{bad}");
        }
        for (good, value) in [("1", 1.0), ("-1.5", -1.5), ("5.", 5.0), (".5", 0.5), ("00.5", 0.5)] {
            assert_eq!(parse_float(good.as_bytes()), Some(value), "{good}");
        }
        assert_eq!(parse_float::<f64>("9".repeat(400).as_bytes()), None);
        assert_eq!(parse_float::<f32>("9".repeat(40).as_bytes()), None);
    }

    proptest! {
        #[test]
        fn samples_are_integers(sample: i16, text in "-?[0-9]{0,7}|[-0-9a,]{0,4}") {
            let (mut fast, mut slow) = (Vec::new(), Vec::new());
            append_sample(sample, &mut fast);
            append_integer(sample, &mut slow);
            prop_assert_eq!(&fast, &slow);
            prop_assert_eq!(parse_sample(&fast), Some(sample));
            prop_assert_eq!(parse_sample(text.as_bytes()), parse_signed(text.as_bytes()));
        }
    }
}
