//! Words of command lines with placeholders: `{threads}`. Braces of their own are doubled.

use serde::Deserialize;

/// One word or several, as they are in a file: a text, a number, or a list of them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(from = "InFile")]
pub(crate) struct Words(pub Vec<String>);

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a text, a number, or a list of them")]
enum InFile {
    One(Scalar),
    Many(Vec<Scalar>),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Scalar {
    Text(String),
    Integer(i64),
    Float(f64),
}

impl From<Scalar> for String {
    fn from(scalar: Scalar) -> Self {
        match scalar {
            Scalar::Text(text) => text,
            Scalar::Integer(number) => number.to_string(),
            Scalar::Float(number) => number.to_string(),
        }
    }
}

impl From<InFile> for Words {
    fn from(in_file: InFile) -> Self {
        match in_file {
            InFile::One(scalar) => Self(vec![scalar.into()]),
            InFile::Many(all) => Self(all.into_iter().map(String::from).collect()),
        }
    }
}

impl Words {
    /// One word.
    pub(crate) fn one(word: impl ToString) -> Self {
        Self(vec![word.to_string()])
    }
}

/// A template that stands for nothing.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum TemplateError {
    /// A brace without its partner.
    #[error("'{0}' has a brace without its partner; one that stands for itself is doubled")]
    Brace(String),
    /// A placeholder that nothing is known of.
    #[error("nothing is known of the placeholder {{{0}}}")]
    Unknown(String),
    /// A list inside of a word.
    #[error("'{0}': {{{1}}} is a list, which has to be a word of its own")]
    List(String, String),
}

/// Parts of a word: text, or the name of a placeholder.
enum Part<'a> {
    Text(&'a str),
    Name(&'a str),
}

fn parts(template: &str) -> Result<Vec<Part<'_>>, TemplateError> {
    let bad = || TemplateError::Brace(template.to_owned());
    let (mut parts, mut rest) = (Vec::new(), template);
    while let Some(at) = rest.find(['{', '}']) {
        let brace = &rest[at..=at];
        let after = &rest[at + 1..];
        parts.push(Part::Text(&rest[..at]));
        if after.starts_with(brace) {
            parts.push(Part::Text(brace));
            rest = &after[1..];
        } else if brace == "{" {
            let end = after.find(['{', '}']).filter(|end| after[*end..].starts_with('}'));
            let end = end.ok_or_else(bad)?;
            parts.push(Part::Name(&after[..end]));
            rest = &after[end + 1..];
        } else {
            return Err(bad());
        }
    }
    parts.push(Part::Text(rest));
    parts.retain(|part| !matches!(part, Part::Text("")));
    Ok(parts)
}

/// Names of the placeholders in a word.
///
/// # Errors
/// Braces do not match.
pub(crate) fn names(template: &str) -> Result<Vec<&str>, TemplateError> {
    let name = |part| match part {
        Part::Name(name) => Some(name),
        Part::Text(_) => None,
    };
    Ok(parts(template)?.into_iter().filter_map(name).collect())
}

/// A word with its placeholders filled in. One that is nothing but a placeholder becomes as many
/// words as its value has.
///
/// # Errors
/// Braces do not match, a value is not known, or it is a list within a word.
pub(crate) fn expand(
    template: &str,
    value: &dyn Fn(&str) -> Result<Words, TemplateError>,
) -> Result<Vec<String>, TemplateError> {
    let parts = parts(template)?;
    if let [Part::Name(name)] = parts[..] {
        return Ok(value(name)?.0);
    }
    let mut word = String::new();
    for part in parts {
        match part {
            Part::Text(text) => word.push_str(text),
            Part::Name(name) => match &value(name)?.0[..] {
                [one] => word.push_str(one),
                _ => return Err(TemplateError::List(template.to_owned(), name.to_owned())),
            },
        }
    }
    Ok(vec![word])
}

/// A word with its placeholders filled in, that has to remain one word.
///
/// # Errors
/// See [`expand`].
pub(crate) fn expand_one(
    template: &str,
    value: &dyn Fn(&str) -> Result<Words, TemplateError>,
) -> Result<String, TemplateError> {
    let words = expand(template, value)?;
    let list = || TemplateError::List(template.to_owned(), template.to_owned());
    if let [_] = words[..] { words.into_iter().next().ok_or_else(list) } else { Err(list()) }
}

/// All words of a command line.
///
/// # Errors
/// See [`expand`].
pub(crate) fn expand_all(
    templates: &[String],
    value: &dyn Fn(&str) -> Result<Words, TemplateError>,
) -> Result<Vec<String>, TemplateError> {
    let mut words = Vec::new();
    for template in templates {
        words.extend(expand(template, value)?);
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(name: &str) -> Result<Words, TemplateError> {
        match name {
            "n" => Ok(Words::one(4)),
            "list" => Ok(Words(vec!["a".into(), "b".into()])),
            "none" => Ok(Words(Vec::new())),
            _ => Err(TemplateError::Unknown(name.to_owned())),
        }
    }

    #[test]
    fn placeholders_are_filled_in() {
        fn t(template: &str, expected: &[&str]) {
            assert_eq!(expand(template, &value).unwrap(), expected, "{template}");
        }
        t("", &[""]);
        t("-p", &["-p"]);
        t("{n}", &["4"]);
        t("-p{n}x{n}", &["-p4x4"]);
        t("{list}", &["a", "b"]);
        t("{none}", &[]);
        t("{{n}}", &["{n}"]);
        t("${{i}}_{n}", &["${i}_4"]);
        t("{{{n}}}", &["{4}"]);
    }

    #[test]
    fn what_stands_for_nothing_is_refused() {
        for bad in ["{n", "n}", "{a{b}}", "{{n}"] {
            assert_eq!(expand(bad, &value), Err(TemplateError::Brace(bad.into())), "{bad}");
        }
        assert_eq!(expand("{m}", &value), Err(TemplateError::Unknown("m".into())));
        let list = TemplateError::List("x{list}".into(), "list".into());
        assert_eq!(expand("x{list}", &value), Err(list));
        assert!(expand_one("{list}", &value).is_err() && expand_one("{none}", &value).is_err());
        assert_eq!(expand_one("{n}", &value).unwrap(), "4");
    }

    #[test]
    fn names_are_found() {
        assert_eq!(names("a{n}b{{c}}{d}").unwrap(), ["n", "d"]);
        assert!(names("{").is_err());
    }
}
