//! Many cores: threads, memory, failure, order and time. Knows no biology.
//!
//! In the order of use:
//!
//! * Sizes: a [`ByteSize`](memory::ByteSize), as users write it;
//!   [`available_cores`](machine::available_cores) and others of [`machine`].
//! * Workers: [`pool::run`], the only place that makes threads; [`pool::for_each`] over what is
//!   there; a [`Flow`](flow::Flow) over what is read, whose scheduler keeps
//!   [`Fetches`](schedule::Fetches) and puts pieces [`InOrder`](schedule::InOrder). They end with
//!   the first error, which a [`Failure`](failure::Failure) keeps: their own, or a
//!   [`Stopped`](pool::Stopped).
//! * Memory: a [`Ledger`](memory::Ledger) and its [`Charge`](memory::Charge)s; a
//!   [`AdmissionControl`](admission::AdmissionControl) admits work while there is some.
//! * Waiting: a [`Monitor`](monitor::Monitor); [`Ordered`](order::Ordered) commits in sequence what
//!   is finished in any order.
//! * NUMA: a [`Topology`](topology::Topology), and the [`Plan`](placement::Plan) of where workers
//!   run and memory is.
//! * What happened: a [`Stage`](trace::Stage) has the time spent, a
//!   [`RunError`](error::RunError) the [`Class`](error::Class) and [`Place`](error::Place) of an
//!   error.
//!
//! A flow squares numbers: each is fetched and squared by any worker, and handed on in order.
//!
//! ```
//! use std::num::NonZeroUsize;
//! use std::sync::Mutex;
//!
//! use seqloom_runtime::flow::{self, Flow, Shared};
//! use seqloom_runtime::order::Ordered;
//! use seqloom_runtime::pool::Stopped;
//! use seqloom_runtime::schedule::Idle;
//!
//! struct Squares {
//!     /// The scheduler: the next number.
//!     shared: Shared<u64, Stopped>,
//!     ordered: Ordered<u64>,
//!     squares: Mutex<Vec<u64>>,
//! }
//!
//! impl Flow for Squares {
//!     type Scheduler = u64;
//!     type Task = u64;
//!     type Worker = ();
//!     type Error = Stopped;
//!
//!     fn shared(&self) -> &Shared<u64, Stopped> {
//!         &self.shared
//!     }
//!
//!     fn worker(&self, _index: usize) -> Result<(), Stopped> {
//!         Ok(())
//!     }
//!
//!     fn next(number: &mut u64) -> Result<u64, Idle> {
//!         *number += 1;
//!         if *number <= 100 { Ok(*number - 1) } else { Err(Idle::Finished) }
//!     }
//!
//!     fn perform(&self, (): &mut (), number: u64) -> Result<(), Stopped> {
//!         self.ordered.deposit(number, number * number, |square| {
//!             self.squares.lock().unwrap().push(square);
//!             Ok(())
//!         })
//!     }
//! }
//!
//! let (shared, ordered) = (Shared::new(0), Ordered::default());
//! let flow = Squares { shared, ordered, squares: Mutex::default() };
//! flow::run(&flow, NonZeroUsize::new(4).unwrap(), &|| Ok(()))?;
//! assert!(flow.squares.into_inner().unwrap().into_iter().eq((0..100).map(|it| it * it)));
//! # Ok::<(), Stopped>(())
//! ```

pub mod admission;
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
