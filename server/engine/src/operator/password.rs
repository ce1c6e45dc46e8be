//! Passwords: argon2id, on the blocking threads, a few at a time.

use argon2::{
    Algorithm, Argon2, Params, Version,
    password_hash::{self, PasswordHasher, PasswordVerifier, phc::PasswordHash},
};
use tokio::{sync::Semaphore, task::spawn_blocking};

/// 19 MiB, two passes, one lane: the lower of the two settings OWASP recommends.
const MEMORY_KIB: u32 = 19 * 1024;
const PASSES: u32 = 2;
const MIN_CHARACTERS: usize = 12;
/// Longer ones are refused before they are hashed.
const MAX_BYTES: usize = 1024;

/// Bounds memory and processors that guessing can take.
static TURNS: Semaphore = Semaphore::const_new(2);

/// Checked when the account is unknown, so that the answer takes as long as for a known one.
const NOBODY: &str = "$argon2id$v=19$m=19456,t=2,p=1$bm9ib2R5LW5vYm9keS1ubw$P8v2R5mXw3KqB0bq3Y3lPqZxgq0Y0oVw1l6p0g2m5Ws";

/// Why a password was not hashed or checked.
#[derive(Debug, thiserror::Error)]
pub enum PasswordError {
    /// Too short.
    #[error("a password needs at least {MIN_CHARACTERS} characters")]
    Short,
    /// Too long.
    #[error("a password has at most {MAX_BYTES} bytes")]
    Long,
    /// The hash could not be made or read.
    #[error("the password could not be hashed")]
    Hash(#[source] password_hash::Error),
    /// The thread was lost.
    #[error("hashing the password was interrupted")]
    Interrupted,
}

fn argon2() -> Result<Argon2<'static>, PasswordError> {
    let params = Params::new(MEMORY_KIB, PASSES, 1, None)
        .map_err(|error| PasswordError::Hash(error.into()))?;
    Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

pub(super) async fn hash(password: &str) -> Result<String, PasswordError> {
    if password.chars().count() < MIN_CHARACTERS {
        return Err(PasswordError::Short);
    }
    hash_unchecked(password).await
}

/// For a password that is in use already: rules for new ones do not apply.
pub(super) async fn hash_unchecked(password: &str) -> Result<String, PasswordError> {
    if password.len() > MAX_BYTES {
        return Err(PasswordError::Long);
    }
    let password = password.to_owned();
    in_turn(move || {
        let hash = argon2()?
            .hash_password(password.as_bytes())
            .map_err(PasswordError::Hash)?;
        Ok(hash.to_string())
    })
    .await
}

/// Whether the password is right. Takes as long when there is no hash to compare with.
pub(super) async fn verify(password: &str, hash: Option<String>) -> Result<bool, PasswordError> {
    if password.len() > MAX_BYTES {
        return Ok(false);
    }
    let password = password.to_owned();
    in_turn(move || {
        let known = hash.is_some();
        let hash = hash.unwrap_or_else(|| NOBODY.to_owned());
        match argon2()?.verify_password(password.as_bytes(), hash.as_str()) {
            Ok(()) => Ok(known),
            Err(password_hash::Error::PasswordInvalid) => Ok(false),
            Err(error) => Err(PasswordError::Hash(error)),
        }
    })
    .await
}

/// Whether the hash was made with other settings than today's.
pub(super) fn is_outdated(hash: &str) -> bool {
    let settings = PasswordHash::new(hash)
        .ok()
        .and_then(|hash| Params::try_from(&hash).ok());
    settings.is_none_or(|params| {
        (params.m_cost(), params.t_cost(), params.p_cost()) != (MEMORY_KIB, PASSES, 1)
    })
}

async fn in_turn<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, PasswordError> + Send + 'static,
) -> Result<T, PasswordError> {
    let turn = TURNS
        .acquire()
        .await
        .map_err(|_| PasswordError::Interrupted)?;
    let done = spawn_blocking(work)
        .await
        .map_err(|_| PasswordError::Interrupted)?;
    drop(turn);
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_password_is_right_or_wrong_and_nobody_takes_as_long() {
        let made = hash("correct horse battery").await.unwrap();
        assert!(made.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"));
        assert!(
            verify("correct horse battery", Some(made.clone()))
                .await
                .unwrap()
        );
        assert!(
            !verify("wrong horse battery", Some(made.clone()))
                .await
                .unwrap()
        );
        assert!(!verify("anything", None).await.unwrap());
        assert!(!is_outdated(&made));
        assert!(is_outdated(&made.replace("t=2", "t=1")));
        assert!(matches!(hash("short").await, Err(PasswordError::Short)));
    }
}
