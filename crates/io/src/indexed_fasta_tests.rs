//! Regions of a FASTA, against samtools where it is installed.

use std::fs;
use std::process::Command;

use proptest::prelude::*;
use seqloom_testkit::skip;

use super::*;

const TEXT: &[u8] = b">a one\nACGT\nacgt\nNN\n>b\nRYK\n>c\n\n";

fn fetched(path: &Path, name: &str, region: Range<u64>) -> Result<String, String> {
    let words = |error: IndexedFastaError| error.to_string();
    let fasta = IndexedFasta::open(path).map_err(words)?;
    let mut out = b"old".to_vec();
    let sequence = fasta.find(name.as_bytes()).unwrap_or(usize::MAX);
    fasta.fetch(&mut TextScratch::default(), sequence, region, &mut out).map_err(words)?;
    Ok(String::from_utf8(out).unwrap())
}

#[test]
fn regions_are_read_without_an_index() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.fa");
    fs::write(&path, TEXT).unwrap();
    let t = |name, region, expected: &str| {
        assert_eq!(fetched(&path, name, region).as_deref(), Ok(expected));
    };
    t("a", 0..10, "ACGTacgtNN");
    t("a", 3..9, "TacgtN");
    t("a", 10..10, "");
    t("b", 1..2, "Y");
    t("c", 0..0, "");
    for (name, region) in [("a", 0..11), ("c", 0..1), ("none", 0..1)] {
        assert!(fetched(&path, name, region).unwrap_err().contains("bases, not"));
    }
    assert!(!folder.path().join("r.fa.fai").exists(), "a file is written that nobody requested");
}

#[test]
fn an_index_that_does_not_fit_its_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.fa");
    let index = |text: &str| fs::write(folder.path().join("r.fa.fai"), text).unwrap();
    let good = "a\t10\t7\t4\t5\nb\t3\t23\t3\t4\nc\t0\t30\t0\t0\n";
    fs::write(&path, TEXT).unwrap();
    index(good);
    assert_eq!(fetched(&path, "b", 0..3).as_deref(), Ok("RYK"));
    for (text, problem) in [
        ("a\t10\t7\t4\t5\nb\t3\t24\t3\t4\nc\t0\t30\t0\t0\n", "the header of b"),
        ("a\t11\t7\t4\t5\nb\t3\t23\t3\t4\nc\t0\t30\t0\t0\n", "the header of b"),
        ("a\t10\t7\t4\t5\n", "has more"),
        ("a\t10\t7\t4\t5\nb\t900\t23\t3\t4\n", "past the end"),
        ("b\t3\t23\t3\t4\na\t10\t7\t4\t5\n", "header of"),
        ("a\t10\t7\t4\n", "line 1"),
    ] {
        index(text);
        let error = fetched(&path, "b", 0..3).unwrap_err();
        assert!(error.contains(problem) && error.contains("r.fa.fai"), "{error}");
    }
    index(good);
    fs::write(&path, [TEXT, b">d\nACGT\n"].concat()).unwrap();
    assert!(fetched(&path, "b", 0..3).unwrap_err().contains("has more"));
}

#[test]
fn an_index_that_is_merely_old_is_used_and_said_to_be() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.fa");
    let index = folder.path().join("r.fa.fai");
    fs::write(&index, "a\t2\t3\t2\t3\n").unwrap();
    fs::write(&path, b">a\nAC\n").unwrap();
    let set = |path: &Path, seconds| {
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
        fs::File::options().append(true).open(path).unwrap().set_modified(time).unwrap();
    };
    set(&index, 1000);
    set(&path, 2000);
    assert_eq!(IndexedFasta::open(&path).unwrap().old_index(), Some(index.as_path()));
    set(&index, 3000);
    assert_eq!(IndexedFasta::open(&path).unwrap().old_index(), None);
}

/// What `samtools faidx` prints for regions, given from 0.
fn samtools(path: &Path, regions: &[(String, Range<u64>)]) -> Vec<String> {
    let words = regions.iter().map(|(name, it)| format!("{name}:{}-{}", it.start + 1, it.end));
    let output = seqloom_testkit::running::words("samtools")
        .arg("faidx")
        .arg(path)
        .args(words)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.split('>').skip(1).map(|it| it.lines().skip(1).collect()).collect()
}

fn is_installed(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        skip::skip(&format!("{program} is not installed"));
    }
    found
}

fn text_of(sequences: &[(usize, usize)], crlf: bool) -> String {
    let (mut text, end) = (String::new(), if crlf { "\r\n" } else { "\n" });
    let mut state = 17_u32;
    for (number, (length, width)) in sequences.iter().enumerate() {
        text += &format!(">s{number} x{end}");
        let bases: Vec<u8> = (0..*length)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                b"ACGTacgtNRY"[(state >> 16) as usize % 11]
            })
            .collect();
        for line in bases.chunks(*width) {
            text += &format!("{}{end}", std::str::from_utf8(line).unwrap());
        }
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn regions_are_those_of_samtools(
        sequences in prop::collection::vec((1_usize..400, 1_usize..90), 1..4),
        regions in prop::collection::vec((any::<prop::sample::Index>(), 0_usize..400, 1_usize..400),
                                         1..5),
        crlf: bool,
        is_compressed: bool,
        keeps_index: bool,
    ) {
        if !is_installed("samtools") || !is_installed("bgzip") {
            return Ok(());
        }
        let folder = tempfile::tempdir().unwrap();
        let mut path = folder.path().join("r.fa");
        fs::write(&path, text_of(&sequences, crlf)).unwrap();
        if is_compressed {
            let status = Command::new("bgzip").arg("-i").arg(&path).status().unwrap();
            prop_assert!(status.success());
            path = folder.path().join("r.fa.gz");
        }
        let regions: Vec<(String, Range<u64>)> = regions.iter().map(|(of, start, length)| {
            let number = of.index(sequences.len());
            let start = start % sequences[number].0;
            let end = (start + length).min(sequences[number].0);
            (format!("s{number}"), start as u64..end as u64)
        }).collect();
        let expected = samtools(&path, &regions);
        if !keeps_index {
            fs::remove_file(path.with_extension(if is_compressed { "gz.fai" } else { "fa.fai" }))
                .unwrap();
            let _ = fs::remove_file(path.with_extension("gz.gzi"));
        }
        for ((name, region), expected) in regions.into_iter().zip(expected) {
            prop_assert_eq!(fetched(&path, &name, region), Ok(expected));
        }
    }
}
