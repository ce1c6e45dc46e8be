//! Lists as CSV: `/jobs/export.csv` and its like, with the filters of the list in the query.
//!
//! Rows are read page by page on one snapshot and sent as they are read, so memory stays flat and the file
//! is of one moment. The last line says how many rows there are: a file without it is cut short. A cell
//! never begins like a formula ([`cell`]). Each export leaves a line in the audit log.

mod cells;
mod columns;
mod filters;
mod lists;

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    body::{Body, Bytes},
    extract::{Extension, MatchedPath, Path, Query, State},
    http::header,
    response::{IntoResponse, Response},
};
use chrono::{DateTime, NaiveDate, NaiveTime, Utc};
use engine::error::StoreError;
use futures::stream;
use serde_json::json;
use sqlx::{Postgres, Transaction};
use tokio::sync::OwnedSemaphorePermit;

use self::lists::{List, Place};
use super::{Console, CurrentOperator};
use crate::http::{
    problem::{Kind, Problem},
    request::RequestId,
};

/// The filters of a list, as its address has them. `page` is where a screen stands, and no filter.
pub(super) use self::filters::{event_filter, exception_filter};

pub(super) type Filters = BTreeMap<String, String>;

/// What is sent so far.
struct Export {
    _turn: OwnedSemaphorePermit,
    books: Transaction<'static, Postgres>,
    list: List,
    /// Where to go on; `None` when everything was sent.
    place: Option<Place>,
    head: Option<String>,
    rows: u64,
}

/// Sends a list of the console, named by the first part of its path.
pub(super) async fn list(
    State(console): State<Console>,
    Extension(who): Extension<CurrentOperator>,
    path: MatchedPath,
    Query(filters): Query<Filters>,
) -> Result<Response, Problem> {
    let name = path.as_str().split('/').nth(1).unwrap_or_default();
    send(console, who, (name.to_owned(), None), filters).await
}

/// Sends the ledger of a wallet.
pub(super) async fn ledger(
    State(console): State<Console>,
    Extension(who): Extension<CurrentOperator>,
    Path(wallet): Path<String>,
    Query(filters): Query<Filters>,
) -> Result<Response, Problem> {
    send(console, who, ("ledger".to_owned(), Some(wallet)), filters).await
}

/// Sends the groups of a statement that do not match.
pub(super) async fn statement(
    State(console): State<Console>,
    Extension(who): Extension<CurrentOperator>,
    Path(statement): Path<String>,
    Query(filters): Query<Filters>,
) -> Result<Response, Problem> {
    send(
        console,
        who,
        ("statement".to_owned(), Some(statement)),
        filters,
    )
    .await
}

async fn send(
    console: Console,
    who: CurrentOperator,
    (name, of): (String, Option<String>),
    mut filters: Filters,
) -> Result<Response, Problem> {
    filters.remove("page");
    filters.retain(|_, value| !value.trim().is_empty());
    let engine = &console.engine;
    let turn = Arc::clone(&console.exports)
        .try_acquire_owned()
        .map_err(|_| {
            Problem::new(
                Kind::Overloaded,
                "Other exports are being read; wait until one has finished.",
            )
        })?;
    let mut books = engine.snapshot().await?;
    let now = engine.clock().now();
    let list = List::read(&mut books, (console.live, now), (&name, of), &filters).await?;
    let request_id = RequestId::current();
    let line = who.by(request_id.as_ref()).did(
        "list.export",
        list.name(),
        json!({ "filter": filters }),
        None,
    );
    engine.record_audit(&line).await?;
    let shown: Vec<_> = filters
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let about = format!(
        "{}, {}, filter: {}, times in UTC, exported {} by {}",
        list.name(),
        if console.live { "live" } else { "test" },
        if shown.is_empty() {
            "none".to_owned()
        } else {
            shown.join(" ")
        },
        now.format("%Y-%m-%dT%H:%M:%SZ"),
        who.0.email,
    );
    let mut head = record([about.as_str()]);
    head.push_str(&record(list.columns().iter().copied()));
    let file = format!("{}-{}.csv", list.name(), now.format("%Y%m%d-%H%M%S"));
    let export = Export {
        _turn: turn,
        books,
        list,
        place: Some(Place::Start),
        head: Some(head),
        rows: 0,
    };
    let body = Body::from_stream(stream::try_unfold(export, next));
    let disposition = format!("attachment; filename=\"{file}\"");
    let headers = [
        (header::CONTENT_TYPE, "text/csv; charset=utf-8".to_owned()),
        (header::CONTENT_DISPOSITION, disposition),
        (header::CACHE_CONTROL, "no-store".to_owned()),
    ];
    Ok((headers, body).into_response())
}

/// The next piece of the file.
async fn next(mut export: Export) -> Result<Option<(Bytes, Export)>, StoreError> {
    if let Some(head) = export.head.take() {
        return Ok(Some((head.into(), export)));
    }
    let Some(place) = export.place.take() else {
        return Ok(None);
    };
    let (rows, place) = export.list.page(&mut export.books, place).await?;
    let mut text = String::new();
    for row in &rows {
        text.push_str(&record(row.iter().map(String::as_str)));
    }
    export.rows += rows.len() as u64;
    if place.is_none() {
        text.push_str(&record([format!("end, {} rows", export.rows).as_str()]));
    }
    export.place = place;
    Ok(Some((text.into(), export)))
}

/// One line of the file (RFC 4180).
fn record<'t>(cells: impl IntoIterator<Item = &'t str>) -> String {
    let cells: Vec<_> = cells.into_iter().map(cell).collect();
    let mut line = cells.join(",");
    line.push_str("\r\n");
    line
}

/// A cell, quoted where it must be. What a spreadsheet would run as a formula is made text by an apostrophe;
/// a number keeps its sign.
fn cell(text: &str) -> String {
    let is_number = text.parse::<rust_decimal::Decimal>().is_ok();
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']) && !is_number;
    let guarded = if formula {
        format!("'{text}")
    } else {
        text.to_owned()
    };
    if guarded.contains(['"', ',', '\n', '\r']) || guarded.starts_with(' ') {
        format!("\"{}\"", guarded.replace('"', "\"\""))
    } else {
        guarded
    }
}

/// A filter that must be read as a `T`, if it is there. Read filters are taken out, so that what is left
/// over is known to be unknown.
fn parsed<T: std::str::FromStr>(filters: &mut Filters, name: &str) -> Result<Option<T>, Problem> {
    let Some(text) = filters.remove(name) else {
        return Ok(None);
    };
    let wrong = || invalid(format!("The filter {name} cannot be read: {text:?}."));
    text.trim().parse().map(Some).map_err(|_| wrong())
}

/// The beginning of a day, UTC.
fn day(filters: &mut Filters, name: &str) -> Result<Option<DateTime<Utc>>, Problem> {
    let day: Option<NaiveDate> = parsed(filters, name)?;
    Ok(day.map(|day| day.and_time(NaiveTime::MIN).and_utc()))
}

fn invalid(detail: impl Into<String>) -> Problem {
    Problem::new(Kind::Invalid, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cell_begins_like_a_formula() {
        for (text, expected) in [
            ("=1+2", "'=1+2"),
            ("+49 30", "'+49 30"),
            ("-x", "'-x"),
            ("@sum", "'@sum"),
            ("\tcmd", "'\tcmd"),
            ("-12.40", "-12.40"),
            ("+5", "+5"),
            (
                "=HYPERLINK(\"http://x\",\"y\")",
                "\"'=HYPERLINK(\"\"http://x\"\",\"\"y\"\")\"",
            ),
            ("a,b", "\"a,b\""),
            ("two\nlines", "\"two\nlines\""),
            ("Zoë, 東京", "\"Zoë, 東京\""),
            ("plain", "plain"),
        ] {
            assert_eq!(cell(text), expected);
        }
    }
}
