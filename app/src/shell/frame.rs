//! The frame every page stands in.

use leptos::prelude::*;
use leptos_meta::Title;

use super::bar::Bar;
use super::kept::KeptBar;
use super::rail::Rail;
use super::{Flash, FrameData};
use crate::islands::ConsoleIsland;
use crate::ui::{Glyph, Icon, Tone};

/// A step of the way to this page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Crumb {
    /// Its words.
    pub label: String,
    /// Its address; the last crumb is this page and has none.
    pub href: Option<String>,
}

impl Crumb {
    /// A page on the way.
    pub fn link(label: impl Into<String>, href: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            href: Some(href.into()),
        }
    }

    /// This page.
    pub fn here(label: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            href: None,
        }
    }
}

/// A page of the console: rail, bar, the way here, what just happened, then the page.
///
/// The page's children begin with a [`crate::ui::PageHead`] or [`crate::ui::ObjectHead`], which
/// holds the one `<h1>`.
#[component]
pub fn Frame(
    /// The document's title, before "· Quittance".
    #[prop(into)]
    title: String,
    /// The way here; a page of the rail needs none.
    #[prop(optional)]
    crumbs: Vec<Crumb>,
    /// The page.
    children: Children,
) -> AnyView {
    let frame = FrameData::current();
    let zone = frame.zone.label.clone();
    view! {
        <Title text=title_text(&title)/>
        <a class="skip" href="#main">"Skip to content"</a>
        <div class="band"></div>
        <div class="frame">
            <Rail frame=frame.clone()/>
            <Bar frame=frame.clone()/>
            <main id="main" tabindex="-1">
                <Crumbs crumbs/>
                {frame.flash.map(|flash| view! { <FlashBar flash/> })}
                {frame.kept.map(|kept| view! { <KeptBar kept/> })}
                {children()}
            </main>
            <Foot zone/>
        </div>
        <ConsoleIsland/>
    }
    .into_any()
}

/// A page without rail and bar: sign-in, and errors before it.
#[component]
pub fn PlainFrame(
    /// The document's title, before "· Quittance".
    #[prop(into)]
    title: String,
    /// The page, its `<h1>` included.
    children: Children,
) -> AnyView {
    let frame = FrameData::current();
    view! {
        <Title text=title_text(&title)/>
        <div class="band"></div>
        <div class="plain">
            <main id="main">
                <Brand/>
                {frame.flash.map(|flash| view! { <FlashBar flash/> })}
                {children()}
            </main>
            <Foot zone=frame.zone.label/>
        </div>
    }
    .into_any()
}

/// The document's title, encoded: `leptos_meta` writes it into the head as it is, and a sender chooses
/// part of it.
fn title_text(title: &str) -> String {
    let title = title.replace('&', "&amp;").replace('<', "&lt;");
    format!("{title} · Quittance")
}

/// The mark and the name, leading home.
#[component]
pub(super) fn Brand() -> AnyView {
    view! {
        <a class="brand" href="/">
            <Icon glyph=Glyph::Mark/>
            <span class="label">"Quittance"</span>
        </a>
    }
    .into_any()
}

#[component]
fn Crumbs(crumbs: Vec<Crumb>) -> AnyView {
    (!crumbs.is_empty()).then(|| {
        let items = crumbs.into_iter().map(|crumb| match crumb.href {
            Some(href) => view! { <li><a href=href>{crumb.label}</a></li> }.into_any(),
            None => view! { <li aria-current="page">{crumb.label}</li> }.into_any(),
        });
        view! { <nav class="crumbs" aria-label="Breadcrumb"><ol>{items.collect_view()}</ol></nav> }
    })
    .into_any()
}

#[component]
fn FlashBar(flash: Flash) -> AnyView {
    let role = if flash.tone == Tone::Stop {
        "alert"
    } else {
        "status"
    };
    view! {
        <div class="flash" data-tone=flash.tone.as_str() role=role>
            <Icon glyph=flash.tone.glyph()/>
            <div>
                <p>{flash.text}</p>
                {flash.detail.map(|detail| view! { <p>{detail}</p> })}
            </div>
        </div>
    }
    .into_any()
}

/// The same links in the same place on every page.
#[component]
fn Foot(zone: String) -> AnyView {
    view! {
        <footer class="foot">
            <span>"Times are in "{zone}</span>
            <a href="/v1/docs">"API reference"</a>
            <span>"Quittance "{env!("CARGO_PKG_VERSION")}</span>
        </footer>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::title_text;

    #[test]
    fn a_title_cannot_close_itself() {
        assert_eq!(
            title_text("</title><svg onload=a()> & more"),
            "&lt;/title>&lt;svg onload=a()> &amp; more · Quittance"
        );
    }
}
