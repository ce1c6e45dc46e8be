//! `/wallets/{id}`: two balances, the lots behind them, and the ledger with running balances.

use domain::action::Kind;
use domain::id::WalletId;
use domain::settlement::EntryType;
use engine::action::{self, views::Action};
use engine::ledger::views::{self, Entry, Filter, LotLine, TrialBalance, Wallet};
use leptos::prelude::*;
use leptos_router::hooks::use_params_map;

use super::books::Books;
use super::ledger::Ledger;
use crate::actions::done_by_people;
use crate::context::{PageError, may_act, page};
use crate::job::places;
use crate::list::{Export, NoRows, Pages, Problems, Query, choices, neighbours};
use crate::shell::{Crumb, Frame, FrameData};
use crate::ui::{
    Amount, Chips, Column, DataTable, Fact, Field, FilterBar, Id, KeyValue, NextStep, ObjectHead,
    Pair, Related, RelatedLink, Section, SelectField, Sentence, Time, TimeStyle, Tone,
};
use crate::words::{count, money};

/// `/wallets/{id}`
#[component]
pub fn WalletPage() -> AnyView {
    let text = use_params_map()
        .read_untracked()
        .get("id")
        .unwrap_or_default();
    let id = text.parse::<WalletId>().ok();
    let mut query = Query::read(format!("/wallets/{text}"), &["entry", "since", "until"]);
    let filter = Filter {
        entry_type: query.parsed::<EntryType>("entry"),
        since: query.day("since"),
        until: query.day("until"),
    };
    let cursor = query.cursor::<i64>();
    page(|engine| async move {
        let id = id.ok_or(PageError::NotFound)?;
        let mut books = engine.snapshot().await?;
        let wallet = views::wallet(&mut books, id)
            .await?
            .ok_or(PageError::NotFound)?;
        let lots = views::lots(&mut books, (wallet.line.tenant, id)).await?;
        let ledger = views::entries(&mut books, &wallet, &filter, cursor).await?;
        let mut trial =
            views::trial_balance(&mut books, Some(wallet.line.tenant), wallet.line.livemode)
                .await?;
        trial.retain(|book| book.currency == wallet.line.available.currency());
        let actions = action::views::of_wallet(&mut books, id).await?;
        let (newer, older) = neighbours(&query, &ledger, |row: &Entry| row.posting);
        Ok(
            view! { <Whole query wallet lots trial actions rows=ledger.rows newer older/> }
                .into_any(),
        )
    })
}

#[component]
fn Whole(
    query: Query,
    wallet: Wallet,
    lots: Vec<LotLine>,
    trial: Vec<TrialBalance>,
    actions: Vec<Action>,
    rows: Vec<Entry>,
    newer: Option<String>,
    older: Option<String>,
) -> AnyView {
    let line = &wallet.line;
    let crumbs = vec![
        Crumb::link("Wallets", "/wallets"),
        Crumb::here(line.name.clone()),
    ];
    let title = format!("Wallet {} of {}", line.name, line.tenant_name);
    let head = head(&wallet);
    let told = told(&wallet, &lots);
    let side = side(&wallet);
    let shown = rows.len();
    let zone = FrameData::current().zone.label;
    let ledger = if rows.is_empty() {
        let query = query.clone();
        view! { <NoRows query what="entries" nothing="The first grant of credit is its first entry."/> }.into_any()
    } else {
        view! {
            <Ledger rows zone/>
            <Pages rows=shown what=("entry", "entries") newer older/>
            <Export query=query.clone()/>
        }
        .into_any()
    };
    let filters = filters(&query);
    let problems = query.problems();
    let lots = lots_table(lots);
    let actions = done_by_people(actions);
    view! {
        <Frame title crumbs>
            {head}
            <div class="stack">
            <div class="split">
                <div class="stack">
                    <Sentence>{told}</Sentence>
                    <Section title="Lots" id="lots">{lots}</Section>
                    {actions}
                    <Section title="Books of the tenant" id="books"><Books trial/></Section>
                </div>
                {side}
            </div>
            <Section title="Ledger" id="ledger-section">
                {filters}
                <Problems problems/>
                {ledger}
            </Section>
            </div>
        </Frame>
    }
    .into_any()
}

fn head(wallet: &Wallet) -> AnyView {
    let line = &wallet.line;
    let headline = view! { "Available "<Amount value=money(line.available)/> }.into_any();
    let test = (!line.livemode).then_some(" · test money");
    let aside =
        view! { "held "<Amount value=money(line.held)/>" · "{line.tenant_name.clone()}{test} };
    let aside = aside.into_any();
    let (tone, state, next) = match (&wallet.frozen_reason, wallet.tenant_frozen_at) {
        (Some(reason), _) => (Tone::Stop, "Frozen", format!("A person decides: {reason}")),
        (None, Some(_)) => (
            Tone::Stop,
            "Tenant frozen",
            "Two people lift the freeze of the tenant".to_owned(),
        ),
        (None, None) => (Tone::Good, "Open", "Nothing is due".to_owned()),
    };
    let at = line.changed_at;
    view! {
        <ObjectHead headline aside tone state>
            <Fact>"last moved "<Time at/></Fact>
            <NextStep>{next}</NextStep>
        </ObjectHead>
    }
    .into_any()
}

fn told(wallet: &Wallet, lots: &[LotLine]) -> String {
    let line = &wallet.line;
    let now = FrameData::current().now;
    let open = lots
        .iter()
        .filter(|lot| lot.remaining.is_positive())
        .count();
    let open = count(i64::try_from(open).unwrap_or(0), "lot", "lots");
    let next = lots
        .iter()
        .filter(|lot| lot.remaining.is_positive())
        .find_map(|lot| {
            let at = lot.expires_at.filter(|at| *at > now)?;
            Some(format!(
                ", {} of it expires {}",
                money(lot.remaining).figure(),
                at.format("%-d %B %Y")
            ))
        });
    let may = match line.frozen_at {
        Some(_) => "is there and cannot be spent while the wallet is frozen,",
        None => "may be spent",
    };
    format!(
        "{} {may} from {open}{}; {} is on hold for jobs.",
        money(line.available),
        next.unwrap_or_default(),
        money(line.held).figure(),
    )
}

fn side(wallet: &Wallet) -> AnyView {
    let line = &wallet.line;
    let (id, tenant) = (line.wallet.to_string(), line.tenant.to_string());
    let (currency, opened) = (line.available.currency().code(), wallet.created_at);
    let mode = if line.livemode { "live" } else { "test" };
    let jobs = format!("/jobs?wallet={id}");
    let settlements = format!("/settlements?wallet={id}");
    let others = format!("/wallets?tenant={tenant}");
    view! {
        <aside class="side" aria-label="About this wallet">
            <section>
                <h2>"Wallet"</h2>
                <KeyValue>
                    <Pair label="Id"><Id value=id what="wallet id"/></Pair>
                    <Pair label="Tenant"><Id value=tenant what="tenant id"/></Pair>
                    <Pair label="Currency">{currency}</Pair>
                    <Pair label="Mode">{mode}</Pair>
                    <Pair label="Opened"><Time at=opened style=TimeStyle::Stamp/></Pair>
                </KeyValue>
            </section>
            {may_act().then(|| acts(wallet))}
            <Related title="Related">
                <RelatedLink href=jobs>"Jobs it pays for"</RelatedLink>
                <RelatedLink href=settlements>"Settlements"</RelatedLink>
                <RelatedLink href=others>"Wallets of this tenant"</RelatedLink>
            </Related>
        </aside>
    }
    .into_any()
}

/// What may be done with the wallet.
fn acts(wallet: &Wallet) -> AnyView {
    let place = |word: Kind| format!("/wallets/{}/{word}", wallet.line.wallet);
    let goodwill = place(Kind::Goodwill);
    let tenant = wallet.line.tenant;
    let (whole, of_tenant) = match wallet.tenant_frozen_at {
        Some(_) => (Kind::Unfreeze, "Lift the freeze of the tenant"),
        None => (Kind::Freeze, "Freeze the tenant"),
    };
    let whole = format!("/tenants/{tenant}/{whole}");
    let (stop, label) = match wallet.line.frozen_at {
        Some(_) => (place(Kind::Unfreeze), "Lift the freeze"),
        None => (place(Kind::Freeze), "Freeze the wallet"),
    };
    view! {
        <Related title="Act">
            <RelatedLink href=goodwill>"Give credit"</RelatedLink>
            <RelatedLink href=stop>{label}</RelatedLink>
            <RelatedLink href=whole>{of_tenant}</RelatedLink>
        </Related>
    }
    .into_any()
}

fn lots_table(lots: Vec<LotLine>) -> AnyView {
    if lots.is_empty() {
        return view! { <p class="muted">"No credit was ever granted."</p> }.into_any();
    }
    let columns = vec![
        Column::text("Lot"),
        Column::text("Expires"),
        Column::num("Granted"),
        Column::num("Remaining"),
    ];
    let places = places(
        lots.iter()
            .flat_map(|lot| [lot.amount.value(), lot.remaining.value()]),
    );
    let rows = lots.into_iter().map(|lot| {
        let expires = match lot.expires_at {
            Some(at) => view! { <Time at style=TimeStyle::Stamp/> }.into_any(),
            None => view! { <span class="muted">"never"</span> }.into_any(),
        };
        view! {
            <tr id=lot.lot.to_string()>
                <th scope="row">
                    {lot.note}
                    <span class="detail"><Id value=lot.lot.to_string() bare=true/></span>
                </th>
                <td>{expires}</td>
                <td class="num"><Amount value=money(lot.amount) places/></td>
                <td class="num"><Amount value=money(lot.remaining) places/></td>
            </tr>
        }
    });
    let rows = rows.collect_view();
    view! {
        <DataTable id="lots-table" caption="Lots of credit, in the order they burn" columns plain=true>
            {rows}
        </DataTable>
    }
    .into_any()
}

fn filters(query: &Query) -> AnyView {
    let path = query.path().to_owned();
    let (entry, since, until) = (query.raw("entry"), query.raw("since"), query.raw("until"));
    let chips = query.chips();
    view! {
        <div class="filters">
            <FilterBar action=path.clone() what="entries">
                <SelectField
                    name="entry"
                    label="Entry"
                    choices=choices("any", EntryType::ALL)
                    selected=entry
                />
                <Field name="since" label="Posted since" kind="date" value=since/>
                <Field name="until" label="Posted before" kind="date" value=until/>
            </FilterBar>
            <Chips chips clear_href=path/>
        </div>
    }
    .into_any()
}
