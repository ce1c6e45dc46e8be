//! The lists that can be exported: their filters, their columns, and their rows page by page.

use chrono::{DateTime, Utc};
use domain::{
    id::{SettlementId, StatementId, WalletId},
    money::Amount,
    statement::Outcome,
};
use engine::{
    audit,
    error::StoreError,
    event,
    exception::views as exceptions,
    job::views::all as jobs,
    ledger::views as ledger,
    page::{Cursor, Page},
    settlement::views as settlements,
    statement::views as statements,
};
use sqlx::PgConnection;
use uuid::Uuid;

use super::{
    Filters, day,
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
}

/// Rows, and where to go on.
type Rows = (Vec<Vec<String>>, Option<Place>);

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
        }
    }

    pub(super) fn columns(&self) -> &'static [&'static str] {
        match self {
            Self::Jobs(_) => &[
                "job",
                "tenant",
                "tenant name",
                "model",
                "state",
                "settlement",
                "currency",
                "quote",
                "held",
                "captured",
                "submitted at",
            ],
            Self::Events(_) => &[
                "event",
                "source",
                "key",
                "kind",
                "state",
                "reason",
                "job",
                "provider reference",
                "occurred at",
                "received at",
                "decided at",
            ],
            Self::Settlements(_) => &[
                "settlement",
                "key",
                "tenant name",
                "wallet",
                "phase",
                "currency",
                "amount",
                "event",
                "settled at",
            ],
            Self::Audit(_) => &[
                "number", "at", "actor", "action", "object", "reason", "request", "hash",
            ],
            Self::Exceptions(_) => &[
                "exception",
                "class",
                "subject",
                "tenant name",
                "state",
                "currency",
                "expected",
                "there is",
                "detail",
                "owner",
                "first seen at",
                "last seen at",
                "due at",
                "closed at",
            ],
            Self::Ledger(..) => &[
                "posting",
                "settlement",
                "key",
                "entry",
                "debit",
                "credit",
                "currency",
                "amount",
                "available after",
                "held after",
                "posted at",
            ],
            Self::Statement(..) => &["reference", "meter", "outcome", "stated", "ours", "job"],
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
        }
    }
}

fn by_id(place: Place) -> Cursor<Uuid> {
    match place {
        Place::Id(id) => Cursor::Older(id),
        Place::Start | Place::Number(_) => Cursor::Newest,
    }
}

fn by_number(place: Place) -> Cursor<i64> {
    match place {
        Place::Number(number) => Cursor::Older(number),
        Place::Start | Place::Id(_) => Cursor::Newest,
    }
}

fn rows<T>(page: Page<T>, cells: impl Fn(&T) -> Vec<String>, key: impl Fn(&T) -> Place) -> Rows {
    let place = page.rows.last().filter(|_| page.older).map(key);
    (page.rows.iter().map(cells).collect(), place)
}

fn number(amount: Amount) -> String {
    amount.value().normalize().to_string()
}

fn text<T: ToString>(value: Option<T>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

fn time(at: chrono::DateTime<chrono::Utc>) -> String {
    at.to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
}

fn job(row: &jobs::Row) -> Vec<String> {
    vec![
        row.job.to_string(),
        row.tenant.to_string(),
        row.tenant_name.clone(),
        row.model.clone(),
        row.state.to_string(),
        row.settlement.to_string(),
        row.quote.currency().code().to_owned(),
        number(row.quote),
        number(row.held),
        number(row.captured),
        time(row.submitted_at),
    ]
}

fn event_row(row: &event::views::Event) -> Vec<String> {
    vec![
        row.id.to_string(),
        row.source_slug.clone(),
        row.key.clone(),
        row.kind.clone(),
        row.state.to_string(),
        text(row.reason.clone()),
        text(row.job.map(|(_, job)| job)),
        text(row.provider_reference.clone()),
        text(row.occurred_at.map(time)),
        time(row.received_at),
        text(row.decided_at.map(time)),
    ]
}

fn settlement(row: &settlements::SettlementLine) -> Vec<String> {
    vec![
        row.id.to_string(),
        row.key.to_string(),
        row.tenant_name.clone(),
        row.wallet.to_string(),
        row.key.phase.to_string(),
        row.amount.currency().code().to_owned(),
        number(row.amount),
        text(row.event),
        time(row.settled_at),
    ]
}

fn audit_row(row: &audit::views::Entry) -> Vec<String> {
    vec![
        row.number.to_string(),
        time(row.at),
        row.actor.clone(),
        row.action.clone(),
        row.object.clone(),
        text(row.reason.clone()),
        text(row.request_id.clone()),
        row.hash.to_string(),
    ]
}

fn exception(row: &exceptions::Exception) -> Vec<String> {
    vec![
        format!("exc_{}", row.id),
        row.class.to_string(),
        row.subject.clone(),
        text(row.tenant.as_ref().map(|(_, name)| name)),
        row.state.to_string(),
        text(row.currency.map(|currency| currency.code())),
        text(row.expected.map(|value| value.normalize())),
        text(row.actual.map(|value| value.normalize())),
        row.detail.clone(),
        text(row.owner.as_ref().map(|(_, name)| name)),
        time(row.first_seen_at),
        time(row.last_seen_at),
        time(row.due_at),
        text(row.closed_at.map(time)),
    ]
}

fn entry(row: &ledger::Entry) -> Vec<String> {
    vec![
        row.posting.to_string(),
        row.settlement.to_string(),
        row.key.to_string(),
        row.entry_type.to_string(),
        row.debit.to_string(),
        row.credit.to_string(),
        row.amount.currency().code().to_owned(),
        number(row.amount),
        text(row.available_after.map(number)),
        text(row.held_after.map(number)),
        time(row.posted_at),
    ]
}

fn group(row: &statements::GroupLine) -> Vec<String> {
    vec![
        row.reference.clone(),
        row.meter.clone(),
        row.outcome.to_string(),
        text(row.theirs.map(|value| value.normalize())),
        text(row.ours.map(|value| value.normalize())),
        text(row.job.map(|(_, job)| job)),
    ]
}

fn not_found() -> Problem {
    Problem::new(Kind::NotFound, "There is no such list.")
}
