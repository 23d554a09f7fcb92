//! The fixed binary tree along which states are merged.
//!
//! Node `(level, place)` covers the leaves `place * 2^level ..  (place + 1) * 2^level`, as far as there are leaves. A
//! node with two children is their merge, left first; a node whose right child covers no leaf is its left child. The
//! merges thus depend only on the number of leaves, and any contiguous run of leaves consists of a few whole subtrees.

use std::collections::HashMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

/// A node, which stands for its subtree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Node {
    /// Height above the leaves.
    pub level: u32,
    /// Position from the left among the nodes of that height.
    pub place: usize,
}

impl Node {
    /// Returns the node of a leaf.
    pub fn leaf(place: usize) -> Self {
        Node { level: 0, place }
    }

    fn parent(self) -> Self {
        Node { level: self.level + 1, place: self.place / 2 }
    }

    fn sibling(self) -> Self {
        Node { level: self.level, place: self.place ^ 1 }
    }

    fn is_left(self) -> bool {
        self.place.is_multiple_of(2)
    }

    /// Returns the leaves that the node covers, of `n_leaves`.
    pub fn leaves(self, n_leaves: usize) -> Range<usize> {
        let begin = (self.place << self.level).min(n_leaves);
        begin..((self.place + 1) << self.level).min(n_leaves)
    }
}

/// Merges states as soon as both halves of a subtree are available.
#[derive(Debug)]
pub struct Merger<S> {
    n_leaves: usize,
    waiting: HashMap<Node, S>,
}

impl<S> Merger<S> {
    /// Returns a merger for a tree of `n_leaves`.
    pub fn new(n_leaves: usize) -> Self {
        Merger { n_leaves, waiting: HashMap::new() }
    }

    /// Adds the state of a subtree, and merges upwards as far as possible.
    ///
    /// # Errors
    /// As `merge`; the states that it was given are lost.
    pub fn add<E>(
        &mut self,
        mut node: Node,
        mut state: S,
        mut merge: impl FnMut(S, S) -> Result<S, E>,
    ) -> Result<(), E> {
        while node.leaves(self.n_leaves) != (0..self.n_leaves) {
            let sibling = node.sibling();
            if sibling.leaves(self.n_leaves).is_empty() {
                // Only a right sibling can lie beyond the last leaf.
            } else if let Some(other) = self.waiting.remove(&sibling) {
                state = if node.is_left() { merge(state, other)? } else { merge(other, state)? };
            } else {
                break;
            }
            node = node.parent();
        }
        self.waiting.insert(node, state);
        Ok(())
    }

    /// Returns the subtrees that could not be merged further, from the left.
    pub fn into_subtrees(self) -> Vec<(Node, S)> {
        let n = self.n_leaves;
        let mut subtrees: Vec<_> = self.waiting.into_iter().collect();
        subtrees.sort_by_key(|(node, _)| node.leaves(n).start);
        subtrees
    }

    /// Returns the state of the whole tree; `None` unless every leaf was added.
    pub fn into_whole(self) -> Option<S> {
        let n = self.n_leaves;
        let mut subtrees = self.into_subtrees();
        let whole = subtrees.len() == 1 && subtrees[0].0.leaves(n) == (0..n);
        if whole { subtrees.pop().map(|(_, state)| state) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;
    use proptest::prelude::*;

    /// Expected expression of the merged tree.
    fn naive(range: Range<usize>, level: u32, n: usize) -> Option<String> {
        let range = range.start.min(n)..range.end.min(n);
        match range.len() {
            0 => None,
            _ if level == 0 => Some(range.start.to_string()),
            _ => {
                let middle = range.start + (1 << (level - 1));
                let left = naive(range.start..middle, level - 1, n)?;
                match naive(middle..range.end.max(middle), level - 1, n) {
                    Some(right) => Some(format!("({left} {right})")),
                    None => Some(left),
                }
            }
        }
    }

    fn join(a: String, b: String) -> Result<String, Infallible> {
        Ok(format!("({a} {b})"))
    }

    proptest! {
        #[test]
        fn any_tasks_in_any_order_make_the_same_tree(
            n in 1usize..200,
            per_task in 1usize..50,
            seed in any::<u64>(),
        ) {
            let mut tasks: Vec<Range<usize>> =
                (0..n).step_by(per_task).map(|b| b..(b + per_task).min(n)).collect();
            // A pseudorandom order from a linear congruential generator.
            let mut state = seed;
            tasks.sort_by_cached_key(|_| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                state >> 33
            });
            let mut whole = Merger::new(n);
            for task in tasks {
                let mut part = Merger::new(n);
                for leaf in task {
                    part.add(Node::leaf(leaf), leaf.to_string(), join).unwrap();
                }
                for (node, state) in part.into_subtrees() {
                    whole.add(node, state, join).unwrap();
                }
            }
            prop_assert_eq!(whole.into_whole(), naive(0..n.next_power_of_two(), n.next_power_of_two().ilog2(), n));
        }
    }

    #[test]
    fn a_missing_leaf_gives_no_result() {
        let mut merger = Merger::new(3);
        merger.add(Node::leaf(0), "0".to_string(), join).unwrap();
        merger.add(Node::leaf(2), "2".to_string(), join).unwrap();
        assert_eq!(merger.into_whole(), None);
    }
}
