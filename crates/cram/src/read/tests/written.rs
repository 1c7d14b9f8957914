//! Files that samtools writes of the records of others, with all options of its formats.

use std::process::Command;

use seqloom_testkit::referees::{self, SAMTOOLS};
use seqloom_testkit::skip;

use super::*;

/// Options of a format, and whether a reference is there.
const FORMATS: [(&str, &str, bool); 14] = [
    ("3.0", "", true),
    ("3.1", "", true),
    ("3.0", ",level=9,seqs_per_slice=100", true),
    ("3.1", ",small,seqs_per_slice=1000", true),
    ("3.1", ",archive", true),
    ("3.0", ",use_bzip2=1,level=8", true),
    ("3.1", ",use_lzma=1,use_bzip2=1,level=9", true),
    ("3.0", ",level=1,slices_per_container=3,seqs_per_slice=50", true),
    ("3.0", ",multi_seq_per_slice=1", true),
    ("3.0", ",embed_ref=1", true),
    ("3.1", ",embed_ref=2", true),
    ("3.0", ",no_ref=1", false),
    ("3.0", ",lossy_names=1", true),
    ("3.0", ",store_md=1,store_nm=1", true),
];

fn run(program: &Path, arguments: &[&str], folder: &Path) -> String {
    let done = Command::new(program).args(arguments).current_dir(folder).output().unwrap();
    let error = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{program:?} {arguments:?}: {error}");
    String::from_utf8_lossy(&done.stdout).into_owned()
}

fn can_run(program: &Path, arguments: &[&str], folder: &tempfile::TempDir) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder.path()).output().unwrap().status.success()
}

/// Writes `input` in all formats, and reads each. No reference is made of what is not sorted.
fn compare(input: &Path, reference: &Path, is_sorted: bool) {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(reference, folder.path().join("r.fa")).unwrap();
    let sequences = fasta(reference);
    for version in SAMTOOLS {
        let Some(samtools) = referees::find("samtools", version) else { continue };
        let mut records = 0;
        for (format, options, has_reference) in FORMATS {
            if options == ",embed_ref=2" && !is_sorted {
                continue;
            }
            let format = format!("cram,version={format}{options}");
            let mut arguments = vec!["view", "--output-fmt", &format, "-o", "x.cram"];
            if has_reference {
                arguments.extend(["-T", "r.fa"]);
            }
            arguments.push(input.to_str().unwrap());
            // samtools 1.16.1 crashes as it makes a reference of the hard records, and wants
            // sequences from the network that no record of the real ones is on.
            if version.starts_with("1.16") && !can_run(&samtools, &arguments, &folder) {
                continue;
            }
            run(&samtools, &arguments, folder.path());
            let file = fs::read(folder.path().join("x.cram")).unwrap();
            let view = ["view", "-T", "r.fa", "x.cram"];
            if options.contains("slices_per_container") && !can_run(&samtools, &view, &folder) {
                // samtools 1.24 calls its own file of some real reads corrupt.
                assert!(read_file(&file, &sequences, "x.cram").is_ok(), "{version} {format}");
                continue;
            }
            let theirs = run(&samtools, &view, folder.path());
            let theirs: Vec<String> = theirs.lines().map(ordered).collect();
            let (header, framed) = read_file(&file, &sequences, "x.cram")
                .unwrap_or_else(|fault| panic!("{version} {format}: {fault:?}"));
            let ours = lines(&header, &framed);
            for (ours, theirs) in ours.iter().zip(&theirs) {
                assert_eq!(ours, theirs, "{version} {format}");
            }
            assert_eq!(ours.len(), theirs.len(), "{version} {format}");
            records += ours.len();
        }
        referees::compared(&referees::name_of(&samtools), records);
    }
}

#[test]
fn hard_records_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let bases = "ACGTTGCANNACGTRYACGTTTGCAAGGCCTTAACCGGTTACGATCGATTGCATGCATGCAAGCTTAGC";
    let reference = folder.path().join("r.fa");
    fs::write(&reference, format!(">a\n{bases}\n>b\n{}\n", bases.repeat(3))).unwrap();
    let length = bases.len();
    let mut text = format!(
        "@HD\tVN:1.6\tSO:unsorted\n@SQ\tSN:a\tLN:{length}\n@SQ\tSN:b\tLN:{}\n@RG\tID:g\tSM:s\n\
         @RG\tID:h\tSM:s\n",
        3 * length
    );
    text += include_str!("hard.sam");
    let input = folder.path().join("in.sam");
    fs::write(&input, text).unwrap();
    compare(&input, &reference, false);
    let Some(samtools) = SAMTOOLS.iter().find_map(|it| referees::find("samtools", it)) else {
        return;
    };
    run(&samtools, &["sort", "-o", "sorted.sam", "in.sam"], folder.path());
    compare(&folder.path().join("sorted.sam"), &reference, true);
}

#[test]
fn records_of_others_are_read() {
    let Some(root) = skip::data("bam/hts-specs_test/cram") else { return };
    for name in ["1404_index_multislice", "1005_qual", "0507_mapped", "1403_index_multiref"] {
        compare(&root.join(format!("3.0/passed/{name}.sam")), &root.join("ce.fa"), true);
    }
}

#[test]
fn records_of_real_reads_are_read() {
    let Some(root) = skip::data("bam/gatk_testdata") else { return };
    let input = "org/broadinstitute/hellbender/tools/BQSR/HiSeq.1mb.1RG.2k_lines.alternate.bam";
    compare(&root.join(input), &root.join("human_g1k_v37.chr17_1Mb.fasta"), true);
}
