//! Files next to an output (metrics, reports, digests, indices) are those of the run that made it,
//! or they are not there: after runs that failed, were killed, or wrote fewer of them.

use crate::common::{READ_GROUP, folder, names_in, run, seqloom, signal};
use crate::data::{align_small, small};
use crate::prep::{prep, prep_into};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Aligned reads in the order of the input, and sites that vary; a folder of outputs.
struct Data {
    here: tempfile::TempDir,
}

impl Data {
    fn new() -> Self {
        let data = Self { here: folder() };
        let mut align = seqloom(align_small());
        align.args(["--no-sort", "--no-mark-duplicates", "-R", READ_GROUP]);
        run(align.arg("-o").arg(data.at("in.bam"))).ok();
        let contig = &small().genome().contigs[0].name;
        let vcf = format!(
            "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n\
             {contig}\t5000\t.\tA\tC\t.\t.\t.\n"
        );
        fs::write(data.at("sites.vcf"), vcf).unwrap();
        fs::create_dir(data.out()).unwrap();
        data
    }

    fn at(&self, name: &str) -> PathBuf {
        self.here.path().join(name)
    }

    fn out(&self) -> PathBuf {
        self.at("out")
    }

    /// `prep` with every file next to the output that there is.
    fn everything(&self) -> Command {
        let mut command = prep(&[&self.at("in.bam")]);
        command.current_dir(self.out()).args(["--sort", "coordinate", "-o", "x.bam", "--md5"]);
        command.args(["--mark-duplicates", "--duplicate-mode", "query", "--json", "x.json"]);
        command.args(["--metrics-dir", ".", "--metrics", "all", "--bqsr-report", "x.bqsr"]);
        command.arg("--known-sites").arg(self.at("sites.vcf"));
        command.arg("--reference").arg(&small().ours);
        command
    }

    /// Temporary names.
    fn temporary_names(&self) -> Vec<String> {
        let mut names = names_in(&self.out());
        names.retain(|name| name.starts_with('.') && name.contains(".seqloom.tmp-"));
        names
    }

    /// All outputs.
    fn contents(&self) -> BTreeMap<String, Vec<u8>> {
        let names = names_in(&self.out()).into_iter();
        names.map(|name| (name.clone(), fs::read(self.out().join(name)).unwrap())).collect()
    }
}

/// Side files that a run with all of them makes.
const EVERYTHING: [&str; 14] = [
    "x.alignment_summary.txt",
    "x.bam",
    "x.bam.bai",
    "x.bam.md5",
    "x.bqsr",
    "x.flagstat.txt",
    "x.idxstats.txt",
    "x.insert_size.txt",
    "x.json",
    "x.markdup.txt",
    "x.quality_by_cycle.txt",
    "x.quality_distribution.txt",
    "x.quality_yield.txt",
    "x.stats.txt",
];

#[test]
fn a_run_with_fewer_files_leaves_none_of_an_older_one() {
    let data = Data::new();
    run(&mut data.everything()).ok();
    assert_eq!(names_in(&data.out()), EVERYTHING);
    let fewer = |options: &str| {
        let mut command = prep(&[&data.at("in.bam")]);
        command.current_dir(data.out()).args(options.split_whitespace());
        run(&mut command).ok();
        names_in(&data.out())
    };
    // Where metrics go now, all kinds are of this run; what has names of its own stays.
    fs::write(data.out().join("y.flagstat.txt"), "another's").unwrap();
    let left = ["x.bam", "x.bqsr", "x.flagstat.txt", "x.idxstats.txt", "x.json", "y.flagstat.txt"];
    assert_eq!(fewer("-o x.bam --metrics-dir ."), left);
    assert_eq!(fewer("-o x.bam --sort coordinate --md5")[..3], ["x.bam", "x.bam.bai", "x.bam.md5"]);
    assert!(!fewer("-o x.bam").iter().any(|name| name.starts_with("x.bam.")));
    // As does align.
    run(&mut data.everything()).ok();
    let mut align = seqloom(align_small());
    align.current_dir(data.out()).args(["--no-sort", "--no-mark-duplicates", "-o", "x.bam"]);
    run(align.args(["--metrics-dir", "."])).ok();
    assert_eq!(names_in(&data.out()), left);
}

/// What fails in the end, after all records: nothing of this run has its name.
#[test]
fn a_run_that_fails_leaves_all_as_it_was() {
    let data = Data::new();
    run(&mut data.everything()).ok();
    let before = data.contents();
    std::os::unix::fs::symlink("/dev/full", data.at("full")).unwrap();
    // Another level: other bytes.
    let mut command = prep(&[&data.at("in.bam")]);
    command.current_dir(data.out()).args(["--sort", "coordinate", "-l", "1", "-o", "x.bam"]);
    command.args(["--metrics-dir", ".", "--bqsr-report", "x.bqsr", "--known-sites"]);
    command.arg(data.at("sites.vcf")).arg("--reference").arg(&small().ours);
    command.arg("--read-group").arg(r"@RG\tID:b\tSM:s\tPL:ILLUMINA").arg("--json");
    run(command.arg(data.at("full"))).fails_with(4).says(&["full"]);
    assert!(data.contents() == before, "{:?}", names_in(&data.out()));
    // The same in align.
    let mut align = seqloom(align_small());
    align.current_dir(data.out()).args(["-o", "x.bam", "-R", READ_GROUP, "-l", "1", "--md5"]);
    align.args(["--bqsr-report", "x.bqsr", "--known-sites"]).arg(data.at("sites.vcf"));
    align.arg("--reference-fasta").arg(&small().ours).args(["--metrics-dir", ".", "--json"]);
    run(align.arg(data.at("full"))).fails_with(4).says(&["full"]);
    assert!(data.contents() == before, "{:?}", names_in(&data.out()));
}

/// Killed at any time: files next to an output are those of the run that made it, or not there.
#[test]
fn a_run_that_is_killed_leaves_files_of_one_run() {
    let data = Data::new();
    run(&mut data.everything()).ok();
    let new = data.contents();
    let old: BTreeMap<String, Vec<u8>> =
        new.keys().map(|name| (name.clone(), format!("old {name}").into_bytes())).collect();
    let started = Instant::now();
    run(&mut data.everything()).ok();
    let whole = started.elapsed();
    let mut killed = 0;
    for step in 0..40_u32 {
        for (name, bytes) in &old {
            fs::write(data.out().join(name), bytes).unwrap();
        }
        let mut child = data.everything().stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(whole * step / 36 + Duration::from_millis(1));
        // It may have ended: then nobody has waited for it yet.
        signal(&child, "KILL");
        killed += u32::from(!child.wait().unwrap().success());
        let mut found = data.contents();
        // Killed between the temporary names, which all files have for a moment, and their own.
        let temporary = data.temporary_names();
        temporary.iter().for_each(|name| fs::remove_file(data.out().join(name)).unwrap());
        found.retain(|name, _| !temporary.contains(name));
        let is_old = found["x.bam"] == old["x.bam"];
        for (name, bytes) in &found {
            let is_of_old_run = old.get(name) == Some(bytes);
            assert_eq!(is_of_old_run, is_old, "step {step}: {name} next to {is_old}");
        }
    }
    assert!(killed > 5, "{killed}");
}

/// An old digest is no more next to a file that was made without one.
#[test]
fn an_output_without_digest_has_none() {
    let data = Data::new();
    let out = data.out().join("x.sam");
    let digest = data.out().join("x.sam.md5");
    prep_into(&out, &[&data.at("in.bam")], "--md5");
    assert!(digest.exists());
    prep_into(&out, &[&data.at("in.bam")], "--sort queryname");
    assert!(!digest.exists() && Path::new(&out).exists());
}

#[test]
fn no_clobber_keeps_every_file_that_is_there() {
    let data = Data::new();
    let kept = |name: &str, more: &[&str]| {
        let path = data.out().join(name);
        fs::write(&path, "mine").unwrap();
        let mut command = data.everything();
        command.args(["--html", "x.html", "--no-clobber"]).args(more);
        run(&mut command).fails_with(2).says(&[name, "--no-clobber"]);
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
        assert_eq!(names_in(&data.out()), [name]);
        fs::remove_file(&path).unwrap();
    };
    for name in ["x.bam", "x.bam.bai", "x.bai", "x.bam.md5", "x.json", "x.html", "x.bqsr"] {
        kept(name, &[]);
    }
    kept("x.flagstat.txt", &[]);
    kept("x.log", &["--log", "x.log"]);
    std::os::unix::fs::symlink("nowhere", data.out().join("x.bam")).unwrap();
    run(data.everything().arg("--no-clobber")).fails_with(2).says(&["x.bam"]);
    fs::remove_file(data.out().join("x.bam")).unwrap();
    // Where nothing is in the way, and where nothing is replaced.
    run(data.everything().arg("--no-clobber")).ok();
    let mut align = seqloom(align_small());
    align.args(["-R", READ_GROUP, "--no-clobber", "-o", "/dev/null"]);
    run(align.current_dir(data.out())).ok();
    let mut align = seqloom(align_small());
    align.args(["-R", READ_GROUP, "--no-clobber", "--stripes", "2", "--write-index", "none"]);
    fs::write(data.out().join("y.bam.01"), "mine").unwrap();
    align.current_dir(data.out()).args(["-o", "y.bam"]);
    run(&mut align).fails_with(2).says(&["y.bam.01", "--no-clobber"]);
}
