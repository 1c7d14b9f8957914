//! Experiments that come with the program.

/// Names and files.
pub(crate) const SHIPPED: [(&str, &str); 15] = [
    ("by-score", include_str!("../../experiments/by-score.toml")),
    ("compressed-output", include_str!("../../experiments/compressed-output.toml")),
    ("langmead", include_str!("../../experiments/langmead.toml")),
    ("locks", include_str!("../../experiments/locks.toml")),
    ("numa", include_str!("../../experiments/numa.toml")),
    ("output", include_str!("../../experiments/output.toml")),
    ("oversubscription", include_str!("../../experiments/oversubscription.toml")),
    ("parsing", include_str!("../../experiments/parsing.toml")),
    ("read-length", include_str!("../../experiments/read-length.toml")),
    ("scale-index", include_str!("../../experiments/scale-index.toml")),
    ("scale-strong", include_str!("../../experiments/scale-strong.toml")),
    ("scale-weak", include_str!("../../experiments/scale-weak.toml")),
    ("schedule", include_str!("../../experiments/schedule.toml")),
    ("spliced", include_str!("../../experiments/spliced.toml")),
    ("ungapped", include_str!("../../experiments/ungapped.toml")),
];

/// The file of an experiment by its name.
#[must_use]
pub(crate) fn by_name(name: &str) -> Option<&'static str> {
    SHIPPED.iter().find(|(other, _)| *other == name).map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaign::definition::Experiment;
    use crate::campaign::settings;

    #[test]
    fn every_experiment_is_one_and_can_be_made_small() {
        for (name, text) in SHIPPED {
            let mut experiment = Experiment::parse(name, text).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(experiment.name, name);
            assert!(!experiment.smoke.is_empty(), "{name} has no smoke run");
            for (setting, words) in experiment.smoke.clone() {
                let set = settings::set(&mut experiment, &setting, &words);
                set.unwrap_or_else(|e| panic!("{name}: {e}"));
            }
        }
        assert!(by_name("locks").is_some() && by_name("none").is_none());
    }

    #[test]
    fn instances_of_the_numa_experiment_have_nodes_of_their_own() {
        let numa = Experiment::parse("numa", by_name("numa").unwrap()).unwrap();
        // Lenis and Senar's hybrids interleave over the nodes of the instance (Fig. 3b, 3c).
        for name in ["interleave", "bind"] {
            let placement = numa.placement.iter().find(|it| it.name == name).unwrap();
            let [program, options @ ..] = &placement.command[..] else { panic!("{name}") };
            assert_eq!((&program[..], options.len()), ("numactl", 2));
            assert!(options.iter().all(|option| option.ends_with("={nodes}")), "{options:?}");
        }
        // SNAP would bind its threads to the first processors, in each instance to the same.
        let snap = numa.subject.iter().find(|it| it.name == "snap").unwrap();
        assert!(snap.command.iter().any(|word| word == "-b-"), "{:?}", snap.command);
    }
}
