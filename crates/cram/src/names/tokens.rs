//! Tokens of a name: letters, digits, and other bytes one by one.

/// Tokens of a name; what is left is the last one. Decoders have 128 places, of which one is that
/// of the name as a whole, and one that of its end.
const MOST_TOKENS: usize = 120;
/// Digits of a number that 32 bits hold.
const MOST_DIGITS: usize = 9;

/// Kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Number(u32),
    /// With zeros before it, or none but these.
    Padded(u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Token {
    /// By how much it is more than an earlier one of its kind, if a byte says it.
    pub(super) fn step_from(&self, earlier: &Self) -> Option<u8> {
        let is_as_long = self.end - self.start == earlier.end - earlier.start;
        let step = match (earlier.kind, self.kind) {
            (Kind::Number(earlier), Kind::Number(number)) => number.checked_sub(earlier)?,
            (Kind::Padded(earlier), Kind::Padded(number)) if is_as_long => {
                number.checked_sub(earlier)?
            }
            _ => return None,
        };
        u8::try_from(step).ok()
    }
}

/// Replaces `tokens` by those of a name.
pub(super) fn tokenise(name: &[u8], tokens: &mut Vec<Token>) {
    tokens.clear();
    let mut start = 0;
    while let Some(&first) = name.get(start) {
        let rest = &name[start..];
        let run = |is_in: fn(&u8) -> bool| rest.iter().take_while(|&byte| is_in(byte)).count();
        let (kind, length) = if tokens.len() + 1 == MOST_TOKENS {
            (Kind::Text, rest.len())
        } else if first.is_ascii_digit() {
            number(&rest[..run(u8::is_ascii_digit)])
        } else {
            (Kind::Text, run(u8::is_ascii_alphabetic).max(1))
        };
        tokens.push(Token { kind, start, end: start + length });
        start += length;
    }
}

/// A number of no more digits than 32 bits hold.
fn number(digits: &[u8]) -> (Kind, usize) {
    let digits = &digits[..digits.len().min(MOST_DIGITS)];
    let number = digits.iter().fold(0, |number, &digit| 10 * number + u32::from(digit - b'0'));
    // A number of 0 by itself, too: htscodecs writes none as digits without zeros before them.
    let is_padded = digits[0] == b'0';
    let kind = if is_padded { Kind::Padded(number) } else { Kind::Number(number) };
    (kind, digits.len())
}
