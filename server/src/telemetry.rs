//! Logs and metrics. Both are set up once a process, however many servers it runs.

use std::{io::IsTerminal as _, sync::OnceLock};

use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use tracing_subscriber::{EnvFilter, fmt, layer::SubscriberExt, util::SubscriberInitExt};

use crate::config::LogFormat;

/// Upper bounds of the histograms of durations, in seconds.
const SECONDS: &[f64] = &[
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
];

static METRICS: OnceLock<PrometheusHandle> = OnceLock::new();

/// What is logged when `RUST_LOG` says nothing.
pub const USUAL: &str = "info,sqlx=warn,tower_sessions=warn";
/// The same for commands whose own output matters.
pub const QUIET: &str = "warn,sqlx=error,engine::inbox=error";

/// Starts writing log lines to standard error. `RUST_LOG` filters them, or else `unsaid`; a second call
/// does nothing.
pub fn init_logs(format: LogFormat, unsaid: &str) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(unsaid));
    let registry = tracing_subscriber::registry().with(filter);
    let installed = match format {
        LogFormat::Pretty => registry
            .with(
                fmt::layer()
                    .with_writer(std::io::stderr)
                    .with_ansi(std::io::stderr().is_terminal())
                    .with_target(false),
            )
            .try_init(),
        LogFormat::Json => registry
            .with(fmt::layer().json().with_writer(std::io::stderr))
            .try_init(),
    };
    if installed.is_err() {
        tracing::debug!("logs were set up before");
    }
}

/// The handle metrics are rendered from. The first call installs the recorder of the process.
pub fn metrics() -> PrometheusHandle {
    METRICS
        .get_or_init(|| {
            let recorder = PrometheusBuilder::new()
                .set_buckets(SECONDS)
                .unwrap_or_else(|_| PrometheusBuilder::new())
                .build_recorder();
            let handle = recorder.handle();
            if metrics::set_global_recorder(recorder).is_err() {
                tracing::warn!("another metrics recorder is installed; /metrics will be empty");
            }
            handle
        })
        .clone()
}
