//! `/jump?q=`: from any id to its page.

use axum::{
    Json,
    extract::{Query, State},
    response::Response,
};
use engine::jump::{self, Found};
use serde::{Deserialize, Serialize};
use tower_sessions::Session;

use super::{Console, frame, return_path};
use crate::http::problem::Problem;

/// Characters of a text that is repeated to its author.
const MAX_SHOWN: usize = 80;

#[derive(Deserialize)]
pub(super) struct Asked {
    #[serde(default)]
    q: String,
}

/// Something found, as the palette shows it.
#[derive(Serialize)]
pub(super) struct Hit {
    href: String,
    label: String,
    detail: String,
}

/// Goes to the page of what was asked for; of several, to the newest. When nothing answers, the list of
/// jobs says so.
pub(super) async fn jump(
    State(console): State<Console>,
    session: Session,
    Query(asked): Query<Asked>,
) -> Result<Response, Problem> {
    let text = asked.q.trim();
    let found = jump::find(&console.engine, text).await?;
    if let Some(found) = found.first() {
        return Ok(return_path::see_other(&href(found)));
    }
    if !text.is_empty() {
        let cut: String = text.chars().take(MAX_SHOWN).collect();
        let detail = "Type an id, a settlement key, a provider's reference, a request id or a user, in full.";
        frame::tell(
            &session,
            false,
            &format!("Nothing answers to “{cut}”."),
            Some(detail.to_owned()),
        )
        .await;
    }
    Ok(return_path::see_other("/jobs"))
}

/// What answers to a text, for the palette.
pub(super) async fn suggest(
    State(console): State<Console>,
    Query(asked): Query<Asked>,
) -> Result<Json<Vec<Hit>>, Problem> {
    let found = jump::find(&console.engine, asked.q.trim()).await?;
    let hits = found.iter().map(|found| {
        let (label, detail) = words(found);
        Hit {
            href: href(found),
            label,
            detail,
        }
    });
    Ok(Json(hits.collect()))
}

fn href(found: &Found) -> String {
    match found {
        Found::Job { id, .. } => format!("/jobs/{id}"),
        Found::Event { id, .. } => format!("/events/{id}"),
        Found::Settlement { id, .. } => format!("/settlements/{id}"),
        Found::Wallet { id, .. } => format!("/wallets/{id}"),
        Found::Tenant { id, .. } => format!("/wallets?tenant={id}"),
    }
}

fn words(found: &Found) -> (String, String) {
    match found {
        Found::Job { id, state, model } => (id.to_string(), format!("job, {state}, {model}")),
        Found::Event { id, kind, state } => (id.to_string(), format!("event {kind}, {state}")),
        Found::Settlement { id, key } => (id.to_string(), key.clone()),
        Found::Wallet { id, name } => (id.to_string(), format!("wallet {name}")),
        Found::Tenant { id, name } => (id.to_string(), format!("tenant {name}")),
    }
}
