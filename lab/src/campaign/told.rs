//! What a program reports of itself: counters in what it prints, numbers after a text or in JSON,
//! rows and curves in tables that it writes.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::definition::{Curve, Join, Rows, Tell};
use super::record::CurvePoint;
use crate::experiment::counters_of;

/// A row of a table that a run wrote.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Row {
    /// What distinguishes it, in the order of the subject's `rows.factors`.
    pub(crate) factors: Vec<String>,
    /// Numbers by name.
    pub(crate) values: BTreeMap<String, f64>,
}

/// Counters that a program prints as lines `counter`, name, value with tabs between. Several of
/// one name are added up.
pub(super) fn counters(stdout: &str) -> BTreeMap<String, f64> {
    let mut counters = BTreeMap::new();
    for (name, value) in counters_of(stdout).into_iter().filter(|(_, value)| value.is_finite()) {
        *counters.entry(name).or_insert(0.0) += value;
    }
    counters
}

/// The number that a rule finds in a text; `None` where it finds none.
pub(super) fn number(tell: &Tell, text: &str) -> Option<f64> {
    let values: Vec<f64> = match &tell.after {
        Some(after) => {
            let rest = text.match_indices(after.as_str()).map(|(at, _)| &text[at + after.len()..]);
            rest.filter_map(leading_number).collect()
        }
        None => {
            let json: serde_json::Value = serde_json::from_str(text).ok()?;
            let values = tell.json.iter().map(|place| json.pointer(place)?.as_f64());
            values.collect::<Option<_>>()?
        }
    };
    let scale = |value: f64| value * tell.scale;
    tell.join.of(&values).map(scale).filter(|value| value.is_finite())
}

/// The number at the start of a text, after blanks: `1.5`, `1,234`, or `0:01:02.5` for hours,
/// minutes, seconds.
fn leading_number(text: &str) -> Option<f64> {
    let text = text.trim_start_matches([' ', '\t', '=', ':']);
    let is_part = |c: char| c.is_ascii_digit() || ".,:eE+-".contains(c);
    let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    let mut word = text[..end].replace(',', "");
    // What ends a sentence is no part of the number.
    while word.ends_with(|c: char| !c.is_ascii_digit()) {
        word.pop();
    }
    let mut seconds = 0.0;
    for part in word.split(':') {
        seconds = seconds * 60.0 + part.parse::<f64>().ok()?;
    }
    Some(seconds)
}

/// A table with its names.
struct Columns<'a> {
    names: Vec<&'a str>,
    lines: Vec<Vec<&'a str>>,
}

impl<'a> Columns<'a> {
    fn read(text: &'a str, path: &Path) -> Result<Self, String> {
        let mut lines = text.lines().map(|line| line.split('\t').collect::<Vec<_>>());
        let names = lines.next().ok_or_else(|| format!("{}: an empty table", path.display()))?;
        let lines: Vec<_> = lines.collect();
        match lines.iter().find(|line| line.len() != names.len()) {
            Some(_) => Err(format!("{}: rows of different lengths", path.display())),
            None => Ok(Self { names, lines }),
        }
    }

    fn at(&self, name: &str, path: &Path) -> Result<usize, String> {
        let missing = || format!("{}: no column {name}", path.display());
        self.names.iter().position(|other| *other == name).ok_or_else(missing)
    }
}

fn text_of(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// The rows of a table that a run wrote. Values that are no finite numbers are left out.
pub(super) fn rows(rule: &Rows, path: &Path) -> Result<Vec<Row>, String> {
    let text = text_of(path)?;
    let table = Columns::read(&text, path)?;
    let factors: Vec<usize> =
        rule.factors.iter().map(|name| table.at(name, path)).collect::<Result<_, _>>()?;
    let values: Vec<(&String, usize)> = rule
        .values
        .iter()
        .map(|(ours, theirs)| Ok((ours, table.at(theirs, path)?)))
        .collect::<Result<_, String>>()?;
    let row = |line: &Vec<&str>| Row {
        factors: factors.iter().map(|&at| line[at].to_owned()).collect(),
        values: values
            .iter()
            .filter_map(|(name, at)| Some(((*name).clone(), finite(line[*at])?)))
            .collect(),
    };
    Ok(table.lines.iter().map(row).collect())
}

fn finite(text: &str) -> Option<f64> {
    text.parse().ok().filter(|value: &f64| value.is_finite())
}

/// The points of a curve that a run wrote.
pub(super) fn curve(rule: &Curve, path: &Path) -> Result<Vec<CurvePoint>, String> {
    let text = text_of(path)?;
    let table = Columns::read(&text, path)?;
    let (x, share) = (table.at(&rule.x, path)?, table.at(&rule.share, path)?);
    let point = |line: &Vec<&str>| {
        let share = finite(line[share])?;
        let share = if rule.beyond { 1.0 - share } else { share };
        Some(CurvePoint { x: finite(line[x])?, share })
    };
    Ok(table.lines.iter().filter_map(point).collect())
}

/// Several values of one counter as one.
pub(super) fn over_instances(tells: &[Tell], counter: &str, values: &[f64]) -> Option<f64> {
    let rule = tells.iter().find(|tell| tell.counter == counter);
    // Of the times that a run has the slowest counts.
    let join = if counter == "align_s" {
        Join::Max
    } else {
        rule.and_then(|rule| rule.over).unwrap_or_default()
    };
    join.of(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tell(after: Option<&str>, json: &[&str], join: Join) -> Tell {
        Tell {
            counter: "x".into(),
            from: "stderr".into(),
            after: after.map(str::to_owned),
            json: json.iter().map(|place| (*place).to_owned()).collect(),
            scale: 1.0,
            join,
            over: None,
        }
    }

    #[test]
    fn numbers_are_after_a_text() {
        fn t(text: &str, after: &str, join: Join, expected: Option<f64>) {
            assert_eq!(number(&tell(Some(after), &[], join), text), expected, "{text}");
        }
        let bwa = "Processed 2 reads in 0.6 CPU sec, 1.25 real sec\nin 1 CPU sec, 2.5 real sec\n";
        t(bwa, "CPU sec,", Join::Sum, Some(3.75));
        t(bwa, "CPU sec,", Join::Max, Some(2.5));
        t(bwa, "CPU sec,", Join::Last, Some(2.5));
        t(bwa, "CPU sec,", Join::Mean, Some(1.875));
        t("Time searching: 01:00:05\n", "Time searching: ", Join::Sum, Some(3605.0));
        t("reads: 1,234,567.\n", "reads:", Join::Sum, Some(1_234_567.0));
        t("t=1.5e-3s", "t", Join::Sum, Some(0.0015));
        t("x none", "x", Join::Sum, None);
        t("", "x", Join::Sum, None);
    }

    #[test]
    fn numbers_are_in_json() {
        let text = r#"{"usage": {"phases": [["load", 1.5], ["work", 2]]}, "name": "n"}"#;
        let found = |json: &[&str]| number(&tell(None, json, Join::Sum), text);
        assert_eq!(found(&["/usage/phases/0/1", "/usage/phases/1/1"]), Some(3.5));
        assert_eq!(found(&["/usage/phases/0/1", "/missing"]), None);
        assert_eq!(found(&["/name"]), None);
        assert_eq!(number(&tell(None, &["/a"], Join::Sum), "no json"), None);
    }

    #[test]
    fn counters_are_lines_of_three_fields() {
        let text =
            "noise\ncounter\treads\t12\ncounter\treads\t3\ncounter\tbad\tx\ncounter\tn\tNaN\n";
        assert_eq!(counters(text), [("reads".to_owned(), 15.0)].into());
    }

    #[test]
    fn rows_and_curves_come_from_tables() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.tsv");
        std::fs::write(&path, "way\tns\tlonger\nO\t5\t0.75\nB\tNaN\t0\n").unwrap();
        let rule = Rows {
            file: String::new(),
            factors: vec!["way".into()],
            values: [("held".into(), "ns".into())].into(),
        };
        let found = rows(&rule, &path).unwrap();
        assert_eq!((found[0].factors[0].as_str(), found[0].values["held"]), ("O", 5.0));
        assert!(found[1].values.is_empty());
        let mut rule = Curve {
            file: String::new(),
            x: "ns".into(),
            share: "longer".into(),
            beyond: true,
            title: String::new(),
        };
        assert_eq!(curve(&rule, &path).unwrap(), [CurvePoint { x: 5.0, share: 0.25 }]);
        rule.x = "us".into();
        assert!(curve(&rule, &path).unwrap_err().contains("no column us"));
        std::fs::write(&path, "a\tb\n1\n").unwrap();
        assert!(curve(&rule, &path).unwrap_err().contains("different lengths"));
        assert!(curve(&rule, Path::new("/none")).is_err());
    }
}
