//! States: a shape, a word, and a colour that only repeats them.

use leptos::prelude::*;

use super::{Glyph, Icon};

/// What a state means to the person looking.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Tone {
    /// Nothing to say: waiting, ignored, historical.
    #[default]
    Neutral,
    /// Under way: it will change by itself.
    Moving,
    /// Settled as intended.
    Good,
    /// A person should look.
    Attention,
    /// Money is wrong or refused, or something was stopped.
    Stop,
}

impl Tone {
    /// The value of `data-tone`, which style sheets select on.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Neutral => "neutral",
            Self::Moving => "moving",
            Self::Good => "good",
            Self::Attention => "attention",
            Self::Stop => "stop",
        }
    }

    /// The shape that stands for it.
    pub const fn glyph(self) -> Glyph {
        match self {
            Self::Neutral => Glyph::StateNeutral,
            Self::Moving => Glyph::StateMoving,
            Self::Good => Glyph::StateGood,
            Self::Attention => Glyph::StateAttention,
            Self::Stop => Glyph::StateStop,
        }
    }
}

/// A state, as a shape and its word.
#[component]
pub fn StateBadge(
    /// What it means.
    tone: Tone,
    /// The word, as the books use it.
    #[prop(into)]
    label: String,
    /// On a tinted ground, for the head of a page.
    #[prop(optional)]
    solid: bool,
) -> AnyView {
    view! {
        <span class="badge" data-tone=tone.as_str() data-solid=solid.then_some("")>
            <Icon glyph=tone.glyph()/>
            {label}
        </span>
    }
    .into_any()
}
