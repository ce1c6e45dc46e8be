//! Wallets and their credit from the command line.

use chrono::{DateTime, Utc};
use clap::{Args, Subcommand};
use domain::{
    id::{TenantId, WalletId},
    money::{Amount, Currency},
};
use engine::wallet;
use rust_decimal::Decimal;
use serde_json::json;

use super::{
    Outcome,
    admin::{change, filled, look, must_exist, positive},
};
use crate::config::DataArgs;

/// Work on wallets.
#[derive(Subcommand)]
pub(super) enum WalletCommand {
    /// Open a wallet; prints its id.
    Open(WalletOpen),
    /// Grant credit, once a key; prints the id of the lot.
    Grant(WalletGrant),
    /// List the wallets of a tenant.
    List(WalletList),
    /// Stop spending from a wallet.
    Freeze(WalletFreeze),
    /// Let spending go on.
    Thaw(WalletThaw),
}

#[derive(Args)]
pub(super) struct WalletOpen {
    /// Tenant it belongs to.
    #[arg(long)]
    tenant: TenantId,
    /// Its only currency.
    #[arg(long)]
    currency: Currency,
    /// For real money; without it the wallet is for tests.
    #[arg(long)]
    live: bool,
    /// Its name.
    #[arg(long, default_value = "Main", value_parser = filled)]
    name: String,
    #[command(flatten)]
    data: DataArgs,
}

#[derive(Args)]
pub(super) struct WalletList {
    /// Tenant they belong to.
    #[arg(long)]
    tenant: TenantId,
    #[command(flatten)]
    data: DataArgs,
}

#[derive(Args)]
pub(super) struct WalletGrant {
    /// The wallet.
    wallet: WalletId,
    /// How much, such as 100.00.
    #[arg(value_parser = positive, allow_negative_numbers = true)]
    amount: Decimal,
    /// Tenant it belongs to.
    #[arg(long)]
    tenant: TenantId,
    /// Names what is credited, such as the payment's id. Repeating the command with the same key credits
    /// once and prints the same lot.
    #[arg(long, value_parser = filled)]
    key: String,
    /// When what remains expires, such as 2027-01-01T00:00:00Z; never when left out.
    #[arg(long)]
    expires_at: Option<DateTime<Utc>>,
    /// Where the credit comes from.
    #[arg(long, default_value = "granted on the command line")]
    note: String,
    #[command(flatten)]
    data: DataArgs,
}

#[derive(Args)]
pub(super) struct WalletFreeze {
    /// The wallet.
    wallet: WalletId,
    /// Tenant it belongs to.
    #[arg(long)]
    tenant: TenantId,
    /// Why; shown to whoever tries to spend.
    #[arg(long, value_parser = filled)]
    reason: String,
    #[command(flatten)]
    data: DataArgs,
}

#[derive(Args)]
pub(super) struct WalletThaw {
    /// The wallet.
    wallet: WalletId,
    /// Tenant it belongs to.
    #[arg(long)]
    tenant: TenantId,
    #[command(flatten)]
    data: DataArgs,
}

impl WalletCommand {
    pub(super) async fn run(self) -> Outcome {
        match self {
            Self::Open(open) => change(&open.data, "wallet.open", async |conn, engine| {
                must_exist(conn, open.tenant).await?;
                let of = (open.tenant, open.currency, open.live);
                let wallet = wallet::open(conn, engine, of.0, &open.name, of.1, of.2).await?;
                let detail =
                    json!({ "tenant": open.tenant, "currency": open.currency, "live": open.live });
                Ok((wallet.to_string(), detail))
            })
            .await,
            Self::Grant(grant) => grant.run().await,
            Self::List(list) => {
                look(&list.data, async |conn, engine| {
                    must_exist(conn, list.tenant).await?;
                    let now = engine.clock().now();
                    let mut lines = Vec::new();
                    for livemode in [true, false] {
                        let wallets = wallet::views::list(conn, list.tenant, livemode, None, now);
                        lines.extend(wallets.await?.iter().map(line));
                    }
                    Ok(lines)
                })
                .await
            }
            Self::Freeze(freeze) => {
                change(&freeze.data, "wallet.freeze", async |conn, engine| {
                    let of = (freeze.tenant, freeze.wallet);
                    let known = wallet::freeze(conn, engine, of, &freeze.reason).await?;
                    known_wallet(known)?;
                    Ok((
                        freeze.wallet.to_string(),
                        json!({ "reason": freeze.reason }),
                    ))
                })
                .await
            }
            Self::Thaw(thaw) => {
                change(&thaw.data, "wallet.thaw", async |conn, _| {
                    known_wallet(wallet::thaw(conn, (thaw.tenant, thaw.wallet)).await?)?;
                    Ok((thaw.wallet.to_string(), json!({})))
                })
                .await
            }
        }
    }
}

impl WalletGrant {
    async fn run(self) -> Outcome {
        change(&self.data, "wallet.grant", async |conn, engine| {
            let now = engine.clock().now();
            let mut found = None;
            for livemode in [true, false] {
                let wallet = wallet::views::find(conn, self.tenant, livemode, self.wallet, now).await?;
                found = found.or(wallet);
            }
            let wallet = found.ok_or("that tenant has no such wallet")?;
            let grant = wallet::Grant {
                tenant: self.tenant,
                wallet: self.wallet,
                key: self.key.clone(),
                amount: Amount::exact(self.amount, wallet.available.currency())?,
                expires_at: self.expires_at,
                note: self.note.clone(),
                action: None,
            };
            let lot = wallet::grant(conn, engine, &grant).await?.lot;
            let detail = json!({
                "wallet": self.wallet, "amount": grant.amount.to_string(), "key": self.key, "note": self.note
            });
            Ok((lot.to_string(), detail))
        })
        .await
    }
}

fn line(wallet: &wallet::views::WalletView) -> String {
    let mode = if wallet.livemode { "live" } else { "test" };
    let frozen = match wallet.frozen_at {
        Some(at) => format!(" frozen {at}"),
        None => String::new(),
    };
    format!(
        "{} {mode} {} available {} held {}{frozen}",
        wallet.wallet, wallet.name, wallet.available, wallet.held
    )
}

fn known_wallet(known: bool) -> Result<(), &'static str> {
    known.then_some(()).ok_or("that tenant has no such wallet")
}
