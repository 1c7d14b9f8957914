//! Every lock with far more threads than cores: exclusion, an end in bounded time, and who gets it.

use std::sync::Barrier;
use std::time::{Duration, Instant};

use seqloom_locks::{HandOffs, Kind, Lock, fairness, node, waits_of_this_thread};

const THREADS: usize = 64;
/// Each run takes some 10 ms on two idle cores; a hang or a lost wake-up takes for ever.
const BOUND: Duration = Duration::from_secs(60);

struct Shared {
    /// Plain numbers that a race would tear apart.
    words: [u64; 8],
    hand_offs: HandOffs,
    tried: u64,
}

/// `threads` threads of `nodes` nodes take the lock `rounds` times each.
fn run(kind: Kind, threads: usize, nodes: usize, rounds: u64) {
    let shared = Shared { words: [0; 8], hand_offs: HandOffs::default(), tried: 0 };
    let lock = Lock::new(kind.build(nodes), shared);
    let start = Barrier::new(threads);
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (lock, start) = (&lock, &start);
            scope.spawn(move || {
                node::set_of_this_thread(thread % nodes);
                start.wait();
                for _ in 0..rounds {
                    lock.with(|shared| {
                        let before = shared.words[0];
                        assert!(shared.words.iter().all(|&word| word == before));
                        shared.words.iter_mut().for_each(|word| *word += 1);
                        shared.hand_offs.record(thread, thread % nodes);
                    });
                    if thread % 8 == 0
                        && let Some(mut shared) = lock.try_lock()
                    {
                        shared.tried += 1;
                    }
                }
            });
        }
    });
    assert!(begun.elapsed() < BOUND, "{kind:?}: {:?}", begun.elapsed());
    let shared = lock.into_inner();
    let total = threads as u64 * rounds;
    assert_eq!(shared.words, [total; 8], "{kind:?}");
    assert_eq!(shared.hand_offs.acquisitions, total, "{kind:?}");
    assert!(shared.tried <= total, "{kind:?}");
}

#[test]
fn holders_exclude_each_other_with_64_threads() {
    for kind in Kind::ALL {
        run(kind, THREADS, 4, 200);
    }
}

#[test]
fn few_threads_many_rounds() {
    for kind in Kind::ALL {
        run(kind, 3, 2, 20_000);
    }
}

#[test]
fn queues_are_fair() {
    for kind in [Kind::Ticket, Kind::Mcs, Kind::McsParking] {
        let (_, shares) = queued(kind, 8, 1, 300);
        assert!(fairness(&shares) > 0.8, "{kind:?}: {shares:?}");
    }
}

/// With a long queue, first come first served changes nodes 3 times of 4; NUMA-aware locks seldom.
#[test]
fn numa_aware_locks_stay_on_a_node() {
    let changes = |kind| {
        let (hand_offs, _) = queued(kind, 16, 4, 100);
        hand_offs.other_node as f64 / hand_offs.acquisitions as f64
    };
    let fifo = changes(Kind::McsParking);
    for kind in [Kind::CohortParking, Kind::CnaParking] {
        let aware = changes(kind);
        assert!(aware * 3.0 < fifo, "{kind:?}: {aware} of acquisitions, FIFO {fifo}");
    }
}

/// As [`run`], with holders that sleep for a moment, so that all others queue up. What was counted,
/// and how often each thread had the lock before the first was done.
fn queued(kind: Kind, threads: usize, nodes: usize, rounds: u64) -> (HandOffs, Vec<u64>) {
    let shared = (HandOffs::default(), vec![0; threads], false);
    let lock = Lock::new(kind.build(nodes), shared);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let lock = &lock;
            scope.spawn(move || {
                node::set_of_this_thread(thread % nodes);
                for _ in 0..rounds {
                    lock.with(|(hand_offs, shares, over)| {
                        hand_offs.record(thread, thread % nodes);
                        shares[thread] += u64::from(!*over);
                        *over |= shares[thread] == rounds;
                        std::thread::sleep(Duration::from_micros(20));
                    });
                }
            });
        }
    });
    let (hand_offs, shares, _) = lock.into_inner();
    (hand_offs, shares)
}

#[test]
fn waiting_yields_or_parks() {
    for (kind, parks) in [(Kind::Mcs, false), (Kind::McsParking, true), (Kind::TbbSpin, false)] {
        let lock = Lock::new(kind.build(1), ());
        let guard = lock.lock();
        let waits = std::thread::scope(|scope| {
            let waiter = scope.spawn(|| {
                lock.with(|()| {});
                waits_of_this_thread()
            });
            std::thread::sleep(Duration::from_millis(30));
            drop(guard);
            waiter.join().unwrap()
        });
        if parks {
            // A spurious wake-up may add one or two.
            assert!((1..10).contains(&waits.parks) && waits.yields == 0, "{kind:?}: {waits:?}");
        } else {
            assert!(waits.yields > 0 && waits.parks == 0, "{kind:?}: {waits:?}");
        }
    }
}
