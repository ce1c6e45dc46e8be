//! Read wallets. Nothing here changes one.

use axum::{
    Json,
    extract::{Path, State},
};
use domain::id::WalletId;
use engine::{error::StoreError, wallet::views};

use super::{
    Api,
    body::{ProblemBody, WalletBody, WalletList},
    caller::Caller,
};
use crate::http::problem::{Kind, Problem};

/// List wallets
#[utoipa::path(
    get, path = "/wallets", tag = "wallets", security(("api_key" = [])),
    responses((status = 200, description = "All wallets of the key's tenant and mode", body = WalletList))
)]
pub(super) async fn list(
    State(api): State<Api>,
    caller: Caller,
) -> Result<Json<WalletList>, Problem> {
    let (tenant, livemode) = caller.scope();
    let now = api.engine.clock().now();
    let mut conn = api
        .engine
        .pool()
        .acquire()
        .await
        .map_err(StoreError::from)?;
    let wallets = views::list(&mut conn, tenant, livemode, None, now).await?;
    let wallets = wallets.into_iter().map(WalletBody::from).collect();
    Ok(Json(WalletList { wallets }))
}

/// Read a wallet
#[utoipa::path(
    get, path = "/wallets/{id}", tag = "wallets", security(("api_key" = [])),
    params(("id" = String, Path, description = "The wallet's id")),
    responses(
        (status = 200, description = "The wallet", body = WalletBody),
        (status = 404, description = "No such wallet of this tenant and mode", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn read(
    State(api): State<Api>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<WalletBody>, Problem> {
    let (tenant, livemode) = caller.scope();
    let id: WalletId = id
        .parse()
        .map_err(|error| Problem::new(Kind::NotFound, format!("{error}")))?;
    let now = api.engine.clock().now();
    let mut conn = api
        .engine
        .pool()
        .acquire()
        .await
        .map_err(StoreError::from)?;
    let wallet = views::find(&mut conn, tenant, livemode, id, now).await?;
    let missing = || {
        Problem::new(
            Kind::NotFound,
            format!("{id} is no wallet of this tenant and mode"),
        )
    };
    Ok(Json(wallet.ok_or_else(missing)?.into()))
}
