//! Files that are cut short or changed, or whose counters are false.

use seqloom_testkit::random::Random;

use super::*;
use crate::tests::small_file;

/// Makes a container's CRCs those of its bytes again.
fn mend(file: &mut [u8]) {
    let mut at = DEFINITION_BYTES;
    while at < file.len() {
        let Some(head) = head_of(&file[at..]) else { return };
        let covered = head.head_bytes - 4;
        let checksum = crc32fast::hash(&file[at..at + covered]).to_le_bytes();
        file[at + covered..at + head.head_bytes].copy_from_slice(&checksum);
        let end = (at + head.head_bytes + head.body_bytes).min(file.len());
        mend_blocks(&mut file[at + head.head_bytes..end]);
        at = end;
    }
}

fn mend_blocks(body: &mut [u8]) {
    let mut at = 0;
    while at < body.len() {
        let mut cursor = super::super::cursor::Cursor::new(&body[at..], "a block");
        let Ok([_, _]) = cursor.array::<2>() else { return };
        let sizes = cursor.itf8().and_then(|_| cursor.size()).and_then(|size| {
            cursor.size()?;
            Ok(size)
        });
        let Ok(size) = sizes else { return };
        let end = at + cursor.at() + size;
        if end + 4 > body.len() {
            return;
        }
        let checksum = crc32fast::hash(&body[at..end]).to_le_bytes();
        body[end..end + 4].copy_from_slice(&checksum);
        at = end + 4;
    }
}

/// A header whatever its CRC is.
fn head_of(bytes: &[u8]) -> Option<ContainerHead> {
    let mut bytes = bytes[..bytes.len().min(200)].to_vec();
    for end in 10..bytes.len() - 4 {
        let checksum = crc32fast::hash(&bytes[..end]).to_le_bytes();
        let saved: [u8; 4] = *bytes[end..].first_chunk().unwrap();
        bytes[end..end + 4].copy_from_slice(&checksum);
        if let Ok(Some(head)) = ContainerHead::parse(&bytes)
            && head.head_bytes == end + 4
        {
            return Some(head);
        }
        bytes[end..end + 4].copy_from_slice(&saved);
    }
    None
}

#[test]
fn every_cut_is_found() {
    let (file, sequences) = small_file(300);
    assert!(read_file(&file, &sequences, "x").is_ok());
    for end in 0..file.len() {
        assert!(read_file(&file[..end], &sequences, "x").is_err(), "{end}");
    }
}

#[test]
fn every_changed_byte_is_found() {
    let (file, sequences) = small_file(300);
    let (_, expected) = read_file(&file, &sequences, "x").unwrap();
    for at in 0..file.len() {
        let mut file = file.clone();
        file[at] ^= 0x10;
        // The name of the file, in its definition, is nothing's checksum.
        let is_named = (6..DEFINITION_BYTES).contains(&at);
        match read_file(&file, &sequences, "x") {
            Ok((_, found)) => assert!(is_named && found == expected, "{at}"),
            Err(_) => assert!(!is_named, "{at}"),
        }
    }
}

#[test]
fn changed_bytes_with_good_checksums_do_no_harm() {
    let (file, sequences) = small_file(300);
    let mut random = Random::new(44);
    let (mut good, mut bad) = (0, 0);
    for _ in 0..3000 {
        let mut file = file.clone();
        for _ in 0..random.index(3) + 1 {
            let at = DEFINITION_BYTES + random.index(file.len() - DEFINITION_BYTES);
            file[at] = random.index(256) as u8;
        }
        mend(&mut file);
        match read_file(&file, &sequences, "x") {
            Ok(_) => good += 1,
            Err(_) => bad += 1,
        }
    }
    assert!(good > 0 && bad > 0, "{good} {bad}");
}

#[test]
fn false_counters_are_named() {
    let (file, sequences) = small_file(300);
    let mut at = DEFINITION_BYTES;
    container(&file, &mut at).unwrap();
    let (mut head, body) = container(&file, &mut at).unwrap();
    head.records += 1;
    let sources = Sources {
        sequences: &Bases(vec![sequences.get("s").cloned()]),
        read_groups: &[],
        sequence_count: 1,
        name_prefix: b"x",
    };
    let mut decoder = Decoder::new(MOST_BYTES);
    let fault = decoder.decode(&head, body, sources, &mut Vec::new()).unwrap_err();
    let what = "the number of a container's records";
    assert_eq!(fault.problem, Problem::Count { what, said: 301, found: 300 });
    // And bases that are not the writer's, or not there.
    head.records -= 1;
    let mut other = sequences["s"].clone();
    other.rotate_left(1);
    for (bases, is_there) in [(vec![Some(other)], true), (vec![None], false)] {
        let sources = Sources { sequences: &Bases(bases), ..sources };
        let fault = decoder.decode(&head, body, sources, &mut Vec::new()).unwrap_err();
        match fault.problem {
            Problem::OtherReference { sequence: 0, .. } => assert!(is_there),
            Problem::NoReference { sequence: 0 } => assert!(!is_there),
            other => panic!("{other}"),
        }
    }
    // Memory is bounded.
    let mut small = Decoder::new(1000);
    let fault = small.decode(&head, body, sources, &mut Vec::new()).unwrap_err();
    assert!(matches!(fault.problem, Problem::TooLarge(_)), "{fault:?}");
}
