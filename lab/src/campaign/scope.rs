//! What placeholders stand for in a configuration, and which files and programs it needs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::definition::{Experiment, Make, Subject};
use super::plan::Configuration;
use super::template::{self, TemplateError, Words};

/// What is the same for all runs of a campaign.
#[derive(Debug, Clone)]
pub(super) struct Site {
    /// The product.
    pub(super) seqloom: PathBuf,
    /// This program.
    pub(super) lab: PathBuf,
    /// The program that simulates genomes and reads.
    pub(super) testkit: PathBuf,
    /// Cores that may be used.
    pub(super) cores: u64,
    /// Nodes with CPUs and memory that may be used.
    pub(super) nodes: Vec<u32>,
    /// Folder of files that are made.
    pub(super) work: PathBuf,
    /// Reads of the largest run.
    pub(super) most_reads: u64,
}

/// Values of placeholders.
pub(super) struct Scope<'a> {
    pub(super) experiment: &'a Experiment,
    pub(super) configuration: &'a Configuration,
    pub(super) site: &'a Site,
    /// What is known of a run and an instance; nothing before there are any.
    pub(super) run: BTreeMap<&'static str, Words>,
}

impl<'a> Scope<'a> {
    pub(super) fn new(
        experiment: &'a Experiment,
        configuration: &'a Configuration,
        site: &'a Site,
    ) -> Self {
        Self { experiment, configuration, site, run: BTreeMap::new() }
    }

    pub(super) fn subject(&self) -> &'a Subject {
        &self.experiment.subject[self.configuration.subject]
    }

    /// The value of a placeholder.
    pub(super) fn value(&self, name: &str) -> Result<Words, TemplateError> {
        if let Some(words) = self.run.get(name) {
            return Ok(words.clone());
        }
        let shown = |path: &Path| Words::one(path.display());
        match name {
            "seqloom" => return Ok(shown(&self.site.seqloom)),
            "lab" => return Ok(shown(&self.site.lab)),
            "testkit" => return Ok(shown(&self.site.testkit)),
            "work" => return Ok(shown(&self.site.work)),
            "cores" => return Ok(Words::one(self.site.cores)),
            "most_reads" => return Ok(Words::one(self.site.most_reads)),
            "seed" => return Ok(Words::one(self.experiment.protocol.seed)),
            _ => {}
        }
        if let Some(words) = self.of_levels(name).or_else(|| self.experiment.values.get(name)) {
            return Ok(words.clone());
        }
        if let Some(level) = self.configuration.level(self.experiment, name) {
            return Ok(Words::one(level));
        }
        let make = self.experiment.make.iter().find(|make| make.name == name);
        let make = make.ok_or_else(|| TemplateError::Unknown(name.to_owned()))?;
        Ok(shown(&self.path_of(make)?))
    }

    /// A value that comes with one of the configuration's levels.
    fn of_levels(&self, name: &str) -> Option<&'a Words> {
        let is_ours = |level: &&super::definition::Level| {
            self.configuration.level(self.experiment, &level.of) == Some(&level.level)
        };
        self.experiment.level.iter().filter(is_ours).find_map(|level| level.values.get(name))
    }

    pub(super) fn words(&self, templates: &[String]) -> Result<Vec<String>, TemplateError> {
        template::expand_all(templates, &|name| self.value(name))
    }

    pub(super) fn word(&self, template: &str) -> Result<String, TemplateError> {
        template::expand_one(template, &|name| self.value(name))
    }

    /// Where a file is, made or given.
    pub(super) fn path_of(&self, make: &Make) -> Result<PathBuf, TemplateError> {
        match &make.given {
            Some(given) => Ok(PathBuf::from(given)),
            None => Ok(self.site.work.join(self.word(&make.file)?)),
        }
    }

    /// The commands that make a file, in full.
    pub(super) fn commands_of(&self, make: &Make) -> Result<Vec<Vec<String>>, TemplateError> {
        let path = Words::one(self.path_of(make)?.display());
        let value = |name: &str| if name == "file" { Ok(path.clone()) } else { self.value(name) };
        make.commands.iter().map(|command| template::expand_all(command, &value)).collect()
    }

    /// The files that the configuration needs, those first of which others are made.
    pub(super) fn files(&self) -> Vec<&'a Make> {
        let subject = self.subject();
        let mut templates: Vec<&str> = subject.command.iter().map(String::as_str).collect();
        templates.extend(subject.environment.values().map(String::as_str));
        let mut needed = BTreeSet::new();
        while let Some(template) = templates.pop() {
            // Braces were checked when the experiment was read.
            for name in template::names(template).unwrap_or_default() {
                let input = self.experiment.input.as_ref();
                match (name, input) {
                    ("reads", Some(input)) => templates.push(&input.reads),
                    ("mates", Some(input)) => templates.extend(input.mates.as_deref()),
                    _ => {}
                }
                let at = self.experiment.make.iter().position(|make| make.name == name);
                let Some(at) = at.filter(|at| needed.insert(*at)) else { continue };
                let make = &self.experiment.make[at];
                templates.push(&make.file);
                if make.given.is_none() {
                    templates.extend(make.commands.iter().flatten().map(String::as_str));
                }
            }
        }
        needed.into_iter().map(|at| &self.experiment.make[at]).collect()
    }

    /// The programs that the configuration needs.
    pub(super) fn programs(&self) -> Result<Vec<String>, TemplateError> {
        let subject = self.subject();
        let mut programs = self.words(&subject.needs)?;
        programs.push(self.word(&subject.command[0])?);
        if let Some(first) = self.placement().first() {
            programs.push(first.clone());
        }
        for make in self.files().into_iter().filter(|make| make.given.is_none()) {
            for command in &make.commands {
                programs.push(self.word(&command[0])?);
            }
        }
        Ok(programs)
    }

    /// What is before the program, with its placeholders.
    pub(super) fn placement(&self) -> &'a [String] {
        let name = self.configuration.level(self.experiment, "placement");
        let placement = self.experiment.placement.iter().find(|p| Some(p.name.as_str()) == name);
        placement.map_or(&[], |placement| &placement.command)
    }

    /// Sets what is known of one of several instances.
    pub(super) fn set_instance(&mut self, instance: u64, reads: u64, run: &Path) {
        let share = self.configuration.share(self.experiment);
        let nodes = nodes_of(&self.site.nodes, instance, share.instances);
        let list: Vec<String> = nodes.iter().map(u32::to_string).collect();
        self.run.extend([
            ("threads", Words::one(share.threads / share.instances)),
            ("threads_total", Words::one(share.threads)),
            ("instances", Words::one(share.instances)),
            ("instance", Words::one(instance)),
            ("reads_of_instance", Words::one(reads)),
            ("reads_total", Words::one(reads * share.instances)),
            ("node", Words::one(list.first().map_or("0", String::as_str))),
            ("nodes", Words::one(list.join(","))),
            ("run", Words::one(run.display())),
        ]);
    }
}

/// The nodes of one of several instances: nodes are dealt out in runs of neighbours, and an
/// instance has several where there are more nodes than instances.
fn nodes_of(nodes: &[u32], instance: u64, instances: u64) -> Vec<u32> {
    let (count, instances) = (nodes.len() as u64, instances.max(1));
    let first = instance * count / instances;
    let end = ((instance + 1) * count / instances).max(first + 1);
    nodes[(first as usize).min(nodes.len())..(end as usize).min(nodes.len())].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
        name = "x"
        title = "t"
        question = "q"
        values = { seconds = "0.1", flags = ["-a", "-b"] }
        protocol = { reads_per_thread = 8 }
        factor = [
            { name = "threads", levels = [4] },
            { name = "instances", levels = [2] },
            { name = "genome", levels = ["plain", "copies"] },
            { name = "placement", levels = ["bind"] },
        ]
        level = [{ of = "genome", level = "copies", values = { seconds = 9 } }]
        placement = [{ name = "bind", command = ["numactl", "--membind={node}"] }]
        make = [
            { name = "reference", file = "{genome}.fa", commands = [["maker", "-o", "{file}"]] },
            { name = "index", file = "{genome}/i", commands = [
                ["indexer", "{reference}", "{file}"],
            ] },
            { name = "all", file = "{genome}.fq", commands = [["{testkit}", "{reference}"]] },
        ]
        input = { reads = "{all}" }
        [[subject]]
        name = "s"
        command = ["aligner", "{flags}", "-p", "{threads}", "{index}", "{reads}", "{seconds}"]
        needs = ["helper"]
        time = "wall"
    "#;

    fn site(work: &Path) -> Site {
        Site {
            seqloom: "/bin/seqloom".into(),
            lab: "/bin/seqloom-lab".into(),
            testkit: "/bin/testkit".into(),
            cores: 8,
            nodes: vec![0, 2],
            work: work.to_owned(),
            most_reads: 32,
        }
    }

    #[test]
    fn placeholders_follow_from_levels_instance_and_files() {
        let experiment = Experiment::parse("x.toml", TEXT).unwrap();
        let site = site(Path::new("/w"));
        let levels = ["4", "2", "copies", "bind"].map(str::to_owned).to_vec();
        let configuration = Configuration { subject: 0, levels };
        let mut scope = Scope::new(&experiment, &configuration, &site);
        scope.set_instance(1, 16, Path::new("/run"));
        scope.run.insert("reads", Words::one("/share.fq"));
        let words = scope.words(&scope.subject().command).unwrap();
        let expected = ["aligner", "-a", "-b", "-p", "2", "/w/copies/i", "/share.fq", "9"];
        assert_eq!(words, expected);
        assert_eq!(scope.words(scope.placement()).unwrap(), ["numactl", "--membind=2"]);
        let files: Vec<&str> = scope.files().iter().map(|make| make.name.as_str()).collect();
        assert_eq!(files, ["reference", "index", "all"]);
        let programs = ["helper", "aligner", "numactl", "maker", "indexer", "/bin/testkit"];
        assert_eq!(scope.programs().unwrap(), programs);
        let commands = scope.commands_of(&experiment.make[1]).unwrap();
        assert_eq!(commands, [["indexer", "/w/copies.fa", "/w/copies/i"]]);
    }

    #[test]
    fn a_file_that_is_given_needs_no_program() {
        let mut experiment = Experiment::parse("x.toml", TEXT).unwrap();
        super::super::settings::set(&mut experiment, "all", &Words::one("/given.fq")).unwrap();
        super::super::settings::set(&mut experiment, "reference", &Words::one("/r.fa")).unwrap();
        let site = site(Path::new("/w"));
        let levels = ["4", "2", "plain", "bind"].map(str::to_owned).to_vec();
        let configuration = Configuration { subject: 0, levels };
        let scope = Scope::new(&experiment, &configuration, &site);
        assert_eq!(scope.programs().unwrap(), ["helper", "aligner", "numactl", "indexer"]);
        assert_eq!(scope.value("seconds").unwrap(), Words::one("0.1"));
        assert_eq!(scope.value("all").unwrap(), Words::one("/given.fq"));
    }

    #[test]
    fn nodes_are_dealt_out() {
        fn t(nodes: &[u32], instances: u64, expected: &[&[u32]]) {
            let found: Vec<Vec<u32>> =
                (0..instances).map(|i| nodes_of(nodes, i, instances)).collect();
            assert_eq!(found, expected);
        }
        t(&[0, 1, 2, 3], 1, &[&[0, 1, 2, 3]]);
        t(&[0, 1, 2, 3], 2, &[&[0, 1], &[2, 3]]);
        t(&[0, 5], 4, &[&[0], &[0], &[5], &[5]]);
        t(&[7], 2, &[&[7], &[7]]);
        t(&[], 1, &[&[]]);
    }
}
