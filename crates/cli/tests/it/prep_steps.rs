//! Filters and changes of `prep` against the same steps by samtools and Picard, and the five-step
//! pipeline of elPrep (Costanza et al. 2019, PLoS ONE 14:e0209523) as one command.

use crate::common::{SOON, folder, has, run, run_for, words};
use crate::data::{align_small, small};
use crate::prep::{
    assert_same_lines, assert_same_records, compared_with_picard, compared_with_samtools, hard,
    has_referees, header, lines, picard_all, prep, prep_into, with_sorted_tags, write_both,
};
use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Ours on `input` is what samtools with `theirs` makes of it, tags being sets.
#[track_caller]
fn equals_samtools(here: &Path, input: &Path, ours: &str, theirs: &str) {
    let (a, b) = (here.join("ours.bam"), here.join("theirs.bam"));
    prep_into(&a, &[input], ours);
    run(words(&format!("samtools {theirs} -o")).arg(&b).arg(input)).ok();
    compared_with_samtools(assert_same_records(&a, &b, ours));
}

#[test]
fn filters_are_those_of_samtools_view() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    let data = hard(here.path(), 301, 4000, 4);
    let bed = here.path().join("regions.bed");
    fs::write(&bed, "chr0\t100\t9000\nchr0\t20000\t20500\nchr2\t0\t300\n").unwrap();
    let bed = bed.display();
    let cases = [
        ("--filter-unmapped", "view -b -F 4".to_owned()),
        ("--min-mapq 5", "view -b -q 5".to_owned()),
        ("--require-flags 0x41 --exclude-flags 1024", "view -b -f 65 -F 1024".to_owned()),
        ("--regions BED", format!("view -b -L {bed}")),
        (
            "--min-mapq 2 --exclude-flags 0x900 --regions BED",
            format!("view -b -q 2 -F 0x900 -L {bed}"),
        ),
        ("--remove-tags RX,B1", "view -b -x RX -x B1".to_owned()),
        ("--keep-tags RG,XI", "view -b --keep-tag RG,XI".to_owned()),
    ];
    for (ours, theirs) in cases {
        let ours = ours.replace("BED", &bed.to_string());
        for input in [&data.grouped, &data.sorted] {
            equals_samtools(here.path(), input, &ours, &theirs);
        }
    }
}

/// Positions of the reference that a CIGAR covers.
fn span(cigar: &str) -> usize {
    let ops = cigar.split_inclusive(|letter: char| !letter.is_ascii_digit());
    let covers = |op: &&str| op.ends_with(['M', 'D', 'N', '=', 'X']);
    ops.filter(covers).map(|op| op[..op.len() - 1].parse::<usize>().unwrap()).sum()
}

/// The file without templates of which a record ends past its sequence: of some of these samtools
/// 1.24 writes a CIGAR that it refuses to read (see ERRATA, and `crates/prep/src/tests/steps`).
fn within_sequences(bam: &Path) -> PathBuf {
    let (head, records) = (header(bam), lines(bam));
    let sequences =
        head.lines().filter_map(|line| line.strip_prefix("@SQ\tSN:")?.split_once("\tLN:"));
    let lengths: HashMap<&str, usize> =
        sequences.map(|(name, length)| (name, length.parse().unwrap())).collect();
    let is_past = |line: &&String| {
        let columns: Vec<&str> = line.split('\t').collect();
        let end = columns[3].parse::<usize>().unwrap() + span(columns[5]);
        lengths.get(columns[2]).is_some_and(|&length| end > length + 1)
    };
    let name = |line: &String| line.split('\t').next().unwrap().to_owned();
    let past: HashSet<String> = records.iter().filter(is_past).map(name).collect();
    let kept: Vec<String> = records.into_iter().filter(|it| !past.contains(&name(it))).collect();
    assert!(kept.len() > 5000 && !past.is_empty(), "{} {}", kept.len(), past.len());
    let sam = head + &kept.join("\n") + "\n";
    write_both(bam.parent().unwrap(), "within", &sam).1
}

#[test]
fn changes_are_those_of_samtools() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    let data = hard(here.path(), 302, 4000, 4);
    let (ours, theirs) = (here.path().join("ours.bam"), here.path().join("theirs.bam"));
    let within = within_sequences(&data.grouped);
    prep_into(&ours, &[&within], "--fix-mates");
    run(words("samtools fixmate --no-PG -m").arg(&within).arg(&theirs)).ok();
    compared_with_samtools(assert_same_records(&ours, &theirs, "fixmate"));
    let group = r"@RG\tID:new\tSM:s\tLB:l\tPL:ILLUMINA";
    for (mode, theirs) in [("replace", "overwrite_all -w"), ("orphan", "orphan_only")] {
        let ours = format!("--read-group {group} --read-group-mode {mode}");
        let theirs = format!("addreplacerg --no-PG -m {theirs} -r {group} -O bam");
        equals_samtools(here.path(), &data.grouped, &ours, &theirs);
    }
}

#[test]
fn changes_are_those_of_picard() {
    if !has_referees() {
        return;
    }
    let here = folder();
    let data = hard(here.path(), 303, 4000, 4);
    let path = |name: &str| here.path().join(name);
    let dict = "@HD\tVN:1.6\n@SQ\tSN:chr2\tLN:900\n@SQ\tSN:chr0\tLN:60000\n";
    fs::write(path("new.dict"), dict).unwrap();
    let line = |tool: &str, out: &str| {
        format!(
            "{tool} I={} O={} VALIDATION_STRINGENCY=SILENT",
            data.grouped.display(),
            path(out).display()
        )
    };
    let groups = "RGID=new RGSM=s RGLB=l RGPL=ILLUMINA RGPU=u";
    let dictionary = path("new.dict").display().to_string();
    picard_all(&[
        line("CleanSam", "clean.bam"),
        line("AddOrReplaceReadGroups", "groups.bam") + " " + groups,
        line("ReorderSam", "reorder.bam")
            + &format!(" SD={dictionary} ALLOW_INCOMPLETE_DICT_CONCORDANCE=true"),
    ]);
    let ours = path("ours.bam");
    prep_into(&ours, &[&data.grouped], "--clean-sam");
    compared_with_picard(assert_same_records(&ours, &path("clean.bam"), "CleanSam"));
    let group = r"--read-group @RG\tID:new\tLB:l\tPL:ILLUMINA\tSM:s\tPU:u";
    prep_into(&ours, &[&data.grouped], group);
    let replaced = assert_same_records(&ours, &path("groups.bam"), "AddOrReplaceReadGroups");
    compared_with_picard(replaced);
    let groups: Vec<String> =
        header(&ours).lines().filter(|l| l.starts_with("@RG")).map(str::to_owned).collect();
    assert_eq!(groups, ["@RG\tID:new\tLB:l\tPL:ILLUMINA\tSM:s\tPU:u"]);
    // ReorderSam makes reads on sequences that are gone unmapped; elPrep and we leave them out.
    // Where a mate is on one, the read differs likewise.
    prep_into(&ours, &[&data.grouped], &format!("--reference-dict {dictionary}"));
    let column = |line: &str, n: usize| line.split('\t').nth(n).unwrap().to_owned();
    let identity = |line: &str| line.split('\t').find(|f| f.starts_with("XI:")).unwrap().to_owned();
    let (mut on_new, mut wholly_on_new) = (Vec::new(), std::collections::HashSet::new());
    for line in lines(&data.grouped) {
        if column(&line, 2) != "chr1" {
            on_new.push(identity(&line));
            if column(&line, 6) != "chr1" {
                wholly_on_new.insert(identity(&line));
            }
        }
    }
    let found = lines(&ours);
    assert_eq!(found.iter().map(|line| identity(line)).collect::<Vec<_>>(), on_new);
    let whole = |path: &Path| -> Vec<String> {
        let all = lines(path).into_iter().filter(|l| wholly_on_new.contains(&identity(l)));
        all.map(|line| with_sorted_tags(&line)).collect()
    };
    assert_same_lines(whole(&ours), whole(&path("reorder.bam")), "ReorderSam");
    assert!(header(&ours).contains("@SQ\tSN:chr2\tLN:900\n@SQ\tSN:chr0\tLN:60000\n"));
}

#[test]
fn mismatch_tags_are_those_of_samtools_and_picard() {
    if !has_referees() {
        return;
    }
    let here = folder();
    let path = |name: &str| here.path().join(name);
    let mut align = crate::common::seqloom(align_small());
    align.args(["--no-pg", "-o"]).arg(path("aligned.bam"));
    run(&mut align).ok();
    let bare = path("bare.bam");
    run(words("samtools view --no-PG -b -x NM -x MD -o").arg(&bare).arg(path("aligned.bam"))).ok();
    let fasta = path("ref.fa");
    fs::copy(&small().ours, &fasta).unwrap();
    let reference = fasta.display().to_string();
    prep_into(&path("ours.bam"), &[&bare], &format!("--set-tags NM,MD --reference {reference}"));
    let mut calmd = words("samtools calmd --no-PG -b");
    crate::common::run_into(calmd.arg(&bare).arg(&fasta), &path("theirs.bam")).ok();
    let records = assert_same_records(&path("ours.bam"), &path("theirs.bam"), "calmd");
    compared_with_samtools(records);
    run(words("samtools dict -o").arg(path("ref.dict")).arg(&fasta)).ok();
    picard_all(&[format!(
        "SetNmMdAndUqTags I={} O={} R={reference} VALIDATION_STRINGENCY=SILENT",
        bare.display(),
        path("picard.bam").display(),
    )]);
    let options = format!("--set-tags NM,MD,UQ --reference {reference}");
    prep_into(&path("ours.bam"), &[&bare], &options);
    let records = assert_same_records(&path("ours.bam"), &path("picard.bam"), "SetNmMdAndUqTags");
    compared_with_picard(records);
}

/// elPrep's pipeline: leave unmapped reads out, sort, mark duplicates, one read group. By samtools
/// and Picard one after the other, and as one command.
#[test]
fn the_five_step_pipeline_is_one_command() {
    if !has_referees() {
        return;
    }
    let here = folder();
    let path = |name: &str| here.path().join(name);
    let data = hard(here.path(), 304, 20_000, 4);
    let group = r"@RG\tID:group1\tLB:lib1\tPL:illumina\tPU:unit1\tSM:sample1";
    prep_into(
        &path("ours.bam"),
        &[&data.grouped],
        &format!(
            "--filter-unmapped --read-group {group} --mark-duplicates --duplicate-mode coordinate \
             --sort coordinate --metrics-dir {}",
            path("metrics").display()
        ),
    );
    run(words("samtools view --no-PG -b -F 4 -o").arg(path("1.bam")).arg(&data.grouped)).ok();
    let mut replace = words("samtools addreplacerg --no-PG -m overwrite_all -w -O bam");
    run(replace.args(["-r", group, "-o"]).arg(path("2.bam")).arg(path("1.bam"))).ok();
    run(words("samtools sort --no-PG -o").arg(path("3.bam")).arg(path("2.bam"))).ok();
    picard_all(&[format!(
        "MarkDuplicates I={} O={} M={} VALIDATION_STRINGENCY=SILENT",
        path("3.bam").display(),
        path("4.bam").display(),
        path("4.txt").display()
    )]);
    assert_same_records(&path("ours.bam"), &path("4.bam"), "five steps");
    let ours = crate::prep::metrics_body(&crate::prep::metrics_file(&path("metrics")));
    assert_eq!(ours, crate::prep::metrics_body(&path("4.txt")));
    let without_programs = |path: &Path| -> Vec<String> {
        let text = header(path);
        text.lines().filter(|l| !l.starts_with("@PG")).map(str::to_owned).collect()
    };
    let same_fields = |line: &String| {
        let mut fields: Vec<&str> = line.split('\t').collect();
        fields.sort_unstable();
        fields.join("\t")
    };
    let fields = |path: &Path| without_programs(path).iter().map(same_fields).collect();
    assert_same_lines(fields(&path("ours.bam")), fields(&path("4.bam")), "header");
}

/// With recalibration: one command is what its steps are one after the other, each by itself.
#[test]
fn recalibration_in_the_same_run_is_that_of_a_run_of_its_own() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    let path = |name: &str| here.path().join(name);
    let mut align = crate::common::seqloom(align_small());
    align.args(["--no-pg", "--no-sort", "--no-mark-duplicates", "-R", crate::common::READ_GROUP]);
    run(align.arg("-o").arg(path("in.bam"))).ok();
    let contig = &small().genome().contigs[0].name;
    let vcf = format!(
        "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n\
         {contig}\t5000\t.\tA\tC\t.\t.\t.\n{contig}\t9000\t.\tAC\tA\t.\t.\t.\n"
    );
    fs::write(path("sites.vcf"), vcf).unwrap();
    let bqsr = format!(
        "--reference {} --known-sites {} --bqsr-report",
        small().ours.display(),
        path("sites.vcf").display()
    );
    let mark = "--mark-duplicates --duplicate-mode query --sort coordinate --filter-unmapped";
    let one = format!("{mark} {bqsr} {}", path("one.txt").display());
    prep_into(&path("one.bam"), &[&path("in.bam")], &one);
    prep_into(&path("marked.bam"), &[&path("in.bam")], mark);
    let two = format!("{bqsr} {}", path("two.txt").display());
    prep_into(&path("two.bam"), &[&path("marked.bam")], &two);
    assert_eq!(
        fs::read_to_string(path("one.txt")).unwrap(),
        fs::read_to_string(path("two.txt")).unwrap()
    );
    assert_same_lines(lines(&path("one.bam")), lines(&path("two.bam")), "recalibrated");
    assert_ne!(lines(&path("one.bam")), lines(&path("marked.bam")));
    prep_into(
        &path("applied.bam"),
        &[&path("marked.bam")],
        &format!("--apply-bqsr {}", path("one.txt").display()),
    );
    assert_same_lines(lines(&path("applied.bam")), lines(&path("one.bam")), "applied");
    // As GATK 3 wrote it, and compressed.
    let text = with_decimals(&fs::read_to_string(path("one.txt")).unwrap());
    assert!(text.contains(".00  "), "{text}");
    fs::write(path("decimals.txt"), text).unwrap();
    run(words("gzip -k").arg(path("one.txt")).arg(path("decimals.txt"))).ok();
    for report in ["decimals.txt", "one.txt.gz", "decimals.txt.gz"] {
        let apply = format!("--apply-bqsr {}", path(report).display());
        prep_into(&path("applied.bam"), &[&path("marked.bam")], &apply);
        assert_same_lines(lines(&path("applied.bam")), lines(&path("one.bam")), report);
    }
    // Cut short.
    let gzip = fs::read(path("one.txt.gz")).unwrap();
    fs::write(path("cut.gz"), &gzip[..gzip.len() / 2]).unwrap();
    let mut command = prep(&[&path("marked.bam")]);
    command.arg("--apply-bqsr").arg(path("cut.gz")).arg("-o").arg(path("never.bam"));
    run_for(&mut command, SOON).fails_with(3).says(&["cut.gz"]);
    assert!(!path("never.bam").exists());
}

/// A recalibration report whose observations have decimals, in columns as wide as they need.
fn with_decimals(report: &str) -> String {
    let mut observations = None;
    let mut rewritten = String::new();
    for line in report.lines() {
        let mut cells: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let header = cells.iter().position(|cell| cell == "Observations");
        if line.is_empty() || line.starts_with('#') {
            observations = None;
        } else if let (None, Some(at)) = (header, observations) {
            let cell: &mut String = &mut cells[at];
            cell.push_str(".00");
        }
        observations = header.or(observations);
        match observations {
            Some(_) => rewritten.extend(cells.iter().map(|cell| format!("{cell:<24}  "))),
            None => rewritten += line,
        }
        rewritten.push('\n');
    }
    rewritten
}

/// What no record is on is not requested; what is, is named.
#[test]
fn sequences_that_the_reference_lacks() {
    let here = folder();
    let path = |name: &str| here.path().join(name);
    let bases = "ACGT".repeat(50);
    fs::write(path("two.fa"), format!(">a\n{bases}\n>c\n{bases}\n")).unwrap();
    fs::write(path("none.fa"), format!(">x\n{bases}\n")).unwrap();
    fs::write(
        path("sites.vcf"),
        "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\na\t9\t.\tA\tC\t.\t.\t.\n",
    )
    .unwrap();
    let sam = |names: &[&str]| {
        let sequences: String =
            ["a", "b", "c", "d", "e"].map(|name| format!("@SQ\tSN:{name}\tLN:200\n")).concat();
        let groups = "@RG\tID:g\tSM:s\tPL:ILLUMINA\n";
        let record = |name: &&str| {
            let flag = if name.starts_with('-') { 4 } else { 0 };
            let name = name.trim_start_matches('-');
            format!("r\t{flag}\t{name}\t9\t60\t4M\t*\t0\t0\tACGT\tIIII\tRG:Z:g\n")
        };
        let records: String = names.iter().map(record).collect();
        fs::write(path("in.sam"), format!("@HD\tVN:1.6\n{sequences}{groups}{records}")).unwrap();
    };
    let with = |fasta: &str, options: &str| {
        let mut command = prep(&[&path("in.sam")]);
        command.args(options.split_whitespace()).current_dir(here.path());
        run_for(command.args(["--reference", fasta, "-o", "x.bam"]), SOON)
    };
    let uses = [
        "--set-tags NM,MD",
        "--known-sites sites.vcf --sort coordinate",
        "--metrics alignment-summary --metrics-dir metrics",
    ];
    for options in uses {
        sam(&["a", "c", "a", "-d"]);
        with("two.fa", options).ok();
        fs::remove_file(path("x.bam")).unwrap();
        sam(&["a", "e", "-d", "b", "c", "e"]);
        with("two.fa", options).fails_with(3).says(&["two.fa", "(2): b, e"]);
        sam(&["a"]);
        with("none.fa", options).fails_with(3).says(&["none.fa", "(1): a"]);
        assert!(!path("x.bam").exists());
        // Records that are left out need nothing.
        sam(&["a", "b", "c"]);
        fs::write(path("ac.bed"), "a\t0\t200\nc\t0\t200\n").unwrap();
        with("two.fa", &format!("{options} --regions ac.bed")).ok();
        fs::remove_file(path("x.bam")).unwrap();
    }
}

#[test]
fn combinations_that_make_no_sense_are_usage_errors() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    let data = hard(here.path(), 305, 50, 1);
    let out = here.path().join("x.bam");
    for options in [
        "--fix-mates",
        "--bqsr-report r.txt",
        "--known-sites x.vcf",
        "--set-tags NM",
        "--read-group-mode orphan",
        "--remove-tags ABC",
        "--sort backwards",
        "--exclude-flags 65536",
        "--output-format cram",
    ] {
        let mut command = prep(&[&data.sorted]);
        let run = run_for(command.args(options.split_whitespace()).arg("-o").arg(&out), SOON);
        assert_eq!(run.code(), 2, "{options}: {}", run.stderr);
        assert!(!out.exists());
    }
    let (_, empty) = write_both(here.path(), "empty", "@SQ\tSN:c\tLN:9\n");
    prep_into(&out, &[&empty], "--sort coordinate --mark-duplicates --duplicate-mode query");
    assert_eq!(lines(&out).len(), 0);
}
