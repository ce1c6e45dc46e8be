//! What an event holds, and what contradicts it. Only roles from support up see content, and secrets
//! in it are masked here, on the server.

use std::collections::HashMap;

use engine::case::Stake;
use engine::case::views::Decision;
use engine::inbox::views::ConflictRow;
use leptos::prelude::*;

use super::case::{AtStake, Decided, KeepFirst};
use crate::context::may_read_payloads;
use crate::diff::{Change, Piece, differences};
use crate::mask::masked;
use crate::ui::{Column, DataTable, EmptyKind, EmptyState, Id, JsonView, Section, Time};
use crate::words::count;

/// The body of an event as it came.
#[component]
pub(super) fn Content(
    /// The body, while retention keeps it.
    body: Option<Vec<u8>>,
) -> AnyView {
    if !may_read_payloads() {
        return view! {
            <EmptyState kind=EmptyKind::NoPermission title="Your role does not show content">
                "Payloads may hold what customers wrote. An administrator can give you the role support."
            </EmptyState>
        }
        .into_any();
    }
    match body {
        Some(body) => {
            view! { <JsonView title="Payload as received" raw=masked(&text(&body)) open=true/> }
                .into_any()
        }
        None => view! {
            <p class="muted">
                "Retention has dropped the payload. Its hash stays, so a copy can still be proven."
            </p>
        }
        .into_any(),
    }
}

/// The contents that came under one key: what differs first, then both in full.
#[component]
pub(super) fn Contradictions(
    /// What came first.
    first: Option<Vec<u8>>,
    /// What came later.
    conflicts: Vec<ConflictRow>,
    /// What was decided about them.
    decisions: Vec<Decision>,
    /// The money at stake, by conflict.
    stakes: HashMap<i64, Stake>,
) -> AnyView {
    let allowed = may_read_payloads();
    let cases = conflicts.into_iter().map(|conflict| {
        let (hash, at) = (conflict.canonical_hash.to_string(), conflict.received_at);
        let other = masked(&text(&conflict.body));
        let changed = first.as_deref().filter(|_| allowed).map(|first| {
            let first = masked(&text(first));
            let changes = differences(&first, &other);
            view! {
                <Differences id=format!("changes-{}", conflict.id) changes/>
                <div class="cards">
                    <JsonView title="Came first, and stands" raw=first/>
                    <JsonView title="Came later" raw=other/>
                </div>
            }
        });
        let decided = decisions
            .iter()
            .find(|one| one.conflict == Some(conflict.id));
        let stake = stakes.get(&conflict.id).copied();
        let decision = match decided.cloned() {
            Some(decision) => view! { <Decided decision/> }.into_any(),
            None => view! {
                {stake.map(|stake| view! { <AtStake event=conflict.event conflict=conflict.id stake/> })}
                <KeepFirst event=conflict.event conflict=conflict.id/>
            }
            .into_any(),
        };
        view! {
            <div class="stack" data-gap="small" id=format!("conflict-{}", conflict.id)>
                <p>
                    "Came "<Time at/>" with canonical hash "<Id value=hash what="canonical hash"/>
                    ". Nothing was changed by it."
                </p>
                {changed}
                {decision}
            </div>
        }
    });
    let cases = cases.collect_view();
    view! { <Section title="Same key, other content" id="conflicts">{cases}</Section> }.into_any()
}

#[component]
fn Differences(id: String, changes: Vec<Change>) -> AnyView {
    if changes.is_empty() {
        return view! { <p class="muted">"Both hold the same values; only their form differs."</p> }.into_any();
    }
    let columns = vec![
        Column::text("Field"),
        Column::text("First"),
        Column::text("Later"),
    ];
    let value = |value: Option<String>| match value {
        Some(value) => view! { <code>{value}</code> }.into_any(),
        None => view! { <span class="muted">"not there"</span> }.into_any(),
    };
    let rows = changes.into_iter().map(|change| {
        let note = change.inside.as_ref().map(|inside| {
            let places = i64::try_from(inside.places).unwrap_or(i64::MAX);
            let note = count(
                places,
                "place in the text differs",
                "places in the text differ",
            );
            view! { <span class="detail">{note}</span> }
        });
        let (before, after) = match change.inside {
            Some(inside) => (
                view! { <Inside pieces=inside.before removed=true/> }.into_any(),
                view! { <Inside pieces=inside.after removed=false/> }.into_any(),
            ),
            None => (value(change.before), value(change.after)),
        };
        view! {
            <tr data-tone="attention">
                <th scope="row"><code>{change.path}</code>{note}</th>
                <td>{before}</td>
                <td>{after}</td>
            </tr>
        }
    });
    let rows = rows.collect_view();
    view! {
        <DataTable id caption="Fields that differ, by path" columns plain=true>{rows}</DataTable>
    }
    .into_any()
}

/// A long text with what the other one does not have struck out or underlined, and said.
#[component]
fn Inside(pieces: Vec<Piece>, removed: bool) -> AnyView {
    let pieces = pieces.into_iter().map(|piece| match (piece, removed) {
        (Piece::Same(text), _) => text.into_any(),
        (Piece::Changed(text), true) => {
            view! { <del><span class="unseen">"only first: "</span>{text}</del> }.into_any()
        }
        (Piece::Changed(text), false) => {
            view! { <ins><span class="unseen">"only later: "</span>{text}</ins> }.into_any()
        }
        (Piece::Left(characters), _) => {
            let note = format!(" … {characters} characters … ");
            view! { <span class="muted">{note}</span> }.into_any()
        }
    });
    view! { <code class="inside">{pieces.collect_view()}</code> }.into_any()
}

fn text(body: &[u8]) -> String {
    String::from_utf8_lossy(body).into_owned()
}
