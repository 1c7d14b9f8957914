//! The model: threads that take reads from one place, work on them alone, and give results to
//! another. A closed network of one delay and a few stations where one thread is served at a time.
//!
//! A station is a lock with what is done under it. Its service is `body` (per read) and one
//! hand-over (per acquisition), which grows with the threads that wait: linearly for locks on
//! which all spin on one line (Boyd-Wickizer et al. 2012), hardly for queues (MCS), at once and
//! then no more for locks whose waiters sleep.
//!
//! [`System::throughput`] solves the network in product form (Buzen's convolution, which gives what
//! mean value analysis gives): exact for delays of any distribution and exponential services whose
//! mean may depend on the queue; [`super::simulate`] has no such limits.

/// What one hand-over costs, by the number of threads that wait.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct HandOver {
    /// Paid at each acquisition: the lock's line and those of the data are in another core.
    pub(crate) base_ns: f64,
    /// Added for each thread that waits.
    pub(crate) per_waiter_ns: f64,
    /// Waiting threads beyond these cost nothing more: hardware threads of one core share a cache.
    pub(crate) most_waiters: f64,
    /// Added where waiters sleep and must be woken.
    pub(crate) wake_ns: f64,
    /// Waiting threads from which on every acquisition pays the wake-up in full; below them the
    /// share grows with the square, since a thread that comes by takes the lock first.
    pub(crate) wake_from: f64,
}

impl HandOver {
    /// The same cost however many wait: a queue of threads that each spin on a line of their own.
    #[must_use]
    pub(crate) const fn constant(base_ns: f64) -> Self {
        Self { base_ns, per_waiter_ns: 0.0, most_waiters: 0.0, wake_ns: 0.0, wake_from: 1.0 }
    }

    /// Cost with so many threads waiting, the next holder included.
    #[must_use]
    pub(crate) fn cost_ns(&self, waiting: f64) -> f64 {
        let woken = (waiting / self.wake_from.max(1.0)).min(1.0);
        self.base_ns
            + self.per_waiter_ns * waiting.min(self.most_waiters)
            + self.wake_ns * woken * woken
    }
}

/// A lock, or a line of memory that is changed by one thread at a time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Station {
    /// What it is, for the report.
    pub(crate) name: &'static str,
    /// Time under it per read.
    pub(crate) body_ns: f64,
    /// Reads per acquisition.
    pub(crate) batch: u32,
    /// What an acquisition costs.
    pub(crate) hand_over: HandOver,
    /// How many there are of it, used in turn: stripes of an output, memories of nodes.
    pub(crate) copies: u32,
}

impl Station {
    /// Service of one read while so many threads wait for it.
    #[must_use]
    pub(crate) fn service_ns(&self, waiting: f64) -> f64 {
        self.body_ns + self.hand_over.cost_ns(waiting) / f64::from(self.batch.max(1))
    }
}

/// Threads, what they do alone, and what they do one at a time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct System {
    /// How many threads.
    pub(crate) threads: u32,
    /// Time per read that needs nobody else.
    pub(crate) delay_ns: f64,
    /// Stations, in the order in which a read meets them; all but the first behind the delay.
    pub(crate) stations: Vec<Station>,
}

impl System {
    /// Reads per second, in product form. Time grows with the square of the threads.
    #[must_use]
    pub(crate) fn throughput(&self) -> f64 {
        let threads = self.threads.max(1) as usize;
        let mut weights = series(threads, |n| self.delay_ns / n as f64);
        for station in &self.stations {
            // Copies are separate stations, each met by its share of the reads.
            let share = 1.0 / f64::from(station.copies.max(1));
            let one = series(threads, |n| station.service_ns(n as f64 - 1.0) * share);
            for _ in 0..station.copies.max(1) {
                weights = convolved(&weights, &one);
            }
        }
        let (all, but_one) = (weights[threads], weights[threads - 1]);
        if all.part > 0.0 {
            but_one.part / all.part * ((but_one.power - all.power) as f64).exp2() * 1e9
        } else {
            0.0
        }
    }
}

/// `part` times two to the `power`. Weights of a thousand threads are beyond what a float holds,
/// above or below, and no one scale fits all weights of a network.
#[derive(Debug, Clone, Copy)]
struct Scaled {
    /// From 1 to 2, or 0.
    part: f64,
    power: i64,
}

/// The power of 0: below all others, so that it is never the largest of a sum.
const POWER_OF_ZERO: i64 = i64::MIN / 4;
/// Smaller terms of a sum do not change it.
const LEAST_POWER: i64 = -100;

impl Scaled {
    fn new(part: f64, power: i64) -> Self {
        if part == 0.0 {
            return Self { part, power: POWER_OF_ZERO };
        }
        let own = ((part.to_bits() >> 52) & 0x7ff) as i64 - 1023;
        let own = own.clamp(-1022, 1022);
        Self { part: part * power_of_two(-own), power: power + own }
    }
}

/// Two to a power that a float has.
fn power_of_two(power: i64) -> f64 {
    f64::from_bits(((1023 + power.clamp(-1022, 1023)) as u64) << 52)
}

/// 1 and the products of the factors 1 to n, for each n.
fn series(most: usize, factor: impl Fn(usize) -> f64) -> Vec<Scaled> {
    let mut product = Scaled::new(1.0, 0);
    let mut all = vec![product];
    all.extend((1..=most).map(|n| {
        product = Scaled::new(product.part * factor(n), product.power);
        product
    }));
    all
}

fn convolved(left: &[Scaled], right: &[Scaled]) -> Vec<Scaled> {
    let sum = |n: usize| {
        let pairs = || left.iter().zip(right[..=n].iter().rev());
        let largest = pairs().map(|(a, b)| a.power + b.power).max().unwrap_or(0);
        let term = |(a, b): (&Scaled, &Scaled)| {
            let power = a.power + b.power - largest;
            if power < LEAST_POWER { 0.0 } else { a.part * b.part * power_of_two(power) }
        };
        Scaled::new(pairs().map(term).sum(), largest)
    };
    (0..left.len()).map(sum).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// One lock behind a delay.
    pub(in crate::predict) fn one_lock(threads: u32, delay_ns: f64, body_ns: f64) -> System {
        let station = Station {
            name: "input",
            body_ns,
            batch: 1,
            hand_over: HandOver::constant(0.0),
            copies: 1,
        };
        System { threads, delay_ns, stations: vec![station] }
    }

    fn near(value: f64, expected: f64, share: f64) {
        assert!((value / expected - 1.0).abs() <= share, "{value}, expected {expected}");
    }

    #[test]
    fn one_thread_takes_the_sum_of_all() {
        let mut system = one_lock(1, 900.0, 100.0);
        near(system.throughput(), 1e6, 1e-9);
        system.stations[0].hand_over = HandOver::constant(64.0);
        system.stations[0].batch = 32;
        near(system.throughput(), 1e9 / 1002.0, 1e-9);
    }

    #[test]
    fn many_threads_are_as_fast_as_the_slowest_station() {
        for threads in [64, 256, 512] {
            near(one_lock(threads, 900.0, 100.0).throughput(), 1e7, 1e-6);
        }
        // Amdahl: 1 % in the lock is a speed-up of 100 at most.
        let speed_up =
            |n| one_lock(n, 99.0, 1.0).throughput() / one_lock(1, 99.0, 1.0).throughput();
        near(speed_up(4096), 100.0, 1e-3);
        assert!(speed_up(50) < 50.0 && speed_up(50) > 40.0);
    }

    /// Mean value analysis of one station (Reiser and Lavenberg 1980).
    fn mean_value_analysis(threads: u32, delay: f64, service: f64) -> f64 {
        let mut queue = 0.0;
        let mut rate = 0.0;
        for n in 1..=threads {
            let time = service * (1.0 + queue);
            rate = f64::from(n) / (delay + time);
            queue = rate * time;
        }
        rate * 1e9
    }

    #[test]
    fn the_convolution_is_mean_value_analysis() {
        for (threads, delay, service) in
            [(1, 50.0, 7.0), (5, 100.0, 20.0), (40, 900.0, 100.0), (300, 1e5, 400.0)]
        {
            let expected = mean_value_analysis(threads, delay, service);
            near(one_lock(threads, delay, service).throughput(), expected, 1e-9);
        }
    }

    #[test]
    fn a_long_delay_and_many_threads_do_not_overflow() {
        let rate = one_lock(512, 1e9, 1.0).throughput();
        near(rate, 512.0, 1e-3);
    }

    #[test]
    fn thousands_of_threads_at_several_stations_are_no_different() {
        // N threads at K equal stations and nowhere else: N / (N + K - 1) of one station's rate.
        for (stations, body_ns) in [(2, 100.0), (3, 1e-3), (3, 1e6)] {
            let mut system = one_lock(4000, 0.0, body_ns);
            system.stations = vec![system.stations[0].clone(); stations];
            let share = 4000.0 / (4000.0 + stations as f64 - 1.0);
            near(system.throughput(), share * 1e9 / body_ns, 1e-9);
        }
        // All in their delay; and all but a few at the slower of two.
        for (delay_ns, expected) in [(1e9, 4000.0), (1000.0, 1e7)] {
            let mut system = one_lock(4000, delay_ns, 100.0);
            system.stations.push(Station { body_ns: 50.0, ..system.stations[0].clone() });
            near(system.throughput(), expected, 1e-3);
        }
    }

    #[test]
    fn hand_overs_grow_by_their_law() {
        let spin = HandOver {
            base_ns: 10.0,
            per_waiter_ns: 5.0,
            most_waiters: 20.0,
            ..HandOver::constant(0.0)
        };
        assert_eq!([0.0, 1.0, 20.0, 90.0].map(|n| spin.cost_ns(n)), [10.0, 15.0, 110.0, 110.0]);
        let sleep = HandOver { wake_ns: 100.0, wake_from: 10.0, ..HandOver::constant(1.0) };
        assert_eq!([0.0, 5.0, 10.0, 50.0].map(|n| sleep.cost_ns(n)), [1.0, 26.0, 101.0, 101.0]);
    }

    #[test]
    fn a_lock_whose_cost_grows_makes_more_threads_slower() {
        let with = |threads, per_waiter_ns| {
            let mut system = one_lock(threads, 1000.0, 50.0);
            system.stations[0].hand_over.per_waiter_ns = per_waiter_ns;
            system.stations[0].hand_over.most_waiters = 1e9;
            system.throughput()
        };
        assert!(with(64, 5.0) < 0.5 * with(18, 5.0));
        assert!(with(64, 0.0) > with(18, 0.0));
    }

    #[test]
    fn copies_share_the_load() {
        let mut system = one_lock(200, 1000.0, 100.0);
        system.stations[0].copies = 4;
        // Four exponential servers: close to four times one, and never more.
        let rate = system.throughput();
        assert!(rate > 0.85 * 4e7 && rate <= 4e7, "{rate}");
    }
}
