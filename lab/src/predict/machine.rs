//! What is known of a machine, and what is not.

/// A machine with several memories.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Machine {
    /// Its name.
    pub(crate) name: &'static str,
    /// Nodes: memories with processors of their own.
    pub(crate) nodes: u32,
    /// Cores of all nodes.
    pub(crate) cores: u32,
    /// Hardware threads of a core.
    pub(crate) smt: u32,
}

/// The machines of Langmead et al. 2018, section 2: four Xeon E7-4830 v4, two Xeon Platinum 8160,
/// and a Xeon Phi 7250.
pub(crate) const MACHINES: [Machine; 3] = [
    Machine { name: "Broadwell", nodes: 4, cores: 56, smt: 2 },
    Machine { name: "Skylake", nodes: 2, cores: 48, smt: 2 },
    Machine { name: "KNL", nodes: 1, cores: 68, smt: 4 },
];

impl Machine {
    /// Hardware threads.
    #[must_use]
    pub(crate) fn hardware_threads(&self) -> u32 {
        self.cores * self.smt
    }

    /// How far cores are shared: 0 while each thread has a core, 1 when all hardware threads are
    /// taken; beyond that it stays.
    #[must_use]
    pub(crate) fn sharing(&self, threads: u32) -> f64 {
        let more = f64::from(threads.saturating_sub(self.cores));
        let most = f64::from(self.hardware_threads().saturating_sub(self.cores));
        if most > 0.0 { (more / most).min(1.0) } else { 0.0 }
    }

    /// How many threads share a hardware thread: 1 while there are enough.
    #[must_use]
    pub(crate) fn oversubscription(&self, threads: u32) -> f64 {
        (f64::from(threads) / f64::from(self.hardware_threads().max(1))).max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_shared_when_there_are_more_threads() {
        let [broadwell, _, phi] = MACHINES;
        assert_eq!([1, 56, 84, 112, 500].map(|n| broadwell.sharing(n)), [0.0, 0.0, 0.5, 1.0, 1.0]);
        assert_eq!(phi.hardware_threads(), 272);
        assert_eq!([56, 112, 224].map(|n| broadwell.oversubscription(n)), [1.0, 1.0, 2.0]);
        let single = Machine { smt: 1, ..broadwell };
        assert_eq!([56, 80].map(|n| single.sharing(n)), [0.0, 0.0]);
    }
}
