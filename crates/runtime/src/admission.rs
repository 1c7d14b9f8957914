//! Admission control: hands out tickets 0, 1, 2, ... while memory lasts, so that parallel work on
//! large pieces stays within the ledger.
//!
//! A worker that enters gets the next ticket as soon as its cost fits the ledger and few enough are
//! inside; when nobody is inside, the next one enters whatever it costs, so that work always goes
//! on. Since tickets are given in order, whoever waits for an earlier ticket waits for somebody who
//! is inside.
//!
//! [`AdmissionControl::run`] is the loop of workers that do a ticket after the other.

#[cfg(loom)]
use loom::sync::{Condvar, Mutex, MutexGuard};
use std::num::NonZeroUsize;
use std::sync::PoisonError;
#[cfg(not(loom))]
use std::sync::{Condvar, Mutex, MutexGuard};

use crate::memory::{Charge, Ledger};
use crate::pool::{self, Stopped, Watch};
use crate::trace::Stage;

#[derive(Debug)]
struct Inside {
    next: u64,
    count: usize,
    closed: bool,
}

/// Admits work, in the order of its tickets, while the ledger has memory for it.
#[derive(Debug)]
pub struct AdmissionControl<'a> {
    ledger: &'a Ledger,
    max_inside: usize,
    wait: Option<&'a Stage>,
    inside: Mutex<Inside>,
    changed: Condvar,
}

impl<'a> AdmissionControl<'a> {
    /// Charges `ledger` and lets at most `max_inside` (at least one) in.
    pub fn new(ledger: &'a Ledger, max_inside: usize) -> Self {
        Self {
            ledger,
            max_inside: max_inside.max(1),
            wait: None,
            inside: Mutex::new(Inside { next: 0, count: 0, closed: false }),
            changed: Condvar::new(),
        }
    }

    /// The same, booking the time that workers wait for tickets.
    #[must_use]
    pub fn timing(self, wait: &'a Stage) -> Self {
        Self { wait: Some(wait), ..self }
    }

    /// Has `threads` workers do `work` for each ticket, from 0 to the first without a cost (see
    /// [`AdmissionControl::enter`]). Gives what they have worked with, in no order. `watch` is that
    /// of [`pool::run`].
    ///
    /// # Errors
    /// The first error or panic of any worker, or [`Stopped::Interrupted`].
    pub fn run<'t, W, E>(
        &'t self,
        threads: NonZeroUsize,
        watch: Watch<'_>,
        cost_bytes: impl Fn(u64) -> Option<u64> + Sync,
        worker: impl Fn(usize) -> Result<W, E> + Sync,
        work: impl Fn(&mut W, Admission<'t>) -> Result<(), E> + Sync,
    ) -> Result<Vec<W>, E>
    where
        W: Send,
        E: From<Stopped> + Send,
    {
        let enter = || self.enter(&cost_bytes);
        let next = || self.wait.map_or_else(enter, |stage| stage.time(enter));
        pool::take_all(threads, next, || self.close(), watch, worker, work)
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the next ticket. `cost_bytes` of a ticket is `None` when there is no such ticket.
    ///
    /// `None` when the tickets are used up or admission is closed.
    pub fn enter(&self, cost_bytes: impl Fn(u64) -> Option<u64>) -> Option<Admission<'_>> {
        let mut inside = self.inside();
        loop {
            if inside.closed {
                return None;
            }
            let ticket = inside.next;
            let cost_bytes = cost_bytes(ticket)?;
            let has_room = inside.count < self.max_inside;
            let fits = if has_room { self.ledger.try_charge(cost_bytes) } else { None };
            let is_alone = inside.count == 0;
            if let Some(charge) = fits.or_else(|| is_alone.then(|| self.ledger.charge(cost_bytes)))
            {
                inside.next += 1;
                inside.count += 1;
                return Some(Admission { ticket, charge, control: self });
            }
            inside = self.changed.wait(inside).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Lets nobody in any more and wakes all who wait.
    pub fn close(&self) {
        self.inside().closed = true;
        self.changed.notify_all();
    }

    /// For somebody inside: waits until `is_so`, or gives `false` when admission is closed.
    /// Whoever makes it so calls [`AdmissionControl::wake_all`].
    pub fn wait_until(&self, is_so: impl Fn() -> bool) -> bool {
        let mut inside = self.inside();
        while !inside.closed && !is_so() {
            inside = self.changed.wait(inside).unwrap_or_else(PoisonError::into_inner);
        }
        !inside.closed
    }

    /// Wakes those who wait, after something that they wait for has come by other means: memory
    /// given back to the ledger, or a turn.
    pub fn wake_all(&self) {
        drop(self.inside());
        self.changed.notify_all();
    }
}

/// The right to work on a ticket; its charge is given back when it is dropped.
#[derive(Debug)]
pub struct Admission<'a> {
    ticket: u64,
    charge: Charge,
    control: &'a AdmissionControl<'a>,
}

impl Admission<'_> {
    /// The ticket.
    pub fn ticket(&self) -> u64 {
        self.ticket
    }

    /// Gives back what the work turned out not to need.
    pub fn shrink_to(&mut self, bytes: u64) {
        if bytes < self.charge.bytes() {
            self.charge.shrink_to(bytes);
            self.control.wake_all();
        }
    }
}

impl Drop for Admission<'_> {
    fn drop(&mut self) {
        // Before others are woken for it.
        self.charge.shrink_to(0);
        self.control.inside().count -= 1;
        self.control.changed.notify_all();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn tickets_come_in_order_and_what_does_not_fit_enters_alone() {
        let ledger = Ledger::new(100);
        let control = AdmissionControl::new(&ledger, 8);
        let cost = |ticket| (ticket < 2).then_some(1000);
        let pass = control.enter(cost).unwrap();
        assert_eq!(pass.ticket(), 0);
        drop(pass);
        assert_eq!(control.enter(cost).unwrap().ticket(), 1);
        assert!(control.enter(cost).is_none());
        assert_eq!(ledger.charged_bytes(), 0);
    }

    #[test]
    fn the_ledger_is_never_exceeded_by_pieces_that_fit() {
        let ledger = Ledger::new(100);
        let control = AdmissionControl::new(&ledger, 64);
        let done = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    while let Some(mut pass) = control.enter(|t| (t < 500).then_some(30)) {
                        assert!(ledger.charged_bytes() <= 100);
                        pass.shrink_to(10);
                        done.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(done.into_inner(), 500);
        assert_eq!(ledger.charged_bytes(), 0);
    }

    #[test]
    fn workers_do_each_ticket_once_and_end_at_the_first_failure() {
        let ledger = Ledger::new(100);
        let run = |bad: Option<u64>| {
            let control = AdmissionControl::new(&ledger, 3);
            let threads = NonZeroUsize::new(4).unwrap();
            let cost = |ticket| (ticket < 500).then_some(60);
            let work = |sum: &mut u64, pass: Admission<'_>| {
                *sum += pass.ticket();
                match bad {
                    Some(bad) if bad == pass.ticket() => Err(Stopped::Panic("bad".to_owned())),
                    // Whoever waits for what will not be is woken by the failure.
                    Some(bad) if bad + 1 == pass.ticket() => {
                        assert!(!control.wait_until(|| false));
                        Err(Stopped::ByAnother)
                    }
                    _ => Ok(()),
                }
            };
            control.run(threads, &|| Ok(()), cost, |_| Ok(0), work)
        };
        assert_eq!(run(None).unwrap().into_iter().sum::<u64>(), 499 * 500 / 2);
        assert!(matches!(run(Some(7)), Err(Stopped::Panic(message)) if message == "bad"));
        assert_eq!(ledger.charged_bytes(), 0);
    }

    #[test]
    fn closing_wakes_those_who_wait() {
        let ledger = Ledger::new(100);
        let control = AdmissionControl::new(&ledger, 1);
        let pass = control.enter(|_| Some(1)).unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| control.enter(|_| Some(1)).is_none());
            std::thread::sleep(std::time::Duration::from_millis(20));
            control.close();
            assert!(waiting.join().unwrap());
        });
        drop(pass);
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use crate::monitor::Monitor;
    use crate::order::Ordered;
    use loom::sync::Arc;
    use loom::thread::{JoinHandle, spawn};

    /// A ledger and its admission control; leaked, because loom's threads take nothing borrowed.
    fn control(total_bytes: u64, max_inside: usize) -> &'static AdmissionControl<'static> {
        let ledger: &'static Ledger = Box::leak(Box::new(Ledger::new(total_bytes)));
        Box::leak(Box::new(AdmissionControl::new(ledger, max_inside)))
    }

    fn join(workers: impl IntoIterator<Item = JoinHandle<()>>) {
        // All are started before the first is waited for.
        let workers: Vec<_> = workers.into_iter().collect();
        workers.into_iter().for_each(|worker| worker.join().unwrap());
    }

    /// Two workers, room for one: the second enters after the first leaves, never lost asleep.
    #[test]
    fn whoever_waits_is_woken() {
        loom::model(|| {
            let control = control(1, 1);
            join((0..2).map(|_| {
                spawn(move || {
                    let pass = control.enter(|t| (t < 2).then_some(1));
                    assert!(pass.is_some());
                })
            }));
            assert_eq!(control.ledger.charged_bytes(), 0);
        });
    }

    /// Whoever waits for memory enters when the one inside gives some back, and stays inside.
    #[test]
    fn memory_given_back_is_seen() {
        let mut model = loom::model::Builder::new();
        // All ways with at most two threads interrupted; without the bound it takes minutes.
        model.preemption_bound = Some(2);
        model.check(|| {
            let control = control(3, 2);
            let entered = Arc::new(Monitor::new(0));
            join((0..2).map(|_| {
                let entered = entered.clone();
                spawn(move || {
                    let mut pass = control.enter(|_| Some(2)).unwrap();
                    pass.shrink_to(1);
                    // Neither leaves before both are inside: only shrinking can let the second in.
                    entered.update(|inside| *inside += 1);
                    entered.wait_for(|inside| (*inside == 2).then_some(()));
                })
            }));
            assert_eq!(control.ledger.charged_bytes(), 0);
        });
    }

    /// Closing reaches a worker that waits or is about to.
    #[test]
    fn nobody_waits_once_admission_is_closed() {
        loom::model(|| {
            let control = control(1, 1);
            let inside = control.enter(|_| Some(1));
            let waiting = spawn(move || assert!(control.enter(|_| Some(1)).is_none()));
            control.close();
            join([waiting]);
            drop(inside);
        });
    }

    /// A worker that must wait until it is next is woken by whoever commits the one before, as the
    /// finish phase has it.
    #[test]
    fn the_turn_comes() {
        loom::model(|| {
            let (control, ordered) = (control(1, 1), Arc::new(Ordered::default()));
            let other = ordered.clone();
            let waiting = spawn(move || {
                assert!(control.wait_until(|| other.committed() == 1));
                other.deposit(1, (), |()| Ok::<_, ()>(())).unwrap();
            });
            ordered.deposit(0, (), |()| Ok::<_, ()>(())).unwrap();
            control.wake_all();
            join([waiting]);
            assert_eq!(ordered.committed(), 2);
        });
    }

    /// Closing reaches a worker whose turn does not come.
    #[test]
    fn nobody_waits_for_a_turn_once_admission_is_closed() {
        loom::model(|| {
            let control = control(1, 1);
            let waiting = spawn(move || assert!(!control.wait_until(|| false)));
            control.close();
            join([waiting]);
        });
    }

    /// The last ticket's holder wakes those for whom there is none.
    #[test]
    fn tickets_that_are_used_up_let_everyone_go() {
        loom::model(|| {
            let control = control(1, 1);
            join((0..2).map(|_| {
                spawn(move || while control.enter(|t| (t < 1).then_some(1)).is_some() {})
            }));
        });
    }
}
