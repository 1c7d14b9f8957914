//! The model run as events: what the product form cannot hold. Threads take several reads at once
//! and give them back one by one or in batches, services are constant or exponential, a hand-over
//! costs what the queue at that moment makes it cost.
//!
//! A function of its arguments and the seed: events of equal time come in the order in which they
//! were made. Queues are first come, first served.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::model::{Station, System};
use crate::random::SplitMix;

/// How times are spread about their means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spread {
    /// All as long: what a test compares with the product form.
    #[cfg(test)]
    Constant,
    /// Exponential: reads differ much in what they cost.
    Exponential,
}

/// How long to run, and from which numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    /// Spread of the time that threads spend alone with a read.
    pub(crate) delay: Spread,
    /// Spread of services.
    pub(crate) service: Spread,
    /// Reads of each thread that are not counted: until queues are what they will be.
    pub(crate) warm_reads: u32,
    /// Reads of each thread that are counted.
    pub(crate) reads: u32,
    /// Where random numbers start.
    pub(crate) seed: u64,
}

/// What a run gave.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Outcome {
    /// Reads per second of all threads.
    pub(crate) reads_per_s: f64,
    /// For each station, the share of the time in which it served somebody (mean of its copies).
    pub(crate) busy: Vec<f64>,
}

/// Times, drawn.
struct Numbers(SplitMix);

impl Numbers {
    /// Above 0, at most 1.
    fn share(&mut self) -> f64 {
        ((self.0.next() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// Sum of `count` times of this mean.
    fn time(&mut self, spread: Spread, mean_ns: f64, count: u32) -> f64 {
        let sum = f64::from(count) * mean_ns;
        match spread {
            #[cfg(test)]
            Spread::Constant => sum,
            // The product of shares is the sum of their logarithms.
            Spread::Exponential if count <= 16 => {
                let product: f64 = (0..count).map(|_| self.share()).product();
                -mean_ns * product.max(f64::MIN_POSITIVE).ln()
            }
            // A sum of many is close to normal, and 12 uniform numbers are close enough to that.
            Spread::Exponential => {
                let normal = (0..12).map(|_| self.share()).sum::<f64>() - 6.0;
                (sum + mean_ns * f64::from(count).sqrt() * normal).max(0.0)
            }
        }
    }
}

/// One copy of a station.
#[derive(Default)]
struct Server {
    holder: Option<usize>,
    queue: VecDeque<usize>,
    busy_ns: f64,
}

/// Where a thread is in its round.
struct Thread {
    /// Index of the station that it is at or goes to next; as many as there are: the delay.
    at: usize,
    /// Copy of that station.
    copy: usize,
    /// Units done so far.
    units: u64,
}

struct Run<'a> {
    system: &'a System,
    plan: Plan,
    /// Reads that are taken through the delay together: the smallest batch.
    unit: u32,
    numbers: Numbers,
    servers: Vec<Vec<Server>>,
    threads: Vec<Thread>,
    events: BinaryHeap<Reverse<(u64, u64, usize)>>,
    made: u64,
    now_ns: f64,
}

/// Events are ordered by whole numbers: sixteenths of a nanosecond.
const TICKS_PER_NS: f64 = 16.0;

/// Runs a system.
#[must_use]
pub(crate) fn simulate(system: &System, plan: Plan) -> Outcome {
    let unit = system.stations.iter().map(|it| it.batch.max(1)).min().unwrap_or(1);
    let copies =
        |station: &Station| (0..station.copies.max(1)).map(|_| Server::default()).collect();
    let threads = system.threads.max(1) as usize;
    let mut run = Run {
        system,
        plan,
        unit,
        numbers: Numbers(SplitMix::new(plan.seed)),
        servers: system.stations.iter().map(copies).collect(),
        threads: (0..threads).map(|_| Thread { at: 0, copy: 0, units: 0 }).collect(),
        events: BinaryHeap::with_capacity(threads),
        made: 0,
        now_ns: 0.0,
    };
    run.start();
    let units = |reads: u32| u64::from(reads.div_ceil(unit).max(1)) * threads as u64;
    run.until(units(plan.warm_reads));
    let from_ns = run.now_ns;
    for server in run.servers.iter_mut().flatten() {
        server.busy_ns = 0.0;
    }
    let done = run.until(units(plan.warm_reads) + units(plan.reads)) - units(plan.warm_reads);
    run.outcome(done, from_ns)
}

impl Run<'_> {
    /// Threads begin at random places of their delay, so that they do not march in step.
    fn start(&mut self) {
        let round = self.system.stations.first().map_or(1, |it| it.batch.max(1));
        for thread in 0..self.threads.len() {
            let share = self.numbers.share();
            let ns = share * f64::from(round) * self.system.delay_ns;
            self.at_after(ns, thread);
        }
    }

    fn at_after(&mut self, ns: f64, thread: usize) {
        self.made += 1;
        let ticks = ((self.now_ns + ns) * TICKS_PER_NS).round() as u64;
        self.events.push(Reverse((ticks, self.made, thread)));
    }

    /// Goes on until so many units are done in all; how many are.
    fn until(&mut self, units: u64) -> u64 {
        let mut done: u64 = self.threads.iter().map(|thread| thread.units).sum();
        while done < units {
            let Some(Reverse((ticks, _, thread))) = self.events.pop() else { break };
            self.now_ns = ticks as f64 / TICKS_PER_NS;
            done += u64::from(self.ended(thread));
        }
        done
    }

    /// What a thread did has ended: a service, a delay, or its way to the first station. True if
    /// a unit is done with it.
    fn ended(&mut self, thread: usize) -> bool {
        let (at, copy) = (self.threads[thread].at, self.threads[thread].copy);
        if at == self.system.stations.len() {
            return self.go_on(thread, 1);
        }
        if self.servers[at][copy].holder != Some(thread) {
            self.arrive(thread, at); // the way to the first station
            return false;
        }
        self.release(at, copy);
        if at > 0 {
            return self.go_on(thread, at + 1);
        }
        self.delay(thread);
        false
    }

    /// Sends a thread to the next station that its unit meets, from this one on, or to a new unit;
    /// true if that.
    fn go_on(&mut self, thread: usize, from: usize) -> bool {
        let units = self.threads[thread].units + 1;
        let stations = &self.system.stations;
        let mut after = stations.iter().enumerate().skip(from);
        if let Some((at, _)) = after.find(|(_, it)| gives(it.batch, self.unit, units)) {
            self.arrive(thread, at);
            return false;
        }
        let wants_more = stations.first().is_some_and(|it| takes(it.batch, self.unit, units));
        self.threads[thread].units = units;
        if wants_more {
            self.arrive(thread, 0);
        } else {
            self.delay(thread);
        }
        true
    }

    fn delay(&mut self, thread: usize) {
        self.threads[thread].at = self.system.stations.len();
        let ns = self.numbers.time(self.plan.delay, self.system.delay_ns, self.unit);
        self.at_after(ns, thread);
    }

    fn arrive(&mut self, thread: usize, at: usize) {
        let copies = self.servers[at].len() as u64;
        let copy = (self.numbers.0.next() % copies) as usize;
        (self.threads[thread].at, self.threads[thread].copy) = (at, copy);
        if self.servers[at][copy].holder.is_none() {
            self.serve(thread, at, copy, 0);
        } else {
            self.servers[at][copy].queue.push_back(thread);
        }
    }

    fn serve(&mut self, thread: usize, at: usize, copy: usize, waiting: usize) {
        let station = &self.system.stations[at];
        let batch = station.batch.max(1);
        let mean_ns = station.service_ns(waiting as f64);
        // One service is one time, however many reads it takes.
        let ns = self.numbers.time(self.plan.service, mean_ns * f64::from(batch), 1);
        let server = &mut self.servers[at][copy];
        server.holder = Some(thread);
        server.busy_ns += ns;
        self.at_after(ns, thread);
    }

    fn release(&mut self, at: usize, copy: usize) {
        let server = &mut self.servers[at][copy];
        server.holder = None;
        if let Some(next) = server.queue.pop_front() {
            // Those who stay behind: the next holder waits no more.
            let waiting = server.queue.len();
            self.serve(next, at, copy, waiting);
        }
    }

    fn outcome(&self, units: u64, from_ns: f64) -> Outcome {
        let reads = units as f64 * f64::from(self.unit);
        let ns = (self.now_ns - from_ns).max(1e-9);
        let busy_ns = |all: &Vec<Server>| all.iter().map(|it| it.busy_ns).sum::<f64>();
        let busy = |all: &Vec<Server>| (busy_ns(all) / all.len().max(1) as f64 / ns).min(1.0);
        Outcome { reads_per_s: reads / ns * 1e9, busy: self.servers.iter().map(busy).collect() }
    }
}

/// Whether a thread that has done so many units has one batch more to give back than with one unit
/// less. No unit is larger than a batch; what is over stays for the next, so that there is one
/// acquisition for each `batch` reads whatever the unit is.
fn gives(batch: u32, unit: u32, units: u64) -> bool {
    let batches = |units: u64| units * u64::from(unit) / u64::from(batch.max(1));
    batches(units) > batches(units.saturating_sub(1))
}

/// Whether a thread that has done so many units must take a batch more before it can do the next.
fn takes(batch: u32, unit: u32, units: u64) -> bool {
    let batches = |units: u64| (units * u64::from(unit)).div_ceil(u64::from(batch.max(1)));
    batches(units + 1) > batches(units)
}

#[cfg(test)]
mod tests {
    use super::super::model::HandOver;
    use super::super::model::tests::one_lock;
    use super::*;

    fn plan(delay: Spread, service: Spread) -> Plan {
        Plan { delay, service, warm_reads: 50, reads: 2000, seed: 7 }
    }

    const RANDOM: (Spread, Spread) = (Spread::Exponential, Spread::Exponential);
    const FIXED: (Spread, Spread) = (Spread::Constant, Spread::Constant);

    fn rate(system: &System, (delay, service): (Spread, Spread)) -> f64 {
        let reads = 100_000 / system.threads + 1000; // a few thousandths of error by chance
        simulate(system, Plan { reads, ..plan(delay, service) }).reads_per_s
    }

    fn near(value: f64, expected: f64, share: f64) {
        assert!((value / expected - 1.0).abs() <= share, "{value}, expected {expected}");
    }

    #[test]
    fn exponential_services_give_what_the_product_form_gives() {
        for (threads, delay, service) in
            [(1, 50.0, 7.0), (5, 100.0, 20.0), (10, 900.0, 100.0), (40, 900.0, 100.0)]
        {
            let mut system = one_lock(threads, delay, service);
            near(rate(&system, RANDOM), system.throughput(), 0.03);
            // The delay's spread does not matter to it.
            near(rate(&system, (Spread::Constant, RANDOM.1)), system.throughput(), 0.03);
            system.stations.push(Station { body_ns: service / 2.0, ..system.stations[0].clone() });
            near(rate(&system, RANDOM), system.throughput(), 0.03);
        }
    }

    #[test]
    fn a_cost_that_grows_with_the_queue_gives_nearly_what_the_product_form_gives() {
        for threads in [4, 16, 60] {
            let mut system = one_lock(threads, 1000.0, 50.0);
            system.stations[0].hand_over.per_waiter_ns = 4.0;
            system.stations[0].hand_over.most_waiters = 40.0;
            // There the cost changes while somebody is served, here it is fixed from the start.
            near(rate(&system, RANDOM), system.throughput(), 0.08);
        }
    }

    #[test]
    fn constant_times_give_the_bounds() {
        // Machine repairmen without chance: all at work, or the lock always busy.
        for (threads, expected) in [(1, 1e6), (5, 5e6), (10, 1e7), (64, 1e7)] {
            near(rate(&one_lock(threads, 900.0, 100.0), FIXED), expected, 0.01);
        }
        let outcome = simulate(&one_lock(64, 900.0, 100.0), plan(FIXED.0, FIXED.1));
        near(outcome.busy[0], 1.0, 1e-6);
    }

    #[test]
    fn batches_pay_one_hand_over_for_all_their_reads() {
        let mut system = one_lock(100, 1000.0, 20.0);
        system.stations[0].hand_over = HandOver::constant(320.0);
        near(rate(&system, FIXED), 1e9 / 340.0, 0.01);
        system.stations[0].batch = 32;
        near(rate(&system, FIXED), 1e9 / 30.0, 0.01);
        // A second lock without batches is met for each read.
        let output = Station { body_ns: 10.0, batch: 1, ..system.stations[0].clone() };
        system.stations.push(output);
        near(rate(&system, FIXED), 1e9 / 330.0, 0.02);
        system.stations[1].batch = 8;
        near(rate(&system, FIXED), 1e9 / 50.0, 0.03);
        assert_eq!(simulate(&system, plan(FIXED.0, FIXED.1)).busy.len(), 2);
    }

    #[test]
    fn one_thread_takes_the_sum_of_all_in_batches_too() {
        let mut system = one_lock(1, 900.0, 100.0);
        system.stations[0].hand_over = HandOver::constant(64.0);
        system.stations[0].batch = 32;
        system.stations.push(Station { body_ns: 5.0, batch: 16, ..system.stations[0].clone() });
        near(rate(&system, FIXED), system.throughput(), 0.02);
        near(rate(&system, RANDOM), system.throughput(), 0.05);
    }

    #[test]
    fn batches_that_are_no_multiples_of_each_other_give_what_the_product_form_gives() {
        for (input, output) in [(44, 32), (32, 44), (20, 16), (16, 20), (1, 20), (1043, 256)] {
            for (input_ns, output_ns) in [(100.0, 5.0), (5.0, 100.0)] {
                // Alone, and with one of both always busy: there the spread of services, which
                // batches change, counts for nothing.
                for threads in [1, 100] {
                    let mut system = one_lock(threads, 900.0, input_ns);
                    system.stations[0].hand_over = HandOver::constant(640.0);
                    system.stations.push(Station {
                        body_ns: output_ns,
                        batch: output,
                        ..system.stations[0].clone()
                    });
                    system.stations[0].batch = input;
                    let plan = Plan { warm_reads: 4000, reads: 20_000, ..plan(FIXED.0, FIXED.1) };
                    let found = simulate(&system, plan).reads_per_s;
                    let expected = system.throughput();
                    assert!(
                        (found / expected - 1.0).abs() < 0.02,
                        "{input} {output} {input_ns} {threads}: {found}, expected {expected}"
                    );
                }
            }
        }
    }

    #[test]
    fn threads_meet_a_station_once_for_each_batch() {
        for (batch, unit) in [(44, 32), (20, 16), (32, 32), (64, 16), (1, 1), (7, 5)] {
            let units = 1000 * u64::from(batch);
            let given = (1..=units).filter(|&it| gives(batch, unit, it)).count();
            let taken = (0..units).filter(|&it| takes(batch, unit, it)).count();
            assert_eq!((given, taken), (1000 * unit as usize, 1000 * unit as usize), "{batch}");
        }
    }

    #[test]
    fn copies_of_a_station_share_its_load() {
        let mut system = one_lock(64, 100.0, 100.0);
        let one = rate(&system, RANDOM);
        system.stations[0].copies = 4;
        let four = rate(&system, RANDOM);
        assert!(four > 3.0 * one && four < 4.0 * one, "{one} {four}");
        near(four, system.throughput(), 0.03);
    }

    #[test]
    fn a_run_is_a_function_of_its_seed() {
        let system = one_lock(20, 1000.0, 60.0);
        let of = |seed| simulate(&system, Plan { seed, ..plan(RANDOM.0, RANDOM.1) });
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
    }

    #[test]
    fn more_threads_are_never_slower_with_a_queue_of_constant_cost() {
        let mut last = 0.0;
        for threads in [1, 2, 4, 8, 16, 32, 64] {
            let now = rate(&one_lock(threads, 1000.0, 60.0), RANDOM);
            assert!(now > 0.97 * last, "{threads}: {now} after {last}");
            last = now;
        }
    }
}
