//! Counts over the whole inbox, for verifying a run. They read everything, so no page shows them.

use crate::{Engine, error::StoreError};

/// What the inbox holds of what was sent to us.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Totals {
    /// Events, each once.
    pub events: i64,
    /// Deliveries of events that were known, with the same content.
    pub duplicates: i64,
    /// Contents that contradict an event.
    pub conflicts: i64,
    /// Deliveries that were turned away, as far as they are kept.
    pub rejected: i64,
}

impl Engine {
    /// Counts the inbox.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn inbox_totals(&self) -> Result<Totals, StoreError> {
        let totals = sqlx::query_as!(
            Totals,
            r#"SELECT (SELECT count(*) FROM deliveries WHERE outcome = 'accepted' AND NOT asked) AS "events!",
                      (SELECT count(*) FROM deliveries WHERE outcome = 'duplicate' AND NOT asked) AS "duplicates!",
                      (SELECT count(*) FROM conflicts) AS "conflicts!",
                      (SELECT count(*) FROM deliveries WHERE outcome = 'rejected') AS "rejected!""#
        )
        .fetch_one(self.pool())
        .await?;
        Ok(totals)
    }

    /// How many events a worker still has to look at.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn events_due(&self) -> Result<i64, StoreError> {
        let due = sqlx::query_scalar!(
            r#"SELECT count(*) AS "due!" FROM events WHERE due_at IS NOT NULL"#
        )
        .fetch_one(self.pool())
        .await?;
        Ok(due)
    }
}
