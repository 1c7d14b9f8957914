//! The rules of the code base that the compiler does not hold: where `unsafe`, threads and
//! printing may stand, how long files are, what is documented, who depends on whom, and under
//! which licences.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const FILE_MAX_LINES: usize = 800;
const LINE_MAX_COLUMNS: usize = 100;

/// Folders of source: the product, the laboratory, what checks both.
const HOUSES: [&str; 3] = ["crates", "lab", "testkit"];

/// Licences a dependency may have. All are permissive: none asks anything of users' own code.
const LICENCES: [&str; 12] = [
    "MIT",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Zlib",
    "0BSD",
    "BSL-1.0",
    "CC0-1.0",
    "Unicode-3.0",
    "Unlicense",
];

/// A source file of the workspace.
struct Source {
    /// Path from the workspace root, with `/`.
    path: String,
    text: String,
    /// The text without comments, strings, and the tests at its end; same line numbers.
    code: String,
}

impl Source {
    /// Belongs to tests or benchmarks as a whole.
    fn is_test(&self) -> bool {
        let parts: Vec<&str> = self.path.split('/').collect();
        let folder = parts.iter().any(|p| ["tests", "benches", "fuzz", "examples"].contains(p));
        let name = parts.last().copied().unwrap_or_default();
        folder || name == "tests.rs" || name.ends_with("_tests.rs") || name.starts_with("test_")
    }

    fn is_in(&self, folder: &str) -> bool {
        self.path.starts_with(folder)
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn sources() -> Vec<Source> {
    let root = root();
    let mut files = Vec::new();
    for house in HOUSES {
        let before = files.len();
        collect(&root.join(house), &mut files);
        assert!(files.len() > before + 10, "{house} is not where it should be");
    }
    let read = |path: &PathBuf| {
        let text = fs::read_to_string(path).unwrap();
        let code = without_tests(&code_only(&text));
        let path = path.strip_prefix(&root).unwrap().to_str().unwrap().replace('\\', "/");
        Source { path, text, code }
    };
    files.iter().map(read).collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
            collect(&path, files);
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
}

/// Blanks comments, strings and character literals, keeping the lines.
fn code_only(text: &str) -> String {
    let b = text.as_bytes();
    let mut out = Vec::with_capacity(b.len());
    let mut i = 0;
    while i < b.len() {
        let end = literal_or_comment(b, i);
        if end == i {
            out.push(b[i]);
            i += 1;
        } else {
            out.extend(b[i..end].iter().map(|&c| if c == b'\n' { c } else { b' ' }));
            i = end;
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// End of the comment or literal that starts at `i`, or `i` when none does.
fn literal_or_comment(b: &[u8], i: usize) -> usize {
    let rest = &b[i..];
    let before = i.checked_sub(1).map_or(b' ', |p| b[p]);
    let in_word = before.is_ascii_alphanumeric() || before == b'_';
    if rest.starts_with(b"//") {
        return i + rest.iter().position(|&c| c == b'\n').unwrap_or(rest.len());
    }
    if rest.starts_with(b"/*") {
        let (mut depth, mut at) = (1, 2);
        while depth > 0 && at < rest.len() {
            let step = &rest[at..];
            let (change, length) = match step {
                [b'/', b'*', ..] => (1, 2),
                [b'*', b'/', ..] => (-1, 2),
                _ => (0, 1),
            };
            depth += change;
            at += length;
        }
        return i + at;
    }
    if rest[0] == b'"' {
        return i + string_end(rest, 1);
    }
    if rest[0] == b'\'' {
        // A character literal closes within a few bytes; a lifetime does not.
        return match rest {
            [_, b'\\', ..] => i + rest[3..].iter().position(|&c| c == b'\'').map_or(1, |p| p + 4),
            [_, _, b'\'', ..] => i + 3,
            [_, first, ..] if *first >= 0x80 => {
                i + rest[1..].iter().position(|&c| c == b'\'').map_or(1, |p| p + 2)
            }
            _ => i,
        };
    }
    if !in_word {
        let prefix = rest.iter().take_while(|c| b"brc".contains(c)).count();
        if (1..=2).contains(&prefix) && rest[..prefix].contains(&b'r') {
            let hashes = rest[prefix..].iter().take_while(|&&c| c == b'#').count();
            let open = prefix + hashes;
            if rest.get(open) == Some(&b'"') {
                let close = [b"\"".to_vec(), vec![b'#'; hashes]].concat();
                let found = rest[open + 1..].windows(close.len()).position(|w| w == close);
                return i + found.map_or(rest.len(), |p| open + 1 + p + close.len());
            }
        }
    }
    i
}

fn string_end(rest: &[u8], mut at: usize) -> usize {
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// Cuts the test modules that end the file: everything from `#[cfg(test)]` before a `mod`.
fn without_tests(code: &str) -> String {
    let lines: Vec<&str> = code.lines().collect();
    let is_tests = |i: usize| {
        let gate = lines[i].starts_with("#[cfg(") && lines[i].contains("test");
        let item = lines[i + 1..].iter().find(|l| !l.starts_with("#[") && !l.trim().is_empty());
        gate && item.is_some_and(|l| l.starts_with("mod ") && l.trim_end().ends_with('{'))
    };
    let end = (0..lines.len()).find(|&i| is_tests(i)).unwrap_or(lines.len());
    lines[..end].join("\n")
}

/// `word` stands in `code` as a whole word.
fn has_word(code: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(word).any(|(at, _)| {
        !code[..at].ends_with(is_part) && !code[at + word.len()..].starts_with(is_part)
    })
}

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
fn the_scanner_sees_code_and_only_code() {
    let text = concat!(
        "let a = \"unsafe \\\" x\"; // unsafe\n",
        "/* unsafe /* nested */ unsafe */ let b = b'\"'; let c = '\\''; let d: &'a str;\n",
        "let e = r#\"unsafe \" \"#; let f = br\"unsafe\"; let g = 'ä'; real();\n",
    );
    let code = code_only(text);
    assert!(!code.contains("unsafe"), "{code}");
    assert_eq!(code.lines().count(), 3);
    for kept in ["let a =", "let b =", "let c =", "&'a str", "let e =", "let f =", "real();"] {
        assert!(code.contains(kept), "{kept}: {code}");
    }
    assert!(has_word("x unsafe {", "unsafe") && !has_word("unsafe_code", "unsafe"));
    let with = "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\n";
    assert_eq!(without_tests(with), "fn a() {}");
    let declared = "#[cfg(test)]\nmod tests;\nfn a() {}";
    assert_eq!(without_tests(declared), declared);
}

#[test]
fn unsafe_stands_only_in_the_inventory() {
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

/// The extension lives in other people's interpreters: no engine, no allocator, no command line.
#[test]
fn the_extension_knows_formats_and_signal_alone() {
    let ours = ["native", "format", "runtime", "io", "signal"].map(|it| format!("seqloom-{it}"));
    let is_foreign = |line: &String| {
        let package = package_of(line);
        let is_other = package.starts_with("seqloom") && !ours.iter().any(|it| it == package);
        is_other || package.contains("mimalloc") || package.starts_with("bwa")
    };
    let found: Vec<String> = tree("seqloom-native").into_iter().filter(is_foreign).collect();
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
            found.push(format!("Cargo.toml: {name} has no reason beside it"));
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

/// An SPDX expression that the allow list satisfies. `/` is the old way to write OR.
fn allowed(expression: &str) -> bool {
    let expression = expression.replace('/', " OR ");
    let mut tokens = Vec::new();
    for word in expression.replace('(', " ( ").replace(')', " ) ").split_whitespace() {
        tokens.push(word.to_owned());
    }
    let mut at = 0;
    either(&tokens, &mut at) && at == tokens.len()
}

fn either(tokens: &[String], at: &mut usize) -> bool {
    let mut good = both(tokens, at);
    while tokens.get(*at).is_some_and(|t| t == "OR") {
        *at += 1;
        good |= both(tokens, at);
    }
    good
}

fn both(tokens: &[String], at: &mut usize) -> bool {
    let mut good = one(tokens, at);
    while tokens.get(*at).is_some_and(|t| t == "AND") {
        *at += 1;
        good &= one(tokens, at);
    }
    good
}

fn one(tokens: &[String], at: &mut usize) -> bool {
    let Some(token) = tokens.get(*at) else { return false };
    *at += 1;
    if token == "(" {
        let good = either(tokens, at);
        *at += 1;
        return good;
    }
    let mut licence = token.clone();
    if tokens.get(*at).is_some_and(|t| t == "WITH") {
        licence = format!("{token} WITH {}", tokens.get(*at + 1).map_or("", |t| t));
        *at += 2;
    }
    LICENCES.contains(&licence.as_str())
}

#[test]
fn licence_expressions_are_understood() {
    let cases = [
        ("MIT", true),
        ("MIT/Apache-2.0", true),
        ("GPL-3.0-only", false),
        ("MIT OR GPL-3.0-only", true),
        ("MIT AND GPL-3.0-only", false),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
        ("(MIT OR Apache-2.0) AND LGPL-2.1-or-later", false),
        ("Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT", true),
        ("GPL-2.0-only WITH Classpath-exception-2.0", false),
        ("", false),
    ];
    for (expression, expected) in cases {
        assert_eq!(allowed(expression), expected, "{expression}");
    }
}

/// This machine as `rustc` names it.
fn host() -> String {
    let output = Command::new("rustc").arg("-vV").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().find_map(|line| line.strip_prefix("host: ")).unwrap().to_owned()
}

#[test]
fn licences_of_all_dependencies_are_allowed() {
    // Only what this machine builds is certain to be on it: packages of other platforms are not
    // fetched by a build.
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--offline", "--locked", "--format-version", "1"])
        .args(["--filter-platform", &host()])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 20);
    let mut found = Vec::new();
    for package in packages {
        let licence = package["license"].as_str().unwrap_or_default();
        if !allowed(licence) {
            found.push(format!("{} {}: {licence:?}", package["name"], package["version"]));
        }
    }
    fail_if_any("licences that are not in the list", &found);
}
