//! The same records as bwa mem, in every field that bwa writes.

use crate::common::{cache, folder, has, names_in, run, run_into, seqloom, words};
use crate::data::{self, Reference, align, chr20, chr20_start, ecoli, na12878, simulate, small};
use seqloom_testkit::compare::{CompareOptions, Comparison, compare};
use seqloom_testkit::planted::changed_texts;
use seqloom_testkit::reads::ReadOptions;
use seqloom_testkit::referees::{self, BWA};
use seqloom_testkit::sam::open_text;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

const STREAM: [&str; 6] =
    ["--no-sort", "--no-mark-duplicates", "--output-format", "sam", "-o", "-"];

/// Aligns `ours` by seqloom and `theirs` by the current bwa mem, and compares.
fn against_bwa(
    reference: &Reference,
    folder: &Path,
    (ours, theirs): (&[&Path], &[&Path]),
    options: &str,
) -> Comparison {
    let a = align_ours(reference, folder, ours, options);
    against(&words("bwa"), reference.bwa(), folder, (&a, theirs), options)
}

/// The SAM file that seqloom writes with these options.
pub(crate) fn align_ours(
    reference: &Reference,
    folder: &Path,
    reads: &[&Path],
    options: &str,
) -> PathBuf {
    let sam = folder.join("seqloom.sam");
    let mut command = seqloom(align(reference, reads));
    run_into(command.args(STREAM).args(options.split_whitespace()), &sam).ok();
    sam
}

/// Aligns by `bwa` (a program and nothing more) and compares with a SAM file of ours; MQ, too,
/// where `bwa` is the current one, which writes it.
pub(crate) fn against(
    bwa: &Command,
    index: &Path,
    folder: &Path,
    (ours, reads): (&Path, &[&Path]),
    options: &str,
) -> Comparison {
    let theirs = folder.join("bwa.sam");
    let chunk = if options.contains("-K") { "" } else { "-K 100000000" };
    let mut command = Command::new(bwa.get_program());
    command.args(["mem", "-t", "2"]).args(chunk.split_whitespace());
    command.args(options.split_whitespace()).arg(index).args(reads);
    run_into(&mut command, &theirs).ok();
    let (x, y) = (open_text(ours).unwrap(), open_text(&theirs).unwrap());
    let result = compare(x, y, &compared(bwa)).unwrap();
    assert!(result.primary.compared > 0);
    let records = result.primary.compared + result.other.compared;
    referees::compared(&referees::name_of(bwa.get_program().as_ref()), records as usize);
    result
}

/// What is compared with this bwa.
pub(crate) fn compared(bwa: &Command) -> CompareOptions {
    let mut options = CompareOptions::default();
    if bwa.get_program() == referees::path_of("bwa") {
        options.tags.push(*b"MQ");
    }
    options
}

/// Bytes and templates of SAM text in which changes are planted.
pub(crate) const SAMPLE_BYTES: usize = 4 << 20;
pub(crate) const SAMPLE_TEMPLATES: usize = 1000;

/// The templates of a part of SAM text, one after the other: without the first and the last,
/// which may not be whole.
pub(crate) fn whole_templates(text: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(text);
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('@')).collect();
    let templates = lines.chunk_by(|a, b| a.split('\t').next() == b.split('\t').next());
    let templates: Vec<String> = templates.map(|lines| lines.join("\n")).collect();
    let whole = templates.get(1..templates.len().saturating_sub(1)).unwrap_or_default();
    whole.to_vec()
}

/// The first bytes of a file.
pub(crate) fn first_bytes(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    File::open(path).unwrap().take(SAMPLE_BYTES as u64).read_to_end(&mut bytes).unwrap();
    bytes
}

/// Requires that the comparison finds each change, and that change alone, in the first templates of
/// ours and theirs.
#[track_caller]
pub(crate) fn finds_planted_changes(templates: [Vec<String>; 2], options: &CompareOptions) {
    let count = templates.iter().map(Vec::len).min().unwrap().min(SAMPLE_TEMPLATES);
    let [ours, theirs] = templates.map(|it| it[..count].join("\n"));
    let compare = |theirs: &str| compare(ours.as_bytes(), theirs.as_bytes(), options).unwrap();
    assert!(compare(&theirs).is_equal());
    let changed = changed_texts(&theirs);
    assert!(changed.len() > 8);
    // Tags of others are not compared.
    for (what, theirs) in changed.into_iter().filter(|(what, _)| *what != "a tag more") {
        let found = compare(&theirs);
        let (primary, other) = (&found.primary, &found.other);
        assert_eq!(primary.differing + other.differing, 1, "{what}: {found}");
        assert_eq!(primary.fields.len() + other.fields.len(), 1, "{what}: {found}");
    }
}

#[track_caller]
fn equals_bwa(reference: &Reference, options: &ReadOptions, arguments: &str) {
    equals_bwa_of(&BWA[..1], reference, options, arguments);
}

/// Compares with bwa in these versions, where they are installed.
#[track_caller]
fn equals_bwa_of(versions: &[&str], reference: &Reference, options: &ReadOptions, arguments: &str) {
    let here = folder();
    let reads = simulate(reference, options, here.path());
    let interleaved = arguments.split_whitespace().any(|a| a == "-p");
    let files: &[&Path] = match (options.paired, interleaved) {
        (false, _) => &[&reads.first],
        (true, true) => &[&reads.interleaved],
        (true, false) => &[&reads.first, &reads.second],
    };
    let ours = align_ours(reference, here.path(), files, arguments);
    for version in versions {
        let Some(program) = referees::find("bwa", version) else { continue };
        let bwa = Command::new(program);
        let result = against(&bwa, reference.bwa(), here.path(), (&ours, files), arguments);
        assert!(result.is_equal(), "bwa {version}: {result}");
        let samples = [&ours, &here.path().join("bwa.sam")].map(|sam| first_bytes(sam));
        finds_planted_changes(samples.map(|text| whole_templates(&text)), &compared(&bwa));
        // Half of a read must reach bwa's least score of 30 to be reported with the other half.
        if options.chimera_share > 0.0 && options.length_max_bp >= 75 {
            assert!(result.other.compared > 0, "the data holds no supplementary record");
        }
    }
}

pub(crate) fn pairs(seed: u64, templates: u64, length_bp: usize) -> ReadOptions {
    ReadOptions {
        seed,
        templates,
        length_min_bp: length_bp,
        length_max_bp: length_bp,
        chimera_share: 0.05,
        adapter_share: 0.03,
        unmappable_share: 0.03,
        ..ReadOptions::default()
    }
}

#[test]
fn index_files_equal_those_of_bwa() {
    if has("bwa") {
        index_files_equal([Some(small()), ecoli(), chr20_start()].into_iter().flatten());
    }
}

#[test]
fn slow_index_files_of_a_chromosome_equal_those_of_bwa() {
    if seqloom_testkit::skip::slow_tests() && has("bwa") {
        index_files_equal(chr20().into_iter());
    }
}

#[track_caller]
fn index_files_equal(references: impl Iterator<Item = &'static Reference>) {
    for reference in references {
        for suffix in ["pac", "ann", "amb"] {
            let file = |fasta: &Path| fasta.with_extension(format!("fa.{suffix}"));
            let what = format!("{} .{suffix}", reference.ours.display());
            let (a, b) = (file(&reference.ours), file(reference.bwa()));
            crate::common::assert_same_bytes(&a, &b, &what);
        }
    }
}

#[test]
fn repeats_pairs_and_singles() {
    if !has("bwa") {
        return;
    }
    equals_bwa_of(&BWA, small(), &pairs(1, 20_000, 150), "");
    equals_bwa_of(&BWA, small(), &ReadOptions { paired: false, ..pairs(2, 20_000, 75) }, "");
}

#[test]
fn hard_lengths() {
    if !has("bwa") {
        return;
    }
    let options = ReadOptions { length_min_bp: 1, length_max_bp: 250, ..pairs(3, 10_000, 0) };
    equals_bwa_of(&BWA, small(), &options, "");
    equals_bwa_of(&BWA, small(), &ReadOptions { paired: false, ..options }, "");
}

#[test]
fn options_mean_what_they_mean_in_bwa() {
    if !has("bwa") {
        return;
    }
    for arguments in ["-p", "-Y -M", "-k 15 -T 20", "-U 9 -c 50 -w 60", "-B 6 -O 5,7 -E 2,1 -L 3"] {
        equals_bwa(small(), &pairs(4, 3000, 100), arguments);
    }
}

/// Reads as noisy as those that the presets for long reads are made for, and chimeras.
#[test]
fn presets_are_those_of_bwa() {
    let mut command = seqloom(align(small(), &[&data::small_pairs().first]));
    let refused = run(command.args(STREAM).args(["-x", "ont"])).fails_with(2);
    refused.says(&["presets are intractg, pacbio, pbref and ont2d", "ont"]);
    if !has("bwa") {
        return;
    }
    let noise = |options: ReadOptions, seed| ReadOptions {
        seed,
        error_first: 0.08,
        error_last: 0.08,
        indel_rate: 0.04,
        chimera_share: 0.0,
        ..options
    };
    let noisy = noise(pairs(8, 1000, 150), 8);
    let chimeras = ReadOptions { chimera_share: 0.5, ..pairs(9, 1000, 150) };
    let long = ReadOptions {
        paired: false,
        length_min_bp: 300,
        length_max_bp: 5000,
        insert_mean_bp: 6000.0,
        insert_sd_bp: 300.0,
        ..pairs(10, 150, 0)
    };
    let long_chimeras = ReadOptions { chimera_share: 0.5, seed: 12, ..long.clone() };
    let long_noisy = noise(long, 11);
    for arguments in [
        "-x intractg",
        "-x intractg -B 5 -L 2,7 -T 20",
        "-x pacbio",
        "-x pbref -k 15 -E 2,1 -L 3",
        "-x ont2d",
        "-x ont2d -W 30 -B 2 -r 4",
        "-W 50",
        "-d 8 -D 0.8",
        "-r 1.1 -y 5 -c 40",
        "-y 0 -r 3 -D 0.2 -d 30",
    ] {
        for options in [&noisy, &chimeras, &long_noisy, &long_chimeras] {
            equals_bwa(small(), options, arguments);
            equals_bwa(small(), &ReadOptions { paired: false, ..options.clone() }, arguments);
        }
    }
}

/// bwa has `-` as a letter of its own, for which it writes a NUL and prices that differ from stage
/// to stage: what is compared is where reads are.
#[test]
fn reads_with_dashes_lie_where_those_of_bwa_do() {
    if !has("bwa") {
        return;
    }
    let here = folder();
    let reads = simulate(small(), &pairs(21, 400, 150), here.path());
    let files = [&reads.first, &reads.second].map(|file| {
        let text = std::fs::read_to_string(file).unwrap();
        let mut lines: Vec<Vec<u8>> = text.lines().map(|line| line.as_bytes().to_vec()).collect();
        for (number, bases) in lines.iter_mut().skip(1).step_by(4).enumerate() {
            for dash in 0..number % 6 {
                let at = (number * 31 + dash * 47) % bases.len();
                bases[at] = b'-';
            }
        }
        let dashed = file.with_extension("dashed.fq");
        std::fs::write(&dashed, lines.join(&b'\n')).unwrap();
        dashed
    });
    let files = files.each_ref().map(PathBuf::as_path);
    let ours = align_ours(small(), here.path(), &files, "");
    let theirs = here.path().join("bwa.sam");
    let mut bwa = words("bwa");
    bwa.args(["mem", "-K", "100000000"]).arg(small().bwa()).args(files);
    run_into(&mut bwa, &theirs).ok();
    let [ours, theirs] = [ours, theirs].map(|file| places(&std::fs::read(file).unwrap()));
    assert_eq!(ours.len(), 800);
    assert_eq!(ours, theirs);
}

/// The columns from QNAME to TLEN of all primary records, whose names begin with `SIM`. bwa ends
/// the text of a read at its NUL, without a line end.
fn places(sam: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(sam);
    let columns =
        |record: &str| -> Vec<String> { record.split('\t').take(9).map(str::to_owned).collect() };
    let records = text.split("SIM").skip(1).map(columns);
    let is_primary = |columns: &Vec<String>| columns[1].parse::<u32>().unwrap() & 0x900 == 0;
    records.filter(is_primary).map(|columns| columns.join("\t")).collect()
}

#[test]
fn ecoli_pairs() {
    let (true, Some(reference)) = (has("bwa"), ecoli()) else { return };
    equals_bwa(reference, &pairs(5, 50_000, 150), "");
}

#[test]
fn ecoli_singles() {
    let (true, Some(reference)) = (has("bwa"), ecoli()) else { return };
    equals_bwa(reference, &ReadOptions { paired: false, ..pairs(6, 50_000, 50) }, "");
}

#[test]
fn ecoli_many_cohorts() {
    let (true, Some(reference)) = (has("bwa"), ecoli()) else { return };
    let options = ReadOptions { length_min_bp: 70, ..pairs(7, 20_000, 150) };
    equals_bwa(reference, &options, "-K 1000000");
}

#[test]
fn ecoli_dwgsim_pairs() {
    let (true, true, Some(reference)) = (has("bwa"), has("dwgsim"), ecoli()) else { return };
    let here = folder();
    let prefix = here.path().join("sim");
    let options = "-z 9 -N 20000 -1 100 -2 100 -d 400 -s 60 -r 0.001 -R 0.15 -X 0.3 -y 0.02 -n 20";
    let mut dwgsim = words(&format!("dwgsim {options} -e 0.001-0.006 -E 0.002-0.010"));
    run(dwgsim.arg(&reference.ours).arg(&prefix)).ok();
    let file = |end: u8| here.path().join(format!("sim.bwa.read{end}.fastq.gz"));
    let (first, second) = (file(1), file(2));
    let files: &[&Path] = &[&first, &second];
    let result = against_bwa(reference, here.path(), (files, files), "");
    assert!(result.is_equal(), "{result}");
}

#[test]
fn na12878_from_fastq_and_from_unaligned_bam() {
    let (true, true, true) = (has("bwa"), has("samtools"), has("picard")) else { return };
    let (Some(reference), Some(bam)) = (chr20_start(), na12878()) else { return };
    let here = folder();
    let (first, second) = (here.path().join("1.fq"), here.path().join("2.fq"));
    let mut split = words("samtools fastq -n -0 /dev/null -s /dev/null");
    run(split.arg("-1").arg(&first).arg("-2").arg(&second).arg(&bam)).ok();
    let fastq: &[&Path] = &[&first, &second];
    let result = against_bwa(reference, here.path(), (fastq, fastq), "");
    assert!(result.is_equal(), "from FASTQ: {result}");
    let result = against_bwa(reference, here.path(), (&[&bam], fastq), "");
    assert!(result.is_equal(), "from unaligned BAM: {result}");
}

/// 1 M templates on human chromosome 20; bwa's answer is kept between runs.
#[track_caller]
fn a_million_on_chr20(name: &str, options: &ReadOptions) {
    let (true, Some(reference)) = (has("bwa"), chr20()) else { return };
    let folder = cache().join("chr20-million").join(name);
    let reads = simulate(reference, options, &folder);
    let files: &[&Path] =
        if options.paired { &[&reads.first, &reads.second] } else { &[&reads.first] };
    let (a, b) = (folder.join("seqloom.sam"), folder.join("bwa.sam"));
    run_into(seqloom(align(reference, files)).args(STREAM), &a).ok();
    if !names_in(&folder).contains(&"bwa.done".to_owned()) {
        let mut bwa = words("bwa mem -t 2 -K 100000000");
        let out = std::fs::File::create(&b).unwrap();
        let limit = std::time::Duration::from_secs(3600);
        let child = bwa.arg(reference.bwa()).args(files).stdout(out).spawn().unwrap();
        crate::common::finish(child, limit).ok();
        std::fs::write(folder.join("bwa.done"), "").unwrap();
    }
    let (x, y) = (open_text(&a).unwrap(), open_text(&b).unwrap());
    let result = compare(x, y, &CompareOptions::default()).unwrap();
    eprintln!("chr20 {name}: {result}");
    std::fs::remove_file(a).unwrap();
    assert!(result.is_equal(), "{name}: {result}");
}

#[test]
fn slow_a_million_pairs_and_singles() {
    if !seqloom_testkit::skip::slow_tests() {
        return;
    }
    a_million_on_chr20("2x150", &pairs(31, 1_000_000, 150));
    a_million_on_chr20("2x100", &pairs(32, 1_000_000, 100));
    let single = ReadOptions { paired: false, ..pairs(33, 1_000_000, 50) };
    a_million_on_chr20("1x50", &single);
}

#[test]
fn alignments_are_where_the_reads_come_from() {
    let here = folder();
    let out = here.path().join("x.bam");
    run(seqloom(data::align_small()).arg("-o").arg(&out)).ok();
    let accuracy = seqloom_testkit::accuracy::of_bam(&out).unwrap();
    assert!(accuracy.right() as f64 > 0.98 * accuracy.reads() as f64, "{accuracy}");
    assert!(accuracy.precision_from(30) > 0.999, "{accuracy}");
    assert_eq!(accuracy.unknown, 0);
}
