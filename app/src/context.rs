//! What a page reads the books through, and what it shows when that fails.

use std::future::Future;

use domain::id::EventId;
use engine::{Engine, action::ActionError, audit::By, error::StoreError};
use leptos::prelude::*;

use crate::shell::{ErrorKind, ErrorPage, FrameData};

/// Why a page cannot be shown.
#[derive(Debug)]
pub(crate) enum PageError {
    /// There is no such object.
    NotFound,
    /// The books could not be read.
    Store(StoreError),
    /// The page was asked for without an engine, as while routes are listed.
    NoEngine,
}

impl From<StoreError> for PageError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<ActionError> for PageError {
    fn from(error: ActionError) -> Self {
        match error {
            ActionError::Unknown => Self::NotFound,
            ActionError::Store(error) => Self::Store(error),
            other => Self::Store(StoreError::inconsistent("actions", "action", other)),
        }
    }
}

impl PageError {
    /// The page that says so. Storage failures are logged here, where they are handled.
    fn page(self) -> AnyView {
        let kind = match self {
            Self::NotFound => ErrorKind::NotFound,
            Self::NoEngine => ErrorKind::Unavailable,
            Self::Store(error) => {
                let frame = FrameData::current();
                let request_id = frame.request_id.unwrap_or_default();
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    path = frame.location,
                    request_id,
                    "a page could not be read"
                );
                if error.outcome_unknown() {
                    ErrorKind::Unavailable
                } else {
                    ErrorKind::Internal
                }
            }
        };
        view! { <ErrorPage kind/> }.into_any()
    }
}

/// A page: one awaited load, then the whole of it, or the page that says why not.
pub(crate) fn page<L>(load: impl FnOnce(Engine) -> L) -> AnyView
where
    L: Future<Output = Result<AnyView, PageError>> + Send + 'static,
{
    let Some(engine) = use_context::<Engine>() else {
        return PageError::NoEngine.page();
    };
    let load = load(engine);
    Suspend::new(async move { load.await.unwrap_or_else(PageError::page) }).into_any()
}

/// Notes in the audit log that the signed-in operator reads a payload. Called before it is shown: what
/// could not be noted is not shown.
pub(crate) async fn note_payload_read(engine: &Engine, event: EventId) -> Result<(), PageError> {
    let frame = FrameData::current();
    let operator = frame.operator.ok_or(PageError::NotFound)?;
    let by = By {
        operator: operator.id,
        email: &operator.email,
        request_id: frame.request_id.as_deref(),
    };
    let object = event.to_string();
    let detail = serde_json::json!({ "page": frame.location });
    let line = by.did("payload.read", &object, detail, None);
    Ok(engine.record_audit(&line).await?)
}

/// Whether the signed-in operator may move money.
pub(crate) fn may_act() -> bool {
    has_role(&["finance", "admin"])
}

/// Whether the signed-in operator may change how the installation works.
pub(crate) fn may_set_up() -> bool {
    has_role(&["admin"])
}

/// Whether the signed-in operator may ask a provider how a job stands.
pub(crate) fn may_ask() -> bool {
    has_role(&["support", "finance", "admin"])
}

/// Whether the signed-in operator may see payloads.
pub(crate) fn may_read_payloads() -> bool {
    has_role(&["support", "finance", "admin"])
}

fn has_role(roles: &[&str]) -> bool {
    let operator = FrameData::current().operator;
    operator.is_some_and(|operator| roles.contains(&operator.role.as_str()))
}
