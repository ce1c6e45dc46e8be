//! Rehearsing: everything is done as it would be, and then rolled back.

use domain::{exception::State, id::EventId, money::Amount, task::Promise};
use sqlx::PgConnection;

use super::{TaskError, repair_words, store};
use crate::{
    Engine,
    error::StoreError,
    exception::views,
    ledger::PostError,
    settlement::{self, Claim, Patience, Prices, Setting},
};

/// What would come of a thing.
pub(super) struct Rehearsed {
    pub(super) subject: i64,
    pub(super) promise: Promise,
    pub(super) told: String,
    pub(super) amount: Option<Amount>,
}

impl Rehearsed {
    fn cannot(subject: i64, why: impl Into<String>) -> Self {
        Self {
            subject,
            promise: Promise::Cannot,
            told: why.into(),
            amount: None,
        }
    }
}

/// What a replay of each event would post. All of them together, as a worker takes them; where that fails,
/// each alone.
pub(super) async fn replays(engine: &Engine, events: &[i64]) -> Result<Vec<Rehearsed>, TaskError> {
    match together(engine, events).await {
        Ok(all) => return Ok(all),
        Err(error) => about_an_event(error)?,
    };
    let mut all = Vec::with_capacity(events.len());
    for event in events {
        match together(engine, &[*event]).await {
            Ok(mut one) => all.append(&mut one),
            Err(error) => {
                let error = about_an_event(error)?;
                all.push(Rehearsed::cannot(*event, error.innermost().to_string()));
            }
        }
    }
    Ok(all)
}

/// The error if an event is at fault. That the storage failed, or that real work holds what a rehearsal
/// needs, says nothing about an event.
fn about_an_event(error: StoreError) -> Result<StoreError, TaskError> {
    match error {
        error if error.gave_way() => Err(TaskError::InTheWay),
        error @ StoreError::Database(_) if !error.is_refusal() => Err(error.into()),
        error => Ok(error),
    }
}

async fn together(engine: &Engine, events: &[i64]) -> Result<Vec<Rehearsed>, StoreError> {
    let now = engine.clock().now();
    let mut tx = engine.pool().begin().await?;
    // A rehearsal gives way to real work.
    store::give_way(&mut tx).await?;
    let before = store::cases(&mut tx, events).await?;
    let open: Vec<EventId> = before
        .iter()
        .filter(|one| one.state.is_case())
        .map(|one| one.event)
        .collect();
    store::make_due(&mut tx, &open, now).await?;
    let due = settlement::claim(&mut tx, Claim::Only(&open), now).await?;
    let setting = Setting {
        engine,
        prices: &Prices::default(),
        patience: Patience::default(),
        compare: true,
    };
    let settled = settlement::settle(&mut tx, setting, &due, now).await;
    if let Err(error) = settled {
        tx.rollback().await?;
        return Err(match error {
            settlement::SettleError::Store(error)
            | settlement::SettleError::Post(
                PostError::Store(error) | PostError::Overdrawn(error),
            ) => error,
            other => StoreError::inconsistent("events", "state", other),
        });
    }
    let after = store::after(&mut tx, &open).await?;
    tx.rollback().await?;
    Ok(events
        .iter()
        .map(|event| {
            let was = before.iter().find(|one| one.event.0 == *event);
            let is = after.iter().find(|one| one.event.0 == *event);
            promise(*event, was, is)
        })
        .collect())
}

fn promise(event: i64, was: Option<&store::Case>, is: Option<&store::After>) -> Rehearsed {
    let Some(was) = was else {
        return Rehearsed::cannot(event, "there is no such event");
    };
    let Some(is) = is else {
        let told = format!(
            "the event is {}, so nothing is to be decided about it",
            was.state
        );
        return Rehearsed::cannot(event, told);
    };
    let reason = is.reason.as_deref().map(|reason| format!(": {reason}"));
    let outcome = format!("{}{}", is.state, reason.unwrap_or_default());
    let promise = match (
        &is.entries,
        is.state == was.state && is.reason == was.reason,
    ) {
        (Some(_), _) => Promise::Posts,
        (None, true) => Promise::Nothing,
        (None, false) => Promise::Changes,
    };
    let told = match &is.entries {
        Some(entries) => format!("{outcome}; {entries}"),
        None => outcome,
    };
    Rehearsed {
        subject: event,
        promise,
        told,
        amount: is.charged,
    }
}

/// What a repair of each exception would do.
pub(super) async fn repairs(
    engine: &Engine,
    exceptions: &[i64],
) -> Result<Vec<Rehearsed>, TaskError> {
    let mut conn = engine.pool().acquire().await?;
    let mut all = Vec::with_capacity(exceptions.len());
    for id in exceptions {
        all.push(repair(&mut conn, *id).await?);
    }
    Ok(all)
}

async fn repair(conn: &mut PgConnection, id: i64) -> Result<Rehearsed, StoreError> {
    let Some(one) = views::find(conn, id).await? else {
        return Ok(Rehearsed::cannot(id, "there is no such exception"));
    };
    if one.state == State::Closed {
        return Ok(Rehearsed::cannot(
            id,
            "it is closed: the last run found it right",
        ));
    }
    let Some(repair) = one.class.repair() else {
        let why = "this cannot be put right from here; see what to do on its page";
        return Ok(Rehearsed::cannot(id, why));
    };
    let words = repair_words(repair);
    let told = match (one.actual, one.expected) {
        (Some(actual), Some(expected)) => {
            format!(
                "{words}: from {} to {}",
                actual.normalize(),
                expected.normalize()
            )
        }
        _ => words.to_owned(),
    };
    Ok(Rehearsed {
        subject: id,
        promise: Promise::Changes,
        told,
        amount: None,
    })
}
