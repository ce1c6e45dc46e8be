//! Merkle trees as in RFC 9162 (and RFC 6962 before it): one hash stands for a list of leaves, and a few
//! hashes prove that a leaf is in it.
//!
//! A leaf and a node are hashed with different prefixes, so none can be taken for the other. A list grows
//! at its end only; what is needed to go on is its [`Frontier`], the roots of the perfect subtrees it
//! consists of: one for each bit set in its length. Cost: one node a leaf on average, memory O(log n) for
//! growing as well as for proving.

#[cfg(test)]
mod laws;

use std::ops::Range;

use sha2::{Digest, Sha256};

use crate::canonical::Hash;

/// The hash of a leaf with this content.
pub fn leaf(content: &[u8]) -> Hash {
    Hash(
        Sha256::new()
            .chain_update([0])
            .chain_update(content)
            .finalize()
            .into(),
    )
}

/// The hash of a node over two others.
pub fn node(left: Hash, right: Hash) -> Hash {
    let both = Sha256::new()
        .chain_update([1])
        .chain_update(left.0)
        .chain_update(right.0);
    Hash(both.finalize().into())
}

/// A tree, as much of it as is needed to append to it: the roots of its perfect subtrees, largest first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Frontier {
    leaves: u64,
    peaks: Vec<Hash>,
}

impl Frontier {
    /// The tree of so many leaves with these peaks; `None` when a tree of that length has not so many.
    pub fn read(leaves: u64, peaks: Vec<Hash>) -> Option<Self> {
        let fits = usize::try_from(leaves.count_ones()) == Ok(peaks.len());
        fits.then_some(Self { leaves, peaks })
    }

    /// How many leaves it has.
    pub fn leaves(&self) -> u64 {
        self.leaves
    }

    /// The roots of its perfect subtrees, largest first.
    pub fn peaks(&self) -> &[Hash] {
        &self.peaks
    }

    /// Adds a leaf at the end, by its hash.
    pub fn append(&mut self, leaf: Hash) {
        // A binary counter: each trailing one is a perfect subtree as large as what is carried.
        let at = self.peaks.len() - self.leaves.trailing_ones() as usize;
        let carried = self.peaks.drain(at..).rev();
        let peak = carried.fold(leaf, |right, left| node(left, right));
        self.peaks.push(peak);
        self.leaves += 1;
    }

    /// The hash that stands for all leaves; that of nothing when there are none.
    pub fn root(&self) -> Hash {
        let peaks = self.peaks.iter().copied().rev();
        peaks
            .reduce(|right, left| node(left, right))
            .unwrap_or_else(|| Hash::of_bytes(&[]))
    }

    /// Its perfect subtrees: the leaves each is over, and its root.
    fn subtrees(&self) -> impl Iterator<Item = (Range<u64>, Hash)> {
        let sizes = (0..u64::BITS)
            .rev()
            .map(|bit| 1 << bit)
            .filter(|size| self.leaves & size != 0);
        let spans = sizes.scan(0, |end, size: u64| {
            let start = *end;
            *end += size;
            Some(start..*end)
        });
        spans.zip(self.peaks.iter().copied())
    }
}

/// What proves that a leaf is in a tree: the hashes beside the way from it to the root, nearest first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Path {
    /// Place of the leaf, counted from 0.
    pub index: u64,
    /// Leaves of the tree.
    pub leaves: u64,
    /// The hashes beside the way.
    pub beside: Vec<Hash>,
}

impl Path {
    /// The root that a leaf at this place leads to (RFC 9162, 2.1.3.2); `None` when the hashes are too
    /// many or too few for it.
    pub fn root(&self, leaf: Hash) -> Option<Hash> {
        if self.index >= self.leaves {
            return None;
        }
        let (mut at, mut last) = (self.index, self.leaves - 1);
        let mut root = leaf;
        for &beside in &self.beside {
            if last == 0 {
                return None;
            }
            if at & 1 == 1 || at == last {
                root = node(beside, root);
                // At the right edge levels are skipped where nothing stands beside.
                let skipped = at.trailing_zeros();
                (at, last) = (at >> skipped, last >> skipped);
            } else {
                root = node(root, beside);
            }
            (at, last) = (at >> 1, last >> 1);
        }
        (last == 0).then_some(root)
    }
}

/// Works out the [`Path`] of one leaf while the leaves go by.
///
/// It starts from the frontier of the leaves before, which must not be beyond the leaf; what it keeps is
/// a frontier for each subtree beside the way.
#[derive(Clone, Debug)]
pub struct Prover {
    index: u64,
    leaves: u64,
    seen: u64,
    /// Nearest to the leaf first.
    beside: Vec<(Range<u64>, Frontier)>,
}

impl Prover {
    /// For the leaf at `index` of a tree of so many `leaves` that begins with `before`; `None` when the
    /// leaf is not among those still to come.
    pub fn new(before: &Frontier, index: u64, leaves: u64) -> Option<Self> {
        if index < before.leaves || index >= leaves {
            return None;
        }
        let mut beside: Vec<_> = spans_beside(index, leaves)
            .map(|span| (span, Frontier::default()))
            .collect();
        beside.reverse();
        for (of, root) in before.subtrees() {
            // No subtree before the leaf lies across two spans: both are cut at the same powers of two.
            for (span, tree) in &mut beside {
                if span.start <= of.start && of.end <= span.end {
                    tree.peaks.push(root);
                    tree.leaves += of.end - of.start;
                }
            }
        }
        Some(Self {
            index,
            leaves,
            seen: before.leaves,
            beside,
        })
    }

    /// The next leaf, by its hash.
    pub fn append(&mut self, leaf: Hash) {
        let at = self.seen;
        self.seen += 1;
        let tree = self.beside.iter_mut().find(|(span, _)| span.contains(&at));
        if let Some((_, tree)) = tree {
            tree.append(leaf);
        }
    }

    /// The proof; `None` when not exactly the tree's leaves went by.
    pub fn finish(self) -> Option<Path> {
        (self.seen == self.leaves).then(|| Path {
            index: self.index,
            leaves: self.leaves,
            beside: self.beside.iter().map(|(_, tree)| tree.root()).collect(),
        })
    }
}

/// The leaves that each hash beside the way is over, from the root down (RFC 9162, 2.1.3.1).
fn spans_beside(index: u64, leaves: u64) -> impl Iterator<Item = Range<u64>> {
    let mut within = 0..leaves;
    std::iter::from_fn(move || {
        let last = within.end.checked_sub(within.start + 1)?;
        let half = 1 << last.checked_ilog2()?;
        let middle = within.start + half;
        let (left, right) = (within.start..middle, middle..within.end);
        let (way, beside) = if left.contains(&index) {
            (left, right)
        } else {
            (right, left)
        };
        within = way;
        Some(beside)
    })
}
