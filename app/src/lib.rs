//! The console.
//!
//! Pages are server components: they read the engine, render whole HTML and exist only with the
//! feature `ssr`. What runs in the browser is the [`islands`], and nothing else: every page and
//! every action works while they are blocked.

#![recursion_limit = "256"]

// One `cfg` a module keeps everything but the islands out of the browser.
#[cfg(feature = "ssr")]
mod actions;
#[cfg(feature = "ssr")]
mod audit;
#[cfg(feature = "ssr")]
mod context;
#[cfg(feature = "ssr")]
mod deliveries;
#[cfg(feature = "ssr")]
mod diff;
#[cfg(feature = "ssr")]
mod events;
#[cfg(feature = "ssr")]
mod exceptions;
#[cfg(feature = "ssr")]
mod freezes;
#[cfg(feature = "ssr")]
mod glossary;
pub mod islands;
#[cfg(feature = "ssr")]
mod job;
#[cfg(feature = "ssr")]
mod jobs;
#[cfg(feature = "ssr")]
mod list;
#[cfg(feature = "ssr")]
mod mask;
#[cfg(feature = "ssr")]
mod overview;
#[cfg(feature = "ssr")]
mod prices;
#[cfg(feature = "ssr")]
mod routes;
#[cfg(feature = "ssr")]
pub mod shell;
#[cfg(feature = "ssr")]
pub mod ui;

#[cfg(feature = "ssr")]
mod seals;
#[cfg(feature = "ssr")]
mod settlements;
#[cfg(feature = "ssr")]
pub mod sign_in;
#[cfg(feature = "ssr")]
mod sources;
#[cfg(feature = "ssr")]
mod statements;
#[cfg(feature = "ssr")]
mod tasks;
#[cfg(feature = "ssr")]
mod wallets;
#[cfg(feature = "ssr")]
mod words;

#[cfg(feature = "ssr")]
pub use routes::App;
#[cfg(feature = "ssr")]
pub use shell::{FrameData, shell};
