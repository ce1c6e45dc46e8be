//! For those who run the process: is it alive, can it serve, what does it count.

use axum::{Router, extract::State, response::IntoResponse, routing::get};
use engine::{Engine, database::Readiness};
use metrics_exporter_prometheus::PrometheusHandle;

use super::problem::{Kind, Problem};

/// `/healthz` and `/readyz`.
pub fn routes(engine: Engine) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready).with_state(engine))
}

/// `/metrics`, for an address of its own: what a process counts tells a stranger how the business goes.
pub fn metrics_routes(metrics: PrometheusHandle) -> Router {
    Router::new().route("/metrics", get(render).with_state(metrics))
}

/// Ready when the database answers and has the schema this program was built with.
async fn ready(State(engine): State<Engine>) -> Result<&'static str, Problem> {
    match engine::database::readiness(engine.pool()).await {
        Ok(Readiness::Ready) => Ok("ready\n"),
        Ok(Readiness::MigrationsMissing) => Err(Problem::new(
            Kind::Unavailable,
            "The database lacks migrations of this version: run `quittance migrate`.",
        )),
        Err(error) => Err(Problem::storage(&error)),
    }
}

async fn render(State(metrics): State<PrometheusHandle>) -> impl IntoResponse {
    (
        [("content-type", "text/plain; version=0.0.4; charset=utf-8")],
        metrics.render(),
    )
}
