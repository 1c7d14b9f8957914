//! Lanes side by side: which of them has something to do, and what they may hold together. As the
//! [`Scheduler`] of each of them, without any thread.
//!
//! The first lane that is not through is served first, as if it were alone; the others fill the
//! gaps, where it has nothing to do: while its inputs are being inflated, at its end, while its
//! model is inferred. So its memory drains first, and the work never stands still for the others.
//! What these hold together is bounded; when the bound is reached, they wait until they are first.

use std::ops::AddAssign;
use std::sync::Arc;

use seqloom_io::reads::Fetch;
use seqloom_runtime::schedule::Idle;

use super::scheduler::{Capacity, HeldLimits, Load, Scheduler, Seeded, Task};
use crate::cohort::ClosedCohort;
use crate::engine::CohortEngine;

/// The schedulers of all lanes, tried in the order of the lanes.
pub(super) struct LaneScheduler<'a, E: CohortEngine> {
    /// Those from a lane on that has failed are gone.
    lanes: Vec<Scheduler<'a, E>>,
    /// Those that tasks come from, in order.
    open: Vec<usize>,
    /// The first that was never opened.
    next: usize,
    capacity: Capacity,
    limits: HeldLimits,
    peak_held_bytes: u64,
}

impl<'a, E: CohortEngine> LaneScheduler<'a, E> {
    pub(super) fn new(
        lanes: Vec<Scheduler<'a, E>>,
        capacity: Capacity,
        limits: HeldLimits,
    ) -> Self {
        Self { lanes, open: Vec::new(), next: 0, capacity, limits, peak_held_bytes: 0 }
    }

    /// The next task, if there is one now, and which lane it is of.
    pub(super) fn next_task(&mut self) -> Result<(usize, Task<'a, E>), Idle> {
        self.open_next();
        let found = self.next_emit().or_else(|| self.first_of(|lane| lane.next_infer()));
        let found = found.or_else(|| self.next_fetch(Load::has_few_ready));
        let found = found.or_else(|| self.next_seed());
        let found = found.or_else(|| self.next_fetch(|_, _| true));
        let found = found.or_else(|| self.first_of(|lane| lane.next_failure()));
        let idle = if self.open.is_empty() { Idle::Finished } else { Idle::Wait };
        found.ok_or(idle)
    }

    /// Closes lanes that are through, and opens others in their place.
    fn open_next(&mut self) {
        let lanes = &self.lanes;
        self.open.retain(|&at| lanes.get(at).is_some_and(|lane| !lane.is_over()));
        while self.open.len() < self.limits.lanes.get() && self.next < self.lanes.len() {
            if !self.lanes[self.next].is_over() {
                self.open.push(self.next);
            }
            self.next += 1;
        }
    }

    /// The task that the first lane has which has one.
    fn first_of(
        &mut self,
        mut next: impl FnMut(&mut Scheduler<'a, E>) -> Option<Task<'a, E>>,
    ) -> Option<(usize, Task<'a, E>)> {
        let lanes = &mut self.lanes;
        self.open.iter().find_map(|&at| Some((at, next(lanes.get_mut(at)?)?)))
    }

    fn next_emit(&mut self) -> Option<(usize, Task<'a, E>)> {
        let emitting = self.load().emitting;
        self.first_of(|lane| lane.next_emit(emitting))
    }

    /// A fetch for the first lane where its own `load` says so, for another where that of all does:
    /// what is ready after the first must not keep it from its own input.
    fn next_fetch(&mut self, if_so: fn(&Load, Capacity) -> bool) -> Option<(usize, Task<'a, E>)> {
        let (all, capacity) = (self.load(), self.capacity);
        let mut is_first = true;
        self.first_of(|lane| {
            let load = if std::mem::take(&mut is_first) { lane.load() } else { all };
            if_so(&load, capacity).then(|| lane.next_fetch(&load)).flatten()
        })
    }

    fn next_seed(&mut self) -> Option<(usize, Task<'a, E>)> {
        let (first, others) = self.open.split_first()?;
        let lanes = &mut self.lanes;
        if let Some(task) = lanes.get_mut(*first)?.next_seed_of_first() {
            return Some((*first, task));
        }
        let expected_bytes: u64 = others.iter().map(|&at| lanes[at].expected_bytes()).sum();
        let rest_bytes = self.limits.other_lanes_bytes.checked_sub(expected_bytes);
        others.iter().find_map(|&at| Some((at, lanes[at].next_seed_of_other(rest_bytes)?)))
    }

    /// What is ready and in work of all open lanes.
    fn load(&self) -> Load {
        let mut all = Load::default();
        self.open.iter().for_each(|&at| all += self.lanes[at].load());
        all
    }

    /// A lane has failed: nothing more is done for it, nor for those after it. Those ahead go
    /// on, for one of them may fail, too.
    pub(super) fn give_up(&mut self, lane: usize) {
        self.lanes.truncate(lane);
        self.next = self.next.min(lane);
    }

    /// A fetch is back. Whether nothing is left to do for its lane.
    pub(super) fn fetched(&mut self, lane: usize, fetched: Fetch) -> bool {
        let Some(lane) = self.lanes.get_mut(lane) else { return false };
        lane.fetched(fetched);
        lane.has_just_ended()
    }

    /// A batch has been seeded. What its cohort holds, if that is more than may be held at all.
    pub(super) fn seeded(&mut self, lane: usize, seeded: Seeded<E>) -> Option<u64> {
        let reported = self.lanes.get_mut(lane).and_then(|lane| lane.seeded(seeded));
        let held_bytes = self.lanes.iter().map(Scheduler::held_bytes).sum();
        self.peak_held_bytes = self.peak_held_bytes.max(held_bytes);
        reported
    }

    /// A cohort's model is known.
    pub(super) fn inferred(
        &mut self,
        lane: usize,
        cohort: ClosedCohort,
        model: &Arc<E::Model>,
        seeded: Vec<Seeded<E>>,
    ) {
        if let Some(lane) = self.lanes.get_mut(lane) {
            lane.inferred(cohort, model, seeded);
        }
    }

    /// A batch has been emitted, which gives back what it held. Whether nothing is left to do for
    /// its lane.
    pub(super) fn emitted(&mut self, lane: usize, sequence: u64, held_bytes: u64) -> bool {
        let Some(lane) = self.lanes.get_mut(lane) else { return false };
        lane.emitted(sequence, held_bytes);
        lane.has_just_ended()
    }

    /// All lanes in order, but for those that have been given up.
    pub(super) fn all(&self) -> &[Scheduler<'a, E>] {
        &self.lanes
    }

    /// The most that candidates of all lanes held.
    pub(super) fn peak_held_bytes(&self) -> u64 {
        self.peak_held_bytes
    }
}

impl AddAssign for Load {
    fn add_assign(&mut self, more: Self) {
        self.ready += more.ready;
        self.coming += more.coming;
        self.early += more.early;
        self.emitting += more.emitting;
    }
}

#[cfg(test)]
#[path = "lanes_tests.rs"]
mod tests;
