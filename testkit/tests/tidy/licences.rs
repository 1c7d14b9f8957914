//! Under which licences all that we depend on is.

use std::process::Command;

use super::{fail_if_any, root};

/// Licences a dependency may have. All are permissive: none demands anything of users' own code.
const LICENCES: [&str; 13] = [
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
    "bzip2-1.0.6",
];

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
