//! nanopolish in a folder of its own, with copies of the inputs.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use seqloom_testkit::skip;
use tempfile::TempDir;

use crate::inputs::{Inputs, draft};
use crate::support::{RealRead, folder, reads};

/// Reads that are compared when no slow tests were asked for.
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
        for program in ["nanopolish", "samtools"] {
            if Command::new(program).arg("--version").output().is_err() {
                skip::skip(&format!("{program} is not installed"));
                return None;
            }
        }
        let scratch = tempfile::tempdir().unwrap();
        let mut reads = reads(&data);
        reads.truncate(if all { usize::MAX } else { FEW });
        prepare(&data, scratch.path(), &reads);
        Some(Self { folder: scratch, inputs: Inputs::new(&data, ALIGNMENTS, reads) })
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

/// Copies the inputs to `scratch`, alignments of `reads` only, and has them indexed.
fn prepare(data: &Path, scratch: &Path, reads: &[RealRead]) {
    std::os::unix::fs::symlink(data.join("fast5_files"), scratch.join("fast5_files")).unwrap();
    fs::copy(data.join("reads.fasta"), scratch.join("reads.fasta")).unwrap();
    fs::write(scratch.join("draft.fa"), draft(data)).unwrap();
    let names: Vec<String> = reads.iter().map(RealRead::name).collect();
    fs::write(scratch.join("names"), names.join("\n")).unwrap();
    let bam = data.join(ALIGNMENTS);
    let bam = bam.to_str().unwrap();
    run(scratch, "samtools", &["view", "-b", "-F", "4", "-N", "names", "-o", "reads.bam", bam]);
    run(scratch, "samtools", &["index", "reads.bam"]);
    run(scratch, "nanopolish", &["index", "-d", "fast5_files", "reads.fasta"]);
}
