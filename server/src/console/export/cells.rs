//! Rows of lists as cells, in the order of their columns.

use chrono::{DateTime, SecondsFormat, Utc};
use domain::money::Amount;
use engine::{
    audit, delivery::views as deliveries, event, exception::views as exceptions,
    job::views::all as jobs, ledger::views as ledger, page::Page, reconcile::views as reconcile,
    seal::views as seals, settlement::views as settlements, statement::views as statements,
    task::views as tasks,
};

use super::lists::{Place, Rows};

pub(super) fn rows<T>(
    page: Page<T>,
    cells: impl Fn(&T) -> Vec<String>,
    key: impl Fn(&T) -> Place,
) -> Rows {
    let place = page.rows.last().filter(|_| page.older).map(key);
    (page.rows.iter().map(cells).collect(), place)
}

fn number(amount: Amount) -> String {
    amount.value().normalize().to_string()
}

fn text<T: ToString>(value: Option<T>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

fn time(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Millis, true)
}

pub(super) fn job(row: &jobs::Row) -> Vec<String> {
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

pub(super) fn event_row(row: &event::views::Event) -> Vec<String> {
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

pub(super) fn settlement(row: &settlements::SettlementLine) -> Vec<String> {
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

pub(super) fn audit_row(row: &audit::views::Entry) -> Vec<String> {
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

pub(super) fn exception(row: &exceptions::Exception) -> Vec<String> {
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

pub(super) fn entry(row: &ledger::Entry) -> Vec<String> {
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

pub(super) fn group(row: &statements::GroupLine) -> Vec<String> {
    vec![
        row.reference.clone(),
        row.meter.clone(),
        row.outcome.to_string(),
        text(row.theirs.map(|value| value.normalize())),
        text(row.ours.map(|value| value.normalize())),
        text(row.job.map(|(_, job)| job)),
    ]
}

pub(super) fn delivery(row: &deliveries::Delivery) -> Vec<String> {
    vec![
        row.id.to_string(),
        row.source_slug.clone(),
        row.outcome.to_string(),
        text(row.reason.clone()),
        row.status.to_string(),
        text(row.event),
        text(row.sender_id.clone()),
        row.body_bytes.to_string(),
        text(row.remote_address.clone()),
        time(row.received_at),
    ]
}

pub(super) fn statement(row: &statements::Statement) -> Vec<String> {
    vec![
        row.id.to_string(),
        row.source.clone(),
        row.period.from().to_string(),
        row.period.to().to_string(),
        row.accepted.to_string(),
        row.lines.to_string(),
        row.errors.to_string(),
        text(row.check.as_ref().map(|(_, tally)| tally.alarms())),
        text(row.superseded_by),
        row.file_name.clone(),
        row.file_hash.to_string(),
        text(row.uploaded_by.clone()),
        time(row.uploaded_at),
    ]
}

pub(super) fn run(row: &reconcile::Run) -> Vec<String> {
    vec![
        row.run.to_string(),
        row.cause.to_string(),
        row.reach.to_string(),
        row.outcome.to_string(),
        text(row.by.clone()),
        text(row.examined),
        text(row.checks),
        text(row.found),
        text(row.opened),
        text(row.closed),
        time(row.started_at),
        text(row.finished_at.map(time)),
    ]
}

pub(super) fn seal(row: &seals::Seal) -> Vec<String> {
    vec![
        row.number.to_string(),
        row.posting_from.to_string(),
        row.posting_to.to_string(),
        row.leaves.to_string(),
        row.root.to_string(),
        time(row.sealed_at),
    ]
}

pub(super) fn task(row: &tasks::Task) -> Vec<String> {
    vec![
        row.id.to_string(),
        row.kind.to_string(),
        row.chosen.clone(),
        row.state.to_string(),
        text(row.reason.clone()),
        row.things.to_string(),
        row.done.to_string(),
        row.refused.to_string(),
        row.made_by.clone(),
        time(row.made_at),
        text(row.started.as_ref().map(|(by, _)| by)),
        text(row.started.as_ref().map(|(_, at)| time(*at))),
        text(row.ended_at.map(time)),
    ]
}

pub(super) fn wallet(row: &ledger::WalletLine) -> Vec<String> {
    vec![
        row.wallet.to_string(),
        row.name.clone(),
        row.tenant.to_string(),
        row.tenant_name.clone(),
        row.available.currency().code().to_owned(),
        number(row.available),
        number(row.held),
        text(row.frozen_at.map(time)),
        time(row.changed_at),
    ]
}
