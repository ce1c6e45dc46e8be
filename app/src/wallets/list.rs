//! `/wallets`

use domain::id::{TenantId, WalletId};
use engine::ledger::views::{self, TrialBalance, WalletLine};
use leptos::prelude::*;
use uuid::Uuid;

use super::books::Books;
use crate::context::page;
use crate::job::places;
use crate::list::{Export, NoRows, Pages, Problems, Query, livemode, neighbours};
use crate::shell::Frame;
use crate::ui::{
    Amount, Chips, Choice, Column, DataTable, FilterBar, PageHead, RowLink, Section, SelectField,
    StateBadge, Time, TimeStyle, Tone,
};
use crate::words::money;

/// `/wallets`
#[component]
pub fn WalletsPage() -> AnyView {
    let mut query = Query::read("/wallets", &["tenant"]);
    let tenant: Option<TenantId> = query.parsed("tenant");
    let cursor = query.cursor::<(Uuid, Uuid)>();
    let live = livemode();
    page(move |engine| async move {
        let mut books = engine.snapshot().await?;
        let tenants = engine::tenant::views::names(&mut books).await?;
        let cursor = cursor.map(|(tenant, wallet)| (TenantId(tenant), WalletId(wallet)));
        let list = views::wallets(&mut books, tenant, Some(live), cursor).await?;
        let trial = views::trial_balance(&mut books, tenant, live).await?;
        if let Some(wanted) = tenant {
            let name = tenants.iter().find(|(tenant, _)| *tenant == wanted);
            query.name_chip("tenant", name.map_or("unknown", |(_, name)| name));
        }
        let key = |row: &WalletLine| (row.tenant.0, row.wallet.0);
        let (newer, older) = neighbours(&query, &list, key);
        Ok(view! { <Wallets query tenants trial rows=list.rows newer older/> }.into_any())
    })
}

#[component]
fn Wallets(
    query: Query,
    tenants: Vec<(TenantId, String)>,
    trial: Vec<TrialBalance>,
    rows: Vec<WalletLine>,
    newer: Option<String>,
    older: Option<String>,
) -> AnyView {
    let columns = vec![
        Column::text("Wallet"),
        Column::text("State"),
        Column::num("Available"),
        Column::num("Held"),
        Column::text("Last moved"),
    ];
    let places = places(
        rows.iter()
            .flat_map(|row| [row.available.value(), row.held.value()]),
    );
    let shown = rows.len();
    let table = if rows.is_empty() {
        let query = query.clone();
        view! {
            <NoRows
                query
                what="wallets"
                nothing="Open one on the command line or over the API; then grant it credit."
            />
        }
        .into_any()
    } else {
        let rows = rows.into_iter().map(|row| line(row, places)).collect_view();
        view! {
            <DataTable id="wallets" caption="Wallets by tenant" columns>{rows}</DataTable>
            <Pages rows=shown what=("wallet", "wallets") newer older/>
            <Export query=query.clone()/>
        }
        .into_any()
    };
    let books = (!trial.is_empty()).then(|| {
        view! { <Section title="Trial balance" id="trial-balance"><Books trial/></Section> }
    });
    let tenants = tenants
        .into_iter()
        .map(|(id, name)| Choice::new(id.to_string(), name));
    let choices = std::iter::once(Choice::new("", "any"))
        .chain(tenants)
        .collect();
    let (selected, chips, problems) = (query.raw("tenant"), query.chips(), query.problems());
    view! {
        <Frame title="Wallets">
            <PageHead title="Wallets" lead="Prepaid funds: what may be spent, and what is on hold."/>
            <div class="filters">
                <FilterBar action="/wallets" what="wallets">
                    <SelectField name="tenant" label="Tenant" choices selected/>
                </FilterBar>
                <Chips chips clear_href="/wallets"/>
            </div>
            <Problems problems/>
            <div class="stack">
                {table}
                {books}
            </div>
        </Frame>
    }
    .into_any()
}

fn line(row: WalletLine, places: u8) -> impl IntoView {
    let frozen = row.frozen_at.is_some();
    let (tone, label) = if frozen {
        (Tone::Stop, "Frozen")
    } else {
        (Tone::Good, "Open")
    };
    let detail = view! { {row.tenant_name} }.into_any();
    view! {
        <tr data-tone=frozen.then_some(Tone::Stop.as_str())>
            <RowLink href=format!("/wallets/{}", row.wallet) detail>{row.name}</RowLink>
            <td><StateBadge tone label/></td>
            <td class="num"><Amount value=money(row.available) places/></td>
            <td class="num"><Amount value=money(row.held) places/></td>
            <td class="age"><Time at=row.changed_at style=TimeStyle::Age/></td>
        </tr>
    }
}
