//! Answering about jobs: the provider tells how one of them stands when it is asked, also of those about
//! which it never says anything by itself.

use std::{
    collections::HashMap,
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex, PoisonError},
};

use axum::{
    Router,
    body::Body,
    extract::{Path, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use chrono::{DateTime, Utc};
use tokio::net::TcpListener;

use super::{Stage, note};
use crate::demo::{
    cast::Sender,
    payload::{self, Setting},
    plan::{Event, Plan},
    wire::Note,
};

/// Work that was begun. The rest of it is drawn again from the seed when somebody asks.
#[derive(Clone)]
pub(super) struct Begun {
    pub(super) index: u64,
    pub(super) job: String,
    pub(super) at: DateTime<Utc>,
    pub(super) stretch: u32,
}

/// Every work that was begun, by its reference.
#[derive(Default)]
pub(super) struct Works(Mutex<HashMap<String, Begun>>);

impl Works {
    pub(super) fn begin(&self, reference: &str, begun: Begun) {
        let mut works = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        works.insert(reference.to_owned(), begun);
    }

    fn find(&self, reference: &str) -> Option<Begun> {
        let works = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        works.get(reference).cloned()
    }
}

/// Listens on a free port of this machine.
pub(super) async fn listen() -> io::Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

/// Answers until it is dropped.
pub(super) async fn serve(listener: TcpListener, stage: Arc<Stage>) -> io::Result<()> {
    let routes = Router::new()
        .route("/{sender}/v1/predictions/{reference}", get(answer))
        .route("/{sender}/jobs/{reference}", get(answer))
        .with_state(stage);
    axum::serve(listener, routes).await
}

async fn answer(
    State(stage): State<Arc<Stage>>,
    Path((sender, reference)): Path<(String, String)>,
    headers: HeaderMap,
) -> Response {
    let token = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
    if token != Some(stage.part.answer_token.as_str()) {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let Some(begun) = stage.works.find(&reference) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let plan = Plan::draw(stage.part.seed, begun.index, &stage.part.rates);
    let elapsed = (stage.clock.now() - begun.at).num_milliseconds() / i64::from(begun.stretch);
    match newest(&plan, elapsed).filter(|_| plan.sender.slug() == sender) {
        Some(event) => tell(&stage, &plan, event, (&reference, &begun)),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

/// What has occurred last, told or not.
fn newest(plan: &Plan, elapsed_ms: i64) -> Option<&Event> {
    plan.events
        .iter()
        .filter(|event| !event.stray && event.is_about_the_work())
        .chain(&plan.untold)
        .filter(|event| i64::from(event.occurs_ms) <= elapsed_ms)
        .max_by_key(|event| event.occurs_ms)
}

fn tell(stage: &Stage, plan: &Plan, event: &Event, (reference, begun): (&str, &Begun)) -> Response {
    let path = match plan.sender {
        Sender::Replicate if plan.names_job => format!("?job={}", begun.job),
        _ => String::new(),
    };
    let url = format!(
        "{}/webhooks/{}{path}",
        stage.part.base_url,
        plan.sender.slug()
    );
    let setting = Setting {
        reference,
        job: plan.names_job.then_some(begun.job.as_str()),
        began: begun.at,
        url: &url,
        stretch: begun.stretch,
    };
    match payload::body(plan, event, event.usage.as_ref(), &setting, 0) {
        Ok(body) => {
            if plan.untold.as_ref() == Some(event) {
                note(stage, Note::Answered { index: plan.index });
            }
            let kind = (header::CONTENT_TYPE, "application/json");
            ([kind], Body::from(body)).into_response()
        }
        Err(error) => {
            let text = format!("its answer cannot be written: {error}");
            let index = plan.index;
            note(stage, Note::Trouble { index, text });
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::plan::{Story, Word, tests::default_rates};

    #[test]
    fn what_is_answered_is_what_has_occurred_last() {
        let mut silent = 0;
        for index in 0..3000 {
            let plan = Plan::draw(6, index, &default_rates());
            assert_eq!(newest(&plan, -1), None);
            let Some(event) = newest(&plan, i64::MAX) else {
                assert_eq!(plan.untold, None);
                continue;
            };
            assert!(!event.stray && event.word != Word::Unheard);
            assert_eq!(plan.untold.is_some(), plan.story == Story::NeverTold);
            if plan.story == Story::NeverTold {
                silent += 1;
                assert_eq!(event.word, Word::Succeeded);
                let before = newest(&plan, i64::from(event.occurs_ms) - 1).unwrap();
                assert!(matches!(before.word, Word::Starting | Word::Processing));
            }
        }
        assert!(silent > 10, "{silent}");
    }
}
