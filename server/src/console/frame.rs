//! What the frame of a page shows of the request.

use app::{
    FrameData,
    shell::{Desk, Flash, Kept, Mode, Offered, Operator as Shown, Theme},
    ui::{Glyph, Tone},
};
use axum::http::{HeaderMap, Method, header, request::Parts};
use domain::event::EventState;
use engine::{
    Engine, action, error::StoreError, exception, freeze, job::views::uncertain,
    operator::Operator, overview,
};
use serde::{Deserialize, Serialize};
use tower_sessions::Session;

use super::{Console, kept, preferences, saved_views};
use crate::http::{problem::Problem, request::RequestId};

/// Key of the session under which the next page's message is kept.
const FLASH: &str = "flash";

/// A message for the next page.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Message {
    good: bool,
    text: String,
    detail: Option<String>,
}

/// Keeps a message for the next page of this session.
pub(super) async fn tell(session: &Session, good: bool, text: &str, detail: Option<String>) {
    let message = Message {
        good,
        text: text.to_owned(),
        detail,
    };
    if let Err(error) = session.insert(FLASH, message).await {
        tracing::warn!(%error, "a message for the next page was lost");
    }
}

/// Collects the frame. A message is taken out of the session only by a page that shows it.
pub(super) async fn of(
    console: &Console,
    session: &Session,
    request: &Parts,
    operator: Option<&Operator>,
) -> Result<FrameData, Problem> {
    let headers = &request.headers;
    let page = request.method == Method::GET && accepts_html(headers);
    let flash = match page && operator.is_some() {
        true => session.remove::<Message>(FLASH).await.unwrap_or_default(),
        false => None,
    };
    let desks = match page && operator.is_some() {
        true => desks(&console.engine, console.live).await?,
        false => Vec::new(),
    };
    let kept = match page && operator.is_some() {
        true => kept_of(session, request.uri.path()).await,
        false => None,
    };
    let saved = match operator.filter(|_| page) {
        Some(operator) => {
            let of = (request.uri.path(), operator.id);
            saved_views::of(&console.engine, session, of).await?
        }
        None => Offered::default(),
    };
    let location = request
        .uri
        .path_and_query()
        .map_or("/", |path| path.as_str());
    Ok(FrameData {
        operator: operator.map(|operator| Shown {
            id: operator.id,
            email: operator.email.clone(),
            name: operator.name.clone(),
            role: operator.role.to_string(),
        }),
        shortcuts: preferences::cookie(headers, preferences::SHORTCUTS) != Some("off"),
        desks,
        flash: flash.map(|message| Flash {
            tone: if message.good { Tone::Good } else { Tone::Stop },
            text: message.text,
            detail: message.detail,
        }),
        kept,
        saved,
        ..plain(console, headers, location)
    })
}

/// The frame of a page for nobody in particular.
pub(super) fn plain(console: &Console, headers: &HeaderMap, location: &str) -> FrameData {
    FrameData {
        mode: if console.live { Mode::Live } else { Mode::Test },
        theme: preferences::cookie(headers, preferences::THEME).map_or(Theme::System, Theme::parse),
        location: location.to_owned(),
        request_id: RequestId::current().map(|id| id.as_str().to_owned()),
        now: console.engine.clock().now(),
        ..FrameData::default()
    }
}

/// What was typed into a form of this page before the session had ended. It waits until the page is asked
/// for, and is shown once.
async fn kept_of(session: &Session, path: &str) -> Option<Kept> {
    let kept = session.get::<Kept>(kept::KEPT).await.ok().flatten()?;
    let page = kept::page(&kept)?;
    if page.split('?').next() != Some(path) {
        return None;
    }
    session.remove::<Kept>(kept::KEPT).await.ok().flatten()
}

fn accepts_html(headers: &HeaderMap) -> bool {
    let accept = headers
        .get(header::ACCEPT)
        .and_then(|value| value.to_str().ok());
    accept.is_none_or(|accept| accept.contains("text/html") || accept.contains("*/*"))
}

/// Queues of a mode where someone waits for a person.
async fn desks(engine: &Engine, live: bool) -> Result<Vec<Desk>, StoreError> {
    let mut conn = engine.pool().acquire().await?;
    let waiting = overview::attention(&mut conn, live).await?;
    let desk = |label: &str, state: EventState, glyph| Desk {
        label: label.to_owned(),
        href: format!("/events?state={state}"),
        glyph,
        count: waiting
            .get(&state)
            .map_or(0, |count| (*count).unsigned_abs()),
    };
    let contradicted = Desk {
        label: "Contradicted".to_owned(),
        href: "/events?contradicted=true".to_owned(),
        glyph: Glyph::Quarantine,
        count: overview::contradicted(&mut conn, live)
            .await?
            .unsigned_abs(),
    };
    let approvals = Desk {
        label: "Approvals".to_owned(),
        href: "/approvals".to_owned(),
        glyph: Glyph::Approvals,
        count: action::views::count_waiting(&mut conn, live)
            .await?
            .unsigned_abs(),
    };
    let frozen = Desk {
        label: "Frozen".to_owned(),
        href: "/freezes".to_owned(),
        glyph: Glyph::Lock,
        count: freeze::views::counts(&mut conn, live)
            .await?
            .total()
            .unsigned_abs(),
    };
    let overdue = engine.clock().now() - engine.overdue();
    let stake = uncertain::at_stake(&mut conn, live, overdue).await?;
    let uncertain = Desk {
        label: "Uncertain".to_owned(),
        href: "/uncertain".to_owned(),
        glyph: Glyph::Clock,
        count: stake.iter().map(|one| one.jobs.unsigned_abs()).sum(),
    };
    let exceptions = Desk {
        label: "Exceptions".to_owned(),
        href: "/exceptions?asks=true".to_owned(),
        glyph: Glyph::Exceptions,
        count: exception::views::open(&mut conn, engine.clock().now())
            .await?
            .asking
            .unsigned_abs(),
    };
    Ok(vec![
        exceptions,
        contradicted,
        desk("Conflicts", EventState::Conflict, Glyph::Quarantine),
        desk("Rejected", EventState::Rejected, Glyph::StateStop),
        desk("Failing", EventState::Failed, Glyph::StateAttention),
        uncertain,
        frozen,
        approvals,
    ])
}
