//! Pages for what went wrong: what it was, what it means for the money, what to do next, and the
//! request id for whoever is asked about it.

use http::StatusCode;
use leptos::prelude::*;
use leptos_axum::ResponseOptions;
use leptos_meta::provide_meta_context;

use super::frame::{Frame, PlainFrame};
use super::{Document, FrameData};
use crate::ui::{ButtonKind, Id, LinkButton};

/// What went wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ErrorKind {
    /// There is no such page or object.
    NotFound,
    /// The reader's role may not do or see it.
    Forbidden,
    /// Something changed in between.
    Conflict,
    /// Too many attempts.
    TooMany,
    /// We failed.
    Internal,
    /// The database cannot be reached.
    Unavailable,
}

impl ErrorKind {
    /// The status of the response.
    pub const fn status(self) -> StatusCode {
        match self {
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::Forbidden => StatusCode::FORBIDDEN,
            Self::Conflict => StatusCode::CONFLICT,
            Self::TooMany => StatusCode::TOO_MANY_REQUESTS,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// The title and the explanation.
    pub const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::NotFound => (
                "Nothing is here",
                "No page and no object has this address. Ids can be looked up with the jump box.",
            ),
            Self::Forbidden => (
                "Your role does not allow this",
                "Nothing was changed. An administrator can give you the role it needs.",
            ),
            Self::Conflict => (
                "Something changed in between",
                "Nothing was changed by you. Go back, look at the new state and decide again.",
            ),
            Self::TooMany => (
                "Too many attempts",
                "Wait a minute, then try again. Nothing was changed.",
            ),
            Self::Internal => (
                "Something went wrong on our side",
                "Nothing was half done: a change is either whole or did not happen. Reload to see which.",
            ),
            Self::Unavailable => (
                "The books cannot be reached",
                "The database does not answer. Nothing is lost; this page works again when it does.",
            ),
        }
    }
}

/// A page that says what went wrong, and sets the response's status to match.
#[component]
pub fn ErrorPage(
    /// What went wrong.
    kind: ErrorKind,
) -> AnyView {
    if let Some(response) = use_context::<ResponseOptions>() {
        response.set_status(kind.status());
    }
    let frame = FrameData::current();
    let (title, explanation) = kind.words();
    let code = kind.status().as_u16();
    let retry = matches!(
        kind,
        ErrorKind::Internal | ErrorKind::Unavailable | ErrorKind::Conflict
    );
    let back = if retry {
        frame.location.clone()
    } else {
        "/".into()
    };
    let words = if retry { "Reload" } else { "To the overview" };
    let signed_in = frame.operator.is_some();
    let body = view! {
        <section class="error-page">
            <p class="code">"Error "{code}</p>
            <h1>{title}</h1>
            <p>{explanation}</p>
            {frame.request_id.map(|id| view! {
                <p class="muted">"Request "<Id value=id what="request id" full=true/></p>
            })}
            <LinkButton href=back kind=ButtonKind::Primary>{words}</LinkButton>
        </section>
    };
    if signed_in {
        view! { <Frame title>{body}</Frame> }.into_any()
    } else {
        view! { <PlainFrame title>{body}</PlainFrame> }.into_any()
    }
}

/// The whole document of an error that kept the pages from being asked.
#[component]
pub fn ErrorDocument(
    /// Where the assets are.
    options: LeptosOptions,
    /// What went wrong.
    kind: ErrorKind,
) -> impl IntoView {
    provide_meta_context();
    view! { <Document options><ErrorPage kind/></Document> }
}

/// The answer to every address that no route has.
#[component]
pub fn NotFoundPage() -> AnyView {
    view! { <ErrorPage kind=ErrorKind::NotFound/> }.into_any()
}
