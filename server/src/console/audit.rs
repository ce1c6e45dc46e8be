//! The button on the audit page: does the chain of the log hold?

use axum::{extract::State, response::Response};
use engine::audit::views::follow;
use tower_sessions::Session;

use super::{Console, frame, return_path};
use crate::http::problem::Problem;

/// Follows the chain and says on the page what came of it.
pub(super) async fn check(
    State(console): State<Console>,
    session: Session,
) -> Result<Response, Problem> {
    let mut conn = console
        .engine
        .pool()
        .acquire()
        .await
        .map_err(engine::error::StoreError::from)?;
    match follow(&mut conn).await? {
        Ok(head) => {
            let text = format!("The chain holds: {} lines", head.number);
            let detail = format!("The newest line has the hash {}.", head.hash);
            frame::tell(&session, true, &text, Some(detail)).await;
        }
        Err(found) => {
            tracing::error!(line = found.number, "the audit log's chain is broken");
            let text = "The chain is broken: the log was changed below the application";
            let detail = format!("The {found}. What comes after it proves nothing.");
            frame::tell(&session, false, text, Some(detail)).await;
        }
    }
    Ok(return_path::see_other("/audit"))
}
