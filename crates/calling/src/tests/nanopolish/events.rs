//! Against nanopolish, live: events as its table has them, and scalings as its summary has them.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use seqloom_testkit::skip;

use super::super::real_reads::{Scalings, aligned, assert_same, folder, reads, scalings};
use crate::events::ReadEvents;

/// Which records nanopolish is given in the short run; all of them take it half a minute.
const REGION: &str = "tig00000001:195000-195001";

fn is_installed(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        skip::skip(&format!("{program} is not installed"));
    }
    found
}

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// What nanopolish says: its summary and its table.
fn eventalign(data: &Path, folder: &Path) -> (String, String) {
    let file = |name: &str| -> PathBuf { folder.join(name) };
    fs::copy(data.join("reads.fasta"), file("reads.fasta")).unwrap();
    let draft = data.join("draft.reconstructed.fa.gz");
    let draft = run(Command::new("gzip").arg("-dc").arg(draft));
    fs::write(file("draft.fa"), draft).unwrap();
    let (region, bam) = (if skip::slow_tests() { None } else { Some(REGION) }, file("reads.bam"));
    let all = data.join("reads.sorted.bam");
    run(seqloom_testkit::running::words("samtools")
        .args(["view", "-b", "-o"])
        .arg(&bam)
        .arg(all)
        .args(region));
    run(seqloom_testkit::running::words("samtools").arg("index").arg(&bam));
    let fast5 = data.join("fast5_files");
    run(Command::new("nanopolish").args(["index", "-d"]).arg(fast5).arg(file("reads.fasta")));
    let table = run(Command::new("nanopolish")
        .args(["eventalign", "--scale-events", "--summary"])
        .arg(file("summary.tsv"))
        .arg("-r")
        .arg(file("reads.fasta"))
        .arg("-b")
        .arg(bam)
        .arg("-g")
        .arg(file("draft.fa")));
    (fs::read_to_string(file("summary.tsv")).unwrap(), table)
}

/// Every row of the table: its event has our length and deviation, and our level but for rounding.
fn compare_events(table: &str, names: &HashMap<&str, &str>, ours: &HashMap<String, ReadEvents>) {
    let mut rows = 0;
    for row in table.lines().skip(1) {
        let fields: Vec<&str> = row.split('\t').collect();
        let read = &ours[names[fields[3]]];
        let event: usize = fields[5].parse().unwrap();
        let (events, scaling) = (&read.events, &read.scaling);
        assert_eq!(format!("{:.3}", events.stdv_pa[event]), fields[7], "{row}");
        assert_eq!(format!("{:.5}", events.length_samples[event] / 4000.0), fields[8], "{row}");
        let level = (f64::from(events.mean_pa[event]) - scaling.shift_pa) / scaling.scale;
        assert!((level - fields[6].parse::<f64>().unwrap()).abs() < 0.006, "{row}: {level}");
        rows += 1;
    }
    assert!(rows > 10_000, "{rows} rows");
}

#[test]
fn events_and_scalings_are_those_of_nanopolish() {
    let Some(data) = folder() else { return };
    if !is_installed("nanopolish") || !is_installed("samtools") {
        return;
    }
    let temporary = tempfile::tempdir().unwrap();
    let (summary, table) = eventalign(&data, temporary.path());
    let (expected, mut names) = (scalings(&summary), HashMap::new());
    for line in summary.lines().skip(1) {
        let (index, rest) = line.split_once('\t').unwrap();
        names.insert(index, rest.split('\t').next().unwrap());
    }
    let mut reads = reads(&data);
    reads.retain(|read| expected.contains_key(&read.name()));
    assert_eq!(reads.len(), expected.len());
    let ours: HashMap<String, ReadEvents> = reads
        .iter()
        .zip(aligned(&reads))
        .map(|(read, aligned)| (read.name(), aligned.unwrap_or_else(|why| panic!("{why}"))))
        .collect();
    compare_events(&table, &names, &ours);
    let pairs: Vec<(Scalings, Scalings)> =
        ours.iter().map(|(name, it)| (Scalings::from(it.scaling), expected[name])).collect();
    assert_same(&pairs);
}
