//! Icons, by reference into the one sprite (`style/assets/icons.svg`).

use leptos::prelude::*;

/// Declares the icons once: the variant and its symbol in the sprite.
macro_rules! glyphs {
    ($($variant:ident = $symbol:literal),+ $(,)?) => {
        /// One drawing of the sprite.
        #[expect(missing_docs, reason = "a variant is the name of its drawing")]
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Glyph { $($variant),+ }

        impl Glyph {
            /// Its address in the sprite.
            pub const fn href(self) -> &'static str {
                match self { $(Self::$variant => concat!("/icons.svg#", $symbol)),+ }
            }

            #[cfg(test)]
            const ALL: &[Self] = &[$(Self::$variant),+];
        }
    };
}

glyphs! {
    Overview = "overview", Jobs = "jobs", Events = "events", Deliveries = "deliveries",
    Settlements = "settlements", Wallets = "wallets", Quarantine = "quarantine",
    Exceptions = "exceptions", Approvals = "approvals", Sources = "sources", Prices = "prices",
    Audit = "audit", Settings = "settings",
    Search = "search", Menu = "menu", Copy = "copy", Check = "check", Cross = "cross",
    Plus = "plus", Arrow = "arrow", Older = "older", Newer = "newer", Filter = "filter",
    Pause = "pause", Play = "play", Clock = "clock", Key = "key", Keyboard = "keyboard",
    Light = "light", Dark = "dark", System = "system", SignOut = "sign-out", Lock = "lock",
    Info = "info",
    StateNeutral = "state-neutral", StateMoving = "state-moving", StateGood = "state-good",
    StateAttention = "state-attention", StateStop = "state-stop", Mark = "mark",
}

/// An icon beside a word. It is hidden from assistive technology: the word carries the meaning.
#[component]
pub fn Icon(
    /// Which drawing.
    glyph: Glyph,
    /// Drawn at 16 px instead of 20.
    #[prop(optional)]
    small: bool,
) -> AnyView {
    view! {
        <svg class="icon" data-size=small.then_some("small") aria-hidden="true">
            <use href=glyph.href()></use>
        </svg>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_glyph_is_drawn_in_the_sprite() {
        let sprite = include_str!("../../../style/assets/icons.svg");
        for glyph in Glyph::ALL {
            let symbol = glyph.href().trim_start_matches("/icons.svg#");
            assert!(
                sprite.contains(&format!(r#"<symbol id="{symbol}""#)),
                "{symbol} is missing"
            );
        }
        assert_eq!(
            sprite.matches("<symbol ").count(),
            Glyph::ALL.len(),
            "an unused drawing"
        );
    }
}
