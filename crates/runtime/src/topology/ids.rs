//! Sets of CPU or node numbers, as the kernel writes them: `0-3,8,10-11`.

use std::fmt;

/// No machine has more; a larger number in a list is damage, not a machine.
const LARGEST_ID: u32 = 1 << 20;

/// A set of CPUs or nodes, in ascending order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct IdSet(Vec<u32>);

impl IdSet {
    /// The set that a kernel list (`cpulist`, `Cpus_allowed_list`) states; `None` when it is none.
    #[must_use]
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut ids = Vec::new();
        for part in text.trim().split(',').filter(|part| !part.is_empty()) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
            if first > last || last > LARGEST_ID {
                return None;
            }
            ids.extend(first..=last);
        }
        Some(ids.into_iter().collect())
    }

    /// The numbers, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().copied()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The smallest number.
    #[must_use]
    pub fn first(&self) -> Option<u32> {
        self.0.first().copied()
    }

    /// Whether `id` is in the set.
    #[must_use]
    pub fn contains(&self, id: u32) -> bool {
        self.0.binary_search(&id).is_ok()
    }

    /// The ids that both have.
    #[must_use]
    pub fn intersect(&self, other: &Self) -> Self {
        Self(self.iter().filter(|&id| other.contains(id)).collect())
    }

    /// The ids that either has.
    #[must_use]
    pub(crate) fn union(&self, other: &Self) -> Self {
        self.iter().chain(other.iter()).collect()
    }

    /// A mask of 64-bit words, bit `i` of word `w` standing for number `64 w + i`.
    pub(crate) fn mask(&self) -> Vec<u64> {
        let words = self.0.last().map_or(1, |&last| last as usize / 64 + 1);
        let mut mask = vec![0; words];
        for id in self.iter() {
            mask[id as usize / 64] |= 1 << (id % 64);
        }
        mask
    }

    /// The set that a mask states.
    pub(crate) fn from_mask(mask: &[u64]) -> Self {
        let bits = |(w, &word): (usize, &u64)| {
            (0..64).filter(move |b| word >> b & 1 == 1).map(move |b| w as u32 * 64 + b)
        };
        Self(mask.iter().enumerate().flat_map(bits).collect())
    }
}

impl FromIterator<u32> for IdSet {
    fn from_iter<I: IntoIterator<Item = u32>>(ids: I) -> Self {
        let mut ids: Vec<u32> = ids.into_iter().collect();
        ids.sort_unstable();
        ids.dedup();
        Self(ids)
    }
}

/// As the kernel writes it; `-` for none.
impl fmt::Display for IdSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("-");
        }
        let mut at = 0;
        while at < self.0.len() {
            let mut end = at;
            while self.0.get(end + 1) == Some(&(self.0[end] + 1)) {
                end += 1;
            }
            let comma = if at == 0 { "" } else { "," };
            match end - at {
                0 => write!(f, "{comma}{}", self.0[at])?,
                _ => write!(f, "{comma}{}-{}", self.0[at], self.0[end])?,
            }
            at = end + 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_the_kernel_are_read_and_written() {
        fn t(text: &str, ids: Option<&[u32]>, shown: &str) {
            let set = IdSet::parse(text);
            assert_eq!(
                set.as_ref().map(|s| s.iter().collect::<Vec<_>>()).as_deref(),
                ids,
                "{text}"
            );
            if let Some(set) = set {
                assert_eq!(set.to_string(), shown);
                assert_eq!(IdSet::from_mask(&set.mask()), set);
            }
        }
        t("", Some(&[]), "-");
        t("\n", Some(&[]), "-");
        t("0", Some(&[0]), "0");
        t("0-3,8\n", Some(&[0, 1, 2, 3, 8]), "0-3,8");
        t("8,0-1,1", Some(&[0, 1, 8]), "0-1,8");
        t("63-64,1200", Some(&[63, 64, 1200]), "63-64,1200");
        t("3-1", None, "");
        t("a", None, "");
        t("0-", None, "");
        t("-1", None, "");
        t("0-4294967295", None, "");
    }

    #[test]
    fn sets_meet_and_join() {
        let (a, b) = (IdSet::parse("0-3").unwrap(), IdSet::parse("2-5").unwrap());
        assert_eq!(a.intersect(&b).to_string(), "2-3");
        assert_eq!(a.union(&b).to_string(), "0-5");
        assert!(a.contains(3) && !a.contains(4));
        assert_eq!((a.first(), a.len(), IdSet::default().first()), (Some(0), 4, None));
    }
}
