//! The source files of the workspace, and what of them is code.

use std::fs;
use std::path::{Path, PathBuf};

/// Folders of source: the product, the laboratory, what checks both.
const HOUSES: [&str; 3] = ["crates", "lab", "testkit"];

/// A source file of the workspace.
pub(crate) struct Source {
    /// Path from the workspace root, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
    /// The text without comments, strings, and the tests at its end; same line numbers.
    pub(crate) code: String,
    /// The text without comments and strings; same bytes and line numbers.
    pub(crate) blanked: String,
}

impl Source {
    /// Belongs to tests or benchmarks as a whole.
    pub(crate) fn is_test(&self) -> bool {
        let parts: Vec<&str> = self.path.split('/').collect();
        let folder = parts.iter().any(|p| ["tests", "benches", "fuzz", "examples"].contains(p));
        let name = parts.last().copied().unwrap_or_default();
        folder || name == "tests.rs" || name.ends_with("_tests.rs") || name.starts_with("test_")
    }

    pub(crate) fn is_in(&self, folder: &str) -> bool {
        self.path.starts_with(folder)
    }
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

pub(crate) fn sources() -> Vec<Source> {
    let root = root();
    let mut files = Vec::new();
    for house in HOUSES {
        let before = files.len();
        collect(&root.join(house), &mut files);
        assert!(files.len() > before + 10, "{house} is not where it should be");
    }
    let read = |path: &PathBuf| {
        let text = fs::read_to_string(path).unwrap();
        let blanked = code_only(&text);
        let code = without_tests(&blanked);
        let path = path.strip_prefix(&root).unwrap().to_str().unwrap().replace('\\', "/");
        Source { path, text, code, blanked }
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
pub(crate) fn code_only(text: &str) -> String {
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
pub(crate) fn without_tests(code: &str) -> String {
    let lines: Vec<&str> = code.lines().collect();
    let is_tests = |i: usize| {
        let gate = lines[i].starts_with("#[cfg(") && lines[i].contains("test");
        let item = lines[i + 1..].iter().find(|l| !l.starts_with("#[") && !l.trim().is_empty());
        gate && item.is_some_and(|l| l.starts_with("mod ") && l.trim_end().ends_with('{'))
    };
    let end = (0..lines.len()).find(|&i| is_tests(i)).unwrap_or(lines.len());
    lines[..end].join("\n")
}

/// `word` is in `code` as a whole word.
pub(crate) fn has_word(code: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(word).any(|(at, _)| {
        !code[..at].ends_with(is_part) && !code[at + word.len()..].starts_with(is_part)
    })
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
