//! What runs in the browser.
//!
//! There are two islands. One a page serves copy buttons, the theme switch, the keyboard and the
//! jump palette by listening on the document, so that rows and buttons stay plain markup; one a
//! list listens for news. Neither takes props, which keeps JSON out of the WASM: what they need
//! to know stands in `data-` attributes that the server wrote. Nothing here formats money or time.

#[cfg(feature = "hydrate")]
mod copy;
#[cfg(feature = "hydrate")]
mod dom;
#[cfg(feature = "hydrate")]
mod keys;
#[cfg(feature = "hydrate")]
mod suggest;
#[cfg(feature = "hydrate")]
mod theme;

mod live;
mod palette;

pub use live::LiveIsland;
pub use palette::ConsoleIsland;

/// Marks the page as awake, which brings up what would be dead without scripts.
#[cfg(feature = "hydrate")]
pub fn awake() {
    dom::set(&dom::root(), "data-awake", "");
}
