//! The loop of flows that read input: each worker takes the next task of a scheduler and performs
//! it, until there is none or the flow has failed. What is there before the workers start needs no
//! scheduler: [`pool::for_each`].
//!
//! A flow is what its tasks are and how one is performed ([`Flow`]); what is next is its
//! scheduler's to say, a value without threads ([`schedule`](crate::schedule)). The scheduler is
//! behind a [`Monitor`], on which idle workers sleep.

use std::num::NonZeroUsize;
use std::time::Instant;

use crate::failure::Failure;
use crate::monitor::Monitor;
use crate::pool::{self, Stopped, Watch};
use crate::schedule::Idle;
use crate::trace::{Stage, ThreadTimes};

/// State that all workers of a flow share: the scheduler, and the first failure.
#[derive(Debug)]
pub struct Shared<S, E> {
    scheduler: Monitor<S>,
    failure: Failure<E>,
}

impl<S, E> Shared<S, E> {
    /// Before any worker runs.
    pub fn new(scheduler: S) -> Self {
        Self { scheduler: Monitor::new(scheduler), failure: Failure::default() }
    }

    /// The scheduler, on which workers wait.
    pub fn scheduler(&self) -> &Monitor<S> {
        &self.scheduler
    }

    /// Whether the flow has failed: whoever waits in a task is to return.
    pub fn stopped(&self) -> bool {
        self.failure.stopped()
    }

    /// The flow has failed at a position of its input: of several such failures the one with the
    /// least position counts. It is the same in every run if tasks are handed out in that order,
    /// since those that were taken before are performed to their ends.
    pub fn fail_at(&self, position: u64, error: E) {
        self.failure.set_at(position, error);
        self.scheduler.wake_all();
    }

    /// The scheduler, when no worker runs any more.
    pub fn into_scheduler(self) -> S {
        self.scheduler.into_inner()
    }

    /// The next task, waiting for one if need be; `None` when all is done or the flow has failed.
    fn next_task<T>(&self, mut next: impl FnMut(&mut S) -> Result<T, Idle>) -> Option<T> {
        self.scheduler.wait_for(|scheduler| {
            if self.failure.stopped() {
                return Some(None);
            }
            match next(scheduler) {
                Ok(task) => Some(Some(task)),
                Err(Idle::Finished) => Some(None),
                Err(Idle::Wait) => None,
            }
        })
    }
}

/// Work of a flow, as its workers see it.
pub trait Flow: Sync {
    /// Scheduler of the tasks.
    type Scheduler: Send;
    /// Work of one worker at a time.
    type Task;
    /// Working memory of one worker.
    type Worker;
    /// Why the flow can fail.
    type Error: From<Stopped> + Send;

    /// State that the workers share.
    fn shared(&self) -> &Shared<Self::Scheduler, Self::Error>;

    /// Working memory of worker `index`, made on its own thread.
    ///
    /// # Errors
    /// When it cannot be made.
    fn worker(&self, index: usize) -> Result<Self::Worker, Self::Error>;

    /// The next task.
    ///
    /// # Errors
    /// Why there is none.
    fn next(scheduler: &mut Self::Scheduler) -> Result<Self::Task, Idle>;

    /// Performs a task.
    ///
    /// # Errors
    /// An error, which ends the flow.
    fn perform(&self, worker: &mut Self::Worker, task: Self::Task) -> Result<(), Self::Error>;

    /// A worker is through without a failure.
    fn retire(&self, _worker: Self::Worker) {}

    /// Wakes those who wait on something else than the scheduler, when the flow has failed.
    fn wake(&self) {}

    /// Time of workers without a task.
    fn wait(&self) -> Option<&Stage> {
        None
    }

    /// Time for which each worker had something to do.
    fn thread_times(&self) -> Option<&ThreadTimes> {
        None
    }
}

/// Runs a flow on `threads` workers.
///
/// # Errors
/// The first failure of any worker.
pub fn run<F: Flow>(flow: &F, threads: NonZeroUsize, watch: Watch<'_>) -> Result<(), F::Error> {
    let shared = flow.shared();
    let wake = || {
        shared.scheduler.wake_all();
        flow.wake();
    };
    let next = || shared.next_task(F::next);
    pool::run(threads, &shared.failure, wake, watch, |index| {
        let began = Instant::now();
        let mut worker = flow.worker(index)?;
        let mut worked = began.elapsed();
        let next = || match flow.wait() {
            Some(stage) => stage.time(next),
            None => next(),
        };
        while let Some(task) = next() {
            flow.perform(&mut worker, task)?;
            worked = began.elapsed();
        }
        if let Some(times) = flow.thread_times() {
            times.add(worked);
        }
        flow.retire(worker);
        Ok(())
    })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::failure::lock;
    use crate::pool::Interrupted;
    use std::sync::Mutex;

    const FOUR: NonZeroUsize = NonZeroUsize::new(4).unwrap();
    const NUMBERS: u32 = 100;

    /// Hands out numbers; one of them cannot be performed.
    struct Numbers {
        shared: Shared<u32, Stopped>,
        bad: Option<u32>,
        sum: Mutex<u32>,
        times: ThreadTimes,
    }

    impl Flow for Numbers {
        type Scheduler = u32;
        type Task = u32;
        type Worker = u32;
        type Error = Stopped;

        fn shared(&self) -> &Shared<u32, Stopped> {
            &self.shared
        }

        fn worker(&self, _: usize) -> Result<u32, Stopped> {
            Ok(0)
        }

        fn next(next: &mut u32) -> Result<u32, Idle> {
            *next += 1;
            if *next <= NUMBERS { Ok(*next) } else { Err(Idle::Finished) }
        }

        fn perform(&self, own: &mut u32, number: u32) -> Result<(), Stopped> {
            *own += number;
            if self.bad == Some(number) { Err(Stopped::Panic("bad".to_owned())) } else { Ok(()) }
        }

        fn retire(&self, own: u32) {
            *lock(&self.sum) += own;
        }

        fn thread_times(&self) -> Option<&ThreadTimes> {
            Some(&self.times)
        }
    }

    fn numbers(bad: Option<u32>, watch: Result<(), Interrupted>) -> (Result<(), Stopped>, u32) {
        let (sum, times) = (Mutex::default(), ThreadTimes::default());
        let flow = Numbers { shared: Shared::new(0), bad, sum, times };
        let outcome = run(&flow, FOUR, &|| watch);
        if outcome.is_ok() {
            assert_eq!(flow.times.spread().map(|it| it.threads), Some(4), "each thread is timed");
        }
        (outcome, *lock(&flow.sum))
    }

    #[test]
    fn every_task_is_performed_once() {
        let (outcome, sum) = numbers(None, Ok(()));
        assert_eq!((outcome.is_ok(), sum), (true, NUMBERS * (NUMBERS + 1) / 2));
    }

    #[test]
    fn the_first_failure_is_that_of_the_flow() {
        let (outcome, _) = numbers(Some(7), Ok(()));
        assert!(matches!(outcome, Err(Stopped::Panic(message)) if message == "bad"));
    }

    #[test]
    fn a_flow_is_interrupted_from_outside() {
        assert!(matches!(numbers(None, Err(Interrupted)).0, Err(Stopped::Interrupted(_))));
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use crate::schedule::{Fetch, Fetches, InOrder};
    use loom::sync::Arc;

    /// The scheduler that all flows are like: blocks are claimed in turn, fetched in any order and
    /// handed on in order; no more than one waits for the one before it.
    #[derive(Default)]
    struct Blocks {
        claimed: u64,
        fetches: Fetches,
        order: InOrder<u64>,
        handed_on: Vec<u64>,
    }

    const BLOCKS: u64 = 2;

    impl Blocks {
        fn next(&mut self) -> Result<Fetch<u64>, Idle> {
            if !self.fetches.may_start() || self.order.early() > 0 {
                return Err(if self.fetches.are_over() { Idle::Finished } else { Idle::Wait });
            }
            self.fetches.start();
            let claimed = self.claimed;
            self.claimed += 1;
            Ok(if claimed < BLOCKS { Fetch::Block(claimed) } else { Fetch::End })
        }

        fn fetched(&mut self, fetched: Fetch<u64>) {
            if let Some(block) = self.fetches.finish(fetched) {
                self.order.push(block, block);
                self.handed_on.extend(std::iter::from_fn(|| self.order.pop()));
            }
        }
    }

    /// Two workers: nobody sleeps on a task that is there, all blocks are handed on in order.
    #[test]
    fn workers_take_all_blocks_and_end() {
        // As many switches as Musuvathi and Qadeer (PLDI 2007) found to be enough for bugs.
        let mut bounded = loom::model::Builder::new();
        bounded.preemption_bound = Some(3);
        bounded.check(|| {
            let shared = Arc::new(Shared::<Blocks, Stopped>::new(Blocks::default()));
            let work = |shared: &Shared<Blocks, Stopped>| {
                while let Some(claim) = shared.next_task(Blocks::next) {
                    shared.scheduler.update(|blocks| blocks.fetched(claim));
                }
            };
            let other = shared.clone();
            let worker = loom::thread::spawn(move || work(&other));
            work(&shared);
            worker.join().unwrap();
            assert_eq!(shared.scheduler.lock().handed_on, [0, 1]);
        });
    }

    /// A failure reaches a worker that waits for a block that never comes.
    #[test]
    fn a_failure_ends_who_waits() {
        loom::model(|| {
            let shared = Arc::new(Shared::<Blocks, Stopped>::new(Blocks::default()));
            shared.scheduler.lock().order.push(1, 1);
            let other = shared.clone();
            let worker = loom::thread::spawn(move || other.next_task(Blocks::next).is_none());
            shared.failure.set(Stopped::ByAnother);
            shared.scheduler.wake_all();
            assert!(worker.join().unwrap());
        });
    }
}
