//! The audit log: a chain that tells of every change made below the application.

use engine::{
    audit::{
        Record,
        views::{self, Break, Fault, Filter, Head},
    },
    page::Cursor,
};
use futures::future::join_all;
use serde_json::json;
use sqlx::PgPool;

use crate::bench::Bench;

fn line<'a>(action: &'a str, object: &'a str) -> Record<'a> {
    Record {
        operator: None,
        actor: "command line",
        request_id: Some("req_1"),
        action,
        object,
        detail: json!({"to": {"amount": "12.40", "set": [1, true, null]}}),
        reason: Some("agreed by phone"),
    }
}

async fn with_lines(pool: PgPool, count: usize) -> Bench {
    let bench = Bench::new(pool).await;
    for number in 0..count {
        let object = format!("source_{number}");
        bench
            .engine
            .record_audit(&line("source.add", &object))
            .await
            .unwrap();
    }
    bench
}

async fn follow(bench: &Bench) -> Result<Head, Break> {
    views::follow(&mut bench.owner.acquire().await.unwrap())
        .await
        .unwrap()
}

/// Changes the log as only its owner can, with the guards off.
async fn tamper(bench: &Bench, statement: &'static str) {
    let mut conn = bench.owner.acquire().await.unwrap();
    sqlx::query("SET session_replication_role = replica")
        .execute(&mut *conn)
        .await
        .unwrap();
    let done = sqlx::query(statement).execute(&mut *conn).await.unwrap();
    assert_eq!(done.rows_affected(), 1, "{statement}");
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn lines_written_at_once_form_one_chain_without_gaps(pool: PgPool) {
    let bench = Bench::new(pool).await;
    let objects: Vec<_> = (0..20).map(|number| format!("source_{number}")).collect();
    let lines: Vec<_> = objects
        .iter()
        .map(|object| line("source.add", object))
        .collect();
    let written = join_all(lines.iter().map(|line| bench.engine.record_audit(line))).await;
    assert!(written.iter().all(Result::is_ok), "{written:?}");
    assert_eq!(follow(&bench).await.unwrap().number, 20);
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_line_that_was_changed_is_named(pool: PgPool) {
    let bench = with_lines(pool, 5).await;
    tamper(
        &bench,
        "UPDATE audit_log SET reason = 'nobody asked' WHERE audit_id = 3",
    )
    .await;
    let found = Break {
        number: 3,
        fault: Fault::Content,
    };
    assert_eq!(follow(&bench).await, Err(found));
    let report = engine::books::verify(bench.engine.pool()).await.unwrap();
    assert_eq!(report.breaks.len(), 1);
    assert_eq!(report.breaks[0].check.as_str(), "audit_chain");
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_line_that_was_taken_out_shows_in_the_next(pool: PgPool) {
    let bench = with_lines(pool, 5).await;
    tamper(&bench, "DELETE FROM audit_log WHERE audit_id = 3").await;
    let found = Break {
        number: 4,
        fault: Fault::Place,
    };
    assert_eq!(follow(&bench).await, Err(found));
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_log_that_was_cut_short_has_another_head(pool: PgPool) {
    let bench = with_lines(pool, 5).await;
    let noted = follow(&bench).await.unwrap();
    tamper(&bench, "DELETE FROM audit_log WHERE audit_id = 5").await;
    assert_ne!(follow(&bench).await.unwrap(), noted);
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn nothing_follows_a_line_twice(pool: PgPool) {
    let bench = with_lines(pool, 2).await;
    let fork = sqlx::query(
        "INSERT INTO audit_log (audit_id, at, actor, action, object, previous_hash, hash)
         SELECT 3, at, actor, action, object, previous_hash, sha256('fork') FROM audit_log WHERE audit_id = 2",
    )
    .execute(bench.engine.pool())
    .await
    .unwrap_err();
    let constraint = fork
        .as_database_error()
        .and_then(|error| error.constraint());
    assert_eq!(constraint, Some("audit_log_chain"));
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn lines_are_found_by_who_what_and_object(pool: PgPool) {
    let bench = with_lines(pool, 3).await;
    bench
        .engine
        .record_audit(&line("source.disable", "source_1"))
        .await
        .unwrap();
    bench
        .engine
        .record_audit(&line("sources.list", "all"))
        .await
        .unwrap();
    let find = async |filter: Filter| {
        let mut conn = bench.engine.pool().acquire().await.unwrap();
        let page = views::list(&mut conn, &filter, Cursor::Newest)
            .await
            .unwrap();
        page.rows.iter().map(|row| row.number).collect::<Vec<_>>()
    };
    let text = |text: &str| Some(text.to_owned());
    let by_object = Filter {
        object: text("source_1"),
        ..Filter::default()
    };
    assert_eq!(find(by_object).await, [4, 2]);
    // A noun finds its verbs, and no other noun that begins like it.
    let by_noun = Filter {
        action: text("source"),
        ..Filter::default()
    };
    assert_eq!(find(by_noun).await, [4, 3, 2, 1]);
    let by_actor = Filter {
        actor: text("someone"),
        ..Filter::default()
    };
    assert_eq!(find(by_actor).await, Vec::<i64>::new());
}
