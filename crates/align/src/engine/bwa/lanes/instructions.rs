//! Which vector instructions the processor has.

/// A set of vector instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Instructions {
    /// What every processor of the target has.
    Baseline,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// With its BW and VL parts, and AVX2.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Instructions {
    /// All that this processor has, the widest last.
    pub(in super::super) fn all() -> Vec<Self> {
        let mut all = vec![Self::Baseline];
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            all.push(Self::Avx2);
            if is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512vl") {
                all.push(Self::Avx512);
            }
        }
        all
    }

    /// The widest that this processor has of those with `most` lanes at most.
    pub(in super::super) fn of_lanes(most: usize) -> Self {
        let fitting = Self::all().into_iter().rfind(|it| it.lanes() <= most);
        fitting.unwrap_or(Self::Baseline)
    }

    /// Lanes of 8 bits.
    pub(in super::super) const fn lanes(self) -> usize {
        match self {
            Self::Baseline => 16,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => 32,
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => 64,
        }
    }
}
