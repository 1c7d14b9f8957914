//! `prep` of several inputs, of SAM and BAM in every compression, from pipes and to pipes.

use crate::common::{assert_same_bytes, finish, folder, has, run, run_into, words};
use crate::prep::{
    assert_same_lines, assert_same_records, hard, has_referees, header, lines, metrics_body,
    metrics_file, picard_all, prep, prep_into, with_sorted_tags, write_both,
};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;

const MARK: &str = "--mark-duplicates --tag-duplicates all";

/// The records of a BAM file dealt out to `parts` files in turn, whole templates each.
fn deal(folder: &Path, bam: &Path, parts: usize) -> Vec<PathBuf> {
    let head = header(bam);
    let mut texts = vec![head; parts];
    for line in lines(bam) {
        let name = line.split('\t').next().unwrap();
        let part = name.bytes().map(usize::from).sum::<usize>() % parts;
        texts[part] += &format!("{line}\n");
    }
    let write = |(n, text): (usize, &String)| {
        write_both(folder, &format!("{}-{n}", bam.file_stem().unwrap().display()), text).1
    };
    texts.iter().enumerate().map(write).collect()
}

#[test]
fn several_inputs_of_one_header_are_one_after_the_other() {
    if !has_referees() {
        return;
    }
    let here = folder();
    let path = |name: &str| here.path().join(name);
    let data = hard(here.path(), 401, 6000, 4);
    let grouped = deal(here.path(), &data.grouped, 3);
    let inputs: Vec<&Path> = grouped.iter().map(PathBuf::as_path).collect();
    prep_into(&path("ours.bam"), &inputs, "");
    run(words("samtools cat --no-PG -o").arg(path("cat.bam")).args(&inputs)).ok();
    assert_same_lines(lines(&path("ours.bam")), lines(&path("cat.bam")), "samtools cat");
    assert_eq!(header(&path("ours.bam")), header(inputs[0]));
    // Sorted files: as `samtools merge`, whose ties follow the order of the files. (Picard with
    // several inputs merges equal places by name, which decides ties between duplicates.)
    let sorted = deal(here.path(), &data.sorted, 3);
    let inputs: Vec<&Path> = sorted.iter().map(PathBuf::as_path).collect();
    let metrics = path("metrics");
    let options = format!("--sort coordinate {MARK} --metrics-dir {}", metrics.display());
    prep_into(&path("ours.bam"), &inputs, "--sort coordinate");
    run(words("samtools merge --no-PG -c -p").arg(path("merge.bam")).args(&inputs)).ok();
    // samtools merge removes read groups that no header has.
    let sets = |name: &str| -> Vec<String> {
        let all = lines(&path(name)).into_iter();
        all.map(|line| with_sorted_tags(&line.replace("\tRG:Z:nowhere", ""))).collect()
    };
    assert_same_lines(sets("ours.bam"), sets("merge.bam"), "samtools merge");
    prep_into(&path("ours.bam"), &inputs, &options);
    picard_all(&[format!(
        "MarkDuplicates I={} O={} M={} TAGGING_POLICY=All VALIDATION_STRINGENCY=LENIENT",
        path("merge.bam").display(),
        path("picard.bam").display(),
        path("picard.txt").display()
    )]);
    assert_same_lines(sets("ours.bam"), sets("picard.bam"), "merge, then MarkDuplicates");
    assert_eq!(metrics_body(&metrics_file(&metrics)), metrics_body(&path("picard.txt")));
}

#[test]
fn headers_that_differ_are_joined() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    let path = |name: &str| here.path().join(name);
    let read = |name: &str, at: &str, group: &str| {
        format!("{name}\t0\t{at}\t5\t60\t4M\t*\t0\t0\tACGT\tIIII\tRG:Z:{group}\n")
    };
    let (_, first) = write_both(
        here.path(),
        "first",
        &format!(
            "@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:a\tLN:100\n@SQ\tSN:b\tLN:90\n\
             @RG\tID:x\tSM:1\n{}{}",
            read("r1", "a", "x"),
            read("r2", "b", "x")
        ),
    );
    let (second, _) = write_both(
        here.path(),
        "second",
        &format!(
            "@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:c\tLN:80\n@SQ\tSN:a\tLN:100\n\
             @RG\tID:y\tSM:2\n{}{}",
            read("r3", "c", "y"),
            read("r4", "a", "y")
        ),
    );
    prep_into(&path("ours.bam"), &[&first, &second], "--sort coordinate");
    // The second file is not sorted in the joined header's order, which samtools does not see to.
    run(words("samtools merge --no-PG").arg(path("merged.bam")).args([&first, &second])).ok();
    run(words("samtools sort --no-PG -o").arg(path("merge.bam")).arg(path("merged.bam"))).ok();
    assert_same_records(&path("ours.bam"), &path("merge.bam"), "samtools merge");
    let names = |path: &Path| -> Vec<String> {
        header(path).lines().filter(|l| l.starts_with("@SQ")).map(str::to_owned).collect()
    };
    assert_eq!(names(&path("ours.bam")), names(&path("merge.bam")));
    // One ID, two samples: the second gets another ID, and its reads with it.
    let text =
        fs::read_to_string(&second).unwrap().replace("ID:y", "ID:x").replace("RG:Z:y", "RG:Z:x");
    let (_, same_tag) = write_both(here.path(), "same_tag", &text);
    prep_into(&path("ours.bam"), &[&first, &same_tag], "--sort coordinate");
    assert!(header(&path("ours.bam")).contains("@RG\tID:x.1\tSM:2"));
    let found = lines(&path("ours.bam"));
    assert_eq!(found.iter().filter(|l| l.ends_with("RG:Z:x.1")).count(), 2, "{found:?}");
    // Two lengths of one name.
    let text = fs::read_to_string(&second).unwrap().replace("SN:a\tLN:100", "SN:a\tLN:99");
    let (_, other) = write_both(here.path(), "other", &text);
    let mut command = prep(&[&first, &other]);
    let run = run(command.arg("-o").arg(path("never.bam"))).fails_with(3);
    run.says(&["sequence a", "100", "99"]);
    assert!(!path("never.bam").exists());
}

#[test]
fn every_form_of_input_gives_the_same_bytes() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    let path = |name: &str| here.path().join(name);
    let data = hard(here.path(), 402, 3000, 4);
    let sam = here.path().join("hard402.sam");
    let options = format!("{MARK} --sort coordinate");
    let whole = path("whole.bam");
    prep_into(&whole, &[&data.grouped], &options);
    let pack = |program: &str, name: &str| {
        run_into(words(program).arg(&sam), &path(name)).ok();
        path(name)
    };
    let mut forms = vec![sam.clone(), pack("gzip -c", "sam.gz")];
    if has("bgzip") {
        forms.push(pack("bgzip -c", "sam.bgz"));
    }
    if has("zstd") {
        forms.push(pack("zstd -qc", "sam.zst"));
    }
    run_into(words("samtools view --no-PG -u").arg(&sam), &path("u.bam")).ok();
    forms.push(path("u.bam"));
    run_into(words("bgzip -dc").arg(path("u.bam")), &path("raw.bam")).ok();
    forms.push(path("raw.bam"));
    run_into(words("gzip -c").arg(path("raw.bam")), &path("gzip.bam")).ok();
    forms.push(path("gzip.bam"));
    for form in forms {
        prep_into(&path("x.bam"), &[&form], &options);
        assert_same_bytes(&whole, &path("x.bam"), &form.display().to_string());
        // Standard input: a file, and a pipe; standard output.
        for pipe in [false, true] {
            let mut command = prep(&[Path::new("-")]);
            command.args(options.split_whitespace()).args(["-o", "-"]);
            command.stdout(File::create(path("stdout.bam")).unwrap()).stderr(Stdio::piped());
            let mut cat =
                pipe.then(|| words("cat").arg(&form).stdout(Stdio::piped()).spawn().unwrap());
            match &mut cat {
                Some(cat) => command.stdin(cat.stdout.take().unwrap()),
                None => command.stdin(File::open(&form).unwrap()),
            };
            finish(command.spawn().unwrap(), crate::common::limit()).ok();
            cat.map(|mut cat| cat.wait().unwrap());
            let what = format!("{} from standard input, pipe {pipe}", form.display());
            assert_same_bytes(&whole, &path("stdout.bam"), &what);
        }
    }
}

#[test]
fn sam_goes_to_standard_output_too() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    let data = hard(here.path(), 403, 500, 2);
    let mut command = prep(&[&data.grouped]);
    let run = run(command.args(["--output-format", "sam", "-o", "-"])).ok();
    let theirs = crate::common::run(words("samtools view --no-PG -h").arg(&data.grouped)).ok();
    assert!(run.stdout == theirs.stdout);
    let mut command = prep(&[Path::new("-"), Path::new("-")]);
    let run = crate::common::run(command.args(["-o", "-"]));
    assert_ne!(run.code(), 0);
    run.says(&["standard input"]);
}
