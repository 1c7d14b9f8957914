//! samtools against ours: fixmate, calmd, addreplacerg, view.

use std::collections::HashSet;
use std::path::PathBuf;

use seqloom_format::bam::{Header, cigar};
use seqloom_format::bed::BedIntervals;
use seqloom_testkit::referees;
use seqloom_testkit::skip;
use tempfile::TempDir;

use super::hard_data::{HardData, Kind};
use super::{has_samtools, lines_of, our_lines, read, reference, run, text, their_lines};
use crate::steps::{
    FixMatesOptions, MismatchTags, ReadGroupMode, ReadGroupOptions, SetMismatchTags, StepOptions,
    Steps,
};

/// Fails unless the lines are samtools', in order; gives their number.
fn assert_equal_lines(what: &str, ours: &[String], theirs: &[String]) -> usize {
    referees::compared(&referees::name_of(&referees::path_of("samtools")), ours.len());
    super::assert_equal_lines(what, ours, theirs)
}

/// Random data in a folder: reference and SAM.
struct Files {
    _folder: TempDir,
    data: HardData,
    fasta: PathBuf,
    sam: PathBuf,
}

fn hard_files(seed: u64, templates: usize, kind: Kind) -> Files {
    let folder = tempfile::tempdir().unwrap();
    let data = HardData::new(seed, templates, kind);
    let (fasta, sam) = (folder.path().join("r.fa"), folder.path().join("in.sam"));
    std::fs::write(&fasta, &data.fasta).unwrap();
    std::fs::write(&sam, &data.sam).unwrap();
    Files { _folder: folder, data, fasta, sam }
}

const WILD: Kind = Kind { overhang: true, wild: true, gaps: true };

fn fix_mates(options: FixMatesOptions) -> StepOptions {
    StepOptions { fix_mates: Some(options), ..StepOptions::default() }
}

/// Every option of fixmate and its arguments.
fn fixmate_cases() -> Vec<(Vec<&'static str>, FixMatesOptions)> {
    let plain = FixMatesOptions { mate_score: false, ..FixMatesOptions::default() };
    vec![
        (vec![], plain),
        (vec!["-m"], FixMatesOptions::default()),
        (vec!["-m", "-p"], FixMatesOptions { proper_pair_check: false, ..Default::default() }),
        (vec!["-m", "-c"], FixMatesOptions { template_cigar: true, ..Default::default() }),
        (vec!["-r"], FixMatesOptions { remove_unmapped: true, ..plain }),
        (
            vec!["-m", "-r", "-c"],
            FixMatesOptions { template_cigar: true, remove_unmapped: true, ..Default::default() },
        ),
    ]
}

/// Templates with a deletion, a skip or padding past the end of the reference: samtools 1.24 clips
/// as many bases as these are long, and its CIGAR is longer than the read.
fn with_gaps_past_the_end(header: &Header, input: &[String]) -> HashSet<String> {
    let length = |name: &str| header.references().iter().find(|it| it.name == name);
    let has_gap = |columns: &[&str]| {
        let Some(reference) = length(columns[2]) else { return false };
        let mut position = columns[3].parse::<i64>().unwrap() - 1;
        let mut is_past = false;
        cigar::parse(columns[5].as_bytes()).map_while(Result::ok).any(|(code, count)| {
            if cigar::consumes_reference(code) {
                position += i64::from(count);
            }
            is_past |= position > i64::from(reference.length);
            is_past && !cigar::consumes_read(code) && code != cigar::HARD_CLIP
        })
    };
    let columns = input.iter().map(|line| line.split('\t').collect::<Vec<_>>());
    columns.filter(|it| has_gap(it)).map(|it| it[0].to_owned()).collect()
}

/// Compares with what samtools writes, in its order; gives the number of records.
fn equals_fixmate(
    what: &str,
    gaps: &HashSet<String>,
    ours: Vec<String>,
    theirs: Vec<String>,
) -> usize {
    let good = |lines: Vec<String>| -> Vec<String> {
        let is_good = |line: &String| !gaps.contains(line.split('\t').next().unwrap());
        lines.into_iter().filter(is_good).collect()
    };
    let all = theirs.len();
    let (ours, theirs) = (good(ours), good(theirs));
    assert!(5 * theirs.len() >= 4 * all, "{what}: {} of {all} records compared", theirs.len());
    assert_equal_lines(what, &ours, &theirs)
}

#[test]
fn fixmate_on_hard_data() {
    if !has_samtools() {
        return;
    }
    for (seed, kind) in [(1, WILD), (2, Kind { wild: false, ..WILD })] {
        let files = hard_files(seed, 6_000, kind);
        let (header, records) = read(&files.sam);
        let gaps = with_gaps_past_the_end(&header, &lines_of(files.data.sam.as_bytes()));
        for (arguments, options) in fixmate_cases() {
            let fixmate = ["fixmate", "--no-PG", "-O", "sam"];
            let arguments = [&fixmate[..], &arguments, &[text(&files.sam), "-"]].concat();
            let theirs = lines_of(&run("samtools", &arguments));
            let steps = fix_mates(options).build(&header).unwrap();
            let (ours, counts) = our_lines(&steps, &header, &records);
            assert_eq!(counts.examined as usize, files.data.records);
            equals_fixmate(&format!("{arguments:?}"), &gaps, ours, theirs);
        }
    }
}

#[test]
fn fixmate_on_real_files() {
    if !has_samtools() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut checked = 0;
    for (name, by_name) in [
        ("bam/samtools_test/fixmate/2_isize_overflow.sam", true),
        ("bam/samtools_test/fixmate/3_reverse_read_pp_lt.sam", true),
        ("bam/samtools_test/fixmate/4_reverse_read_pp_equal.sam", true),
        ("bam/samtools_test/fixmate/5_ct.sam", true),
        ("bam/samtools_test/fixmate/6_ct_replace.sam", true),
        ("bam/samtools_test/fixmate/7_two_read_mapped.sam", true),
        ("bam/picard_testdata/sam/FixMateInformation/missingMate.sam", false),
        ("bam/htsjdk_testdata/samtools/cram/NA12878.20.21.unmapped.orig.bam", false),
    ] {
        let Some(path) = skip::data(name) else { return };
        let grouped = folder.path().join("grouped.bam");
        if by_name {
            run("samtools", &["view", "--no-PG", "-b", "-o", text(&grouped), text(&path)]);
        } else {
            run("samtools", &["sort", "-n", "--no-PG", "-o", text(&grouped), text(&path)]);
        }
        let (header, records) = read(&grouped);
        let gaps = with_gaps_past_the_end(&header, &their_lines(&grouped));
        for (arguments, options) in fixmate_cases() {
            let fixmate = ["fixmate", "--no-PG", "-O", "sam"];
            let arguments = [&fixmate[..], &arguments, &[text(&grouped), "-"]].concat();
            let theirs = lines_of(&run("samtools", &arguments));
            let steps = fix_mates(options).build(&header).unwrap();
            let (ours, _) = our_lines(&steps, &header, &records);
            checked += equals_fixmate(&format!("{name} {arguments:?}"), &gaps, ours, theirs);
        }
    }
    assert!(checked > 70_000, "{checked}");
}

fn mismatch_steps(fasta: &str, header: &Header, uq: bool) -> Steps {
    let mut steps = Steps::new();
    let tags = MismatchTags { nm: true, md: true, uq };
    steps.add_record_step(SetMismatchTags::new(reference(fasta, header), tags));
    steps
}

#[test]
fn calmd_on_hard_data() {
    if !has_samtools() {
        return;
    }
    for (seed, kind) in [(3, WILD), (4, Kind { overhang: false, ..WILD })] {
        let files = hard_files(seed, 6_000, kind);
        let (header, records) = read(&files.sam);
        let arguments = ["calmd", "--no-PG", "-Q", text(&files.sam), text(&files.fasta)];
        let theirs = lines_of(&run("samtools", &arguments));
        let steps = mismatch_steps(&files.data.fasta, &header, false);
        let (ours, _) = our_lines(&steps, &header, &records);
        assert_equal_lines("calmd", &ours, &theirs);
    }
}

#[test]
fn calmd_on_real_files() {
    if !has_samtools() || skip::data("bam").is_none() {
        return;
    }
    let mut checked = 0;
    for (records, fasta) in [
        ("bam/htslib_test/realn02.sam", "bam/htslib_test/realn02.fa"),
        ("bam/htslib_test/realn01.sam", "bam/htslib_test/realn01.fa"),
        ("bam/htslib_test/md#1.sam", "bam/htslib_test/md.fa"),
        ("bam/samtools_test/dat/mpileup.1.sam", "bam/samtools_test/dat/mpileup.ref.fa"),
        ("bam/samtools_test/dat/view.001.sam", "bam/samtools_test/dat/view.001.fa"),
        ("bam/samtools_test/dat/view.002.sam", "bam/samtools_test/dat/view.002.fa"),
    ] {
        let (Some(path), Some(fasta)) = (skip::data(records), skip::data(fasta)) else { continue };
        // calmd writes an index next to the reference.
        let folder = tempfile::tempdir().unwrap();
        let copy = folder.path().join("r.fa");
        std::fs::copy(&fasta, &copy).unwrap();
        let (header, bytes) = read(&path);
        let theirs =
            lines_of(&run("samtools", &["calmd", "--no-PG", "-Q", text(&path), text(&copy)]));
        let steps = mismatch_steps(&std::fs::read_to_string(&fasta).unwrap(), &header, false);
        let (ours, _) = our_lines(&steps, &header, &bytes);
        checked += assert_equal_lines(records, &ours, &theirs);
    }
    assert!(checked > 0);
}

#[test]
fn addreplacerg() {
    if !has_samtools() {
        return;
    }
    let files = hard_files(5, 4_000, WILD);
    let (header, records) = read(&files.sam);
    let new = "@RG\tID:n\tSM:x y";
    for (mode, name, line_or_id) in [
        (ReadGroupMode::ReplaceAll, "overwrite_all", new),
        (ReadGroupMode::OrphanOnly, "orphan_only", new),
        (ReadGroupMode::ReplaceAll, "overwrite_all", "b"),
        (ReadGroupMode::OrphanOnly, "orphan_only", "a"),
    ] {
        let option = if line_or_id.starts_with('@') { "-r" } else { "-R" };
        let escaped = line_or_id.replace('\t', "\\t");
        let arguments = ["addreplacerg", "--no-PG", "-m", name, option, &escaped, "-O", "sam"];
        let theirs = run("samtools", &[&arguments[..], &[text(&files.sam)]].concat());
        let read_group = Some(ReadGroupOptions { line_or_id: line_or_id.into(), mode });
        let options = StepOptions { read_group, ..StepOptions::default() };
        let steps = options.build(&header).unwrap();
        let (ours, _) = our_lines(&steps, &header, &records);
        assert_equal_lines(name, &ours, &lines_of(&theirs));
        let mut changed = header.clone();
        steps.prepare_header(&mut changed).unwrap();
        let groups = |text: &[u8]| -> Vec<String> {
            let text = String::from_utf8_lossy(text);
            text.lines().filter(|it| it.starts_with("@RG")).map(str::to_owned).collect()
        };
        assert_eq!(groups(&changed.text()), groups(&theirs));
    }
}

#[test]
fn addreplacerg_on_its_own_test_data() {
    if !has_samtools() {
        return;
    }
    for (name, mode, id) in [
        ("1_fixup", ReadGroupMode::ReplaceAll, "@RG\tID:1#9\tCN:SC"),
        ("2_fixup_orphan", ReadGroupMode::OrphanOnly, "@RG\tID:1#9\tCN:SC"),
    ] {
        let Some(path) = skip::data(&format!("bam/samtools_test/addrprg/{name}.sam")) else {
            return;
        };
        let (header, records) = read(&path);
        let escaped = id.replace('\t', "\\t");
        let mode_name =
            if mode == ReadGroupMode::OrphanOnly { "orphan_only" } else { "overwrite_all" };
        let arguments =
            ["addreplacerg", "--no-PG", "-m", mode_name, "-r", &escaped, "-O", "sam", text(&path)];
        let theirs = lines_of(&run("samtools", &arguments));
        let read_group = Some(ReadGroupOptions { line_or_id: id.into(), mode });
        let options = StepOptions { read_group, ..StepOptions::default() };
        let (ours, _) = our_lines(&options.build(&header).unwrap(), &header, &records);
        assert_equal_lines(name, &ours, &theirs);
    }
}

#[test]
fn view_filters() {
    if !has_samtools() {
        return;
    }
    let files = hard_files(6, 5_000, WILD);
    let (header, records) = read(&files.sam);
    let bed = "c1\t10\t60\nc1\t100\t101\nc2\t0\t7\nc2\t450\t9000\nc3\t500\t510\nc9\t0\t5\n";
    let bed_file = files.sam.with_extension("bed");
    std::fs::write(&bed_file, bed).unwrap();
    let regions = Some(BedIntervals::parse(bed.as_bytes()).unwrap());
    let none = StepOptions::default;
    let tags = || vec![*b"NM", *b"XB", *b"RG", *b"XI"];
    for (arguments, options) in [
        (vec!["-f", "0x41"], StepOptions { require_flags: 0x41, ..none() }),
        (vec!["-F", "0x904"], StepOptions { exclude_flags: 0x904, ..none() }),
        (vec!["-f", "1", "-F", "4"], StepOptions { require_flags: 1, exclude_flags: 4, ..none() }),
        (vec!["-q", "30"], StepOptions { min_mapping_quality: 30, ..none() }),
        (vec!["-L", text(&bed_file)], StepOptions { regions: regions.clone(), ..none() }),
        (vec!["-x", "NM,XB,RG,XI"], StepOptions { remove_tags: tags(), ..none() }),
        (vec!["--keep-tag", "NM,XB,RG,XI"], StepOptions { keep_tags: Some(tags()), ..none() }),
        (
            vec!["-q", "7", "-F", "4", "-L", text(&bed_file), "-x", "XM"],
            StepOptions {
                min_mapping_quality: 7,
                exclude_flags: 4,
                regions,
                remove_tags: vec![*b"XM"],
                ..none()
            },
        ),
    ] {
        let theirs = run("samtools", &[&["view"][..], &arguments, &[text(&files.sam)]].concat());
        let steps = options.build(&header).unwrap();
        let (ours, counts) = our_lines(&steps, &header, &records);
        let kept = assert_equal_lines(&format!("{arguments:?}"), &ours, &lines_of(&theirs));
        assert!(kept > 100, "{arguments:?}: {kept}");
        assert_eq!(counts.dropped.iter().sum::<u64>() + counts.kept, counts.examined);
    }
}

#[test]
fn calmd_on_human_reads() {
    if !has_samtools() {
        return;
    }
    let bam = "bam/htsjdk_testdata/samtools/cram/NA12878.20.21.unmapped.orig.bam";
    let (Some(path), Some(fasta)) = (skip::data(bam), skip::data("refs/human_b37/chr20.b37.fa.gz"))
    else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("20.fa");
    std::fs::write(&copy, run("bgzip", &["-dc", text(&fasta)])).unwrap();
    let (header, records) = read(&path);
    // Twice: with the tags of the aligner, and without any.
    let bare = folder.path().join("bare.bam");
    let remove = ["view", "--no-PG", "-b", "-x", "NM,MD", "-o", text(&bare), text(&path)];
    run("samtools", &remove);
    let steps = mismatch_steps(&std::fs::read_to_string(&copy).unwrap(), &header, false);
    for (path, records) in [(&path, records), (&bare, read(&bare).1)] {
        let theirs =
            lines_of(&run("samtools", &["calmd", "--no-PG", "-Q", text(path), text(&copy)]));
        let (ours, _) = our_lines(&steps, &header, &records);
        let compared = assert_equal_lines(text(path), &ours, &theirs);
        assert!(compared > 10_000, "{compared}");
    }
}

/// One pass of ours against one program after the other.
#[test]
fn a_chain_gives_what_the_programs_give_one_after_the_other() {
    if !has_samtools() {
        return;
    }
    // Of alignments past the end of their reference fixmate makes some that samtools does not read.
    let files = hard_files(8, 6_000, Kind { wild: false, overhang: false, ..WILD });
    let path = |name: &str| files.sam.with_file_name(name);
    let [viewed, mated, grouped, marked] = ["1.bam", "2.bam", "3.bam", "4.sam"].map(path);
    let view = ["view", "--no-PG", "-b", "-q", "5", "-F", "0x200", "-o", text(&viewed)];
    run("samtools", &[&view[..], &[text(&files.sam)]].concat());
    run("samtools", &["fixmate", "--no-PG", "-m", text(&viewed), text(&mated)]);
    let add = ["addreplacerg", "--no-PG", "-r", "ID:n\tSM:x", "-o", text(&grouped)];
    run("samtools", &[&add[..], &[text(&mated)]].concat());
    let sam = run("samtools", &["calmd", "--no-PG", "-Q", text(&grouped), text(&files.fasta)]);
    std::fs::write(&marked, sam).unwrap();
    let theirs = lines_of(&run("samtools", &["view", "-x", "XM,XB", text(&marked)]));

    let (header, records) = read(&files.sam);
    let options = StepOptions {
        min_mapping_quality: 5,
        exclude_flags: 0x200,
        fix_mates: Some(FixMatesOptions::default()),
        read_group: Some(ReadGroupOptions {
            line_or_id: b"@RG\tID:n\tSM:x".to_vec(),
            mode: ReadGroupMode::ReplaceAll,
        }),
        remove_tags: vec![*b"XM", *b"XB"],
        ..StepOptions::default()
    };
    let mut steps = options.build(&header).unwrap();
    let tags = MismatchTags { nm: true, md: true, uq: false };
    steps.add_record_step(SetMismatchTags::new(reference(&files.data.fasta, &header), tags));
    let (ours, counts) = our_lines(&steps, &header, &records);
    let kept = assert_equal_lines("chain", &ours, &theirs);
    assert!(kept > 8_000 && counts.dropped.iter().sum::<u64>() > 500, "{kept}");
}

#[test]
fn nothing_to_do_leaves_records_as_they_are() {
    if !has_samtools() {
        return;
    }
    let files = hard_files(7, 500, WILD);
    let (header, records) = read(&files.sam);
    let (ours, _) = our_lines(&Steps::new(), &header, &records);
    assert_equal_lines("view", &ours, &their_lines(&files.sam));
}
