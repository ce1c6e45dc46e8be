//! The reference: plain SQL driven by pgbench on the same database in the same run.

use std::{
    env, fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{Failure, fail};

/// What a run measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rate {
    /// Transactions a second.
    pub(crate) per_second: f64,
    /// 99th percentile of latency, in milliseconds.
    pub(crate) p99_ms: f64,
}

/// How long, or how much.
pub(crate) enum Extent {
    /// Seconds.
    Seconds(u32),
    /// Transactions of each client.
    Each(u32),
}

/// Runs a script and reads rate and latencies from pgbench's own log.
pub(crate) fn run(
    url: &str,
    script: &str,
    clients: u32,
    extent: Extent,
    variables: &[(&str, String)],
) -> Result<Rate, Failure> {
    let dir = env::temp_dir().join(format!("quittance-bench-{}", std::process::id()));
    fs::create_dir_all(&dir)?;
    let file = dir.join("script.sql");
    fs::File::create(&file)?.write_all(script.as_bytes())?;
    let mut command = Command::new(program());
    command
        .current_dir(&dir)
        .args([
            "-n",
            "-M",
            "prepared",
            "-j",
            "2",
            "-l",
            "--log-prefix=log",
            "-c",
        ])
        .arg(clients.to_string());
    match extent {
        Extent::Seconds(seconds) => command.arg("-T").arg(seconds.to_string()),
        Extent::Each(count) => command.arg("-t").arg(count.to_string()),
    };
    for (name, value) in variables {
        command.arg("-D").arg(format!("{name}={value}"));
    }
    let output = command.arg("-f").arg(&file).arg(url).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let per_second = text
        .lines()
        .find_map(|line| line.strip_prefix("tps = ")?.split(' ').next()?.parse().ok());
    let latencies = latencies(&dir);
    fs::remove_dir_all(&dir)?;
    match (per_second, output.status.success()) {
        (Some(per_second), true) => Ok(Rate {
            per_second,
            p99_ms: percentile(latencies?, 99),
        }),
        _ => fail(format!(
            "pgbench: {text}{}",
            String::from_utf8_lossy(&output.stderr)
        )),
    }
}

fn program() -> PathBuf {
    env::var_os("PGBIN").map_or_else(
        || PathBuf::from("pgbench"),
        |bin| Path::new(&bin).join("pgbench"),
    )
}

/// Third column of each log line is the latency in microseconds.
fn latencies(dir: &Path) -> Result<Vec<f64>, Failure> {
    let mut latencies = Vec::new();
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "sql") {
            continue;
        }
        let text = fs::read_to_string(path)?;
        latencies.extend(
            text.lines()
                .filter_map(|line| line.split(' ').nth(2)?.parse::<f64>().ok())
                .map(|us| us / 1000.0),
        );
    }
    Ok(latencies)
}

/// The given percentile of latencies.
pub(crate) fn percentile(mut values: Vec<f64>, percent: usize) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = (values.len() * percent / 100).min(values.len().saturating_sub(1));
    values.get(at).copied().unwrap_or(0.0)
}
