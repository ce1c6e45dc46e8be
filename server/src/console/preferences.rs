//! How an operator likes the console: cookies that the server reads before it draws.

use axum::{
    Form,
    extract::State,
    http::{HeaderMap, HeaderValue, header},
    response::Response,
};
use serde::Deserialize;
use tower_sessions::Session;

use super::{Console, frame, return_path};

pub(super) const THEME: &str = "theme";
pub(super) const SHORTCUTS: &str = "shortcuts";
const YEAR_SECONDS: u32 = 31_536_000;

#[derive(Deserialize)]
pub(super) struct ThemeForm {
    theme: String,
    #[serde(default)]
    back: String,
}

/// Light, dark, or as the system has it.
pub(super) async fn theme(State(console): State<Console>, Form(form): Form<ThemeForm>) -> Response {
    let theme = app::shell::Theme::parse(&form.theme);
    keep(&console, THEME, theme.as_str(), &form.back)
}

#[derive(Deserialize)]
pub(super) struct ShortcutsForm {
    shortcuts: String,
    #[serde(default)]
    back: String,
}

/// Single-key shortcuts on or off.
pub(super) async fn shortcuts(
    State(console): State<Console>,
    session: Session,
    Form(form): Form<ShortcutsForm>,
) -> Response {
    let (value, text) = match form.shortcuts.as_str() {
        "off" => ("off", "Single-key shortcuts are off."),
        _ => ("on", "Single-key shortcuts are on."),
    };
    frame::tell(&session, true, text, None).await;
    keep(&console, SHORTCUTS, value, &form.back)
}

fn keep(console: &Console, name: &str, value: &'static str, back: &str) -> Response {
    let secure = if console.https { "; Secure" } else { "" };
    let cookie =
        format!("{name}={value}; Path=/; Max-Age={YEAR_SECONDS}; SameSite=Lax; HttpOnly{secure}");
    let mut response = return_path::see_other(return_path::safe(back));
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}

/// The value of a cookie.
pub(super) fn cookie<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find_map(|(known, value)| (known == name).then_some(value))
}
