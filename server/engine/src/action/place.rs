//! Where an action belongs: found when it is proposed, from what it is about.

use domain::{
    action::{Request, Target},
    id::{TenantId, WalletId},
    money::Currency,
};
use sqlx::PgConnection;

use super::{ActionError, NO_TENANT};
use crate::{
    case,
    freeze::{self, Of},
    job::{
        self,
        correct::{self, Order},
    },
    ledger,
};

/// Under which tenant an action is kept, and of which currency and mode it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) tenant: TenantId,
    /// Of a wallet.
    pub(super) currency: Option<Currency>,
    /// Of a wallet or a source; a tenant has both modes.
    pub(super) livemode: Option<bool>,
}

/// Finds it; says when what the request is about does not exist, or does not belong together.
pub(super) async fn find(conn: &mut PgConnection, request: &Request) -> Result<Place, ActionError> {
    if !request.target.fits(request.kind) {
        return Err(ActionError::Unknown);
    }
    match request.target {
        Target::Wallet(wallet) => of_wallet(conn, request, wallet).await,
        Target::Tenant(tenant) => {
            let found = freeze::views::named(conn, Of::Tenant(tenant)).await?;
            found
                .map(|_| tenant_wide(tenant))
                .ok_or(ActionError::Unknown)
        }
        Target::Source(source) => {
            let found = freeze::views::named(conn, Of::Source(source)).await?;
            let found = found.ok_or(ActionError::Unknown)?;
            Ok(Place {
                livemode: found.livemode,
                ..tenant_wide(NO_TENANT)
            })
        }
    }
}

fn tenant_wide(tenant: TenantId) -> Place {
    Place {
        tenant,
        currency: None,
        livemode: None,
    }
}

async fn of_wallet(
    conn: &mut PgConnection,
    request: &Request,
    id: WalletId,
) -> Result<Place, ActionError> {
    let wallet = ledger::views::wallet(conn, id).await?;
    let wallet = wallet.ok_or(ActionError::Unknown)?.line;
    if let Some(job) = request.job {
        let found = job::views::find(conn, wallet.tenant, wallet.livemode, job).await?;
        if found.is_none_or(|job| job.wallet != id) {
            return Err(ActionError::Unknown);
        }
        // Says when there is no such correction to take back.
        let of = (wallet.tenant, wallet.livemode);
        let order = Order { of, job, request };
        correct::preview(conn, order, wallet.available).await?;
        if let Some(conflict) = request.conflict
            && case::job_of(conn, conflict).await? != Some(job)
        {
            return Err(ActionError::Unknown);
        }
    }
    Ok(Place {
        tenant: wallet.tenant,
        currency: Some(wallet.available.currency()),
        livemode: Some(wallet.livemode),
    })
}
