//! Codes of CIGAR operations, and what each consumes (SAM specification 1.4.6 and 4.2): a code is
//! its place in [`CIGAR_LETTERS`](super::CIGAR_LETTERS).

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

#[cfg(test)]
mod tests {
    use super::super::CIGAR_LETTERS;
    use super::*;

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
