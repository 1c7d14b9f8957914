//! Picard against ours: CleanSam, AddOrReplaceReadGroups, SetNmMdAndUqTags, FixMateInformation,
//! ReorderSam. Tags are compared as sets: Picard sorts them.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use seqloom_testkit::referees::{PICARD, Picard, compared};
use seqloom_testkit::skip;

use super::hard_data::{HardData, Kind, REFERENCES};
use super::{
    assert_equal_lines, finish, has_samtools, our_lines, read, reference, run, text, their_lines,
    with_sorted_tags,
};
use crate::steps::{
    FixMatesOptions, MismatchTags, ReadGroupMode, ReadGroupOptions, SetMismatchTags, StepOptions,
    Steps,
};

fn find_picard() -> Option<Picard> {
    Picard::find(PICARD[0]).filter(|_| has_samtools())
}

/// Runs a Picard tool from `input` to a SAM file of the same folder.
fn picard(picard: &Picard, tool: &str, input: &Path, arguments: &[&str]) -> PathBuf {
    let output = input.with_extension(format!("{tool}.sam"));
    let mut command = picard.command();
    command.arg(tool).arg(format!("INPUT={}", text(input)));
    command.arg(format!("OUTPUT={}", text(&output)));
    command.args(["VALIDATION_STRINGENCY=SILENT", "QUIET=true"]).args(arguments);
    finish(&mut command);
    output
}

fn sorted_tags(lines: Vec<String>) -> Vec<String> {
    lines.iter().map(|line| with_sorted_tags(line)).collect()
}

const TAME: Kind = Kind { overhang: false, wild: false, gaps: false };

#[test]
fn clean_sam_on_its_own_test_data() {
    let Some(jar) = find_picard() else { return };
    let folder = tempfile::tempdir().unwrap();
    for name in [
        "fits_with_deletion",
        "long_trailing_insertion",
        "overhang_with_deletion",
        "simple_fits",
        "simple_overhang",
        "trailing_insertion",
    ] {
        let Some(path) = skip::data(&format!("bam/picard_testdata/sam/CleanSam/{name}.sam")) else {
            return;
        };
        let input = folder.path().join("in.sam");
        std::fs::copy(&path, &input).unwrap();
        let theirs = their_lines(&picard(&jar, "CleanSam", &input, &[]));
        let (header, records) = read(&input);
        let options = StepOptions { clean_sam: true, ..StepOptions::default() };
        let (ours, _) = our_lines(&options.build(&header).unwrap(), &header, &records);
        let records = assert_equal_lines(name, &sorted_tags(ours), &sorted_tags(theirs));
        compared(&jar.name(), records);
    }
}

#[test]
fn clean_sam_on_hard_data() {
    let Some(jar) = find_picard() else { return };
    let folder = tempfile::tempdir().unwrap();
    let data = HardData::new(11, 5_000, Kind { overhang: true, ..TAME });
    let input = folder.path().join("in.sam");
    let mut kept: Vec<&str> = data.sam.lines().filter(|line| picard_can_clip(line)).collect();
    assert!(kept.len() + 500 > data.records, "{}", kept.len());
    kept.push("");
    std::fs::write(&input, kept.join("\n")).unwrap();
    let theirs = sorted_tags(their_lines(&picard(&jar, "CleanSam", &input, &[])));
    let (header, records) = read(&input);
    let options = StepOptions { clean_sam: true, ..StepOptions::default() };
    let (ours, _) = our_lines(&options.build(&header).unwrap(), &header, &records);
    let ours = sorted_tags(ours);
    let (mut same, mut clipped, mut left_over) = (0, 0, 0);
    for ((ours, theirs), input) in ours.iter().zip(&theirs).zip(&their_lines(&input)) {
        assert!(overhang(ours) <= 0 && mate_overhang(ours) <= 0, "{ours}");
        if overhang(theirs) > 0 || mate_overhang(theirs) > 0 {
            left_over += 1;
            continue;
        }
        // Where no aligned base is left, Picard also loses a leading hard clip.
        let hard = |line: &str| {
            let mate = line.split('\t').find_map(|it| it.strip_prefix("MC:Z:"));
            let own = line.split('\t').nth(5).unwrap();
            sum(&cigar(own), "H") + sum(&cigar(mate.unwrap_or_default()), "H")
        };
        assert_eq!(hard(ours), hard(input), "{ours}");
        if hard(theirs) != hard(input) {
            left_over += 1;
            continue;
        }
        assert_eq!(ours, theirs, "{input}");
        same += 1;
        clipped += usize::from(overhang(input) > 0);
    }
    assert_eq!(ours.len(), theirs.len());
    compared(&jar.name(), same);
    assert!(same > 9_000 && clipped > 200 && left_over < 400, "{same} {clipped} {left_over}");
}

/// CIGAR of a line, as length and letter.
fn cigar(text: &str) -> Vec<(i64, char)> {
    let mut ops = Vec::new();
    let mut length = 0;
    for c in text.chars().filter(|&c| c != '*') {
        match c.to_digit(10) {
            Some(digit) => length = length * 10 + i64::from(digit),
            None => ops.push((std::mem::take(&mut length), c)),
        }
    }
    ops
}

fn sum(ops: &[(i64, char)], letters: &str) -> i64 {
    ops.iter().filter(|&&(_, op)| letters.contains(op)).map(|&(length, _)| length).sum()
}

/// Positions by which an alignment hangs over; 0 or less for one that fits.
fn overhang_of(reference: &str, position: &str, ops: &[(i64, char)]) -> i64 {
    let Some(&(_, length)) = REFERENCES.iter().find(|it| it.0 == reference) else { return 0 };
    // A read without an aligned base may be past the end.
    let span = sum(ops, "MDN=X");
    if span == 0 { 0 } else { position.parse::<i64>().unwrap() - 1 + span - length as i64 }
}

/// The same of a line; 0 for an unmapped read.
fn overhang(line: &str) -> i64 {
    let columns: Vec<&str> = line.split('\t').collect();
    if columns[1].parse::<u16>().unwrap() & 4 != 0 {
        return 0;
    }
    overhang_of(columns[2], columns[3], &cigar(columns[5]))
}

/// The same of its mate, by MC; 0 for an unmapped one.
fn mate_overhang(line: &str) -> i64 {
    let columns: Vec<&str> = line.split('\t').collect();
    let mate_cigar = columns[11..].iter().find_map(|it| it.strip_prefix("MC:Z:"));
    let is_unmapped = columns[1].parse::<u16>().unwrap() & 8 != 0;
    let mate = if columns[6] == "=" { columns[2] } else { columns[6] };
    match mate_cigar.filter(|_| !is_unmapped) {
        Some(text) => overhang_of(mate, columns[7], &cigar(text)),
        None => 0,
    }
}

/// Picard fails, or writes a CIGAR that is too long, where more hangs over than the read or its
/// mate has bases.
fn picard_can_clip(line: &str) -> bool {
    if line.starts_with('@') {
        return true;
    }
    let columns: Vec<&str> = line.split('\t').collect();
    let can = |reference: &str, position: &str, ops: &[(i64, char)]| {
        let trailing = ops.last().filter(|it| it.1 == 'S').map_or(0, |it| it.0);
        sum(ops, "MIS=X") - trailing >= overhang_of(reference, position, ops)
    };
    let mate = if columns[6] == "=" { columns[2] } else { columns[6] };
    let mate_cigar = columns[11..].iter().find_map(|it| it.strip_prefix("MC:Z:"));
    can(columns[2], columns[3], &cigar(columns[5]))
        && mate_cigar.is_none_or(|it| can(mate, columns[7], &cigar(it)))
}

#[test]
fn add_or_replace_read_groups() {
    let Some(jar) = find_picard() else { return };
    let folder = tempfile::tempdir().unwrap();
    let data = HardData::new(12, 2_000, TAME);
    let input = folder.path().join("in.sam");
    std::fs::write(&input, &data.sam).unwrap();
    let arguments = ["RGID=n", "RGLB=l", "RGPL=ILLUMINA", "RGPU=u", "RGSM=s"];
    let output = picard(&jar, "AddOrReplaceReadGroups", &input, &arguments);
    let (header, records) = read(&input);
    let line_or_id = b"@RG\tID:n\tLB:l\tPL:ILLUMINA\tSM:s\tPU:u".to_vec();
    let mode = ReadGroupMode::ReplaceAll;
    let read_group = Some(ReadGroupOptions { line_or_id, mode });
    let options = StepOptions { read_group, ..StepOptions::default() };
    let steps = options.build(&header).unwrap();
    let (ours, _) = our_lines(&steps, &header, &records);
    let theirs = their_lines(&output);
    let records = assert_equal_lines("records", &sorted_tags(ours), &sorted_tags(theirs));
    compared(&jar.name(), records);
    let mut changed = header.clone();
    steps.prepare_header(&mut changed).unwrap();
    let (theirs, _) = read(&output);
    assert_eq!(changed.read_groups(), theirs.read_groups());
}

#[test]
fn set_nm_md_and_uq_tags() {
    let Some(jar) = find_picard() else { return };
    let folder = tempfile::tempdir().unwrap();
    let data = HardData::new(13, 4_000, TAME);
    let input = folder.path().join("in.sam");
    let fasta = folder.path().join("r.fa");
    std::fs::write(&input, &data.sam).unwrap();
    std::fs::write(&fasta, &data.fasta).unwrap();
    let sorted = folder.path().join("sorted.sam");
    run("samtools", &["sort", "--no-PG", "-o", text(&sorted), text(&input)]);
    run("samtools", &["faidx", text(&fasta)]);
    let dict = folder.path().join("r.dict");
    run("samtools", &["dict", "-o", text(&dict), text(&fasta)]);
    let argument = format!("REFERENCE_SEQUENCE={}", text(&fasta));
    let theirs = their_lines(&picard(&jar, "SetNmMdAndUqTags", &sorted, &[&argument]));
    let (header, records) = read(&sorted);
    let mut steps = Steps::new();
    let tags = MismatchTags { nm: true, md: true, uq: true };
    steps.add_record_step(SetMismatchTags::new(reference(&data.fasta, &header), tags));
    let (ours, _) = our_lines(&steps, &header, &records);
    let (mut ours, mut theirs) = (sorted_tags(ours), sorted_tags(theirs));
    let mut whole = 0;
    for (ours, theirs) in ours.iter_mut().zip(&mut theirs) {
        // Picard writes MD in the case of the reference, samtools in capitals; N matches N in
        // Picard and nothing in samtools.
        *theirs = theirs.to_ascii_uppercase();
        *ours = ours.to_ascii_uppercase();
        let md = ours.split('\t').find(|it| it.starts_with("MD:")).unwrap_or_default();
        if md.contains('N') {
            (*ours, *theirs) = (without_nm_and_md(ours), without_nm_and_md(theirs));
        } else {
            whole += 1;
        }
    }
    compared(&jar.name(), assert_equal_lines("SetNmMdAndUqTags", &ours, &theirs));
    assert!(whole > 7_000, "{whole}");
}

fn without_nm_and_md(line: &str) -> String {
    let kept = line.split('\t').filter(|it| !it.starts_with("NM:") && !it.starts_with("MD:"));
    kept.collect::<Vec<_>>().join("\t")
}

#[test]
fn fix_mate_information() {
    let Some(jar) = find_picard() else { return };
    let folder = tempfile::tempdir().unwrap();
    let data = HardData::new(14, 4_000, TAME);
    let input = folder.path().join("in.sam");
    std::fs::write(&input, &data.sam).unwrap();
    let output = picard(&jar, "FixMateInformation", &input, &["SORT_ORDER=queryname"]);
    let (header, records) = read(&input);
    let fix_mates = Some(FixMatesOptions { mate_score: false, ..FixMatesOptions::default() });
    let options = StepOptions { fix_mates, ..StepOptions::default() };
    let (ours, _) = our_lines(&options.build(&header).unwrap(), &header, &records);
    let [ours, theirs] = [ours, their_lines(&output)].map(|it| mates(&it));
    assert!(ours.len() > 6_000, "{}", ours.len());
    compared(&jar.name(), super::assert_same_lines("FixMateInformation", ours, theirs));
}

/// What samtools and Picard agree on of the primary records of each pair: places, flags but that
/// of proper pairs, and MQ and MC where both are mapped.
fn mates(lines: &[String]) -> Vec<String> {
    let flags = |line: &str| line.split('\t').nth(1).unwrap().parse::<u16>().unwrap();
    let name = |line: &str| line.split('\t').next().unwrap().to_owned();
    let mut primaries: HashMap<String, Vec<&String>> = HashMap::new();
    for line in lines.iter().filter(|line| flags(line) & 0x900 == 0) {
        primaries.entry(name(line)).or_default().push(line);
    }
    let describe = |line: &String| {
        let columns: Vec<&str> = line.split('\t').collect();
        let flags = flags(line) & !2;
        let tag = |tag: &str| columns[11..].iter().find(|it| it.starts_with(tag)).copied();
        let both = (flags & 0xc == 0).then(|| [tag("MQ"), tag("MC")]);
        // MAPQ and CIGAR, which samtools takes from unmapped reads.
        let own = (flags & 4 == 0).then(|| &columns[4..6]);
        let places = [&columns[2..4], &columns[6..8]];
        format!("{} {flags} {places:?} {own:?} {both:?} {:?}", columns[0], tag("XI"))
    };
    // Where both are unmapped Picard takes away their places; samtools leaves them.
    let is_pair = |it: &&Vec<&String>| it.len() == 2 && it.iter().any(|it| flags(it) & 4 == 0);
    primaries.values().filter(is_pair).flatten().map(|it| describe(it)).collect()
}

#[test]
fn reorder_sam() {
    let Some(jar) = find_picard() else { return };
    let folder = tempfile::tempdir().unwrap();
    let data = HardData::new(15, 4_000, TAME);
    let input = folder.path().join("in.sam");
    std::fs::write(&input, &data.sam).unwrap();
    let sorted = folder.path().join("sorted.bam");
    run("samtools", &["sort", "--write-index", "--no-PG", "-o", text(&sorted), text(&input)]);
    run("samtools", &["index", text(&sorted)]);
    let dict = folder.path().join("new.dict");
    let lines = "@HD\tVN:1.6\n@SQ\tSN:c3\tLN:20000\n@SQ\tSN:c1\tLN:900\n";
    std::fs::write(&dict, lines).unwrap();
    let arguments = [
        format!("SEQUENCE_DICTIONARY={}", text(&dict)),
        "ALLOW_INCOMPLETE_DICT_CONCORDANCE=true".to_owned(),
    ];
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let theirs = their_lines(&picard(&jar, "ReorderSam", &sorted, &arguments));
    let (header, records) = read(&sorted);
    let dictionary = seqloom_format::bam::Header::parse(lines.as_bytes()).unwrap();
    let options = StepOptions { reference_dictionary: Some(dictionary), ..StepOptions::default() };
    let (ours, _) = our_lines(&options.build(&header).unwrap(), &header, &records);
    // Picard makes unmapped reads of what we remove.
    let identity =
        |line: &String| line.split('\t').find(|it| it.starts_with("XI:")).map(str::to_owned);
    let kept: HashSet<Option<String>> = ours.iter().map(identity).collect();
    let has_lost_mate = |line: &&String| {
        let mate = line.split('\t').nth(6).unwrap();
        mate == "c2" || mate == "c4"
    };
    let input = their_lines(&sorted);
    let lost: HashSet<_> = input.iter().filter(has_lost_mate).map(identity).collect();
    let as_ours = |line: &String| {
        if lost.contains(&identity(line)) { without_mate(line) } else { line.clone() }
    };
    let theirs: Vec<String> =
        theirs.iter().filter(|it| kept.contains(&identity(it))).map(as_ours).collect();
    assert!(ours.len() > 4_000, "{}", ours.len());
    let (ours, theirs) = (sorted_tags(ours), sorted_tags(theirs));
    compared(&jar.name(), super::assert_same_lines("ReorderSam", ours, theirs));
}

/// A record whose mate is gone, as ours has it: Picard leaves the proper-pair flag, TLEN and MQ.
fn without_mate(line: &str) -> String {
    let mut columns: Vec<String> = line.split('\t').map(str::to_owned).collect();
    let flags: u16 = columns[1].parse().unwrap();
    columns[1] = (flags & !2).to_string();
    columns[8] = "0".to_owned();
    columns.retain(|it| !it.starts_with("MQ:"));
    columns.join("\t")
}
