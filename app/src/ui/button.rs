//! Buttons. One primary in a view, and it names its effect.

use leptos::prelude::*;

/// What a button does to the eye.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ButtonKind {
    /// One of several.
    #[default]
    Plain,
    /// The one thing this view is for.
    Primary,
    /// Beside others, without a border.
    Quiet,
    /// Cannot be undone, or moves money.
    Danger,
}

impl ButtonKind {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Primary => "primary",
            Self::Quiet => "quiet",
            Self::Danger => "danger",
        }
    }
}

/// A button that submits its form.
#[component]
pub fn Button(
    /// What it does to the eye.
    #[prop(optional)]
    kind: ButtonKind,
    /// 32 px instead of 36.
    #[prop(optional)]
    small: bool,
    /// The field it submits, if pressing it is an answer.
    #[prop(optional, into)]
    name: Option<String>,
    /// The value it submits.
    #[prop(optional, into)]
    value: Option<String>,
    /// Why it cannot be pressed. The button stays, and the reason is read with it.
    #[prop(optional_no_strip, into)]
    refused: Option<String>,
    /// Its words.
    children: Children,
) -> AnyView {
    let reason = refused
        .clone()
        .map(|why| view! { <span class="unseen">" ("{why}")"</span> });
    view! {
        <button
            type="submit"
            class="button"
            data-kind=kind.as_str()
            data-size=small.then_some("small")
            name=name
            value=value
            disabled=refused.is_some()
            title=refused
        >
            {children()}
            {reason}
        </button>
    }
    .into_any()
}

/// A link that looks like a button, for going somewhere to do something.
#[component]
pub fn LinkButton(
    /// Where to.
    #[prop(into)]
    href: String,
    /// What it does to the eye.
    #[prop(optional)]
    kind: ButtonKind,
    /// 32 px instead of 36.
    #[prop(optional)]
    small: bool,
    /// Its words.
    children: Children,
) -> AnyView {
    view! {
        <a class="button" href=href data-kind=kind.as_str() data-size=small.then_some("small")>
            {children()}
        </a>
    }
    .into_any()
}
