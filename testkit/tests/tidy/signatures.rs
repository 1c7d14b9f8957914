//! What types of functions say: a tuple with two members of one type leaves it to the reader to
//! remember which is which.

use super::fail_if_any;
use super::sources::sources;

/// Signatures that keep such a tuple, each with its reason.
const EXCEPTIONS: [(&str, &str, &str); 1] =
    [("testkit/src/damage.rs", "Change", "proptest makes tuples, and a fuzzer's bytes are such")];

/// The type of a function, or what an alias stands for.
#[derive(Debug, PartialEq, Eq)]
struct Signature<'a> {
    name: &'a str,
    text: &'a str,
    /// From 1.
    line: usize,
}

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// All of some code without comments and strings.
fn signatures(code: &str) -> Vec<Signature<'_>> {
    let mut found = Vec::new();
    for (keyword, start) in [("fn ", '('), ("type ", '=')] {
        for (at, _) in code.match_indices(keyword) {
            let after = &code[at + keyword.len()..];
            let name = &after[..after.find(|c| !is_part(c)).unwrap_or(after.len())];
            let text = &after[name.len()..end_of(after).max(name.len())];
            if code[..at].ends_with(is_part) || name.is_empty() || !text.contains(start) {
                continue;
            }
            let line = 1 + code[..at].matches('\n').count();
            found.push(Signature { name, text, line });
        }
    }
    found
}

/// Where a type ends: at a body or semicolon that no bracket holds.
fn end_of(text: &str) -> usize {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            '{' | ';' if depth == 0 => return at,
            _ => {}
        }
    }
    text.len()
}

/// The tuples of a type that have two members of one type.
fn unnamed(text: &str) -> Vec<String> {
    // The arrow closes no bracket.
    let text = text.replace("->", "  ");
    let (mut open, mut found) = (Vec::new(), Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '(' => open.push(at),
            ')' => {
                let Some(start) = open.pop() else { continue };
                let before = text[..start].trim_end();
                let are_arguments = before.ends_with("Fn")
                    || before.ends_with("FnMut")
                    || before.ends_with("FnOnce")
                    || before.ends_with("fn");
                let members = members(&text[start + 1..at]);
                // What has a colon is an argument, not a type; `_` is a pattern.
                let are_types = members.iter().all(|it| !it.replace("::", "").contains(':'));
                let is_twice = |(i, it): (usize, &String)| it != "_" && members[..i].contains(it);
                if !are_arguments && are_types && members.iter().enumerate().any(is_twice) {
                    found.push(format!("({})", members.join(", ")));
                }
            }
            _ => {}
        }
    }
    found
}

/// What is between the commas that no bracket holds, without lifetimes.
fn members(text: &str) -> Vec<String> {
    let (mut depth, mut members) = (0, vec![String::new()]);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '(' | '[' | '{' | '<' => depth += 1,
            ')' | ']' | '}' | '>' => depth -= 1,
            _ => {}
        }
        match (c, members.last_mut()) {
            (',', _) if depth == 0 => members.push(String::new()),
            ('\'', _) => {
                while chars.next_if(|c| is_part(*c)).is_some() {}
                chars.next_if_eq(&' ');
            }
            (c, Some(member)) => member.push(c),
            _ => {}
        }
    }
    let words = |it: &String| it.split_whitespace().collect::<Vec<_>>().join(" ");
    members.iter().map(words).filter(|it| !it.is_empty()).collect()
}

#[test]
fn tuples_of_a_type_are_found() {
    let t = |code: &str, expected: &[&str]| {
        let found = signatures(code).iter().flat_map(|it| unnamed(it.text)).collect::<Vec<_>>();
        assert_eq!(found, expected, "{code}");
    };
    t("fn a() -> (u8, u8) {", &["(u8, u8)"]);
    t("fn a(b: u8, c: u8) -> u8 {", &[]);
    t("fn a((b, c): (u8, u8)) {", &["(u8, u8)"]);
    t("fn a((_, _): (u8, u16)) {", &[]);
    t("fn a(b: [u8; 2]) -> Option<(u32, Vec<u8>,\n    u32)>;", &["(u32, Vec<u8>, u32)"]);
    t("fn a<'x>(b: &'x u8) -> (&'x [u8], &[u8]) {", &["(&[u8], &[u8])"]);
    t("fn a<'x>(b: (&'x str, &'x Path)) {", &[]);
    t("fn a(b: impl Fn(u8, u8) -> (i8, i8), c: fn(u8, u8)) {", &["(i8, i8)"]);
    t("fn a(b: impl Iterator<Item = (u8, (i8, i8))>) {", &["(i8, i8)"]);
    t("fn a() -> (HashMap<u8, u8>, Vec<(u8, u16)>) {", &[]);
    t("type Place = (i32, i32);", &["(i32, i32)"]);
    t("type Of<'a> = &'a dyn Fn(&str) -> f64;", &[]);
    t("let (a, b): (u8, u8) = my_fn ((1, 1));", &[]);
    let all = signatures("\nfn first() {}\nfn second<T>(a: T);");
    let lines: Vec<_> = all.iter().map(|it| (it.name, it.line)).collect();
    assert_eq!(lines, [("first", 2), ("second", 3)]);
}

#[test]
fn types_of_functions_say_which_is_which() {
    let is_excepted = |path: &str, name: &str| {
        EXCEPTIONS.iter().any(|(its_path, its_name, _)| (*its_path, *its_name) == (path, name))
    };
    let mut found = Vec::new();
    let mut seen = 0;
    for source in sources().iter().filter(|source| !source.is_test()) {
        for Signature { name, text, line } in signatures(&source.code) {
            seen += 1;
            if is_excepted(&source.path, name) {
                continue;
            }
            let place = format!("{}:{line}: {name}", source.path);
            found.extend(unnamed(text).iter().map(|tuple| format!("{place}: {tuple}")));
        }
    }
    assert!(seen > 5_000, "{seen} signatures");
    fail_if_any("tuples whose members have one type and no names", &found);
}
