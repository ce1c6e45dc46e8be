//! Operators: staff who sign in to the console.
//!
//! Guessing is slowed down twice: by argon2id, which runs on its own threads and never more than a few
//! at once, and by durable counters for the account, for the address, and for both together. An attempt
//! is counted before it is judged, so many at once gain nothing.

mod password;
mod store;

use std::{fmt, str::FromStr};

use chrono::{DateTime, TimeDelta, Utc};
use domain::id::OperatorId;
use sqlx::PgConnection;

pub use self::password::PasswordError;
use crate::{Engine, error::StoreError};

/// Failed attempts on one account from one address within [`WINDOW`] before they are locked. A stranger
/// elsewhere does not lock a person out with this.
pub const PAIR_LIMIT: i64 = 10;
/// Failed attempts on one account from anywhere within [`WINDOW`] before it is locked.
pub const ACCOUNT_LIMIT: i64 = 100;
/// Failed attempts from one address within [`WINDOW`] before it is locked.
pub const ADDRESS_LIMIT: i64 = 50;
/// How long a failed attempt counts.
pub const WINDOW: TimeDelta = TimeDelta::minutes(15);

/// What an operator may do. Each role may do what the one before it may.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Role {
    /// Reads.
    Viewer,
    /// Reads payloads too.
    Support,
    /// Acts on money.
    Finance,
    /// Sets up.
    Admin,
}

/// A word that is no role.
#[derive(Debug, thiserror::Error)]
#[error("a role is one of viewer, support, finance, admin")]
pub struct UnknownRole;

impl Role {
    /// The word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Support => "support",
            Self::Finance => "finance",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Role {
    type Err = UnknownRole;

    fn from_str(word: &str) -> Result<Self, UnknownRole> {
        match word {
            "viewer" => Ok(Self::Viewer),
            "support" => Ok(Self::Support),
            "finance" => Ok(Self::Finance),
            "admin" => Ok(Self::Admin),
            _ => Err(UnknownRole),
        }
    }
}

/// An account that may sign in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Operator {
    /// Id.
    pub id: OperatorId,
    /// Sign-in name.
    pub email: String,
    /// Name others read.
    pub name: String,
    /// Role.
    pub role: Role,
    /// IANA name of the zone times are shown in.
    pub time_zone: String,
}

/// An account to be made.
pub struct NewOperator<'a> {
    /// Sign-in name; made lower case.
    pub email: &'a str,
    /// Name others read.
    pub name: &'a str,
    /// Role.
    pub role: Role,
    /// Password, of at least twelve characters.
    pub password: &'a str,
}

/// Why an account was not made.
#[derive(Debug, thiserror::Error)]
pub enum AddOperatorError {
    /// The e-mail is taken.
    #[error("an operator with this e-mail exists")]
    Exists,
    /// The e-mail is none.
    #[error("an e-mail reads like name@example.com")]
    Email,
    /// The password.
    #[error(transparent)]
    Password(#[from] PasswordError),
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why nobody was signed in.
#[derive(Debug, thiserror::Error)]
pub enum SignInError {
    /// E-mail and password do not match, or the account is disabled; which, is not told.
    #[error("e-mail and password do not match")]
    Credentials,
    /// Too many attempts failed.
    #[error("too many attempts failed")]
    Locked,
    /// The password could not be checked.
    #[error(transparent)]
    Password(#[from] PasswordError),
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Makes an account.
///
/// # Errors
/// [`AddOperatorError`].
pub async fn add(
    conn: &mut PgConnection,
    engine: &Engine,
    new: &NewOperator<'_>,
) -> Result<OperatorId, AddOperatorError> {
    let email = new.email.trim().to_lowercase();
    let (user, host) = email.split_once('@').ok_or(AddOperatorError::Email)?;
    if user.is_empty() || host.is_empty() || email.chars().any(char::is_control) {
        return Err(AddOperatorError::Email);
    }
    let hash = password::hash(new.password).await?;
    let id = OperatorId(engine.mint());
    store::insert(conn, id, &email, new, &hash, engine.clock().now()).await?;
    Ok(id)
}

/// An account as it is listed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listed {
    /// Sign-in name.
    pub email: String,
    /// Name others read.
    pub name: String,
    /// Role.
    pub role: Role,
    /// Since when nobody signs in with it.
    pub disabled_at: Option<DateTime<Utc>>,
}

/// All accounts, by sign-in name.
///
/// # Errors
/// [`StoreError`].
pub async fn list(conn: &mut PgConnection) -> Result<Vec<Listed>, StoreError> {
    store::list(conn).await
}

/// Disables an account: its sessions end with their next request. Returns its id, if it worked before.
///
/// # Errors
/// [`StoreError`].
pub async fn disable(
    conn: &mut PgConnection,
    engine: &Engine,
    email: &str,
) -> Result<Option<OperatorId>, StoreError> {
    let email = email.trim().to_lowercase();
    store::disable(conn, &email, engine.clock().now()).await
}

/// Gives an account that works another password. Returns its id, if there is one. Sessions that are open
/// stay open: whoever lost a session is disabled instead.
///
/// # Errors
/// [`AddOperatorError`].
pub async fn set_password(
    conn: &mut PgConnection,
    email: &str,
    password: &str,
) -> Result<Option<OperatorId>, AddOperatorError> {
    let hash = password::hash(password).await?;
    let email = email.trim().to_lowercase();
    Ok(store::set_hash(conn, &email, &hash).await?)
}

/// The account, as long as it is not disabled.
///
/// # Errors
/// [`StoreError`].
pub async fn find(conn: &mut PgConnection, id: OperatorId) -> Result<Option<Operator>, StoreError> {
    store::find(conn, id).await
}

impl Engine {
    /// Signs an operator in. The attempt is on record before the password is looked at, and is taken
    /// back when it was right.
    ///
    /// # Errors
    /// [`SignInError`].
    pub async fn sign_in(
        &self,
        email: &str,
        password: &str,
        address: &str,
    ) -> Result<Operator, SignInError> {
        let email: String = email.trim().to_lowercase().chars().take(320).collect();
        let subjects = [
            format!("email:{email} address:{address}"),
            format!("email:{email}"),
            format!("address:{address}"),
        ];
        let now = self.clock().now();
        let mut conn = self.pool().acquire().await.map_err(StoreError::from)?;
        let attempt = store::record_attempt(&mut conn, &subjects, now).await?;
        let [pair, account, from_address] =
            store::count_since(&mut conn, &subjects, now - WINDOW).await?;
        if pair > PAIR_LIMIT || account > ACCOUNT_LIMIT || from_address > ADDRESS_LIMIT {
            // A refused attempt is not a failed one: otherwise the lock would never end.
            store::take_back(&mut conn, &attempt).await?;
            return Err(SignInError::Locked);
        }
        let known = store::credentials(&mut conn, &email).await?;
        let hash = known.as_ref().map(|(_, hash)| hash.clone());
        // Checking a password queues for its threads; nobody else's connection waits in that queue.
        drop(conn);
        let right = password::verify(password, hash).await?;
        let Some((operator, hash)) = known.filter(|_| right) else {
            return Err(SignInError::Credentials);
        };
        let renewed = match password::is_outdated(&hash) {
            true => Some(password::hash_unchecked(password).await?),
            false => None,
        };
        let mut conn = self.pool().acquire().await.map_err(StoreError::from)?;
        if let Some(renewed) = renewed {
            store::renew_hash(&mut conn, operator.id, &hash, &renewed).await?;
        }
        store::take_back(&mut conn, &attempt).await?;
        store::forget(&mut conn, &subjects[..2]).await?;
        Ok(operator)
    }
}
