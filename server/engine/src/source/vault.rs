//! Secrets at rest: sealed with the installation's key, opened only in memory.
//!
//! What stays true: a sealed secret opens only under the key, the source and the secret id it was sealed
//! for, so rows cannot be swapped between sources; and neither the key nor a secret is ever printed.

use std::{
    fmt,
    fs::{File, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use chacha20poly1305::{
    XChaCha20Poly1305, XNonce,
    aead::{Aead as _, KeyInit as _, Payload},
};
use domain::id::{SecretId, SourceId};

/// The key of an installation. Whoever has it and the database can read every webhook secret.
#[derive(Clone)]
pub struct MasterKey([u8; 32]);

/// Why there is no usable key.
#[derive(Debug, thiserror::Error)]
pub enum MasterKeyError {
    /// Not 64 hexadecimal digits.
    #[error("the master key must be 64 hexadecimal digits; make one with `openssl rand -hex 32`")]
    Malformed,
    /// The file holds something else.
    #[error("{} must hold 64 hexadecimal digits and nothing else; restore it from a backup: without the key that was used, stored secrets cannot be read", .0.display())]
    MalformedFile(PathBuf),
    /// Other users of the machine can read it.
    #[error("{} can be read by others (mode {mode:o}); run: chmod 600 {}", .path.display(), .path.display())]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// The file cannot be read or made.
    #[error("the master key in {} cannot be read or made", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The system has no randomness to give.
    #[error("the operating system gives no random bytes")]
    Randomness(#[source] getrandom::Error),
}

impl MasterKey {
    /// Reads a key as it is given in the environment.
    ///
    /// # Errors
    /// [`MasterKeyError::Malformed`].
    pub fn from_hex(text: &str) -> Result<Self, MasterKeyError> {
        let mut key = [0; 32];
        hex::decode_to_slice(text.trim(), &mut key).map_err(|_| MasterKeyError::Malformed)?;
        Ok(Self(key))
    }

    /// The key in this file, which is made with a new key when it is missing. It must be readable by its
    /// owner only.
    ///
    /// # Errors
    /// [`MasterKeyError`].
    pub fn load_or_create(path: &Path) -> Result<Self, MasterKeyError> {
        let failed = |source| MasterKeyError::File {
            path: path.to_owned(),
            source,
        };
        if let Some(directory) = path.parent() {
            std::fs::create_dir_all(directory).map_err(failed)?;
        }
        let created = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path);
        match created {
            Ok(mut file) => {
                let mut key = [0; 32];
                getrandom::fill(&mut key).map_err(MasterKeyError::Randomness)?;
                writeln!(file, "{}", hex::encode(key)).map_err(failed)?;
                file.sync_all().map_err(failed)?;
                Ok(Self(key))
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Self::load(path).map_err(|error| match error {
                    LoadError::System(source) => failed(source),
                    LoadError::Key(error) => error,
                })
            }
            Err(error) => Err(failed(error)),
        }
    }

    fn load(path: &Path) -> Result<Self, LoadError> {
        let file = File::open(path)?;
        let mode = file.metadata()?.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            let path = path.to_owned();
            return Err(LoadError::Key(MasterKeyError::Exposed { path, mode }));
        }
        let mut text = String::new();
        file.take(1024).read_to_string(&mut text)?;
        Self::from_hex(&text)
            .map_err(|_| LoadError::Key(MasterKeyError::MalformedFile(path.to_owned())))
    }

    /// Seals a secret for one source.
    pub(super) fn seal(
        &self,
        source: SourceId,
        secret: SecretId,
        text: &str,
    ) -> Result<Sealed, VaultError> {
        let mut nonce = [0; 24];
        getrandom::fill(&mut nonce).map_err(VaultError::Randomness)?;
        let aad = binding(source, secret);
        let payload = Payload {
            msg: text.as_bytes(),
            aad: &aad,
        };
        let ciphertext = self
            .cipher()
            .encrypt(&XNonce::from(nonce), payload)
            .map_err(|_| VaultError::Seal)?;
        Ok(Sealed { nonce, ciphertext })
    }

    /// Opens a secret sealed for this source and id.
    pub(super) fn open(
        &self,
        source: SourceId,
        secret: SecretId,
        sealed: &Sealed,
    ) -> Result<String, VaultError> {
        let aad = binding(source, secret);
        let payload = Payload {
            msg: &sealed.ciphertext,
            aad: &aad,
        };
        let text = self
            .cipher()
            .decrypt(&XNonce::from(sealed.nonce), payload)
            .map_err(|_| VaultError::Open(secret))?;
        String::from_utf8(text).map_err(|_| VaultError::Open(secret))
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new(&self.0.into())
    }
}

impl fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MasterKey")
    }
}

enum LoadError {
    System(io::Error),
    Key(MasterKeyError),
}

impl From<io::Error> for LoadError {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

/// A secret as it is stored.
#[derive(Clone, Debug)]
pub(super) struct Sealed {
    pub(super) nonce: [u8; 24],
    pub(super) ciphertext: Vec<u8>,
}

/// Why a secret could not be sealed or opened.
#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    /// Sealing failed.
    #[error("a secret could not be sealed")]
    Seal,
    /// The key, or the row, is not the one it was sealed with.
    #[error(
        "secret {0} cannot be opened: the master key is not the one it was sealed with, or the row was changed"
    )]
    Open(SecretId),
    /// The system has no randomness to give.
    #[error("the operating system gives no random bytes")]
    Randomness(#[source] getrandom::Error),
}

/// What the ciphertext is bound to.
fn binding(source: SourceId, secret: SecretId) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes[..16].copy_from_slice(source.0.as_bytes());
    bytes[16..].copy_from_slice(secret.0.as_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn a_secret_opens_only_where_it_was_sealed() {
        let key = MasterKey([7; 32]);
        let (source, secret) = (SourceId(Uuid::from_u128(1)), SecretId(Uuid::from_u128(2)));
        let sealed = key.seal(source, secret, "whsec_x").unwrap();
        assert_eq!(key.open(source, secret, &sealed).unwrap(), "whsec_x");
        assert!(!sealed.ciphertext.windows(7).any(|part| part == b"whsec_x"));
        assert!(
            key.open(SourceId(Uuid::from_u128(3)), secret, &sealed)
                .is_err()
        );
        assert!(
            key.open(source, SecretId(Uuid::from_u128(3)), &sealed)
                .is_err()
        );
        assert!(MasterKey([8; 32]).open(source, secret, &sealed).is_err());
    }

    #[test]
    fn the_file_is_made_once_and_must_be_private() {
        let path = std::env::temp_dir().join(format!("quittance-key-{}", std::process::id()));
        let made = MasterKey::load_or_create(&path).unwrap();
        assert_eq!(MasterKey::load_or_create(&path).unwrap().0, made.0);
        let mut permissions = std::fs::metadata(&path).unwrap().permissions();
        permissions.set_mode(0o640);
        std::fs::set_permissions(&path, permissions).unwrap();
        let error = MasterKey::load_or_create(&path).unwrap_err();
        assert!(error.to_string().contains("chmod 600"), "{error}");
        std::fs::remove_file(&path).unwrap();
        assert_eq!(format!("{made:?}"), "MasterKey");
        assert!(MasterKey::from_hex("abc").is_err());
    }
}
