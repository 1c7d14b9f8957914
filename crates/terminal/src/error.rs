//! The error of a command: any [`RunError`], and what was being done when it happened.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use seqloom_runtime::error::{AnyRunError, Class, Place, RunError};

/// The outcome of a command, or of a part of one.
pub type Result<T> = std::result::Result<T, Error>;

/// A [`RunError`] of any kind, with the words that are put before its message.
#[derive(Debug)]
pub struct Error {
    cause: AnyRunError,
    /// The innermost first.
    context: Vec<String>,
}

impl<E: RunError + Send + Sync + 'static> From<E> for Error {
    fn from(error: E) -> Self {
        Self { cause: Box::new(error), context: Vec::new() }
    }
}

impl Error {
    /// Class of the failure.
    #[must_use]
    pub fn class(&self) -> Class {
        self.cause.class()
    }

    /// Place of the failure.
    #[must_use]
    pub fn place(&self) -> Place {
        self.cause.place()
    }

    /// This error with `text` before its message.
    #[must_use]
    pub fn context(mut self, text: impl Into<String>) -> Self {
        self.context.push(text.into());
        self
    }
}

impl fmt::Display for Error {
    /// The messages from the outermost to the innermost, without those that the one before quotes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        let mut add = |message: &str| {
            if !text.contains(message) {
                if !text.is_empty() {
                    text.push_str(": ");
                }
                text.push_str(message);
            }
        };
        self.context.iter().rev().for_each(|it| add(it));
        add(&self.cause.to_string());
        let mut source = self.cause.source();
        while let Some(error) = source {
            add(&error.to_string());
            source = error.source();
        }
        f.write_str(&text)
    }
}

/// A fault of the command line.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(pub String);

impl RunError for UsageError {
    fn class(&self) -> Class {
        Class::Usage
    }
}

/// A file that the command line names and that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", path.display())]
pub struct UnusableFile {
    path: PathBuf,
    problem: String,
    class: Class,
}

impl UnusableFile {
    /// The file at `path` has `problem`.
    pub fn new(path: &Path, problem: impl fmt::Display) -> Self {
        Self { path: path.to_owned(), problem: problem.to_string(), class: Class::Input }
    }

    /// The file or folder at `path` cannot be read.
    #[must_use]
    pub fn read(path: &Path, error: &io::Error) -> Self {
        let problem = format!("cannot read: {error}");
        Self { class: Class::of_input(error), ..Self::new(path, problem) }
    }
}

impl RunError for UnusableFile {
    fn class(&self) -> Class {
        self.class
    }

    fn place(&self) -> Place {
        Place::of(&self.path)
    }
}

/// The machine does not give what is needed.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct SystemError(pub String);

impl SystemError {
    /// The system refused a request with `error`.
    #[must_use]
    pub fn new(error: io::Error) -> Self {
        Self(error.to_string())
    }
}

impl RunError for SystemError {
    fn class(&self) -> Class {
        Class::System
    }
}

/// A check of the program on itself failed.
#[derive(Debug, thiserror::Error)]
#[error("{0}; this is a bug")]
pub struct Bug(pub String);

impl Bug {
    /// A failure that only a bug can cause.
    pub fn new(error: impl fmt::Display) -> Self {
        Self(error.to_string())
    }
}

impl RunError for Bug {
    fn class(&self) -> Class {
        Class::Bug
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{path}: {source}")]
    struct Wrapped {
        path: &'static str,
        source: std::io::Error,
    }

    impl RunError for Wrapped {
        fn class(&self) -> Class {
            Class::Output
        }

        fn place(&self) -> Place {
            Place::of(Path::new(self.path))
        }
    }

    #[test]
    fn messages_are_joined_and_not_repeated() {
        let wrapped = Wrapped { path: "a.bam", source: std::io::Error::other("no space") };
        let error = Error::from(wrapped).context("finish").context("run");
        assert_eq!(error.to_string(), "run: finish: a.bam: no space");
        assert_eq!(error.class(), Class::Output);
        assert_eq!(error.place().file.as_deref(), Some("a.bam"));
    }
}
