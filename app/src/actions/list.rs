//! What people did, as a section of the page it was done to.

use engine::action::views::Action;
use engine::job::views::Correction;
use leptos::prelude::*;

use super::words::{action_tone, headline};
use crate::context::may_act;
use crate::ui::{Column, DataTable, RowLink, Section, StateBadge, Time, TimeStyle};
use crate::words::titled;

/// What people did with a wallet or a job, newest last.
pub(crate) fn done_by_people(actions: Vec<Action>) -> Option<AnyView> {
    if actions.is_empty() {
        return None;
    }
    let columns = vec![
        Column::text("Action"),
        Column::text("State"),
        Column::text("Who"),
        Column::text("When"),
    ];
    let rows = actions.into_iter().map(|action| {
        let who = match &action.approved_by {
            Some(checker) => format!("{}, approved by {}", action.requested_by.name, checker.name),
            None => action.requested_by.name.clone(),
        };
        let detail = view! { {action.request.reason.clone()} }.into_any();
        let at = action.requested_at;
        view! {
            <tr>
                <RowLink href=format!("/actions/{}", action.id) detail>{headline(&action.request)}</RowLink>
                <td><StateBadge tone=action_tone(action.state) label=titled(action.state.as_str())/></td>
                <td>{who}</td>
                <td class="age"><Time at style=TimeStyle::Stamp/></td>
            </tr>
        }
    });
    let rows = rows.collect_view();
    let table = view! {
        <Section title="Actions" id="actions">
            <DataTable id="actions-table" caption="What people did here" columns>{rows}</DataTable>
        </Section>
    };
    Some(table.into_any())
}

/// Whether a correction stands, and the way to take it back.
pub(crate) fn undo(correction: &Correction) -> AnyView {
    if let Some(by) = correction.undone_by {
        let href = format!("/settlements/{by}");
        return view! { <p>"This correction was taken back by "<a href=href>"another entry"</a>"."</p> }
            .into_any();
    }
    if !may_act() {
        return view! { <p class="muted">"This correction stands."</p> }.into_any();
    }
    let href = format!(
        "/jobs/{}/undo?undoes={}",
        correction.job, correction.settlement
    );
    view! {
        <p>"This correction stands. "<a href=href>"Undo it"</a>" by an entry of its own."</p>
    }
    .into_any()
}
