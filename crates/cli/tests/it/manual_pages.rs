//! What goes with the program: man pages, completions, how to cite it.

use crate::common::{SOON, folder, has, names_in, run, run_for, run_into, seqloom, words};
use std::fs;
use std::path::Path;

/// Commands that users see, a page each.
const PAGES: [&str; 37] = [
    "seqloom-align.1",
    "seqloom-columns.1",
    "seqloom-completions.1",
    "seqloom-fastq-check.1",
    "seqloom-fastq-pad.1",
    "seqloom-fastq.1",
    "seqloom-index.1",
    "seqloom-prep.1",
    "seqloom-shard-align.1",
    "seqloom-shard-count.1",
    "seqloom-shard-finish.1",
    "seqloom-shard-gather.1",
    "seqloom-shard-mark.1",
    "seqloom-shard-place.1",
    "seqloom-shard-plan.1",
    "seqloom-shard-status.1",
    "seqloom-shard-table.1",
    "seqloom-shard-tasks.1",
    "seqloom-shard.1",
    "seqloom-signal-cat.1",
    "seqloom-signal-check.1",
    "seqloom-signal-convert.1",
    "seqloom-signal-degrade.1",
    "seqloom-signal-eventalign.1",
    "seqloom-signal-frequency.1",
    "seqloom-signal-get.1",
    "seqloom-signal-index.1",
    "seqloom-signal-merge.1",
    "seqloom-signal-methylation.1",
    "seqloom-signal-skim.1",
    "seqloom-signal-split.1",
    "seqloom-signal-stats.1",
    "seqloom-signal-train.1",
    "seqloom-signal-view.1",
    "seqloom-signal.1",
    "seqloom-topology.1",
    "seqloom.1",
];

#[test]
fn every_command_has_a_man_page_that_man_reads_without_a_warning() {
    let here = folder();
    let pages = here.path().join("share/man");
    run(seqloom(["manual"]).arg(&pages)).ok();
    assert_eq!(names_in(&pages), PAGES);
    let align = fs::read_to_string(pages.join("seqloom-align.1")).unwrap();
    for what in ["Write FILE.00", "bwa mem", "\\-\\-mark\\-duplicates", "Exit codes"] {
        let what = what.replace("mark\\-duplicates", "no\\-mark\\-duplicates");
        assert!(align.contains(&what), "no {what} in {align}");
    }
    if !has("man") {
        return;
    }
    for page in PAGES {
        let mut man = words("man --warnings -l");
        man.env("MANWIDTH", "80").env("LC_ALL", "C.UTF-8").arg(pages.join(page));
        let shown = run(&mut man).ok();
        assert_eq!(shown.stderr, "", "{page}");
        assert!(shown.text().contains("SYNOPSIS"), "{page}");
    }
    let shown =
        run(words("man -l").env("MANWIDTH", "80").arg(pages.join("seqloom-align.1"))).text();
    assert!(shown.contains("-R '@RG\\tID:a\\tSM:s\\tLB:l'"), "the example is whole: {shown}");
    run(seqloom(["manual"]).arg("/dev/null/x")).fails_with(4).says(&["/dev/null/x"]);
}

/// Has a shell complete `seqloom prep --mark-d` by the completions that it is given.
fn completes(shell: &str, script: &str) {
    let name = shell;
    if !has(name) {
        return;
    }
    let here = folder();
    let file = here.path().join("_seqloom");
    run_into(&mut seqloom(["completions", shell]), &file).ok();
    let script = script.replace("FILE", &file.display().to_string());
    let found = run_for(words(shell).arg("-c").arg(script).current_dir(here.path()), SOON).ok();
    let text = found.text();
    assert!(text.contains("--mark-duplicates"), "{shell}: {text}{}", found.stderr);
    assert!(!text.contains("--remove-duplicates"), "{shell}: {text}");
}

#[test]
fn completions_work_in_their_shells() {
    completes(
        "bash",
        "source FILE; COMP_WORDS=(seqloom prep --mark-d); COMP_CWORD=2; \
         _seqloom seqloom --mark-d prep; echo \"${COMPREPLY[@]}\"",
    );
    completes("fish", "source FILE; complete -C 'seqloom prep --mark-d'");
    // What zsh writes after a tab, once it is ready; `READY` is not what it echoes of the command.
    completes(
        "zsh",
        "zmodload zsh/zpty; zpty z zsh -f -i; \
         zpty -w z 'PS1=; fpath=('${${:-FILE}:h}' $fpath); autoload -Uz compinit; compinit -u -D'; \
         zpty -w z 'zstyle \":completion:*\" list-prompt \"\"; bindkey \"^I\" complete-word; \
                    print RE\"\"ADY'; \
         zpty -r z out '*READY*'; zpty -n -w z $'seqloom prep --mark-d\\t'; \
         zpty -r z out '*--mark-duplicates*'; print -r -- $out",
    );
    run_for(&mut seqloom(["completions", "ksh"]), SOON)
        .fails_with(2)
        .says(&["bash", "zsh", "fish"]);
}

#[test]
fn the_citation_is_printed_and_valid() {
    let text = run_for(&mut seqloom(["--citation"]), SOON).ok().text();
    for what in ["arXiv:1303.3997", "10.1109/IPDPS.2019.00041", "version: ", "cff-version"] {
        assert!(text.contains(what), "no {what} in {text}");
    }
    assert!(text.contains(&format!("version: {}\n", env!("CARGO_PKG_VERSION"))), "{text}");
    run_for(&mut seqloom(["--citation", "align"]), SOON).fails_with(2);
    let validator = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv/bin/cffconvert");
    if !validator.exists() {
        seqloom_testkit::skip::skip("cffconvert is not installed in .venv");
        return;
    }
    let here = folder();
    fs::write(here.path().join("CITATION.cff"), text).unwrap();
    let mut command = std::process::Command::new(validator);
    run(command.arg("--validate").current_dir(here.path())).ok();
}

/// Emulated processors: the oldest that is enough, and those before it.
#[test]
fn an_older_processor_is_refused_with_a_line() {
    if !has("qemu-x86_64") {
        return;
    }
    let on = |processor: &str, more: &[&str]| {
        let mut command = words("qemu-x86_64 -cpu");
        command.arg(processor).arg(env!("CARGO_BIN_EXE_seqloom")).args(more);
        run(&mut command)
    };
    for (processor, more) in [
        ("core2duo", &["--version"][..]),
        ("Nehalem", &["--help"]),
        ("SandyBridge", &["align", "a", "b"]),
    ] {
        let refused = on(processor, more).fails_with(1).says(&["this processor has no AVX2"]);
        let own = refused.stderr.lines().filter(|line| line.starts_with("seqloom: "));
        assert_eq!(own.count(), 1, "{}", refused.stderr);
    }
    assert!(on("Haswell", &["--version"]).ok().text().starts_with("seqloom "));
}
