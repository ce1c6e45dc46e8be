//! `/settlements/{id}`: the key, what moved, what it was decided from, and what caused it.

use domain::id::SettlementId;
use domain::settlement::{Phase, Subject};
use engine::job::views::{Correction, correction};
use engine::seal::views::sealed_in;
use engine::settlement::views::{self, DrawView, SettlementView, TransferView};
use leptos::prelude::*;
use leptos_router::hooks::use_params_map;

use super::list::subject_href;
use crate::actions::undo;
use crate::context::{PageError, page};
use crate::job::{Rating, places, priced, shifts};
use crate::shell::{Crumb, Frame};
use crate::ui::{
    Amount, Column, DataTable, Fact, Id, JsonView, KeyValue, NextStep, ObjectHead, Pair, Related,
    RelatedLink, Section, Sentence, Time, TimeStyle, Tone,
};
use crate::words::{money, phase_words, titled};

/// `/settlements/{id}`
#[component]
pub fn SettlementPage() -> AnyView {
    let id = use_params_map().read_untracked().get("id");
    let id = id.and_then(|id| id.parse::<SettlementId>().ok());
    page(|engine| async move {
        let id = id.ok_or(PageError::NotFound)?;
        let mut books = engine.snapshot().await?;
        let settlement = views::find(&mut books, id)
            .await?
            .ok_or(PageError::NotFound)?;
        let of = (settlement.line.key.tenant, id);
        let correction = correction(&mut books, of).await?;
        let seals = sealed_in(&mut books, id).await?;
        Ok(view! { <Settlement settlement correction seals/> }.into_any())
    })
}

#[component]
fn Settlement(
    settlement: SettlementView,
    correction: Option<Correction>,
    seals: Option<Vec<i64>>,
) -> AnyView {
    let key = settlement.line.key;
    let name = format!("{}/{}", titled(key.phase.as_str()), key.version);
    let crumbs = vec![
        Crumb::link("Settlements", "/settlements"),
        Crumb::here(name.clone()),
    ];
    let title = format!("{name} of {}", settlement.line.tenant_name);
    let key_text = key.to_string();
    let head = head(&settlement);
    let told = told(&settlement);
    let transfers = transfers(&settlement.transfers);
    let lots = (!settlement.draws.is_empty()).then(|| lots(&settlement.draws));
    let pricing = priced(&settlement.snapshot).map(|rating| {
        view! { <Section title="Pricing" id="pricing"><Rating id="rating" rating/></Section> }
    });
    let raw = settlement.snapshot.to_string();
    let side = side(&settlement, correction.as_ref(), seals);
    let undo = correction.as_ref().map(undo);
    view! {
        <Frame title crumbs>
            {head}
            <div class="split">
                <div class="stack">
                    <div class="stack" data-gap="small">
                        <Sentence>{told}</Sentence>
                        <p class="muted">"Key "<Id value=key_text what="settlement key" full=true/></p>
                        {undo}
                    </div>
                    <Section title="Transfers" id="transfers">{transfers}</Section>
                    {lots}
                    {pricing}
                    <Section title="Raw" id="raw"><JsonView title="Snapshot" raw/></Section>
                </div>
                {side}
            </div>
        </Frame>
    }
    .into_any()
}

fn head(settlement: &SettlementView) -> AnyView {
    let line = &settlement.line;
    let headline =
        view! { {phase_words(line.key.phase)}" "<Amount value=money(line.amount)/> }.into_any();
    let test = (!line.livemode).then_some(" · test money");
    let aside =
        view! { {line.tenant_name.clone()}" / "{line.wallet_name.clone()}{test} }.into_any();
    let at = line.settled_at;
    view! {
        <ObjectHead headline aside tone=Tone::Good state="Settled">
            <Fact><Time at/></Fact>
            <NextStep>"Final. A correction is a new settlement, never a change of this one"</NextStep>
        </ObjectHead>
    }
    .into_any()
}

fn told(settlement: &SettlementView) -> String {
    let line = &settlement.line;
    let subject = match line.key.subject {
        Subject::Job(_) => "its job",
        Subject::Lot(_) => "its lot of credit",
    };
    let what = match line.key.phase {
        Phase::Reserve => "was set aside for",
        Phase::Capture => "was charged for",
        Phase::Release => "went back from the hold of",
        Phase::Adjustment => "is the correction of what was charged for",
        Phase::Reversal => "was undone for",
        Phase::Grant => "was added by",
        Phase::Expiry => "expired with",
        Phase::Refund => "was refunded for",
        Phase::WriteOff => "was written off for",
    };
    let amount = money(line.amount);
    if settlement.transfers.is_empty() {
        return format!("{amount} {what} {subject}; nothing had to move.");
    }
    let ways = settlement.transfers.iter().map(|x| {
        format!(
            "{} from {} to {}",
            money(x.amount).figure(),
            x.debit.kind,
            x.credit.kind
        )
    });
    format!(
        "{amount} {what} {subject}: {}.",
        ways.collect::<Vec<_>>().join(", ")
    )
}

fn transfers(transfers: &[TransferView]) -> AnyView {
    if transfers.is_empty() {
        return view! { <p class="muted">"No transfer: the amount is zero."</p> }.into_any();
    }
    let columns = vec![
        Column::text("Entry"),
        Column::text("Debit"),
        Column::text("Credit"),
        Column::num("Amount"),
    ];
    let places = places(transfers.iter().map(|x| x.amount.value()));
    let rows = transfers.iter().map(|x| {
        let (debit, credit) = (x.debit.account.to_string(), x.credit.account.to_string());
        view! {
            <tr>
                <th scope="row">
                    {titled(x.entry_type.as_str())}
                    <span class="detail">{format!("posting {}", x.posting_id)}</span>
                </th>
                <td>{x.debit.kind.to_string()}<span class="detail"><Id value=debit bare=true/></span></td>
                <td>{x.credit.kind.to_string()}<span class="detail"><Id value=credit bare=true/></span></td>
                <td class="num"><Amount value=money(x.amount) places/></td>
            </tr>
        }
    });
    let rows = rows.collect_view();
    let balances = shifts(transfers);
    let balances = balances.into_iter().map(|shift| {
        view! {
            <Pair label=titled(&shift.account) num=true>
                <Amount value=shift.before places/>" → "<Amount value=shift.after places/>
            </Pair>
        }
    });
    let balances = balances.collect_view();
    let balances = view! {
        <section class="card">
            <h3>"What it did to the wallet"</h3>
            <KeyValue>{balances}</KeyValue>
        </section>
    };
    view! {
        <div class="stack" data-gap="small">
            <DataTable id="entries" caption="Transfers in posting order" columns plain=true>
                {rows}
            </DataTable>
            {balances}
        </div>
    }
    .into_any()
}

fn lots(draws: &[DrawView]) -> AnyView {
    let columns = vec![
        Column::text("Lot"),
        Column::text("Expires"),
        Column::num("Drawn"),
    ];
    let places = places(draws.iter().map(|draw| draw.drawn.value()));
    let rows = draws.iter().map(|draw| {
        let expires = match draw.expires_at {
            Some(at) => view! { <Time at style=TimeStyle::Stamp/> }.into_any(),
            None => view! { <span class="muted">"never"</span> }.into_any(),
        };
        view! {
            <tr>
                <th scope="row"><Id value=draw.lot.to_string() what="lot id"/></th>
                <td>{expires}</td>
                <td class="num"><Amount value=money(draw.drawn) places/></td>
            </tr>
        }
    });
    let rows = rows.collect_view();
    view! {
        <Section title="Lots" id="lots">
            <DataTable id="draws" caption="Lots drawn from, soonest expiry first" columns plain=true>
                {rows}
            </DataTable>
        </Section>
    }
    .into_any()
}

fn side(
    settlement: &SettlementView,
    correction: Option<&Correction>,
    seals: Option<Vec<i64>>,
) -> AnyView {
    let line = &settlement.line;
    let (id, hash) = (line.id.to_string(), settlement.content_hash.to_string());
    let at = line.settled_at;
    let (subject, href) = (line.key.subject.kind(), subject_href(line));
    let event = line.event.map(|event| {
        view! { <RelatedLink href=format!("/events/{event}")>{format!("Caused by {event}")}</RelatedLink> }
    });
    let action = correction.map(|correction| {
        let href = format!("/actions/{}", correction.action);
        view! { <RelatedLink href>"The action that asked for it"</RelatedLink> }
    });
    let undoes = correction
        .and_then(|correction| correction.undoes)
        .map(|id| {
            let href = format!("/settlements/{id}");
            view! { <RelatedLink href>"What it takes back"</RelatedLink> }
        });
    let wallet = format!("/wallets/{}", line.wallet);
    let wallet_name = format!("Wallet {}", line.wallet_name);
    view! {
        <aside class="side" aria-label="About this settlement">
            <section>
                <h2>"Identity"</h2>
                <KeyValue>
                    <Pair label="Id"><Id value=id what="settlement id"/></Pair>
                    <Pair label="Content hash"><Id value=hash what="content hash"/></Pair>
                    <Pair label="Settled"><Time at style=TimeStyle::Stamp/></Pair>
                    <Pair label="Sealed">{sealed(seals)}</Pair>
                </KeyValue>
            </section>
            <Related title="Related">
                <RelatedLink href>{format!("Its {subject}")}</RelatedLink>
                <RelatedLink href=wallet>{wallet_name}</RelatedLink>
                {event}
                {action}
                {undoes}
            </Related>
        </aside>
    }
    .into_any()
}

/// The seals that hold it: one, unless a round ended between its transfers.
fn sealed(seals: Option<Vec<i64>>) -> AnyView {
    let Some(seals) = seals else {
        return view! { <span class="muted">"not yet"</span> }.into_any();
    };
    let links = seals.into_iter().map(|number| {
        view! { <a href=crate::seals::href(number)>{format!("#{number}")}</a>" " }
    });
    view! { "in "{links.collect_view()} }.into_any()
}
