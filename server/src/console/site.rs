//! The built front end: WASM, its glue, the style sheet and the few files beside them.

use std::{fs, path::Path};

use axum::{
    Router,
    http::{HeaderValue, header},
};
use leptos::config::{Env, LeptosOptions};
use tower_http::{
    services::{ServeDir, ServeFile},
    set_header::SetResponseHeaderLayer,
};

use crate::config::ServeArgs;

const PACKAGE: &str = "pkg";

/// What pages are told about the front end.
pub(super) fn leptos_options(args: &ServeArgs) -> LeptosOptions {
    LeptosOptions::builder()
        .output_name("quittance")
        .site_root(args.site_root.to_string_lossy().into_owned())
        .site_pkg_dir(PACKAGE)
        .env(Env::PROD)
        .hash_files(args.hash_files)
        .build()
}

/// The files, for everybody: they hold nothing but the program.
pub(super) fn routes(args: &ServeArgs) -> Router {
    let root = &args.site_root;
    if !root.join(PACKAGE).is_dir() {
        tracing::warn!(site = %root.display(), "the front end is not built: pages will have no style");
    }
    let package = ServeDir::new(root.join(PACKAGE))
        .precompressed_br()
        .precompressed_gzip();
    let mut files = Router::new().nest_service(&format!("/{PACKAGE}"), package);
    for name in names(root) {
        files = files.route_service(&format!("/{name}"), ServeFile::new(root.join(&name)));
    }
    // A name with a hash in it never means anything else.
    let cache = if args.hash_files {
        "public, max-age=31536000, immutable"
    } else {
        "no-cache"
    };
    files.layer(SetResponseHeaderLayer::overriding(
        header::CACHE_CONTROL,
        HeaderValue::from_static(cache),
    ))
}

/// Files at the top of the site, such as the icon; only those whose names are plain.
fn names(root: &Path) -> Vec<String> {
    let entries = fs::read_dir(root)
        .into_iter()
        .flatten()
        .filter_map(Result::ok);
    entries
        .filter(|entry| entry.path().is_file())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| {
            name.bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
        })
        .collect()
}
