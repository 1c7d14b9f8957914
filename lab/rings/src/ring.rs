//! A queue from one thread to one other, without locks (Lamport 1983; with the indices apart and
//! each side keeping what it last saw of the other's, as in FastFlow and MCRingBuffer).
//!
//! Neither side waits: a full ring refuses, an empty one has nothing. Who wants to wait does so
//! with a [`WakeUp`](crate::wake_up::WakeUp).
//!
//! Invariants: `taken <= put <= taken + slots`; a slot between `taken` and `put` is full and the
//! receiver's, any other is empty and the sender's; each index is written by one side only. There
//! is one sender and one receiver, because neither can be copied and both change themselves.
#![allow(unsafe_code)]

use std::num::NonZeroUsize;

#[cfg(loom)]
use loom::{
    cell::UnsafeCell,
    sync::Arc,
    sync::atomic::{AtomicUsize, Ordering},
};
#[cfg(not(loom))]
use std::{
    sync::Arc,
    sync::atomic::{AtomicUsize, Ordering},
};

/// The standard library's cell with the interface of loom's, which sees concurrent access.
#[cfg(not(loom))]
struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

#[cfg(not(loom))]
impl<T> UnsafeCell<T> {
    fn new(value: T) -> Self {
        Self(std::cell::UnsafeCell::new(value))
    }

    /// Calls `with` with a pointer to the value, to be used as the only one meanwhile.
    fn with_mut<R>(&self, with: impl FnOnce(*mut T) -> R) -> R {
        with(self.0.get())
    }
}

/// On cache lines of its own: two lines, because processors fetch them in pairs.
#[repr(align(128))]
struct Padded<T>(T);

struct Ring<T> {
    slots: Box<[UnsafeCell<Option<T>>]>,
    /// How many items were put, ever; written by the sender.
    put: Padded<AtomicUsize>,
    /// How many items were taken, ever; written by the receiver.
    taken: Padded<AtomicUsize>,
}

// SAFETY: a slot is reached by the side whose it is (invariants above), so by one thread at a time;
// items move from thread to thread, hence `Send`.
unsafe impl<T: Send> Sync for Ring<T> {}

impl<T> Ring<T> {
    /// Puts into a slot or takes out of it.
    ///
    /// # Safety
    /// The slot of that number is the caller's side's.
    unsafe fn exchange(&self, number: usize, item: Option<T>) -> Option<T> {
        let slot = &self.slots[number & (self.slots.len() - 1)];
        // SAFETY: the slot is the caller's, so nobody else uses the pointer meanwhile.
        slot.with_mut(|slot| unsafe { std::mem::replace(&mut *slot, item) })
    }
}

/// The end that puts.
pub struct Sender<T> {
    ring: Arc<Ring<T>>,
    put: usize,
    /// What was last seen of the receiver's index: it may have taken more since.
    seen_taken: usize,
}

/// The end that takes.
pub struct Receiver<T> {
    ring: Arc<Ring<T>>,
    taken: usize,
    /// What was last seen of the sender's index: it may have put more since.
    seen_put: usize,
}

/// A ring for at least `capacity` items: the next power of two.
#[must_use]
pub fn ring<T: Send>(capacity: NonZeroUsize) -> (Sender<T>, Receiver<T>) {
    let slots = capacity.get().next_power_of_two();
    let ring = Arc::new(Ring {
        slots: (0..slots).map(|_| UnsafeCell::new(None)).collect(),
        put: Padded(AtomicUsize::new(0)),
        taken: Padded(AtomicUsize::new(0)),
    });
    let sender = Sender { ring: ring.clone(), put: 0, seen_taken: 0 };
    (sender, Receiver { ring, taken: 0, seen_put: 0 })
}

impl<T: Send> Sender<T> {
    /// Puts an item.
    ///
    /// # Errors
    /// The item, if the ring is full.
    pub fn try_send(&mut self, item: T) -> Result<(), T> {
        let is_full =
            |sender: &Self| sender.put.wrapping_sub(sender.seen_taken) == sender.ring.slots.len();
        if is_full(self) {
            // Acquire: what the receiver did with the slots it has emptied.
            self.seen_taken = self.ring.taken.0.load(Ordering::Acquire);
            if is_full(self) {
                return Err(item);
            }
        }
        // SAFETY: the ring is not full, so the slot after the last one put is the sender's.
        unsafe { self.ring.exchange(self.put, Some(item)) };
        self.put = self.put.wrapping_add(1);
        // Release: the item.
        self.ring.put.0.store(self.put, Ordering::Release);
        Ok(())
    }
}

impl<T: Send> Receiver<T> {
    /// Takes the oldest item, if there is one.
    pub fn try_receive(&mut self) -> Option<T> {
        if self.taken == self.seen_put {
            // Acquire: the items.
            self.seen_put = self.ring.put.0.load(Ordering::Acquire);
            if self.taken == self.seen_put {
                return None;
            }
        }
        // SAFETY: this slot was put and not taken, so it is the receiver's.
        let item = unsafe { self.ring.exchange(self.taken, None) };
        self.taken = self.taken.wrapping_add(1);
        // Release: the slot is empty before the sender finds it so.
        self.ring.taken.0.store(self.taken, Ordering::Release);
        item
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::wake_up::WakeUp;

    fn of<T: Send>(capacity: usize) -> (Sender<T>, Receiver<T>) {
        ring(NonZeroUsize::MIN.saturating_add(capacity - 1))
    }

    #[test]
    fn a_full_ring_refuses_and_an_empty_one_has_nothing() {
        let (mut sender, mut receiver) = of(3);
        assert_eq!(receiver.try_receive(), None);
        for round in 0..3 {
            let items = round * 10..round * 10 + 4;
            items.clone().for_each(|item| sender.try_send(item).unwrap());
            assert_eq!(sender.try_send(99), Err(99));
            assert!(items.map(Some).eq((0..4).map(|_| receiver.try_receive())));
            assert_eq!(receiver.try_receive(), None);
        }
    }

    #[test]
    fn indices_may_wrap() {
        let (mut sender, mut receiver) = of(2);
        let near_end = usize::MAX - 1;
        (sender.put, sender.seen_taken) = (near_end, near_end);
        (receiver.taken, receiver.seen_put) = (near_end, near_end);
        sender.ring.put.0.store(near_end, Ordering::Relaxed);
        sender.ring.taken.0.store(near_end, Ordering::Relaxed);
        for item in 0..8 {
            sender.try_send(item).unwrap();
            sender.try_send(item + 100).unwrap();
            assert_eq!(sender.try_send(7), Err(7));
            assert_eq!(receiver.try_receive(), Some(item));
            assert_eq!(receiver.try_receive(), Some(item + 100));
        }
    }

    #[test]
    fn what_nobody_took_is_dropped_with_the_ring() {
        let item = Arc::new(());
        let (mut sender, mut receiver) = of(4);
        (0..3).for_each(|_| sender.try_send(item.clone()).unwrap());
        drop(receiver.try_receive());
        drop(sender);
        assert_eq!(Arc::strong_count(&item), 3);
        drop(receiver);
        assert_eq!(Arc::strong_count(&item), 1);
    }

    #[test]
    fn a_million_items_arrive_in_order() {
        const ITEMS: u64 = 1_000_000;
        let (mut sender, mut receiver) = of(16);
        let (filled, emptied) = (WakeUp::default(), WakeUp::default());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for item in (0..ITEMS).map(Box::new) {
                    let mut waiting = Some(item);
                    emptied.wait_for(|| {
                        waiting = sender.try_send(waiting.take()?).err();
                        waiting.is_none().then_some(())
                    });
                    filled.wake_all();
                }
            });
            for expected in 0..ITEMS {
                assert_eq!(*filled.wait_for(|| receiver.try_receive()), expected);
                emptied.wake_all();
            }
        });
        assert!(receiver.try_receive().is_none());
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use crate::wake_up::WakeUp;

    /// Three items through a ring of two: each arrives once, in order, and neither side touches a
    /// slot that is the other's (loom watches the cells). Whoever cannot go on sleeps.
    #[test]
    fn items_arrive_once_and_in_order() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let (mut sender, mut receiver) = ring(NonZeroUsize::new(2).unwrap());
            let wake_ups = Arc::new([WakeUp::default(), WakeUp::default()]);
            let other = wake_ups.clone();
            let sending = loom::thread::spawn(move || {
                for item in 0..3 {
                    other[1].wait_for(|| sender.try_send(item).ok());
                    other[0].wake_all();
                }
            });
            for expected in 0..3 {
                assert_eq!(wake_ups[0].wait_for(|| receiver.try_receive()), expected);
                wake_ups[1].wake_all();
            }
            sending.join().unwrap();
            assert_eq!(receiver.try_receive(), None);
        });
    }

    /// An item that is in the ring when one side goes is dropped once, by whoever goes last.
    #[test]
    fn the_last_one_to_go_drops_what_is_left() {
        loom::model(|| {
            let item = Arc::new(());
            let (mut sender, mut receiver) = ring(NonZeroUsize::new(1).unwrap());
            let sent = item.clone();
            let sending = loom::thread::spawn(move || drop(sender.try_send(sent)));
            drop(receiver.try_receive());
            drop(receiver);
            sending.join().unwrap();
            assert_eq!(Arc::strong_count(&item), 1);
        });
    }
}
