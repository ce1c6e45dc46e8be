//! Forms of saved views: giving the filters of a list a name, and dropping one.

use app::shell::{Offered, SavedView as Shown};
use axum::{
    Form,
    extract::{Extension, Path, State},
    response::Response,
};
use domain::{
    id::OperatorId,
    saved_view::{List, NAME_CHARS, SavedView},
};
use engine::{
    Engine,
    error::StoreError,
    saved_view::{self, SaveError, views::offered},
};
use serde::{Deserialize, Serialize};
use tower_sessions::Session;
use uuid::Uuid;

use super::{Console, CurrentOperator, frame, return_path};
use crate::http::problem::{Kind, Problem};

/// Key of the session under which a refusal waits for its list.
const REFUSED: &str = "view_refused";

#[derive(Deserialize)]
pub(super) struct SaveForm {
    list: String,
    filters: String,
    view_name: String,
    shared: String,
}

#[derive(Deserialize)]
pub(super) struct DropForm {
    #[serde(default)]
    back: String,
}

/// Why a view was not saved, for the page of its list.
#[derive(Serialize, Deserialize)]
struct Refused {
    list: List,
    name: String,
    why: String,
}

/// Saves what a list shows under a name, or says beside the name why not.
pub(super) async fn save(
    State(console): State<Console>,
    Extension(who): Extension<CurrentOperator>,
    session: Session,
    Form(form): Form<SaveForm>,
) -> Result<Response, Problem> {
    let list: List = form.list.parse().map_err(|_| not_found())?;
    let place = format!("/{list}?{}", form.filters);
    let back = return_path::safe(&place);
    let saved = match SavedView::read(list, &form.view_name, &form.filters) {
        Ok(view) => {
            let engine = &console.engine;
            let mut conn = engine.pool().acquire().await.map_err(StoreError::from)?;
            let of = (who.0.id, form.shared == "true");
            match saved_view::save(&mut conn, engine, &view, of).await {
                Ok(_) => Ok(view),
                Err(SaveError::Store(error)) => return Err(error.into()),
                Err(error @ SaveError::NameTaken) => Err(error.to_string()),
            }
        }
        Err(wrong) => Err(wrong.to_string()),
    };
    match saved {
        Ok(view) => {
            let said = format!("Saved: \u{201c}{}\u{201d}", view.name());
            frame::tell(&session, true, &said, None).await;
            Ok(return_path::see_other(back))
        }
        Err(why) => {
            let name = form.view_name.chars().take(NAME_CHARS).collect();
            let refused = Refused { list, name, why };
            session.insert(REFUSED, refused).await.map_err(lost)?;
            Ok(return_path::see_other(back))
        }
    }
}

/// Drops a view of the operator's own.
pub(super) async fn drop(
    State(console): State<Console>,
    Extension(who): Extension<CurrentOperator>,
    session: Session,
    Path(view): Path<String>,
    Form(form): Form<DropForm>,
) -> Result<Response, Problem> {
    let view: Uuid = view.parse().map_err(|_| not_found())?;
    let pool = console.engine.pool();
    let mut conn = pool.acquire().await.map_err(StoreError::from)?;
    let (good, said) = match saved_view::drop(&mut conn, view, who.0.id).await? {
        true => (true, "Deleted"),
        false => (false, "Nothing was deleted: you have no such view"),
    };
    frame::tell(&session, good, said, None).await;
    Ok(return_path::see_other(return_path::safe(&form.back)))
}

/// The saved views of the list at a path, and what was refused about one.
pub(super) async fn of(
    engine: &Engine,
    session: &Session,
    (path, operator): (&str, OperatorId),
) -> Result<Offered, Problem> {
    let list = path.strip_prefix('/').map(str::parse::<List>);
    let Some(Ok(list)) = list else {
        return Ok(Offered::default());
    };
    let mut conn = engine.pool().acquire().await.map_err(StoreError::from)?;
    let rows = offered(&mut conn, list, operator).await?;
    let refused = session.get::<Refused>(REFUSED).await.map_err(lost)?;
    let wrong = refused.filter(|refused| refused.list == list);
    if wrong.is_some() {
        session.remove_value(REFUSED).await.map_err(lost)?;
    }
    Ok(Offered {
        rows: rows
            .into_iter()
            .map(|row| Shown {
                id: row.id.to_string(),
                name: row.view.name().to_owned(),
                href: row.view.href(),
                shared: row.shared,
                by: row.by,
            })
            .collect(),
        wrong: wrong.map(|refused| (refused.name, refused.why)),
    })
}

fn lost(error: tower_sessions::session::Error) -> Problem {
    tracing::error!(%error, "what was refused about a view could not be kept");
    Problem::new(Kind::Unavailable, "The session could not be kept.")
}

fn not_found() -> Problem {
    Problem::new(Kind::NotFound, "There is no such list or view.")
}
