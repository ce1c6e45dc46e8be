//! Keys as they stand in an address: short, and opaque to whoever keeps it.

use uuid::Uuid;

/// A key a page of a list can start at. Its text is opaque to whoever keeps the address.
pub(crate) trait Key: Copy {
    /// As it stands in an address.
    fn encode(self) -> String;
    /// Back from an address.
    fn decode(text: &str) -> Option<Self>;
}

impl Key for Uuid {
    fn encode(self) -> String {
        self.simple().to_string()
    }

    fn decode(text: &str) -> Option<Self> {
        (text.len() == 32)
            .then(|| Self::try_parse(text).ok())
            .flatten()
    }
}

impl Key for i64 {
    fn encode(self) -> String {
        format!("{self:x}")
    }

    fn decode(text: &str) -> Option<Self> {
        Self::from_str_radix(text, 16).ok().filter(|key| *key >= 0)
    }
}

impl Key for (Uuid, Uuid) {
    fn encode(self) -> String {
        format!("{}{}", self.0.simple(), self.1.simple())
    }

    fn decode(text: &str) -> Option<Self> {
        let (left, right) = text.split_at_checked(32)?;
        Some((Uuid::decode(left)?, Uuid::decode(right)?))
    }
}
