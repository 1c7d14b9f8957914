//! Long reads, spliced ones, and those of very many sequences.

use super::many_records::genome;
use super::*;
use seqloom_testkit::random::Random;

/// A read as it is put together along its reference.
struct Walk<'a> {
    bases: &'a str,
    place: usize,
    read: String,
    cigar: String,
}

impl Walk<'_> {
    fn matches(&mut self, count: usize, random: &mut Random) {
        self.read += &self.bases[self.place..self.place + count];
        if random.chance(0.7) {
            let at = self.read.len() - 1 - random.index(count);
            let base = random.pick(&["A", "C", "G", "T", "N"]);
            self.read.replace_range(at..=at, base);
        }
        self.cigar += &format!("{count}M");
        self.place += count;
    }

    fn adds(&mut self, count: usize, operation: char, random: &mut Random) {
        self.read.extend((0..count).map(|_| random.pick(&['A', 'C', 'G', 'T'])));
        self.cigar += &format!("{count}{operation}");
    }

    fn leaves(&mut self, count: usize, operation: char) {
        self.cigar += &format!("{count}{operation}");
        self.place += count;
    }

    fn line(&self, name: &str, start: usize, more: &str, random: &mut Random) -> String {
        let qualities: String =
            self.read.chars().map(|_| char::from(b'!' + random.index(60) as u8)).collect();
        let Self { read, cigar, .. } = self;
        let place = start + 1;
        format!("{name}\t{more}\t{place}\t60\t{cigar}\t*\t0\t0\t{read}\t{qualities}")
    }
}

fn check(sequences: Sequences, lines: &str) {
    let input = Input::of(sequences, "", lines);
    for (version, unit_records) in [(Version::V30, usize::MAX), (Version::V31, 37)] {
        for keeps_mismatch_tags in [false, true] {
            let settings = Settings { version, keeps_mismatch_tags, ..USUAL };
            compare(&input, &input.write(settings, unit_records));
        }
    }
}

#[test]
fn long_reads_full_of_insertions_and_deletions_are_kept() {
    let mut random = Random::new(21);
    let sequences = genome(&[400_000, 60_000], &mut random);
    let mut lines = String::new();
    for (name, bases) in &sequences {
        let mut starts: Vec<usize> = (0..60).map(|_| random.index(bases.len() - 40_000)).collect();
        starts.sort_unstable();
        for (number, start) in starts.into_iter().enumerate() {
            let mut walk = Walk { bases, place: start, read: String::new(), cigar: String::new() };
            let clip = 1 + random.index(300);
            let is_hard = number % 5 == 0;
            if is_hard {
                walk.cigar += &format!("{clip}H");
            } else {
                walk.adds(clip, 'S', &mut random);
            }
            let length = 5_000 + random.index(10_000);
            while walk.place < start + length {
                let count = 1 + random.index(40);
                walk.matches(count, &mut random);
                if random.chance(0.5) {
                    walk.adds(1 + random.index(6), 'I', &mut random);
                } else {
                    walk.leaves(1 + random.index(9), 'D');
                }
            }
            walk.matches(1, &mut random);
            let flags = if is_hard { 2048 + 16 } else { 16 * (number % 2) };
            let line = walk.line(
                &format!("{name}-{number}"),
                start,
                &format!("{flags}\t{name}"),
                &mut random,
            );
            let calls: String = (0..50).map(|_| format!(",{}", random.index(256))).collect();
            let skips: String = (0..50).map(|_| format!(",{}", random.index(4))).collect();
            lines += &format!("{line}\tMM:Z:C+m?{skips};\tML:B:C{calls}\tde:f:0.{number}\n");
        }
    }
    check(sequences, &lines);
}

#[test]
fn spliced_reads_are_kept() {
    let mut random = Random::new(22);
    let sequences = genome(&[2_500_000], &mut random);
    let (name, bases) = &sequences[0];
    let mut lines = String::new();
    let mut starts: Vec<usize> = (0..900).map(|_| random.index(400_000)).collect();
    starts.sort_unstable();
    for (number, start) in starts.into_iter().enumerate() {
        let mut walk = Walk { bases, place: start, read: String::new(), cigar: String::new() };
        for _ in 0..random.index(4) {
            walk.matches(8 + random.index(40), &mut random);
            let most = if random.chance(0.1) { 500_000 } else { 4_000 };
            walk.leaves(20 + random.index(most), 'N');
        }
        walk.matches(30, &mut random);
        let strand = ["+", "-"][number % 2];
        let line = walk.line(&format!("t{number}"), start, &format!("0\t{name}"), &mut random);
        lines += &format!("{line}\tNH:i:1\tXS:A:{strand}\n");
    }
    check(sequences, &lines);
}

#[test]
fn reads_of_thousands_of_sequences_are_kept() {
    let mut random = Random::new(23);
    let (mut sequences, mut lines) = (Sequences::new(), String::new());
    for number in 0..4_000 {
        let name: &'static str = format!("contig_{number}").leak();
        let bases: String =
            (0..60 + random.index(200)).map(|_| random.pick(&['A', 'C', 'G', 'T'])).collect();
        for read in 0..random.index(3) {
            let mut walk =
                Walk { bases: &bases, place: 5, read: String::new(), cigar: String::new() };
            walk.matches(40, &mut random);
            let of = format!("0\t{name}");
            lines += &walk.line(&format!("r{number}.{read}"), 5, &of, &mut random);
            lines.push('\n');
        }
        sequences.push((name, bases));
    }
    check(sequences, &lines);
}
