//! Many cores: threads, memory, failure, order and time. Knows no biology.
//!
//! * [`pool`]: the only place that makes threads; [`flow`] with [`schedule`]: the loop of their
//!   workers, the next task of a scheduler, performed.
//! * [`order`]: commits in sequence; [`monitor`] and [`turnstile`]: what workers wait on.
//! * [`memory`]: the ledger, and sizes as users write them.
//! * [`failure`]: the first error stops all; [`error`]: what an error means to a user.
//! * [`topology`] and [`placement`]: NUMA nodes, where workers run and memory is.
//! * [`machine`] and [`trace`]: what there is, and where time goes.
//!
//! Workers take numbers in turn, finish them in any order, and one of them commits each in
//! sequence:
//!
//! ```
//! use std::num::NonZeroUsize;
//! use std::sync::Mutex;
//! use std::sync::atomic::{AtomicU64, Ordering};
//!
//! use seqloom_runtime::failure::Failure;
//! use seqloom_runtime::order::Ordered;
//! use seqloom_runtime::pool::{self, Stopped};
//!
//! let (turn, ordered, squares) = (AtomicU64::new(0), Ordered::default(), Mutex::new(Vec::new()));
//! let work = |_worker| -> Result<(), Stopped> {
//!     loop {
//!         // Relaxed: every number is given once, and nothing else goes by it.
//!         let number = turn.fetch_add(1, Ordering::Relaxed);
//!         if number >= 100 {
//!             return Ok(());
//!         }
//!         ordered.deposit(number, number * number, |square| {
//!             squares.lock().unwrap().push(square);
//!             Ok::<(), Stopped>(())
//!         })?;
//!     }
//! };
//! let threads = NonZeroUsize::new(4).unwrap();
//! pool::run(threads, &Failure::default(), || (), &|| true, work).unwrap();
//! assert_eq!(squares.into_inner().unwrap()[9], 81);
//! ```

pub mod error;
pub mod failure;
pub mod flow;
pub mod machine;
pub mod memory;
pub mod monitor;
pub mod order;
pub mod placement;
pub mod pool;
pub mod schedule;
mod sys;
pub mod topology;
pub mod trace;
pub mod turnstile;
