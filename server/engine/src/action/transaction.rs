//! Steps of actions in transactions of their own.

use domain::{action::State, canonical::Hash, id::ActionId};
use sqlx::PgConnection;

use super::{ActionError, approve, commit, views};
use crate::{Engine, audit::By, error::StoreError, live::Topic, settlement};

impl Engine {
    /// Runs one step of an action in a transaction of its own; what fails changes nothing.
    ///
    /// # Errors
    /// What the step says, or a failure of storage.
    pub async fn act<T>(
        &self,
        step: impl AsyncFnOnce(&mut PgConnection, &Self) -> Result<T, ActionError>,
    ) -> Result<T, ActionError> {
        let mut tx = self.pool().begin().await?;
        let done = step(&mut tx, self).await?;
        tx.commit().await?;
        Ok(done)
    }

    /// [`commit`] in a transaction of its own. Credit that is given wakes what waits for funds.
    ///
    /// # Errors
    /// [`ActionError`].
    pub async fn commit_action(
        &self,
        id: ActionId,
        basis: Hash,
        by: By<'_>,
    ) -> Result<State, ActionError> {
        let step = async |conn: &mut PgConnection, engine: &Self| {
            commit(conn, engine, id, basis, by).await
        };
        let state = self.act(step).await?;
        self.wake_after(id, state).await;
        Ok(state)
    }

    /// [`approve`] in a transaction of its own. Credit that is given wakes what waits for funds.
    ///
    /// # Errors
    /// [`ActionError`].
    pub async fn approve_action(&self, id: ActionId, by: By<'_>) -> Result<State, ActionError> {
        let step =
            async |conn: &mut PgConnection, engine: &Self| approve(conn, engine, id, by).await;
        let state = self.act(step).await?;
        self.wake_after(id, state).await;
        Ok(state)
    }

    async fn wake_after(&self, id: ActionId, state: State) {
        if state != State::Done {
            return;
        }
        let woken = async {
            let mut conn = self.connection().await?;
            let Some(action) = views::find(&mut conn, id).await? else {
                return Ok(());
            };
            drop(conn);
            if action.request.job.is_some() {
                self.news().count(Topic::Jobs, 1);
            }
            settlement::wake_for_funds(self.pool(), action.tenant, self.clock().now()).await?;
            Ok::<_, StoreError>(())
        };
        // The action stands either way; what waits is looked at again within a minute anyway.
        if let Err(error) = woken.await {
            tracing::warn!(%error, action = %id, "events that wait for funds were not woken");
        }
    }
}
