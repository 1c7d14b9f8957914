//! Which program this is, for runs that several processes do one after the other or side by side:
//! their private files and what they write must be of one build.

/// Name and version of this program, and its build: a digest of the sources that decide what is
/// stored and written (`build.rs`).
pub(crate) fn program() -> String {
    format!("seqloom {} (build {})", env!("CARGO_PKG_VERSION"), env!("SEQLOOM_BUILD"))
}

/// Message about a run in `place` that another program began.
pub(crate) fn other_program(place: &str, theirs: &str) -> String {
    format!(
        "{place} was begun by {theirs}, and this is {}: what a run stores for itself differs \
         between builds; go on with that program",
        program()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_has_a_digest() {
        let digits = env!("SEQLOOM_BUILD");
        assert!(digits.len() == 16 && digits.bytes().all(|it| it.is_ascii_hexdigit()), "{digits}");
        assert!(program().ends_with(&format!("(build {digits})")));
    }
}
