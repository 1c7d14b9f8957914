//! Indices by definition, and changes of them.

use super::*;
use crate::random::Random;

/// The files of an index by definition.
fn write(folder: &Path, codes: &[u8], stride_log2: u64) -> PathBuf {
    let mut pac: Vec<u8> = codes
        .chunks(4)
        .map(|four| four.iter().enumerate().fold(0, |byte, (i, code)| byte | code << (6 - 2 * i)))
        .collect();
    if codes.len().is_multiple_of(4) {
        pac.push(0);
    }
    pac.push((codes.len() % 4) as u8);
    let mut text = codes.to_vec();
    text.extend(codes.iter().rev().map(|code| 3 - code));
    let mut suffixes: Vec<usize> = (0..=text.len()).collect();
    suffixes.sort_by_key(|&at| &text[at..]);
    let rows = suffixes.len();
    let mut out = (rows as u64).to_le_bytes().to_vec();
    for c in 0..5 {
        let smaller = text.iter().filter(|&&symbol| symbol < c).count() as u64;
        out.extend(smaller.to_le_bytes());
    }
    let mut occ = [0_u64; 4];
    for block in 0..=rows / 64 {
        let mut masks = [0_u64; 4];
        occ.iter().for_each(|count| out.extend(count.to_le_bytes()));
        for (j, &suffix) in suffixes.iter().skip(64 * block).take(64).enumerate() {
            if suffix > 0 {
                let symbol = usize::from(text[suffix - 1]);
                masks[symbol] |= 1 << (63 - j);
                occ[symbol] += 1;
            }
        }
        masks.iter().for_each(|mask| out.extend(mask.to_le_bytes()));
    }
    let samples: Vec<usize> = (0..=rows >> stride_log2)
        .map(|k| suffixes.get(k << stride_log2).copied().unwrap_or(0))
        .collect();
    out.extend(samples.iter().map(|sample| (sample >> 32) as u8));
    samples.iter().for_each(|&sample| out.extend((sample as u32).to_le_bytes()));
    let sentinel = suffixes.iter().position(|&suffix| suffix == 0).unwrap();
    out.extend((sentinel as u64).to_le_bytes());
    out.extend(stride_log2.to_le_bytes());
    write_text_samples(folder, &suffixes);
    let prefix = folder.join("x");
    std::fs::write(folder.join("x.pac"), pac).unwrap();
    std::fs::write(folder.join("x.bwt.2bit.64"), out).unwrap();
    prefix
}

/// A `.tsa` of every fourth position.
fn write_text_samples(folder: &Path, suffixes: &[usize]) {
    let sampled = suffixes.iter().filter(|&suffix| suffix % 4 == 0);
    let bases = suffixes.len() as u64 / 2;
    let header = [0, bases, 0, 2, sampled.clone().count() as u64, 0, 0, 0];
    let mut out: Vec<u8> = header.iter().flat_map(|number| number.to_le_bytes()).collect();
    for block in 0..=suffixes.len() / 64 {
        let rows = suffixes.iter().skip(64 * block).take(64).enumerate();
        let bit = |(row, suffix): (usize, &usize)| u64::from(suffix % 4 == 0) << (63 - row);
        out.extend(rows.map(bit).sum::<u64>().to_le_bytes());
    }
    sampled.for_each(|&suffix| out.extend((suffix as u32 / 4).to_le_bytes()));
    std::fs::write(folder.join("x.tsa"), out).unwrap();
}

#[test]
fn a_right_index_is_proven() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random::new(1);
    for length in [1, 2, 3, 4, 31, 32, 33, 100, 1000, 1001] {
        for alphabet in [1, 2, 4] {
            let codes: Vec<u8> = (0..length).map(|_| random.below(alphabet) as u8).collect();
            for stride_log2 in [0, 3, 5] {
                let prefix = write(folder.path(), &codes, stride_log2);
                let threads = NonZeroUsize::new(1 + length as usize % 3).unwrap();
                let proven = prove(&prefix, threads).unwrap();
                assert_eq!((proven.rows, proven.stride), (2 * length + 1, 1 << stride_log2));
                assert_eq!(proven.text_samples, length / 2 + 1);
            }
        }
    }
}

/// A change of each byte of a file from `first` on is noticed.
fn assert_changes_are_noticed(suffix: &str, first: usize) {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random::new(2);
    let codes: Vec<u8> = (0..300).map(|_| random.below(4) as u8).collect();
    let prefix = write(folder.path(), &codes, 3);
    let path = folder.path().join(format!("x.{suffix}"));
    let right = std::fs::read(&path).unwrap();
    for at in first..right.len() {
        let mut wrong = right.clone();
        wrong[at] ^= 1 << random.below(8);
        std::fs::write(&path, &wrong).unwrap();
        assert!(prove(&prefix, NonZeroUsize::MIN).is_err(), "{suffix}, byte {at}");
    }
}

#[test]
fn a_change_of_any_byte_is_noticed() {
    assert_changes_are_noticed("bwt.2bit.64", 0);
    // The header's checksums are not proven.
    assert_changes_are_noticed("tsa", 64);
}

#[test]
fn text_samples_need_not_be_there() {
    let folder = tempfile::tempdir().unwrap();
    let prefix = write(folder.path(), &[0, 1, 2, 3, 3], 3);
    std::fs::remove_file(folder.path().join("x.tsa")).unwrap();
    assert_eq!(prove(&prefix, NonZeroUsize::MIN).unwrap().text_samples, 0);
}

#[test]
fn rows_in_another_order_are_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random::new(3);
    let codes: Vec<u8> = (0..300).map(|_| random.below(4) as u8).collect();
    let other: Vec<u8> = codes.iter().rev().copied().collect();
    let prefix = write(folder.path(), &codes, 3);
    let pac = std::fs::read(folder.path().join("x.pac")).unwrap();
    write(folder.path(), &other, 3);
    std::fs::write(folder.path().join("x.pac"), pac).unwrap();
    assert!(prove(&prefix, NonZeroUsize::MIN).is_err());
}
