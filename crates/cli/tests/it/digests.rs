//! The bytes of every output, over changes of the program: `tests/digests.tsv` has commands and the
//! SHA-256 of what they wrote when the table was made. A change that means to change bytes renews
//! the rows that it changes and says so; all others must leave the table as it is.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{folder, names_in, run, words};
use seqloom_testkit::fastq::{Outputs, simulate_to_files};
use seqloom_testkit::genome::Genome;
use seqloom_testkit::reads::{ReadGroup, ReadOptions};
use seqloom_testkit::skip::{data, slow_tests};

/// The real data as commands name it: some outputs have the names of their inputs in them.
const DATA: &str = "data";

/// A row of the table: `command` is empty where the row before has made `output`, too.
struct Row {
    digest: String,
    output: String,
    command: String,
}

fn table() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/digests.tsv")
}

fn rows() -> Vec<Row> {
    let text = fs::read_to_string(table()).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let [digest, output, command] =
                line.split('\t').map(str::to_owned).collect::<Vec<_>>().try_into().unwrap();
            Row { digest, output, command }
        })
        .collect()
}

/// `simulate FASTA PREFIX LENGTHS TEMPLATES SEED`: pairs as two files and as one, and as SAM.
fn simulate(here: &Path, arguments: &[&str]) {
    let [fasta, prefix, lengths, templates, seed] = arguments else { panic!("{arguments:?}") };
    let (least, most) = lengths.split_once('-').unwrap_or((lengths, lengths));
    let options = ReadOptions {
        seed: seed.parse().unwrap(),
        templates: templates.parse().unwrap(),
        length_min_bp: least.parse().unwrap(),
        length_max_bp: most.parse().unwrap(),
        duplicate_share: 0.15,
        read_groups: vec![ReadGroup { id: "a".into(), library: "l".into(), sample: "s".into() }],
        ..ReadOptions::default()
    };
    let genome = Genome::read_fasta(&here.join(fasta)).unwrap();
    let at = |suffix: &str| here.join(format!("{prefix}_{suffix}"));
    let outputs = Outputs {
        first: Some(&at("R1.fq.gz")),
        second: Some(&at("R2.fq.gz")),
        interleaved: Some(&at("both.fq")),
        unaligned_sam: Some(&at("unaligned.sam")),
    };
    simulate_to_files(&genome, &options, outputs).unwrap();
}

/// The program whose outputs are compared: `SEQLOOM_PROGRAM` says of another one, such as that of
/// another processor (`tests/arm64.sh`), else it is the one under test.
fn program() -> PathBuf {
    let other = std::env::var_os("SEQLOOM_PROGRAM").filter(|path| !path.is_empty());
    other.map_or_else(|| env!("CARGO_BIN_EXE_seqloom").into(), PathBuf::from)
}

/// Runs the command of a row in `here`, by a shell that finds our program first.
fn perform(here: &Path, command: &str) {
    let mut words = command.split_whitespace();
    if words.next() == Some("simulate") {
        return simulate(here, &words.collect::<Vec<_>>());
    }
    let folder = program().parent().unwrap().to_owned();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).current_dir(here).env("PATH", path).env("DATA", DATA);
    let run = run(&mut shell);
    assert_eq!(run.code(), 0, "{command}: {}", run.stderr);
}

/// SHA-256 of a file, or of the list of a folder's files with theirs.
fn digest(path: &Path) -> String {
    let input = if path.is_dir() {
        let list = path.with_extension("list");
        let names = names_in(path);
        let line = |name: &String| format!("{} {name}\n", digest(&path.join(name)));
        fs::write(&list, names.iter().map(line).collect::<String>()).unwrap();
        list
    } else {
        path.to_owned()
    };
    let run = run(words("sha256sum").arg(input)).ok();
    run.text().split_whitespace().next().unwrap().to_owned()
}

#[test]
fn outputs_are_those_of_the_table() {
    let Some(refs) = data("refs") else { return };
    let here = folder();
    symlink(refs.parent().unwrap(), here.path().join(DATA)).unwrap();
    let (mut found, mut changed) = (String::new(), BTreeMap::new());
    for Row { digest: expected, output, command } in rows() {
        if !command.is_empty() {
            perform(here.path(), &command);
        }
        let digest =
            if output == "-" { output.clone() } else { digest(&here.path().join(&output)) };
        if digest != expected {
            changed.insert(output.clone(), command.clone());
        }
        writeln!(found, "{digest}\t{output}\t{command}").unwrap();
    }
    let now = Path::new(env!("CARGO_TARGET_TMPDIR")).join("digests.tsv");
    fs::write(&now, found).unwrap();
    assert!(
        changed.is_empty(),
        "other bytes than before, {} has them: {changed:#?}",
        now.display()
    );
}

/// Digest of what blocks inflate to.
fn inflated_digest(path: &Path) -> String {
    let mut shell = Command::new("sh");
    let run = run(shell.args(["-c", "gzip -dc \"$0\" | sha256sum"]).arg(path)).ok();
    run.text().split_whitespace().next().unwrap().to_owned()
}

/// How BAM is deflated is no part of what it says.
#[test]
fn outputs_inflate_to_what_libdeflate_alone_makes() {
    let Some(refs) = data("refs").filter(|_| slow_tests()) else { return };
    let (ours, libdeflates) = (folder(), folder());
    for here in [&ours, &libdeflates] {
        symlink(refs.parent().unwrap(), here.path().join(DATA)).unwrap();
    }
    let (mut differ, mut others) = (Vec::new(), 0);
    for Row { output, command, .. } in rows() {
        let deflates = ["seqloom align ", "seqloom prep "].iter().any(|it| command.starts_with(it));
        if !command.is_empty() {
            perform(ours.path(), &command);
            let option = if deflates { " --deflate libdeflate" } else { "" };
            perform(libdeflates.path(), &format!("{command}{option}"));
        }
        if !output.contains(".bam")
            || [".bai", ".csi", ".md5"].iter().any(|it| output.ends_with(it))
        {
            continue;
        }
        let [a, b] = [&ours, &libdeflates].map(|here| here.path().join(&output));
        others += usize::from(fs::read(&a).unwrap() != fs::read(&b).unwrap());
        if inflated_digest(&a) != inflated_digest(&b) {
            differ.push(output);
        }
    }
    assert!(differ.is_empty(), "other bytes than libdeflate's, inflated: {differ:#?}");
    assert!(others > 0, "no output is deflated by records");
}
