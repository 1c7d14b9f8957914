//! Who got the lock after whom: what distinguishes a fair lock from an unfair one, and a NUMA-aware
//! lock from one that is not.
//!
//! It is kept behind the lock that it watches and informed by each holder.

/// Counts of hand-overs. See the module documentation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HandOffs {
    last: Option<(usize, usize)>,
    run: u64,
    /// Acquisitions.
    pub acquisitions: u64,
    /// By the thread that had it before.
    pub same_thread: u64,
    /// By another thread of the same node.
    pub same_node: u64,
    /// By a thread of another node.
    pub other_node: u64,
    /// Most acquisitions in a row by threads of one node.
    pub longest_node_run: u64,
}

impl HandOffs {
    /// Thread `thread` of node `node` has the lock now.
    pub fn record(&mut self, thread: usize, node: usize) {
        self.acquisitions += 1;
        match self.last.replace((thread, node)) {
            None => self.run = 0,
            Some((last, _)) if last == thread => self.same_thread += 1,
            Some((_, last)) if last == node => self.same_node += 1,
            Some(_) => {
                self.other_node += 1;
                self.run = 0;
            }
        }
        self.run += 1;
        self.longest_node_run = self.longest_node_run.max(self.run);
    }

    /// Share of the hand-overs between threads that stayed on their node; 0 if there were none.
    #[must_use]
    pub fn local_share(&self) -> f64 {
        let between = self.same_node + self.other_node;
        if between == 0 { 0.0 } else { self.same_node as f64 / between as f64 }
    }
}

/// Jain's index of fairness of what each got: 1 if all got the same, 1/n if one got all (Jain, Chiu
/// and Hawe 1984).
#[must_use]
pub fn fairness(shares: &[u64]) -> f64 {
    let sum: f64 = shares.iter().map(|&share| share as f64).sum();
    let squares: f64 = shares.iter().map(|&share| (share as f64).powi(2)).sum();
    if squares == 0.0 { 1.0 } else { sum * sum / (shares.len() as f64 * squares) }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn hand_overs_are_distinguished() {
        let mut counts = HandOffs::default();
        for (thread, node) in [(0, 0), (0, 0), (2, 0), (1, 1), (3, 1), (1, 1), (0, 0)] {
            counts.record(thread, node);
        }
        assert_eq!(counts.acquisitions, 7);
        assert_eq!((counts.same_thread, counts.same_node, counts.other_node), (1, 3, 2));
        assert_eq!(counts.longest_node_run, 3);
        assert!((counts.local_share() - 0.6).abs() < 1e-12);
    }

    #[test]
    fn fairness_is_between_one_and_one_in_n() {
        fn t(shares: &[u64], expected: f64) {
            assert!((fairness(shares) - expected).abs() < 1e-12, "{shares:?}");
        }
        t(&[5, 5, 5], 1.0);
        t(&[9, 0, 0], 1.0 / 3.0);
        t(&[], 1.0);
        t(&[0, 0], 1.0);
    }
}
