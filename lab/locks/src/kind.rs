//! All locks by name, for programs that compare them.

use crate::raw::RawLock;
use crate::waiting::{Parking, Yielding};
use crate::{Cna, Cohort, Hbo, Mcs, Standard, TbbSpin, Ticket, TinyThread};

/// A kind of lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// [`TinyThread`].
    TinyThread,
    /// [`TbbSpin`].
    TbbSpin,
    /// [`Ticket`].
    Ticket,
    /// [`Standard`].
    Standard,
    /// [`Mcs`] with [`Yielding`]: TBB's queueing mutex.
    Mcs,
    /// [`Mcs`] with [`Parking`].
    McsParking,
    /// [`Hbo`].
    Hbo,
    /// [`Cohort`] with [`Yielding`].
    Cohort,
    /// [`Cohort`] with [`Parking`].
    CohortParking,
    /// [`Cna`] with [`Yielding`].
    Cna,
    /// [`Cna`] with [`Parking`].
    CnaParking,
}

impl Kind {
    /// All of them, in the order in which reports show them.
    pub const ALL: [Self; 11] = [
        Self::TinyThread,
        Self::TbbSpin,
        Self::Ticket,
        Self::Standard,
        Self::Mcs,
        Self::McsParking,
        Self::Hbo,
        Self::Cohort,
        Self::CohortParking,
        Self::Cna,
        Self::CnaParking,
    ];

    /// Its short name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::TinyThread => "tinythread",
            Self::TbbSpin => "tbb-spin",
            Self::Ticket => "ticket",
            Self::Standard => "standard",
            Self::Mcs => "mcs",
            Self::McsParking => "mcs-park",
            Self::Hbo => "hbo",
            Self::Cohort => "cohort",
            Self::CohortParking => "cohort-park",
            Self::Cna => "cna",
            Self::CnaParking => "cna-park",
        }
    }

    /// The kind of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// A free lock of this kind, for threads of `nodes` nodes that say where they run
    /// ([`crate::node::set_of_this_thread`]).
    #[must_use]
    pub fn build(self, nodes: usize) -> Box<dyn RawLock> {
        match self {
            Self::TinyThread => Box::new(TinyThread::default()),
            Self::TbbSpin => Box::new(TbbSpin::default()),
            Self::Ticket => Box::new(Ticket::default()),
            Self::Standard => Box::new(Standard::default()),
            Self::Mcs => Box::new(Mcs::<Yielding>::default()),
            Self::McsParking => Box::new(Mcs::<Parking>::default()),
            Self::Hbo => Box::new(Hbo::default()),
            Self::Cohort => Box::new(Cohort::<Yielding>::of_nodes(nodes)),
            Self::CohortParking => Box::new(Cohort::<Parking>::of_nodes(nodes)),
            Self::Cna => Box::new(Cna::<Yielding>::default()),
            Self::CnaParking => Box::new(Cna::<Parking>::default()),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn names_are_different_and_found() {
        for kind in Kind::ALL {
            assert_eq!(Kind::from_name(kind.name()), Some(kind));
        }
        assert_eq!(Kind::from_name("none"), None);
    }
}
