//! Plans for recorded machines.

use super::*;
use seqloom_testkit::recorded::unpack;
use std::num::NonZeroUsize;

const NPS4: &str = include_str!("../../tests/recorded/epyc-nps4.txt");
const EIGHT: &str = include_str!("../../tests/recorded/eight-sockets.txt");
const MEMORY_ONLY: &str = include_str!("../../tests/recorded/memory-only-node.txt");
const NO_MEMORY: &str = include_str!("../../tests/recorded/node-without-memory.txt");
const CONTAINER: &str = include_str!("../../tests/recorded/container.txt");
/// Fits every node of the recorded machines, which have 70 MiB and more to give.
const SMALL: u64 = 16 << 20;

fn machine(recording: &str) -> (Topology, Limits) {
    let root = tempfile::tempdir().unwrap();
    unpack(recording, root.path()).unwrap();
    let topology = Topology::read(root.path()).unwrap();
    let limits = Limits::as_recorded(root.path(), &topology);
    (topology, limits)
}

fn plan(recording: &str, wishes: Wishes, threads: usize, index_bytes: u64) -> Plan {
    let (topology, limits) = machine(recording);
    Plan::new((&topology, &limits), &wishes, threads, index_bytes, |_| true).unwrap()
}

fn wish(index: IndexPlacement) -> Wishes {
    Wishes { index, ..Wishes::default() }
}

fn instances(count: usize, memory: GroupMemory) -> Wishes {
    Wishes { instances: NonZeroUsize::new(count).map(|n| (n, memory)), ..Wishes::default() }
}

fn group_nodes(plan: &Plan) -> Vec<String> {
    plan.groups.iter().map(|group| group.nodes.to_string()).collect()
}

fn slot_cpus(plan: &Plan) -> Vec<String> {
    let shown = |slot: &Slot| slot.cpus.as_ref().map_or("any".to_owned(), IdSet::to_string);
    plan.slots.iter().map(shown).collect()
}

#[test]
fn auto_follows_the_size_of_the_index() {
    fn t(recording: &str, threads: usize, index_bytes: u64, placement: IndexPlacement) {
        let made = plan(recording, Wishes::default(), threads, index_bytes);
        assert_eq!(made.placement, placement, "{threads} threads, {index_bytes} bytes");
        assert_eq!(made.slots.len(), threads);
    }
    t(NPS4, 32, SMALL, IndexPlacement::Replicate);
    t(NPS4, 32, 100 << 20, IndexPlacement::Interleave);
    t(NPS4, 4, SMALL, IndexPlacement::Default);
    t(NPS4, 5, SMALL, IndexPlacement::Replicate);
    t(EIGHT, 32, SMALL, IndexPlacement::Replicate);
    t(MEMORY_ONLY, 16, SMALL, IndexPlacement::Default);
    t(CONTAINER, 8, SMALL, IndexPlacement::Replicate);
    let one = "= sys/devices/system/cpu/online 0-3\n= proc/meminfo MemTotal: 9 kB\n";
    t(one, 4, SMALL, IndexPlacement::Default);
}

#[test]
fn copies_that_do_not_fit_the_cap_are_not_made() {
    let (topology, limits) = machine(NPS4);
    let wishes = Wishes::default();
    let requested = std::cell::Cell::new(0);
    let fit = |replicas| {
        requested.set(replicas);
        false
    };
    let made = Plan::new((&topology, &limits), &wishes, 32, SMALL, fit).unwrap();
    assert_eq!((made.placement, requested.get()), (IndexPlacement::Interleave, 8));
    assert_eq!(made.groups[0].index, MemoryPolicy::Interleave(IdSet::parse("0-7").unwrap()));
}

#[test]
fn a_copy_that_does_not_fit_is_refused_when_it_was_requested() {
    let (topology, limits) = machine(NPS4);
    let refused = |wishes: Wishes, threads| {
        let made = Plan::new((&topology, &limits), &wishes, threads, 1 << 30, |_| true);
        made.unwrap_err().to_string()
    };
    assert!(refused(wish(IndexPlacement::Replicate), 32).contains("nodes 0 have"));
    assert!(refused(instances(2, GroupMemory::Bind), 32).contains("nodes 0-3 have"));
    assert!(refused(instances(9, GroupMemory::Bind), 8).contains("-t is 8"));
}

#[test]
fn replicas_are_where_workers_are() {
    let made = plan(NPS4, wish(IndexPlacement::Replicate), 32, SMALL);
    assert_eq!(group_nodes(&made), ["0", "1", "2", "3", "4", "5", "6", "7"]);
    assert!(made.groups.iter().all(|g| g.index == MemoryPolicy::Bind(g.nodes.clone())));
    assert_eq!(made.pin, PinLevel::Node);
    for group in 0..8 {
        assert_eq!(made.slots.iter().filter(|slot| slot.group == group).count(), 4);
    }
    assert!(made.slots.iter().all(|s| s.cpus.as_ref() == Some(&made.groups[s.group].cpus)));
    // Two workers fill the cores of the first node; scattered, each has a node of its own.
    let pin = Some((PinLevel::Core, PinOrder::Compact));
    let made = plan(NPS4, Wishes { pin, ..wish(IndexPlacement::Replicate) }, 2, SMALL);
    assert_eq!(group_nodes(&made), ["0"]);
    let made = plan(NPS4, wish(IndexPlacement::Replicate), 2, SMALL);
    assert_eq!(group_nodes(&made), ["0", "1"]);
    let pin = Some((PinLevel::Core, PinOrder::Scatter));
    let made = plan(NPS4, Wishes { pin, ..wish(IndexPlacement::Replicate) }, 4, SMALL);
    assert_eq!(group_nodes(&made), ["0", "1", "2", "3"]);
    assert_eq!(slot_cpus(&made), ["0", "4", "8", "12"]);
}

#[test]
fn cores_are_filled_before_their_second_threads() {
    let pinned = |order, threads| {
        let pin = Some((PinLevel::Core, order));
        let wishes = Wishes { pin, ..wish(IndexPlacement::Default) };
        slot_cpus(&plan(NPS4, wishes, threads, SMALL))
    };
    let compact = pinned(PinOrder::Compact, 34);
    assert_eq!(compact[..6], ["0", "2", "4", "6", "8", "10"]);
    // 16 cores, then their second threads, then the first again.
    assert_eq!(compact[15..18], ["30", "1", "3"]);
    assert_eq!(compact[31..], ["31", "0", "2"]);
    let scatter = pinned(PinOrder::Scatter, 10);
    assert_eq!(scatter, ["0", "4", "8", "12", "16", "20", "24", "28", "2", "6"]);
}

#[test]
fn masks_and_quotas_are_obeyed() {
    let pin = Some((PinLevel::Core, PinOrder::Compact));
    let made = plan(CONTAINER, Wishes { pin, ..wish(IndexPlacement::Interleave) }, 9, SMALL);
    assert_eq!(slot_cpus(&made), ["4", "5", "6", "7", "8", "9", "10", "11", "4"]);
    assert_eq!(made.groups[0].index, MemoryPolicy::Interleave(IdSet::parse("1-2").unwrap()));
    // With a quota, threads are not pinned unless that is requested.
    let made = plan(CONTAINER, Wishes::default(), 8, SMALL);
    assert_eq!((made.pin, group_nodes(&made)), (PinLevel::None, vec!["1".into(), "2".into()]));
    assert!(made.slots.iter().all(|slot| slot.cpus.is_none()));
}

#[test]
fn cpus_without_memory_use_the_nearest_and_memory_without_cpus_is_left_alone() {
    let made = plan(NO_MEMORY, wish(IndexPlacement::Replicate), 6, SMALL);
    assert_eq!(group_nodes(&made), ["0", "1", "3"]);
    let cpus: Vec<_> = made.groups.iter().map(|group| group.cpus.to_string()).collect();
    assert_eq!(cpus, ["0-1,4-5", "2", "7"]);
    let made = plan(MEMORY_ONLY, wish(IndexPlacement::Interleave), 4, SMALL);
    assert_eq!(group_nodes(&made), ["0"]);
}

#[test]
fn instances_take_neighbouring_nodes_or_share_one() {
    let made = plan(NPS4, instances(2, GroupMemory::Interleave), 6, SMALL);
    assert_eq!(group_nodes(&made), ["0-3", "4-7"]);
    assert_eq!(made.groups[1].index, MemoryPolicy::Interleave(IdSet::parse("4-7").unwrap()));
    assert_eq!(made.slots.iter().map(|s| s.group).collect::<Vec<_>>(), [0, 1, 0, 1, 0, 1]);
    assert_eq!((made.slots[0].cpus.clone(), made.pin), (IdSet::parse("0-3"), PinLevel::Node));
    assert_eq!(
        group_nodes(&plan(NPS4, instances(3, GroupMemory::Bind), 6, SMALL)),
        ["0-1", "2-4", "5-7"]
    );
    let local = plan(EIGHT, instances(8, GroupMemory::Local), 8, SMALL);
    assert!(local.groups.iter().all(|g| g.index == MemoryPolicy::Local));
    // More groups than nodes: two on each, on different CPUs when they are pinned to cores.
    let pin = Some((PinLevel::Core, PinOrder::Compact));
    let made = plan(CONTAINER, Wishes { pin, ..instances(4, GroupMemory::Bind) }, 8, SMALL);
    assert_eq!(group_nodes(&made), ["1", "1", "2", "2"]);
    assert_eq!(slot_cpus(&made), ["4", "5", "8", "9", "6", "7", "10", "11"]);
}

#[test]
fn small_pages_for_a_small_index_that_is_interleaved() {
    fn t(wishes: Wishes, index_bytes: u64, small_pages: bool) {
        assert_eq!(plan(NPS4, wishes, 32, index_bytes).small_pages, small_pages, "{wishes:?}");
    }
    let interleave = wish(IndexPlacement::Interleave);
    t(interleave, SMALL, true);
    t(interleave, 1 << 30, false);
    t(Wishes { huge_pages: HugePages::On, ..interleave }, SMALL, false);
    t(Wishes { huge_pages: HugePages::Off, ..interleave }, 1 << 30, true);
    t(wish(IndexPlacement::Default), SMALL, false);
}

#[test]
fn a_machine_that_does_not_say_what_it_is_has_one_index() {
    let (topology, mut limits) = machine(NPS4);
    limits.cpus = IdSet::default();
    let plan = Plan::new((&topology, &limits), &Wishes::default(), 3, SMALL, |_| true).unwrap();
    let found = (plan.placement, plan.groups.len(), plan.slots.len());
    assert_eq!(found, (IndexPlacement::Default, 1, 3));
}
