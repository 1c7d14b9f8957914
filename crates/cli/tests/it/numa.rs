//! `align` and `topology` on an emulated machine with several NUMA nodes (QEMU): the same bytes
//! as here, and every page where it was meant to be, as the kernel of that machine reports it.

use crate::common::{cache, finish, folder, run, seqloom};
use seqloom_testkit::fastq::{Outputs, simulate_to_files};
use seqloom_testkit::genome::{Genome, GenomeOptions};
use seqloom_testkit::reads::ReadOptions;
use seqloom_testkit::skip::{skip, slow_tests};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Large enough that its suffix array ranks fill some huge pages, small enough to be emulated.
const GENOME_BP: u64 = 3_000_000;
/// Its index is larger than a node of 160 MiB.
const LARGE_GENOME_BP: u64 = 50_000_000;

/// Where the scripts are.
fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/numa").join(name)
}

/// The kernel of the test machine; `None` after saying why there is none.
fn kernel() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    for program in ["qemu-system-x86_64", "busybox", "cpio"] {
        if !std::env::split_paths(&path).any(|folder| folder.join(program).is_file()) {
            skip(&format!("QEMU machine: {program} is not installed"));
            return None;
        }
    }
    let folder = cache().join("kernel");
    let made = run(Command::new(script("kernel.sh")).arg(&folder));
    if made.code() != 0 {
        skip(&format!("QEMU machine: no kernel can be had: {}", made.stderr.trim()));
        return None;
    }
    Some(folder.join("vmlinuz"))
}

/// What a run on the machine left behind.
#[derive(Debug, Default)]
struct Outcome {
    status: Option<i32>,
    /// From when to when on the machine's own clock.
    seconds: String,
    sum: String,
    json: String,
    says: String,
}

impl Outcome {
    #[track_caller]
    fn report(&self) -> Value {
        assert_eq!(self.status, Some(0), "{}", self.says);
        serde_json::from_str(&self.json).unwrap_or_else(|e| panic!("{e}: {}", self.json))
    }

    /// Checks that this was an `align` run and gives its placement.
    #[track_caller]
    fn placement(&self, sum: &str) -> Placement {
        let report = self.report();
        assert_eq!(self.sum, sum, "other bytes than on the host: {}", self.says);
        Placement(report["placement"].clone())
    }
}

/// The placement part of a run's report.
struct Placement(Value);

impl Placement {
    #[track_caller]
    fn replicas(&self, count: usize) -> Vec<Replica> {
        let replicas = self.0["replicas"].as_array().unwrap();
        assert_eq!(replicas.len(), count, "{:#}", self.0);
        replicas.iter().map(Replica::from).collect()
    }
}

/// A copy of the index, as the machine's kernel saw it.
#[derive(Debug)]
struct Replica {
    nodes: Vec<u64>,
    /// Share of the pages on each node that has any.
    shares: BTreeMap<u64, f64>,
    huge_bytes: u64,
    resident_bytes: u64,
}

impl From<&Value> for Replica {
    fn from(value: &Value) -> Self {
        let pages = value["sampled_pages_of_node"].as_object().unwrap();
        let pages: BTreeMap<u64, f64> =
            pages.iter().map(|(n, p)| (n.parse().unwrap(), p.as_f64().unwrap())).collect();
        let all: f64 = pages.values().sum();
        Self {
            nodes: value["nodes"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect(),
            shares: pages.into_iter().map(|(node, count)| (node, count / all)).collect(),
            huge_bytes: value["huge_bytes"].as_u64().unwrap(),
            resident_bytes: value["resident_bytes"].as_u64().unwrap(),
        }
    }
}

impl Replica {
    fn share_on(&self, nodes: &[u64]) -> f64 {
        nodes.iter().filter_map(|node| self.shares.get(node)).sum()
    }

    /// All of the index is there: nothing but stacks and buffers can be elsewhere.
    #[track_caller]
    fn lies_on(&self, nodes: &[u64]) {
        assert!(self.share_on(nodes) > 0.98, "not on {nodes:?}: {self:?}");
        // Ranks and sampled suffixes take 2 + 5/8 bytes a base, the bases a quarter.
        assert!(self.resident_bytes > GENOME_BP * 2, "{self:?}");
    }

    /// Each of the nodes has its share, within a few percent of it.
    #[track_caller]
    fn is_even_on(&self, nodes: &[u64]) {
        self.lies_on(nodes);
        let share = 1.0 / nodes.len() as f64;
        for node in nodes {
            let there = self.share_on(&[*node]);
            assert!((there - share).abs() < 0.15 * share, "node {node}: {self:?}");
        }
    }
}

/// An emulated machine with an index and reads in `/data`.
struct Machine {
    nodes: usize,
    cpus_per_node: usize,
    mib_per_node: usize,
    /// `-m` of `align`.
    memory: &'static str,
    limit: Duration,
    /// Name and command of each run.
    runs: Vec<(String, String)>,
}

impl Machine {
    fn add(&mut self, name: &str, command: &str) {
        self.runs.push((name.to_owned(), command.to_owned()));
    }

    /// `align` of the test data with more options.
    fn align(&mut self, name: &str, options: &str) {
        let memory = self.memory;
        let command = format!("seqloom {ALIGN} -m {memory} {options} -o OUT.bam --json OUT.json");
        self.add(name, &command);
    }

    /// Boots, runs all, and gives what each left, by name.
    fn boot(&self, kernel: &Path, here: &Path) -> BTreeMap<String, Outcome> {
        let runs: String =
            self.runs.iter().map(|(n, command)| format!("{n} {command}\n")).collect();
        fs::write(here.join("runs"), runs).unwrap();
        let image = here.join("machine.cpio");
        let mut make = Command::new(script("initramfs.sh"));
        make.arg(&image).arg(script("init")).arg(env!("CARGO_BIN_EXE_seqloom"));
        let data = fs::read_dir(here).unwrap().map(|entry| entry.unwrap().path());
        let data: Vec<PathBuf> = data.filter(|path| *path != image).collect();
        run(make.args(data)).ok();
        let mut machine = Command::new(script("machine.sh"));
        let numbers = [self.nodes, self.cpus_per_node, self.mib_per_node];
        machine.args(numbers.map(|number| number.to_string())).arg(kernel).arg(&image);
        machine.arg(self.limit.as_secs().to_string());
        machine.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let console = finish(machine.spawn().unwrap(), self.limit + Duration::from_secs(20)).text();
        assert!(console.contains("VM END"), "the machine did not come to its end:\n{console}");
        outcomes(&console)
    }
}

fn outcomes(console: &str) -> BTreeMap<String, Outcome> {
    let mut outcomes: BTreeMap<String, Outcome> = BTreeMap::new();
    for line in console.lines() {
        let line = line.trim_end();
        let mut words = line.splitn(4, ' ');
        let (Some("VM"), Some(what), Some(name)) = (words.next(), words.next(), words.next())
        else {
            continue;
        };
        let rest = words.next().unwrap_or_default();
        let outcome = outcomes.entry(name.to_owned()).or_default();
        match what {
            "RUN" => {
                eprintln!("{name}: {rest}");
                outcome.seconds = rest.split_once(' ').map_or("", |(_, it)| it).to_owned();
                outcome.status = rest.split(' ').next().and_then(|status| status.parse().ok());
            }
            "SUM" => outcome.sum = rest.to_owned(),
            "JSON" => outcome.json += &format!("{rest}\n"),
            _ => outcome.says += &format!("{rest}\n"),
        }
    }
    outcomes
}

/// Paths are relative to the folder of the data, on both machines.
const ALIGN: &str = "align --no-pg ref.fa R1.fq R2.fq";

/// Makes the data in `here` and gives the checksum of what this machine aligns.
fn prepare(here: &Path) -> String {
    prepare_of(GENOME_BP, here)
}

fn prepare_of(genome_bp: u64, here: &Path) -> String {
    let options = GenomeOptions { seed: 5, length_bp: genome_bp as usize, contigs: 2 };
    let genome = Genome::simulate(&options).unwrap();
    genome.write_fasta(&here.join("ref.fa")).unwrap();
    run(seqloom(["index", "ref.fa"]).current_dir(here)).ok();
    let reads = ReadOptions { templates: 300, duplicate_share: 0.2, ..ReadOptions::default() };
    let (first, second) = (here.join("R1.fq"), here.join("R2.fq"));
    let outputs = Outputs { first: Some(&first), second: Some(&second), ..Outputs::default() };
    simulate_to_files(&genome, &reads, outputs).unwrap();
    let mut align = seqloom(ALIGN.split(' '));
    run(align.args(["-t", "3", "-o", "../here.bam"]).current_dir(here)).ok();
    let sum = run(Command::new("sha256sum").arg(here.join("../here.bam"))).ok().text();
    sum.split(' ').next().unwrap().to_owned()
}

/// All nodes below `count`.
fn nodes(count: u64) -> Vec<u64> {
    (0..count).collect()
}

#[track_caller]
fn machine_is_understood(outcome: &Outcome, nodes: usize, cpus: usize) {
    let report = outcome.report();
    assert_eq!(report["nodes"].as_array().unwrap().len(), nodes, "{}", outcome.says);
    assert_eq!(report["cpus"].as_array().unwrap().len(), cpus);
    assert_eq!(report["nodes"][0]["distances"][1], 16);
    assert_eq!(report["nodes"][0]["distances"][2], 32);
    let probes = report["probes"].as_array().unwrap();
    assert!(probes.len() > 2 * nodes + 10, "{} probes", probes.len());
    assert!(probes.iter().all(|probe| probe["passed"] == true), "{probes:?}");
}

#[test]
fn four_nodes() {
    let Some(kernel) = kernel() else { return };
    let folder = folder();
    let here = folder.path().join("data");
    fs::create_dir(&here).unwrap();
    let sum = prepare(&here);
    let limit = Duration::from_secs(600);
    let (memory, runs) = ("900M", Vec::new());
    let mut machine =
        Machine { nodes: 4, cpus_per_node: 2, mib_per_node: 320, memory, limit, runs };
    machine.add("probes", "seqloom topology --json --self-test > OUT.json");
    machine.add("mask", "taskset 3c seqloom topology --json > OUT.json");
    machine.align("auto", "-t 8");
    machine.align("default", "-t 8 --placement default");
    machine.align("local", "-t 4 --placement local --huge-pages off");
    machine.align("small", "-t 8 --placement interleave");
    machine.align("huge", "-t 8 --placement interleave --huge-pages on");
    machine.align("replicate", "-t 8 --placement replicate --pin core:scatter --huge-pages on");
    machine.align("bind", "-t 4 --instances 2:bind --huge-pages off");
    machine.align("group-local", "-t 4 --instances 2:local --pin none");
    machine.align("spread", "-t 4 --instances 2:interleave --huge-pages off");
    machine.align("narrow", "-t 2 --instances 3");
    let outcomes = machine.boot(&kernel, &here);
    machine_is_understood(&outcomes["probes"], 4, 8);
    let mask = outcomes["mask"].report();
    assert_eq!(mask["allowed_cpus"], serde_json::json!([2, 3, 4, 5]));
    let placed = |name: &str| outcomes[name].placement(&sum);

    // By default there is a copy on every node: this index is small.
    for replica in placed("auto").replicas(4) {
        replica.lies_on(&replica.nodes);
        assert_eq!(replica.nodes.len(), 1);
    }
    assert_eq!(placed("auto").0["workers"], serde_json::json!([2, 2, 2, 2]));
    placed("default").replicas(1)[0].lies_on(&nodes(4));
    let local = &placed("local").replicas(1)[0];
    assert_eq!(local.shares.values().filter(|&&share| share > 0.98).count(), 1, "{local:?}");
    assert_eq!(local.huge_bytes, 0);
    // A small index is interleaved by small pages; by huge ones only when that is requested.
    let small = &placed("small").replicas(1)[0];
    small.is_even_on(&nodes(4));
    assert_eq!(small.huge_bytes, 0);
    let huge = &placed("huge").replicas(1)[0];
    huge.lies_on(&nodes(4));
    assert!(huge.huge_bytes >= 2 << 20, "{huge:?}");
    for (at, replica) in placed("replicate").replicas(4).iter().enumerate() {
        assert_eq!(replica.nodes, [at as u64]);
        replica.lies_on(&[at as u64]);
        assert!(replica.huge_bytes >= 2 << 20, "{replica:?}");
    }
    for name in ["bind", "group-local", "spread"] {
        for (replica, nodes) in placed(name).replicas(2).iter().zip([[0, 1], [2, 3]]) {
            assert_eq!(replica.nodes, nodes, "{name}");
            replica.lies_on(&nodes);
            if name == "spread" {
                replica.is_even_on(&nodes);
            }
            assert!(name == "group-local" || replica.huge_bytes == 0, "{name}: {replica:?}");
        }
        assert_eq!(placed(name).0["workers"], serde_json::json!([2, 2]), "{name}");
    }
    // More groups than workers are refused.
    assert_eq!(outcomes["narrow"].status, Some(2), "{}", outcomes["narrow"].says);
    assert!(outcomes["narrow"].says.contains("--instances 3 needs as many threads"));
}

#[test]
fn slow_sixteen_nodes() {
    if !slow_tests() {
        return;
    }
    let Some(kernel) = kernel() else { return };
    let folder = folder();
    let here = folder.path().join("data");
    fs::create_dir(&here).unwrap();
    let sum = prepare(&here);
    let limit = Duration::from_secs(1500);
    let (memory, runs) = ("1400M", Vec::new());
    let mut machine =
        Machine { nodes: 16, cpus_per_node: 4, mib_per_node: 128, memory, limit, runs };
    machine.add("probes", "seqloom topology --json --self-test > OUT.json");
    machine.align("small", "-t 16 --placement interleave");
    machine.align("replicate", "-t 16 --placement replicate --huge-pages off");
    machine.align("bind", "-t 16 --instances 4:bind --pin core");
    machine.align("spread", "-t 16 --instances 4:interleave --huge-pages off");
    let outcomes = machine.boot(&kernel, &here);
    machine_is_understood(&outcomes["probes"], 16, 64);
    let placed = |name: &str| outcomes[name].placement(&sum);
    placed("small").replicas(1)[0].is_even_on(&nodes(16));
    for (at, replica) in placed("replicate").replicas(16).iter().enumerate() {
        assert_eq!(replica.nodes, [at as u64]);
        replica.lies_on(&[at as u64]);
    }
    for (at, replica) in placed("bind").replicas(4).iter().enumerate() {
        let first = 4 * at as u64;
        replica.lies_on(&[first, first + 1, first + 2, first + 3]);
    }
    for (at, replica) in placed("spread").replicas(4).iter().enumerate() {
        let first = 4 * at as u64;
        replica.is_even_on(&[first, first + 1, first + 2, first + 3]);
    }
}

/// An index that no node has room for is interleaved over all, or over each of two halves of the
/// machine; a small one has a copy on every node. Prints where each copy is.
#[test]
fn slow_index_above_a_node() {
    if !slow_tests() {
        return;
    }
    let Some(kernel) = kernel() else { return };
    let folder = folder();
    let here = folder.path().join("data");
    let small = here.join("small");
    fs::create_dir_all(&small).unwrap();
    let small_sum = prepare(&small);
    let sum = prepare_of(LARGE_GENOME_BP, &here);
    fs::remove_file(here.join("ref.fa")).unwrap(); // the machine's memory is small
    let limit = Duration::from_secs(1200);
    let (memory, runs) = ("1200M", Vec::new());
    let mut machine =
        Machine { nodes: 8, cpus_per_node: 1, mib_per_node: 216, memory, limit, runs };
    machine.align("auto", "-t 8");
    machine.align("interleave", "-t 8 --placement interleave");
    machine.align("replicate", "-t 8 --placement replicate");
    machine.align("halves", "-t 8 --instances 2:interleave");
    for (name, options) in [("small-auto", ""), ("small-interleave", "--placement interleave")] {
        let align = ALIGN.replace("ref.fa", "small/ref.fa").replace(" R", " small/R");
        let command = format!("seqloom {align} -t 8 -m {memory} {options} -o OUT.bam");
        machine.add(name, &format!("{command} --json OUT.json"));
    }
    let outcomes = machine.boot(&kernel, &here);
    for (name, outcome) in &outcomes {
        let copies = outcome.status.filter(|&status| status == 0).map_or(Vec::new(), |_| {
            let placement = Placement(outcome.report()["placement"].clone());
            let count = placement.0["replicas"].as_array().unwrap().len();
            placement.replicas(count)
        });
        eprintln!("{name}\t{:?}\t{}\t{copies:?}", outcome.status, outcome.seconds);
    }
    for name in ["auto", "interleave"] {
        let copy = &outcomes[name].placement(&sum).replicas(1)[0];
        copy.is_even_on(&nodes(8));
        assert!(copy.resident_bytes > 2 * LARGE_GENOME_BP, "{copy:?}");
    }
    let reason = outcomes["auto"].report()["placement"]["reason"].clone();
    assert_eq!(reason, "a copy does not fit every node");
    assert_eq!(outcomes["replicate"].status, Some(2), "{}", outcomes["replicate"].says);
    assert!(outcomes["replicate"].says.contains("use --placement interleave"));
    let halves = outcomes["halves"].placement(&sum);
    for (copy, nodes) in halves.replicas(2).iter().zip([[0, 1, 2, 3], [4, 5, 6, 7]]) {
        copy.is_even_on(&nodes);
    }
    for copy in outcomes["small-auto"].placement(&small_sum).replicas(8) {
        copy.lies_on(&copy.nodes);
    }
    outcomes["small-interleave"].placement(&small_sum).replicas(1)[0].is_even_on(&nodes(8));
}

/// Copies of the index on a machine with one node are still copies: any may serve any batch.
#[test]
fn instances_and_pins_give_the_same_bytes_here() {
    let folder = folder();
    let here = folder.path().join("data");
    fs::create_dir(&here).unwrap();
    let sum = prepare(&here);
    for (options, copies) in [
        ("-t 7 --instances 3", 3),
        ("-t 4 --instances 2:interleave --pin core:scatter", 2),
        ("-t 2 --instances 2:local --pin none --huge-pages off", 2),
        ("-t 3 --placement replicate --pin node", 1),
        ("-t 3 --placement interleave --huge-pages off", 1),
    ] {
        let mut align = seqloom(ALIGN.split(' ').chain(options.split(' ')));
        align.args(["-o", "../there.bam", "--json", "../there.json"]).current_dir(&here);
        let made = run(&mut align);
        if made.code() == 1 && made.stderr.contains("the kernel refuses to place memory") {
            skip("QEMU machine only: this container may not place memory");
            return;
        }
        made.ok();
        let there = run(Command::new("sha256sum").arg(here.join("../there.bam"))).ok().text();
        assert!(there.starts_with(&sum), "{options}");
        let report = fs::read(here.join("../there.json")).unwrap();
        let report: Value = serde_json::from_slice(&report).unwrap();
        for replica in Placement(report["placement"].clone()).replicas(copies) {
            assert!(replica.resident_bytes > 2 * GENOME_BP, "{options}: {replica:?}");
            assert!(!options.contains("off") || replica.huge_bytes == 0, "{options}: {replica:?}");
        }
    }
}
