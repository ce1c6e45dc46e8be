//! What the frame of a page needs to know about the request.

use chrono::{DateTime, Utc};
use domain::id::OperatorId;
use leptos::prelude::*;

use super::Kept;
use crate::ui::{Glyph, Tone, Zone};

/// Everything the frame draws that is not the page itself.
///
/// The server fills one for every request and provides it as context: an axum middleware loads
/// the session and the counts and puts the value into the request's extensions, and the context
/// function of `leptos_routes_with_context` takes it out of `Parts` and provides it. Pages read
/// it with [`FrameData::current`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FrameData {
    /// Who is signed in; `None` draws the frame without rail and menu.
    pub operator: Option<Operator>,
    /// Live or test: the band and the word.
    pub mode: Mode,
    /// The zone times are shown in.
    pub zone: Zone,
    /// The theme from the cookie, drawn before first paint.
    pub theme: Theme,
    /// Single-key shortcuts are on (WCAG 2.1.4 wants a switch).
    pub shortcuts: bool,
    /// Queues where someone waits for a person, in the rail.
    pub desks: Vec<Desk>,
    /// Path and query of this page, for the current mark in the rail and for forms that return.
    pub location: String,
    /// What just happened, shown once.
    pub flash: Option<Flash>,
    /// What was typed into a form of this page before the session had ended, shown once.
    pub kept: Option<Kept>,
    /// The saved views of this list.
    pub saved: Offered,
    /// Identifies this request in the logs; shown on error pages.
    pub request_id: Option<String>,
    /// When the page was made; ages are measured from here.
    pub now: DateTime<Utc>,
}

impl Default for FrameData {
    fn default() -> Self {
        Self {
            operator: None,
            mode: Mode::Test,
            zone: Zone::default(),
            theme: Theme::System,
            shortcuts: true,
            desks: Vec::new(),
            location: "/".into(),
            flash: None,
            kept: None,
            saved: Offered::default(),
            request_id: None,
            now: DateTime::UNIX_EPOCH,
        }
    }
}

impl FrameData {
    /// The request's frame. Without one (while routes are listed at start) it is empty.
    pub fn current() -> Self {
        use_context().unwrap_or_default()
    }

    /// The path of this page, without its query.
    pub fn path(&self) -> &str {
        self.location
            .split_once('?')
            .map_or(&self.location, |(path, _)| path)
    }
}

/// Who is signed in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Operator {
    /// Their id.
    pub id: OperatorId,
    /// Their sign-in name, by which the audit log knows them.
    pub email: String,
    /// Their name, as others read it.
    pub name: String,
    /// Their role: viewer, support, finance, admin.
    pub role: String,
}

impl Operator {
    /// One or two letters that stand for them.
    pub fn initials(&self) -> String {
        let words = self
            .name
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty());
        words
            .filter_map(|word| word.chars().next())
            .take(2)
            .flat_map(char::to_uppercase)
            .collect()
    }
}

/// Whether the page is about real money.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Real money.
    Live,
    /// Pretend money.
    Test,
}

impl Mode {
    /// The word, as shown.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Live => "LIVE",
            Self::Test => "TEST",
        }
    }

    pub(super) const fn attribute(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Test => "test",
        }
    }
}

/// Light or dark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Theme {
    /// As the system has it.
    System,
    /// Light.
    Light,
    /// Dark.
    Dark,
}

impl Theme {
    /// Reads the cookie's or the form's value; anything unknown follows the system.
    pub fn parse(value: &str) -> Self {
        match value {
            "light" => Self::Light,
            "dark" => Self::Dark,
            _ => Self::System,
        }
    }

    /// The form's and the cookie's value.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }

    /// The one after it; the switch goes round.
    pub const fn next(self) -> Self {
        match self {
            Self::System => Self::Light,
            Self::Light => Self::Dark,
            Self::Dark => Self::System,
        }
    }

    pub(super) const fn attribute(self) -> Option<&'static str> {
        match self {
            Self::System => None,
            Self::Light | Self::Dark => Some(self.as_str()),
        }
    }

    pub(super) const fn color_scheme(self) -> &'static str {
        match self {
            Self::System => "light dark",
            Self::Light | Self::Dark => self.as_str(),
        }
    }
}

/// A queue in the rail.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Desk {
    /// Its name.
    pub label: String,
    /// Where it is.
    pub href: String,
    /// Its drawing.
    pub glyph: Glyph,
    /// How many wait; none is not shown.
    pub count: u64,
}

/// The saved views of a list, and why the one that was asked for was not saved.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Offered {
    /// Views, the operator's own first.
    pub rows: Vec<SavedView>,
    /// The name that was typed, and what is wrong with it.
    pub wrong: Option<(String, String)>,
}

/// Filters of a list under a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SavedView {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Where it is looked at.
    pub href: String,
    /// Whether everybody sees it.
    pub shared: bool,
    /// Who saved it, if it was somebody else.
    pub by: Option<String>,
}

/// What just happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flash {
    /// What it means.
    pub tone: Tone,
    /// Said in a line.
    pub text: String,
    /// What to do next, if anything.
    pub detail: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn initials_come_from_the_first_two_words() {
        let of = |name: &str| {
            Operator {
                id: OperatorId(uuid::Uuid::nil()),
                email: String::new(),
                name: name.into(),
                role: String::new(),
            }
            .initials()
        };
        assert_eq!(of("Anna Keller"), "AK");
        assert_eq!(of("maria@example.org"), "ME");
        assert_eq!(of(""), "");
    }

    #[test]
    fn the_theme_goes_round_and_survives_its_cookie() {
        for theme in [Theme::System, Theme::Light, Theme::Dark] {
            assert_eq!(theme.next().next().next(), theme);
            assert_eq!(Theme::parse(theme.as_str()), theme);
        }
        assert_eq!(Theme::parse("\"><script>"), Theme::System);
    }
}
