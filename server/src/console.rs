//! The console's plumbing: sessions, who is signed in, forms that are not about money, live news, and
//! the pages of `app` mounted with what they need.
//!
//! What must stay true: no page and no form but the sign-in answers without a signed-in operator; no
//! form is accepted from another site; a return path never leaves this site.

mod actions;
mod asks;
mod audit;
mod cases;
mod exceptions;
mod export;
mod frame;
mod gate;
mod headers;
pub mod hub;
mod jump;
mod kept;
mod live;
mod matches;
mod preferences;
mod problem_page;
mod return_path;
mod saved_views;
mod session_store;
mod sign_in;
mod site;
mod statements;
mod tasks;
mod thresholds;

use std::sync::Arc;

use app::FrameData;
use axum::{
    Router,
    body::Body,
    extract::DefaultBodyLimit,
    http::{Request, request::Parts},
    middleware,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use engine::Engine;
use leptos::{
    config::LeptosOptions,
    context::{provide_context, use_context},
};
use leptos_axum::{LeptosRoutes, generate_route_list, render_app_async_with_context};
use tokio::sync::Semaphore;
use tower_http::{compression::CompressionLayer, csrf::CsrfLayer};
use tower_sessions::{
    Expiry, SessionManagerLayer,
    cookie::{SameSite, time::Duration},
};

use self::{hub::Hub, session_store::SessionStore};
use crate::{
    ask::Asker,
    config::ServeArgs,
    http::problem::{Kind, Problem},
};

pub use gate::CurrentOperator;

/// Largest form.
const FORM_BYTES: usize = 64 * 1024;
/// Most exports that are read at once.
const EXPORTS: usize = 4;
/// Most statements that are read at once.
const UPLOADS: usize = 2;
/// How long a session lives without being used.
const IDLE_HOURS: i64 = 12;

/// What the console's handlers share.
#[derive(Clone, Debug)]
pub(crate) struct Console {
    pub(crate) engine: Engine,
    pub(crate) live: bool,
    pub(crate) https: bool,
    pub(crate) hub: Arc<Hub>,
    /// Exports at once: each holds a connection for as long as its reader takes.
    pub(crate) exports: Arc<Semaphore>,
    /// Uploads at once: each holds a connection while its file is read.
    pub(crate) uploads: Arc<Semaphore>,
    /// What pages are drawn with outside of their routes.
    pub(crate) options: LeptosOptions,
    /// Asks providers.
    pub(crate) asker: Asker,
}

/// The console: pages, forms, news and files.
pub fn routes(args: &ServeArgs, engine: &Engine, hub: &Arc<Hub>, asker: Asker) -> Router {
    let console = Console {
        engine: engine.clone(),
        live: args.live,
        https: args.is_https(),
        hub: Arc::clone(hub),
        exports: Arc::new(Semaphore::new(EXPORTS)),
        uploads: Arc::new(Semaphore::new(UPLOADS)),
        options: site::leptos_options(args),
        asker,
    };
    let sessions = SessionManagerLayer::new(SessionStore::new(engine.clone()))
        .with_name(if console.https {
            "__Host-quittance"
        } else {
            "quittance"
        })
        .with_same_site(SameSite::Lax)
        .with_http_only(true)
        .with_secure(console.https)
        .with_path("/")
        .with_expiry(Expiry::OnInactivity(Duration::hours(IDLE_HOURS)));
    let csrf = CsrfLayer::new().with_rejection_response(|_| {
        Problem::new(Kind::Forbidden, "A form of another site cannot act here.").into_response()
    });
    Router::new()
        .route("/sign-in", post(sign_in::sign_in))
        .route("/sign-out", post(sign_in::sign_out))
        .route("/wallets/{wallet}/actions", post(actions::propose))
        .route(
            "/tenants/{tenant}/actions",
            post(actions::propose_on_tenant),
        )
        .route("/sources/{slug}/actions", post(actions::propose_on_source))
        .route("/actions/{id}/{step}", post(actions::step))
        .route("/jobs/{job}/ask", post(asks::ask))
        .route("/events/{event}/decide", post(cases::decide))
        .route(
            "/statements",
            post(statements::upload).layer(DefaultBodyLimit::max(statements::UPLOAD_BYTES)),
        )
        .route("/statements/{statement}/matches", post(matches::make))
        .route(
            "/statements/{statement}/matches/{id}/undo",
            post(matches::undo),
        )
        .route("/exceptions/act", post(exceptions::act))
        .route("/exceptions/{id}/{step}", post(exceptions::step))
        .route("/reconciliation/run", post(exceptions::run))
        .route("/tasks", post(tasks::make))
        .route("/tasks/{id}/{step}", post(tasks::step))
        .route("/audit/check", post(audit::check))
        .route("/thresholds", post(thresholds::set))
        .route("/views", post(saved_views::save))
        .route("/views/{id}/delete", post(saved_views::drop))
        .route("/theme", post(preferences::theme))
        .route("/shortcuts", post(preferences::shortcuts))
        .route("/live", get(live::stream))
        .route("/jump", get(jump::jump))
        .route("/jump/suggest", get(jump::suggest))
        .merge(exports())
        .with_state(console.clone())
        .merge(pages(args, engine))
        .layer(middleware::from_fn_with_state(console.clone(), gate::pass))
        .layer(sessions)
        .layer(csrf)
        .layer(DefaultBodyLimit::max(FORM_BYTES))
        .layer(middleware::from_fn_with_state(
            console.clone(),
            problem_page::show,
        ))
        .merge(site::routes(args))
        .layer(middleware::from_fn_with_state(console, headers::secure))
        .layer(CompressionLayer::new())
}

/// Lists as files.
fn exports() -> Router<Console> {
    Router::new()
        .route("/audit/export.csv", get(export::list))
        .route("/deliveries/export.csv", get(export::list))
        .route("/events/export.csv", get(export::list))
        .route("/exceptions/export.csv", get(export::list))
        .route("/jobs/export.csv", get(export::list))
        .route("/reconciliation/export.csv", get(export::list))
        .route("/seals/export.csv", get(export::list))
        .route("/settlements/export.csv", get(export::list))
        .route("/statements/export.csv", get(export::list))
        .route("/statements/{statement}/export.csv", get(export::statement))
        .route("/tasks/export.csv", get(export::list))
        .route("/wallets/export.csv", get(export::list))
        .route("/wallets/{wallet}/export.csv", get(export::ledger))
}

/// The pages of `app`. They find the engine and the frame of the request as context.
fn pages(args: &ServeArgs, engine: &Engine) -> Router {
    let options = site::leptos_options(args);
    let context = {
        let engine = engine.clone();
        move || {
            provide_context(engine.clone());
            let frame = use_context::<Parts>()
                .and_then(|parts| parts.extensions.get::<FrameData>().cloned());
            provide_context(frame.unwrap_or_default());
        }
    };
    let shell = |options: &LeptosOptions| {
        let options = options.clone();
        move || app::shell(options.clone())
    };
    let lost = render_app_async_with_context(context.clone(), shell(&options));
    Router::new()
        .leptos_routes_with_context(
            &options,
            generate_route_list(app::App),
            context,
            shell(&options),
        )
        .fallback(async move |request: Request<Body>| -> Response { lost(request).await })
        .with_state(options.clone())
}
