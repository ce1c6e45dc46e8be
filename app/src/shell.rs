//! The document around every page: head, mode band, frame. It also sets the content security
//! policy, because the policy names what the document itself loads.

mod bar;
mod data;
mod error_page;
mod frame;
mod kept;
mod rail;

use http::HeaderValue;
use http::header::CONTENT_SECURITY_POLICY;
use leptos::nonce::use_nonce;
use leptos::prelude::*;
use leptos_axum::ResponseOptions;
use leptos_meta::{HashedStylesheet, MetaTags};

use crate::routes::App;

pub use data::{Desk, Flash, FrameData, Mode, Offered, Operator, SavedView, Theme};
pub use error_page::{ErrorDocument, ErrorKind, ErrorPage, NotFoundPage};
pub use frame::{Crumb, Frame, PlainFrame};
pub use kept::Kept;

/// The whole document. The server calls it once a request, after it has provided [`FrameData`].
pub fn shell(options: LeptosOptions) -> impl IntoView {
    view! { <Document options><App/></Document> }
}

/// Head and body around whatever is shown.
#[component]
pub fn Document(
    /// Where the assets are.
    options: LeptosOptions,
    /// The body.
    children: Children,
) -> impl IntoView {
    let frame = FrameData::current();
    restrict();
    view! {
        <!DOCTYPE html>
        <html
            lang="en"
            data-theme=frame.theme.attribute()
            data-mode=frame.mode.attribute()
            data-shortcuts=(!frame.shortcuts).then_some("off")
        >
            <head>
                <meta charset="utf-8"/>
                <meta name="viewport" content="width=device-width, initial-scale=1"/>
                <meta name="color-scheme" content=frame.theme.color_scheme()/>
                <meta name="robots" content="noindex"/>
                <link rel="icon" href="/favicon.svg" type="image/svg+xml"/>
                <HashedStylesheet options=options.clone()/>
                <HydrationScripts options islands=true/>
                <MetaTags/>
            </head>
            <body>{children()}</body>
        </html>
    }
}

/// Lets the page load what it is made of and nothing else. Inline scripts carry the response's
/// nonce; `wasm-unsafe-eval` is what browsers ask for to run WASM at all.
fn restrict() {
    let (Some(nonce), Some(response)) = (use_nonce(), use_context::<ResponseOptions>()) else {
        return;
    };
    let policy = format!(
        "default-src 'none'; script-src 'self' 'nonce-{nonce}' 'wasm-unsafe-eval'; \
         style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; \
         base-uri 'none'; frame-ancestors 'none'"
    );
    // A nonce is base64, so the policy is always a legal header value.
    if let Ok(policy) = HeaderValue::from_str(&policy) {
        response.insert_header(CONTENT_SECURITY_POLICY, policy);
    }
}
