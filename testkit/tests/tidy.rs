//! The rules of the code base that the compiler does not hold: where `unsafe`, threads and
//! printing may be, how long files are, what is documented, why orders of memory are weak, what
//! signatures say, who depends on whom, and under which licences.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use self::sources::{Source, code_only, has_word, root, sources};

#[path = "tidy/licences.rs"]
mod licences;
#[path = "tidy/signatures.rs"]
mod signatures;
#[path = "tidy/sources.rs"]
mod sources;
#[path = "tidy/words.rs"]
mod words;

const FILE_MAX_LINES: usize = 800;
const LINE_MAX_COLUMNS: usize = 100;

fn fail_if_any(what: &str, found: &[String]) {
    assert!(found.is_empty(), "{what}:\n  {}", found.join("\n  "));
}

/// Lines of a page below the heading that contains `title`, up to the next heading.
fn section(page: &str, title: &str) -> Option<String> {
    let page = fs::read_to_string(root().join(page)).unwrap();
    let mut lines = page.lines().skip_while(|l| !(l.starts_with('#') && l.contains(title)));
    lines.next()?;
    let lines: Vec<&str> = lines.take_while(|l| !l.starts_with('#')).collect();
    Some(lines.join("\n"))
}

#[test]
fn unsafe_is_only_in_the_inventory() {
    let inventory = |page| section(page, "Unsafe inventory").expect("an inventory of unsafe code");
    let inventories = ["ARCHITECTURE.md", "lab/ARCHITECTURE.md"].map(inventory).concat();
    let listed: BTreeSet<String> = inventories
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|name| name.ends_with(".rs"))
        .map(str::to_owned)
        .collect();
    let used: BTreeSet<String> = sources()
        .iter()
        .filter(|s| has_word(&code_only(&s.text), "unsafe"))
        .map(|s| s.path.clone())
        .collect();
    let missing: Vec<String> = used.difference(&listed).cloned().collect();
    fail_if_any("unsafe in files that no inventory lists", &missing);
    let stale: Vec<String> = listed.difference(&used).cloned().collect();
    fail_if_any("inventories list files without unsafe", &stale);
}

#[test]
fn every_file_says_what_it_is() {
    let bare: Vec<String> = sources()
        .iter()
        .filter(|s| !s.text.starts_with("//! ") || s.text.starts_with("//! placeholder"))
        .map(|s| s.path.clone())
        .collect();
    fail_if_any("files that do not start with a `//!` comment", &bare);
}

#[test]
fn files_and_lines_are_short() {
    let mut found = Vec::new();
    for source in sources() {
        let length = source.code.lines().count();
        if length > FILE_MAX_LINES {
            found.push(format!("{}: {length} lines, at most {FILE_MAX_LINES}", source.path));
        }
        for (i, line) in source.text.lines().enumerate() {
            if line.chars().count() > LINE_MAX_COLUMNS {
                found.push(format!("{}:{}: longer than {LINE_MAX_COLUMNS}", source.path, i + 1));
            }
        }
    }
    fail_if_any("too long", &found);
}

#[test]
fn only_the_pool_makes_threads() {
    let makers = ["thread::spawn", "thread::scope", "thread::Builder", "rayon::"];
    let allowed = |s: &Source| {
        // A test reads both streams of a program at once; the proof of an index shares no code with
        // the product.
        let testkit = ["testkit/src/running", "testkit/src/index_check"];
        let mut in_pool = ["crates/runtime/src/pool"].into_iter().chain(testkit);
        s.is_test() || in_pool.any(|folder| s.is_in(folder))
    };
    let mut found = Vec::new();
    for source in sources().iter().filter(|s| !allowed(s)) {
        for (i, line) in source.code.lines().enumerate() {
            if makers.iter().any(|m| line.contains(m)) {
                found.push(format!("{}:{}: {}", source.path, i + 1, line.trim()));
            }
        }
    }
    fail_if_any("threads are made outside runtime::pool", &found);
}

/// Of an order of memory that x86-64 never shows to be too weak, and that other processors do.
#[test]
fn every_relaxed_order_has_its_reason() {
    let says_why = |text: &str| {
        let mut comments = text.lines().filter_map(|line| line.split_once("//"));
        comments.any(|(_, comment)| comment.contains("Relaxed"))
    };
    let found: Vec<String> = sources()
        .iter()
        .filter(|s| !s.is_test() && s.code.contains("Ordering::Relaxed") && !says_why(&s.text))
        .map(|s| s.path.clone())
        .collect();
    fail_if_any("files whose `Ordering::Relaxed` has no comment that says why", &found);
}

#[test]
fn only_the_command_line_prints() {
    let printers = ["println!", "eprintln!", "print!", "eprint!", "dbg!"];
    let printing = ["crates/cli/", "lab/src/commands/", "testkit/"];
    let allowed = |s: &Source| s.is_test() || printing.iter().any(|folder| s.is_in(folder));
    let mut found = Vec::new();
    for source in sources().iter().filter(|s| !allowed(s)) {
        for (i, line) in source.code.lines().enumerate() {
            if printers.iter().any(|p| has_word(line, p)) {
                found.push(format!("{}:{}: {}", source.path, i + 1, line.trim()));
            }
        }
    }
    fail_if_any("libraries print", &found);
}

/// Names and lines of a table of a manifest.
fn manifest_table(manifest: &str, table: &str) -> Vec<(String, String)> {
    let heading = format!("[{table}]");
    let lines = manifest.lines().skip_while(|l| l.trim() != heading).skip(1);
    lines
        .take_while(|l| !l.starts_with('['))
        .filter(|l| !l.trim().is_empty() && !l.trim_start().starts_with('#'))
        .filter_map(|l| {
            let name: String =
                l.chars().take_while(|c| c.is_alphanumeric() || "-_".contains(*c)).collect();
            (!name.is_empty()).then(|| (name, l.to_owned()))
        })
        .collect()
}

/// The manifests of all crates.
fn manifests() -> Vec<PathBuf> {
    let folders = ["crates", "lab"].map(|house| fs::read_dir(root().join(house)).unwrap());
    let folders = folders.into_iter().flatten().map(|entry| entry.unwrap().path());
    let all = folders.chain(["lab", "testkit"].map(|house| root().join(house)));
    let manifests: Vec<PathBuf> =
        all.map(|folder| folder.join("Cargo.toml")).filter(|path| path.is_file()).collect();
    assert!(manifests.len() > 10, "{manifests:?}");
    manifests
}

/// All that a package is made of, tests apart: a line for each.
fn tree(package: &str) -> Vec<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--locked", "-p", package, "-e", "normal,build"])
        .args(["--all-features", "--prefix", "none", "--format", "{p}"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let tree = String::from_utf8(output.stdout).unwrap();
    assert!(tree.lines().count() > 20, "{tree}");
    tree.lines().map(str::to_owned).collect()
}

/// The package that a line is about.
fn package_of(line: &str) -> &str {
    line.split(' ').next().unwrap_or_default()
}

/// The product knows nothing of the laboratory, nor of anything that only the laboratory needs.
#[test]
fn the_product_depends_on_nothing_of_the_laboratory() {
    let of_the_lab = |line: &String| {
        let names = ["toml", "hdf5-metno-sys", "seqloom-testkit"];
        line.contains("/lab") || names.contains(&package_of(line))
    };
    let found: Vec<String> = tree("seqloom").into_iter().filter(of_the_lab).collect();
    fail_if_any("the product depends on", &found);
}

/// The engine that does not align is for tests: cargo gives it to a program that it builds with
/// them or with the laboratory, and to no other.
#[test]
fn the_product_has_no_engine_that_does_not_align() {
    let features = |edges: &str, package: &str| {
        let output = Command::new(env!("CARGO"))
            .args(["tree", "--offline", "--locked", "-p", package, "-e", edges])
            .args(["-i", "seqloom-align", "--prefix", "none"])
            .current_dir(root())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let tree = String::from_utf8(output.stdout).unwrap();
        assert!(tree.contains("seqloom-align feature \"default\""), "{tree}");
        tree.contains("fake-engine")
    };
    let (alone, with_tests) = ("features,normal,build", "features,normal,build,dev");
    assert!(!features(alone, "seqloom"));
    assert!(features(with_tests, "seqloom") && features(alone, "seqloom-lab"));
}

/// The extension lives in other people's interpreters: no engine, no allocator, no command line.
#[test]
fn the_extension_knows_formats_and_signal_alone() {
    // `io` reads all formats, CRAM among them.
    let ours = ["python-extension", "format", "cram", "runtime", "io", "signal"]
        .map(|it| format!("seqloom-{it}"));
    let is_foreign = |line: &String| {
        let package = package_of(line);
        let is_other = package.starts_with("seqloom") && !ours.iter().any(|it| it == package);
        is_other || package.contains("mimalloc") || package.starts_with("bwa")
    };
    let found: Vec<String> =
        tree("seqloom-python-extension").into_iter().filter(is_foreign).collect();
    fail_if_any("the extension depends on", &found);
}

#[test]
fn every_dependency_has_a_reason_and_one_version() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let mut found = Vec::new();
    let dependencies = manifest_table(&manifest, "workspace.dependencies");
    assert!(dependencies.len() > 5);
    for (name, line) in dependencies {
        let reason = line.rsplit_once('#').map_or("", |(_, reason)| reason.trim());
        if !line.contains("path =") && reason.len() < 8 {
            found.push(format!("Cargo.toml: {name} has no reason next to it"));
        }
    }
    for path in manifests() {
        let manifest = fs::read_to_string(&path).unwrap();
        for table in ["dependencies", "dev-dependencies", "build-dependencies"] {
            for (name, line) in manifest_table(&manifest, table) {
                if !line.contains("workspace") {
                    let path = path.strip_prefix(root()).unwrap().display();
                    found.push(format!("{path}: {name} is not taken from the workspace"));
                }
            }
        }
    }
    fail_if_any("dependencies", &found);
}

#[test]
fn crates_depend_only_on_those_to_their_left() {
    let map = section("ARCHITECTURE.md", "Code map").expect("ARCHITECTURE.md has a code map");
    let order: Vec<&str> =
        map.lines().filter_map(|l| l.strip_prefix("| `")?.split('`').next()).collect();
    assert!(order.len() >= 7, "{order:?}");
    let mut found = Vec::new();
    for (i, krate) in order.iter().enumerate() {
        let path = root().join("crates").join(krate).join("Cargo.toml");
        let manifest = fs::read_to_string(&path).unwrap();
        for (name, _) in manifest_table(&manifest, "dependencies") {
            let Some(name) = name.strip_prefix("seqloom-") else { continue };
            if name == "testkit" || !order[..i].contains(&name) {
                found.push(format!("{krate} depends on {name}"));
            }
        }
    }
    fail_if_any("against the order of the code map", &found);
}
