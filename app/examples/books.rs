//! Renders pages of the console from a real database, to look at them without a server.
//!
//! `DATABASE_URL=… cargo run -p app --features ssr --example books -- /jobs /wallets …` writes each
//! page, once a theme, to `target/books`; serve that folder at its root. Styles come from the
//! gallery: run that example once before.

use std::sync::Arc;
use std::{error::Error, fs, path::Path};

use app::shell::{FrameData, Mode, Operator, Theme, shell};
use app::ui::Zone;
use engine::{Engine, clock::Clock};
use leptos::prelude::*;
use leptos_meta::ServerMetaContext;
use leptos_router::location::RequestUrl;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    _ = any_spawner::Executor::init_tokio();
    let url = std::env::var("DATABASE_URL")?.parse()?;
    let engine = Engine::new(engine::database::connect(&url, 4).await?, Clock::system());
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target");
    let site = target.join("books");
    fs::create_dir_all(site.join("pkg"))?;
    for file in ["pkg/quittance.css", "icons.svg", "favicon.svg"] {
        fs::copy(target.join("gallery").join(file), site.join(file))?;
    }
    let paths: Vec<String> = std::env::args().skip(1).collect();
    for path in paths {
        for theme in [Theme::Light, Theme::Dark] {
            let name = path.trim_matches('/').replace(['/', '?', '&', '='], "-");
            let name = if name.is_empty() { "overview" } else { &name };
            let html = render(&engine, &path, theme).await;
            fs::write(site.join(format!("{name}.{}.html", theme.as_str())), html)?;
        }
    }
    Ok(())
}

async fn render(engine: &Engine, path: &str, theme: Theme) -> String {
    let owner = Owner::new_root(Some(Arc::new(
        hydration_context::SsrSharedContext::new_islands(),
    )));
    let (meta, output) = ServerMetaContext::new();
    let frame = FrameData {
        operator: Some(Operator {
            id: domain::id::OperatorId(uuid::Uuid::nil()),
            email: "anna@example.com".into(),
            name: "Anna Keller".into(),
            role: "finance".into(),
        }),
        mode: Mode::Live,
        zone: Zone::from_minutes_east(60),
        theme,
        location: path.into(),
        request_id: Some("req_0123456789abcdef".into()),
        now: engine.clock().now(),
        ..FrameData::default()
    };
    let stream = owner.with(|| {
        provide_context(meta);
        provide_context(RequestUrl::new(path));
        provide_context(frame);
        provide_context(engine.clone());
        let options = LeptosOptions::builder().output_name("quittance").build();
        shell(options).to_html_stream_in_order()
    });
    let stream = output.inject_meta_context(stream).await;
    futures::StreamExt::collect(stream).await
}
