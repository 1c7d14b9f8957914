//! Natural order of read names, as `samtools sort -n` 1.24 compares them: runs of digits by their
//! value, everything else by bytes. Names that differ in leading zeros alone are equal to it, so
//! that it mixes their records, which nobody could group by name any more: here the one with more
//! zeros where they first differ comes first.
//!
//! A name is a sequence of tokens: a run of digits, or one other byte. Tokens are compared from the
//! left. Two runs: the greater value is greater. A run and another byte: the run counts as its
//! digits. Whatever ends first comes first. A NUL ends a name. (Checked by running it: `a a0 a00
//! a01 a1 a0001a a1b a01z` are in order, and `a0` and `a00`, `a01` and `a1` equal.)

use std::cmp::Ordering;

/// Names are read to their first NUL: they are C strings to samtools.
fn c_string(name: &[u8]) -> &[u8] {
    name.iter().position(|&byte| byte == 0).map_or(name, |end| &name[..end])
}

/// A run of digits at the start of a text.
#[derive(Clone, Copy)]
struct Number<'a> {
    /// How many lead.
    zeros: usize,
    /// Digits after them.
    digits: &'a [u8],
    /// Rest of the name.
    rest: &'a [u8],
}

fn number(text: &[u8]) -> Number<'_> {
    let zeros = text.iter().take_while(|&&byte| byte == b'0').count();
    let digits = text[zeros..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = text[zeros..].split_at(digits);
    Number { zeros, digits, rest }
}

/// Which name comes first.
#[must_use]
pub(crate) fn compare(left: &[u8], right: &[u8]) -> Ordering {
    let (mut left, mut right) = (c_string(left), c_string(right));
    let mut zeros = Ordering::Equal;
    loop {
        let (Some(&a), Some(&b)) = (left.first(), right.first()) else {
            return left.len().cmp(&right.len()).then(zeros);
        };
        if !a.is_ascii_digit() || !b.is_ascii_digit() {
            if a != b {
                return a.cmp(&b);
            }
            (left, right) = (&left[1..], &right[1..]);
            continue;
        }
        let (one, other) = (number(left), number(right));
        let order = one.digits.len().cmp(&other.digits.len());
        let order = order.then_with(|| one.digits.cmp(other.digits));
        if order != Ordering::Equal {
            return order;
        }
        zeros = zeros.then(other.zeros.cmp(&one.zeros));
        (left, right) = (one.rest, other.rest);
    }
}

/// Numbers of this many digits and more have the rest of their length in a byte of its own.
const LONG_NUMBER: usize = 9;

/// Appends text whose byte order is [`compare`]'s, equal where that is: a number becomes a digit
/// that gives its length (so that it compares with other bytes as a digit does) and its digits;
/// after the name there are a NUL and, for each number, 255 less its leading zeros.
pub(crate) fn append_text(name: &[u8], out: &mut Vec<u8>) {
    let mut rest = c_string(name);
    while let Some(&byte) = rest.first() {
        if !byte.is_ascii_digit() {
            out.push(byte);
            rest = &rest[1..];
            continue;
        }
        let Number { digits, rest: after, .. } = number(rest);
        out.push(b'0' + digits.len().min(LONG_NUMBER) as u8);
        if digits.len() >= LONG_NUMBER {
            // BAM names have at most 254 bytes.
            out.push((digits.len() - LONG_NUMBER).min(255) as u8);
        }
        out.extend_from_slice(digits);
        rest = after;
    }
    out.push(0);
    append_zeros(c_string(name), out);
}

/// Appends for each number 255 less its leading zeros.
fn append_zeros(name: &[u8], out: &mut Vec<u8>) {
    let mut rest = name;
    while let Some(start) = rest.iter().position(u8::is_ascii_digit) {
        let Number { zeros, rest: after, .. } = number(&rest[start..]);
        out.push(255 - zeros.min(255) as u8);
        rest = after;
    }
}
