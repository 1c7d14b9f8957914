//! nanopolish in a folder of its own, with copies of the inputs.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use seqloom_testkit::skip;
use tempfile::TempDir;

use super::super::real_reads::{RealRead, folder, reads};
use super::inputs::{Inputs, draft, unpacked};

/// Reads that are compared when no slow tests were requested.
const FEW: usize = 6;

/// The alignments, as f5c's tests have them.
pub(crate) const ALIGNMENTS: &str = "reads.sorted.bam";

/// nanopolish, and what both sides start from.
pub(crate) struct Referee {
    folder: TempDir,
    pub(crate) inputs: Inputs,
}

impl Referee {
    /// The referee with a few reads or with all of them; None after saying why not.
    pub(crate) fn new(all: bool) -> Option<Self> {
        let data = folder()?;
        are_installed(&["nanopolish", "samtools"])?;
        let folder = tempfile::tempdir().unwrap();
        let mut reads = reads(&data);
        reads.truncate(if all { usize::MAX } else { FEW });
        let names: Vec<String> = reads.iter().map(RealRead::name).collect();
        fs::write(folder.path().join("names"), names.join("\n")).unwrap();
        let bam = data.join(ALIGNMENTS);
        let view = ["view", "-b", "-F", "4", "-N", "names", "-o", "reads.bam"];
        run(folder.path(), "samtools", &[&view[..], &[bam.to_str().unwrap()]].concat());
        let fasta = draft(&data);
        prepare(&data, folder.path(), &fasta);
        Some(Self { folder, inputs: Inputs::new(&bam, &fasta, reads) })
    }

    /// The referee with all reads, aligned to another genome than that of the data set.
    pub(crate) fn on_another_genome() -> Option<Self> {
        let data = folder()?;
        let genome = skip::data("refs/ecoli/MG1655-K12.fasta.gz")?;
        are_installed(&["nanopolish", "samtools", "minimap2"])?;
        let folder = tempfile::tempdir().unwrap();
        let bases = data.join("reads.fasta");
        let [genome_path, bases] = [&genome, &bases].map(|path| path.to_str().unwrap());
        let map = ["-ax", "map-ont", "-o", "reads.sam", genome_path, bases];
        run(folder.path(), "minimap2", &map);
        run(folder.path(), "samtools", &["sort", "-o", "reads.bam", "reads.sam"]);
        let fasta = unpacked(&genome);
        prepare(&data, folder.path(), &fasta);
        let bam = folder.path().join("reads.bam");
        let inputs = Inputs::new(&bam, &fasta, reads(&data));
        Some(Self { folder, inputs })
    }

    /// What nanopolish prints for these arguments, after those that name its inputs.
    pub(crate) fn nanopolish(&self, command: &str, arguments: &[&str]) -> String {
        let inputs = ["-t", "1", "-b", "reads.bam", "-g", "draft.fa", "-r", "reads.fasta"];
        let mut process = Command::new("nanopolish");
        process.arg(command).args(inputs).args(arguments);
        process.current_dir(self.folder.path()).stderr(Stdio::null());
        String::from_utf8(process.output().unwrap().stdout).unwrap()
    }

    /// A file that it wrote.
    pub(crate) fn written(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap()
    }
}

fn run(folder: &Path, program: &str, arguments: &[&str]) {
    let output = Command::new(program).args(arguments).current_dir(folder).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {errors}");
}

/// None after saying which of these programs is missing.
fn are_installed(programs: &[&str]) -> Option<()> {
    for program in programs {
        if Command::new(program).arg("--version").output().is_err() {
            skip::skip(&format!("{program} is not installed"));
            return None;
        }
    }
    Some(())
}

/// Puts the other inputs next to `reads.bam` in `scratch`, and has all of them indexed.
fn prepare(data: &Path, scratch: &Path, fasta: &str) {
    std::os::unix::fs::symlink(data.join("fast5_files"), scratch.join("fast5_files")).unwrap();
    fs::copy(data.join("reads.fasta"), scratch.join("reads.fasta")).unwrap();
    fs::write(scratch.join("draft.fa"), fasta).unwrap();
    run(scratch, "samtools", &["index", "reads.bam"]);
    run(scratch, "nanopolish", &["index", "-d", "fast5_files", "reads.fasta"]);
}
