//! Many searches in turn, so that their cache misses overlap.

/// A search that goes on in steps in an index that all read.
pub(super) trait Search<Index> {
    /// One step, and a prefetch of what the next one reads. False when the search is over.
    fn step(&mut self, index: &Index) -> bool;
}

/// Searches that go on at once: enough to hide a miss of main memory, few enough for the first
/// cache.
const AT_ONCE: usize = 48;

/// Runs all searches to their end.
pub(super) fn run<Index>(
    searches: &mut [impl Search<Index>],
    index: &Index,
    active: &mut Vec<usize>,
) {
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
