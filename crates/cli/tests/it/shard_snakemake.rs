//! The Snakemake workflow with the real Snakemake, its attempts killed by chance, and itself killed
//! and started again.

use crate::common::{folder, limit, run_for};
use crate::data::align_small;
use crate::shard::{OPTIONS, assert_same_run, one_process};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// A program that is `seqloom`, but for three in ten of its first three attempts at a task, which
/// are killed on the way.
fn unreliable(folder: &Path, seed: u64) -> PathBuf {
    let (program, notes) = (folder.join("seqloom"), folder.join("attempts"));
    fs::create_dir_all(&notes).unwrap();
    let text = format!(
        "#!/bin/bash\n\
         key=$(printf '%s' \"$*\" | cksum | tr ' ' -)\n\
         attempt=$(cat '{notes}'/$key 2>/dev/null || echo 0)\n\
         echo $((attempt + 1)) > '{notes}'/$key\n\
         RANDOM=$(({seed} + ${{key%%-*}} + attempt))\n\
         if [ $2 != tasks ] && [ $attempt -lt 3 ] && [ $((RANDOM % 10)) -lt 3 ]; then\n\
         '{real}' \"$@\" & worker=$!\n\
         sleep 0.0$((RANDOM % 10)); kill -9 $worker; echo x >> '{notes}/killed'\n\
         wait $worker; exit 137\n\
         fi\n\
         exec '{real}' \"$@\"\n",
        notes = notes.display(),
        real = env!("CARGO_BIN_EXE_seqloom"),
    );
    fs::write(&program, text).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    program
}

#[test]
fn the_same_bytes_though_attempts_are_killed() {
    let Some(python) = seqloom_testkit::python::with_module("snakemake") else { return };
    let here = folder();
    let mut align = align_small();
    align.extend(["-K", "900000"].map(str::to_owned));
    let one = one_process(&align, here.path(), "many");
    let kept = here.path().join("one");
    fs::create_dir_all(&kept).unwrap();
    for name in ["many.bam", "many.bam.bai", "many.metrics"] {
        fs::rename(here.path().join(name), kept.join(name)).unwrap();
    }
    let seed = u64::from(std::process::id());
    eprintln!("attempts are killed by seed {seed}");
    let program = unreliable(here.path(), seed);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let quoted = |word: &String| format!("'{word}'");
    let options: Vec<String> =
        OPTIONS.map(str::to_owned).into_iter().chain(align[1..].to_vec()).collect();
    let options = options.iter().map(quoted).collect::<Vec<_>>().join(" ");
    let snakemake = |more: &[&str]| {
        let mut command = Command::new(&python);
        command.args(["-m", "snakemake", "--quiet", "all", "--cores", "3", "-s"]);
        command.arg(root.join("workflow/Snakefile")).args(["--rerun-incomplete"]).args(more);
        command.arg("--config").arg("run=run").arg("output=many.bam");
        command.arg(format!("seqloom={}", program.display()));
        command.arg("gather=--metrics-dir many.metrics");
        // The blank keeps the last quote, which Snakemake would take off.
        command.arg(format!("align=--shards 3 --ranges 3 {options} "));
        command.current_dir(here.path());
        command
    };
    // Killed on the way, it goes on where it was.
    let mut first = snakemake(&[]);
    first.stdout(Stdio::null()).stderr(Stdio::null());
    let mut first = first.spawn().unwrap();
    std::thread::sleep(Duration::from_secs(6));
    let _ = first.kill();
    first.wait().unwrap();
    run_for(&mut snakemake(&["--unlock"]), limit()).ok();
    run_for(&mut snakemake(&[]), limit()).ok();
    let moved = kept.join(one.file_name().unwrap());
    assert_same_run(&moved, &here.path().join("many.bam"), &format!("seed {seed}"));
}
