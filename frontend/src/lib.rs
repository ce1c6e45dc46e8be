//! Hydrates the islands.

// The linker keeps the islands' exports only if something names their crate.
pub use app::islands::*;
use wasm_bindgen::prelude::wasm_bindgen;

/// Called by the page's own script once the WASM has loaded.
#[wasm_bindgen]
pub fn hydrate() {
    leptos::mount::hydrate_islands();
    app::islands::awake();
}
