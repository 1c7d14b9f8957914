//! What Picard reads of our CRAM.

use crate::common::{folder, run};
use crate::cram::make;
use crate::data::{align_small, small};
use seqloom_testkit::referees::{self, PICARD, Picard};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Converts a file to SAM.
fn convert(picard: &Picard, file: &Path, sam: &Path, fasta: &Path) -> Command {
    let mut command = picard.command();
    command.args(["SamFormatConverter", "QUIET=true", "VERBOSITY=ERROR"]);
    command.arg(format!("I={}", file.display())).arg(format!("O={}", sam.display()));
    command.arg(format!("R={}", fasta.display()));
    command
}

/// Records of SAM text, tags in order, without those tags of a few names.
fn records(sam: &Path, without: &[&str]) -> Vec<Vec<String>> {
    let fields = |line: &str| {
        let mut fields: Vec<String> = line.split('\t').map(str::to_owned).collect();
        let mut tags = fields.split_off(fields.len().min(11));
        tags.retain(|tag| !without.iter().any(|it| tag.starts_with(it)));
        tags.sort_unstable();
        fields.extend(tags);
        fields
    };
    let text = fs::read_to_string(sam).unwrap();
    text.lines().filter(|it| !it.starts_with('@')).map(fields).collect()
}

#[test]
fn picard_reads_the_records_of_the_bam_and_3_1_from_its_version_3_on() {
    let here = folder();
    let path = |name: &str| here.path().join(name);
    // Picard wants the FASTA's index and dictionary next to it.
    let fasta = path("ref.fa");
    fs::copy(&small().ours, &fasta).unwrap();
    let base = align_small();
    let bam = make(here.path(), "x.bam", &base, "-t 2");
    for version in PICARD {
        let Some(picard) = Picard::find(version) else { continue };
        if !index(&fasta) {
            return;
        }
        run(&mut convert(&picard, &bam, &path("of-bam.sam"), &fasta)).ok();
        for (cram_version, keep) in [("3.0", ""), ("3.0", " --cram-keep-md"), ("3.1", "")] {
            let options = format!("-t 2 --cram-version {cram_version}{keep}");
            let cram = make(here.path(), "x.cram", &base, &options);
            let sam = path("of-cram.sam");
            let mut convert = convert(&picard, &cram, &sam, &fasta);
            if cram_version == "3.1" && version != PICARD[0] {
                run(&mut convert).fails_with(1).says(&["CRAM version 3.1 is not supported"]);
                continue;
            }
            run(&mut convert).ok();
            // The older one makes neither of these two.
            let has_tags = version == PICARD[0] || !keep.is_empty();
            let without: &[&str] = if has_tags { &[] } else { &["NM:", "MD:"] };
            let (read, expected) = (records(&sam, without), records(&path("of-bam.sam"), without));
            assert_eq!(read.len(), expected.len());
            for (read, expected) in read.iter().zip(&expected) {
                assert_eq!(read, expected, "{version} {options}");
            }
            // Those that have one have it in the file.
            let with = |sam: &Path| {
                let tagged = |it: &&Vec<String>| it.iter().any(|tag| tag.starts_with("MD:"));
                records(sam, &[]).iter().filter(tagged).count()
            };
            let (with, all) = (with(&sam), with(&path("of-bam.sam")));
            assert!(if has_tags { with == all } else { with * 10 < all }, "{with} {all}");
            referees::compared(&picard.name(), read.len());
        }
    }
}

/// Has samtools make what is next to a FASTA; whether it is there.
fn index(fasta: &Path) -> bool {
    use crate::common::{has, words};
    if !has("samtools") {
        return false;
    }
    run(words("samtools faidx").arg(fasta)).ok();
    run(words("samtools dict -o").arg(fasta.with_extension("dict")).arg(fasta)).ok();
    true
}
