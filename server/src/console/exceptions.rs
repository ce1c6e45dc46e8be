//! Forms of reconciliation: starting a run, and looking after exceptions. Each answers with a redirect to a
//! page that says what came of it; sending a form twice does it once.

use axum::{
    Form,
    extract::{Extension, Path, State},
    response::Response,
};
use chrono::{DateTime, NaiveDate, NaiveTime, Utc};
use domain::{
    exception::{Cause, Reach},
    task::Kind as TaskKind,
};
use engine::{
    exception::{ExceptionError, Step},
    operator::Role,
    reconcile::ReconcileError,
};
use tower_sessions::Session;
use uuid::Uuid;

use super::{Console, CurrentOperator, frame, return_path, tasks};
use crate::http::{
    problem::{Kind, Problem},
    request::RequestId,
};

/// Most exceptions of one form.
const MOST: usize = 200;

/// A form as pairs: what is chosen comes many times under one name.
type Pairs = Vec<(String, String)>;

/// Checks everything now.
pub(super) async fn run(
    State(console): State<Console>,
    Extension(who): Extension<CurrentOperator>,
    session: Session,
) -> Result<Response, Problem> {
    who.must_be(Role::Finance)?;
    let request_id = RequestId::current();
    let by = who.by(request_id.as_ref());
    let everything = Some(Reach::Full);
    let run = console
        .engine
        .reconcile(Cause::OnDemand, everything, Some(by));
    let (good, said) = match run.await {
        Ok(tally) if tally.found == 0 => (true, "Everything holds".to_owned()),
        Ok(tally) => (
            false,
            format!(
                "Not everything holds: {} found, {} of them new, {} right again",
                tally.found, tally.opened, tally.closed
            ),
        ),
        Err(error @ ReconcileError::Busy) => (false, error.to_string()),
        Err(ReconcileError::Store(error)) => return Err(error.into()),
    };
    frame::tell(&session, good, &said, None).await;
    Ok(return_path::see_other("/reconciliation"))
}

/// Takes, gives back or puts off everything that was chosen.
pub(super) async fn act(
    State(console): State<Console>,
    Extension(who): Extension<CurrentOperator>,
    session: Session,
    Form(form): Form<Pairs>,
) -> Result<Response, Problem> {
    who.must_be(Role::Finance)?;
    let ids: Option<Vec<i64>> = form
        .iter()
        .filter(|(name, _)| name == "id")
        .take(MOST)
        .map(|(_, id)| id.parse().ok())
        .collect();
    let ids = ids.ok_or_else(not_found)?;
    let word = text(&form, "step");
    if word == "repair" {
        let chosen = format!("{} chosen by hand", ids.len());
        let what = (TaskKind::Repair, text(&form, "key"));
        return tasks::freeze(&console, &who, &session, what, (chosen, ids), "/exceptions").await;
    }
    let done = if ids.is_empty() {
        frame::tell(&session, false, "Nothing was chosen", None).await;
        return Ok(return_path::see_other("/exceptions"));
    } else {
        take(&console, &who, &ids, (word, &form)).await
    };
    answer(&session, done, "/exceptions").await
}

/// One step about one exception: `take`, `give_back`, `snooze`, `note`, `repair` or `accept`.
pub(super) async fn step(
    State(console): State<Console>,
    Extension(who): Extension<CurrentOperator>,
    session: Session,
    Path((id, word)): Path<(String, String)>,
    Form(form): Form<Pairs>,
) -> Result<Response, Problem> {
    who.must_be(Role::Finance)?;
    let number = id.strip_prefix("exc_").and_then(|id| id.parse().ok());
    let number: i64 = number.ok_or_else(not_found)?;
    let done = take(&console, &who, &[number], (&word, &form)).await;
    answer(&session, done, &format!("/exceptions/{id}")).await
}

async fn take(
    console: &Console,
    who: &CurrentOperator,
    ids: &[i64],
    (word, form): (&str, &Pairs),
) -> Result<&'static str, ExceptionError> {
    let key = text(form, "key")
        .parse::<Uuid>()
        .map_err(|_| ExceptionError::Unknown)?;
    let request_id = RequestId::current();
    let how = (key, who.by(request_id.as_ref()));
    let engine = &console.engine;
    let (step, said) = match word {
        "take" => (Step::Take, "Taken"),
        "give_back" => (Step::GiveBack, "Given back"),
        "snooze" => {
            let until = day(text(form, "until")).ok_or(ExceptionError::NotAhead)?;
            (Step::Snooze(until), "Put off")
        }
        "note" => (Step::Note(text(form, "note")), "Noted"),
        "repair" => {
            let [id] = *ids else {
                return Err(ExceptionError::Unknown);
            };
            engine.repair_exception(id, text(form, "text"), how).await?;
            return Ok("Put right: the next run closes it");
        }
        "accept" => {
            let [id] = *ids else {
                return Err(ExceptionError::Unknown);
            };
            engine.accept_exception(id, text(form, "why"), how).await?;
            return Ok("Accepted: the next run over everything closes it");
        }
        _ => return Err(ExceptionError::Unknown),
    };
    engine.act_on_exceptions(ids, step, how).await?;
    Ok(said)
}

fn text<'f>(form: &'f Pairs, name: &str) -> &'f str {
    form.iter()
        .find(|(found, _)| found == name)
        .map_or("", |(_, value)| value)
}

/// The beginning of a day, UTC.
fn day(text: &str) -> Option<DateTime<Utc>> {
    let day = NaiveDate::parse_from_str(text.trim(), "%Y-%m-%d").ok()?;
    Some(day.and_time(NaiveTime::MIN).and_utc())
}

async fn answer(
    session: &Session,
    done: Result<&'static str, ExceptionError>,
    back: &str,
) -> Result<Response, Problem> {
    let (good, said) = match done {
        Ok(said) => (true, said.to_owned()),
        Err(ExceptionError::Unknown) => return Err(not_found()),
        Err(ExceptionError::Store(error)) => return Err(error.into()),
        Err(error) => (false, format!("Nothing was done: {error}")),
    };
    frame::tell(session, good, &said, None).await;
    Ok(return_path::see_other(back))
}

fn not_found() -> Problem {
    Problem::new(Kind::NotFound, "There is no such exception.")
}
