//! Ids: UUID newtypes that cannot stand in for one another, shown and read with their prefix.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Why a text is not an id of the expected kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected an id like {prefix}_0190c5c2a3b47c1e8f00d2a1b3c4d5e6")]
pub struct IdError {
    /// Prefix the id should carry.
    pub prefix: &'static str,
}

/// Declares a UUID newtype that no other id can stand in for.
macro_rules! id {
    ($(#[$doc:meta])* $name:ident = $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub struct $name(pub Uuid);

        impl $name {
            /// What the text form starts with, before the underscore.
            pub const PREFIX: &'static str = $prefix;
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "_{}"), self.0.simple())
            }
        }

        impl From<$name> for Uuid {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                text.strip_prefix(concat!($prefix, "_"))
                    .filter(|hex| hex.len() == 32)
                    .and_then(|hex| Uuid::try_parse(hex).ok())
                    .map(Self)
                    .ok_or(IdError { prefix: $prefix })
            }
        }

        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(from)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

id!(
    /// A customer of the operator of this installation.
    TenantId = "tenant"
);
id!(
    /// Prepaid funds of a tenant in one currency and mode.
    WalletId = "wallet"
);
id!(
    /// Asynchronous work, minted at acceptance.
    JobId = "job"
);
id!(
    /// The final effect of one phase.
    SettlementId = "stl"
);
id!(
    /// An account of the ledger.
    AccountId = "acct"
);
id!(
    /// A dated grant of credit.
    LotId = "lot"
);
id!(
    /// A configured sender.
    SourceId = "src"
);
id!(
    /// A verification secret of a source.
    SecretId = "sec"
);
id!(
    /// A key a tenant's backend signs in with.
    ApiKeyId = "key"
);
id!(
    /// A keyed request of an operator.
    ActionId = "act"
);
id!(
    /// One decision about many things.
    TaskId = "task"
);
id!(
    /// A staff member.
    OperatorId = "op"
);

id!(
    /// What a provider says it did or billed in a period.
    StatementId = "stmt"
);

id!(
    /// Groups of a statement that a person has decided are one.
    MatchId = "match"
);

/// An event in the inbox, numbered in order of acceptance; shown as `evt_42`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct EventId(pub i64);

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "evt_{}", self.0)
    }
}

impl FromStr for EventId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        text.strip_prefix("evt_")
            .and_then(|number| number.parse().ok())
            .filter(|number| *number > 0)
            .map(Self)
            .ok_or(IdError { prefix: "evt" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_reads_back_and_no_other_kind_does() {
        let job = JobId(Uuid::from_u128(0x0190_c5c2_a3b4_7c1e_8f00_d2a1_b3c4_d5e6));
        assert_eq!(job.to_string(), "job_0190c5c2a3b47c1e8f00d2a1b3c4d5e6");
        assert_eq!(job.to_string().parse(), Ok(job));
        assert!(job.to_string().parse::<WalletId>().is_err());
        assert!(
            "job_0190c5c2-a3b4-7c1e-8f00-d2a1b3c4d5e6"
                .parse::<JobId>()
                .is_err()
        );
        assert_eq!("evt_7".parse(), Ok(EventId(7)));
        assert!("evt_-7".parse::<EventId>().is_err());
    }
}
