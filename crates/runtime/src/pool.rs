//! The only place that makes threads.
//!
//! [`run`] starts `threads` workers, gives each its index, and returns when all are done. A worker
//! that returns an error or panics stops the others at their next look at the failure latch.

use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::failure::Failure;

/// What a worker panicked with, as an error.
#[derive(Debug, thiserror::Error)]
#[error("a worker panicked: {message}")]
pub struct WorkerPanic {
    /// The panic message.
    pub message: String,
}

/// Runs `work(worker_index)` on `threads` threads and waits for all of them.
///
/// `failure` is shared with whatever the workers wait on: `wake` is called once after it is set, so
/// that parked workers look at it.
///
/// # Errors
/// The first error or panic of any worker.
pub fn run<E, W>(
    threads: NonZeroUsize,
    failure: &Failure<E>,
    wake: impl Fn() + Sync,
    work: W,
) -> Result<(), E>
where
    E: From<WorkerPanic> + Send,
    W: Fn(usize) -> Result<(), E> + Sync,
{
    let guarded = |index: usize| {
        let outcome = catch_unwind(AssertUnwindSafe(|| work(index)));
        let error = match outcome {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error,
            Err(payload) => WorkerPanic { message: panic_message(&*payload) }.into(),
        };
        failure.set(error);
        wake();
    };
    std::thread::scope(|scope| {
        let guarded = &guarded;
        // The calling thread sleeps in `scope`, so the number of busy threads is exactly `threads`.
        let spawned = (0..threads.get())
            .map(|index| {
                std::thread::Builder::new()
                    .name(format!("seqloom-{index}"))
                    .spawn_scoped(scope, move || guarded(index))
            })
            .filter(Result::is_err)
            .count();
        if spawned > 0 {
            let message = format!("{spawned} of {threads} threads could not be started");
            failure.set(WorkerPanic { message }.into());
            wake();
        }
    });
    failure.take().map_or(Ok(()), Err)
}

fn panic_message(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|s| (*s).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    const FOUR: NonZeroUsize = NonZeroUsize::new(4).unwrap();

    #[test]
    fn every_worker_runs_once() {
        let sum = AtomicUsize::new(0);
        let failure = Failure::<WorkerPanic>::default();
        run(
            FOUR,
            &failure,
            || (),
            |i| {
                sum.fetch_add(i + 1, Ordering::Relaxed);
                Ok(())
            },
        )
        .unwrap();
        assert_eq!(sum.into_inner(), 10);
    }

    #[test]
    fn a_panic_becomes_the_error_of_the_run() {
        let failure = Failure::<WorkerPanic>::default();
        let outcome = run(
            FOUR,
            &failure,
            || (),
            |i| {
                assert!(i != 2, "worker two fell over");
                Ok(())
            },
        );
        assert_eq!(outcome.unwrap_err().message, "worker two fell over");
    }
}
