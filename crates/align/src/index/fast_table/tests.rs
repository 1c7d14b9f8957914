//! The tables against their definitions, and their file against damage.

use std::collections::HashMap;
use std::num::NonZeroUsize;

use proptest::prelude::*;

use super::super::packed::Packed;
use super::*;

const TWO: Readers = Readers { threads: NonZeroUsize::new(2).unwrap(), ..Readers::ONE };

fn packed(codes: &[u8]) -> Packed {
    let mut packed = Packed::default();
    codes.iter().for_each(|&code| packed.push(code));
    packed
}

fn pac(packed: &Packed) -> Vec<u8> {
    let mut bytes = Vec::new();
    packed.write_pac(&mut bytes).unwrap();
    bytes.truncate(packed.bases().div_ceil(4) as usize);
    bytes
}

fn make(codes: &[u8], memory_bytes: u64, threads: usize) -> FastTable {
    FastTable::make(&packed(codes), memory_bytes, NonZeroUsize::new(threads).unwrap()).unwrap()
}

fn symbols(codes: &[u8]) -> Vec<u8> {
    codes.iter().copied().chain(codes.iter().rev().map(|code| 3 - code)).collect()
}

/// Texts with repeats: pieces copied, turned round, or of one letter.
pub(in super::super) fn texts() -> impl Strategy<Value = Vec<u8>> {
    let piece = (proptest::collection::vec(0_u8..4, 1..80), 0_u8..4);
    proptest::collection::vec(piece, 1..12).prop_map(|pieces| {
        let mut text: Vec<u8> = Vec::new();
        for (codes, kind) in pieces {
            let back = text[text.len().saturating_sub(60)..].to_vec();
            match kind {
                0 => text.extend(back.iter().rev().map(|code| 3 - code)),
                1 => text.extend(back),
                2 => text.extend(codes.iter().map(|_| codes[0])),
                _ => text.extend(codes),
            }
        }
        text
    })
}

proptest! {
    #[test]
    fn tables_are_what_they_say(codes in texts(), threads in 1_usize..4, memory in 0_u64..100_000) {
        let table = make(&codes, memory, threads);
        prop_assert_eq!(&table, &make(&codes, u64::MAX, 1));
        let text = symbols(&codes);
        let mut seen: HashMap<&[u8], usize> = HashMap::new();
        text.windows(SEED_BASES).for_each(|kmer| *seen.entry(kmer).or_default() += 1);
        for (place, kmer) in text.windows(SEED_BASES).enumerate() {
            let on_one_strand = place + SEED_BASES <= codes.len() || place >= codes.len();
            if on_one_strand {
                prop_assert_eq!(table.repeats().at(place as u64, 1), u64::from(seen[kmer] > 1));
            }
        }
        // Many at once, up to the end of each strand.
        for strand in [0, codes.len()] {
            for first in strand..(strand + codes.len() + 1).saturating_sub(SEED_BASES) {
                let after = (strand + codes.len() + 1 - SEED_BASES - first).min(64);
                for count in [1, after / 2, after].into_iter().filter(|&count| count > 0) {
                    let bit = |at: usize| table.repeats().at((first + at) as u64, 1) << at;
                    let expected = (0..count).fold(0, |bits, at| bits | bit(at));
                    prop_assert_eq!(table.repeats().at(first as u64, count), expected);
                }
            }
        }
        let kmer_table = table.kmer_table();
        let length = kmer_table.kmer_bases();
        for number in 0..1_usize << (2 * length) {
            let kmer: Vec<u8> =
                (0..length).rev().map(|i| (number >> (2 * i) & 3) as u8).collect();
            // A suffix sorts before what it is the start of, as the sentinel is smallest.
            let smaller = (0..text.len()).filter(|&at| text[at..] < kmer[..]).count();
            prop_assert_eq!(kmer_table.first_row(number), smaller as u64 + 1);
            let occurrences = text.windows(length).filter(|found| *found == kmer).count();
            prop_assert_eq!(kmer_table.occurrences(number), occurrences as u64);
        }
        prop_assert_eq!(kmer_table.first_row(1 << (2 * length)), text.len() as u64 + 1);
    }

    #[test]
    fn what_is_written_is_read(codes in texts(), at in any::<prop::sample::Index>()) {
        let table = make(&codes, 0, 1);
        let (packed, folder) = (packed(&codes), tempfile::tempdir().unwrap());
        let (path, pac) = (folder.path().join("x.fast"), pac(&packed));
        let mut bytes = Vec::new();
        table.write(&mut bytes).unwrap();
        std::fs::write(&path, &bytes).unwrap();
        let read = || FastTable::read(&path, &pac, packed.crc(), packed.bases(), TWO);
        prop_assert_eq!(&read().unwrap(), &table);
        // A flipped bit anywhere but in the header's unused end is found.
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << (at % 8);
        std::fs::write(&path, &bytes).unwrap();
        let unused = (36..HEADER_BYTES).contains(&at);
        prop_assert_eq!(read().is_ok(), unused);
        bytes.truncate(at);
        std::fs::write(&path, &bytes).unwrap();
        prop_assert!(read().is_err());
    }
}

#[test]
fn a_table_of_another_genome_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.fast");
    let (one, other) = ([0, 1, 2, 3, 0, 0, 1], [0, 1, 2, 3, 0, 0, 2]);
    let mut bytes = Vec::new();
    make(&one, 0, 1).write(&mut bytes).unwrap();
    std::fs::write(&path, &bytes).unwrap();
    let other = packed(&other);
    let error = FastTable::read(&path, &pac(&other), other.crc(), 7, TWO).unwrap_err();
    assert!(matches!(error, TableError::Foreign(_)), "{error}");
    let missing = FastTable::read(&folder.path().join("y.fast"), &[], 0, 7, TWO).unwrap_err();
    assert!(matches!(missing, TableError::Missing(_)), "{missing}");
}
