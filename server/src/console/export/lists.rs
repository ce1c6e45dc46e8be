//! The lists that can be exported: their filters, their columns, and their rows page by page.

use chrono::{DateTime, Utc};
use domain::{
    id::{SettlementId, StatementId, TaskId, TenantId, WalletId},
    statement::Outcome,
};
use engine::{
    audit, delivery::views as deliveries, error::StoreError, event, exception::views as exceptions,
    job::views::all as jobs, ledger::views as ledger, page::Cursor, reconcile::views as reconcile,
    seal::views as seals, settlement::views as settlements, statement::views as statements,
    task::views as tasks,
};
use sqlx::PgConnection;
use uuid::Uuid;

use super::{
    Filters,
    cells::{
        audit_row, delivery, entry, event_row, exception, group, job, rows, run, seal, settlement,
        statement, task, wallet,
    },
    day,
    filters::{all_known, events_of, exceptions_of, jobs_of},
    parsed,
};
use crate::http::problem::{Kind, Problem};

/// Where to go on.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    Start,
    Number(i64),
    Id(Uuid),
    Wallet(TenantId, WalletId),
}

/// What is exported, with its filters.
pub(super) enum List {
    Jobs(jobs::Filter),
    Events(event::views::Filter),
    Settlements(settlements::Filter),
    Audit(audit::views::Filter),
    Exceptions(exceptions::Filter),
    Ledger(Box<ledger::Wallet>, ledger::Filter),
    Statement(StatementId, Option<Outcome>),
    Deliveries(deliveries::Filter),
    Statements(statements::Filter),
    Reconciliation,
    Seals,
    Tasks,
    Wallets {
        tenant: Option<TenantId>,
        livemode: bool,
    },
}

/// Rows, and where to go on.
pub(super) type Rows = (Vec<Vec<String>>, Option<Place>);

impl List {
    /// The list of a name, with its filters. A filter it does not know is refused: a file must not hold
    /// more than was asked for.
    pub(super) async fn read(
        conn: &mut PgConnection,
        (livemode, now): (bool, DateTime<Utc>),
        (name, of): (&str, Option<String>),
        filters: &Filters,
    ) -> Result<Self, Problem> {
        let mut rest = filters.clone();
        let list = match (name, of) {
            ("jobs", None) => Self::Jobs(jobs_of(livemode, &mut rest)?),
            ("events", None) => Self::Events(events_of(livemode, &mut rest)?),
            ("settlements", None) => Self::Settlements(settlements::Filter {
                phase: parsed(&mut rest, "phase")?,
                wallet: parsed(&mut rest, "wallet")?,
                livemode: Some(livemode),
            }),
            ("exceptions", None) => Self::Exceptions(exceptions_of(now, &mut rest)?),
            ("audit", None) => Self::Audit(audit::views::Filter {
                actor: parsed(&mut rest, "actor")?,
                action: parsed(&mut rest, "action")?,
                object: parsed(&mut rest, "object")?,
                since: day(&mut rest, "since")?,
            }),
            ("deliveries", None) => Self::Deliveries(deliveries::Filter {
                livemode,
                outcome: parsed(&mut rest, "outcome")?,
                reason: parsed(&mut rest, "reason")?,
                source: parsed(&mut rest, "source")?,
            }),
            ("statements", None) => Self::Statements(statements::Filter {
                livemode: Some(livemode),
                source: parsed(&mut rest, "source")?,
                accepted: parsed(&mut rest, "accepted")?,
            }),
            ("reconciliation", None) => Self::Reconciliation,
            ("seals", None) => Self::Seals,
            ("tasks", None) => Self::Tasks,
            ("wallets", None) => Self::Wallets {
                tenant: parsed(&mut rest, "tenant")?,
                livemode,
            },
            ("ledger", Some(wallet)) => {
                let wallet: WalletId = wallet.parse().map_err(|_| not_found())?;
                let wallet = ledger::wallet(conn, wallet).await?;
                let filter = ledger::Filter {
                    entry_type: parsed(&mut rest, "entry")?,
                    since: day(&mut rest, "since")?,
                    until: day(&mut rest, "until")?,
                };
                Self::Ledger(Box::new(wallet.ok_or_else(not_found)?), filter)
            }
            ("statement", Some(statement)) => {
                let id: StatementId = statement.parse().map_err(|_| not_found())?;
                let found = statements::find(conn, id).await?;
                let found = found.filter(|found| found.livemode == livemode);
                found.ok_or_else(not_found)?;
                Self::Statement(id, parsed(&mut rest, "outcome")?)
            }
            _ => return Err(not_found()),
        };
        all_known(&rest).map(|()| list)
    }

    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Jobs(_) => "jobs",
            Self::Events(_) => "events",
            Self::Settlements(_) => "settlements",
            Self::Audit(_) => "audit",
            Self::Exceptions(_) => "exceptions",
            Self::Ledger(..) => "ledger",
            Self::Statement(..) => "statement",
            Self::Deliveries(_) => "deliveries",
            Self::Statements(_) => "statements",
            Self::Reconciliation => "reconciliation",
            Self::Seals => "seals",
            Self::Tasks => "tasks",
            Self::Wallets { .. } => "wallets",
        }
    }

    /// A page of rows, newest first.
    pub(super) async fn page(
        &self,
        conn: &mut PgConnection,
        place: Place,
    ) -> Result<Rows, StoreError> {
        match self {
            Self::Jobs(filter) => {
                let page = jobs::list(conn, filter, by_id(place)).await?;
                Ok(rows(page, job, |row| Place::Id(row.job.0)))
            }
            Self::Events(filter) => {
                let page = event::views::list(conn, filter, by_number(place)).await?;
                Ok(rows(page, event_row, |row| Place::Number(row.id.0)))
            }
            Self::Settlements(filter) => {
                let cursor = by_id(place).map(SettlementId);
                let page = settlements::list(conn, *filter, cursor).await?;
                Ok(rows(page, settlement, |row| Place::Id(row.id.0)))
            }
            Self::Audit(filter) => {
                let page = audit::views::list(conn, filter, by_number(place)).await?;
                Ok(rows(page, audit_row, |row| Place::Number(row.number)))
            }
            Self::Exceptions(filter) => {
                let page = exceptions::list(conn, filter, by_number(place)).await?;
                Ok(rows(page, exception, |row| Place::Number(row.id)))
            }
            Self::Ledger(wallet, filter) => {
                let page = ledger::entries(conn, wallet, filter, by_number(place)).await?;
                Ok(rows(page, entry, |row| Place::Number(row.posting)))
            }
            Self::Statement(id, outcome) => {
                let page = statements::groups(conn, *id, *outcome, by_number(place)).await?;
                Ok(rows(page, group, |row| Place::Number(row.position)))
            }
            Self::Deliveries(filter) => {
                let page = deliveries::list(conn, filter, by_number(place)).await?;
                Ok(rows(page, delivery, |row| Place::Number(row.id)))
            }
            Self::Statements(filter) => {
                let page = statements::list(conn, filter, by_number(place)).await?;
                Ok(rows(page, statement, |row| Place::Number(row.number)))
            }
            Self::Reconciliation => {
                let page = reconcile::runs(conn, by_number(place)).await?;
                Ok(rows(page, run, |row| Place::Number(row.run)))
            }
            Self::Seals => {
                let page = seals::list(conn, by_number(place)).await?;
                Ok(rows(page, seal, |row| Place::Number(row.number)))
            }
            Self::Tasks => {
                let page = tasks::list(conn, by_id(place).map(TaskId)).await?;
                Ok(rows(page, task, |row| Place::Id(row.id.0)))
            }
            Self::Wallets { tenant, livemode } => {
                let cursor = match place {
                    Place::Wallet(tenant, wallet) => Cursor::Older((tenant, wallet)),
                    Place::Start | Place::Number(_) | Place::Id(_) => Cursor::Newest,
                };
                let page = ledger::wallets(conn, *tenant, Some(*livemode), cursor).await?;
                Ok(rows(page, wallet, |row| {
                    Place::Wallet(row.tenant, row.wallet)
                }))
            }
        }
    }
}

fn by_id(place: Place) -> Cursor<Uuid> {
    match place {
        Place::Id(id) => Cursor::Older(id),
        Place::Start | Place::Number(_) | Place::Wallet(..) => Cursor::Newest,
    }
}

fn by_number(place: Place) -> Cursor<i64> {
    match place {
        Place::Number(number) => Cursor::Older(number),
        Place::Start | Place::Id(_) | Place::Wallet(..) => Cursor::Newest,
    }
}

fn not_found() -> Problem {
    Problem::new(Kind::NotFound, "There is no such list.")
}
