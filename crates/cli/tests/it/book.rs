//! The manual's commands, run as they are written there. A page's blocks marked `sh` are one
//! session: they run in their order in one shell, in a folder with the files that the page names
//! (`tests/book/data.sh`). What a page says of results it shows by commands, such as `cmp`; what it
//! says in words is checked here.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use crate::common::{folder, has, names_in, run, run_for, seqloom};
use seqloom_testkit::gatk::Gatk;
use seqloom_testkit::skip::{data, skip};

/// The repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A page, what is in its folder before, the programs it calls, and what holds after.
struct Page {
    name: &'static str,
    data: &'static str,
    programs: &'static [&'static str],
    /// Conditions on the folder, in the shell's words; `log` has what the page printed.
    after: &'static [&'static str],
}

/// All pages that have blocks marked `sh`.
const PAGES: [Page; 12] = [
    Page {
        name: "tutorial.md",
        data: "nothing",
        programs: &["samtools"],
        after: &[
            "grep -E '^[0-9]+ of [0-9]+ reads within 20 bp of the truth .99.9' log",
            "grep 'seqloom: cut.fq: record 285 .*line 1138' log",
            "grep -x 'exit code 3' log && grep -x 'no cut.bam' log",
            "test -s out.html && test -s out.json",
        ],
    },
    Page {
        name: "how-to/wgs.md",
        data: "sites",
        programs: &["samtools"],
        after: &["test -s NA12878.html", "grep RecalTable0 NA12878.recal.table"],
    },
    Page {
        name: "how-to/panel-umis.md",
        data: "umis",
        programs: &["samtools", "picard"],
        after: &["grep -E '^2 [0-9]+$' log", "samtools view new.bam | grep 'RX:Z:'"],
    },
    Page {
        name: "how-to/atac.md",
        data: "atac",
        programs: &["samtools"],
        after: &["grep -E '^chrM [1-9][0-9.]+ %$' log", "test -s qc/s.insert_size.txt"],
    },
    Page {
        name: "how-to/nanopore-methylation.md",
        data: "signal",
        programs: &["samtools", "minimap2"],
        after: &["test $(wc -l < frequency.tsv) -gt 300", "test -s calls.bam.bai"],
    },
    Page {
        name: "how-to/core-facility.md",
        data: "lanes",
        programs: &["samtools", "multiqc"],
        after: &[
            "test $(samtools view -H a.bam | grep -c '^@RG') = 2",
            "test -s b.bam.bai && test -s b.html && test -s b.log",
            "test $(samtools view -c -F 0x900 a.L001.bam) = 2000",
        ],
    },
    Page {
        name: "coming-from/bwa.md",
        data: "pairs",
        programs: &["bwa", "samblaster", "samtools"],
        after: &["test $(samtools view -c -f DUP old.bam) = $(samtools view -c -f DUP new.bam)"],
    },
    Page {
        name: "coming-from/picard.md",
        data: "aligned",
        programs: &["samtools", "picard"],
        after: &["samtools view -H new.bam | grep 'SO:queryname'"],
    },
    Page {
        name: "coming-from/gatk-bqsr.md",
        data: "aligned",
        programs: &["samtools"],
        after: &[
            "! cmp -s <(samtools view in.bam) <(samtools view new.bam)",
            "grep RecalTable2 recal.table && test -s out.bam.bai",
        ],
    },
    Page {
        name: "coming-from/elprep.md",
        data: "elprep",
        programs: &["samtools", "picard"],
        after: &["test $(samtools view -c -f 4 out.bam) = 0", "test -s qc/out.markdup.txt"],
    },
    Page {
        name: "coming-from/slow5tools.md",
        data: "fast5",
        programs: &[],
        after: &["test $(ls one_each | wc -l) = 2", "grep -E 'number of records.3$' log"],
    },
    Page {
        name: "coming-from/nanopolish.md",
        data: "signal",
        programs: &["samtools", "nanopolish"],
        after: &["test $(wc -l < new.tsv) -gt 500"],
    },
];

/// A block of a page, and what is after `sh` where it begins.
struct Block {
    mark: String,
    text: String,
}

/// The blocks of a page that are to be run.
fn blocks(page: &str) -> Vec<Block> {
    let mut found: Vec<Block> = Vec::new();
    let mut inside = None;
    for line in page.lines() {
        match (line.strip_prefix("```"), inside) {
            (Some(info), None) => {
                let is_run = info == "sh" || info.starts_with("sh ");
                inside = Some(is_run);
                if is_run {
                    let mark = info[2..].trim().to_owned();
                    found.push(Block { mark, text: String::new() });
                }
            }
            (Some(_), Some(_)) => inside = None,
            (None, Some(true)) => {
                let block = found.last_mut().unwrap();
                block.text.push_str(line);
                block.text.push('\n');
            }
            (None, _) => {}
        }
    }
    assert!(inside.is_none(), "a block does not end");
    found
}

/// What of a page can run here. `slurm` stands in for a scheduler in `tests/book/bin`; GATK is only
/// there where the long tests have installed it.
fn session(page: &str) -> String {
    let gatk = Gatk::find().is_some();
    let runs = |block: &Block| match block.mark.as_str() {
        "" | "slurm" => true,
        "gatk" => gatk,
        other => panic!("nothing is known of blocks marked {other}"),
    };
    blocks(page).into_iter().filter(runs).map(|block| block.text).collect()
}

/// The test kit, of the profile that the binary under test is of.
fn kit() -> &'static Path {
    static KIT: OnceLock<PathBuf> = OnceLock::new();
    KIT.get_or_init(|| {
        let built = Path::new(env!("CARGO_BIN_EXE_seqloom")).parent().unwrap();
        let profile = match built.file_name().unwrap().to_str().unwrap() {
            "debug" => "dev",
            profile => profile,
        };
        let mut command = Command::new(env!("CARGO"));
        command.args(["build", "--quiet", "-p", "seqloom-testkit", "--profile", profile]);
        command.arg("--target-dir").arg(built.parent().unwrap());
        run_for(command.current_dir(root()), Duration::from_secs(1800)).ok();
        built.to_owned()
    })
}

/// A shell in a folder, with the programs of this repository, the stand-ins and the current
/// referees on its path.
pub(crate) fn shell(here: &Path) -> Command {
    let mut path = vec![kit().to_owned(), root().join("tests/book/bin"), root().join(".venv/bin")];
    path.extend(seqloom_testkit::referees::programs());
    path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    let mut command = Command::new("bash");
    command.args(["-euo", "pipefail"]).current_dir(here);
    command.env("PATH", std::env::join_paths(path).unwrap()).env("LC_ALL", "C.UTF-8");
    command
}

fn is_there(program: &str) -> bool {
    if program != "multiqc" {
        return has(program);
    }
    let found = root().join(".venv/bin/multiqc").exists();
    if !found {
        skip("MultiQC is not installed in .venv");
    }
    found
}

/// Runs a page; `None` after saying that something it needs is missing.
fn run_page(page: &Page) -> Option<tempfile::TempDir> {
    if page.data == "signal" || page.data == "fast5" {
        data("nanopore")?;
    }
    if !page.programs.iter().all(|it| is_there(it)) {
        return None;
    }
    let here = folder();
    run(shell(here.path()).arg(root().join("tests/book/data.sh")).arg(page.data)).ok();
    let text = fs::read_to_string(root().join("docs").join(page.name)).unwrap();
    fs::write(here.path().join("page.sh"), session(&text)).unwrap();
    let ran = run(shell(here.path()).arg("page.sh"));
    let log = format!("{}{}", ran.text(), ran.stderr);
    assert_eq!(ran.code(), 0, "{}: {log}", page.name);
    fs::write(here.path().join("log"), &log).unwrap();
    for condition in page.after {
        let checked = run(shell(here.path()).args(["-c", condition]));
        assert_eq!(checked.code(), 0, "{}: not so: {condition}\n{log}", page.name);
    }
    Some(here)
}

fn run_pages(prefix: &str) {
    for page in PAGES.iter().filter(|it| it.name.starts_with(prefix)) {
        run_page(page);
    }
}

#[test]
fn the_tutorial_is_true() {
    run_pages("tutorial");
}

#[test]
fn the_how_to_pages_are_true() {
    run_pages("how-to/");
}

#[test]
fn the_pages_for_who_comes_from_other_programs_are_true() {
    run_pages("coming-from/");
}

/// BLOW5 as slow5tools itself has made it of the page's file.
#[test]
fn the_page_about_slow5tools_makes_its_bytes() {
    let page = PAGES.iter().find(|it| it.data == "fast5").unwrap();
    let Some(here) = run_page(page) else { return };
    let expected = "nanopore/slow5tools_test/exp/f2s/multi-fast5-output/ssm1_zlib_svb.blow5";
    let expected = fs::read(data(expected).unwrap()).unwrap();
    assert!(fs::read(here.path().join("reads.blow5")).unwrap() == expected);
}

#[test]
fn every_page_with_commands_is_run() {
    let docs = root().join("docs");
    let mut found = Vec::new();
    for room in ["", "how-to", "coming-from"] {
        for name in names_in(&docs.join(room)).iter().filter(|it| it.ends_with(".md")) {
            let path = Path::new(room).join(name);
            let text = fs::read_to_string(docs.join(&path)).unwrap();
            let is_of_the_book = !room.is_empty() || name == "tutorial.md";
            let others = text.lines().filter(|it| it.starts_with("```") && it.len() > 3);
            assert!(!is_of_the_book || others.clone().all(|it| it.starts_with("```sh")), "{name}");
            if !blocks(&text).is_empty() {
                found.push(path.to_str().unwrap().to_owned());
            }
        }
    }
    let mut listed = PAGES.map(|it| it.name.to_owned());
    found.sort_unstable();
    listed.sort_unstable();
    assert_eq!(found, listed);
}

/// The script for SLURM, with what stands in for SLURM.
#[test]
fn the_arrays_of_a_scheduler_make_the_file() {
    if !has("samtools") {
        return;
    }
    let text = fs::read_to_string(root().join("docs/many-machines.md")).unwrap();
    let script = text.split("```bash\n").nth(1).unwrap().split("```").next().unwrap();
    let here = folder();
    run(shell(here.path()).arg(root().join("tests/book/data.sh")).arg("pairs")).ok();
    fs::write(here.path().join("submit.sh"), script).unwrap();
    let line = "seqloom index ref.fa; bash submit.sh RUN out.bam ref.fa R1.fq.gz R2.fq.gz; \
                seqloom align -R '@RG\\tID:a\\tSM:s\\tLB:l\\tPL:ILLUMINA' ref.fa R1.fq.gz \
                R2.fq.gz -o one.bam; cmp <(samtools view out.bam) <(samtools view one.bam)";
    run(shell(here.path()).args(["-c", line])).ok();
}

#[test]
fn the_page_of_options_is_what_the_program_prints() {
    let here = folder();
    run(seqloom(["manual", "--markdown"]).arg(here.path())).ok();
    let made = fs::read_to_string(here.path().join("options.md")).unwrap();
    let page = fs::read_to_string(root().join("docs/options.md")).unwrap();
    assert!(made == page, "docs/options.md is old: `seqloom manual --markdown docs` makes it anew");
}
