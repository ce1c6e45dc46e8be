//! Plain charts, drawn on the server: zero-based, labelled directly, and always with the table
//! they were drawn from. Geometry is integer: a value's height is its share of the scale in
//! thousandths, computed in decimals.

use leptos::prelude::*;
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;

use super::amount::number;
use super::{Column, DataTable};

/// One place on the horizontal axis.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChartPoint {
    /// Its label: a minute, a day.
    pub label: String,
    /// One value a series, none negative.
    pub values: Vec<Decimal>,
}

/// Height of the drawing in its own units; widths are ten times the number of points.
const HEIGHT: i64 = 1_000;
/// Width of one point's share.
const PITCH: i64 = 10;

/// Bars, stacked by series.
#[component]
pub fn BarChart(
    /// Unique on the page.
    #[prop(into)]
    id: String,
    /// What it shows: "Accepted and settled per minute".
    #[prop(into)]
    title: String,
    /// What it says, in a sentence; the chart's description.
    #[prop(into)]
    summary: String,
    /// Name of the horizontal axis, for the table: "Minute".
    #[prop(into)]
    axis: String,
    /// Names of the series, first at the base; at most three.
    series: Vec<String>,
    /// The points, oldest first.
    points: Vec<ChartPoint>,
) -> AnyView {
    let top = scale_top(points.iter().map(|point| point.values.iter().sum()).max());
    let bars = points.iter().enumerate().map(|(i, point)| {
        let mut base = Decimal::ZERO;
        let parts = point.values.iter().enumerate().map(|(s, value)| {
            let (from, to) = (height(base, top), height(base + value, top));
            base += value;
            view! {
                <rect
                    data-series=(s + 1).to_string()
                    x=(PITCH * offset(i) + 1).to_string()
                    y=(HEIGHT - to).to_string()
                    width=(PITCH - 2).to_string()
                    height=(to - from).to_string()
                ></rect>
            }
        });
        let parts = parts.collect_view();
        view! { <g><title>{spoken(point, &series)}</title>{parts}</g> }
    });
    let drawing = bars.collect_view().into_any();
    frame(
        Chart {
            id,
            title,
            summary,
            axis,
            series,
            points,
            top,
        },
        drawing,
    )
    .into_any()
}

/// Lines, one a series.
#[component]
pub fn LineChart(
    /// Unique on the page.
    #[prop(into)]
    id: String,
    /// What it shows.
    #[prop(into)]
    title: String,
    /// What it says, in a sentence; the chart's description.
    #[prop(into)]
    summary: String,
    /// Name of the horizontal axis, for the table.
    #[prop(into)]
    axis: String,
    /// Names of the series; at most three.
    series: Vec<String>,
    /// The points, oldest first.
    points: Vec<ChartPoint>,
) -> AnyView {
    let top = scale_top(
        points
            .iter()
            .flat_map(|point| point.values.iter().copied())
            .max(),
    );
    let lines = (0..series.len()).map(|s| {
        let path: Vec<String> = points
            .iter()
            .enumerate()
            .map(|(i, point)| {
                let value = point.values.get(s).copied().unwrap_or_default();
                format!(
                    "{},{}",
                    PITCH * offset(i) + PITCH / 2,
                    HEIGHT - height(value, top)
                )
            })
            .collect();
        view! { <polyline data-series=(s + 1).to_string() points=path.join(" ")></polyline> }
    });
    let drawing = lines.collect_view().into_any();
    frame(
        Chart {
            id,
            title,
            summary,
            axis,
            series,
            points,
            top,
        },
        drawing,
    )
    .into_any()
}

struct Chart {
    id: String,
    title: String,
    summary: String,
    axis: String,
    series: Vec<String>,
    points: Vec<ChartPoint>,
    top: Decimal,
}

/// Labels are HTML around the drawing, so they keep their size when it stretches.
fn frame(chart: Chart, drawing: AnyView) -> impl IntoView {
    let Chart {
        id,
        title,
        summary,
        axis,
        series,
        points,
        top,
    } = chart;
    let width = PITCH * offset(points.len().max(1));
    let (title_id, desc_id) = (format!("{id}-title"), format!("{id}-desc"));
    let keys = series.iter().enumerate().map(|(s, name)| {
        view! { <span class="key" data-series=(s + 1).to_string()>{name.clone()}</span> }
    });
    let labelled_by = format!("{title_id} {desc_id}");
    let half = (top / Decimal::TWO).normalize();
    let ends = [points.first(), points.get(points.len() / 2), points.last()];
    let ends = ends.map(|point| point.map(|point| point.label.clone()).unwrap_or_default());
    let gridline = |y: i64, class| {
        view! { <line class=class x1="0" x2=width.to_string() y1=y.to_string() y2=y.to_string()></line> }
    };
    view! {
        <figure class="chart">
            <figcaption>
                <strong>{title.clone()}</strong>
                <span class="keys">{keys.collect_view()}</span>
            </figcaption>
            <div class="plot">
                <div class="ticks" aria-hidden="true">
                    <span>{number(top)}</span><span>{number(half)}</span><span>"0"</span>
                </div>
                <svg
                    role="img"
                    viewBox=format!("0 0 {width} {HEIGHT}")
                    preserveAspectRatio="none"
                    aria-labelledby=labelled_by
                >
                    <title id=title_id>{title.clone()}</title>
                    <desc id=desc_id>{summary.clone()}</desc>
                    {gridline(0, "grid")}
                    {gridline(HEIGHT / 2, "grid")}
                    {drawing}
                    {gridline(HEIGHT, "base")}
                </svg>
                <div class="labels" aria-hidden="true">
                    {ends.map(|label| view! { <span>{label}</span> }).collect_view()}
                </div>
            </div>
            <p class="muted small">{summary}</p>
            <details>
                <summary>"As a table"</summary>
                <Twin id title axis series points/>
            </details>
        </figure>
    }
}

#[component]
fn Twin(
    id: String,
    title: String,
    axis: String,
    series: Vec<String>,
    points: Vec<ChartPoint>,
) -> AnyView {
    let columns = std::iter::once(Column::text(axis)).chain(series.into_iter().map(Column::num));
    let rows = points.into_iter().map(|point| {
        let cells = point.values.into_iter().map(|value| {
            view! { <td class="num">{number(value)}</td> }
        });
        view! { <tr><th scope="row">{point.label}</th>{cells.collect_view()}</tr> }
    });
    view! {
        <DataTable id=format!("{id}-table") caption=title columns=columns.collect() plain=true>
            {rows.collect_view()}
        </DataTable>
    }
    .into_any()
}

/// What a point says when pointed at.
fn spoken(point: &ChartPoint, series: &[String]) -> String {
    let values = series.iter().zip(&point.values);
    let values: Vec<_> = values
        .map(|(name, value)| format!("{name} {}", number(*value)))
        .collect();
    format!("{}: {}", point.label, values.join(", "))
}

fn offset(i: usize) -> i64 {
    i64::try_from(i).unwrap_or(i64::MAX / PITCH)
}

/// A value's height in thousandths of the scale.
fn height(value: Decimal, top: Decimal) -> i64 {
    (value / top * Decimal::from(HEIGHT))
        .round()
        .to_i64()
        .unwrap_or(HEIGHT)
        .clamp(0, HEIGHT)
}

/// Tops of a scale in tenths of a power of ten; the half of each is round too.
const STEPS: [i64; 10] = [10, 15, 20, 25, 30, 40, 50, 60, 80, 100];

/// The smallest round scale that holds the highest value.
fn scale_top(highest: Option<Decimal>) -> Decimal {
    let highest = highest.unwrap_or_default();
    if highest <= Decimal::ZERO {
        return Decimal::ONE;
    }
    let ten = Decimal::TEN;
    let mut power = Decimal::ONE;
    while power * ten < highest {
        power *= ten;
    }
    while power > highest {
        power /= ten;
    }
    let tops = STEPS
        .into_iter()
        .map(|tenths| power * Decimal::new(tenths, 1));
    let top = tops.into_iter().find(|top| *top >= highest);
    top.unwrap_or(highest).normalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_is_round_and_holds_the_highest_value() {
        let of = |value: &str| scale_top(Some(value.parse().unwrap())).to_string();
        assert_eq!(of("0"), "1");
        assert_eq!(of("1"), "1");
        assert_eq!(of("3"), "3");
        assert_eq!(of("3.5"), "4");
        assert_eq!(of("73"), "80");
        assert_eq!(of("1204"), "1500");
        assert_eq!(of("0.042"), "0.05");
        assert_eq!(scale_top(None).to_string(), "1");
    }

    #[test]
    fn bars_start_at_zero_and_never_leave_the_scale() {
        let top = Decimal::from(50);
        assert_eq!(height(Decimal::ZERO, top), 0);
        assert_eq!(height(Decimal::from(25), top), 500);
        assert_eq!(height(Decimal::from(60), top), 1_000);
    }
}
