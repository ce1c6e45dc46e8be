//! Forms of matches: saying that groups of a statement are one, and taking that back. Each answers with a
//! redirect to the page of matching; sending a form twice does it once.

use axum::{
    Form,
    extract::{Extension, Path, State},
    response::Response,
};
use domain::id::{MatchId, StatementId};
use engine::{
    operator::Role,
    statement::{MatchError, NewMatch},
};
use tower_sessions::Session;

use super::{Console, CurrentOperator, frame, return_path};
use crate::http::{
    problem::{Kind, Problem},
    request::RequestId,
};

/// A form as pairs: what is chosen comes many times under one name.
type Pairs = Vec<(String, String)>;

/// Longest query that is led back to with what was chosen.
const LONGEST_QUERY: usize = 6000;

/// Matches what was chosen.
pub(super) async fn make(
    State(console): State<Console>,
    Extension(who): Extension<CurrentOperator>,
    session: Session,
    Path(statement): Path<String>,
    Form(form): Form<Pairs>,
) -> Result<Response, Problem> {
    who.must_be(Role::Finance)?;
    let statement: StatementId = statement.parse().map_err(|_| not_found())?;
    let new = NewMatch {
        key: text(&form, "key").parse().map_err(|_| not_found())?,
        statement,
        meter: text(&form, "meter").parse().map_err(|_| not_found())?,
        parts: (form.iter())
            .filter(|(name, _)| name == "part")
            .map(|(_, part)| part.clone())
            .collect(),
        reason: text(&form, "reason").to_owned(),
    };
    let request_id = RequestId::current();
    let done = console
        .engine
        .match_groups(&new, who.by(request_id.as_ref()))
        .await;
    let page = format!("/statements/{statement}/match");
    let back = match &done {
        Err(MatchError::NoReason | MatchError::OneSided | MatchError::TooMany) => {
            again(&page, &form)
        }
        _ => format!("{page}?meter={}", return_path::encode(new.meter.as_str())),
    };
    answer(&session, done, "Matched, and checked anew", &back).await
}

/// Takes a match back. The reason's field carries the match, since a page may have several.
pub(super) async fn undo(
    State(console): State<Console>,
    Extension(who): Extension<CurrentOperator>,
    session: Session,
    Path((statement, id)): Path<(String, String)>,
    Form(form): Form<Pairs>,
) -> Result<Response, Problem> {
    who.must_be(Role::Finance)?;
    let statement: StatementId = statement.parse().map_err(|_| not_found())?;
    let id: MatchId = id.parse().map_err(|_| not_found())?;
    let request_id = RequestId::current();
    let reason = text(&form, &format!("reason_{id}"));
    let done = console
        .engine
        .undo_match(id, reason, who.by(request_id.as_ref()))
        .await;
    let back = format!("/statements/{statement}/match");
    answer(&session, done, "Taken back, and checked anew", &back).await
}

async fn answer(
    session: &Session,
    done: Result<(), MatchError>,
    said: &str,
    back: &str,
) -> Result<Response, Problem> {
    let (good, said) = match done {
        Ok(()) => (true, said.to_owned()),
        Err(MatchError::Unknown) => return Err(not_found()),
        Err(MatchError::Store(error)) => return Err(error.into()),
        Err(error) => (false, format!("Nothing was done: {error}")),
    };
    frame::tell(session, good, &said, None).await;
    Ok(return_path::see_other(back))
}

/// The page again, with what was chosen and typed.
fn again(page: &str, form: &Pairs) -> String {
    let pairs = form.iter().filter(|(_, value)| !value.is_empty());
    let pairs = pairs.map(|(name, value)| {
        let value: String = value.chars().take(600).collect();
        let (name, value) = (return_path::encode(name), return_path::encode(&value));
        format!("{name}={value}")
    });
    let query = pairs.collect::<Vec<_>>().join("&");
    match query.len() <= LONGEST_QUERY {
        true => format!("{page}?{query}"),
        false => page.to_owned(),
    }
}

fn text<'f>(form: &'f Pairs, name: &str) -> &'f str {
    form.iter()
        .find(|(found, _)| found == name)
        .map_or("", |(_, value)| value)
}

fn not_found() -> Problem {
    Problem::new(Kind::NotFound, "There is no such statement or match.")
}
