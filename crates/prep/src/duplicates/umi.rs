//! UMIs that count up to a few errors: as numbers, and the families that they make of a set of
//! reads with equal ends.
//!
//! The rule is directed adjacency (UMI-tools, Smith, Heger and Sudbery 2017) with the counts of
//! fgbio's `GroupReadsByUmi -s adjacency`: a UMI takes those in that differ from it in one letter
//! and are seen at most half as often and one more, and these take in theirs. The most frequent one
//! goes first; of equally frequent ones, that of the earliest template.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

use crate::hash::mix;

/// Letters of a UMI: A, C, G, T and N are the digits 1 to 5 of its number.
const LETTERS: &[u8; 5] = b"ACGTN";
/// Digit of N, which equals no letter, not even another N.
const N: u64 = 5;
/// Most letters: their number, and the place of a dash, fit 64 bits.
const MOST_LETTERS: u64 = 25;
/// Places that a dash may have, 0 being none.
const DASHES: u64 = MOST_LETTERS + 1;

/// Why a text is no UMI.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UmiError {
    /// Letters that are none.
    #[error("'{0}' is not a UMI: it has letters other than A, C, G, T and N, joined by one '-'")]
    NotBases(String),
    /// Too many letters.
    #[error("UMI '{0}' has more than {MOST_LETTERS} letters")]
    TooLong(String),
}

/// A UMI as a number, upper and lower case being the same; 0 is none.
pub(crate) fn code_of(text: &[u8]) -> Result<u64, UmiError> {
    let owned = || String::from_utf8_lossy(text).into_owned();
    let (mut bases, mut place, mut letters, mut dash) = (0, 1, 0, 0);
    for byte in text {
        let letter = LETTERS.iter().zip(1..).find(|(it, _)| it.eq_ignore_ascii_case(byte));
        match letter {
            Some(_) if letters == MOST_LETTERS => return Err(UmiError::TooLong(owned())),
            Some((_, digit)) => {
                bases += digit * place;
                place *= LETTERS.len() as u64;
                letters += 1;
            }
            None if *byte == b'-' && dash == 0 && letters > 0 => dash = letters,
            None => return Err(UmiError::NotBases(owned())),
        }
    }
    Ok(bases * DASHES + dash)
}

/// Calls `visit` with every UMI that differs in one letter. N differs from all letters, so that a
/// UMI with one N is near to what that may be, and one with two is near to none.
pub(crate) fn for_each_neighbour(code: u64, mut visit: impl FnMut(u64)) {
    let digits = || {
        let (mut rest, mut place) = (code / DASHES, 1);
        std::iter::from_fn(move || {
            let digit = rest.checked_sub(1)? % 5 + 1;
            let found = (digit, place);
            (rest, place) = ((rest - digit) / 5, place * 5);
            Some(found)
        })
    };
    let unknown = digits().filter(|(digit, _)| *digit == N).count();
    if unknown > 1 {
        return;
    }
    for (digit, place) in digits().filter(|(digit, _)| unknown == 0 || *digit == N) {
        for other in (1..=N).filter(|other| *other != digit) {
            visit(code - digit * place * DASHES + other * place * DASHES);
        }
    }
}

/// A template of a set, and the UMI that it has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Member {
    pub(crate) umi: u64,
    /// Its ordinal.
    pub(crate) template: u64,
}

/// The family that a UMI is of. Families are distinguished by both, for mates that are fragments
/// may have different UMIs, and are in the order of the former.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Family {
    /// Ordinal of its first template.
    pub(crate) first: u64,
    /// The UMI that has taken the others in.
    umi: u64,
}

/// A UMI of a set.
#[derive(Debug, Clone, Copy)]
struct Node {
    code: u64,
    /// Templates that have it.
    count: u64,
    /// Ordinal of the first of them.
    first: u64,
    /// Index of the node whose family this is of.
    root: Option<u32>,
}

/// Hashes numbers, which need no more than to be mixed.
#[derive(Default)]
struct Mixed(u64);

impl Hasher for Mixed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = mix(self.0 ^ value);
    }
}

/// Families of the UMIs of one set of reads at a time; keeps its memory between sets.
#[derive(Debug, Default)]
pub(crate) struct Families {
    nodes: Vec<Node>,
    index: HashMap<u64, u32, BuildHasherDefault<Mixed>>,
    /// Of each root: ordinal of the family's first template.
    first: Vec<u64>,
    order: Vec<u32>,
    queue: VecDeque<u32>,
}

impl Families {
    /// Finds the families of a set. `distance` is 0 or 1.
    pub(crate) fn find(&mut self, members: impl Iterator<Item = Member>, distance: u8) {
        self.count(members);
        let Self { nodes, index, first, order, queue } = self;
        order.clear();
        order.extend(0..nodes.len() as u32);
        // Codes are distinguished, so that this order is total and the same in every run.
        order.sort_unstable_by_key(|&node| {
            let Node { code, count, first, .. } = nodes[node as usize];
            (u64::MAX - count, first, code)
        });
        first.clear();
        first.resize(nodes.len(), u64::MAX);
        for &root in &*order {
            if nodes[root as usize].root.is_some() {
                continue;
            }
            nodes[root as usize].root = Some(root);
            queue.push_back(root);
            while let Some(parent) = queue.pop_front() {
                let Node { code, count, first: ordinal, .. } = nodes[parent as usize];
                first[root as usize] = first[root as usize].min(ordinal);
                if distance == 0 || index.len() == 1 {
                    continue;
                }
                // The order in which these join makes no difference to who belongs to the family.
                for_each_neighbour(code, |neighbour| {
                    let Some(&child) = index.get(&neighbour) else { return };
                    let node = &mut nodes[child as usize];
                    if node.root.is_none() && node.count <= count / 2 + 1 {
                        node.root = Some(root);
                        queue.push_back(child);
                    }
                });
            }
        }
    }

    fn count(&mut self, members: impl Iterator<Item = Member>) {
        self.nodes.clear();
        self.index.clear();
        for Member { umi, template } in members {
            let next = self.nodes.len() as u32;
            let node = *self.index.entry(umi).or_insert(next);
            if node == next {
                self.nodes.push(Node { code: umi, count: 0, first: template, root: None });
            }
            let node = &mut self.nodes[node as usize];
            node.count += 1;
            node.first = node.first.min(template);
        }
    }

    /// The family that a UMI of the set is of.
    pub(crate) fn of(&self, code: u64) -> Family {
        let node = self.index.get(&code).map(|&node| self.nodes[node as usize]);
        let root = node.and_then(|node| node.root).map(|root| root as usize);
        let of_root = |root: usize| Family { first: self.first[root], umi: self.nodes[root].code };
        root.map_or(Family { first: u64::MAX, umi: code }, of_root)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;
    use seqloom_runtime::machine;

    use super::*;

    fn code(text: &str) -> u64 {
        code_of(text.as_bytes()).unwrap()
    }

    #[test]
    fn texts_are_numbers_of_their_own() {
        assert_eq!(code(""), 0);
        assert_eq!(code("acgtn"), code("ACGTN"));
        let most = "T".repeat(25);
        let texts = ["A", "AA", "C", "N", "NN", "A-A", "AA-A", "A-AA", "AA-", &most];
        let codes: BTreeSet<u64> = texts.into_iter().map(code).collect();
        assert_eq!(codes.len(), texts.len());
        assert!(code(&format!("{}-N", "N".repeat(24))) > code(&most));
        assert_eq!(code_of(b"AXC"), Err(UmiError::NotBases("AXC".into())));
        assert_eq!(code_of(b"-AC"), Err(UmiError::NotBases("-AC".into())));
        assert_eq!(code_of(b"A-C-G"), Err(UmiError::NotBases("A-C-G".into())));
        let long = "A".repeat(26);
        assert_eq!(code_of(long.as_bytes()), Err(UmiError::TooLong(long)));
    }

    fn neighbours(text: &str) -> BTreeSet<u64> {
        let mut found = BTreeSet::new();
        for_each_neighbour(code(text), |it| assert!(found.insert(it), "{text}: {it} twice"));
        found
    }

    #[test]
    fn neighbours_differ_in_one_letter_and_n_in_all() {
        let t = |text: &str, expected: &[&str]| {
            assert_eq!(neighbours(text), expected.iter().map(|it| code(it)).collect(), "{text}");
        };
        t("", &[]);
        t("A", &["C", "G", "T", "N"]);
        t("A-C", &["C-C", "G-C", "T-C", "N-C", "A-A", "A-G", "A-T", "A-N"]);
        t("AN", &["AA", "AC", "AG", "AT"]);
        t("NN", &[]);
        assert_eq!(neighbours(&"N".repeat(25)).len(), 0);
        assert_eq!(neighbours(&"T".repeat(25)).len(), 100);
    }

    /// UMIs of templates that follow each other.
    fn members(umis: impl Iterator<Item = u64>, first: u64) -> impl Iterator<Item = Member> {
        umis.zip(first..).map(|(umi, template)| Member { umi, template })
    }

    /// Families of UMIs in the order of their templates, as lists of UMIs.
    fn families(umis: &[&str], distance: u8) -> Vec<Vec<String>> {
        let mut families = Families::default();
        families.find(members(umis.iter().map(|umi| code(umi)), 10), distance);
        let mut found: std::collections::BTreeMap<u64, BTreeSet<String>> = Default::default();
        for umi in umis {
            let first = families.of(code(umi)).first;
            found.entry(first).or_default().insert((*umi).to_owned());
        }
        assert!(found.keys().all(|first| (10..10 + umis.len() as u64).contains(first)));
        found.into_values().map(|family| family.into_iter().collect()).collect()
    }

    #[test]
    fn counts_direct_who_takes_whom_in() {
        let many = |counts: &[(&'static str, usize)]| -> Vec<&'static str> {
            counts.iter().flat_map(|&(umi, count)| vec![umi; count]).collect()
        };
        let t = |counts: &[(&'static str, usize)], expected: &[&[&str]]| {
            assert_eq!(families(&many(counts), 1), expected, "{counts:?}");
        };
        t(&[], &[]);
        t(&[("AA", 5)], &[&["AA"]]);
        t(&[("AA", 4), ("AC", 3)], &[&["AA", "AC"]]);
        t(&[("AA", 4), ("AC", 4)], &[&["AA"], &["AC"]]);
        t(&[("AC", 3), ("AA", 4)], &[&["AA", "AC"]]);
        t(&[("AA", 1), ("AC", 1)], &[&["AA", "AC"]]);
        t(&[("AA", 2), ("AC", 2)], &[&["AA", "AC"]]);
        t(&[("AA", 3), ("AC", 3)], &[&["AA"], &["AC"]]);
        t(&[("AA", 9), ("CC", 2)], &[&["AA"], &["CC"]]);
        // By one between them.
        t(&[("AA", 9), ("CC", 2), ("AC", 3)], &[&["AA", "AC", "CC"]]);
        // The most frequent goes first; of equal ones, the earlier.
        t(&[("CC", 7), ("AC", 2), ("AA", 9)], &[&["CC"], &["AA", "AC"]]);
        t(&[("CC", 7), ("AC", 2), ("AA", 7)], &[&["AC", "CC"], &["AA"]]);
        // N is an error wherever it is, and UMIs of other lengths are far.
        t(
            &[("AA", 9), ("AN", 1), ("NN", 1), ("A", 1), ("A-A", 1)],
            &[&["AA", "AN"], &["NN"], &["A"], &["A-A"]],
        );
        assert_eq!(families(&many(&[("AA", 9), ("AC", 1)]), 0), [["AA"], ["AC"]]);
    }

    /// The rule, word by word.
    fn by_the_book(umis: &[String]) -> Vec<usize> {
        let count = |umi: &String| umis.iter().filter(|it| *it == umi).count();
        let first = |umi: &String| umis.iter().position(|it| it == umi).unwrap();
        let mut nodes: Vec<&String> = umis.iter().collect();
        nodes.sort_by_key(|umi| (usize::MAX - count(umi), first(umi)));
        nodes.dedup();
        let mut roots: HashMap<&String, &String> = HashMap::new();
        for &root in &nodes {
            let mut family = if roots.contains_key(root) { vec![] } else { vec![root] };
            while let Some(parent) = family.pop() {
                roots.insert(parent, root);
                for &child in &nodes {
                    let differ = |(a, b): (u8, u8)| a != b || a == b'N';
                    let pairs = parent.bytes().zip(child.bytes());
                    let is_near = pairs.filter(|pair| differ(*pair)).count() == 1
                        && parent.len() == child.len()
                        && parent != child;
                    if is_near
                        && !roots.contains_key(child)
                        && count(child) <= count(parent) / 2 + 1
                    {
                        family.push(child);
                    }
                }
            }
        }
        let of = |umi: &String| umis.iter().position(|it| roots[it] == roots[umi]).unwrap();
        umis.iter().map(of).collect()
    }

    #[test]
    fn one_template_may_be_in_two_families() {
        let mut families = Families::default();
        let both = ["AA", "CC"].map(|umi| Member { umi: code(umi), template: 3 });
        families.find(both.into_iter(), 1);
        assert_eq!(families.of(code("AA")).first, families.of(code("CC")).first);
        assert_ne!(families.of(code("AA")), families.of(code("CC")));
    }

    proptest! {
        #[test]
        fn families_are_those_of_the_rule(
            umis in prop::collection::vec("[AC]{3}|[ACN]{2}|[AC]{1}", 0..60),
        ) {
            let mut families = Families::default();
            families.find(members(umis.iter().map(|umi| code(umi)), 0), 1);
            let found: Vec<usize> =
                umis.iter().map(|umi| families.of(code(umi)).first as usize).collect();
            prop_assert_eq!(found, by_the_book(&umis));
        }
    }

    #[test]
    fn a_set_of_100_000_takes_no_second() {
        let letter = |bits: u64, at: u64| b"ACGT"[(bits >> (2 * at) & 3) as usize];
        // 100,000 templates, nearly each with a UMI of its own, of 12 and of 24 letters.
        for letters in [12, 24] {
            let umi = |n| (0..letters).map(|at| letter(mix(n), at)).collect::<Vec<u8>>();
            let codes: Vec<u64> = (0..100_000).map(|n| code_of(&umi(n)).unwrap()).collect();
            // Of this thread: what else the machine does is no matter. It takes a tenth of it.
            let start = machine::thread_cpu_time();
            let mut families = Families::default();
            families.find(members(codes.iter().copied(), 0), 1);
            let took = machine::thread_cpu_time() - start;
            assert!(families.nodes.len() > 90_000);
            assert!(took.as_secs_f64() < 1.0, "{took:?}");
            println!("{letters} letters: {took:?}");
        }
    }
}
