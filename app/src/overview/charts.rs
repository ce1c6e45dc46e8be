//! Two plain charts: what came and what was settled a minute, and money by phase a day.

use domain::money::Currency;
use domain::settlement::Phase;
use engine::overview::{Day, Minute, Overview};
use leptos::prelude::*;
use rust_decimal::Decimal;

use crate::list::livemode;
use crate::shell::FrameData;
use crate::ui::{BarChart, ChartPoint, LineChart};
use crate::words::{count, money};

/// The phases that are drawn, in the order of their lines.
const PHASES: [Phase; 3] = [Phase::Capture, Phase::Release, Phase::Grant];

#[component]
pub(super) fn Charts(overview: Overview) -> AnyView {
    let minutes = minutes(&overview.pace);
    let days = days(&overview.days);
    view! {
        <div class="cards">
            <div class="card">{minutes}</div>
            <div class="card">{days}</div>
        </div>
    }
    .into_any()
}

fn minutes(pace: &[Minute]) -> AnyView {
    let offset = FrameData::current().zone.offset;
    let points = pace.iter().map(|minute| ChartPoint {
        label: minute.at.with_timezone(&offset).format("%H:%M").to_string(),
        values: [minute.accepted, minute.settled, minute.duplicates]
            .map(Decimal::from)
            .to_vec(),
    });
    let points = points.collect();
    let sum = |of: fn(&Minute) -> i64| pace.iter().map(of).sum::<i64>();
    let summary = format!(
        "{} accepted in the last hour, {} settled; {} came again and changed nothing.",
        count(sum(|minute| minute.accepted), "event", "events"),
        count(sum(|minute| minute.settled), "job", "jobs"),
        count(sum(|minute| minute.duplicates), "delivery", "deliveries"),
    );
    view! {
        <LineChart
            id="per-minute"
            title="Accepted and settled a minute"
            summary
            axis="Minute"
            series=vec!["Accepted".into(), "Settled".into(), "Duplicates absorbed".into()]
            points
        />
    }
    .into_any()
}

fn days(days: &[Day]) -> AnyView {
    let live = livemode();
    let Some(currency) = busiest(days, live) else {
        return view! { <p class="muted">"No money has moved in the last fortnight."</p> }
            .into_any();
    };
    let of = |day: &Day, phase: Phase| -> Decimal {
        let sums = day.sums.iter().filter(|sum| {
            sum.livemode == live && sum.phase == phase && sum.amount.currency() == currency
        });
        sums.map(|sum| sum.amount.value()).sum()
    };
    let points: Vec<_> = days
        .iter()
        .map(|day| ChartPoint {
            label: day.day.format("%-d %b").to_string(),
            values: PHASES.iter().map(|phase| of(day, *phase)).collect(),
        })
        .collect();
    let today = days
        .last()
        .map(|day| of(day, Phase::Capture))
        .unwrap_or_default();
    let total: Decimal = days.iter().map(|day| of(day, Phase::Capture)).sum();
    let sum =
        |value| domain::money::Amount::exact(value, currency).map(|sum| money(sum).to_string());
    let summary = format!(
        "{} captured in a fortnight, {} of it today (days in UTC).",
        sum(total).unwrap_or_default(),
        sum(today).unwrap_or_default(),
    );
    let title = format!("Money by phase a day, {}", currency.code());
    view! {
        <BarChart
            id="per-day"
            title
            summary
            axis="Day"
            series=vec!["Captured".into(), "Released".into(), "Granted".into()]
            points
        />
    }
    .into_any()
}

/// The currency with most settlements; others have their own books on the page of wallets.
fn busiest(days: &[Day], live: bool) -> Option<Currency> {
    let mut counts: Vec<(Currency, i64)> = Vec::new();
    for sum in days
        .iter()
        .flat_map(|day| &day.sums)
        .filter(|sum| sum.livemode == live)
    {
        let currency = sum.amount.currency();
        match counts.iter_mut().find(|(known, _)| *known == currency) {
            Some((_, count)) => *count += sum.count,
            None => counts.push((currency, sum.count)),
        }
    }
    counts
        .into_iter()
        .max_by_key(|(_, count)| *count)
        .map(|(currency, _)| currency)
}
