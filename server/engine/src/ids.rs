//! Time-ordered ids (UUIDv7) for every money table: new rows land at the right edge of each index.

use std::sync::Mutex;

use chrono::{DateTime, Utc};
use uuid::{ContextV7, Timestamp, Uuid};

/// Mints ids that increase within this process, also within one millisecond.
pub struct Ids(Mutex<ContextV7>);

impl Default for Ids {
    fn default() -> Self {
        Self(Mutex::new(ContextV7::new()))
    }
}

impl std::fmt::Debug for Ids {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Ids")
    }
}

impl Ids {
    /// The next id at this instant.
    pub fn mint(&self, now: DateTime<Utc>) -> Uuid {
        let context = self
            .0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let seconds = u64::try_from(now.timestamp()).unwrap_or(0);
        Uuid::new_v7(Timestamp::from_unix(
            &*context,
            seconds,
            now.timestamp_subsec_nanos(),
        ))
    }
}

/// The smallest id of an instant: where that instant begins in an index of ids, to the millisecond.
pub(crate) fn first_at(at: DateTime<Utc>) -> Uuid {
    let millis = u64::try_from(at.timestamp_millis()).unwrap_or(0);
    Uuid::from_u128(u128::from(millis) << 80)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_begins_before_its_ids_and_after_all_earlier_ones() {
        let at = |millis| DateTime::from_timestamp_millis(millis).unwrap();
        let ids = Ids::default();
        let (before, within) = (ids.mint(at(1_999)), ids.mint(at(2_000)));
        assert!(before < first_at(at(2_000)) && first_at(at(2_000)) <= within);
    }

    #[test]
    fn ids_of_one_instant_increase() {
        let ids = Ids::default();
        let minted: Vec<_> = (0..1000).map(|_| ids.mint(DateTime::UNIX_EPOCH)).collect();
        assert!(minted.is_sorted() && minted.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
