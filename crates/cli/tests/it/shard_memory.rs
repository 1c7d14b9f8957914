//! Memory of tasks: `align --shard` within the floor that `align` prints and 64 MiB, `finish` of a
//! range within 2 GB.

use crate::common::{folder, limit, memory_floor, run, seqloom};
use crate::data::{align, chr20, pairs_with_duplicates, simulate, small};
use crate::memory::{peak_bytes, size_bytes};
use crate::shard::{plan, tasks};
use std::path::Path;

const MORE_BYTES: u64 = 64 << 20;
const FINISH_BYTES: u64 = 2 << 30;

fn check(reference: &crate::data::Reference, templates: u64, here: &Path) {
    let reads = simulate(reference, &pairs_with_duplicates(templates), here);
    let mut align = align(reference, &[&reads.first, &reads.second]);
    align.extend(["-K", "1000000"].map(str::to_owned));
    let mut alone = align.clone();
    let out = here.join("x.bam").display().to_string();
    alone.extend(["-t", "4", "-o", &out].map(str::to_owned));
    let floor = size_bytes(&memory_floor(&alone));
    let run_folder = here.join("run");
    plan(&run_folder, (3, 2), &align);
    let spill = here.display().to_string();
    for task in tasks(&run_folder) {
        let mut words = task.words();
        match task.verb.as_str() {
            "align" => {
                let memory = floor.to_string();
                words.extend(["-t", "4", "-m", &memory, "--tmp-dir", &spill].map(str::to_owned));
                let peak = peak_bytes(&words, 8 * limit());
                eprintln!("{}: floor {floor}, peak {peak}", task.id);
                assert!(peak <= floor + MORE_BYTES, "{}: {peak}, the floor is {floor}", task.id);
            }
            "finish" => {
                words.extend(["-t", "8", "-m", "2G", "--tmp-dir", &spill].map(str::to_owned));
                let peak = peak_bytes(&words, 8 * limit());
                eprintln!("{}: peak {peak}", task.id);
                assert!(peak <= FINISH_BYTES, "{}: {peak}", task.id);
            }
            _ => {
                run(&mut seqloom(words)).ok();
            }
        }
    }
}

#[test]
fn tasks_stay_near_their_floor() {
    let here = folder();
    check(small(), 60_000, here.path());
}

#[test]
fn tasks_on_chr20_stay_near_their_floor() {
    if !seqloom_testkit::skip::slow_tests() {
        return;
    }
    let Some(reference) = chr20() else { return };
    let here = folder();
    check(reference, 300_000, here.path());
}
