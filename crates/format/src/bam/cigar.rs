//! Codes of CIGAR operations, and what each consumes (SAM specification 1.4.6 and 4.2): a code is
//! its place in [`CIGAR_LETTERS`].

/// Letter of each CIGAR operation (SAM specification 4.2).
pub const CIGAR_LETTERS: &[u8; 9] = b"MIDNSHP=X";

/// M: aligned, equal or not.
pub const MATCH: u8 = 0;
/// I: bases that the reference lacks.
pub const INSERTION: u8 = 1;
/// D: bases that the read lacks.
pub const DELETION: u8 = 2;
/// N: bases of the reference that are left out, as an intron.
pub const SKIP: u8 = 3;
/// S: bases at an end of the read that are not aligned.
pub const SOFT_CLIP: u8 = 4;
/// H: bases at an end of the read that are not in the record.
pub const HARD_CLIP: u8 = 5;
/// P: padding.
pub const PADDING: u8 = 6;
/// =: aligned and equal.
pub const EQUAL: u8 = 7;
/// X: aligned and different.
pub const DIFFERENT: u8 = 8;

/// Longest operation that a record can hold, in bases.
pub const MAX_OP_LENGTH: u32 = (1 << 28) - 1;

/// Bits by code. A look at one is cheaper than comparisons, in loops over whole files.
const READ: u32 = 0b1_1001_0011;
const REFERENCE: u32 = 0b1_1000_1101;

/// M, I, S, =, X. Any other code consumes no base of the read.
#[must_use]
#[inline]
pub const fn consumes_read(code: u8) -> bool {
    READ >> (code & 31) & 1 != 0
}

/// M, D, N, =, X. Any other code consumes no base of the reference.
#[must_use]
#[inline]
pub const fn consumes_reference(code: u8) -> bool {
    REFERENCE >> (code & 31) & 1 != 0
}

/// M, =, X: bases of both.
#[must_use]
#[inline]
pub const fn is_aligned(code: u8) -> bool {
    (READ & REFERENCE) >> (code & 31) & 1 != 0
}

/// S, H.
#[must_use]
#[inline]
pub const fn is_clip(code: u8) -> bool {
    matches!(code, SOFT_CLIP | HARD_CLIP)
}

/// Text that is no CIGAR: a letter without a length, an unknown one, a length of 2^28 or more,
/// digits at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MalformedCigar;

/// The operations of CIGAR text, as codes and lengths; ends after the first that is malformed.
pub fn parse(text: &[u8]) -> impl Iterator<Item = Result<(u8, u32), MalformedCigar>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let op = operation(&rest[..digits], rest.get(digits));
        rest = if op.is_ok() { &rest[digits + 1..] } else { &[] };
        Some(op)
    })
}

fn operation(digits: &[u8], letter: Option<&u8>) -> Result<(u8, u32), MalformedCigar> {
    let code = letter.and_then(|letter| CIGAR_LETTERS.iter().position(|it| it == letter));
    let (Some(code), Some(_)) = (code, digits.first()) else { return Err(MalformedCigar) };
    let length = digits.iter().try_fold(0_u32, |length, digit| {
        let longer = 10 * length + u32::from(digit - b'0');
        if longer <= MAX_OP_LENGTH { Ok(longer) } else { Err(MalformedCigar) }
    })?;
    Ok((code as u8, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_becomes_operations_or_ends() {
        let all = |text: &[u8]| parse(text).collect::<Vec<_>>();
        assert_eq!(all(b""), []);
        assert_eq!(all(b"5S95M"), [Ok((SOFT_CLIP, 5)), Ok((MATCH, 95))]);
        assert_eq!(all(b"268435455N0="), [Ok((SKIP, MAX_OP_LENGTH)), Ok((EQUAL, 0))]);
        for bad in ["*", "M", "3", "3Q", "268435456M", "99999999999999999999M", "-1M", "1 M"] {
            assert_eq!(all(bad.as_bytes()), [Err(MalformedCigar)], "{bad}");
            let after = format!("1M{bad}");
            assert_eq!(all(after.as_bytes()), [Ok((MATCH, 1)), Err(MalformedCigar)], "{bad}");
        }
    }

    #[test]
    fn codes_consume_what_their_letters_do() {
        let all = [
            (MATCH, b'M'),
            (INSERTION, b'I'),
            (DELETION, b'D'),
            (SKIP, b'N'),
            (SOFT_CLIP, b'S'),
            (HARD_CLIP, b'H'),
            (PADDING, b'P'),
            (EQUAL, b'='),
            (DIFFERENT, b'X'),
        ];
        assert_eq!(all.len(), CIGAR_LETTERS.len());
        for (code, letter) in all {
            assert_eq!(CIGAR_LETTERS[usize::from(code)], letter);
            assert_eq!(consumes_read(code), b"MIS=X".contains(&letter));
            assert_eq!(consumes_reference(code), b"MDN=X".contains(&letter));
            assert_eq!(is_aligned(code), b"M=X".contains(&letter));
            assert_eq!(is_clip(code), b"SH".contains(&letter));
        }
        for code in 9..32 {
            assert!(!consumes_read(code) && !consumes_reference(code), "{code}");
        }
    }
}
