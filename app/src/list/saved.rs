//! The saved views above a list: where they lead, and the form that saves what is shown or drops one.

use leptos::prelude::*;

use super::Query;
use crate::shell::{FrameData, Kept, SavedView};
use crate::ui::{
    Button, ButtonKind, Choice, Field, FieldError, Form, SelectField, ViewLink, ViewLinks,
};

/// Where the form is sent.
const SAVE: &str = "/views";

/// Saved views of a list. What is not filtered cannot be saved.
#[component]
pub(crate) fn SavedViews(
    /// The list.
    query: Query,
) -> AnyView {
    let rows = FrameData::current().saved.rows;
    let here = query.first();
    let links: Vec<_> = rows
        .iter()
        .map(|row| ViewLink {
            label: match &row.by {
                Some(by) => format!("{} · {by}", row.name),
                None => row.name.clone(),
            },
            href: row.href.clone(),
            current: row.href == here,
        })
        .collect();
    let links = (!links.is_empty()).then(|| view! { <ViewLinks label="Saved views" links/> });
    let mine: Vec<_> = rows.into_iter().filter(|row| row.by.is_none()).collect();
    view! { {links}<Manage query mine/> }.into_any()
}

#[component]
fn Manage(query: Query, mine: Vec<SavedView>) -> AnyView {
    let can_save = query.is_filtered();
    let summary = match (can_save, mine.is_empty()) {
        (true, true) => "Save this view",
        (true, false) => "Save this view, or delete one",
        (false, false) => "Delete a saved view",
        (false, true) => return ().into_any(),
    };
    let wrong = FrameData::current().saved.wrong;
    let kept = Kept::of(SAVE);
    let open = wrong.is_some() || kept != Kept::default();
    let (value, error) = match wrong {
        Some((name, message)) => (name, Some(message)),
        None => (kept.text("view_name"), None),
    };
    let errors = error.iter().map(|message| FieldError {
        field: "view_name".into(),
        message: message.clone(),
    });
    let errors = errors.collect();
    let choices = vec![
        Choice::new("false", "only me"),
        Choice::new("true", "everybody"),
    ];
    let list = query.path().trim_start_matches('/').to_owned();
    let (filters, back) = (query.filters(), query.first());
    let saving = can_save.then(|| {
        view! {
            <Form action=SAVE refusal="Not saved" errors>
                <input type="hidden" name="list" value=list/>
                <input type="hidden" name="filters" value=filters/>
                <Field
                    name="view_name"
                    label="Name of this view"
                    value
                    autocomplete="off"
                    required=true
                    maxlength=60
                    error
                />
                <SelectField name="shared" label="Who sees it" choices selected=kept.text("shared")/>
                <Button kind=ButtonKind::Primary>"Save the view"</Button>
            </Form>
        }
    });
    let dropping = mine.into_iter().map(|row| {
        let action = format!("{SAVE}/{}/delete", row.id);
        let shared = if row.shared {
            ", which everybody sees"
        } else {
            ""
        };
        view! {
            <form method="post" action=action>
                <input type="hidden" name="back" value=back.clone()/>
                <Button small=true>{format!("Delete \u{201c}{}\u{201d}{shared}", row.name)}</Button>
            </form>
        }
    });
    let dropping = dropping.collect_view();
    view! {
        <details class="saved" open=open>
            <summary>{summary}</summary>
            <div class="stack" data-gap="small">{saving}{dropping}</div>
        </details>
    }
    .into_any()
}
