//! The curves that runs wrote, by the levels of their factors. A run has the experiment's factors;
//! those of the rows that it writes distinguish no curves.

use seqloom_report::plot::Point;

use super::definition::Experiment;
use super::record::Record;

/// Runs with a curve, of the first repeat that has any.
pub(super) struct Curves<'a> {
    experiment: &'a Experiment,
    records: Vec<&'a Record>,
    /// The repeat.
    pub(super) repeat: u32,
}

impl<'a> Curves<'a> {
    /// `None` where no run wrote one.
    pub(super) fn new(experiment: &'a Experiment, records: &'a [Record]) -> Option<Self> {
        let with_curve = || records.iter().filter(|record| !record.curve.is_empty());
        let repeat = with_curve().map(|record| record.repeat).min()?;
        let records = with_curve().filter(|record| record.repeat == repeat).collect();
        Some(Self { experiment, records, repeat })
    }

    /// Those of `names` that distinguish runs.
    pub(super) fn names(&self, names: &[String]) -> Vec<String> {
        let is_of_runs = |name: &&String| *name == "subject" || self.factor(name).is_some();
        names.iter().filter(is_of_runs).cloned().collect()
    }

    fn factor(&self, name: &str) -> Option<usize> {
        self.experiment.factor.iter().position(|factor| factor.name == name)
    }

    fn levels(&self, record: &Record, names: &[String]) -> Vec<String> {
        let level = |name: &String| match self.factor(name) {
            Some(at) => record.levels.get(at).cloned().unwrap_or_default(),
            None => record.subject.clone(),
        };
        names.iter().map(level).collect()
    }

    /// Combinations of levels that have a curve, numbers by their size.
    pub(super) fn combinations(&self, names: &[String]) -> Vec<Vec<String>> {
        let mut found: Vec<Vec<String>> =
            self.records.iter().map(|r| self.levels(r, names)).collect();
        found.sort_by_cached_key(|levels| -> Vec<(u64, String)> {
            levels.iter().map(|level| (level.parse().unwrap_or(0), level.clone())).collect()
        });
        found.dedup();
        found
    }

    /// The curve of one combination.
    pub(super) fn points(&self, names: [&[String]; 2], levels: [&Vec<String>; 2]) -> Vec<Point> {
        let is_it = |record: &&&Record| {
            names.iter().zip(levels).all(|(names, levels)| self.levels(record, names) == *levels)
        };
        let record = self.records.iter().find(is_it);
        record
            .map(|it| it.curve.iter().map(|at| Point::new(at.x, at.share)).collect())
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::CurvePoint;
    use super::*;

    fn strings(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn factors_of_rows_distinguish_no_curves() {
        let text = r#"
            name = "x"
            title = "t"
            question = "q"
            factor = [{ name = "threads", levels = [2, 10] }]
            subject = [{ name = "r", command = ["sh"], time = "told",
              rows = { file = "f", factors = ["way"], values = { align_s = "s" } },
              curve = { file = "c", x = "ns", share = "share", title = "ns" } },
              { name = "without", command = ["sh"], time = "wall" }]
        "#;
        let experiment = Experiment::parse("x.toml", text).unwrap();
        let with_curve = |threads, repeat, x| Record {
            repeat,
            curve: vec![CurvePoint { x, share: 1.0 }],
            ..Record::example("r", &[threads])
        };
        let without = Record::example("without", &["2"]);
        assert!(Curves::new(&experiment, std::slice::from_ref(&without)).is_none());
        let later = with_curve("2", 3, 9.0);
        let records = [without, later, with_curve("10", 2, 5.0), with_curve("2", 2, 4.0)];
        let curves = Curves::new(&experiment, &records).unwrap();
        assert_eq!(curves.repeat, 2);
        let lines = curves.names(&strings(&["way", "subject"]));
        let panels = curves.names(&strings(&["threads", "way"]));
        assert_eq!((&lines, &panels), (&strings(&["subject"]), &strings(&["threads"])));
        assert_eq!(curves.combinations(&lines), [strings(&["r"])]);
        assert_eq!(curves.combinations(&panels), [strings(&["2"]), strings(&["10"])]);
        let points =
            |threads| curves.points([&panels, &lines], [&strings(&[threads]), &strings(&["r"])]);
        assert_eq!(points("2"), [Point::new(4.0, 1.0)]);
        assert_eq!(points("10"), [Point::new(5.0, 1.0)]);
        assert_eq!(points("3"), []);
    }
}
