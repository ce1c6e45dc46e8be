//! The overview: four figures that answer four questions, two charts, what needs a person.

use app::shell::Frame;
use app::ui::*;
use leptos::prelude::*;
use rust_decimal::Decimal;

use super::{at, usd};

fn figures() -> impl IntoView {
    view! {
        <Figures label="How things stand">
            <Figure
                question="Is everything settled?"
                href="/jobs?view=late"
                note=view! { <StateBadge tone=Tone::Good label="none older than 24 h"/> }.into_any()
            >
                "38 open"
            </Figure>
            <Figure
                question="Is the money right?"
                href="/wallets"
                note=view! { <StateBadge tone=Tone::Good label="debits equal credits"/> }.into_any()
            >
                <Amount value=usd("0")/>
            </Figure>
            <Figure
                question="Does anyone wait for me?"
                href="/events?state=conflict"
                note=view! { <StateBadge tone=Tone::Attention label="oldest 2 h"/> }.into_any()
            >
                "3 conflicts"
            </Figure>
            <Figure
                question="Is anything slow?"
                href="/deliveries"
                note=view! { "from event to settlement, slowest 1 in 100" }.into_any()
            >
                "0.4 s"
            </Figure>
        </Figures>
    }
}

fn per_minute() -> impl IntoView {
    let points = (0..30_i64).map(|i| {
        let settled = 60 + (i * 37) % 41 + if i > 20 { 30 } else { 0 };
        ChartPoint {
            label: format!("13:{:02}", 47 + i - if i > 12 { 60 } else { 0 })
                .replace("13:0", "14:0")
                .replace("13:1", "14:1"),
            values: vec![Decimal::from(settled), Decimal::from((i * 13) % 17)],
        }
    });
    view! {
        <BarChart
            id="per-minute"
            title="Events a minute"
            summary="2,871 events were accepted in half an hour; 239 more were duplicates and changed nothing."
            axis="Minute"
            series=vec!["Settled".into(), "Duplicates absorbed".into()]
            points=points.collect()
        />
    }
}

fn per_day() -> impl IntoView {
    let days = [
        "24 Nov", "25 Nov", "26 Nov", "27 Nov", "28 Nov", "29 Nov", "30 Nov",
    ];
    let values = [
        (812, 64),
        (904, 71),
        (1_104, 80),
        (760, 55),
        (402, 20),
        (388, 31),
        (951, 120),
    ];
    let points = days
        .iter()
        .zip(values)
        .map(|(day, (captured, released))| ChartPoint {
            label: (*day).into(),
            values: vec![Decimal::from(captured), Decimal::from(released)],
        });
    view! {
        <LineChart
            id="per-day"
            title="Money by phase a day, USD"
            summary="Captures reached 951 USD today, the most since Thursday; 120 USD were released."
            axis="Day"
            series=vec!["Captured".into(), "Released".into()]
            points=points.collect()
        />
    }
}

pub(crate) fn page() -> AnyView {
    let columns = vec![
        Column::text("What"),
        Column::text("Why"),
        Column::num("Amount"),
        Column::text("Since"),
    ];
    let detail = |text: &'static str| view! { {text} }.into_any();
    view! {
        <Frame title="Overview">
            <PageHead title="Everything is settled, three things wait for you"/>
            <div class="stack">
                {figures()}
                <div class="cards">
                    <div class="card">{per_minute()}</div>
                    <div class="card">{per_day()}</div>
                </div>
                <Section
                    title="Needs a person"
                    id="attention"
                    note=view! { <a href="/events?state=conflict">"All conflicts"</a> }.into_any()
                >
                    <DataTable id="waiting" caption="What needs a person, oldest first" columns>
                        <tr data-tone="attention">
                            <RowLink href="/events/1" detail=detail("contoso · veo-draft")>"Conflict on job …20zt"</RowLink>
                            <td><StateBadge tone=Tone::Attention label="Same event, other content"/><span class="detail">"seconds 8 → 12"</span></td>
                            <td class="num"><Amount value=usd("12") places=4/></td>
                            <td class="age"><Time at=at("2026-11-30T11:11:02Z") style=TimeStyle::Age/></td>
                        </tr>
                        <tr data-tone="stop">
                            <RowLink href="/deliveries/1" detail=detail("source replicate-main")>"12 deliveries refused"</RowLink>
                            <td><StateBadge tone=Tone::Stop label="Wrong signature"/><span class="detail">"check the secret of this source"</span></td>
                            <td class="num muted">"none"</td>
                            <td class="age"><Time at=at("2026-11-30T12:58:00Z") style=TimeStyle::Age/></td>
                        </tr>
                    </DataTable>
                </Section>
            </div>
        </Frame>
    }
    .into_any()
}
