//! Streams of tokens, by place and kind.

use super::{DIFFERENCE, DIGITS, DIGITS_0, DUPLICATE, KINDS, TYPE};
use crate::integers::push_uint7;
use crate::rans_nx16::{self, Way};

/// Bits of the byte before a stream.
const NEXT_PLACE: u8 = 128;
const SAME_AS: u8 = 64;
/// Bytes of a stream that ways are tried on.
const TRIAL_BYTES: usize = 16 << 10;

const WAYS: [Way; 4] = [Way::PLAIN, Way::IN_CONTEXT, Way::RUNS, Way::PACKED];

/// Bytes of one slice's names, a stream for each place and kind of token.
#[derive(Default)]
pub(super) struct Streams {
    /// Of each place, by kind. After `count` there is memory alone.
    places: Vec<[Vec<u8>; KINDS]>,
    count: usize,
    /// A stream, compressed.
    best: Vec<u8>,
    other: Vec<u8>,
}

impl Streams {
    pub(super) fn clear(&mut self) {
        self.places[..self.count].iter_mut().flatten().for_each(Vec::clear);
        self.count = 0;
    }

    fn stream(&mut self, place: usize, kind: u8) -> &mut Vec<u8> {
        if place >= self.places.len() {
            self.places.resize_with(place + 1, Default::default);
        }
        self.count = self.count.max(place + 1);
        &mut self.places[place][usize::from(kind)]
    }

    pub(super) fn push(&mut self, place: usize, kind: u8, byte: u8) {
        self.stream(place, kind).push(byte);
    }

    pub(super) fn push_word(&mut self, place: usize, kind: u8, word: u32) {
        self.stream(place, kind).extend_from_slice(&word.to_le_bytes());
    }

    /// Adds a token and its kind.
    pub(super) fn push_token(&mut self, place: usize, kind: u8, bytes: &[u8]) {
        self.push(place, TYPE, kind);
        self.stream(place, kind).extend_from_slice(bytes);
    }

    /// Appends all streams, those of a place one after the other, each once.
    pub(super) fn write(&mut self, coder: &mut rans_nx16::Scratch, out: &mut Vec<u8>) {
        let Self { places, count, best, other } = self;
        let mut written: Vec<[u8; 2]> = Vec::new();
        for (place, streams) in places[..*count].iter().enumerate() {
            for (kind, stream) in (0..).zip(streams).filter(|(_, stream)| !stream.is_empty()) {
                let head = if kind == TYPE { kind | NEXT_PLACE } else { kind };
                let is_same = |&&[place, kind]: &&[u8; 2]| {
                    places[usize::from(place)][usize::from(kind)] == *stream
                };
                if let Some(&same) = written.iter().find(is_same) {
                    out.push(head | SAME_AS);
                    out.extend_from_slice(&same);
                    continue;
                }
                written.push([place as u8, kind]);
                compress(kind, stream, coder, [best, other]);
                out.push(head);
                push_uint7(out, best.len());
                out.extend_from_slice(best);
            }
        }
    }
}

/// Replaces `best` by a stream, compressed by the way that makes the first of it shortest.
fn compress(
    kind: u8,
    stream: &[u8],
    coder: &mut rans_nx16::Scratch,
    [best, other]: [&mut Vec<u8>; 2],
) {
    if matches!(kind, DUPLICATE | DIFFERENCE | DIGITS | DIGITS_0) {
        rans_nx16::compress_striped(4, stream, coder, best);
        return;
    }
    let first = &stream[..stream.len().min(TRIAL_BYTES)];
    let mut chosen = Way::PLAIN;
    best.clear();
    for way in WAYS {
        rans_nx16::compress(way, first, coder, other);
        if best.is_empty() || other.len() < best.len() {
            chosen = way;
            std::mem::swap(best, other);
        }
    }
    if first.len() < stream.len() {
        rans_nx16::compress(chosen, stream, coder, best);
    }
}
