//! The tree in which bwa keeps chains by where they begin, klib's `kbtree`: with which of several
//! chains that begin at one place a seed is compared, and in which order they come out, follows
//! from the tree's shape alone.
//!
//! A B-tree (Bayer and McCreight 1972, doi:10.1007/BF00288683) whose full nodes are split on the
//! way down. A search ends at the first node that has an equal key, at the foremost one there; a
//! new key goes after that one.

/// Keys of a full node: what fits in 512 bytes with keys of 40 bytes and pointers of 8.
const MOST_KEYS: usize = 9;
/// Keys of each half of a node that was split; the one between them moves up.
const HALF: usize = MOST_KEYS / 2;

/// Where a chain begins, and its number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Key {
    start: i64,
    number: u32,
}

#[derive(Debug, Clone, Default)]
struct Node {
    keys: [Key; MOST_KEYS],
    count: usize,
    /// Nodes before each key and after the last; none in a leaf.
    children: [u32; MOST_KEYS + 1],
    is_leaf: bool,
}

/// Where a place is among a node's keys.
enum Position {
    /// After so many keys, none of which is equal.
    Behind(usize),
    /// At this key, the foremost that is equal.
    At(usize),
}

impl Node {
    fn position(&self, start: i64) -> Position {
        let smaller = self.keys[..self.count].partition_point(|key| key.start < start);
        match self.keys[..self.count].get(smaller) {
            Some(key) if key.start == start => Position::At(smaller),
            _ => Position::Behind(smaller),
        }
    }

    /// After how many keys a new one goes.
    fn insertion_point(&self, start: i64) -> usize {
        match self.position(start) {
            Position::Behind(count) => count,
            Position::At(at) => at + 1,
        }
    }
}

/// Numbers of chains by where they begin.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    nodes: Vec<Node>,
    root: usize,
}

impl Tree {
    /// Memory of a chain, in nodes that are half full.
    pub(crate) const CHAIN_BYTES: u64 = (size_of::<Node>() / HALF) as u64;

    /// Takes out all.
    pub(crate) fn clear(&mut self) {
        self.nodes.clear();
        self.nodes.push(Node { is_leaf: true, ..Node::default() });
        self.root = 0;
    }

    /// The chain that begins nearest at `start` or before it.
    pub(crate) fn nearest(&self, start: i64) -> Option<usize> {
        let (mut nearest, mut at) = (None, self.root);
        while let Some(node) = self.nodes.get(at) {
            let after = match node.position(start) {
                Position::At(key) => return Some(node.keys[key].number as usize),
                Position::Behind(count) => count,
            };
            if let Some(key) = after.checked_sub(1) {
                nearest = Some(node.keys[key].number as usize);
            }
            if node.is_leaf {
                break;
            }
            at = node.children[after] as usize;
        }
        nearest
    }

    /// Takes in chain `number`. The tree must have been cleared once.
    pub(crate) fn insert(&mut self, start: i64, number: usize) {
        if self.nodes[self.root].count == MOST_KEYS {
            let mut root = Node::default();
            root.children[0] = self.root as u32;
            self.root = self.nodes.len();
            self.nodes.push(root);
            self.split(self.root, 0);
        }
        let key = Key { start, number: number as u32 };
        let mut at = self.root;
        loop {
            let mut after = self.nodes[at].insertion_point(start);
            if self.nodes[at].is_leaf {
                let node = &mut self.nodes[at];
                node.keys.copy_within(after..node.count, after + 1);
                node.keys[after] = key;
                node.count += 1;
                return;
            }
            let child = self.nodes[at].children[after] as usize;
            if self.nodes[child].count == MOST_KEYS {
                self.split(at, after);
                if start > self.nodes[at].keys[after].start {
                    after += 1;
                }
            }
            at = self.nodes[at].children[after] as usize;
        }
    }

    /// Splits the full child `number` of node `at`, which is not full.
    fn split(&mut self, at: usize, number: usize) {
        let child = self.nodes[at].children[number] as usize;
        let full = &mut self.nodes[child];
        let mut back = Node { is_leaf: full.is_leaf, count: HALF, ..Node::default() };
        back.keys[..HALF].copy_from_slice(&full.keys[HALF + 1..]);
        back.children[..=HALF].copy_from_slice(&full.children[HALF + 1..]);
        full.count = HALF;
        let middle = full.keys[HALF];
        let back_at = self.nodes.len() as u32;
        self.nodes.push(back);
        let node = &mut self.nodes[at];
        node.keys.copy_within(number..node.count, number + 1);
        node.children.copy_within(number + 1..=node.count, number + 2);
        node.keys[number] = middle;
        node.children[number + 1] = back_at;
        node.count += 1;
    }

    /// All chains in order.
    pub(crate) fn for_each(&self, take: &mut impl FnMut(i64, usize)) {
        self.visit(self.root, take);
    }

    /// As deep as the tree, which has at least five times as many nodes at each further depth.
    fn visit(&self, at: usize, take: &mut impl FnMut(i64, usize)) {
        let Some(node) = self.nodes.get(at) else { return };
        for number in 0..=node.count {
            if !node.is_leaf {
                self.visit(node.children[number] as usize, take);
            }
            if let Some(key) = node.keys[..node.count].get(number) {
                take(key.start, key.number as usize);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tree_of(starts: &[i64]) -> Tree {
        let mut tree = Tree::default();
        tree.clear();
        starts.iter().enumerate().for_each(|(number, &start)| tree.insert(start, number));
        tree
    }

    fn in_order(tree: &Tree) -> Vec<(i64, usize)> {
        let mut all = Vec::new();
        tree.for_each(&mut |start, number| all.push((start, number)));
        all
    }

    proptest! {
        #[test]
        fn chains_come_out_by_where_they_begin(
            starts in proptest::collection::vec(0_i64..300, 0..300), queried in -1_i64..301
        ) {
            let tree = tree_of(&starts);
            let all = in_order(&tree);
            prop_assert!(all.is_sorted_by_key(|&(start, _)| start));
            let mut numbers: Vec<_> = all.iter().map(|&(_, number)| number).collect();
            numbers.sort_unstable();
            prop_assert_eq!(numbers, (0..starts.len()).collect::<Vec<_>>());
            prop_assert!(all.iter().all(|&(start, number)| starts[number] == start));
            let nearest = tree.nearest(queried).map(|number| starts[number]);
            prop_assert_eq!(nearest, starts.iter().copied().filter(|&p| p <= queried).max());
        }
    }

    /// Worked out by hand from the rules above.
    #[test]
    fn chains_at_one_place_are_ordered_by_the_shape_of_the_tree() {
        let numbers = |starts: &[i64]| -> Vec<usize> {
            in_order(&tree_of(starts)).into_iter().map(|(_, number)| number).collect()
        };
        // Each goes after the foremost one.
        assert_eq!(numbers(&[5; 4]), [0, 3, 2, 1]);
        assert_eq!(tree_of(&[5; 4]).nearest(5), Some(0));
        // The tenth splits the root, whose only key is then number 5, and is after it.
        assert_eq!(numbers(&[5; 9]), [0, 8, 7, 6, 5, 4, 3, 2, 1]);
        assert_eq!(numbers(&[5; 10]), [0, 8, 7, 6, 5, 4, 9, 3, 2, 1]);
        assert_eq!(tree_of(&[5; 10]).nearest(5), Some(5));
        assert_eq!(tree_of(&[]).nearest(5), None);
    }
}
