//! Events: runs of samples of one level, how they follow the k-mers of a read, and how a
//! read's levels are scaled to those of the pore model.
//!
//! [`read::align_read`] does all of it for a read; the parts are pure functions on buffers that the
//! caller owns. Sources: the two-window t-test of scrappie and the adaptive banded alignment and
//! scaling of nanopolish 0.14 (Loman, Quick, Simpson 2015; Simpson et al. 2017) and f5c
//! (Gamaarachchi et al. 2020), which our results are compared with.

pub(crate) mod align;
pub(crate) mod detect;
pub(crate) mod read;
pub(crate) mod scaling;
mod welch;

pub use read::ReadOptions;

/// The events of a read, one array for each property, all of the same length.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Events {
    /// First sample of each event.
    pub start_samples: Vec<u64>,
    /// Number of samples of each event.
    pub length_samples: Vec<f32>,
    /// Mean of its samples, in picoampere.
    pub mean_pa: Vec<f32>,
    /// Standard deviation of its samples, in picoampere.
    pub stdv_pa: Vec<f32>,
}

impl Events {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.mean_pa.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.mean_pa.is_empty()
    }

    /// Puts the last one first: RNA is sequenced from its 3' end, bases are written from the 5'.
    pub(crate) fn reverse(&mut self) {
        self.start_samples.reverse();
        self.length_samples.reverse();
        self.mean_pa.reverse();
        self.stdv_pa.reverse();
    }

    /// Empties them, keeping their memory.
    pub(crate) fn clear(&mut self) {
        self.start_samples.clear();
        self.length_samples.clear();
        self.mean_pa.clear();
        self.stdv_pa.clear();
    }
}

/// How levels of the model become levels of a read: `shift + scale * level`, with standard
/// deviations `var` times as large.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scaling {
    /// Added, in picoampere.
    pub shift_pa: f64,
    /// Factor of the level.
    pub scale: f64,
    /// Factor of the standard deviation.
    pub var: f64,
}

impl Default for Scaling {
    /// Levels as the model has them.
    fn default() -> Self {
        Self { shift_pa: 0.0, scale: 1.0, var: 1.0 }
    }
}

/// Events of one k-mer: those from `first` to `last`, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventRange {
    /// First event, or [`EventRange::NONE`]'s.
    pub first: u32,
    /// Last event.
    pub last: u32,
}

impl EventRange {
    /// A k-mer without events.
    pub(crate) const NONE: Self = Self { first: u32::MAX, last: u32::MAX };

    /// The range, if there is one.
    #[must_use]
    pub(crate) fn get(self) -> Option<Self> {
        (self != Self::NONE).then_some(self)
    }
}

/// A read's signal, aligned to its own bases: what methylation calls and event tables start from.
/// Callers keep one and have it filled again and again.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReadEvents {
    /// The events, in the order of the bases: that of the signal, but for RNA, which is sequenced
    /// from its 3' end.
    pub events: Events,
    /// Events of each k-mer of the basecalled sequence.
    pub of_kmer: Vec<EventRange>,
    /// After recalibration.
    pub scaling: Scaling,
    /// Events per base between the first and the last aligned event.
    pub events_per_base: f64,
}
