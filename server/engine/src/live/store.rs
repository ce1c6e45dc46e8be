//! The message on the database's channel: `{"jobs":3,"events":12}`.

use sqlx::PgPool;

use super::{CHANNEL, Topic};
use crate::error::StoreError;

pub(super) async fn notify(pool: &PgPool, news: &[(Topic, u64)]) -> Result<(), StoreError> {
    let counts: serde_json::Map<_, _> = news
        .iter()
        .map(|(topic, changed)| (topic.as_str().to_owned(), (*changed).into()))
        .collect();
    sqlx::query("SELECT pg_notify($1, $2)")
        .bind(CHANNEL)
        .bind(serde_json::Value::Object(counts).to_string())
        .execute(pool)
        .await?;
    Ok(())
}
