//! Records in numbers: slices, several references, indices.

use super::*;
use seqloom_testkit::random::Random;

/// Reads of 50 bases, with a mismatch now and then, on sequences of which some are short.
fn reads(count: usize, sequences: &Sequences, random: &mut Random) -> String {
    let mut lines = String::new();
    let places: usize = sequences.iter().map(|(_, bases)| bases.len() - 50).sum();
    let mut left = count;
    for (name, bases) in sequences {
        let here = (count * (bases.len() - 50)).div_ceil(places).min(left);
        left -= here;
        let mut starts: Vec<usize> = (0..here).map(|_| random.index(bases.len() - 50)).collect();
        starts.sort_unstable();
        for (number, start) in starts.into_iter().enumerate() {
            let mut read = bases[start..start + 50].to_owned();
            if random.chance(0.3) {
                let at = random.index(50);
                read.replace_range(at..=at, "N");
            }
            let qualities: String =
                (0..50).map(|_| if random.chance(0.9) { 'F' } else { ':' }).collect();
            lines += &format!(
                "r{name}.{number}\t0\t{name}\t{}\t{}\t50M\t*\t0\t0\t{read}\t{qualities}\tAS:i:{}\n",
                start + 1,
                random.index(61),
                random.index(51),
            );
        }
    }
    lines
}

pub(super) fn genome(lengths: &[usize], random: &mut Random) -> Sequences {
    const NAMES: [&str; 6] = ["s0", "s1", "s2", "s3", "s4", "s5"];
    let bases = |length| (0..length).map(|_| random.pick(&['A', 'C', 'G', 'T'])).collect();
    NAMES.into_iter().zip(lengths.iter().copied().map(bases)).collect()
}

/// The lines of the index as text.
fn index_lines(bytes: &[u8]) -> String {
    use std::io::Read as _;
    let mut text = String::new();
    let mut inflate = std::process::Command::new("gzip")
        .arg("-dc")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut inflate.stdin.take().unwrap(), bytes).unwrap();
    inflate.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    inflate.wait().unwrap();
    text
}

#[test]
fn slices_over_many_references_are_read_and_indexed_as_samtools_does() {
    let mut random = Random::new(11);
    let sequences = genome(&[40_000, 60, 300, 90_000, 70, 30_000], &mut random);
    let mut lines = reads(45_000, &sequences, &mut random);
    for it in 0..1500 {
        lines += &format!("u{it}\t4\t*\t0\t0\t*\t*\t0\t0\tACGTN\tFFFFF\n");
    }
    let input = Input::of(sequences, "", &lines);
    for (version, unit_records) in [(Version::V30, usize::MAX), (Version::V31, 20_011)] {
        let written = input.write(Settings { version, ..USUAL }, unit_records);
        compare(&input, &written);
        let folder = tempfile::tempdir().unwrap();
        input.put(folder.path(), &written);
        for version in SAMTOOLS {
            let Some(samtools) = referees::find("samtools", version) else { continue };
            let count = |region: &str| {
                let arguments = ["view", "-c", "-T", "r.fa", "x.cram", region];
                printed(&samtools, &arguments, folder.path()).trim().parse::<usize>().unwrap()
            };
            let of = |name: &str| input.lines().iter().filter(|it| it.contains(name)).count();
            for name in ["s0", "s1", "s2", "s3", "s4", "s5"] {
                assert_eq!(count(name), of(&format!("\t{name}\t")), "{version} {name}");
            }
            assert_eq!(count("*"), 1500);
            printed(&samtools, &["index", "x.cram", "other.crai"], folder.path());
            let theirs = fs::read(folder.path().join("other.crai")).unwrap();
            assert_eq!(index_lines(&written.index), index_lines(&theirs), "{version}");
        }
    }
}

#[test]
fn records_in_no_order_are_read() {
    let mut random = Random::new(12);
    let sequences = genome(&[3000, 500], &mut random);
    let text = reads(3000, &sequences, &mut random);
    let mut lines: Vec<&str> = text.lines().collect();
    for at in (1..lines.len()).rev() {
        lines.swap(at, random.index(at + 1));
    }
    let input = Input::of(sequences, "", &lines.join("\n"));
    compare(&input, &input.write(USUAL, usize::MAX));
}

#[test]
fn a_unit_ends_in_halves_and_long_reads_fill_slices_by_bases() {
    let records = |count: usize, bases: usize| {
        let read = "A".repeat(bases);
        let line = format!("r\t4\t*\t0\t0\t*\t*\t0\t0\t{read}\t*\n");
        Input::of(Vec::new(), "", &line.repeat(count))
    };
    let sizes = |input: &Input| {
        let read_groups = HashMap::new();
        let referred = Referred { sequences: &[], read_groups: &read_groups };
        let (mut encoder, mut containers) = (Encoder::new(USUAL, referred), Vec::new());
        for body in &input.records {
            encoder.push(&RecordRef::new(body).unwrap(), None, &mut containers).unwrap();
        }
        encoder.finish_unit(&mut containers).unwrap();
        containers.iter().map(|it| it.records() as usize).collect::<Vec<_>>()
    };
    assert!(sizes(&records(0, 1)).is_empty());
    assert_eq!(sizes(&records(12_000, 4)), [12_000]);
    assert_eq!(sizes(&records(12_001, 4)), [6001, 6000]);
    assert_eq!(sizes(&records(24_000, 4)), [12_000, 12_000]);
    assert_eq!(sizes(&records(30_001, 4)), [12_000, 9001, 9000]);
    assert_eq!(sizes(&records(12, 1_000_000)), [5, 5, 2]);
    assert_eq!(sizes(&records(2, 6_000_000)), [1, 1]);
}
