//! What is not recalibrated is said: read groups of which no base counts, spliced reads, known
//! sites without a site. In one pass, in two, and in shards.

use crate::common::{folder, has, json_number, run, seqloom};
use crate::data::{align, small};
use crate::prep::{lines, prep_into};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Files of a test.
struct Files(tempfile::TempDir);

impl Files {
    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        fs::write(self.at(name), text).unwrap();
        self.at(name)
    }
}

/// The first contig begins with N.
const START: usize = 10_000;

/// `length` bases of the genome, from base `from` of what we take of its first contig.
fn bases(from: usize, length: usize) -> String {
    let bases = &small().genome().contigs[0].bases[START..];
    String::from_utf8(bases[from..from + length].to_vec()).unwrap()
}

/// Known sites of the genome.
fn sites(rows: &str) -> String {
    format!("##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n{rows}")
}

/// One site, far from all reads.
fn one_site() -> String {
    let contig = &small().genome().contigs[0].name;
    sites(&format!("{contig}\t290000\t.\tA\tC\t.\t.\t.\n"))
}

/// The qualities of records by read group, those that are there: of unmapped reads, too.
fn qualities(bam: &Path) -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in lines(bam) {
        let columns: Vec<&str> = line.split('\t').collect();
        let group = columns.iter().find_map(|it| it.strip_prefix("RG:Z:")).unwrap_or("");
        found.entry(group.to_owned()).or_default().push(columns[10].to_owned());
    }
    found
}

/// A sheet of two lanes, of which the second has one read, which does not map: a failed lane, a
/// negative control.
fn two_lanes(files: &Files) -> PathBuf {
    let read = |number: usize| {
        // Some bases are wrong, of which the qualities say nothing.
        let mut bases = bases(700 * number, 100);
        for at in [50, 70] {
            let wrong = if bases.as_bytes()[at] == b'A' { "C" } else { "A" };
            bases.replace_range(at..=at, wrong);
        }
        format!("@r{number}\n{bases}\n+\n{}\n", "I".repeat(100))
    };
    files.write("lane1.fq", &(0..60).map(read).collect::<String>());
    files.write("lane2.fq", &format!("@alone\n{}\n+\n{}\n", "AC".repeat(25), "F".repeat(50)));
    let row = |lane: usize| format!("s,ILLUMINA,lane{lane}.fq,g{lane}\n");
    let rows: String = (1..3).map(row).collect();
    files.write("lanes.csv", &format!("sample,platform,fastq_1,read_group\n{rows}"))
}

#[test]
fn a_lane_of_which_no_read_counts_keeps_its_qualities_in_one_pass_and_in_two() {
    if !has("samtools") {
        return;
    }
    let files = Files(folder());
    let (sheet, known) = (two_lanes(&files), files.write("k.vcf", &one_site()));
    let align = |name: &str, options: &[&str]| {
        let mut command = seqloom(["align", "--no-pg", "--input"]);
        command.arg(&sheet).arg(&small().ours).arg("-o").arg(files.at(name));
        command.args(["--json"]).arg(files.at(&format!("{name}.json")));
        command.args(options);
        run(&mut command)
    };
    let text = |path: PathBuf| path.display().to_string();
    let (known, report) = (text(known), text(files.at("r.txt")));
    let page = text(files.at("one.html"));
    let one =
        align("one.bam", &["--known-sites", &known, "--bqsr-report", &report, "--html", &page]);
    let warning = "warning: the recalibration report does not have read group g2, as none of its \
                   bases was counted: the qualities of its 1 records are not recalibrated";
    one.ok().says(&[warning]);
    let found = qualities(&files.at("one.bam"));
    assert_eq!(found["g2"], ["F".repeat(50)]);
    assert!(found["g1"].iter().all(|it| *it != "I".repeat(100)), "{found:?}");
    let json = files.at("one.bam.json");
    let number = |words: &[&str]| json_number(&json, words);
    assert_eq!(number(&["recalibration", "missing_read_groups", "g2"]), Some(1.0));
    assert_eq!(number(&["recalibration", "recalibrated_records"]), Some(60.0));
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("as they were: read group g2 has no counted base"));
    // The report alone says what applying it will want, which does as one pass does.
    let done = align(
        "plain.bam",
        &["--known-sites", &known, "--bqsr-report", &report, "--bqsr-report-only"],
    );
    done.ok()
        .says(&["warning: no base of read group g2 was counted", "--allow-missing-read-group"]);
    let refused = align("two.bam", &["--apply-bqsr", &report]);
    refused.fails_with(3).says(&["read alone", "\"g2\" is not in", "--allow-missing-read-group"]);
    let two = align("two.bam", &["--apply-bqsr", &report, "--allow-missing-read-group"]);
    two.ok().says(&[warning]);
    assert_eq!(qualities(&files.at("two.bam")), found);
    // So does prep, in one pass.
    let reference = small().ours.display();
    let of_prep = format!("--reference {reference} --known-sites {known} --sort coordinate");
    prep_into(&files.at("prep.bam"), &[&files.at("plain.bam")], &of_prep).says(&[warning]);
    assert_eq!(qualities(&files.at("prep.bam")), found);
}

#[test]
fn read_groups_of_which_no_read_counts_at_all_keep_their_qualities_in_shards_too() {
    if !has("samtools") {
        return;
    }
    let files = Files(folder());
    let read = |number: usize| format!("@r{number}\n{}\n+\n{}\n", "AC".repeat(25), "F".repeat(50));
    let reads = files.write("r.fq", &(0..40).map(read).collect::<String>());
    let known = files.write("k.vcf", &one_site());
    for resumed in [false, true] {
        let out = files.at(if resumed { "resumed.bam" } else { "plain.bam" });
        let mut command = seqloom(align(small(), &[&reads]));
        command.args(["--no-pg", "-R", "@RG\\tID:a\\tSM:s\\tPL:ILLUMINA", "--known-sites"]);
        command.arg(&known).arg("-o").arg(&out).args(["--json"]).arg(files.at("x.json"));
        if resumed {
            command.arg("--resume");
        }
        let done = run(&mut command).ok();
        done.says(&["does not have read group a", "qualities of its 40 records"]);
        assert_eq!(qualities(&out)["a"], vec!["F".repeat(50); 40]);
        let number = json_number(&files.at("x.json"), &["missing_read_groups", "a"]);
        assert_eq!(number, Some(40.0));
    }
}

#[test]
fn spliced_records_and_others_that_are_not_recalibrated_are_counted() {
    if !has("samtools") {
        return;
    }
    let files = Files(folder());
    let contig = &small().genome().contigs[0];
    let mut text = format!("@HD\tVN:1.6\n@SQ\tSN:{}\tLN:{}\n", contig.name, contig.bases.len());
    for other in &small().genome().contigs[1..] {
        text += &format!("@SQ\tSN:{}\tLN:{}\n", other.name, other.bases.len());
    }
    text += "@RG\tID:a\tSM:s\tPL:ILLUMINA\n";
    for number in 0..200 {
        let (from, spliced) = (500 * (number + 1), number % 2 == 0);
        let (cigar, skipped) = if spliced { ("40M200N60M", 200) } else { ("100M", 0) };
        let mut bases = bases(from, 40) + &bases(from + 40 + skipped, 60);
        // A base that is wrong, or qualities would stay as they are.
        bases.replace_range(20..=20, if bases.as_bytes()[20] == b'A' { "C" } else { "A" });
        let group = if number == 7 { "" } else { "\tRG:Z:a" };
        text += &format!(
            "r{number}\t0\t{}\t{}\t60\t{cigar}\t*\t0\t0\t{bases}\t{}{group}\n",
            contig.name,
            START + from + 1,
            "I".repeat(100)
        );
    }
    let (input, known) = (files.write("in.sam", &text), files.write("k.vcf", &one_site()));
    let reference = small().ours.display();
    let options = format!(
        "--sort coordinate --reference {reference} --known-sites {} --json {}",
        known.display(),
        files.at("x.json").display()
    );
    let done = prep_into(&files.at("x.bam"), &[&input], &options);
    let line = "recalibration: 99 records have new qualities; as they were: 100 spliced (N in the \
                CIGAR), 1 without read group";
    assert!(done.stderr.contains(line), "{}", done.stderr);
    let number = |name: &str| json_number(&files.at("x.json"), &["recalibration", name]);
    assert_eq!(number("spliced"), Some(100.0));
    assert_eq!(number("without_read_group"), Some(1.0));
    assert_eq!(number("recalibrated_records"), Some(99.0));
    let unchanged =
        lines(&files.at("x.bam")).iter().filter(|it| it.contains(&"I".repeat(100))).count();
    assert_eq!(unchanged, 101);
}

#[test]
fn known_sites_without_a_site_are_a_warning_even_to_a_quiet_run() {
    let files = Files(folder());
    let read = |number: usize| {
        format!("@r{number}\n{}\n+\n{}\n", bases(900 * number, 100), "I".repeat(100))
    };
    let reads = files.write("r.fq", &(0..20).map(read).collect::<String>());
    let (empty, bed) = (files.write("none.vcf", &sites("")), files.write("none.bed", ""));
    let one = files.write("one.vcf", &one_site());
    for (known, is_expected) in [(&empty, true), (&bed, true), (&one, false)] {
        let mut command = seqloom(align(small(), &[&reads]));
        command.args(["--quiet", "-R", "@RG\\tID:a\\tSM:s\\tPL:ILLUMINA", "--known-sites"]);
        let done = run(command.arg(known).arg("-o").arg(files.at("x.bam"))).ok();
        let text = format!("seqloom: warning: {}: no known site", known.display());
        assert_eq!(done.stderr.contains(&text), is_expected, "{}", done.stderr);
    }
}
