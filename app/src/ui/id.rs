//! Ids: short to look at, whole to find, select and copy, the same everywhere.

use leptos::prelude::*;

use super::{Glyph, Icon};

/// Characters kept at either end; an id that is not much longer is shown whole.
const HEAD: usize = 6;
const TAIL: usize = 4;

/// An id with its middle squeezed from sight, and a copy button.
///
/// The whole value is in the text, so browser search and selection work without scripts; the
/// button appears once the page's scripts are awake.
#[component]
pub fn Id(
    /// The whole id.
    #[prop(into)]
    value: String,
    /// Where it leads, if it leads anywhere.
    #[prop(optional, into)]
    href: Option<String>,
    /// What it is, for the button's name: "job id".
    #[prop(optional, into)]
    what: Option<String>,
    /// Shown whole.
    #[prop(optional)]
    full: bool,
    /// Without the copy button, for rows that are links themselves.
    #[prop(optional)]
    bare: bool,
) -> AnyView {
    let (head, middle, tail) = cut(&value);
    // An empty one would still be drawn as an ellipsis.
    let middle =
        (!middle.is_empty()).then(|| view! { <span class="middle">{middle.to_owned()}</span> });
    let text = view! { {head.to_owned()}{middle}{tail.to_owned()} };
    let text = match href {
        Some(href) => view! { <a href=href>{text}</a> }.into_any(),
        None => text.into_any(),
    };
    let button = (!bare).then(|| {
        let name = format!("Copy {}", what.as_deref().unwrap_or("id"));
        view! { <CopyButton value=value.clone() name/> }
    });
    view! { <span class="id" data-full=full.then_some("")>{text}{button}</span> }.into_any()
}

/// A button that copies. It is plain markup: one listener on the page serves all of them.
#[component]
pub(super) fn CopyButton(value: String, name: String) -> AnyView {
    view! {
        <button type="button" class="copy" data-copy=value aria-label=name.clone() title=name>
            <Icon glyph=Glyph::Copy small=true/>
            <Icon glyph=Glyph::Check small=true/>
        </button>
    }
    .into_any()
}

/// Head, middle and tail. The prefix before `_` says what the id is of, so it stays whole.
fn cut(value: &str) -> (&str, &str, &str) {
    let prefix = value.find('_').map_or(0, |at| at + 1);
    let start = prefix + HEAD;
    if !value.is_ascii() || value.len() < start + TAIL + 3 {
        return (value, "", "");
    }
    let end = value.len() - TAIL;
    (&value[..start], &value[start..end], &value[end..])
}

#[cfg(test)]
mod tests {
    use super::cut;

    #[test]
    fn short_ids_stay_whole_and_long_ones_keep_both_ends() {
        assert_eq!(cut("job_0193a5"), ("job_0193a5", "", ""));
        assert_eq!(
            cut("job_019ad0c2a7f17e539d2b6c1f00aa7q2m"),
            ("job_019ad0", "c2a7f17e539d2b6c1f00aa", "7q2m")
        );
        assert_eq!(cut("ünïcodé-identifier-long-enough").1, "");
    }
}
