//! From the text of an experiment to a definition that makes sense.

use super::check::{Wrong, check};
use super::definition::{DefinitionError, Experiment};

impl Experiment {
    /// Reads and checks an experiment; `file` is its name in messages.
    ///
    /// # Errors
    /// See [`DefinitionError`].
    pub(crate) fn parse(file: &str, text: &str) -> Result<Self, DefinitionError> {
        let experiment: Self =
            toml::from_str(text).map_err(|error| form_error(file, text, &error))?;
        check(&experiment).map_err(|Wrong { key, what }| DefinitionError::Value {
            file: file.to_owned(),
            key,
            what,
        })?;
        Ok(experiment)
    }
}

fn form_error(file: &str, text: &str, error: &toml::de::Error) -> DefinitionError {
    let at = error.span().map_or(0, |span| span.start).min(text.len());
    let line = text.get(..at).unwrap_or_default().matches('\n').count();
    DefinitionError::Form {
        file: file.to_owned(),
        line: line + 1,
        text: text.lines().nth(line).unwrap_or_default().trim().to_owned(),
        what: error.message().trim().to_owned(),
    }
}
