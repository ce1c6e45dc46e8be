//! Setting up from the command line: tenants, keys, prices. Each command that changes something is
//! one transaction and leaves a line in the audit log.

use chrono::{DateTime, Utc};
use clap::{Args, Subcommand};
use domain::{
    decide::{LateCancel, Overage, Partial, Policy},
    id::TenantId,
    money::Currency,
    price::Terms,
};
use engine::{
    Engine, api_key, audit, price,
    tenant::{self, NewTenant},
};
use rust_decimal::Decimal;
use serde_json::{Value, json};
use sqlx::PgConnection;

use super::Outcome;
use crate::{config::DataArgs, database::Database};

/// Work on tenants.
#[derive(Subcommand)]
pub(super) enum TenantCommand {
    /// Set up a tenant; prints its id.
    Add(TenantAdd),
    /// List the tenants.
    List(DataArgs),
}

#[derive(Args)]
pub(super) struct TenantAdd {
    /// Name shown to staff.
    #[arg(value_parser = filled)]
    name: String,
    /// Jobs that may be unsettled at once.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(i32).range(1..))]
    in_flight_limit: i32,
    /// Largest quote let through, in the wallet's currency; no limit when left out.
    #[arg(long, value_name = "AMOUNT", value_parser = positive)]
    max_quote: Option<Decimal>,
    /// Usage above the hold: cap, charge or receivable.
    #[arg(long, default_value = "cap")]
    overage: Overage,
    /// Success after an accepted cancel request: capture or release.
    #[arg(long, default_value = "capture")]
    late_cancel: LateCancel,
    /// Partial completion: bill or release.
    #[arg(long, default_value = "bill")]
    partial: Partial,
    /// Keep the hold of a job that failed.
    #[arg(long)]
    no_refund_on_failure: bool,
    #[command(flatten)]
    data: DataArgs,
}

/// Work on API keys.
#[derive(Subcommand)]
pub(super) enum ApiKeyCommand {
    /// Mint a key; prints it, once.
    Mint(ApiKeyMint),
    /// Make a key stop working.
    Revoke(ApiKeyRevoke),
    /// List the keys of a tenant. Their texts are nowhere.
    List(ApiKeyList),
}

#[derive(Args)]
pub(super) struct ApiKeyMint {
    /// Tenant it speaks for.
    #[arg(long)]
    tenant: TenantId,
    /// For wallets of real money; without it the key is for tests.
    #[arg(long)]
    live: bool,
    /// What it is for.
    #[arg(long, default_value = "backend", value_parser = filled)]
    name: String,
    #[command(flatten)]
    data: DataArgs,
}

#[derive(Args)]
pub(super) struct ApiKeyRevoke {
    /// Id of the key, `key_…`.
    key: domain::id::ApiKeyId,
    /// Tenant it speaks for.
    #[arg(long)]
    tenant: TenantId,
    #[command(flatten)]
    data: DataArgs,
}

#[derive(Args)]
pub(super) struct ApiKeyList {
    /// Tenant they speak for.
    #[arg(long)]
    tenant: TenantId,
    #[command(flatten)]
    data: DataArgs,
}

/// Work on prices.
#[derive(Subcommand)]
pub(super) enum PriceCommand {
    /// Add a price version; prints its number.
    Add(PriceAdd),
}

#[derive(Args)]
pub(super) struct PriceAdd {
    /// Model, as product backends name it.
    #[arg(value_parser = filled)]
    model: String,
    /// Currency of the terms.
    #[arg(long)]
    currency: Currency,
    /// The terms as JSON, such as
    /// '{"components":[{"meter":"images","price":"0.04","per":"1"}],"estimate":{"images":"1"}}'.
    #[arg(long, value_name = "JSON")]
    terms: String,
    /// Jobs submitted from this instant on use it; from now on when left out.
    #[arg(long)]
    effective_from: Option<DateTime<Utc>>,
    #[command(flatten)]
    data: DataArgs,
}

impl TenantCommand {
    pub(super) async fn run(self) -> Outcome {
        let add = match self {
            Self::Add(add) => add,
            Self::List(data) => {
                return look(&data, async |conn, _| {
                    let names = tenant::views::names(conn).await?;
                    let lines = names.into_iter().map(|(id, name)| format!("{id} {name}"));
                    Ok(lines.collect())
                })
                .await;
            }
        };
        let policy = Policy {
            overage: add.overage,
            late_cancel: add.late_cancel,
            partial: add.partial,
        };
        let new = NewTenant {
            name: add.name,
            in_flight_limit: add.in_flight_limit,
            max_quote: add.max_quote,
            refund_on_failure: !add.no_refund_on_failure,
            policy,
        };
        change(&add.data, "tenant.add", async |conn, engine| {
            let tenant = tenant::add(conn, engine, &new).await?;
            Ok((tenant.to_string(), json!({ "name": new.name })))
        })
        .await
    }
}

impl ApiKeyCommand {
    pub(super) async fn run(self) -> Outcome {
        match self {
            Self::Mint(mint) => {
                let mut text = None;
                let minted = change_quietly(&mint.data, "api_key.mint", async |conn, engine| {
                    must_exist(conn, mint.tenant).await?;
                    let key =
                        api_key::mint(conn, engine, mint.tenant, &mint.name, mint.live).await?;
                    text = Some(key);
                    Ok((
                        mint.tenant.to_string(),
                        json!({ "name": mint.name, "live": mint.live }),
                    ))
                })
                .await;
                minted?;
                if let Some(key) = text {
                    println!("{key}");
                    eprintln!(
                        "keep it now: only a hash of it is stored. Its id, to revoke it: {}",
                        key.id()
                    );
                }
                Ok(())
            }
            Self::List(list) => {
                look(&list.data, async |conn, _| {
                    must_exist(conn, list.tenant).await?;
                    let keys = api_key::list(conn, list.tenant).await?;
                    Ok(keys.iter().map(key_line).collect())
                })
                .await
            }
            Self::Revoke(revoke) => {
                change(&revoke.data, "api_key.revoke", async |conn, engine| {
                    let worked = api_key::revoke(conn, engine, revoke.tenant, revoke.key).await?;
                    worked
                        .then_some(())
                        .ok_or("that tenant has no such working key")?;
                    Ok((revoke.key.to_string(), json!({ "tenant": revoke.tenant })))
                })
                .await
            }
        }
    }
}

impl PriceCommand {
    pub(super) async fn run(self) -> Outcome {
        let Self::Add(add) = self;
        let terms: Terms = serde_json::from_str(&add.terms).map_err(|error| {
            format!("--terms is not as described by `quittance price add --help` (decimals are strings): {error}")
        })?;
        change(&add.data, "price.add", async |conn, engine| {
            let from = add.effective_from.unwrap_or_else(|| engine.clock().now());
            let of = (add.model.as_str(), add.currency);
            let version = price::add(conn, engine, of, &terms, from, "command line").await?;
            let object = format!("{} {} version {version}", add.model, add.currency);
            Ok((object, json!({ "terms": terms, "effective_from": from })))
        })
        .await
    }
}

fn key_line(key: &api_key::Listed) -> String {
    let mode = if key.livemode { "live" } else { "test" };
    let state = match key.revoked_at {
        Some(at) => format!("revoked {at}"),
        None => format!("minted {}", key.created_at),
    };
    format!("{} {mode} {} {state}", key.key, key.name)
}

/// Prints what is there, a line each.
pub(super) async fn look(
    data: &DataArgs,
    read: impl AsyncFnOnce(
        &mut PgConnection,
        &Engine,
    ) -> Result<Vec<String>, Box<dyn std::error::Error + Send + Sync>>,
) -> Outcome {
    let database = Database::open_existing(data).await?;
    database.migrate().await?;
    let engine = database.engine(2).await?;
    let mut conn = engine.pool().acquire().await?;
    let lines = read(&mut conn, &engine).await;
    drop(conn);
    engine.pool().close().await;
    database.close().await?;
    for line in lines? {
        println!("{line}");
    }
    Ok(())
}

/// What a change answers: the object it made or changed, and the detail for the audit log.
type Changed = Result<(String, Value), Box<dyn std::error::Error + Send + Sync>>;

/// Runs a change with its audit line in one transaction, and prints its object.
pub(super) async fn change(
    data: &DataArgs,
    action: &str,
    change: impl AsyncFnOnce(&mut PgConnection, &Engine) -> Changed,
) -> Outcome {
    let object = change_quietly(data, action, change).await?;
    println!("{object}");
    Ok(())
}

async fn change_quietly(
    data: &DataArgs,
    action: &str,
    change: impl AsyncFnOnce(&mut PgConnection, &Engine) -> Changed,
) -> Result<String, Box<dyn std::error::Error + Send + Sync>> {
    let database = Database::open(data).await?;
    database.migrate().await?;
    let engine = database.engine(2).await?;
    let mut tx = engine.pool().begin().await?;
    let (object, detail) = change(&mut tx, &engine).await?;
    let record = audit::Record {
        operator: None,
        actor: "command line",
        request_id: None,
        action,
        object: &object,
        detail,
        reason: None,
    };
    audit::record(&mut tx, &engine, &record).await?;
    tx.commit().await?;
    engine.pool().close().await;
    database.close().await?;
    Ok(object)
}

/// A text that says something.
pub(super) fn filled(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("it may not be empty".to_owned()),
        text => Ok(text.to_owned()),
    }
}

/// Refuses a tenant that does not exist, before a foreign key does.
pub(super) async fn must_exist(
    conn: &mut PgConnection,
    tenant: TenantId,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    match tenant::views::name(conn, tenant).await? {
        Some(_) => Ok(()),
        None => Err(format!(
            "there is no tenant {tenant}; `quittance tenant add` sets one up and prints its id"
        )
        .into()),
    }
}

/// An amount above zero.
pub(super) fn positive(text: &str) -> Result<Decimal, String> {
    let amount = Decimal::from_str_exact(text)
        .map_err(|_| "expected an amount such as 100.00".to_owned())?;
    if amount > Decimal::ZERO {
        Ok(amount)
    } else {
        Err("expected an amount above zero".to_owned())
    }
}
