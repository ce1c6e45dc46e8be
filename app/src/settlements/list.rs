//! `/settlements`

use domain::settlement::{Phase, Subject};
use engine::settlement::views::{self, Filter, SettlementLine};
use leptos::prelude::*;

use crate::context::page;
use crate::job::places;
use crate::list::{
    Export, NoRows, Pages, Problems, Query, SavedViews, choices, livemode, neighbours,
};
use crate::shell::Frame;
use crate::ui::{
    Amount, Chips, Column, DataTable, FilterBar, Id, PageHead, RowLink, SelectField, SortOrder,
    Time, TimeStyle, ViewLinks,
};
use crate::words::{money, titled};

/// `/settlements`
#[component]
pub fn SettlementsPage() -> AnyView {
    let mut query = Query::read("/settlements", &["phase", "wallet"]);
    let filter = Filter {
        phase: query.parsed("phase"),
        wallet: query.parsed("wallet"),
        livemode: Some(livemode()),
    };
    let cursor = query.cursor();
    page(|engine| async move {
        let mut books = engine.snapshot().await?;
        let cursor = cursor.map(domain::id::SettlementId);
        let list = views::list(&mut books, filter, cursor).await?;
        let (newer, older) = neighbours(&query, &list, |row: &SettlementLine| row.id.0);
        Ok(view! { <Settlements query rows=list.rows newer older/> }.into_any())
    })
}

#[component]
fn Settlements(
    query: Query,
    rows: Vec<SettlementLine>,
    newer: Option<String>,
    older: Option<String>,
) -> AnyView {
    let columns = vec![
        Column::text("Settlement"),
        Column::text("Key"),
        Column::text("Cause"),
        Column::num("Amount"),
        Column::text("Settled").sorted(SortOrder::Descending),
    ];
    let places = places(rows.iter().map(|row| row.amount.value()));
    let shown = rows.len();
    let table = if rows.is_empty() {
        let query = query.clone();
        view! {
            <NoRows
                query
                what="settlements"
                nothing="A settlement is written when funds are reserved, captured, released or granted."
            />
        }
        .into_any()
    } else {
        let rows = rows.into_iter().map(|row| line(row, places)).collect_view();
        view! {
            <DataTable id="settlements" caption="Settlements, newest first" columns>{rows}</DataTable>
            <Pages rows=shown what=("settlement", "settlements") newer older/>
            <Export query=query.clone()/>
        }
        .into_any()
    };
    let phase = |phase: Phase| query.view(&titled(phase.as_str()), &[("phase", phase.as_str())]);
    let mut links = vec![query.view("All", &[])];
    links.extend(
        [
            Phase::Reserve,
            Phase::Capture,
            Phase::Release,
            Phase::Adjustment,
            Phase::Grant,
        ]
        .map(phase),
    );
    let (selected, chips, problems) = (query.raw("phase"), query.chips(), query.problems());
    view! {
        <Frame title="Settlements">
            <PageHead
                title="Settlements"
                lead="The final effect of one phase of one job or lot. Each key settles once, for ever."
            />
            <div class="filters">
                <ViewLinks label="Views" links/>
                <FilterBar action="/settlements" what="settlements">
                    <SelectField name="phase" label="Phase" choices=choices("any", Phase::ALL) selected/>
                </FilterBar>
                <Chips chips clear_href="/settlements"/>
                <SavedViews query=query.clone()/>
            </div>
            <Problems problems/>
            {table}
        </Frame>
    }
    .into_any()
}

/// Where a subject is shown.
pub(super) fn subject_href(line: &SettlementLine) -> String {
    match line.key.subject {
        Subject::Job(job) => format!("/jobs/{job}#{}-{}", line.key.phase, line.key.version),
        Subject::Lot(lot) => format!("/wallets/{}#{lot}", line.wallet),
    }
}

fn line(row: SettlementLine, places: u8) -> impl IntoView {
    let detail = format!("{} · {}", row.tenant_name, row.wallet_name);
    let detail = view! { {detail} }.into_any();
    let subject = subject_href(&row);
    let cause = match row.event {
        Some(event) => {
            let href = format!("/events/{event}");
            view! { <Id value=event.to_string() href bare=true/> }.into_any()
        }
        None => view! { <span class="muted">"no event"</span> }.into_any(),
    };
    view! {
        <tr>
            <RowLink href=format!("/settlements/{}", row.id) detail>
                {format!("{}/{}", titled(row.key.phase.as_str()), row.key.version)}
            </RowLink>
            <td>
                <Id value=row.key.subject.to_string() href=subject bare=true/>
                <span class="detail">{format!("{}/{}", row.key.phase, row.key.version)}</span>
            </td>
            <td>{cause}</td>
            <td class="num"><Amount value=money(row.amount) places/></td>
            <td class="age"><Time at=row.settled_at style=TimeStyle::Age/></td>
        </tr>
    }
}
