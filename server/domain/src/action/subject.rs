//! What a request is about: a wallet, a job of it, or a tenant or a source as a whole.

use serde::Serialize;

use super::Kind;
use crate::{
    id::{JobId, SettlementId, SourceId, TenantId, WalletId},
    money::Currency,
};

/// Whose money, or whose billing, a request is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// A wallet, or a job of it.
    Wallet(WalletId),
    /// Everything of a tenant.
    Tenant(TenantId),
    /// Everything a source sends.
    Source(SourceId),
}

impl Target {
    /// Whether a kind of action can be done to it: only a freeze is larger than a wallet.
    pub fn fits(self, kind: Kind) -> bool {
        match self {
            Self::Wallet(_) => true,
            Self::Tenant(_) | Self::Source(_) => matches!(kind, Kind::Freeze | Kind::Unfreeze),
        }
    }
}

/// What a request is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Subject {
    /// The wallet, tenant or source.
    pub target: Target,
    /// The currency of a wallet; tenants and sources have none.
    pub currency: Option<Currency>,
    /// The job, for [`Kind::is_of_job`].
    pub job: Option<JobId>,
    /// The correction that is taken back, for [`Kind::Undo`].
    pub undoes: Option<SettlementId>,
    /// The other content of an event that is taken for the right one, for an adjustment.
    pub conflict: Option<i64>,
}

impl Subject {
    /// A wallet, and no job of it.
    pub fn wallet(wallet: WalletId, currency: Currency) -> Self {
        Self {
            currency: Some(currency),
            ..Self::whole(Target::Wallet(wallet))
        }
    }

    /// A tenant or a source, as a whole.
    pub fn whole(target: Target) -> Self {
        Self {
            target,
            currency: None,
            job: None,
            undoes: None,
            conflict: None,
        }
    }

    /// Whether it says everything that a kind of action has to know, and nothing that it has not.
    pub fn fits(&self, kind: Kind) -> bool {
        let adjusts = matches!(kind, Kind::Charge | Kind::Credit);
        self.target.fits(kind)
            && self.job.is_some() == kind.is_of_job()
            && self.undoes.is_some() == (kind == Kind::Undo)
            && (self.conflict.is_none() || adjusts)
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn only_a_freeze_is_larger_than_a_wallet() {
        let id = Uuid::from_u128(1);
        for kind in Kind::ALL {
            let freezes = matches!(kind, Kind::Freeze | Kind::Unfreeze);
            for target in [Target::Tenant(TenantId(id)), Target::Source(SourceId(id))] {
                assert_eq!(Subject::whole(target).fits(*kind), freezes, "{kind}");
            }
        }
    }
}
