//! Natural order of read names, as `samtools sort -n` compares them: runs of digits by their value,
//! everything else by bytes. Names that differ in leading zeros alone are in the order of samtools
//! 1.16.1; to 1.24 they are equal, so that it mixes their records, which nobody could group by name
//! any more.
//!
//! A name is a sequence of tokens: a run of digits, or one other byte. Tokens are compared from the
//! left. Two runs: the greater value is greater; equal values with different numbers of leading
//! zeros: more zeros come first. A run and another byte: the run counts as its digits. Whatever
//! ends first comes first. A NUL ends a name. (Checked by running it: `a0001a a001 a01 a01z a1
//! a1b` and `a a000 a00 a0` are in order.)

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
    /// Those behind them.
    digits: &'a [u8],
    /// What follows.
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
    loop {
        let (Some(&a), Some(&b)) = (left.first(), right.first()) else {
            return left.len().cmp(&right.len());
        };
        if !a.is_ascii_digit() || !b.is_ascii_digit() {
            if a != b {
                return a.cmp(&b);
            }
            (left, right) = (&left[1..], &right[1..]);
            continue;
        }
        let (one, other) = (number(left), number(right));
        let order = one
            .digits
            .len()
            .cmp(&other.digits.len())
            .then_with(|| one.digits.cmp(other.digits))
            .then_with(|| other.zeros.cmp(&one.zeros));
        if order != Ordering::Equal {
            return order;
        }
        (left, right) = (one.rest, other.rest);
    }
}

/// Numbers of this many digits and more have the rest of their length in a byte of its own.
const LONG_NUMBER: usize = 9;

/// Appends text whose byte order is [`compare`]'s, equal where that is: a number becomes a digit
/// that tells its length (so that it stands against other bytes as a digit does), its digits, and
/// 255 less its leading zeros.
pub(crate) fn append_text(name: &[u8], out: &mut Vec<u8>) {
    let mut rest = c_string(name);
    while let Some(&byte) = rest.first() {
        if !byte.is_ascii_digit() {
            out.push(byte);
            rest = &rest[1..];
            continue;
        }
        let Number { zeros, digits, rest: behind } = number(rest);
        out.push(b'0' + digits.len().min(LONG_NUMBER) as u8);
        if digits.len() >= LONG_NUMBER {
            // BAM names have at most 254 bytes.
            out.push((digits.len() - LONG_NUMBER).min(255) as u8);
        }
        out.extend_from_slice(digits);
        out.push(255 - zeros.min(255) as u8);
        rest = behind;
    }
}
