//! The only place that makes threads.
//!
//! [`run`] starts `threads` workers, gives each its index, and returns when all are done. A worker
//! that returns an error or panics stops the others at their next look at the failure latch.
//! [`for_each`] is the loop of workers that take one piece of what is there after the other; what
//! reads an input is a [`flow`](crate::flow).

use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::error::{Class, RunError};
use crate::failure::{Failure, lock};
use crate::machine;

/// A signal, or the caller, stops the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("interrupted")]
pub struct Interrupted;

impl RunError for Interrupted {
    fn class(&self) -> Class {
        Class::Interrupted
    }
}

/// What the calling thread does now and then while workers run: it shows progress, and looks
/// whether the run is interrupted.
pub type Watch<'a> = &'a dyn Fn() -> Result<(), Interrupted>;

/// Why workers were stopped, other than by an error of their work.
#[derive(Debug, thiserror::Error)]
pub enum Stopped {
    /// A worker panicked, or could not be started.
    #[error("{0}")]
    Panic(String),
    /// The run was interrupted from outside.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// Another worker has failed: that error is the run's.
    #[error("another worker has failed")]
    ByAnother,
    /// The input ended although parts of it are missing.
    #[error("the input ended before its last block was delivered")]
    Incomplete,
}

impl RunError for Stopped {
    fn class(&self) -> Class {
        match self {
            Self::Panic(_) | Self::ByAnother | Self::Incomplete => Class::Bug,
            Self::Interrupted(interrupted) => interrupted.class(),
        }
    }
}

/// A thread that the system refuses, for want of memory or because of a limit.
fn not_started(thread: &str, error: &std::io::Error) -> Stopped {
    let limit = match machine::thread_limit() {
        Some(limit) => format!(" (of processes and threads together there may be {limit})"),
        None => String::new(),
    };
    let message = format!("{thread} could not be started: {error}{limit}; ask for fewer with -t");
    Stopped::Panic(message)
}

/// How often the calling thread looks after its workers.
const WATCH_INTERVAL: Duration = Duration::from_millis(200);

/// Runs `work(worker_index)` on `threads` threads and waits for all of them.
///
/// The calling thread sleeps, but for a call of `watch` every 200 ms and one at the end of work
/// that has not failed, which may interrupt the run.
/// `failure` is shared with whatever the workers wait on: `wake` is called once after it is set, so
/// that parked workers look at it.
///
/// # Errors
/// The first error or panic of any worker, or [`Stopped::Interrupted`].
pub fn run<E, W>(
    threads: NonZeroUsize,
    failure: &Failure<E>,
    wake: impl Fn() + Sync,
    watch: Watch<'_>,
    work: W,
) -> Result<(), E>
where
    E: From<Stopped> + Send,
    W: Fn(usize) -> Result<(), E> + Sync,
{
    let fail = |error: E| {
        failure.set(error);
        wake();
    };
    let running = Running::new(threads.get());
    let guarded = |index: usize| {
        match catch_unwind(AssertUnwindSafe(|| work(index))) {
            Ok(Ok(())) => {}
            Ok(Err(error)) => fail(error),
            Err(payload) => fail(Stopped::Panic(panic_message(&*payload)).into()),
        }
        running.one_less();
    };
    std::thread::scope(|scope| {
        let guarded = &guarded;
        let started = start_all(threads.get(), |index| {
            let thread = std::thread::Builder::new().name(format!("seqloom-{index}"));
            thread.spawn_scoped(scope, move || guarded(index)).map(drop)
        });
        if let Err(NotStarted { started, error }) = started {
            let thread = format!("thread {} of {threads}", started + 1);
            fail(not_started(&thread, &error).into());
            running.less(threads.get() - started);
        }
        loop {
            let goes_on = running.wait(WATCH_INTERVAL);
            if (goes_on || !failure.stopped())
                && let Err(interrupted) = watch()
            {
                fail(Stopped::from(interrupted).into());
            }
            if !goes_on {
                break;
            }
        }
    });
    failure.take().map_or(Ok(()), Err)
}

/// Hands each of `items` to one of `threads` workers, in turn, until there is none or the work has
/// failed; no more workers than items are started. Gives what they have worked with, in no order:
/// where each has counted for itself, that is to be summed.
///
/// Items should be worth a lock each: their iterator is behind one. `watch` is [`run`]'s.
///
/// # Errors
/// The first error or panic of any worker, or [`Stopped::Interrupted`].
pub fn for_each<I, W, E>(
    threads: NonZeroUsize,
    items: I,
    watch: Watch<'_>,
    worker: impl Fn(usize) -> Result<W, E> + Sync,
    work: impl Fn(&mut W, I::Item) -> Result<(), E> + Sync,
) -> Result<Vec<W>, E>
where
    I: Iterator + Send,
    W: Send,
    E: From<Stopped> + Send,
{
    let most = items.size_hint().1.map(|most| NonZeroUsize::new(most).unwrap_or(NonZeroUsize::MIN));
    let threads = most.map_or(threads, |most| threads.min(most));
    let items = Mutex::new(items);
    take_all(threads, || lock(&items).next(), || (), watch, worker, work)
}

/// The loop of [`for_each`], wherever items come from: `next` gives one, or nothing when there is
/// no more. `wake` ends those who wait in it when the work has failed.
pub(crate) fn take_all<I, W, E>(
    threads: NonZeroUsize,
    next: impl Fn() -> Option<I> + Sync,
    wake: impl Fn() + Sync,
    watch: Watch<'_>,
    worker: impl Fn(usize) -> Result<W, E> + Sync,
    work: impl Fn(&mut W, I) -> Result<(), E> + Sync,
) -> Result<Vec<W>, E>
where
    W: Send,
    E: From<Stopped> + Send,
{
    let (workers, failure) = (Mutex::new(Vec::new()), Failure::<E>::default());
    let item = || if failure.stopped() { None } else { next() };
    let work = |index| {
        let mut own = worker(index)?;
        while let Some(item) = item() {
            work(&mut own, item)?;
        }
        lock(&workers).push(own);
        Ok(())
    };
    run(threads, &failure, wake, watch, work)?;
    Ok(workers.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Number of threads that were started, and the error.
#[derive(Debug)]
struct NotStarted {
    /// Threads that were started.
    started: usize,
    error: std::io::Error,
}

/// Starts threads 0 to `count`, up to the first that cannot be started: a limit that stops one
/// stops those after it, too.
fn start_all(
    count: usize,
    mut start: impl FnMut(usize) -> std::io::Result<()>,
) -> Result<(), NotStarted> {
    (0..count)
        .try_for_each(|index| start(index).map_err(|error| NotStarted { started: index, error }))
}

/// Runs `work` on a thread of its own and waits for it: for what changes the thread it runs on.
///
/// # Errors
/// When the thread panics or cannot be started.
pub fn run_one<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, Stopped> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("seqloom-one".to_owned());
        let thread =
            thread.spawn_scoped(scope, work).map_err(|error| not_started("a thread", &error))?;
        thread.join().map_err(|payload| Stopped::Panic(panic_message(&*payload)))
    })
}

/// Counts workers down to zero.
struct Running {
    workers: Mutex<usize>,
    all_done: Condvar,
}

impl Running {
    fn new(workers: usize) -> Self {
        Self { workers: Mutex::new(workers), all_done: Condvar::new() }
    }

    fn one_less(&self) {
        self.less(1);
    }

    fn less(&self, workers: usize) {
        *lock(&self.workers) -= workers;
        self.all_done.notify_one();
    }

    /// Waits at most `time`; whether any worker still runs.
    fn wait(&self, time: Duration) -> bool {
        let waited = self.all_done.wait_timeout_while(lock(&self.workers), time, |w| *w > 0);
        *waited.unwrap_or_else(PoisonError::into_inner).0 > 0
    }
}

fn panic_message(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|s| (*s).to_owned());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    format!("a worker panicked: {}", text.as_deref().unwrap_or("no message"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    const FOUR: NonZeroUsize = NonZeroUsize::new(4).unwrap();

    fn nothing_to_watch() -> Result<(), Interrupted> {
        Ok(())
    }

    /// What a run says that a panic, or what looks like one, has stopped.
    fn message(outcome: Result<(), Stopped>) -> String {
        match outcome.unwrap_err() {
            Stopped::Panic(message) => message,
            other => panic!("{other}"),
        }
    }

    #[test]
    fn every_worker_runs_once() {
        let sum = AtomicUsize::new(0);
        let failure = Failure::<Stopped>::default();
        run(
            FOUR,
            &failure,
            || (),
            &nothing_to_watch,
            |i| {
                sum.fetch_add(i + 1, Ordering::Relaxed);
                Ok(())
            },
        )
        .unwrap();
        assert_eq!(sum.into_inner(), 10);
    }

    #[test]
    fn the_first_thread_that_cannot_be_started_is_the_last_that_is_tried() {
        let mut tried = 0;
        let start = |index| {
            tried += 1;
            let refused = std::io::Error::from_raw_os_error(libc::EAGAIN);
            if index < 7 { Ok(()) } else { Err(refused) }
        };
        let stopped = start_all(4096, start).unwrap_err();
        assert_eq!((tried, stopped.started), (8, 7));
        let said = not_started("thread 8 of 4096", &stopped.error).to_string();
        for words in ["thread 8 of 4096", "temporarily unavailable", "may be", "with -t"] {
            assert!(said.contains(words), "{said}");
        }
    }

    #[test]
    fn one_thread_gives_its_result_or_its_panic() {
        assert_eq!(run_one(|| 7).unwrap(), 7);
        let fallen = run_one(|| assert!(std::hint::black_box(false), "it fell over"));
        assert_eq!(message(fallen), "a worker panicked: it fell over");
    }

    #[test]
    fn every_item_is_taken_once_by_no_more_workers_than_there_are_items() {
        fn t(items: u32, most_workers: usize) {
            let add = |sum: &mut u32, item| {
                *sum += item;
                Ok::<(), Stopped>(())
            };
            let sums = for_each(FOUR, 0..items, &nothing_to_watch, |_| Ok(0), add).unwrap();
            assert_eq!(sums.len(), most_workers, "{items}");
            assert_eq!(sums.iter().sum::<u32>(), (0..items).sum::<u32>());
        }
        t(0, 1);
        t(3, 3);
        t(1000, 4);
    }

    #[test]
    fn no_item_is_taken_after_a_failure() {
        let endless = std::iter::repeat(());
        let work = |taken: &mut u32, ()| {
            *taken += 1;
            if *taken == 7 { Err(Stopped::Panic("no disk".to_owned())) } else { Ok(()) }
        };
        let outcome = for_each(FOUR, endless, &nothing_to_watch, |_| Ok(0), work);
        assert_eq!(message(outcome.map(drop)), "no disk");
    }

    #[test]
    fn a_panic_becomes_the_error_of_the_run() {
        let failure = Failure::<Stopped>::default();
        let outcome = run(
            FOUR,
            &failure,
            || (),
            &nothing_to_watch,
            |i| {
                assert!(i != 2, "worker two fell over");
                Ok(())
            },
        );
        assert_eq!(message(outcome), "a worker panicked: worker two fell over");
    }

    #[test]
    fn an_error_of_one_worker_wakes_those_who_wait() {
        let failure = Failure::<Stopped>::default();
        let monitor = crate::monitor::Monitor::new(());
        let outcome = run(
            FOUR,
            &failure,
            || monitor.wake_all(),
            &nothing_to_watch,
            |i| {
                if i == 3 {
                    return Err(Stopped::Panic("no disk".to_owned()));
                }
                monitor.wait_for(|()| failure.stopped().then_some(()));
                Ok(())
            },
        );
        assert_eq!(message(outcome), "no disk");
    }

    #[test]
    fn work_of_no_time_is_looked_at_too() {
        let failure = Failure::<Stopped>::default();
        let looks = AtomicUsize::new(0);
        let look = || {
            looks.fetch_add(1, Ordering::Relaxed);
            Ok(())
        };
        run(FOUR, &failure, || (), &look, |_| Ok(())).unwrap();
        assert!(looks.into_inner() > 0);
    }

    #[test]
    fn the_watch_interrupts_the_workers() {
        let failure = Failure::<Stopped>::default();
        let outcome = run(
            FOUR,
            &failure,
            || (),
            &|| Err(Interrupted),
            |_| {
                while !failure.stopped() {
                    std::thread::yield_now();
                }
                Ok(())
            },
        );
        assert!(matches!(outcome, Err(Stopped::Interrupted(_))));
    }
}
