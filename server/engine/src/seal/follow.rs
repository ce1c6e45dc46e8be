//! Following the seals: every leaf is hashed again from its rows, and every root compared.
//!
//! Seals are followed a stretch at a time, so that many small ones cost no query each. Memory: the frontier,
//! and the hashes of a stretch's settlements without transfers.

use domain::{canonical::Hash, merkle::Frontier};
use futures::TryStreamExt;
use sqlx::PgConnection;

use super::{
    MOST,
    views::{self, Seal},
};
use crate::error::StoreError;

/// The newest seal of an unbroken row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Head {
    /// Its number.
    pub number: i64,
    /// Leaves of its tree.
    pub leaves: i64,
    /// What stands for all of them.
    pub root: Hash,
}

/// The first seal that does not hold; what comes after it proves nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Broken {
    /// The seal on record.
    pub(crate) seal: Seal,
    /// The root its leaves come to; `None` when it does not even continue the seal before.
    pub(crate) root: Option<Hash>,
}

impl Broken {
    /// A seal whose own frontier does not come to its root.
    fn of_itself(seal: Seal) -> Self {
        let root = Some(seal.root);
        Self { seal, root }
    }
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let seal = &self.seal;
        write!(
            f,
            "seal {} over {} leaves, postings {} to {} and {} settlements without transfers: ",
            seal.number,
            seal.added(),
            seal.posting_from + 1,
            seal.posting_to,
            seal.unmoved
        )?;
        match self.root {
            Some(root) if root == seal.root => {
                f.write_str("its frontier is not that of its leaves")
            }
            Some(root) => write!(f, "its root is {}, its leaves come to {root}", seal.root),
            None => f.write_str("it does not continue the seal before"),
        }
    }
}

/// Follows all seals from the first, or those written since a transaction. `Err` of the inner result is the
/// first that does not hold.
///
/// # Errors
/// [`StoreError`].
pub(crate) async fn follow(
    conn: &mut PgConnection,
    since: Option<i64>,
) -> Result<Result<Option<Head>, Broken>, StoreError> {
    let mut newest = match since {
        None => None,
        Some(since) => views::last_before(conn, since).await?,
    };
    let mut tree = match &newest {
        None => Frontier::default(),
        Some(seal) => match seal.tree() {
            Some(tree) => tree,
            None => return Ok(Err(Broken::of_itself(seal.clone()))),
        },
    };
    loop {
        let after = newest.as_ref().map_or(0, |seal| seal.number);
        let seals = views::following(conn, after, MOST).await?;
        let Some(last) = seals.last() else {
            return Ok(Ok(newest.map(|seal| Head {
                number: seal.number,
                leaves: seal.leaves,
                root: seal.root,
            })));
        };
        let mut unmoved = Vec::new();
        let mut settlements = views::unmoved_of(conn, after + 1, last.number);
        while let Some(sealed) = settlements.try_next().await? {
            unmoved.push((sealed.seal, sealed.hash()?));
        }
        drop(settlements);
        let mut unmoved = unmoved.into_iter().peekable();
        let from = newest.as_ref().map_or(0, |seal| seal.posting_to);
        let mut transfers = views::transfers(conn, from, last.posting_to);
        let mut transfer = transfers.try_next().await?;
        for seal in seals {
            if !continues(&seal, newest.as_ref()) {
                return Ok(Err(Broken { seal, root: None }));
            }
            while let Some(sealed) = &transfer
                && sealed.posting <= Some(seal.posting_to)
            {
                tree.append(sealed.hash()?);
                transfer = transfers.try_next().await?;
            }
            while let Some((_, hash)) = unmoved.next_if(|(of, _)| *of == Some(seal.number)) {
                tree.append(hash);
            }
            if seal.tree().as_ref() != Some(&tree) {
                let root = Some(tree.root());
                return Ok(Err(Broken { seal, root }));
            }
            newest = Some(seal);
        }
    }
}

fn continues(seal: &Seal, before: Option<&Seal>) -> bool {
    let (number, posting, leaves) = before.map_or((0, 0, 0), |seal| {
        (seal.number, seal.posting_to, seal.leaves)
    });
    (seal.number, seal.posting_from, seal.leaves_before) == (number + 1, posting, leaves)
}
