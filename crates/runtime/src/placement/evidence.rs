//! Where pages really are, and how large: read from the kernel, not concluded from what was wished.
//!
//! What a library allocates is found by comparing the process's mappings before and after
//! ([`Mappings`]); the nodes of its pages by `move_pages` on a sample; their size by `smaps`.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

use crate::sys::{numa, page_bytes};

/// Pages of a mapping that are looked at, at most.
const SAMPLED_PAGES: usize = 16_384;
/// Pages are requested in portions of this.
const PAGES_PER_CALL: usize = 4096;
/// Mappings that are smaller are stacks, buffers and the like.
const SMALLEST_RANGE_BYTES: usize = 64 << 10;

/// Writable mappings of this process that belong to no file, in ascending order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mappings(Vec<Range<usize>>);

impl Mappings {
    /// The mappings now.
    ///
    /// # Errors
    /// When `/proc` cannot be read.
    pub fn now() -> io::Result<Self> {
        Ok(Self::parse(&std::fs::read_to_string("/proc/self/maps")?))
    }

    fn parse(maps: &str) -> Self {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for line in maps.lines() {
            let mut fields = line.split_whitespace();
            let (Some(range), Some(rights)) = (fields.next(), fields.next()) else { continue };
            // Offset, device and inode: the last is 0 where there is no file.
            let is_file = fields.nth(2) != Some("0");
            let is_other = fields.next().is_some_and(|name| name != "[heap]");
            let Some(range) = parse_range(range) else { continue };
            if is_file || is_other || !rights.starts_with("rw") {
                continue;
            }
            match ranges.last_mut() {
                Some(last) if last.end == range.start => last.end = range.end,
                _ => ranges.push(range),
            }
        }
        Self(ranges)
    }

    /// Mappings that were not there `before`, without small pieces.
    #[must_use]
    pub fn since(&self, before: &Self) -> Vec<Range<usize>> {
        let mut new = Vec::new();
        for range in &self.0 {
            let mut at = range.start;
            for old in &before.0 {
                if old.end > at && old.start < range.end {
                    new.push(at..old.start.max(at));
                    at = old.end.min(range.end);
                }
            }
            new.push(at..range.end);
        }
        new.retain(|range| range.len() >= SMALLEST_RANGE_BYTES);
        new
    }
}

fn parse_range(text: &str) -> Option<Range<usize>> {
    let (start, end) = text.split_once('-')?;
    let hex = |text| usize::from_str_radix(text, 16).ok();
    Some(hex(start)?..hex(end)?)
}

/// Pages of `ranges`: all, or of every so many neighbours one by chance. One in twelve, evenly,
/// would be on every fourth node alone where pages are on eight nodes in turn.
fn sampled_pages(ranges: &[Range<usize>], page_bytes: usize) -> Vec<usize> {
    let pages: usize = ranges.iter().map(|range| range.len() / page_bytes).sum();
    let neighbours = pages.div_ceil(SAMPLED_PAGES).max(1);
    let of_range = |range: &Range<usize>| {
        let end = range.end;
        let firsts = range.clone().step_by(neighbours * page_bytes).zip(0_u64..);
        // 2^64 / golden ratio: Knuth, The Art of Computer Programming 3, 6.4.
        let chance = |n: u64| (n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize % neighbours;
        let chosen = firsts.map(move |(first, n)| first + chance(n) * page_bytes);
        chosen.filter(move |&page| page < end)
    };
    ranges.iter().flat_map(of_range).collect()
}

/// Nodes of the pages of some memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Evidence {
    /// Pages that were looked at and exist, by node.
    pub pages_of_node: BTreeMap<u32, u64>,
    /// Length of the memory, in bytes: what is mapped, with or without pages.
    pub(crate) mapped_bytes: u64,
    /// Resident bytes.
    pub resident_bytes: u64,
    /// Bytes in transparent huge pages.
    pub huge_bytes: u64,
}

impl Evidence {
    /// Looks at `ranges`: at every page, or at a sample where they are large.
    ///
    /// # Errors
    /// When the kernel does not report it.
    pub fn of(ranges: &[Range<usize>]) -> io::Result<Self> {
        let mut evidence = Self::default();
        for portion in sampled_pages(ranges, page_bytes()).chunks(PAGES_PER_CALL) {
            for node in numa::nodes_of_pages(portion)?.into_iter().flatten() {
                *evidence.pages_of_node.entry(node).or_default() += 1;
            }
        }
        evidence.mapped_bytes = ranges.iter().map(|range| range.len() as u64).sum();
        evidence.count_huge(&std::fs::read_to_string("/proc/self/smaps")?, ranges);
        Ok(evidence)
    }

    /// Adds what `smaps` reports of mappings that overlap `ranges`.
    fn count_huge(&mut self, smaps: &str, ranges: &[Range<usize>]) {
        let mut counts = false;
        for line in smaps.lines() {
            let mut fields = line.split_whitespace();
            let Some(name) = fields.next() else { continue };
            if let Some(it) = parse_range(name) {
                counts = ranges.iter().any(|range| range.start < it.end && it.start < range.end);
                continue;
            }
            let mut kib = || fields.next().and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0);
            match name {
                "Rss:" if counts => self.resident_bytes += kib() * 1024,
                "AnonHugePages:" if counts => self.huge_bytes += kib() * 1024,
                _ => {}
            }
        }
    }

    /// Pages looked at.
    #[must_use]
    pub(crate) fn pages(&self) -> u64 {
        self.pages_of_node.values().sum()
    }

    /// Share of the pages on these nodes, 0 to 1; 0 where no page was found.
    #[must_use]
    pub(crate) fn share_on(&self, nodes: &crate::topology::IdSet) -> f64 {
        let there = self.pages_of_node.iter().filter(|(node, _)| nodes.contains(**node));
        let there: u64 = there.map(|(_, pages)| pages).sum();
        if self.pages() == 0 { 0.0 } else { there as f64 / self.pages() as f64 }
    }

    /// The smallest share of any of these nodes.
    #[must_use]
    pub(crate) fn least_share(&self, nodes: &crate::topology::IdSet) -> f64 {
        let share = |node| {
            let pages = self.pages_of_node.get(&node).copied().unwrap_or(0);
            pages as f64 / self.pages().max(1) as f64
        };
        nodes.iter().map(share).fold(1.0, f64::min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::{AnonymousMapping, is_withheld};

    const MAPS: &str = "\
10000-30000 rw-p 00000000 00:00 0
30000-40000 rw-p 00000000 00:00 0          [heap]
40000-50000 rw-p 00000000 08:01 77         /lib/x.so
50000-90000 r--p 00000000 00:00 0
100000-200000 rw-p 00000000 00:00 0
7000000-7100000 rw-p 00000000 00:00 0      [stack]
";

    #[test]
    fn a_sample_sees_every_node_alike_whatever_takes_turns() {
        let small = 0x10000..0x30000;
        assert_eq!(sampled_pages(std::slice::from_ref(&small), 4096).len(), 32);
        assert_eq!(sampled_pages(&[small], 64 << 10).len(), 2);
        for (neighbours, page_bytes) in
            [(2, 4096), (3, 16 << 10), (4, 4096), (8, 64 << 10), (12, 4096), (16, 4096), (60, 4096)]
        {
            let large = 1 << 30..(1 << 30) + neighbours * SAMPLED_PAGES * page_bytes;
            let pages = sampled_pages(std::slice::from_ref(&large), page_bytes);
            assert_eq!(pages.len(), SAMPLED_PAGES);
            assert!(pages.iter().all(|page| page % page_bytes == 0 && large.contains(page)));
            for nodes in [2, 3, 4, 8, 16] {
                let mut of_node = vec![0; nodes];
                pages.iter().for_each(|page| of_node[page / page_bytes % nodes] += 1);
                let even = SAMPLED_PAGES / nodes;
                let is_even = |&count: &usize| count.abs_diff(even) * 5 < even;
                assert!(of_node.iter().all(is_even), "{neighbours}, {nodes}: {of_node:?}");
            }
        }
    }

    #[test]
    fn new_memory_is_what_was_not_there_before() {
        let now = Mappings::parse(MAPS);
        assert_eq!(now.0, [0x10000..0x40000, 0x100000..0x200000]);
        fn t(now: &Mappings, before: &[Range<usize>], new: &[Range<usize>]) {
            assert_eq!(now.since(&Mappings(before.to_vec())), new, "{before:x?}");
        }
        t(&now, &[], &[0x10000..0x40000, 0x100000..0x200000]);
        let [first, second] = [0x10000..0x40000, 0x100000..0x200000];
        t(&now, std::slice::from_ref(&first), std::slice::from_ref(&second));
        t(
            &now,
            &[0x10000..0x20000, 0x120000..0x140000],
            &[0x20000..0x40000, 0x100000..0x120000, 0x140000..0x200000],
        );
        // What is left of the first is too small to count.
        t(&now, &[0x10000..0x3f000, 0x100000..0x300000], &[]);
    }

    #[test]
    fn huge_pages_are_counted_where_they_were_looked_for() {
        let smaps = "\
10000-30000 rw-p 00000000 00:00 0
Rss:                 100 kB
AnonHugePages:      2048 kB
THPeligible:    1
100000-200000 rw-p 00000000 00:00 0
Rss:                   8 kB
AnonHugePages:         0 kB
";
        let mut evidence = Evidence::default();
        evidence.count_huge(smaps, std::slice::from_ref(&(0x20000..0x20001)));
        assert_eq!((evidence.resident_bytes, evidence.huge_bytes), (100 << 10, 2 << 20));
        evidence.count_huge(smaps, &[0x0..0x10000, 0x200000..0x300000]);
        assert_eq!(evidence.resident_bytes, 100 << 10);
    }

    #[test]
    fn pages_are_found_once_they_are_touched() {
        let before = Mappings::now().unwrap();
        let mut region = AnonymousMapping::map(4 << 20).unwrap();
        let range = region.addresses();
        let new = Mappings::now().unwrap().since(&before);
        assert!(new.iter().any(|it| it.start <= range.start && range.end <= it.end), "{new:x?}");
        match Evidence::of(std::slice::from_ref(&range)) {
            Ok(evidence) => assert_eq!(evidence.pages(), 0),
            Err(error) => return assert!(is_withheld(&error), "{error}"),
        }
        region.bytes_mut()[..1 << 20].fill(1);
        let evidence = Evidence::of(std::slice::from_ref(&range)).unwrap();
        let pages = |bytes: usize| (bytes / page_bytes()) as u64;
        assert!((pages(1 << 20)..=pages(4 << 20)).contains(&evidence.pages()), "{evidence:?}");
        assert_eq!(evidence.mapped_bytes, 4 << 20);
        assert!(evidence.resident_bytes >= 1 << 20);
    }
}
