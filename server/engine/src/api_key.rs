//! API keys: `qk_live_…` or `qk_test_…`, whose text names tenant and key and carries 32 random bytes.
//! Only the SHA-256 of those bytes is kept: they are random, so a slow hash would add nothing.

mod store;

use std::fmt;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use chrono::{DateTime, Utc};
use domain::id::{ApiKeyId, TenantId};
use sha2::{Digest, Sha256};
use sqlx::PgConnection;
use subtle::ConstantTimeEq as _;
use uuid::Uuid;

use crate::{Engine, error::StoreError};

/// Whom a key speaks for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Caller {
    /// Tenant.
    pub tenant: TenantId,
    /// Key.
    pub key: ApiKeyId,
    /// Mode of the wallets it may use.
    pub livemode: bool,
}

/// A key as its owner sees it, once. It prints itself only where asked to, by `Display`.
pub struct KeyText {
    id: ApiKeyId,
    text: String,
}

impl KeyText {
    /// The key's id, by which it is revoked.
    pub fn id(&self) -> ApiKeyId {
        self.id
    }
}

impl fmt::Display for KeyText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for KeyText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyText({}, ***)", self.id)
    }
}

/// Why no key was minted.
#[derive(Debug, thiserror::Error)]
pub enum MintError {
    /// The operating system gave no random bytes.
    #[error("the operating system gave no random bytes")]
    Random(#[source] getrandom::Error),
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

struct Parsed {
    caller: Caller,
    secret: [u8; 32],
}

fn write(caller: &Caller, secret: &[u8; 32]) -> KeyText {
    let mode = if caller.livemode { "live" } else { "test" };
    let bytes = [
        caller.tenant.0.as_bytes().as_slice(),
        caller.key.0.as_bytes(),
        secret,
    ]
    .concat();
    KeyText {
        id: caller.key,
        text: format!("qk_{mode}_{}", URL_SAFE_NO_PAD.encode(bytes)),
    }
}

fn parse(text: &str) -> Option<Parsed> {
    let (livemode, body) = match text.strip_prefix("qk_")?.split_once('_')? {
        ("live", body) => (true, body),
        ("test", body) => (false, body),
        _ => return None,
    };
    let bytes: [u8; 64] = URL_SAFE_NO_PAD.decode(body).ok()?.try_into().ok()?;
    let tenant = TenantId(Uuid::from_slice(&bytes[..16]).ok()?);
    let key = ApiKeyId(Uuid::from_slice(&bytes[16..32]).ok()?);
    let secret = bytes[32..].try_into().ok()?;
    let caller = Caller {
        tenant,
        key,
        livemode,
    };
    Some(Parsed { caller, secret })
}

/// Mints a key and returns its text, which cannot be had again.
///
/// # Errors
/// [`MintError`].
pub async fn mint(
    conn: &mut PgConnection,
    engine: &Engine,
    tenant: TenantId,
    name: &str,
    livemode: bool,
) -> Result<KeyText, MintError> {
    let mut secret = [0; 32];
    getrandom::fill(&mut secret).map_err(MintError::Random)?;
    let key = ApiKeyId(engine.mint());
    let caller = Caller {
        tenant,
        key,
        livemode,
    };
    let hash: [u8; 32] = Sha256::digest(secret).into();
    store::insert(conn, caller, name, &hash, engine.clock().now()).await?;
    Ok(write(&caller, &secret))
}

/// Whom the text speaks for; nobody when it is no key, unknown, revoked, or of the other mode.
///
/// # Errors
/// [`StoreError`].
pub async fn authenticate(
    conn: &mut PgConnection,
    text: &str,
) -> Result<Option<Caller>, StoreError> {
    let Some(Parsed { caller, secret }) = parse(text) else {
        return Ok(None);
    };
    let hash: [u8; 32] = Sha256::digest(secret).into();
    let known = store::active_hash(conn, caller).await?;
    let same = known.is_some_and(|known| bool::from(known.as_slice().ct_eq(&hash)));
    Ok(same.then_some(caller))
}

/// A key as it is listed; its text is nowhere.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listed {
    /// The key.
    pub key: ApiKeyId,
    /// What it is for.
    pub name: String,
    /// Mode of the wallets it may use.
    pub livemode: bool,
    /// When it was minted.
    pub created_at: DateTime<Utc>,
    /// When it stopped working, if it did.
    pub revoked_at: Option<DateTime<Utc>>,
}

/// The keys of a tenant, oldest first.
///
/// # Errors
/// [`StoreError`].
pub async fn list(conn: &mut PgConnection, tenant: TenantId) -> Result<Vec<Listed>, StoreError> {
    store::list(conn, tenant).await
}

/// Makes a key stop working. Returns whether it worked before.
///
/// # Errors
/// [`StoreError`].
pub async fn revoke(
    conn: &mut PgConnection,
    engine: &Engine,
    tenant: TenantId,
    key: ApiKeyId,
) -> Result<bool, StoreError> {
    store::revoke(conn, tenant, key, engine.clock().now()).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_reads_back_and_its_debug_form_shows_nothing() {
        let caller = Caller {
            tenant: TenantId(Uuid::from_u128(1)),
            key: ApiKeyId(Uuid::from_u128(2)),
            livemode: false,
        };
        let text = write(&caller, &[7; 32]);
        let parsed = parse(&text.to_string()).unwrap();
        assert_eq!((parsed.caller, parsed.secret), (caller, [7; 32]));
        assert!(!format!("{text:?}").contains("qk_"));
        for broken in [
            "",
            "qk_live_",
            "qk_prod_AAAA",
            "sk_live_AAAA",
            "qk_live_%%%",
        ] {
            assert!(parse(broken).is_none(), "{broken}");
        }
    }
}
