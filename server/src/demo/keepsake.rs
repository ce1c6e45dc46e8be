//! What the demo has to remember between runs because the database keeps only hashes and ciphertext of
//! it: the staff's password, API keys and webhook secrets. A file for its owner only, in the data
//! directory; invented secrets for invented money.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::wire::{Mailbox, Purse};

/// The remembered secrets.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Keepsake {
    /// Tenants they belong to, in the order of the cast.
    pub(super) tenants: Vec<String>,
    /// Of every staff account.
    pub(super) password: String,
    /// In the order of the cast's wallets.
    pub(super) purses: Vec<Purse>,
    /// In the order of the cast's senders.
    pub(super) mailboxes: Vec<Mailbox>,
}

impl Keepsake {
    fn path(dir: &Path) -> PathBuf {
        dir.join("demo.json")
    }

    /// Reads it back, if there is one.
    pub(super) fn read(dir: &Path) -> io::Result<Option<Self>> {
        match fs::read(Self::path(dir)) {
            Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes it whole or not at all.
    pub(super) fn write(&self, dir: &Path) -> io::Result<()> {
        fs::create_dir_all(dir)?;
        let (path, draft) = (Self::path(dir), dir.join("demo.json.new"));
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&draft)?;
        file.write_all(&serde_json::to_vec_pretty(self)?)?;
        file.sync_all()?;
        fs::rename(draft, path)
    }
}
