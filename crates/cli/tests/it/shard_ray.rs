//! The Ray driver with the real Ray: three nodes on this machine, of which two are killed, and the
//! driver itself.

use crate::common::{assert_same_bytes, folder, limit, run_for};
use crate::data::align_small;
use crate::shard::{OPTIONS, one_process};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

#[test]
fn the_same_bytes_though_nodes_are_lost() {
    let Some(python) = seqloom_testkit::python::with_module("ray") else { return };
    let here = folder();
    let mut align = align_small();
    // Slow enough that a node is at work when it is lost.
    align.extend(["-K", "500000", "--engine", "fake:sleep=200us"].map(str::to_owned));
    let one = one_process(&align, here.path(), "one");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let many = here.path().join("many.bam");
    let mut command = Command::new(python);
    command.arg(root.join("tests/shard_ray.py")).arg(env!("CARGO_BIN_EXE_seqloom"));
    command.arg(here.path().join("run")).arg(&many).args(["--kill-again", "--"]);
    command.args(["--shards", "8", "--ranges", "6"]).args(OPTIONS).args(&align[1..]);
    let reported = run_for(&mut command, limit()).ok().text();
    let last = reported.lines().last().unwrap();
    let reported: Value = serde_json::from_str(last).unwrap();
    assert_eq!(reported["killed"], serde_json::json!(["align", "driver", "finish"]), "{last}");
    let count = |name: &str| reported[name].as_u64().unwrap();
    let done = 8 + 16 + 6;
    // A node has one core: one task that it was at, for each kill, and those of the killed driver.
    assert!(count("start") <= done + 2 * 2 + 3, "{last}");
    assert_same_bytes(&one, &many, last);
    let index = |bam: &Path| bam.with_extension("bam.bai");
    assert_same_bytes(&index(&one), &index(&many), last);
}
