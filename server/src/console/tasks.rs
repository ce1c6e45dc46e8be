//! Forms of tasks: choosing what a task is about, starting it, stopping it.

use axum::{
    Form,
    extract::{Extension, Path, Query, State},
    http::Uri,
    response::Response,
};
use domain::{id::TaskId, task::Kind as TaskKind};
use engine::{
    event,
    exception::views as exceptions,
    operator::Role,
    page::Cursor,
    task::{MOST, New, TaskError},
};
use sqlx::PgConnection;
use tower_sessions::Session;
use uuid::Uuid;

use super::{
    Console, CurrentOperator,
    export::{self, Filters},
    frame, return_path,
};
use crate::http::{
    problem::{Kind, Problem},
    request::RequestId,
};

/// A form as pairs: what is chosen comes many times under one name.
type Pairs = Vec<(String, String)>;

/// Makes a task of everything that matches a filter.
pub(super) async fn make(
    State(console): State<Console>,
    Extension(who): Extension<CurrentOperator>,
    session: Session,
    Form(form): Form<Pairs>,
) -> Result<Response, Problem> {
    who.must_be(Role::Finance)?;
    let kind: TaskKind = text(&form, "kind").parse().map_err(|_| not_found())?;
    let filter = text(&form, "filter");
    let mut books = console.engine.snapshot().await?;
    let things = match kind {
        TaskKind::Replay => events(&mut books, console.live, filter).await?,
        TaskKind::Repair => broken(&mut books, console.engine.clock().now(), filter).await?,
    };
    drop(books);
    let chosen = if filter.is_empty() { "all" } else { filter };
    let chosen = chosen.chars().take(1000).collect();
    let back = match kind {
        TaskKind::Replay => "/events",
        TaskKind::Repair => "/exceptions",
    };
    freeze(
        &console,
        &who,
        &session,
        (kind, text(&form, "key")),
        (chosen, things),
        back,
    )
    .await
}

/// Makes a task of what was chosen by hand, and goes to its page.
pub(super) async fn freeze(
    console: &Console,
    who: &CurrentOperator,
    session: &Session,
    (kind, key): (TaskKind, &str),
    (chosen, things): (String, Vec<i64>),
    back: &str,
) -> Result<Response, Problem> {
    let id = TaskId(key.parse::<Uuid>().map_err(|_| not_found())?);
    let new = New {
        id,
        kind,
        livemode: console.live,
        chosen,
        things,
    };
    let request_id = RequestId::current();
    match console
        .engine
        .make_task(&new, who.by(request_id.as_ref()))
        .await
    {
        Ok(()) => Ok(return_path::see_other(&format!("/tasks/{id}"))),
        Err(TaskError::Store(error)) => Err(error.into()),
        Err(error) => {
            let back = match error {
                TaskError::OtherForm => &format!("/tasks/{id}"),
                _ => back,
            };
            frame::tell(session, false, &format!("Nothing was done: {error}"), None).await;
            Ok(return_path::see_other(back))
        }
    }
}

/// `start` or `cancel`.
pub(super) async fn step(
    State(console): State<Console>,
    Extension(who): Extension<CurrentOperator>,
    session: Session,
    Path((id, step)): Path<(String, String)>,
    Form(form): Form<Pairs>,
) -> Result<Response, Problem> {
    who.must_be(Role::Finance)?;
    let id: TaskId = id.parse().map_err(|_| not_found())?;
    let request_id = RequestId::current();
    let by = who.by(request_id.as_ref());
    let (done, said) = match step.as_str() {
        "start" => {
            let started = console.engine.start_task(id, text(&form, "reason"), by);
            (started.await, "It goes on by itself")
        }
        "cancel" => (
            console.engine.cancel_task(id, by).await,
            "Stopped; what was done stays done",
        ),
        _ => return Err(not_found()),
    };
    let (good, said) = match done {
        Ok(()) => (true, said.to_owned()),
        Err(TaskError::Unknown) => return Err(not_found()),
        Err(TaskError::Store(error)) => return Err(error.into()),
        Err(error) => (false, format!("Nothing was done: {error}")),
    };
    frame::tell(&session, good, &said, None).await;
    Ok(return_path::see_other(&format!("/tasks/{id}")))
}

/// The filters of a list, as they stood in its address.
fn filters(text: &str) -> Result<Filters, Problem> {
    let address: Uri = format!("/?{text}").parse().map_err(|_| not_found())?;
    let Query(mut filters) = Query::<Filters>::try_from_uri(&address).map_err(|_| not_found())?;
    filters.retain(|_, value| !value.trim().is_empty());
    Ok(filters)
}

async fn events(
    conn: &mut PgConnection,
    livemode: bool,
    filter: &str,
) -> Result<Vec<i64>, Problem> {
    let filter = export::event_filter(livemode, filters(filter)?)?;
    let (mut all, mut cursor) = (Vec::new(), Cursor::Newest);
    loop {
        let page = event::views::list(conn, &filter, cursor).await?;
        all.extend(page.rows.iter().map(|row| row.id.0));
        match page.rows.last() {
            // One more than a task takes says that there are too many.
            Some(last) if page.older && all.len() <= MOST => cursor = Cursor::Older(last.id.0),
            _ => break,
        }
    }
    // Oldest first, as they came.
    all.reverse();
    Ok(all)
}

async fn broken(
    conn: &mut PgConnection,
    now: chrono::DateTime<chrono::Utc>,
    filter: &str,
) -> Result<Vec<i64>, Problem> {
    let filter = export::exception_filter(now, filters(filter)?)?;
    let (mut all, mut cursor) = (Vec::new(), Cursor::Newest);
    loop {
        let page = exceptions::list(conn, &filter, cursor).await?;
        all.extend(page.rows.iter().map(|row| row.id));
        match page.rows.last() {
            Some(last) if page.older && all.len() <= MOST => cursor = Cursor::Older(last.id),
            _ => break,
        }
    }
    all.reverse();
    Ok(all)
}

fn text<'f>(form: &'f Pairs, name: &str) -> &'f str {
    form.iter()
        .find(|(found, _)| found == name)
        .map_or("", |(_, value)| value)
}

fn not_found() -> Problem {
    Problem::new(
        Kind::NotFound,
        "There is no such task, or nothing it could be about.",
    )
}
