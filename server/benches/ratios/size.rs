//! G18: what a browser loads first, against a bare Leptos page.

use std::path::Path;

use crate::{
    Failure, fail,
    report::{Line, Target},
};

/// A bare Leptos 0.8 page with a keyed table and a filter: WASM and glue, brotli, in kilobytes.
const PROBE_KB: f64 = 47.0;

pub(crate) fn measure(site: &Path) -> Result<Vec<Line>, Failure> {
    let mut bytes = 0;
    for name in ["quittance_bg.wasm.br", "quittance.js.br"] {
        let path = site.join("pkg").join(name);
        match std::fs::metadata(&path) {
            Ok(found) => bytes += found.len(),
            Err(error) => {
                return fail(format!(
                    "{}: {error}; build the front end first",
                    path.display()
                ));
            }
        }
    }
    Ok(vec![Line {
        goal: "G18",
        what: "first load, WASM and glue, brotli kB / bare Leptos".to_owned(),
        ours: bytes as f64 / 1000.0,
        reference: PROBE_KB,
        target: Target::AtMost(3.0),
    }])
}
