//! Renders whole pages with made-up content, to look at the parts where they belong.
//!
//! `cargo run -p app --features ssr --example gallery` writes a site to `target/gallery`; serve
//! that folder at its root to see it. Each page comes once a theme. It also shows page authors
//! how the parts are composed.

mod job;
mod jobs;
mod overview;
mod parts;

use std::path::Path;
use std::{fs, io};

use app::App;
use app::shell::{Desk, Document, ErrorKind, ErrorPage, Flash, FrameData, Mode, Operator, Theme};
use app::ui::{AmountText, Glyph, Tone, Zone};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use leptos_meta::{MetaContext, ServerMetaContext};
use leptos_router::location::RequestUrl;

fn main() -> io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let site = root.join("target/gallery");
    fs::create_dir_all(site.join("pkg"))?;
    fs::write(
        site.join("pkg/quittance.css"),
        style_sheet(&root.join("style"))?,
    )?;
    for asset in ["icons.svg", "favicon.svg", "logo.svg"] {
        fs::copy(root.join("style/assets").join(asset), site.join(asset))?;
    }
    let pages: [(&str, Page); 8] = [
        ("overview", overview::page),
        ("jobs", jobs::page),
        ("jobs-empty", jobs::empty_page),
        ("job", job::page),
        ("parts", parts::page),
        ("sign-in", || view! { <App/> }.into_any()),
        ("refused", || view! { <App/> }.into_any()),
        ("error", || {
            view! { <ErrorPage kind=ErrorKind::NotFound/> }.into_any()
        }),
    ];
    for theme in [Theme::Light, Theme::Dark] {
        for (name, page) in pages {
            let html = render(frame(name, theme), page);
            fs::write(site.join(format!("{name}-{}.html", theme.as_str())), html)?;
        }
    }
    Ok(())
}

/// Draws one page.
type Page = fn() -> AnyView;

/// The style sheet with its imports in place.
fn style_sheet(folder: &Path) -> io::Result<String> {
    let main = fs::read_to_string(folder.join("main.css"))?;
    let imports = main
        .lines()
        .filter_map(|line| line.strip_prefix("@import \"")?.strip_suffix("\";"));
    imports
        .map(|file| fs::read_to_string(folder.join(file)))
        .collect()
}

fn render(frame: FrameData, page: Page) -> String {
    let owner = Owner::new();
    owner.with(|| {
        let (meta, _output) = ServerMetaContext::new();
        provide_context(meta);
        provide_context(MetaContext::default());
        provide_context(RequestUrl::new(&frame.location));
        provide_context(frame);
        let options = LeptosOptions::builder().output_name("quittance").build();
        view! { <Document options>{page()}</Document> }.to_html()
    })
}

fn frame(name: &str, theme: Theme) -> FrameData {
    let desk = |label: &str, href: &str, glyph, count| Desk {
        label: label.into(),
        href: href.into(),
        glyph,
        count,
    };
    let test = name == "jobs-empty";
    FrameData {
        operator: (!matches!(name, "sign-in" | "refused")).then(|| Operator {
            id: domain::id::OperatorId(uuid::Uuid::nil()),
            email: "anna@example.com".into(),
            name: "Anna Keller".into(),
            role: "finance".into(),
        }),
        mode: if test { Mode::Test } else { Mode::Live },
        zone: Zone::from_minutes_east(60),
        theme,
        desks: vec![
            desk("Conflicts", "/events?state=conflict", Glyph::Quarantine, 3),
            desk(
                "Rejected",
                "/deliveries?verdict=rejected",
                Glyph::Exceptions,
                12,
            ),
        ],
        location: match name {
            "overview" => "/".into(),
            "job" => format!("/jobs/{}", job::ID),
            "sign-in" => "/sign-in".into(),
            "refused" => "/sign-in?refused=credentials&email=anna@example.org".into(),
            _ => "/jobs".into(),
        },
        flash: (name == "parts").then(|| Flash {
            tone: Tone::Good,
            text: "Price flux-tiny v13 takes effect on 1 December 00:00 UTC+1".into(),
            detail: Some("Jobs accepted before then keep version 12.".into()),
        }),
        request_id: Some("req_019ad0c2a7f17e539d2b6c1f00aa7q2m".into()),
        now: at("2026-11-30T13:17:12Z"),
        ..FrameData::default()
    }
}

fn at(text: &str) -> DateTime<Utc> {
    text.parse().expect("a time")
}

fn usd(text: &str) -> AmountText {
    AmountText::new(text.parse().expect("a decimal"), "USD", 2)
}
