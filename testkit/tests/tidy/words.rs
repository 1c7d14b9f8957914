//! The field's language: words that a reader has to translate, and what to write instead. Comments,
//! messages and pages are searched.

use std::fs;
use std::path::Path;

use super::sources::{Source, root, sources};

/// A word, where it may be used all the same (what comes before it, what comes after it), and its
/// replacement.
struct Word {
    not: &'static str,
    unless_after: &'static [&'static str],
    unless_before: &'static [&'static str],
    but: &'static str,
}

const fn word(not: &'static str, but: &'static str) -> Word {
    Word { not, unless_after: &[], unless_before: &[], but }
}

const WORDS: [Word; 20] = [
    word("in front", "before, first, leading"),
    Word {
        unless_after: &[
            "leave", "leaves", "left", "stay", "stays", "of it", "nothing", "furthest", "hidden",
            "far", "falls",
        ],
        unless_before: &[
            "a",
            "an",
            "one",
            "two",
            "the trait",
            "the lock",
            "the delay",
            "our locks",
            "`raw`",
            "alignment",
            "crates",
            "them",
            "all of them",
            "the same",
            "the product's",
        ],
        ..word("behind", "after, past; it is right of locks, traits and what is left over")
    },
    word("beside", "next to, besides; a sidecar file"),
    word("told", "reported, recognised by, distinguished from, given"),
    word("tell", "report, show, say, distinguish"),
    word("tells", "reports, shows, says, distinguishes"),
    word("asked", "requested, required, checked"),
    word("asks for", "requires, allocates, requests"),
    word("wanted", "requested, needed, expected"),
    Word {
        unless_before: &["for", "in for", "in", "still", "between"],
        ..word("stands", "is, is stored, starts at; a code may stand for a value")
    },
    word("stood", "was"),
    word("lie", "be, are, are stored"),
    word("lies", "is, is stored, starts at"),
    word("survey", "scan, counting pass"),
    word("stretch", "chunk of input, region of a reference, segment, run"),
    word("stretches", "chunks, regions, segments, runs"),
    word("begun anew", "restarted"),
    word("gone on with", "resumed"),
    word("manners", "the name of what is meant"),
    word("clash", "name or file given twice"),
];

/// Words that outputs have had since a release: files of users may depend on them.
const IN_OUTPUTS: [(&str, &str); 2] = [
    ("crates/report/src/quality/duplicates.rs", "behind"),
    ("crates/runtime/src/placement/plan.rs", "asked"),
];

/// Reports each word of `text`, all in lower case, with its replacement.
fn found_in(text: &str, found: &mut impl FnMut(&Word)) {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    for word in &WORDS {
        for (at, _) in text.match_indices(word.not) {
            let (before, after) = (&text[..at], &text[at + word.not.len()..]);
            let is_whole = !before.ends_with(is_part) && !after.starts_with(is_part);
            let (before, after) = (before.trim_end(), after.trim_start());
            let may = word.unless_after.iter().any(|it| before.ends_with(it))
                || word.unless_before.iter().any(|it| {
                    after.strip_prefix(it).is_some_and(|rest| !rest.starts_with(is_part))
                });
            // At the end of a line what follows is not seen.
            let is_cut = after.is_empty() && !word.unless_before.is_empty();
            if is_whole && !may && !is_cut {
                found(word);
            }
        }
    }
}

/// What of each line is no code: comments and, but for the laboratory, whose definitions have words
/// of their own, literals.
fn words_of(source: &Source) -> impl Iterator<Item = String> {
    let is_lab = source.is_in("lab/");
    source.text.lines().zip(source.blanked.lines()).map(move |(line, code)| {
        if is_lab && !line.trim_start().starts_with("//") {
            return String::new();
        }
        let rest = line.bytes().zip(code.bytes());
        let rest = rest.map(|(byte, code)| if code == b' ' { byte } else { b' ' });
        String::from_utf8_lossy(&rest.collect::<Vec<_>>()).to_lowercase()
    })
}

/// Pages in `folder`, by path from the workspace root; recorded runs are what was measured.
fn pages(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            // Hidden ones have other people's files, too: those of the Python environment.
            let is_other = name.starts_with('.')
                || ["target", "runs", "out", "node_modules"].contains(&name.as_str());
            if !is_other {
                pages(&path, found);
            }
        } else if name.ends_with(".md") && name != "CHANGELOG.md" {
            found.push(path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned());
        }
    }
}

#[test]
fn words_are_those_of_the_field() {
    let mut found = Vec::new();
    let is_read = |s: &&Source| !s.path.starts_with("testkit/tests/tidy");
    for source in sources().iter().filter(is_read) {
        for (i, line) in words_of(source).enumerate() {
            found_in(&line, &mut |word| {
                if !IN_OUTPUTS.contains(&(source.path.as_str(), word.not)) {
                    found.push(format!("{}:{}: {}: {}", source.path, i + 1, word.not, word.but));
                }
            });
        }
    }
    let mut names = Vec::new();
    pages(&root(), &mut names);
    assert!(names.len() > 40, "{names:?}");
    for name in names {
        let text = fs::read_to_string(root().join(&name)).unwrap().to_lowercase();
        for (i, line) in text.lines().enumerate() {
            found_in(line, &mut |word| {
                found.push(format!("{name}:{}: {}: {}", i + 1, word.not, word.but));
            });
        }
    }
    super::fail_if_any("words that a reader has to translate, and what to write instead", &found);
}

#[test]
fn a_word_is_found_whole_and_where_it_may_not_be() {
    let t = |text: &str, expected: &[&str]| {
        let mut found = Vec::new();
        found_in(text, &mut |word| found.push(word.not));
        assert_eq!(found, expected, "{text}");
    };
    t("what lies behind it", &["behind", "lies"]);
    t("state behind a lock, which leaves nothing behind", &[]);
    t("a value stands for another, besides; behind_that, untold", &[]);
    t("in front of the file it stands first", &["in front", "stands"]);
}
