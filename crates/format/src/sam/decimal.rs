//! Whole numbers of SAM text.

/// A decimal number in `lowest..=highest`; nothing but digits and, where there are negative
/// numbers, a sign.
pub(super) fn decimal(text: &[u8], lowest: i64, highest: i64) -> Option<i64> {
    let (sign, digits) = match text {
        [b'-', digits @ ..] if lowest < 0 => (-1, digits),
        [b'+', digits @ ..] if lowest < 0 => (1, digits),
        digits => (1, digits),
    };
    let zeros = digits.iter().take_while(|&&digit| digit == b'0').count();
    let has_digits = !digits.is_empty();
    let digits = &digits[zeros..];
    if !has_digits || digits.len() > 18 {
        return None;
    }
    let mut value = 0_i64;
    for &digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        value = 10 * value + i64::from(digit - b'0');
    }
    let value = sign * value;
    (lowest..=highest).contains(&value).then_some(value)
}
