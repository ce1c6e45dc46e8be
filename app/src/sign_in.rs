//! Sign-in. The form posts to `/sign-in`; a refusal comes back as `?refused=…` with the e-mail
//! kept, never the reason in detail, so that the page does not tell which half was wrong. It also stands in
//! for the answer to a form that was sent after its session had ended, and carries what was typed.

use leptos::prelude::*;
use leptos_router::hooks::use_query_map;

use crate::shell::{FrameData, PlainFrame};
use crate::ui::{Button, ButtonKind, Field, FieldError, Form};

/// The sign-in page. Query: `back` (a path of this site), `email`, `refused` (`credentials` or
/// `attempts`).
#[component]
pub fn SignInPage() -> AnyView {
    let query = use_query_map().read_untracked().clone();
    let back = query.get("back").unwrap_or_else(|| "/".into());
    let email = query.get("email").unwrap_or_default();
    let message = match query.get("refused").as_deref() {
        Some("attempts") => Some("Too many attempts. Wait a minute, then try again."),
        Some(_) => Some("E-mail and password do not match. Check both and try again."),
        None => None,
    };
    let errors = message.map(|message| FieldError {
        field: "email".into(),
        message: message.into(),
    });
    let frame = FrameData::current();
    let mode = frame.mode.word();
    let kept = frame
        .kept
        .and_then(|kept| serde_json::to_string(&kept).ok());
    view! {
        <PlainFrame title="Sign in">
            <div>
                <h1>"Sign in"</h1>
                <p class="muted">"Operators of this "{mode.to_lowercase()}" console."</p>
            </div>
            <Form action="/sign-in" refusal="Not signed in" errors=errors.into_iter().collect()>
                <input type="hidden" name="back" value=back/>
                {kept.map(|kept| view! { <input type="hidden" name="kept" value=kept/> })}
                <Field
                    name="email"
                    label="E-mail"
                    kind="email"
                    value=email
                    autocomplete="username"
                    required=true
                />
                <Field
                    name="password"
                    label="Password"
                    kind="password"
                    autocomplete="current-password"
                    required=true
                />
                <div class="submit"><Button kind=ButtonKind::Primary>"Sign in"</Button></div>
            </Form>
        </PlainFrame>
    }
    .into_any()
}
