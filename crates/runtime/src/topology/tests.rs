//! Topology and limits of recorded machines.

use super::*;
use seqloom_testkit::recorded::unpack;

fn machine(recording: &str) -> (tempfile::TempDir, Topology) {
    let root = tempfile::tempdir().unwrap();
    unpack(recording, root.path()).unwrap();
    let topology = Topology::read(root.path()).unwrap();
    (root, topology)
}

/// CPUs of each node, then their distances from the first node.
fn nodes(topology: &Topology) -> (Vec<String>, Vec<u32>) {
    let cpus = topology.nodes.iter().map(|node| node.cpus.to_string()).collect();
    let first = topology.nodes[0].id;
    (cpus, topology.nodes.iter().map(|node| topology.distance(first, node.id)).collect())
}

#[test]
fn two_sockets_of_four_nodes_each() {
    let (_root, t) = machine(include_str!("../../tests/recorded/epyc-nps4.txt"));
    let (cpus, distances) = nodes(&t);
    assert_eq!(cpus[..2], ["0-3", "4-7"]);
    assert_eq!(distances, [10, 12, 12, 12, 32, 32, 32, 32]);
    assert_eq!((t.cpus.len(), t.cores(), t.packages(), t.nodes.len()), (32, 16, 2, 8));
    assert_eq!(t.cpus[1].siblings.to_string(), "0-1");
    assert_eq!((t.thread_of_core(&t.cpus[0]), t.thread_of_core(&t.cpus[1])), (0, 1));
    assert_eq!((t.cpus[17].node, t.cpus[17].package), (Some(4), 1));
    assert_eq!(t.transparent_huge_pages, TransparentHugePages::Always);
    assert_eq!(t.transparent_huge_page_bytes, 2 << 20);
    assert!(t.nodes.iter().all(|n| n.memory_bytes > 90 << 20 && n.free_bytes <= n.memory_bytes));
    assert!(t.nodes.iter().all(|n| n.huge_pools.iter().any(|p| p.page_bytes == 2 << 20)));
}

#[test]
fn eight_sockets() {
    let (_root, t) = machine(include_str!("../../tests/recorded/eight-sockets.txt"));
    let (cpus, distances) = nodes(&t);
    assert_eq!((cpus.len(), cpus[7].as_str()), (8, "28-31"));
    assert_eq!(distances, [10, 16, 16, 22, 16, 22, 22, 28]);
    assert_eq!((t.distance(7, 0), t.distance(3, 2), t.distance(0, 9)), (28, 16, 20));
    assert_eq!((t.cores(), t.packages()), (32, 8));
}

#[test]
fn a_node_of_memory_only() {
    let (_root, t) = machine(include_str!("../../tests/recorded/memory-only-node.txt"));
    let (cpus, distances) = nodes(&t);
    assert_eq!(cpus, ["0-15", "-"]);
    assert_eq!(distances, [10, 31]);
    assert_eq!((t.cores(), t.packages()), (4, 1));
    assert_eq!(t.cpus[6].siblings.to_string(), "4-7");
    assert_eq!(t.thread_of_core(&t.cpus[6]), 2);
}

#[test]
fn a_node_without_memory_and_cpus_switched_off() {
    let (root, t) = machine(include_str!("../../tests/recorded/node-without-memory.txt"));
    let (cpus, _) = nodes(&t);
    assert_eq!(cpus, ["0-1", "2", "4-5", "7"]);
    assert_eq!(t.offline.to_string(), "3,6");
    assert_eq!(t.node(2).unwrap().memory_bytes, 0);
    assert_eq!(t.cpus.iter().map(|cpu| cpu.id).collect::<Vec<_>>(), [0, 1, 2, 4, 5, 7]);
    let limits = Limits::read(root.path(), &t, None);
    assert_eq!(limits.cpus.to_string(), "0-2,4-5,7");
    assert_eq!(limits.memory_nodes.to_string(), "0-1,3");
    assert_eq!((limits.cpuset, limits.quota_cores), (None, None));
}

#[test]
fn a_container_with_a_cpuset_and_a_quota() {
    let (root, t) = machine(include_str!("../../tests/recorded/container.txt"));
    assert_eq!(t.nodes.len(), 4);
    let limits = Limits::read(root.path(), &t, None);
    assert_eq!(limits.cpus.to_string(), "4-11");
    assert_eq!(limits.memory_nodes.to_string(), "1-2");
    assert_eq!(limits.cpuset, IdSet::parse("4-11"));
    assert_eq!((limits.quota_cores, limits.throttled), (Some(2.5), Some(2)));
    // The kernel's mask is the truth: where the cpuset is another one (its path was that of another
    // namespace) it does not count.
    let mask = |list| Limits::read(root.path(), &t, IdSet::parse(list)).cpus.to_string();
    assert_eq!(mask("0-5"), "4-5");
    assert_eq!(mask("0-3"), "0-3");
}

#[test]
fn cgroups_of_version_1_and_paths_of_the_host() {
    fn t(files: &str, cpus: &str, quota_cores: Option<f64>, throttled: Option<u64>) {
        let base = "= sys/devices/system/cpu/online 0-15\n";
        let (root, topology) = machine(&format!("{base}{files}"));
        let limits = Limits::read(root.path(), &topology, None);
        assert_eq!(limits.cpus.to_string(), cpus, "{files}");
        assert_eq!((limits.quota_cores, limits.throttled), (quota_cores, throttled), "{files}");
    }
    let own = "= proc/self/cgroup 5:cpuset:/job\\n4:cpu,cpuacct:/job/step\\n0::/\n";
    let quota = |us| {
        format!(
            "= sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us {us}\n\
             = sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us 100000\n\
             = sys/fs/cgroup/cpu,cpuacct/job/cpu.stat nr_periods 9\\nnr_throttled 4\n"
        )
    };
    let cpuset = "= sys/fs/cgroup/cpuset/job/cpuset.cpus 2-3\n";
    t(&format!("{own}{cpuset}{}", quota(150_000)), "2-3", Some(1.5), Some(4));
    t(&format!("{own}{}", quota(-1)), "0-15", None, Some(4));
    // In a container the path is the host's; what is mounted is the container's own group.
    let host = "= proc/self/cgroup 7:cpuset:/docker/abc\n";
    t(&format!("{host}= sys/fs/cgroup/cpuset/cpuset.cpus 8-9\n"), "8-9", None, None);
    let host = "= proc/self/cgroup 0::/\n= sys/fs/cgroup/cpu.max 50000 100000\n";
    t(host, "0-15", Some(0.5), None);
    t("= proc/self/cgroup garbage\\n1:cpu\n", "0-15", None, None);
}

#[test]
fn a_kernel_without_numa_is_one_node() {
    let meminfo = "= proc/meminfo MemTotal: 1000 kB\\nMemFree: 300 kB\\nActive(file): 20 kB\n";
    let (root, t) = machine(&format!("= sys/devices/system/cpu/online 0-3\n{meminfo}"));
    assert_eq!((t.nodes.len(), t.cores(), t.packages()), (1, 4, 1));
    assert_eq!(t.nodes[0].cpus.to_string(), "0-3");
    assert_eq!((t.nodes[0].memory_bytes, t.nodes[0].available_bytes), (1000 << 10, 320 << 10));
    assert_eq!(Limits::read(root.path(), &t, None).memory_nodes.to_string(), "0");
    assert_eq!(t.transparent_huge_pages, TransparentHugePages::Never);
}

#[test]
fn damage_is_named_by_file() {
    fn t(recording: &str, file: &str) {
        let root = tempfile::tempdir().unwrap();
        unpack(recording, root.path()).unwrap();
        let error = Topology::read(root.path()).unwrap_err().to_string();
        assert!(error.contains(file), "{error}");
    }
    t("= sys/devices/system/cpu/online 0-x\n", "cpu/online");
    let node = "= sys/devices/system/cpu/online 0-3\n= sys/devices/system/node/online 0\n";
    t(&format!("{node}= sys/devices/system/node/node0/distance ten\n"), "node0/distance");
    t(&format!("{node}= sys/devices/system/node/node0/cpulist 3-0\n"), "node0/cpulist");
}

#[test]
fn this_machine_can_be_read() {
    let topology = Topology::read(Path::new("/")).unwrap();
    let limits = Limits::of_this_process(Path::new("/"), &topology);
    assert!(!limits.cpus.is_empty() && !limits.memory_nodes.is_empty());
    assert!(limits.cpus.iter().all(|id| topology.cpus.iter().any(|cpu| cpu.id == id)));
    assert!(topology.nodes.iter().any(|node| node.memory_bytes > 64 << 20));
    assert!((1..=topology.cpus.len()).contains(&topology.cores()));
}
