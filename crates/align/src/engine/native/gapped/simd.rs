//! The choice of placements compiled for the instructions that most processors have.
#![allow(unsafe_code)]

use super::candidates::ScoredRead;
use super::choice::{Chosen, Output, Wanted, Work};
use super::seeds::Hit;
use super::window::Reference;

/// [`Work::choose`] with the best instructions of this processor; all give the same.
pub(super) fn choose(
    work: &mut Work,
    read: ScoredRead<'_>,
    reference: &Reference<'_>,
    (hits, wanted): (&[Hit], &Wanted),
    out: &mut Output,
) -> Chosen {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("popcnt")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
    {
        // SAFETY: the processor has all of these, as was asked just now.
        return unsafe { choose_with_avx2(work, read, reference, (hits, wanted), out) };
    }
    work.choose(read, reference, hits, wanted, out)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,popcnt,lzcnt,bmi1,bmi2")]
fn choose_with_avx2(
    work: &mut Work,
    read: ScoredRead<'_>,
    reference: &Reference<'_>,
    (hits, wanted): (&[Hit], &Wanted),
    out: &mut Output,
) -> Chosen {
    work.choose(read, reference, hits, wanted, out)
}
