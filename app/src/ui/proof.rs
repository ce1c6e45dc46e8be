//! The proof: every step that led to a sum, in order, with the money each one moved and the
//! evidence for it.

use chrono::{DateTime, Utc};
use leptos::prelude::*;

use super::{Amount, AmountText, Icon, Time, TimeStyle, Tone};

/// One transfer of a step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Move {
    /// The entry type: `reserve`, `capture`, `remainder`.
    pub entry: String,
    /// The account debited.
    pub from: String,
    /// The account credited.
    pub to: String,
    /// The sum.
    pub amount: AmountText,
}

/// What a step did to one balance.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BalanceShift {
    /// The account.
    pub account: String,
    /// Its balance before.
    pub before: AmountText,
    /// Its balance after.
    pub after: AmountText,
}

/// The proof. Takes [`Step`]s, oldest first.
#[component]
pub fn ProofTimeline(
    /// What it proves, for assistive technology.
    #[prop(into)]
    label: String,
    /// The steps.
    children: Children,
) -> AnyView {
    view! { <ol class="proof" aria-label=label>{children()}</ol> }.into_any()
}

/// One step of a proof.
#[component]
pub fn Step(
    /// Its anchor, so that it can be linked: `capture-1`.
    #[prop(into)]
    id: String,
    /// When it happened; without one the step carries no time (a closing balance).
    #[prop(optional_no_strip)]
    at: Option<DateTime<Utc>>,
    /// How long after the step before: "+5.2 s".
    #[prop(optional_no_strip, into)]
    gap: Option<String>,
    /// What it means.
    #[prop(optional)]
    tone: Tone,
    /// What happened: "accepted", "capture/1".
    #[prop(into)]
    title: String,
    /// The rest of the line, muted.
    #[prop(optional_no_strip, into)]
    note: Option<String>,
    /// The sum of a step that moves nothing: a quote, a rated price.
    #[prop(optional_no_strip)]
    amount: Option<AmountText>,
    /// The money it moved.
    #[prop(optional)]
    moves: Vec<Move>,
    /// The balances it changed.
    #[prop(optional)]
    shifts: Vec<BalanceShift>,
    /// Decimals reserved in the column of sums, the same for all steps of a proof.
    #[prop(default = 4)]
    places: u8,
    /// The evidence: ids and links.
    #[prop(optional)]
    children: Option<Children>,
) -> AnyView {
    let movements = (!moves.is_empty() || !shifts.is_empty()).then(|| {
        let label = format!("Money moved by {title}");
        view! { <Movements label moves shifts places/> }
    });
    view! {
        <li id=id data-tone=tone.as_str()>
            <div class="when">
                {at.map(|at| view! { <Time at style=TimeStyle::Clock/> })}
                {gap.map(|gap| view! { <span class="gap">{gap}</span> })}
            </div>
            <div class="mark"><Icon glyph=tone.glyph()/></div>
            <div class="body">
                <div class="head">
                    <h3>{title}</h3>
                    {note.map(|note| view! { <span class="note">{note}</span> })}
                    {amount.map(|value| view! { <Amount value places/> })}
                </div>
                {children.map(|children| view! { <div class="evidence">{children()}</div> })}
                {movements}
            </div>
        </li>
    }
    .into_any()
}

#[component]
fn Movements(label: String, moves: Vec<Move>, shifts: Vec<BalanceShift>, places: u8) -> AnyView {
    let moves = moves.into_iter().map(|m| {
        view! {
            <tr>
                <th scope="row" class="entry">{m.entry}</th>
                <td>{m.from}<Becomes/>{m.to}</td>
                <td class="num"><Amount value=m.amount places/></td>
            </tr>
        }
    });
    let shifts = shifts.into_iter().map(|s| {
        view! {
            <tr>
                <th scope="row" class="entry">"balance"</th>
                <td>{s.account}</td>
                <td class="num">
                    <span class="before muted">{s.before.figure()}<Becomes/></span>
                    <Amount value=s.after places/>
                </td>
            </tr>
        }
    });
    view! {
        <table class="moves" aria-label=label>
            <tbody>{moves.collect_view()}{shifts.collect_view()}</tbody>
        </table>
    }
    .into_any()
}

/// An arrow that is read as a word.
#[component]
fn Becomes() -> AnyView {
    view! { " "
    <span class="arrow" aria-hidden="true">"→"</span><span class="unseen">" to "</span>
    " " }
    .into_any()
}
