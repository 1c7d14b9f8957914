//! The sort that bwa uses, klib's `ks_introsort`, with the order of equal items that it leaves.
//!
//! It is not stable: where bwa compares less than all of what it sorts, which of two equal items
//! comes first follows from the steps of the sort alone, and decides what becomes of them. So the
//! steps are the same here: parts of more than [`SHORT`] items are split at the median of three,
//! those that were split too often are combsorted, and one insertion sort over all ends it.

/// Parts of so many steps from first to last are left to the insertion sort.
const SHORT: usize = 16;

/// What a gap of combsort shrinks by.
const SHRINK: f64 = 1.247_330_950_103_979;

/// A part that waits: from its first item to its last.
#[derive(Debug, Clone, Copy, Default)]
struct Partition {
    first: usize,
    last: usize,
    /// How often it may be split.
    depth: u32,
}

/// Parts that wait at once: each is longer than all that come after it together.
const MOST_PARTS: usize = usize::BITS as usize;

/// Sorts `items`; `less` says whether the first goes before the second.
pub(crate) fn introsort<T: Copy>(items: &mut [T], less: impl Fn(&T, &T) -> bool) {
    match items {
        [] | [_] => {}
        [first, second] => {
            if less(second, first) {
                std::mem::swap(first, second);
            }
        }
        _ => {
            split_all(items, &less);
            insertion_sort(items, &less);
        }
    }
}

/// Splits until all parts are short.
fn split_all<T: Copy>(items: &mut [T], less: &impl Fn(&T, &T) -> bool) {
    let depth = (2..usize::BITS).find(|&d| 1 << d >= items.len()).unwrap_or(usize::BITS);
    let mut part = Partition { first: 0, last: items.len() - 1, depth: 2 * depth };
    let (mut waiting, mut count) = ([Partition::default(); MOST_PARTS], 0);
    loop {
        if part.first >= part.last {
            if count == 0 {
                return;
            }
            count -= 1;
            part = waiting[count];
            continue;
        }
        part.depth -= 1;
        if part.depth == 0 {
            combsort(&mut items[part.first..=part.last], less);
            part.last = part.first;
            continue;
        }
        let at = split(&mut items[part.first..=part.last], less) + part.first;
        let Partition { first, last, depth } = part;
        let (in_front, behind) = (at - first, last - at);
        let front = Partition { first, last: at.saturating_sub(1), depth };
        let back = Partition { first: at + 1, last, depth };
        let nothing = Partition { first: last, last, depth };
        let [longer, shorter] = if in_front > behind {
            [(in_front, front), (behind, back)]
        } else {
            [(behind, back), (in_front, front)]
        };
        if longer.0 > SHORT {
            waiting[count] = longer.1;
            count += 1;
        }
        part = if shorter.0 > SHORT { shorter.1 } else { nothing };
    }
}

/// Moves what goes before the median of three before it. Returns where that is then.
fn split<T: Copy>(items: &mut [T], less: &impl Fn(&T, &T) -> bool) -> usize {
    let last = items.len() - 1;
    let middle = last / 2 + 1;
    let median = if less(&items[middle], &items[0]) {
        if less(&items[middle], &items[last]) { last } else { middle }
    } else if less(&items[last], &items[0]) {
        0
    } else {
        last
    };
    let pivot = items[median];
    items.swap(median, last);
    let (mut front, mut back) = (0, last);
    loop {
        front += 1;
        while less(&items[front], &pivot) {
            front += 1;
        }
        back -= 1;
        while front <= back && less(&pivot, &items[back]) {
            back -= 1;
        }
        if back <= front {
            break;
        }
        items.swap(front, back);
    }
    items.swap(front, last);
    front
}

fn combsort<T: Copy>(items: &mut [T], less: &impl Fn(&T, &T) -> bool) {
    let mut gap = items.len();
    loop {
        if gap > 2 {
            gap = (gap as f64 / SHRINK) as usize;
            if gap == 9 || gap == 10 {
                gap = 11;
            }
        }
        let mut swapped = false;
        for at in 0..items.len() - gap {
            if less(&items[at + gap], &items[at]) {
                items.swap(at, at + gap);
                swapped = true;
            }
        }
        if !swapped && gap <= 2 {
            break;
        }
    }
    if gap != 1 {
        insertion_sort(items, less);
    }
}

fn insertion_sort<T: Copy>(items: &mut [T], less: &impl Fn(&T, &T) -> bool) {
    for next in 1..items.len() {
        let item = items[next];
        let mut at = next;
        while at > 0 && less(&item, &items[at - 1]) {
            items[at] = items[at - 1];
            at -= 1;
        }
        items[at] = item;
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::oracle;
    use super::*;
    use proptest::prelude::*;

    /// The numbers of `weights`, the heaviest first.
    fn by_weight(weights: &[u32]) -> Vec<usize> {
        let mut pairs: Vec<_> = weights.iter().copied().zip(0..).collect();
        introsort(&mut pairs, |a, b| a.0 > b.0);
        pairs.into_iter().map(|(_, number)| number).collect()
    }

    proptest! {
        #[test]
        fn equal_items_are_in_klibs_order(
            weights in proptest::collection::vec(0_u32..1000, 0..400),
            kinds in 1_u32..1000,
        ) {
            let weights: Vec<u32> = weights.iter().map(|weight| weight % kinds).collect();
            prop_assert_eq!(by_weight(&weights), oracle::sorted_by_weight(&weights));
        }
    }

    /// Items in which every median is among the greatest, so that splitting ends in combsort
    /// (McIlroy 1999, doi:10.1002/(SICI)1097-024X(19990410)29:4<341): their order is made up while
    /// they are sorted.
    fn killers(count: usize) -> Vec<u32> {
        let unknown = u32::MAX;
        let values = std::cell::RefCell::new(vec![unknown; count]);
        let (next, candidate) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
        let mut items: Vec<usize> = (0..count).collect();
        introsort(&mut items, |&a, &b| {
            let mut values = values.borrow_mut();
            if values[a] == unknown && values[b] == unknown {
                let solid = if a == candidate.get() { a } else { b };
                values[solid] = next.get();
                next.set(next.get() + 1);
            }
            if values[a] == unknown {
                candidate.set(a);
            } else if values[b] == unknown {
                candidate.set(b);
            }
            values[a] < values[b]
        });
        let values = values.into_inner();
        // Heaviest first in the oracle, and each value twice.
        values.iter().map(|&value| count as u32 - value.min(count as u32) / 2).collect()
    }

    #[test]
    fn parts_that_are_split_too_often_are_combsorted_alike() {
        for count in [3, 4, 17, 18, 19, 100, 1000, 5000] {
            let weights = killers(count);
            assert_eq!(by_weight(&weights), oracle::sorted_by_weight(&weights), "{count}");
        }
    }
}
