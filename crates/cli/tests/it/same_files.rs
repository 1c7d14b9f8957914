//! No command of `fastq`, `signal` and `index` writes over what it reads.

use std::fs;
use std::path::Path;

use crate::common::{Run, folder, run, seqloom};

const FASTQ: &str = "@a\nACGT\n+\nIIII\n";

/// One read.
const SLOW5: &str = "#slow5_version\t0.2.0\n#num_read_groups\t1\n@run_id\ta\n\
    #char*\tuint32_t\tdouble\tdouble\tdouble\tdouble\tuint64_t\tint16_t*\n\
    #read_id\tread_group\tdigitisation\toffset\trange\tsampling_rate\tlen_raw_signal\traw_signal\n\
    r1\t0\t8192\t1\t2\t4000\t2\t3,4\n";

fn line(here: &Path, line: &str) -> Run {
    run(seqloom(line.split_whitespace()).current_dir(here))
}

/// All files of a folder, with what is in them.
fn contents(here: &Path) -> Vec<(String, Vec<u8>)> {
    let names = crate::common::names_in(here).into_iter().filter(|name| !here.join(name).is_dir());
    names.map(|name| (name.clone(), fs::read(here.join(&name)).unwrap())).collect()
}

/// Lines that are refused, and leave everything as it was.
fn refused(here: &Path, lines: &[(&str, &str)]) {
    let before = contents(here);
    for (arguments, word) in lines {
        line(here, arguments).fails_with(2).says(&[word]);
        assert!(contents(here) == before, "{arguments}");
    }
}

#[test]
fn fastq_and_index_do_not_write_over_their_input() {
    let here = folder();
    let at = |name: &str| here.path().join(name);
    fs::write(at("1.fq"), FASTQ).unwrap();
    fs::write(at("2.fq"), FASTQ).unwrap();
    fs::hard_link(at("1.fq"), at("hard.fq")).unwrap();
    std::os::unix::fs::symlink("1.fq", at("link.fq")).unwrap();
    fs::write(at("ref.pac"), ">a\nACGTACGTAC\n").unwrap();
    refused(
        here.path(),
        &[
            ("fastq pad 1.fq -o 1.fq", "-o 1.fq is also an input; it would be overwritten"),
            ("fastq pad 1.fq -o ./1.fq", "-o ./1.fq is also an input"),
            ("fastq pad 1.fq -o hard.fq", "-o hard.fq is also an input"),
            ("fastq pad 1.fq -o link.fq", "-o link.fq is also an input"),
            ("fastq pad link.fq -o 1.fq", "-o 1.fq is also an input"),
            ("fastq pad --bgzf 1.fq 2.fq -o x --output2 1.fq", "--output2 1.fq is also an input"),
            ("fastq pad 1.fq 2.fq -o x --output2 x", "-o and --output2 are both x"),
            ("index ref.pac -p ref", "the index file ref.pac is also an input"),
        ],
    );
}

#[test]
fn signal_commands_do_not_write_over_their_input() {
    let here = folder();
    let at = |name: &str| here.path().join(name);
    fs::create_dir(at("in")).unwrap();
    for name in ["a.slow5", "b.slow5", "in/c.slow5"] {
        fs::write(at(name), SLOW5).unwrap();
    }
    fs::hard_link(at("in/c.slow5"), at("c.slow5")).unwrap();
    line(here.path(), "signal index b.slow5").ok();
    fs::write(at("ids"), "r1\n").unwrap();
    fs::write(at("table"), "parent_read_id\tbarcode_arrangement\nr1\tb1\n").unwrap();
    fs::write(at("calls"), "").unwrap();
    let input = "is also an input; it would be overwritten";
    let both = "give each its own";
    refused(
        here.path(),
        &[
            ("signal cat a.slow5 -o a.slow5", input),
            ("signal cat a.slow5 in -o c.slow5", input),
            ("signal merge a.slow5 b.slow5 -o b.slow5", input),
            ("signal convert a.slow5 -o a.slow5", input),
            ("signal convert in -o c.slow5", input),
            ("signal view a.slow5 -o a.slow5", input),
            ("signal degrade a.slow5 -b 2 -o a.slow5", input),
            ("signal get a.slow5 r1 -o a.slow5", input),
            ("signal get a.slow5 --list ids -o ids", input),
            ("signal get a.slow5 r1 --index b.slow5.idx -o b.slow5.idx", input),
            // The index next to the output would be removed.
            ("signal get a.slow5 r1 --index b.slow5.idx -o b.slow5", input),
            ("signal get a.slow5 r1 -o a.slow5.idx", both),
            ("signal frequency calls -o calls", input),
            ("signal index a.slow5 --lost a.slow5", input),
            ("signal index a.slow5 --lost a.slow5.idx", both),
            ("signal split -x table a.slow5 -d out --lost table", input),
            ("signal split -r 1 a.slow5 -d out --lost a.slow5", input),
            ("signal check a.slow5 --lost a.slow5", input),
            ("signal stats a.slow5 --lost a.slow5", input),
            ("signal skim a.slow5 --lost a.slow5", input),
            ("signal view a.slow5 -o x --lost x", both),
        ],
    );
    // Standard output, pipes and devices are no file that is overwritten.
    for rest in ["-o -", "-o /dev/null --lost /dev/null", "-o /dev/stdout"] {
        line(here.path(), &format!("signal view a.slow5 {rest}")).ok();
    }
    // What is there and no input is replaced, as ever.
    line(here.path(), "signal view a.slow5 -o b.slow5").ok();
}

#[test]
fn calls_do_not_go_over_what_they_are_made_from() {
    let here = folder();
    let at = |name: &str| here.path().join(name);
    let files = ["x.bam", "x.bam.bai", "ref.fa", "ref.fa.fai", "reads.fq", "model", "s.slow5"];
    for name in files.into_iter().chain(["s.slow5.idx"]) {
        fs::write(at(name), "not looked at").unwrap();
    }
    let inputs = "-b x.bam -g ref.fa -r reads.fq -s s.slow5 --kmer-model model";
    let check = |command: &str, label: &str, file: &str, word: &str| {
        let arguments = format!("signal {command} {inputs} {label} {file}");
        refused(here.path(), &[(&arguments, word)]);
    };
    for file in files.into_iter().chain(["s.slow5.idx"]) {
        for label in ["-o", "--lost", "--json", "--summary"] {
            check("eventalign", label, file, &format!("{label} {file} is also an input"));
        }
        for label in ["-o", "--modbam", "--bedmethyl"] {
            check("methylation", label, file, &format!("{label} {file} is also an input"));
        }
    }
    fs::write(at("cpg"), "").unwrap();
    check("methylation --methylation-model cpg", "-o", "cpg", "-o cpg is also an input");
    check("methylation --modbam new", "-o", "new.bai", "the index of --modbam");
    for name in ["m.bam", "m.fq", "m.slow5"] {
        fs::write(at(name), "").unwrap();
    }
    let methylated =
        "train --methylated-bam m.bam --methylated-reads m.fq --methylated-signal m.slow5";
    for file in ["x.bam", "reads.fq", "s.slow5", "model", "m.bam", "m.fq", "m.slow5"] {
        for label in ["-o", "--json", "--lost"] {
            check(methylated, label, file, &format!("{label} {file} is also an input"));
        }
    }
    check("eventalign --summary new", "-o", "new", "-o and --summary are both new");
}
