//! The name tokeniser, written (CRAM codecs specification, section 5): each name as its difference
//! from the one before it, or as the same as an earlier one; tokens of one place and kind in a
//! stream of their own. `read::codecs::names` has the way back.

mod streams;
mod tokens;

use std::collections::HashMap;

use crate::rans_nx16;
use streams::Streams;
use tokens::{Kind, Token, tokenise};

/// Kinds of tokens.
pub(crate) const TYPE: u8 = 0;
pub(crate) const STRING: u8 = 1;
pub(crate) const CHAR: u8 = 2;
pub(crate) const DIGITS_0: u8 = 3;
pub(crate) const LENGTH_0: u8 = 4;
pub(crate) const DUPLICATE: u8 = 5;
pub(crate) const DIFFERENCE: u8 = 6;
pub(crate) const DIGITS: u8 = 7;
pub(crate) const DELTA: u8 = 8;
pub(crate) const DELTA_0: u8 = 9;
pub(crate) const MATCH: u8 = 10;
pub(crate) const END: u8 = 12;
/// Of these a byte has one.
pub(crate) const KINDS: usize = 13;

/// Memory that calls share.
#[derive(Default)]
pub(crate) struct Scratch {
    streams: Streams,
    /// Of this name and the one before it.
    tokens: Vec<Token>,
    before: Vec<Token>,
    /// Of each place: numbers that were a little more than those before, and others.
    steps: Vec<[u32; 2]>,
}

/// Replaces `out` by compressed `names`, each of which has a NUL after it.
pub(crate) fn compress(
    names: &[u8],
    scratch: &mut Scratch,
    coder: &mut rans_nx16::Scratch,
    out: &mut Vec<u8>,
) {
    let Scratch { streams, tokens, before, steps } = scratch;
    streams.clear();
    steps.clear();
    before.clear();
    let mut seen: HashMap<&[u8], u32> = HashMap::new();
    let mut count = 0_u32;
    let mut last: &[u8] = &[];
    for name in names.strip_suffix(&[0]).unwrap_or(names).split(|&byte| byte == 0) {
        if let Some(earlier) = seen.insert(name, count) {
            streams.push(0, TYPE, DUPLICATE);
            streams.push_word(0, DUPLICATE, count - earlier);
            // What comes next differs from this one.
            tokenise(name, before);
        } else {
            streams.push(0, TYPE, DIFFERENCE);
            streams.push_word(0, DIFFERENCE, u32::from(count > 0));
            tokenise(name, tokens);
            push_difference((tokens, name), (before, last), steps, streams);
            std::mem::swap(tokens, before);
        }
        (last, count) = (name, count + 1);
    }
    out.clear();
    out.extend_from_slice(&(names.len() as u32).to_le_bytes());
    out.extend_from_slice(&count.to_le_bytes());
    // By rANS.
    out.push(0);
    streams.write(coder, out);
}

/// Adds the tokens of a name to the streams, by those of the name before.
fn push_difference(
    (tokens, name): (&[Token], &[u8]),
    (before, last): (&[Token], &[u8]),
    steps: &mut Vec<[u32; 2]>,
    streams: &mut Streams,
) {
    for (at, token) in tokens.iter().enumerate() {
        let place = at + 1;
        let text = &name[token.start..token.end];
        let earlier = before.get(at);
        if earlier.is_some_and(|it| last[it.start..it.end] == *text) {
            streams.push(place, TYPE, MATCH);
            continue;
        }
        if steps.len() <= at {
            steps.resize(at + 1, [0; 2]);
        }
        let step = earlier.and_then(|it| token.step_from(it));
        steps[at][usize::from(step.is_none())] += 1;
        // A place whose numbers seldom go up a little has numbers alone.
        let step = step.filter(|_| steps[at][0] > steps[at][1] / 2);
        match (token.kind, step) {
            (Kind::Number(_), Some(step)) => streams.push_token(place, DELTA, &[step]),
            (Kind::Padded(_), Some(step)) => streams.push_token(place, DELTA_0, &[step]),
            (Kind::Number(number), None) => {
                streams.push_token(place, DIGITS, &number.to_le_bytes());
            }
            (Kind::Padded(number), None) => {
                streams.push_token(place, DIGITS_0, &number.to_le_bytes());
                streams.push(place, LENGTH_0, text.len() as u8);
            }
            (Kind::Text, _) => match text {
                [byte] => streams.push_token(place, CHAR, &[*byte]),
                _ => {
                    streams.push_token(place, STRING, text);
                    streams.push(place, STRING, 0);
                }
            },
        }
    }
    streams.push(tokens.len() + 1, TYPE, END);
}

#[cfg(test)]
mod tests;
