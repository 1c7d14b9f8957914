//! Schedules of tasks: blocks are fetched by any worker, in any order, and handed on in the order
//! of the input. State without any thread in it, so that every state is a value that a test can
//! make.
//!
//! A scheduler keeps [`Fetches`], what it needs to put blocks [`InOrder`], and whatever else it
//! knows of its tasks; the workers of a [`flow`](crate::flow) take tasks from it until it is
//! [`Idle::Finished`].

use std::collections::BTreeMap;

/// Result of a fetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fetch<T> {
    /// A piece of the input.
    Block(T),
    /// Others hold all that could be taken now, or a pipe has nothing: try again soon.
    Busy,
    /// Nothing is left to take; others may still be at what they took.
    End,
}

impl<T> Fetch<T> {
    /// The fetch of a changed piece.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Fetch<U> {
        match self {
            Self::Block(piece) => Fetch::Block(change(piece)),
            Self::Busy => Fetch::Busy,
            Self::End => Fetch::End,
        }
    }
}

/// Why a worker got no task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Idle {
    /// Others must finish something first.
    Wait,
    /// All is done.
    Finished,
}

/// Fetches in work, and whether another one may find something.
#[derive(Debug, Default)]
pub struct Fetches {
    in_work: usize,
    is_blocked: bool,
    has_ended: bool,
}

impl Fetches {
    /// Whether a fetch may find something. How far ahead is worth it is the flow's to say.
    #[must_use]
    pub fn may_start(&self) -> bool {
        !self.has_ended && !self.is_blocked
    }

    /// A worker goes to fetch.
    pub fn start(&mut self) {
        self.in_work += 1;
    }

    /// A worker is back; the piece that it brought.
    ///
    /// Who found everything taken waits until another one has come back; if there is no other, only
    /// trying again helps.
    pub fn finish<T>(&mut self, fetched: Fetch<T>) -> Option<T> {
        self.in_work -= 1;
        match fetched {
            Fetch::Block(piece) => {
                self.is_blocked = false;
                Some(piece)
            }
            Fetch::Busy => {
                self.is_blocked = self.in_work > 0;
                None
            }
            Fetch::End => {
                self.has_ended = true;
                None
            }
        }
    }

    /// Nothing more is requested.
    pub fn end(&mut self) {
        self.has_ended = true;
    }

    /// Workers that fetch.
    #[must_use]
    pub fn in_work(&self) -> usize {
        self.in_work
    }

    /// Whether the input has nothing left, or nothing more is requested of it.
    #[must_use]
    pub fn have_ended(&self) -> bool {
        self.has_ended
    }

    /// Whether no piece is to come any more.
    #[must_use]
    pub fn are_over(&self) -> bool {
        self.has_ended && self.in_work == 0
    }
}

/// Pieces that come in any order, each with its number (0, 1, 2, ...), and leave in that order.
#[derive(Debug)]
pub struct InOrder<T> {
    early: BTreeMap<u64, T>,
    next: u64,
}

impl<T> Default for InOrder<T> {
    fn default() -> Self {
        Self { early: BTreeMap::new(), next: 0 }
    }
}

impl<T> InOrder<T> {
    /// A piece is there.
    pub fn push(&mut self, number: u64, piece: T) {
        self.early.insert(number, piece);
    }

    /// The next piece in order, if it is there.
    pub fn pop(&mut self) -> Option<T> {
        let piece = self.early.remove(&self.next)?;
        self.next += 1;
        Some(piece)
    }

    /// Pieces that wait for one before them.
    #[must_use]
    pub fn early(&self) -> usize {
        self.early.len()
    }

    /// Drops them.
    pub fn clear(&mut self) {
        self.early.clear();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// A flow of `pieces`, at most `ahead` of which are fetched or wait.
    struct Flow {
        fetches: Fetches,
        order: InOrder<u64>,
        ahead: usize,
        handed_on: Vec<u64>,
    }

    impl Flow {
        fn new(ahead: usize) -> Self {
            let (fetches, order) = (Fetches::default(), InOrder::default());
            Self { fetches, order, ahead, handed_on: Vec::new() }
        }

        fn next(&mut self) -> Result<(), Idle> {
            let ahead = self.fetches.in_work() + self.order.early();
            if self.fetches.may_start() && ahead < self.ahead {
                self.fetches.start();
                return Ok(());
            }
            Err(if self.fetches.are_over() { Idle::Finished } else { Idle::Wait })
        }

        fn fetched(&mut self, fetched: Fetch<u64>) {
            if let Some(piece) = self.fetches.finish(fetched) {
                self.order.push(piece, piece);
                self.handed_on.extend(std::iter::from_fn(|| self.order.pop()));
            }
        }
    }

    /// What workers can do next: go and claim, or come back with what they claimed.
    fn explore(claimed: u64, busy_left: u32, out: &[Fetch<u64>], flow: &Flow, ends: &mut u64) {
        const PIECES: u64 = 4;
        let copy = || Flow {
            fetches: Fetches { ..flow.fetches },
            order: InOrder { early: flow.order.early.clone(), next: flow.order.next },
            ahead: flow.ahead,
            handed_on: flow.handed_on.clone(),
        };
        let mut going = copy();
        let idle = going.next();
        if idle.is_ok() && out.len() < 3 {
            // A claim is taken or found to be held by another, whoever that is.
            let claim = if claimed < PIECES { Fetch::Block(claimed) } else { Fetch::End };
            let more = [out, &[claim]].concat();
            explore((claimed + 1).min(PIECES), busy_left, &more, &going, ends);
            if busy_left > 0 && !out.is_empty() {
                let more = [out, &[Fetch::Busy]].concat();
                explore(claimed, busy_left - 1, &more, &going, ends);
            }
        }
        for at in 0..out.len() {
            let (mut back, mut rest) = (copy(), out.to_vec());
            back.fetched(rest.remove(at));
            explore(claimed, busy_left, &rest, &back, ends);
        }
        if out.is_empty() && idle.is_err() {
            assert_eq!(idle, Err(Idle::Finished), "nobody is out and nobody may go");
            assert_eq!(flow.handed_on, [0, 1, 2, 3]);
            *ends += 1;
        }
    }

    #[test]
    fn every_order_of_three_workers_hands_all_on_in_order_and_ends() {
        let mut ends = 0;
        explore(0, 2, &[], &Flow::new(3), &mut ends);
        assert!(ends > 10_000, "{ends}");
    }

    #[test]
    fn who_finds_nothing_waits_for_those_who_are_out() {
        let mut fetches = Fetches::default();
        (0..2).for_each(|_| fetches.start());
        assert_eq!(fetches.finish(Fetch::<()>::Busy), None);
        assert!(!fetches.may_start());
        assert_eq!(fetches.finish(Fetch::Block(7)), Some(7));
        assert!(fetches.may_start());
        fetches.start();
        assert_eq!(fetches.finish(Fetch::<()>::Busy), None);
        assert!(fetches.may_start(), "nobody else will wake this one");
    }
}
