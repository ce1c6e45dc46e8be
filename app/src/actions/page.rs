//! `/actions/{id}`: what an action would do, or did; who decides; how it went.

use domain::action::{Kind, State, Target};
use domain::id::{ActionId, OperatorId};
use domain::money::Amount;
use domain::settlement::AccountKind;
use engine::action::{self, DryRun, views::Action};
use engine::job::views::{Correction, correction};
use leptos::prelude::*;
use leptos_router::hooks::use_params_map;

use super::decide::decide;
use super::list::undo;
use super::words::{action_tone, category_words, freeze_note, headline, state_words, step_title};
use crate::context::{PageError, page};
use crate::freezes::held_back;
use crate::shell::{Crumb, Frame, FrameData};
use crate::ui::{
    AmountText, BalanceShift, Fact, Id, KeyValue, Move, NextStep, ObjectHead, Pair, ProofTimeline,
    Related, RelatedLink, Section, Sentence, Step, Time, TimeStyle,
};
use crate::words::money;

/// `/actions/{id}`
#[component]
pub fn ActionPage() -> AnyView {
    let id = use_params_map()
        .read_untracked()
        .get("id")
        .and_then(|id| id.parse::<ActionId>().ok());
    page(|engine| async move {
        let id = id.ok_or(PageError::NotFound)?;
        let mut books = engine.snapshot().await?;
        let action = action::views::find(&mut books, id)
            .await?
            .ok_or(PageError::NotFound)?;
        let run = match action.state.is_final() {
            true => None,
            false => Some(
                action::dry_run(&mut books, &action, engine.clock().now())
                    .await
                    .map_err(PageError::from)?,
            ),
        };
        let correction = match action.settlement {
            Some(settlement) => correction(&mut books, (action.tenant, settlement)).await?,
            None => None,
        };
        Ok(view! { <Whole action run correction/> }.into_any())
    })
}

#[component]
fn Whole(action: Action, run: Option<DryRun>, correction: Option<Correction>) -> AnyView {
    let crumbs = vec![
        Crumb::link("Approvals", "/approvals"),
        Crumb::here(action.id.to_string()),
    ];
    let title = format!("{} · {}", headline(&action.request), action.name);
    let head = head(&action);
    let told = told(&action);
    let side = side(&action);
    let undo = correction.map(|correction| undo(&correction));
    let preview = run.as_ref().map(|run| preview(&action, run));
    let decide = run.map(|run| decide(&action, &run));
    view! {
        <Frame title crumbs>
            {head}
            <div class="split">
                <div class="stack">
                    <Sentence>{told}</Sentence>
                    {preview}
                    {decide}
                    {undo}
                </div>
                {side}
            </div>
        </Frame>
    }
    .into_any()
}

fn head(action: &Action) -> AnyView {
    let headline = view! { {headline(&action.request)} }.into_any();
    let test = (action.livemode == Some(false)).then_some(" · test money");
    let aside = view! { {place(action)}{test} }.into_any();
    let (at, until) = (action.requested_at, action.expires_at);
    let next = match action.state {
        State::Draft => view! { "Its maker commits it, or it is void "<Time at=until style=TimeStyle::Stamp/> }.into_any(),
        State::Waiting => view! { "Someone other than its maker decides, or it is void "<Time at=until style=TimeStyle::Stamp/> }.into_any(),
        _ => view! { "Nothing is due" }.into_any(),
    };
    view! {
        <ObjectHead headline aside tone=action_tone(action.state) state=state_words(action.state)>
            <Fact>"proposed "<Time at/></Fact>
            <NextStep>{next}</NextStep>
        </ObjectHead>
    }
    .into_any()
}

/// What it is about, with whose it is.
pub(super) fn place(action: &Action) -> String {
    match (action.request.target, &action.tenant_name) {
        (Target::Wallet(_), Some(tenant)) => format!("{} · {tenant}", action.name),
        (Target::Wallet(_), None) => action.name.clone(),
        (Target::Tenant(_), _) => format!("tenant {}", action.name),
        (Target::Source(_), _) => format!("source {}", action.name),
    }
}

fn told(action: &Action) -> String {
    let maker = &action.requested_by.name;
    let because = category_words(action.request.category);
    let mut text = format!(
        "{maker} asked for it because of {because}: {}",
        quoted(&action.request.reason)
    );
    let decider = action.decided_by.as_ref().map(|one| one.name.as_str());
    let end = match (action.state, &action.approved_by) {
        (State::Done, Some(checker)) => format!(" {} approved.", checker.name),
        (State::Done, None) => " No second person was needed.".to_owned(),
        (State::Refused, _) => format!(
            " {} refused: {}",
            decider.unwrap_or("Someone"),
            quoted(action.decision_reason.as_deref().unwrap_or_default())
        ),
        (State::Withdrawn, _) => " They took it back.".to_owned(),
        (State::Expired, _) => " Nobody decided in time, so nothing was done.".to_owned(),
        (State::Draft | State::Waiting, _) => String::new(),
    };
    text.push_str(&end);
    text
}

/// Someone's words, ended as a sentence.
fn quoted(words: &str) -> String {
    format!("“{}”.", words.trim_end_matches('.'))
}

/// What it would do, drawn as the ledger will show it.
fn preview(action: &Action, run: &DryRun) -> AnyView {
    let moves = run.entries.iter().map(|entry| {
        let (from, to) = entry.entry_type.accounts();
        Move {
            entry: entry.entry_type.as_str().replace('_', " "),
            from: from.to_string(),
            to: to.to_string(),
            amount: money(entry.amount),
        }
    });
    let moves: Vec<_> = moves.collect();
    let shifts = shifts(run);
    let places = shifts
        .iter()
        .map(|shift| places(&shift.after))
        .chain(moves.iter().map(|x| places(&x.amount)))
        .max()
        .unwrap_or(2);
    let kind = action.request.kind;
    let note = match (kind, run.frozen_at) {
        (Kind::Freeze | Kind::Unfreeze, _) => freeze_note(kind, action.request.target),
        (_, Some(_)) => "the wallet is frozen: what is given is there and cannot be spent yet",
        (_, None) if moves.is_empty() => "no transfer",
        (_, None) => "as the ledger would show it",
    };
    view! {
        <Section title="What it would do" id="dry-run">
            <ProofTimeline label="What it would do">
                <Step id="effect" title=step_title(kind) note=Some(note.to_owned()) moves shifts places/>
            </ProofTimeline>
        </Section>
        {run.funds.is_none().then(|| held_back(&run.held_back))}
    }
    .into_any()
}

/// Balances before and after: the wallet's accounts that move, and what the job is charged.
fn shifts(run: &DryRun) -> Vec<BalanceShift> {
    let wallet = run.funds.map(|funds| {
        [
            (AccountKind::Available, funds.available),
            (AccountKind::Held, funds.held),
        ]
    });
    let mut shifts: Vec<_> = wallet
        .into_iter()
        .flatten()
        .filter_map(|(account, before)| {
            let after = balance_after(run, account, before)?;
            (after != before).then(|| BalanceShift {
                account: account.to_string(),
                before: money(before),
                after: money(after),
            })
        })
        .collect();
    if let Some((before, after)) = run.charge.filter(|(before, after)| before != after) {
        shifts.push(BalanceShift {
            account: "charged for the job".to_owned(),
            before: money(before),
            after: money(after),
        });
    }
    shifts
}

/// A balance once the entries are posted.
fn balance_after(run: &DryRun, account: AccountKind, before: Amount) -> Option<Amount> {
    run.entries.iter().try_fold(before, |balance, entry| {
        let (debit, credit) = entry.entry_type.accounts();
        let balance = if debit == account {
            balance.minus(entry.amount).ok()?
        } else {
            balance
        };
        if credit == account {
            balance.plus(entry.amount).ok()
        } else {
            Some(balance)
        }
    })
}

/// Decimals of a figure.
fn places(amount: &AmountText) -> u8 {
    let figure = amount.figure();
    let decimals = figure
        .split_once('.')
        .map_or(0, |(_, decimals)| decimals.len());
    u8::try_from(decimals).unwrap_or(8)
}

fn side(action: &Action) -> AnyView {
    let id = action.id.to_string();
    let (about, what) = match action.request.target {
        Target::Wallet(wallet) => (format!("/wallets/{wallet}"), "The wallet"),
        Target::Tenant(tenant) => (
            format!("/wallets?tenant={tenant}"),
            "The wallets of the tenant",
        ),
        Target::Source(_) => (
            format!("/sources#{}", action.slug.as_deref().unwrap_or_default()),
            "The source",
        ),
    };
    let job = action.request.job.map(|job| format!("/jobs/{job}"));
    let undoes = action
        .request
        .undoes
        .map(|settlement| format!("/settlements/{settlement}"));
    let audit = format!("/audit?object={id}");
    let settlement = action
        .settlement
        .map(|settlement| format!("/settlements/{settlement}"));
    let expiry = action.request.lot_expires_at;
    let maker = person(&action.requested_by.name, action.requested_by.id);
    let checker = action
        .approved_by
        .as_ref()
        .map(|one| person(&one.name, one.id));
    let ended = action.decided_at;
    view! {
        <aside class="side" aria-label="About this action">
            <section>
                <h2>"Action"</h2>
                <KeyValue>
                    <Pair label="Key"><Id value=id what="action key"/></Pair>
                    <Pair label="Maker">{maker}</Pair>
                    {checker.map(|checker| view! { <Pair label="Checker">{checker}</Pair> })}
                    {expiry.map(|at| view! { <Pair label="Credit until"><Time at style=TimeStyle::Stamp/></Pair> })}
                    {ended.map(|at| view! { <Pair label="Ended"><Time at style=TimeStyle::Stamp/></Pair> })}
                </KeyValue>
            </section>
            <Related title="Related">
                {job.map(|href| view! { <RelatedLink href>"The job"</RelatedLink> })}
                {undoes.map(|href| view! { <RelatedLink href>"What it takes back"</RelatedLink> })}
                <RelatedLink href=about>{what}</RelatedLink>
                {settlement.map(|href| view! { <RelatedLink href>"What it posted"</RelatedLink> })}
                <RelatedLink href=audit>"Every step of it"</RelatedLink>
            </Related>
        </aside>
    }
    .into_any()
}

fn person(name: &str, id: OperatorId) -> String {
    let me = FrameData::current().operator.map(|operator| operator.id);
    if me == Some(id) {
        format!("{name} (you)")
    } else {
        name.to_owned()
    }
}
