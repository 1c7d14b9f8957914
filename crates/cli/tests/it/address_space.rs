//! A limit of address space (`ulimit -v`): what does not fit it is refused with the least that
//! works, and where memory ends later there is one line and exit code 1. No signal.

use crate::common::{READ_GROUP, Run, folder, names_in, run, seqloom};
use crate::data::{align_small, small, small_pairs};
use crate::faults::preload;
use seqloom_testkit::skip;
use std::path::Path;
use std::process::Command;

/// Runs `command` under a limit.
fn limited(command: &Command, limit_mib: u64) -> Run {
    let mut shell = Command::new("sh");
    let line = format!("ulimit -v {}; exec \"$@\"", limit_mib << 10);
    shell.args(["-c", &line, "sh"]).arg(command.get_program()).args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        shell.current_dir(folder);
    }
    shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    run(&mut shell)
}

/// Commands that write to `x.*` in a folder, with two threads.
fn commands(folder: &Path, input: &Path) -> Vec<(&'static str, Command)> {
    let in_folder = |mut command: Command, rest: &str| {
        command.args(rest.split_whitespace()).current_dir(folder);
        command
    };
    let mut prep = seqloom(["prep"]);
    prep.arg(input);
    let mut index = seqloom(["index"]);
    index.arg(&small().ours);
    vec![
        ("align", in_folder(seqloom(align_small()), "-t 2 --quiet -o x.bam")),
        (
            "prep",
            in_folder(
                prep,
                "--mark-duplicates --duplicate-mode query --sort coordinate -t 2 --quiet -o x.bam",
            ),
        ),
        ("index", in_folder(index, "-t 2 --quiet -p x.fa")),
    ]
}

#[test]
fn every_limit_ends_in_success_or_in_one_line() {
    let here = folder();
    let input = here.path().join("in.bam");
    let mut align = seqloom(align_small());
    align.args(["--no-sort", "--no-mark-duplicates", "-R", READ_GROUP]);
    run(align.arg("-o").arg(&input)).ok();
    let out = here.path().join("out");
    for (name, command) in commands(&out, &input) {
        let mut codes = Vec::new();
        for limit_mib in (90..200).step_by(7).chain((200..700).step_by(50)).chain([1200, 4000]) {
            std::fs::create_dir(&out).unwrap();
            let ran = limited(&command, limit_mib);
            let (code, lines) = (ran.code(), ran.stderr.lines().count());
            let what = format!("{name} within {limit_mib}M: {code}: {}", ran.stderr);
            assert!(matches!(code, 0..=2), "{what}");
            if code == 0 {
                assert!(out.join(if name == "index" { "x.fa.pac" } else { "x.bam" }).exists());
            } else {
                assert_eq!(lines, 1, "{what}");
                assert!(ran.stderr.starts_with("seqloom: "), "{what}");
                assert_eq!(names_in(&out), [""; 0], "{what}");
            }
            codes.push(code);
            std::fs::remove_dir_all(&out).unwrap();
        }
        assert_eq!(codes.last(), Some(&0), "{name}: {codes:?}");
        assert_ne!(codes.first(), Some(&0), "{name}: {codes:?}");
    }
}

/// The least that is said works, and no less is taken for enough.
#[test]
fn the_least_that_works_works() {
    let here = folder();
    let input = here.path().join("in.bam");
    let mut align = seqloom(align_small());
    align.args(["--no-sort", "--no-mark-duplicates", "-R", READ_GROUP]);
    run(align.arg("-o").arg(&input)).ok();
    for (name, mut command) in commands(here.path(), &input) {
        let least_of = |limit_mib: u64| {
            let refused = limited(&command, limit_mib).fails_with(2);
            let refused = refused.says(&[&format!("(ulimit -v) of {limit_mib}M"), "-t"]);
            let least = refused.stderr.split("at least ").nth(1).unwrap().split('M').next();
            least.unwrap().parse::<u64>().unwrap()
        };
        let mut least = least_of(110);
        if name == "index" {
            // It stops where what it has read is too much, and then where it has read all.
            while limited(&command, least).code() != 0 {
                least = least_of(least);
            }
        }
        limited(&command, least - 1).fails_with(2).says(&["at least"]);
        limited(&command, least).ok();
        if name != "index" {
            // -m requests more than there is: all of that is taken.
            command.args(["-m", "64G"]);
            limited(&command, least).ok();
        }
        limited(&command, least - 1).fails_with(2);
    }
}

/// Memory that nobody planned with: before the first command line is read, and in commands without
/// a plan.
#[test]
fn memory_that_ends_later_ends_the_run_with_a_line() {
    let mut check = seqloom(["fastq", "check"]);
    check.arg(&small_pairs().first);
    let here = folder();
    let mut convert = seqloom(["signal", "convert", "-t", "2", "--quiet", "-o", "x.slow5"]);
    convert.current_dir(here.path());
    let signal = skip::data("nanopore/slow5tools_test/raw/degrade/gridr10dna.blow5");
    for (command, is_there) in [
        (&mut check, true),
        (signal.iter().fold(&mut convert, |command, path| command.arg(path)), signal.is_some()),
    ] {
        for limit_mib in (36..160).step_by(4).filter(|_| is_there) {
            let ran = limited(command, limit_mib);
            let code = ran.code();
            // 127: not even the program fits, says the loader.
            assert!(matches!(code, 0 | 1 | 127), "{limit_mib}: {code}: {}", ran.stderr);
            assert!(code == 0 || ran.stderr.lines().count() == 1, "{limit_mib}: {}", ran.stderr);
            if code != 0 {
                assert_eq!(names_in(here.path()), [""; 0], "{limit_mib}");
            }
            let _ = std::fs::remove_file(here.path().join("x.slow5"));
        }
    }
}

/// A thread's second stack, for signals, is mapped by Rust's runtime when the thread has begun;
/// that there is no memory for it comes as a panic, which must not be reported as a bug.
#[test]
fn a_thread_without_a_stack_for_signals_ends_the_run_with_a_line() {
    let here = folder();
    // Such a stack, of any thread but the first, gets no guard page.
    let shim = r"
#define _GNU_SOURCE
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
int mprotect(void *from, size_t length, int protection) {
    if (protection == PROT_NONE && syscall(SYS_gettid) != getpid()) { errno = EPERM; return -1; }
    return syscall(SYS_mprotect, from, length, protection);
}
";
    let Some(shim) = preload(here.path(), shim) else { return };
    let out = here.path().join("out");
    std::fs::create_dir(&out).unwrap();
    let mut command = seqloom(["index", "-t", "2", "--quiet", "-p", "x.fa"]);
    command.arg(&small().ours).current_dir(&out).env("LD_PRELOAD", &shim);
    let within = limited(&command, 4000);
    for (ran, why) in [(within, "limit of address space"), (run(&mut command), "the system has")] {
        let ran = ran.fails_with(1).says(&["seqloom: out of memory: ", why]);
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
        assert_eq!(names_in(&out), [""; 0]);
    }
}
