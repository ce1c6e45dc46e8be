//! Laws of the tree: grown leaf by leaf it is the tree of the whole list; every leaf can be proven, and
//! nothing else can. Known answers are those of Certificate Transparency's own test data.

use proptest::prelude::*;

use super::*;

/// The tree of a list by the definition (RFC 9162, 2.1.1), hashed as a whole.
fn whole(leaves: &[Hash]) -> Hash {
    match leaves {
        [] => Hash::of_bytes(&[]),
        [one] => *one,
        many => {
            let half = 1 << (many.len() - 1).ilog2();
            node(whole(&many[..half]), whole(&many[half..]))
        }
    }
}

fn grown(leaves: &[Hash]) -> Frontier {
    let mut tree = Frontier::default();
    for &leaf in leaves {
        tree.append(leaf);
    }
    tree
}

/// The path of the leaf at `index`, worked out from the frontier of the first `known` leaves on.
fn path(leaves: &[Hash], index: usize, known: usize) -> Path {
    let before = grown(&leaves[..known]);
    let mut prover = Prover::new(&before, index as u64, leaves.len() as u64).unwrap();
    for &leaf in &leaves[known..] {
        prover.append(leaf);
    }
    prover.finish().unwrap()
}

/// The leaves of Certificate Transparency's test data.
fn known() -> Vec<Hash> {
    let contents = [
        "",
        "00",
        "10",
        "2021",
        "3031",
        "40414243",
        "5051525354555657",
        "606162636465666768696a6b6c6d6e6f",
    ];
    let leaves = contents
        .iter()
        .map(|content| leaf(&hex::decode(content).unwrap()));
    leaves.collect()
}

fn hashes(texts: &[&str]) -> Vec<Hash> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

#[test]
fn roots_are_the_known_ones() {
    let roots = hashes(&[
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
        "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
        "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
        "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
        "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
    ]);
    let leaves = known();
    for (count, root) in roots.into_iter().enumerate() {
        assert_eq!(grown(&leaves[..count]).root(), root, "{count} leaves");
    }
}

#[test]
fn paths_are_the_known_ones() {
    let paths: [(usize, usize, &[&str]); 5] = [
        (0, 1, &[]),
        (
            0,
            8,
            &[
                "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
                "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
                "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
            ],
        ),
        (
            5,
            8,
            &[
                "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
                "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
                "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
            ],
        ),
        (
            2,
            3,
            &["fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"],
        ),
        (
            1,
            5,
            &[
                "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
                "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
                "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
            ],
        ),
    ];
    let leaves = known();
    for (index, count, beside) in paths {
        let found = path(&leaves[..count], index, 0);
        assert_eq!(found.beside, hashes(beside), "leaf {index} of {count}");
    }
}

#[test]
fn a_frontier_of_another_length_is_none() {
    assert!(Frontier::read(3, known()[..1].to_vec()).is_none());
    let tree = grown(&known()[..3]);
    assert_eq!(
        Frontier::read(3, tree.peaks().to_vec()).as_ref(),
        Some(&tree)
    );
}

#[test]
fn what_has_gone_by_or_never_comes_is_not_proven() {
    let before = grown(&known()[..4]);
    assert!(Prover::new(&before, 3, 8).is_none());
    assert!(Prover::new(&before, 8, 8).is_none());
    let short = Prover::new(&before, 4, 8).unwrap();
    assert_eq!(short.finish(), None);
}

fn leaves(most: usize) -> impl Strategy<Value = Vec<Hash>> {
    prop::collection::vec(any::<u16>(), 1..most).prop_map(|contents| {
        let contents = contents.into_iter().enumerate();
        contents
            .map(|(at, content)| leaf(format!("{at} {content}").as_bytes()))
            .collect()
    })
}

proptest! {
    #[test]
    fn grown_leaf_by_leaf_it_is_the_tree_of_the_whole(leaves in leaves(300)) {
        prop_assert_eq!(grown(&leaves).root(), whole(&leaves));
    }

    #[test]
    fn every_leaf_is_proven_from_wherever_one_begins(leaves in leaves(150), at in any::<prop::sample::Index>(), known in any::<prop::sample::Index>()) {
        let index = at.index(leaves.len());
        let known = known.index(index + 1);
        let path = path(&leaves, index, known);
        prop_assert_eq!(path.root(leaves[index]), Some(whole(&leaves)));
    }

    #[test]
    fn nothing_else_is_proven(leaves in leaves(150), at in any::<prop::sample::Index>(), other in any::<prop::sample::Index>()) {
        let index = at.index(leaves.len());
        let root = whole(&leaves);
        let path = path(&leaves, index, 0);
        prop_assert_ne!(path.root(leaf(b"another")), Some(root));
        let mut moved = path.clone();
        moved.index = other.index(leaves.len()) as u64;
        prop_assert_eq!(moved.root(leaves[index]) == Some(root), moved.index == path.index);
        let mut longer = path.clone();
        longer.beside.push(leaf(b"more"));
        prop_assert_eq!(longer.root(leaves[index]), None);
        let mut shorter = path.clone();
        if shorter.beside.pop().is_some() {
            prop_assert_ne!(shorter.root(leaves[index]), Some(root));
        }
        for place in 0..path.beside.len() {
            let mut bent = path.clone();
            bent.beside[place] = leaf(b"bent");
            prop_assert_ne!(bent.root(leaves[index]), Some(root));
        }
    }

    #[test]
    fn any_changed_leaf_changes_the_root(leaves in leaves(150), at in any::<prop::sample::Index>()) {
        let mut changed = leaves.clone();
        changed[at.index(leaves.len())] = leaf(b"another");
        prop_assert_ne!(grown(&changed).root(), grown(&leaves).root());
    }
}
