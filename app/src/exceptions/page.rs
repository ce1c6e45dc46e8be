//! `/exceptions/{id}`: what is wrong, what it means, what can be put right from here, and what was done.

use domain::exception::{Class, Repair, State};
use domain::id::WalletId;
use engine::exception::views::{self, Exception, Note};
use engine::statement::views::{GroupLine, group};
use leptos::prelude::*;
use leptos_router::hooks::use_params_map;

use super::stated;
use super::words::{figure, href, repair_words, runbook, title, tone, what_words};
use crate::context::{PageError, may_act, page};
use crate::shell::{Crumb, Frame, FrameData, Kept};
use crate::ui::{
    Button, ButtonKind, Column, DataTable, Fact, Field, KeyValue, NextStep, ObjectHead, Pair,
    Related, RelatedLink, Section, Sentence, Textarea, Time, TimeStyle,
};
use crate::words::count;

/// `/exceptions/{id}`
#[component]
pub fn ExceptionPage() -> AnyView {
    let id = use_params_map()
        .read_untracked()
        .get("id")
        .and_then(|id| id.strip_prefix("exc_")?.parse::<i64>().ok());
    page(|engine| async move {
        let id = id.ok_or(PageError::NotFound)?;
        let mut books = engine.snapshot().await?;
        let one = views::find(&mut books, id)
            .await?
            .ok_or(PageError::NotFound)?;
        let notes = views::notes(&mut books, id).await?;
        let wallet = views::wallet_of(&mut books, &one.subject).await?;
        let stated = match one.subject.parse() {
            Ok(key) if one.class == Class::StatedUsage => group(&mut books, &key).await?,
            _ => None,
        };
        let keys = (0..4).map(|_| engine.mint().simple().to_string()).collect();
        Ok(view! { <Whole one notes wallet stated keys/> }.into_any())
    })
}

#[component]
fn Whole(
    one: Exception,
    notes: Vec<Note>,
    wallet: Option<WalletId>,
    stated: Option<GroupLine>,
    keys: Vec<String>,
) -> AnyView {
    let name = format!("exc_{}", one.id);
    let crumbs = vec![
        Crumb::link("Exceptions", "/exceptions"),
        Crumb::here(name.clone()),
    ];
    let head = head(&one);
    let told = format!("{}.", one.detail.trim_end_matches('.'));
    let repair = repair(&one, keys.first().cloned());
    let forms = (may_act()).then(|| steps(&one, &keys));
    let history = history(notes);
    let ways = stated.as_ref().map(|group| stated::ways(&one, group));
    let side = side(&one, wallet);
    view! {
        <Frame title=format!("{}: {name}", title(one.class)) crumbs>
            {head}
            <div class="split">
                <div class="stack">
                    <Sentence>{told}</Sentence>
                    <Section title="What to do" id="runbook">
                        <div class="stack"><p>{runbook(one.class)}</p>{repair}{ways}</div>
                    </Section>
                    {forms}
                    <Section title="What was done" id="history">{history}</Section>
                </div>
                {side}
            </div>
        </Frame>
    }
    .into_any()
}

fn head(one: &Exception) -> AnyView {
    let now = FrameData::current().now;
    let headline = view! { {title(one.class)} }.into_any();
    let whose = one.tenant.as_ref().map_or_else(
        || "of the installation".to_owned(),
        |(_, name)| name.clone(),
    );
    let aside = view! { {whose} }.into_any();
    let (first, due) = (one.first_seen_at, one.due_at);
    let owner = one.owner.as_ref().map(|(_, name)| name.clone());
    let snoozed = one.snoozed_until.filter(|until| *until > now);
    let next = match (one.state, snoozed, owner) {
        (State::Closed, ..) => view! { "Nothing is due" }.into_any(),
        (State::Open, Some(until), _) => {
            view! { "Put off until "<Time at=until style=TimeStyle::Stamp/> }.into_any()
        }
        (State::Open, None, Some(owner)) => {
            view! { {owner}" looks after it, by "<Time at=due style=TimeStyle::Stamp/> }.into_any()
        }
        (State::Open, None, None) => {
            view! { "Someone takes it, by "<Time at=due style=TimeStyle::Stamp/> }.into_any()
        }
    };
    let state = match one.state {
        State::Open => "Open",
        State::Closed => "Closed",
    };
    let seen = count(one.times_seen, "run has seen it", "runs have seen it");
    view! {
        <ObjectHead headline aside tone=tone(one) state>
            <Fact>"first seen "<Time at=first/></Fact>
            <Fact>{seen}</Fact>
            <NextStep>{next}</NextStep>
        </ObjectHead>
    }
    .into_any()
}

/// What can be put right from here.
fn repair(one: &Exception, key: Option<String>) -> AnyView {
    let offered = one.class.repair().filter(|_| one.state == State::Open);
    let Some(repair) = offered else {
        return acceptance(one, key);
    };
    if !may_act() {
        return view! { <p class="muted">"Putting it right takes the role finance."</p> }
            .into_any();
    }
    let hint = match repair {
        Repair::RebuildBalance | Repair::RebuildLot => {
            "For the audit log, which keeps what was there before."
        }
        Repair::Redrive => "For the audit log.",
    };
    let action = format!("/exceptions/exc_{}/repair", one.id);
    let value = Kept::of(&action).text("text");
    view! {
        <form class="form" method="post" action=action>
            <input type="hidden" name="key" value=key/>
            <Textarea name="text" label="Reason" value rows=2 required=true hint/>
            <div class="submit">
                <Button kind=ButtonKind::Primary>{repair_words(repair)}</Button>
            </div>
        </form>
    }
    .into_any()
}

/// Accepting a difference to what somebody else says.
fn acceptance(one: &Exception, key: Option<String>) -> AnyView {
    if !one.class.may_be_accepted() || one.state != State::Open {
        return ().into_any();
    }
    if !may_act() {
        return view! { <p class="muted">"Accepting it takes the role finance."</p> }.into_any();
    }
    let action = format!("/exceptions/exc_{}/accept", one.id);
    let value = Kept::of(&action).text("why");
    view! {
        <form class="form" method="post" action=action>
            <input type="hidden" name="key" value=key/>
            <Textarea
                name="why"
                label="Why it may differ"
                value
                rows=2
                required=true
                hint="It stays accepted while both numbers are what they are now."
            />
            <div class="submit"><Button>"Accept the difference"</Button></div>
        </form>
    }
    .into_any()
}

/// Taking, putting off, noting.
fn steps(one: &Exception, keys: &[String]) -> AnyView {
    let action = |step: &str| format!("/exceptions/exc_{}/{step}", one.id);
    let key = |at: usize| keys.get(at).cloned();
    let me = FrameData::current().operator.map(|operator| operator.id);
    let mine = one
        .owner
        .as_ref()
        .is_some_and(|(owner, _)| Some(*owner) == me);
    let (take, label) = match mine {
        true => ("give_back", "Give it back"),
        false => ("take", "Take it"),
    };
    let (owning, snoozing, noting) = (action(take), action("snooze"), action("note"));
    let (first, second, third) = (key(1), key(2), key(3));
    let (until, note) = (
        Kept::of(&snoozing).text("until"),
        Kept::of(&noting).text("note"),
    );
    let owning = (one.state == State::Open).then(|| {
        view! {
            <form method="post" action=owning>
                <input type="hidden" name="key" value=first/>
                <Button>{label}</Button>
            </form>
            <form class="form" method="post" action=snoozing>
                <input type="hidden" name="key" value=second/>
                <Field name="until" label="Put off until" kind="date" value=until required=true hint="The beginning of that day, UTC."/>
                <div class="submit"><Button>"Put off"</Button></div>
            </form>
        }
    });
    view! {
        <Section title="Look after it" id="steps">
            <div class="stack">
                {owning}
                <form class="form" method="post" action=noting>
                    <input type="hidden" name="key" value=third/>
                    <Textarea name="note" label="Note" value=note rows=2 required=true hint="What you saw. It stays for ever."/>
                    <div class="submit"><Button>"Note it"</Button></div>
                </form>
            </div>
        </Section>
    }
    .into_any()
}

fn history(notes: Vec<Note>) -> AnyView {
    let columns = vec![
        Column::text("Who"),
        Column::text("What"),
        Column::text("When"),
    ];
    let rows = notes.into_iter().map(|note| {
        let who = match (note.by, note.run) {
            (Some(name), _) => name,
            (None, Some(run)) => format!("Run {run}"),
            (None, None) => "Nobody".to_owned(),
        };
        let text = note
            .text
            .map(|text| view! { <span class="detail">{text}</span> });
        let at = note.at;
        view! {
            <tr>
                <th scope="row">{who}</th>
                <td>{what_words(note.what)}{text}</td>
                <td class="age"><Time at style=TimeStyle::Stamp/></td>
            </tr>
        }
    });
    let rows = rows.collect_view();
    view! {
        <DataTable id="notes" caption="What runs and people did, oldest first" columns plain=true>{rows}</DataTable>
    }
    .into_any()
}

fn side(one: &Exception, wallet: Option<WalletId>) -> AnyView {
    let (expected, actual) = (
        figure(one.expected, one.currency),
        figure(one.actual, one.currency),
    );
    let difference = one
        .difference()
        .map(|difference| figure(Some(difference), one.currency));
    let (last, subject) = (one.last_seen_at, one.subject.clone());
    let place = href(one, wallet);
    let same = format!("/exceptions?class={}", one.class);
    let audit = format!("/audit?object=exc_{}", one.id);
    view! {
        <aside class="side" aria-label="About this exception">
            <section>
                <h2>"Numbers"</h2>
                <KeyValue>
                    <Pair label="Expected" num=true>{expected}</Pair>
                    <Pair label="There is" num=true>{actual}</Pair>
                    {difference.map(|difference| view! { <Pair label="Difference" num=true>{difference}</Pair> })}
                    <Pair label="Subject"><code>{subject}</code></Pair>
                    <Pair label="Last seen"><Time at=last style=TimeStyle::Stamp/></Pair>
                </KeyValue>
            </section>
            <Related title="Related">
                {place.map(|href| view! { <RelatedLink href>"What it is about"</RelatedLink> })}
                <RelatedLink href=same>"Others like it"</RelatedLink>
                <RelatedLink href="/reconciliation">"Runs"</RelatedLink>
                <RelatedLink href=audit>"What was put right"</RelatedLink>
            </Related>
        </aside>
    }
    .into_any()
}
