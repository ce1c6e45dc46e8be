//! Sessions of tower-sessions in PostgreSQL. The cookie carries a random id; the table only its hash.

use chrono::{DateTime, Utc};
use domain::canonical::Hash;
use engine::{
    Engine,
    error::StoreError,
    session::{self, SessionHash, Stored},
};
use tower_sessions::{
    cookie::time::OffsetDateTime,
    session::{Id, Record},
    session_store::{Error, Result},
};

/// The store.
#[derive(Clone, Debug)]
pub(super) struct SessionStore(Engine);

impl SessionStore {
    pub(super) fn new(engine: Engine) -> Self {
        Self(engine)
    }

    async fn connection(&self) -> Result<sqlx::pool::PoolConnection<sqlx::Postgres>> {
        self.0
            .pool()
            .acquire()
            .await
            .map_err(|error| backend(&error.into()))
    }
}

fn hash(id: Id) -> SessionHash {
    SessionHash(Hash::of_bytes(&id.0.to_be_bytes()).0)
}

fn backend(error: &StoreError) -> Error {
    Error::Backend(error.to_string())
}

fn stored(record: &Record) -> Result<Stored> {
    let data =
        serde_json::to_value(&record.data).map_err(|error| Error::Encode(error.to_string()))?;
    let expires_at = DateTime::<Utc>::from_timestamp(record.expiry_date.unix_timestamp(), 0)
        .ok_or_else(|| Error::Encode("the expiry is out of range".to_owned()))?;
    Ok(Stored { data, expires_at })
}

#[async_trait::async_trait]
impl tower_sessions::SessionStore for SessionStore {
    async fn create(&self, record: &mut Record) -> Result<()> {
        let stored = stored(record)?;
        let mut conn = self.connection().await?;
        // An id that is taken is drawn again; that it ever happens is not expected.
        while !session::create(&mut conn, hash(record.id), &stored)
            .await
            .map_err(|error| backend(&error))?
        {
            record.id = Id::default();
        }
        Ok(())
    }

    async fn save(&self, record: &Record) -> Result<()> {
        let stored = stored(record)?;
        let mut conn = self.connection().await?;
        session::save(&mut conn, hash(record.id), &stored)
            .await
            .map_err(|error| backend(&error))
    }

    async fn load(&self, id: &Id) -> Result<Option<Record>> {
        let mut conn = self.connection().await?;
        let found = session::load(&mut conn, hash(*id), self.0.clock().now())
            .await
            .map_err(|error| backend(&error))?;
        let Some(stored) = found else { return Ok(None) };
        let data = serde_json::from_value(stored.data)
            .map_err(|error| Error::Decode(error.to_string()))?;
        let expiry_date = OffsetDateTime::from_unix_timestamp(stored.expires_at.timestamp())
            .map_err(|error| Error::Decode(error.to_string()))?;
        Ok(Some(Record {
            id: *id,
            data,
            expiry_date,
        }))
    }

    async fn delete(&self, id: &Id) -> Result<()> {
        let mut conn = self.connection().await?;
        session::delete(&mut conn, hash(*id))
            .await
            .map_err(|error| backend(&error))
    }
}
