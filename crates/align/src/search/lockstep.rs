//! Many searches in turn, so that their cache misses overlap.
#![allow(unsafe_code)]

/// A search that goes on in steps in an index that all read.
pub trait Search<Index> {
    /// One step, and a prefetch of what the next one reads. False when the search is over.
    fn step(&mut self, index: &Index) -> bool;
}

/// Searches that go on at once: enough to hide a miss of main memory, few enough for the first
/// cache.
const AT_ONCE: usize = 48;

/// Runs all searches to their end, with the processor's instructions for counting bits where it has
/// them; [`Search::step`] is to be inlined always, or it does without.
#[inline]
pub fn run<Index>(searches: &mut [impl Search<Index>], index: &Index, active: &mut Vec<usize>) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("popcnt")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
    {
        // SAFETY: the processor has all of these, as was checked just now.
        unsafe { run_with_bits(searches, index, active) };
        return;
    }
    run_in_turn(searches, index, active);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,popcnt,lzcnt,bmi1,bmi2")]
fn run_with_bits<Index>(
    searches: &mut [impl Search<Index>],
    index: &Index,
    active: &mut Vec<usize>,
) {
    run_in_turn(searches, index, active);
}

#[inline(always)]
fn run_in_turn<Index>(searches: &mut [impl Search<Index>], index: &Index, active: &mut Vec<usize>) {
    active.clear();
    let mut next = searches.len().min(AT_ONCE);
    active.extend(0..next);
    while !active.is_empty() {
        let mut at = 0;
        while at < active.len() {
            if searches[active[at]].step(index) {
                at += 1;
            } else if next < searches.len() {
                active[at] = next;
                next += 1;
            } else {
                active.swap_remove(at);
            }
        }
    }
}
