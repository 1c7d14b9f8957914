//! What `packaging/` holds, tried as far as it goes without a registry: the plugin under MultiQC
//! itself, the recipe's commands, the modules under Nextflow, the workflow against its schema.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::book::{root, shell};
use crate::common::{READ_GROUP, assert_same_bytes, folder, has, json_number, run, seqloom};
use crate::data::align_small;
use seqloom_testkit::python;
use seqloom_testkit::skip::{skip, slow_tests};

fn packaging(name: &str) -> PathBuf {
    root().join("packaging").join(name)
}

/// Reports of three samples, in a folder of their own, and files that are none.
fn reports(here: &Path) -> PathBuf {
    let reports = here.join("reports");
    fs::create_dir(&reports).unwrap();
    for sample in ["s1", "s2", "s3"] {
        let mut command = seqloom(align_small());
        command.args(["-R", READ_GROUP, "--json"]);
        command.arg(reports.join(format!("{sample}.seqloom.json")));
        if sample != "s3" {
            command.arg("--html").arg(here.join(format!("{sample}.html")));
        }
        run(command.arg("-o").arg(here.join(format!("{sample}.bam")))).ok();
    }
    let later = r#"{"schema": 3, "program": "seqloom 9.0.0", "counts": {}}"#;
    fs::write(reports.join("later.seqloom.json"), later).unwrap();
    fs::write(reports.join("cut.seqloom.json"), "{\"schema\"").unwrap();
    reports
}

/// A row of a table of MultiQC's data, by the names of its columns.
fn row(table: &str, sample: &str) -> Vec<(String, String)> {
    let mut lines = table.lines().map(|line| line.split('\t').map(str::to_owned));
    let names: Vec<String> = lines.next().unwrap().collect();
    let found = lines.map(Iterator::collect::<Vec<_>>).find(|it| it[0] == sample);
    names.into_iter().zip(found.unwrap_or_default()).collect()
}

#[test]
fn the_plugin_shows_three_samples_in_multiqc() {
    let Some(python) = python::with("multiqc, hatchling, pip") else { return };
    let here = folder();
    let (site, source) = (here.path().join("site"), here.path().join("source"));
    run(Command::new("cp").arg("-r").arg(packaging("multiqc")).arg(&source)).ok();
    let mut install = Command::new(&python);
    install.args(["-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-deps"]);
    install.args(["--disable-pip-version-check", "--target"]).arg(&site).arg(&source);
    run(&mut install).ok();
    let reports = reports(here.path());
    let mut multiqc = Command::new(&python);
    multiqc.args(["-m", "multiqc", "--no-ansi", "-o"]).arg(here.path().join("qc")).arg(&reports);
    let said = run(multiqc.env("PYTHONPATH", &site)).ok();
    let said = format!("{}{}", said.text(), said.stderr);
    for what in
        ["Found 3 reports", "later.seqloom.json is left out: it has schema 3", "cut.seqloom"]
    {
        assert!(said.contains(what), "no {what} in {said}");
    }
    assert!(!said.contains("Oops"), "{said}");
    let made = |name: &str| {
        fs::read_to_string(here.path().join("qc/multiqc_data").join(name)).expect(name)
    };
    let table = made("multiqc_seqloom.txt");
    let s1 = row(&table, "s1");
    let number = |name: &str| -> f64 {
        s1.iter().find(|it| it.0 == name).unwrap_or_else(|| panic!("{name}")).1.parse().unwrap()
    };
    let json = reports.join("s1.seqloom.json");
    assert_eq!(number("records"), json_number(&json, &["counts", "records_written"]).unwrap());
    assert!(number("mapped_pct") > 90.0 && number("q30_pct") > 50.0 && number("depth") > 0.0);
    let page = fs::read_to_string(here.path().join("qc/multiqc_report.html")).unwrap();
    assert!(page.contains("seqloom_table"));
    let curves = ["insert_size", "depth", "saturation", "gc_bias", "quality_1", "quality_2"];
    for plot in [&["reads", "phases"][..], &curves].concat() {
        assert!(page.contains(&format!("seqloom_{plot}_plot")), "{plot}");
        assert!(made(&format!("seqloom_{plot}_plot.txt")).contains("s2"), "{plot}");
    }
    // Without a page there are the counts, and no curves.
    assert!(row(&table, "s3").iter().any(|it| it.0 == "mapped_pct" && !it.1.is_empty()), "{table}");
    assert!(!made("seqloom_depth_plot.txt").contains("s3"));
    assert!(made("multiqc_software_versions.txt").contains(env!("CARGO_PKG_VERSION")));
}

/// The commands of the recipe's test, with its version in place.
fn recipe_commands() -> Vec<String> {
    let recipe = fs::read_to_string(packaging("bioconda/meta.yaml")).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    assert!(recipe.contains(&format!("{{% set version = \"{version}\" %}}")), "another version");
    let test = recipe.split("\ntest:\n  commands:\n").nth(1).unwrap().lines();
    let commands = test.take_while(|line| line.starts_with("    "));
    let commands = commands.filter_map(|line| line.strip_prefix("    - "));
    commands.map(|it| it.replace("{{ version }}", version)).collect()
}

#[test]
fn the_recipe_s_commands_pass() {
    let commands = recipe_commands();
    assert!(commands.len() > 6, "{commands:?}");
    let here = folder();
    for command in commands {
        run(shell(here.path()).args(["-c", &command])).ok();
    }
}

/// The recipe's script with a compiler that has built already.
#[test]
fn the_recipe_s_script_installs_all_that_goes_with_the_program() {
    let here = folder();
    let (bin, prefix) = (here.path().join("bin"), here.path().join("prefix"));
    fs::create_dir_all(here.path().join("target/release")).unwrap();
    fs::copy(env!("CARGO_BIN_EXE_seqloom"), here.path().join("target/release/seqloom")).unwrap();
    fs::create_dir(&bin).unwrap();
    let say = "echo '#!/bin/sh\necho \"$@\" >> \"$HERE/calls\"' > bin/cargo; chmod +x bin/cargo";
    run(shell(here.path()).args(["-c", say])).ok();
    let mut script = shell(here.path());
    let line = "PATH=$HERE/bin:$PATH; source \"$SCRIPT\"";
    script.args(["-c", line]).env("HERE", here.path()).env("PREFIX", &prefix);
    script.env("SCRIPT", packaging("bioconda/build.sh"));
    run(script.env("CARGO_TARGET_DIR", here.path().join("target"))).ok();
    let calls = fs::read_to_string(here.path().join("calls")).unwrap();
    assert!(calls.contains("build --locked --release -p seqloom"), "{calls}");
    for name in [
        "bin/seqloom",
        "share/man/man1/seqloom-align.1",
        "share/bash-completion/completions/seqloom",
        "share/zsh/site-functions/_seqloom",
        "share/fish/vendor_completions.d/seqloom.fish",
    ] {
        assert!(fs::metadata(prefix.join(name)).is_ok_and(|it| it.len() > 0), "{name}");
    }
}

#[test]
fn the_release_workflow_is_one_that_an_auditor_takes() {
    let zizmor = root().join(".venv/bin/zizmor");
    if !zizmor.exists() {
        skip("zizmor is not installed in .venv");
        return;
    }
    let here = folder();
    fs::create_dir_all(here.path().join(".github/workflows")).unwrap();
    let text = fs::read_to_string(root().join(".github/workflows/release.yml")).unwrap();
    fs::copy(root().join(".github/zizmor.yml"), here.path().join(".github/zizmor.yml")).unwrap();
    let audit = |text: &str| {
        let path = here.path().join(".github/workflows/release.yml");
        fs::write(&path, text).unwrap();
        let mut command = Command::new(&zizmor);
        run(command.args(["--offline", "--no-progress"]).arg(&path).current_dir(here.path()))
    };
    audit(&text).ok();
    assert_ne!(audit(&text.replace("runs-on:", "run-on:")).code(), 0, "not a workflow");
    let open = "permissions:\n  contents: read";
    assert!(text.contains(open));
    assert_ne!(audit(&text.replace(open, "permissions: write-all")).code(), 0, "too many rights");
    // What it calls is there.
    for name in ["packaging/release.sh", "tests/install-needs.sh"] {
        assert!(text.contains(name) && root().join(name).exists(), "{name}");
    }
}

/// The files of a release, with a `make` that has made them.
#[test]
fn a_release_has_checksums_and_notes() {
    if !has("git") || !root().join(".git").exists() {
        return;
    }
    let here = folder();
    let make = "mkdir bin; cat > bin/make <<'MAKE'\n#!/bin/bash\ncase $1 in\n\
                dist) mkdir -p ${2#OUT=}/dist; echo a > ${2#OUT=}/dist/seqloom-x.tar.gz ;;\n\
                wheel) echo w > ${2#DIST=}/seqloom-x.whl ;;\nesac\nMAKE\n\
                chmod +x bin/make; PATH=$PWD/bin:$PATH \"$SCRIPT\" out";
    let mut script = shell(here.path());
    run(script.args(["-c", make]).env("SCRIPT", packaging("release.sh"))).ok();
    let release = here.path().join("out/release");
    run(shell(&release).args(["-c", "sha256sum -c SHA256SUMS && test $(wc -l < SHA256SUMS) = 3"]))
        .ok();
    let source = "tar -tzf seqloom-*-source.tar.gz | grep -x 'seqloom-[0-9.]*/Cargo.lock'";
    run(shell(&release).args(["-c", source])).ok();
    assert!(fs::read_to_string(release.join("NOTES.md")).unwrap().contains("seqloom"));
}

/// What workflow managers require of an image, as far as its recipe shows.
#[test]
fn the_image_has_a_shell_and_no_entry_point() {
    let text = fs::read_to_string(packaging("Containerfile")).unwrap();
    let lines: Vec<&str> = text.lines().filter(|it| !it.starts_with('#')).collect();
    let begin = |word: &str| lines.iter().filter(|it| it.starts_with(word)).count();
    assert_eq!((begin("FROM "), begin("ENTRYPOINT"), begin("USER seqloom")), (2, 0, 1));
    assert!(text.contains("procps") && text.contains("rust:1.95-bookworm"));
}

/// Nextflow, where `tests/install-jars.sh nextflow` has put it. The short run leaves it out on
/// purpose.
fn nextflow() -> Option<()> {
    let set = std::env::var_os("SEQLOOM_NEXTFLOW").map(PathBuf::from);
    let jars = set.unwrap_or_else(|| root().join(".nextflow-jars"));
    if jars.join("nextflow-24.10.5.jar").exists() && has("java") {
        return Some(());
    }
    if slow_tests() {
        skip("Nextflow or java is not installed (tests/install-jars.sh nextflow)");
    }
    None
}

#[test]
fn the_modules_run_in_nextflow() {
    let Some(()) = nextflow() else { return };
    let here = folder();
    run(shell(here.path()).arg(root().join("tests/book/data.sh")).arg("pairs")).ok();
    let line = "nextflow -C \"$M/tests/config/nextflow.config\" run \"$M/tests/all.nf\" \
                -ansi-log false --fasta $PWD/ref.fa --reads $PWD/R1.fq.gz,$PWD/R2.fq.gz";
    for (out, more) in [("real", "--outdir real"), ("stub", "--outdir stub -stub")] {
        let mut command = shell(here.path());
        command.args(["-c", &format!("{line} {more}")]).env("M", packaging("nf-core"));
        let said = run(&mut command).ok().text();
        for module in ["SEQLOOM_INDEX", "SEQLOOM_ALIGN", "SEQLOOM_PREP"] {
            let version = format!("{module} seqloom {}", env!("CARGO_PKG_VERSION"));
            assert!(said.contains(&version), "no {version} in {said}");
        }
        for name in ["test.bam", "test.bam.bai", "test.html", "test.seqloom.json"] {
            assert!(here.path().join(out).join(name).exists(), "{out}/{name}");
        }
        assert!(here.path().join(out).join("test.prepared.flagstat.txt").exists(), "{out}");
    }
    let direct = "seqloom index --quiet ref.fa; seqloom align --quiet --no-pg \
                  -R '@RG\\tID:test\\tSM:test\\tLB:test\\tPL:ILLUMINA' ref.fa R1.fq.gz R2.fq.gz \
                  -o direct.bam";
    run(shell(here.path()).args(["-c", direct])).ok();
    let (direct, real) = (here.path().join("direct.bam"), here.path().join("real/test.bam"));
    assert_same_bytes(&direct, &real, "under Nextflow");
}
