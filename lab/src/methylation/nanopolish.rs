//! nanopolish as it is: in one process, and in as many as there are workers, each with its share of
//! the BAM. It reads the same files of signal, and its own FASTQ with the index that it makes.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Methylation;
use crate::experiment::{Counters, LabError, output_of};
use crate::latency;
use crate::programs::find;

/// Programs without which it cannot be run.
const NEEDS: [&str; 3] = ["nanopolish", "samtools", "bash"];

/// Processes side by side, and their tables one after the other, with one head.
const SPLIT: &str = r#"
started=()
for share in $(seq 0 $((N - 1))); do
    nanopolish call-methylation -t 1 -K "$K" -r "$READS" -b "$SHARES/$share.bam" -g "$REFERENCE" \
        > "$SHARES/$share.tsv" &
    started+=($!)
done
for process in "${started[@]}"; do wait "$process" || exit 1; done
head -n 1 "$SHARES/0.tsv" > "$OUT"
for share in $(seq 0 $((N - 1))); do tail -n +2 "$SHARES/$share.tsv" >> "$OUT"; done
"#;
/// Every Nth record of a BAM, and its index.
const SHARE: &str = r#"set -o pipefail
{ samtools view -H "$BAM"; samtools view "$BAM" | awk -v n="$N" -v i="$I" 'NR % n == i'; } |
    samtools view -b -o "$OUT" - && samtools index "$OUT""#;

/// Why it cannot be run here, if it cannot; on modelled storages (`is_slowed`) it has to load the
/// library that models them.
pub(super) fn obstacle(is_slowed: bool) -> Option<String> {
    if let Some(missing) = NEEDS.iter().find(|program| find(program).is_none()) {
        return Some(format!("{missing} is not on the PATH"));
    }
    let program = find(NEEDS[0]).filter(|_| is_slowed)?;
    latency::obstacle(&program).map(|why| format!("{}: {why}", program.display()))
}

/// Reads that are in its table.
pub(super) fn called(work: &Path) -> Counters {
    let table = fs::read_to_string(work.join("calls.tsv")).unwrap_or_default();
    let names = table.lines().skip(1).filter_map(|line| line.split('\t').nth(4));
    vec![("reads".to_owned(), names.collect::<HashSet<_>>().len() as f64)]
}

impl Methylation {
    /// Its FASTQ with the index that says which file has which read.
    pub(super) fn prepare_nanopolish(&self, work: &Path) -> Result<(), LabError> {
        let folder = work.join("nanopolish");
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(LabError::file(&folder))?;
        }
        fs::create_dir_all(&folder).map_err(LabError::file(&folder))?;
        let reads = folder.join("reads.fastq");
        let mut command = Command::new("bash");
        command.args([
            "-c",
            r#"samtools fastq -F 0x900 "$BAM" > "$READS" &&
            nanopolish index -d "$SIGNAL" "$READS""#,
        ]);
        command.env("BAM", &self.bam).env("READS", reads).env("SIGNAL", work.join("data/single"));
        made(&mut command, "nanopolish index")
    }

    pub(super) fn nanopolish(&self, workers: u32, work: &Path) -> Command {
        let line = r#"nanopolish call-methylation -t "$N" -K "$K" -r "$READS" -b "$BAM" \
            -g "$REFERENCE" > "$OUT""#;
        let mut command = self.calling(line, workers, work);
        command.env("BAM", &self.bam);
        command
    }

    /// The processes, and before anything is timed their shares of the BAM.
    pub(super) fn nanopolish_split(&self, workers: u32, work: &Path) -> Result<Command, LabError> {
        let shares = work.join("nanopolish").join(format!("shares-{workers}"));
        if !shares.is_dir() {
            fs::create_dir_all(&shares).map_err(LabError::file(&shares))?;
            for share in 0..workers {
                let mut command = Command::new("bash");
                command.args(["-c", SHARE]).env("BAM", &self.bam).env("N", workers.to_string());
                command.env("I", share.to_string());
                command.env("OUT", shares.join(format!("{share}.bam")));
                made(&mut command, "a share of the BAM")?;
            }
        }
        let mut command = self.calling(SPLIT, workers, work);
        command.env("SHARES", shares);
        Ok(command)
    }

    fn calling(&self, line: &str, workers: u32, work: &Path) -> Command {
        let mut command = Command::new("bash");
        command.args(["-c", line]).env("N", workers.to_string()).env("K", self.batch.to_string());
        command.env("READS", work.join("nanopolish/reads.fastq"));
        command.env("REFERENCE", absolute(&self.reference)).env("OUT", work.join("calls.tsv"));
        command
    }
}

/// nanopolish opens what it is given from wherever it runs, which is here.
fn absolute(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

fn made(command: &mut Command, what: &str) -> Result<(), LabError> {
    let failed = |_, said: &str| LabError::Prepare(format!("{what}: {said}"));
    output_of(command, failed).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_of_its_table_are_counted_once() {
        let folder = tempfile::tempdir().unwrap();
        let line = |read: &str| format!("chr\t+\t1\t2\t{read}\t0.5\n");
        let table = ["read_name", "a", "b", "a"].map(line).concat();
        fs::write(folder.path().join("calls.tsv"), table).unwrap();
        assert_eq!(called(folder.path()), [("reads".to_owned(), 2.0)]);
        assert_eq!(called(Path::new("/none")), [("reads".to_owned(), 0.0)]);
    }
}
