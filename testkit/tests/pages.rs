//! The pages of the repository: links and paths lead somewhere, the manual's index has every page,
//! no file names the host of a package registry, and the first page is short.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Words of the first page, at most.
const README_MAX_WORDS: usize = 1_300;

/// Folders that are not ours to look at.
const SKIPPED: [&str; 9] = [
    "target",
    ".git",
    ".venv",
    ".gatk",
    ".nextflow",
    ".nextflow-jars",
    "out",
    "dist",
    "__pycache__",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// All files of the repository, relative to it.
fn files() -> Vec<PathBuf> {
    let (root, mut found, mut folders) = (root(), Vec::new(), vec![PathBuf::new()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root.join(&folder)).unwrap().map(Result::unwrap) {
            let path = folder.join(entry.file_name());
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.file_type().unwrap().is_dir() {
                if !SKIPPED.contains(&name.as_str()) {
                    folders.push(path);
                }
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn pages() -> Vec<PathBuf> {
    let is_page = |it: &PathBuf| it.extension().is_some_and(|it| it == "md");
    let pages: Vec<PathBuf> = files().into_iter().filter(is_page).collect();
    assert!(pages.len() > 30, "{pages:?}");
    pages
}

/// The lines of a page outside blocks of code.
fn prose(text: &str) -> Vec<&str> {
    let mut inside = false;
    let mut kept = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            inside = !inside;
        } else if !inside {
            kept.push(line);
        }
    }
    kept
}

/// The anchor of a heading, as forges make it: letters and digits in lower case, blanks as `-`.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

fn anchors(text: &str) -> BTreeSet<String> {
    let headings = prose(text).into_iter().filter(|line| line.starts_with('#'));
    headings.map(|line| anchor(line.trim_start_matches('#'))).collect()
}

/// What `](...)` names in a page, code apart.
fn links(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in prose(text) {
        // What is between backquotes is no link.
        let plain: Vec<&str> = line.split('`').step_by(2).collect();
        let plain = plain.join("x");
        for part in plain.split("](").skip(1) {
            found.extend(part.split(')').next().map(str::to_owned));
        }
    }
    found
}

/// `a/b/../c` as `a/c`.
fn tidied(path: &Path) -> PathBuf {
    let mut whole = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => assert!(whole.pop(), "{} leads out", path.display()),
            Component::CurDir => {}
            other => whole.push(other),
        }
    }
    whole
}

/// Where a link of a page leads; `None` for one to elsewhere.
fn target(page: &Path, link: &str) -> Option<(PathBuf, Option<String>)> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = link.split_once('#').map_or((link, None), |it| (it.0, Some(it.1)));
    let folder = page.parent().unwrap();
    let path = if path.is_empty() { page.to_owned() } else { tidied(&folder.join(path)) };
    Some((path, anchor.map(str::to_owned)))
}

#[test]
fn headings_and_links_are_understood() {
    assert_eq!(anchor(" UMIs: `--umi` "), "umis---umi");
    assert_eq!(anchor("A human genome in 16 GB"), "a-human-genome-in-16-gb");
    let text = "[a](x.md#b) `[no](y)`\n```\n[no](z)\n# no\n```\n## Is it `so`?\n";
    assert_eq!(links(text), ["x.md#b"]);
    assert_eq!(anchors(text).into_iter().collect::<Vec<_>>(), ["is-it-so"]);
    let found = target(Path::new("docs/a/b.md"), "../c.md#d").unwrap();
    assert_eq!(found, (PathBuf::from("docs/c.md"), Some("d".to_owned())));
}

#[test]
fn links_lead_somewhere() {
    let mut broken = Vec::new();
    for page in pages() {
        let text = fs::read_to_string(root().join(&page)).unwrap();
        for link in links(&text) {
            let Some((path, anchor)) = target(&page, &link) else { continue };
            let whole = root().join(&path);
            let leads = match anchor {
                None => whole.exists(),
                Some(anchor) => {
                    fs::read_to_string(whole).is_ok_and(|it| anchors(&it).contains(&anchor))
                }
            };
            if !leads {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(broken.is_empty(), "links to nowhere:\n  {}", broken.join("\n  "));
}

/// Folders of code that pages name files of.
const CODE: [&str; 7] = ["crates/", "lab/", "testkit/", "fuzz/", "python/", "workflow/", "docs/"];

/// What a page has between backquotes that is a path of code, `{a,b}` distinguished; names in
/// capitals stand for any, and what has a `*` is many.
fn code_paths(text: &str) -> Vec<String> {
    let spans = text.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
    let is_path = |span: &&str| {
        let is_plain = span.chars().all(|c| c.is_ascii_alphanumeric() || "/._-{},".contains(c));
        let stands_for_any = |part: &str| part.len() > 1 && part.chars().all(char::is_uppercase);
        let any = span.split(['/', '.', '{', '}', ',']).any(stands_for_any);
        CODE.iter().any(|folder| span.starts_with(folder)) && is_plain && !any
    };
    spans.filter(is_path).flat_map(alternatives).collect()
}

/// `a{b,c}` as `ab` and `ac`.
fn alternatives(span: &str) -> Vec<String> {
    let parts =
        span.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)));
    let Some((before, (inner, after))) = parts else { return vec![span.to_owned()] };
    inner.split(',').flat_map(|it| alternatives(&format!("{before}{it}{after}"))).collect()
}

#[test]
fn paths_of_code_are_understood() {
    let text =
        "`crates/a/src/{b,c}.rs` `crates/x/NEW.rs` `crates/*/tests` `target/a` `let a = 1;`\n";
    assert_eq!(code_paths(text), ["crates/a/src/b.rs", "crates/a/src/c.rs"]);
}

#[test]
fn paths_of_code_lead_somewhere() {
    let (mut looked_at, mut broken) = (0, Vec::new());
    for page in pages() {
        for path in code_paths(&fs::read_to_string(root().join(&page)).unwrap()) {
            looked_at += 1;
            if !root().join(&path).exists() {
                broken.push(format!("{}: {path}", page.display()));
            }
        }
    }
    assert!(looked_at > 100, "{looked_at}");
    assert!(broken.is_empty(), "paths to nowhere:\n  {}", broken.join("\n  "));
}

/// The manual's pages; `docs/internals` has an index of its own.
#[test]
fn every_page_of_the_manual_is_in_its_index() {
    for (folder, index) in
        [("docs", "docs/README.md"), ("docs/internals", "docs/internals/README.md")]
    {
        let index = Path::new(index);
        let text = fs::read_to_string(root().join(index)).unwrap();
        let listed: BTreeSet<PathBuf> =
            links(&text).iter().filter_map(|it| target(index, it)).map(|it| it.0).collect();
        let belongs = |it: &PathBuf| {
            let in_internals = it.starts_with("docs/internals");
            it != index
                && it.starts_with(folder)
                && (folder.ends_with("internals") || !in_internals)
        };
        let missing: Vec<PathBuf> =
            pages().into_iter().filter(belongs).filter(|it| !listed.contains(it)).collect();
        assert!(missing.is_empty(), "{} lacks {missing:?}", index.display());
    }
}

/// Where packages are fetched from is set where this is used, not here. The lock file is cargo's.
#[test]
fn no_file_names_the_host_of_a_registry() {
    let hosts = [
        concat!("py", "pi.org"),
        concat!("pythonhos", "ted.org"),
        concat!("index.", "crates.io"),
        concat!("static.", "crates.io"),
        concat!("proxy.", "golang.org"),
        concat!("registry.", "npmjs"),
        concat!("repo1.", "maven"),
        concat!("repo.", "maven"),
        concat!("deb.", "debian.org"),
        concat!("ana", "conda.org"),
        concat!("qu", "ay.io"),
        concat!("dock", "er.io"),
        concat!("gh", "cr.io"),
        concat!("depot.", "galaxyproject"),
    ];
    let mut found = Vec::new();
    for path in files() {
        let Ok(text) = fs::read_to_string(root().join(&path)) else { continue };
        for host in hosts.iter().filter(|it| text.contains(**it)) {
            found.push(format!("{}: {host}", path.display()));
        }
    }
    assert!(found.is_empty(), "hosts of registries:\n  {}", found.join("\n  "));
}

#[test]
fn the_first_page_is_short() {
    let text = fs::read_to_string(root().join("README.md")).unwrap();
    let words = text.split_whitespace().count();
    assert!(words <= README_MAX_WORDS, "README.md has {words} words, at most {README_MAX_WORDS}");
}
