//! Doing what an action asks for.

use domain::{
    action::{Kind, Target},
    id::{SettlementId, WalletId},
};
use sqlx::PgConnection;

use super::{ActionError, views::Action};
use crate::{
    Engine,
    freeze::{self, Maker, Of},
    job::correct,
    wallet::{self, Grant},
};

/// Does what the action asks for. Returns what it posted, if it posts.
pub(super) async fn apply(
    conn: &mut PgConnection,
    engine: &Engine,
    action: &Action,
) -> Result<Option<SettlementId>, ActionError> {
    if let Some(order) = action.order() {
        return Ok(Some(
            correct::carry_out(conn, engine, order, action.id).await?,
        ));
    }
    match (action.request.target, Of::whole(action.request.target)) {
        (Target::Wallet(wallet), _) => of_wallet(conn, engine, action, wallet).await,
        (_, Some(of)) => of_whole(conn, engine, action, of).await.map(|()| None),
        (_, None) => Err(ActionError::Unknown),
    }
}

async fn of_wallet(
    conn: &mut PgConnection,
    engine: &Engine,
    action: &Action,
    id: WalletId,
) -> Result<Option<SettlementId>, ActionError> {
    let (request, wallet) = (&action.request, (action.tenant, id));
    match (request.kind, request.amount) {
        (Kind::Goodwill, Some(amount)) => {
            let credit = Grant {
                tenant: action.tenant,
                wallet: id,
                key: action.id.to_string(),
                amount,
                expires_at: request.lot_expires_at,
                note: request.reason.clone(),
                action: Some(action.id),
            };
            Ok(Some(wallet::grant(conn, engine, &credit).await?.settlement))
        }
        (Kind::Freeze, _) => {
            wallet::freeze(conn, engine, wallet, &request.reason).await?;
            Ok(None)
        }
        (Kind::Unfreeze, _) => {
            wallet::thaw(conn, wallet).await?;
            Ok(None)
        }
        // Neither the form nor the database lets these through.
        (Kind::Goodwill, None)
        | (Kind::Charge | Kind::Credit | Kind::Reverse | Kind::Undo | Kind::Release, _) => {
            Err(ActionError::Unknown)
        }
    }
}

async fn of_whole(
    conn: &mut PgConnection,
    engine: &Engine,
    action: &Action,
    of: Of,
) -> Result<(), ActionError> {
    match action.request.kind {
        Kind::Freeze => {
            let (reason, maker) = (&action.request.reason, Maker::Action(action.id));
            freeze::freeze(conn, engine, of, reason, maker).await?;
            Ok(())
        }
        Kind::Unfreeze => {
            freeze::lift(conn, engine, of, action.id).await?;
            Ok(())
        }
        // The database refuses these: they are about a wallet.
        Kind::Goodwill
        | Kind::Charge
        | Kind::Credit
        | Kind::Reverse
        | Kind::Undo
        | Kind::Release => Err(ActionError::Unknown),
    }
}
